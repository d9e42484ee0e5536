//! Parsing of a byte stream into packets.

use std::convert::Infallible;

use tracewright_core::stream::{self, Grammar, PacketSink, Stop};

use super::Kind;
use super::hot;
use super::read::{State, read};
use super::types::Packet;
use super::{MAX_PACKET, ZEROS};
use crate::ptm::Params;

/// A packet parser: bytes in, in chunks of any size, packets out.
pub type Parser = stream::Parser<Params>;

impl Grammar for Params {
    type Packet = Packet;
    type Run = Infallible;
    type State = State;

    const ZEROS: usize = ZEROS;
    const ASYNC: Packet = Packet::Async;
    const MAX_PACKET: usize = MAX_PACKET;

    #[inline]
    fn read(&self, bytes: &[u8], _: bool, state: &mut State) -> Result<(Packet, usize), Stop<Packet>> {
        read(bytes, self, state)
    }

    #[inline(always)]
    fn common<S: PacketSink<Packet>>(
        &self,
        bytes: &[u8],
        at: usize,
        position: u64,
        state: &mut State,
        sink: &mut S,
    ) -> usize {
        hot::run(bytes, at, position, self, state, sink)
    }

    fn not_sync(len: u64) -> Packet {
        Packet::NotSync { len }
    }

    fn incomplete(&self, bytes: &[u8]) -> Packet {
        Packet::Incomplete { kind: Kind::of(bytes[0]) }
    }
}
