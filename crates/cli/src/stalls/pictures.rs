//! Where the cycles went, as pictures.

use std::cmp::Reverse;
use std::collections::HashMap;

use tracewright_profile::{Bucket, Stalls, Timeline};

use super::text::clock;
use crate::record::grouped;
use tracewright::SourceStalls;
use tracewright_report::{Bin, Histogram, Lane, Lanes};

/// How long stalls are, of all sources.
pub fn histogram(title: &str, sources: &[SourceStalls]) -> String {
    let mut buckets: Vec<Bucket> = Vec::new();
    let (mut shares, mut stalled) = (0, 0);
    for stalls in sources.iter().filter_map(|source| source.stalls.as_ref()) {
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
    Histogram { title: &format!("{title}: stalls by length"), subtitle: &subtitle, buckets: &buckets }.svg()
}

/// Which of the `most` most important functions ran when.
pub fn timeline(title: &str, source: &mut SourceStalls, most: usize) -> String {
    let SourceStalls { stalls: Some(stalls), functions, .. } = source else {
        return Lanes::default().svg(most);
    };
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
        clock(stalls.kind())
    )
}
