//! What became of all that was traced, step by step, in words.

use tracewright_core::text::Grouped;
use tracewright_profile::{Funnel, Profile, Program, Unnamed};

/// Number of binaries without symbols that are named one by one.
const MOST_NAMED: usize = 3;

/// The closing lines of a verb that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// What is odd about the binaries that ran.
    pub remarks: Vec<String>,
    /// A line for each step, and why the rest is not in the next one.
    pub steps: Vec<String>,
}

impl Closing {
    /// Describes a profile.
    pub fn new(profile: &Profile, program: &Program, left: &LeftOut<'_>) -> Self {
        let unknown = program.unnamed(profile);
        // A few instructions between functions are in any binary.
        let stripped = |row: &&Unnamed<'_>| row.binary.is_elf && row.instructions > row.all / 2;
        let remark = |row: &Unnamed<'_>| {
            Some(format!(
                "{}: no symbols for {} of {} instructions that ran there: was it stripped? (a copy with symbols: --image)",
                row.path?,
                grouped(row.instructions),
                grouped(row.all)
            ))
        };
        let remarks = unknown.iter().take(MOST_NAMED).filter(stripped).filter_map(remark).collect();
        Self { remarks, steps: steps(&profile.funnel, &unknown, left) }
    }
}

/// Why what ran is not in the output, as far as anything is not.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut<'a> {
    /// Numbers of instructions, and why they are not.
    pub known: &'a [(u64, &'static str)],
    /// Why all others are not.
    pub rest: &'a str,
}

impl<'a> LeftOut<'a> {
    /// Of so many that are left out: how many for which reason.
    fn reasons(&self, out: u64) -> Vec<(u64, &'a str)> {
        let known: u64 = self.known.iter().map(|(count, _)| count).sum();
        let rest = [(out.saturating_sub(known), self.rest)];
        let all = self.known.iter().map(|&(count, why)| (count, why)).chain(rest);
        all.filter(|(count, _)| *count > 0).collect()
    }
}

/// Returns a line for each step, and why the rest is not in the next one. `unknown` has the binaries without symbols.
pub fn steps(funnel: &Funnel, unknown: &[Unnamed<'_>], left: &LeftOut<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut step = |name: &str, number: u64, of: u64| {
        let share = match of {
            0 => String::new(),
            of => format!("{:.1} %", number as f64 / of as f64 * 100.0),
        };
        lines.push(format!("{name:<20}{:>22}{share:>10}", grouped(number)));
        lines.len()
    };
    let times = |count: u64, what: &str| match count {
        1 => format!("once {what}"),
        count => format!("{} times {what}", grouped(count)),
    };
    let mut why: Vec<(usize, String)> = Vec::new();
    let mut add = |at: usize, is: bool, text: String| {
        if is {
            why.push((at, text));
        }
    };
    // A branch list has no trace.
    let has_trace = funnel.bytes > 0 || funnel.instructions == 0;
    let at = if has_trace { step("bytes of trace", funnel.bytes, 0) } else { 0 };
    add(at, funnel.stopped > 0, "up to a limit that was reached: what follows is not decoded".into());
    // Frames have no trace of any source: they are not lost.
    if has_trace {
        step("decoded", funnel.bytes_decoded(), funnel.bytes.saturating_sub(funnel.bytes_around));
    }
    let bytes = |count: u64, what: &str| format!("{} {what}", grouped(count));
    add(at, funnel.bytes_around > 0, bytes(funnel.bytes_around, "of frames, and of sources not asked for"));
    add(at, funnel.bytes_unread > 0, bytes(funnel.bytes_unread, "of sources that cannot be read"));
    let gaps = match funnel.gaps {
        0 => "before the first synchronisation".into(),
        1 => "lost: 1 gap, the start".into(),
        gaps => format!("lost: {} gaps, the start", grouped(gaps)),
    };
    add(at, funnel.bytes_lost > 0, bytes(funnel.bytes_lost, &gaps));
    let at = step("instructions", funnel.instructions, 0);
    add(at - 1, funnel.without_code > 0, times(funnel.without_code, "no image has the code that ran"));
    add(at - 1, funnel.mismatches > 0, times(funnel.mismatches, "the code cannot be what ran"));
    let uncounted = "a loop or path ran that the trace does not count";
    add(at, funnel.unknown_paths > 0, times(funnel.unknown_paths, uncounted));
    add(at, funnel.is_lower_bound(), "all counts are lower bounds".into());
    let is_unexplained = !funnel.is_complete() && Funnel { faults: 0, ..*funnel }.is_complete();
    add(at, is_unexplained, "something else was wrong or missing when it was counted".into());
    let lost = |before: u64, after: u64| before.saturating_sub(after);
    let in_none = lost(funnel.instructions, funnel.in_binary);
    add(at, in_none > 0, format!("{} of no known binary", grouped(in_none)));
    let at = step("of a known binary", funnel.in_binary, funnel.instructions);
    step("of a known function", funnel.in_function, funnel.instructions);
    for row in unknown.iter().take(MOST_NAMED) {
        let what =
            if row.path.is_some() { "without symbols there" } else { "which is not here (--image, --symfs)" };
        add(at, true, format!("{} of {}, {what}", grouped(row.instructions), row.binary.file_name()));
    }
    let more: u64 = unknown.iter().skip(MOST_NAMED).map(|row| row.instructions).sum();
    add(at, more > 0, format!("{} of other binaries", grouped(more)));
    let at = step("in the output", funnel.in_output, funnel.instructions);
    let out = lost(funnel.instructions, funnel.in_output);
    for (count, why) in left.reasons(out) {
        add(at, true, format!("{} left out: {why}", grouped(count)));
    }
    let mut all = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        all.push(line.clone());
        let of = why.iter().filter(|(at, _)| *at == number + 1);
        all.extend(of.map(|(_, text)| format!("  - {text}")));
    }
    all
}

/// Says why nothing is in the output.
pub fn why_nothing(funnel: &Funnel, left: &LeftOut<'_>) -> String {
    let reasons = left.reasons(funnel.instructions);
    let left_out = reasons.iter().max_by_key(|(count, _)| *count).map_or("", |(_, why)| why);
    match funnel {
        Funnel { bytes: 0, instructions: 0, .. } => "there is no trace".into(),
        Funnel { instructions: 0, without_code: 1.., .. } => {
            "no image has the code that ran (give it with --image FILE[@ADDR], of recordings with --symfs FOLDER)"
                .into()
        }
        Funnel { instructions: 0, bytes_unread: 1.., .. } => "sources that cannot be read".into(),
        Funnel { instructions: 0, .. } => "the trace reports no instruction".into(),
        _ => format!("all was left out: {left_out}"),
    }
}

fn grouped(number: u64) -> String {
    Grouped(number.into()).to_string()
}
