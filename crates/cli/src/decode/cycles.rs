//! The cycle of each instruction that is printed.

use tracewright_core::Stamp;
use tracewright_engine::Line;

/// Columns of a cycle, the blank before it and the mark behind it among them.
pub const WIDTH: usize = 13;

/// For people: `1234`, `1234+` if it may have been later, `?` if it is not known.
pub fn text(line: &mut Line, stamp: Stamp) {
    let mark = match stamp {
        Stamp::Exact(_) => " ",
        Stamp::Between(..) | Stamp::From(_) => "+",
        Stamp::Unknown => {
            line.blanks(WIDTH - 2).text("? ");
            return;
        }
    };
    let cycle = stamp.first().unwrap_or(0);
    let digits = cycle.checked_ilog10().unwrap_or(0) as usize + 1;
    line.blanks(WIDTH.saturating_sub(digits + 1)).decimal(cycle).text(mark);
}
