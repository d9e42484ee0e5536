//! `decode --check`: whether what a trace says ran is what a log says ran.
//!
//! Both are streams of [`Item`]s, of any length. Threads decode the trace into [records](Told), which a [`Checker`] takes in order; the
//! log is read on a thread of its own ([`Expected`]).

mod compare;
mod expected;
mod item;
mod report;

use std::ops::ControlFlow;

use tracewright_capture::log::bits;
use tracewright_core::{Element, Isa};
use tracewright_engine::{At, Consumer};
use tracewright_image::Image;
use tracewright_isa::riscv::len;

pub use self::compare::{Compare, Equal, Log, Parted};
pub use self::expected::{Expected, Knows};
pub use self::item::{Item, Told};

/// Makes records of what a decoder tells, for a [`Checker`].
pub struct Records {
    /// Of an Arm core.
    pub is_arm: bool,
}

impl Consumer for Records {
    type State = ();
    type Output = Vec<Told>;

    fn element(&self, _: &mut (), records: &mut Vec<Told>, at: &At<'_>, element: &Element) {
        if let Some(item) = Item::of(element, self.is_arm) {
            records.push(Told { offset: at.place.offset, item });
        }
    }

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

/// Items of the trace that are shown after the place where they part.
const AFTER: usize = 3;

/// Takes records and compares what they say with what is expected. After a difference it wants a few more, to show them.
pub struct Checker<'a> {
    compare: Compare<Expected>,
    image: &'a Image,
    isa: Isa,
    /// Where they part: offset in the trace file, and how.
    parted: Option<(u64, Parted)>,
    /// What the trace has from there on.
    after: Vec<Item>,
    last_offset: u64,
}

/// What checking came to.
#[derive(Debug)]
pub struct Checked {
    pub equal: Equal,
    /// Where they part: offset in the trace file, and how.
    pub parted: Option<(u64, Parted)>,
    /// What both ran last, what each has after that, for people.
    pub shown: String,
    /// Traps are those of an Arm core.
    pub is_arm: bool,
    /// Why the log could not be read to its end.
    pub log_error: Option<String>,
}

impl<'a> Checker<'a> {
    pub fn new(expected: Expected, log: Log, image: &'a Image, isa: Isa) -> Self {
        let compare = Compare::new(expected, log);
        Self { compare, image, isa, parted: None, after: Vec::new(), last_offset: 0 }
    }

    /// Compares records. Returns `Break` after a difference: decoding need not go on.
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
        if let Err(parted) = self.compare.take(told, length) {
            self.parted = Some((told.offset, parted));
            self.after.extend(self.compare.left);
        }
    }

    /// The trace ended. `prefix`: one of the two may end before the other.
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
        let equal = self.compare.equal;
        let log_error = self.compare.into_log().error;
        Checked { equal, parted: self.parted, shown, is_arm: self.isa.is_arm(), log_error }
    }
}

impl Checked {
    /// Whether they are equal as far as was asked for.
    pub fn is_equal(&self) -> bool {
        self.parted.is_none() && self.log_error.is_none()
    }
}
