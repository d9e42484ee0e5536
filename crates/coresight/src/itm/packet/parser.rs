//! Parsing of a byte stream into packets.

use tracewright_core::stream::{PacketSink, Search};

use super::read::{Stop, read};
use super::{ASYNC, Kind, MAX_PACKET, Packet, ZEROS};
use crate::itm::Params;

/// The place to resume after bytes that are not a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resync {
    /// At the next synchronisation packet: packets have no other marks, so the bytes before it cannot be trusted.
    #[default]
    NextAsync,
    /// With the next byte as a header.
    NextByte,
    /// With the next byte as a header, and all zeros before 0x80 in one packet, as OpenCSD's packet stage does.
    OpenCsd,
}

/// A packet parser: bytes in, in chunks of any size, packets out.
#[derive(Clone, Debug)]
pub struct Parser {
    starts_aligned: bool,
    resync: Resync,
    /// Stream position of the next byte to be fed.
    position: u64,
    /// Search for a synchronisation packet, or `None` while synchronised.
    search: Option<Search>,
    /// Bytes of a packet whose end has not arrived yet. They are all zeros if the first is.
    carry: [u8; MAX_PACKET],
    carried: usize,
}

impl Parser {
    /// Creates a parser for the bytes from stream position `position` on. It is synchronised only if the parameters say so.
    pub fn starting_at(params: &Params, position: u64) -> Self {
        let starts_aligned = params.starts_aligned();
        let resync = if starts_aligned { Resync::NextByte } else { Resync::NextAsync };
        let search = (!starts_aligned).then(|| Search::new(ZEROS, position, 0));
        Self { starts_aligned, resync, position, search, carry: [0; MAX_PACKET], carried: 0 }
    }

    /// Creates a parser at stream position 0.
    pub fn new(params: &Params) -> Self {
        Self::starting_at(params, 0)
    }

    /// Sets where to resume after an error.
    #[must_use]
    pub fn with_resync(self, resync: Resync) -> Self {
        Self { resync, ..self }
    }

    /// Returns the stream position of the next byte to be fed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the stream position of the first byte that is not reported yet.
    pub fn unfinished(&self) -> u64 {
        match &self.search {
            Some(search) => search.reported,
            None => self.position - self.carried as u64,
        }
    }

    /// Parses the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl PacketSink<Packet>) {
        let mut at = 0;
        while at < bytes.len() {
            at = if self.search.is_some() {
                self.find_async(bytes, at, sink)
            } else if self.carried > 0 && self.carry[0] != 0 {
                self.finish_carried(bytes, at, sink)
            } else if self.carried > 0 || bytes[at] == 0 {
                self.zeros(bytes, at, sink)
            } else {
                self.packets(bytes, at, sink)
            };
        }
        self.position += bytes.len() as u64;
    }

    /// Ends the stream. Bytes fed afterwards are a new stream, with positions that continue.
    pub fn finish(&mut self, sink: &mut impl PacketSink<Packet>) {
        if let Some(search) = &mut self.search {
            search.finish(self.position, |offset, bytes| sink.skipped(offset, bytes));
            let len = self.position - search.from;
            if len > 0 {
                sink.packet(search.from, &[], &Packet::NotSync { len });
            }
        }
        let bytes = &self.carry[..self.carried];
        let start = self.position - self.carried as u64;
        match bytes.first() {
            None => {}
            Some(0) if self.resync != Resync::OpenCsd => {
                for (offset, zero) in (start..).zip(bytes.chunks(1)) {
                    sink.packet(offset, zero, &Packet::Padding);
                }
            }
            Some(&header) => sink.packet(start, bytes, &Packet::Incomplete { kind: Kind::of(header) }),
        }
        self.carried = 0;
        self.search = (!self.starts_aligned).then(|| Search::new(ZEROS, self.position, 0));
    }

    /// Searches for a synchronisation packet from `bytes[at]` on. Returns the index at which to continue, as the next functions do.
    fn find_async(&mut self, bytes: &[u8], at: usize, sink: &mut impl PacketSink<Packet>) -> usize {
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
        sink.packet(start, ASYNC, &Packet::Async);
        self.search = None;
        at + used
    }

    /// Parses all packets that are whole in `bytes[at..]`, up to the first zero header. The start of an incomplete one is carried over.
    fn packets(&mut self, bytes: &[u8], mut at: usize, sink: &mut impl PacketSink<Packet>) -> usize {
        while at < bytes.len() && bytes[at] != 0 {
            let rest = &bytes[at..];
            let offset = self.position + at as u64;
            match read(rest, self.resync) {
                Ok((packet, len)) => {
                    sink.packet(offset, &rest[..len], &packet);
                    at += len;
                }
                Err(Stop::More) => {
                    self.carry[..rest.len()].copy_from_slice(rest);
                    self.carried = rest.len();
                    return bytes.len();
                }
                Err(stop) => return at + self.bad(offset, rest, stop, sink),
            }
        }
        at
    }

    /// Takes zeros while synchronised, and the byte after them: a synchronisation packet, padding, or neither.
    fn zeros(&mut self, bytes: &[u8], mut at: usize, sink: &mut impl PacketSink<Packet>) -> usize {
        let most = if self.resync == Resync::OpenCsd { MAX_PACKET - 1 } else { ZEROS };
        while at < bytes.len() {
            let byte = bytes[at];
            let start = self.position + at as u64 - self.carried as u64;
            at += 1;
            if byte == 0 {
                if self.carried == most {
                    sink.packet(start, &[0], &Packet::Padding);
                } else {
                    self.carry[self.carried] = 0;
                    self.carried += 1;
                }
                continue;
            }
            let found = std::mem::take(&mut self.carried);
            self.carry[found] = byte;
            let packet = if byte == 0x80 && found >= ZEROS {
                Packet::Async
            } else {
                Packet::Malformed { kind: Kind::Async }
            };
            sink.packet(start, &self.carry[..=found], &packet);
            if packet != Packet::Async {
                self.lose(start + found as u64 + 1);
            }
            return at;
        }
        at
    }

    /// Completes the carried packet with the bytes from `bytes[at]` on.
    fn finish_carried(&mut self, bytes: &[u8], at: usize, sink: &mut impl PacketSink<Packet>) -> usize {
        let carried = self.carried;
        let taken = (bytes.len() - at).min(MAX_PACKET - carried);
        self.carry[carried..carried + taken].copy_from_slice(&bytes[at..at + taken]);
        let start = self.position + at as u64 - carried as u64;
        let carry = self.carry;
        let len = match read(&carry[..carried + taken], self.resync) {
            Err(Stop::More) => {
                self.carried += taken;
                return at + taken;
            }
            Ok((packet, len)) => {
                sink.packet(start, &carry[..len], &packet);
                len
            }
            Err(stop) => self.bad(start, &carry[..carried + taken], stop, sink),
        };
        self.carried = 0;
        at + len - carried
    }

    /// Reports that `bytes` do not begin with a packet. Returns how many bytes were used.
    #[cold]
    fn bad(&mut self, offset: u64, bytes: &[u8], stop: Stop, sink: &mut impl PacketSink<Packet>) -> usize {
        let header = bytes[0];
        let (packet, len) = match stop {
            Stop::Malformed(len) => (Packet::Malformed { kind: Kind::of(header) }, len),
            _ => (Packet::Reserved { header }, 1),
        };
        sink.packet(offset, &bytes[..len], &packet);
        self.lose(offset + len as u64);
        len
    }

    /// Loses synchronisation at stream position `from`, if a packet is needed to get it back.
    fn lose(&mut self, from: u64) {
        if self.resync == Resync::NextAsync {
            self.search = Some(Search::new(ZEROS, from, 0));
        }
    }
}
