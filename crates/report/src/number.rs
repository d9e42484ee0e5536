//! Numbers in pictures: round ones for axes, short ones for labels.

use tracewright_core::text::Grouped;

/// Returns a number with its digits in groups of three: `1 234 567`.
pub(crate) fn grouped(number: impl Into<u128>) -> String {
    Grouped(number.into()).to_string()
}

const UNITS: [(u64, &str); 7] = [
    (1, ""),
    (1_000, "k"),
    (1_000_000, "M"),
    (1_000_000_000, "G"),
    (1_000_000_000_000, "T"),
    (1_000_000_000_000_000, "P"),
    (1_000_000_000_000_000_000, "E"),
];

const BINARY_UNITS: [(u32, &str); 6] =
    [(60, "Ei"), (50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")];

/// 1, 2 or 5 times a power of ten: the smallest of which at most `most` fit into `span`.
pub fn round_step(span: u64, most: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for step in [power, power.saturating_mul(2), power.saturating_mul(5)] {
            if span / step <= most {
                return step;
            }
        }
        match power.checked_mul(10) {
            Some(next) => power = next,
            None => return u64::MAX,
        }
    }
}

/// The multiples of `step` from `start` to `end`.
pub fn ticks(start: u64, end: u64, step: u64) -> impl Iterator<Item = u64> {
    let first = start.div_ceil(step).checked_mul(step);
    std::iter::successors(first, move |at| at.checked_add(step)).take_while(move |&at| at <= end)
}

/// A multiple of `step`, exactly, in the largest unit that needs no more than one digit after the point for it.
pub fn tick_label(value: u64, step: u64) -> String {
    let tenths = u128::from(step) * 10;
    let fits = |unit: &&(u64, &str)| tenths.is_multiple_of(u128::from(unit.0));
    let &(unit, name) = UNITS.iter().rev().find(fits).unwrap_or(&UNITS[0]);
    if value == 0 {
        return "0".into();
    }
    let mut text = grouped(value / unit);
    if unit > 1 {
        if !step.is_multiple_of(unit) {
            text += &format!(".{}", u128::from(value % unit) * 10 / u128::from(unit));
        }
        text = text + " " + name;
    }
    text
}

/// With three digits that count, or exactly where that is as short.
pub fn short(value: u128) -> String {
    if value < 1000 {
        return value.to_string();
    }
    let value = value as f64;
    let mut named = UNITS.iter().skip(1).peekable();
    while let Some(&(unit, name)) = named.next() {
        let part = value / unit as f64;
        // 999.6 would be written with four digits; the next unit has it as 1.00.
        if part < 999.5 || named.peek().is_none() {
            let digits = if part < 9.995 { 2 } else { usize::from(part < 99.95) };
            return format!("{part:.digits$} {name}");
        }
    }
    String::new()
}

/// The lengths from `from` to `to`, short where these are powers of two: 1025 to 2048 are `1–2 Ki`.
pub fn range(from: u64, to: u64) -> String {
    if from >= to {
        return grouped(from);
    }
    let below = from.saturating_sub(1);
    if below < 1024 || !below.is_power_of_two() || !(to.is_power_of_two() || to == u64::MAX) {
        return if to == u64::MAX {
            format!("over {}", grouped(below))
        } else {
            format!("{}–{}", grouped(from), grouped(to))
        };
    }
    if to == u64::MAX {
        return format!("over {}", binary(below).join(" "));
    }
    match (binary(below), binary(to)) {
        ([low, unit], [high, same]) if unit == same => format!("{low}–{high} {unit}"),
        ([low, unit], [high, other]) => format!("{low} {unit}–{high} {other}"),
    }
}

/// A power of two and its unit.
fn binary(power: u64) -> [String; 2] {
    match BINARY_UNITS.iter().find(|unit| power >> unit.0 != 0) {
        Some(&(shift, name)) => [(power >> shift).to_string(), name.into()],
        None => [power.to_string(), String::new()],
    }
}
