//! Sample programs, run on our hart.

use tracewright_core::{DataAccess, Isa};
use tracewright_isa::riscv::{Instruction, Xlen, decode};

use crate::support::machine::{Event, Record, addresses, run, sample};

/// Retired instruction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub address: u64,
    pub instruction: Instruction,
    /// Access of the instruction.
    pub access: Option<DataAccess>,
    /// Whether the instruction is the first of its block.
    pub begins: bool,
}

/// Run of a program.
#[derive(Clone, Debug)]
pub struct Run {
    pub name: &'static str,
    pub record: Record,
    pub steps: Vec<Step>,
}

impl Run {
    /// Runs the first instructions of a program.
    fn new(name: &'static str) -> Self {
        let record = run(&sample(&format!("{name}.elf")), 60_000);
        let xlen = if record.isa() == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        let mut steps = Vec::new();
        for (event, bits) in record.told() {
            let Event::Block(block, data) = event else { continue };
            let mut data = data.iter().peekable();
            for (address, bits) in addresses(block, bits) {
                let access = data.next_if(|(pc, _)| *pc == address).map(|(_, access)| *access);
                let begins = address == block.start;
                steps.push(Step { address, instruction: decode(xlen, bits), access, begins });
            }
            assert!(data.next().is_none(), "an instruction with two accesses");
        }
        Self { name, record, steps }
    }

    pub fn accesses(&self) -> impl Iterator<Item = (u64, DataAccess)> {
        self.steps.iter().filter_map(|step| step.access.map(|access| (step.address, access)))
    }

    /// Returns the width of its CSRs.
    pub fn xlen(&self) -> u8 {
        if self.record.isa() == Isa::Rv32 { 32 } else { 64 }
    }
}

/// Returns one of each kind of program: calls and memory; atomics; traps, privileges and CSRs; RV32.
pub fn runs() -> Vec<Run> {
    ["sort", "atomics", "traps", "tasks32"].map(Run::new).into()
}
