//! Parsing of a byte stream into packets.

use std::convert::Infallible;

use tracewright_core::stream::{self, Grammar, PacketSink, Stop};

use super::read::{kind_of, read};
use super::types::{Atoms, Packet};
use super::{Kind, MAX_PACKET, TraceState, ZEROS};
use crate::etm3::Params;

/// A packet parser: bytes in, in chunks of any size, packets out.
pub type Parser = stream::Parser<Params>;

impl Grammar for Params {
    type Packet = Packet;
    type Run = Infallible;
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

    /// Nearly all bytes are P-headers.
    #[inline(always)]
    fn common<S: PacketSink<Packet>>(
        &self,
        bytes: &[u8],
        mut at: usize,
        position: u64,
        _: &mut TraceState,
        sink: &mut S,
    ) -> usize {
        let cycle_accurate = self.cycle_accurate();
        while let Some(&header) = bytes.get(at)
            && header & 0x81 == 0x80
            && let Some(atoms) = Atoms::of_header(header, cycle_accurate)
        {
            sink.packet(position + at as u64, &[header], &Packet::Atoms(atoms));
            at += 1;
        }
        at
    }

    fn not_sync(len: u64) -> Packet {
        Packet::NotSync { len }
    }

    fn incomplete(&self, bytes: &[u8]) -> Packet {
        Packet::Incomplete { kind: kind_of(bytes[0]).unwrap_or(Kind::Reserved) }
    }
}
