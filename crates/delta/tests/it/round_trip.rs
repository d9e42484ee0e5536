//! Random retirement sequences, encoded and decoded: nothing is lost but what the format gives up.

use crate::support;

use support::{any_config, any_cycles, decoded, decoded_in, naive, payloads};
use tracewright_delta::{
    BitReader, BitWriter, Config, Cycles, Encoder, Format, Group, Item, NoGroup, Packing, Run, Span, Stamp,
};
use tracewright_testkit::Rng;

/// A run of a hart as blocks, with the cycles of instructions, and syncs before some blocks.
struct Ran {
    config: Config,
    packing: Packing,
    cycles: Vec<u64>,
    /// Index of each block's first instruction, and whether a sync is requested or tracing is off before it.
    blocks: Vec<(usize, Before)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Nothing,
    Sync,
    Off,
}

impl Ran {
    fn any(rng: &mut Rng) -> Self {
        let config = any_config(rng);
        let count = rng.below(3_000) as usize;
        let cycles = any_cycles(rng, config.width, count);
        let packing =
            Packing { payload: 1 + rng.below(200) as u8, sync: *rng.pick(&[0, 1, 100, 1_000, 100_000]) };
        let mut blocks = vec![(0, Before::Nothing)];
        while let Some(&(last, _)) = blocks.last()
            && last < cycles.len()
        {
            let before = match rng.below(30) {
                0 => Before::Sync,
                1 => Before::Off,
                _ => Before::Nothing,
            };
            blocks.push((last + 1 + rng.below(40) as usize, before));
        }
        blocks.pop();
        Self { config, packing, cycles, blocks }
    }

    fn address(at: usize) -> u64 {
        0x8000_0000 + 4 * at as u64
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(self.config, self.packing).unwrap();
        let ends = self.blocks.iter().skip(1).map(|&(at, _)| at).chain([self.cycles.len()]);
        for (&(at, before), end) in self.blocks.iter().zip(ends) {
            match before {
                Before::Nothing => {}
                Before::Sync => encoder.request_sync(),
                Before::Off => encoder.off(encoder.cycle(), &mut bytes),
            }
            encoder.block(Self::address(at), &self.cycles[at..end], &mut bytes).unwrap();
        }
        assert_eq!(encoder.retired(), self.cycles.len() as u64);
        encoder.finish(&mut bytes);
        bytes
    }
}

/// Returns how many instructions retired in each cycle that retired any.
fn counts(cycles: &[u64]) -> Vec<(u64, u64)> {
    cycles.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect()
}

/// Returns the expected items between two syncs, by the definition of the formats.
fn expected(config: &Config, cycles: &[u64]) -> Vec<Item> {
    let counts = counts(cycles);
    let parts = counts.chunk_by(|a, b| {
        let stalls = b.0 - a.0 - 1;
        !config.is_exact() && stalls <= u64::from(config.amortise)
    });
    parts
        .map(|part| {
            let (first, last) = (part[0].0, part[part.len() - 1].0);
            let span = Span {
                cycle: first,
                cycles: last - first + 1,
                retired: part.iter().map(|&(_, count)| count).sum(),
                width: config.width,
                amortise: config.amortise,
            };
            let all = span.retired == span.cycles * u64::from(span.width);
            let one = config.amortise == 0 && span.retired == span.cycles;
            match span.cycles {
                1 => Item::Run(Run { cycle: first, cycles: 1, each: span.retired as u8 }),
                cycles if all => Item::Run(Run { cycle: first, cycles, each: span.width }),
                cycles if one => Item::Run(Run { cycle: first, cycles, each: 1 }),
                _ => {
                    // The range of stalls is right.
                    let stalls = span.cycles - part.len() as u64;
                    assert!(span.stalls().contains(&stalls), "{span:?}: {stalls}");
                    if span.width == 1 || config.amortise == 0 {
                        assert_eq!(span.stalls(), stalls..=stalls);
                    }
                    Item::Span(span)
                }
            }
        })
        .collect()
}

/// Splits exact runs into single cycles, so that their extent does not matter.
fn single(items: &[Item]) -> Vec<Item> {
    let mut single = Vec::new();
    for item in items {
        match *item {
            Item::Run(run) => single.extend(
                (0..run.cycles).map(|at| Item::Run(Run { cycle: run.cycle + at, cycles: 1, each: run.each })),
            ),
            item => single.push(item),
        }
    }
    single
}

#[test]
fn what_is_decoded_is_what_ran() {
    let mut rng = Rng::new(71);
    let (mut spans, mut within) = (0, 0);
    for round in 0..600 {
        let ran = Ran::any(&mut rng);
        let bytes = ran.encode();
        let items = decoded(&bytes);
        let syncs: Vec<_> = items
            .iter()
            .filter_map(|item| match item {
                Item::Sync { sync, .. } => Some(*sync),
                _ => None,
            })
            .collect();
        let parts = items.chunk_by(|_, next| !matches!(next, Item::Sync { .. }));
        let ends = syncs.iter().skip(1).map(|sync| sync.retired as usize).chain([ran.cycles.len()]);
        assert_eq!(syncs.is_empty(), ran.cycles.is_empty());
        for ((sync, part), end) in syncs.iter().zip(parts).zip(ends) {
            let begin = sync.retired as usize;
            assert_eq!((sync.cycle, sync.address), (ran.cycles[begin], Ran::address(begin)), "round {round}");
            assert_eq!(sync.config, ran.config);
            let (told, off) = match part.split_last() {
                Some((Item::Off { off, .. }, told)) => (&told[1..], Some(off)),
                _ => (&part[1..], None),
            };
            let expected = expected(&ran.config, &ran.cycles[begin..end]);
            assert_eq!(single(told), single(&expected), "round {round}, {}", ran.config);
            if let Some(off) = off {
                assert_eq!((off.cycle, off.retired), (ran.cycles[end - 1] + 1, end as u64));
            }
            within += usize::from(begin > 0 && ran.cycles[begin - 1] == ran.cycles[begin]);
            spans += told.iter().filter(|item| matches!(item, Item::Span(_))).count();
        }
        if !ran.cycles.is_empty() {
            assert!(matches!(items.last(), Some(Item::Off { .. })));
        }
    }
    // Syncs between instructions of one cycle were among them.
    assert!(spans > 1_000 && within > 20, "{spans} {within}");
}

/// The payloads of the encoder equal those of the naive twin, bit by bit.
#[test]
fn payloads_are_those_of_a_writer_of_bits() {
    let mut rng = Rng::new(72);
    for _ in 0..400 {
        let config = any_config(&mut rng);
        let count = 1 + rng.below(400) as usize;
        // Stalls are short, since the twin visits each cycle.
        let mut cycles = any_cycles(&mut rng, config.width, count);
        let mut back = 0;
        for at in 1..cycles.len() {
            let stall = cycles[at].saturating_sub(back + cycles[at - 1]).saturating_sub(500);
            back += stall;
            cycles[at] -= back;
        }
        let (begin, end) = (cycles[0], cycles[count - 1] + 1 + rng.below(3));
        let mut bits: String = naive::groups(&config, &cycles, begin, end)
            .iter()
            .map(|group| naive::bits(&config, group))
            .collect();
        let mut bytes = Vec::new();
        let packing = Packing { payload: 200, sync: 0 };
        let mut encoder = Encoder::new(config, packing).unwrap();
        encoder.block(0, &cycles, &mut bytes).unwrap();
        encoder.off(end, &mut bytes);
        for (payload, _) in payloads(&bytes) {
            // Each packet is padded with zeros.
            let whole: String = payload.iter().map(|byte| format!("{byte:08b}")).collect();
            let mut reader = BitReader::new(&payload);
            let cut = payload == naive::bytes(&bits);
            while reader.at() < bits.len() && Group::read(&config, &mut reader, cut).is_ok() {}
            let used = reader.at().min(bits.len());
            assert_eq!(whole[..used], bits[..used]);
            assert!(whole[used..].len() < 8 && !whole[used..].contains('1'));
            bits = bits[used..].to_owned();
        }
        assert_eq!(bits, "");
    }
}

/// Reading by windows equals reading bit by bit.
#[test]
fn words_are_read_as_bits_are() {
    let mut rng = Rng::new(73);
    for _ in 0..2_000 {
        let mut writer = BitWriter::new();
        while writer.bits() < 1_000 {
            writer.gamma(rng.sized(12).max(1));
            if rng.one_in(100) {
                writer.gamma(rng.next_u64().max(1));
            }
        }
        let bytes = writer.take().to_vec();
        let mut slow = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
        let mut fast = BitReader::new(&bytes);
        loop {
            let (slow, fast) = (naive::read_gamma(&mut slow), fast.gamma());
            assert_eq!(slow, fast);
            if slow.is_none() {
                break;
            }
        }
    }
}

/// Groups are read as they were written, with tokens of any size.
#[test]
fn any_group_is_read_as_written() {
    let mut rng = Rng::new(74);
    for _ in 0..20_000 {
        let config = any_config(&mut rng);
        let mut writer = BitWriter::new();
        let mut any = |least: u64| rng.sized(63).max(least);
        let mut groups = Vec::new();
        while writer.bits() < 1_600 {
            let (a, b, c) = (any(0), any(0), any(1));
            let group = match config.format {
                Format::Ac => Group::Ac { a, c },
                Format::Abc => Group::Abc { a, b, c },
                Format::De => Group::De { d: 1 + a % u64::from(config.width), e: c },
            };
            let before = writer.bits();
            group.write(&config, &mut writer);
            assert_eq!(writer.bits() - before, group.bits(&config) as usize);
            assert_eq!(naive::bits(&config, &group).len(), group.bits(&config) as usize);
            groups.push(group);
        }
        let mut reader = BitReader::new(writer.take());
        for group in groups {
            assert_eq!(Group::read(&config, &mut reader, false), Ok(group));
        }
        assert_eq!(Group::read(&config, &mut reader, false), Err(NoGroup::End));
    }
}

/// The result does not depend on the chunks.
#[test]
fn pieces_do_not_matter() {
    let mut rng = Rng::new(75);
    for _ in 0..100 {
        let bytes = Ran::any(&mut rng).encode();
        let whole = decoded(&bytes);
        for most in [1, 3, 50, 700] {
            let mut rest = &bytes[..];
            let pieces =
                std::iter::from_fn(|| rest.split_off(..(1 + rng.below(most) as usize).min(rest.len())));
            assert_eq!(decoded_in(pieces.take_while(|piece| !piece.is_empty())), whole);
        }
    }
}

/// Every instruction gets its cycle, or two between which it retired.
#[test]
fn instructions_get_their_cycles() {
    let mut rng = Rng::new(76);
    let mut between = 0;
    for _ in 0..300 {
        let ran = Ran::any(&mut rng);
        let bytes = ran.encode();
        let mut cycles = Cycles::new(&bytes);
        for (at, &cycle) in ran.cycles.iter().enumerate() {
            // Where tracing was off, a seek is needed.
            if at > 0 && ran.blocks.contains(&(at, Before::Off)) {
                assert_eq!(cycles.next_cycle(), Stamp::Unknown);
                assert!(cycles.seek(cycle, Ran::address(at)));
            }
            match cycles.next_cycle() {
                Stamp::Exact(told) => assert_eq!(told, cycle, "{}", ran.config),
                Stamp::Between(first, last) => {
                    assert!(first < last && (first..=last).contains(&cycle));
                    assert!(!ran.config.is_exact());
                    between += 1;
                }
                Stamp::From(_) | Stamp::Unknown => panic!("instruction {at} of {}", ran.config),
            }
        }
        assert_eq!(cycles.next_cycle(), Stamp::Unknown);
    }
    assert!(between > 1_000);
}
