//! Writes the log to a file: its header, and chunks as they come.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use tracewright_input::OutputFile;
use tracewright_qemu::format::{CHUNK_HEADER, ChunkState, HEADER_SIZE, Header};
use tracewright_qemu::live::Piece;

/// A log that is being written.
///
/// Definitions are written before the words that need them, also in a chunk that is still open, so the file can be read at any time.
pub struct Keep {
    file: OutputFile,
    /// Path of the file.
    pub path: PathBuf,
    chunk_size: u64,
    /// Length of the file, and offset of the next chunk.
    pub end: u64,
    /// Offset of the open chunk of definitions.
    definitions: Option<u64>,
}

impl Keep {
    /// Creates the file.
    pub fn create(mut file: OutputFile, header: &Header) -> io::Result<Self> {
        let path = file.path().to_owned();
        file.file()?.write_all_at(&header.to_bytes(), 0)?;
        let (chunk_size, end) = (header.chunk_size.into(), HEADER_SIZE as u64);
        Ok(Self { file, path, chunk_size, end, definitions: None })
    }

    /// Rewrites the header, which says how far the program came.
    pub fn header(&mut self, header: &Header) -> io::Result<()> {
        self.file.file()?.write_all_at(&header.to_bytes(), 0)
    }

    /// Writes a piece of the log.
    pub fn piece(&mut self, piece: &Piece<'_>) -> io::Result<()> {
        match *piece {
            Piece::Definitions { head, at, bytes } => {
                let chunk = match self.definitions {
                    Some(chunk) => chunk,
                    None => self.begin()?,
                };
                let is_done = head.state == ChunkState::Done;
                self.definitions = (!is_done).then_some(chunk);
                self.file.file()?.write_all_at(bytes, chunk + (CHUNK_HEADER + at) as u64)?;
                self.file.file()?.write_all_at(&head.to_bytes(), chunk)
            }
            Piece::Words { head, bytes, .. } => {
                let chunk = self.begin()?;
                self.file.file()?.write_all_at(bytes, chunk + CHUNK_HEADER as u64)?;
                self.file.file()?.write_all_at(&head.to_bytes(), chunk)
            }
        }
    }

    /// Appends a chunk of zeros, which readers ignore if nothing more is written. Returns its offset.
    fn begin(&mut self) -> io::Result<u64> {
        let chunk = self.end;
        self.file.file()?.set_len(chunk + self.chunk_size)?;
        self.end = chunk + self.chunk_size;
        Ok(chunk)
    }
}

#[cfg(test)]
mod tests {
    use tracewright_input::{OutputKind, Replace};
    use tracewright_qemu::format::{ChunkHeader, ChunkKind, Target};

    use super::*;

    #[test]
    fn chunks_are_whole_and_in_place() {
        let path = std::env::temp_dir().join(format!("tracewright-keep-{}", std::process::id()));
        let header = Header { chunk_size: 4096, ..Header::new(Target::Arm) };
        let file = OutputFile::create(&path, OutputKind::Log, Replace::SameKind).unwrap();
        let mut keep = Keep::create(file.kept(), &header).unwrap();
        let open = |kind| ChunkHeader::open(kind, 0);
        let done = |kind| ChunkHeader { state: ChunkState::Done, len: 8, ..open(kind) };
        let definitions = ChunkKind::Definitions;
        keep.piece(&Piece::Definitions { head: open(definitions), at: 0, bytes: b"abcd" }).unwrap();
        let words = done(ChunkKind::Thread(3));
        keep.piece(&Piece::Words { thread: 3, head: words, bytes: b"12345678" }).unwrap();
        keep.piece(&Piece::Definitions { head: done(definitions), at: 4, bytes: b"efgh" }).unwrap();
        keep.piece(&Piece::Definitions { head: open(definitions), at: 0, bytes: b"ijkl" }).unwrap();
        let header = Header { checkpoints: 9, ..header };
        keep.header(&header).unwrap();
        assert_eq!((keep.end, &keep.path), (4 * 4096, &path));
        drop(keep);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bytes.len(), 4 * 4096);
        assert_eq!(Header::parse(&bytes), Ok(header));
        let chunks =
            [(done(definitions), &b"abcdefgh\0"[..]), (words, b"12345678\0"), (open(definitions), b"ijkl\0")];
        for ((head, start), chunk) in chunks.into_iter().zip(bytes[4096..].chunks(4096)) {
            assert_eq!(ChunkHeader::parse(chunk), Some(head));
            assert!(chunk[64..].starts_with(start));
        }
    }
}
