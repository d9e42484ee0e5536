//! Messages from a byte stream.

use tracewright_core::stream::PacketSink;

use super::{Content, Message};
use crate::packet::{self, MAX_MESSAGE, Malformed, Mseo, Packet, Parsed, SHORT};
use crate::{Dialect, Params};

/// Reasons of a synchronisation with which tracing begins: reset, debug mode, tracing switched on, loss, power-down.
const STARTS: [u8; 5] = [1, 3, 5, 7, 9];

/// Parser from bytes, in any chunking, to messages.
///
/// After bytes that are not a message, the next message begins after the next byte that ends one: no other byte has those bits. A
/// message that is malformed in another way has a certain end, so nothing is skipped.
///
/// Its [`Params`] must pass [`Params::check`].
#[derive(Clone, Debug)]
pub struct Parser {
    params: Params,
    /// Stream position of the first unread byte.
    at: u64,
    /// Fed bytes from that position on: the start of a message.
    carry: [u8; MAX_MESSAGE],
    carried: usize,
    skip: Option<Skip>,
}

/// Bytes that are reported together, from a stream position on.
#[derive(Clone, Copy, Debug)]
struct Skip {
    from: u64,
    what: Skipped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skipped {
    Idle,
    /// Up to the end of a message.
    Lost,
    /// Nothing, if tracing begins here; else up to the end of a message.
    Unsure,
    /// Up to the end of a message that a vendor defines.
    Vendor {
        tcode: u8,
        source: u16,
    },
}

impl Parser {
    /// Creates a parser at stream position 0, where a message begins.
    pub fn new(params: Params) -> Self {
        Self::aligned_at(params, 0)
    }

    /// Creates a parser for the bytes from stream position `position` on, where a message begins.
    pub fn aligned_at(params: Params, position: u64) -> Self {
        Self { params, at: position, carry: [0; MAX_MESSAGE], carried: 0, skip: None }
    }

    /// Creates a parser for the bytes from stream position `position` on, which may lie anywhere in a message.
    pub fn starting_at(params: Params, position: u64) -> Self {
        let skip = Some(Skip { from: position, what: Skipped::Lost });
        Self { skip, ..Self::aligned_at(params, position) }
    }

    /// Creates a parser for the bytes from stream position `position` on, where tracing was switched on, unless the memory that they
    /// come from has wrapped: then they begin anywhere in a message.
    pub fn slice_at(params: Params, position: u64) -> Self {
        let skip = Some(Skip { from: position, what: Skipped::Unsure });
        Self { skip, ..Self::aligned_at(params, position) }
    }

    /// Returns the parameters of the encoder.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the stream position of the next byte to feed.
    pub fn position(&self) -> u64 {
        self.at + self.carried as u64
    }

    /// Returns the stream position of the first unreported byte: the start of an unfinished message, or of bytes that are skipped.
    pub fn unfinished(&self) -> u64 {
        self.skip.map_or(self.at, |skip| skip.from)
    }

    /// Reads the next bytes of the stream.
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut impl PacketSink<Message>) {
        while self.carried > 0 && !bytes.is_empty() {
            let before = self.carried;
            let more = bytes.len().min(MAX_MESSAGE - before);
            self.carry[before..before + more].copy_from_slice(&bytes[..more]);
            self.carried = 0;
            let carry = self.carry;
            let used = self.step(&carry[..before + more], sink);
            if used == 0 {
                self.carried = before + more;
            }
            // Bytes that were carried were not the end of anything.
            bytes = &bytes[if used == 0 { more } else { used - before }..];
        }
        loop {
            if self.skip.is_none() {
                bytes = self.short_messages(bytes, sink);
            }
            let used = self.step(bytes, sink);
            if used == 0 {
                break;
            }
            bytes = &bytes[used..];
        }
        if !bytes.is_empty() {
            self.carry[..bytes.len()].copy_from_slice(bytes);
            self.carried = bytes.len();
        }
    }

    /// Reads messages while they are short. Returns the other bytes.
    #[inline(always)]
    fn short_messages<'b>(&mut self, mut bytes: &'b [u8], sink: &mut impl PacketSink<Message>) -> &'b [u8] {
        while let Some(word) = bytes.first_chunk::<SHORT>()
            && let Some((parsed, len)) = packet::parse_short(u64::from_le_bytes(*word), &self.params)
            && let Parsed { source, packet: Some(packet), timestamp, .. } = parsed
        {
            let content = Content::Packet(packet);
            sink.packet(self.at, &bytes[..len], &Message { source, timestamp, content });
            self.at += len as u64;
            bytes = &bytes[len..];
        }
        bytes
    }

    /// Ends the stream. Bytes fed later start a new stream whose positions continue.
    pub fn finish(&mut self, sink: &mut impl PacketSink<Message>) {
        match self.skip {
            Some(Skip { what: Skipped::Vendor { .. }, from }) => {
                self.skip = Some(Skip { from, what: Skipped::Lost });
            }
            // Too few bytes to decide.
            Some(Skip { what: Skipped::Unsure, .. }) => self.skip = None,
            _ => {}
        }
        self.end_skip(sink);
        if self.carried > 0 {
            sink.packet(self.at, &self.carry[..self.carried], &message(Content::Incomplete));
        }
        self.at = self.position();
        self.carried = 0;
    }

    /// Handles one message or skipped bytes. Returns how many bytes it consumed; 0 if it needs more.
    #[inline]
    fn step(&mut self, bytes: &[u8], sink: &mut impl PacketSink<Message>) -> usize {
        if let Some(skip) = self.skip {
            if skip.what == Skipped::Unsure && !self.decide(bytes) {
                return 0;
            }
            if let Some(skip) = self.skip {
                return self.go_on(skip, bytes, sink);
            }
        }
        let Some(&first) = bytes.first() else { return 0 };
        let used = match Mseo::of(first) {
            _ if self.is_idle(first) => {
                self.skip = Some(Skip { from: self.at, what: Skipped::Idle });
                return self.step(bytes, sink);
            }
            Mseo::Inside => {
                let used = self.message(bytes, sink);
                if used == 0 && bytes.len() >= MAX_MESSAGE {
                    self.endless(&bytes[..MAX_MESSAGE], sink)
                } else {
                    used
                }
            }
            _ => self.malformed(&bytes[..1], Malformed::Mseo, sink),
        };
        self.at += used as u64;
        used
    }

    /// Decides whether tracing begins with these bytes. Returns whether there are enough of them.
    #[cold]
    fn decide(&mut self, bytes: &[u8]) -> bool {
        let room = &bytes[..bytes.len().min(MAX_MESSAGE)];
        let end = room.iter().position(|&byte| matches!(Mseo::of(byte), Mseo::Reserved | Mseo::Message));
        if end.is_none() && room.len() < MAX_MESSAGE {
            return false;
        }
        let end = end.filter(|&end| Mseo::of(room[end]) == Mseo::Message);
        let parsed = end.and_then(|end| packet::parse(&room[..=end], &self.params).ok());
        let is_start = match parsed.and_then(|parsed| parsed.packet) {
            Some(Packet::ProgTraceSync { sync, icnt: 0, .. }) => STARTS.contains(&sync),
            Some(Packet::Error { .. }) => true,
            _ => room.first().is_some_and(|&first| self.is_idle(first)),
        };
        self.skip = self.skip.filter(|_| !is_start).map(|skip| Skip { what: Skipped::Lost, ..skip });
        true
    }

    fn is_idle(&self, byte: u8) -> bool {
        byte == 0xff || byte == 0 && self.params.dialect == Dialect::Sifive
    }

    /// Handles the message that `bytes` begin with, which may go on after them.
    #[inline]
    fn message(&mut self, bytes: &[u8], sink: &mut impl PacketSink<Message>) -> usize {
        let room = &bytes[..bytes.len().min(MAX_MESSAGE)];
        let is_end = |&byte: &u8| matches!(Mseo::of(byte), Mseo::Reserved | Mseo::Message);
        let Some(end) = room.iter().position(is_end) else { return 0 };
        let bytes = &room[..=end];
        if Mseo::of(bytes[end]) == Mseo::Reserved {
            return self.malformed(bytes, Malformed::Mseo, sink);
        }
        match packet::parse(bytes, &self.params) {
            Ok(Parsed { source, packet: Some(packet), timestamp, .. }) => {
                sink.packet(self.at, bytes, &Message { source, timestamp, content: Content::Packet(packet) });
            }
            Ok(Parsed { tcode, source, .. }) => {
                self.other(tcode, source, bytes, bytes.len() as u64, self.at, sink);
            }
            Err(why) => sink.packet(self.at, bytes, &message(Content::Malformed(why))),
        }
        bytes.len()
    }

    fn other(
        &self,
        tcode: u8,
        source: u16,
        bytes: &[u8],
        len: u64,
        at: u64,
        sink: &mut impl PacketSink<Message>,
    ) {
        sink.packet(at, bytes, &Message { source, timestamp: None, content: Content::Other { tcode, len } });
    }

    /// Handles a message that is longer than all but those of vendors.
    #[cold]
    fn endless(&mut self, bytes: &[u8], sink: &mut impl PacketSink<Message>) -> usize {
        match packet::parse(bytes, &self.params) {
            Ok(Parsed { tcode, source, .. }) if packet::is_vendor(tcode) => {
                self.skip = Some(Skip { from: self.at, what: Skipped::Vendor { tcode, source } });
                sink.skipped(self.at, bytes);
                bytes.len()
            }
            _ => self.malformed(bytes, Malformed::Endless, sink),
        }
    }

    #[cold]
    fn malformed(&mut self, bytes: &[u8], why: Malformed, sink: &mut impl PacketSink<Message>) -> usize {
        sink.packet(self.at, bytes, &message(Content::Malformed(why)));
        // A byte that ends a message is its own end.
        if bytes.last().is_none_or(|&last| Mseo::of(last) != Mseo::Message) {
            self.skip = Some(Skip { from: self.at + bytes.len() as u64, what: Skipped::Lost });
        }
        bytes.len()
    }

    /// Skips on in `bytes`.
    #[cold]
    fn go_on(&mut self, skip: Skip, bytes: &[u8], sink: &mut impl PacketSink<Message>) -> usize {
        let is_end = |&byte: &u8| match (skip.what, Mseo::of(byte)) {
            (Skipped::Idle, _) => !self.is_idle(byte),
            (Skipped::Lost | Skipped::Unsure, mseo) => mseo == Mseo::Message,
            (Skipped::Vendor { .. }, mseo) => matches!(mseo, Mseo::Reserved | Mseo::Message),
        };
        let end = bytes.iter().position(is_end);
        // The byte that ends a message is part of it.
        let used = end.map_or(bytes.len(), |end| end + usize::from(skip.what != Skipped::Idle));
        sink.skipped(self.at, &bytes[..used]);
        self.at += used as u64;
        match end.map(|end| Mseo::of(bytes[end])) {
            Some(Mseo::Reserved) if skip.what != Skipped::Idle => {
                self.skip = Some(Skip { what: Skipped::Lost, ..skip });
            }
            Some(_) => self.end_skip(sink),
            None => {}
        }
        match used {
            // Idle bytes ended before: the next message begins here.
            0 if end.is_some() => self.step(bytes, sink),
            _ => used,
        }
    }

    /// Reports skipped bytes.
    fn end_skip(&mut self, sink: &mut impl PacketSink<Message>) {
        let Some(Skip { from, what }) = self.skip.take() else { return };
        let len = self.at - from;
        match what {
            _ if len == 0 => {}
            Skipped::Idle => sink.packet(from, &[], &message(Content::Idle { len })),
            Skipped::Lost | Skipped::Unsure => sink.packet(from, &[], &message(Content::NotSync { len })),
            Skipped::Vendor { tcode, source } => self.other(tcode, source, &[], len, from, sink),
        }
    }
}

fn message(content: Content) -> Message {
    Message { source: 0, timestamp: None, content }
}
