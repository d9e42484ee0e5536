//! Encoding of messages: the reverse of decoding.
//!
//! An [`Encoder`] accepts [`Element`]s in order, as a decoder emits them, and appends bytes as an STM could send them. Masters and
//! channels are sent where they change. A timestamp goes with the message after it.

use core::num::NonZero;

use tracewright_core::{Element, Message, Report, Reported, Write};

use super::packet::{Encoding, Nibbles, ONES, Packet, Size, State, Timestamp};

/// The choices that the protocol leaves to an STM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes after which ASYNC and VERSION come. `None`: only at the start.
    pub sync_every: Option<NonZero<u32>>,
    /// Encoding of timestamps.
    pub encoding: Encoding,
}

impl Default for Options {
    fn default() -> Self {
        Self { sync_every: NonZero::new(1024), encoding: Encoding::Natural }
    }
}

/// An encoder of messages. See the [module](self).
///
/// ```
/// use tracewright_coresight::stm::encode::{Encoder, Options};
/// use tracewright_core::{Element, Message, Write};
///
/// let mut encoder = Encoder::new(Options::default());
/// let mut bytes = Vec::new();
/// let write = Write { master: Some(0x41), channel: 2, bits: 8, value: 0x2a, ..Write::default() };
/// encoder.element(&Element::Message(Message::Write(write)), &mut bytes);
/// encoder.element(&Element::End, &mut bytes);
/// // ASYNC, VERSION 3, M8 0x41, C8 2, D8 0x2a, and a nibble that fills the last byte.
/// assert_eq!(bytes[..11], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]);
/// assert_eq!(bytes[11..], [0x0f, 0x30, 0x41, 0x31, 0x20, 0x24, 0x0a]);
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    options: Options,
    state: State,
    nibbles: Nibbles,
    /// Timestamp that the next message carries.
    timestamp: Option<u64>,
    /// Whether the next timestamp is told as a whole.
    whole: bool,
    since_sync: usize,
    started: bool,
}

impl Encoder {
    /// Creates an encoder.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            state: State::default(),
            nibbles: Nibbles::new(),
            timestamp: None,
            whole: true,
            since_sync: 0,
            started: false,
        }
    }

    /// Accepts the next element, and appends the bytes that are whole. [`Element::End`] fills the last one.
    pub fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) {
        match *element {
            Element::Message(Message::Write(write)) => self.write(&write),
            Element::Message(Message::Report(report)) => self.report(&report),
            Element::Timestamp { value, .. } => {
                self.null();
                self.timestamp = Some(value);
            }
            Element::End => {
                self.null();
                if self.nibbles.len() % 2 == 1 {
                    self.nibbles.push(0);
                }
            }
            _ => {}
        }
        let whole = self.nibbles.take_whole();
        self.since_sync += whole.len();
        bytes.extend(whole);
    }

    /// Sends a timestamp that no message has taken.
    fn null(&mut self) {
        if self.timestamp.is_some() {
            self.sync();
            let timestamp = self.time();
            self.packet(Packet::Null { timestamp });
        }
    }

    fn write(&mut self, write: &Write) {
        self.sync();
        self.select(write.master, write.channel);
        let (timestamp, value) = (self.time(), write.value);
        let size = Size::ALL.into_iter().find(|size| size.bits() == write.bits);
        self.packet(match size {
            _ if write.trigger => Packet::Trigger { value: value as u8, timestamp },
            Some(size) => Packet::Data { size, value, marked: write.marked, timestamp },
            None if write.marked => Packet::Flag { timestamp },
            None => Packet::Null { timestamp },
        });
    }

    fn report(&mut self, report: &Report) {
        self.null();
        self.sync();
        match report.what {
            Reported::Frequency(hertz) => self.packet(Packet::Frequency { hertz, timestamp: None }),
            Reported::MasterError(code) => {
                self.select(report.master, self.state.channel.into());
                self.packet(Packet::MasterError(code));
            }
            Reported::GlobalError(code) => self.packet(Packet::GlobalError(code)),
        }
    }

    /// Sends master and channel, if they change.
    fn select(&mut self, master: Option<u16>, channel: u32) {
        let (number, channel) = (master.unwrap_or(self.state.master), channel as u16);
        if number != self.state.master {
            self.packet(Packet::Master { number, wide: number >> 8 != self.state.master >> 8 });
        }
        if channel != self.state.channel {
            let wide = channel >> 8 != self.state.channel >> 8;
            self.packet(Packet::Channel { number: channel, wide });
        }
    }

    fn time(&mut self) -> Option<Timestamp> {
        let value = self.timestamp.take()?;
        if core::mem::take(&mut self.whole) {
            return Some(Timestamp { value, told: 64 });
        }
        Some(Timestamp::shortest(value, self.state.timestamp, self.options.encoding))
    }

    /// Sends ASYNC and VERSION, if they are due.
    fn sync(&mut self) {
        let is_due = self.options.sync_every.is_some_and(|every| self.since_sync >= every.get() as usize);
        if self.started && !is_due {
            return;
        }
        (self.started, self.since_sync, self.whole) = (true, 0, true);
        self.packet(Packet::Async { ones: ONES });
        self.packet(Packet::Version(self.options.encoding));
    }

    fn packet(&mut self, packet: Packet) {
        packet.write(self.options.encoding, &mut self.nibbles);
        self.state.apply(&packet);
    }
}
