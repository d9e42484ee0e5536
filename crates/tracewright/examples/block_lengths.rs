//! A consumer of one's own, on all cores: how long blocks are.
//!
//!     cargo run -p tracewright --example block_lengths -- samples/etrace

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::collections::BTreeMap;

use tracewright::{At, Consumer, Element, Trace};

struct BlockLengths;

impl Consumer for BlockLengths {
    type State = ();
    type Output = BTreeMap<u32, u64>;

    fn element(&self, _: &mut (), lengths: &mut BTreeMap<u32, u64>, _: &At<'_>, element: &Element) {
        if let Element::Block(block) = element {
            *lengths.entry(block.count).or_default() += 1;
        }
    }

    fn merge(&self, into: &mut BTreeMap<u32, u64>, later: BTreeMap<u32, u64>) {
        later.into_iter().for_each(|(length, count)| *into.entry(length).or_default() += count);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = Trace::open(std::env::args().nth(1).ok_or("usage: block_lengths CAPTURE")?)?;
    let outcome = trace.decode(&BlockLengths)?;
    for (length, count) in &outcome.value {
        println!("{length:>4} instructions: {count} blocks");
    }
    Ok(())
}
