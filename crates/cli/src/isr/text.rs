//! Exceptions, for people.

use std::fmt::Write;

use tracewright::{ExceptionRow, SourceExceptions, ThreadRow, names, words};
use tracewright_core::Exception;
use tracewright_core::text::Printable;

use crate::record::grouped;
use crate::terminal::{END, HEADING, width};

/// Columns of the numbers before a name, with the blanks after them.
const NUMBERS: usize = 62;

/// A table for each source.
pub fn all(sources: &[SourceExceptions], rows: &[ExceptionRow<'_>]) -> String {
    let mut text = String::new();
    let mut last = None;
    for row in rows {
        if last != Some(row.source) {
            heading(&mut text, row, last.is_some());
            last = Some(row.source);
        }
        let time = |time: Option<u64>| time.map_or("-".into(), grouped);
        let (durations, intervals) = (&row.stats.durations, &row.stats.intervals);
        let _ = write!(text, "{:>8}", grouped(row.stats.count));
        for (value, width) in [
            (durations.least(), 9),
            (durations.median(), 9),
            (durations.most(), 11),
            (intervals.median(), 11),
        ] {
            let _ = write!(text, " {:>width$}", time(value));
        }
        let kind = if row.key.interrupt { "irq " } else { "" };
        let number = Exception::known(row.key.number).map_or("-".into(), |number| number.to_string());
        let number = format!("{kind}{number}");
        let _ =
            writeln!(text, " {number:>7}  {}", names::cut(&row.name, width().saturating_sub(NUMBERS).max(8)));
    }
    notes(&mut text, sources, rows);
    text
}

fn heading(text: &mut String, row: &ExceptionRow<'_>, again: bool) {
    let _ =
        writeln!(text, "{}{}: times in {}", if again { "\n" } else { "" }, Printable(row.source), row.unit);
    let _ = writeln!(
        text,
        "{HEADING}{:>8}{:>10}{:>10}{:>12}{:>12}{:>8}  exception{END}",
        "count", "shortest", "median", "longest", "interval", "number"
    );
}

/// A table of threads for each source.
pub fn threads(rows: &[ThreadRow<'_>]) -> String {
    let mut text = String::new();
    for of in rows.chunk_by(|row, next| row.source == next.source) {
        let (source, unit) = (Printable(of[0].source), of[0].unit);
        let _ = writeln!(text, "{}{source}: times in {unit}", if text.is_empty() { "" } else { "\n" });
        let _ = writeln!(
            text,
            "{HEADING}{:>8}{:>10}{:>10}{:>12}{:>14}{:>6}  thread{END}",
            "count", "shortest", "median", "longest", "total", "%"
        );
        let all: u128 = of.iter().map(|row| row.stats.durations.total()).sum();
        for ThreadRow { name, stats, .. } in of {
            let durations = &stats.durations;
            let time = |time: Option<u64>| time.map_or("-".into(), grouped);
            let [shortest, median, longest] =
                [durations.least(), durations.median(), durations.most()].map(time);
            let total = durations.total();
            let share = format!("{:.1}", 100.0 * total as f64 / all.max(1) as f64);
            let total = grouped(u64::try_from(total).unwrap_or(u64::MAX));
            let count = grouped(stats.count);
            let name = names::cut(name, width().saturating_sub(NUMBERS).max(8));
            let _ = writeln!(
                text,
                "{count:>8} {shortest:>9} {median:>9} {longest:>11} {total:>13} {share:>5}  {name}"
            );
        }
    }
    let unfinished: u64 = rows.iter().map(|row| row.stats.unfinished).sum();
    if unfinished > 0 {
        let _ = writeln!(
            text,
            "\n{} whose beginning or end is not in the trace",
            words::count(unfinished, "run")
        );
    }
    text
}

/// Lines below the tables.
fn notes(text: &mut String, sources: &[SourceExceptions], rows: &[ExceptionRow<'_>]) {
    let deepest = sources.iter().map(|source| source.exceptions.deepest()).max().unwrap_or(0);
    let untimed: u64 = rows.iter().map(|row| row.stats.untimed).sum();
    let unfinished = rows.iter().map(|row| row.stats.unfinished).sum::<u64>() - untimed;
    let strays: u64 = sources.iter().map(|source| source.exceptions.strays()).sum();
    if deepest > 1 {
        let _ = writeln!(text, "\n{deepest} exceptions inside each other at most");
    }
    if unfinished > 0 {
        let _ = writeln!(text, "{} without an end in the trace", words::count(unfinished, "exception"));
    }
    if untimed > 0 {
        let _ = writeln!(text, "{} at times that the trace does not tell", words::count(untimed, "end"));
    }
    if strays > 0 {
        let _ =
            writeln!(text, "{} from exceptions that began before the trace", words::count(strays, "return"));
    }
}
