//! Where the cycles went, for programs.

use serde_json::{Value, json};
use tracewright_engine::Tally;
use tracewright_flow::Instructions;
use tracewright_image::Image;
use tracewright_profile::{Account, Cost, Kind, Stalls};

use crate::json;
use crate::output::Outcome;
use tracewright::names;
use tracewright::stalls::{SourceStalls, StallTables};

/// One object.
pub fn object(
    sources: &[(&str, &SourceStalls)],
    tables: &StallTables,
    image: &Image,
    tally: &Tally,
    outcome: &Outcome,
) -> String {
    let of = sources.iter().filter_map(|(name, source)| Some(account(name, source.stalls.as_ref()?, image)));
    let functions = tables.functions.iter().map(|(name, cost)| row(json!({ "function": name }), cost));
    let lines = tables.lines.iter().map(|(place, cost)| {
        row(json!({ "file": place.file, "line": place.line, "function": place.function }), cost)
    });
    let instructions = tables.instructions.iter().map(|(instruction, cost)| {
        let address = instruction.at.address;
        let function = names::function(image, address, instruction.space);
        row(json!({ "address": json::address(address), "function": function }), cost)
    });
    let object = json!({
        "sources": of.collect::<Vec<_>>(),
        "functions": functions.collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
        "code": instructions.collect::<Vec<_>>(),
        "unknown_paths": tally.unknown_paths,
        "stopped": tally.stopped,
        "incomplete": outcome.reasons(),
    });
    json::line("stalls", object)
}

fn account(name: &str, stalls: &Stalls, image: &Image) -> Value {
    let Account { retired, untimed, cycles, stalled, before, lost, between, losses, shares, shared } =
        *stalls.account();
    let clock = match stalls.kind() {
        Kind::Delta => "delta",
        Kind::Counts => "cycle counts",
        Kind::Times => "times",
        Kind::Timestamps => "timestamps",
    };
    let histogram = stalls.histogram.buckets().into_iter().map(|bucket| {
        json!({ "from": bucket.from, "to": bucket.to, "stalls": bucket.count, "cycles": bucket.cycles })
    });
    let longest = stalls.longest_stalls().iter().map(|stall| {
        let at = Instructions::new(image, stall.space, &stall.block).nth(stall.at as usize);
        json!({ "cycles": stall.length, "until": stall.cycle, "address": at.map(|at| json::address(at.address)) })
    });
    json!({
        "name": name, "clock": clock, "cycles": stalls.account().all(),
        "instruction_cycles": cycles, "stall_cycles": stalled, "stall_cycles_lower_bound": shares > 0,
        "before_cycles": before, "lost_cycles": lost, "between_cycles": between, "gaps": losses,
        "instructions": retired, "instructions_without_cycles": untimed,
        "groups": shares, "instructions_in_groups": shared,
        "histogram": histogram.collect::<Vec<_>>(), "longest": longest.collect::<Vec<_>>(),
    })
}

/// A row with its numbers.
fn row(mut row: Value, cost: &Cost) -> Value {
    let Cost { retired, cycles, stalled } = *cost;
    row["cycles"] = cycles.into();
    row["stall_cycles"] = stalled.into();
    row["instructions"] = retired.into();
    row["cycles_per_instruction"] =
        if retired == 0 { Value::Null } else { (cycles as f64 / retired as f64).into() };
    row
}
