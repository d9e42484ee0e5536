//! Parsing of a byte stream into packets.

use core::fmt::Debug;

use super::search::{Search, a_sync};
use super::{PacketSink, Run};

/// The packets of a protocol, implemented by the parameters of a source.
pub trait Grammar {
    /// Packet, or bytes that are not a packet.
    type Packet;
    /// A row of packets: [`Infallible`](core::convert::Infallible) if there are none.
    type Run: Run<Self::Packet>;
    /// What packets are compressed against.
    type State: Clone + Debug + Default;

    /// Zeros of an A-Sync, eleven at most.
    const ZEROS: usize;
    /// The packet that an A-Sync is.
    const ASYNC: Self::Packet;
    /// Most bytes of a packet: 32 at most. Only an A-Sync can have more: those before its last are then bytes without
    /// synchronisation.
    const MAX_PACKET: usize;
    /// Whether an A-Sync resets the state.
    const ASYNC_RESETS: bool = true;

    /// Reads the packet at the start of `bytes`, which are not empty. Returns it and its length. The state changes only if the packet is
    /// whole. A `strict` A-Sync has no more zeros than it needs.
    ///
    /// # Errors
    /// Fails if there is no whole packet.
    fn read(
        &self,
        bytes: &[u8],
        strict: bool,
        state: &mut Self::State,
    ) -> Result<(Self::Packet, usize), Stop<Self::Packet>>;

    /// Reads packets from `bytes[at..]` while they are of a common kind. Returns where the first other packet starts. `position` is the
    /// stream position of `bytes[0]`.
    #[inline(always)]
    fn common<S: PacketSink<Self::Packet, Self::Run>>(
        &self,
        _bytes: &[u8],
        at: usize,
        _position: u64,
        _state: &mut Self::State,
        _sink: &mut S,
    ) -> usize {
        at
    }

    /// Whether a packet begins at the first byte of a stream, and after bytes that are not a packet: no A-Sync is needed.
    fn starts_aligned(&self) -> bool {
        false
    }

    /// Returns the packet that stands for `len` bytes without synchronisation.
    fn not_sync(len: u64) -> Self::Packet;
    /// Returns the packet that stands for an unfinished packet at the end of the stream.
    fn incomplete(&self, bytes: &[u8]) -> Self::Packet;
}

/// Most bytes that [`Grammar::MAX_PACKET`] may be.
const MOST: usize = 32;

/// The reason why a packet could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop<P> {
    /// The packet continues after the given bytes.
    More,
    /// No such packet exists: what there is instead, and how many bytes it has.
    Bad(P, usize),
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
/// This struct is the stream state. What packets are compressed against is [`Parser::state`].
#[derive(Clone, Debug)]
pub struct Parser<G: Grammar> {
    params: G,
    resync: Resync,
    /// Stream position of the next byte to be fed.
    position: u64,
    /// Search for an A-Sync, or `None` while synchronised.
    search: Option<Search>,
    /// Bytes of a packet whose end has not arrived yet.
    carry: [u8; MOST],
    carried: usize,
    /// Number of zero bytes before the carried bytes, and before the next byte to be fed, as many as an A-Sync has at most.
    carry_zeros: usize,
    zeros: usize,
    state: G::State,
}

impl<G: Grammar> Parser<G> {
    /// Creates a parser at stream position 0, not synchronised.
    pub fn new(params: G) -> Self {
        Self::starting_at(params, 0)
    }

    /// Creates a parser for the bytes from stream position `position` on, not synchronised.
    pub fn starting_at(params: G, position: u64) -> Self {
        const { assert!(G::MAX_PACKET <= MOST) };
        let search = (!params.starts_aligned()).then(|| Search::new(G::ZEROS, position, 0));
        Self {
            params,
            resync: Resync::default(),
            position,
            search,
            carry: [0; MOST],
            carried: 0,
            carry_zeros: 0,
            zeros: 0,
            state: G::State::default(),
        }
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
    pub fn params(&self) -> &G {
        &self.params
    }

    /// Returns the stream position of the next byte to be fed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the stream position of the first byte that is not reported yet: the start of an unfinished packet, or of zeros that may
    /// become an A-Sync. A later packet that stands for skipped bytes may begin earlier.
    pub fn unfinished(&self) -> u64 {
        match &self.search {
            Some(search) => search.reported,
            None => self.position - self.carried as u64,
        }
    }

    /// Returns what the next packets are compressed against.
    pub fn state(&self) -> &G::State {
        &self.state
    }

    /// Parses the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl PacketSink<G::Packet, G::Run>) {
        self.parse(bytes, sink);
        self.zeros = self.zeros_before(bytes, bytes.len());
        self.position += bytes.len() as u64;
    }

    /// Ends the stream. An unfinished packet is reported as incomplete, a search as not synchronised. Bytes fed afterwards are a new
    /// stream, with positions that continue.
    pub fn finish(&mut self, sink: &mut impl PacketSink<G::Packet, G::Run>) {
        if let Some(search) = &mut self.search {
            search.finish(self.position, |offset, bytes| sink.skipped(offset, bytes));
            let len = self.position - search.from;
            if len > 0 {
                sink.packet(search.from, &[], &G::not_sync(len));
            }
        }
        if self.carried > 0 {
            let bytes = &self.carry[..self.carried];
            sink.packet(self.position - self.carried as u64, bytes, &self.params.incomplete(bytes));
            self.carried = 0;
        }
        self.search = (!self.params.starts_aligned()).then(|| Search::new(G::ZEROS, self.position, 0));
        self.state = G::State::default();
        self.zeros = 0;
    }

    /// Parses `bytes`, of which the first is at the current position.
    #[inline(always)]
    fn parse(&mut self, bytes: &[u8], sink: &mut impl PacketSink<G::Packet, G::Run>) {
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
    }

    /// Searches for an A-Sync from `bytes[at]` on. Returns the index at which to continue, as the next two functions do.
    fn find_async(
        &mut self,
        bytes: &[u8],
        at: usize,
        sink: &mut impl PacketSink<G::Packet, G::Run>,
    ) -> usize {
        let Some(search) = &mut self.search else { return at };
        let position = self.position + at as u64;
        let Some(used) = search.run(position, &bytes[at..], |offset, bytes| sink.skipped(offset, bytes))
        else {
            return bytes.len();
        };
        let found = a_sync(G::ZEROS);
        let start = position + used as u64 - found.len() as u64;
        let len = start - search.from;
        if len > 0 {
            sink.packet(search.from, &[], &G::not_sync(len));
        }
        sink.packet(start, found, &G::ASYNC);
        self.search = None;
        if G::ASYNC_RESETS {
            self.state = G::State::default();
        }
        at + used
    }

    /// Parses all packets that are whole in `bytes[at..]`. The start of an incomplete one is carried over.
    fn packets(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        sink: &mut impl PacketSink<G::Packet, G::Run>,
    ) -> usize {
        let strict = self.resync == Resync::NextByte;
        loop {
            at = self.params.common(bytes, at, self.position, &mut self.state, sink);
            let rest = &bytes[at..];
            if rest.is_empty() {
                return at;
            }
            let offset = self.position + at as u64;
            match self.params.read(rest, strict, &mut self.state) {
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
    }

    /// Completes the carried packet with the bytes from `bytes[at]` on.
    fn finish_carried(
        &mut self,
        bytes: &[u8],
        at: usize,
        sink: &mut impl PacketSink<G::Packet, G::Run>,
    ) -> usize {
        let carried = self.carried;
        let taken = (bytes.len() - at).min(G::MAX_PACKET - carried);
        self.carry[carried..carried + taken].copy_from_slice(&bytes[at..at + taken]);
        let start = self.position + at as u64 - carried as u64;
        let carry = self.carry;
        let strict = self.resync == Resync::NextByte;
        let len = match self.params.read(&carry[..carried + taken], strict, &mut self.state) {
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
    fn again(&mut self, rest: &[u8], at: usize, sink: &mut impl PacketSink<G::Packet, G::Run>) {
        // They come before the byte at `at` of the chunk.
        let (position, zeros) = (self.position, self.zeros);
        self.position = position + at as u64 - rest.len() as u64;
        self.zeros = 0;
        self.parse(rest, sink);
        (self.position, self.zeros) = (position, zeros);
    }

    /// Returns how many bytes just before `bytes[at]` are zero, as many as an A-Sync has at most, bytes of earlier chunks included.
    fn zeros_before(&self, bytes: &[u8], at: usize) -> usize {
        let zeros = bytes[..at].iter().rev().take(G::ZEROS).take_while(|&&byte| byte == 0).count();
        let all = zeros == at;
        (zeros + if all { self.zeros } else { 0 }).min(G::ZEROS)
    }

    /// Reports that `bytes` are not a packet, and decides where to resume. `zeros` bytes before them are zero.
    #[cold]
    fn bad(
        &mut self,
        offset: u64,
        bytes: &[u8],
        zeros: usize,
        error: &G::Packet,
        sink: &mut impl PacketSink<G::Packet, G::Run>,
    ) {
        if self.resync == Resync::NextByte || self.params.starts_aligned() {
            sink.packet(offset, bytes, error);
            return;
        }
        // Enough zeros and 0x80 are always an A-Sync, even if a truncated packet took the first zeros.
        if let [rest @ .., 0x80] = bytes
            && rest.iter().all(|&byte| byte == 0)
            && zeros + rest.len() >= G::ZEROS
        {
            sink.packet(offset, bytes, &G::ASYNC);
            if G::ASYNC_RESETS {
                self.state = G::State::default();
            }
            return;
        }
        // Zeros at its end may belong to an A-Sync, and are left to the search.
        let last_zeros = bytes[1..].iter().rev().take_while(|&&byte| byte == 0).count();
        let len = bytes.len() - last_zeros;
        sink.packet(offset, &bytes[..len], error);
        self.search = Some(Search::new(G::ZEROS, offset + len as u64, last_zeros as u64));
    }
}
