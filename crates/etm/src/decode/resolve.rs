//! Resolution of speculative elements: commit, cancel, mispredict, discard.

use tracewright_core::{Contradiction, GapReason};
use tracewright_flow::ElementSink;

use super::decoder::Decoder;
use super::queue::{Item, Overrun};
use crate::packet::Atoms;

impl Decoder<'_> {
    /// Commits the oldest `count` P0 elements.
    pub(super) fn commit(&mut self, offset: u64, mut count: u32, sink: &mut impl ElementSink) {
        // A larger count is wrong, and it is unknown which elements happened.
        if count > self.stream.depth {
            return self.contradiction(offset, Contradiction::CommitBeyondDepth, sink);
        }
        while count > 0 {
            let Some((at, item)) = self.queue.pop() else {
                return self.contradiction(offset, Contradiction::CommitBeyondDepth, sink);
            };
            let done = match item {
                Item::Atoms(atoms) if u32::from(atoms.count) > count => {
                    let done = count as u8;
                    let left = Atoms { bits: atoms.bits >> done, count: atoms.count - done };
                    self.queue.put_back(at, Item::Atoms(left));
                    self.commit_item(at, Item::Atoms(Atoms { bits: atoms.bits, count: done }), sink)
                }
                Item::Unseen(unseen) if unseen > count => {
                    self.queue.put_back(at, Item::Unseen(unseen - count));
                    Ok(count)
                }
                item => self.commit_item(at, item, sink),
            };
            match done {
                Ok(done) => {
                    count = count.saturating_sub(done);
                    self.stream.depth = self.stream.depth.saturating_sub(done);
                }
                Err(contradiction) => return self.contradiction(offset, contradiction, sink),
            }
        }
        self.set_straight();
    }

    /// Cancels the newest `count` P0 elements.
    pub(super) fn cancel(&mut self, offset: u64, count: u32, sink: &mut impl ElementSink) {
        match self.queue.cancel(count) {
            Ok(()) => self.stream.depth = self.stream.depth.saturating_sub(count),
            Err(Overrun) => self.contradiction(offset, Contradiction::CancelBeyondDepth, sink),
        }
    }

    /// Inverts the newest atom.
    pub(super) fn mispredict(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if let Err(Overrun) = self.queue.mispredict() {
            self.contradiction(offset, Contradiction::CancelBeyondDepth, sink);
        }
    }

    /// Discards all speculative elements. Elements that happened anyway are emitted.
    pub(super) fn discard(&mut self, sink: &mut impl ElementSink) {
        self.tell_certain(sink);
        while let Some((offset, item)) = self.queue.pop() {
            if let Some(element) = item.survivor() {
                sink.element(offset, &element);
            }
        }
        self.stream.depth = 0;
    }

    /// Discards all speculative elements at the end of the trace. Elements before the first speculative one are
    /// emitted, and so is the end of a transaction if nothing is speculative.
    pub(super) fn discard_at_end(&mut self, sink: &mut impl ElementSink) {
        self.tell_certain(sink);
        while let Some((offset, item)) = self.queue.pop() {
            if let Some(element) = item.survivor() {
                sink.element(offset, &element);
                continue;
            }
            match item {
                Item::Transaction(_) if self.stream.depth == 0 => {
                    // This cannot fail.
                    let _ = self.commit_item(offset, item, sink);
                }
                Item::Transaction(_)
                | Item::TransactionStart { p0: false }
                | Item::Address(_)
                | Item::Context(..)
                | Item::TraceInfo => {}
                _ => break,
            }
        }
        self.queue.clear();
        self.stream.depth = 0;
    }

    /// Emits what belongs to committed P0 elements, such as the target of the last branch, without a program.
    pub(super) fn tell_certain(&mut self, sink: &mut impl ElementSink) {
        if !self.options.no_image {
            return;
        }
        while let Some((offset, item)) = self.queue.pop() {
            if item.p0() > 0 {
                return self.queue.put_back(offset, item);
            }
            // None of these waits for anything that may be missing.
            let _ = self.commit_item(offset, item, sink);
        }
    }

    #[cold]
    pub(super) fn contradiction(
        &mut self,
        offset: u64,
        contradiction: Contradiction,
        sink: &mut impl ElementSink,
    ) {
        self.discard(sink);
        self.lost_here(offset, GapReason::Contradiction(contradiction), sink);
    }
}
