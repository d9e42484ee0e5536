//! The call tree: for people, and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use tracewright::names;
use tracewright_profile::export::folded::Weight;
use tracewright_profile::{CallTree, NumberedRow, TreeRow, TreeRowKind};

use crate::json::line;
use crate::output::Outcome;
use crate::record::grouped;
use crate::table::{percent, share};
use crate::terminal::{END, HEADING, width};

/// Where names begin.
const HEAD: usize = 38;
/// Deeper functions stand no further right, and tell their depth.
const DEEPEST: usize = 24;

/// The tree as text, without what weighs less than `least` percent of the whole.
pub fn text(calls: &CallTree, weight: Weight, least: f64) -> String {
    let all = calls.total(weight);
    let of_all = |part: u64| percent(part, all);
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
                let count = node.counted_calls().map_or("-".into(), grouped);
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
            share(sum, all),
            ""
        );
    }
    text
}

/// The tree as JSON: a list of nodes, with the numbers of their callers.
pub fn json(calls: &CallTree, outcome: &Outcome) -> String {
    let node = |NumberedRow { number, parent, node: at, inclusive, .. }: NumberedRow| {
        let node = &calls.tree.nodes()[at as usize];
        let mut object = json!({
            "node": number, "parent": parent, "function": calls.name(at), "inlined": node.is_inlined,
            "calls": node.counted_calls(), "instructions": node.own.instructions,
            "inclusive_instructions": inclusive.instructions,
        });
        if calls.has_cycles {
            object["cycles"] = node.own.cycles.into();
            object["inclusive_cycles"] = inclusive.cycles.into();
        }
        object
    };
    let nodes: Vec<Value> = calls.numbered_rows().into_iter().map(node).collect();
    line(
        "profile",
        json!({
            "instructions": calls.total(Weight::Instructions), "nodes": nodes, "incomplete": outcome.reasons(),
        }),
    )
}
