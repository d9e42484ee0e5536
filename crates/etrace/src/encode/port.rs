use tracewright_core::port::{self, Stats};

use crate::Params;
use crate::packet::{self, Packet, PayloadBytes, Short};
use crate::stream::{self, Content, Message, Writer};

/// Where packets go: a buffer that empties at some rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The buffer, and how it empties. When a packet does not fit and the hart does not wait, packets are lost up to a synchronisation.
    pub port: port::Port,
    /// What packets lie in, which takes room, too.
    pub stream: stream::Config,
    /// The source's ID there.
    pub source: u16,
    /// Messages from one alignment sequence to the next, which take room, too; 0: there are none.
    pub align: u32,
}

impl Port {
    /// Bits that the buffer must hold at least, so that tracing can begin anew after a loss.
    pub fn least(&self) -> u64 {
        let full = u64::MAX >> 1;
        let context = packet::Context { privilege: 0, time: full, context: full };
        let support = packet::Support {
            ienable: true,
            encoder_mode: 0,
            qual_status: packet::QualStatus::TraceLost,
            ioptions: self.stream.options,
            resync_disabled: false,
            denable: false,
            dloss: false,
            doptions: self.stream.data,
        };
        // Alternating bits: no field is cut short.
        let start = packet::Start { taken: true, context, address: 0x5555_5555_5555_5555 };
        let packets = [Packet::Support(support), Packet::Start(start)];
        // A support packet with other options may be a byte longer.
        Writing::new(self).bits(&packets) + 8
    }
}

/// How far a reader comes with the packets that the port took: to which instruction of the entry that was taken before the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Its first.
    First,
    /// Its last.
    Last,
}

/// The port at work.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    buffer: port::Buffer,
    writing: Writing,
    pub(super) reached: Option<Reached>,
}

impl Buffer {
    pub(super) fn new(port: &Port) -> Self {
        Self { buffer: port::Buffer::new(port.port), writing: Writing::new(port), reached: None }
    }

    pub(super) fn stats(&self) -> &Stats {
        self.buffer.stats()
    }

    /// Whether these packets fit at this cycle.
    pub(super) fn has_room(&mut self, packets: &[Packet], cycle: u64) -> bool {
        let bits = self.writing.bits(packets);
        self.buffer.has_room(bits, cycle)
    }

    /// Takes a packet, if it fits or the hart waits.
    pub(super) fn take(&mut self, packet: &Packet, cycle: u64) -> bool {
        let bits = self.writing.bits(std::slice::from_ref(packet));
        let takes = self.buffer.take(bits, cycle);
        if takes {
            self.writing.write(packet);
        }
        takes
    }

    /// The buffer has all the time it needs.
    pub(super) fn flush(&mut self) {
        self.buffer.flush();
    }
}

/// How long messages are.
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

    /// What packets would take that came now.
    fn bits(&mut self, packets: &[Packet]) -> u64 {
        let writer = self.writer.clone();
        self.bytes.clear();
        packets.iter().for_each(|packet| self.write(packet));
        self.writer = writer;
        8 * self.bytes.len() as u64
    }

    fn write(&mut self, packet: &Packet) {
        // How long a message is does not depend on when it is.
        let timestamp = self.has_timestamps.then_some(0);
        let message =
            Message { source: self.source, flow: 0, timestamp, content: Content::Instruction(*packet) };
        // What cannot be written takes no room.
        let _ = self.writer.message(&message, &mut self.bytes);
    }
}

/// Bytes of a packet's payload.
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
