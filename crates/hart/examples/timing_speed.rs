//! How fast the timing model is: `cargo run --release -p tracewright-hart --example timing_speed`.
//!
//! A made-up program of 3,000 blocks with the mix of a compiled one (a third loads and stores, some products, branches that
//! are taken three times in four), run over and over. The model alone: nothing is executed.

#![allow(clippy::print_stdout, reason = "it is what it is for")]

use std::time::Instant;

use tracewright_core::{Block, Ended, Isa};
use tracewright_hart::Access;
use tracewright_hart::timing::{Config, Model};
use tracewright_isa::riscv::{self, AccessKind, Xlen};
use tracewright_testkit::Rng;

fn instruction(rng: &mut Rng) -> (u32, Option<AccessKind>) {
    let [rd, rs1, rs2] = [(); 3].map(|()| rng.below(31) as u32 + 1);
    let fields = rs2 << 20 | rs1 << 15 | rd << 7;
    match rng.below(20) {
        0..=4 => (fields | 3 << 12 | 0x03, Some(AccessKind::Load)),
        5..=6 => (fields | 3 << 12 | 0x23, Some(AccessKind::Store)),
        7 => (1 << 25 | fields | 0x33, None),
        8..=12 => (rd << 7 | 1 << 2 | 1, None),
        _ => (fields | 0x13, None),
    }
}

fn main() {
    let mut rng = Rng::new(1);
    let mut pc = 0x1_0000;
    let mut blocks = Vec::new();
    for _ in 0..3_000 {
        let (mut bits, mut accesses) = (Vec::new(), Vec::new());
        for index in 0..1 + rng.below(9) as u32 {
            let (word, kind) = instruction(&mut rng);
            bits.push(word);
            let address = 0x8_0000 + rng.below(4_000) * 8;
            accesses.extend(kind.map(|kind| Access { index, kind, size: 8, address, value: 0 }));
        }
        bits.push(0xfe00_1ee3);
        let end = pc + bits.iter().map(|&bits| u64::from(riscv::len(bits as u16))).sum::<u64>();
        let class = riscv::decode(Xlen::Rv64, 0xfe00_1ee3).class();
        let ended = if rng.one_in(4) { Ended::NotTaken } else { Ended::Taken };
        let count = bits.len() as u32;
        blocks.push((
            Block { start: pc, end, count, isa: Isa::Rv64, last_len: 4, class, ended },
            bits,
            accesses,
        ));
        pc = end;
    }
    for name in Config::preset_names().skip(1) {
        let mut model =
            Model::new(&Config::preset(name).expect("it has this name")).expect("presets are good");
        let mut cycles = Vec::new();
        let start = Instant::now();
        for _ in 0..1_000 {
            for (block, bits, accesses) in &blocks {
                cycles.clear();
                model.block(block, bits, accesses, &mut cycles);
            }
        }
        let rate = model.stats().instructions as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{name}: {rate:.1} million instructions a second\n{}", model.stats());
    }
}
