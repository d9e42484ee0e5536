//! Measures how fast a retirement log is read: `cargo run --release -p tracewright-qemu --example read_speed -- LOG [ROUNDS]`.
#![allow(clippy::print_stdout, reason = "this is what it is for")]

use std::path::Path;
use std::time::Instant;

use tracewright_core::Block;
use tracewright_hart::HartSink;
use tracewright_qemu::read::Log;

/// Counts, so that nothing can be optimised away.
#[derive(Default)]
struct Count<const INSTRUCTIONS: bool> {
    blocks: u64,
    sum: u64,
}

impl<const INSTRUCTIONS: bool> HartSink for Count<INSTRUCTIONS> {
    const INSTRUCTIONS: bool = INSTRUCTIONS;

    #[inline]
    fn block(&mut self, block: &Block) {
        self.blocks += 1;
        self.sum = self.sum.wrapping_add(block.start ^ block.ended as u64);
    }

    #[inline]
    fn instructions(&mut self, bits: &[u32]) {
        self.sum = self.sum.wrapping_add(bits.len() as u64);
    }
}

fn measure<S: HartSink + Default>(log: &mut Log, rounds: u32, name: &str, blocks: impl Fn(&S) -> u64) {
    let mut best = f64::MAX;
    let mut count = 0;
    for _ in 0..rounds {
        let mut sink = S::default();
        let start = Instant::now();
        for thread in log.threads().collect::<Vec<_>>() {
            if let Err(error) = log.read(thread, &mut sink) {
                println!("thread {thread}: {error}");
            }
        }
        best = best.min(start.elapsed().as_secs_f64());
        count = blocks(&sink);
    }
    println!("{name}: {count} blocks, {:.1} million blocks/s", count as f64 / best / 1e6);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a log")?;
    let rounds = arguments.next().map_or(Ok(5), |rounds| rounds.parse())?;
    let mut log = Log::open(Path::new(&path))?;
    measure::<Count<false>>(&mut log, rounds, "blocks", |count| count.blocks);
    measure::<Count<true>>(&mut log, rounds, "with instructions", |count| count.blocks);
    Ok(())
}
