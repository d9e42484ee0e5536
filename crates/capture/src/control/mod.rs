//! Trace control: a condition says what is traced, and speaks of symbols and of events from outside.

mod events;
mod names;
mod qualified;
#[cfg(test)]
mod tests;

use tracewright_core::control::{self, Control, Plan, Problem};
use tracewright_hart::{Controlled, HartSink};
use tracewright_image::Image;

pub use self::events::EventList;
pub use self::names::near;
use self::names::{Anything, Known};
pub use self::qualified::Qualified;
use crate::error::Condition;
use crate::{Error, Remark};

/// A condition that is asked for; which addresses that is depends on the program.
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

    /// Parses a condition. Fails if it makes no sense whatever the program is.
    pub fn new(of: Condition, text: &str, events: EventList) -> Result<Self, Error> {
        let asked = Self { of, text: text.into(), events };
        match Plan::parse(text, &Anything(&asked.events)) {
            // That depends on where symbols are.
            Ok(_) | Err(control::Error { problem: Problem::Empty | Problem::Overflow, .. }) => Ok(asked),
            Err(error) => Err(asked.wrong(&error, None)),
        }
    }

    /// Returns the condition as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what it means for a program.
    pub fn plan(&self, image: &Image, remarks: &mut Vec<Remark>) -> Result<Plan, Error> {
        if self.text.is_empty() {
            return Ok(Plan::default());
        }
        let known = Known { image, events: &self.events };
        let plan = Plan::parse(&self.text, &known).map_err(|error| self.wrong(&error, Some(&known)))?;
        if plan.is_never() {
            remarks.push(Remark::Never(self.of, self.text.clone()));
        }
        Ok(plan)
    }

    /// Returns a sink that hands on to `inner` what qualifies.
    pub fn controlled<S: HartSink>(&self, plan: &Plan, inner: S) -> Controlled<S> {
        Controlled::new(Control::new(plan.clone()), inner).with_events(self.events.events())
    }

    fn wrong(&self, error: &control::Error<'_>, known: Option<&Known<'_>>) -> Error {
        let mut problem = error.to_string();
        match error.problem {
            Problem::Symbol(name) => {
                if let Some(near) = known.and_then(|known| known.near(name)) {
                    problem += &format!("; did you mean `{near}`?");
                }
            }
            Problem::Event(_) => problem += &self.events.known(),
            _ => {}
        }
        Error::Condition { of: self.of, problem, marked: error.shown(&self.text).to_string() }
    }
}
