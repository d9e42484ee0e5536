//! Parsing of a byte stream into packets.

use super::fields::{Fault, Stop};
use super::hot;
use super::read::{Read, read};
use super::search::Search;
use super::{ASYNC, AtomRun, Kind, MAX_PACKET, Packet, TraceState};
use crate::Params;

/// A consumer of packets.
pub trait EtmSink {
    /// Accepts a packet that began at stream position `offset`, with all its bytes.
    ///
    /// There are no bytes for [`Packet::NotSync`], which may stand for gigabytes: see [`EtmSink::skipped`]. There are
    /// fewer than twelve for an A-Sync whose first zeros belong to a truncated packet.
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet);

    /// Whether to pass consecutive atom packets together to [`EtmSink::atoms`], where that is easy.
    const ATOM_RUNS: bool = false;

    /// Accepts atom packets, the first of which began at stream position `offset`.
    #[inline(always)]
    fn atoms(&mut self, offset: u64, run: AtomRun) {
        for (offset, (header, atoms)) in (offset..).zip(run.packets()) {
            self.packet(offset, &[header], &Packet::Atom(atoms));
        }
    }

    /// Accepts bytes that were skipped in search of an A-Sync, in pieces. A [`Packet::NotSync`] follows at their end.
    fn skipped(&mut self, _offset: u64, _bytes: &[u8]) {}
}

impl<F: FnMut(u64, &[u8], &Packet)> EtmSink for F {
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
///
/// This struct is the stream state. The trace state is [`Parser::trace_state`].
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
    /// Number of zero bytes before the carried bytes, and before the next byte to be fed, up to eleven.
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

    /// Returns where the parser resumes after bytes that are not a packet.
    pub fn resync(&self) -> Resync {
        self.resync
    }

    /// Returns the parameters of the source.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the stream position of the next byte to be fed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the stream position of the first byte that is not reported yet: the start of an unfinished packet, or
    /// of zeros that may become an A-Sync. A later [`Packet::NotSync`] may begin earlier.
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
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl EtmSink) {
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

    /// Ends the stream. An unfinished packet is reported as incomplete, a search as not synchronised. Bytes fed
    /// afterwards are a new stream, with positions that continue.
    pub fn finish(&mut self, sink: &mut impl EtmSink) {
        if let Some(search) = &mut self.search {
            search.finish(self.position, |offset, bytes| sink.skipped(offset, bytes));
            let len = self.position - search.from;
            if len > 0 {
                sink.packet(search.from, &[], &Packet::NotSync { len });
            }
        }
        if self.carried > 0 {
            let bytes = &self.carry[..self.carried];
            let kind = match bytes {
                [0, 0, ..] => Kind::Async,
                _ => self.params.headers.kind(bytes[0]),
            };
            sink.packet(self.position - self.carried as u64, bytes, &Packet::Incomplete { kind });
            self.carried = 0;
        }
        self.search = Some(Search::new(self.position, 0));
        self.state = TraceState::default();
        self.zeros = 0;
    }

    /// Searches for an A-Sync from `bytes[at]` on. Returns the index at which to continue, as the next two functions
    /// do.
    fn find_async(&mut self, bytes: &[u8], at: usize, sink: &mut impl EtmSink) -> usize {
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
    fn packets(&mut self, bytes: &[u8], mut at: usize, sink: &mut impl EtmSink) -> usize {
        loop {
            at = hot::run(bytes, at, self.position, &self.params, &mut self.state, sink);
            let rest = &bytes[at..];
            if rest.is_empty() {
                return at;
            }
            let offset = self.position + at as u64;
            match read(rest, &self.params, &mut self.state) {
                Read { packet: Ok(packet), len } => {
                    sink.packet(offset, &rest[..len], &packet);
                    at += len;
                }
                Read { packet: Err(Stop::More), .. } => {
                    self.carry[..rest.len()].copy_from_slice(rest);
                    self.carried = rest.len();
                    self.carry_zeros = self.zeros_before(bytes, at);
                    return bytes.len();
                }
                Read { packet: Err(Stop::Bad(fault)), len } => {
                    self.bad(offset, &rest[..len], self.zeros_before(bytes, at), fault, sink);
                    at += len;
                    if self.search.is_some() {
                        return at;
                    }
                }
            }
        }
    }

    /// Completes the carried packet with the bytes from `bytes[at]` on.
    fn finish_carried(&mut self, bytes: &[u8], at: usize, sink: &mut impl EtmSink) -> usize {
        let carried = self.carried;
        let taken = (bytes.len() - at).min(MAX_PACKET - carried);
        self.carry[carried..carried + taken].copy_from_slice(&bytes[at..at + taken]);
        let start = self.position + at as u64 - carried as u64;
        let carry = self.carry;
        let Read { packet, len } = read(&carry[..carried + taken], &self.params, &mut self.state);
        match packet {
            Err(Stop::More) => {
                self.carried += taken;
                return at + taken;
            }
            Ok(packet) => sink.packet(start, &carry[..len], &packet),
            Err(Stop::Bad(fault)) => self.bad(start, &carry[..len], self.carry_zeros, fault, sink),
        }
        self.carried = 0;
        at + len - carried
    }

    /// Returns how many bytes just before `bytes[at]` are zero, up to eleven, bytes of earlier chunks included.
    fn zeros_before(&self, bytes: &[u8], at: usize) -> u8 {
        let zeros = bytes[..at].iter().rev().take(11).take_while(|&&byte| byte == 0).count();
        let all = zeros == at;
        (zeros as u8 + if all { self.zeros } else { 0 }).min(11)
    }

    /// Reports that `bytes` are not a packet, and decides where to resume. `zeros` bytes before them are zero.
    #[cold]
    fn bad(&mut self, offset: u64, bytes: &[u8], zeros: u8, fault: Fault, sink: &mut impl EtmSink) {
        let error = Packet::from(fault);
        if self.resync == Resync::NextByte {
            sink.packet(offset, bytes, &error);
            return;
        }
        // Eleven zeros and 0x80 are always an A-Sync, even if a truncated packet took the first zeros.
        if fault == Fault::Malformed(Kind::Async)
            && let [rest @ .., 0x80] = bytes
            && rest.iter().all(|&byte| byte == 0)
            && usize::from(zeros) + rest.len() >= 11
        {
            sink.packet(offset, bytes, &Packet::Async);
            return;
        }
        // Zeros at its end may belong to an A-Sync, and are left to the search.
        let last_zeros = bytes[1..].iter().rev().take_while(|&&byte| byte == 0).count();
        let len = bytes.len() - last_zeros;
        sink.packet(offset, &bytes[..len], &error);
        self.search = Some(Search::new(offset + len as u64, last_zeros as u64));
    }
}
