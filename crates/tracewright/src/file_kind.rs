//! What a file is that is not a capture.

use std::fmt;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::Path;

#[cfg(feature = "capture")]
use tracewright_hart::log::{Kind, detect};
use tracewright_input::compressed::{Compression, Unpacked};
use tracewright_input::file::start_of;
use tracewright_input::folder::CAPTURE_FILE;
use tracewright_profile::{branch_list, store};

#[cfg(feature = "capture")]
use crate::log::LogKind;

/// Kind of a file that is not a capture, as its first bytes and its name tell. Its text says what the file is, and which verb of the
/// command takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A file without contents.
    Empty,
    /// A program (ELF).
    Program,
    /// A core dump (ELF).
    CoreDump,
    /// The description of a capture folder.
    CaptureDescription,
    /// The description of a trace snapshot.
    SnapshotDescription,
    /// A profile of tracewright.
    Profile,
    /// A branch list of simpleperf.
    BranchList,
    /// Retirement-delta trace, which belongs to a capture.
    Delta,
    /// A log of another program: its name.
    Log(&'static str),
    /// Inputs of a trace encoder as CSV.
    EncoderInput,
    /// An archive: its format.
    Archive(&'static str),
    /// Something that is read at any place, and comes from a pipe: what it is.
    Piped(&'static str),
    /// Text.
    Text,
    /// Something else, perhaps raw trace.
    Unknown,
}

/// Bytes that are looked at. Some logs begin with messages of the simulator.
const START: usize = 16 << 10;

impl FileKind {
    /// Returns what a file is; [`Unknown`](Self::Unknown) also if it cannot be read.
    pub fn of(path: &Path) -> Self {
        match path.file_name() {
            Some(name) if name == CAPTURE_FILE => return Self::CaptureDescription,
            Some(name) if name == "snapshot.ini" => return Self::SnapshotDescription,
            _ => {}
        }
        start_of(path, START).map_or(Self::Unknown, |start| Self::of_bytes(&start))
    }

    /// Returns what comes from standard input, without reading it: [`Unknown`](Self::Unknown) if it may be raw trace.
    pub(crate) fn of_stdin() -> Self {
        let mut stdin = io::stdin().lock();
        if stdin.is_terminal() {
            return Self::Unknown;
        }
        stdin.fill_buf().map_or(Self::Unknown, |start| match Compression::of(start) {
            Some(_) => Self::of_packed_pipe(start),
            None => Self::of_pipe(start),
        })
    }

    /// Returns what a compressed pipe is, of which these are the first bytes.
    fn of_packed_pipe(start: &[u8]) -> Self {
        let mut unpacked = Vec::new();
        // The end is missing, which is no matter: what came before it tells.
        if let Ok(input) = Unpacked::new(start) {
            let _ = input.take(START as u64).read_to_end(&mut unpacked);
        }
        Self::of_pipe(&unpacked)
    }

    fn of_pipe(start: &[u8]) -> Self {
        #[cfg(feature = "capture")]
        if LogKind::of(start).is_some() {
            return Self::Piped("a log of tracewright");
        }
        if start.starts_with(b"PERFILE2") {
            return Self::Piped("a recording of perf");
        }
        match Self::of_bytes(start) {
            Self::Profile => Self::Piped("a profile"),
            Self::BranchList => Self::Piped("a branch list of simpleperf"),
            _ => Self::Unknown,
        }
    }

    /// Returns what a file is that begins with these bytes.
    pub fn of_bytes(start: &[u8]) -> Self {
        let is_at = |at: usize, bytes: &[u8]| start.get(at..).is_some_and(|rest| rest.starts_with(bytes));
        // The type of an ELF file: a core dump is 4.
        let is_core = || matches!(start.get(16..18), Some([4, 0] | [0, 4]));
        if start.is_empty() {
            Self::Empty
        } else if is_at(0, b"\x7fELF") {
            if is_core() { Self::CoreDump } else { Self::Program }
        } else if store::is_profile(start) {
            Self::Profile
        } else if branch_list::is_branch_list(start) {
            Self::BranchList
        } else if is_at(3, b"TWD") {
            Self::Delta
        } else if is_at(0, b"PK\x03\x04") || is_at(0, b"PK\x05\x06") {
            Self::Archive("zip")
        } else if is_at(257, b"ustar") {
            Self::Archive("tar")
        } else if is_at(0, b"7z\xbc\xaf\x27\x1c") {
            Self::Archive("7z")
        } else {
            Self::of_text(start)
        }
    }

    fn of_text(start: &[u8]) -> Self {
        let first_line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let has_column =
            |name: &[u8]| first_line.split(|&byte| byte == b',').any(|column| column.trim_ascii() == name);
        if has_column(b"itype_0") && has_column(b"iaddr_0") {
            return Self::EncoderInput;
        }
        #[cfg(feature = "capture")]
        match detect(start) {
            Some(Kind::Spike) => return Self::Log("Spike"),
            Some(Kind::Rvfi) => return Self::Log("CVA6"),
            Some(Kind::Qemu) => return Self::Log("QEMU"),
            Some(Kind::Csv) => return Self::Log("retirements (CSV)"),
            Some(Kind::Own | Kind::Retirement) | None => {}
        }
        let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b | b' '..=b'~' | 0x80..);
        let is_cut = start.len() >= START;
        // The last character may be cut.
        let is_utf8 = match std::str::from_utf8(start) {
            Ok(_) => true,
            Err(error) => is_cut && error.error_len().is_none(),
        };
        if is_utf8 && start.iter().all(is_text) { Self::Text } else { Self::Unknown }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::Program => f.write_str(
                "is a program (ELF), not a capture: --image names the program beside its capture, and record runs it",
            ),
            Self::CoreDump => f.write_str("is a core dump: it has memory, and no trace"),
            Self::CaptureDescription => f.write_str("belongs to a capture: give its folder"),
            Self::SnapshotDescription => f.write_str("belongs to a snapshot: give its folder"),
            Self::Profile => {
                f.write_str("is a profile, without any trace: profile, annotate, coverage, merge and diff take it")
            }
            Self::BranchList => {
                f.write_str("is a branch list of simpleperf, without any trace: profile takes it, with the programs")
            }
            Self::Delta => f.write_str(
                "is retirement-delta trace (the cycles of a capture): give the folder of the capture that names it",
            ),
            Self::Log(of) => write!(
                f,
                "is a log of {of}: encode makes a capture of it, and decode --check compares a capture with it"
            ),
            Self::EncoderInput => f.write_str("is the input of a trace encoder (CSV): encode makes a capture of it"),
            Self::Archive(format) => write!(f, "is an archive ({format}): unpack it, and give what is inside"),
            Self::Piped(what) => write!(f, "is {what}, which cannot come from a pipe: give the file"),
            Self::Text => f.write_str("is text, not trace"),
            Self::Unknown => f.write_str(
                "does not describe itself: if it is raw trace, say how it is packed with --packing, and its sources with \
                 --source (E-Trace: --source alone)",
            ),
        }
    }
}
