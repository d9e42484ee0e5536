//! The four worked examples of "Every Cycle Counts". Their pictures are lost, but the text has the totals. The README
//! explains how these sequences were found.

use crate::support;

use support::{cycles, encoded, naive, packets, payloads, sequence};
use tracewright_delta::{Config, DCode, Group, Item, Kind, Run, Span, gamma_bits};

/// Single retirement: nine instructions.
const SINGLE: &str = "1 1 1 1 S 1 1 1 S 1 1 S S S";
/// Multi retirement, four wide: 24 instructions.
const MULTI: &str = "3 3 S 3 3 S 2 2 2 2 2 2 S S S";
/// The same without its stalls.
const INTRA: &str = "3 3 3 3 2 2 2 2 2 2";

/// Encodes a sequence, and compares its groups and their sums. Spaces separate tokens, bars groups.
fn check(config: Config, text: &str, tokens: &str, instructions: usize, groups: usize, total: u32) {
    let sequence = sequence(text);
    let from = 100;
    let told = cycles(&sequence, from);
    assert_eq!(told.len(), instructions);
    let end = from + sequence.len() as u64;
    let stream = encoded(config, &told, end);

    let expected: String = tokens.chars().filter(|c| "01".contains(*c)).collect();
    assert_eq!(payloads(&stream), [(naive::bytes(&expected), false)]);
    let each = naive::groups(&config, &told, from, end);
    assert_eq!(each.len(), groups);
    assert_eq!(each.iter().map(|group| group.bits(&config)).sum::<u32>(), total);
    assert_eq!(expected.len() as u32, total);
    // A sync and the end surround the groups.
    let kinds: Vec<_> = packets(&stream).iter().map(|packet| packet.kind).collect();
    assert_eq!(kinds, [Kind::Sync, Kind::Groups, Kind::Off]);
}

#[test]
fn single_retirement_takes_18_bits_in_three_groups() {
    check(Config::ac(), SINGLE, "00101 1 | 00100 1 | 011 011", 9, 3, 18);
}

#[test]
fn single_stalls_amortised_take_13_bits_in_one_group() {
    check(Config::abc(1).amortising(1), SINGLE, "0001100 011 011", 9, 1, 13);
    let items = support::decoded(&encoded(Config::abc(1).amortising(1), &cycles(&sequence(SINGLE), 0), 14));
    // It is known that two of eleven cycles stalled, but not which.
    let span = Span { cycle: 0, cycles: 11, retired: 9, width: 1, amortise: 1 };
    assert_eq!(items[1], Item::Span(span));
    assert_eq!(span.stalls(), 2..=2);
}

#[test]
fn multi_retirement_takes_29_bits_in_three_groups() {
    check(Config::abc(4), MULTI, "011 011 1 | 011 011 1 | 00111 0001101 011", 24, 3, 29);
}

#[test]
fn multi_retirement_amortised_takes_19_bits() {
    check(Config::abc(4).amortising(1), MULTI, "0001101 000011001 011", 24, 1, 19);
    let groups = naive::groups(&Config::abc(4).amortising(1), &cycles(&sequence(MULTI), 0), 0, 15);
    assert_eq!(groups, [Group::Abc { a: 12, b: 24, c: 3 }]);
}

#[test]
fn intra_cycle_takes_30_bits_in_ten_groups() {
    let tokens = "10 1 | 10 1 | 10 1 | 10 1 | 01 1 | 01 1 | 01 1 | 01 1 | 01 1 | 01 1";
    check(Config::de(4), INTRA, tokens, 24, 10, 30);
    let items = support::decoded(&encoded(Config::de(4), &cycles(&sequence(INTRA), 0), 10));
    assert_eq!(items[1], Item::Run(Run { cycle: 0, cycles: 1, each: 3 }));
    // With the stalls of the other example, the same cycles take eight bits more.
    let tokens = "10 1 | 10 010 | 10 1 | 10 010 | 01 1 | 01 1 | 01 1 | 01 1 | 01 1 | 01 00100";
    check(Config::de(4), MULTI, tokens, 24, 10, 38);
}

/// Returns all ways to write `sum` as three numbers of at least `least`.
fn threes(sum: u64, least: u64) -> Vec<[u64; 3]> {
    let pairs = (least..=sum).flat_map(|a| (least..=sum).map(move |b| [a, b]));
    let all = pairs.filter_map(|[a, b]| Some([a, b, sum.checked_sub(a + b)?]));
    all.filter(|three| three[2] >= least).collect()
}

/// Returns the number of bits of tokens that are written `higher` than they are, or `None` if one would be written as
/// 0.
fn bits(tokens: &[u64], higher: u64) -> Option<u32> {
    tokens.iter().map(|&token| (token + higher > 0).then(|| gamma_bits(token + higher))).sum()
}

/// Finds which tokens are written one higher, for any sequence that the text allows.
#[test]
fn only_one_reading_of_a_and_c_has_all_totals() {
    let mut readings = Vec::new();
    for [a_up, b_up, c_up] in (0..8).map(|n| [n & 1, n >> 1 & 1, n >> 2]) {
        // Nine instructions in three groups, which become one if single stalls are amortised: two single stalls
        // inside, and a longer one at the end.
        let single = threes(9, 1).into_iter().any(|a| {
            (2..64).any(|c| {
                let basic = bits(&a, a_up).zip(bits(&[1, 1, c], c_up)).map(|(a, c)| a + c);
                let one = bits(&[11], a_up).zip(bits(&[2], b_up)).zip(bits(&[c], c_up));
                basic == Some(18) && one.map(|((a, b), c)| a + b + c) == Some(13)
            })
        });
        // The same with 24 instructions: A = 12 with two stalls in it, B = 48 - 24, C = 3.
        let multi = threes(10, 1).into_iter().any(|a| {
            threes(16, 0).into_iter().any(|b| {
                let can = (0..3).all(|group| b[group] <= 3 * a[group]);
                let basic = bits(&a, a_up).zip(bits(&b, b_up)).zip(bits(&[1, 1, 3], c_up));
                can && basic.map(|((a, b), c)| a + b + c) == Some(29)
            })
        });
        let one = gamma_bits(12 + a_up) + gamma_bits(24 + b_up) + gamma_bits(3 + c_up);
        if single && multi && one == 19 {
            readings.push((a_up, b_up, c_up));
        }
    }
    // B can be 0, if every cycle retires all it can. So it must be the second.
    assert_eq!(readings, [(1, 0, 0), (1, 1, 0)]);
}

/// Ten groups of {D, E} in 30 bits have no stall, however D is written.
#[test]
fn the_intra_cycle_total_leaves_no_room_for_a_stall() {
    // E takes at least a bit. In gamma, ten Ds that sum to 24 take at least 24 bits: too many.
    let mut least = vec![Some(0)];
    least.resize(25, None);
    for _ in 0..10 {
        let next = |sum: usize| {
            let one = |d: usize| Some(least[sum.checked_sub(d)?]? + gamma_bits(d as u64));
            (1..=4).filter_map(one).min()
        };
        least = (0..25).map(next).collect();
    }
    assert_eq!(least[24], Some(24));
    // So D is binary with two bits, which leaves one bit for each E.
    let d = Group::De { d: 4, e: 0 }.bits(&Config { d: DCode::Binary, ..Config::de(4) });
    assert_eq!(30 - 10 * d, 10 * gamma_bits(1));
}
