//! Whether a decoder of messages has hold of its stream: decoding begins at a synchronisation packet, and after an error at the next one.

use tracewright_core::{Element, GapReason};
use tracewright_flow::ElementSink;

/// Hold of a stream of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Each packet can be decoded.
    Held,
    /// Nothing can be decoded before a synchronisation packet.
    Lost {
        /// Why.
        reason: GapReason,
        /// Stream position from which on nothing could be decoded.
        from: u64,
        /// Whether the loss was emitted.
        told: bool,
    },
}

impl Hold {
    /// Returns a hold that is lost at stream position `from`.
    pub const fn lost(reason: GapReason, from: u64) -> Self {
        Self::Lost { reason, from, told: false }
    }

    /// Returns whether packets can be decoded.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        *self == Self::Held
    }

    /// Returns the stream position at which the current gap began, if there is one.
    #[inline]
    pub const fn gap_start(&self) -> Option<u64> {
        match self {
            Self::Held => None,
            Self::Lost { from, .. } => Some(*from),
        }
    }

    /// Moves the start of the current gap to stream position `offset`.
    pub const fn resume(&mut self, offset: u64) {
        if let Self::Lost { from, .. } = self {
            *from = offset;
        }
    }

    /// Emits the loss at stream position `offset`, if that was not done.
    pub fn tell(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if let Self::Lost { reason, told: told @ false, .. } = self {
            *told = true;
            sink.element(offset, &Element::Lost(*reason));
        }
    }

    /// Takes hold at stream position `offset`, and emits the gap before it.
    pub fn take(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.close(offset, sink);
        *self = Self::Held;
    }

    /// Emits the gap before stream position `offset`, if there is one.
    pub fn close(&self, offset: u64, sink: &mut impl ElementSink) {
        if let Self::Lost { reason, from, .. } = *self
            && from < offset
        {
            sink.element(offset, &Element::Gap { reason, from, to: offset });
        }
    }
}
