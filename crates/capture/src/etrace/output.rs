//! Writes a trace to a file: all of it, or only its end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use tracewright_hart::FirstErrorWriter;

use crate::stop::{StopFlag, ending};

/// A file that a trace is written to. As a ring it has a fixed size, and the newest bytes replace the oldest, as in the buffer of a trace
/// unit.
#[derive(Debug)]
pub struct TraceFile {
    file: File,
    ring: Option<u64>,
    stop: StopFlag,
    /// Number of bytes written in total.
    written: u64,
}

impl TraceFile {
    /// Writes to `file`, which must be empty: everything, or a ring of `ring` bytes. Sets `stop` when writing fails.
    pub fn new(file: File, ring: Option<u64>, stop: &StopFlag) -> Self {
        Self { file, ring, stop: StopFlag::clone(stop), written: 0 }
    }

    /// Puts the bytes of a ring in order, the oldest first. Returns the number of bytes in the file.
    pub fn close(mut self) -> io::Result<u64> {
        let Some(size) = self.ring.filter(|size| self.written > *size) else { return Ok(self.written) };
        let mut bytes = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut bytes)?;
        let oldest = (self.written % size) as usize;
        if oldest < bytes.len() {
            bytes.rotate_left(oldest);
        }
        self.file.rewind()?;
        self.file.write_all(&bytes)?;
        self.file.flush()?;
        Ok(size)
    }
}

impl Write for TraceFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(size) = self.ring else {
            let written = ending(&self.stop, self.file.write(bytes))?;
            self.written += written as u64;
            return Ok(written);
        };
        let at = self.written % size;
        if at == 0 {
            self.file.seek(SeekFrom::Start(0))?;
        }
        let room = usize::try_from(size - at).unwrap_or(usize::MAX).min(bytes.len());
        let written = ending(&self.stop, self.file.write(&bytes[..room]))?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A buffered writer that keeps its first error, and counts the bytes passed on.
#[derive(Debug)]
pub struct Gather<W> {
    /// Bytes that were not written yet.
    pub bytes: Vec<u8>,
    /// Number of bytes passed on so far, also after an error.
    pub written: u64,
    /// The writer of what was gathered.
    pub to: FirstErrorWriter<W>,
}

impl<W: Write> Gather<W> {
    /// Bytes that are gathered before they are written.
    const MOST: usize = 1 << 16;

    /// Creates a writer to `to`.
    pub fn new(to: W) -> Self {
        Self { bytes: Vec::with_capacity(2 * Self::MOST), written: 0, to: FirstErrorWriter::new(to) }
    }

    /// Writes the gathered bytes if there are enough.
    #[inline]
    pub fn check(&mut self) {
        if self.bytes.len() >= Self::MOST {
            self.write();
        }
    }

    /// Writes the gathered bytes.
    #[cold]
    pub fn write(&mut self) {
        self.written += self.bytes.len() as u64;
        self.to.write(|to| to.write_all(&self.bytes));
        self.bytes.clear();
    }

    /// Writes the rest. Returns the inner writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.write();
        self.to.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in the file after `pieces` were written.
    fn kept(ring: Option<u64>, pieces: &[&[u8]]) -> Vec<u8> {
        let path = std::env::temp_dir().join(format!("tracewright-ring-{}-{ring:?}", std::process::id()));
        let open = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let mut file = TraceFile::new(open.unwrap(), ring, &StopFlag::default());
        pieces.iter().for_each(|piece| file.write_all(piece).unwrap());
        let len = file.close().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bytes.len() as u64, len);
        bytes
    }

    #[test]
    fn a_ring_keeps_the_newest() {
        assert_eq!(kept(None, &[b"abc", b"def"]), b"abcdef");
        assert_eq!(kept(Some(4), &[b"abc"]), b"abc");
        assert_eq!(kept(Some(4), &[b"abcd"]), b"abcd");
        assert_eq!(kept(Some(4), &[b"abc", b"def"]), b"cdef");
        assert_eq!(kept(Some(4), &[b"abcdefgh"]), b"efgh");
        assert_eq!(kept(Some(4), &[b"abcdefghi", b"", b"jklmnopqrstuvw"]), b"tuvw");
    }
}
