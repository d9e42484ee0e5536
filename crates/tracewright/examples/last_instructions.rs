//! Lists the last 20 instructions of each source of a capture: what ran before the end.
//!
//!     cargo run -p tracewright --example last_instructions -- samples/threads

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use tracewright::{Element, Trace, names};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: last_instructions CAPTURE")?;
    let trace = Trace::open(path)?;
    trace.problems().for_each(|problem| eprintln!("{problem}"));
    let last = trace.last(20)?;
    for source in &last.value {
        for listed in source.elements() {
            let Element::Block(block) = listed.element else { continue };
            for instruction in trace.instructions_of(&block, listed.space) {
                let (id, offset, address) = (source.id, listed.offset, instruction.address);
                let place = names::place(trace.image(), address, listed.space, 24);
                println!("{id:02x} {offset:#8x} {address:#18x}  {place:<24}  {}", instruction.text());
            }
        }
    }
    last.diagnostics.iter().for_each(|diagnostic| eprintln!("{diagnostic}"));
    Ok(())
}
