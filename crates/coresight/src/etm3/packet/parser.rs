//! Parsing of a byte stream into packets.

use super::read::{Stop, kind_of, read};
use super::types::{Atoms, Packet};
use super::{ASYNC, Kind, MAX_PACKET, TraceState};
use crate::etm3::Params;
use crate::shared::search::Search;

/// Zeros of an A-Sync.
const ZEROS: u8 = 5;

/// A consumer of packets.
pub trait Etm3Sink {
    /// Accepts a packet that began at stream position `offset`, with all its bytes. There are none for [`Packet::NotSync`], which may stand
    /// for gigabytes: see [`skipped`](Self::skipped).
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet);

    /// Accepts bytes that were skipped in search of an A-Sync, in pieces. A [`Packet::NotSync`] follows at their end.
    fn skipped(&mut self, _offset: u64, _bytes: &[u8]) {}
}

impl<F: FnMut(u64, &[u8], &Packet)> Etm3Sink for F {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        self(offset, bytes, packet);
    }
}

/// The place to resume after bytes that are not a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resync {
    /// At the next A-Sync: packets have no other marks, so the bytes before it cannot be trusted.
    #[default]
    NextAsync,
    /// With the next byte as a header, as OpenCSD's packet stage does.
    NextByte,
}

/// A packet parser: bytes in, in chunks of any size, packets out.
#[derive(Clone, Debug)]
pub struct Parser {
    params: Params,
    resync: Resync,
    /// Stream position of the next byte to be fed.
    position: u64,
    /// Search for an A-Sync, or `None` while synchronised.
    search: Option<Search>,
    /// Bytes of a packet whose end has not arrived yet.
    carry: [u8; MAX_PACKET],
    carried: usize,
    /// Number of zero bytes before the carried bytes, and before the next byte to be fed, up to five.
    carry_zeros: u8,
    zeros: u8,
    state: TraceState,
}

impl Parser {
    /// Creates a parser at stream position 0, not synchronised.
    pub fn new(params: Params) -> Self {
        Self {
            params,
            resync: Resync::default(),
            position: 0,
            search: Some(Search::new(0, 0)),
            carry: [0; MAX_PACKET],
            carried: 0,
            carry_zeros: 0,
            zeros: 0,
            state: TraceState::default(),
        }
    }

    /// Creates a parser for the bytes from stream position `position` on, not synchronised.
    pub fn starting_at(params: Params, position: u64) -> Self {
        Self { position, search: Some(Search::new(position, 0)), ..Self::new(params) }
    }

    /// Sets where to resume after an error.
    #[must_use]
    pub fn with_resync(self, resync: Resync) -> Self {
        Self { resync, ..self }
    }

    /// Returns the parameters of the source.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the stream position of the next byte to be fed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the stream position of the first byte that is not reported yet: the start of an unfinished packet, or of zeros that may
    /// become an A-Sync.
    pub fn unfinished(&self) -> u64 {
        match &self.search {
            Some(search) => search.reported,
            None => self.position - self.carried as u64,
        }
    }

    /// Returns the mirrored compression registers.
    pub fn trace_state(&self) -> &TraceState {
        &self.state
    }

    /// Parses the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl Etm3Sink) {
        let mut at = 0;
        while at < bytes.len() {
            at = if self.search.is_some() {
                self.find_async(bytes, at, sink)
            } else if self.carried > 0 {
                self.finish_carried(bytes, at, sink)
            } else {
                self.packets(bytes, at, sink)
            };
        }
        self.zeros = self.zeros_before(bytes, bytes.len());
        self.position += bytes.len() as u64;
    }

    /// Ends the stream. An unfinished packet is reported as incomplete, a search as not synchronised. Bytes fed afterwards are a new
    /// stream, with positions that continue.
    pub fn finish(&mut self, sink: &mut impl Etm3Sink) {
        if let Some(search) = &mut self.search {
            search.finish(self.position, |offset, bytes| sink.skipped(offset, bytes));
            let len = self.position - search.from;
            if len > 0 {
                sink.packet(search.from, &[], &Packet::NotSync { len });
            }
        }
        if self.carried > 0 {
            let bytes = &self.carry[..self.carried];
            let kind = kind_of(bytes[0]).unwrap_or(Kind::Reserved);
            sink.packet(self.position - self.carried as u64, bytes, &Packet::Incomplete { kind });
            self.carried = 0;
        }
        self.search = Some(Search::new(self.position, 0));
        self.state = TraceState::default();
        self.zeros = 0;
    }

    /// Searches for an A-Sync from `bytes[at]` on. Returns the index at which to continue, as the next two functions do.
    fn find_async(&mut self, bytes: &[u8], at: usize, sink: &mut impl Etm3Sink) -> usize {
        let Some(search) = &mut self.search else { return at };
        let position = self.position + at as u64;
        let Some(used) = search.run(position, &bytes[at..], |offset, bytes| sink.skipped(offset, bytes))
        else {
            return bytes.len();
        };
        let start = position + used as u64 - ASYNC.len() as u64;
        let len = start - search.from;
        if len > 0 {
            sink.packet(search.from, &[], &Packet::NotSync { len });
        }
        sink.packet(start, &ASYNC, &Packet::Async);
        self.search = None;
        at + used
    }

    /// Parses all packets that are whole in `bytes[at..]`. The start of an incomplete one is carried over.
    fn packets(&mut self, bytes: &[u8], mut at: usize, sink: &mut impl Etm3Sink) -> usize {
        let cycle_accurate = self.params.cycle_accurate();
        while at < bytes.len() {
            let rest = &bytes[at..];
            let offset = self.position + at as u64;
            // Nearly all bytes are P-headers.
            if rest[0] & 0x81 == 0x80
                && let Some(atoms) = Atoms::of_header(rest[0], cycle_accurate)
            {
                sink.packet(offset, &rest[..1], &Packet::Atoms(atoms));
                at += 1;
                continue;
            }
            match read(rest, &self.params, self.resync == Resync::NextByte, &mut self.state) {
                Ok((packet, len)) => {
                    sink.packet(offset, &rest[..len], &packet);
                    at += len;
                }
                Err(Stop::More) => {
                    self.carry[..rest.len()].copy_from_slice(rest);
                    self.carried = rest.len();
                    self.carry_zeros = self.zeros_before(bytes, at);
                    return bytes.len();
                }
                Err(Stop::Bad(error, len)) => {
                    self.bad(offset, &rest[..len], self.zeros_before(bytes, at), &error, sink);
                    at += len;
                    if self.search.is_some() {
                        return at;
                    }
                }
            }
        }
        at
    }

    /// Completes the carried packet with the bytes from `bytes[at]` on.
    fn finish_carried(&mut self, bytes: &[u8], at: usize, sink: &mut impl Etm3Sink) -> usize {
        let carried = self.carried;
        let taken = (bytes.len() - at).min(MAX_PACKET - carried);
        self.carry[carried..carried + taken].copy_from_slice(&bytes[at..at + taken]);
        let start = self.position + at as u64 - carried as u64;
        let carry = self.carry;
        let strict = self.resync == Resync::NextByte;
        let len = match read(&carry[..carried + taken], &self.params, strict, &mut self.state) {
            Err(Stop::More) => {
                self.carried += taken;
                return at + taken;
            }
            Ok((packet, len)) => {
                sink.packet(start, &carry[..len], &packet);
                len
            }
            Err(Stop::Bad(error, len)) => {
                self.bad(start, &carry[..len], self.carry_zeros, &error, sink);
                len
            }
        };
        self.carried = 0;
        if len < carried {
            self.again(&carry[len..carried], at, sink);
            return at;
        }
        at + len - carried
    }

    /// Parses the rest of the carried bytes again, which bad bytes at their start left over.
    #[cold]
    fn again(&mut self, rest: &[u8], at: usize, sink: &mut impl Etm3Sink) {
        // They come before the byte at `at` of the chunk.
        let (position, zeros) = (self.position, self.zeros);
        self.position = position + at as u64 - rest.len() as u64;
        self.zeros = 0;
        let mut done = 0;
        while done < rest.len() {
            done = if self.search.is_some() {
                self.find_async(rest, done, sink)
            } else if self.carried > 0 {
                self.finish_carried(rest, done, sink)
            } else {
                self.packets(rest, done, sink)
            };
        }
        (self.position, self.zeros) = (position, zeros);
    }

    /// Returns how many bytes just before `bytes[at]` are zero, up to five, bytes of earlier chunks included.
    fn zeros_before(&self, bytes: &[u8], at: usize) -> u8 {
        let zeros = bytes[..at].iter().rev().take(ZEROS.into()).take_while(|&&byte| byte == 0).count();
        let all = zeros == at;
        (zeros as u8 + if all { self.zeros } else { 0 }).min(ZEROS)
    }

    /// Reports that `bytes` are not a packet, and decides where to resume. `zeros` bytes before them are zero.
    #[cold]
    fn bad(&mut self, offset: u64, bytes: &[u8], zeros: u8, error: &Packet, sink: &mut impl Etm3Sink) {
        if self.resync == Resync::NextByte {
            sink.packet(offset, bytes, error);
            return;
        }
        // Five zeros and 0x80 are an A-Sync, even if a truncated packet took the first zeros.
        if let [rest @ .., 0x80] = bytes
            && rest.iter().all(|&byte| byte == 0)
            && usize::from(zeros) + rest.len() >= usize::from(ZEROS)
        {
            sink.packet(offset, bytes, &Packet::Async);
            return;
        }
        // Zeros at its end may belong to an A-Sync, and are left to the search.
        let last_zeros = bytes[1..].iter().rev().take_while(|&&byte| byte == 0).count();
        let len = bytes.len() - last_zeros;
        sink.packet(offset, &bytes[..len], error);
        self.state = TraceState::default();
        self.search = Some(Search::new(offset + len as u64, last_zeros as u64));
    }
}
