//! The default output, for people: 80 columns wide.

use std::fmt::Write;

use tracewright_profile::Place;

use super::report::Report;
use crate::decode::names;
use crate::record::grouped;

const WIDTH: usize = 80;

/// All tables, the first `top` rows of each.
pub fn all(report: &Report<'_>, top: usize) -> String {
    let mut text = String::new();
    sums(&mut text, report);
    functions(&mut text, report, top);
    loops(&mut text, report, top);
    branches(&mut text, report, top);
    indirect(&mut text, report, top);
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
    line(report.functions.len() as u64, "functions");
    let calls = report.functions.iter().map(|(_, of)| of.calls).sum();
    line(calls, "calls");
    // The beginning is no gap.
    if report.losses.gaps > 1 {
        line(report.losses.gaps, "times the caller is not known: the trace begins, or was lost");
    }
    if report.losses.returns > 0 {
        line(report.losses.returns, "returns to elsewhere than the last caller");
    }
    if report.calls.tree.folded() > 0 {
        line(report.calls.tree.folded(), "calls put down to the caller: too many kinds of stacks");
    }
}

fn functions(text: &mut String, report: &Report<'_>, top: usize) {
    let has_cycles = report.calls.has_cycles;
    let _ = write!(text, "\n{:>13}{:>6}{:>14}{:>6}{:>11}", "exclusive", "%", "inclusive", "%", "calls");
    let _ = writeln!(text, "{}  function", if has_cycles { format!("{:>6}", "CPI") } else { String::new() });
    let room = WIDTH - 52 - if has_cycles { 6 } else { 0 };
    for (number, of) in report.functions.iter().take(top) {
        let (own, inclusive) = (of.own.instructions, of.inclusive.instructions);
        let _ = write!(
            text,
            "{:>13}{:>6}{:>14}{:>6}{:>11}",
            grouped(own),
            percent(own, report.instructions),
            grouped(inclusive),
            percent(inclusive, report.instructions),
            grouped(of.calls)
        );
        if has_cycles {
            let _ = write!(text, "{:>6}", ratio(of.own.cycles, own));
        }
        let _ = writeln!(text, "  {}", names::cut(report.calls.functions.name(*number), room));
    }
    more(text, report.functions.len(), top, "function");
}

fn loops(text: &mut String, report: &Report<'_>, top: usize) {
    if report.loops.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n{:>13}{:>6}{:>11}{:>9}{:>9}  loop",
        "instructions", "%", "entries", "trips", "most"
    );
    for (of, trips) in report.loops.iter().take(top) {
        let _ = write!(
            text,
            "{:>13}{:>6}{:>11}{:>9}{:>9}  ",
            grouped(trips.instructions),
            percent(trips.instructions, report.instructions),
            grouped(trips.entries),
            short(trips.trips as f64 / trips.entries.max(1) as f64),
            short(trips.range.map_or(0, |(_, most)| most) as f64)
        );
        // Inner ones stand further right.
        let indent = (of.depth as usize).min(6);
        let place = place(report, report.header(of), WIDTH - 50 - indent);
        let _ = writeln!(text, "{:indent$}{place}", "");
    }
    more(text, report.loops.len(), top, "loop");
}

fn branches(text: &mut String, report: &Report<'_>, top: usize) {
    if report.branches.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n{:>13}{:>8}{:>15}  branch, those that go both ways first",
        "runs", "taken %", "the rarer way"
    );
    for branch in report.branches.iter().take(top) {
        let _ = writeln!(
            text,
            "{:>13}{:>8}{:>15}  {}",
            grouped(branch.runs()),
            percent(branch.taken, branch.runs()),
            grouped(branch.minority()),
            place(report, branch.place, WIDTH - 38)
        );
    }
    more(text, report.branches.len(), top, "branch");
}

fn indirect(text: &mut String, report: &Report<'_>, top: usize) {
    if report.indirect.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{:>13}{:>8}  indirect call, and what it calls", "calls", "%");
    for branch in report.indirect.iter().take(top) {
        let what = if report.is_virtual(branch) { "  (virtual)" } else { "" };
        let at = place(report, branch.place, WIDTH - 23 - what.len());
        let _ = writeln!(text, "{:>13}{:>8}  {at}{what}", grouped(branch.runs()), "");
        let shown = 4;
        for (to, count) in branch.targets.iter().take(shown) {
            let share = percent(*count, branch.taken);
            let _ = writeln!(text, "{:>13}{share:>8}    {}", grouped(*count), report.place(*to, WIDTH - 25));
        }
        let left = branch.targets.len().saturating_sub(shown);
        if left > 0 {
            let _ = writeln!(text, "{:>21}    {left} more", "");
        }
    }
    more(text, report.indirect.len(), top, "indirect call");
}

/// `sort+0x10 sort.c:12`, the line first if not all fits.
fn place(report: &Report<'_>, place: Place, width: usize) -> String {
    match report.source(place) {
        Some(source) => {
            let room = width.saturating_sub(source.chars().count() + 1).max(8);
            names::cut(&format!("{} {source}", report.place(place, room)), width)
        }
        None => report.place(place, width),
    }
}

/// How many rows are left out.
fn more(text: &mut String, count: usize, top: usize, what: &str) {
    let left = count.saturating_sub(top);
    if left > 0 {
        let plural = match (left, what.ends_with('h')) {
            (1, _) => "",
            (_, true) => "es",
            _ => "s",
        };
        let _ = writeln!(text, "{:>13} more {what}{plural} (--top)", grouped(left as u64));
    }
}

/// `12.3`.
fn percent(part: u64, all: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / all.max(1) as f64)
}

/// `1.23`.
fn ratio(cycles: u64, instructions: u64) -> String {
    if instructions == 0 {
        return "-".into();
    }
    format!("{:.2}", cycles as f64 / instructions as f64)
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
