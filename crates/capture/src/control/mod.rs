//! Trace control: a condition on symbols, events and more decides what is traced.

mod events;
mod near;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tracewright_core::control::{self, Control, Names, Plan, Problem};
use tracewright_hart::{Controlled, HartSink};
use tracewright_image::Image;

pub use self::events::EventList;
pub use self::near::near;
use crate::error::Condition;
use crate::{Error, Remark};

/// A requested condition. The addresses of its symbols depend on the program.
#[derive(Clone, Debug)]
pub struct ControlRequest {
    of: Condition,
    text: String,
    events: EventList,
}

impl ControlRequest {
    /// Returns the condition that everything meets.
    pub fn all() -> Self {
        Self { of: Condition::When, text: String::new(), events: EventList::default() }
    }

    /// Parses a condition. Fails if no program could make it valid.
    pub fn new(of: Condition, text: &str, events: EventList) -> Result<Self, Error> {
        let asked = Self { of, text: text.into(), events };
        match Plan::parse(text, &Known { image: None, events: &asked.events }) {
            // These depend on the addresses of symbols.
            Ok(_) | Err(control::Error { problem: Problem::Empty | Problem::Overflow, .. }) => Ok(asked),
            Err(error) => Err(asked.wrong(&error, None)),
        }
    }

    /// Returns the condition as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Resolves the condition for a program. Adds a remark if no instruction can meet it.
    pub fn plan(&self, image: &Image, remarks: &mut Vec<Remark>) -> Result<Plan, Error> {
        if self.text.is_empty() {
            return Ok(Plan::default());
        }
        let known = Known { image: Some(image), events: &self.events };
        let plan = Plan::parse(&self.text, &known).map_err(|error| self.wrong(&error, Some(image)))?;
        if plan.is_never() {
            remarks.push(Remark::Never(self.of, self.text.clone()));
        }
        Ok(plan)
    }

    /// Returns a sink that forwards to `inner` what qualifies.
    pub fn controlled<S: HartSink>(&self, plan: &Plan, inner: S) -> Controlled<S> {
        Controlled::new(Control::new(plan.clone()), inner).with_events(self.events.events())
    }

    fn wrong(&self, error: &control::Error<'_>, image: Option<&Image>) -> Error {
        let mut problem = error.to_string();
        match error.problem {
            Problem::Symbol(name) => {
                if let Some(near) = image.and_then(|image| near(image, name)) {
                    problem += &format!("; did you mean `{near}`?");
                }
            }
            Problem::Event(_) => problem += &self.events.known(),
            _ => {}
        }
        Error::Condition { of: self.of, problem, marked: error.shown(&self.text).to_string() }
    }
}

/// Resolves the names in a condition. Before the program is known, any name is taken for a symbol.
struct Known<'a> {
    image: Option<&'a Image>,
    events: &'a EventList,
}

impl Names for Known<'_> {
    fn symbol(&self, name: &str) -> Option<Range<u64>> {
        let Some(image) = self.image else { return Some(0..0) };
        let range = image.symbols().resolve(name)?;
        // The lowest bit only marks T32 code.
        Some(range.start & !1..range.end)
    }

    fn event(&self, name: &str) -> Option<u8> {
        self.events.number(name)
    }
}

/// Instructions that qualified, of one thread or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qualified {
    /// Instructions that ran.
    pub seen: u64,
    /// Instructions that qualified.
    pub qualified: u64,
    /// Number of times that tracing started.
    starts: u64,
    left_out: u64,
}

impl Qualified {
    /// Returns what qualified of one thread so far.
    pub fn of<S: HartSink>(controlled: &Controlled<S>) -> Self {
        let control = controlled.control();
        Self {
            seen: control.seen(),
            qualified: control.qualified(),
            starts: control.starts(),
            left_out: controlled.left_out(),
        }
    }

    /// Adds another thread.
    pub fn add(&mut self, other: &Self) {
        self.seen += other.seen;
        self.qualified += other.qualified;
        self.starts += other.starts;
        self.left_out += other.left_out;
    }

    /// Adds remarks if nothing was traced, or if instructions were left out.
    pub fn remark(&self, asked: &ControlRequest, remarks: &mut Vec<Remark>) {
        if self.qualified == 0 && self.seen > 0 {
            let (when, has_started) = (asked.text.clone(), self.starts > 0);
            remarks.push(Remark::NothingTraced { when, has_started, ran: self.seen });
        }
        if self.left_out > 0 {
            remarks.push(Remark::LeftOut(self.left_out));
        }
    }
}
