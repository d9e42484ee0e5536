//! Results of trace control.

use tracewright_hart::{Controlled, HartSink};

use super::ControlRequest;
use crate::Remark;

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

    /// Adds what nobody can have wanted to `remarks`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wants_is_said() {
        let of = |seen, qualified, starts| {
            let mut remarks = Vec::new();
            Qualified { seen, qualified, starts, left_out: 0 }.remark(&ControlRequest::all(), &mut remarks);
            remarks.pop().map(|remark| remark.to_string())
        };
        assert_eq!(of(1000, 1, 1), None);
        assert_eq!(of(0, 0, 0), None);
        let never = "\"\": tracing never started: nothing of 1 000 instructions is traced";
        assert_eq!(of(1000, 0, 0).as_deref(), Some(never));
        let nothing = "\"\": nothing qualified: none of 1 000 instructions is traced";
        assert_eq!(of(1000, 0, 1).as_deref(), Some(nothing));
    }
}
