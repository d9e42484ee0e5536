//! STM as a protocol of the engine. Segments begin at ASYNCs.
//!
//! Packets may begin and end in the middle of a byte. A byte counts for the packet that has its low half.

use std::convert::Infallible;
use std::fmt::Write as _;

use tracewright_core::Element;
use tracewright_core::stream::{PacketSink, Resync};
use tracewright_coresight::stm::Params;
use tracewright_coresight::stm::decode::{self, Snapshot};
use tracewright_coresight::stm::packet::{self, Kind, ONES, Packet, Parser, Span, StmSink};
use tracewright_flow::ElementSink;
use tracewright_image::{Image, Moment};

use super::module::{self, Mark, Module};
use crate::line::Line;
use crate::place::INSIDE;
use crate::problem::CannotDecode;
use crate::protocol::{self, Options, same_methods};
use crate::syntax::{Halves, SkippedRun, Skips, kinds};

/// STM.
#[derive(Debug)]
pub struct Stm;

/// A packet, and how it lies in its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The packet.
    pub packet: Packet,
    /// Its nibbles.
    pub span: Span,
    /// Kind of the packet before.
    previous: Option<Kind>,
}

/// A parser, and what OpenCSD's listing shows of the packet before.
#[derive(Debug)]
pub struct PlacingParser {
    parser: Parser,
    previous: Option<Kind>,
}

/// A parser's sink that passes packets on.
struct Through<'s, S> {
    sink: &'s mut S,
    previous: &'s mut Option<Kind>,
}

impl<S: PacketSink<Placed>> StmSink for Through<'_, S> {
    #[inline(always)]
    fn packet(&mut self, span: Span, bytes: &[u8], packet: &Packet) {
        let placed = Placed { packet: *packet, span, previous: *self.previous };
        *self.previous = Some(packet.kind());
        // Half a byte that was skipped is part of the byte before.
        if matches!(packet, Packet::NotSync { .. }) && span.own_bytes() == 0 {
            return;
        }
        self.sink.packet(span.offset(), bytes, &placed);
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        self.sink.skipped(offset, bytes);
    }
}

impl module::PacketParser for PlacingParser {
    type Params = Params;
    type Packet = Placed;
    type Run = Infallible;

    fn starting_at(_: Params, position: u64, _: Resync) -> Self {
        Self { parser: Parser::starting_at(position), previous: None }
    }

    fn position(&self) -> u64 {
        self.parser.position()
    }

    fn unfinished(&self) -> u64 {
        self.parser.unfinished()
    }

    #[inline(always)]
    fn feed(&mut self, bytes: &[u8], sink: &mut impl PacketSink<Placed>) {
        self.parser.feed(bytes, &mut Through { sink, previous: &mut self.previous });
    }

    fn finish(&mut self, sink: &mut impl PacketSink<Placed>) {
        self.parser.finish(&mut Through { sink, previous: &mut self.previous });
        self.previous = None;
    }
}

impl Module for Stm {
    type Params = Params;
    type Packet = Placed;
    type Run = Infallible;
    type Parser = PlacingParser;
    type Decoder<'i> = decode::Decoder<'i>;
    type Handover = Handover;

    const SYNCHRONISATION: &'static str = "ASYNC";
    const KINDS: &'static [crate::syntax::Kind] = kinds!(Kind);
    const OPENCSD_SKIPS: Skips = Skips::Runs;
    const OPENCSD_SKIPPED: &'static str = "NOTSYNC:STM not synchronised";
    const WINDOW: usize = 1 << 10;

    #[inline(always)]
    fn kind(placed: &Placed) -> usize {
        placed.packet.kind() as usize
    }

    #[inline(always)]
    fn mark(placed: &Placed) -> Mark {
        match placed.packet {
            Packet::Async { .. } => Mark::Sync,
            Packet::NotSync { .. } => Mark::NotSync(placed.span.own_bytes()),
            Packet::Incomplete { .. } => Mark::Incomplete,
            _ => Mark::None,
        }
    }

    #[inline(always)]
    fn reports_loss(placed: &Placed) -> bool {
        matches!(placed.packet, Packet::MasterError(_) | Packet::GlobalError(_))
    }

    fn is_filler(placed: &Placed) -> bool {
        placed.packet == Packet::Null { timestamp: None }
    }

    #[inline(always)]
    fn halves(placed: &Placed) -> Halves {
        Halves { begins_inside: placed.span.begins_inside(), ends_inside: placed.span.ends_inside() }
    }

    fn words(_: &Params, placed: &Placed, line: &mut Line) {
        line.text(placed.packet.kind().name()).text(": ");
        let before = line.bytes().len();
        // Writing to a line does not fail.
        let _ = write!(line, "{}", placed.packet.details());
        if line.bytes().len() == before {
            line.truncate(before - 2);
        }
    }

    fn fields(_: &Params, placed: &Placed, line: &mut Line) {
        line.text(if placed.span.begins_inside() { r#","half":1"# } else { r#","half":0"# });
        let _ = fields(line, placed);
    }

    fn opencsd_protocol(_: &Params) -> Option<&'static str> {
        Some("STM")
    }

    fn opencsd(_: &Params, placed: &Placed, line: &mut Line) {
        let _ = packet::opencsd::write(line, &placed.packet, placed.previous);
    }

    /// OpenCSD shows the nibble that it has read too much before the bytes of a packet: the low half of the first byte is 0. An ASYNC that
    /// it has searched for has bytes of its own making; if others were skipped just before, the nibble after it comes first. It begins
    /// with the first of all ones in a row, and ones at the end of the run before count like nibbles of this one.
    fn opencsd_bytes(
        placed: &Placed,
        index: u64,
        bytes: &[u8],
        skipped: Option<&SkippedRun>,
        shown: &mut Vec<u8>,
    ) -> u64 {
        let Placed { packet, span, previous } = *placed;
        let is_searched = previous.is_none_or(Kind::is_error);
        if !is_searched || !matches!(packet, Packet::Async { .. }) {
            shown.extend(bytes);
            if span.begins_inside() {
                shown[0] &= 0xf0;
                return index + 1;
            }
            return index;
        }
        let mut index = index;
        if let Some(skipped) = skipped {
            if span.ends_inside() {
                shown.extend(bytes.last().map(|last| last & 0xf0));
            }
            // The high half of the last byte belongs to the ASYNC if that begins there.
            let ones = skipped.ones() - u64::from(span.begins_inside());
            let nibbles = 2 * skipped.bytes.len() as u64 - u64::from(span.begins_inside());
            if let Some(first) = nibbles.checked_sub(ones) {
                index = skipped.index + (first + skipped.ones_before) / 2;
            }
        }
        shown.extend([0xff; ONES as usize / 2]);
        shown.push(0x0f);
        index
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        Ok(decode::Decoder::new(params, image, decode::Options { like_opencsd: options.like_opencsd }))
    }

    fn find(bytes: &[u8], from: usize) -> Option<usize> {
        packet::find(bytes, from)
    }

    fn handover(start: u64) -> Handover {
        Handover { start, synchronised: false, version: false, timestamp: false }
    }
}

/// Writes a packet's own fields. Values and timestamps are hexadecimal strings.
fn fields(line: &mut Line, placed: &Placed) -> std::fmt::Result {
    match placed.packet {
        Packet::Version(encoding) => write!(line, r#","version":{}"#, encoding.version())?,
        Packet::Master { number, .. } => write!(line, r#","master":{number}"#)?,
        Packet::Channel { number, .. } => write!(line, r#","channel":{number}"#)?,
        Packet::Data { size, value, marked, .. } => {
            write!(line, r#","bits":{},"value":"{value:#x}","marked":{marked}"#, size.bits())?;
        }
        Packet::User { nibbles, value, .. } => {
            write!(line, r#","bits":{},"value":"{value:#x}""#, 4 * nibbles)?;
        }
        Packet::Trigger { value, .. } | Packet::CrossSync { value, .. } => {
            write!(line, r#","value":"{value:#x}""#)?;
        }
        Packet::MasterError(code) | Packet::GlobalError(code) => write!(line, r#","code":{code}"#)?,
        Packet::Frequency { hertz, .. } => write!(line, r#","hertz":{hertz}"#)?,
        Packet::NotSync { .. } => write!(line, r#","bytes":{}"#, placed.span.own_bytes())?,
        Packet::Malformed { kind } | Packet::Incomplete { kind: Some(kind) } => {
            write!(line, r#","of":"{}""#, kind.name())?;
        }
        Packet::Async { .. } | Packet::Null { .. } | Packet::Flag { .. } => {}
        Packet::Reserved { .. } | Packet::Incomplete { kind: None } => {}
    }
    match placed.packet.timestamp() {
        Some(timestamp) => write!(line, r#","timestamp":"{:#x}""#, timestamp.value),
        None => Ok(()),
    }
}

impl<'i> protocol::Decoder<'i> for decode::Decoder<'i> {
    type Snapshot = Snapshot;

    same_methods!(decode::Decoder<'i>, decode::Decoder<'i>);

    fn image(&self) -> &'i Image {
        self.image()
    }

    fn resume(&mut self, offset: u64, moment: Moment) {
        self.resume(offset, moment);
    }

    fn end_of_listing(&self) -> Option<u64> {
        self.last().map(|span| listed(span, self.options()))
    }
}

/// Returns the position of a packet. For OpenCSD a packet that begins inside a byte begins at the next one.
fn listed(span: Span, options: &decode::Options) -> u64 {
    span.offset() | if options.like_opencsd && span.begins_inside() { INSIDE } else { 0 }
}

impl<'i> module::Decoder<'i> for decode::Decoder<'i> {
    type Packet = Placed;
    type Run = Infallible;

    #[inline(always)]
    fn packet(&mut self, _: u64, placed: &Placed, sink: &mut impl ElementSink) {
        let inside = listed(placed.span, self.options()) & INSIDE;
        self.packet(placed.span, &placed.packet, &mut |at: u64, element: &Element| {
            sink.element(at | inside, element);
        });
    }

    fn run(&mut self, _: u64, run: Infallible, _: &mut impl ElementSink) {
        match run {}
    }

    fn skipping(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.skipping(offset, sink);
    }

    fn restart(&mut self, position: u64) {
        self.restart(position);
    }
}

/// Watches for the point after an ASYNC where a decoder knows everything: after a VERSION, and a timestamp of which all bits were told, if
/// the source sends timestamps. The packet there ends with a byte.
#[derive(Debug)]
pub struct Handover {
    /// Stream position of the ASYNC.
    start: u64,
    synchronised: bool,
    version: bool,
    timestamp: bool,
}

impl module::Handover<Stm> for Handover {
    fn is_now(&mut self, offset: u64, placed: &Placed, decoder: &decode::Decoder<'_>) -> bool {
        match placed.packet {
            Packet::Async { .. } if offset >= self.start => self.synchronised = true,
            _ if !self.synchronised => {}
            Packet::Version(_) => self.version = true,
            packet => self.timestamp |= packet.timestamp().is_some_and(|timestamp| timestamp.told >= 48),
        }
        let has_time = self.timestamp || !decoder.params().timestamps();
        self.version && has_time && !placed.span.ends_inside()
    }
}
