//! What others recorded: their logs, and ours.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use tracewright_core::{Block, Isa};
use tracewright_hart::{Sink, Stop};
use tracewright_isa::riscv::{Xlen, len};

use super::keep::Keep;
use super::pair::Pair;
use super::places::{self, Places};
use super::watch::Watch;
use super::{Opts, Ran};
use crate::log::{Log, bits};
use crate::output::{Error, Outcome, report};

/// Code that was executed: the bits at each address.
#[derive(Default)]
pub struct Code {
    by_address: HashMap<u64, u32>,
    bits: Vec<u32>,
    xlen: Option<Xlen>,
}

impl Sink for Code {
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn block(&mut self, block: &Block) {
        self.xlen = Some(if block.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 });
        let mut pc = block.start;
        for bits in self.bits.drain(..) {
            self.by_address.insert(pc, bits);
            pc = pc.wrapping_add(len(bits as u16).into());
        }
    }
}

/// Reads a log instead of running a program.
pub fn run(opts: &Opts, path: &Path) -> Result<Outcome, Error> {
    let log = Log::open(path)?;
    log.check_program(opts.program.is_some())?;
    let places = opts.program.as_deref().map_or_else(Places::none, places::file);
    let xlen = log.xlen().unwrap_or(if opts.rv32 { Xlen::Rv32 } else { Xlen::Rv64 });
    let sinks = Pair(Watch::new(), Pair(Code::default(), Keep::new(opts, xlen)?));
    let start = Instant::now();
    let (Pair(mut watch, Pair(code, keep)), error) = log.read(xlen, places.image(), sinks);
    watch.finish();
    if let Some(error) = &error {
        report(&format!("{}: {error}", path.display()));
    }
    let log_bytes = keep.finish(opts)?;
    let instructions = watch.blocks.iter().map(|(block, count)| u64::from(block.count) * count).sum();
    let stop = if error.is_none() { Stop::Exit { status: 0 } } else { Stop::Limit };
    let seconds = start.elapsed().as_secs_f64();
    let ran = Ran { stop, watch, seconds, timing: None, log_bytes, instructions, pc: 0 };
    let xlen = code.xlen.unwrap_or(xlen);
    ran.end(opts, xlen, error.is_none(), |pc| {
        code.by_address.get(&pc).copied().or_else(|| bits(places.image(), pc))
    })
}
