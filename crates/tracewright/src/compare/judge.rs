//! Judges a part of two traces that differs: from their first different packet to a packet at which both begin anew.

use std::collections::BTreeMap;

use super::difference::{Difference, Reason};
use super::rule::{Part, Rule, Rules};
use super::side::{Did, Fields, Step, add};

/// What is remembered of the parts before.
#[derive(Default)]
pub struct Memory {
    /// The last Trace Info of ETMv4: all have the same fields.
    trace_info: Option<Fields>,
    /// Absolute times of N-Trace, ours and theirs.
    times: [u64; 2],
    /// The last instruction counter of N-Trace.
    counter: u64,
}

/// What has to be the same: the instruction, and names with their values.
type Fact = (u64, Vec<(String, String)>);

/// A part of one trace.
struct Side<'a> {
    steps: &'a [Step],
    parts: Vec<Part>,
}

impl Memory {
    /// Takes a packet that both traces have.
    pub fn common(&mut self, step: &Step) {
        if step.kind == "Trace Info" {
            self.trace_info = Some(step.fields.clone());
        }
        self.times = self.times.map(|time| absolute(time, step));
        self.counter = step.number("icnt").unwrap_or(self.counter);
    }

    /// Returns by which rules a part may differ, or why it may not.
    pub fn judge(
        &mut self,
        rules: Rules,
        ours: &[Step],
        theirs: &[Step],
    ) -> Result<Vec<(Rule, usize)>, Box<Difference>> {
        let sides = [ours, theirs]
            .map(|steps| Side { steps, parts: steps.iter().map(|step| rules.part(step)).collect() });
        let [our, their] = &sides;
        let differ = |ours_at, theirs_at, reason| {
            // The parts begin with the first packets that differ. They are named unless a rule explains them.
            let at = if is_explained(rules, &sides) { [ours_at, theirs_at] } else { [0, 0] };
            Err(Box::new(Difference::new([ours, theirs], at, reason)))
        };
        if let Some(at) = theirs.iter().position(Step::is_bad)
            && !ours.iter().any(Step::is_bad)
        {
            return differ(at.min(ours.len()), at, Reason::NotAPacket);
        }
        if let Some(at) = theirs.iter().position(|step| step.is_endless) {
            return differ(at.min(ours.len()), at, Reason::TooLong);
        }
        if ours.iter().any(Step::lacks_code) {
            return differ(0, 0, Reason::NoCode);
        }
        // A wrong path shifts all that comes after it: the first of these is the cause.
        let found = [
            (first(&our.did(), &their.did()), Reason::Execution),
            (first(&our.facts(rules), &their.facts(rules)), Reason::Fields),
            (first(&our.outcomes(rules), &their.outcomes(rules)), Reason::Outcomes),
        ];
        let place =
            |at: (Option<usize>, Option<usize>)| (at.0.unwrap_or(ours.len()), at.1.unwrap_or(theirs.len()));
        let found = found.into_iter().filter_map(|(at, reason)| Some((place(at?), reason)));
        if let Some(((ours_at, theirs_at), reason)) = found.min_by_key(|(at, _)| at.0.min(at.1)) {
            return differ(ours_at, theirs_at, reason);
        }
        if rules.half_words(ours, self.counter) != rules.half_words(theirs, self.counter) {
            return differ(0, 0, Reason::Counts);
        }
        let times = [0, 1].map(|side| sides[side].times(&mut self.times[side]));
        for (after, (theirs_at, time)) in &times[1] {
            if let Some((ours_at, ours_time)) = times[0].get(after)
                && ours_time != time
            {
                return differ(*ours_at, *theirs_at, Reason::Time);
            }
        }
        if let Some((ours_at, theirs_at)) = our.other_timed(their) {
            return differ(ours_at, theirs_at, Reason::Time);
        }
        let mut used = Vec::new();
        let padding = sides.each_ref().map(|side| side.padding().collect::<Vec<_>>());
        if padding[0].len() != padding[1].len() {
            used.push((Rule::Padding, padding[1].first().copied().unwrap_or(0)));
        }
        for (&ours_at, &theirs_at) in padding[0].iter().zip(&padding[1]) {
            if ours[ours_at].bytes != theirs[theirs_at].bytes {
                return differ(ours_at, theirs_at, Reason::Bits);
            }
        }
        let left = [our.without(their), their.without(our)];
        for (side, left) in left.iter().enumerate() {
            if let Err(at) = self.regular(&sides[side], left) {
                let places = if side == 0 { [at, 0] } else { [0, at] };
                return differ(places[0], places[1], Reason::Synchronisation);
            }
        }
        if let Some((ours_at, theirs_at)) = our.other_regular(their, &left) {
            return differ(ours_at, theirs_at, Reason::Synchronisation);
        }
        let is_alone = |side: usize, at: usize| {
            let step = &sides[side].steps[at];
            sides[side].parts[at] == Part::Regular
                && !left[1 - side].iter().any(|&other| sides[1 - side].is_regular_like(other, step))
        };
        let is_regular = |side: usize| left[side].iter().any(|&at| is_alone(side, at));
        if is_regular(0) || is_regular(1) {
            if let Some((side, at)) =
                [0, 1].into_iter().find_map(|side| Some((side, sides[side].out_of_place(rules)?)))
            {
                let places = if side == 0 { [at, 0] } else { [0, at] };
                return differ(places[0], places[1], Reason::Fields);
            }
            used.push((Rule::Synchronisation, left[1].first().copied().unwrap_or(0)));
            return Ok(used);
        }
        let others = [1, 0]
            .map(|other: usize| left[other].iter().map(|&at| &sides[other].steps[at]).collect::<Vec<_>>());
        for side in [0, 1] {
            for &at in &left[side] {
                let steps = sides[side].steps;
                match rules.explain(&steps[at], &others[1 - side], &others[side], steps.get(at + 1)) {
                    Some(rule) => used.push((rule, if side == 1 { at } else { 0 })),
                    None => {
                        let pair = |other: &Side<'_>| {
                            let same = other.steps.iter().position(|step| step.after >= steps[at].after);
                            same.unwrap_or(other.steps.len())
                        };
                        let places = if side == 0 { [at, pair(their)] } else { [pair(our), at] };
                        return differ(places[0], places[1], Reason::NoRule);
                    }
                }
            }
        }
        if left.iter().all(Vec::is_empty) {
            // All packets have the same fields: some have other bytes.
            let plain = |side: &Side<'_>| side.plain().map(|(at, _)| at).collect::<Vec<_>>();
            for (ours_at, theirs_at) in plain(our).into_iter().zip(plain(their)) {
                let [one, other] = [&ours[ours_at], &theirs[theirs_at]];
                match one.bytes.len() == other.bytes.len() {
                    _ if one.bytes == other.bytes => {}
                    false if one.kind == other.kind => used.push((Rule::Length, theirs_at)),
                    _ => return differ(ours_at, theirs_at, Reason::Bits),
                }
            }
        }
        Ok(used)
    }

    /// Checks regular synchronisations that only one trace has. Fails with the first that none can be.
    fn regular(&mut self, side: &Side<'_>, left: &[usize]) -> Result<(), usize> {
        for &at in left {
            let step = &side.steps[at];
            if step.kind == "Trace Info" {
                // What is not committed depends on where it comes.
                let fixed = |fields: &Fields| {
                    fields
                        .iter()
                        .filter(|(name, _)| *name != "spec")
                        .map(|(_, value)| value.clone())
                        .collect::<Vec<_>>()
                };
                let known = self.trace_info.get_or_insert_with(|| step.fields.clone());
                if fixed(known) != fixed(&step.fields) {
                    return Err(at);
                }
            }
            // Its time lies between those before and after it.
            let Some(time) = step.number("time") else { continue };
            let times =
                |steps: &[Step]| steps.iter().filter_map(|step| step.number("time")).collect::<Vec<_>>();
            let before = times(&side.steps[..at]).last().copied().unwrap_or(0);
            let after = times(&side.steps[at + 1..]).first().copied().unwrap_or(u64::MAX);
            if time < before || time > after {
                return Err(at);
            }
        }
        Ok(())
    }
}

impl<'a> Side<'a> {
    /// Packets that tell anything.
    fn plain(&self) -> impl Iterator<Item = (usize, &'a Step)> {
        let parts = &self.parts;
        self.steps.iter().enumerate().filter(|(at, _)| parts[*at] != Part::Padding)
    }

    /// What has to be the same, each with its instruction and packet.
    fn facts(&self, rules: Rules) -> Vec<(Fact, usize)> {
        let facts = self
            .steps
            .iter()
            .zip(&self.parts)
            .enumerate()
            .map(|(at, (step, part))| ((step.after, rules.facts(step, *part)), at));
        facts.filter(|((_, facts), _)| !facts.is_empty()).collect()
    }

    /// What a decoder reports, each with its packet.
    fn did(&self) -> Vec<(Did, usize)> {
        let (mut all, mut places) = (Vec::new(), Vec::new());
        for (at, step) in self.steps.iter().enumerate() {
            for did in &step.did {
                // A run that repeats and goes on is taken apart: only its last time goes on.
                add(&mut all, *did);
                places.truncate(all.len().saturating_sub(1));
                places.resize(all.len(), at);
            }
        }
        all.into_iter().zip(places).collect()
    }

    fn outcomes(&self, rules: Rules) -> Vec<(char, usize)> {
        let steps = self.steps.iter().enumerate();
        steps
            .flat_map(|(at, step)| {
                rules.outcomes(step).chars().map(|outcome| (outcome, at)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Absolute times by instruction: the last of each.
    fn times(&self, time: &mut u64) -> BTreeMap<u64, (usize, u64)> {
        let mut times = BTreeMap::new();
        for (at, step) in self.steps.iter().enumerate() {
            if step.fields.contains_key("timestamp") {
                *time = absolute(*time, step);
                times.insert(step.after, (at, *time));
            }
        }
        times
    }

    /// Packets that the other trace has not, at the same instruction with the same fields.
    fn without(&self, other: &Side<'a>) -> Vec<usize> {
        let mut known: BTreeMap<(u64, &str, String), usize> = BTreeMap::new();
        for (_, step) in other.plain() {
            *known.entry(step.key()).or_default() += 1;
        }
        let mut is_new = |step: &'a Step| match known.get_mut(&step.key()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        self.plain().filter(|(_, step)| is_new(step)).map(|(at, _)| at).collect()
    }

    /// Packets that tell nothing.
    fn padding(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().enumerate().filter(|(_, part)| **part == Part::Padding).map(|(at, _)| at)
    }

    /// Returns whether a packet is a regular synchronisation at the same instruction as `step`.
    fn is_regular_like(&self, at: usize, step: &Step) -> bool {
        let other = &self.steps[at];
        self.parts[at] == Part::Regular
            && other.after == step.after
            && (other.kind == step.kind || step.number("faddr").is_some() && other.number("faddr").is_some())
    }

    /// Returns two regular synchronisations at one instruction whose fields differ, but for what ran since the one before.
    fn other_regular(&self, other: &Self, left: &[Vec<usize>; 2]) -> Option<(usize, usize)> {
        let pairs = left[0].iter().flat_map(|&at| left[1].iter().map(move |&other| (at, other)));
        let mut regular = pairs.filter(|&(at, their)| {
            self.parts[at] == Part::Regular && other.is_regular_like(their, &self.steps[at])
        });
        regular.find(|&(at, their)| {
            let [one, other] = [&self.steps[at].fields, &other.steps[their].fields];
            let is_free = |name: &str| ["icnt", "hist", "branches", "timestamp", "spec"].contains(&name);
            one.iter()
                .any(|(name, value)| !is_free(name) && other.get(name).is_some_and(|other| other != value))
                || one.keys().any(|name| !is_free(name) && !other.contains_key(name))
                || other.keys().any(|name| !is_free(name) && !one.contains_key(name))
        })
    }

    /// Returns two packets of one kind at one instruction of which only one has a timestamp.
    fn other_timed(&self, other: &Self) -> Option<(usize, usize)> {
        let known: BTreeMap<_, _> =
            self.plain().map(|(at, step)| ((step.after, step.kind), (at, step))).collect();
        let last: BTreeMap<_, _> =
            other.plain().map(|(at, step)| ((step.after, step.kind), (at, step))).collect();
        last.iter().find_map(|(key, (theirs_at, theirs))| {
            let (ours_at, ours) = known.get(key)?;
            let is_timed = |step: &Step| step.fields.contains_key("timestamp");
            (is_timed(ours) != is_timed(theirs)).then_some((*ours_at, *theirs_at))
        })
    }

    /// Returns the first packet that no encoder may send there, though it says nothing wrong.
    fn out_of_place(&self, rules: Rules) -> Option<usize> {
        let is_wrong = |(at, step): &(usize, &Step)| {
            // E-Trace: updiscon says that a packet of format 3 follows. One with branches may come between.
            rules == Rules::Etrace
                && step.fields.get("updiscon") == Some(&true.into())
                && !self.steps.iter().skip(at + 1).take(2).any(|next| next.kind.contains("(3."))
        };
        self.plain().find(is_wrong).map(|(at, _)| at)
    }
}

impl Step {
    fn is_bad(&self) -> bool {
        use tracewright_engine::Role;
        !matches!(self.role, Role::Plain | Role::Sync)
    }

    fn lacks_code(&self) -> bool {
        use tracewright_core::Element;
        self.did.iter().any(|did| matches!(did, Did::Other(Element::NoCode { .. })))
    }

    /// What two packets have in common that are the same. Relative times are compared apart.
    fn key(&self) -> (u64, &str, String) {
        let fields: Vec<_> = self.fields.iter().filter(|(name, _)| *name != "timestamp").collect();
        (self.after, self.kind, format!("{fields:?}"))
    }
}

/// Returns whether a rule may explain the first packets that differ.
fn is_explained(rules: Rules, sides: &[Side<'_>; 2]) -> bool {
    let left = [sides[0].without(&sides[1]), sides[1].without(&sides[0])];
    let steps =
        [0, 1].map(|side: usize| left[side].iter().map(|&at| &sides[side].steps[at]).collect::<Vec<_>>());
    [0, 1].into_iter().any(|side: usize| {
        let Some(&at) = left[side].first().filter(|at| **at == 0) else { return false };
        let (of, other) = (&sides[side], &sides[1 - side]);
        let is_alone = of.parts.iter().take(2).any(|part| *part == Part::Regular)
            && other.parts.first() != Some(&Part::Fixed);
        let alike = other
            .steps
            .first()
            .is_some_and(|other| (other.kind, other.after) == (of.steps[at].kind, of.steps[at].after));
        !alike
            && (is_alone
                || rules
                    .explain(&of.steps[at], &steps[side], &steps[1 - side], of.steps.get(at + 1))
                    .is_some())
    })
}

/// Returns the absolute time after a message of N-Trace.
fn absolute(time: u64, step: &Step) -> u64 {
    match step.number("timestamp") {
        None => time,
        Some(sent) if step.role == tracewright_engine::Role::Sync => sent,
        Some(sent) => time.wrapping_add(sent),
    }
}

/// Returns the packets of the first two items that differ.
fn first<T: PartialEq>(ours: &[(T, usize)], theirs: &[(T, usize)]) -> Option<(Option<usize>, Option<usize>)> {
    let at = (0..ours.len().max(theirs.len()))
        .find(|&at| ours.get(at).map(|(item, _)| item) != theirs.get(at).map(|(item, _)| item))?;
    Some((ours.get(at).map(|(_, place)| *place), theirs.get(at).map(|(_, place)| *place)))
}
