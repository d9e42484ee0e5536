//! The bytes of a trace buffer.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use indicatif::ProgressBar;
use tracewright_input::{Buffer, Checksums, FileSums, Packed, Piece, perf};

use crate::output::Error;
use crate::progress;

/// Bytes read from a file at once.
const CHUNK: usize = 1 << 20;

/// A buffer's file, or standard input. Shows progress.
///
/// Of a file of which only parts are trace, those are read one after another: what is read ends at the end of each, and goes on
/// with [`next_piece`](Self::next_piece).
pub struct Input<'a> {
    path: &'a Path,
    file: Source<'a>,
    bar: ProgressBar,
    /// Those to come; `None`: the file is one.
    pieces: Option<&'a [Piece]>,
    /// Bytes left of the piece that is read.
    left: u64,
    /// Where a whole file begins, until it has begun.
    start: Option<u64>,
    /// What lies long before this offset is passed over.
    skipped: u64,
    /// Where the next byte of the file is, and where it ended when it was opened.
    position: u64,
    end: Option<u64>,
    /// What was wrong with what was read.
    faults: Vec<String>,
}

enum Source<'a> {
    File(File),
    Checked(Checked<'a>),
    Stdin(io::Stdin),
    /// What was compressed, and how far it is read.
    Unpacked {
        of: Packed,
        bytes: Vec<u8>,
        at: usize,
    },
}

impl<'a> Input<'a> {
    /// Opens it. What is read is compared with `checksums`.
    pub fn open(buffer: &'a Buffer, checksums: &'a Checksums) -> Result<Self, Error> {
        let path = buffer.path.as_path();
        let mut end = None;
        let file = match path.to_str() {
            Some("-") => Source::Stdin(io::stdin()),
            _ => {
                let file = File::open(path).map_err(|error| cannot_read(path, &error))?;
                let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
                end = metadata.map(|metadata| metadata.len());
                match checksums.of(path) {
                    Some(sums) => Source::Checked(Checked::new(file, sums)),
                    None => Source::File(file),
                }
            }
        };
        let bar = progress::bar(
            buffer.bytes().unwrap_or(0),
            &path.file_name().unwrap_or_default().to_string_lossy(),
        );
        let pieces = buffer.pieces.as_deref();
        let (left, start) = if pieces.is_some() { (0, None) } else { (u64::MAX, Some(0)) };
        let faults = Vec::new();
        Ok(Self { path, file, bar, pieces, left, start, skipped: 0, position: 0, end, faults })
    }

    /// Passes over what lies before an offset, if that can be done: nothing was read before.
    pub fn skip_to(&mut self, offset: u64) {
        if self.pieces.is_some() {
            self.skipped = offset;
        } else if self.go_to(offset) {
            self.start = Some(offset);
        }
    }

    /// Goes to an offset without reading what lies before, if that can be done.
    fn go_to(&mut self, offset: u64) -> bool {
        // Beyond the end there would be nothing to say about the file.
        let is_inside =
            |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file() && offset < metadata.len());
        let gone = match &mut self.file {
            Source::File(file) => is_inside(file) && file.seek(io::SeekFrom::Start(offset)).is_ok(),
            Source::Checked(checked) => is_inside(&checked.file) && checked.go_to(offset).is_ok(),
            Source::Stdin(_) | Source::Unpacked { .. } => false,
        };
        if gone {
            self.position = offset;
        }
        if gone && self.pieces.is_none() {
            self.bar.inc(offset);
        }
        gone
    }

    /// Goes on to the next piece. Returns it, without what of it is passed over; `None` after the last.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Error> {
        let Some(pieces) = &mut self.pieces else {
            let whole = |offset| Piece { offset, len: u64::MAX, moment: perf::Moment::LAST, packed: None };
            return Ok(self.start.take().map(whole));
        };
        loop {
            let Some((piece, rest)) = pieces.split_first() else { return Ok(None) };
            *pieces = rest;
            // Frames are counted from the start of a piece.
            let before = self.skipped.saturating_sub(piece.offset) & !0xf;
            if before >= piece.len {
                self.bar.inc(piece.len);
                continue;
            }
            let mut piece = *piece;
            piece.offset += before;
            piece.len -= before;
            self.bar.inc(before);
            self.begin(&piece, before)?;
            return Ok(Some(piece));
        }
    }

    /// Begins to read a piece, `before` bytes behind where it begins.
    fn begin(&mut self, piece: &Piece, before: u64) -> Result<(), Error> {
        self.left = piece.len;
        let Some(packed) = piece.packed else {
            if !self.go_to(piece.offset) {
                let what = format!("it ends early: there is nothing at {:#x}", piece.offset);
                return Err(cannot_read(self.path, &io::Error::new(io::ErrorKind::UnexpectedEof, what)));
            }
            return Ok(());
        };
        let of = Packed { skip: 0, ..packed };
        let from = usize::try_from(packed.skip.saturating_add(before)).unwrap_or(usize::MAX);
        if let Source::Unpacked { of: last, at, bytes, .. } = &mut self.file
            && *last == of
        {
            *at = from.min(bytes.len());
            return Ok(());
        }
        let bytes = perf::unpacked(self.path, packed)?;
        self.file = Source::Unpacked { of, at: from.min(bytes.len()), bytes };
        Ok(())
    }

    /// Reads some bytes; none at the end of the piece.
    pub fn read(&mut self, chunk: &mut [u8]) -> Result<usize, Error> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(chunk.len());
        let chunk = &mut chunk[..most];
        loop {
            let read = match &mut self.file {
                Source::File(file) => file.read(chunk),
                Source::Checked(checked) => checked.read(chunk),
                Source::Stdin(stdin) => stdin.read(chunk),
                Source::Unpacked { bytes, at, .. } => (&bytes[*at..]).read(chunk).inspect(|len| *at += len),
            };
            match read {
                Ok(len) => {
                    self.bar.inc(len as u64);
                    self.position += len as u64;
                    if self.pieces.is_some() {
                        self.left -= len as u64;
                    }
                    if len == 0 && most > 0 {
                        self.ended();
                    }
                    return Ok(len);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot_read(self.path, &error)),
            }
        }
    }

    /// Notes if the file ended before it should.
    fn ended(&mut self) {
        let missing = match self.pieces {
            Some(_) => self.left,
            None => self.end.map_or(0, |end| end.saturating_sub(self.position)),
        };
        if missing > 0 {
            let is_packed = matches!(self.file, Source::Unpacked { .. });
            let is_shorter = !is_packed && self.end.is_some_and(|end| self.position < end);
            let what = if is_shorter { "became shorter while it was read" } else { "ends early" };
            self.left = 0;
            self.end = None;
            self.faults.push(format!("{what}: {missing} bytes are missing"));
        }
    }

    /// Takes what was wrong with what was read so far.
    pub fn take_faults(&mut self) -> Vec<String> {
        let mut faults = std::mem::take(&mut self.faults);
        if let Source::Checked(checked) = &mut self.file {
            faults.extend(checked.take_faults());
        }
        faults
    }

    /// Reads as many bytes as `chunk` has, fewer only at the end.
    pub fn fill(&mut self, chunk: &mut [u8]) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < chunk.len() {
            match self.read(&mut chunk[filled..])? {
                0 => break,
                len => filled += len,
            }
        }
        Ok(filled)
    }

    /// Calls `f` with the bytes of the piece, part by part, until it returns false. Returns how many there were.
    pub fn for_each_chunk(&mut self, mut f: impl FnMut(&[u8]) -> bool) -> Result<u64, Error> {
        let mut chunk = vec![0; CHUNK];
        let mut total = 0;
        loop {
            let len = self.read(&mut chunk)?;
            total += len as u64;
            if len == 0 || !f(&chunk[..len]) {
                return Ok(total);
            }
        }
    }
}

/// A file whose checksums are known. It is read a piece at a time, and nothing of a piece is used before it was checked.
struct Checked<'a> {
    file: File,
    sums: &'a FileSums,
    /// The piece, and how far it was used.
    piece: Vec<u8>,
    at: usize,
    /// The next piece.
    next: u64,
    /// Pieces that are not what they were: how many, and where some are.
    wrong: u64,
    places: Vec<u64>,
}

/// So many pieces that are not what they were are told one by one.
const MOST_PLACES: usize = 3;

impl<'a> Checked<'a> {
    fn new(file: File, sums: &'a FileSums) -> Self {
        Self { file, sums, piece: Vec::new(), at: 0, next: 0, wrong: 0, places: Vec::new() }
    }

    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        let size = self.sums.piece();
        self.next = offset / size;
        self.file.seek(io::SeekFrom::Start(self.next * size))?;
        self.load()?;
        self.at = usize::try_from(offset % size).unwrap_or(usize::MAX).min(self.piece.len());
        Ok(())
    }

    fn load(&mut self) -> io::Result<()> {
        self.piece.clear();
        self.at = 0;
        (&self.file).take(self.sums.piece()).read_to_end(&mut self.piece)?;
        if !self.sums.fits(self.next, &self.piece) {
            self.wrong += 1;
            if self.places.len() < MOST_PLACES {
                self.places.push(self.next * self.sums.piece());
            }
        }
        self.next += 1;
        Ok(())
    }

    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() && !chunk.is_empty() {
            self.load()?;
        }
        let mut rest = &self.piece[self.at..];
        let len = rest.read(chunk)?;
        self.at += len;
        Ok(len)
    }

    fn take_faults(&mut self) -> Vec<String> {
        let places = std::mem::take(&mut self.places);
        let more = std::mem::take(&mut self.wrong) - places.len() as u64;
        let piece = self.sums.piece();
        let mut faults: Vec<_> = places
            .iter()
            .map(|from| {
                let to = (from + piece).min(self.sums.bytes);
                format!("bytes {from:#x}..{to:#x} are not those that were recorded (checksum)")
            })
            .collect();
        if more > 0 {
            faults.push(format!("{more} more pieces of {piece} bytes are not what was recorded"));
        }
        faults
    }
}

impl Drop for Input<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn cannot_read(path: &Path, error: &io::Error) -> Error {
    Error::Message(format!("{}: cannot read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tracewright_input::BufferFormat;

    use super::*;

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// A file of 256 bytes, each its own offset.
    fn buffer(name: &str, pieces: Option<&[(u64, u64)]>) -> (Buffer, Scratch) {
        let path = std::env::temp_dir().join(format!("tracewright-{}-{name}", std::process::id()));
        std::fs::write(&path, (0..=255).collect::<Vec<u8>>()).unwrap();
        let piece =
            |&(offset, len): &(u64, u64)| Piece { offset, len, moment: perf::Moment::LAST, packed: None };
        let pieces = pieces.map(|pieces| pieces.iter().map(piece).collect());
        let (format, sources) = (BufferFormat::SourceData, Vec::new());
        let buffer = Buffer { name: name.into(), path: path.clone(), format, sources, pieces };
        (buffer, Scratch(path))
    }

    /// Where pieces begin, and their bytes, read in small parts.
    fn all(buffer: &Buffer, skip: u64) -> Vec<(u64, Vec<u8>)> {
        let checksums = Checksums::default();
        let mut input = Input::open(buffer, &checksums).unwrap();
        input.skip_to(skip);
        let mut all = Vec::new();
        while let Some(piece) = input.next_piece().unwrap() {
            let (mut bytes, mut chunk) = (Vec::new(), [0; 7]);
            loop {
                match input.fill(&mut chunk).unwrap() {
                    0 => break,
                    len => bytes.extend_from_slice(&chunk[..len]),
                }
            }
            all.push((piece.offset, bytes));
        }
        all
    }

    fn bytes(from: u8, to: u8) -> Vec<u8> {
        (from..to).collect()
    }

    #[test]
    fn a_file_is_one_piece() {
        let (buffer, _scratch) = buffer("whole", None);
        let whole: Vec<u8> = (0..=255).collect();
        assert_eq!(all(&buffer, 0), [(0, whole.clone())]);
        assert_eq!(all(&buffer, 240), [(240, whole[240..].to_vec())]);
        assert_eq!(all(&buffer, 4096), [(0, whole)], "beyond the end nothing is passed over");
    }

    #[test]
    fn pieces_are_read_one_after_another() {
        let (buffer, _scratch) = buffer("pieces", Some(&[(3, 40), (50, 0), (100, 33)]));
        let last = (100, bytes(100, 133));
        assert_eq!(all(&buffer, 0), [(3, bytes(3, 43)), last.clone()]);
        assert_eq!(
            all(&buffer, 3 + 31),
            [(3 + 16, bytes(3 + 16, 43)), last.clone()],
            "in whole frames of the piece"
        );
        assert_eq!(all(&buffer, 90), [last]);
        assert_eq!(all(&buffer, 200), []);
    }

    #[test]
    fn a_file_that_is_shorter_than_its_pieces_is_told() {
        let (mut buffer, _scratch) = buffer("short", Some(&[(250, 100)]));
        assert_eq!(all(&buffer, 0), [(250, (250..=255).collect())]);
        let checksums = Checksums::default();
        let mut input = Input::open(&buffer, &checksums).unwrap();
        input.next_piece().unwrap();
        input.fill(&mut [0; 200]).unwrap();
        assert_eq!(input.take_faults(), ["ends early: 94 bytes are missing"]);
        drop(input);
        buffer.pieces.as_mut().unwrap()[0].offset = 300;
        let mut input = Input::open(&buffer, &checksums).unwrap();
        let Err(Error::Message(message)) = input.next_piece() else { panic!("there is nothing") };
        assert!(message.ends_with("cannot read: it ends early: there is nothing at 0x12c"), "{message}");
    }

    #[test]
    fn a_file_that_becomes_shorter_while_it_is_read_is_told() {
        let (buffer, scratch) = buffer("shrinks", None);
        let checksums = Checksums::default();
        let mut input = Input::open(&buffer, &checksums).unwrap();
        input.next_piece().unwrap();
        assert_eq!(input.fill(&mut [0; 100]).unwrap(), 100);
        assert_eq!(input.take_faults(), [""; 0]);
        File::options().write(true).open(&scratch.0).unwrap().set_len(120).unwrap();
        assert_eq!(input.fill(&mut [0; 100]).unwrap(), 20);
        assert_eq!(input.take_faults(), ["became shorter while it was read: 136 bytes are missing"]);
    }
}
