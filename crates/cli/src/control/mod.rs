//! Trace control from the command line: `--when`, and the events that it speaks of.

mod events;
mod names;
mod qualified;

use std::path::PathBuf;

use clap::Args;
use tracewright_core::control::{self, Control, Plan, Problem};
use tracewright_hart::{Controlled, Sink};
use tracewright_image::Image;

use self::events::EventList;
pub use self::names::near;
use self::names::{Anything, Known};
pub use self::qualified::Qualified;
use crate::output::{Error, report};

/// What is traced.
#[derive(Args)]
#[command(next_help_heading = "What is traced")]
pub struct ControlArgs {
    /// Trace only what is so: tests of pc, priv, context, thread, cause, exception, interrupt, isr, instruction, cycle and more with & | ! ( );
    /// `start at ADDR`, `stop at ADDR`, `start on EVENT`, `for N instructions`. Addresses may be symbols. The book has a chapter on it.
    #[arg(long, value_name = "TEXT")]
    when: Option<String>,

    /// An event for --when: it happens before this instruction, or in this cycle (repeat for more).
    #[arg(long = "event", value_name = "NAME@instruction=N|NAME@cycle=N")]
    events: Vec<String>,

    /// Events for --when, one on each line of this file.
    #[arg(long = "events", value_name = "FILE")]
    file: Option<PathBuf>,
}

/// What is asked for; which addresses that is depends on the program.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The option that says so.
    option: &'static str,
    text: String,
    events: EventList,
}

impl ControlArgs {
    /// Whether anything is asked for.
    pub fn is_given(&self) -> bool {
        self.when.is_some()
    }

    /// What is asked for, if anything. Fails if that makes no sense whatever the program is.
    pub fn asked(&self) -> Result<Option<Asked>, Error> {
        let Some(text) = &self.when else { return Ok(None) };
        Asked::new("--when", text, self.events()?).map(Some)
    }

    /// What a trigger is, which may speak of the same events.
    pub fn trigger(&self, text: &str) -> Result<Asked, Error> {
        Asked::new("--trigger", text, self.events()?)
    }

    fn events(&self) -> Result<EventList, Error> {
        EventList::new(&self.events, self.file.as_deref())
    }
}

impl Asked {
    /// Everything is traced.
    pub fn all() -> Self {
        Self { option: "--when", text: String::new(), events: EventList::default() }
    }

    fn new(option: &'static str, text: &str, events: EventList) -> Result<Self, Error> {
        let asked = Self { option, text: text.into(), events };
        match Plan::parse(text, &Anything(&asked.events)) {
            // That depends on where symbols are.
            Ok(_) | Err(control::Error { problem: Problem::Empty | Problem::Overflow, .. }) => Ok(asked),
            Err(error) => Err(asked.wrong(&error, None)),
        }
    }

    /// What it means for a program.
    pub fn plan(&self, image: &Image) -> Result<Plan, Error> {
        if self.text.is_empty() {
            return Ok(Plan::default());
        }
        let known = Known { image, events: &self.events };
        let plan = Plan::parse(&self.text, &known).map_err(|error| self.wrong(&error, Some(&known)))?;
        if plan.is_never() {
            report(&format!("{} {:?}: no instruction can ever be so", self.option, self.text));
        }
        Ok(plan)
    }

    /// Hands on to `inner` what qualifies.
    pub fn controlled<S: Sink>(&self, plan: &Plan, inner: S) -> Controlled<S> {
        Controlled::new(Control::new(plan.clone()), inner).with_events(self.events.events())
    }

    fn wrong(&self, error: &control::Error<'_>, known: Option<&Known<'_>>) -> Error {
        let mut message = format!("{}: {error}", self.option);
        match error.problem {
            Problem::Symbol(name) => {
                if let Some(near) = known.and_then(|known| known.near(name)) {
                    message += &format!("; did you mean `{near}`?");
                }
            }
            Problem::Event(_) => message += &self.events.known(),
            _ => {}
        }
        Error::Marked(message, error.shown(&self.text).to_string())
    }
}

#[cfg(test)]
mod tests;
