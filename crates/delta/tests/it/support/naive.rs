//! A naive twin of groups and their bits: a cycle and a bit at a time.

use tracewright_delta::{Code, Config, DCode, Format, Group};

/// Returns the groups of instructions that retired in these cycles, from cycle `begin` to `end`, cycle by cycle.
pub fn groups(config: &Config, cycles: &[u64], begin: u64, end: u64) -> Vec<Group> {
    let mut at = begin;
    let mut rest = cycles;
    // Instructions per cycle.
    let mut counts = Vec::new();
    while at < end || !rest.is_empty() {
        let count = rest.iter().take_while(|&&cycle| cycle == at).count();
        rest = &rest[count..];
        counts.push(count as u64);
        at += 1;
    }
    match config.format {
        Format::De => by_cycle(&counts),
        Format::Ac | Format::Abc => by_run(config, &counts),
    }
}

fn by_cycle(counts: &[u64]) -> Vec<Group> {
    let busy: Vec<_> = (0..counts.len()).filter(|&at| counts[at] > 0).collect();
    let next = busy.iter().copied().skip(1).chain([counts.len()]);
    busy.iter().zip(next).map(|(&at, next)| Group::De { d: counts[at], e: (next - at) as u64 }).collect()
}

fn by_run(config: &Config, counts: &[u64]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut at = 0;
    while at < counts.len() {
        let (mut a, mut retired) = (0, 0);
        let stalls = loop {
            while at < counts.len() && counts[at] > 0 {
                (a, retired, at) = (a + 1, retired + counts[at], at + 1);
            }
            let stalls = counts[at..].iter().take_while(|&&count| count == 0).count();
            at += stalls;
            // The last stall has no retirement after it to be amortised with.
            if at < counts.len() && stalls as u64 <= u64::from(config.amortise) {
                a += stalls as u64;
            } else {
                break stalls as u64;
            }
        };
        groups.push(match config.format {
            Format::Ac => Group::Ac { a, c: stalls },
            _ => Group::Abc { a, b: a * u64::from(config.width) - retired, c: stalls },
        });
    }
    groups
}

/// Returns the bits of a group.
pub fn bits(config: &Config, group: &Group) -> String {
    let code = |n: u64| match config.code {
        Code::Gamma => gamma(n),
        Code::Delta => delta(n),
    };
    let last = |n: u64| if n == 0 { String::new() } else { code(n) };
    match *group {
        Group::Ac { a, c } => code(a + 1) + &last(c),
        Group::Abc { a, b, c } => code(a + 1) + &code(b + 1) + &last(c),
        Group::De { d, e } if config.d == DCode::Elias => code(d) + &last(e),
        Group::De { d, e } => {
            let width = (0..).find(|&bits| 1_u64 << bits >= u64::from(config.width)).unwrap();
            let binary: String = (0..width).rev().map(|bit| bit_of(d - 1, bit)).collect();
            binary + &last(e)
        }
    }
}

fn bit_of(n: u64, bit: u32) -> char {
    if n >> bit & 1 == 1 { '1' } else { '0' }
}

pub fn gamma(n: u64) -> String {
    let mut binary = String::new();
    let mut rest = n;
    while rest > 0 {
        binary.insert(0, bit_of(rest, 0));
        rest >>= 1;
    }
    "0".repeat(binary.len() - 1) + &binary
}

pub fn delta(n: u64) -> String {
    let long = gamma(n);
    let binary = &long[long.len() / 2..];
    gamma(binary.len() as u64) + &binary[1..]
}

/// Returns the bytes of bits, with zeros at the end.
pub fn bytes(bits: &str) -> Vec<u8> {
    let byte =
        |chunk: &[u8]| chunk.iter().chain(&[b'0'; 8]).take(8).fold(0, |byte, &bit| byte << 1 | (bit - b'0'));
    bits.as_bytes().chunks(8).map(byte).collect()
}

/// Reads a number in gamma, a bit at a time.
pub fn read_gamma(bits: &mut impl Iterator<Item = bool>) -> Option<u64> {
    let mut zeros = 0;
    while !bits.next()? {
        zeros += 1;
    }
    (0..zeros).try_fold(1, |n, _| Some(n << 1 | u64::from(bits.next()?)))
}
