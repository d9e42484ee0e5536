//! What was decoded of each source, and where code is missing: closing lines and JSON.

use serde_json::{Value, json};
use tracewright::{MissingPlace, missing_places, words};
use tracewright_engine::SourceTally;
use tracewright_image::Image;

use crate::output::{is_quiet, remark, say};
use crate::record::grouped;
use crate::terminal;

/// Ranges of missing code in the closing lines.
const MOST_RANGES: usize = 3;
/// Sources that are named with a range.
const MOST_NAMES: usize = 3;

/// Says what was decoded of each source, if there are several.
pub fn report(sources: &[SourceTally]) {
    let active: Vec<_> = sources.iter().filter(|source| source.bytes > 0).collect();
    if is_quiet() || active.len() < 2 {
        return;
    }
    let all: u64 = active.iter().map(|source| source.tally.instructions).sum();
    say(&format!(
        "{:>16}{:>8}{:>14}{:>8}{:>14}  source",
        "instructions", "%", "blocks", "gaps", "without code"
    ));
    for SourceTally { source, tally, .. } in active {
        let share = format!("{:.1}", 100.0 * share(tally.instructions, all));
        let [instructions, blocks, gaps, no_code] =
            [tally.instructions, tally.blocks, tally.gaps, tally.no_code].map(grouped);
        say(&format!("{instructions:>16}{share:>8}{blocks:>14}{gaps:>8}{no_code:>14}  {source}"));
    }
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

/// What was decoded of each source, for programs.
pub fn json(sources: &[SourceTally]) -> Value {
    let all: u64 = sources.iter().map(|source| source.tally.instructions).sum();
    let object = |SourceTally { source, bytes, tally, .. }: &SourceTally| {
        json!({
            "name": source.name, "id": source.id, "bytes": bytes, "instructions": tally.instructions,
            "blocks": tally.blocks, "gaps": tally.gaps, "without_code": tally.no_code,
            "share": share(tally.instructions, all),
        })
    };
    sources.iter().map(object).collect()
}

/// Says where most code is missing.
pub fn report_missing(sources: &[SourceTally], image: &Image) {
    if is_quiet() || sources.iter().all(|source| source.missing.is_empty()) {
        return;
    }
    let (places, _) = missing_places(sources, image);
    for place in places.iter().take(MOST_RANGES) {
        remark(&format!("no code {}", in_words(place)));
    }
    if let Some(more @ 1..) = places.len().checked_sub(MOST_RANGES) {
        let ranges = words::plural(more as u64, "range");
        remark(&format!("no code in {} more {ranges}: info --missing-code lists all", grouped(more as u64)));
    }
}

/// All ranges, for people.
pub fn missing_text(sources: &[SourceTally], image: &Image) -> String {
    let (places, elsewhere) = missing_places(sources, image);
    let times: u64 = places.iter().map(|place| place.range.times).sum::<u64>() + elsewhere;
    let ranges = words::count(places.len() as u64, "range");
    let mut text = format!("\nmissing code: {}, in {ranges}\n", self::times(times));
    for place in &places {
        let line = format!("  {}", in_words(place));
        text += &(terminal::wrap(&line, terminal::width(), 4) + "\n");
    }
    if elsewhere > 0 {
        text += &format!("  and {} elsewhere\n", self::times(elsewhere));
    }
    text
}

/// All ranges, for programs.
pub fn missing_json(sources: &[SourceTally], image: &Image) -> Value {
    let object = |place: &MissingPlace| {
        let range = &place.range;
        json!({
            "address": format!("{:#x}", range.first), "last": format!("{:#x}", range.last),
            "space": words::space(range.space), "times": range.times, "sources": place.sources,
            "nearest": place.nearest.as_ref().map(ToString::to_string),
        })
    };
    missing_places(sources, image).0.iter().map(object).collect()
}

/// `once`, `300 times`.
fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{} times", grouped(count)) }
}

/// `at 0x1000..0x1fff (EL1N), 300 times, by ETM_0: 0x20 behind app`
fn in_words(MissingPlace { range, sources, nearest }: &MissingPlace) -> String {
    let place = match range.first == range.last {
        true => format!("{:#x}", range.first),
        false => format!("{:#x}..{:#x}", range.first, range.last),
    };
    let times = times(range.times);
    let mut by = sources.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more @ 1..) = sources.len().checked_sub(MOST_NAMES) {
        by += &format!(" and {more} more");
    }
    let near = nearest.as_ref().map_or(String::new(), |nearest| format!(": {nearest}"));
    format!("at {place} ({}), {times}, by {by}{near}", words::space(range.space))
}
