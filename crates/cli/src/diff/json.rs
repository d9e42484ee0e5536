//! Two profiles beside each other, for programs.

use serde_json::{Value, json};
use tracewright_profile::diff::{Diff, change, share};

use crate::json::line;

/// One object: a value of each side where there are two, the first's first.
pub fn object(diff: &Diff, names: &[String; 2], funnels: &[Value; 2]) -> String {
    let functions = diff.functions.iter().map(|function| {
        json!({
            "function": function.name,
            "known": function.is_known,
            "instructions": function.instructions,
            "share": shares(function.instructions, diff.instructions),
            "change": change(function.instructions, diff.instructions),
        })
    });
    let branches = diff.branches.iter().map(|branch| {
        json!({
            "branch": branch.name,
            "count": branch.ran,
            "taken": branch.taken,
            "share": shares(branch.ran, diff.branches_ran),
            "change": change(branch.ran, diff.branches_ran),
        })
    });
    let object = json!({
        "captures": names,
        "instructions": diff.instructions,
        "branches_executed": diff.branches_ran,
        "functions": functions.collect::<Vec<_>>(),
        "branches": branches.collect::<Vec<_>>(),
        "funnels": funnels,
    });
    line("diff", object)
}

fn shares(of: [u64; 2], all: [u64; 2]) -> [f64; 2] {
    [0, 1].map(|side| share(of[side], all[side]))
}
