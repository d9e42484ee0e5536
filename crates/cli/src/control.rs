//! Trace control from the command line: `--when`, and the events that it speaks of.

use std::path::PathBuf;

use clap::Args;
use tracewright_capture::control::{ControlRequest, EventList};
use tracewright_capture::{Condition, Error};

/// What is traced.
#[derive(Args)]
#[command(next_help_heading = "What is traced")]
pub struct ControlArgs {
    /// Trace only what is so: tests of pc, priv, context, thread, cause, exception, interrupt, isr, instruction, cycle and more with & | ! ( );
    /// `start at ADDR`, `stop at ADDR`, `start on EVENT`, `for N instructions`. Addresses may be symbols. The book has a chapter on it.
    #[arg(long, value_name = "TEXT")]
    when: Option<String>,

    /// An event for --when: it happens before this instruction, or in this cycle (repeat for more).
    #[arg(long = "when-event", value_name = "NAME@instruction=N|NAME@cycle=N")]
    events: Vec<String>,

    /// Events for --when, one on each line of this file.
    #[arg(long = "when-events", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl ControlArgs {
    /// Whether anything is asked for.
    pub fn is_given(&self) -> bool {
        self.when.is_some()
    }

    /// What is asked for, if anything. Fails if that makes no sense whatever the program is.
    pub fn asked(&self) -> Result<Option<ControlRequest>, Error> {
        let Some(text) = &self.when else { return Ok(None) };
        ControlRequest::new(Condition::When, text, self.events()?).map(Some)
    }

    /// What a trigger is, which may speak of the same events.
    pub fn trigger(&self, text: &str) -> Result<ControlRequest, Error> {
        ControlRequest::new(Condition::Trigger, text, self.events()?)
    }

    fn events(&self) -> Result<EventList, Error> {
        EventList::new(&self.events, self.file.as_deref())
    }
}
