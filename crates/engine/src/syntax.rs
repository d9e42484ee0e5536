//! The packet level of a protocol.

use std::fmt::Debug;

use tracewright_core::Exception;
use tracewright_input as input;

use crate::line::Line;
use crate::protocol::Options;

/// The packet level of a protocol: from bytes to packets, and what packets say.
pub trait Syntax: Debug + Sized + Sync + 'static {
    /// What a source's stream is read with.
    type Params: Sync;
    /// From bytes to packets.
    type Parser: Send + Sync;
    /// A packet, or bytes that are none.
    type Packet: Clone + Send + Sync + 'static;
    /// What the words of a source's packets depend on besides its parameters.
    type Told;

    /// What reading can begin at.
    const SYNCHRONISATION: &'static str;
    /// Which packets those are, for `stats`.
    const SYNCHRONISATION_NOTE: &'static str = "";
    /// All kinds of packets, [`MOST_KINDS`] at most.
    const KINDS: &'static [Kind];
    /// Whether packets name their source, so that several sources share a stream.
    const NAMES_SOURCES: bool = false;

    /// Returns a source's parameters, if it speaks this protocol.
    fn params(protocol: &input::Protocol) -> Option<&Self::Params>;
    /// Returns a parser of the stream, whose bytes begin at stream position `position`.
    fn first(params: &Self::Params, options: &Options, position: u64) -> Self::Parser;
    /// Returns the stream position from which on bytes are still to be reported.
    fn unfinished(parser: &Self::Parser) -> u64;
    /// Parses bytes; `None` ends the stream, and what is fed afterwards is a new one whose positions go on.
    fn parse(parser: &mut Self::Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<Self>);

    /// Returns the kind of a packet, as an index of [`KINDS`](Self::KINDS).
    fn kind(packet: &Self::Packet) -> usize;
    /// Returns the number of bytes that a packet of [`Role::Skipped`] stands for.
    fn skipped(_packet: &Self::Packet) -> u64 {
        0
    }
    /// Returns the source that a packet names.
    fn source(_packet: &Self::Packet) -> Option<u16> {
        None
    }
    /// Returns whether a packet carries a timestamp beside what it says.
    fn has_timestamp(_packet: &Self::Packet) -> bool {
        false
    }
    /// Returns whether a packet only fills the line: a row of those is shown as one.
    fn is_filler(_packet: &Self::Packet) -> bool {
        false
    }
    /// Returns how many of a packet's first bytes only fill it up.
    fn padding(_bytes: &[u8]) -> usize {
        0
    }

    /// Returns what is known of a source before its first packet.
    fn told(params: &Self::Params) -> Self::Told;
    /// Takes note of a packet of the source.
    fn tell(_told: &mut Self::Told, _packet: &Self::Packet) {}
    /// Writes what a packet says.
    fn words(params: &Self::Params, told: &Self::Told, packet: &Self::Packet, line: &mut Line);
    /// Writes a packet's own fields as members of a JSON object, with a comma before each.
    fn fields(params: &Self::Params, told: &Self::Told, packet: &Self::Packet, line: &mut Line);

    /// Returns the name of an exception on the traced core.
    fn exception(_params: &Self::Params, exception: &Exception) -> String {
        exception.number.to_string()
    }
}

/// Most kinds of packets that a protocol can have.
pub const MOST_KINDS: usize = 128;

/// A kind of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What its packets are to a reader.
    pub role: Role,
}

impl Kind {
    /// Creates a kind.
    pub const fn new(name: &'static str, role: Role) -> Self {
        Self { name, role }
    }
}

/// What a packet is to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A packet like any other.
    Plain,
    /// A point at which reading can begin.
    Sync,
    /// Bytes that are no packet.
    Malformed,
    /// A packet that the stream ends in.
    Incomplete,
    /// Bytes passed over while there is no synchronisation.
    Skipped,
}

/// What takes a parser's packets.
pub trait PacketSink<T: Syntax> {
    /// Takes the packet that begins at stream position `offset`.
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &T::Packet);
    /// Takes bytes passed over, before the packet of [`Role::Skipped`] that stands for them.
    fn skipped(&mut self, _offset: u64, _bytes: &[u8]) {}
}
