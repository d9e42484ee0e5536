//! The bytes of a trace buffer.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use indicatif::ProgressBar;
use tracewright_input::{Buffer, Packed, Piece, perf};

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
    file: Source,
    bar: ProgressBar,
    /// Those to come; `None`: the file is one.
    pieces: Option<&'a [Piece]>,
    /// Bytes left of the piece that is read.
    left: u64,
    /// Where a whole file begins, until it has begun.
    start: Option<u64>,
    /// What lies long before this offset is passed over.
    skipped: u64,
}

enum Source {
    File(File),
    Stdin(io::Stdin),
    /// What was compressed, and how far it is read.
    Unpacked {
        of: Packed,
        bytes: Vec<u8>,
        at: usize,
    },
}

impl<'a> Input<'a> {
    /// Opens it.
    pub fn open(buffer: &'a Buffer) -> Result<Self, Error> {
        let path = buffer.path.as_path();
        let file = match path.to_str() {
            Some("-") => Source::Stdin(io::stdin()),
            _ => Source::File(File::open(path).map_err(|error| cannot_read(path, &error))?),
        };
        let bar = progress::bar(
            buffer.bytes().unwrap_or(0),
            &path.file_name().unwrap_or_default().to_string_lossy(),
        );
        let pieces = buffer.pieces.as_deref();
        let (left, start) = if pieces.is_some() { (0, None) } else { (u64::MAX, Some(0)) };
        Ok(Self { path, file, bar, pieces, left, start, skipped: 0 })
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
        let Source::File(file) = &mut self.file else { return false };
        // Beyond the end there would be nothing to say about the file.
        let is_inside = file.metadata().is_ok_and(|metadata| metadata.is_file() && offset < metadata.len());
        let gone = is_inside && file.seek(io::SeekFrom::Start(offset)).is_ok();
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
                let what = io::Error::new(io::ErrorKind::UnexpectedEof, "it is shorter than it was");
                return Err(cannot_read(self.path, &what));
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
                Source::Stdin(stdin) => stdin.read(chunk),
                Source::Unpacked { bytes, at, .. } => (&bytes[*at..]).read(chunk).inspect(|len| *at += len),
            };
            match read {
                Ok(len) => {
                    self.bar.inc(len as u64);
                    if self.pieces.is_some() {
                        self.left -= len as u64;
                    }
                    return Ok(len);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot_read(self.path, &error)),
            }
        }
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
        let mut input = Input::open(buffer).unwrap();
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
    fn a_file_that_has_become_shorter_is_told() {
        let (mut buffer, _scratch) = buffer("short", Some(&[(250, 100)]));
        assert_eq!(all(&buffer, 0), [(250, (250..=255).collect())]);
        buffer.pieces.as_mut().unwrap()[0].offset = 300;
        let mut input = Input::open(&buffer).unwrap();
        let Err(Error::Message(message)) = input.next_piece() else { panic!("there is nothing") };
        assert!(message.ends_with("cannot read: it is shorter than it was"), "{message}");
    }
}
