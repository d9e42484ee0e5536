//! Ends a run before its program ends: on request, or when a file cannot be written.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that ends a run when it becomes true. The run itself sets it when a file cannot be written.
pub type StopFlag = Arc<AtomicBool>;

/// A file that is written while a program runs. When writing fails, the run ends, since the rest would be lost.
#[derive(Debug)]
pub struct Ending<W> {
    /// The writer.
    pub to: W,
    stop: StopFlag,
}

impl<W> Ending<W> {
    /// Creates a writer that sets `stop` when `to` fails.
    pub fn new(to: W, stop: &StopFlag) -> Self {
        Self { to, stop: Arc::clone(stop) }
    }
}

impl<W: Write> Write for Ending<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        ending(&self.stop, self.to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        ending(&self.stop, self.to.flush())
    }
}

/// A reader that fails once its flag is set.
#[derive(Debug)]
pub(crate) struct UntilStopped<R>(pub R, pub StopFlag);

impl<R: Read> Read for UntilStopped<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.1.load(Ordering::Relaxed) {
            return Err(io::Error::other("not read further: what comes of it could not be written"));
        }
        self.0.read(bytes)
    }
}

/// Sets `stop` if writing failed.
pub(crate) fn ending<T>(stop: &StopFlag, written: io::Result<T>) -> io::Result<T> {
    written.inspect_err(|error| {
        if error.kind() != io::ErrorKind::Interrupted {
            stop.store(true, Ordering::Relaxed);
        }
    })
}
