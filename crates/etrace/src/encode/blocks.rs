use tracewright_core::{Block, Class, Ended, Isa};

use super::Encoder;
use crate::ingress::{Entry, Executed};
use crate::packet::Packet;

/// Executed blocks to packets: [`Executed`] and [`Encoder`] in one, which is faster than one after the other.
///
/// Of nearly all blocks nothing has to be told. Those are only counted; the encoder gets to know the last of them when something else comes.
#[derive(Clone, Debug)]
pub struct BlockEncoder {
    executed: Executed,
    encoder: Encoder,
    /// The block that came last; the encoder may not know it yet.
    last: Block,
    /// Blocks may be counted only.
    is_quick: bool,
    may_be_quick: bool,
    /// Whether cycles are told; otherwise each instruction takes one.
    is_timed: bool,
    cycle: u64,
}

const NO_BLOCK: Block =
    Block { start: 0, end: 0, count: 0, isa: Isa::Rv64, last_len: 0, class: Class::NEXT, ended: Ended::Cut };

impl BlockEncoder {
    /// Packets are told when they are certain.
    pub fn new(executed: Executed, encoder: Encoder) -> Self {
        let (last, is_quick, may_be_quick) = (NO_BLOCK, false, true);
        Self { executed, encoder, last, is_quick, may_be_quick, is_timed: false, cycle: 0 }
    }

    /// The same, but packets are told when an [`Encoder`] that takes entries tells them, not earlier: for what counts entries.
    #[must_use]
    pub fn one_late(self) -> Self {
        Self { may_be_quick: false, ..self }
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The encoder, which knows all that came.
    pub fn encoder_mut(&mut self) -> &mut Encoder {
        self.catch_up();
        &mut self.encoder
    }

    /// Whether cycles are told. Otherwise each instruction takes one.
    pub fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// The cycle of what came last.
    #[inline]
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// A block was executed. Packets come with its cycle.
    #[inline(always)]
    pub fn block(&mut self, block: &Block, out: &mut impl FnMut(u64, &Packet)) {
        let is_counted = self.is_quick
            && (block.class.conditional && self.encoder.branch(block.last(), block.ended == Ended::Taken)
                || self.goes(block, out));
        if is_counted {
            self.cycle += u64::from(block.count);
            self.last = *block;
        } else {
            self.any_block(block, out);
        }
    }

    /// Any block after one that was counted only, if it is another one.
    #[inline(never)]
    fn goes(&mut self, block: &Block, out: &mut impl FnMut(u64, &Packet)) -> bool {
        let Some(step) = self.executed.next_block(block) else { return false };
        let cycle = self.cycle + u64::from(block.count);
        self.encoder.go(&step, &mut |packet| out(cycle, packet))
    }

    #[inline(never)]
    fn any_block(&mut self, block: &Block, out: &mut impl FnMut(u64, &Packet)) {
        self.catch_up();
        self.begin(block);
        let Self { executed, encoder, cycle, .. } = self;
        let mut out = |packet: &Packet| out(*cycle, packet);
        match executed.next_block(block) {
            Some(step) if encoder.step(&step, &mut out) => {
                (self.last, self.is_quick) = (*block, self.may_be_quick && !self.is_timed);
            }
            _ => encoder.entry(&executed.block(block), &mut out),
        }
        // A trap after it is not before its last instruction.
        self.executed.time(self.cycle);
    }

    /// Packets tell the time of an entry with the address of its first instruction: it is that one's.
    fn begin(&mut self, block: &Block) {
        if !self.is_timed {
            let first = self.cycle + 1;
            self.tick(self.cycle + u64::from(block.count));
            self.executed.time(first);
        }
    }

    /// Tells the encoder which block came last.
    #[inline]
    fn catch_up(&mut self) {
        if core::mem::take(&mut self.is_quick) {
            self.tick(self.cycle);
            if let Some(step) = self.executed.next_block(&self.last) {
                self.encoder.went_to(&step);
            }
        }
    }

    fn tick(&mut self, cycle: u64) {
        self.cycle = cycle;
        self.executed.cycle(cycle);
        self.executed.time(cycle);
    }

    /// A block was executed, as an entry; it is not encoded.
    pub fn entry_of(&mut self, block: &Block) -> Entry {
        self.catch_up();
        self.begin(block);
        let entry = self.executed.block(block);
        self.executed.time(self.cycle);
        entry
    }

    /// What retired, as an encoder is told, with a cycle of its own.
    pub fn entry(&mut self, entry: &Entry, out: &mut impl FnMut(u64, &Packet)) {
        self.catch_up();
        self.cycle = entry.cycle;
        self.encoder.entry(entry, &mut |packet| out(entry.cycle, packet));
    }

    /// A trap was taken; see [`Executed::trap`].
    pub fn trap(
        &mut self,
        pc: u64,
        cause: u64,
        interrupt: bool,
        value: u64,
        out: &mut impl FnMut(u64, &Packet),
    ) {
        self.catch_up();
        let entry = self.executed.trap(pc, cause, interrupt, value);
        self.entry(&entry, out);
    }

    /// The first instruction of the block to come retires in the one cycle, its last in the other. That is also the time. From now on, only
    /// what is told so goes on.
    pub fn set_cycles(&mut self, first: u64, last: u64) {
        self.catch_up();
        self.is_timed = true;
        self.tick(last);
        self.executed.time(first);
    }

    /// Circumstances change; see [`Executed`].
    pub fn executed(&mut self) -> &mut Executed {
        self.catch_up();
        &mut self.executed
    }

    /// What comes next does not follow from what came; see [`Encoder::halt`].
    pub fn halt(&mut self, out: &mut impl FnMut(u64, &Packet)) {
        self.catch_up();
        let cycle = self.cycle;
        self.encoder.halt(&mut |packet| out(cycle, packet));
    }

    /// Tracing ends; see [`Encoder::finish`].
    pub fn finish(&mut self, out: &mut impl FnMut(u64, &Packet)) {
        self.catch_up();
        let cycle = self.cycle;
        self.encoder.finish(&mut |packet| out(cycle, packet));
    }
}
