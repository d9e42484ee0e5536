//! The packet level of a protocol.

use std::fmt::Debug;

use tracewright_core::Exception;
use tracewright_core::stream::{PacketSink, Run};
use tracewright_input as input;

use crate::line::Line;
use crate::protocol::Options;

/// The packet level of a protocol: from bytes to packets, and from packets to text.
pub trait Syntax: Debug + Sized + Sync + 'static {
    /// Parameters that a source's stream is read with.
    type Params: Sync;
    /// Parser: bytes to packets.
    type Parser: Send + Sync;
    /// A packet, or bytes that are not a packet.
    type Packet: Clone + Send + Sync + 'static;
    /// A row of packets that some sinks take together: [`Infallible`](std::convert::Infallible) if there are none.
    type Run: Run<Self::Packet>;
    /// State that the text of a source's packets depends on, besides its parameters.
    type Told;

    /// Name of the points where reading can begin.
    const SYNCHRONISATION: &'static str;
    /// A note on which packets these are, for `stats`.
    const SYNCHRONISATION_NOTE: &'static str = "";
    /// All kinds of packets, [`MOST_KINDS`] at most.
    const KINDS: &'static [Kind];
    /// Whether packets name their source, so that several sources share a stream.
    const NAMES_SOURCES: bool = false;

    /// Returns a source's parameters, if this is its protocol.
    fn params(protocol: &input::Protocol) -> Option<&Self::Params>;
    /// Creates a parser of a stream whose bytes begin at stream position `position`.
    fn first(params: &Self::Params, options: &Options, position: u64) -> Self::Parser;
    /// Returns the stream position of the first byte that was not reported yet.
    fn unfinished(parser: &Self::Parser) -> u64;
    /// Parses bytes; `None` ends the stream. Bytes fed afterwards are a new stream whose positions continue.
    fn parse(
        parser: &mut Self::Parser,
        bytes: Option<&[u8]>,
        sink: &mut impl PacketSink<Self::Packet, Self::Run>,
    );

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
    /// Returns the source, by its number in the buffer, of a whole packet whose bytes were joined from frames; `None` if it names none.
    fn source_of(_params: &Self::Params, _bytes: &[u8]) -> Option<u16> {
        None
    }
    /// Returns whether a packet also carries a timestamp.
    fn has_timestamp(_packet: &Self::Packet) -> bool {
        false
    }
    /// Returns whether a packet reports that the trace unit lost trace.
    fn reports_loss(_packet: &Self::Packet) -> bool {
        false
    }
    /// Returns whether a packet carries no information and only keeps the line busy. A row of these is shown as one.
    fn is_filler(_packet: &Self::Packet) -> bool {
        false
    }
    /// Returns the number of padding bytes at the beginning of a packet.
    fn padding(_bytes: &[u8]) -> usize {
        0
    }

    /// Returns how a packet lies in its first and last byte.
    #[inline(always)]
    fn halves(_packet: &Self::Packet) -> Halves {
        Halves::default()
    }

    /// Returns the state of a source before its first packet.
    fn told(params: &Self::Params) -> Self::Told;
    /// Updates the state with a packet of the source.
    fn tell(_told: &mut Self::Told, _packet: &Self::Packet) {}
    /// Writes the contents of a packet as text.
    fn words(params: &Self::Params, told: &Self::Told, packet: &Self::Packet, line: &mut Line);
    /// Writes a packet's fields as members of a JSON object, with a comma before each.
    fn fields(params: &Self::Params, told: &Self::Told, packet: &Self::Packet, line: &mut Line);

    /// Returns the name by which OpenCSD's packet lister knows the protocol of a source, if it does.
    fn opencsd_protocol(_params: &Self::Params) -> Option<&'static str> {
        None
    }
    /// Writes what OpenCSD's packet lister writes after the bytes of a packet. `told` includes the packet.
    fn opencsd(_params: &Self::Params, _told: &Self::Told, _packet: &Self::Packet, _line: &mut Line) {}

    /// Appends the bytes of a packet as OpenCSD's packet lister shows them. Returns the index that it shows; `index` is that of the first
    /// byte. `skipped` is what was skipped just before in the same run of bytes.
    fn opencsd_bytes(
        _packet: &Self::Packet,
        index: u64,
        bytes: &[u8],
        _skipped: Option<&SkippedRun>,
        shown: &mut Vec<u8>,
    ) -> u64 {
        shown.extend(bytes);
        index
    }

    /// How OpenCSD's packet lister cuts skipped bytes into lines.
    const OPENCSD_SKIPS: Skips = Skips::Eights;

    /// What OpenCSD's packet lister writes after skipped bytes.
    const OPENCSD_SKIPPED: &'static str = "";

    /// Returns the name of an exception on the traced core.
    fn exception(_params: &Self::Params, exception: &Exception) -> String {
        exception.number.to_string()
    }
}

/// How OpenCSD's packet lister cuts skipped bytes into lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skips {
    /// After eight bytes, and before a zero, with which an A-Sync might start; but not within zeros, nor at the byte that ends them.
    Eights,
    /// After each run of bytes between two others in frames, and after 16 bytes.
    Runs,
    /// After each run of bytes between two others in frames, after eight bytes, and before a zero. Zeros go on in the next run, and belong
    /// to the packet that follows them. The lines of a run have its index, or that of its last zero.
    EightsAndRuns,
    /// Like [`Runs`](Self::Runs), but also before a zero, with which an A-Sync might start, and not within zeros.
    RunsAndZeros,
}

/// Bytes that were skipped, of one source without others between them in a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkippedRun {
    /// OpenCSD's index of the first one.
    pub index: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Number of nibbles 0xf at the end of the bytes that were skipped before.
    pub ones_before: u64,
}

impl SkippedRun {
    /// Returns the number of nibbles 0xf at the end, those before included if there are no others.
    pub fn ones(&self) -> u64 {
        let nibbles = self.bytes.iter().rev().flat_map(|byte| [byte >> 4, byte & 0xf]);
        let ones = nibbles.take_while(|&nibble| nibble == 0xf).count();
        ones as u64 + if ones == 2 * self.bytes.len() { self.ones_before } else { 0 }
    }
}

/// How a packet lies in its first and last byte, where packets may begin and end in the middle of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Halves {
    /// Whether it begins with the high half of its first byte, which counts for the packet before.
    pub begins_inside: bool,
    /// Whether it ends with the low half of its last byte.
    pub ends_inside: bool,
}

/// Most kinds of packets that a protocol can have.
pub const MOST_KINDS: usize = 128;

/// A kind of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Role of its packets.
    pub role: Role,
}

impl Kind {
    /// Creates a kind.
    pub const fn new(name: &'static str, role: Role) -> Self {
        Self { name, role }
    }
}

/// Role of a packet for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An ordinary packet.
    Plain,
    /// A point at which reading can begin.
    Sync,
    /// Bytes that are not a packet.
    Malformed,
    /// An unfinished packet at the end of the stream.
    Incomplete,
    /// Bytes skipped while there is no synchronisation.
    Skipped,
}

/// Makes the table of kinds of an enum that [`packet_kinds`](tracewright_core::stream::packet_kinds) declares.
macro_rules! kinds {
    ($kind:ty) => {
        &{
            let mut kinds = [$crate::syntax::Kind::new("", $crate::syntax::Role::Plain); <$kind>::COUNT];
            let mut index = 0;
            while index < kinds.len() {
                let kind = <$kind>::ALL[index];
                let role = match kind {
                    <$kind>::Async => $crate::syntax::Role::Sync,
                    <$kind>::NotSync => $crate::syntax::Role::Skipped,
                    <$kind>::Incomplete => $crate::syntax::Role::Incomplete,
                    _ if kind.is_error() => $crate::syntax::Role::Malformed,
                    _ => $crate::syntax::Role::Plain,
                };
                kinds[index] = $crate::syntax::Kind::new(kind.name(), role);
                index += 1;
            }
            kinds
        }
    };
}
pub(crate) use kinds;
