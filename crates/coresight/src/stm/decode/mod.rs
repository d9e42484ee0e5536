//! Packets to elements.
//!
//! Each packet with a value or a mark is a [`Message`], after the timestamp that it carries. USER and XSYNC, which an Arm STM never
//! sends, are no elements.

pub mod opencsd;
#[cfg(test)]
pub(super) mod tests;

use tracewright_core::{Element, GapReason, MemorySpace, Message, Report, Reported, Write};
use tracewright_flow::{ElementSink, Graph};
use tracewright_image::{Image, Moment};

use super::Params;
use super::packet::{Packet, Span, State};
use crate::shared::hold::Hold;

/// Options of decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Emits what OpenCSD's decoder does: a master is known from the first M8 on, not from VERSION on, and not after GERR; a timestamp
    /// without a value is followed by an empty write.
    pub like_opencsd: bool,
}

/// A decoder of STM: packets in, in the order of the stream, elements out.
///
/// Nothing here follows a program. The image is for what names addresses.
#[derive(Clone, Debug)]
pub struct Decoder<'i> {
    params: Params,
    options: Options,
    graph: Graph<'i>,
    stream: Snapshot,
    last: Option<Span>,
}

/// The state of a [`Decoder`]. Decoders in equal states emit the same elements for the same packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    hold: Hold,
    /// What packets have set.
    state: State,
    /// Whether the master is known.
    knows_master: bool,
}

impl Snapshot {
    fn lost(reason: GapReason, from: u64) -> Self {
        Self { hold: Hold::lost(reason, from), state: State::default(), knows_master: false }
    }
}

impl<'i> Decoder<'i> {
    /// Creates a decoder of a source's packets.
    pub fn new(params: &Params, image: &'i Image, options: Options) -> Self {
        let (params, graph) = (params.clone(), Graph::new(image, false));
        Self { params, options, graph, stream: Snapshot::lost(GapReason::Start, 0), last: None }
    }

    /// Continues at stream position `offset`.
    pub fn resume(&mut self, offset: u64, _moment: Moment) {
        self.stream.hold.resume(offset);
    }

    /// Returns the parameters of the source.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the program.
    pub fn image(&self) -> &'i Image {
        self.graph.image()
    }

    /// Returns the graph of the program, which stays empty.
    pub fn graph_mut(&mut self) -> &mut Graph<'i> {
        &mut self.graph
    }

    /// Returns the memory space of addresses.
    pub fn space(&self) -> MemorySpace {
        MemorySpace::ANY
    }

    /// Returns the stream position at which the current gap began, if there is one.
    #[inline]
    pub fn gap_start(&self) -> Option<u64> {
        self.stream.hold.gap_start()
    }

    /// Returns the nibbles of the last packet.
    pub fn last(&self) -> Option<Span> {
        self.last
    }

    /// Returns the stream position of the last packet.
    pub fn last_offset(&self) -> Option<u64> {
        self.last.map(|span| span.offset())
    }

    /// Returns the state that determines how later packets are decoded.
    pub fn snapshot(&self) -> Snapshot {
        self.stream
    }

    /// Resets the decoder at stream position `offset`.
    pub fn restart(&mut self, offset: u64) {
        self.stream = Snapshot::lost(GapReason::Start, offset);
        self.last = None;
    }

    /// Reports that the parser skips bytes from stream position `offset` on in search of an ASYNC.
    pub fn skipping(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.stream.hold.tell(offset, sink);
    }

    /// Ends the stream at stream position `offset`.
    pub fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.stream.hold.close(offset, sink);
        sink.element(offset, &Element::End);
        self.restart(offset);
    }

    /// Reports that what follows does not continue what came before. Decoding resumes at the next ASYNC.
    pub fn interrupt(&mut self, offset: u64, _sink: &mut impl ElementSink) {
        if self.stream.hold.is_held() {
            self.lose(offset, GapReason::Interrupted);
        }
    }

    fn lose(&mut self, from: u64, reason: GapReason) {
        self.stream = Snapshot::lost(reason, from);
    }

    /// Decodes a packet.
    #[inline]
    pub fn packet(&mut self, span: Span, packet: &Packet, sink: &mut impl ElementSink) {
        let offset = span.offset();
        self.last = Some(span);
        if !self.stream.hold.is_held() {
            self.stream.hold.tell(offset, sink);
            if !matches!(packet, Packet::Async { .. }) {
                return;
            }
            self.stream.hold.take(offset, sink);
        }
        self.stream.state.apply(packet);
        if let Some(timestamp) = packet.timestamp() {
            sink.element(offset, &Element::Timestamp { value: timestamp.value, cycles: None });
        }
        match *packet {
            Packet::Data { size, value, marked, .. } => {
                self.write(offset, size.bits(), value, marked, false, sink);
            }
            Packet::Flag { .. } => self.write(offset, 0, 0, true, false, sink),
            Packet::Trigger { value, .. } => self.write(offset, 8, value.into(), false, true, sink),
            Packet::Null { timestamp: Some(_) } if self.options.like_opencsd => {
                self.write(offset, 0, 0, false, false, sink);
            }
            Packet::Frequency { hertz, .. } => self.report(offset, Reported::Frequency(hertz), sink),
            Packet::MasterError(code) => self.report(offset, Reported::MasterError(code), sink),
            Packet::GlobalError(code) => {
                self.stream.knows_master = !self.options.like_opencsd;
                self.report(offset, Reported::GlobalError(code), sink);
            }
            Packet::Version(_) => self.stream.knows_master |= !self.options.like_opencsd,
            Packet::Master { .. } => self.stream.knows_master = true,
            Packet::Reserved { .. } | Packet::Malformed { .. } => {
                self.lose(offset, GapReason::BadPacket);
                self.stream.hold.tell(offset, sink);
            }
            Packet::Async { .. } | Packet::Null { .. } | Packet::Channel { .. } | Packet::User { .. } => {}
            Packet::CrossSync { .. } | Packet::NotSync { .. } | Packet::Incomplete { .. } => {}
        }
    }

    fn master(&self) -> Option<u16> {
        self.stream.knows_master.then_some(self.stream.state.master)
    }

    #[inline]
    fn write(
        &self,
        offset: u64,
        bits: u8,
        value: u64,
        marked: bool,
        trigger: bool,
        sink: &mut impl ElementSink,
    ) {
        let (master, channel) = (self.master(), self.stream.state.channel.into());
        let write = Write { master, channel, bits, value, marked, trigger };
        sink.element(offset, &Element::Message(Message::Write(write)));
    }

    fn report(&self, offset: u64, what: Reported, sink: &mut impl ElementSink) {
        let (master, channel) = (self.master(), self.stream.state.channel.into());
        sink.element(offset, &Element::Message(Message::Report(Report { master, channel, what })));
    }
}
