use alloc::vec::Vec;

use super::unit::FRACTION;
use super::{BitLength, Line};

/// Most bytes of a packet in Manchester code.
const BYTES: usize = 8;

/// An encoder of a sampled serial line: the reverse of a [`LineDecoder`](crate::LineDecoder).
#[derive(Clone, Debug)]
pub struct LineEncoder {
    line: Line,
    /// Duration of half a bit, and time of the next edge, in 256ths of a sample.
    half: u64,
    time: u64,
    /// Samples written, and those of the byte that is not full.
    samples: u64,
    byte: u8,
}

impl LineEncoder {
    /// Creates an encoder at the start of an idle line.
    pub fn new(line: Line, bit: BitLength) -> Self {
        Self { line, half: bit.0.div_ceil(2), time: 0, samples: 0, byte: 0 }
    }

    /// Appends the samples of bytes that are sent without a pause: characters, or packets of eight bytes and a rest.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let bits = |byte: u8| (0..8).map(move |bit| byte >> bit & 1 == 1);
        match self.line {
            Line::Uart => {
                for &byte in bytes {
                    self.level(false, 2, out);
                    bits(byte).for_each(|bit| self.level(bit, 2, out));
                    self.level(true, 2, out);
                }
            }
            Line::Manchester => {
                for packet in bytes.chunks(BYTES) {
                    let data = packet.iter().flat_map(|&byte| bits(byte));
                    for bit in core::iter::once(true).chain(data) {
                        self.level(bit, 1, out);
                        self.level(!bit, 1, out);
                    }
                    self.idle(1, out);
                }
            }
        }
    }

    /// Appends the samples of an idle line, for so many bits.
    pub fn idle(&mut self, bits: u64, out: &mut Vec<u8>) {
        self.level(self.line == Line::Uart, 2 * bits, out);
    }

    /// Ends the samples with an idle line, up to a whole byte.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        while !self.samples.is_multiple_of(8) {
            self.sample(self.line == Line::Uart, out);
        }
    }

    /// Appends samples of one level, for so many halves of a bit.
    fn level(&mut self, level: bool, halves: u64, out: &mut Vec<u8>) {
        self.time += halves * self.half;
        while self.samples < self.time / FRACTION {
            self.sample(level, out);
        }
    }

    fn sample(&mut self, level: bool, out: &mut Vec<u8>) {
        self.byte |= u8::from(level) << (self.samples % 8);
        self.samples += 1;
        if self.samples.is_multiple_of(8) {
            out.push(core::mem::take(&mut self.byte));
        }
    }
}
