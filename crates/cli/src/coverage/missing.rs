//! What never ran, for people.

use std::fmt::Write;

use tracewright_core::text::Printable;
use tracewright_profile::Program;
use tracewright_profile::coverage::{Branch, Coverage, File, Function};

use crate::record::grouped;
use crate::terminal::{END, HEADING, width};
use tracewright::{names, words};

/// All files of which something never ran.
pub fn all(coverage: &Coverage, programs: &[Program]) -> String {
    let mut text = String::new();
    for (number, file) in (0..).zip(&coverage.files) {
        let mut of = String::new();
        let functions = coverage.functions_of(number);
        match file.is_source {
            true => source(&mut of, coverage, file, functions, programs),
            false => binary(&mut of, functions),
        }
        if !of.is_empty() {
            let _ = write!(text, "{HEADING}{}{END}\n{of}", Printable(&file.name));
        }
    }
    if text.is_empty() && !coverage.functions.is_empty() {
        text.push_str("All ran: each line, and each branch both ways.\n");
    }
    text
}

fn source(text: &mut String, coverage: &Coverage, file: &File, functions: &[Function], programs: &[Program]) {
    let never = functions.iter().filter(|function| !function.ran());
    listed(text, "functions", never.map(|function| format!("{} ({})", function.name, function.line)));
    listed(
        text,
        "lines",
        file.missed_lines().into_iter().map(|run| match run.end() - run.start() {
            0 => run.start().to_string(),
            _ => format!("{}-{}", run.start(), run.end()),
        }),
    );
    let one_way = file.branches.iter().filter(|branch| branch.outcomes().hit == 1);
    let mut title = "branches";
    for branch in one_way {
        let _ = writeln!(text, "  {title:<10} {}", self::branch(coverage, branch, programs));
        title = "";
    }
}

/// Functions without source: how many, and of those that ran, the branches that went one way.
fn binary(text: &mut String, functions: &[Function]) {
    let never = functions.iter().filter(|function| !function.ran()).count();
    let _ = match never {
        0 => Ok(()),
        _ => writeln!(text, "  {never} of {} functions never ran (--json names them)", functions.len()),
    };
    let one_way: u64 = functions
        .iter()
        .filter(|function| function.ran())
        .map(|function| function.branches.all - function.branches.hit)
        .sum();
    if one_way > 0 {
        let outcomes = words::count(one_way, "outcome");
        let _ = writeln!(text, "  {outcomes} of branches in the others never came about");
    }
}

/// `40 in sort: never taken, 1 234 times not (0x10144)`.
fn branch(coverage: &Coverage, branch: &Branch, programs: &[Program]) -> String {
    let words = match (branch.taken, branch.not_taken) {
        (0, not) => format!("never taken, {} not", times(not)),
        (taken, _) => format!("always taken, {}", times(taken)),
    };
    let function = coverage.functions.get(branch.function as usize).map(|function| function.name.as_str());
    // Of a function in a file that was not asked for.
    let symbol =
        || programs.iter().find_map(|program| program.symbol(branch.place)).map(|symbol| symbol.name);
    let (line, address) = (branch.line, branch.place.address);
    let rest = format!(": {words} ({address:#x})");
    let name = function.or_else(symbol).unwrap_or("?");
    let room = (width() - 13).saturating_sub(rest.len() + 14).max(10);
    format!("{line:>5} in {}{rest}", names::cut(name, room))
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{} times", grouped(count)) }
}

/// Words after a title, in as many lines as they need.
fn listed(text: &mut String, title: &str, words: impl Iterator<Item = String>) {
    let mut line = format!("  {title:<10}");
    let mut empty = true;
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let comma = if words.peek().is_some() { "," } else { "" };
        if line.len() + word.len() + 2 > width() && !empty {
            let _ = writeln!(text, "{line}");
            line = " ".repeat(12);
        }
        let _ = write!(line, " {word}{comma}");
        empty = false;
    }
    if !empty {
        let _ = writeln!(text, "{line}");
    }
}
