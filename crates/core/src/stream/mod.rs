//! Streams of packets that can be found again at A-Syncs: a number of zeros, and 0x80.
//!
//! A [`Parser`] takes bytes in chunks of any size, and passes packets to a [`PacketSink`]. What it needs to know of a protocol is a
//! [`Grammar`].

mod kinds;
mod parser;
mod search;

pub use crate::packet_kinds;
pub use parser::{Grammar, Parser, Resync, Stop};
pub use search::{Search, a_sync, find, pass_on};

use core::convert::Infallible;

/// A row of packets that a sink can take together.
pub trait Run<P>: Copy {
    /// Passes each packet to `take`. The first one begins at stream position `offset`.
    fn each(self, offset: u64, take: impl FnMut(u64, &[u8], &P));
}

/// A protocol that has no rows.
impl<P> Run<P> for Infallible {
    fn each(self, _: u64, _: impl FnMut(u64, &[u8], &P)) {
        match self {}
    }
}

/// A consumer of packets, and of rows of them.
pub trait PacketSink<P, R: Run<P> = Infallible> {
    /// Accepts a packet that began at stream position `offset`, with all its bytes.
    ///
    /// There are no bytes for a packet that stands for skipped bytes, which may be gigabytes: see [`skipped`](Self::skipped). An A-Sync
    /// whose first zeros belong to a truncated packet has fewer bytes than others.
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &P);

    /// Whether to pass rows of packets together to [`run`](Self::run), where that is easy.
    const RUNS: bool = false;

    /// Accepts a row of packets, the first of which began at stream position `offset`.
    #[inline(always)]
    fn run(&mut self, offset: u64, run: R) {
        run.each(offset, |offset, bytes, packet| self.packet(offset, bytes, packet));
    }

    /// Accepts bytes that were skipped in search of an A-Sync, in pieces. A packet that stands for all of them follows at their end.
    fn skipped(&mut self, _offset: u64, _bytes: &[u8]) {}
}

impl<P, R: Run<P>, F: FnMut(u64, &[u8], &P)> PacketSink<P, R> for F {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &P) {
        self(offset, bytes, packet);
    }
}
