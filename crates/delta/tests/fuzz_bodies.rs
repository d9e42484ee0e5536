//! Fuzz bodies as plain functions, each run here on some thousands of random inputs.

use tracewright_delta::{
    Code, Config, Cycles, DCode, Decoder, Encoder, Format, Item, MAX_WIDTH, Packing, Stamp,
};
use tracewright_testkit::Rng;

/// Decodes any bytes as a stream: the result is consistent, and does not depend on the chunks.
pub fn streams(data: &[u8]) {
    let items = decoded([data]);
    check(data, &items);
    let mut rest = data;
    let pieces = std::iter::from_fn(|| {
        let first = *rest.first()?;
        rest.split_off(..(usize::from(first) % 19 + 1).min(rest.len()))
    });
    assert_eq!(decoded(pieces), items);

    let mut cycles = Cycles::new(data);
    let mut before = 0;
    for _ in 0..2_000 {
        match cycles.next_cycle() {
            Stamp::Exact(cycle) => before = cycle,
            Stamp::Between(first, last) => assert!(first < last && last >= before),
            Stamp::From(_) | Stamp::Unknown => break,
        }
    }
}

fn decoded<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
    let mut items = Vec::new();
    let mut decoder = Decoder::new();
    chunks.into_iter().for_each(|chunk| decoder.feed(chunk, &mut items));
    decoder.finish(&mut items);
    items
}

/// Cycles never go back between a sync and the next, and each loss has a position.
fn check(data: &[u8], items: &[Item]) {
    let (mut cycle, mut at) = (0, 0);
    for item in items {
        match *item {
            Item::Sync { offset, sync } => {
                assert!(offset >= at && offset < data.len() as u64);
                sync.config.check().unwrap();
                (cycle, at) = (sync.cycle, offset);
            }
            Item::Run(run) => {
                assert!(run.cycle >= cycle && run.cycles > 0 && (1..=MAX_WIDTH).contains(&run.each));
                cycle = run.cycle.checked_add(run.cycles).unwrap();
            }
            Item::Span(span) => {
                assert!(span.cycle >= cycle && span.cycles > 1);
                assert!(span.retired <= span.cycles * u64::from(span.width));
                assert!(span.stalls().end() < &span.cycles);
                cycle = span.cycle.checked_add(span.cycles).unwrap();
            }
            Item::Off { offset, off } => {
                assert!(offset > at && off.cycle >= cycle);
                (cycle, at) = (off.cycle, offset);
            }
            Item::Lost(lost) => {
                assert!(lost.offset <= lost.end && lost.end <= data.len() as u64);
                assert!(lost.from.zip(lost.to).is_none_or(|(from, to)| from <= to));
            }
        }
    }
}

/// Runs any bytes as a sequence of calls of an encoder: all that it accepts is decoded again.
pub fn encode(data: &[u8]) {
    let mut input = data.iter().copied();
    let mut next = || u64::from(input.next().unwrap_or(0));
    let config = Config {
        format: [Format::Ac, Format::Abc, Format::De][next() as usize % 3],
        width: next() as u8 % 10,
        code: [Code::Gamma, Code::Delta][next() as usize % 2],
        d: [DCode::Binary, DCode::Elias][next() as usize % 2],
        amortise: next() as u32 % 4,
    };
    let Ok(mut encoder) = Encoder::new(config, Packing { payload: next() as u8, sync: next() as u32 * 8 })
    else {
        assert!(config.check().is_err());
        return;
    };
    let mut bytes = Vec::new();
    let mut cycle = next() << (next() % 57);
    for &step in data.iter().skip(8) {
        match step {
            0..0x80 => cycle = cycle.saturating_add(u64::from(step % 8)),
            0x80..0xa0 => cycle = cycle.saturating_add(1 << (step % 32)),
            0xa0 => cycle = cycle.saturating_sub(1),
            0xa1 => encoder.request_sync(),
            0xa2 => encoder.off(cycle, &mut bytes),
            0xa3 => encoder.flush(&mut bytes),
            0xa4 => drop(encoder.sync(cycle, 0, &mut bytes)),
            0xa5 => cycle = u64::MAX - 3,
            _ => {}
        }
        // What it refuses does not count.
        let _ = match step % 3 {
            0 => encoder.block(u64::from(step), &[cycle, cycle.saturating_add(1)], &mut bytes),
            1 => encoder.block(u64::from(step), &[cycle], &mut bytes),
            _ => encoder.retire(cycle, u64::from(step % 5), &mut bytes),
        };
    }
    encoder.finish(&mut bytes);
    let items = decoded([&bytes[..]]);
    let retired = items.iter().map(|item| match item {
        Item::Run(run) => run.retired(),
        Item::Span(span) => span.retired,
        Item::Lost(lost) => panic!("{lost:?} of a stream without damage, {config}"),
        _ => 0,
    });
    assert_eq!(retired.sum::<u64>(), encoder.retired());
}

/// Returns a stream of the encoder, to be damaged.
pub fn stream(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    let width = 1 + rng.below(8) as u8;
    let config = *rng.pick(&[Config::ac(), Config::de(width), Config::abc(width).amortising(2)]);
    let mut encoder = Encoder::new(config, Packing { payload: 16, sync: 100 }).unwrap();
    let mut cycle = rng.sized(50);
    for block in 0..rng.below(200) {
        cycle += 1 + rng.sized(3);
        encoder.block(4 * block, &[cycle, cycle + 1, cycle + 3], &mut bytes).unwrap();
        cycle += 3;
    }
    encoder.finish(&mut bytes);
    bytes
}

#[test]
fn streams_on_random_input() {
    let mut rng = Rng::new(91);
    for _ in 0..2_000 {
        let mut data = stream(&mut rng);
        for _ in 0..rng.below(6) {
            if data.is_empty() {
                break;
            }
            let at = rng.below(data.len() as u64) as usize;
            match rng.below(3) {
                0 => data[at] = rng.next_u64() as u8,
                1 => drop(data.drain(at..(at + rng.below(40) as usize).min(data.len()))),
                _ => drop(data.splice(at..at, rng.bytes(9))),
            }
        }
        streams(&data);
        streams(&rng.bytes_below(300));
    }
}

#[test]
fn encode_on_random_input() {
    let mut rng = Rng::new(92);
    for _ in 0..6_000 {
        encode(&rng.bytes_below(400));
    }
}
