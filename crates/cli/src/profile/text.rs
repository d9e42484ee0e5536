//! The default output, for people.

use std::fmt::Write;

use tracewright_profile::{Edge, EventRow, Paths, Place};

use crate::record::grouped;
use crate::table::{percent, ratio, share};
use crate::terminal::{END, HEADING, width};
use tracewright::profile::Report;
use tracewright::{names, words};

/// All tables, the first `top` rows of each.
pub fn all(report: &Report<'_>, top: usize) -> String {
    let mut text = String::new();
    sums(&mut text, report);
    functions(&mut text, report, top);
    edges(&mut text, report, top);
    loops(&mut text, report, top);
    branches(&mut text, report, top);
    indirect(&mut text, report, top);
    events(&mut text, report, top);
    if let Some(paths) = &report.paths {
        path_tables(&mut text, report, paths, top);
    }
    if !report.is_ordered {
        text.push_str(
            "\nWith --calls: inclusive counts, who calls whom, the most trips of loops, cycles,\nevents.\n",
        );
    }
    text
}

fn sums(text: &mut String, report: &Report<'_>) {
    let mut line = |number: u64, what: &str| {
        let _ = writeln!(text, "{:>16}  {what}", grouped(number));
    };
    line(report.instructions, "instructions");
    if report.calls.has_cycles {
        let each = ratio(report.cycles, report.instructions);
        line(report.cycles, &format!("cycles of them, {each} each"));
    }
    if report.is_part() {
        line(report.shown, "instructions of the functions that are asked for");
    }
    line(report.functions.len() as u64, if report.functions.len() == 1 { "function" } else { "functions" });
    let calls = report.functions.iter().map(|(_, of)| of.calls).sum();
    line(calls, if calls == 1 { "call" } else { "calls" });
    // The beginning is no gap.
    if report.losses.gaps > 1 {
        line(report.losses.gaps, "times the caller is not known: the trace begins, or was lost");
    }
    if report.losses.returns > 0 {
        line(report.losses.returns, "returns to elsewhere than the last caller");
    }
}

fn functions(text: &mut String, report: &Report<'_>, top: usize) {
    let (is_ordered, has_cycles) = (report.is_ordered, report.calls.has_cycles);
    let only = |is_there: bool, cells: String| if is_there { cells } else { String::new() };
    let inclusive = only(is_ordered, format!("{:>14}{:>6}", "inclusive", "%"));
    let cycles = only(has_cycles, format!("{:>6}", "CPI"));
    let _ = writeln!(
        text,
        "\n{HEADING}{:>13}{:>6}{inclusive}{:>11}{cycles}  function{END}",
        "exclusive", "%", "calls"
    );
    let room = width() - 32 - inclusive.len() - cycles.len();
    for (number, of) in report.functions.iter().take(top) {
        let (own, all) = (of.own.instructions, of.inclusive.instructions);
        let share = share(own, report.instructions);
        let inclusive =
            only(is_ordered, format!("{:>14}{}", grouped(all), self::share(all, report.instructions)));
        let cycles = only(has_cycles, format!("{:>6}", ratio(of.own.cycles, own)));
        let name = names::cut(report.calls.functions.name(*number), room);
        let calls = counted(of.calls, report.estimated.contains(number));
        let _ = writeln!(text, "{:>13}{share}{inclusive}{calls:>11}{cycles}  {name}", grouped(own));
    }
    more(text, report.functions.len(), top, "function");
    if report.functions.iter().take(top).any(|(number, _)| report.estimated.contains(number)) {
        let _ = writeln!(text, "{:>13} an estimate: the function is inlined (--no-inline)", "~");
    }
}

/// Who calls whom.
fn edges(text: &mut String, report: &Report<'_>, top: usize) {
    if report.edges.is_empty() {
        return;
    }
    let only = |cells: String| if report.calls.has_cycles { cells } else { String::new() };
    let cycles = only(format!("{:>14}", "cycles"));
    let _ = writeln!(
        text,
        "\n{HEADING}{:>13}{:>6}{cycles}{:>11}  caller -> callee{END}",
        "inclusive", "%", "calls"
    );
    for (caller, callee, of) in report.edges.iter().take(top) {
        let Edge { calls, inclusive, is_inlined, is_estimate } = of;
        let cycles = only(format!("{:>14}", grouped(inclusive.cycles)));
        let note = if *is_inlined { " (inlined)" } else { "" };
        let room = width() - 32 - cycles.len() - " -> ".len() - note.len();
        let (caller, callee) = (report.calls.functions.name(*caller), report.calls.functions.name(*callee));
        // What one does not need, the other gets.
        let len = |name: &str| name.chars().count();
        let left = len(caller).min((room / 2).max(room.saturating_sub(len(callee))));
        let _ = writeln!(
            text,
            "{:>13}{}{cycles}{:>11}  {} -> {}{note}",
            grouped(inclusive.instructions),
            share(inclusive.instructions, report.instructions),
            counted(*calls, *is_estimate),
            names::cut(caller, left),
            names::cut(callee, room - left),
        );
    }
    more(text, report.edges.len(), top, "pair");
}

fn loops(text: &mut String, report: &Report<'_>, top: usize) {
    if report.loops.is_empty() {
        return;
    }
    let only = |cells: String| if report.is_ordered { cells } else { String::new() };
    let most = only(format!("{:>9}", "most"));
    let _ = writeln!(
        text,
        "\n{HEADING}{:>13}{:>6}{:>11}{:>9}{most}  loop{END}",
        "instructions", "%", "entries", "trips"
    );
    for (of, trips) in report.loops.iter().take(top) {
        let most = only(format!("{:>9}", short(trips.range.map_or(0, |(_, most)| most) as f64)));
        // Inner ones stand further right.
        let indent = (of.depth as usize).min(6);
        let _ = writeln!(
            text,
            "{:>13}{}{:>11}{:>9}{most}  {:indent$}{}",
            grouped(trips.instructions),
            share(trips.instructions, report.instructions),
            grouped(trips.entries),
            short(trips.trips as f64 / trips.entries.max(1) as f64),
            "",
            place(report, report.header(of), width() - 41 - most.len() - indent)
        );
    }
    more(text, report.loops.len(), top, "loop");
}

fn branches(text: &mut String, report: &Report<'_>, top: usize) {
    if report.branches.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n{HEADING}{:>13}{:>8}{:>15}  branch, those that go both ways first{END}",
        "runs", "taken %", "the rarer way"
    );
    for branch in report.branches.iter().take(top) {
        let _ = writeln!(
            text,
            "{:>13}{:>8}{:>15}  {}",
            grouped(branch.runs()),
            percent(branch.taken, branch.runs()),
            grouped(branch.minority()),
            place(report, branch.place, width() - 38)
        );
    }
    more(text, report.branches.len(), top, "branch");
}

fn indirect(text: &mut String, report: &Report<'_>, top: usize) {
    if report.indirect.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{HEADING}{:>13}{:>8}  indirect call, and what it calls{END}", "calls", "%");
    for branch in report.indirect.iter().take(top) {
        let what = if report.is_virtual(branch) { "  (virtual)" } else { "" };
        let at = place(report, branch.place, width() - 23 - what.len());
        let _ = writeln!(text, "{:>13}{:>8}  {at}{what}", grouped(branch.runs()), "");
        let shown = 4;
        for (to, count) in branch.targets.iter().take(shown) {
            let share = percent(*count, branch.taken);
            let _ =
                writeln!(text, "{:>13}{share:>8}    {}", grouped(*count), report.place(*to, width() - 25));
        }
        let left = branch.targets.len().saturating_sub(shown);
        if left > 0 {
            let _ = writeln!(text, "{:>21}    {left} more", "");
        }
    }
    more(text, report.indirect.len(), top, "indirect call");
}

fn events(text: &mut String, report: &Report<'_>, top: usize) {
    if report.events.is_empty() {
        return;
    }
    let row = |text: &mut String, event: u8, of: &EventRow, name: &str| {
        let within = match of.timed {
            0 => "-".into(),
            timed => short(of.cycles as f64 / timed as f64),
        };
        let _ = writeln!(text, "{:>13}{event:>7}{within:>14}  {name}", grouped(of.count));
    };
    let functions = report.events_of_functions();
    let _ =
        writeln!(text, "\n{HEADING}{:>13}{:>7}{:>14}  function{END}", "events", "number", "within cycles");
    for (event, name, of) in functions.iter().take(top) {
        row(text, *event, of, &names::cut(name, width() - 36));
    }
    more(text, functions.len(), top, "function");
    let _ = writeln!(
        text,
        "\n{HEADING}{:>13}{:>7}{:>14}  block before the event{END}",
        "events", "number", "within cycles"
    );
    for (event, at, of) in report.events.iter().take(top) {
        let name = at.map_or_else(|| "?".to_owned(), |at| place(report, at, width() - 36));
        row(text, *event, of, &name);
    }
    more(text, report.events.len(), top, "block");
}

/// What branches do, given those just before them.
fn path_tables(text: &mut String, report: &Report<'_>, paths: &Paths, top: usize) {
    let branches = paths.width();
    let _ = writeln!(
        text,
        "\nBranches, given the {branches} branches before them; bits: 0 always the same, 1 a coin."
    );
    let mut rows = paths.conditioned();
    rows.retain(|row| report.is_there(row.place));
    let _ = writeln!(
        text,
        "{HEADING}{:>13}{:>8}{:>7}{:>7}{:>9}  branch{END}",
        "runs", "taken %", "bits", "given", "paths"
    );
    for row in rows.iter().take(top) {
        let _ = writeln!(
            text,
            "{:>13}{:>8}{:>7.3}{:>7.3}{:>9}  {}",
            grouped(row.runs),
            percent(row.taken, row.runs),
            row.entropy,
            row.given_path,
            row.paths,
            place(report, row.place, width() - 46)
        );
    }
    more(text, rows.len(), top, "branch");
    let mut rows = paths.correlated();
    rows.retain(|row| report.is_there(row.place));
    let _ = writeln!(
        text,
        "\n{HEADING}{:>13}{:>7}  branch <- the one before it that tells of it{END}",
        "runs", "bits"
    );
    for row in rows.iter().take(top) {
        let room = (width() - 26) / 2;
        let (here, with) = (report.place(row.place, room), report.place(row.with, room));
        let _ = writeln!(text, "{:>13}{:>7.3}  {here} <- {with}", grouped(row.runs()), row.gain);
    }
    more(text, rows.len(), top, "pair");
    let _ = writeln!(text, "\n{HEADING}{:>13}  hot path: + taken, - not{END}", "runs");
    for path in report.hot(paths, top) {
        let mut line = format!("{:>13} ", grouped(path.runs));
        for (at, taken) in path.branches {
            let word = format!(" {}{}", report.place(at, 40), if taken { " +" } else { " -" });
            if line.chars().count() + word.chars().count() > width() {
                let _ = writeln!(text, "{line}");
                line = " ".repeat(14);
            }
            line += &word;
        }
        let _ = writeln!(text, "{line}");
    }
    if paths.dropped() > 0 {
        let _ = writeln!(
            text,
            "{:>13} runs of branches are in none of these: too many paths",
            grouped(paths.dropped())
        );
    }
}

/// `sort+0x10 sort.c:12`, the line first if not all fits.
fn place(report: &Report<'_>, place: Place, width: usize) -> String {
    match report.source(place) {
        Some(source) => {
            let room = width.saturating_sub(source.chars().count() + 1).max(8);
            names::head(&format!("{} {source}", report.place(place, room)), width)
        }
        None => report.place(place, width),
    }
}

/// `1 234`, or `~1 234` if it is an estimate.
fn counted(count: u64, is_estimate: bool) -> String {
    format!("{}{}", if is_estimate { "~" } else { "" }, grouped(count))
}

/// How many rows are left out.
fn more(text: &mut String, count: usize, top: usize, what: &str) {
    let left = count.saturating_sub(top);
    if left > 0 {
        let what = words::plural(left as u64, what);
        let _ = writeln!(text, "{:>13} more {what} (--top)", grouped(left as u64));
    }
}

/// A number in at most seven characters: `12.3`, `123456`, `12.3M`.
fn short(number: f64) -> String {
    match number {
        _ if number == number.trunc() && number < 1e6 => format!("{number:.0}"),
        _ if number < 1000.0 => format!("{number:.1}"),
        _ if number < 1e6 => format!("{number:.0}"),
        _ if number < 1e9 => format!("{:.1}M", number / 1e6),
        _ => format!("{:.1}G", number / 1e9),
    }
}
