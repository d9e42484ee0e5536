//! What stands for running the program where that cannot be: it is for Linux.

use tracewright_input::OutputFolder;

use super::Ran;
use crate::output::Error;

/// Fails.
pub fn run(_: Option<&OutputFolder>) -> Result<Ran, Error> {
    Err(tracewright_capture::Error::LinuxOnly.into())
}
