//! Formats by name, and the writers of those that need only counts.

use std::collections::HashSet;
use std::fmt;

use tracewright_image::BlockMapError;

use super::gcov::Version;
use super::samples::{Discriminators, Samples};
use super::{autofdo, bolt, fdata, gcov, llvm, llvm_binary, profgen, propeller, ranges};
use crate::counts::{Binary, Code, Place, Profile};
use crate::program::Program;
use crate::{branch_list, store};

/// Format of an exported profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Call stacks, a line each ([`folded`](super::folded)).
    Folded,
    /// Flame graph as SVG ([`flamegraph`](super::flamegraph)).
    Flamegraph,
    /// pprof ([`pprof`](super::pprof)).
    Pprof,
    /// Callgrind ([`callgrind`](super::callgrind)).
    Callgrind,
    /// LLVM's sample profile as text ([`llvm`]).
    Llvm,
    /// LLVM's sample profile in its extended binary form ([`llvm_binary`]).
    LlvmBinary,
    /// LLVM's sample profile with calling contexts ([`llvm_contexts`](super::llvm_contexts)).
    LlvmContexts,
    /// Unsymbolized profile of llvm-profgen ([`profgen`]).
    Profgen,
    /// Input of BOLT's perf2bolt ([`bolt::write`]).
    Bolt,
    /// BOLT's own profile ([`fdata`]).
    Fdata,
    /// Propeller's list of basic blocks ([`propeller::clusters`]).
    Propeller,
    /// Functions in the order of linking ([`propeller::symbol_order`]).
    SymbolOrder,
    /// Profile of GCC 12 to 15 ([`gcov`]).
    Gcov,
    /// Profile of GCC 16 ([`gcov`]).
    Gcov16,
    /// Text of simpleperf ([`autofdo`]).
    Autofdo,
    /// Text of simpleperf for BOLT ([`bolt::simpleperf`]).
    BoltSimpleperf,
    /// Branch list of simpleperf ([`branch_list`]).
    BranchList,
    /// All counts in a compact file ([`store`]).
    Tracewright,
}

impl Format {
    /// All formats: those for people first.
    pub const ALL: [Self; 18] = [
        Self::Folded,
        Self::Flamegraph,
        Self::Pprof,
        Self::Callgrind,
        Self::Llvm,
        Self::LlvmBinary,
        Self::LlvmContexts,
        Self::Profgen,
        Self::Bolt,
        Self::Fdata,
        Self::Propeller,
        Self::SymbolOrder,
        Self::Gcov,
        Self::Gcov16,
        Self::Autofdo,
        Self::BoltSimpleperf,
        Self::BranchList,
        Self::Tracewright,
    ];

    /// Returns the name: `llvm-binary`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Folded => "folded",
            Self::Flamegraph => "flamegraph",
            Self::Pprof => "pprof",
            Self::Callgrind => "callgrind",
            Self::Llvm => "llvm",
            Self::LlvmBinary => "llvm-binary",
            Self::LlvmContexts => "llvm-contexts",
            Self::Profgen => "profgen",
            Self::Bolt => "bolt",
            Self::Fdata => "fdata",
            Self::Propeller => "propeller",
            Self::SymbolOrder => "symbol-order",
            Self::Gcov => "gcov",
            Self::Gcov16 => "gcov-16",
            Self::Autofdo => "autofdo",
            Self::BoltSimpleperf => "bolt-simpleperf",
            Self::BranchList => "branch-list",
            Self::Tracewright => "tracewright",
        }
    }

    /// Returns whether the format is not text.
    pub const fn is_binary(self) -> bool {
        matches!(
            self,
            Self::Tracewright | Self::LlvmBinary | Self::Pprof | Self::BranchList | Self::Gcov | Self::Gcov16
        )
    }

    /// Returns whether the format has stacks of calls, so that it needs a [`CallTree`](crate::CallTree).
    pub const fn has_stacks(self) -> bool {
        matches!(self, Self::Folded | Self::Flamegraph | Self::Pprof | Self::Callgrind)
    }

    /// Returns whether the format has only code of ELF files, which are all that compilers know.
    pub const fn is_of_elf_files(self) -> bool {
        !self.has_stacks() && !matches!(self, Self::Tracewright)
    }

    /// Returns whether the format is the profile of a single binary.
    pub const fn is_of_one(self) -> bool {
        matches!(
            self,
            Self::Bolt
                | Self::BoltSimpleperf
                | Self::Fdata
                | Self::Profgen
                | Self::Propeller
                | Self::SymbolOrder
        )
    }

    /// Returns whether the format tells what ran by source line alone.
    pub fn is_of_lines(self) -> bool {
        matches!(self, Self::Llvm | Self::LlvmBinary | Self::LlvmContexts | Self::Gcov | Self::Gcov16)
    }

    /// Returns how many executed instructions of a profile the format covers.
    pub fn instructions(self, profile: &Profile, program: &Program) -> u64 {
        let one = self.is_of_one().then(|| ranges::largest(profile));
        let is_elf = |number: u32| profile.binaries.get(number as usize).is_some_and(|binary| binary.is_elf);
        let has = |number: u32| {
            (!self.is_of_elf_files() || is_elf(number)) && one.is_none_or(|one| one == Some(number))
        };
        let blocks = profile.blocks.iter().filter(|(code, _)| has(code.start.binary));
        let count = |code: &Code| match self.is_of_lines() {
            true => {
                let places = program.instructions(code).map(|at| Place { address: at.address, ..code.start });
                places.filter(|&place| program.source(place).is_some()).count() as u64
            }
            false => code.count.into(),
        };
        blocks.map(|(code, runs)| count(code) * runs.all()).sum()
    }

    /// Returns whether a file in this format has no counts.
    pub fn is_empty(self, bytes: &[u8]) -> bool {
        let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
        match self {
            // The numbers of ranges and of branches.
            Self::Profgen => lines.all(|line| line == b"0\n"),
            Self::BoltSimpleperf => lines.all(|line| line.starts_with(b"//")),
            _ => bytes.is_empty(),
        }
    }

    /// Writes a profile. Adds to `remarks` what the file lacks.
    ///
    /// # Errors
    /// Fails if the profile does not have what the format is made of; always, if the format needs the order of execution.
    pub fn write(
        self,
        profile: &Profile,
        program: &Program,
        remarks: &mut Vec<ExportRemark>,
    ) -> Result<Vec<u8>, ExportError> {
        let mut one = || largest(profile, remarks);
        let samples = |discriminators| {
            let samples = Samples::new(profile, program, discriminators);
            if samples.functions.is_empty() { Err(ExportError::NoLines) } else { Ok(samples) }
        };
        Ok(match self {
            Self::Tracewright => store::write(profile),
            Self::BranchList => branch_list::write(&branch_list::of_profile(profile)),
            Self::Autofdo => autofdo::write(profile, program).into_bytes(),
            Self::Bolt => bolt::write(profile, program, one()?).into_bytes(),
            Self::BoltSimpleperf => bolt::simpleperf(profile, program, one()?).into_bytes(),
            Self::Fdata => fdata::write(profile, program, one()?).into_bytes(),
            Self::Profgen => profgen::write(profile, program, one()?).into_bytes(),
            Self::Propeller => {
                let number = one()?;
                clusters(profile, program, number, remarks)?.into_bytes()
            }
            Self::SymbolOrder => propeller::symbol_order(profile, program, one()?).into_bytes(),
            Self::Llvm => llvm::write(&samples(Discriminators::Clang)?).into_bytes(),
            Self::LlvmBinary => llvm_binary::write(&samples(Discriminators::Clang)?),
            Self::Gcov => gcov::write(&samples(Discriminators::Plain)?, Version::Two),
            Self::Gcov16 => gcov::write(&samples(Discriminators::Plain)?, Version::Three),
            Self::Folded | Self::Flamegraph | Self::Pprof | Self::Callgrind | Self::LlvmContexts => {
                return Err(ExportError::NeedsOrder);
            }
        })
    }
}

/// Remark about an exported profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportRemark {
    /// Several ELF files ran, and the profile is of one: their number, and its name.
    OneBinary(usize, String),
    /// Functions are left out, because others have their name: their number.
    Ambiguous(usize),
}

impl fmt::Display for ExportRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneBinary(count, name) => write!(f, "{count} binaries ran; this is the profile of {name}"),
            Self::Ambiguous(count) => write!(
                f,
                "functions left out, since others have their name: {count} (-funique-internal-linkage-names)"
            ),
        }
    }
}

/// Error of an export: the profile does not have what the format is made of.
pub enum ExportError {
    /// No source line of executed code is known.
    NoLines,
    /// Nothing ran of any ELF file.
    NoElfFile,
    /// The map of basic blocks of the binary with this name cannot be read.
    BlockMap(String, BlockMapError),
    /// Nothing that ran of the binary with this name is in a map of basic blocks.
    NoBlockMap(String),
    /// The format needs the order of execution, and a profile only counts.
    NeedsOrder,
}

impl fmt::Debug for ExportError {
    /// Writes what [`Display`](fmt::Display) does: `main` shows errors that it returns like this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLines => f.write_str(
                "nothing that ran has debug information: compile the program with -g (clang: -gmlt \
                 -fdebug-info-for-profiling)",
            ),
            Self::NoElfFile => f.write_str("nothing ran of any ELF file, and such a profile is of one"),
            Self::BlockMap(name, error) => write!(f, "{name}: {error}"),
            Self::NoBlockMap(name) => write!(
                f,
                "{name}: nothing that ran of it is in a map of basic blocks: compile it for AArch64 with clang \
                 -fbasic-block-address-map (before clang 19: -fbasic-block-sections=labels)"
            ),
            Self::NeedsOrder => f.write_str("the format needs the order in which things ran"),
        }
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::BlockMap(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Returns the list of basic blocks of one binary that belong together.
fn clusters(
    profile: &Profile,
    program: &Program,
    number: u32,
    remarks: &mut Vec<ExportRemark>,
) -> Result<String, ExportError> {
    let name = || profile.binaries.get(number as usize).map_or("", Binary::file_name).to_owned();
    let clusters = propeller::clusters(profile, program, number);
    let clusters = clusters.map_err(|error| ExportError::BlockMap(name(), error))?;
    if clusters.ambiguous > 0 {
        remarks.push(ExportRemark::Ambiguous(clusters.ambiguous));
    }
    if clusters.text.is_empty() { Err(ExportError::NoBlockMap(name())) } else { Ok(clusters.text) }
}

/// Returns the ELF file with the most executed instructions.
fn largest(profile: &Profile, remarks: &mut Vec<ExportRemark>) -> Result<u32, ExportError> {
    let number = ranges::largest(profile).ok_or(ExportError::NoElfFile)?;
    let ran: HashSet<_> = profile.blocks.keys().map(|code| code.start.binary).collect();
    let is_elf = |number: &&u32| profile.binaries.get(**number as usize).is_some_and(|binary| binary.is_elf);
    let elf_files = ran.iter().filter(is_elf).count();
    if elf_files > 1 {
        remarks.push(ExportRemark::OneBinary(elf_files, profile.binaries[number as usize].name.clone()));
    }
    Ok(number)
}
