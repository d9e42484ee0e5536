//! Packets from a byte stream.

use super::fields::{Fault, Stop};
use super::hot;
use super::read::{Read, read};
use super::search::Search;
use super::{ASYNC, MAX_PACKET, Packet, TraceState};
use crate::Params;

/// What takes packets.
pub trait Sink {
    /// A packet that began at stream position `offset`; `bytes` are all its bytes (none for
    /// [`Packet::NotSync`], which may stand for gigabytes; see [`Sink::skipped`]).
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet);

    /// Bytes passed over while searching an A-Sync, in pieces; a [`Packet::NotSync`] follows at their end.
    fn skipped(&mut self, _offset: u64, _bytes: &[u8]) {}
}

impl<F: FnMut(u64, &[u8], &Packet)> Sink for F {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        self(offset, bytes, packet);
    }
}

/// Where reading goes on after bytes that are no packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resync {
    /// At the next A-Sync: packets have no other marks, so what lies between cannot be trusted.
    #[default]
    NextAsync,
    /// With the next byte as a header, as OpenCSD's packet stage does.
    NextByte,
}

/// A packet parser: bytes in, in any chunking, packets out.
///
/// Its stream state is this struct; its trace state is [`Parser::trace_state`].
#[derive(Clone, Debug)]
pub struct Parser {
    params: Params,
    resync: Resync,
    /// Stream position of the next byte to be fed.
    position: u64,
    /// The search for an A-Sync; `None` while synchronised.
    search: Option<Search>,
    /// The bytes of a packet whose end has not come yet.
    carry: [u8; MAX_PACKET],
    carried: usize,
    state: TraceState,
}

impl Parser {
    /// A parser at stream position 0, not synchronised.
    pub fn new(params: Params) -> Self {
        Self {
            params,
            resync: Resync::default(),
            position: 0,
            search: Some(Search::new(0, 0)),
            carry: [0; MAX_PACKET],
            carried: 0,
            state: TraceState::default(),
        }
    }

    /// The same parser with another way to go on after an error.
    #[must_use]
    pub fn with_resync(self, resync: Resync) -> Self {
        Self { resync, ..self }
    }

    /// The parameters it was made with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Stream position of the next byte to be fed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Stream position from which on bytes are still to be reported: the start of an unfinished packet, or of
    /// zeros that may become an A-Sync. A [`Packet::NotSync`] still to come may begin earlier.
    pub fn unfinished(&self) -> u64 {
        match &self.search {
            Some(search) => search.reported,
            None => self.position - self.carried as u64,
        }
    }

    /// The mirrored compression registers.
    pub fn trace_state(&self) -> &TraceState {
        &self.state
    }

    /// Forgets everything but the position: the bytes that come do not continue those before.
    /// What was unfinished is reported to `sink` as at the end of a stream.
    pub fn reset(&mut self, sink: &mut impl Sink) {
        self.finish(sink);
        self.state = TraceState::default();
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = if self.search.is_some() {
                self.find_async(rest, sink)
            } else if self.carried > 0 {
                self.finish_carried(rest, sink)
            } else {
                self.packets(rest, sink)
            };
            self.position += used as u64;
            rest = &rest[used..];
        }
    }

    /// Ends the stream: an unfinished packet is reported as incomplete, a search as not synchronised. Bytes
    /// fed afterwards are a new stream.
    pub fn finish(&mut self, sink: &mut impl Sink) {
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
                [0, 0, ..] => super::Kind::Async,
                _ => self.params.headers.kind(bytes[0]),
            };
            sink.packet(self.position - self.carried as u64, bytes, &Packet::Incomplete { kind });
            self.carried = 0;
        }
        self.search = Some(Search::new(self.position, 0));
    }

    fn find_async(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let Some(search) = &mut self.search else { return 0 };
        let Some(used) = search.run(self.position, bytes, |offset, bytes| sink.skipped(offset, bytes)) else {
            return bytes.len();
        };
        let start = self.position + used as u64 - ASYNC.len() as u64;
        let len = start - search.from;
        if len > 0 {
            sink.packet(search.from, &[], &Packet::NotSync { len });
        }
        sink.packet(start, &ASYNC, &Packet::Async);
        self.search = None;
        used
    }

    /// All packets that lie whole in `bytes`; the start of one that does not is carried over.
    fn packets(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let mut at = 0;
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
                    return bytes.len();
                }
                Read { packet: Err(Stop::Bad(fault)), len } => {
                    at += len;
                    self.bad(offset, &rest[..len], fault, sink);
                    if self.search.is_some() {
                        return at;
                    }
                }
            }
        }
    }

    /// Completes the carried packet with the first of `bytes`.
    fn finish_carried(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let carried = self.carried;
        let taken = bytes.len().min(MAX_PACKET - carried);
        self.carry[carried..carried + taken].copy_from_slice(&bytes[..taken]);
        let start = self.position - carried as u64;
        let carry = self.carry;
        match read(&carry[..carried + taken], &self.params, &mut self.state) {
            Read { packet: Err(Stop::More), .. } => {
                self.carried += taken;
                taken
            }
            Read { packet: Ok(packet), len } => {
                self.carried = 0;
                sink.packet(start, &carry[..len], &packet);
                len - carried
            }
            Read { packet: Err(Stop::Bad(fault)), len } => {
                self.carried = 0;
                self.bad(start, &carry[..len], fault, sink);
                len - carried
            }
        }
    }

    /// Reports `bytes` as no packet and decides where to go on.
    #[cold]
    fn bad(&mut self, offset: u64, bytes: &[u8], fault: Fault, sink: &mut impl Sink) {
        let error = Packet::from(fault);
        match self.resync {
            Resync::NextByte => sink.packet(offset, bytes, &error),
            Resync::NextAsync => {
                // Zeros at its end may be the first of an A-Sync: leave those to the search.
                let zeros = bytes[1..].iter().rev().take_while(|&&byte| byte == 0).count();
                let len = bytes.len() - zeros;
                sink.packet(offset, &bytes[..len], &error);
                self.search = Some(Search::new(offset + len as u64, zeros as u64));
            }
        }
    }
}
