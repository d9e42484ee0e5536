use tracewright_core::{Element, GapReason, MemorySpace, Message, Write};
use tracewright_flow::{ElementSink, Graph};
use tracewright_image::{Image, Moment};

use crate::itm::Params;
use crate::itm::hardware::Hardware;
use crate::itm::packet::Packet;
use crate::shared::hold::Hold;

/// Number of bits of a global timestamp in [`Packet::GlobalLow`].
const LOW_BITS: u8 = 26;

/// Options of decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Leaves packets of the DWT as they are ([`Message::Hardware`]), and does not tell of lost packets twice.
    pub like_opencsd: bool,
}

/// A decoder of an ITM: packets in, in the order of the stream, elements out.
///
/// Nothing here follows a program. The image is for what names addresses.
#[derive(Clone, Debug)]
pub struct Decoder<'i> {
    params: Params,
    options: Options,
    graph: Graph<'i>,
    stream: Snapshot,
    last_offset: Option<u64>,
}

/// The state of a [`Decoder`]. Decoders in equal states emit the same elements for the same packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    hold: Hold,
    /// Last global timestamp, as far as it is known.
    global: u64,
    /// Whether its upper bits are known.
    has_upper: bool,
}

impl Snapshot {
    const fn new(hold: Hold) -> Self {
        Self { hold, global: 0, has_upper: false }
    }
}

impl<'i> Decoder<'i> {
    /// Creates a decoder of a source's packets.
    pub fn new(params: &Params, image: &'i Image, options: Options) -> Self {
        let mut decoder = Self {
            params: params.clone(),
            options,
            graph: Graph::new(image, false),
            stream: Snapshot::new(Hold::Held),
            last_offset: None,
        };
        decoder.restart(0);
        decoder
    }

    /// Continues at stream position `offset`.
    pub const fn resume(&mut self, offset: u64, _moment: Moment) {
        self.stream.hold.resume(offset);
    }

    /// Returns the parameters of the source.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the program.
    pub fn image(&self) -> &'i Image {
        self.graph.image()
    }

    /// Returns the graph of the program, which stays empty.
    pub const fn graph_mut(&mut self) -> &mut Graph<'i> {
        &mut self.graph
    }

    /// Returns the memory space of addresses.
    pub const fn space(&self) -> MemorySpace {
        MemorySpace::ANY
    }

    /// Returns the stream position at which the current gap began, if there is one.
    #[inline]
    pub const fn gap_start(&self) -> Option<u64> {
        self.stream.hold.gap_start()
    }

    /// Returns the stream position of the last packet.
    pub const fn last_offset(&self) -> Option<u64> {
        self.last_offset
    }

    /// Returns the state that determines how later packets are decoded.
    pub const fn snapshot(&self) -> Snapshot {
        self.stream
    }

    /// Resets the decoder at stream position `offset`.
    pub const fn restart(&mut self, offset: u64) {
        self.lost(offset, GapReason::Start);
        self.last_offset = None;
    }

    /// Reports that the parser skips bytes from stream position `offset` on in search of a synchronisation packet.
    pub fn skipping(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.stream.hold.tell(offset, sink);
    }

    /// Ends the stream at stream position `offset`.
    pub fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.stream.hold.close(offset, sink);
        sink.element(offset, &Element::End);
        self.restart(offset);
    }

    /// Reports that what follows does not continue what came before.
    pub fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if !self.stream.hold.is_held() {
            return;
        }
        if self.params.starts_aligned() {
            sink.element(offset, &Element::Lost(GapReason::Interrupted));
        }
        self.lost(offset, GapReason::Interrupted);
    }

    /// Loses what is known of the stream at stream position `from`, and hold of it unless each byte can be a header.
    const fn lost(&mut self, from: u64, reason: GapReason) {
        let hold = if self.params.starts_aligned() { Hold::Held } else { Hold::lost(reason, from) };
        self.stream = Snapshot::new(hold);
    }

    /// Decodes the packet that began at stream position `offset`.
    #[inline(always)]
    pub fn packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        self.last_offset = Some(offset);
        if !self.stream.hold.is_held() {
            return self.waiting(offset, packet, sink);
        }
        match *packet {
            Packet::Stimulus { port, size, value } => {
                let value =
                    Write { channel: port.into(), bits: 8 * size, value: value.into(), ..Write::default() };
                sink.element(offset, &Element::Message(Message::Write(value)));
            }
            Packet::Hardware(hardware) => {
                let Hardware { source, size, value } = hardware;
                let message = match self.options.like_opencsd {
                    true => Message::Hardware { source, size, value },
                    false => hardware.message(),
                };
                sink.element(offset, &Element::Message(message));
            }
            Packet::LocalTimestamp { value, delay, .. } => {
                let cycles = u64::from(value) * u64::from(self.params.prescale());
                sink.element(offset, &Element::LocalTime { cycles, delay });
            }
            _ => self.other(offset, packet, sink),
        }
    }

    #[inline(never)]
    fn waiting(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        self.stream.hold.tell(offset, sink);
        if *packet == Packet::Async {
            self.stream.hold.take(offset, sink);
        }
    }

    #[inline(never)]
    fn other(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        match *packet {
            Packet::GlobalLow { value, wrapped, bytes, .. } => {
                let bits = if bytes == 4 { LOW_BITS } else { 7 * bytes };
                let mask = (1 << bits) - 1;
                self.stream.global = self.stream.global & !mask | u64::from(value) & mask;
                self.stream.has_upper &= !wrapped;
                self.global(offset, sink);
            }
            Packet::GlobalHigh { value, .. } => {
                let mask = (1 << LOW_BITS) - 1;
                self.stream.global = self.stream.global & mask | value << LOW_BITS;
                self.stream.has_upper = true;
                self.global(offset, sink);
            }
            Packet::Overflow => {
                if !self.options.like_opencsd {
                    sink.element(offset, &Element::Lost(GapReason::Overflow));
                }
                let gap = Element::Gap { reason: GapReason::Overflow, from: offset, to: offset + 1 };
                sink.element(offset, &gap);
            }
            Packet::Reserved { .. } | Packet::Malformed { .. } => {
                self.lost(offset, GapReason::BadPacket);
                if self.stream.hold.is_held() {
                    sink.element(offset, &Element::Lost(GapReason::BadPacket));
                }
                self.stream.hold.tell(offset, sink);
            }
            _ => {}
        }
    }

    /// Emits the global timestamp, if all of it is known.
    fn global(&self, offset: u64, sink: &mut impl ElementSink) {
        if self.stream.has_upper {
            sink.element(offset, &Element::Timestamp { value: self.stream.global, cycles: None });
        }
    }
}
