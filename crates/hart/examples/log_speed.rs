//! Measures how fast our own log is written and read, and how large it is, on real traces:
//!
//! ```text
//! cargo run --release -p tracewright-hart --example log_speed -- 32|64 PC_TRACE.csv [DATA_TRACE.csv]
//! ```
//!
//! The traces are those of `shared/captures/riscv/etrace`, unpacked. They are repeated up to 100 million instructions,
//! since one is over before the clock has ticked. Repeated accesses have the same addresses and values, which favours
//! the log; so the size is that of the first repetition.
#![expect(clippy::print_stdout, reason = "it prints figures")]

use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader};
use std::time::Instant;

use tracewright_core::Block;
use tracewright_hart::log::own::{Reader, Writer};
use tracewright_hart::log::{self, Kind};
use tracewright_hart::{Access, Blocks, HartSink};
use tracewright_isa::riscv::{AccessKind, Xlen, decode};

/// Reports in few large pieces, so that replaying them costs next to nothing.
#[derive(Default)]
struct Run {
    blocks: Vec<(Block, usize, usize)>,
    bits: Vec<u32>,
    accesses: Vec<Access>,
    instructions: u64,
}

impl HartSink for Run {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;

    fn block(&mut self, block: &Block) {
        self.blocks.push((*block, self.bits.len(), self.accesses.len()));
        self.instructions += u64::from(block.count);
    }

    fn access(&mut self, access: &Access) {
        self.accesses.push(*access);
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }
}

impl Run {
    #[inline(always)]
    fn tell<S: HartSink>(&self, sink: &mut S) {
        let (mut bits, mut accesses) = (0, 0);
        for (block, bits_end, accesses_end) in &self.blocks {
            if S::INSTRUCTIONS {
                sink.instructions(&self.bits[bits..*bits_end]);
                bits = *bits_end;
            }
            if S::ACCESSES {
                self.accesses[accesses..*accesses_end].iter().for_each(|access| sink.access(access));
                accesses = *accesses_end;
            }
            sink.block(block);
        }
    }
}

/// Only counts.
#[derive(Default)]
struct Count<const ALL: bool>(u64);

impl<const ALL: bool> HartSink for Count<ALL> {
    const ACCESSES: bool = ALL;
    const INSTRUCTIONS: bool = ALL;

    fn block(&mut self, block: &Block) {
        self.0 += u64::from(block.count);
    }

    fn access(&mut self, access: &Access) {
        black_box(access.value);
    }

    fn instructions(&mut self, bits: &[u32]) {
        black_box(bits);
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let xlen = if arguments[1] == "32" { Xlen::Rv32 } else { Xlen::Rv64 };
    let mut data = arguments.get(3).map(|path| BufReader::new(File::open(path).unwrap()).lines().skip(1));
    let mut reader =
        log::Reader::new(Kind::Csv, xlen, BufReader::new(File::open(&arguments[2]).unwrap()), |_| None);
    let mut blocks = Blocks::new(xlen, Run::default());
    while let Some(mut retired) = reader.next().unwrap() {
        if retired.trap.is_none()
            && let Some((kind, size)) = decode(xlen, retired.bits).access()
            && let Some(Ok(line)) = data.as_mut().and_then(Iterator::next)
        {
            retired.access = Some(access(&line, kind, size));
        }
        blocks.take(&retired);
    }
    let run = blocks.finish();
    let count = run.instructions as f64;
    println!(
        "{}: {count} instructions, {:.2} a block, {:.3} accesses each",
        arguments[2],
        count / run.blocks.len() as f64,
        run.accesses.len() as f64 / count
    );
    measure::<false, false>("blocks", &run, xlen);
    measure::<false, true>("blocks, instructions", &run, xlen);
    if !run.accesses.is_empty() {
        measure::<true, false>("blocks, accesses", &run, xlen);
        measure::<true, true>("all", &run, xlen);
    }
}

/// Parses `DRETIRE,DTYPE,DADDR,DSIZE,DATA`.
fn access(line: &str, kind: AccessKind, size: u8) -> Access {
    let field = |at| u64::from_str_radix(line.split(',').nth(at).unwrap(), 16).unwrap();
    assert_eq!(1 << field(3), size, "{line}");
    let value = if size < 8 { field(4) & ((1 << (8 * size)) - 1) } else { field(4) };
    Access { index: 0, kind, size, address: field(2), value }
}

fn measure<const ACCESSES: bool, const INSTRUCTIONS: bool>(what: &str, run: &Run, xlen: Xlen) {
    let once = {
        let mut writer = Writer::<_, ACCESSES, INSTRUCTIONS, false>::new(Vec::new(), xlen).unwrap();
        run.tell(&mut writer);
        writer.finish().unwrap()
    };
    let times = 100_000_000_u64.div_ceil(run.instructions);
    let count = (times * run.instructions) as f64;

    let start = Instant::now();
    let mut writer = Writer::<_, ACCESSES, INSTRUCTIONS, false>::new(io::sink(), xlen).unwrap();
    (0..times).for_each(|_| run.tell(&mut writer));
    writer.finish().unwrap();
    let write = start.elapsed().as_secs_f64();

    let mut writer = Writer::<_, ACCESSES, INSTRUCTIONS, false>::new(Vec::new(), xlen).unwrap();
    (0..times.min(20)).for_each(|_| run.tell(&mut writer));
    let log = writer.finish().unwrap();
    let start = Instant::now();
    let mut sink = Count::<ACCESSES>::default();
    Reader::new(&log[..]).unwrap().read(&mut sink).unwrap();
    let read = start.elapsed().as_secs_f64();

    println!(
        "{what:>22}: {:.3} bits an instruction; {:.0} million instructions/s written, {:.0} read",
        8.0 * once.len() as f64 / run.instructions as f64,
        count / write / 1e6,
        sink.0 as f64 / read / 1e6
    );
}
