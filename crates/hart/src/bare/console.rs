//! Output of the program.

use std::io::{self, Write};

use crate::machine::Stop;

/// Output of the program. Since a program cannot learn that its serial port failed, the machine stops on an error.
pub(super) struct Console {
    out: Box<dyn Write + Send>,
    error: Option<io::Error>,
}

impl Console {
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out, error: None }
    }

    /// Replaces the result of the host by a stop if printing failed. Flushes the output before the end.
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
