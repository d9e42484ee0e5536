//! The default output, for programs.

use serde_json::{Value, json};
use tracewright_profile::{Branch, EventRow, Funnel, Paths, Place};

use crate::funnel;
use crate::json::{address, line};
use crate::output::Outcome;
use tracewright::profile::Report;

/// One object, with all rows.
pub fn object(report: &Report<'_>, funnel: &Funnel, outcome: &Outcome) -> String {
    let functions = report.functions.iter().map(|(number, of)| {
        let function = &report.calls.functions.list()[*number as usize];
        let mut row = json!({
            "function": function.name, "binary": report.binary_of(function), "address": function.start.map(address),
            "instructions": of.own.instructions, "calls": of.calls,
            "calls_estimated": report.estimated.contains(number),
        });
        if report.is_ordered {
            row["inclusive_instructions"] = of.inclusive.instructions.into();
        }
        if report.calls.has_cycles {
            row["cycles"] = of.own.cycles.into();
            row["inclusive_cycles"] = of.inclusive.cycles.into();
        }
        row
    });
    let loops = report.loops.iter().map(|(of, trips)| {
        let mut row = at(report, report.header(of));
        let histogram = trips
            .histogram
            .buckets()
            .into_iter()
            .map(|bucket| json!({ "from": bucket.from, "to": bucket.to, "entries": bucket.count }));
        row["depth"] = of.depth.into();
        row["irreducible"] = of.irreducible.into();
        row["entries"] = trips.entries.into();
        row["trips"] = trips.trips.into();
        row["instructions"] = trips.instructions.into();
        if report.is_ordered {
            row["trips_least"] = trips.range.map(|range| range.0).into();
            row["trips_most"] = trips.range.map(|range| range.1).into();
            row["histogram"] = histogram.collect();
        }
        row
    });
    let branches = report.branches.iter().map(|of| branch(report, of));
    let indirect = report.indirect.iter().map(|of| {
        let mut row = branch(report, of);
        row["virtual"] = report.is_virtual(of).into();
        row["targets"] = of
            .targets
            .iter()
            .map(|(to, count)| {
                let mut row = at(report, *to);
                row["count"] = (*count).into();
                row
            })
            .collect();
        row
    });
    let mut object = json!({
        "instructions": report.instructions,
        "ordered": report.is_ordered,
        "functions": functions.collect::<Vec<_>>(),
        "loops": loops.collect::<Vec<_>>(),
        "branches": branches.collect::<Vec<_>>(),
        "indirect_calls": indirect.collect::<Vec<_>>(),
        "funnel": funnel::object(funnel, outcome),
    });
    if report.is_ordered {
        let edges = report.edges.iter().map(|(caller, callee, of)| {
            let name = |number: u32| report.calls.functions.name(number);
            let mut row = json!({
                "caller": name(*caller), "callee": name(*callee), "inlined": of.is_inlined, "calls": of.calls,
                "calls_estimated": of.is_estimate, "inclusive_instructions": of.inclusive.instructions,
            });
            if report.calls.has_cycles {
                row["inclusive_cycles"] = of.inclusive.cycles.into();
            }
            row
        });
        object["call_edges"] = edges.collect();
        object["callers_unknown"] = report.losses.gaps.into();
        object["returns_elsewhere"] = report.losses.returns.into();
        object["calls_too_deep"] = report.losses.too_deep.into();
    }
    if report.calls.has_cycles {
        object["cycles"] = report.cycles.into();
    }
    if !report.events.is_empty() {
        let rows = report.events.iter().map(|(event, place, of)| {
            let row = place.map_or(json!({}), |place| at(report, place));
            counted(row, *event, of)
        });
        object["events"] = rows.collect();
        let rows = report.events_of_functions().into_iter();
        object["events_of_functions"] =
            rows.map(|(event, name, of)| counted(json!({ "function": name }), event, &of)).collect();
    }
    if let Some(paths) = &report.paths {
        object["paths"] = path_tables(report, paths);
    }
    line("profile", object)
}

fn counted(mut row: Value, event: u8, of: &EventRow) -> Value {
    row["event"] = event.into();
    row["count"] = of.count.into();
    row["timed"] = of.timed.into();
    row["within_cycles"] = of.cycles.into();
    row["within_cycles_most"] = of.most.into();
    row
}

/// The hot paths that are written: with all of them, files would be large.
const HOT: usize = 1000;

fn path_tables(report: &Report<'_>, paths: &Paths) -> Value {
    let is_there = |place: Place| report.is_there(place);
    let branches = paths.conditioned().into_iter().filter(|of| is_there(of.place)).map(|of| {
        let mut row = at(report, of.place);
        row["count"] = of.runs.into();
        row["taken"] = of.taken.into();
        row["bits"] = of.entropy.into();
        row["bits_given_path"] = of.given_path.into();
        row["paths"] = of.paths.into();
        row
    });
    let correlated = paths.correlated().into_iter().filter(|of| is_there(of.place)).map(|of| {
        let mut row = at(report, of.place);
        row["with"] = at(report, of.with);
        row["counts"] = json!(of.counts);
        row["gain"] = of.gain.into();
        row
    });
    let hot = report.hot(paths, HOT).into_iter().map(|path| {
        let branches = path
            .branches
            .iter()
            .map(|(place, taken)| json!({ "address": address(place.address), "taken": taken }));
        json!({ "count": path.runs, "branches": branches.collect::<Vec<_>>() })
    });
    json!({
        "width": paths.width(), "dropped": paths.dropped(),
        "branches": branches.collect::<Vec<_>>(),
        "correlated": correlated.collect::<Vec<_>>(),
        "hot": hot.collect::<Vec<_>>(),
    })
}

/// A row with a place in it.
fn at(report: &Report<'_>, place: Place) -> Value {
    let source = report.program.source(place).filter(|source| source.line > 0);
    json!({
        "binary": report.binaries.get(place.binary as usize),
        "address": address(place.address),
        "function": report.program.function_name(place),
        "file": source.as_ref().map(|source| source.file),
        "line": source.as_ref().map(|source| source.line),
    })
}

fn branch(report: &Report<'_>, branch: &Branch) -> Value {
    let mut row = at(report, branch.place);
    row["taken"] = branch.taken.into();
    row["not_taken"] = branch.not_taken.into();
    row
}
