//! Packets from a byte stream.

use tracewright_core::stream::PacketSink;

use super::Item;
use crate::Params;
use crate::packet::{self, MAX_PACKET, Malformed, Packet, SyncKind, Unread};

/// Parser from bytes, in any chunking, to packets.
///
/// A stream starts with a synchronisation packet that says so, and may start again after the one that ends it. After bytes that are not a
/// packet all others are skipped: nothing tells where packets begin.
///
/// Its [`Params`] must pass [`Params::check`].
#[derive(Clone, Debug)]
pub struct Parser {
    params: Params,
    /// Stream position of the first unread byte.
    at: u64,
    /// Fed bytes from that position on: the start of a packet.
    carry: [u8; MAX_PACKET],
    carried: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next packet must start the stream.
    Start,
    Inside,
    /// Bytes from this stream position on are skipped.
    Lost(u64),
}

impl Parser {
    /// Creates a parser at stream position 0, where a stream starts.
    pub fn new(params: Params) -> Self {
        Self::starting_at(params, 0)
    }

    /// Creates a parser at stream position `position`, where a stream starts.
    pub fn starting_at(params: Params, position: u64) -> Self {
        Self { params, at: position, carry: [0; MAX_PACKET], carried: 0, state: State::Start }
    }

    /// Returns the parameters of the encoder.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the stream position of the next byte to feed.
    pub fn position(&self) -> u64 {
        self.at + self.carried as u64
    }

    /// Returns the stream position of the first unreported byte: the start of an unfinished packet, or of bytes that are skipped.
    pub fn unfinished(&self) -> u64 {
        if let State::Lost(from) = self.state { from } else { self.at }
    }

    /// Reads the next bytes of the stream.
    #[inline]
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut impl PacketSink<Item>) {
        while self.carried > 0 && !bytes.is_empty() {
            let before = self.carried;
            let more = bytes.len().min(MAX_PACKET - before);
            self.carry[before..before + more].copy_from_slice(&bytes[..more]);
            self.carried = 0;
            let carry = self.carry;
            let used = self.step(&carry[..before + more], sink);
            if used == 0 {
                self.carried = before + more;
            }
            // Bytes that were carried were not the end of a packet.
            bytes = &bytes[if used == 0 { more } else { used - before }..];
        }
        loop {
            if self.state == State::Inside {
                bytes = self.short_packets(bytes, sink);
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

    /// Reads packets while they are one byte. Returns the other bytes.
    #[inline(always)]
    fn short_packets<'b>(&mut self, bytes: &'b [u8], sink: &mut impl PacketSink<Item>) -> &'b [u8] {
        let (mode, from) = (self.params.mode, self.at);
        for (index, byte) in bytes.iter().enumerate() {
            let Some(packet) = packet::read_short(*byte, mode) else {
                self.at = from + index as u64;
                return &bytes[index..];
            };
            sink.packet(from + index as u64, &bytes[index..=index], &Item::Packet(packet));
        }
        self.at = from + bytes.len() as u64;
        &[]
    }

    /// Ends the stream. Bytes fed later start a new stream whose positions continue.
    pub fn finish(&mut self, sink: &mut impl PacketSink<Item>) {
        match self.state {
            State::Lost(from) if self.at > from => {
                sink.packet(from, &[], &Item::NotSync { len: self.at - from });
            }
            _ if self.carried > 0 => sink.packet(self.at, &self.carry[..self.carried], &Item::Incomplete),
            _ => {}
        }
        self.at = self.position();
        (self.carried, self.state) = (0, State::Start);
    }

    /// Handles one packet or skipped bytes. Returns how many bytes it consumed; 0 if it needs more.
    #[inline(never)]
    fn step(&mut self, bytes: &[u8], sink: &mut impl PacketSink<Item>) -> usize {
        let used = match self.state {
            _ if bytes.is_empty() => 0,
            State::Lost(_) => {
                sink.skipped(self.at, bytes);
                bytes.len()
            }
            State::Start | State::Inside => self.packet(bytes, sink),
        };
        self.at += used as u64;
        used
    }

    fn packet(&mut self, bytes: &[u8], sink: &mut impl PacketSink<Item>) -> usize {
        if self.state == State::Start && bytes[0] != START {
            return self.malformed(&bytes[..1], Malformed::NoStart, sink);
        }
        match packet::read(bytes, &self.params) {
            Ok((packet, len)) => {
                let is_end = matches!(packet, Packet::Sync { kind: SyncKind::End, .. });
                self.state = if is_end { State::Start } else { State::Inside };
                sink.packet(self.at, &bytes[..len], &Item::Packet(packet));
                len
            }
            Err(Unread::More) => 0,
            Err(Unread::Malformed(why, len)) => self.malformed(&bytes[..len], why, sink),
        }
    }

    #[cold]
    fn malformed(&mut self, bytes: &[u8], why: Malformed, sink: &mut impl PacketSink<Item>) -> usize {
        sink.packet(self.at, bytes, &Item::Malformed(why));
        self.state = State::Lost(self.at + bytes.len() as u64);
        bytes.len()
    }
}

/// First byte of the packet that starts a stream.
const START: u8 = (SyncKind::Start as u8) << 5 | 5 << 2 | 0b10;
