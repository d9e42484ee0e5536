//! What ran, counted: in binaries, wherever they were loaded.

use std::collections::HashMap;
use std::ops::AddAssign;

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_image::{CodeSegment, FileRef};

use crate::funnel::Funnel;

/// Where an instruction is: in a binary, at the address that it was linked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The binary's number; [`Place::NOWHERE`] if nobody knows whose it is.
    pub binary: u32,
    /// The address.
    pub address: u64,
}

impl Place {
    /// The binary of what belongs to none: addresses are those in memory.
    pub const NOWHERE: u32 = u32::MAX;

    /// A number of bytes further on.
    #[must_use]
    pub const fn plus(self, bytes: u64) -> Self {
        Self { binary: self.binary, address: self.address.wrapping_add(bytes) }
    }
}

/// A binary of which something ran.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Binary {
    /// Its name: a path, most likely.
    pub name: String,
    /// Its build ID; empty if it has none.
    pub build_id: Vec<u8>,
    /// Whether it is an ELF file: otherwise its addresses are those in memory.
    pub is_elf: bool,
    /// Its executable segments, as far as they are known: they turn addresses into offsets in the file.
    pub code: Vec<CodeSegment>,
}

impl Binary {
    /// Describes a file of an image, under the path it had where it ran.
    #[must_use]
    pub fn of(file: &FileRef<'_>) -> Self {
        Self {
            name: file.path().to_owned(),
            build_id: file.build_id().unwrap_or_default().to_vec(),
            is_elf: file.is_elf(),
            code: file.code_segments().collect(),
        }
    }

    /// What it is known by: its build ID; without one, its name.
    #[must_use]
    pub fn key(&self) -> (&[u8], &str, bool) {
        if self.build_id.is_empty() { (&[], &self.name, self.is_elf) } else { (&self.build_id, "", true) }
    }

    /// Whether the two are the same binary.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// Its name without folders.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// Its build ID in hexadecimal.
    #[must_use]
    pub fn build_id_hex(&self) -> String {
        self.build_id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A block of a binary, however it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code {
    /// Its first instruction.
    pub start: Place,
    /// How many bytes.
    pub len: u32,
    /// How many instructions.
    pub count: u32,
    /// Their instruction set.
    pub isa: Isa,
    /// Bytes of the last one.
    pub last_len: u8,
    /// What the last one can do.
    pub class: Class,
}

impl Code {
    /// What is known of a block that begins at this place.
    #[must_use]
    pub fn of(block: &Block, start: Place) -> Self {
        let len = block.end.wrapping_sub(block.start) as u32;
        let Block { count, isa, last_len, class, .. } = *block;
        Self { start, len, count, isa, last_len, class }
    }

    /// Its last instruction.
    #[must_use]
    pub fn last(&self) -> Place {
        self.start.plus(u64::from(self.len).saturating_sub(self.last_len.into()))
    }

    /// The first byte after it.
    #[must_use]
    pub fn end(&self) -> Place {
        self.start.plus(self.len.into())
    }

    /// It as a block at the addresses of its binary.
    #[must_use]
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

/// How often a block ran, by how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Its last instruction branched.
    pub taken: u64,
    /// Its last instruction is a branch that was not taken.
    pub not_taken: u64,
    /// Its last instruction is no branch, or something from outside ended it.
    pub through: u64,
}

impl Runs {
    /// How often it ran.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.taken.saturating_add(self.not_taken).saturating_add(self.through)
    }

    /// It ran so many times more.
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
        // What files say may be anything: sums stop at the largest number, whatever the order.
        self.taken = self.taken.saturating_add(other.taken);
        self.not_taken = self.not_taken.saturating_add(other.not_taken);
        self.through = self.through.saturating_add(other.through);
    }
}

/// What ran, and how often. Profiles add up: of several sources, of several captures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The binaries, by their numbers.
    pub binaries: Vec<Binary>,
    /// How often each block ran.
    pub blocks: HashMap<Code, Runs>,
    /// How often each taken branch (its address) went where.
    pub branches: HashMap<(Place, Place), u64>,
    /// What became of all that was traced.
    pub funnel: Funnel,
}

impl Profile {
    /// The number of a binary, which is added if it is new. Two with the same build ID are one, and so are two without any that have
    /// the same name. Of several names of one, that which sorts first is kept, and of several lists of segments the greatest, so that
    /// the order does not matter.
    pub fn binary(&mut self, binary: Binary) -> u32 {
        match self.binaries.iter().position(|known| known.is(&binary)) {
            Some(number) => {
                let known = &mut self.binaries[number];
                if binary.name < known.name {
                    known.name = binary.name;
                }
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

    /// Adds all of another profile.
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

    /// How many instructions ran.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.blocks.iter().map(|(code, runs)| u64::from(code.count) * runs.all()).sum()
    }

    /// The same; `None` if it is more than a number can hold.
    #[must_use]
    pub fn instructions_checked(&self) -> Option<u64> {
        let mut all = self.blocks.iter().map(|(code, runs)| u64::from(code.count).checked_mul(runs.all()));
        all.try_fold(0_u64, |sum, more| sum.checked_add(more?))
    }

    /// How many branches were taken; `None` if it is more than a number can hold.
    #[must_use]
    pub fn taken_checked(&self) -> Option<u64> {
        self.branches.values().try_fold(0_u64, |sum, more| sum.checked_add(*more))
    }

    /// How many branches were taken to where something is known of.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.branches.values().sum()
    }

    /// The same with binaries in the order of their build IDs and names: equal profiles are equal then, however they were added up.
    #[must_use]
    pub fn sorted(&self) -> Self {
        let mut binaries = self.binaries.clone();
        binaries.sort_by(|one, other| one.key().cmp(&other.key()));
        binaries.dedup_by(|one, other| one.is(other));
        let mut sorted = Self { binaries, ..Self::default() };
        sorted.merge(self);
        sorted
    }

    /// Keeps what begins at places that are wanted: blocks by their first instruction, branches by their own.
    pub fn retain(&mut self, wants: impl Fn(Place) -> bool) {
        self.blocks.retain(|code, _| wants(code.start));
        self.branches.retain(|(from, _), _| wants(*from));
    }
}
