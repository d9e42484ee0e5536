//! The timing model at work: `cargo run --release -p tracewright-hart --example timing [PROGRAM [ARGUMENT...]]`.
//!
//! With a program: what each preset makes of it, and how fast. Without: how fast the model alone is, on a made-up
//! program with the mix of a compiled one (a third loads and stores, some products, branches that are taken three
//! times in four), run over and over: once small enough for all caches, once too large for them and for the table of
//! decoded instructions.

#![allow(clippy::print_stdout, reason = "it is what it is for")]

use std::ffi::OsString;
use std::time::Instant;

use tracewright_core::{Block, Ended, Isa};
use tracewright_hart::Access;
#[cfg(unix)]
use tracewright_hart::Hart;
#[cfg(unix)]
use tracewright_hart::linux::{Linux, Options};
#[cfg(unix)]
use tracewright_hart::timing::Timed;
use tracewright_hart::timing::{Config, Model};
use tracewright_isa::riscv::{self, AccessKind, Xlen};
use tracewright_testkit::Rng;

/// BNE backward.
const BRANCH: u32 = 0xfe00_1ee3;

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

/// What a model is told of a block.
type Told = (Block, Vec<u32>, Vec<Access>);

fn program(blocks: u64, data: u64) -> Vec<Told> {
    let mut rng = Rng::new(1);
    let mut pc = 0x1_0000;
    let block = |_| {
        let (mut bits, mut accesses) = (Vec::new(), Vec::new());
        for index in 0..1 + rng.below(9) as u32 {
            let (word, kind) = instruction(&mut rng);
            bits.push(word);
            let address = 0x8_0000 + rng.below(data / 8) * 8;
            accesses.extend(kind.map(|kind| Access { index, kind, size: 8, address, value: 0 }));
        }
        bits.push(BRANCH);
        let start = pc;
        pc += bits.iter().map(|&bits| u64::from(riscv::len(bits as u16))).sum::<u64>();
        let class = riscv::decode(Xlen::Rv64, BRANCH).class();
        let ended = if rng.one_in(4) { Ended::NotTaken } else { Ended::Taken };
        let count = bits.len() as u32;
        (Block { start, end: pc, count, isa: Isa::Rv64, last_len: 4, class, ended }, bits, accesses)
    };
    (0..blocks).map(block).collect()
}

/// The model alone.
fn made_up() {
    for (size, blocks, data) in [("small", 300, 8 << 10), ("large", 3_000, 64 << 10)] {
        let program = program(blocks, data);
        for name in Config::preset_names().skip(1) {
            let config = Config::preset(name).expect("it has this name");
            let mut model = Model::new(&config).expect("presets are good");
            let mut cycles = Vec::new();
            let start = Instant::now();
            while model.stats().instructions < 20_000_000 {
                for (block, bits, accesses) in &program {
                    cycles.clear();
                    model.block(block, bits, accesses, &mut cycles);
                }
            }
            let rate = model.stats().instructions as f64 / start.elapsed().as_secs_f64() / 1e6;
            let cpi = model.stats().cpi();
            println!("{size} {name:<12} {rate:>6.1} million instructions a second, {cpi:.2} cycles each");
        }
    }
}

/// A real program, as a user of Linux.
#[cfg(unix)]
fn real(arguments: &[OsString]) {
    let load = || {
        let options = Options { arguments: arguments.to_vec(), ..Options::default() };
        let (core, linux) =
            Linux::load(arguments[0].as_ref(), options).expect("a program that can be loaded");
        Hart::new(core, linux)
    };
    let start = Instant::now();
    let mut hart = load();
    hart.run(u64::MAX, &mut ());
    let rate = hart.core.instret as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("untimed: {rate:.1} million instructions a second\n");
    for name in Config::preset_names().skip(1) {
        let config = Config::preset(name).expect("it has this name");
        let mut timed = Timed::new(Model::new(&config).expect("presets are good"), ());
        let start = Instant::now();
        load().run(u64::MAX, &mut timed);
        let stats = timed.model.stats();
        let rate = stats.instructions as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{name}: {rate:.1} million instructions a second\n{stats}");
    }
}

#[cfg(not(unix))]
fn real(_: &[OsString]) {
    println!("programs are run on Unix only");
}

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.is_empty() { made_up() } else { real(&arguments) }
}
