//! The first difference that no rule allows, as text and as JSON.

use std::fmt::{self, Write as _};

use serde_json::{Value, json};
use tracewright_core::{Block, Class, Ended, MemorySpace};

use super::rule::shown;
use super::side::{Did, Run, Step};
use crate::trace::Trace;

/// Why a difference is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There are bytes that are no packet.
    NotAPacket,
    /// A packet or a field that must be the same is not.
    Fields,
    /// A decoder follows another path.
    Execution,
    /// The outcomes of branches differ where the program does not need them.
    Outcomes,
    /// The sums of instruction counters differ.
    Counts,
    /// The times of one instruction differ.
    Time,
    /// A regular synchronisation has fields that it cannot have there.
    Synchronisation,
    /// Code is missing, so that it cannot be judged.
    NoCode,
    /// The execution is the same, but no rule allows other packets.
    NoRule,
    /// The fields are the same, but bits that belong to no field are not.
    Bits,
    /// No packet was found at which both begin anew.
    TooLong,
}

impl Reason {
    /// Returns its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotAPacket => "not-a-packet",
            Self::Fields => "fields",
            Self::Execution => "execution",
            Self::Outcomes => "outcomes",
            Self::Counts => "counts",
            Self::Time => "time",
            Self::Synchronisation => "synchronisation",
            Self::NoCode => "no-code",
            Self::NoRule => "no-rule",
            Self::Bits => "bits",
            Self::TooLong => "too-long",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAPacket => "these bytes are no packet",
            Self::Fields => "a packet, or a field that must be the same, is not",
            Self::Execution => "a decoder follows another path",
            Self::Outcomes => "outcomes of branches differ, though both lead the same way",
            Self::Counts => "the sums of the instruction counters differ, though the same instructions ran",
            Self::Time => "the times of one instruction differ",
            Self::Synchronisation => "a regular synchronisation cannot have these fields here",
            Self::NoCode => {
                "the program's code is missing, so that what is free cannot be told from what is wrong"
            }
            Self::NoRule => "the same instructions ran, but no rule allows another packet here",
            Self::Bits => "the fields are the same, but bits that belong to no field differ",
            Self::TooLong => "no packet follows at which both begin anew, so that the rest cannot be judged",
        })
    }
}

/// The first difference that no rule allows.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Why it is an error.
    pub reason: Reason,
    /// The packet of the reference; `None` if it ends before.
    pub ours: Option<Step>,
    /// The packet of the other trace; `None` if it ends before.
    pub theirs: Option<Step>,
    /// The last instructions that both have.
    pub(super) before: Vec<Run>,
    /// The next instructions of each.
    pub(super) next: [Vec<Run>; 2],
}

/// Instructions shown on each side.
const SHOWN: usize = 4;

impl Difference {
    /// Creates a difference of two parts at packets with these indices.
    pub(super) fn new(steps: [&[Step]; 2], at: [usize; 2], reason: Reason) -> Self {
        let runs =
            |steps: &[Step]| steps.iter().flat_map(|step| &step.did).filter_map(ran).collect::<Vec<_>>();
        let before = runs(steps[0].get(..at[0]).unwrap_or(steps[0]));
        let next = [0, 1].map(|side| {
            runs(steps[side].get(at[side]..).unwrap_or_default()).into_iter().take(SHOWN).collect()
        });
        let [ours, theirs] = [0, 1].map(|side| steps[side].get(at[side]).cloned());
        Self { reason, ours, theirs, before, next }
    }

    /// Returns it in lines: the packets, their fields side by side, and the instructions around them.
    pub fn text(&self, trace: &Trace) -> String {
        let mut text = format!("{}\n", self.reason);
        for (name, step) in [("reference", &self.ours), ("theirs", &self.theirs)] {
            let _ = match step {
                Some(step) => {
                    writeln!(text, "  {name:<9} {:#8x}  {}  {}", step.offset, hex(&step.bytes), step.text)
                }
                None => writeln!(text, "  {name:<9} ends"),
            };
        }
        for (name, [ours, theirs]) in self.fields() {
            let mark = if ours == theirs { ' ' } else { '*' };
            let _ = writeln!(text, "  {mark} {name:<20} {ours:<24} {theirs}");
        }
        let lines = |runs: &[Run], last: bool| {
            let mut lines: Vec<_> = runs.iter().flat_map(|run| instructions(trace, run)).collect();
            let from = if last { lines.len().saturating_sub(SHOWN) } else { 0 };
            lines.drain(..from);
            lines.truncate(SHOWN);
            lines
        };
        let sides = [
            ("both", lines(&self.before, true)),
            ("reference", lines(&self.next[0], false)),
            ("theirs", lines(&self.next[1], false)),
        ];
        for (name, lines) in sides {
            lines.iter().for_each(|line| text += &format!("  {name:<9} {line}\n"));
        }
        text
    }

    /// Returns each field that one of the packets has, with its values.
    pub fn fields(&self) -> Vec<(String, [String; 2])> {
        let sides = [&self.ours, &self.theirs];
        let mut names: Vec<&String> = Vec::new();
        for name in sides.into_iter().flatten().flat_map(|step| step.fields.keys()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let value = |step: &Option<Step>, name: &str| {
            step.as_ref().and_then(|step| step.fields.get(name)).map_or("-".into(), shown)
        };
        names.into_iter().map(|name| (name.clone(), sides.map(|step| value(step, name)))).collect()
    }

    /// Returns it as a JSON object.
    pub fn json(&self, trace: &Trace) -> Value {
        let packet = |step: &Option<Step>| {
            step.as_ref().map(|step| {
                json!({
                    "offset": step.offset, "kind": step.kind, "hex": hex(&step.bytes).replace(' ', ""),
                    "text": step.text, "fields": step.fields, "instructions": step.after,
                })
            })
        };
        let lines = |runs: &[Run]| {
            runs.iter().flat_map(|run| instructions(trace, run)).take(SHOWN).collect::<Vec<_>>()
        };
        let before: Vec<_> = self.before.iter().flat_map(|run| instructions(trace, run)).collect();
        json!({
            "reason": self.reason.name(), "reference": packet(&self.ours), "theirs": packet(&self.theirs),
            "before": before[before.len().saturating_sub(SHOWN)..],
            "reference_next": lines(&self.next[0]), "theirs_next": lines(&self.next[1]),
        })
    }
}

/// Returns the instructions that an element reports.
pub(super) fn ran(did: &Did) -> Option<Run> {
    if let Did::Ran(run) = did { Some(*run) } else { None }
}

/// Returns instructions as text, each with its address.
fn instructions(trace: &Trace, run: &Run) -> Vec<String> {
    let Run { start, end, count, isa, .. } = *run;
    let count = count.min(u64::from(u32::MAX)) as u32;
    let block =
        Block { start, end, count, isa, last_len: isa.shortest(), class: Class::NEXT, ended: Ended::Cut };
    let all =
        trace.instructions_of(&block, MemorySpace::ANY).map(|of| format!("{:#x}  {}", of.address, of.text()));
    all.collect()
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}
