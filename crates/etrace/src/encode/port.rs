use tracewright_core::port;

use crate::Params;
use crate::packet::{self, Packet, PayloadBytes, Short};
use crate::stream::{self, Content, Message, Writer};

/// Port that packets leave through: a buffer that drains at a limited rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Buffer and drain rate. If a packet does not fit and the hart does not wait, packets are lost until a
    /// synchronisation.
    pub port: port::Port,
    /// Stream settings, because the encapsulation takes room too.
    pub stream: stream::Config,
    /// Source ID in the stream.
    pub source: u16,
    /// Number of messages between alignment sequences, which take room too; 0 for none.
    pub align: u32,
}

impl Port {
    /// Returns the least capacity in bits with which tracing can restart after a loss.
    pub fn least(&self) -> u64 {
        let full = u64::MAX >> 1;
        let context = packet::Context { privilege: 0, time: full, context: full };
        let support = packet::Support {
            ienable: true,
            qual_status: packet::QualStatus::TraceLost,
            ioptions: self.stream.options,
            doptions: self.stream.data,
            ..packet::Support::default()
        };
        // Alternating bits, so that no field is compressed.
        let start = packet::Start { taken: true, context, address: 0x5555_5555_5555_5555 };
        let packets = [Packet::Support(support), Packet::Start(start)];
        // A support packet with other options may be a byte longer.
        Writing::new(self).bits(&packets) + 8
    }
}

/// Last instruction that a reader can reach with the packets that the port accepted, within the entry before
/// the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// First instruction of the entry.
    First,
    /// Last instruction of the entry.
    Last,
}

/// State of a port.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pub(super) buffer: port::Buffer,
    writing: Writing,
    pub(super) reached: Option<Reached>,
}

impl Buffer {
    pub(super) fn new(port: &Port) -> Self {
        Self { buffer: port::Buffer::new(port.port), writing: Writing::new(port), reached: None }
    }

    /// Returns whether these packets fit at this cycle.
    pub(super) fn has_room(&mut self, packets: &[Packet], cycle: u64) -> bool {
        let bits = self.writing.bits(packets);
        self.buffer.has_room(bits, cycle)
    }

    /// Sends a packet if it fits or the hart waits. Returns whether it was sent.
    pub(super) fn take(&mut self, packet: &Packet, cycle: u64) -> bool {
        let bits = self.writing.bits(std::slice::from_ref(packet));
        let takes = self.buffer.take(bits, cycle);
        if takes {
            self.writing.write(packet);
        }
        takes
    }
}

/// Writer that measures the length of messages.
#[derive(Clone, Debug)]
struct Writing {
    writer: Writer,
    source: u16,
    has_timestamps: bool,
    bytes: Vec<u8>,
}

impl Writing {
    fn new(port: &Port) -> Self {
        Self {
            writer: Writer::new(port.stream.clone()).with_alignment(port.align),
            source: port.source,
            has_timestamps: port.stream.encapsulation.has_timestamps(),
            bytes: Vec::new(),
        }
    }

    /// Returns the length in bits of these packets if they were sent now.
    fn bits(&mut self, packets: &[Packet]) -> u64 {
        let writer = self.writer.clone();
        self.bytes.clear();
        packets.iter().for_each(|packet| self.write(packet));
        self.writer = writer;
        8 * self.bytes.len() as u64
    }

    fn write(&mut self, packet: &Packet) {
        // The value of a timestamp does not change its length.
        let timestamp = self.has_timestamps.then_some(0);
        let message =
            Message { source: self.source, flow: 0, timestamp, content: Content::Instruction(*packet) };
        // A packet that cannot be written takes no room.
        let _ = self.writer.message(&message, &mut self.bytes);
    }
}

/// Returns the length of a packet's payload in bytes.
pub(super) fn payload_len(packet: &Packet, params: &Params) -> usize {
    if let Some(short) = Short::of(packet, params, 0, 0) {
        return short.bytes(1).1;
    }
    let mut payload = PayloadBytes::default();
    match packet::emit(packet, params, &mut payload) {
        Ok(()) => payload.len(),
        Err(_) => 0,
    }
}
