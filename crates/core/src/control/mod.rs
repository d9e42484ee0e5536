//! Trace control: which instructions are traced.
//!
//! A [`Plan`] is what a person asks for, read from a line of text ([`Plan::parse`]); `book/src/control.md` describes the
//! language. A [`Control`] is a plan at work: it is told what runs, and says whether the next instruction qualifies and
//! how far that holds, so that whole blocks are decided at once.
//!
//! Nothing here allocates: as in hardware, there is room for so many comparators and no more.
//!
//! ```
//! use tracewright_core::control::{Control, NoNames, Plan};
//!
//! let plan = Plan::parse("priv = u & pc in 0x1000..0x2000", &NoNames).unwrap();
//! let mut control = Control::new(plan);
//! control.privilege(0);
//! let verdict = control.decide(0x1ff0);
//! assert!(verdict.qualifies);
//! // Up to this address nothing changes.
//! assert_eq!(verdict.window.pc.1, 0x1fff);
//! ```

mod comparator;
mod decide;
mod error;
mod expression;
mod field;
mod handlers;
mod never;
mod parse;
mod token;

pub use comparator::Comparator;
pub use decide::{Control, Verdict};
pub use error::{Error, Expected, Problem};
pub use expression::{Expression, Window};
pub use field::Field;
pub use handlers::Handler;
pub use parse::{Names, NoNames};

/// What is asked for: when instructions are traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// An instruction has to be so; empty: any.
    pub when: Expression,
    /// An instruction that is so starts tracing, and is the first; empty: tracing is on from the start.
    pub start: Expression,
    /// An instruction that is so stops tracing, and is not traced any more; empty: nothing does.
    pub stop: Expression,
    /// How long tracing stays on after it started.
    pub period: Option<Period>,
}

/// How long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// So many instructions, whether they qualify or not; the one that starts is the first.
    Instructions(u64),
    /// So many cycles, the one of the instruction that starts is the first.
    Cycles(u64),
}

impl Plan {
    /// Reads what a person says. `names` knows symbols and events.
    ///
    /// # Errors
    /// Says where the text makes no sense, and what was expected there.
    pub fn parse<'t>(text: &'t str, names: &dyn Names) -> Result<Self, Error<'t>> {
        parse::plan(text, names)
    }

    /// Whether it asks for nothing: everything is traced.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it can be seen without running anything that no instruction qualifies. If not, there may still be none.
    pub fn is_never(&self) -> bool {
        self.when.is_never() || self.start.is_never()
    }
}

#[cfg(test)]
mod tests;
