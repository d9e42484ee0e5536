//! What happened, and what a decoder found: are they the same?

use std::fmt::Write as _;

use tracewright_core::{Block, Ended};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A block, the privilege it ran with, and the context.
    Block(Block, u8, u64),
    /// Where the trap was taken, if that is told.
    Trap { pc: Option<u64>, cause: u64, interrupt: bool, value: Option<u64> },
    /// Instructions ran that the trace does not tell of.
    Unknown,
}

/// The first difference, if there is one. What the decoder says it cannot tell may be missing, up to where both go on alike.
pub fn difference(truth: &[Happened], found: &[Happened]) -> Option<String> {
    let mut stretches = found.split(|happened| *happened == Happened::Unknown).peekable();
    let (mut a, mut b) = (0, 0);
    let mut is_first = true;
    while let Some(stretch) = stretches.next() {
        let is_last = stretches.peek().is_none();
        // After what is not known it goes on somewhere, perhaps in the same block.
        let starts = if is_first { a..a + 1 } else { a.max(1) - 1..truth.len() + 1 };
        let mut matches = starts.map(|start| (start, alike(&truth[start..], stretch, !is_first, !is_last)));
        // Nothing is missing at the end, unless that is not known.
        let fits = |start: usize| !is_last || stretch.is_empty() || start + stretch.len() == truth.len();
        match matches.find(|(start, same)| *same == stretch.len() && fits(*start)) {
            Some((start, same)) => (a, b) = (start + same, b + stretch.len() + 1),
            None => {
                // Where it goes on alike for longest says most.
                let starts = if is_first { a..a + 1 } else { a.max(1) - 1..truth.len() + 1 };
                let same = |start: &usize| alike(&truth[*start..], stretch, !is_first, !is_last);
                let start = starts.rev().max_by_key(same).unwrap_or(a);
                return Some(around(truth, found, start + same(&start), b + same(&start)));
            }
        }
        is_first = false;
    }
    None
}

/// How many are alike. Of the first block the beginning may be missing, of the last the end.
fn alike(truth: &[Happened], found: &[Happened], is_cut_before: bool, is_cut_after: bool) -> usize {
    let pairs = truth.iter().zip(found).enumerate();
    pairs
        .take_while(|(i, (truth, found_))| {
            same(truth, found_)
                || *i == 0 && is_cut_before && is_rest(truth, found_)
                || *i + 1 == found.len() && is_cut_after && is_beginning(truth, found_)
        })
        .count()
}

/// Whether `found` is what is known of a block.
fn is_beginning(truth: &Happened, found: &Happened) -> bool {
    match (*truth, *found) {
        (Happened::Block(truth, ..), Happened::Block(found, ..)) => {
            found.ended == Ended::Cut && truth.start == found.start && truth.count >= found.count
        }
        _ => false,
    }
}

/// Whether `found` is what is left of a block whose beginning is not known.
fn is_rest(truth: &Happened, found: &Happened) -> bool {
    match (*truth, *found) {
        (Happened::Block(truth, ..), Happened::Block(found, ..)) => {
            // Half a pair is none.
            (truth.end, truth.class.role, truth.ended) == (found.end, found.class.role, found.ended)
                && truth.start < found.start
                && truth.count > found.count
        }
        _ => false,
    }
}

/// Where a second trap was taken before the first handler began is not told.
fn same(truth: &Happened, found: &Happened) -> bool {
    match (*truth, *found) {
        (
            Happened::Trap { cause, interrupt, value, .. },
            Happened::Trap { pc: None, cause: c, interrupt: i, value: v },
        ) => (cause, interrupt, value) == (c, i, v),
        (truth, found) => truth == found,
    }
}

fn around(truth: &[Happened], found: &[Happened], a: usize, b: usize) -> String {
    let mut text = String::new();
    for (name, all, at) in [("truth", truth, a), ("found", found, b)] {
        let from = at.saturating_sub(4);
        let _ = writeln!(text, "{name}, {} in all:", all.len());
        for (i, happened) in all.iter().enumerate().skip(from).take(at - from + 4) {
            let _ = writeln!(text, "{} {i}: {happened:x?}", if i == at { ">" } else { " " });
        }
    }
    text
}
