//! Recording under QEMU: programs that compute, plain, with a plugin that only counts, with our plugin writing its log,
//! and with `tracewright record --qemu` encoding while they run.
//!
//! The rival counts blocks by a call for each, as QEMU's own example does; its other way, additions inside the
//! translated code, is in the table too. What it counts is what we record, exactly.

mod engines;
mod program;

use std::time::Duration;

use engines::{Engines, Truth};
use program::Program;

use crate::hart::{number, time};
use crate::head;

/// Rounds; the best of each engine counts.
const ROUNDS: usize = 3;

/// The word that picks all of them.
pub const NAME: &str = "qemu";

pub fn tables(check: bool) -> Result<usize, String> {
    let engines = match Engines::build() {
        Ok(engines) => engines,
        Err(why) => {
            eprintln!("skipped: QEMU with plugins: {why}");
            return Ok(0);
        }
    };
    let programs = if check { Program::small() } else { Program::all() };
    if !check {
        head(
            1,
            "program | million instructions | blocks | QEMU MIPS | counting | counting inline | our log \
             | recorded live | x counting: log | live | x inline: log | live",
        );
    }
    for program in &programs {
        let truth = engines.agree(program).map_err(|wrong| format!("{}: {wrong}", program.name))?;
        if check {
            println!("{NAME}, {}: answers agree", program.name);
        } else {
            println!("{}", row(&engines, program, &truth)?);
        }
    }
    Ok(programs.len())
}

fn row(engines: &Engines, program: &Program, truth: &Truth) -> Result<String, String> {
    let mut best: [Option<Duration>; 5] = [None; 5];
    for _ in 0..ROUNDS {
        // Taking turns: what else the machine does meets all of them.
        time(&mut best[0], engines.plain(program)?);
        time(&mut best[1], engines.counting(program, false, truth)?);
        time(&mut best[2], engines.counting(program, true, truth)?);
        time(&mut best[3], engines.log(program)?);
        if engines.has_recorder() {
            time(&mut best[4], engines.recorded(program, truth)?);
        }
    }
    let rates =
        best.map(|best| number(best.map(|best| truth.instructions as f64 / 1e6 / best.as_secs_f64()), 0));
    let ratio = |ours: usize, rival: usize| {
        let ratio = best[ours].zip(best[rival]).map(|(ours, rival)| ours.as_secs_f64() / rival.as_secs_f64());
        number(ratio, 2)
    };
    let ratios = [ratio(3, 1), ratio(4, 1), ratio(3, 2), ratio(4, 2)].join(" | ");
    let millions = |count: u64| number(Some(count as f64 / 1e6), 1);
    let (instructions, blocks) = (millions(truth.instructions), millions(truth.blocks));
    Ok(format!("| {} | {instructions} | {blocks} | {} | {ratios} |", program.name, rates.join(" | ")))
}
