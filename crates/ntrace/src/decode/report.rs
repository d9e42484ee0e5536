//! Contexts and missing code.

use tracewright_core::{Element, Ended, GapReason, Isa, Security};
use tracewright_flow::{ElementSink, NodeId};

use super::Decoder;
use super::decoder::State;
use crate::packet::Process;

/// What ownership messages have reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Context {
    /// Privilege as E-Trace numbers it, if known: 5 and 6 are those of a virtualised U and S.
    pub level: Option<u8>,
    /// `hcontext`.
    vmid: Option<u32>,
    /// `scontext`.
    context_id: Option<u32>,
    /// Whether a message told it.
    is_sent: bool,
}

impl Context {
    pub(super) fn told(&self, isa: Isa) -> tracewright_core::Context {
        tracewright_core::Context {
            level: self.level.unwrap_or(0),
            security: Security::NonSecure,
            is_64bit: isa == Isa::Rv64,
            vmid: self.vmid,
            context_id: self.context_id,
        }
    }
}

impl Decoder<'_> {
    /// Handles an ownership message.
    pub(super) fn ownership(&mut self, offset: u64, process: u64, sink: &mut impl ElementSink) {
        let Process { format, privilege, is_virtual, context } = Process::of(process);
        let level = if is_virtual { privilege + 5 } else { privilege };
        let mut now = Context { level: Some(level), is_sent: true, ..self.context };
        match format {
            2 => now.context_id = Some(context as u32),
            3 => now.vmid = Some(context as u32),
            _ => {}
        }
        if now == self.context {
            return;
        }
        self.tell(offset, now, sink);
    }

    fn tell(&mut self, offset: u64, context: Context, sink: &mut impl ElementSink) {
        self.context = context;
        self.enter();
        let isa = self.walk.isa();
        sink.element(offset, &Element::Context(context.told(isa), isa));
    }

    /// Emits the context that follows from the address, where no message tells one: which half of all addresses is the kernel's.
    #[inline(never)]
    pub(super) fn tell_half(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if self.context.is_sent {
            return;
        }
        let kernel = self.walk.start().and_then(|start| self.walk.spaces().is_kernel(start));
        let now = Context { level: kernel.map(u8::from), ..self.context };
        if kernel.is_some() && now != self.context {
            self.tell(offset, now, sink);
        }
    }

    /// Reports that no image has the code at the end of this node. The next address resumes.
    #[cold]
    #[inline(never)]
    pub(super) fn no_code(&mut self, offset: u64, here: NodeId, sink: &mut impl ElementSink) {
        let node = *self.walk.graph().node(here);
        if node.count() > 0 {
            sink.block(offset, &node.block(Ended::Cut));
            self.facts.mismatches += 1;
        }
        sink.element(offset, &Element::NoCode { address: node.end(), space: node.space() });
        let (reference, time) = (self.reference, self.time);
        self.forget();
        (self.reference, self.time) = (reference, time);
        let reason = Some(GapReason::Mismatch);
        self.state = State::Waiting { reason, from: offset, skipped: false, resume: true };
    }
}
