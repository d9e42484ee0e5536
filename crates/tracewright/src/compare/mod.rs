//! Two traces of one execution, packet by packet: what differs, and whether an encoder may choose it.
//!
//! Both are decoded with the program. As long as their packets are the same there is nothing to say. From a packet that differs on, both
//! are read up to a packet at which both begin anew (the same synchronisation at the same instruction). In between
//!
//! * the same instructions must have run, in the same contexts, with the same exceptions;
//! * packets that tell more than the path (traps, support packets, timestamps, cycle counts, events) must be the same, at the same
//!   instruction;
//! * every other packet that only one of them has needs a [`Rule`] that leaves it to the encoder.
//!
//! The first difference without a rule is an error: [`Difference`] names both packets, their fields and the instructions around them.
//! What follows it is not compared.

mod difference;
mod judge;
mod rule;
mod side;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use self::difference::{Difference, Reason};
use self::judge::Memory;
pub(crate) use self::rule::shown;
pub use self::rule::{Part, Rule, Rules};
pub use self::side::{Did, Fields, Packets, Run, Step};
use self::side::{RUNS, Side};
use crate::error::Error;
use crate::trace::Trace;

/// Result of comparing two traces of a source.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Name of the source in the reference.
    pub source: String,
    /// Packets of the reference that were compared.
    pub packets: u64,
    /// Instructions that the compared packets report.
    pub instructions: u64,
    /// Rules that explain differences: how often each was needed, and the offset in the other trace where it was first.
    pub rules: BTreeMap<Rule, (u64, u64)>,
    /// The first difference that no rule allows.
    pub difference: Option<Box<Difference>>,
}

impl Compared {
    /// Returns whether every byte is the same.
    pub fn is_same(&self) -> bool {
        self.difference.is_none() && self.rules.is_empty()
    }

    /// Returns it as a JSON object.
    pub fn json(&self, reference: &Trace) -> Value {
        let rules: Vec<_> = self
            .rules
            .iter()
            .map(|(rule, (times, offset))| json!({ "rule": rule.name(), "times": times, "offset": offset }))
            .collect();
        json!({
            "source": self.source, "packets": self.packets, "instructions": self.instructions, "verdict": self.verdict(),
            "rules": rules, "difference": self.difference.as_ref().map(|difference| difference.json(reference)),
        })
    }

    /// Returns the verdict in a word: same, legal or wrong.
    pub fn verdict(&self) -> &'static str {
        match &self.difference {
            Some(_) => "wrong",
            None if self.rules.is_empty() => "same",
            None => "legal",
        }
    }

    /// Returns it in lines.
    pub fn text(&self, reference: &Trace) -> String {
        let Self { source, packets, instructions, .. } = self;
        let mut text = match self.verdict() {
            "same" => format!("{source}: the same: {packets} packets, {instructions} instructions\n"),
            "legal" => format!(
                "{source}: other packets, which the specification allows: {instructions} instructions\n"
            ),
            _ => format!("{source}: wrong after {packets} packets and {instructions} instructions: "),
        };
        if let Some(difference) = &self.difference {
            text += &difference.text(reference);
        }
        for (rule, (times, offset)) in &self.rules {
            text += &format!("  {times} x {rule}, first at {offset:#x}: {}\n", rule.meaning());
        }
        text
    }
}

/// Most packets of a trace that are kept in search of a place where both begin anew.
const MOST: usize = 1 << 20;

/// Compares two traces of one execution, source by source. The chosen sources of `reference` are compared with those of the same number.
///
/// # Errors
/// Fails if one of them cannot be read, or if `theirs` lacks a source.
pub fn compare(reference: &Trace, theirs: &Trace) -> Result<Vec<Compared>, Error> {
    let mut all = Vec::new();
    for buffer in reference.buffers()? {
        for &source in &buffer.sources {
            let source = &reference.capture().sources[source];
            let Some(id) = source.number().filter(|&id| reference.is_chosen(id)) else { continue };
            let [ours, theirs] = [reference, theirs].map(|trace| trace.clone().only_source(id));
            let ours = ours.buffer(&buffer.name);
            theirs.buffers()?;
            let rules = Rules::of(&source.protocol);
            all.push(compare_source(&source.name, rules, &ours, &theirs)?);
        }
    }
    match all.is_empty() {
        true => Err(Error::Selection("there is no source to compare".into())),
        false => Ok(all),
    }
}

fn compare_source(name: &str, rules: Rules, ours: &Trace, theirs: &Trace) -> Result<Compared, Error> {
    let mut compared = Compared {
        source: name.to_owned(),
        packets: 0,
        instructions: 0,
        rules: BTreeMap::new(),
        difference: None,
    };
    let (mut our, mut their) = (Side::new(ours), Side::new(theirs));
    let mut memory = Memory::default();
    let mut last: Vec<Run> = Vec::new();
    loop {
        match (our.peek(), their.peek()) {
            (None, None) => break,
            (Some(one), Some(other)) if (one.kind, &one.bytes) == (other.kind, &other.bytes) => {
                their.common();
                if let Some(one) = our.common() {
                    memory.common(&one);
                    last.extend(one.did.iter().filter_map(difference::ran));
                    last.drain(..last.len().saturating_sub(RUNS));
                    compared.packets += 1;
                    compared.instructions = one.after;
                }
                continue;
            }
            _ => {}
        }
        let (one, other) = (our.step(), their.step());
        let mut part = [one.into_iter().collect::<Vec<_>>(), other.into_iter().collect::<Vec<_>>()];
        let is_found = gather(rules, &mut [&mut our, &mut their], &mut part);
        let [ours, theirs] = &part;
        let judged = match is_found {
            true => memory.judge(rules, ours, theirs),
            false => Err(Box::new(Difference::new([ours, theirs], [0, 0], Reason::TooLong))),
        };
        match judged {
            Ok(used) => {
                for (rule, at) in used {
                    let offset = theirs.get(at).map_or(0, |step| step.offset);
                    compared.rules.entry(rule).or_insert((0, offset)).0 += 1;
                }
                compared.packets += ours.len() as u64;
                compared.instructions = ours.last().map_or(compared.instructions, |step| step.after);
                if let Some(step) = ours.last() {
                    memory.common(step);
                }
            }
            Err(mut difference) => {
                let before = std::mem::take(&mut difference.before);
                difference.before = last.iter().copied().chain(before).collect();
                compared.difference = Some(difference);
                break;
            }
        }
    }
    our.finish()?;
    their.finish()?;
    Ok(compared)
}

/// Reads both traces up to a packet at which both begin anew, or to their ends. Returns whether one was found among [`MOST`].
fn gather(rules: Rules, sides: &mut [&mut Side; 2], part: &mut [Vec<Step>; 2]) -> bool {
    let mut is_over = [false; 2];
    loop {
        // The one that is behind goes on.
        let side = match is_over {
            [true, true] => return true,
            [false, true] => 0,
            [true, false] => 1,
            _ => usize::from(sides[1].ran() < sides[0].ran()),
        };
        let Some(step) = sides[side].step() else {
            is_over[side] = true;
            continue;
        };
        let is_anchor = rules.is_anchor(&step);
        part[side].push(step);
        if is_anchor && let Some(at) = common(&part[1 - side], part[side].last()) {
            // What the other one has after it is still to come.
            let behind = part[1 - side].split_off(at + 1);
            sides[1 - side].put_back(behind);
            return true;
        }
        if part[side].len() > MOST {
            return false;
        }
    }
}

/// Returns where a trace has this packet, at the same instruction.
fn common(steps: &[Step], wanted: Option<&Step>) -> Option<usize> {
    let wanted = wanted?;
    let is_it =
        |step: &Step| step.after == wanted.after && step.kind == wanted.kind && step.fields == wanted.fields;
    steps.iter().rposition(is_it)
}
