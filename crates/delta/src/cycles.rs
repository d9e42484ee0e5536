//! Cycles of single instructions, for an instruction trace of the same run.

use tracewright_core::Stamp;

use crate::decode::Decoder;
use crate::item::{Item, Lost};
use crate::packet::Sync;

/// Number of bytes decoded at once.
const PIECE: usize = 4096;

/// An assignment of cycles to the instructions of another trace of the same run, in order. It decodes the delta
/// stream as far as needed.
///
/// Call [`Cycles::seek`] with the cycle and address of a sync where the instruction trace begins, or resumes after a
/// loss, or [`Cycles::resume`] if its cycle is not known. After a loss in the delta trace, as many instructions are
/// [`Stamp::Unknown`] as its counts say. If their number is not known, and where tracing was off, instructions are
/// unknown until the next seek.
#[derive(Debug)]
pub struct Cycles<'a> {
    bytes: &'a [u8],
    decoder: Decoder,
    /// Decoded items, and how many of them were used.
    items: Vec<Item>,
    used: usize,
    /// Instructions of the front item that were already returned.
    given: u64,
    /// Set when a seek failed: the front item belongs to other instructions.
    astray: bool,
    ended: bool,
    /// Cycle of the last item, if tracing stopped there.
    off: Option<u64>,
    /// Number of instructions that were skipped.
    passed: u64,
}

impl<'a> Cycles<'a> {
    /// Creates the cycles of a delta stream, from its first sync on.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let (decoder, items) = (Decoder::new(), Vec::new());
        Self { bytes, decoder, items, used: 0, given: 0, astray: false, ended: false, off: None, passed: 0 }
    }

    /// Returns the cycle of the next instruction.
    pub fn next_cycle(&mut self) -> Stamp {
        if self.astray {
            return Stamp::Unknown;
        }
        loop {
            let given = self.given;
            let (stamp, all) = match self.front() {
                Some(Item::Run(run)) => {
                    (Stamp::Exact(run.cycle + given / u64::from(run.each.max(1))), run.retired())
                }
                Some(Item::Span(span)) => {
                    let (first, last) = span.cycle_of(given).into_inner();
                    let stamp = if first == last { Stamp::Exact(first) } else { Stamp::Between(first, last) };
                    (stamp, span.retired)
                }
                Some(Item::Sync { .. } | Item::Lost(Lost { retired: Some(0), .. })) => {
                    self.pop();
                    continue;
                }
                Some(Item::Lost(Lost { retired: Some(retired), .. })) => (Stamp::Unknown, retired),
                // The item stays in front until a seek.
                Some(Item::Off { .. } | Item::Lost(_)) | None => return Stamp::Unknown,
            };
            self.given += 1;
            if self.given >= all {
                self.pop();
            }
            return stamp;
        }
    }

    /// Appends the cycles of the next block, `count` instructions from address `start` on, to `to`.
    ///
    /// Syncs come with the first instructions of blocks. A sync with another address, or in the middle of the block,
    /// means that the two traces do not match: instructions are then unknown until a seek finds its sync.
    pub fn block(&mut self, start: u64, count: u32, to: &mut Vec<Stamp>) {
        for at in 0..count {
            while !self.astray && self.given == 0 {
                match self.front() {
                    Some(Item::Sync { sync, .. }) => self.astray = at > 0 || sync.address != start,
                    Some(Item::Lost(Lost { retired: Some(0), .. })) => {}
                    _ => break,
                }
                if !self.astray {
                    self.pop();
                }
            }
            to.push(self.next_cycle());
        }
    }

    /// Returns whether nothing is known before the next seek, because tracing was off, a loss cannot be counted, or
    /// the stream ended.
    pub fn is_waiting(&mut self) -> bool {
        self.astray
            || match self.front() {
                Some(Item::Off { .. } | Item::Lost(Lost { retired: None, .. })) | None => true,
                Some(Item::Sync { .. } | Item::Run(_) | Item::Span(_) | Item::Lost(_)) => false,
            }
    }

    /// Skips the rest. Returns the cycle up to which the trace is complete, if it ends with tracing off.
    pub fn end(&mut self) -> Option<u64> {
        while self.front().is_some() {
            self.pop();
        }
        self.off
    }

    /// Returns how many instructions were skipped so far.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Skips to the sync with this cycle and address. Returns whether there is one. If not, instructions are
    /// [`Stamp::Unknown`] until a seek finds its sync.
    ///
    /// Syncs of earlier cycles are skipped. The first later one stays.
    pub fn seek(&mut self, cycle: u64, address: u64) -> bool {
        self.astray = !self.forward(|sync| {
            // If there are two syncs in one cycle, the second may match.
            if (sync.cycle, sync.address) == (cycle, address) {
                Some(true)
            } else {
                (sync.cycle > cycle).then_some(false)
            }
        });
        !self.astray
    }

    /// Skips to the next sync. Returns whether it has this address. If not, it stays, and instructions are
    /// [`Stamp::Unknown`] until a seek finds its sync.
    pub fn resume(&mut self, address: u64) -> bool {
        self.astray = !self.forward(|sync| Some(sync.address == address));
        !self.astray
    }

    /// Skips to the first sync for which `is_it` returns a value, and over it if the value is true.
    fn forward(&mut self, mut is_it: impl FnMut(&Sync) -> Option<bool>) -> bool {
        while let Some(item) = self.front() {
            let said = match &item {
                Item::Sync { sync, .. } => is_it(sync),
                _ => None,
            };
            if said == Some(false) {
                return false;
            }
            self.pop();
            if said == Some(true) {
                return true;
            }
        }
        false
    }

    /// Returns the next item that is not used yet, and decodes more if there is none.
    pub fn front(&mut self) -> Option<Item> {
        while self.used == self.items.len() && !self.ended {
            self.items.clear();
            self.used = 0;
            let (piece, rest) = self.bytes.split_at(PIECE.min(self.bytes.len()));
            self.bytes = rest;
            if piece.is_empty() {
                self.decoder.finish(&mut self.items);
                self.ended = true;
            } else {
                self.decoder.feed(piece, &mut self.items);
            }
        }
        self.items.get(self.used).copied()
    }

    fn pop(&mut self) {
        let item = self.items.get(self.used).copied();
        self.used += usize::from(item.is_some());
        self.off = None;
        let all = match item {
            Some(Item::Run(run)) => run.retired(),
            Some(Item::Span(span)) => span.retired,
            Some(Item::Off { off, .. }) => {
                self.off = Some(off.cycle);
                0
            }
            Some(Item::Sync { .. } | Item::Lost(_)) | None => 0,
        };
        self.passed = self.passed.saturating_add(all.saturating_sub(self.given));
        self.given = 0;
    }
}
