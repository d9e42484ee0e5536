//! What is written while a program runs: a log, a listing.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tracewright_core::Block;
use tracewright_hart::log::own::Writer;
use tracewright_hart::{Access, Privilege, Retired, Retirements, Sink, Trap, cause};
use tracewright_isa::riscv::{AccessKind, Xlen, decode};

use super::{Details, Opts, on};
use crate::output::Error;

/// Files that are written. It is told everything; who writes only blocks and is in a hurry uses the writer itself.
pub struct Keep {
    log: Option<Log>,
    listing: Option<Listing>,
}

type Listing = Retirements<Box<dyn FnMut(&Retired)>>;

enum Log {
    Blocks(Writer<File, false, false>),
    All(Writer<File, true, true>),
    Cycles(Writer<File, true, true, true>),
}

impl Keep {
    /// What the options ask for.
    pub fn new(opts: &Opts, xlen: Xlen) -> Result<Self, Error> {
        let log = match &opts.log {
            None => None,
            Some(path) => Some(log(opts, path, xlen).map_err(|error| on(path, &error))?),
        };
        let listing = match &opts.listing {
            None => None,
            Some(path) => Some(listing(path, xlen).map_err(|error| on(path, &error))?),
        };
        Ok(Self { log, listing })
    }

    /// Takes instructions from `code`, for logs that do not tell them.
    pub fn with_code(mut self, code: impl FnMut(u64) -> Option<u32> + 'static) -> Self {
        self.listing = self.listing.map(|listing| listing.with_code(code));
        self
    }

    /// Returns how many instructions the listing lacks, because nobody knew their code.
    pub fn unlisted(&self) -> u64 {
        self.listing.as_ref().map_or(0, Retirements::unknown)
    }

    /// Writes what is left. Returns how long the log is.
    pub fn finish(self, opts: &Opts) -> Result<Option<u64>, Error> {
        let Some(path) = &opts.log else { return Ok(None) };
        let file = match self.log {
            None => return Ok(None),
            Some(Log::Blocks(writer)) => writer.finish(),
            Some(Log::All(writer)) => writer.finish(),
            Some(Log::Cycles(writer)) => writer.finish(),
        };
        file.and_then(|file| file.metadata())
            .map(|metadata| Some(metadata.len()))
            .map_err(|error| on(path, &error))
    }
}

fn log(opts: &Opts, path: &Path, xlen: Xlen) -> io::Result<Log> {
    let file = File::create(path)?;
    Ok(match (opts.details, opts.timing.is_some()) {
        (Details::Blocks, _) => Log::Blocks(Writer::new(file, xlen)?),
        (Details::All, false) => Log::All(Writer::new(file, xlen)?),
        (Details::All, true) => Log::Cycles(Writer::new(file, xlen)?),
    })
}

/// A line for each instruction: cycle, address, bits, text, memory access.
fn listing(path: &Path, xlen: Xlen) -> io::Result<Listing> {
    let out: Box<dyn Write> =
        if path == Path::new("-") { Box::new(io::stdout()) } else { Box::new(File::create(path)?) };
    let mut out = BufWriter::new(out);
    // What cannot be written is not told: who reads it has gone.
    Ok(Retirements::new(Box::new(move |retired| drop(line(&mut out, retired, xlen)))))
}

fn line(out: &mut impl Write, retired: &Retired, xlen: Xlen) -> io::Result<()> {
    if let Some(cycle) = retired.cycle {
        write!(out, "{cycle:>10} ")?;
    }
    write!(out, "{:>8x}  ", retired.pc)?;
    if let Some(Trap { cause, interrupt, value, next, .. }) = retired.trap {
        let what = cause::describe(cause, interrupt);
        return writeln!(out, "-- {what} (cause {cause}, value {value:#x}), goes on at {next:#x}");
    }
    match retired.len {
        0 => return writeln!(out, "-- the code from here to the end of the block is not known"),
        2 => write!(out, "    {:04x}  ", retired.bits)?,
        _ => write!(out, "{:08x}  ", retired.bits)?,
    }
    let text = decode(xlen, retired.bits).text(retired.pc).xlen(xlen).to_string();
    match retired.access {
        None => writeln!(out, "{}", text.replace('\t', " ")),
        Some(Access { kind, size, address, value, .. }) => {
            let arrow = match kind {
                AccessKind::Load => "->",
                AccessKind::Store => "<-",
                AccessKind::Amo => "<>",
            };
            writeln!(out, "{:<24} {size} [{address:x}] {arrow} {value:x}", text.replace('\t', " "))
        }
    }
}

impl Sink for Keep {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        self.each(|sink| sink.block(block));
    }

    fn access(&mut self, access: &Access) {
        self.each(|sink| sink.access(access));
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.each(|sink| sink.instructions(bits));
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.each(|sink| sink.cycles(cycles));
    }

    fn trap(&mut self, trap: &Trap) {
        self.each(|sink| sink.trap(trap));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.each(|sink| sink.privilege(privilege));
    }

    fn context(&mut self, context: u64) {
        self.each(|sink| sink.context(context));
    }

    fn lost(&mut self) {
        self.each(|sink| sink.lost());
    }
}

/// What all sinks have, whatever they ask for.
trait AnySink {
    fn block(&mut self, block: &Block);
    fn access(&mut self, access: &Access);
    fn instructions(&mut self, bits: &[u32]);
    fn cycles(&mut self, cycles: &[u64]);
    fn trap(&mut self, trap: &Trap);
    fn privilege(&mut self, privilege: Privilege);
    fn context(&mut self, context: u64);
    fn lost(&mut self);
}

impl<S: Sink> AnySink for S {
    fn block(&mut self, block: &Block) {
        Sink::block(self, block);
    }

    fn access(&mut self, access: &Access) {
        if S::ACCESSES {
            Sink::access(self, access);
        }
    }

    fn instructions(&mut self, bits: &[u32]) {
        if S::INSTRUCTIONS {
            Sink::instructions(self, bits);
        }
    }

    fn cycles(&mut self, cycles: &[u64]) {
        if S::CYCLES {
            Sink::cycles(self, cycles);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        Sink::trap(self, trap);
    }

    fn privilege(&mut self, privilege: Privilege) {
        Sink::privilege(self, privilege);
    }

    fn context(&mut self, context: u64) {
        Sink::context(self, context);
    }

    fn lost(&mut self) {
        Sink::lost(self);
    }
}

impl Keep {
    fn each(&mut self, mut tell: impl FnMut(&mut dyn AnySink)) {
        match &mut self.log {
            None => {}
            Some(Log::Blocks(writer)) => tell(writer),
            Some(Log::All(writer)) => tell(writer),
            Some(Log::Cycles(writer)) => tell(writer),
        }
        if let Some(listing) = &mut self.listing {
            tell(listing);
        }
    }
}
