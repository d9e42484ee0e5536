//! What decoding came to, in a few lines.

use tracewright_core::{MemorySpace, Mismatch};
use tracewright_engine::{Doubt, Tally};
use tracewright_image::Image;
use tracewright_input::{Buffer, Capture, Problem};

use tracewright::{Trace, advice, names, question};

use super::sources;
use crate::output::{self, Error, Outcome};
use tracewright::words;

/// What was decoded, as one object.
pub fn json<T>(trace: &Trace, buffer: &str, decoded: &tracewright::Outcome<T>) -> String {
    let problems = trace.problems_of(&decoded.tally).filter(|problem| problem.is_error());
    let outcome = Outcome::of(decoded).and(problems.map(Problem::id).collect());
    let tally = &decoded.tally;
    let Tally { instructions, blocks, gaps, no_code, mismatches, unknown_paths, stopped, .. } = tally;
    let object = serde_json::json!({
        "buffer": buffer, "instructions": instructions, "blocks": blocks, "gaps": gaps,
        "without_code": no_code, "mismatches": mismatches,
        "unknown_paths": unknown_paths, "stopped": stopped, "left_out": tally.left_out,
        "sources": sources::json(&decoded.sources), "incomplete": outcome.reasons(),
    });
    crate::json::line("decode", object)
}

/// Says on standard error what was decoded without a program.
pub fn report_targets(buffer: &str, tally: &Tally) {
    let Tally { targets, gaps, .. } = tally;
    let gaps = if *gaps > 0 { format!(", {}", words::count(*gaps, "gap")) } else { String::new() };
    let say = if tally.gaps > 0 { output::report } else { output::remark };
    say(&format!("{buffer}: {}{gaps}", words::count(*targets, "branch")));
}

/// Says on standard error what was decoded and what could not be, and what to do about it. `has_funnel`: the totals follow.
pub fn report(capture: &Capture, of: &Buffer, tally: &Tally, image: &Image, has_funnel: bool) {
    let buffer = &*of.name;
    let Tally { blocks, instructions, gaps, data_lost, no_code, mismatches, unknown_paths, .. } = tally;
    let (ran, blocks) = (words::count(*instructions, "instruction"), words::count(*blocks, "block"));
    let mut line = format!("{buffer}: {ran} in {blocks}");
    if tally.left_out > 0 {
        line += &format!(" ({} more not asked for)", tally.left_out);
    }
    let counts = [
        (gaps, "gap", "gaps"),
        (data_lost, "time accesses are missing", "times accesses are missing"),
        (no_code, "time without code", "times without code"),
        (mismatches, "mismatch", "mismatches"),
        (unknown_paths, "unknown path", "unknown paths"),
    ];
    for (count, one, several) in counts {
        match count {
            0 => {}
            1 => line += &format!(", 1 {one}"),
            count => line += &format!(", {count} {several}"),
        }
    }
    let is_wrong = counts.iter().map(|(count, ..)| **count).sum::<u64>() > tally.endless_loops;
    // The funnel has the same numbers, and more of them.
    match (is_wrong, output::is_quiet()) {
        (true, true) => output::report(&line),
        (_, false) if !has_funnel => output::report(&line),
        _ => {}
    }
    if let Some((from, to, reason)) = tally.first_gap {
        let why = words::gap(reason);
        output::remark(&format!("{buffer}: the first gap, {from:#x}..{to:#x}: {why}"));
    }
    report_unknown_path(buffer, tally, image);
    hints(capture, of, tally, image);
}

/// Refuses to count what a trace and a wrong program make together.
pub fn refusal(buffer: &str, doubts: &[Doubt], image: &Image) -> Error {
    let mut doubts = doubts.iter().map(|doubt| {
        let first = doubt.first.as_ref().map(|first| first_mismatch(first, image));
        format!("{buffer}: {doubt}{}", first.map_or(String::new(), |first| format!("; the first at {first}")))
    });
    let last = doubts.next_back().unwrap_or_default();
    doubts.for_each(|doubt| output::report(&doubt));
    Error::Message(format!(
        "{last}: nothing is counted; name the right program with --image, leave out sources with --id, or count \
         nevertheless with --accept-mismatch"
    ))
}

/// Says on standard error what may be wrong, where decoding stopped since the trace and a log part at `offset`. Of what was
/// decoded after that nothing is said: it is more with more threads.
pub fn report_until(capture: &Capture, buffer: &Buffer, tally: &Tally, image: &Image, offset: u64) {
    let outside =
        tally.first_sync_outside.filter(|first| first.0 <= offset && tally.first_sync == Some(first.0));
    let early = Tally {
        first_malformed: tally.first_malformed.filter(|first| first.0 <= offset),
        first_no_code: tally.first_no_code.filter(|first| first.0 <= offset),
        first_mismatch: tally.first_mismatch.filter(|first| first.0 <= offset),
        syncs: 1,
        syncs_outside: outside.is_some().into(),
        first_sync: tally.first_sync,
        first_sync_outside: outside,
        ..Tally::default()
    };
    hints(capture, buffer, &early, image);
}

/// Says on standard error that more ran than was counted, and where first.
fn report_unknown_path(buffer: &str, tally: &Tally, image: &Image) {
    let Some((_, start, next, space)) = tally.first_unknown_path else { return };
    let named = |address: u64| match names::place(image, address, space, 60) {
        place if place.is_empty() => format!("{address:#x}"),
        place => format!("{address:#x} ({place})"),
    };
    let what = match start {
        Some(start) if start == next => {
            format!("an endless loop at {} turned an unknown number of times", named(next))
        }
        Some(start) => format!("from {} an unknown path led to {}", named(start), named(next)),
        None => format!("an unknown path led to {}", named(next)),
    };
    let more = match tally.unknown_paths {
        1 => String::new(),
        count => format!(" (the first of {count} unknown paths)"),
    };
    output::remark(&format!("{buffer}: {what}{more}: its counts are a lower bound"));
}

/// Says on standard error what may be wrong with the program, or with what was said of the trace.
fn hints(capture: &Capture, of: &Buffer, tally: &Tally, image: &Image) {
    let buffer = &*of.name;
    if let Some((offset, why)) = tally.first_malformed {
        output::remark(&format!("{buffer}: the first bytes that are no packet, at {offset:#x}: {why}"));
    }
    if let Some(advice) = advice(capture, of, tally, image) {
        output::remark(&format!("{buffer}: {advice}"));
        if tally.syncs_outside > 0 {
            return;
        }
    }
    if let Some((_, address, space)) = tally.first_no_code {
        let before = address.checked_sub(1).and_then(|before| image.region(before, space));
        let message = match (image.absent(address, space), before) {
            (Some((name, why)), _) => {
                format!(
                    "no code of {name}, for one, which was at {address:#x}: {why} (--symfs FOLDER, --image)"
                )
            }
            (None, Some(region)) => format!(
                "execution ran past the end of {} at {address:#x}: is this the right binary, at the right address?",
                names::file_name(region.name())
            ),
            (None, None) => {
                format!(
                    "no image has the code at {address:#x} ({}): give it with --image FILE[@ADDR]",
                    words::space(space)
                )
            }
        };
        output::remark(&format!("{buffer}: {message}"));
    }
    if let Some(first) = &tally.first_mismatch {
        let hint = "is this the right binary, at the right address?";
        let asked = question(capture, of, &first.1);
        output::remark(&format!("{buffer}: {}{asked}: {hint}", first_mismatch(first, image)));
    }
}

/// Says where the first mismatch is, and what it is.
fn first_mismatch((_, mismatch, space): &(u64, Mismatch, MemorySpace), image: &Image) -> String {
    let (address, what) = words::mismatch(mismatch);
    let place = names::place(image, address, *space, 60);
    let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
    format!("{address:#x}{place}: {what}")
}
