//! The shortest time between two edges of a line, found from the lengths of its runs: a bit of UART, half a bit of
//! Manchester.

use alloc::vec::Vec;

/// 256ths of a sample.
pub(crate) const FRACTION: u64 = 256;
/// Fewest runs from which a new unit is inferred if there was one before.
const FEWEST: usize = 32;
/// Fewest runs from which one is inferred at all: those of two characters.
const LEAST: usize = 8;
/// Longest run that counts in the mean, in units: longer ones mostly end in an idle line, which has any length.
const PRECISE: u64 = 4;

/// Weight of a sample against a unit.
const MISFIT: i64 = 2;

/// Returns the number of units in a run of samples, to the nearest.
pub(crate) fn units(len: u64, unit: u64) -> u64 {
    len.saturating_mul(FRACTION).saturating_add(unit / 2) / unit
}

/// Returns the unit of a block of runs, in 256ths of a sample; `None` if nothing tells it. `before` is that of the
/// block before, which is kept, and follows the clock's drift, as long as runs are its multiples. `longest` is the longest
/// run that is not idle, in units.
pub(crate) fn unit(runs: &[u64], before: Option<u64>, longest: u64) -> Option<u64> {
    match before {
        Some(unit) if runs.len() < FEWEST => Some(unit),
        Some(unit) if fits(runs, unit, longest) => mean(runs, unit),
        None if runs.len() < LEAST => None,
        _ => best(runs, longest),
    }
}

/// Returns whether three quarters of the runs are multiples of the unit.
fn fits(runs: &[u64], unit: u64, longest: u64) -> bool {
    let short = || runs.iter().filter(|&&len| units(len, unit) <= longest);
    let fitting = short().filter(|&&len| is_multiple(len, unit)).count();
    2 * short().count() > runs.len() && 4 * fitting >= 3 * short().count()
}

fn is_multiple(len: u64, unit: u64) -> bool {
    let count = units(len, unit);
    count > 0 && 3 * (len * FRACTION).abs_diff(count * unit) < unit
}

/// Returns the mean unit of the runs that are small multiples of `unit`.
fn mean(runs: &[u64], unit: u64) -> Option<u64> {
    let near = runs.iter().filter(|&&len| units(len, unit) <= PRECISE && is_multiple(len, unit));
    let (samples, count) =
        near.fold((0_u64, 0_u64), |(samples, count), &len| (samples + len, count + units(len, unit)));
    (samples * FRACTION).checked_div(count).map(|unit| unit.max(FRACTION))
}

/// Returns the unit, of those that runs of about the same length suggest, that explains most samples: its multiples
/// count for it, other short runs against it. Fewer runs than a sixteenth are glitches.
fn best(runs: &[u64], longest: u64) -> Option<u64> {
    let mut sorted: Vec<_> = runs.iter().copied().filter(|&len| len < u64::from(u32::MAX)).collect();
    sorted.sort_unstable();
    let mut rest = &sorted[..];
    let groups = core::iter::from_fn(|| {
        let first = *rest.first()?;
        let (group, longer) = rest.split_at(rest.partition_point(|&len| 2 * len <= 3 * first));
        rest = longer;
        Some(group)
    });
    let large = groups.filter(|group| group.len() > runs.len() / 16);
    let units = large.filter_map(|group| {
        let unit = group.iter().sum::<u64>() * FRACTION / group.len() as u64;
        mean(runs, mean(runs, unit)?)
    });
    let score = |unit: u64| -> i64 {
        let short = sorted.iter().filter(|&&len| self::units(len, unit) <= longest);
        short.map(|&len| if is_multiple(len, unit) { len as i64 } else { -MISFIT * len as i64 }).sum()
    };
    units.max_by_key(|&unit| score(unit))
}
