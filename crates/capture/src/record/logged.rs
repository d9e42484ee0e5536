//! Reads a log instead of running a program.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tracewright_core::{Block, Isa, MemorySpace, Mismatch};
use tracewright_flow::BlockCheck;
use tracewright_hart::log::Kind;
use tracewright_hart::{HartSink, Trap};
use tracewright_image::Image;
use tracewright_isa::riscv::{Xlen, len};

use super::hart::Controls;
use super::keep::Keep;
use super::watch::Watch;
use crate::control::Qualified;
use crate::log::{Log, LogEnd, bits};
use crate::sink::{AnySink, DynSink, TraceSink};
use crate::{Pair, grouped};

/// Contradictions between a log and the program that was named for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contradictions {
    /// Blocks of a log without instructions that the program cannot have executed.
    pub blocks: u64,
    /// Blocks that were compared with the program.
    pub of_blocks: u64,
    /// Addresses where a log has other instructions than the program.
    pub instructions: u64,
    /// Addresses whose instructions both have.
    pub of_instructions: u64,
    /// Address of the first contradiction.
    pub first: Option<u64>,
}

/// A program does not explain a log if more than one in so many contradicts it.
const FEWEST: u64 = 10;

impl Contradictions {
    /// Returns whether another program ran. A few contradictions may have other causes, such as code that was changed.
    pub fn is_wrong_program(&self) -> bool {
        self.blocks.saturating_mul(FEWEST) > self.of_blocks
            || self.instructions.saturating_mul(FEWEST) > self.of_instructions
    }

    /// Compares a block without instructions.
    pub(crate) fn block(&mut self, compared: Result<bool, Mismatch>, block: &Block) {
        self.of_blocks += u64::from(compared != Ok(false));
        if compared.is_err() {
            self.blocks += 1;
            self.first.get_or_insert(block.start);
        }
    }
}

impl fmt::Display for Contradictions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, count, of) = match self.blocks {
            0 => ("instructions", self.instructions, self.of_instructions),
            count => ("blocks", count, self.of_blocks),
        };
        write!(f, "{} of {} {what} are other code", grouped(count), grouped(of))?;
        self.first.map_or(Ok(()), |first| write!(f, ", the first at {first:#x}"))
    }
}

/// Most half-words of other code that are kept: bounds memory.
const MOST_OTHERS: usize = 1 << 20;

/// Code that was executed: the bits at each address, and how they compare with the program.
pub(super) struct Code {
    pub by_address: HashMap<u64, u32>,
    bits: Vec<u32>,
    pub xlen: Option<Xlen>,
    image: Arc<Image>,
    /// Set if the log has only addresses, so that the instructions are taken from the program.
    is_of_program: bool,
    check: BlockCheck,
    pub contradictions: Contradictions,
    /// Half-words of code that the log has besides.
    others: HashMap<u64, [u8; 2]>,
    /// Set if the next block does not follow from the last one.
    is_after_gap: bool,
}

impl Code {
    pub fn new(image: &Arc<Image>, is_of_program: bool) -> Self {
        Self {
            by_address: HashMap::new(),
            bits: Vec::new(),
            xlen: None,
            image: Arc::clone(image),
            is_of_program,
            check: BlockCheck::default(),
            contradictions: Contradictions::default(),
            others: HashMap::new(),
            is_after_gap: false,
        }
    }

    /// Compares an instruction that was executed with the program.
    fn compare(&mut self, pc: u64, of_log: u32) {
        let Some(of_program) = bits(&self.image, pc) else { return };
        let mask = if of_log & 3 == 3 { u32::MAX } else { 0xffff };
        self.contradictions.of_instructions += 1;
        if (of_program ^ of_log) & mask != 0 {
            self.contradictions.instructions += 1;
            self.contradictions.first.get_or_insert(pc);
        }
    }

    /// Returns two bytes of an instruction that was executed.
    pub fn halfword(&self, address: u64) -> Option<[u8; 2]> {
        let at = |address: u64| self.by_address.get(&address).map(|bits| bits.to_le_bytes());
        match (at(address), at(address.wrapping_sub(2))) {
            (Some([low, high, ..]), _) => Some([low, high]),
            // The upper half of the instruction before.
            (None, Some([low, _, third, fourth])) if low & 3 == 3 => Some([third, fourth]),
            _ => self.others.get(&address).copied(),
        }
    }
}

impl HartSink for Code {
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn block(&mut self, block: &Block) {
        self.xlen = Some(if block.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 });
        if self.bits.is_empty() || self.is_of_program {
            let compared = self.check.block(&self.image, MemorySpace::ANY, block);
            // Where the program's instructions do not lead, another one ran, unless something is missing.
            let is_missed = std::mem::take(&mut self.is_after_gap) && self.is_of_program;
            let missed = Err(Mismatch::Missed { from: block.start, to: block.start });
            self.contradictions.block(if is_missed { missed } else { compared }, block);
        }
        let mut pc = block.start;
        for bits in std::mem::take(&mut self.bits) {
            if self.by_address.insert(pc, bits) != Some(bits) {
                self.compare(pc, bits);
            }
            pc = pc.wrapping_add(len(bits as u16).into());
        }
    }

    fn code(&mut self, address: u64, bytes: &[u8]) {
        let room = MOST_OTHERS.saturating_sub(self.others.len());
        let halves = bytes.as_chunks::<2>().0.iter().take(room);
        self.others.extend((0..).zip(halves).map(|(index, half)| (address.wrapping_add(2 * index), *half)));
    }

    fn trap(&mut self, _: &Trap) {
        self.check.interrupt();
    }

    fn lost(&mut self) {
        self.check.interrupt();
        self.is_after_gap = true;
    }
}

/// A log to read. [`run`](Self::run) reads it.
pub struct LogRead<'a> {
    pub(super) xlen: Xlen,
    pub(super) image: Arc<Image>,
    pub(super) controls: Option<&'a Controls<'a>>,
    /// Parts of the reading, taken when it begins.
    pub(super) parts: Option<(Log, Watch<'a>, Option<Keep>)>,
    /// The result.
    pub(super) read: Option<Read<'a>>,
}

/// The result of reading a log.
pub(super) struct Read<'a> {
    pub watch: Watch<'a>,
    pub code: Code,
    pub keep: Option<Keep>,
    pub qualified: Option<Qualified>,
    pub end: LogEnd,
}

impl<'a> LogRead<'a> {
    /// Reads the log, and passes what was executed to `sink`. Must be called exactly once.
    pub fn run<S: TraceSink>(&mut self, sink: &mut S) {
        let Some((log, watch, keep)) = self.parts.take() else { return };
        let image = Arc::clone(&self.image);
        let code = move |pc| bits(&image, pc);
        let is_of_program = log.kind() == Kind::Qemu;
        let both = Pair(watch, Code::new(&self.image, is_of_program));
        self.read = Some(match (self.controls, keep) {
            (None, None) => {
                let (Pair(Pair(watch, code), _), end) = log.read(self.xlen, &self.image, Pair(both, sink));
                Read { watch, code, keep: None, qualified: None, end }
            }
            (Some(Controls { asked, plan, .. }), None) => {
                let sinks = Pair(both, asked.controlled(plan, sink).with_code(code));
                let (Pair(Pair(watch, code), sink), end) = log.read(self.xlen, &self.image, sinks);
                Read { watch, code, keep: None, qualified: Some(Qualified::of(&sink)), end }
            }
            (None, Some(keep)) => self.read_slowly(log, both, keep, sink),
            (Some(Controls { asked, plan, .. }), Some(keep)) => {
                let mut sink = asked.controlled(plan, sink).with_code(code);
                let read = self.read_slowly(log, both, keep, &mut sink);
                Read { qualified: Some(Qualified::of(&sink)), ..read }
            }
        });
    }

    /// Reads the log and writes files. Knowing the sink's type would gain little here.
    fn read_slowly(
        &self,
        log: Log,
        both: Pair<Watch<'a>, Code>,
        keep: Keep,
        sink: &mut dyn DynSink,
    ) -> Read<'a> {
        let sinks = Pair(Pair(both, keep), AnySink(sink));
        let (Pair(Pair(Pair(watch, code), keep), _), end) = log.read(self.xlen, &self.image, sinks);
        Read { watch, code, keep: Some(keep), qualified: None, end }
    }
}
