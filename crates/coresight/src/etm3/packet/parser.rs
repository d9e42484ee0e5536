//! Parsing of a byte stream into packets.

use tracewright_core::stream::{self, Grammar, PacketSink, Stop};

use super::read::{kind_of, read};
use super::types::Packet;
use super::{Headers, Kind, MAX_PACKET, TraceState, ZEROS, hot};
use crate::etm3::Params;

/// A packet parser: bytes in, in chunks of any size, packets out.
pub type Parser = stream::Parser<Params>;

impl Grammar for Params {
    type Packet = Packet;
    type Run = Headers;
    type State = TraceState;

    const ZEROS: usize = ZEROS;
    const ASYNC: Packet = Packet::Async;
    const MAX_PACKET: usize = MAX_PACKET;

    #[inline]
    fn read(
        &self,
        bytes: &[u8],
        strict: bool,
        state: &mut TraceState,
    ) -> Result<(Packet, usize), Stop<Packet>> {
        read(bytes, self, strict, state)
    }

    #[inline(always)]
    fn common<S: PacketSink<Packet, Headers>>(
        &self,
        bytes: &[u8],
        at: usize,
        position: u64,
        state: &mut TraceState,
        sink: &mut S,
    ) -> usize {
        hot::run(bytes, at, position, self, state, sink)
    }

    fn not_sync(len: u64) -> Packet {
        Packet::NotSync { len }
    }

    fn incomplete(&self, bytes: &[u8]) -> Packet {
        Packet::Incomplete { kind: kind_of(bytes[0]).unwrap_or(Kind::Reserved) }
    }
}
