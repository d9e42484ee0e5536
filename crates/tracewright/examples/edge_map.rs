//! Counts edges between blocks into a map of 64 KiB, as AFL's instrumentation does: coverage for a fuzzer, without instrumentation.
//!
//!     cargo run -p tracewright --example edge_map -- samples/etrace

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use tracewright::{At, Consumer, Element, Trace};

struct EdgeMap;

impl Consumer for EdgeMap {
    type State = Option<u64>; // where the last block of the source began
    type Output = Vec<u8>; // a counter for each edge

    fn element(&self, last: &mut Option<u64>, map: &mut Vec<u8>, _: &At<'_>, element: &Element) {
        let Element::Block(block) = element else { return };
        map.resize(1 << 16, 0);
        if let Some(last) = last.replace(block.start) {
            let edge = (last >> 1 ^ block.start).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
            map[edge as usize] = map[edge as usize].saturating_add(1);
        }
    }

    fn merge(&self, into: &mut Vec<u8>, later: Vec<u8>) {
        into.resize(into.len().max(later.len()), 0);
        into.iter_mut().zip(later).for_each(|(count, more)| *count = count.saturating_add(more));
    }

    fn in_order(&self) -> bool {
        true
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = Trace::open(std::env::args().nth(1).ok_or("usage: edge_map CAPTURE")?)?;
    let map = trace.decode(&EdgeMap)?.value;
    println!("{} of {} edges", map.iter().filter(|count| **count > 0).count(), map.len());
    Ok(())
}
