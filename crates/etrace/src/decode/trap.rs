//! Format 3, subformat 1.

use tracewright_core::{Element, Exception};
use tracewright_flow::{NodeId, Sink};

use super::Decoder;
use super::decoder::State;
use super::tell::Next;
use crate::SupportLayout;
use crate::packet::Trap;

impl Decoder<'_> {
    /// A trap.
    pub(super) fn trap(&mut self, offset: u64, trap: &Trap, sink: &mut impl Sink) {
        let address = trap.address.map(|address| self.params.address(address));
        // What the address of a packet without a handler's is.
        let mut is_own = true;
        let (return_address, at_target) = match self.state {
            State::Running => {
                if self.inferred.is_some() {
                    self.check_again(offset, sink);
                }
                match self.close_at(offset, true, sink) {
                    Next::Address(next) => {
                        is_own = false;
                        (Some(next), false)
                    }
                    // Nothing but this packet says where it went; the exception came there.
                    Next::Indirect => (address.filter(|_| !trap.thaddr), true),
                }
            }
            // Another trap before the first instruction of the handler.
            State::Trapped { next_epc: Some(epc) } => {
                is_own = false;
                (Some(epc).filter(|_| self.params.support == SupportLayout::Standard), false)
            }
            State::Trapped { next_epc: None } => (address.filter(|_| !trap.thaddr), false),
            State::Waiting { .. } => {
                self.begin(offset, sink);
                (address.filter(|_| !trap.thaddr), false)
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
            // Of a trap that another one hit, the address is that of the other. (Version 2.0 says that it is undefined.)
            self.state = State::Trapped { next_epc: address.filter(|_| !is_own) };
            return;
        }
        self.tell_context(offset, trap.context, sink);
        match address {
            Some(address) => {
                self.handlers.learn(trap, address);
                self.sync(offset, address);
                self.go_to(offset, address, trap.taken, sink);
            }
            None => self.implicit_handler(offset, trap, sink),
        }
    }

    /// The packet leaves out where the handler is.
    fn implicit_handler(&mut self, offset: u64, trap: &Trap, sink: &mut impl Sink) {
        self.reset_history();
        match self.handlers.find(trap) {
            Some(address) => self.go_to(offset, self.params.address(address), trap.taken, sink),
            None => self.contradiction(offset, tracewright_core::Contradiction::NoHandler, sink),
        }
    }
}
