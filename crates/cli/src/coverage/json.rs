//! How much ran, for programs.

use serde_json::{Value, json};
use tracewright_profile::Profile;
use tracewright_profile::coverage::{Branch, Coverage, Function, Part, Totals};

use crate::funnel;
use crate::json::{address, line};
use crate::output::Outcome;

/// One object.
pub fn object(coverage: &Coverage, profile: &Profile, outcome: &Outcome) -> String {
    let binary = |number: u32| profile.binaries.get(number as usize).map(|binary| binary.name.as_str());
    let branch = |branch: &Branch| {
        json!({
            "line": branch.line, "binary": binary(branch.place.binary),
            "address": address(branch.place.address),
            "taken": branch.taken, "not_taken": branch.not_taken,
        })
    };
    let function = |function: &Function| {
        json!({
            "function": function.name, "line": function.line, "calls": function.calls,
            "calls_estimated": function.is_inlined, "has_run": function.ran(),
            "address": function.start.map(|start| address(start.address)),
            "lines": part(&function.lines), "branches": part(&function.branches),
            "instructions": part(&function.instructions),
        })
    };
    let files = (0..).zip(&coverage.files).map(|(number, file)| {
        let mut object = totals(&coverage.file_totals(number));
        object["file"] = file.name.as_str().into();
        object["has_lines"] = file.is_source.into();
        let functions = coverage.functions_of(number).iter().map(function);
        object["functions_list"] = functions.collect();
        let lines = file.lines.iter().map(|(line, count)| json!({ "line": line, "count": count }));
        object["lines_list"] = lines.collect();
        object["branches_list"] = file.branches.iter().map(branch).collect();
        object
    });
    let object = json!({
        "files": files.collect::<Vec<_>>(),
        "all": totals(&coverage.totals()),
        "source_files": totals(&coverage.source_totals()),
        "instructions_executed": coverage.executed,
        "instructions_executed_outside": coverage.outside,
        "binaries_without_functions": coverage.without_functions,
        "funnel": funnel::object(&profile.funnel, outcome),
    });
    line("coverage", object)
}

fn totals(totals: &Totals) -> Value {
    let Totals { lines, branches, functions, instructions } = totals;
    json!({
        "lines": part(lines), "branches": part(branches), "functions": part(functions),
        "instructions": part(instructions),
    })
}

fn part(part: &Part) -> Value {
    json!({ "ran": part.hit, "of": part.all })
}
