//! Benchmarks: our code beside OpenCSD's library and memcpy, on the same bytes in the same run; our hart beside QEMU, on
//! the same programs; E-Trace beside the `riscv-etrace` crate; ITM beside the `itm` crate; recording under QEMU beside a plugin that only counts;
//! retirement-delta trace beside zstd; symbols beside llvm-symbolizer.
//!
//! A benchmark is an entry: an input with the answer it must give, and the engines that read it. An engine whose answer
//! is wrong has no time. `--check` runs each entry once on little data, as a test.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod answer;
mod delta;
mod etrace;
mod hart;
mod inputs;
mod itm;
mod ntrace;
mod older;
mod opencsd;
mod ours;
mod profile;
mod qemu;
mod stm;
mod symbols;
mod tacit;
mod tool;

use std::process::ExitCode;

use crate::answer::Answer;
use crate::hart::number;
use crate::inputs::Input;
use crate::opencsd::OpenCsd;

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Frames to each source's bytes.
    Frames,
    /// One source's bytes to packets.
    Packets,
    /// Frames to packets.
    Both,
    /// Frames to blocks, counted and checksummed.
    Blocks,
    /// Frames to a profile: how often each block ran and how it ended, and where indirect branches went.
    Profile,
}

impl Layer {
    const ALL: [Self; 5] = [Self::Frames, Self::Packets, Self::Both, Self::Blocks, Self::Profile];

    fn name(self) -> &'static str {
        match self {
            Self::Frames => "deframe",
            Self::Packets => "packets",
            Self::Both => "deframe + packets",
            Self::Blocks => "blocks",
            Self::Profile => "profile",
        }
    }
}

/// Rounds; the best of each engine counts, since noise only ever adds.
const ROUNDS: usize = 15;
/// Bytes an engine reads in a round.
const ROUND_BYTES: usize = 32 << 20;
/// The same where OpenCSD takes half a second for a megabyte.
const SLOW_ROUNDS: usize = 3;
const SLOW_ROUND_BYTES: usize = 16 << 20;

/// A benchmark: a test whether a word on the command line names it, and a function that prints its tables or only checks its
/// answers. The function returns the number of entries, or the answer that is wrong.
type Other = (fn(&str) -> bool, fn(Option<&str>, bool) -> Result<usize, String>);

/// Benchmarks of anything but reading traces.
const OTHERS: [Other; 11] = [
    (|word| word == older::NAME, |_, check| older::tables(check)),
    (|word| word == "profile", |_, check| profile::tables(check)),
    (|word| word == "symbols", |_, check| symbols::tables(check)),
    (hart::is_meant, hart::tables),
    (etrace::is_meant, etrace::tables),
    (ntrace::is_meant, ntrace::tables),
    (|word| word == delta::NAME, |_, check| delta::tables(check)),
    (|word| word == itm::NAME, |_, check| itm::tables(check)),
    (|word| word == qemu::NAME, |_, check| qemu::tables(check)),
    (|word| word == stm::NAME, |_, check| stm::tables(check)),
    (|word| word == tacit::NAME, |_, check| tacit::tables(check)),
];

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let check = args.iter().any(|arg| arg == "--check");
    let only = args.iter().find(|arg| !arg.starts_with('-')).map(String::as_str);
    let others: Vec<_> = OTHERS.iter().filter(|(is_meant, _)| only.is_none_or(is_meant)).collect();
    // Making the inputs takes a while: not for a word that means none of them.
    let traces = if only.is_some() && !others.is_empty() { Ok(0) } else { traces(only, check) };
    let rest = || others.iter().map(|(_, tables)| tables(only, check)).sum::<Result<usize, String>>();
    match traces.and_then(|traces| Ok(traces + rest()?)) {
        Ok(entries) => {
            println!("{entries} passed, 0 failed");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::FAILURE
        }
    }
}

/// Reading traces. Returns how many entries there were, or which answer is wrong.
fn traces(only: Option<&str>, check: bool) -> Result<usize, String> {
    let opencsd = OpenCsd::build();
    if let Err(why) = &opencsd {
        eprintln!("skipped: OpenCSD: {why}");
    }
    if !check {
        println!("| input | layer | memcpy MB/s | OpenCSD MB/s | tracewright MB/s | of memcpy | x OpenCSD |");
        println!("|---|---|--:|--:|--:|--:|--:|");
    }
    let mut entries = 0;
    for input in inputs::all().into_iter().filter(|input| only.is_none_or(|only| input.name.contains(only))) {
        for layer in Layer::ALL.into_iter().filter(|&layer| input.has(layer)) {
            let (rounds, round_bytes) = match layer {
                _ if check => (1, 0),
                Layer::Blocks | Layer::Profile => (SLOW_ROUNDS, SLOW_ROUND_BYTES),
                _ => (ROUNDS, ROUND_BYTES),
            };
            let row = measure(&input, layer, opencsd.as_ref().ok(), rounds, round_bytes)
                .map_err(|wrong| format!("{} {}: {wrong}", input.name, layer.name()))?;
            // One pass is no measurement.
            if check {
                println!("{}, {}: answers agree", input.name, layer.name());
            } else {
                println!("{row}");
            }
            entries += 1;
        }
    }
    let executed = inputs::all().into_iter().find(|input| input.name.starts_with("(e)"));
    if let (Some(executed), false, None) = (executed, check, only) {
        tool::table(&executed).map_err(|wrong| format!("whole tool: {wrong}"))?;
    }
    Ok(entries)
}

/// One row of the table; `Err` when an answer is wrong.
fn measure(
    input: &Input,
    layer: Layer,
    opencsd: Option<&OpenCsd>,
    rounds: usize,
    round_bytes: usize,
) -> Result<String, String> {
    let bytes = input.bytes(layer);
    let repeat = (round_bytes / bytes.len()).max(1);
    // First the answers, on one pass over the input.
    let (_, answer) = ours::run(input, layer, 1);
    if layer == Layer::Both {
        input.check(&answer)?;
    }
    if let Some(opencsd) = opencsd {
        let (_, theirs) = opencsd.run(input, layer, 1, true)?;
        theirs.check(&answer, "OpenCSD against tracewright")?;
    }
    let theirs = || opencsd.map(|opencsd| opencsd.run(input, layer, repeat, false));
    row(input.name, layer, bytes, rounds, repeat, theirs, || ours::run(input, layer, repeat).0)
}

/// Measures the time of a layer, engines taking turns, and returns a row of the table.
fn row(
    name: &str,
    layer: Layer,
    bytes: &[u8],
    rounds: usize,
    repeat: usize,
    theirs: impl Fn() -> Option<Result<(u64, Answer), String>>,
    ours: impl Fn() -> u64,
) -> Result<String, String> {
    let mut best: [Option<u64>; 3] = [None; 3];
    let mut time = |engine: usize, ns: u64| best[engine] = Some(best[engine].map_or(ns, |best| best.min(ns)));
    for _ in 0..rounds {
        time(0, ours::memcpy(bytes, repeat));
        if let Some(theirs) = theirs() {
            time(1, theirs?.0);
        }
        time(2, ours());
    }
    let rate = |ns: Option<u64>| ns.map(|ns| (bytes.len() * repeat) as f64 * 1e3 / ns.max(1) as f64);
    let [memcpy, theirs, ours] = best.map(rate);
    let ratio = |rival: Option<f64>| Some(ours? / rival?);
    let rates = [memcpy, theirs, ours].map(|rate| number(rate, 0)).join(" | ");
    let (of_memcpy, of_theirs) = (number(ratio(memcpy), 2), number(ratio(theirs), 1));
    Ok(format!("| {name} | {} | {rates} | {of_memcpy} | {of_theirs} |", layer.name()))
}

/// Prints the head of a table. The first `texts` columns hold text, the others numbers.
fn head(texts: usize, columns: &str) {
    println!("\n| {columns} |");
    let numbers = columns.matches(" | ").count() + 1 - texts;
    println!("{}{}|", "|---".repeat(texts), "|--:".repeat(numbers));
}
