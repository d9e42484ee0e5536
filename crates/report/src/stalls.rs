//! Pictures of stalls.

use std::cmp::Reverse;
use std::collections::HashMap;

use tracewright_profile::{Bucket, Stalls, Timeline};

use crate::number::grouped;
use crate::{Bin, Histogram, Lane, Lanes};

/// Draws the stalls of some sources together, by length.
pub fn stall_histogram<'a>(title: &str, sources: impl IntoIterator<Item = &'a Stalls>) -> String {
    let mut buckets: Vec<Bucket> = Vec::new();
    let (mut shares, mut stalled) = (0, 0);
    for stalls in sources {
        shares += stalls.account().shares;
        stalled += stalls.account().stalled;
        for bucket in stalls.histogram.buckets() {
            match buckets.iter_mut().find(|known| known.from == bucket.from) {
                Some(known) => {
                    known.count += bucket.count;
                    known.cycles += bucket.cycles;
                }
                None => buckets.push(bucket),
            }
        }
    }
    buckets.sort_by_key(|bucket| bucket.from);
    let subtitle = match shares {
        0 => format!("{} cycles in which nothing retired", grouped(stalled)),
        _ => format!("{} cycles beyond one for each instruction, between two counts", grouped(stalled)),
    };
    let title = format!("{title}: stalls by length");
    Histogram { title: &title, subtitle: &subtitle, thing: "stall", unit: "cycles", buckets: &buckets }.svg()
}

/// Draws when each of the `most` functions with most cycles ran, and when it stalled. `functions` are the names of the functions, by
/// their numbers in `stalls`.
pub fn stall_timeline(title: &str, stalls: &mut Stalls, functions: &[String], most: usize) -> String {
    let width = stalls.timeline.width();
    let mut bins: HashMap<u32, Vec<Bin>> = HashMap::new();
    let mut last = 0;
    for (function, piece, cell) in stalls.timeline.cells() {
        let of = bins.entry(function).or_default();
        of.resize(of.len().max(piece as usize + 1), Bin::default());
        of[piece as usize] = Bin { busy: cell.busy, stalled: cell.stalled };
        last = last.max(u64::from(piece) + 1);
    }
    let unknown = bins.remove(&Timeline::LOST).unwrap_or_default();
    let lanes = bins.into_iter().map(|(function, bins)| {
        let name = functions.get(function as usize).cloned().unwrap_or_default();
        Lane { name, bins }
    });
    let mut lanes: Vec<_> = lanes.collect();
    lanes.sort_by_key(|lane| Reverse(lane.bins.iter().map(|bin| bin.busy + bin.stalled).sum::<u64>()));
    let start = stalls.timeline.start();
    Lanes {
        title: format!("{title}: functions along the run"),
        subtitle: subtitle(stalls),
        start,
        end: start + stalls.account().all().min(last * width),
        bin_width: width,
        lanes,
        unknown: unknown.iter().map(|bin| bin.busy + bin.stalled).collect(),
    }
    .svg(most)
}

fn subtitle(stalls: &Stalls) -> String {
    let account = stalls.account();
    format!(
        "{} cycles, {} instructions; cycles from {}",
        grouped(account.all()),
        grouped(account.retired),
        stalls.kind().words()
    )
}
