//! Parsing of a byte stream into packets.

use std::convert::Infallible;

use tracewright_core::stream::{self, Grammar, Stop};

use super::read::{State, read};
use super::{Kind, MAX_PACKET, Packet};
use crate::itm::Params;
use crate::shared::ZEROS;

/// A packet parser: bytes in, in chunks of any size, packets out.
pub type Parser = stream::Parser<Params>;

impl Grammar for Params {
    type Packet = Packet;
    type Run = Infallible;
    type State = State;

    const ZEROS: usize = ZEROS;
    const ASYNC: Packet = Packet::Async;
    const MAX_PACKET: usize = MAX_PACKET;

    #[inline(always)]
    fn read(&self, bytes: &[u8], strict: bool, state: &mut State) -> Result<(Packet, usize), Stop<Packet>> {
        read(bytes, strict, state)
    }

    fn starts_aligned(&self) -> bool {
        self.starts_aligned
    }

    fn not_sync(len: u64) -> Packet {
        Packet::NotSync { len }
    }

    fn incomplete(&self, bytes: &[u8]) -> Packet {
        match Kind::of(bytes[0]) {
            Kind::Async => Packet::Padding { zeros: bytes.len() as u8 },
            kind => Packet::Incomplete { kind },
        }
    }
}
