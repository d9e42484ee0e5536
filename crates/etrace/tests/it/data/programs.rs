//! Sample programs, run on our hart.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use tracewright_core::{Block, DataAccess, Isa, MemorySpace};
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::linux::{self, Linux};
use tracewright_hart::{Hart, HartSink, Machine, Privilege, Trap};
use tracewright_image::{Builder, Bytes, Image};
use tracewright_isa::riscv::{Instruction, Xlen, decode};

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

/// Event of a machine.
#[derive(Clone, Debug)]
pub enum Event {
    /// Block, and the accesses of its instructions.
    Block(Block, Vec<(u64, DataAccess)>),
    Trap(Trap),
    Privilege(Privilege),
    Context(u64),
}

/// Run of a program.
#[derive(Clone, Debug)]
pub struct Run {
    pub name: &'static str,
    pub isa: Isa,
    pub events: Vec<Event>,
    pub steps: Vec<Step>,
    /// Executed code by address.
    code: BTreeMap<u64, u8>,
    // Instructions of the next block.
    bits: Vec<u32>,
    data: Vec<(u64, DataAccess)>,
}

impl Run {
    fn new<M: Machine>(name: &'static str, isa: Isa, mut hart: Hart<M>, limit: u64) -> Self {
        let (events, steps, code) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut run = Self { name, isa, events, steps, code, bits: Vec::new(), data: Vec::new() };
        hart.run(limit, &mut run);
        run
    }

    /// Returns an image of the instructions that ran.
    pub fn image(&self) -> Image {
        let mut builder = Builder::default();
        let mut rest = self.code.iter().peekable();
        while let Some((&start, &first)) = rest.next() {
            let mut bytes = vec![first];
            while let Some((_, byte)) = rest.next_if(|(at, _)| **at == start + bytes.len() as u64) {
                bytes.push(*byte);
            }
            builder.raw("code", Bytes::from(bytes), start, MemorySpace::ANY).unwrap();
        }
        builder.build()
    }

    pub fn accesses(&self) -> impl Iterator<Item = (u64, DataAccess)> {
        self.steps.iter().filter_map(|step| step.access.map(|access| (step.address, access)))
    }

    /// Returns the width of its CSRs.
    pub fn xlen(&self) -> u8 {
        if self.isa == Isa::Rv32 { 32 } else { 64 }
    }
}

impl HartSink for Run {
    const DATA: bool = true;
    const INSTRUCTIONS: bool = true;

    fn data(&mut self, pc: u64, access: &DataAccess) {
        self.data.push((pc, *access));
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn block(&mut self, block: &Block) {
        let xlen = if self.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        let mut address = block.start;
        let mut data = self.data.iter().peekable();
        for (index, bits) in self.bits.drain(..).enumerate() {
            let instruction = decode(xlen, bits);
            let access = data.next_if(|(pc, _)| *pc == address).map(|(_, access)| *access);
            self.steps.push(Step { address, instruction, access, begins: index == 0 });
            self.code.extend((address..).zip(bits.to_le_bytes()).take(instruction.len.into()));
            address = address.wrapping_add(instruction.len.into());
        }
        assert!(data.next().is_none(), "an instruction with two accesses");
        self.events.push(Event::Block(*block, std::mem::take(&mut self.data)));
    }

    fn trap(&mut self, trap: &Trap) {
        assert!(self.data.is_empty());
        self.events.push(Event::Trap(*trap));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.events.push(Event::Privilege(privilege));
    }

    fn context(&mut self, context: u64) {
        self.events.push(Event::Context(context));
    }
}

fn path(program: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../programs/bin/{program}.elf"))
}

/// Runs the first instructions of a program under Linux.
fn linux(program: &'static str, limit: u64) -> Run {
    let options = linux::Options { arguments: vec![program.into()], ..Default::default() };
    let (core, machine) = Linux::load(&path(program), options).unwrap();
    Run::new(program, Isa::Rv64, Hart::new(core, machine), limit)
}

/// Runs the first instructions of a program without an operating system.
fn bare(program: &'static str, limit: u64) -> Run {
    let elf = std::fs::read(path(program)).unwrap();
    let (core, machine) = Bare::new(&elf, &bare::Options::default(), Box::new(io::sink())).unwrap();
    let isa = if program.ends_with("32") { Isa::Rv32 } else { Isa::Rv64 };
    Run::new(program, isa, Hart::new(core, machine), limit)
}

/// Returns one of each kind of program: calls and memory; atomics; traps, privileges and CSRs; RV32.
pub fn runs() -> Vec<Run> {
    vec![linux("sort", 60_000), linux("atomics", 60_000), bare("traps", 60_000), bare("tasks32", 60_000)]
}
