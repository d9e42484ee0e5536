//! The cost of damage: a loss up to the next sync, reported with its bytes and cycles, and nothing else.

use crate::support;

use support::{any_config, any_cycles, decoded, packets};
use tracewright_delta::{Config, Cycles, Encoder, Item, Kind, Lost, Packing, Stamp, Why, overflow};
use tracewright_testkit::Rng;

/// Returns a stream with many syncs.
fn stream(rng: &mut Rng, config: Config) -> (Vec<u64>, Vec<u8>) {
    let cycles = any_cycles(rng, config.width, 4_000);
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(config, Packing { payload: 24, sync: 120 }).unwrap();
    for (at, block) in cycles.chunks(5).enumerate() {
        encoder.block(0x8000_0000 + 20 * at as u64, block, &mut bytes).unwrap();
    }
    encoder.finish(&mut bytes);
    (cycles, bytes)
}

/// Returns the start, the end and the kind of each packet.
fn layout(bytes: &[u8]) -> Vec<(usize, usize, Kind)> {
    let mut at = 0;
    let place = |packet: &tracewright_delta::Packet<'_>| {
        let from = at;
        at += packet.len();
        (from, at, packet.kind)
    };
    packets(bytes).iter().map(place).collect()
}

/// Returns the counts of all syncs, which identify them.
fn syncs(items: &[Item]) -> Vec<u64> {
    items
        .iter()
        .filter_map(|item| if let Item::Sync { sync, .. } = item { Some(sync.retired) } else { None })
        .collect()
}

fn losses(items: &[Item]) -> Vec<Lost> {
    items.iter().filter_map(|item| if let Item::Lost(lost) = item { Some(*lost) } else { None }).collect()
}

/// Checks that instructions between syncs are right, whatever was lost elsewhere. Before a loss, they are the first
/// ones.
fn check_parts(items: &[Item], whole: &[Item]) {
    let parts = |items: &[Item]| {
        let parts = items.chunk_by(|_, next| !matches!(next, Item::Sync { .. })).map(<[Item]>::to_vec);
        parts.collect::<Vec<_>>()
    };
    let whole = parts(whole);
    for part in parts(items) {
        let Item::Sync { sync, .. } = part[0] else {
            assert!(matches!(part[0], Item::Lost(_)));
            continue;
        };
        let same =
            whole.iter().find(|part| matches!(part[0], Item::Sync { sync: other, .. } if other == sync));
        let told = part[1..].iter().filter(|item| matches!(item, Item::Run(_) | Item::Span(_)));
        let same = same.unwrap();
        assert!(told.clone().count() < same.len());
        assert!(told.zip(&same[1..]).all(|(told, same)| told == same));
    }
}

#[test]
fn a_changed_byte_costs_what_is_up_to_the_next_sync() {
    let mut rng = Rng::new(81);
    for _ in 0..40 {
        let config = any_config(&mut rng);
        let (_, good) = stream(&mut rng, config);
        let (whole, layout) = (decoded(&good), layout(&good));
        for _ in 0..20 {
            let at = rng.below(good.len() as u64) as usize;
            let mut bytes = good.clone();
            bytes[at] ^= 1 << rng.below(8);
            let items = decoded(&bytes);
            // All that is emitted is right.
            check_parts(&items, &whole);
            let losses = losses(&items);
            assert_eq!(losses.len(), 1);
            let lost = losses[0];
            let (from, ..) = *layout.iter().rfind(|(from, ..)| *from <= at).unwrap();
            assert_eq!(lost.offset, from as u64);
            let next = layout.iter().find(|&&(begin, _, kind)| begin > at && kind == Kind::Sync);
            match next {
                Some(&(begin, ..)) => {
                    assert_eq!(lost.end, begin as u64);
                    // The next sync is found, and only the part before it is lost.
                    assert!(syncs(&whole).len() - syncs(&items).len() <= 1);
                    assert_eq!(lost.retired.is_some(), from > 0);
                }
                None => assert_eq!((lost.end, lost.to), (good.len() as u64, None)),
            }
            if let (Some(from), Some(to)) = (lost.from, lost.to) {
                assert!(from <= to);
            }
        }
    }
}

#[test]
fn a_dropped_packet_is_noticed_with_the_next_one() {
    let mut rng = Rng::new(82);
    for _ in 0..60 {
        let config = any_config(&mut rng);
        let (cycles, good) = stream(&mut rng, config);
        let (whole, layout) = (decoded(&good), layout(&good));
        for says_so in [false, true] {
            // Some packets in the middle, not the first one.
            let first = 1 + rng.below(layout.len() as u64 / 2) as usize;
            let last = (first + rng.below(5) as usize).min(layout.len() - 2);
            let mut bytes = good[..layout[first].0].to_vec();
            if says_so {
                bytes.extend(overflow());
            }
            bytes.extend(&good[layout[last].1..]);
            let items = decoded(&bytes);
            check_parts(&items, &whole);
            let losses = losses(&items);
            assert_eq!(losses.len(), 1);
            assert_eq!(losses[0].why, if says_so { Why::Overflow } else { Why::Missing });
            assert_eq!(losses[0].offset, layout[first].0 as u64);
            if !layout[last + 1..].iter().any(|&(.., kind)| kind == Kind::Sync) {
                assert_eq!((losses[0].to, losses[0].retired), (None, None));
                continue;
            }
            assert!(losses[0].from.unwrap() <= losses[0].to.unwrap());
            check_stamps(&bytes, &cycles, losses[0].retired.unwrap());
        }
    }
}

/// Checks that as many instructions have no cycle as the counts say, and that all others have theirs.
fn check_stamps(bytes: &[u8], cycles: &[u64], lost: u64) {
    let mut stamps = Cycles::new(bytes);
    let mut unknown = 0;
    for &cycle in cycles {
        match stamps.next_cycle() {
            Stamp::Exact(told) => assert_eq!(told, cycle),
            Stamp::Between(first, last) => assert!((first..=last).contains(&cycle)),
            Stamp::From(_) | Stamp::Unknown => unknown += 1,
        }
    }
    assert_eq!(unknown, lost);
}

/// So many packets are missing that the sequence numbers wrap. The next sync shows it.
#[test]
fn packets_that_are_missing_by_the_256_are_noticed_at_the_next_sync() {
    let mut rng = Rng::new(83);
    let cycles = any_cycles(&mut rng, 1, 20_000);
    let mut good = Vec::new();
    let mut encoder = Encoder::new(Config::ac(), Packing { payload: 4, sync: 0 }).unwrap();
    encoder.block(0, &cycles[..15_000], &mut good).unwrap();
    encoder.request_sync();
    encoder.block(0x1000, &cycles[15_000..], &mut good).unwrap();
    encoder.finish(&mut good);
    let layout = layout(&good);
    let bytes = [&good[..layout[10].0], &good[layout[266].0..]].concat();
    let losses = losses(&decoded(&bytes));
    assert_eq!(losses.len(), 1);
    let sync = layout.iter().rfind(|(_, _, kind)| *kind == Kind::Sync).unwrap();
    let gone = layout[266].0 - layout[10].0;
    assert_eq!((losses[0].why, losses[0].offset), (Why::Mismatch, 0));
    assert_eq!(losses[0].end as usize, sync.0 - gone);
    assert_eq!((losses[0].from, losses[0].to), (Some(cycles[0]), Some(cycles[15_000])));
}

#[test]
fn a_stream_that_is_cut_says_so() {
    let mut rng = Rng::new(84);
    for _ in 0..40 {
        let config = any_config(&mut rng);
        let (_, good) = stream(&mut rng, config);
        let whole = decoded(&good);
        for _ in 0..20 {
            let len = rng.below(good.len() as u64) as usize;
            let items = decoded(&good[..len]);
            check_parts(&items, &whole);
            match len {
                0 => assert_eq!(items, []),
                _ => {
                    let Some(Item::Lost(lost)) = items.last() else { panic!("{:?}", items.last()) };
                    assert_eq!((lost.why, lost.end, lost.to), (Why::Truncated, len as u64, None));
                }
            }
            // The second half begins anywhere, and is decoded from its first sync on.
            let items = decoded(&good[len..]);
            let losses = losses(&items);
            assert!(losses.len() <= 1);
            for lost in losses {
                // Bytes without a whole packet could also be the start of a stream.
                let why = if lost.to.is_none() && lost.why == Why::Truncated { lost.why } else { Why::Begun };
                assert_eq!((lost.why, lost.offset, lost.from), (why, 0, None));
            }
            assert!(!items.is_empty());
        }
    }
}

/// Two streams in one file: the second one has cycles of its own.
#[test]
fn another_stream_after_the_end_begins_anew() {
    let mut rng = Rng::new(85);
    let (_, one) = stream(&mut rng, Config::ac());
    let both = [&one[..], &one[..]].concat();
    let items = decoded(&both);
    let losses = losses(&items);
    assert_eq!(losses.len(), 1);
    assert_eq!((losses[0].why, losses[0].from, losses[0].retired), (Why::Missing, None, None));
    assert_eq!(items.len(), 2 * decoded(&one).len() + 1);
}
