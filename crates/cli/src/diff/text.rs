//! Two profiles beside each other, for people.

use std::fmt::Write;

use tracewright_profile::diff::{Diff, change, share};

use crate::record::grouped;
use crate::terminal::{END, HEADING, width};
use tracewright::{names, words};

/// Columns of the numbers.
const NUMBERS: usize = 43;

/// The tables.
pub fn all(diff: &Diff, paths: &[String; 2], top: usize) -> String {
    let mut text = String::new();
    let [a, b] = diff.instructions;
    for (letter, name, of) in [("A", &paths[0], a), ("B", &paths[1], b)] {
        let _ =
            writeln!(text, "{letter}  {:>18} instructions  {}", grouped(of), names::tail(name, width() - 36));
    }
    let _ = writeln!(text, "   {:>18}", signed(a, b));
    let _ = writeln!(text, "\n{HEADING} share A  share B   change  change in instr.  function{END}");
    let rows = diff.functions.iter().filter(|of| of.instructions[0] != of.instructions[1]);
    let changed = rows.clone().count();
    for of in rows.take(top) {
        let [before, after] = of.instructions;
        numbers(&mut text, of.instructions, diff.instructions);
        let _ = writeln!(
            text,
            "{:>17}  {}",
            difference(before, after),
            names::cut(&of.name, width() - NUMBERS - 2)
        );
    }
    rest(&mut text, changed, top, diff.functions.len(), "function");
    let _ =
        writeln!(text, "\n{HEADING} share A  share B   change  taken A  taken B  branch (conditional){END}");
    let rows = diff
        .branches
        .iter()
        .filter(|of| of.ran != [0, 0] && (of.ran[0], of.taken[0]) != (of.ran[1], of.taken[1]));
    let changed = rows.clone().count();
    for of in rows.take(top) {
        numbers(&mut text, of.ran, diff.branches_ran);
        for side in 0..2 {
            let taken = match of.ran[side] {
                0 => "-".into(),
                ran => format!("{:.1} %", share(of.taken[side], ran) * 100.0),
            };
            let _ = write!(text, "{taken:>9}");
        }
        let _ = writeln!(text, "  {}", names::cut(&of.name, width() - NUMBERS - 3));
    }
    rest(&mut text, changed, top, diff.branches.len(), "branch");
    text
}

/// The shares of both, and how they changed.
fn numbers(text: &mut String, of: [u64; 2], all: [u64; 2]) {
    for side in 0..2 {
        let _ = write!(text, "{:>7.2} %", share(of[side], all[side]) * 100.0);
    }
    let _ = write!(text, "{:>+9.2}", change(of, all) * 100.0);
}

/// What is not in the table.
fn rest(text: &mut String, changed: usize, top: usize, all: usize, what: &str) {
    let hidden = changed.saturating_sub(top);
    if hidden > 0 {
        let _ =
            writeln!(text, "{hidden:>8} more {} that changed (--top)", words::plural(hidden as u64, what));
    }
    if all > changed {
        let same = (all - changed) as u64;
        let _ = writeln!(text, "{same:>8} {} ran as often in both", words::plural(same, what));
    }
}

/// `+1 000`.
fn difference(before: u64, after: u64) -> String {
    match after.checked_sub(before) {
        Some(more) => format!("+{}", grouped(more)),
        None => format!("-{}", grouped(before - after)),
    }
}

/// `+1 000 (+2.5 %)`.
fn signed(before: u64, after: u64) -> String {
    let part = match before {
        0 => String::new(),
        _ => format!(" ({:+.2} %)", (after as f64 / before as f64 - 1.0) * 100.0),
    };
    difference(before, after) + &part
}
