//! Comparison of an execution with a decoder's result.

use std::fmt::Write as _;

use tracewright_core::{Block, Element, Ended, GapReason};
use tracewright_flow::ElementSink;

/// Item of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// Block, with its privilege and context.
    Block(Block, u8, u64),
    /// Trap, with its address if reported.
    Trap { pc: Option<u64>, cause: u64, interrupt: bool, value: Option<u64> },
    /// Instructions that the trace does not cover.
    Unknown,
}

/// ElementSink that keeps what a decoder finds.
#[derive(Default)]
pub struct Found {
    pub happened: Vec<Happened>,
    /// Elements that report something else, with their stream positions.
    pub others: Vec<(u64, Element)>,
    privilege: u8,
    context: u64,
}

impl ElementSink for Found {
    fn element(&mut self, offset: u64, element: &Element) {
        match *element {
            Element::Block(block) => {
                self.happened.push(Happened::Block(block, self.privilege, self.context));
            }
            Element::Context(now, _) => {
                (self.privilege, self.context) = (now.level, now.context_id.map_or(0, u64::from));
            }
            Element::Exception(exception) => self.happened.push(Happened::Trap {
                pc: exception.return_address,
                cause: exception.number.into(),
                interrupt: exception.interrupt,
                value: exception.value,
            }),
            Element::UnknownPath { .. } => self.happened.push(Happened::Unknown),
            Element::TraceOn(_) | Element::End => {}
            other => {
                if other == Element::Lost(GapReason::Ambiguous) {
                    self.happened.push(Happened::Unknown);
                }
                self.others.push((offset, other));
            }
        }
    }
}

impl Found {
    /// Returns the number of places where the path is unknown.
    pub fn unknown(&self) -> usize {
        self.happened.iter().filter(|happened| **happened == Happened::Unknown).count()
    }
}

/// Returns the first difference, if there is one. Where the decoder reports uncertainty, items may be missing
/// up to where both agree again.
pub fn difference(truth: &[Happened], found: &[Happened]) -> Option<String> {
    let mut stretches = found.split(|happened| *happened == Happened::Unknown).peekable();
    let (mut a, mut b) = (0, 0);
    let mut is_first = true;
    while let Some(stretch) = stretches.next() {
        let is_last = stretches.peek().is_none();
        // After an unknown stretch it continues anywhere, perhaps in the same block.
        let starts = if is_first { a..a + 1 } else { a.max(1) - 1..truth.len() + 1 };
        let same = |start: &usize| alike(&truth[*start..], stretch, !is_first, !is_last);
        // Nothing may be missing at the end, unless that is unknown.
        let fits = |start: usize| !is_last || stretch.is_empty() || start + stretch.len() == truth.len();
        match starts.clone().find(|start| same(start) == stretch.len() && fits(*start)) {
            Some(start) => (a, b) = (start + stretch.len(), b + stretch.len() + 1),
            None => {
                // The longest agreement is the best report.
                let start = starts.rev().max_by_key(same).unwrap_or(a);
                return Some(around(truth, found, start + same(&start), b + same(&start)));
            }
        }
        is_first = false;
    }
    None
}

/// Returns how many items are alike. The first block may lack its beginning, the last its end.
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

/// Returns whether `found` is the known beginning of a block.
fn is_beginning(truth: &Happened, found: &Happened) -> bool {
    let (Happened::Block(truth, ..), Happened::Block(found, ..)) = (truth, found) else { return false };
    found.ended == Ended::Cut && truth.start == found.start && truth.count >= found.count
}

/// Returns whether `found` is the rest of a block whose beginning is unknown.
fn is_rest(truth: &Happened, found: &Happened) -> bool {
    let (Happened::Block(truth, ..), Happened::Block(found, ..)) = (truth, found) else { return false };
    // Half a pair is no pair.
    (truth.end, truth.class.role, truth.ended) == (found.end, found.class.role, found.ended)
        && truth.start < found.start
        && truth.count > found.count
}

/// The address of a second trap before the first handler began is not reported.
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
