//! How much ran, for people.

use std::cmp::Reverse;
use std::fmt::Write;

use tracewright_profile::coverage::{Coverage, Function, Part, Totals};

use super::Opts;
use crate::terminal::{END, HEADING, width};
use tracewright::names;

/// Columns of the numbers before a name, with the blanks after them.
const NUMBERS: usize = 52;

/// The table: files, and the functions of each.
pub fn all(opts: &Opts, coverage: &Coverage) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{HEADING}{:>6}{:>7}{:>7}{:>8}{:>7}{:>9}{:>6}{END}",
        "lines", "of", "branch", "of", "instr", "of", "funct"
    );
    for (number, file) in (0..).zip(&coverage.files) {
        let kind = if file.is_source { "" } else { " (no source)" };
        let room = width() - NUMBERS - kind.len();
        let name = names::cut(names::file_name(&file.name), room) + kind;
        row(&mut text, &coverage.file_totals(number), &name);
        functions(&mut text, opts, coverage.functions_of(number));
    }
    let sources = coverage.files.iter().filter(|file| file.is_source).count();
    if sources > 0 && sources < coverage.files.len() {
        row(&mut text, &coverage.source_totals(), "all source files");
    }
    row(&mut text, &coverage.totals(), "all");
    text
}

fn row(text: &mut String, totals: &Totals, name: &str) {
    let Totals { lines, branches, functions, instructions } = totals;
    let (all, percents) = ([lines, branches, instructions], [6, 7, 7]);
    for ((part, width), of) in all.into_iter().zip(percents).zip([7, 8, 9]) {
        let _ = write!(text, "{:>width$}{:>of$}", percent(part), part.all);
    }
    let _ = writeln!(text, "{:>6}  {name}", percent(functions));
}

/// Those that ran, what lacks most first.
fn functions(text: &mut String, opts: &Opts, functions: &[Function]) {
    let mut ran: Vec<_> = functions.iter().filter(|function| function.ran()).collect();
    let left = |part: &Part| part.all - part.hit;
    let lacks = |function: &Function| {
        Reverse((left(&function.lines), left(&function.branches), left(&function.instructions)))
    };
    ran.sort_by_key(|function| (lacks(function), function.line, function.start));
    for function in ran.iter().take(opts.top) {
        let Function { lines, branches, instructions, .. } = **function;
        let totals = Totals { lines, branches, instructions, functions: Part::default() };
        row(text, &totals, &format!("  {}", names::cut(&function.name, width() - NUMBERS - 2)));
    }
    let mut more = |count: usize, what: &str| {
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            let _ = writeln!(text, "{:NUMBERS$}  {count} function{plural} {what}", "");
        }
    };
    more(ran.len().saturating_sub(opts.top), "more (--top)");
    more(functions.len() - ran.len(), "never ran");
}

/// `12.3`: never rounded to all, or to nothing, if it is not.
fn percent(part: &Part) -> String {
    match part.percent() {
        None => "-".into(),
        Some(percent) if part.hit > 0 && part.hit < part.all => format!("{:.1}", percent.clamp(0.1, 99.9)),
        Some(percent) => format!("{percent:.0}"),
    }
}
