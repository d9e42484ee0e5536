//! What became of all that was traced: the last words of every verb that counts.

use serde_json::{Value, json};
use tracewright_profile::{Funnel, Named, Profile, Program, Unnamed};

use crate::output::{Outcome, is_quiet, report, say};
use crate::record::grouped;

/// Why something is not in the output of what a stored profile has.
pub const FILTERED: &str = "not asked for when the profile was made";

/// No more binaries are named.
const MOST_NAMED: usize = 3;

/// Why what ran is not in the output, as far as anything is not.
pub struct Left<'a> {
    /// So many instructions, and why.
    pub known: &'a [(u64, &'static str)],
    /// Why all others.
    pub rest: &'a str,
}

impl<'a> Left<'a> {
    /// Of so many that are left out: how many for which reason.
    fn reasons(&self, out: u64) -> Vec<(u64, &'a str)> {
        let known: u64 = self.known.iter().map(|(count, _)| count).sum();
        let rest = [(out.saturating_sub(known), self.rest)];
        let all = self.known.iter().map(|&(count, why)| (count, why)).chain(rest);
        all.filter(|(count, _)| *count > 0).collect()
    }
}

/// Says on standard error what is left at each step, and why the rest is not.
pub fn report_steps(profile: &Profile, program: &Program, left: &Left<'_>) {
    if is_quiet() {
        return;
    }
    let unknown = program.unnamed(profile);
    for row in unknown.iter().take(MOST_NAMED) {
        // A few instructions between functions are in any binary.
        if let Some(path) = row.path.filter(|_| row.binary.is_elf && row.instructions > row.all / 2) {
            report(&format!(
                "{path}: no symbols for {} of {} instructions that ran there: was it stripped? one with the same build ID and \
                 symbols can be given with --image, of recordings and kept profiles also with --symfs",
                grouped(row.instructions),
                grouped(row.all)
            ));
        }
    }
    say("");
    lines(&profile.funnel, &unknown, left).iter().for_each(|line| say(line));
}

/// The same, and why nothing is in the output, if nothing is.
pub fn report_all(profile: &Profile, program: &Program, left: &Left<'_>) {
    report_steps(profile, program, left);
    report_nothing(&profile.funnel, left);
}

/// The same of profiles whose binaries are not asked for.
pub fn report_sums(funnel: &Funnel, left: &Left<'_>) {
    if !is_quiet() {
        say("");
        lines(funnel, &[], left).iter().for_each(|line| say(line));
    }
    report_nothing(funnel, left);
}

/// Reports that symbols are missing for most of what ran; says whether they are. This is the same in all verbs that count by
/// function: names are missing in the program.
pub fn report_names(of: Named) -> Outcome {
    if !of.lacks_symbols() {
        return Outcome::Good;
    }
    let (unnamed, all) = (grouped(of.all - of.named), grouped(of.all));
    report(&format!(
        "symbols are missing for {unnamed} of {all} instructions that ran: give programs with symbols (--image; of recordings also --symfs)"
    ));
    Outcome::HadErrors
}

fn report_nothing(funnel: &Funnel, left: &Left<'_>) {
    if funnel.in_output == 0 {
        let reasons = left.reasons(funnel.instructions);
        let most = reasons.iter().max_by_key(|(count, _)| *count).map_or("", |(_, why)| why);
        report(&format!("nothing is in the output: {}", why_nothing(funnel, most)));
    }
}

fn why_nothing(funnel: &Funnel, left_out: &str) -> String {
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

/// Returns whether a profile is complete, judging by its funnel: of a kept one nothing else is known.
pub fn outcome(funnel: &Funnel) -> Outcome {
    if funnel.is_complete() { Outcome::Good } else { Outcome::HadErrors }
}

/// For programs.
pub fn object(funnel: &Funnel) -> Value {
    json!({
        "bytes": funnel.bytes,
        "decoded_bytes": funnel.bytes_decoded(),
        "around_bytes": funnel.bytes_around,
        "unread_bytes": funnel.bytes_unread,
        "lost_bytes": funnel.bytes_lost,
        "gaps": funnel.gaps,
        "instructions": funnel.instructions,
        "without_code": funnel.without_code,
        "mismatches": funnel.mismatches,
        "in_binary": funnel.in_binary,
        "in_function": funnel.in_function,
        "in_output": funnel.in_output,
        "unknown_paths": funnel.unknown_paths,
        "stopped": funnel.stopped,
        "lower_bound": funnel.is_lower_bound(),
        "incomplete": funnel.reason_ids(),
    })
}

fn lines(funnel: &Funnel, unknown: &[Unnamed<'_>], left: &Left<'_>) -> Vec<String> {
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
    let at = step("bytes of trace", funnel.bytes, 0);
    add(at, funnel.stopped > 0, "up to a limit that was reached: what follows is not decoded".into());
    // Frames have no trace of any source: they are not lost.
    step("decoded", funnel.bytes_decoded(), funnel.bytes.saturating_sub(funnel.bytes_around));
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
