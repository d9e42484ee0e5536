//! How long stalls, exceptions and the like are: two bars for each range of lengths, the part of all of them and the part of all their time. Both are
//! parts of a whole, so that one axis holds both, and rare ones that cost much are seen too.

use tracewright_profile::Bucket;

use super::number::{range, short};
use super::{Anchor, MARGIN, Svg, text};
use crate::number::grouped;

/// A picture of things by their length.
#[derive(Clone, Copy, Debug)]
pub struct Histogram<'a> {
    /// The heading.
    pub title: &'a str,
    /// What was measured, in a line.
    pub subtitle: &'a str,
    /// One of the things: `stall`. Its plural has an s.
    pub thing: &'a str,
    /// The unit of lengths: `cycles`.
    pub unit: &'a str,
    /// In the order of their lengths. A mark shows where lengths are left out between two.
    pub buckets: &'a [Bucket],
}

/// The plot is between these.
const TOP: f64 = 138.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = MARGIN + 52.0;
/// How far the axis goes, and from line to line, in percent.
const SCALES: [(f64, f64); 8] = [
    (5.0, 1.0),
    (10.0, 2.0),
    (20.0, 5.0),
    (30.0, 10.0),
    (40.0, 10.0),
    (50.0, 10.0),
    (60.0, 20.0),
    (80.0, 20.0),
];
/// How wide the place of a bucket can be.
const SLOT: std::ops::RangeInclusive<f64> = 27.0..=110.0;

impl Histogram<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let (thing, unit) = (self.thing, self.unit);
        let names: Vec<_> = self.buckets.iter().map(|bucket| range(bucket.from, bucket.to)).collect();
        let breaks = self.breaks();
        let units = names.len() as f64 + breaks.iter().filter(|&&is_break| is_break).count() as f64 * 0.5;
        let slot = (900.0 / units.max(1.0)).clamp(*SLOT.start(), *SLOT.end());
        let plot = (units * slot).max(500.0);
        let widest = names.iter().map(|name| text::width(name, 12.0)).fold(0.0, f64::max);
        let turned = widest > slot - 6.0;
        // A name turned by 45 degrees takes as much height as width.
        let below = if turned { widest * 0.71 + 16.0 } else { 24.0 };
        let (width, height) = (LEFT + plot + MARGIN, TOP + HEIGHT + below + 26.0 + MARGIN);
        let mut svg = Svg::new(width, height, self.title, self.subtitle);

        let count: u128 = self.buckets.iter().map(|bucket| u128::from(bucket.count)).sum();
        let cycles: u128 = self.buckets.iter().map(|bucket| u128::from(bucket.cycles)).sum();
        let stalls = format!("part of all {} {thing}s", grouped(count));
        let cost = format!("part of their {} {unit}", grouped(cycles));
        svg.legend(&[("busy", &stalls), ("stalled", &cost)], (MARGIN, 80.0));

        let shares: Vec<_> = self.buckets.iter().map(|bucket| shares(bucket, count, cycles)).collect();
        let highest = shares.iter().flatten().copied().fold(0.0, f64::max);
        let (top, step) =
            SCALES.into_iter().find(|scale| highest * 100.0 <= scale.0).unwrap_or((100.0, 20.0));
        axis(&mut svg, top, step, plot);

        let mut x = LEFT + (plot - units * slot) / 2.0;
        for (i, bucket) in self.buckets.iter().enumerate() {
            if breaks[i] {
                svg.text("quiet", Anchor::Middle, (x + slot / 4.0, TOP + HEIGHT + 18.0), "…");
                x += slot / 2.0;
            }
            bars(&mut svg, x, slot, shares[i].map(|share| share * 100.0 / top), bucket);
            let at = (x + slot / 2.0, TOP + HEIGHT + 18.0);
            if turned {
                svg.turned_text("", Anchor::End, (at.0 + 4.0, at.1 - 3.0), -45, &names[i]);
            } else {
                svg.text("", Anchor::Middle, at, &names[i]);
            }
            let [part, cost] = shares[i].map(|share| share * 100.0);
            let told = format!(
                "{} to {} {unit}\n{} {thing}s, {part:.1} % of all\n{} {unit}, {cost:.1} % of all",
                grouped(bucket.from),
                grouped(bucket.to),
                grouped(bucket.count),
                grouped(bucket.cycles)
            );
            svg.tooltip((x, TOP - 34.0), (slot, HEIGHT + 34.0 + below), &told);
            x += slot;
        }
        svg.line("axis", (LEFT, TOP + HEIGHT), (LEFT + plot, TOP + HEIGHT));
        if self.buckets.is_empty() {
            svg.text(
                "quiet",
                Anchor::Middle,
                (LEFT + plot / 2.0, TOP + HEIGHT / 2.0),
                &format!("no {thing}s"),
            );
        }
        let binary = names.iter().any(|name| name.ends_with('i'));
        let article = if thing.starts_with('e') { "an" } else { "a" };
        let name =
            format!("length of {article} {thing} in {unit}{}", if binary { " (1 Ki = 1 024)" } else { "" });
        svg.text("quiet", Anchor::Middle, (LEFT + plot / 2.0, TOP + HEIGHT + below + 20.0), &name);
        svg.finish()
    }

    /// Before which buckets lengths are left out.
    fn breaks(&self) -> Vec<bool> {
        let follows = |pair: &[Bucket]| pair[0].to.checked_add(1) != Some(pair[1].from);
        std::iter::once(false).chain(self.buckets.windows(2).map(follows)).take(self.buckets.len()).collect()
    }
}

/// The part of all stalls, and of all cycles, 0 to 1.
fn shares(bucket: &Bucket, count: u128, cycles: u128) -> [f64; 2] {
    let part = |part: u64, all: u128| if all == 0 { 0.0 } else { part as f64 / all as f64 };
    [part(bucket.count, count), part(bucket.cycles, cycles)]
}

/// Lines across the plot, with what they mean in percent.
fn axis(svg: &mut Svg, top: f64, step: f64, plot: f64) {
    for i in 0..=(top / step) as u32 {
        let percent = step * f64::from(i);
        let y = TOP + HEIGHT * (1.0 - percent / top);
        svg.line("grid", (LEFT, y), (LEFT + plot, y));
        svg.text("quiet", Anchor::End, (LEFT - 8.0, y + 4.0), &format!("{percent} %"));
    }
}

/// Both bars of a bucket, with their numbers over them: exactly, if there is room; else short, upright if need be.
fn bars(svg: &mut Svg, x: f64, slot: f64, heights: [f64; 2], bucket: &Bucket) {
    let wide = (slot * 0.38).min(34.0);
    let left = x + slot / 2.0 - wide;
    let numbers = [bucket.count, bucket.cycles];
    let fits = |texts: &[String; 2]| texts.iter().all(|number| text::width(number, 10.5) <= slot / 2.0 - 3.0);
    let exact = numbers.map(grouped);
    let short = numbers.map(|number| short(number.into()));
    let (labels, upright) = match (fits(&exact), fits(&short)) {
        (true, _) => (exact, false),
        (_, true) => (short, false),
        _ => (short, true),
    };
    for (i, class) in ["busy", "stalled"].into_iter().enumerate() {
        if numbers[i] == 0 {
            continue;
        }
        // What is there is seen.
        let height = (heights[i] * HEIGHT).max(1.0);
        let at = left + wide * i as f64;
        svg.rect(class, (at + 0.5, TOP + HEIGHT - height), (wide - 1.0, height));
        let y = TOP + HEIGHT - height - 5.0;
        if upright {
            svg.turned_text("quiet small", Anchor::Start, (at + wide / 2.0 + 3.5, y), -90, &labels[i]);
        } else {
            // A label that is wider than its bar goes to the outside, not over the other bar.
            let place = match (text::width(&labels[i], 10.5) <= wide, i) {
                (true, _) => (Anchor::Middle, at + wide / 2.0),
                (_, 0) => (Anchor::End, at + wide - 2.0),
                _ => (Anchor::Start, at + 2.0),
            };
            svg.text("quiet small", place.0, (place.1, y), &labels[i]);
        }
    }
}
