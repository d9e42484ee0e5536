//! What ran, counted: in binaries, wherever they were loaded.

use std::collections::HashMap;
use std::ops::AddAssign;

use tracewright_core::{Block, Class, Ended, Isa};

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
        self.taken + self.not_taken + self.through
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
        self.taken += other.taken;
        self.not_taken += other.not_taken;
        self.through += other.through;
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

/// From bytes to what is in the output: what is left at each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Bytes of trace.
    pub bytes: u64,
    /// Those of them of which nothing could be made.
    pub bytes_lost: u64,
    /// Times that trace is missing.
    pub gaps: u64,
    /// Instructions that ran.
    pub instructions: u64,
    /// Times that no image has the code that ran.
    pub without_code: u64,
    /// Times that the code cannot be what ran.
    pub mismatches: u64,
    /// Instructions of a known binary.
    pub in_binary: u64,
    /// Instructions of a known function.
    pub in_function: u64,
}

impl AddAssign for Funnel {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.bytes_lost += other.bytes_lost;
        self.gaps += other.gaps;
        self.instructions += other.instructions;
        self.without_code += other.without_code;
        self.mismatches += other.mismatches;
        self.in_binary += other.in_binary;
        self.in_function += other.in_function;
    }
}

impl Profile {
    /// The number of a binary, which is added if it is new. Two with the same build ID are one, and so are two without any that have
    /// the same name.
    pub fn binary(&mut self, binary: Binary) -> u32 {
        let is_it = |known: &Binary| {
            known.build_id == binary.build_id && (!binary.build_id.is_empty() || known.name == binary.name)
        };
        match self.binaries.iter().position(is_it) {
            Some(number) => number as u32,
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
            *self.branches.entry((place(from), place(to))).or_default() += count;
        }
        self.funnel += other.funnel;
    }

    /// How many instructions ran.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.blocks.iter().map(|(code, runs)| u64::from(code.count) * runs.all()).sum()
    }
}
