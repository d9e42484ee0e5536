//! Lists the last 20 instructions of each source of a capture: what ran before the end.
//!
//!     cargo run -p tracewright --example last_instructions -- samples/threads

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::collections::{BTreeMap, VecDeque};

use tracewright::{Trace, names};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: last_instructions CAPTURE")?;
    let trace = Trace::open(path)?;
    trace.problems().for_each(|problem| eprintln!("{problem}"));
    let mut last: BTreeMap<u16, VecDeque<_>> = BTreeMap::new();
    let mut instructions = trace.instructions();
    for instruction in &mut instructions {
        let of_source = last.entry(instruction.id).or_default();
        if of_source.len() == 20 {
            of_source.pop_front();
        }
        of_source.push_back(instruction);
    }
    for instruction in last.into_values().flatten() {
        let (id, offset, address) = (instruction.id, instruction.offset, instruction.value.address);
        let place = names::place(trace.image(), address, instruction.space, 24);
        println!("{id:02x} {offset:#8x} {address:#18x}  {place:<24}  {}", instruction.value.text());
    }
    for diagnostic in instructions.finish()?.diagnostics {
        eprintln!("{diagnostic}");
    }
    Ok(())
}
