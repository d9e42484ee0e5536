use tracewright_core::{Block, Class, Ended, Isa};

use super::Encoder;
use crate::ingress::{Entry, Executed};
use crate::packet::Packet;

/// Encoder from executed blocks to packets: [`Executed`] and [`Encoder`] in one, which is faster than
/// chaining them.
///
/// Nearly all blocks need no packet. They are only counted; the encoder is told the last of them when
/// something else comes.
#[derive(Clone, Debug)]
pub struct BlockEncoder {
    executed: Executed,
    encoder: Encoder,
    /// Last block; the encoder may not know it yet.
    last: Block,
    /// Whether the next block may be counted without telling the encoder.
    is_quick: bool,
    may_be_quick: bool,
    /// Whether cycles are given; otherwise each instruction takes one.
    is_timed: bool,
    cycle: u64,
}

const NO_BLOCK: Block =
    Block { start: 0, end: 0, count: 0, isa: Isa::Rv64, last_len: 0, class: Class::NEXT, ended: Ended::Cut };

impl BlockEncoder {
    /// Creates an encoder that emits each packet as soon as it is certain.
    pub fn new(executed: Executed, encoder: Encoder) -> Self {
        let (last, is_quick, may_be_quick) = (NO_BLOCK, false, true);
        Self { executed, encoder, last, is_quick, may_be_quick, is_timed: false, cycle: 0 }
    }

    /// Delays packets until an [`Encoder`] that takes entries would emit them, for callers that count
    /// entries.
    #[must_use]
    pub fn one_late(self) -> Self {
        Self { may_be_quick: false, ..self }
    }

    /// Returns the encoder, which may not know the last blocks yet.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Returns the encoder after telling it all blocks.
    pub fn encoder_mut(&mut self) -> &mut Encoder {
        self.catch_up();
        &mut self.encoder
    }

    /// Returns whether cycles are given. Otherwise each instruction takes one.
    pub fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Returns the cycle of the last block or entry.
    #[inline]
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Encodes an executed block. Packets come with its cycle.
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

    /// Counts a block of any kind after one that was counted. Returns `false` if the encoder needs it as a
    /// step or an entry.
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
        // A trap after the block is not earlier than its last instruction.
        self.executed.time(self.cycle);
    }

    /// Sets the time of the first instruction, because packets carry the time of an entry with its first
    /// address.
    fn begin(&mut self, block: &Block) {
        if !self.is_timed {
            let first = self.cycle + 1;
            self.tick(self.cycle + u64::from(block.count));
            self.executed.time(first);
        }
    }

    /// Tells the encoder the last block.
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

    /// Returns an executed block as an entry without encoding it.
    pub fn entry_of(&mut self, block: &Block) -> Entry {
        self.catch_up();
        self.begin(block);
        let entry = self.executed.block(block);
        self.executed.time(self.cycle);
        entry
    }

    /// Encodes an entry that carries its own cycle.
    pub fn entry(&mut self, entry: &Entry, out: &mut impl FnMut(u64, &Packet)) {
        self.catch_up();
        self.cycle = entry.cycle;
        self.encoder.entry(entry, &mut |packet| out(entry.cycle, packet));
    }

    /// Encodes a trap; see [`Executed::trap`].
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

    /// Sets the cycles in which the first and the last instruction of the next block retire. They are also
    /// the time. From the first call on, time advances only through this function.
    pub fn set_cycles(&mut self, first: u64, last: u64) {
        self.catch_up();
        self.is_timed = true;
        self.tick(last);
        self.executed.time(first);
    }

    /// Returns the [`Executed`] to change its circumstances.
    pub fn executed(&mut self) -> &mut Executed {
        self.catch_up();
        &mut self.executed
    }

    /// Ends tracing at a discontinuity; see [`Encoder::halt`].
    pub fn halt(&mut self, out: &mut impl FnMut(u64, &Packet)) {
        self.catch_up();
        let cycle = self.cycle;
        self.encoder.halt(&mut |packet| out(cycle, packet));
    }

    /// Ends tracing; see [`Encoder::finish`].
    pub fn finish(&mut self, out: &mut impl FnMut(u64, &Packet)) {
        self.catch_up();
        let cycle = self.cycle;
        self.encoder.finish(&mut |packet| out(cycle, packet));
    }
}
