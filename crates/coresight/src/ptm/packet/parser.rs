//! Parsing of a byte stream into packets.

use super::MAX_PACKET;
use super::read::{State, Stop, read};
use super::types::{Kind, Packet};
use crate::ptm::Params;
use crate::shared::search::{ASYNC, Search};

/// A consumer of packets.
pub trait PtmSink {
    /// Accepts a packet that began at stream position `offset`, with all its bytes. [`Packet::NotSync`] has none: see
    /// [`skipped`](Self::skipped).
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet);
    /// Accepts bytes that were skipped in search of an A-Sync, in pieces. A [`Packet::NotSync`] follows at their end.
    fn skipped(&mut self, _offset: u64, _bytes: &[u8]) {}
}

impl<F: FnMut(u64, &[u8], &Packet)> PtmSink for F {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        self(offset, bytes, packet);
    }
}

/// A packet parser: bytes in, in chunks of any size, packets out. After bytes that are not a packet it resumes at the next A-Sync.
#[derive(Clone, Debug)]
pub struct Parser {
    params: Params,
    /// Stream position of the next byte to be fed.
    position: u64,
    /// Search for an A-Sync, or `None` while synchronised.
    search: Option<Search>,
    /// Bytes of a packet whose end has not arrived yet.
    carry: [u8; MAX_PACKET],
    carried: usize,
    state: State,
}

impl Parser {
    /// Creates a parser for the bytes from stream position `position` on, not synchronised.
    pub fn starting_at(params: Params, position: u64) -> Self {
        Self {
            params,
            position,
            search: Some(Search::new(position, 0)),
            carry: [0; MAX_PACKET],
            carried: 0,
            state: State::default(),
        }
    }

    /// Creates a parser at stream position 0, not synchronised.
    pub fn new(params: Params) -> Self {
        Self::starting_at(params, 0)
    }

    /// Returns the stream position of the next byte to be fed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns what the next packets are compressed against.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the stream position of the first byte that is not reported yet.
    pub fn unfinished(&self) -> u64 {
        match &self.search {
            Some(search) => search.reported,
            None => self.position - self.carried as u64,
        }
    }

    /// Parses the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl PtmSink) {
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
        self.position += bytes.len() as u64;
    }

    /// Ends the stream. Bytes fed afterwards are a new stream, with positions that continue.
    pub fn finish(&mut self, sink: &mut impl PtmSink) {
        if let Some(search) = &mut self.search {
            search.finish(self.position, |offset, bytes| sink.skipped(offset, bytes));
            let len = self.position - search.from;
            if len > 0 {
                sink.packet(search.from, &[], &Packet::NotSync { len });
            }
        }
        if self.carried > 0 {
            let bytes = &self.carry[..self.carried];
            let kind = Kind::of(bytes[0]);
            sink.packet(self.position - self.carried as u64, bytes, &Packet::Incomplete { kind });
            self.carried = 0;
        }
        self.search = Some(Search::new(self.position, 0));
        self.state = State::default();
    }

    /// Searches for an A-Sync from `bytes[at]` on. Returns the index at which to continue, as the next two functions do.
    fn find_async(&mut self, bytes: &[u8], at: usize, sink: &mut impl PtmSink) -> usize {
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
        self.state = State::default();
        at + used
    }

    /// Parses all packets that are whole in `bytes[at..]`. The start of an incomplete one is carried over.
    fn packets(&mut self, bytes: &[u8], mut at: usize, sink: &mut impl PtmSink) -> usize {
        while at < bytes.len() {
            let rest = &bytes[at..];
            let offset = self.position + at as u64;
            match read(rest, &self.params, &mut self.state) {
                Ok((packet, len)) => {
                    sink.packet(offset, &rest[..len], &packet);
                    at += len;
                }
                Err(Stop::More) => {
                    self.carry[..rest.len()].copy_from_slice(rest);
                    self.carried = rest.len();
                    return bytes.len();
                }
                Err(stop) => return at + self.bad(offset, rest, &stop, sink),
            }
        }
        at
    }

    /// Completes the carried packet with the bytes from `bytes[at]` on.
    fn finish_carried(&mut self, bytes: &[u8], at: usize, sink: &mut impl PtmSink) -> usize {
        let carried = self.carried;
        let taken = (bytes.len() - at).min(MAX_PACKET - carried);
        self.carry[carried..carried + taken].copy_from_slice(&bytes[at..at + taken]);
        let start = self.position + at as u64 - carried as u64;
        let carry = self.carry;
        let len = match read(&carry[..carried + taken], &self.params, &mut self.state) {
            Err(Stop::More) => {
                self.carried += taken;
                return at + taken;
            }
            Ok((packet, len)) => {
                sink.packet(start, &carry[..len], &packet);
                len
            }
            Err(stop) => self.bad(start, &carry[..carried + taken], &stop, sink),
        };
        self.carried = 0;
        at + len - carried
    }

    /// Reports that `bytes` do not begin with a packet, and searches for an A-Sync after them. Returns how many bytes were used: at least
    /// as many as had to be read to know it.
    #[cold]
    fn bad(&mut self, offset: u64, bytes: &[u8], stop: &Stop, sink: &mut impl PtmSink) -> usize {
        let (packet, read) = match stop {
            Stop::Malformed(len) => (Packet::Malformed { kind: Kind::of(bytes[0]) }, *len),
            _ => (Packet::Reserved, 1),
        };
        // Zeros at its end may belong to an A-Sync, and are left to the search. So may all of a row of zeros.
        let body = &bytes[1..read];
        let zeros = body.iter().rev().take_while(|&&byte| byte == 0).count();
        let len = read - zeros;
        sink.packet(offset, &bytes[..len], &packet);
        self.search = Some(Search::new(offset + len as u64, zeros as u64));
        read
    }
}
