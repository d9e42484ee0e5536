//! What became of all that was traced: the last words of every verb that counts.

use serde_json::{Value, json};
use tracewright::profile::funnel::{steps, why_nothing};
use tracewright::words;
use tracewright_profile::{Funnel, Named, Profile, Program};

pub use tracewright::profile::funnel::{Closing, LeftOut};

use crate::output::{Outcome, is_quiet, report, say};
use crate::record::grouped;

/// Why something is not in the output of what a stored profile has.
pub const FILTERED: &str = "not asked for when the profile was made";

/// Says on standard error what is left at each step, and why the rest is not.
pub fn report_steps(profile: &Profile, program: &Program, left: &LeftOut<'_>) {
    if is_quiet() {
        return;
    }
    close(&Closing::new(profile, program, left));
}

/// Writes closing lines.
pub fn close(closing: &Closing) {
    closing.remarks.iter().for_each(|line| report(line));
    say("");
    closing.steps.iter().for_each(|line| say(line));
}

/// Says what is left at each step, and why nothing is in the output, if nothing is.
pub fn report_all(profile: &Profile, program: &Program, left: &LeftOut<'_>) {
    report_steps(profile, program, left);
    report_nothing(&profile.funnel, left);
}

/// The same of profiles whose binaries are not asked for.
pub fn report_sums(funnel: &Funnel, left: &LeftOut<'_>) {
    if !is_quiet() {
        say("");
        steps(funnel, &[], left).iter().for_each(|line| say(line));
    }
    report_nothing(funnel, left);
}

/// Reports that symbols are missing for most of what ran; says whether they are. This is the same in all verbs that count by
/// function: names are missing in the program.
pub fn report_names(of: Named) -> Outcome {
    let outcome = lacks_names(of);
    if outcome == Outcome::Good {
        return outcome;
    }
    let (unnamed, all) = (grouped(of.all - of.named), grouped(of.all));
    report(&format!(
        "symbols are missing for {unnamed} of {all} instructions that ran: give programs with symbols (--image; of recordings also --symfs)"
    ));
    outcome
}

/// Says whether symbols are missing for most of what ran.
pub fn lacks_names(of: Named) -> Outcome {
    Outcome::lacks(words::NO_SYMBOLS, of.lacks_symbols())
}

/// Reports that the programs of most of what ran are not known, which a profile that is kept can never tell again; says whether they are not.
pub fn report_programs(funnel: &Funnel) -> Outcome {
    let without = funnel.instructions - funnel.in_binary.min(funnel.instructions);
    let is_most = without > funnel.in_binary;
    if is_most {
        let (without, all) = (grouped(without), grouped(funnel.instructions));
        report(&format!(
            "programs are missing for {without} of {all} instructions that ran: name them with --image"
        ));
    }
    Outcome::lacks("missing-program", is_most)
}

/// Says whether nothing is in the output.
pub fn is_empty(funnel: &Funnel) -> Outcome {
    Outcome::lacks(words::NOTHING_RAN, funnel.in_output == 0)
}

/// Says why nothing is in the output, if nothing is.
pub fn report_nothing(funnel: &Funnel, left: &LeftOut<'_>) {
    if funnel.in_output == 0 {
        report(&format!("nothing is in the output: {}", why_nothing(funnel, left)));
    }
}

/// Returns whether a profile is complete, judging by its funnel: of a kept one nothing else is known.
pub fn outcome(funnel: &Funnel) -> Outcome {
    funnel.reason_ids().into_iter().collect()
}

/// For programs, with why the answer is not complete.
pub fn object(funnel: &Funnel, outcome: &Outcome) -> Value {
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
        "incomplete": outcome.reasons(),
    })
}
