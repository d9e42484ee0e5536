//! Where goes what a program prints.

use std::io::{self, Write};

use crate::machine::Stop;

/// Takes all; a program has no way to learn that its serial port failed, so the machine stops instead.
pub(super) struct Console {
    out: Box<dyn Write + Send>,
    error: Option<io::Error>,
}

impl Console {
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out, error: None }
    }

    /// What the host did, unless something could not be printed. Before the end, all must be.
    pub fn check(&mut self, result: Result<(), Stop>) -> Result<(), Stop> {
        if result.is_err() {
            let _ = self.flush();
        }
        match &self.error {
            None => result,
            Some(error) => Err(Stop::Fault(format!("what the program prints could not be written: {error}"))),
        }
    }
}

impl Write for Console {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.error.is_none() {
            self.error = self.out.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.error.is_none() {
            self.error = self.out.flush().err();
        }
        Ok(())
    }
}
