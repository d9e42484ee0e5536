//! Cycles of instructions: of programs on the hart with a timing model, and the two extremes.

use tracewright_core::Block;
use tracewright_hart::HartSink;
use tracewright_hart::timing::{Config, Model, Timed};

use super::Answer;
use crate::hart::program::{PROGRAMS, Program, Size};

/// Instructions of a program, at most.
const LIMIT: u64 = 8_000_000;
/// The same for checks.
const FEW: u64 = 100_000;
/// Instructions of a block of the extremes.
const BLOCK: usize = 6;

/// Instructions that retired.
pub struct Input {
    pub name: String,
    /// The cycle of each.
    pub cycles: Vec<u64>,
    /// Blocks: the address and how many instructions.
    pub blocks: Vec<(u64, u32)>,
    answer: Answer,
}

/// All inputs.
pub fn all(check: bool) -> Result<Vec<Input>, String> {
    let (limit, size) = if check { (FEW, Size::Small) } else { (LIMIT, Size::Large) };
    let mut inputs = Vec::new();
    for program in &PROGRAMS {
        inputs.push(Input::of_program(program, size, limit)?);
    }
    inputs.push(Input::made("no stall ever", (1..=limit).collect()));
    inputs.push(Input::made("a stall after each instruction", (1..=limit).map(|n| 2 * n).collect()));
    Ok(inputs)
}

impl Input {
    fn of_program(program: &Program, size: Size, limit: u64) -> Result<Self, String> {
        let model = Model::new(&Config::rocket_like()).map_err(|error| error.to_string())?;
        let mut timed = Timed::new(model, Blocks::default());
        program.run_for(size, limit, &mut timed)?;
        Ok(Self::new(program.named(size), timed.inner.cycles, timed.inner.blocks))
    }

    fn made(name: &str, cycles: Vec<u64>) -> Self {
        let blocks = cycles.chunks(BLOCK).map(|block| (0x8000_0000, block.len() as u32)).collect();
        Self::new(name.to_owned(), cycles, blocks)
    }

    fn new(name: String, cycles: Vec<u64>, blocks: Vec<(u64, u32)>) -> Self {
        let mut answer = Answer::default();
        cycles.iter().for_each(|&cycle| answer.add(cycle, 1));
        Self { name, cycles, blocks, answer }
    }

    /// Whether an answer is right.
    pub fn agrees(&self, engine: &str, answer: Answer) -> Result<(), String> {
        if answer == self.answer {
            return Ok(());
        }
        Err(format!("{}, {engine}: {answer:?}, expected {:?}", self.name, self.answer))
    }

    /// Cycles from the first instruction to the last.
    pub fn span(&self) -> u64 {
        self.cycles.first().zip(self.cycles.last()).map_or(0, |(first, last)| last - first + 1)
    }

    /// The distances between retirements, a byte each where they fit.
    pub fn plain(&self) -> Vec<u8> {
        let mut plain = Vec::with_capacity(self.cycles.len());
        for pair in self.cycles.windows(2) {
            match u8::try_from(pair[1] - pair[0]) {
                Ok(distance) if distance < u8::MAX => plain.push(distance),
                _ => {
                    plain.push(u8::MAX);
                    plain.extend((pair[1] - pair[0]).to_le_bytes());
                }
            }
        }
        plain
    }
}

#[derive(Default)]
struct Blocks {
    cycles: Vec<u64>,
    blocks: Vec<(u64, u32)>,
}

impl HartSink for Blocks {
    const CYCLES: bool = true;

    fn cycles(&mut self, cycles: &[u64]) {
        self.cycles.extend_from_slice(cycles);
    }

    fn block(&mut self, block: &Block) {
        self.blocks.push((block.start, block.count));
    }
}
