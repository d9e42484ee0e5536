//! Parsing of a byte stream into packets.

use super::MAX_PACKET;
use super::hot;
use super::kind::Kind;
use super::nibbles::{PADDING, Span, nibble, word};
use super::read::{State, Stop, read};
use super::search::Search;
use super::types::Packet;

/// A consumer of packets.
pub trait StmSink {
    /// Accepts a packet with all bytes that have a nibble of it. The first one is also the last one of the packet before if the packet
    /// [begins inside](Span::begins_inside) it. [`Packet::NotSync`] has no bytes: see [`skipped`](Self::skipped).
    fn packet(&mut self, span: Span, bytes: &[u8], packet: &Packet);
    /// Accepts bytes from stream position `offset` on that were skipped in search of an ASYNC, in pieces. A [`Packet::NotSync`] follows
    /// at their end. A byte is skipped if its low half is.
    fn skipped(&mut self, _offset: u64, _bytes: &[u8]) {}
}

impl<F: FnMut(Span, &[u8], &Packet)> StmSink for F {
    #[inline(always)]
    fn packet(&mut self, span: Span, bytes: &[u8], packet: &Packet) {
        self(span, bytes, packet);
    }
}

/// Bytes after the first one of a packet that can be read at once.
const WINDOW: usize = MAX_PACKET + PADDING;

/// A packet parser: bytes in, in chunks of any size, packets out. After bytes that are not a packet it resumes at the next ASYNC.
#[derive(Clone, Debug)]
pub struct Parser {
    /// Stream position of the next byte to be fed.
    position: u64,
    /// Search for an ASYNC, or `None` while synchronised.
    search: Option<Search>,
    /// Bytes of a packet whose end has not arrived yet.
    carry: [u8; MAX_PACKET],
    carried: usize,
    /// Nibble of the first one at which the packet begins: 0 or 1.
    begins: usize,
    state: State,
}

impl Default for Parser {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl Parser {
    /// Creates a parser for the bytes from stream position `position` on, not synchronised.
    pub fn starting_at(position: u64) -> Self {
        Self {
            position,
            search: Some(Search::new(2 * position, 0, 0)),
            carry: [0; MAX_PACKET],
            carried: 0,
            begins: 0,
            state: State::default(),
        }
    }

    /// Creates a parser at stream position 0, not synchronised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the stream position of the next byte to be fed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns what earlier packets have set.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the stream position of the first byte that is not reported yet.
    pub fn unfinished(&self) -> u64 {
        match &self.search {
            // The byte before may hold the first nibble of an ASYNC.
            Some(search) => search.reported.saturating_sub(1),
            None => self.position - self.carried as u64,
        }
    }

    /// Parses the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl StmSink) {
        let mut at = 0;
        while at < 2 * bytes.len() {
            at = if self.search.is_some() {
                self.find_async(bytes, at, sink)
            } else if self.carried > 0 {
                self.finish_carried(bytes, sink)
            } else {
                self.packets(bytes, at, sink)
            };
        }
        self.position += bytes.len() as u64;
    }

    /// Ends the stream. Bytes fed afterwards are a new stream, with positions that continue.
    pub fn finish(&mut self, sink: &mut impl StmSink) {
        if let Some(search) = &mut self.search {
            let span = search.finish(self.position, |offset, bytes| sink.skipped(offset, bytes));
            if span.nibbles > 0 {
                sink.packet(span, &[], &Packet::NotSync { nibbles: span.nibbles });
            }
        }
        if self.carried > 0 {
            let bytes = &self.carry[..self.carried];
            let start = 2 * (self.position - self.carried as u64) + self.begins as u64;
            let span = Span { start, nibbles: 2 * self.position - start };
            let kind = Kind::of(word(bytes, self.begins), span.nibbles);
            sink.packet(span, bytes, &Packet::Incomplete { kind });
        }
        *self = Self::starting_at(self.position);
    }

    /// Searches for an ASYNC from nibble `at` on. Returns the nibble at which to continue, as the next two functions do.
    fn find_async(&mut self, bytes: &[u8], at: usize, sink: &mut impl StmSink) -> usize {
        let Some(search) = &mut self.search else { return at };
        let found = search.run(self.position, bytes, at, |offset, bytes| sink.skipped(offset, bytes));
        let Some(found) = found else { return 2 * bytes.len() };
        if found.skipped.nibbles > 0 {
            sink.packet(found.skipped, &[], &Packet::NotSync { nibbles: found.skipped.nibbles });
        }
        sink.packet(found.span, &found.bytes[..found.len], &Packet::Async { ones: super::ONES });
        self.search = None;
        self.state = State::default();
        found.next
    }

    /// Parses all packets that are whole in `bytes`, from nibble `at` on. The start of an incomplete one is carried over.
    fn packets(&mut self, bytes: &[u8], mut at: usize, sink: &mut impl StmSink) -> usize {
        let position = 2 * self.position;
        let safe = 2 * (bytes.len() + 1).saturating_sub(WINDOW);
        if let Err(stop) = self.run(bytes, position, &mut at, safe, usize::MAX, sink) {
            return self.bad(bytes, position, at, &stop, sink);
        }
        if at >= 2 * bytes.len() {
            return at;
        }
        // Reading goes beyond the last bytes.
        let from = at / 2;
        let rest = &bytes[from..];
        let mut tail = [0; 2 * WINDOW];
        tail[..rest.len()].copy_from_slice(rest);
        let (position, end) = (position + 2 * from as u64, 2 * rest.len());
        at %= 2;
        match self.run(&tail, position, &mut at, end, end, sink) {
            Ok(()) => 2 * bytes.len(),
            Err(Stop::More) => {
                let rest = &rest[at / 2..];
                self.carry[..rest.len()].copy_from_slice(rest);
                (self.carried, self.begins) = (rest.len(), at % 2);
                2 * bytes.len()
            }
            Err(stop) => 2 * from + self.bad(&tail, position, at, &stop, sink),
        }
    }

    /// Parses packets of a window whose first nibble is at `position`, from nibble `at` up to `until`; the window ends at `limit`.
    #[inline(always)]
    fn run(
        &mut self,
        window: &[u8],
        position: u64,
        at: &mut usize,
        until: usize,
        limit: usize,
        sink: &mut impl StmSink,
    ) -> Result<(), Stop> {
        while *at < until {
            if limit == usize::MAX {
                *at = hot::run(window, *at, position, &mut self.state, sink);
                if *at >= until {
                    break;
                }
            }
            let (packet, len) = read(window, *at, limit, &mut self.state)?;
            let span = Span { start: position + *at as u64, nibbles: len as u64 };
            sink.packet(span, &window[*at / 2..(*at + len).div_ceil(2)], &packet);
            *at += len;
        }
        Ok(())
    }

    /// Completes the carried packet.
    fn finish_carried(&mut self, bytes: &[u8], sink: &mut impl StmSink) -> usize {
        let (carried, begins) = (self.carried, self.begins);
        let taken = bytes.len().min(MAX_PACKET - carried);
        let mut window = [0; WINDOW];
        window[..carried].copy_from_slice(&self.carry[..carried]);
        window[carried..carried + taken].copy_from_slice(&bytes[..taken]);
        let position = 2 * (self.position - carried as u64);
        let end = match read(&window, begins, 2 * (carried + taken), &mut self.state) {
            Err(Stop::More) => {
                self.carry = window[..MAX_PACKET].try_into().unwrap_or_default();
                self.carried += taken;
                return 2 * taken;
            }
            Ok((packet, len)) => {
                let span = Span { start: position + begins as u64, nibbles: len as u64 };
                sink.packet(span, &window[..(begins + len).div_ceil(2)], &packet);
                begins + len
            }
            Err(stop) => self.bad(&window, position, begins, &stop, sink),
        };
        self.carried = 0;
        // The packet was not complete without the new bytes, so it ends in them.
        end - 2 * carried
    }

    /// Reports that there is no packet at nibble `at` of a window, and searches for an ASYNC after it. Returns the nibble after those
    /// that had to be read to know it.
    #[cold]
    fn bad(
        &mut self,
        window: &[u8],
        position: u64,
        at: usize,
        stop: &Stop,
        sink: &mut impl StmSink,
    ) -> usize {
        let Stop::Bad { packet, read } = stop else { return at };
        // Ones at its end may belong to an ASYNC, and are left to the search. So may all of a row of ones.
        let ones = (1..*read).rev().take_while(|&index| nibble(window, at + index) == 0xf).count();
        let len = read - ones;
        let span = Span { start: position + at as u64, nibbles: len as u64 };
        sink.packet(span, &window[at / 2..(at + len).div_ceil(2)], packet);
        self.search = Some(Search::new(span.end(), ones as u64, nibble(window, at + len - 1)));
        at + read
    }
}
