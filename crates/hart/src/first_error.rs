use std::io::{self, Write};

/// A writer that keeps its first error and writes nothing after it, since a reader would misread what follows a hole.
#[derive(Debug)]
pub struct FirstErrorWriter<W> {
    to: W,
    /// The first error, if there was one.
    pub failed: io::Result<()>,
}

impl<W: Write> FirstErrorWriter<W> {
    /// Creates a writer to `to`.
    pub fn new(to: W) -> Self {
        Self { to, failed: Ok(()) }
    }

    /// Calls `write` with the inner writer, unless there was an error before.
    pub fn write(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) {
        if self.failed.is_ok() {
            self.failed = write(&mut self.to);
        }
    }

    /// Flushes the inner writer and returns it.
    ///
    /// # Errors
    /// Returns the first error, whenever it occurred.
    pub fn finish(mut self) -> io::Result<W> {
        self.write(W::flush);
        self.failed.map(|()| self.to)
    }
}
