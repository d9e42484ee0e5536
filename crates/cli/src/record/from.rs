//! What others recorded: their logs, and ours.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use tracewright_core::{Block, Isa};
use tracewright_hart::{Sink, Stop};
use tracewright_input::ImageFile;
use tracewright_isa::riscv::{Xlen, len};

use super::keep::Keep;
use super::pair::{Maybe, Pair};
use super::places::{self, Places};
use super::watch::Watch;
use super::{Controls, Opts, Qualified, Ran, grouped};
use crate::log::{Log, bits};
use crate::output::{Error, Outcome, report};

/// Code that was executed: the bits at each address.
#[derive(Default)]
pub struct Code {
    by_address: HashMap<u64, u32>,
    bits: Vec<u32>,
    xlen: Option<Xlen>,
}

impl Code {
    /// Two bytes of an instruction that was executed.
    pub fn halfword(&self, address: u64) -> Option<[u8; 2]> {
        let at = |address: u64| self.by_address.get(&address).map(|bits| bits.to_le_bytes());
        match (at(address), at(address.wrapping_sub(2))) {
            (Some([low, high, ..]), _) => Some([low, high]),
            // The upper half of the one before.
            (None, Some([low, _, third, fourth])) if low & 3 == 3 => Some([third, fourth]),
            _ => None,
        }
    }
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
    let mut log = Log::open(path)?;
    log.check_program(opts.program.is_some())?;
    log.check_riscv("record --from")?;
    match (opts.thread, log.threads()) {
        (Some(thread), _) => log.set_thread(thread)?,
        (None, Some(threads)) if threads.len() > 1 => {
            let (path, count) = (path.display(), threads.len());
            report(&format!(
                "{path}: the log has {count} threads, this is thread {} (--thread N)",
                threads[0]
            ));
        }
        (None, _) => {}
    }
    let places = opts.program.as_deref().map_or_else(Places::none, places::file);
    let xlen = log.xlen().unwrap_or(if opts.rv32 { Xlen::Rv32 } else { Xlen::Rv64 });
    let controls = Controls::new(opts, places.image())?;
    let delta = opts.delta.of_log(path, xlen, places.image())?;
    let programs: Vec<_> =
        opts.program.iter().map(|path| ImageFile { path: path.clone(), at: None }).collect();
    let (folder, tracer) = super::trace(opts, xlen, delta, &programs)?;
    let sinks = Pair(Watch::new(), Pair(Code::default(), Keep::new(opts, xlen)?.with_code(code_of(opts))));
    let start = Instant::now();
    let mut qualified = None;
    let (Pair(mut watch, Pair(code, keep)), tracer, error) = match (tracer, &controls) {
        (Some(tracer), Some(Controls { asked, plan, .. })) => {
            let tracer = asked.controlled(plan, tracer).with_code(code_of(opts));
            let (Pair(sinks, tracer), error) = log.read(xlen, places.image(), Pair(sinks, tracer));
            qualified = Some(Qualified::of(&tracer)).inspect(|qualified| qualified.warn(asked));
            (sinks, Some(tracer.inner), error)
        }
        (tracer, _) => {
            let (Pair(sinks, Maybe(tracer)), error) =
                log.read(xlen, places.image(), Pair(sinks, Maybe(tracer)));
            (sinks, tracer, error)
        }
    };
    watch.finish();
    let unlisted = keep.unlisted();
    let kept = keep.finish(opts);
    if let Some(error) = error.as_ref().filter(|_| kept.failed.is_none()) {
        report(&format!("{}: {error}", path.display()));
    }
    if unlisted > 0 {
        report(&format!(
            "the listing lacks {} instructions, whose code the log does not have: name the program that ran, or record with \
             --details all",
            grouped(unlisted)
        ));
    }
    let instructions = watch.blocks.iter().map(|(block, count)| u64::from(block.count) * count).sum();
    let stop = if error.is_none() { Stop::Exit { status: 0 } } else { Stop::Limit };
    let seconds = start.elapsed().as_secs_f64();
    let traced = match (folder, tracer) {
        (Some(folder), Some(tracer)) => {
            let blocks = watch.blocks.iter().map(|(block, _)| block);
            folder.finish(vec![tracer], &programs, blocks, |at| code.halfword(at))?.pop()
        }
        _ => None,
    };
    let is_good = error.is_none() && unlisted == 0 && traced.is_none_or(|traced| !traced.is_cut());
    let timing = None;
    let ran = Ran { stop, watch, seconds, timing, kept, traced, qualified, instructions, pc: 0 };
    let xlen = code.xlen.unwrap_or(xlen);
    ran.end(opts, xlen, is_good, |pc| code.by_address.get(&pc).copied().or_else(|| bits(places.image(), pc)))
}

/// The program's instructions, for logs that do not tell them.
fn code_of(opts: &Opts) -> impl FnMut(u64) -> Option<u32> + Send + 'static {
    let places = opts.program.as_deref().map_or_else(Places::none, places::file);
    move |pc| bits(places.image(), pc)
}
