//! Times and contexts.

use tracewright_core::{Context, Element, Isa, Security};
use tracewright_flow::ElementSink;

use super::Decoder;
use super::decoder::State;

/// Privilege and address space, as far as packets told them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    privilege: u8,
    asid: Option<u64>,
}

/// Most cycles between two packets that a decoder believes: hours.
const MOST_CYCLES: u64 = 1 << 44;

impl Decoder<'_> {
    /// Counts the cycles up to a packet, and emits them if execution is followed.
    #[inline(always)]
    pub(super) fn cycles(&mut self, offset: u64, cycles: u64, sink: &mut impl ElementSink) {
        self.time = self.time.map(|time| time.wrapping_add(cycles));
        match u32::try_from(cycles) {
            Ok(cycles) if self.owed == 0 && self.state == State::Running => {
                sink.element(offset, &Element::Cycles(Some(cycles)));
            }
            _ => self.many_cycles(offset, cycles, sink),
        }
    }

    #[cold]
    #[inline(never)]
    fn many_cycles(&mut self, offset: u64, cycles: u64, sink: &mut impl ElementSink) {
        self.owed = self.owed.saturating_add(cycles);
        if self.state != State::Running {
            return;
        }
        let mut owed = core::mem::take(&mut self.owed);
        if owed > MOST_CYCLES {
            return sink.element(offset, &Element::Cycles(None));
        }
        while owed > 0 {
            let part = u32::try_from(owed).unwrap_or(u32::MAX);
            sink.element(offset, &Element::Cycles(Some(part)));
            owed -= u64::from(part);
        }
    }

    /// Takes privilege and address space from a packet.
    pub(super) fn own(
        &mut self,
        offset: u64,
        privilege: Option<u8>,
        asid: Option<u64>,
        sink: &mut impl ElementSink,
    ) {
        let Some(privilege) = privilege else { return };
        let before = self.owner;
        let now = Owner { privilege, asid: asid.or(before.and_then(|owner| owner.asid)) };
        if before == Some(now) {
            return;
        }
        self.owner = Some(now);
        let context = Context {
            level: privilege,
            security: Security::NonSecure,
            is_64bit: self.isa == Isa::Rv64,
            vmid: None,
            context_id: now.asid.map(|asid| asid as u32),
        };
        sink.element(offset, &Element::Context(context, self.isa));
    }
}
