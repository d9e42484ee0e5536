//! Messages of N-Trace at the pins of a trace port (Pin Interface Block): decoding and encoding.
//!
//! A port of 1, 2 or 4 pins sends a message pin by pin, its lowest bits first and without a pause. Between messages the port is idle: all
//! pins are high, for any number of clocks, so that messages begin anywhere in a byte of the capture. The first bits of a message are never
//! all high, and bits 1:0 of each of its bytes (MSEO) say whether it goes on: 11 ends it, 10 cannot be.
//!
//! Inside a message at most 13 bits in a row are high. More are idle, after which a message begins: so the decoder finds messages again
//! after damage.
//!
//! The input has the pins of one clock after the other, from the lowest bits of each byte on. Captures of 8 and 16 pins are bytes already.

use alloc::vec::Vec;

use crate::{LineEvent, Lost, LostReason};

/// Number of pins of a trace port whose captures are no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Pins {
    /// One pin.
    One = 1,
    /// Two pins.
    Two = 2,
    /// Four pins.
    Four = 4,
}

/// Bits in a row that only an idle port has.
const IDLE: u8 = 14;
/// Most bytes of a message that are believed.
const LONGEST: u16 = 1024;

impl Pins {
    const fn bits(self) -> u8 {
        self as u8
    }

    /// Returns the sample of an idle port.
    const fn idle(self) -> u8 {
        (1 << self as u8) - 1
    }
}

/// A decoder of a capture of pins: samples in, bytes of messages out.
///
/// The input may be split anywhere. Damage is reported and never stops the decoder. Its memory is constant.
#[derive(Clone, Debug)]
pub struct PibDecoder {
    pins: Pins,
    /// First bit of the next sample, counted from the start of the file.
    at: u64,
    state: State,
    /// Whether the port was idle for certain before.
    was_idle: bool,
    /// High bits in a row, at most [`IDLE`].
    high: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between messages.
    Idle,
    Message {
        /// Bytes before the current one.
        bytes: u16,
        /// First bit of the current byte, and its bits so far.
        start: u64,
        byte: u8,
        bits: u8,
    },
    /// Lost since this bit.
    Lost(u64),
}

impl PibDecoder {
    /// Creates a decoder for a capture that begins between messages.
    pub fn new(pins: Pins) -> Self {
        Self::starting_at(pins, 0)
    }

    /// Creates a decoder for samples that begin at file offset `offset`.
    pub fn starting_at(pins: Pins, offset: u64) -> Self {
        Self { pins, at: offset.saturating_mul(8), state: State::Idle, was_idle: false, high: 0 }
    }

    /// Accepts the next samples.
    pub fn feed(&mut self, bytes: &[u8], emit: &mut impl FnMut(LineEvent)) {
        for &byte in bytes {
            // Most of a capture may be idle.
            if byte == 0xff && self.state == State::Idle {
                (self.at, self.high) = (self.at + 8, IDLE.min(self.high + 8));
                self.was_idle |= self.high == IDLE;
                continue;
            }
            for first in (0..8).step_by(self.pins.bits().into()) {
                self.sample(byte >> first & self.pins.idle(), emit);
            }
        }
    }

    /// Ends the input.
    pub fn finish(&mut self, emit: &mut impl FnMut(LineEvent)) {
        match self.state {
            State::Idle => {}
            State::Message { start, .. } => self.lost(start, LostReason::Truncated, emit),
            State::Lost(from) => self.lost(from, self.reason(), emit),
        }
        self.state = State::Idle;
    }

    fn reason(&self) -> LostReason {
        if self.was_idle { LostReason::Pins } else { LostReason::PinsStart }
    }

    fn lost(&self, from: u64, reason: LostReason, emit: &mut impl FnMut(LineEvent)) {
        let (offset, end) = (from / 8, self.at / 8);
        emit(LineEvent::Lost(Lost { offset, len: end - offset, reason }));
    }

    fn sample(&mut self, sample: u8, emit: &mut impl FnMut(LineEvent)) {
        let is_high = sample == self.pins.idle();
        let was_certain = self.high == IDLE;
        self.high = if is_high { IDLE.min(self.high + self.pins.bits()) } else { 0 };
        let at = self.at;
        match self.state {
            State::Idle if !is_high => {
                self.begin(at, sample, emit);
            }
            State::Lost(from) if !is_high && was_certain => {
                // The bytes before this sample are lost.
                self.lost(from, self.reason(), emit);
                self.was_idle = true;
                self.begin(at, sample, emit);
            }
            State::Idle | State::Lost(_) => {}
            State::Message { bytes, start, byte, bits } => {
                let state = State::Message {
                    bytes,
                    start,
                    byte: byte | sample << bits,
                    bits: bits + self.pins.bits(),
                };
                self.state = state;
                self.whole(emit);
            }
        }
        self.was_idle |= self.high == IDLE && !matches!(self.state, State::Lost(_));
        self.at = at + u64::from(self.pins.bits());
    }

    /// Begins a message with its first sample.
    fn begin(&mut self, start: u64, byte: u8, emit: &mut impl FnMut(LineEvent)) {
        self.state = State::Message { bytes: 0, start, byte, bits: self.pins.bits() };
        self.whole(emit);
    }

    /// Takes the current byte if it is whole.
    fn whole(&mut self, emit: &mut impl FnMut(LineEvent)) {
        let State::Message { bytes, start, byte, bits: 8 } = self.state else { return };
        let is_start = bytes == 0;
        self.state = match byte & 3 {
            0b10 => State::Lost(start),
            0b01 | 0b11 if is_start => State::Lost(start),
            _ if bytes == LONGEST => State::Lost(start),
            end => {
                emit(LineEvent::Byte { offset: start / 8, byte });
                if end == 0b11 {
                    State::Idle
                } else {
                    State::Message { bytes: bytes + 1, start: start + 8, byte: 0, bits: 0 }
                }
            }
        };
    }
}

/// An encoder of a capture of pins: the reverse of a [`PibDecoder`].
#[derive(Clone, Debug)]
pub struct PibEncoder {
    pins: Pins,
    byte: u8,
    bits: u8,
}

impl PibEncoder {
    /// Creates an encoder.
    pub fn new(pins: Pins) -> Self {
        Self { pins, byte: 0, bits: 0 }
    }

    /// Appends the samples of a whole message, or of several without a pause.
    pub fn push(&mut self, message: &[u8], out: &mut Vec<u8>) {
        for &byte in message {
            for first in (0..8).step_by(self.pins.bits().into()) {
                self.sample(byte >> first & self.pins.idle(), out);
            }
        }
    }

    /// Appends the samples of an idle port, for so many clocks.
    pub fn idle(&mut self, clocks: u64, out: &mut Vec<u8>) {
        (0..clocks).for_each(|_| self.sample(self.pins.idle(), out));
    }

    /// Ends the samples with an idle port, up to a whole byte.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        while self.bits > 0 {
            self.sample(self.pins.idle(), out);
        }
    }

    fn sample(&mut self, sample: u8, out: &mut Vec<u8>) {
        self.byte |= sample << self.bits;
        self.bits += self.pins.bits();
        if self.bits == 8 {
            out.push(core::mem::take(&mut self.byte));
            self.bits = 0;
        }
    }
}
