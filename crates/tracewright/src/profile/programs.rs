//! Programs of profiles that are read from files.

use std::fmt;
use std::path::PathBuf;

use tracewright_input::ImageFile;
use tracewright_input::debuginfod::Debuginfod;
use tracewright_input::perf::{self, BinaryNotFound, Found};

/// Where the programs of a profile are looked for.
#[derive(Clone, Debug, Default)]
pub struct ProgramSearch {
    /// Programs given by name, which come first.
    pub images: Vec<ImageFile>,
    /// Folders with copies of the traced machine's files.
    pub symbol_folders: Vec<PathBuf>,
    /// File of the profile: its folder is searched, too.
    pub beside: PathBuf,
    /// Servers that are asked for what is not here.
    pub debuginfod: Option<Debuginfod>,
}

impl ProgramSearch {
    /// Looks for a program by its path and build ID, and asks servers if `asks`.
    pub(super) fn find(&self, path: &str, build_id: &[u8], asks: bool) -> Result<Found, BinaryNotFound> {
        let servers = self.debuginfod.as_ref().filter(|_| asks);
        perf::find_binary(path, build_id, &self.symbol_folders, &self.beside, servers)
    }
}

/// A program of a profile that is not at hand.
#[derive(Debug)]
pub struct MissingProgram {
    /// Path where it ran.
    pub name: String,
    /// Reason why it is missing.
    pub why: ProgramError,
}

/// Reason why a program is not at hand.
#[non_exhaustive]
pub enum ProgramError {
    /// The binary is no ELF file, and no file with an address was given for it.
    NoAddress,
    /// No file is that of the program.
    NotFound(BinaryNotFound),
    /// The file cannot be read.
    Unreadable(String),
    /// The file is not a program that can be used.
    Unusable(String),
    /// The file is a program for a processor whose branches cannot be followed.
    Processor(PathBuf),
    /// The file of a kernel has no section `.text`, which tells where the kernel was.
    NoText,
}

impl fmt::Debug for ProgramError {
    /// Writes what [`Display`](fmt::Display) does: `main` shows errors that it returns like this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress => f.write_str("no ELF file: say where it was with --image FILE@ADDR"),
            Self::NotFound(error) => error.fmt(f),
            Self::Unreadable(message) | Self::Unusable(message) => f.write_str(message),
            Self::Processor(path) => {
                write!(f, "{} is no program for AArch64 or RISC-V", path.display())
            }
            Self::NoText => f.write_str("its file has no .text, so that nobody knows where it was"),
        }
    }
}

impl std::error::Error for ProgramError {}
