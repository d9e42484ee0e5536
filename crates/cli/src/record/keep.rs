//! What is written while a program runs: a log, a listing.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use tracewright_core::Block;
use tracewright_hart::log::own::Writer;
use tracewright_hart::{Access, Privilege, Retired, Retirements, Sink, Trap, cause};
use tracewright_isa::riscv::{AccessKind, Xlen, decode};

use super::{Details, Opts};
use crate::output::{Error, FileError, Form, Output};
use crate::stop::{Ending, ending};

/// Files that are written. It is told everything; who writes only blocks and is in a hurry uses the writer itself.
pub struct Keep {
    log: Option<Log>,
    listing: Option<(Listing, Rc<RefCell<Lines>>)>,
}

type Listing = Retirements<Box<dyn FnMut(&Retired)>>;

/// The lines of a listing, as far as they could be written.
struct Lines {
    out: Output,
    written: io::Result<()>,
}

/// What became of the files.
pub struct Kept {
    /// How long the log is.
    pub log_bytes: Option<u64>,
    /// Why the first file that failed did. The run ended then.
    pub failed: Option<Error>,
}

enum Log {
    Blocks(Writer<Ending<File>, false, false>),
    All(Writer<Ending<File>, true, true>),
    Cycles(Writer<Ending<File>, true, true, true>),
}

impl Keep {
    /// What the options ask for.
    pub fn new(opts: &Opts, xlen: Xlen) -> Result<Self, Error> {
        let log = match &opts.log {
            None => None,
            Some(path) => Some(log(opts, path, xlen).map_err(|error| FileError::wrap(path, error))?),
        };
        let listing = match &opts.listing {
            None => None,
            Some(path) => Some(listing(path, xlen, opts.listing_is_all())?),
        };
        Ok(Self { log, listing })
    }

    /// Takes instructions from `code`, for logs that do not tell them.
    pub fn with_code(mut self, code: impl FnMut(u64) -> Option<u32> + 'static) -> Self {
        self.listing = self.listing.map(|(listing, lines)| (listing.with_code(code), lines));
        self
    }

    /// Returns how many instructions the listing lacks, because nobody knew their code.
    pub fn unlisted(&self) -> u64 {
        self.listing.as_ref().map_or(0, |(listing, _)| listing.unknown())
    }

    /// Writes what is left.
    pub fn finish(self, opts: &Opts) -> Kept {
        let log = match self.log {
            None => None,
            Some(Log::Blocks(writer)) => Some(writer.finish()),
            Some(Log::All(writer)) => Some(writer.finish()),
            Some(Log::Cycles(writer)) => Some(writer.finish()),
        };
        let mut kept = Kept::of_log(opts, log);
        if let Some((_, lines)) = self.listing {
            let mut lines = lines.borrow_mut();
            let written = std::mem::replace(&mut lines.written, Ok(()));
            let flushed = written.and_then(|()| lines.out.flush());
            let failed = flushed.err().map(Error::from);
            // The reader of the listing has gone, and what else is written is whole.
            let failed = failed.filter(|error| opts.listing_is_all() || !error.is_broken_pipe());
            kept.failed = kept.failed.or(failed);
        }
        kept
    }
}

impl Kept {
    /// Returns what became of a log, if there is one.
    pub fn of_log(opts: &Opts, log: Option<io::Result<Ending<File>>>) -> Self {
        let len = log.map(|file| file.and_then(|Ending(file)| file.metadata()).map(|about| about.len()));
        match (len, &opts.log) {
            (Some(Err(error)), Some(path)) => {
                Self { log_bytes: None, failed: Some(FileError::wrap(path, error).into()) }
            }
            (len, _) => Self { log_bytes: len.and_then(Result::ok), failed: None },
        }
    }
}

fn log(opts: &Opts, path: &Path, xlen: Xlen) -> io::Result<Log> {
    let file = Ending(File::create(path)?);
    Ok(match (opts.details, opts.timing.is_some()) {
        (Details::Blocks, _) => Log::Blocks(Writer::new(file, xlen)?),
        (Details::All, false) => Log::All(Writer::new(file, xlen)?),
        (Details::All, true) => Log::Cycles(Writer::new(file, xlen)?),
    })
}

/// A line for each instruction: cycle, address, bits, text, memory access. When its reader goes, the run ends if nothing else is
/// written.
fn listing(path: &Path, xlen: Xlen, is_all: bool) -> Result<(Listing, Rc<RefCell<Lines>>), Error> {
    let lines = Rc::new(RefCell::new(Lines { out: Output::open(path, Form::Text)?, written: Ok(()) }));
    let to = Rc::clone(&lines);
    let take = move |retired: &Retired| {
        let Lines { out, written } = &mut *to.borrow_mut();
        if written.is_ok() {
            *written = match line(out, retired, xlen) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe && !is_all => Err(error),
                result => ending(result),
            };
        }
    };
    Ok((Retirements::new(Box::new(take)), lines))
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
        if let Some((listing, _)) = &mut self.listing {
            tell(listing);
        }
    }
}
