//! A function with its counts, for programs.

use serde_json::{Value, json};
use tracewright_profile::Profile;

use crate::json::{address, line};
use crate::output::Outcome;
use tracewright::disassembly;
use tracewright_engine::Line;
use tracewright_profile::annotate::{Function, InlinedAt, Row};

/// One object.
pub fn object(functions: &[Function], profile: &Profile, outcome: &Outcome) -> String {
    let all: Vec<_> = functions.iter().map(|function| of(function, profile)).collect();
    line("annotate", json!({ "functions": all, "incomplete": outcome.reasons() }))
}

fn of(function: &Function, profile: &Profile) -> Value {
    let name = |number: u32| profile.binaries.get(number as usize).map(|binary| binary.name.as_str());
    let row = |row: &Row| {
        let mut code = Line::default();
        disassembly::write(&mut code, row.isa, &row.at);
        let targets = row.targets.iter().map(|(to, count)| {
            json!({ "binary": name(to.binary), "address": address(to.address), "count": count })
        });
        json!({
            "address": address(row.at.address), "text": String::from_utf8_lossy(code.bytes()),
            "count": row.count, "cycles": row.cost.map(|cost| cost.cycles),
            "stall_cycles": row.cost.map(|cost| cost.stalled),
            "taken": row.runs.map(|runs| runs.taken), "not_taken": row.runs.map(|runs| runs.not_taken),
            "targets": targets.collect::<Vec<_>>(), "inlined": row.inlined,
        })
    };
    json!({
        "function": function.name, "binary": name(function.binary),
        "lower_bound": profile.funnel.is_lower_bound(),
        "address": address(function.start), "calls": function.calls,
        "calls_estimated": function.inlined.is_some(),
        "inlined_into": function.inlined.as_ref().map(|into| &into.function),
        "called_at": function.inlined.as_ref().and_then(InlinedAt::call),
        "instructions": function.executed(), "cycles": function.cycles(),
        "code": function.rows.iter().map(row).collect::<Vec<_>>(),
    })
}
