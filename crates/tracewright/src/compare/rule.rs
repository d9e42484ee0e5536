//! What specifications leave to an encoder: the rules by name, and the part that each packet has in them.

use std::fmt;

use tracewright_engine::Role;
use tracewright_input::Protocol;

use super::side::Step;

/// A rule by which two encoders may send different packets for one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Where a regular synchronisation comes. All that depends on it differs up to the next one of both.
    Synchronisation,
    /// Padding between packets.
    Padding,
    /// More bytes than a packet needs.
    Length,
    /// E-Trace: predicted branches as a count or as a map.
    BranchCount,
    /// E-Trace: a target by its index in the jump target cache or by its address.
    JumpTarget,
    /// E-Trace: an address before a packet that synchronises.
    BeforeSynchronisation,
    /// N-Trace: counters and histories that are sent early, merged or split.
    Resource,
    /// N-Trace: branches that repeat are counted.
    Repeat,
    /// N-Trace: a history without branches is sent or not.
    EmptyHistory,
    /// N-Trace and ETMv4: the target of a return is sent although it is where the call was.
    Return,
    /// ETMv4: how atoms are packed.
    Atoms,
    /// ETMv4: the form of an address.
    AddressForm,
    /// ETMv4: address and context in one packet or two, and a context that has not changed.
    Context,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 13] = [
        Self::Synchronisation,
        Self::Padding,
        Self::Length,
        Self::BranchCount,
        Self::JumpTarget,
        Self::BeforeSynchronisation,
        Self::Resource,
        Self::Repeat,
        Self::EmptyHistory,
        Self::Return,
        Self::Atoms,
        Self::AddressForm,
        Self::Context,
    ];

    /// Returns its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Synchronisation => "synchronisation",
            Self::Padding => "padding",
            Self::Length => "length",
            Self::BranchCount => "branch-count",
            Self::JumpTarget => "jump-target",
            Self::BeforeSynchronisation => "before-synchronisation",
            Self::Resource => "resource",
            Self::Repeat => "repeat",
            Self::EmptyHistory => "empty-history",
            Self::Return => "return",
            Self::Atoms => "atoms",
            Self::AddressForm => "address-form",
            Self::Context => "context",
        }
    }

    /// Returns what it leaves open, and who says so.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Synchronisation => {
                "the time of a regular synchronisation is the encoder's choice (trTeInstSyncMode and Max; TRCSYNCPR), and all \
                 compression begins anew there"
            }
            Self::Padding => "null, idle and alignment bytes may come between packets",
            Self::Length => "a packet may have bytes that repeat its top bits",
            Self::BranchCount => "E-Trace: branches that were predicted may be sent as a count or as a map",
            Self::JumpTarget => "E-Trace: a target may be sent by its index in the cache or by its address",
            Self::BeforeSynchronisation => {
                "E-Trace: the last instruction before a packet of format 3 may be reported"
            }
            Self::Resource => "N-Trace: a counter or a history may be sent whenever an encoder has no room",
            Self::Repeat => "N-Trace: messages and histories that repeat may be counted",
            Self::EmptyHistory => "N-Trace: a history without branches may be left out",
            Self::Return => {
                "an encoder's stack of calls may be smaller, and the target of a return is then sent"
            }
            Self::Atoms => "ETMv4: atoms may be packed in any formats",
            Self::AddressForm => "ETMv4: an address may have any form that gives it",
            Self::Context => "ETMv4: a context may come with the address or alone, and again",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The part that a packet has in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It tells where execution went. What it tells is compared; how it does that is free within the rules.
    Path,
    /// It synchronises for no other reason than that it was time.
    Regular,
    /// It tells more: the same packet must be at the same instruction of the other trace.
    Fixed,
    /// It tells nothing.
    Padding,
}

/// A protocol whose rules are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// RISC-V E-Trace.
    Etrace,
    /// RISC-V N-Trace.
    Ntrace {
        /// Whether targets of returns may be left out.
        returns: bool,
    },
    /// ETMv4 and ETE.
    Etm {
        /// Whether targets of returns may be left out.
        returns: bool,
    },
    /// Any other: every difference is one.
    None,
}

/// N-Trace's reason for a regular synchronisation.
const PERIODIC: u64 = 2;

impl Rules {
    /// Returns the rules of a source.
    pub fn of(protocol: &Protocol) -> Self {
        match protocol {
            Protocol::Etrace(_) => Self::Etrace,
            Protocol::Etm(params) => Self::Etm { returns: params.has_return_stack() },
            other => match tracewright_engine::ntrace(other) {
                Some(source) => Self::Ntrace { returns: source.params.has_implicit_returns() },
                None => Self::None,
            },
        }
    }

    /// Returns the part of a packet.
    pub fn part(self, step: &Step) -> Part {
        if !matches!(step.role, Role::Plain | Role::Sync) {
            return Part::Fixed;
        }
        match (self, step.kind) {
            (Self::Etrace, "Start (3.0)") => Part::Regular,
            (Self::Etrace, "Alignment") => Part::Padding,
            (Self::Etrace, kind) if is_path(kind, &["Address", "Branch", "Jump target"]) => Part::Path,
            (Self::Ntrace { .. }, "Ownership" | "ResourceFull" | "RepeatBranch") => Part::Path,
            (Self::Ntrace { .. }, "DirectBranch" | "IndirectBranch" | "IndirectBranchHist") => Part::Path,
            (Self::Ntrace { .. }, "ProgTraceCorrelation") => Part::Path,
            (Self::Ntrace { .. }, "Idle") => Part::Padding,
            (Self::Ntrace { .. }, _) if step.role == Role::Sync => {
                if step.number("sync") == Some(PERIODIC) {
                    Part::Regular
                } else {
                    Part::Fixed
                }
            }
            (Self::Etm { .. }, "A-Sync" | "Trace Info") => Part::Regular,
            (Self::Etm { .. }, "Ignore") => Part::Padding,
            (Self::Etm { .. }, kind) if is_path(kind, &["Atom", "Address", "Context"]) => Part::Path,
            _ => Part::Fixed,
        }
    }

    /// Returns whether a packet resets all compression, so that two traces that both have it there are in the same state again.
    pub fn is_anchor(self, step: &Step) -> bool {
        match self {
            Self::Etrace | Self::Ntrace { .. } => step.role == Role::Sync,
            Self::Etm { .. } => step.kind == "Trace Info",
            Self::None => false,
        }
    }

    /// Returns what a packet tells that is neither path nor context, by name: all of it if it is fixed.
    pub fn facts(self, step: &Step, part: Part) -> Vec<(String, String)> {
        let is_fact = |name: &str| match (self, part) {
            (_, Part::Fixed) => !(matches!(self, Self::Ntrace { .. }) && name == "timestamp"),
            (_, Part::Padding) => false,
            (Self::Etrace, _) => {
                name == "flow" || name == "notify" && step.fields.get(name) == Some(&true.into())
            }
            (Self::Ntrace { .. }, _) => {
                name == "evcode" || name == "btype" && step.number(name).is_some_and(|btype| btype > 0)
            }
            _ => false,
        };
        let facts = step.fields.iter().filter(|(name, _)| is_fact(name));
        let mut facts: Vec<_> = facts.map(|(name, value)| (name.clone(), shown(value))).collect();
        if part == Part::Fixed {
            facts.insert(0, ("kind".into(), step.kind.into()));
        }
        facts
    }

    /// Returns the outcomes of branches that a packet tells as letters, where their concatenation is the same whatever packs them.
    pub fn outcomes(self, step: &Step) -> String {
        match self {
            Self::Ntrace { .. } => {
                let times = step.number("hrepeat").unwrap_or(1).min(1 << 16);
                step.word("branches").repeat(times as usize)
            }
            Self::Etm { .. } => step.word("atoms").to_owned(),
            _ => String::new(),
        }
    }

    /// Returns how many half-words the packets report, as far as they say so themselves: N-Trace's counters. `last` is the counter of the
    /// message before.
    pub fn half_words(self, steps: &[Step], mut last: u64) -> u64 {
        if !matches!(self, Self::Ntrace { .. }) {
            return 0;
        }
        let mut sum = 0_u64;
        for step in steps {
            let count = match (step.kind, step.number("rcode")) {
                ("RepeatBranch", _) => step.number("bcnt").unwrap_or(0).wrapping_mul(last),
                ("ResourceFull", Some(0)) => step.number("rdata").unwrap_or(0),
                _ => step.number("icnt").unwrap_or(0),
            };
            if step.fields.contains_key("icnt") {
                last = count;
            }
            sum = sum.wrapping_add(count);
        }
        sum
    }

    /// Returns the rule that lets a packet be in one trace only, or have another form there. `own` are all packets of this trace that are
    /// not in the other one, `others` are those of the other one, and `next` follows the packet.
    pub fn explain(self, step: &Step, own: &[&Step], others: &[&Step], next: Option<&Step>) -> Option<Rule> {
        let has = |kind: &str| others.iter().any(|other| other.kind.starts_with(kind));
        let is = |kind: &str| step.kind.starts_with(kind);
        let at = |other: &&&Step| other.after == step.after;
        match self {
            Self::Etrace => (|| {
                let is_branches = is("Branches") || is("Address");
                if is("Branch count") && (has("Branches") || has("Address"))
                    || is_branches && has("Branch count")
                {
                    return Some(Rule::BranchCount);
                }
                let other = others.iter().find(at)?;
                let is_other = |kind: &str| other.kind.starts_with(kind);
                (is("Jump target") != is_other("Jump target")).then_some(Rule::JumpTarget)
            })()
            .or_else(|| {
                let is_address = is("Address") || is("Branches, address");
                let is_before = next.is_some_and(|next| next.kind.contains("(3."));
                (is_address && is_before && !others.iter().any(|other| at(&other)))
                    .then_some(Rule::BeforeSynchronisation)
            }),
            Self::Ntrace { returns } => {
                let is_counted =
                    |step: &Step| step.kind == "RepeatBranch" || step.fields.contains_key("hrepeat");
                let all = || own.iter().chain(others);
                let other = others.iter().find(at);
                if other.is_none() && returns && is("IndirectBranch") {
                    return Some(Rule::Return);
                }
                if all().any(|step| is_counted(step)) {
                    return Some(Rule::Repeat);
                }
                if all().any(|step| step.kind == "ResourceFull") {
                    return Some(Rule::Resource);
                }
                match other {
                    Some(other) if step.is_empty_history() || other.is_empty_history() => {
                        Some(Rule::EmptyHistory)
                    }
                    // What ran since the message that the other one has not.
                    Some(_) if returns && has("IndirectBranch") && is("IndirectBranch") => Some(Rule::Return),
                    _ => None,
                }
            }
            Self::Etm { returns } => {
                if is("Atom") {
                    return has("Atom").then_some(Rule::Atoms);
                }
                let address = step.word("address");
                let is_same = |other: &&&Step| {
                    other.word("address") == address && other.number("is") == step.number("is")
                };
                let same = others.iter().find(is_same);
                if is("Context")
                    || same
                        .is_some_and(|same| same.fields.contains_key("el") != step.fields.contains_key("el"))
                {
                    return Some(Rule::Context);
                }
                match same {
                    Some(_) => Some(Rule::AddressForm),
                    None => (returns
                        && is("Address")
                        && !others.iter().any(|other| at(&other) && other.kind.starts_with("Address")))
                    .then_some(Rule::Return),
                }
            }
            Self::None => None,
        }
    }
}

fn is_path(kind: &str, names: &[&str]) -> bool {
    names.iter().any(|name| kind.starts_with(name))
}

/// Returns a value as text without quotes.
pub fn shown(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Step {
    /// Returns a field as text; nothing if there is none.
    pub fn word(&self, name: &str) -> &str {
        self.fields.get(name).and_then(|value| value.as_str()).unwrap_or_default()
    }

    /// Returns a field as a number, which may be written in hexadecimal.
    pub fn number(&self, name: &str) -> Option<u64> {
        let value = self.fields.get(name)?;
        let hex = || u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok();
        value.as_u64().or_else(hex)
    }

    fn is_empty_history(&self) -> bool {
        self.number("hist") == Some(1)
    }
}
