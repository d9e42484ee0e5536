//! Exceptions, for people.

use std::fmt::Write;

use tracewright::{SourceExceptions, names, words};
use tracewright_core::text::Printable;

use super::Row;
use crate::record::grouped;
use crate::terminal::{END, HEADING, width};

/// Columns of the numbers before a name, with the blanks after them.
const NUMBERS: usize = 62;

/// A table for each source.
pub fn all(sources: &[SourceExceptions], rows: &[Row<'_>]) -> String {
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
            (durations.least(), 10),
            (durations.median(), 10),
            (durations.most(), 12),
            (intervals.median(), 12),
        ] {
            let _ = write!(text, "{:>width$}", time(value));
        }
        let kind = if row.key.interrupt { "irq " } else { "" };
        let number = format!("{kind}{}", row.key.number);
        let _ =
            writeln!(text, "{number:>8}  {}", names::cut(&row.name, width().saturating_sub(NUMBERS).max(8)));
    }
    notes(&mut text, sources, rows);
    text
}

fn heading(text: &mut String, row: &Row<'_>, again: bool) {
    let _ =
        writeln!(text, "{}{}: times in {}", if again { "\n" } else { "" }, Printable(row.source), row.unit);
    let _ = writeln!(
        text,
        "{HEADING}{:>8}{:>10}{:>10}{:>12}{:>12}{:>8}  exception{END}",
        "count", "shortest", "median", "longest", "interval", "number"
    );
}

/// Lines below the tables.
fn notes(text: &mut String, sources: &[SourceExceptions], rows: &[Row<'_>]) {
    let deepest = sources.iter().map(|source| source.exceptions.deepest()).max().unwrap_or(0);
    let unfinished: u64 = rows.iter().map(|row| row.stats.unfinished).sum();
    let strays: u64 = sources.iter().map(|source| source.exceptions.strays()).sum();
    if deepest > 1 {
        let _ = writeln!(text, "\n{deepest} exceptions inside each other at most");
    }
    if unfinished > 0 {
        let _ = writeln!(text, "{} without an end in the trace", words::count(unfinished, "exception"));
    }
    if strays > 0 {
        let _ =
            writeln!(text, "{} from exceptions that began before the trace", words::count(strays, "return"));
    }
}
