use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_isa::riscv::{Xlen, decode};

use crate::retired::Retired;
use crate::sink::{Access, HartSink, Privilege, RegisterWrite, Trap};

/// Makes blocks of single instructions and passes them to a sink, as the machine that ran them would have.
///
/// A block is emitted when the instruction after it is known, since that shows whether a branch was taken. Call
/// [`finish`](Self::finish) for the last.
///
/// If an instruction does not follow the previous one, call [`gap`](Self::gap) before it. An instruction that no branch explains
/// cuts the block before it ([`Ended::Cut`]) anyway.
#[derive(Debug)]
pub struct Blocks<S> {
    sink: S,
    xlen: Xlen,
    run: Option<Run>,
    /// Trap that is emitted once its next address is known.
    trap: Option<Trap>,
    privilege: Option<Privilege>,
    /// Cycles of the current block, if the sink wants them.
    cycles: Vec<u64>,
}

/// Maximum number of cycles kept for a block, since a log can have any number of instructions without a branch.
const MOST_CYCLES: usize = 1 << 20;

/// The current block.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    end: u64,
    count: u32,
    last_len: u8,
    class: Class,
    /// Bits of the last instruction.
    bits: u32,
}

impl<S: HartSink> Blocks<S> {
    /// Creates a converter that passes blocks to `sink`.
    pub fn new(xlen: Xlen, sink: S) -> Self {
        Self { sink, xlen, run: None, trap: None, privilege: None, cycles: Vec::new() }
    }

    /// Takes the next instruction or trap.
    pub fn take(&mut self, retired: &Retired) {
        self.end_before(retired);
        if let Some(mut trap) = self.trap.take() {
            trap.next = retired.pc;
            self.sink.trap(&trap);
        }
        if let Some(privilege) = retired.privilege
            && self.privilege != Some(privilege)
        {
            self.privilege = Some(privilege);
            self.sink.privilege(privilege);
        }
        if retired.trap.is_some() {
            self.trap = retired.trap;
        } else {
            self.add(retired);
        }
    }

    /// Emits the last block and a pending trap. A conditional branch at the very end makes the block [`Ended::Cut`]
    /// because its outcome is not known.
    pub fn finish(mut self) -> S {
        self.end();
        self.sink
    }

    /// Reports a gap before the next instruction. The block before it ends as the last one does.
    pub fn gap(&mut self) {
        self.end();
        self.sink.lost();
    }

    fn end(&mut self) {
        if let Some(run) = self.run.take() {
            let ended =
                if run.class.is_branch() && !run.class.conditional { Ended::Taken } else { Ended::Cut };
            self.tell(&run, ended);
        }
        if let Some(trap) = self.trap.take() {
            self.sink.trap(&trap);
        }
    }

    /// Ends the current block if `next` does not continue it.
    fn end_before(&mut self, next: &Retired) {
        let Some(run) = self.run else { return };
        let goes_on = !run.class.ends_block()
            && next.trap.is_none()
            && next.pc == run.end
            && next.privilege.is_none_or(|privilege| self.privilege == Some(privilege))
            && run.count < u32::MAX;
        if goes_on {
            return;
        }
        let ended = if !run.class.ends_block() {
            Ended::Cut
        } else if !run.class.is_branch() {
            Ended::Through
        } else if run.class.conditional && next.pc == run.end {
            Ended::NotTaken
        } else {
            Ended::Taken
        };
        self.run = None;
        self.tell(&run, ended);
    }

    fn tell(&mut self, run: &Run, ended: Ended) {
        let &Run { start, end, count, last_len, class, .. } = run;
        let isa = if self.xlen == Xlen::Rv32 { Isa::Rv32 } else { Isa::Rv64 };
        // Cycles are emitted for all instructions of the block or for none.
        if S::CYCLES && self.cycles.len() == count as usize {
            self.sink.cycles(&self.cycles);
        }
        self.cycles.clear();
        self.sink.block(&Block { start, end, count, isa, last_len, class, ended });
    }

    fn add(&mut self, retired: &Retired) {
        let pc = retired.pc;
        let run = self.run.get_or_insert(Run {
            start: pc,
            end: pc,
            count: 0,
            last_len: 0,
            class: Class::NEXT,
            bits: 0,
        });
        if S::ACCESSES
            && let Some(access) = &retired.access
        {
            self.sink.access(&Access { index: run.count, ..*access });
        }
        if S::REGISTERS
            && let Some(write) = &retired.register
        {
            self.sink.register(&RegisterWrite { index: run.count, ..*write });
        }
        if S::INSTRUCTIONS {
            self.sink.instructions(&[retired.bits]);
        }
        if S::CYCLES
            && let Some(cycle) = retired.cycle
            && self.cycles.len() < MOST_CYCLES
        {
            self.cycles.push(cycle);
        }
        let end = pc.wrapping_add(u64::from(retired.len));
        run.end = if self.xlen == Xlen::Rv32 { end & 0xffff_ffff } else { end };
        run.count += 1;
        run.last_len = retired.len;
        let instruction = decode(self.xlen, retired.bits);
        run.class = match run.count {
            1 => instruction.class(),
            _ => instruction.class_after(&decode(self.xlen, run.bits)),
        };
        run.bits = retired.bits;
    }
}
