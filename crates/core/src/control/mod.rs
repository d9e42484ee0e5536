//! Trace control: decides which instructions are traced.
//!
//! A [`Plan`] says what to trace. [`Plan::parse`] reads it from a line of text in the language of `book/src/control.md`.
//! A [`Control`] runs a plan: it follows execution and returns whether the next instruction qualifies, and for how
//! long that decision holds, so that whole blocks can be decided at once.
//!
//! Nothing here allocates. As in hardware, the number of comparators is fixed.
//!
//! ```
//! use tracewright_core::control::{Control, NoNames, Plan};
//!
//! let plan = Plan::parse("priv = u & pc in 0x1000..0x2000", &NoNames).unwrap();
//! let mut control = Control::new(plan);
//! control.privilege(0);
//! let verdict = control.decide(0x1ff0);
//! assert!(verdict.qualifies);
//! // The decision holds up to this address.
//! assert_eq!(verdict.window.pc.1, 0x1fff);
//! ```

mod decide;
mod error;
mod expression;
mod field;
mod parse;
mod token;

pub use decide::{Control, Handler, Verdict};
pub use error::{Error, Expected, Problem};
pub use expression::{Comparator, Expression, Window};
pub use field::Field;
pub use parse::{Names, NoNames};

/// A description of which instructions are traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Condition for an instruction to be traced. If empty, all qualify.
    pub when: Expression,
    /// Condition that starts tracing, with the instruction that meets it. If empty, tracing is on from the start.
    pub start: Expression,
    /// Condition that stops tracing, before the instruction that meets it. If empty, nothing does.
    pub stop: Expression,
    /// Time for which tracing stays on after it started.
    pub period: Option<Period>,
}

/// The duration of tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Number of instructions, qualified or not, from the one that starts tracing.
    Instructions(u64),
    /// Number of cycles, from that of the instruction that starts tracing.
    Cycles(u64),
}

impl Plan {
    /// Parses the text of a plan. `names` resolves symbols and events.
    ///
    /// # Errors
    /// Returns where the text is wrong, and what was expected there.
    pub fn parse<'t>(text: &'t str, names: &dyn Names) -> Result<Self, Error<'t>> {
        parse::plan(text, names)
    }

    /// Returns whether the plan is empty, so that everything is traced.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether the plan contradicts itself, so that no instruction can qualify. Not every contradiction is
    /// found.
    pub fn is_never(&self) -> bool {
        self.when.is_never() || self.start.is_never()
    }
}

#[cfg(test)]
mod tests;
