//! Names, lines and inlined functions of a million addresses, beside `llvm-symbolizer` on the same ones.

use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tracewright_core::MemorySpace;
use tracewright_image::{Builder, Frame, Image};

use crate::head;

/// Addresses: to measure, and to check answers.
const MANY: usize = 1_000_000;
const CHECK: usize = 5_000;
/// What Debian calls it.
const RIVAL: &str = "llvm-symbolizer-19";

pub fn tables(check: bool) -> Result<usize, String> {
    // A program with debug information that is surely there: this one.
    let file = std::env::current_exe().map_err(|error| format!("symbols: {error}"))?;
    let bytes = std::fs::read(&file).map_err(|error| format!("symbols: {error}"))?;
    let addresses = addresses(&open(&bytes)?, if check { CHECK } else { MANY });
    if addresses.is_empty() {
        return Err("symbols: no code has a symbol".into());
    }
    let started = Instant::now();
    let image = open(&bytes)?;
    let frames = ask(&image, &addresses);
    let first = started.elapsed();
    let again = Instant::now();
    if ask(&image, &addresses) != frames {
        return Err("symbols: the second time it is different".into());
    }
    let again = again.elapsed();
    let Some((rival, said)) = llvm(&file, &addresses) else {
        println!("skipped: symbols: no {RIVAL}");
        return Ok(0);
    };
    compare(&image, &addresses, &said)?;
    if check {
        println!("symbols of {} addresses: answers agree", addresses.len());
        return Ok(1);
    }
    let columns = format!("{RIVAL} s | first time s | again s | x {RIVAL}");
    head(0, &format!("addresses | frames | MB of program | {columns}"));
    let [rival, first, again] = [rival, first, again].map(|time| time.as_secs_f64());
    let (count, megabytes, ratio) = (addresses.len(), bytes.len() / 1_000_000, rival / first);
    println!("| {count} | {frames} | {megabytes} | {rival:.2} | {first:.2} | {again:.2} | {ratio:.0} |");
    Ok(1)
}

fn open(bytes: &[u8]) -> Result<Image, String> {
    let mut image = Builder::default();
    let bytes = bytes.to_vec();
    image.elf("program", bytes.into(), 0, MemorySpace::ANY).map_err(|error| format!("symbols: {error}"))?;
    Ok(image.build())
}

/// As many addresses, evenly spread over all code that has symbols.
fn addresses(image: &Image, many: usize) -> Vec<u64> {
    let has_symbol = |address: &u64| image.symbols().symbol(*address, MemorySpace::ANY).is_some();
    let regions = image.regions().flat_map(|region| region.range());
    let all: Vec<u64> = regions.filter(has_symbol).collect();
    let step = (all.len() / many).max(1);
    all.into_iter().step_by(step).take(many).collect()
}

/// How many frames all of them have.
fn ask(image: &Image, addresses: &[u64]) -> usize {
    let symbols = image.symbols();
    let frames = |&address: &u64| {
        black_box(symbols.symbol(address, MemorySpace::ANY));
        black_box(symbols.frames(address, MemorySpace::ANY)).len()
    };
    addresses.iter().map(frames).sum()
}

/// How long the rival takes, and what it says: a function and a line a frame, an empty line after each address.
fn llvm(file: &Path, addresses: &[u64]) -> Option<(Duration, String)> {
    let started = Instant::now();
    let mut rival = Command::new(RIVAL);
    rival.args(["--no-demangle", "--inlines", "--obj"]).arg(file);
    let mut rival = rival.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut input = rival.stdin.take()?;
    let text: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = rival.wait_with_output().ok()?;
    writer.join().ok()?.ok()?;
    Some((started.elapsed(), String::from_utf8(output.stdout).ok()?))
}

/// Whether each address has the same functions and lines.
fn compare(image: &Image, addresses: &[u64], said: &str) -> Result<(), String> {
    let mut answers = said.split("\n\n");
    for &address in addresses {
        let answer = answers.next().unwrap_or_default();
        let frames = image.symbols().frames(address, MemorySpace::ANY);
        let ours: Vec<_> = frames.iter().map(words).collect();
        let lines: Vec<_> = answer.lines().collect();
        let theirs: Vec<_> = lines.chunks(2).map(their_words).collect();
        // Functions that are the same code have several names, of which each tool chooses one; inlined ones have one.
        let is_same = ours.len() == theirs.len()
            && ours.last().map(|(_, line)| line) == theirs.last().map(|(_, line)| line)
            && ours.iter().zip(&theirs).rev().skip(1).all(|(ours, theirs)| ours == theirs);
        if !is_same {
            return Err(format!("symbols: {address:#x}: {RIVAL} says {theirs:?}, not {ours:?}"));
        }
    }
    Ok(())
}

/// The function, and its line.
fn words<'a>(frame: &Frame<'a>) -> (&'a str, u32) {
    (frame.linkage.or(frame.function).unwrap_or("??"), frame.line.map_or(0, |line| line.line))
}

/// The same of a line with the function, and one with `FILE:LINE:COLUMN`.
fn their_words<'a>(lines: &[&'a str]) -> (&'a str, u32) {
    let line = lines.get(1).and_then(|place| place.rsplit(':').nth(1)?.parse().ok());
    (lines.first().copied().unwrap_or("??"), line.unwrap_or(0))
}
