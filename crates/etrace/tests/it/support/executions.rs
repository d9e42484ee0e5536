//! Executions of programs, replayed as often as needed.

use std::path::Path;

use tracewright_core::{Block, Ended, Isa, Role};
use tracewright_hart::{HartSink, Privilege, Trap};
use tracewright_image::Image;
use tracewright_isa::riscv::{IType, len};
use tracewright_testkit::control::{Happening, Step};

use super::machine::{self, Record, image};

/// Event that a sink receives.
#[derive(Clone, Debug)]
pub enum Told {
    Instructions(Vec<u32>),
    Block(Block),
    Trap(Trap),
    Privilege(Privilege),
    Context(u64),
}

/// Execution of a program.
pub struct Execution {
    pub told: Vec<Told>,
    /// Its instructions, one by one.
    pub steps: Vec<Step>,
    /// Number of retired instructions.
    pub retired: u64,
    pub image: Image,
    pub isa: Isa,
    pub has_uncounted_loop: bool,
}

impl Execution {
    /// Runs the first instructions of a program.
    pub fn of(path: &Path, instructions: u64) -> Self {
        let mut both = Both::default();
        machine::run_into(path, instructions, &mut both);
        let isa = both.told.iter().find_map(|told| match told {
            Told::Block(block) => Some(block.isa),
            _ => None,
        });
        let retired = both.steps.iter().filter(|step| !matches!(step.what, Happening::Trap { .. })).count();
        Self {
            image: image(&both.record.code),
            has_uncounted_loop: both.record.has_uncounted_loop(),
            isa: isa.unwrap(),
            retired: retired as u64,
            told: both.told,
            steps: both.steps,
        }
    }
}

/// Replays the events.
pub fn replay(told: &[Told], sink: &mut impl HartSink) {
    for told in told {
        match told {
            Told::Instructions(bits) => sink.instructions(bits),
            Told::Block(block) => sink.block(block),
            Told::Trap(trap) => sink.trap(trap),
            Told::Privilege(privilege) => sink.privilege(*privilege),
            Told::Context(context) => sink.context(*context),
        }
    }
}

#[derive(Default)]
struct Both {
    record: Record,
    told: Vec<Told>,
    steps: Vec<Step>,
    bits: Vec<u32>,
    privilege: u8,
    context: u64,
    number: u64,
}

impl HartSink for Both {
    const INSTRUCTIONS: bool = true;

    fn block(&mut self, block: &Block) {
        self.record.block(block);
        self.told.push(Told::Block(*block));
        let mut pc = block.start;
        let bits = std::mem::take(&mut self.bits);
        assert_eq!(bits.len(), block.count as usize);
        let iretire = (block.end.wrapping_sub(block.start) / 2) as u32;
        let whole = (IType::of(block) as u8, iretire, u8::from(block.last_len == 4));
        for (index, bits) in bits.iter().enumerate() {
            let is_return = index + 1 == block.count as usize
                && block.class.role == Role::ExceptionReturn
                && block.ended == Ended::Taken;
            self.number += 1;
            self.steps.push(Step {
                pc,
                privilege: self.privilege,
                context: self.context,
                cycle: self.number,
                block: whole,
                what: if is_return { Happening::Returned } else { Happening::Retired },
            });
            pc += u64::from(len(*bits as u16));
        }
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.record.instructions(bits);
        self.told.push(Told::Instructions(bits.to_vec()));
        self.bits.extend_from_slice(bits);
    }

    fn trap(&mut self, trap: &Trap) {
        self.told.push(Told::Trap(*trap));
        let &Trap { pc, cause, interrupt, value: tval, served, .. } = trap;
        self.steps.push(Step {
            pc,
            privilege: self.privilege,
            context: self.context,
            cycle: self.number,
            block: (0, 0, 0),
            what: Happening::Trap { cause, tval, interrupt, served },
        });
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.told.push(Told::Privilege(privilege));
        self.privilege = privilege as u8;
    }

    fn context(&mut self, context: u64) {
        self.told.push(Told::Context(context));
        self.context = context;
    }
}
