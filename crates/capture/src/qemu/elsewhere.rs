//! Stands in for running QEMU on other systems: its user mode runs on Linux only.

use std::convert::Infallible;

use tracewright_qemu::format::Target;

use super::{Counts, QemuOptions, QemuRecording};
use crate::{Error, Remark};

/// A program that is ready to run under QEMU. It cannot be created on this system.
pub struct Recorder(Infallible);

/// A handle that interrupts a recording.
#[derive(Clone, Debug)]
pub struct Interrupter(Infallible);

impl Recorder {
    /// Fails: QEMU's user mode needs Linux.
    ///
    /// # Errors
    /// Always fails with [`Error::LinuxOnly`].
    pub fn new(_: QemuOptions, _: &mut Vec<Remark>) -> Result<Self, Error> {
        Err(Error::LinuxOnly)
    }

    /// Is never called.
    pub fn target(&self) -> Target {
        match self.0 {}
    }

    /// Is never called.
    pub fn interrupter(&self) -> Interrupter {
        match self.0 {}
    }

    /// Is never called.
    ///
    /// # Errors
    /// Never.
    pub fn run(self, _: &mut dyn FnMut(&Counts)) -> Result<QemuRecording, Error> {
        match self.0 {}
    }
}

impl Interrupter {
    /// Is never called.
    pub fn interrupt(&self) {
        match self.0 {}
    }
}
