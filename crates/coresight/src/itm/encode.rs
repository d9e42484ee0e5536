//! Encoding of messages: the reverse of decoding.
//!
//! An [`Encoder`] accepts [`Element`]s in their order, as a decoder emits them, and appends bytes as an ITM with the given registers could.
//! What no packet of an ITM has room for is left out: [`Encoder::element`] says so.

use core::num::NonZero;

use tracewright_core::{Delay, Element, GapReason, Message, Write};

use super::Params;
use super::hardware::Hardware;
use super::packet::Packet;

/// The choices that the architecture leaves to a trace unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes after which a synchronisation packet comes. `None`: only at the start.
    pub sync_every: Option<NonZero<u32>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { sync_every: NonZero::new(1024) }
    }
}

/// An encoder of messages. See the [module](self).
///
/// ```
/// use tracewright_coresight::itm::{Params, encode::{Encoder, Options}};
/// use tracewright_core::{Element, Message, Write};
///
/// let mut encoder = Encoder::new(&Params::default(), Options::default());
/// let mut bytes = Vec::new();
/// let write = Write { channel: 1, bits: 8, value: 0x41, ..Write::default() };
/// assert!(encoder.element(&Element::Message(Message::Write(write)), &mut bytes));
/// assert_eq!(bytes, [0, 0, 0, 0, 0, 0x80, 0x09, 0x41]);
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    params: Params,
    options: Options,
    /// Page of stimulus ports.
    page: u8,
    /// Last global timestamp.
    global: Option<u64>,
    /// Bytes until a synchronisation packet is due; `None` if none is.
    left: Option<u32>,
}

/// Number of bits of a global timestamp in its first packet.
const LOW_BITS: u8 = 26;
/// Steps that fit into a local timestamp.
const MOST_STEPS: u64 = (1 << 28) - 1;

impl Encoder {
    /// Creates an encoder for an ITM with these parameters.
    pub const fn new(params: &Params, options: Options) -> Self {
        let params = Params::new(params.registers()).with_aligned_start(params.starts_aligned());
        Self { params, options, page: 0, global: None, left: Some(0) }
    }

    /// Accepts the next element, and appends its bytes. Returns whether there is a packet for it.
    pub fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) -> bool {
        let start = bytes.len();
        if self.left == Some(0) {
            Packet::Async.write(bytes);
            self.left = self.options.sync_every.map(NonZero::get);
        }
        let is_told = match *element {
            Element::Message(Message::Write(ref write)) => self.write(write, bytes),
            Element::Message(ref message) => {
                Hardware::of(message).map(|packet| Packet::Hardware(packet).write(bytes)).is_some()
            }
            Element::LocalTime { cycles, delay } => self.local_time(cycles, delay, bytes),
            Element::Timestamp { value, .. } => {
                self.timestamp(value, bytes);
                true
            }
            Element::Gap { reason: GapReason::Overflow, .. } => {
                Packet::Overflow.write(bytes);
                true
            }
            // The gap says it.
            Element::Lost(_) | Element::End => true,
            _ => false,
        };
        let written = u32::try_from(bytes.len() - start).unwrap_or(u32::MAX);
        self.left = self.left.map(|left| left.saturating_sub(written));
        is_told
    }

    fn write(&mut self, write: &Write, bytes: &mut Vec<u8>) -> bool {
        let Write { channel, bits: bits @ (8 | 16 | 32), value, marked: false, trigger: false, .. } = *write
        else {
            return false;
        };
        if channel > 0xff || value >> bits != 0 {
            return false;
        }
        let page = (channel >> 5) as u8;
        if page != self.page {
            self.page = page;
            Packet::Extension { hardware: false, value: page.into(), bytes: 0 }.write(bytes);
        }
        Packet::Stimulus { port: channel as u8, size: bits / 8, value: value as u32 }.write(bytes);
        true
    }

    /// Time that is no whole number of steps is rounded down.
    fn local_time(&self, cycles: u64, delay: Delay, bytes: &mut Vec<u8>) -> bool {
        let steps = cycles / u64::from(self.params.prescale());
        if steps > MOST_STEPS {
            return false;
        }
        let value = steps as u32;
        let is_short = matches!(steps, 1..=6) && delay == Delay { timestamp: false, packet: false };
        let count = if is_short { 0 } else { sevens(steps) };
        Packet::LocalTimestamp { value, delay, bytes: count }.write(bytes);
        true
    }

    fn timestamp(&mut self, value: u64, bytes: &mut Vec<u8>) {
        let low = value & ((1 << LOW_BITS) - 1);
        let changed = self.global.map(|before| before ^ value);
        self.global = Some(value);
        let wrapped = changed.is_none_or(|changed| changed >> LOW_BITS != 0);
        let count = changed.filter(|_| !wrapped).map_or(4, sevens);
        let mask = if count == 4 { u64::MAX } else { (1 << (7 * count)) - 1 };
        Packet::GlobalLow { value: (low & mask) as u32, clock_changed: false, wrapped, bytes: count }
            .write(bytes);
        if wrapped {
            let value = value >> LOW_BITS;
            let count = if value >> (48 - LOW_BITS) == 0 { 4 } else { 6 };
            Packet::GlobalHigh { value, bytes: count }.write(bytes);
        }
    }
}

/// Returns the number of bytes that a value needs with seven bits in each: one at least.
const fn sevens(value: u64) -> u8 {
    let bits = (u64::BITS - value.leading_zeros()) as u8;
    if bits == 0 { 1 } else { bits.div_ceil(7) }
}
