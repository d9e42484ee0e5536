//! Retirement-delta trace: {A, C} encoded and decoded, beside a writer and reader of single bits and beside zstd on the plain
//! distances between retirements.
//!
//! What is decoded must be what went in: so many instructions, in cycles that sum to the same.

mod input;
mod naive;
mod zstd;

use std::hint::black_box;
use std::time::{Duration, Instant};

use tracewright_delta::{Config, Decoder, DeltaSink, Encoder, Lost, Off, Packing, Run, Span, Sync};

use crate::hart::{number, time};
use crate::head;
use input::Input;

/// The word that picks it.
pub const NAME: &str = "delta";
/// Rounds; the best of each engine counts.
const ROUNDS: usize = 7;

pub fn tables(check: bool) -> Result<usize, String> {
    let inputs = input::all(check)?;
    if !check {
        head(
            1,
            "{A,C} of | million cycles | bits an instruction | encode Mcycles/s | decode Mcycles/s | bit by bit: encode \
             | decode | zstd -1: bits an instruction | encode Mcycles/s | decode Mcycles/s",
        );
    }
    for input in &inputs {
        let row = measure(input, if check { 1 } else { ROUNDS })?;
        // One pass is no measurement.
        if check {
            println!("{NAME}, {}: answers agree", input.name);
        } else {
            println!("{row}");
        }
    }
    Ok(inputs.len())
}

fn measure(input: &Input, rounds: usize) -> Result<String, String> {
    let mut best = [None; 4];
    let mut bytes = Vec::new();
    let mut bits = Vec::new();
    for _ in 0..rounds {
        let took = [
            timed(|| encode(input, &mut bytes))?,
            timed(|| decode(input, &bytes))?,
            timed(|| {
                naive::encode(&input.cycles, &mut bits);
                Ok(())
            })?,
            timed(|| input.agrees("bit by bit", naive::decode(input.cycles.first().copied(), &bits)))?,
        ];
        best.iter_mut().zip(took).for_each(|(best, took)| time(best, took));
    }
    let cycles = input.span() as f64;
    let each = |bytes: usize| Some(8.0 * bytes as f64 / input.cycles.len().max(1) as f64);
    let speed = |best: Option<Duration>| best.map(|best| cycles / best.as_secs_f64() / 1e6);
    let zstd = if rounds > 1 { zstd::measure(&input.plain()) } else { None };
    // Its speeds are of the bytes it compresses.
    let of_plain = |speed: f64| speed * cycles / input.plain().len().max(1) as f64;
    let columns = [
        number(Some(cycles / 1e6), 1),
        number(each(bytes.len()), 3),
        number(speed(best[0]), 0),
        number(speed(best[1]), 0),
        number(speed(best[2]), 0),
        number(speed(best[3]), 0),
        number(zstd.and_then(|zstd| each(zstd.bytes)), 3),
        number(zstd.map(|zstd| of_plain(zstd.compress)), 0),
        number(zstd.map(|zstd| of_plain(zstd.decompress)), 0),
    ];
    Ok(format!("| {} | {} |", input.name, columns.join(" | ")))
}

fn timed(work: impl FnOnce() -> Result<(), String>) -> Result<Duration, String> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn encode(input: &Input, bytes: &mut Vec<u8>) -> Result<(), String> {
    bytes.clear();
    let mut encoder = Encoder::new(Config::ac(), Packing::default()).map_err(|error| error.to_string())?;
    let mut rest = &input.cycles[..];
    for &(address, count) in &input.blocks {
        let (block, later) = rest.split_at(count as usize);
        encoder.block(address, block, bytes).map_err(|refused| refused.to_string())?;
        rest = later;
    }
    encoder.finish(bytes);
    Ok(())
}

fn decode(input: &Input, bytes: &[u8]) -> Result<(), String> {
    let mut answer = Answer::default();
    let mut decoder = Decoder::new();
    decoder.feed(bytes, &mut answer);
    decoder.finish(&mut answer);
    input.agrees("decoded", black_box(answer))
}

/// What is told of a run of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    instructions: u64,
    /// The sum of the cycles of all of them.
    cycles: u64,
    /// The cycle after the last one.
    end: u64,
    lost: u64,
}

impl Answer {
    /// So many cycles from this one, that retired an instruction each.
    #[inline]
    fn add(&mut self, cycle: u64, cycles: u64) {
        self.instructions += cycles;
        let within = cycles.wrapping_mul(cycles.wrapping_sub(1)) / 2;
        self.cycles = self.cycles.wrapping_add(cycle.wrapping_mul(cycles)).wrapping_add(within);
        self.end = cycle + cycles;
    }
}

impl DeltaSink for Answer {
    fn sync(&mut self, _: u64, _: &Sync) {}

    #[inline]
    fn run(&mut self, run: Run) {
        self.add(run.cycle, run.cycles);
    }

    fn span(&mut self, _: Span) {
        self.lost += 1;
    }

    fn off(&mut self, _: u64, _: Off) {}

    fn lost(&mut self, _: Lost) {
        self.lost += 1;
    }
}
