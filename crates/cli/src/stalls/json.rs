//! Where the cycles went, for programs.

use serde_json::{Value, json};
use tracewright_engine::Tally;
use tracewright_image::Image;
use tracewright_profile::{Account, Cost, Kind, Stalls};

use super::table::Tables;
use tracewright::SourceStalls;
use tracewright::names;

/// One object.
pub fn object(sources: &[(&str, &SourceStalls)], tables: &Tables, image: &Image, tally: &Tally) -> String {
    let of = sources.iter().filter_map(|(name, source)| Some(account(name, source.stalls.as_ref()?)));
    let functions = tables.functions.iter().map(|(name, cost)| row(json!({ "function": name }), cost));
    let lines = tables.lines.iter().map(|(place, cost)| {
        row(json!({ "file": place.file, "line": place.line, "function": place.function }), cost)
    });
    let instructions = tables.instructions.iter().map(|(instruction, cost)| {
        let address = instruction.at.address;
        let function = names::function(image, address, instruction.space);
        row(json!({ "address": format!("{address:#x}"), "function": function }), cost)
    });
    let object = json!({
        "sources": of.collect::<Vec<_>>(),
        "functions": functions.collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
        "instructions": instructions.collect::<Vec<_>>(),
        "unknown_paths": tally.unknown_paths,
        "stopped": tally.stopped,
    });
    format!("{object}\n")
}

fn account(name: &str, stalls: &Stalls) -> Value {
    let Account { retired, untimed, cycles, stalled, before, lost, between, losses, shares, shared } =
        *stalls.account();
    let clock = match stalls.kind() {
        Kind::Delta => "delta",
        Kind::Counts => "cycle counts",
        Kind::Times => "times",
    };
    let histogram = stalls.histogram.buckets().into_iter().map(|bucket| {
        json!({ "from": bucket.from, "to": bucket.to, "stalls": bucket.count, "cycles": bucket.cycles })
    });
    let longest = stalls.longest_stalls().iter().map(|stall| {
        json!({ "cycles": stall.length, "until": stall.cycle, "block": format!("{:#x}", stall.block.start),
            "instruction": stall.at })
    });
    json!({
        "name": name, "clock": clock, "cycles": stalls.account().all(),
        "instruction_cycles": cycles, "stall_cycles": stalled, "stall_cycles_are_least": shares > 0,
        "cycles_before": before, "cycles_lost": lost, "cycles_between": between, "losses": losses,
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
