//! What trace control came to.

use tracewright_hart::{Controlled, Sink};

use super::Asked;
use crate::output::report;
use crate::record::grouped;

/// What qualified, of one thread or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qualified {
    /// Instructions that ran.
    pub seen: u64,
    /// Those that qualified.
    pub qualified: u64,
    /// How often tracing started.
    starts: u64,
    left_out: u64,
}

impl Qualified {
    /// Of one thread.
    pub fn of<S: Sink>(controlled: &Controlled<S>) -> Self {
        let control = controlled.control();
        Self {
            seen: control.seen(),
            qualified: control.qualified(),
            starts: control.starts(),
            left_out: controlled.left_out(),
        }
    }

    /// Both together.
    pub fn add(&mut self, other: &Self) {
        self.seen += other.seen;
        self.qualified += other.qualified;
        self.starts += other.starts;
        self.left_out += other.left_out;
    }

    /// Warns of what nobody can have wanted.
    pub fn warn(&self, asked: &Asked) {
        if let Some(warning) = self.warning() {
            report(&format!("--when {:?}: {warning}", asked.text));
        }
        if self.left_out > 0 {
            report(&format!(
                "--when: {} instructions that may qualify are not traced: the log does not tell where in their blocks they begin (name the \
                 program), or they are conditional branches of T32 whose IT instruction does not qualify",
                grouped(self.left_out)
            ));
        }
    }

    fn warning(&self) -> Option<String> {
        let seen = grouped(self.seen);
        match (self.qualified, self.starts, self.seen) {
            (1.., _, _) | (_, _, 0) => None,
            (0, 0, _) => Some(format!("tracing never started: nothing of {seen} instructions is traced")),
            (0, _, _) => Some(format!("nothing qualified: none of {seen} instructions is traced")),
        }
    }

    /// In a line of a summary: how many qualified, and what part that is.
    pub fn line(&self) -> (u64, String) {
        (
            self.qualified,
            format!("{:5.1} % of all instructions", 100.0 * self.qualified as f64 / self.seen.max(1) as f64),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wants_is_said() {
        let of = |seen, qualified, starts| Qualified { seen, qualified, starts, left_out: 0 }.warning();
        assert_eq!(of(1000, 1, 1), None);
        assert_eq!(of(0, 0, 0), None);
        let never = "tracing never started: nothing of 1 000 instructions is traced";
        assert_eq!(of(1000, 0, 0).as_deref(), Some(never));
        let nothing = "nothing qualified: none of 1 000 instructions is traced";
        assert_eq!(of(1000, 0, 1).as_deref(), Some(nothing));
    }
}
