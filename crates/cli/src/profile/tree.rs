//! The call tree: for people, as JSON, and as comma-separated values.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::{Value, json};
use tracewright::names;
use tracewright_profile::export::folded::Weight;
use tracewright_profile::{CallTree, Node, TreeRow, TreeRowKind};

use crate::csv::Csv;
use crate::json::line;
use crate::record::grouped;
use crate::terminal::{END, HEADING, hot, width};

/// Where names begin.
const HEAD: usize = 38;
/// Deeper functions stand no further right, and tell their depth.
const DEEPEST: usize = 24;

/// The tree as text, without what weighs less than `least` percent of the whole.
pub fn text(calls: &CallTree, weight: Weight, least: f64) -> String {
    let all = total(calls, weight);
    let of_all = |part: u64| format!("{:.1}", 100.0 * part as f64 / all.max(1) as f64);
    let kind = match weight {
        Weight::Instructions => "instructions",
        Weight::Cycles => "cycles",
    };
    let from = if least > 0.0 { format!(" (from {least} % on)") } else { String::new() };
    let mut text = format!(
        "{HEADING}{:>13}{:>6}{:>6}{:>11}  function, and what it calls{from}{END}\n",
        kind, "%", "own %", "calls"
    );
    for TreeRow { depth, what, inclusive } in calls.rows(weight, (all as f64 * least / 100.0).ceil() as u64) {
        let indent = depth.min(DEEPEST);
        let deep = if depth > DEEPEST { format!("[{depth}] ") } else { String::new() };
        let sum = weight.of(&inclusive);
        let (own, count, name, note) = match what {
            TreeRowKind::Node(at) => {
                let node = calls.tree.nodes()[at as usize];
                let count = if is_called(&node) { grouped(node.calls) } else { "-".into() };
                let note = if node.is_inlined { " (inlined)" } else { "" };
                (of_all(weight.of(&node.own)), count, calls.name(at).to_owned(), note)
            }
            TreeRowKind::Smaller(1) => (String::new(), String::new(), "1 that is smaller".into(), ""),
            TreeRowKind::Smaller(n) => (String::new(), String::new(), format!("{n} that are smaller"), ""),
        };
        let room = width() - HEAD - indent - deep.len() - note.len();
        let name = names::cut(&name, room);
        let _ = writeln!(
            text,
            "{:>13}{}{own:>6}{count:>11}  {:indent$}{deep}{name}{note}",
            grouped(sum),
            hot(sum, all, format!("{:>6}", of_all(sum))),
            ""
        );
    }
    text
}

/// Whether its calls are counted: inlined functions and threads are not called.
fn is_called(node: &Node) -> bool {
    !node.is_inlined && node.parent.is_some()
}

fn total(calls: &CallTree, weight: Weight) -> u64 {
    calls.tree.nodes().iter().map(|node| weight.of(&node.own)).sum()
}

/// A row of all: its number, that of its caller's row, and itself.
type Numbered = (usize, Option<usize>, u32, TreeRow);

/// All rows, callers before what they call.
fn numbered(calls: &CallTree) -> Vec<Numbered> {
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    let mut rows = Vec::new();
    for row in calls.rows(Weight::Instructions, 0) {
        let TreeRowKind::Node(at) = row.what else { continue };
        let parent = calls.tree.nodes()[at as usize].parent;
        let parent = parent.and_then(|parent| numbers.get(&parent).copied());
        numbers.insert(at, rows.len());
        rows.push((rows.len(), parent, at, row));
    }
    rows
}

/// The tree as JSON: a list of nodes, with the numbers of their callers.
pub fn json(calls: &CallTree) -> String {
    let node = |(number, parent, at, row): Numbered| {
        let node = &calls.tree.nodes()[at as usize];
        let mut object = json!({
            "node": number, "parent": parent, "function": calls.name(at), "inlined": node.is_inlined,
            "calls": is_called(node).then_some(node.calls), "instructions": node.own.instructions,
            "inclusive_instructions": row.inclusive.instructions,
        });
        if calls.has_cycles {
            object["cycles"] = node.own.cycles.into();
            object["inclusive_cycles"] = row.inclusive.cycles.into();
        }
        object
    };
    let nodes: Vec<Value> = numbered(calls).into_iter().map(node).collect();
    line("profile", json!({ "instructions": total(calls, Weight::Instructions), "nodes": nodes }))
}

/// The tree as comma-separated values.
pub fn csv(calls: &CallTree) -> String {
    let mut csv = Csv::new([
        "node",
        "parent",
        "depth",
        "function",
        "inlined",
        "calls",
        "instructions",
        "inclusive_instructions",
        "cycles",
        "inclusive_cycles",
    ]);
    for (number, parent, at, row) in numbered(calls) {
        let node = &calls.tree.nodes()[at as usize];
        let cycles = |cycles: u64| calls.has_cycles.then_some(cycles);
        csv.row([
            (number as u64).into(),
            parent.map(|parent| parent as u64).into(),
            (row.depth as u64).into(),
            calls.name(at).into(),
            node.is_inlined.into(),
            is_called(node).then_some(node.calls).into(),
            node.own.instructions.into(),
            row.inclusive.instructions.into(),
            cycles(node.own.cycles).into(),
            cycles(row.inclusive.cycles).into(),
        ]);
    }
    csv.finish()
}
