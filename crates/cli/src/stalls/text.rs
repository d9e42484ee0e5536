//! Where the cycles went, for people.

use std::fmt::Write;

use tracewright_core::text::Printable;
use tracewright_image::Image;
use tracewright_profile::{Account, Cost, Kind, Stalls};

use super::Opts;
use crate::record::grouped;
use crate::table::{percent, ratio, share};
use crate::terminal::{END, HEADING, width};
use tracewright::stalls::{SourceStalls, StallInstruction, StallOrder, StallRows, StallTables};
use tracewright::{disassembly, names, words};
use tracewright_engine::Line;

/// Columns of the numbers before a name, with the blanks after them.
const NUMBERS: usize = 53;

/// Cycles that no instruction has.
const BETWEEN: &str = "between instructions, and after the last";

/// All that is asked for.
pub fn all(
    opts: &Opts,
    names: &[&str],
    sources: &[SourceStalls],
    tables: &StallTables,
    image: &Image,
) -> String {
    let mut text = String::new();
    for (name, source) in names.iter().zip(sources) {
        if let Some(stalls) = &source.stalls {
            account(&mut text, name, stalls, opts.filter.is_part());
        }
    }
    let wants = |by: StallRows| opts.by.is_none_or(|asked| asked == by);
    if wants(StallRows::Functions) {
        let rows = tables.functions.iter().map(|(name, cost)| (name.clone(), *cost));
        table(&mut text, opts, "function", tables, tables.functions.len(), rows);
    }
    if wants(StallRows::Lines) {
        let rows = tables.lines.iter().map(|(place, cost)| {
            let line = format!("{}:{} ", names::file_name(&place.file), place.line);
            let room = (width() - NUMBERS).saturating_sub(line.chars().count()).max(8);
            (line + &names::cut(&place.function, room), *cost)
        });
        if !tables.lines.is_empty() || opts.by.is_some() {
            table(&mut text, opts, "line", tables, tables.lines.len(), rows);
            if tables.without_line.cycles > 0 {
                let share = percent(tables.without_line.cycles, tables.all.cycles);
                let _ = writeln!(text, "{share:>21} % of cycles are of no known line");
            }
        }
    }
    if wants(StallRows::Instructions) {
        instructions(&mut text, opts, tables, image);
    }
    if opts.by.is_none() {
        longest(&mut text, opts, sources, image);
    }
    text
}

fn account(text: &mut String, name: &str, stalls: &Stalls, is_part: bool) {
    let Account { retired, untimed, cycles, stalled, before, lost, between, losses, shares, shared } =
        *stalls.account();
    let mut line = |number: u64, what: &str| {
        let _ = writeln!(text, "{:>16}  {what}", grouped(number));
    };
    line(stalls.account().all(), &format!("cycles of {}, from {}", Printable(name), stalls.kind().words()));
    let parts = [
        (before, "before the first instruction"),
        (lost, "while trace was lost or switched off"),
        (between, if is_part { "between instructions, after the last, or not asked for" } else { BETWEEN }),
    ];
    if parts.iter().any(|(cycles, _)| *cycles > 0) {
        line(cycles, "of instructions");
        parts.iter().filter(|(cycles, _)| *cycles > 0).for_each(|(cycles, what)| line(*cycles, what));
    }
    let timed = retired - untimed;
    line(retired, &format!("instructions, {} cycles each", ratio(cycles, timed)));
    let least = if shares > 0 { "at least, " } else { "" };
    line(stalled, &format!("stall cycles, {least}{} % of those of instructions", percent(stalled, cycles)));
    if untimed > 0 {
        line(untimed, "instructions of which no cycles are known");
    }
    if losses > 0 {
        line(losses, "gaps in the trace or its cycles: waits there are not seen");
    }
    if shares > 0 {
        let each = shared as f64 / shares as f64;
        let each = if each < 100.0 { format!("{each:.1}") } else { grouped(each as u64) };
        let mut lines = vec![
            format!("Cycles are known of {each} instructions together, on average: each"),
            "of them gets the same part; stalled is what is above a cycle each.".to_owned(),
        ];
        if stalls.kind() == Kind::Times && shared / shares > 100 {
            lines.push("More times tell more: --option timestamp_bytes=8, a lower".to_owned());
            lines.push("resync_max; record --delta tells the cycle of each.".to_owned());
        }
        for line in lines {
            let _ = writeln!(text, "{:18}{line}", "");
        }
    }
}

/// A table of `count` rows, the first of them.
fn table(
    text: &mut String,
    opts: &Opts,
    what: &str,
    tables: &StallTables,
    count: usize,
    rows: impl Iterator<Item = (String, Cost)>,
) {
    let _ = writeln!(
        text,
        "\n{HEADING}{:>14}{:>6}{:>14}{:>6}{:>11}  {what}{END}",
        "stalls", "%", "cycles", "%", "per instr."
    );
    for (name, cost) in rows.take(opts.top) {
        numbers(text, &cost, tables);
        let _ = writeln!(text, "{}", names::cut(&name, width() - NUMBERS));
    }
    more(text, opts, count, what);
}

/// How many rows are left out.
fn more(text: &mut String, opts: &Opts, count: usize, what: &str) {
    let left = count.saturating_sub(opts.top);
    if left > 0 {
        let line = format!("{left} more {} (--top)", words::plural(left as u64, what));
        let indent = NUMBERS.min(width().saturating_sub(line.len()));
        let _ = writeln!(text, "{:indent$}{line}", "");
    }
}

fn numbers(text: &mut String, cost: &Cost, tables: &StallTables) {
    let _ = write!(
        text,
        "{:>14}{}{:>14}{}{:>11}  ",
        grouped(cost.stalled),
        share(cost.stalled, tables.all.stalled),
        grouped(cost.cycles),
        share(cost.cycles, tables.all.cycles),
        ratio(cost.cycles, cost.retired)
    );
}

fn instructions(text: &mut String, opts: &Opts, tables: &StallTables, image: &Image) {
    let (first, of) = match opts.sort {
        StallOrder::Stalls => ("stalls", tables.all.stalled),
        StallOrder::Cycles => ("cycles", tables.all.cycles),
    };
    let _ = writeln!(text, "\n{HEADING}{first:>14}{:>6}{:>11}  instruction{END}", "%", "per instr.");
    for (instruction, cost) in tables.instructions.iter().take(opts.top) {
        let number = if opts.sort == StallOrder::Stalls { cost.stalled } else { cost.cycles };
        let (share, each) = (share(number, of), ratio(cost.cycles, cost.retired));
        let _ = write!(text, "{:>14}{share}{each:>11}  ", grouped(number));
        let _ = writeln!(text, "{}", words(instruction, image, width() - 33));
    }
    more(text, opts, tables.instructions.len(), "instruction");
}

/// An instruction and where it is.
fn words(instruction: &StallInstruction, image: &Image, width: usize) -> String {
    let StallInstruction { isa, space, at } = instruction;
    let mut line = Line::default();
    disassembly::write(&mut line, *isa, at);
    let code = String::from_utf8_lossy(line.bytes()).into_owned();
    let room = width.saturating_sub(code.len() + 2).max(12);
    let mut place = names::place(image, at.address, *space, room);
    if place.is_empty() {
        place = format!("{:#x}", at.address);
    }
    names::head(&format!("{place}  {code}"), width)
}

/// The longest single stalls.
fn longest(text: &mut String, opts: &Opts, sources: &[SourceStalls], image: &Image) {
    let stalls = sources.iter().filter_map(|source| source.stalls.as_ref());
    let mut all: Vec<_> = stalls.flat_map(Stalls::longest_stalls).collect();
    all.sort_by_key(|stall| std::cmp::Reverse(stall.length));
    if all.is_empty() {
        return;
    }
    let _ =
        writeln!(text, "\n{HEADING}{:>14}{:>17}  the longest stalls, before{END}", "cycles", "up to cycle");
    for stall in all.iter().take(opts.top.min(5)) {
        let found = tracewright_flow::Instructions::new(image, stall.space, &stall.block);
        let Some(at) = found.into_iter().nth(stall.at as usize) else { continue };
        let instruction = StallInstruction { isa: stall.block.isa, space: stall.space, at };
        let _ = write!(text, "{:>14}{:>17}  ", grouped(stall.length), grouped(stall.cycle));
        let _ = writeln!(text, "{}", words(&instruction, image, width() - 33));
    }
}
