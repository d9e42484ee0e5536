//! Call trees as comma-separated values.

use tracewright_profile::{CallTree, NumberedRow};

use super::Csv;

/// Returns a row for each function on each path of calls, callers before what they call.
pub fn rows(calls: &CallTree) -> String {
    let mut csv = Csv::new(
        "node,parent,depth,function,inlined,calls,instructions,inclusive_instructions,cycles,inclusive_cycles",
    );
    for NumberedRow { number, parent, depth, node: at, inclusive } in calls.numbered_rows() {
        let node = &calls.tree.nodes()[at as usize];
        let cycles = |cycles: u64| calls.has_cycles.then_some(cycles);
        csv.row([
            (number as u64).into(),
            parent.map(|parent| parent as u64).into(),
            (depth as u64).into(),
            calls.name(at).into(),
            node.is_inlined.into(),
            node.counted_calls().into(),
            node.own.instructions.into(),
            inclusive.instructions.into(),
            cycles(node.own.cycles).into(),
            cycles(inclusive.cycles).into(),
        ]);
    }
    csv.finish()
}
