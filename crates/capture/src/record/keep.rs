//! Files that are written while a program runs: a log and a listing.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tracewright_hart::log::own::Writer;
use tracewright_hart::{
    Access, FirstErrorWriter, HartSink, RegisterWrite, Retired, Retirements, Trap, cause,
};
use tracewright_input::{OutputFile, OutputKind, Replace};
use tracewright_isa::riscv::{AccessKind, Xlen, decode};

use crate::Error;
use crate::sink::{DynSink, hart_calls};
use crate::stop::{Ending, StopFlag, ending};

/// Files that are written while a program runs, or a log is read.
#[derive(Debug, Default)]
pub struct Outputs {
    /// A log of what is executed, if requested.
    pub log: Option<LogOutput>,
    /// A line for each instruction that is executed, if requested.
    pub listing: Option<Listing>,
}

/// A log to write.
#[derive(Clone, Debug, Default)]
pub struct LogOutput {
    /// Its file.
    pub path: PathBuf,
    /// Outputs that it may replace.
    pub replace: Replace,
    /// Whether it has the bits and memory accesses of each instruction, and cycles where known. Otherwise it has blocks.
    pub has_all: bool,
}

impl LogOutput {
    /// Creates the file. What is written to it is kept, also if the run ends early.
    pub(crate) fn create(&self) -> Result<OutputFile, Error> {
        let file = OutputFile::create(&self.path, OutputKind::Log, self.replace);
        file.map(OutputFile::kept).map_err(|error| Error::write(&self.path, error))
    }

    /// Returns a log beside this one, with something added to its name.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "logs of processes that QEMU runs"))]
    pub(crate) fn beside(&self, ending: &str) -> Self {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        Self { path: name.into(), ..self.clone() }
    }
}

/// A listing to write.
pub struct Listing {
    /// Writer of its lines.
    pub to: Box<dyn Write>,
    /// Whether nothing else is written, so that the run ends when the listing's reader closes its end.
    pub is_all: bool,
}

/// A sink that writes the files. It asks for everything, and for registers where that is set: only listings have them. For a log of
/// blocks alone, the log's own writer is faster.
pub(super) struct Keep<const REGISTERS: bool = false> {
    log: Option<(Log, PathBuf)>,
    listing: Option<(Lister, Rc<RefCell<Lines>>)>,
}

type Lister = Retirements<Box<dyn FnMut(&Retired)>>;

/// The listing's writer.
struct Lines {
    out: FirstErrorWriter<Box<dyn Write>>,
    is_all: bool,
}

/// Result of writing the files.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Bytes of the log.
    pub log_bytes: Option<u64>,
    /// The first error, which ended the run.
    pub failed: Option<Error>,
}

/// The file of a log.
pub(super) type LogFile = Ending<OutputFile>;

enum Log {
    Blocks(Writer<LogFile, false, false>),
    All(Writer<LogFile, true, true>),
    Cycles(Writer<LogFile, true, true, true>),
}

impl<const REGISTERS: bool> Keep<REGISTERS> {
    /// Creates the requested files.
    pub fn new(outputs: Outputs, has_cycles: bool, xlen: Xlen, stop: &StopFlag) -> Result<Self, Error> {
        let log = match outputs.log {
            None => None,
            Some(asked) => {
                let file = Ending::new(asked.create()?, stop);
                let log = log(file, asked.has_all, has_cycles, xlen);
                Some((log.map_err(|error| Error::write(&asked.path, error))?, asked.path))
            }
        };
        Ok(Self { log, listing: outputs.listing.map(|to| listing(to, xlen, stop)) })
    }

    /// Takes the bits of instructions from `code`, for logs that lack them.
    pub fn with_code(mut self, code: impl FnMut(u64) -> Option<u32> + 'static) -> Self {
        self.listing = self.listing.map(|(listing, lines)| (listing.with_code(code), lines));
        self
    }

    /// Returns the number of instructions that the listing lacks, because their code is not known.
    pub fn unlisted(&self) -> u64 {
        self.listing.as_ref().map_or(0, |(listing, _)| listing.unknown())
    }

    /// Writes the rest, and returns the result.
    pub fn finish(self) -> Kept {
        let mut kept = match self.log {
            None => Kept::default(),
            Some((Log::Blocks(writer), path)) => Kept::of_log(&path, writer.finish()),
            Some((Log::All(writer), path)) => Kept::of_log(&path, writer.finish()),
            Some((Log::Cycles(writer), path)) => Kept::of_log(&path, writer.finish()),
        };
        if let Some((_, lines)) = self.listing {
            let mut lines = lines.borrow_mut();
            lines.out.write(Write::flush);
            let failed = std::mem::replace(&mut lines.out.failed, Ok(())).err();
            // If only the listing's reader has gone, the other files are complete.
            let failed = failed.filter(|error| lines.is_all || error.kind() != io::ErrorKind::BrokenPipe);
            kept.failed = kept.failed.or(failed.map(Error::Listing));
        }
        kept
    }
}

impl Kept {
    /// Returns the result of writing a log alone.
    pub fn of_log(path: &Path, log: io::Result<LogFile>) -> Self {
        match log.and_then(|mut file| file.to.finish()) {
            Ok(bytes) => Self { log_bytes: Some(bytes), failed: None },
            Err(error) => Self { log_bytes: None, failed: Some(Error::write(path, error)) },
        }
    }
}

fn log(file: LogFile, has_all: bool, has_cycles: bool, xlen: Xlen) -> io::Result<Log> {
    Ok(match (has_all, has_cycles) {
        (false, _) => Log::Blocks(Writer::new(file, xlen)?),
        (true, false) => Log::All(Writer::new(file, xlen)?),
        (true, true) => Log::Cycles(Writer::new(file, xlen)?),
    })
}

/// Returns a writer of a line for each instruction: cycle, address, bits, text, memory access, and the register that it wrote. When its reader
/// closes its end, the run ends if nothing else is written.
fn listing(to: Listing, xlen: Xlen, stop: &StopFlag) -> (Lister, Rc<RefCell<Lines>>) {
    let Listing { to: out, is_all } = to;
    let lines = Rc::new(RefCell::new(Lines { out: FirstErrorWriter::new(out), is_all }));
    let (to, stop) = (Rc::clone(&lines), StopFlag::clone(stop));
    let take = move |retired: &Retired| {
        to.borrow_mut().out.write(|out| match line(out, retired, xlen) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && !is_all => Err(error),
            result => ending(&stop, result),
        });
    };
    (Retirements::new(Box::new(take)), lines)
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
    let text = decode(xlen, retired.bits).text(retired.pc).xlen(xlen).to_string().replace('\t', " ");
    match retired.access.is_some() || retired.register.is_some() {
        true => write!(out, "{text:<24}")?,
        false => out.write_all(text.as_bytes())?,
    }
    if let Some(Access { kind, size, address, value, .. }) = retired.access {
        let arrow = match kind {
            AccessKind::Load => "->",
            AccessKind::Store => "<-",
            AccessKind::Amo => "<>",
        };
        write!(out, " {size} [{address:x}] {arrow} {value:x}")?;
    }
    if let Some(RegisterWrite { register, value, .. }) = retired.register {
        write!(out, " {register}={value:x}")?;
    }
    writeln!(out)
}

macro_rules! to_each {
    ($($call:ident($($name:ident: $type:ty),*) $(if $asked:ident)?,)*) => {
        impl<const REGISTERS: bool> HartSink for Keep<REGISTERS> {
            $($(const $asked: bool = true;)?)*
            const REGISTERS: bool = REGISTERS;

            fn register(&mut self, write: &RegisterWrite) {
                if let Some((listing, _)) = &mut self.listing {
                    listing.register(write);
                }
            }

            $(fn $call(&mut self, $($name: $type),*) {
                self.each(|sink| sink.$call($($name),*));
            })*
        }
    };
}

hart_calls!(to_each);

impl<const REGISTERS: bool> Keep<REGISTERS> {
    fn each(&mut self, mut tell: impl FnMut(&mut dyn DynSink)) {
        match &mut self.log {
            None => {}
            Some((Log::Blocks(writer), _)) => tell(writer),
            Some((Log::All(writer), _)) => tell(writer),
            Some((Log::Cycles(writer), _)) => tell(writer),
        }
        if let Some((listing, _)) = &mut self.listing {
            tell(listing);
        }
    }
}
