//! Trap packets: format 3, subformat 1.

use tracewright_core::{Contradiction, Element, Exception, GapReason};
use tracewright_flow::{ElementSink, NodeId};

use super::Decoder;
use super::decoder::{Epc, State};
use super::emit::Next;
use crate::SupportLayout;
use crate::packet::{Packet, Trap};

impl Decoder<'_> {
    /// Handles a trap packet.
    pub(super) fn trap(&mut self, offset: u64, trap: &Trap, sink: &mut impl ElementSink) {
        let address = trap.address.map(|address| self.params.address(address));
        if let (State::Waiting { .. }, None, false) = (self.state, address, self.options.full_address) {
            // The handler could be found, but the next address would be a difference to an unknown one.
            return self.pass_over(offset, &Packet::Trap(*trap), sink);
        }
        // Address where the trap was taken, which a packet without the handler's address gives.
        let own = address.filter(|_| !trap.thaddr);
        let (return_address, at_target, next) = match self.state {
            State::Running => {
                let is_doubt = self.inferred.is_some() && self.check_again(offset, sink);
                let is_elsewhere = self.is_elsewhere(&trap.context);
                let is_at_return = self.is_at_return();
                match self.close_at(offset, true, sink) {
                    // The trap was taken in another context, at an unknown address.
                    _ if is_elsewhere => (None, false, Epc::Unknown),
                    _ if is_doubt && is_at_return => (None, false, Epc::Unknown),
                    // The return may have gone elsewhere; the address then says where.
                    Next::Address(next) if is_at_return && !trap.thaddr => {
                        (own.filter(|&own| own == next), false, Epc::Unknown)
                    }
                    Next::Address(next) => (Some(next), false, own.map_or(Epc::Unknown, Epc::Other)),
                    // Only this packet gives the target of the jump; the exception was taken there.
                    Next::Indirect => (own, true, Epc::Own),
                    // If the return was left out, no packet gives its target.
                    Next::Unknown => (None, false, Epc::Unknown),
                    Next::NoCode => (own, false, Epc::Unknown),
                }
            }
            // A second trap, before the first instruction of the handler.
            State::Trapped { next: Epc::Own } => (own, false, Epc::Own),
            State::Trapped { next: Epc::Other(epc) } => {
                // Version 2.0 leaves the address undefined.
                let is_defined = self.params.support == SupportLayout::Standard;
                (is_defined.then_some(epc), false, own.map_or(Epc::Unknown, Epc::Other))
            }
            State::Trapped { next: Epc::Unknown } => (None, false, Epc::Unknown),
            State::Waiting { reason, skipped, .. } => {
                self.begin(offset, sink);
                // After lost packets this may be a second trap, whose address means nothing.
                let is_first =
                    matches!(reason, None | Some(GapReason::Start | GapReason::Overflow)) && !skipped;
                if is_first { (own, false, Epc::Own) } else { (None, false, Epc::Unknown) }
            }
        };
        (self.here, self.at, self.pending) = (NodeId::NONE, None, None);
        if !trap.thaddr {
            // The context is the one before the trap.
            self.emit_context(offset, trap.context, sink);
        }
        let exception = Exception {
            number: trap.ecause as u16,
            interrupt: trap.interrupt,
            value: trap.tval,
            return_address,
            at_target,
        };
        sink.element(offset, &Element::Exception(exception));
        if !trap.thaddr {
            self.reset_history();
            self.address = address.unwrap_or(self.address);
            self.state = State::Trapped { next };
            return;
        }
        self.emit_context(offset, trap.context, sink);
        match address {
            Some(address) => {
                self.handlers.learn(trap, address);
                self.sync(offset, address);
                self.go_to(offset, address, trap.taken, sink);
            }
            None => self.implicit_handler(offset, trap, return_address, sink),
        }
    }

    /// Handles a packet that leaves out the handler's address.
    fn implicit_handler(&mut self, offset: u64, trap: &Trap, epc: Option<u64>, sink: &mut impl ElementSink) {
        self.reset_history();
        let after = epc.and_then(|epc| self.after_instruction(epc));
        match self.handlers.find(trap, after) {
            Some(address) => self.go_to(offset, self.params.address(address), trap.taken, sink),
            None => {
                // The position is unknown until the next address.
                self.state = State::Trapped { next: Epc::Unknown };
                self.contradiction(offset, Contradiction::NoHandler, sink);
            }
        }
    }
}
