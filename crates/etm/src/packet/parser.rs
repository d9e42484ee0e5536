//! Parsing of a byte stream into packets.

use tracewright_core::stream::{self, Grammar, PacketSink};

use super::fields::Stop;
use super::hot;
use super::read::{Read, read};
use super::{AtomRun, Kind, MAX_PACKET, Packet, TraceState};
use crate::Params;

/// A packet parser: bytes in, in chunks of any size, packets out.
pub type Parser = stream::Parser<Params>;

impl stream::Run<Packet> for AtomRun {
    #[inline(always)]
    fn each(self, offset: u64, mut take: impl FnMut(u64, &[u8], &Packet)) {
        for (offset, (header, atoms)) in (offset..).zip(self.packets()) {
            take(offset, &[header], &Packet::Atom(atoms));
        }
    }
}

impl Grammar for Params {
    type Packet = Packet;
    type Run = AtomRun;
    type State = TraceState;

    const ZEROS: usize = 11;
    const ASYNC: Packet = Packet::Async;
    const MAX_PACKET: usize = MAX_PACKET;
    /// Trace Info does.
    const ASYNC_RESETS: bool = false;

    #[inline]
    fn read(
        &self,
        bytes: &[u8],
        _: bool,
        state: &mut TraceState,
    ) -> Result<(Packet, usize), stream::Stop<Packet>> {
        let Read { packet, len } = read(bytes, self, state);
        match packet {
            Ok(packet) => Ok((packet, len)),
            Err(Stop::More) => Err(stream::Stop::More),
            Err(Stop::Bad(fault)) => Err(stream::Stop::Bad(fault.into(), len)),
        }
    }

    #[inline(always)]
    fn common<S: PacketSink<Packet, AtomRun>>(
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
        let kind = match bytes {
            [0, 0, ..] => Kind::Async,
            _ => self.headers.kind(bytes[0]),
        };
        Packet::Incomplete { kind }
    }
}
