//! Helpers of the tests of analyses.

use std::collections::BTreeSet;

use tracewright_core::{Block, Class, Element, Ended, Isa, Role};
use tracewright_profile::Within;
use tracewright_testkit::Rng;
use tracewright_testkit::program::{self, Executor, Happenings};

/// Execution of a random program, with the starts of its functions: its entry and all call targets.
pub struct Executed {
    pub elements: Vec<Element>,
    pub starts: Vec<u64>,
}

impl Executed {
    /// Runs a program with nothing but calls, returns and branches.
    pub fn computing(seed: u64) -> Self {
        let program = program::generate_computing(&mut Rng::new(seed), 600);
        let happenings = Happenings { exceptions: 0, ..Happenings::default() };
        Self::of(&program, seed, happenings, &[])
    }

    /// Runs a program with everything that can happen.
    pub fn anything(seed: u64) -> Self {
        let program = program::generate(&mut Rng::new(seed), 600);
        let happenings = Happenings {
            exceptions: 60,
            cycles: 5,
            timestamps: 50,
            events: 40,
            gaps: 300,
            overflows: 400,
            ..Happenings::default()
        };
        Self::of(&program, seed, happenings, &[program.segments[1].address])
    }

    fn of(program: &program::Program, seed: u64, happenings: Happenings, more: &[u64]) -> Self {
        let elements = Executor::new(program, Rng::new(seed ^ 0x5555), happenings).elements(20_000);
        let mut starts: BTreeSet<u64> = BTreeSet::from([program.entry()]);
        starts.extend(more);
        let blocks: Vec<_> = elements.iter().filter_map(block).collect();
        for pair in blocks.windows(2) {
            if pair[0].class.role == Role::Call && pair[0].ended == Ended::Taken {
                starts.insert(pair[1].start);
            }
        }
        Self { elements, starts: starts.into_iter().collect() }
    }

    /// Returns the function of an address. Its number is that of its start.
    pub fn find(&self, address: u64) -> Within {
        let at = self.starts.partition_point(|&start| start <= address);
        Within { function: at as u32, is_start: at > 0 && self.starts[at - 1] == address, is_named: true }
    }
}

/// Returns a block of `count` instructions of four bytes.
pub fn block_at(start: u64, count: u32, class: Class, ended: Ended) -> Block {
    let end = start + 4 * u64::from(count);
    Block { start, end, count, isa: Isa::A64, last_len: 4, class, ended }
}

pub fn block(element: &Element) -> Option<Block> {
    match element {
        Element::Block(block) => Some(*block),
        _ => None,
    }
}
