//! Encodes what a thread executes, while it executes.

use std::sync::{Arc, Mutex, PoisonError};

use tracewright_core::{Block, Class, Context, Element, Ended, Exception, Isa, TraceId, TraceOn};
use tracewright_hart::{HartSink, Trap};

use super::output::Output;
use super::unit::Unit;
use crate::sink::TraceSink;

/// Bytes of trace that are gathered before they are written to the buffer.
const GATHER: usize = 1 << 16;

/// Number of the exception with which a debugger stops a core: the same in all protocols.
const DEBUG_HALT: u16 = 1;

/// Encodes what a thread executes at user level, like `perf record -e cs_etm//u`. Exceptions are traced, the kernel is not; tracing
/// is switched on again where the thread continues.
pub struct Tracer<U> {
    pub(super) unit: U,
    /// The trace ID. `None` if there are more threads than IDs; instructions are then only counted.
    id: Option<TraceId>,
    context: Context,
    bytes: Vec<u8>,
    /// Number of bytes written to the buffer.
    written: u64,
    to: Arc<Mutex<Output>>,
    /// Whether tracing is on, so that the next block continues the last.
    is_on: bool,
    /// Whether something is due before the next block: switching tracing on, or a timestamp.
    special: bool,
    /// The end of the last block, and whether execution left it by a jump.
    end: u64,
    jumped: bool,
    isa: Isa,
    time: Option<u64>,
    /// Instructions that were traced so far.
    pub(super) instructions: u64,
    pub(super) left_out: LeftOut,
}

/// Totals of what a trace cannot represent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Branches with an unknown outcome, since a signal came just then.
    pub branches: u64,
    /// Blocks and exceptions that no core can have executed, such as instructions at odd addresses. Damaged logs have these.
    pub nonsense: u64,
    /// Instructions of threads for which there was no trace ID.
    pub instructions: u64,
}

impl<U: Unit> Tracer<U> {
    /// Creates a tracer of the thread that `context` names, which writes to `to`.
    pub(super) fn new(unit: U, id: Option<TraceId>, context: Context, to: Arc<Mutex<Output>>) -> Self {
        Self {
            unit,
            id,
            context,
            bytes: Vec::new(),
            written: 0,
            to,
            is_on: false,
            special: true,
            end: 0,
            jumped: false,
            isa: if context.is_64bit { Isa::A64 } else { Isa::A32 },
            time: None,
            instructions: 0,
            left_out: LeftOut::default(),
        }
    }

    /// Sets the time of what comes next, in nanoseconds. It is traced if timestamps are switched on.
    pub fn time(&mut self, nanoseconds: u64) {
        self.time = Some(nanoseconds);
        self.special = true;
    }

    /// Writes the trace made so far to the buffer.
    #[cold]
    pub fn flush(&mut self) {
        if let Some(id) = self.id
            && !self.bytes.is_empty()
        {
            self.to.lock().unwrap_or_else(PoisonError::into_inner).push(id, &self.bytes);
        }
        self.written += self.bytes.len() as u64;
        self.bytes.clear();
    }

    /// Ends the trace.
    pub(super) fn finish(&mut self) {
        if self.id.is_some() {
            if self.instructions == 0 {
                // Every source of a capture has a trace, even if nothing ran.
                self.start();
            }
            self.stop();
            self.tell(&Element::End);
        }
        self.flush();
    }

    fn tell(&mut self, element: &Element) {
        if self.unit.element(element, &mut self.bytes).is_err() {
            self.nonsense();
        }
    }

    /// Leaves out what cannot have run. The next block must not be taken for its continuation.
    #[cold]
    fn nonsense(&mut self) {
        self.left_out.nonsense += 1;
        self.is_on = false;
        self.special = true;
    }

    /// Does what is due before a block. Returns whether the block is to be traced.
    #[cold]
    fn prepare(&mut self, block: &Block) -> bool {
        if self.id.is_none() {
            self.left_out.instructions += u64::from(block.count);
            return false;
        }
        if !self.jumped && self.end != block.start {
            self.stop();
        }
        self.isa = block.isa;
        if !self.is_on {
            self.start();
        }
        // A timestamp cannot stand among instructions that only the next branch reports.
        if !self.unit.in_run()
            && let Some(value) = self.time.take()
        {
            self.tell(&Element::Timestamp { value, cycles: None });
        }
        self.special = self.time.is_some();
        true
    }

    /// Leaves out a branch with an unknown outcome, which no trace can represent.
    #[cold]
    fn undecided(&mut self, block: &Block) {
        let before = block.count.saturating_sub(1);
        if U::TELLS_LAST && block.isa == Isa::T32 {
            // How long the instruction before the branch is only its bits tell.
            self.left_out.instructions += u64::from(before);
        } else if let Some(count) = Some(before).filter(|count| *count > 0) {
            let end = block.last();
            self.block(&Block { end, count, last_len: block.isa.shortest(), class: Class::NEXT, ..*block });
        }
        self.left_out.branches += u64::from(self.id.is_some());
        self.left_out.instructions += u64::from(self.id.is_none());
        self.stop();
    }

    /// Switches tracing on.
    fn start(&mut self) {
        self.tell(&Element::TraceOn(TraceOn::Normal));
        self.tell(&Element::Context(self.context, self.isa));
        self.is_on = true;
        self.jumped = false;
    }

    /// Switches tracing off as if a debugger had stopped the core, so that what ran since the last branch is not lost.
    fn stop(&mut self) {
        if self.is_on && self.unit.in_run() {
            self.exception(DEBUG_HALT, self.end, false);
        }
        self.is_on = false;
        self.special = true;
    }

    fn exception(&mut self, number: u16, address: u64, at_target: bool) {
        self.tell(&Element::Exception(Exception {
            number,
            interrupt: false,
            value: None,
            return_address: Some(address),
            at_target,
        }));
    }
}

impl<U: Unit> HartSink for Tracer<U> {
    #[inline]
    fn block(&mut self, block: &Block) {
        if block.ended == Ended::Cut && block.class.is_branch() {
            return self.undecided(block);
        }
        let goes_on = self.jumped || self.end == block.start;
        if (self.special || !goes_on) && !self.prepare(block) {
            return;
        }
        self.end = block.end;
        self.jumped = block.ended == Ended::Taken;
        self.isa = block.isa;
        if self.unit.block(block, &mut self.bytes).is_err() {
            return self.nonsense();
        }
        self.instructions += u64::from(block.count);
        if self.bytes.len() >= GATHER {
            self.flush();
        }
    }

    fn trap(&mut self, trap: &Trap) {
        if self.id.is_none() {
            return;
        }
        // Only T32 has such addresses.
        if self.isa == Isa::A32 && trap.pc & 2 != 0 {
            self.isa = Isa::T32;
        }
        if self.is_on {
            self.tell(&Element::Context(self.context, self.isa));
        } else {
            self.start();
        }
        let number = self.unit.exception(u16::try_from(trap.cause).unwrap_or(u16::MAX));
        self.exception(number, trap.pc, self.jumped);
        // The kernel is not traced.
        self.is_on = false;
        self.special = true;
    }

    fn lost(&mut self) {
        self.stop();
    }
}

impl<U: Unit> TraceSink for Tracer<U> {
    /// Returns the number of bytes of trace, without frames.
    fn bytes(&self) -> u64 {
        self.written + self.bytes.len() as u64
    }
}
