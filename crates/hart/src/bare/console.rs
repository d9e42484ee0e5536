//! Output of the program.

use std::io::{self, Write};

use crate::FirstErrorWriter;
use crate::machine::Stop;

/// Output of the program. Since a program cannot learn that its serial port failed, the machine stops on an error.
pub(super) struct Console(FirstErrorWriter<Box<dyn Write + Send>>);

impl Console {
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self(FirstErrorWriter::new(out))
    }

    /// Replaces the result of the host by a stop if printing failed. Flushes the output before the end.
    pub fn check(&mut self, result: Result<(), Stop>) -> Result<(), Stop> {
        if result.is_err() {
            let _ = self.flush();
        }
        match &self.0.failed {
            Ok(()) => result,
            Err(error) => Err(Stop::Fault(format!("what the program prints could not be written: {error}"))),
        }
    }
}

impl Write for Console {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(|out| out.write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.write(Write::flush);
        Ok(())
    }
}
