//! Outputs: files and folders that are written beside their name, and take it when they are complete.
//!
//! Nothing is overwritten that is of another kind, unless [`Replace::Anything`] is asked for. What a recording wrote is kept also if it
//! ends early: the file or folder then takes its name when it is dropped. If the process is killed, it stays beside the name, with
//! `.part` at the end of its own.

mod earlier;
mod file;
mod folder;
mod kind;

use std::io;
use std::path::Path;

pub use self::file::OutputFile;
pub use self::folder::OutputFolder;
pub use self::kind::OutputKind;
use crate::problem::Problem;

/// What an output may replace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replace {
    /// An output of the same kind.
    #[default]
    SameKind,
    /// Any file. In a folder that is not a capture, files with the same names are replaced, and all others stay.
    Anything,
}

pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Problem {
    Problem::file_error(path, format!("cannot write: {error}"))
}
