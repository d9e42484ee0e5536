//! Format 3, subformat 1.

use tracewright_core::{Contradiction, Element, Exception, GapReason};
use tracewright_flow::{NodeId, Sink};

use super::Decoder;
use super::decoder::{Epc, State};
use super::tell::Next;
use crate::SupportLayout;
use crate::packet::{Packet, Trap};

impl Decoder<'_> {
    /// A trap.
    pub(super) fn trap(&mut self, offset: u64, trap: &Trap, sink: &mut impl Sink) {
        let address = trap.address.map(|address| self.params.address(address));
        if let (State::Waiting { .. }, None, false) = (self.state, address, self.options.full_address) {
            // The handler could be found, but the next address is a difference to one that is not known.
            return self.pass_over(offset, &Packet::Trap(*trap), sink);
        }
        // Of a packet without a handler's address, where that is where the trap was taken.
        let own = address.filter(|_| !trap.thaddr);
        let (return_address, at_target, next) = match self.state {
            State::Running => {
                let is_doubt = self.inferred.is_some() && self.check_again(offset, sink);
                let is_elsewhere = self.is_elsewhere(&trap.context);
                let is_at_return = self.is_at_return();
                match self.close_at(offset, true, sink) {
                    // In another context it was taken, nobody knows where.
                    _ if is_elsewhere => (None, false, Epc::Unknown),
                    _ if is_doubt && is_at_return => (None, false, Epc::Unknown),
                    // The return may have gone elsewhere, and then the address says where.
                    Next::Address(next) if is_at_return && !trap.thaddr => {
                        (own.filter(|&own| own == next), false, Epc::Unknown)
                    }
                    Next::Address(next) => (Some(next), false, own.map_or(Epc::Unknown, Epc::Other)),
                    // Nothing but this packet says where it went; the exception came there.
                    Next::Indirect => (own, true, Epc::Own),
                    // If the return was left out, nothing says where it went.
                    Next::Unknown => (None, false, Epc::Unknown),
                }
            }
            // Another trap before the first instruction of the handler.
            State::Trapped { next: Epc::Own } => (own, false, Epc::Own),
            State::Trapped { next: Epc::Other(epc) } => {
                // Version 2.0 says that the address is undefined.
                let is_defined = self.params.support == SupportLayout::Standard;
                (is_defined.then_some(epc), false, own.map_or(Epc::Unknown, Epc::Other))
            }
            State::Trapped { next: Epc::Unknown } => (None, false, Epc::Unknown),
            State::Waiting { reason, skipped, .. } => {
                self.begin(offset, sink);
                // Where packets are missing, it may be a second trap, and then the address means nothing.
                let is_first =
                    matches!(reason, None | Some(GapReason::Start | GapReason::Overflow)) && !skipped;
                if is_first { (own, false, Epc::Own) } else { (None, false, Epc::Unknown) }
            }
        };
        (self.here, self.at, self.pending) = (NodeId::NONE, None, None);
        if !trap.thaddr {
            // The context is that before the trap.
            self.tell_context(offset, trap.context, sink);
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
        self.tell_context(offset, trap.context, sink);
        match address {
            Some(address) => {
                self.handlers.learn(trap, address);
                self.sync(offset, address);
                self.go_to(offset, address, trap.taken, sink);
            }
            None => self.implicit_handler(offset, trap, return_address, sink),
        }
    }

    /// The packet leaves out where the handler is.
    fn implicit_handler(&mut self, offset: u64, trap: &Trap, epc: Option<u64>, sink: &mut impl Sink) {
        self.reset_history();
        let after = epc.and_then(|epc| self.after_instruction(epc));
        match self.handlers.find(trap, after) {
            Some(address) => self.go_to(offset, self.params.address(address), trap.taken, sink),
            None => {
                // Whatever comes next says where execution is only with the next address.
                self.state = State::Trapped { next: Epc::Unknown };
                self.contradiction(offset, Contradiction::NoHandler, sink);
            }
        }
    }
}
