//! Messages from a byte stream.

use super::frame::Body;
use super::hot::Hot;
use super::search::{Found, Search};
use super::sources::Sources;
use super::{Config, Content, Encapsulation, Malformed, Message, Sink};
use crate::packet::{self, Packet};
use crate::{Options, data};

/// Room for the start of a message: no message is longer.
const CARRY: usize = 48;

/// A parser: bytes in, in any chunking, messages out.
///
/// It follows the options that support packets tell, for each source. After bytes that are no packet, alignment is not
/// trusted: it searches for null packets that tell where packets begin, or for a synchronisation or support packet that
/// follows many messages. (PULP's records have a fixed length; the next is read.)
///
/// Its [`Config`] is one that [`Config::check`] finds right.
#[derive(Clone, Debug)]
pub struct Parser {
    config: Config,
    /// Stream position of the first byte that was not looked at.
    at: u64,
    /// The bytes from there on that were fed: the start of a message.
    carry: [u8; CARRY],
    carried: usize,
    /// The search for alignment; `None` while there is no doubt.
    search: Option<Search>,
    sources: Sources,
    hot: Option<Hot>,
}

impl Parser {
    /// A parser at stream position 0, where a message begins.
    pub fn new(config: Config) -> Self {
        Self::aligned_at(config, 0)
    }

    /// A parser for the bytes from stream position `position` on, where a message begins.
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

    /// A parser for the bytes from stream position `position` on, which may be anywhere in a message. (PULP's records begin at
    /// multiples of their length.)
    pub fn starting_at(config: Config, position: u64) -> Self {
        Self { search: Some(Search::new(position, &[])), ..Self::aligned_at(config, position) }
    }

    /// A parser that knows what this one knows of sources, for the bytes from stream position `position` on, where a message
    /// begins.
    #[must_use]
    pub fn aligned_elsewhere(&self, position: u64) -> Self {
        Self { sources: self.sources.clone(), ..Self::aligned_at(self.config.clone(), position) }
    }

    /// How many of the bytes to come belong to the message that has begun; `None` if it is not known where messages begin.
    pub fn next_message(&self) -> Option<usize> {
        match (&self.search, &self.carry[..self.carried]) {
            (Some(_), _) => None,
            (None, []) => Some(0),
            (None, [first, ..]) => self.config.encapsulation.message_len(*first)?.checked_sub(self.carried),
        }
    }

    /// What it was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Stream position of the next byte to be fed.
    pub fn position(&self) -> u64 {
        self.at + self.carried as u64
    }

    /// Stream position from which on bytes are still to be reported: the start of an unfinished message. A
    /// [`Content::NotSync`] still to come may begin earlier.
    pub fn unfinished(&self) -> u64 {
        self.at
    }

    /// Whether it is known where messages begin.
    pub fn is_aligned(&self) -> bool {
        self.search.is_none()
    }

    /// What is switched on for `source`, as far as it is known.
    pub fn options(&self, source: u16) -> (Options, data::Options) {
        self.sources.options(source, &self.config)
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut rest = bytes;
        while self.carried > 0 && !rest.is_empty() {
            let before = self.carried;
            let more = rest.len().min(CARRY - before);
            let mut carry = self.carry;
            carry[before..before + more].copy_from_slice(&rest[..more]);
            let used = self.step(&carry[..before + more], sink);
            if used == 0 {
                // No message is longer than there is room, so all bytes were taken.
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

    /// Ends the stream: an unfinished message is reported as incomplete, a search as not synchronised. Bytes fed
    /// afterwards are a new stream, whose positions go on.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        let end = self.position();
        if let Some(search) = self.search.take() {
            not_sync(search.from, end, sink);
        } else if self.carried > 0 {
            tell(sink, self.at, &self.carry[..self.carried], &message(Content::Incomplete));
        }
        self.at = end;
        self.carried = 0;
        self.sources.clear();
    }

    /// Does what can be done with the bytes at hand, once: a message, or a place that is none. Returns how many bytes are
    /// done with; 0 if more are needed.
    #[inline]
    fn step(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
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

    /// Reads the message that all of `bytes` are.
    #[inline]
    fn message(&mut self, bytes: &[u8], sink: &mut impl Sink) {
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
                            self.sources.told(frame.source, support);
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
        tell(sink, self.at, bytes, &Message { source, flow, timestamp, content });
    }

    #[cold]
    fn malformed(&mut self, bytes: &[u8], why: Malformed, sink: &mut impl Sink) {
        tell(sink, self.at, bytes, &message(Content::Malformed(why)));
        if self.config.encapsulation != Encapsulation::Pulp {
            self.search = Some(Search::new(self.at + bytes.len() as u64, bytes));
        }
    }
}

/// Kept apart, so that what takes messages is inlined here and where most are told ([`Hot`]), and nowhere else.
#[inline(never)]
fn tell(sink: &mut impl Sink, offset: u64, bytes: &[u8], message: &Message) {
    sink.message(offset, bytes, message);
}

fn message(content: Content) -> Message {
    Message { source: 0, flow: 0, timestamp: None, content }
}

fn not_sync(from: u64, to: u64, sink: &mut impl Sink) {
    if from < to {
        tell(sink, from, &[], &message(Content::NotSync { len: to - from }));
    }
}
