//! Our sample programs, run on our hart.

use std::io;
use std::path::PathBuf;

use tracewright_core::{Block, DataAccess};
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::linux::{self, Linux};
use tracewright_hart::{Hart, Machine, Sink, Trap};
use tracewright_isa::riscv::{Instruction, Xlen, decode};

/// An instruction that retired.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub address: u64,
    pub instruction: Instruction,
    /// What it accessed.
    pub access: Option<DataAccess>,
    /// Whether it is the first of its block.
    pub begins: bool,
}

struct Steps {
    xlen: Xlen,
    bits: Vec<u32>,
    data: Vec<(u64, DataAccess)>,
    steps: Vec<Step>,
}

impl Sink for Steps {
    const DATA: bool = true;
    const INSTRUCTIONS: bool = true;

    fn data(&mut self, pc: u64, access: &DataAccess) {
        self.data.push((pc, *access));
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn block(&mut self, block: &Block) {
        let mut address = block.start;
        let mut data = self.data.drain(..).peekable();
        for (index, bits) in self.bits.drain(..).enumerate() {
            let instruction = decode(self.xlen, bits);
            let access = data.next_if(|(pc, _)| *pc == address).map(|(_, access)| access);
            self.steps.push(Step { address, instruction, access, begins: index == 0 });
            address = address.wrapping_add(instruction.len.into());
        }
        assert!(data.next().is_none(), "an instruction with two accesses");
    }

    fn trap(&mut self, _: &Trap) {
        assert!(self.data.is_empty());
    }
}

fn run<M: Machine>(mut hart: Hart<M>, xlen: Xlen, limit: u64) -> Vec<Step> {
    let mut steps = Steps { xlen, bits: Vec::new(), data: Vec::new(), steps: Vec::new() };
    hart.run(limit, &mut steps);
    steps.steps
}

fn path(program: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../programs/bin/{program}.elf"))
}

/// The first instructions of a program under Linux.
pub fn linux(program: &str, limit: u64) -> Vec<Step> {
    let options = linux::Options { arguments: vec![program.into()], ..Default::default() };
    let (core, machine) = Linux::load(&path(program), options).unwrap();
    run(Hart::new(core, machine), Xlen::Rv64, limit)
}

/// The first instructions of a program without an operating system.
pub fn bare(program: &str, limit: u64) -> Vec<Step> {
    let elf = std::fs::read(path(program)).unwrap();
    let (core, machine) = Bare::new(&elf, &bare::Options::default(), Box::new(io::sink())).unwrap();
    let xlen = if program.ends_with("32") { Xlen::Rv32 } else { Xlen::Rv64 };
    run(Hart::new(core, machine), xlen, limit)
}
