//! A comparison of two profiles as comma-separated values.

use tracewright_profile::diff::{Diff, change, share};

use super::{Cell, Csv};

/// Returns a row for each function, with its instructions as counts, and for each branch, with its executions as counts.
pub fn rows(diff: &Diff) -> String {
    let mut csv = Csv::new(
        "kind,name,count_before,count_after,taken_before,taken_after,share_before,share_after,change",
    );
    let nothing = || [Cell::Nothing, Cell::Nothing];
    let functions = diff.functions.iter().map(|of| {
        let counts = (of.instructions, diff.instructions);
        ("function", &of.name, counts, nothing())
    });
    let branches = diff.branches.iter().map(|of| {
        let counts = (of.ran, diff.branches_ran);
        ("branch", &of.name, counts, of.taken.map(Cell::from))
    });
    for (kind, name, (counts, all), [taken_before, taken_after]) in functions.chain(branches) {
        let [before, after] = [0, 1].map(|side| share(counts[side], all[side]));
        csv.row([
            kind.into(),
            name.as_str().into(),
            counts[0].into(),
            counts[1].into(),
            taken_before,
            taken_after,
            before.into(),
            after.into(),
            change(counts, all).into(),
        ]);
    }
    csv.finish()
}
