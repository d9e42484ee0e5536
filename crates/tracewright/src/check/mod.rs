//! Compares the execution that a trace reports with the one that a log reports.
//!
//! Both are streams of [`Item`]s of any length. [`Records`] makes items of decoded elements, on all cores; a [`Checker`] takes them in
//! order and compares them with the log, which a thread of its own reads. [`Trace::check`](crate::Trace::check) does all of it.

mod code;
mod compare;
mod expected;
mod item;
mod report;
mod waits;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use tracewright_capture::log::{Log, bits};
use tracewright_capture::{StopFlag, retirement};
use tracewright_core::{Element, Isa, MemorySpace};
use tracewright_engine::{At, Consumer};
use tracewright_hart::log::Kind;
use tracewright_image::Image;
use tracewright_input::{Protocol, Source};
use tracewright_isa::riscv::{Xlen, len};

pub use self::code::LogCode;
use self::compare::{Compare, Traps};
pub use self::compare::{Equal, Parted};
use self::expected::{Expected, Knows};
pub use self::item::{Data, Item, Mode, Run, Told, Trap, Unknown};
pub use self::waits::Waits;
use crate::error::Error;
use crate::names;

/// Makes records of decoded elements, for a [`Checker`].
#[derive(Clone, Copy, Debug)]
pub struct Records {
    is_arm: bool,
    tells_level: bool,
}

impl Consumer for Records {
    type State = ();
    type Output = Vec<Told>;

    fn element(&self, _: &mut (), records: &mut Vec<Told>, at: &At<'_>, element: &Element) {
        if let Some(mut item) = Item::of(element, self.is_arm) {
            if let Item::Mode(mode) = &mut item
                && !self.tells_level
            {
                mode.privilege = mode.privilege.filter(|&level| level != 1);
            }
            records.push(Told { offset: at.place.offset, item });
        }
    }

    /// Output is taken piece by piece, in order: nothing is left to merge.
    fn merge(&self, _: &mut Vec<Told>, _: Vec<Told>) {}

    fn len(&self, records: &Vec<Told>) -> usize {
        records.len()
    }

    fn size(&self, records: &Vec<Told>) -> usize {
        size_of_val(&records[..])
    }

    fn clear(&self, records: &mut Vec<Told>) {
        records.clear();
    }
}

/// Returns the thread of a log of several threads whose trace a source is. Of an Arm core's trace, the core is the thread.
pub fn thread_of(source: &Source) -> Option<u32> {
    let core = source.core.as_ref().map(|(name, _)| name.as_str());
    retirement::thread_of(&source.name).or(core.and_then(retirement::thread_of))
}

/// Items of the trace that are shown after a difference.
const AFTER: usize = 3;

/// Compares records with a log. After a difference it takes a few more, to show them.
#[derive(Debug)]
pub struct Checker<'a> {
    compare: Compare<Expected>,
    image: &'a Image,
    isa: Isa,
    /// Whether contexts of the trace tell the level of privilege.
    tells_level: bool,
    /// First difference, with its offset in the trace file.
    parted: Option<(u64, Parted)>,
    /// Items of the trace after it.
    after: Vec<Item>,
    last_offset: u64,
    /// Waits that were passed over, if that is asked for.
    waits: Option<Waits>,
    /// What to do where no image has the code.
    no_bits: &'static str,
}

/// The result of a comparison.
#[derive(Debug)]
pub struct Checked {
    /// Totals of what is equal.
    pub equal: Equal,
    /// First difference between trace and log, with its offset in the trace file.
    pub parted: Option<(u64, Parted)>,
    /// Instructions before the difference, and those of each side after it, as text.
    pub shown: String,
    /// Waits that were passed over, and where each is, in words.
    pub waits: Waits,
    wait_places: Vec<(u64, u64, String)>,
    is_arm: bool,
    no_bits: &'static str,
    /// Code that is taken from the log, where no image has any ([`Trace::with_code_of_log`](crate::Trace::with_code_of_log)).
    pub code: Option<LogCode>,
    /// Instructions at the log's beginning that are not compared: no image has their code, and a log that can be read only once (a pipe)
    /// gives none.
    pub skipped: u64,
    /// Why the log could not be read to its end.
    pub log_error: Option<String>,
}

impl<'a> Checker<'a> {
    /// Opens a log of any kind to compare the trace of `source` with. `thread` selects a thread of a log that tells threads apart; without
    /// it, the first is compared.
    ///
    /// # Errors
    /// Fails if the log cannot be read, or is of another processor.
    pub fn of_log(
        path: &Path,
        thread: Option<u32>,
        source: &Source,
        image: &'a Arc<Image>,
    ) -> Result<Self, Error> {
        let mut log = Log::open(path, &StopFlag::default())?;
        if let Some(thread) = thread {
            log.set_thread(thread)?;
        }
        let isa = isa(source, &log, path)?;
        let xlen = if isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        let (traps, values) = match log.kind() {
            Kind::Qemu => (Traps::Missing, false),
            Kind::Rvfi | Kind::Retirement => (Traps::All, false),
            Kind::Own | Kind::Spike | Kind::Csv => (Traps::All, true),
        };
        let no_bits = if log.kind() == Kind::Retirement { report::CHANGED } else { report::NO_BITS };
        let context = match &source.protocol {
            Protocol::Etrace(source) => {
                u64::from(u32::MAX) & !u64::MAX.checked_shl(source.config.params.context_bits()).unwrap_or(0)
            }
            _ => u32::MAX.into(),
        };
        // Other logs report an atomic operation as a load and a store, or leave out values.
        let data = log.kind() == Kind::Own;
        let (exceptions, tells_level) = match &source.protocol {
            Protocol::Registered(params) => (params.of_log(), params.tells_level()),
            _ => ((|number| number) as fn(u16) -> u16, true),
        };
        let knows = Knows { values, interrupts: !isa.is_arm(), context, data, exceptions };
        let shared = Arc::clone(image);
        let expected = expected::read_ahead(knows, move |items| {
            log.read(xlen, &shared, items).1.error.map(|error| error.to_string())
        });
        let mut checker = Self::new(expected, traps, image, isa);
        checker.tells_level = tells_level;
        checker.no_bits = no_bits;
        checker.compare.may_skip = !code::can_be_read_again(path);
        Ok(checker)
    }

    fn new(expected: Expected, traps: Traps, image: &'a Image, isa: Isa) -> Self {
        let compare = Compare::new(expected, traps);
        Self {
            compare,
            image,
            isa,
            tells_level: true,
            parted: None,
            after: Vec::new(),
            last_offset: 0,
            waits: None,
            no_bits: report::NO_BITS,
        }
    }

    /// Passes over loops that only wait for memory to change, where trace and log differ in how often they turn: that depends on what
    /// changes the memory, such as a host. RISC-V only. [`Checked::waits`] says how often that was.
    #[must_use]
    pub fn pass_waits(mut self) -> Self {
        self.waits = Some(Waits::default());
        self
    }

    /// Returns the consumer that makes the records to compare.
    pub fn records(&self) -> Records {
        Records { is_arm: self.isa.is_arm(), tells_level: self.tells_level }
    }

    /// Compares records. Returns `Break` when decoding need not go on, after a difference.
    pub fn take(&mut self, records: &[Told]) -> ControlFlow<()> {
        for told in records {
            if self.parted.is_some() && self.after.len() >= AFTER {
                return ControlFlow::Break(());
            }
            self.record(told);
        }
        ControlFlow::Continue(())
    }

    fn record(&mut self, told: &Told) {
        self.last_offset = told.offset;
        if self.parted.is_some() {
            self.after.push(told.item);
            return;
        }
        let image = self.image;
        let length = |pc| bits(image, pc).map_or(4, |bits| len(bits as u16).into());
        if let Err(parted) = self.compare.take(told, length)
            && !self.passes(parted)
        {
            self.parted = Some((told.offset, parted));
            self.after.extend(self.compare.left);
        }
    }

    /// Returns whether a difference is one of a wait, which is passed over.
    #[cold]
    fn passes(&mut self, parted: Parted) -> bool {
        let Parted::Branch { at, taken_in_trace } = parted else { return false };
        let Some(waits) = self.waits.as_mut().filter(|_| !self.isa.is_arm()) else { return false };
        let xlen = if self.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        let Some(start) = waits::start_of_wait(self.image, xlen, at) else { return false };
        let end = at + bits(self.image, at).map_or(4, |bits| u64::from(len(bits as u16)));
        let has_passed = self.compare.pass_wait((start, end), taken_in_trace);
        if has_passed {
            waits.add(at);
        }
        has_passed
    }

    /// Ends the trace. With `prefix`, one of the two may end before the other.
    pub fn finish(mut self, prefix: bool) -> Checked {
        if self.parted.is_none()
            && let Err(parted) = self.compare.end()
        {
            self.parted = Some((self.last_offset, parted));
        }
        if prefix {
            self.parted = self.parted.filter(|(_, how)| !matches!(how, Parted::TraceEnds | Parted::LogEnds));
        }
        let shown = match &self.parted {
            None => String::new(),
            Some(_) => {
                let log: Vec<_> = self.compare.log().take(AFTER).collect();
                report::Side { image: self.image, isa: self.isa }.show(&self.compare.last, &self.after, &log)
            }
        };
        let (equal, skipped) = (self.compare.equal, self.compare.skipped);
        let waits = Waits { rounds: self.compare.wait_rounds, ..self.waits.unwrap_or_default() };
        let place = |(&at, &times)| (at, times, names::place(self.image, at, MemorySpace::ANY, 40));
        let wait_places = waits.places.iter().map(place).collect();
        let log_error = expected::error(self.compare.into_log());
        Checked {
            equal,
            parted: self.parted,
            shown,
            waits,
            wait_places,
            is_arm: self.isa.is_arm(),
            no_bits: self.no_bits,
            code: None,
            skipped,
            log_error,
        }
    }
}

impl Checked {
    /// Says that code of the log was used.
    #[must_use]
    pub fn with_code(self, code: LogCode) -> Self {
        Self { code: Some(code), ..self }
    }

    /// Returns whether the comparison ended where no image has the code.
    pub fn lacks_code(&self) -> bool {
        matches!(self.parted, Some((_, Parted::Unknown(Unknown::NoCode))))
    }

    /// Returns whether no difference was found, the log could be read, and nothing of it was skipped.
    pub fn is_equal(&self) -> bool {
        self.parted.is_none() && self.skipped == 0 && self.log_error.is_none()
    }
}

/// Returns the instruction set of a source; fails if the log is of another processor.
fn isa(source: &Source, log: &Log, path: &Path) -> Result<Isa, Error> {
    let other = |what: String| Error::OtherProcessor { log: path.to_owned(), what };
    if let Some(isa) = source.riscv_isa() {
        log.check_riscv("this trace")?;
        let xlen = if isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        let is_other = log.xlen().is_some_and(|of_log| of_log != xlen);
        return if is_other { Err(other(isa.to_string())) } else { Ok(isa) };
    }
    match &source.protocol {
        Protocol::Registered(_) if crate::log::isa(source).is_some_and(|isa| !isa.is_arm()) => {
            log.check_riscv("this log")?;
            let isa = crate::log::isa(source).unwrap_or(Isa::Rv64);
            let of_log = log.xlen().map(|xlen| if xlen == Xlen::Rv32 { Isa::Rv32 } else { Isa::Rv64 });
            if of_log.is_some_and(|of_log| of_log != isa) { Err(other(isa.to_string())) } else { Ok(isa) }
        }
        _ => log.arm_isa().ok_or_else(|| match log.kind() {
            Kind::Qemu => Error::RiscvLog(path.to_owned(), "QEMU"),
            Kind::Spike => Error::RiscvLog(path.to_owned(), "Spike"),
            Kind::Rvfi => Error::RiscvLog(path.to_owned(), "CVA6"),
            _ => other("an Arm core".into()),
        }),
    }
}
