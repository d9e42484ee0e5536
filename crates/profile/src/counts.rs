//! Execution counts of blocks and branches by binary, independent of load addresses.

use std::ops::AddAssign;

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_flow::hash::HashMap;
use tracewright_image::{CodeSegment, FileRef};

/// Location of an instruction: a binary and a link-time address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Number of the binary, or [`Place::NOWHERE`] if unknown.
    pub binary: u32,
    /// Address.
    pub address: u64,
}

impl Place {
    /// Binary number of code that belongs to no known binary. Addresses are memory addresses then.
    pub const NOWHERE: u32 = u32::MAX;

    /// Returns the place `bytes` further on.
    pub const fn plus(self, bytes: u64) -> Self {
        Self { binary: self.binary, address: self.address.wrapping_add(bytes) }
    }
}

/// A binary of which code ran.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Binary {
    /// Name, usually a path.
    pub name: String,
    /// Build ID; empty if there is none.
    pub build_id: Vec<u8>,
    /// Set if the binary is an ELF file. Otherwise its addresses are memory addresses.
    pub is_elf: bool,
    /// Absolute path where the binary was found when the profile was made, if known.
    pub found: Option<String>,
    /// Executable segments, as far as known. They map addresses to file offsets.
    pub code: Vec<CodeSegment>,
}

impl Binary {
    /// Describes a file of an image, under its path on the traced system.
    pub fn of(file: &FileRef<'_>) -> Self {
        Self {
            name: file.path().to_owned(),
            build_id: file.build_id().unwrap_or_default().to_vec(),
            is_elf: file.is_elf(),
            found: None,
            code: file.code_segments().collect(),
        }
    }

    /// Returns the identity of the binary: its build ID or, without one, its name.
    pub fn key(&self) -> (&[u8], &str, bool) {
        if self.build_id.is_empty() { (&[], &self.name, self.is_elf) } else { (&self.build_id, "", true) }
    }

    /// Returns whether two binaries have the same identity.
    pub fn is(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// Returns the name without folders.
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// Returns whether the binary is a shared library, judging by its name: `libc.so.6`, `ld-linux-aarch64.so.1`,
    /// `[vdso]`.
    pub fn is_library(&self) -> bool {
        let name = self.file_name();
        name == "[vdso]" || name.ends_with(".so") || name.contains(".so.")
    }

    /// Returns the build ID in hexadecimal.
    pub fn build_id_hex(&self) -> String {
        self.build_id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A block of a binary, regardless of how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code {
    /// First instruction.
    pub start: Place,
    /// Length in bytes.
    pub len: u32,
    /// Number of instructions.
    pub count: u32,
    /// Instruction set.
    pub isa: Isa,
    /// Length of the last instruction in bytes.
    pub last_len: u8,
    /// Class of the last instruction.
    pub class: Class,
}

impl Code {
    /// Describes a block that begins at `start`.
    pub fn of(block: &Block, start: Place) -> Self {
        let len = block.end.wrapping_sub(block.start) as u32;
        let Block { count, isa, last_len, class, .. } = *block;
        Self { start, len, count, isa, last_len, class }
    }

    /// Returns the place of the last instruction.
    pub fn last(&self) -> Place {
        self.start.plus(u64::from(self.len).saturating_sub(self.last_len.into()))
    }

    /// Returns the place after the block.
    pub fn end(&self) -> Place {
        self.start.plus(self.len.into())
    }

    /// Converts to a block at the addresses of its binary.
    pub fn block(&self, ended: Ended) -> Block {
        Block {
            start: self.start.address,
            end: self.end().address,
            count: self.count,
            isa: self.isa,
            last_len: self.last_len,
            class: self.class,
            ended,
        }
    }
}

/// Number of runs of a block, by how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Runs whose last instruction branched.
    pub taken: u64,
    /// Runs whose last instruction is a branch that was not taken.
    pub not_taken: u64,
    /// Runs whose last instruction is no branch, or that were interrupted.
    pub through: u64,
}

impl Runs {
    /// Returns the number of all runs.
    pub const fn all(&self) -> u64 {
        self.taken.saturating_add(self.not_taken).saturating_add(self.through)
    }

    /// Adds `count` runs.
    pub fn add(&mut self, ended: Ended, count: u64) {
        match ended {
            Ended::Taken => self.taken += count,
            Ended::NotTaken => self.not_taken += count,
            Ended::Through | Ended::Cut => self.through += count,
        }
    }
}

impl AddAssign for Runs {
    fn add_assign(&mut self, other: Self) {
        // Counts from files may be arbitrary, so that sums saturate; the result does not depend on the order.
        self.taken = self.taken.saturating_add(other.taken);
        self.not_taken = self.not_taken.saturating_add(other.not_taken);
        self.through = self.through.saturating_add(other.through);
    }
}

/// Execution counts of blocks and branches. Profiles of several sources or captures can be merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Binaries, by number.
    pub binaries: Vec<Binary>,
    /// Runs of each block.
    pub blocks: HashMap<Code, Runs>,
    /// Number of times each taken branch (its place) went to each target.
    pub branches: HashMap<(Place, Place), u64>,
    /// Statistics of the trace that the profile was made from.
    pub funnel: Funnel,
}

impl Profile {
    /// Returns the number of a binary, which is added if it is new. Binaries with the same build ID are the same, and
    /// so are binaries without build ID that have the same name. Of several names the one that sorts first is kept, and
    /// of several segment lists the greatest, so that the order of calls does not matter.
    pub fn binary(&mut self, binary: Binary) -> u32 {
        match self.binaries.iter().position(|known| known.is(&binary)) {
            Some(number) => {
                let known = &mut self.binaries[number];
                if binary.name < known.name {
                    known.name = binary.name;
                }
                // Any order of merges keeps the same one.
                known.found = [known.found.take(), binary.found].into_iter().flatten().min();
                if binary.code > known.code {
                    known.code = binary.code;
                }
                number as u32
            }
            None => {
                self.binaries.push(binary);
                self.binaries.len() as u32 - 1
            }
        }
    }

    /// Adds another profile.
    pub fn merge(&mut self, other: &Self) {
        let numbers: Vec<_> = other.binaries.iter().map(|binary| self.binary(binary.clone())).collect();
        let place = |place: Place| match numbers.get(place.binary as usize) {
            Some(&binary) => Place { binary, ..place },
            None => place,
        };
        for (code, runs) in &other.blocks {
            *self.blocks.entry(Code { start: place(code.start), ..*code }).or_default() += *runs;
        }
        for (&(from, to), count) in &other.branches {
            let sum = self.branches.entry((place(from), place(to))).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.funnel += other.funnel;
    }

    /// Returns the number of instructions executed.
    pub fn instructions(&self) -> u64 {
        self.blocks.iter().map(|(code, runs)| u64::from(code.count) * runs.all()).sum()
    }

    /// Returns the number of instructions executed, or `None` if it overflows.
    pub fn instructions_checked(&self) -> Option<u64> {
        let mut all = self.blocks.iter().map(|(code, runs)| u64::from(code.count).checked_mul(runs.all()));
        all.try_fold(0_u64, |sum, more| sum.checked_add(more?))
    }

    /// Returns the number of branches taken, or `None` if it overflows.
    pub fn taken_checked(&self) -> Option<u64> {
        self.branches.values().try_fold(0_u64, |sum, more| sum.checked_add(*more))
    }

    /// Returns the number of taken branches whose target is known.
    pub fn taken(&self) -> u64 {
        self.branches.values().sum()
    }

    /// Returns the profile with its binaries sorted by build ID and name. Equal profiles then compare equal, whatever
    /// the order in which they were merged.
    #[must_use]
    pub fn sorted(&self) -> Self {
        let mut binaries = self.binaries.clone();
        binaries.sort_by(|one, other| one.key().cmp(&other.key()));
        binaries.dedup_by(|one, other| one.is(other));
        let mut sorted = Self { binaries, ..Self::default() };
        sorted.merge(self);
        sorted
    }

    /// Keeps blocks whose first instruction, and branches whose own place, `wants` accepts.
    pub fn retain(&mut self, wants: impl Fn(Place) -> bool) {
        self.blocks.retain(|code, _| wants(code.start));
        self.branches.retain(|(from, _), _| wants(*from));
    }
}

/// Statistics of a trace: how many bytes were decoded, how many instructions these gave, how many of those belong to
/// known binaries and functions and are in the output, and why others are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Bytes of trace files that were read.
    pub bytes: u64,
    /// Bytes that are not trace of a requested source: framing, padding, other sources.
    pub bytes_around: u64,
    /// Bytes of sources in unsupported formats.
    pub bytes_unread: u64,
    /// Bytes that could not be decoded: before the first synchronisation and in gaps.
    pub bytes_lost: u64,
    /// Number of gaps in the trace.
    pub gaps: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Number of times that no image had the code that ran.
    pub without_code: u64,
    /// Number of times that the code cannot be what ran.
    pub mismatches: u64,
    /// Instructions in a known binary.
    pub in_binary: u64,
    /// Instructions in a known function.
    pub in_function: u64,
    /// Instructions in the output.
    pub in_output: u64,
    /// Number of times that the trace reported execution without telling which instructions ran or how often. If not 0,
    /// all counts are lower bounds.
    pub unknown_paths: u64,
    /// Sources that were not decoded to their end because a limit was reached. If not 0, all counts are lower bounds.
    pub stopped: u64,
    /// Number of captures of which anything was wrong or missing, for whatever reason.
    pub faults: u64,
    /// Those among the unknown paths that are endless loops at the end of a source. How often they turned is in no trace, so nothing is missing.
    pub endless_loops: u64,
}

impl Funnel {
    /// Returns the number of bytes that were decoded.
    pub const fn bytes_decoded(&self) -> u64 {
        let not = self.bytes_around.saturating_add(self.bytes_unread).saturating_add(self.bytes_lost);
        self.bytes.saturating_sub(not)
    }

    /// Returns whether nothing is missing from what was counted.
    pub const fn is_complete(&self) -> bool {
        let lost = self.gaps > 0 || self.bytes_unread > 0 || self.without_code > 0 || self.mismatches > 0;
        let is_cut = self.unknown_paths > self.endless_loops || self.stopped > 0;
        !lost && !is_cut && self.faults == 0
    }

    /// Returns why something is missing, as stable names: those of `tracewright::Outcome`, or `other` if nothing else is known.
    pub fn reason_ids(&self) -> Vec<&'static str> {
        let reasons = [
            ("lost-trace", self.gaps),
            ("mismatch", self.mismatches),
            ("no-code", self.without_code),
            ("stopped", self.stopped),
            ("unknown-path", self.unknown_paths.saturating_sub(self.endless_loops)),
            ("unread-source", self.bytes_unread),
        ];
        let mut ids: Vec<_> = reasons.iter().filter(|(_, count)| *count > 0).map(|(id, _)| *id).collect();
        if ids.is_empty() && !self.is_complete() {
            ids.push("other");
        }
        ids
    }

    /// Returns whether counts are lower bounds although no trace is missing.
    pub const fn is_lower_bound(&self) -> bool {
        self.unknown_paths > 0 || self.stopped > 0
    }

    /// Returns all numbers, in file order.
    pub(crate) fn numbers(&mut self) -> [&mut u64; 15] {
        [
            &mut self.bytes,
            &mut self.bytes_around,
            &mut self.bytes_unread,
            &mut self.bytes_lost,
            &mut self.gaps,
            &mut self.instructions,
            &mut self.without_code,
            &mut self.mismatches,
            &mut self.in_binary,
            &mut self.in_function,
            &mut self.in_output,
            &mut self.unknown_paths,
            &mut self.stopped,
            &mut self.faults,
            &mut self.endless_loops,
        ]
    }
}

impl AddAssign for Funnel {
    fn add_assign(&mut self, mut other: Self) {
        for (sum, number) in self.numbers().into_iter().zip(other.numbers()) {
            *sum = sum.saturating_add(*number);
        }
    }
}
