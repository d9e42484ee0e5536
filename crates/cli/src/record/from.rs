//! What others recorded: their logs, and ours.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

use tracewright_core::{Block, Isa};
use tracewright_hart::log::{self, Kind, csv, own, qemu, rvfi, spike};
use tracewright_hart::{Blocks, Retired, Sink, Stop};
use tracewright_image::Image;
use tracewright_isa::riscv::{Xlen, len};

use super::keep::Keep;
use super::pair::Pair;
use super::places::{self, Places};
use super::watch::Watch;
use super::{Opts, Ran, on};
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

type Sinks = Pair<Watch, Pair<Code, Keep>>;

/// Reads a log instead of running a program.
pub fn run(opts: &Opts, path: &Path) -> Result<Outcome, Error> {
    let file = File::open(path).map_err(|error| on(path, &error))?;
    let mut input = BufReader::with_capacity(1 << 20, file);
    let kind = log::detect(input.fill_buf().map_err(|error| on(path, &error))?);
    let Some(kind) = kind else {
        return Err(Error::Message(format!(
            "{}: no log of a kind that is known: tracewright's own, Spike's, CVA6's, QEMU's, or retirements as CSV",
            path.display()
        )));
    };
    let places = opts.program.as_deref().map(places::file);
    let xlen = if opts.rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
    let start = Instant::now();
    let (Pair(mut watch, Pair(code, keep)), error) = match kind {
        Kind::Own => {
            let mut reader = own::Reader::new(input).map_err(|error| message(path, &error))?;
            let mut sinks = sinks(opts, reader.header().xlen)?;
            let result = reader.read(&mut sinks);
            (sinks, result.err().map(|error| error.to_string()))
        }
        Kind::Spike => {
            let mut reader = spike::Reader::new(xlen, input);
            blocks(sinks(opts, xlen)?, xlen, || reader.next())
        }
        Kind::Rvfi => {
            let mut reader = rvfi::Reader::new(xlen, input);
            blocks(sinks(opts, xlen)?, xlen, || reader.next())
        }
        Kind::Csv => {
            let mut reader = csv::Reader::new(input);
            blocks(sinks(opts, xlen)?, xlen, || reader.next())
        }
        Kind::Qemu => {
            let Some(places) = &places else {
                return Err(Error::Message(format!(
                    "{}: QEMU's log tells only addresses: name the program that it ran, too",
                    path.display()
                )));
            };
            let mut reader = qemu::Reader::new(xlen, input, |pc| bits(places.image(), pc));
            blocks(sinks(opts, xlen)?, xlen, || reader.next())
        }
    };
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
    let places = places.unwrap_or_else(Places::none);
    ran.end(opts, xlen, error.is_none(), |pc| {
        code.by_address.get(&pc).copied().or_else(|| bits(places.image(), pc))
    })
}

fn message(path: &Path, error: &own::Error) -> Error {
    Error::Message(format!("{}: {error}", path.display()))
}

fn sinks(opts: &Opts, xlen: Xlen) -> Result<Sinks, Error> {
    Ok(Pair(Watch::new(), Pair(Code::default(), Keep::new(opts, xlen)?)))
}

/// All of a log; what was wrong with it.
fn blocks<E: ToString>(
    sinks: Sinks,
    xlen: Xlen,
    mut next: impl FnMut() -> Result<Option<Retired>, E>,
) -> (Sinks, Option<String>) {
    let mut blocks = Blocks::new(xlen, sinks);
    let error = loop {
        match next() {
            Ok(Some(retired)) => blocks.take(&retired),
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    (blocks.finish(), error)
}

/// The instruction at an address of the program.
fn bits(image: &Image, pc: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    let got = image.read_into(pc, tracewright_core::MemorySpace::ANY, &mut bytes);
    (got >= 2).then(|| u32::from_le_bytes(bytes)).filter(|bits| got == 4 || bits & 3 != 3)
}
