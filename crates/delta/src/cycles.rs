//! The cycle of each instruction, for an instruction trace of the same run.

use std::collections::VecDeque;

use tracewright_core::Stamp;

use crate::decode::Decoder;
use crate::item::{Item, Lost, Off, Run, Sink, Span};
use crate::packet::Sync;

/// How much of the stream is read at once.
const PIECE: usize = 4096;

/// Gives the cycles of instructions one after another, as an instruction trace of the same run tells them. It reads the
/// delta stream as far as it needs.
///
/// An instruction trace that begins, or goes on after a loss, asks [`Cycles::seek`] for the sync with its own cycle and
/// address, or [`Cycles::resume`] where it knows no cycle. Where the delta trace lost something, as many instructions are
/// [`Stamp::Unknown`] as its counts say, and cycles go on after them. Where it does not know how many, and where it was
/// switched off, they are unknown up to the next seek.
#[derive(Debug)]
pub struct Cycles<'a> {
    bytes: &'a [u8],
    decoder: Decoder,
    queue: Queue,
    /// Instructions of the front of the queue that were given away.
    given: u64,
    /// A seek found nothing: what is in front belongs to other instructions.
    astray: bool,
    ended: bool,
    /// The cycle of the last item, if the trace was switched off there.
    off: Option<u64>,
    /// Instructions that nobody asked for.
    passed: u64,
}

/// What was decoded and not used.
#[derive(Debug, Default)]
struct Queue(VecDeque<Item>);

impl Sink for Queue {
    fn sync(&mut self, offset: u64, sync: &Sync) {
        self.0.push_back(Item::Sync { offset, sync: *sync });
    }

    fn run(&mut self, run: Run) {
        self.0.push_back(Item::Run(run));
    }

    fn span(&mut self, span: Span) {
        self.0.push_back(Item::Span(span));
    }

    fn off(&mut self, offset: u64, off: Off) {
        self.0.push_back(Item::Off { offset, off });
    }

    fn lost(&mut self, lost: Lost) {
        self.0.push_back(Item::Lost(lost));
    }
}

impl<'a> Cycles<'a> {
    /// The cycles of a delta stream, from its first sync on.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let (decoder, queue) = (Decoder::new(), Queue::default());
        Self { bytes, decoder, queue, given: 0, astray: false, ended: false, off: None, passed: 0 }
    }

    /// The cycle of the next instruction.
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
                Some(Item::Sync { .. }) => {
                    self.pop();
                    continue;
                }
                Some(Item::Lost(Lost { retired: Some(0), .. })) => {
                    self.pop();
                    continue;
                }
                Some(Item::Lost(Lost { retired: Some(retired), .. })) => (Stamp::Unknown, retired),
                // Stays in front: only a seek leads on.
                Some(Item::Off { .. } | Item::Lost(_)) | None => return Stamp::Unknown,
            };
            self.given += 1;
            if self.given >= all {
                self.pop();
            }
            return stamp;
        }
    }

    /// The cycles of the next block, `count` instructions from address `start` on, added to `to`.
    ///
    /// Syncs come with the first instructions of blocks. One that has another address, or is due in the middle of the block,
    /// says that the two traces have parted: from there on instructions are unknown, up to a seek that finds its sync.
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

    /// Whether nothing is known before a seek: of the next instruction either, since the trace was switched off, lost something
    /// that it cannot count, or ended.
    pub fn is_waiting(&mut self) -> bool {
        self.astray
            || match self.front() {
                Some(Item::Off { .. } | Item::Lost(Lost { retired: None, .. })) | None => true,
                Some(Item::Sync { .. } | Item::Run(_) | Item::Span(_) | Item::Lost(_)) => false,
            }
    }

    /// Passes all that is left. The cycle up to which everything was told, if the trace was switched off at its end.
    pub fn end(&mut self) -> Option<u64> {
        while self.front().is_some() {
            self.pop();
        }
        self.off
    }

    /// How many instructions were passed that nobody asked for, up to now.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// The cycles of the next `count` instructions, added to `to`.
    pub fn next_cycles(&mut self, count: usize, to: &mut Vec<Stamp>) {
        to.extend((0..count).map(|_| self.next_cycle()));
    }

    /// Goes on to the sync with this cycle and address. Returns whether there is one: if not, instructions are
    /// [`Stamp::Unknown`] up to another seek that finds its sync.
    ///
    /// Syncs of earlier cycles are passed by; the first later one stays.
    pub fn seek(&mut self, cycle: u64, address: u64) -> bool {
        self.astray = !self.forward(|sync| {
            // Of two syncs in one cycle, the second may be the one.
            if (sync.cycle, sync.address) == (cycle, address) {
                Some(true)
            } else {
                (sync.cycle > cycle).then_some(false)
            }
        });
        !self.astray
    }

    /// Goes on to the next sync, if it has this address. Returns whether it has: if not, it stays, and instructions are
    /// [`Stamp::Unknown`] up to another seek that finds its sync.
    pub fn resume(&mut self, address: u64) -> bool {
        self.astray = !self.forward(|sync| Some(sync.address == address));
        !self.astray
    }

    /// Passes all up to the first sync of which something is said, and that one if it is the right one.
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

    /// What was decoded and not used, from the next one on; reads on if there is nothing.
    pub fn front(&mut self) -> Option<Item> {
        while self.queue.0.is_empty() && !self.ended {
            let (piece, rest) = self.bytes.split_at(PIECE.min(self.bytes.len()));
            self.bytes = rest;
            if piece.is_empty() {
                self.decoder.finish(&mut self.queue);
                self.ended = true;
            } else {
                self.decoder.feed(piece, &mut self.queue);
            }
        }
        self.queue.0.front().copied()
    }

    fn pop(&mut self) {
        let item = self.queue.0.pop_front();
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
