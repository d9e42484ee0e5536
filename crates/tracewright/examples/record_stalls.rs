//! Runs a RISC-V program with a model of a core, records its trace, and prints the stall cycles of each function.
//!
//!     cargo run -p tracewright --example record_stalls -- programs/bin/misses.elf run

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::collections::BTreeMap;
use std::path::Path;

use tracewright::Trace;
use tracewright::capture::CaptureOptions;
use tracewright::capture::record::{self, Loaded, RunOptions};
use tracewright::timing::{Config, Model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, program, folder] = &args[..] else { return Err("usage: record_stalls PROGRAM FOLDER".into()) };
    let capture = CaptureOptions { delta: Some(String::new()), ..CaptureOptions::new(Path::new(folder)) };
    let model = Model::new(&Config::preset("cva6_like").ok_or("no such model")?)?;
    let options =
        RunOptions { timing: Some(model), capture: Some(capture), ..RunOptions::new(Path::new(program)) };
    record::run(Loaded::open(Path::new(program), &[program])?, options, &mut |_| {}, &mut Vec::new())?;

    let trace = Trace::open(folder)?;
    let mut waited: BTreeMap<String, u64> = BTreeMap::new();
    for source in trace.stalls()?.value {
        for (_, _, function, costs) in source.stalls.iter().flat_map(|stalls| stalls.costs.blocks()) {
            let name = source.functions[function as usize].clone();
            *waited.entry(name).or_default() += costs.iter().map(|cost| cost.stalled).sum::<u64>();
        }
    }
    for (function, cycles) in waited {
        println!("{cycles:>10} {function}");
    }
    Ok(())
}
