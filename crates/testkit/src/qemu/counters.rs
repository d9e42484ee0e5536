//! QEMU's log of program counters, read while it is written.

use std::io::{self, BufRead, BufReader, PipeReader};
use std::process::{Child, ExitStatus};

/// Iterator over the addresses that a program executes. Ends the program when dropped.
#[derive(Debug)]
pub struct ProgramCounters {
    child: Child,
    log: BufReader<PipeReader>,
    line: Vec<u8>,
    /// Address held back, since the next line can revoke it.
    next: Option<u64>,
}

impl ProgramCounters {
    pub(super) fn new(child: Child, log: PipeReader) -> Self {
        Self { child, log: BufReader::with_capacity(1 << 16, log), line: Vec::new(), next: None }
    }

    /// Returns how the program ended, after the last address.
    pub fn status(mut self) -> io::Result<ExitStatus> {
        self.by_ref().for_each(drop);
        self.child.wait()
    }
}

impl Iterator for ProgramCounters {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            self.line.clear();
            if self.log.read_until(b'\n', &mut self.line).ok()? == 0 {
                return self.next.take();
            }
            if self.line.starts_with(b"Stopped execution") {
                // A signal came in between: the last one did not run, and is logged again.
                self.next = None;
            } else if let Some(counter) = counter(&self.line)
                && let Some(told) = self.next.replace(counter)
            {
                return Some(told);
            }
        }
    }
}

impl Drop for ProgramCounters {
    fn drop(&mut self) {
        // This fails if the program has ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parses `Trace 0: 0x7fe2d3200100 [0000000000000000/00000000000100b0/00207600/00000201] symbol`.
fn counter(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"Trace ")?;
    let slash = rest.iter().position(|&byte| byte == b'/')?;
    let digits = rest[slash + 1..].split(|&byte| byte == b'/').next()?;
    u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}
