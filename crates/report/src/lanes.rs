//! Which function ran when, and when it stalled: a lane for each function along a run.
//!
//! A lane is cut into columns. The stronger the colour of a column, the more of its time the function ran; the lower part of it is
//! as high as the part in which instructions retired, the upper part as the one in which none did.

use std::fmt::Write;

use super::number::{round_step, short, tick_label, ticks};
use super::text::{cut, width};
use super::{Anchor, Coord, MARGIN, Svg};
use crate::number::grouped;

/// What a function did in a part of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Cycles in which instructions of it retired.
    pub busy: u64,
    /// Cycles in which it waited, and none did.
    pub stalled: u64,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// Its name, of any length and with any characters.
    pub name: String,
    /// One after another, all of [`Lanes::bin_width`] cycles. Those that are not there are empty.
    pub bins: Vec<Bin>,
}

/// A picture of functions along a run.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// The heading.
    pub title: String,
    /// What was measured, in a line.
    pub subtitle: String,
    /// The first cycle.
    pub start: u64,
    /// The cycle after the last.
    pub end: u64,
    /// Cycles of a bin; the last may be cut short by the end.
    pub bin_width: u64,
    /// The functions, in any order.
    pub lanes: Vec<Lane>,
    /// In each bin, the cycles of which nothing is known, as trace was lost.
    pub unknown: Vec<u64>,
}

/// Where the plot is.
const LEFT: f64 = MARGIN + 224.0;
const PLOT: f64 = 800.0;
const TOP: f64 = 118.0;
const PITCH: f64 = 25.0;
const HEIGHT: f64 = 20.0;
/// Where the numbers at the right end: cycles, part of all, part stalled.
const RIGHT: [f64; 3] = [LEFT + PLOT + 112.0, LEFT + PLOT + 168.0, LEFT + PLOT + 226.0];
const WIDTH: f64 = RIGHT[2] + MARGIN;
/// So many strengths of colour: columns that look the same are drawn at once.
const LEVELS: usize = 10;
/// The name of the lane for trace that was lost.
const UNKNOWN: &str = "(trace was lost)";
/// Most columns: each is a pixel wide.
const COLUMNS: u64 = PLOT as u64;
/// Places in a lane that tell their numbers.
const CELLS: usize = 50;

impl Bin {
    /// Both together.
    fn add(&mut self, other: Self) {
        self.busy = self.busy.saturating_add(other.busy);
        self.stalled = self.stalled.saturating_add(other.stalled);
    }

    fn cycles(self) -> u64 {
        self.busy.saturating_add(self.stalled)
    }
}

impl Lane {
    /// All its cycles.
    pub fn total(&self) -> Bin {
        let mut total = Bin::default();
        self.bins.iter().for_each(|&bin| total.add(bin));
        total
    }
}

/// A lane, as it is drawn.
struct Row {
    name: String,
    /// The whole name. It can be very long, and is told beside the lane only.
    told: String,
    /// Not a function: cycles of which nothing is known.
    is_lost: bool,
    total: Bin,
    columns: Vec<Bin>,
}

impl Lanes {
    /// The picture, with lanes for the `most` functions that took most cycles, and one for all others together.
    pub fn svg(&self, most: usize) -> String {
        let columns = Columns::new(self);
        let rows = self.rows(most, &columns);
        let unknown = columns.fold(self.unknown.iter().map(|&cycles| Bin { busy: cycles, stalled: 0 }));
        let lost = unknown.iter().fold(0, |sum: u64, bin| sum.saturating_add(bin.busy));
        let count = rows.len() + usize::from(lost > 0);
        let bottom = TOP + count.max(1) as f64 * PITCH;

        let mut svg = Svg::new(WIDTH, bottom + 46.0 + MARGIN, &self.title, &self.subtitle);
        let mut legend = vec![("busy", "busy: instructions retired"), ("stalled", "stalled: none did")];
        if lost > 0 {
            legend.push(("unknown", "trace was lost for most of the time"));
        }
        let x = svg.legend(&legend, (MARGIN, 80.0));
        svg.text("quiet", Anchor::Start, (x, 80.0), "the stronger the colour, the more of the time");
        for (x, name) in RIGHT.into_iter().zip(["cycles", "of all", "stalled"]) {
            svg.text("quiet", Anchor::End, (x, TOP - 8.0), name);
        }

        for i in 0..count {
            svg.rect("track", (LEFT, lane_top(i)), (PLOT, HEIGHT));
        }
        self.axis(&mut svg, bottom);
        let all = rows.iter().map(|row| u128::from(row.total.cycles())).sum::<u128>() + u128::from(lost);
        for (i, row) in rows.iter().enumerate() {
            draw(&mut svg, row, lane_top(i), &columns);
            side(&mut svg, row, lane_top(i), all);
        }
        if lost > 0 {
            let (name, total) = (String::from(UNKNOWN), Bin { busy: lost, stalled: 0 });
            let row = Row { told: name.clone(), name, is_lost: true, total, columns: unknown };
            let top = lane_top(rows.len());
            draw(&mut svg, &row, top, &columns);
            side(&mut svg, &row, top, all);
            hatch(&mut svg, &row.columns, &columns, top);
        }
        if count == 0 {
            let at = (LEFT + PLOT / 2.0, TOP + HEIGHT - 6.0);
            svg.text("quiet", Anchor::Middle, at, "no cycles");
        }
        svg.finish()
    }

    /// The functions with most cycles, the others as one; those with none are left out.
    fn rows(&self, most: usize, columns: &Columns) -> Vec<Row> {
        let mut lanes: Vec<_> = self.lanes.iter().map(|lane| (lane.total(), lane)).collect();
        lanes.retain(|(total, _)| total.cycles() > 0);
        lanes.sort_by(|(a, one), (b, other)| {
            b.cycles().cmp(&a.cycles()).then_with(|| one.name.cmp(&other.name))
        });
        // A lane for others takes as much room as one more function.
        let shown = if lanes.len() <= most.saturating_add(1) { lanes.len() } else { most };
        let (first, others) = lanes.split_at(shown);
        let mut rows: Vec<_> = first
            .iter()
            .map(|&(total, lane)| Row {
                name: cut(&lane.name, LEFT - MARGIN - 10.0, 12.0),
                told: lane.name.clone(),
                is_lost: false,
                total,
                columns: columns.fold(lane.bins.iter().copied()),
            })
            .collect();
        if !others.is_empty() {
            let name = format!("{} others", grouped(others.len() as u64));
            let mut row = Row {
                told: name.clone(),
                name,
                is_lost: false,
                total: Bin::default(),
                columns: columns.fold(std::iter::empty()),
            };
            for (total, lane) in others {
                row.total.add(*total);
                let bins = columns.fold(lane.bins.iter().copied());
                row.columns.iter_mut().zip(bins).for_each(|(sum, bin)| sum.add(bin));
            }
            rows.push(row);
        }
        rows
    }

    /// Round numbers of cycles, as many as there is room for.
    fn axis(&self, svg: &mut Svg, bottom: f64) {
        let span = self.end.saturating_sub(self.start);
        let room = |step| (width(&tick_label(self.end, step), 12.0) + 24.0) * (span / step) as f64 <= PLOT;
        let mut steps = (1..=10).rev().map(|most| round_step(span, most));
        let step = steps.find(|&step| room(step)).unwrap_or_else(|| round_step(span, 1));
        for at in ticks(self.start, self.end, step) {
            let x = LEFT + PLOT * part(at - self.start, span.max(1));
            svg.line("grid", (x, TOP - 4.0), (x, bottom));
            svg.text("quiet", Anchor::Middle, (x, bottom + 18.0), &tick_label(at, step));
        }
        svg.line("axis", (LEFT, bottom), (LEFT + PLOT, bottom));
        svg.text("quiet", Anchor::Middle, (LEFT + PLOT / 2.0, bottom + 38.0), "cycle");
    }
}

fn lane_top(lane: usize) -> f64 {
    TOP + lane as f64 * PITCH + (PITCH - HEIGHT) / 2.0
}

/// A number that fits at the right: exactly, or else short.
fn number(value: u64) -> String {
    if value < 1_000_000_000_000 { grouped(value) } else { short(value.into()) }
}

/// A lane's columns: one path for each colour and strength.
fn draw(svg: &mut Svg, row: &Row, top: f64, columns: &Columns) {
    // How strong, and how high the upper part is, in quarters of a pixel; nothing where the function did not run.
    let look = |i: usize| {
        let bin = row.columns[i];
        let strength = part(bin.cycles(), columns.span(i..i + 1)) * LEVELS as f64;
        let stalled = (part(bin.stalled, bin.cycles()) * HEIGHT * 4.0).round() as u32;
        (bin.cycles() > 0).then(|| (strength.ceil().clamp(1.0, LEVELS as f64) as usize, stalled))
    };
    let mut paths = vec![[String::new(), String::new()]; LEVELS + 1];
    let mut from = 0;
    while from < columns.count {
        let seen = look(from);
        let to = (from + 1..columns.count).find(|&i| look(i) != seen).unwrap_or(columns.count);
        if let Some((level, stalled)) = seen {
            let upper = f64::from(stalled) / 4.0;
            let (x, w) = (Coord(columns.x(from)), Coord(columns.x(to) - columns.x(from)));
            let parts = [(top + upper, HEIGHT - upper), (top, upper)];
            for (path, (y, h)) in paths[level].iter_mut().zip(parts).filter(|(_, (_, h))| *h > 0.0) {
                let _ = write!(path, "M{x} {}h{w}v{}H{x}z", Coord(y), Coord(h));
            }
        }
        from = to;
    }
    let classes = if row.is_lost { ["lost", ""] } else { ["busy", "stalled"] };
    for (level, path) in paths.iter().enumerate() {
        // The weakest is still seen.
        let opacity = Coord(0.12 + 0.88 * level as f64 / LEVELS as f64);
        for (class, d) in classes.into_iter().zip(path).filter(|(_, d)| !d.is_empty()) {
            svg.write(format_args!("<path class=\"{class}\" fill-opacity=\"{opacity}\" d=\"{d}\"/>\n"));
        }
    }
    cells(svg, row, top, columns);
}

/// What happened in places of a lane, told where the mouse is.
fn cells(svg: &mut Svg, row: &Row, top: f64, columns: &Columns) {
    let wide = columns.count.div_ceil(CELLS).max(1);
    for from in (0..columns.count).step_by(wide) {
        let to = (from + wide).min(columns.count);
        let mut sum = Bin::default();
        row.columns[from..to].iter().for_each(|&bin| sum.add(bin));
        if sum.cycles() == 0 {
            continue;
        }
        let mut told = format!(
            "{}\nfrom cycle {} to {}: {:.1} % of the time",
            row.name,
            grouped(columns.at(from)),
            grouped(columns.at(to)),
            100.0 * part(sum.cycles(), columns.span(from..to)),
        );
        if !row.is_lost {
            let _ = write!(told, ", {:.1} % of that stalled", 100.0 * part(sum.stalled, sum.cycles()));
        }
        let x = columns.x(from);
        svg.tooltip((x, top), (columns.x(to) - x, HEIGHT), &told);
    }
}

/// A lane's name and numbers.
fn side(svg: &mut Svg, row: &Row, top: f64, all: u128) {
    let y = top + HEIGHT - 6.0;
    let Bin { busy, stalled } = row.total;
    let cycles = row.total.cycles();
    let class = if row.is_lost { "quiet" } else { "" };
    svg.text(class, Anchor::End, (LEFT - 10.0, y), &row.name);
    svg.text(class, Anchor::End, (RIGHT[0], y), &number(cycles));
    let of_all = if all == 0 { 0.0 } else { 100.0 * cycles as f64 / all as f64 };
    svg.text(class, Anchor::End, (RIGHT[1], y), &format!("{of_all:.1} %"));
    let mut told = format!("{}\n{} cycles", row.told, grouped(cycles));
    if !row.is_lost {
        svg.text("", Anchor::End, (RIGHT[2], y), &format!("{:.1} %", 100.0 * part(stalled, cycles)));
        let _ = write!(told, ": {} busy, {} stalled", grouped(busy), grouped(stalled));
    }
    svg.tooltip((MARGIN, top), (LEFT - MARGIN, HEIGHT), &told);
    svg.tooltip((LEFT + PLOT, top), (RIGHT[2] - LEFT - PLOT, HEIGHT), &told);
}

/// Over all lanes above `bottom`: most of this time is unknown.
fn hatch(svg: &mut Svg, unknown: &[Bin], columns: &Columns, bottom: f64) {
    let most = |i: usize| part(unknown[i].busy, columns.span(i..i + 1)) > 0.5;
    let mut from = 0;
    while from < columns.count {
        let is_unknown = most(from);
        let to = (from + 1..columns.count).find(|&i| most(i) != is_unknown).unwrap_or(columns.count);
        if is_unknown {
            let x = columns.x(from);
            svg.hatched((x, TOP), (columns.x(to) - x, bottom - TOP));
        }
        from = to;
    }
}

/// How bins become columns of the picture: as they are, or several as one, so that none is too narrow to be seen.
struct Columns {
    start: u64,
    end: u64,
    /// Bins, and cycles, of a column.
    bins: u64,
    cycles: u64,
    /// How many there are.
    count: usize,
}

impl Columns {
    /// For these lanes: at least a pixel each.
    fn new(lanes: &Lanes) -> Self {
        let span = lanes.end.saturating_sub(lanes.start);
        let bin_width = lanes.bin_width.max(1);
        let bins = span.div_ceil(bin_width).div_ceil(COLUMNS).max(1);
        let cycles = bin_width.saturating_mul(bins);
        let count = span.div_ceil(cycles).min(COLUMNS) as usize;
        Self { start: lanes.start, end: lanes.start.saturating_add(span), bins, cycles, count }
    }

    /// What was in each column. What is behind the end of the run is in none.
    fn fold(&self, bins: impl Iterator<Item = Bin>) -> Vec<Bin> {
        let mut columns = vec![Bin::default(); self.count];
        for (i, bin) in bins.enumerate() {
            match columns.get_mut((i as u64 / self.bins) as usize) {
                Some(column) => column.add(bin),
                None => break,
            }
        }
        columns
    }

    /// The first cycle of a column.
    fn at(&self, column: usize) -> u64 {
        self.start.saturating_add((column as u64).saturating_mul(self.cycles)).min(self.end)
    }

    /// The cycles of these columns.
    fn span(&self, columns: std::ops::Range<usize>) -> u64 {
        (self.at(columns.end) - self.at(columns.start)).max(1)
    }

    /// Where a column begins in the picture: between two pixels, so that there is no seam between columns.
    fn x(&self, column: usize) -> f64 {
        LEFT + (PLOT * part(self.at(column) - self.start, (self.end - self.start).max(1))).round()
    }
}

/// A part of a whole, 0 to 1.
fn part(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (part as f64 / all as f64).min(1.0) }
}
