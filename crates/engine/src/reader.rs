//! The bytes of a trace buffer.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use tracewright_image::{Bytes, Moment};
use tracewright_input::compressed::Unpacked;
use tracewright_input::file::{compression, existing};
use tracewright_input::{Buffer, Checksums, FileSums, Packed, Piece, perf};

use crate::problem::{Error, Fault};

/// Receives the number of bytes read since the last call.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// Reads a buffer: a file, standard input, or bytes in memory.
///
/// A buffer may consist of pieces of a file. Reading stops at the end of each piece and resumes with
/// [`next_piece`](Self::next_piece).
pub struct BufferReader<'a> {
    path: &'a Path,
    /// Contents of the file, if they are in memory.
    contents: Option<&'a Bytes>,
    file: Source<'a>,
    progress: Progress<'a>,
    /// Pieces still to be read; `None` if the whole file is one piece.
    pieces: Option<&'a [Piece]>,
    /// Bytes left of the current piece.
    left: u64,
    /// Offset at which a whole file begins, until it is read.
    start: Option<u64>,
    /// Offset before which pieces are skipped.
    skipped: u64,
    /// File offset of the next byte.
    position: u64,
    /// Length of the file when it was opened.
    end: Option<u64>,
    faults: Vec<Fault>,
}

impl std::fmt::Debug for BufferReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferReader").field("path", &self.path).finish_non_exhaustive()
    }
}

enum Source<'a> {
    File(TraceFile),
    Checked(Checked<'a>),
    Memory(&'a [u8]),
    /// A decompressed section, and the position in it.
    Unpacked {
        of: Packed,
        bytes: Vec<u8>,
        at: usize,
    },
}

/// A file with trace.
enum TraceFile {
    Plain(File),
    /// A compressed file, a pipe or standard input: it cannot seek.
    Stream(Box<dyn Read + Send>),
}

impl TraceFile {
    /// Opens a file, or standard input (`-`). Returns also its length, if that is known.
    fn open(path: &Path) -> io::Result<(Self, Option<u64>)> {
        if path.as_os_str() == "-" {
            return Ok((Self::Stream(Box::new(Unpacked::new(io::stdin())?)), None));
        }
        let path: &Path = &existing(path);
        let file = File::open(path)?;
        let len = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        if len.is_some() && compression(path).is_none() {
            return Ok((Self::Plain(file), len));
        }
        Ok((Self::Stream(Box::new(Unpacked::new(file)?)), None))
    }

    /// Seeks to `offset`. Returns false if that is not possible.
    fn go_to(&mut self, offset: u64) -> bool {
        match self {
            Self::Plain(file) => file.seek(io::SeekFrom::Start(offset)).is_ok(),
            Self::Stream(_) => false,
        }
    }

    /// Returns whether it can seek to `offset`. Beyond the end, a file that is too short would go unnoticed.
    fn has(&self, offset: u64) -> bool {
        let is_inside =
            |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file() && offset < metadata.len());
        matches!(self, Self::Plain(file) if is_inside(file))
    }
}

impl Read for TraceFile {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(to),
            Self::Stream(stream) => stream.read(to),
        }
    }
}

impl<'a> BufferReader<'a> {
    /// Opens `buffer`. Compares what is read with `checksums`.
    ///
    /// # Errors
    /// Fails if the file cannot be opened.
    pub fn open(buffer: &'a Buffer, checksums: &'a Checksums, progress: Progress<'a>) -> Result<Self, Error> {
        let path = buffer.path.as_path();
        let pieces = buffer.pieces.as_deref();
        if let Some(contents) = &buffer.contents {
            let (memory, end) = (Source::Memory(contents.as_slice()), contents.len() as u64);
            let reader = Self::new(path, memory, Some(end), pieces, progress);
            return Ok(Self { contents: Some(contents), ..reader });
        }
        let (file, end) = TraceFile::open(path).map_err(|error| Error::read(path, error))?;
        let file = match checksums.of(path) {
            Some(sums) => Source::Checked(Checked::new(file, sums)),
            None => Source::File(file),
        };
        Ok(Self::new(path, file, end, pieces, progress))
    }

    /// Reads bytes in memory as one piece.
    pub fn in_memory(bytes: &'a [u8]) -> Self {
        Self::new(Path::new(""), Source::Memory(bytes), Some(bytes.len() as u64), None, &|_| {})
    }

    fn new(
        path: &'a Path,
        file: Source<'a>,
        end: Option<u64>,
        pieces: Option<&'a [Piece]>,
        progress: Progress<'a>,
    ) -> Self {
        let (left, start) = if pieces.is_some() { (0, None) } else { (u64::MAX, Some(0)) };
        let faults = Vec::new();
        Self {
            path,
            contents: None,
            file,
            progress,
            pieces,
            left,
            start,
            skipped: 0,
            position: 0,
            end,
            faults,
        }
    }

    /// Skips what lies before `offset` if the file can seek. Call it before anything is read.
    pub fn skip_to(&mut self, offset: u64) {
        if self.pieces.is_some() {
            self.skipped = offset;
        } else if self.go_to(offset) {
            self.start = Some(offset);
        }
    }

    /// Seeks to `offset`. Returns false if the file cannot seek.
    fn go_to(&mut self, offset: u64) -> bool {
        let gone = match &mut self.file {
            Source::File(file) => file.has(offset) && file.go_to(offset),
            Source::Checked(checked) => checked.file.has(offset) && checked.go_to(offset).is_ok(),
            Source::Memory(bytes) => {
                match bytes.split_at_checked(offset.saturating_sub(self.position) as usize) {
                    Some((_, rest)) if offset >= self.position => {
                        *bytes = rest;
                        true
                    }
                    _ => false,
                }
            }
            Source::Unpacked { .. } => false,
        };
        if gone {
            self.position = offset;
        }
        if gone && self.pieces.is_none() {
            (self.progress)(offset);
        }
        gone
    }

    /// Advances to the next piece and returns it without its skipped part; `None` after the last.
    ///
    /// # Errors
    /// Fails if the piece is not in the file or cannot be decompressed.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Error> {
        let Some(pieces) = &mut self.pieces else {
            let whole = |offset| Piece { offset, len: u64::MAX, moment: Moment::LAST, packed: None };
            return Ok(self.start.take().map(whole));
        };
        loop {
            let Some((piece, rest)) = pieces.split_first() else { return Ok(None) };
            *pieces = rest;
            // Frames are counted from the start of a piece.
            let before = self.skipped.saturating_sub(piece.offset) & !0xf;
            if before >= piece.len {
                (self.progress)(piece.len);
                continue;
            }
            let mut piece = *piece;
            piece.offset += before;
            piece.len -= before;
            (self.progress)(before);
            self.begin(&piece, before)?;
            return Ok(Some(piece));
        }
    }

    /// Starts reading a piece, `before` bytes after its start.
    fn begin(&mut self, piece: &Piece, before: u64) -> Result<(), Error> {
        self.left = piece.len;
        let Some(packed) = piece.packed else {
            if !self.go_to(piece.offset) {
                let what = format!("it ends early: there is nothing at {:#x}", piece.offset);
                return Err(Error::read(self.path, io::Error::new(io::ErrorKind::UnexpectedEof, what)));
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
        let bytes = perf::unpacked(self.path, self.contents, packed)?;
        self.file = Source::Unpacked { of, at: from.min(bytes.len()), bytes };
        Ok(())
    }

    /// Reads some bytes of the current piece. Returns 0 at its end.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read(&mut self, chunk: &mut [u8]) -> Result<usize, Error> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(chunk.len());
        let chunk = &mut chunk[..most];
        loop {
            let read = match &mut self.file {
                Source::File(file) => file.read(chunk),
                Source::Checked(checked) => checked.read(chunk),
                Source::Memory(bytes) => bytes.read(chunk),
                Source::Unpacked { bytes, at, .. } => (&bytes[*at..]).read(chunk).inspect(|len| *at += len),
            };
            match read {
                Ok(len) => {
                    (self.progress)(len as u64);
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
                Err(error) => return Err(Error::read(self.path, error)),
            }
        }
    }

    /// Records a fault if the file ended too early.
    fn ended(&mut self) {
        let missing = match self.pieces {
            Some(_) => self.left,
            None => self.end.map_or(0, |end| end.saturating_sub(self.position)),
        };
        if missing > 0 {
            let is_packed = matches!(self.file, Source::Unpacked { .. });
            let is_shorter = !is_packed && self.end.is_some_and(|end| self.position < end);
            self.left = 0;
            self.end = None;
            self.faults.push(if is_shorter {
                Fault::Shrank { missing }
            } else {
                Fault::EndsEarly { missing }
            });
        }
    }

    /// Takes the faults found so far.
    pub fn take_faults(&mut self) -> Vec<Fault> {
        let mut faults = std::mem::take(&mut self.faults);
        if let Source::Checked(checked) = &mut self.file {
            faults.extend(checked.take_faults());
        }
        faults
    }

    /// Fills `chunk`. Returns fewer bytes only at the end of the piece.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
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
}

/// A file with known checksums. It is read a piece at a time, and each piece is checked before it is used.
struct Checked<'a> {
    file: TraceFile,
    sums: &'a FileSums,
    /// The current piece, and the position in it.
    piece: Vec<u8>,
    at: usize,
    /// Number of the next piece.
    next: u64,
    /// Number of pieces that differ from the recording, and the offsets of the first ones.
    wrong: u64,
    offsets: Vec<u64>,
}

/// Number of differing pieces that are reported one by one.
const MOST_OFFSETS: usize = 3;

impl<'a> Checked<'a> {
    fn new(file: TraceFile, sums: &'a FileSums) -> Self {
        Self { file, sums, piece: Vec::new(), at: 0, next: 0, wrong: 0, offsets: Vec::new() }
    }

    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        let size = self.sums.piece();
        self.next = offset / size;
        if !self.file.go_to(self.next * size) {
            return Err(io::ErrorKind::NotSeekable.into());
        }
        self.load()?;
        self.at = usize::try_from(offset % size).unwrap_or(usize::MAX).min(self.piece.len());
        Ok(())
    }

    fn load(&mut self) -> io::Result<()> {
        self.piece.clear();
        self.at = 0;
        (&mut self.file).take(self.sums.piece()).read_to_end(&mut self.piece)?;
        if !self.sums.fits(self.next, &self.piece) {
            self.wrong += 1;
            if self.offsets.len() < MOST_OFFSETS {
                self.offsets.push(self.next * self.sums.piece());
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

    fn take_faults(&mut self) -> Vec<Fault> {
        let offsets = std::mem::take(&mut self.offsets);
        let more = std::mem::take(&mut self.wrong) - offsets.len() as u64;
        let piece = self.sums.piece();
        let differs = |from: u64| Fault::Differs { from, to: (from + piece).min(self.sums.bytes) };
        let mut faults: Vec<_> = offsets.into_iter().map(differs).collect();
        if more > 0 {
            faults.push(Fault::MoreDiffer { pieces: more, piece });
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tracewright_input::Packing;

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
        let piece = |&(offset, len): &(u64, u64)| Piece { offset, len, moment: Moment::LAST, packed: None };
        let pieces = pieces.map(|pieces| pieces.iter().map(piece).collect());
        let (format, sources) = (Packing::Source, Vec::new());
        let contents = None;
        let buffer =
            Buffer { name: name.into(), path: path.clone(), format, sources, pieces, contents, ring: None };
        (buffer, Scratch(path))
    }

    /// Where pieces begin, and their bytes, read in small parts.
    fn all(buffer: &Buffer, skip: u64) -> Vec<(u64, Vec<u8>)> {
        let checksums = Checksums::default();
        let mut input = BufferReader::open(buffer, &checksums, &|_| {}).unwrap();
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
        let mut input = BufferReader::open(&buffer, &checksums, &|_| {}).unwrap();
        input.next_piece().unwrap();
        input.fill(&mut [0; 200]).unwrap();
        assert_eq!(input.take_faults(), [Fault::EndsEarly { missing: 94 }]);
        drop(input);
        buffer.pieces.as_mut().unwrap()[0].offset = 300;
        let mut input = BufferReader::open(&buffer, &checksums, &|_| {}).unwrap();
        let message = input.next_piece().unwrap_err().to_string();
        assert!(message.ends_with("cannot read: it ends early: there is nothing at 0x12c"), "{message}");
    }

    #[test]
    fn a_file_that_becomes_shorter_while_it_is_read_is_told() {
        let (buffer, scratch) = buffer("shrinks", None);
        let checksums = Checksums::default();
        let mut input = BufferReader::open(&buffer, &checksums, &|_| {}).unwrap();
        input.next_piece().unwrap();
        assert_eq!(input.fill(&mut [0; 100]).unwrap(), 100);
        assert_eq!(input.take_faults(), []);
        File::options().write(true).open(&scratch.0).unwrap().set_len(120).unwrap();
        assert_eq!(input.fill(&mut [0; 100]).unwrap(), 20);
        assert_eq!(input.take_faults(), [Fault::Shrank { missing: 136 }]);
    }
}
