//! What ends a run before its program does: Ctrl-C, and a file that takes no more.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Signals reach the whole process, so there is one of it.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Returns what becomes true when the run is to end.
pub fn flag() -> Arc<AtomicBool> {
    Arc::clone(&STOP)
}

/// Ends the run when Ctrl-C is pressed, so that what was recorded is kept. The second time ends everything.
pub fn on_ctrl_c() {
    // Without it, Ctrl-C ends everything the first time.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// A file that is written while a program runs. When it fails, the run ends: what follows would be lost.
#[derive(Debug)]
pub struct Ending<W>(pub W);

impl<W: Write> Write for Ending<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        ending(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        ending(self.0.flush())
    }
}

/// A log that is read instead of running a program: reading fails when the run is to end.
#[derive(Debug)]
pub struct UntilStopped<R>(pub R);

impl<R: Read> Read for UntilStopped<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if STOP.load(Ordering::Relaxed) {
            return Err(io::Error::other("not read further: what comes of it could not be written"));
        }
        self.0.read(bytes)
    }
}

/// Ends the run if writing failed.
pub fn ending<T>(written: io::Result<T>) -> io::Result<T> {
    written.inspect_err(|error| {
        if error.kind() != io::ErrorKind::Interrupted {
            STOP.store(true, Ordering::Relaxed);
        }
    })
}
