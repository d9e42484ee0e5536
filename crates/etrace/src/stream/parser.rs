//! Messages from a byte stream.

use super::frame::Body;
use super::hot::Hot;
use super::search::{Found, Search};
use super::sources::Sources;
use super::{Config, Content, Encapsulation, EtraceSink, Malformed, Message};
use crate::packet::{self, Packet};
use crate::{Options, data};

/// Room for the start of a message; no message is longer.
const CARRY: usize = 48;

/// Parser from bytes, in any chunking, to messages.
///
/// It tracks the options of each source as support packets report them. After bytes that are not a packet it
/// no longer trusts the alignment. It then searches for null packets that show where packets begin, or for a
/// synchronisation or support packet that follows many messages. (PULP's records have a fixed length, so the
/// next record is read.)
///
/// Its [`Config`] must pass [`Config::check`].
#[derive(Clone, Debug)]
pub struct Parser {
    config: Config,
    /// Stream position of the first unread byte.
    at: u64,
    /// Fed bytes from that position on: the start of a message.
    carry: [u8; CARRY],
    carried: usize,
    /// Search for alignment; `None` while alignment is certain.
    search: Option<Search>,
    sources: Sources,
    hot: Option<Hot>,
}

impl Parser {
    /// Creates a parser at stream position 0, where a message begins.
    pub fn new(config: Config) -> Self {
        Self::aligned_at(config, 0)
    }

    /// Creates a parser for the bytes from stream position `position` on, where a message begins.
    pub fn aligned_at(config: Config, position: u64) -> Self {
        Self {
            hot: Hot::new(&config.params, &config.encapsulation),
            config,
            at: position,
            carry: [0; CARRY],
            carried: 0,
            search: None,
            sources: Sources::default(),
        }
    }

    /// Creates a parser for the bytes from stream position `position` on, which may lie anywhere in a
    /// message. (PULP's records begin at multiples of their length.)
    pub fn starting_at(config: Config, position: u64) -> Self {
        Self { search: Some(Search::new(position, &[])), ..Self::aligned_at(config, position) }
    }

    /// Creates a parser for the bytes from stream position `position` on, where tracing was switched on, unless the memory that they
    /// come from has wrapped: then they begin anywhere in a message.
    pub fn slice_at(config: Config, position: u64) -> Self {
        Self { search: Some(Search::slice(position)), ..Self::aligned_at(config, position) }
    }

    /// Creates a parser for the bytes from stream position `position` on, where a message begins, with the
    /// options that this parser knows.
    #[must_use]
    pub fn aligned_elsewhere(&self, position: u64) -> Self {
        Self { sources: self.sources.clone(), ..Self::aligned_at(self.config.clone(), position) }
    }

    /// Returns how many of the next bytes belong to the message that has begun, or `None` if the alignment is
    /// unknown.
    pub fn next_message(&self) -> Option<usize> {
        match (&self.search, &self.carry[..self.carried]) {
            (Some(_), _) => None,
            (None, []) => Some(0),
            (None, [first, ..]) => self.config.encapsulation.message_len(*first)?.checked_sub(self.carried),
        }
    }

    /// Returns the settings of the parser.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the stream position of the next byte to feed.
    pub fn position(&self) -> u64 {
        self.at + self.carried as u64
    }

    /// Returns the stream position of the first unreported byte: the start of an unfinished message. A later
    /// [`Content::NotSync`] may begin earlier.
    pub fn unfinished(&self) -> u64 {
        self.at
    }

    /// Returns the options of `source` as far as they are known.
    pub fn options(&self, source: u16) -> (Options, data::Options) {
        self.sources.options(source, &self.config)
    }

    /// Reads the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl EtraceSink) {
        let mut rest = bytes;
        while self.carried > 0 && !rest.is_empty() {
            let before = self.carried;
            let more = rest.len().min(CARRY - before);
            let mut carry = self.carry;
            carry[before..before + more].copy_from_slice(&rest[..more]);
            let used = self.step(&carry[..before + more], sink);
            if used == 0 {
                // A message always fits, so all bytes were taken.
                self.carry = carry;
                self.carried = before + more;
                rest = &rest[more..];
            } else if used < before {
                self.carry.copy_within(used..before, 0);
                self.carried = before - used;
            } else {
                self.carried = 0;
                rest = &rest[used - before..];
            }
        }
        loop {
            if let (Some(hot), None) = (&self.hot, &self.search) {
                let used = hot.run(rest, self.at, &self.config, &self.sources, sink);
                self.at += used as u64;
                rest = &rest[used..];
            }
            let used = self.step(rest, sink);
            if used == 0 {
                break;
            }
            rest = &rest[used..];
        }
        if self.carried == 0 {
            self.carry[..rest.len()].copy_from_slice(rest);
            self.carried = rest.len();
        }
    }

    /// Ends the stream. Reports an unfinished message as incomplete and a search as not synchronised. Bytes
    /// fed later start a new stream whose positions continue.
    pub fn finish(&mut self, sink: &mut impl EtraceSink) {
        let end = self.position();
        if let Some(search) = self.search.take() {
            not_sync(search.from, end, sink);
        } else if self.carried > 0 {
            emit(sink, self.at, &self.carry[..self.carried], &message(Content::Incomplete));
        }
        self.at = end;
        self.carried = 0;
        self.sources.clear();
    }

    /// Handles one message or one skipped position. Returns how many bytes it consumed; 0 if it needs more.
    #[inline]
    fn step(&mut self, bytes: &[u8], sink: &mut impl EtraceSink) -> usize {
        let Some(&first) = bytes.first() else { return 0 };
        if let Some(search) = &mut self.search {
            match search.look(self.at, bytes, &self.config, &self.sources) {
                Found::More => return 0,
                Found::Not => {
                    self.at += 1;
                    return 1;
                }
                Found::Here => {
                    not_sync(search.from, self.at, sink);
                    self.search = None;
                }
            }
        }
        let used = match self.config.encapsulation.message_len(first) {
            None => {
                self.malformed(&bytes[..1], Malformed::Length, sink);
                1
            }
            Some(len) => {
                let Some(bytes) = bytes.get(..len) else { return 0 };
                self.message(bytes, sink);
                len
            }
        };
        self.at += used as u64;
        used
    }

    /// Reads the message that fills `bytes`.
    #[inline]
    fn message(&mut self, bytes: &[u8], sink: &mut impl EtraceSink) {
        let frame = match self.config.encapsulation.frame(bytes) {
            Ok(frame) => frame,
            Err(why) => return self.malformed(bytes, why, sink),
        };
        let content = match frame.body {
            Body::Instruction(mut reader) => {
                let (options, _) = self.sources.options(frame.source, &self.config);
                match packet::read(&mut reader, &self.config.params, &options) {
                    Ok(packet) => {
                        if let Packet::Support(support) = &packet {
                            self.sources.support(frame.source, support);
                        }
                        Content::Instruction(packet)
                    }
                    Err(why) => return self.malformed(bytes, why, sink),
                }
            }
            Body::Data(reader) => {
                let (_, options) = self.sources.options(frame.source, &self.config);
                match data::read(reader, &self.config.params, &options) {
                    Ok(packet) => Content::Data(packet),
                    Err(why) => return self.malformed(bytes, why, sink),
                }
            }
            Body::Other(kind) => Content::Other { kind },
            Body::Idle => Content::Idle,
            Body::Alignment => Content::Alignment,
        };
        let (source, flow, timestamp) = (frame.source, frame.flow, frame.timestamp);
        emit(sink, self.at, bytes, &Message { source, flow, timestamp, content });
    }

    #[cold]
    fn malformed(&mut self, bytes: &[u8], why: Malformed, sink: &mut impl EtraceSink) {
        emit(sink, self.at, bytes, &message(Content::Malformed(why)));
        if self.config.encapsulation != Encapsulation::Pulp {
            self.search = Some(Search::new(self.at + bytes.len() as u64, bytes));
        }
    }
}

/// Not inlined, so that the sink's code is inlined only here and in the fast path ([`Hot`]).
#[inline(never)]
fn emit(sink: &mut impl EtraceSink, offset: u64, bytes: &[u8], message: &Message) {
    sink.message(offset, bytes, message);
}

fn message(content: Content) -> Message {
    Message { source: 0, flow: 0, timestamp: None, content }
}

fn not_sync(from: u64, to: u64, sink: &mut impl EtraceSink) {
    if from < to {
        emit(sink, from, &[], &message(Content::NotSync { len: to - from }));
    }
}
