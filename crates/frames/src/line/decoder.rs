use alloc::vec::Vec;

use super::manchester::{self, Manchester};
use super::trust::Trust;
use super::uart::{self, Uart};
use super::unit::{FRACTION, unit};
use super::{BitLength, Line, LineEvent};

/// Runs of the line that are gathered before their unit is inferred.
const BLOCK: usize = 512;
/// Most runs for each byte where the unit is right, by far.
const RUNS_PER_BYTE: usize = 64;

/// A decoder of a sampled serial line: samples in, bytes out.
///
/// It infers the length of a bit from the samples, anew for each block of 512 edges, so that it follows a clock that
/// drifts or is switched. A bit of UART or half a bit of Manchester code needs four samples or more.
///
/// The input may be split anywhere. Damage is reported and never stops the decoder. After damage, and at the start, it
/// reports bytes from the first certain one on: after an idle line, a zero byte of UART, or eight characters or packets
/// without error. Bytes are late by a block at most. Memory is that of a block.
#[derive(Clone, Debug)]
pub struct LineDecoder {
    code: Code,
    trust: Trust,
    given: Option<u64>,
    /// Duration of a bit of UART or half a bit of Manchester code, in 256ths of a sample.
    unit: Option<u64>,
    /// Lengths of the runs of the current block. Levels alternate.
    runs: Vec<u64>,
    /// First sample of the next run to be decoded, and its level.
    at: u64,
    level: bool,
    /// Level and length of the run that goes on.
    current: bool,
    len: u64,
}

#[derive(Clone, Debug)]
enum Code {
    Uart(Uart),
    Manchester(Manchester),
}

impl LineDecoder {
    /// Creates a decoder that infers the length of a bit.
    pub fn new(line: Line) -> Self {
        Self::starting_at(line, 0)
    }

    /// Creates a decoder for samples that begin at file offset `offset`.
    pub fn starting_at(line: Line, offset: u64) -> Self {
        let code = match line {
            Line::Uart => Code::Uart(Uart::default()),
            Line::Manchester => Code::Manchester(Manchester::default()),
        };
        let at = offset.saturating_mul(8);
        Self {
            code,
            trust: Trust::default(),
            given: None,
            unit: None,
            runs: Vec::with_capacity(BLOCK),
            at,
            level: false,
            current: false,
            len: 0,
        }
    }

    /// Sets the length of a bit, which then is not inferred.
    #[must_use]
    pub fn with_bit_length(self, length: BitLength) -> Self {
        let unit = (length.0 / self.units_per_bit()).max(FRACTION);
        Self { given: Some(unit), unit: Some(unit), ..self }
    }

    /// Returns the length of a bit in the last block.
    pub fn bit_length(&self) -> Option<BitLength> {
        self.unit.map(|unit| BitLength(unit * self.units_per_bit()))
    }

    /// Accepts the next samples.
    pub fn feed(&mut self, bytes: &[u8], emit: &mut impl FnMut(LineEvent)) {
        for &byte in bytes {
            let mut left = 8;
            // Bits that differ from the current level.
            let mut others = if self.current { !byte } else { byte };
            loop {
                let same = others.trailing_zeros().min(left);
                self.len += u64::from(same);
                left -= same;
                if left == 0 {
                    break;
                }
                self.edge(emit);
                others = !(others >> same);
            }
        }
    }

    /// Ends the input.
    pub fn finish(&mut self, emit: &mut impl FnMut(LineEvent)) {
        self.edge(emit);
        self.block(emit);
        self.trust.finish(self.at, emit);
    }

    fn units_per_bit(&self) -> u64 {
        match self.code {
            Code::Uart(_) => 1,
            Code::Manchester(_) => 2,
        }
    }

    /// Returns the longest run that is not idle, in units.
    fn longest(&self) -> u64 {
        match self.code {
            Code::Uart(_) => uart::LONGEST,
            Code::Manchester(_) => manchester::LONGEST,
        }
    }

    /// Ends the current run.
    fn edge(&mut self, emit: &mut impl FnMut(LineEvent)) {
        if self.len > 0 {
            if self.runs.is_empty() {
                self.level = self.current;
            }
            self.runs.push(self.len);
            self.len = 0;
        }
        self.current = !self.current;
        if self.runs.len() == BLOCK {
            self.block(emit);
        }
    }

    /// Decodes the gathered runs.
    fn block(&mut self, emit: &mut impl FnMut(LineEvent)) {
        self.unit = self.given.or_else(|| unit(&self.runs, self.unit, self.longest()));
        let Some(unit) = self.unit else {
            let (start, is_idle) = (self.at, self.runs.len() < 2);
            self.at += self.runs.drain(..).sum::<u64>();
            if !is_idle {
                self.trust.bad(start, self.at);
            }
            return;
        };
        let (mut found, runs) = (0, self.runs.len());
        let mut count = |event| {
            found += usize::from(matches!(event, LineEvent::Byte { .. }));
            emit(event);
        };
        for len in self.runs.drain(..) {
            let run = (self.level, self.at, len);
            match &mut self.code {
                Code::Uart(uart) => uart.run(run, unit, &mut self.trust, &mut count),
                Code::Manchester(manchester) => manchester.run(run, unit, &mut self.trust, &mut count),
            }
            self.at += len;
            self.level = !self.level;
        }
        // A clock that was switched: the next block tells its own unit.
        if found < runs / RUNS_PER_BYTE {
            self.unit = None;
        }
    }
}
