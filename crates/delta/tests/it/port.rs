//! Delta trace through a port: the smallest buffer is exact, losses are reported, and the rest is what retired.

use crate::support::decoded;

use tracewright_core::port::{Backlog, Port, Rate, WhenFull};
use tracewright_delta::{AtPort, Config, Encoder, Item, Out, Packing, Run, Why};
use tracewright_testkit::Rng;

/// The number of bits made in each cycle.
#[derive(Default)]
struct Made(Vec<(u64, u64)>);

impl Out for Made {
    fn packet(&mut self, cycle: u64, bytes: &[u8]) {
        self.0.push((cycle, 8 * bytes.len() as u64));
    }
}

/// Returns blocks with the cycles of their instructions.
fn blocks(rng: &mut Rng) -> Vec<Vec<u64>> {
    let mut cycle = 0;
    let mut block = |rng: &mut Rng| {
        let next = |_| {
            cycle += 1 + if rng.one_in(3) { rng.below(9) } else { 0 };
            cycle
        };
        (0..8).map(next).collect()
    };
    (0..400).map(|_| block(rng)).collect()
}

fn encoder() -> Encoder {
    Encoder::new(Config::ac(), Packing { payload: 16, sync: 200 }).unwrap()
}

fn through(blocks: &[Vec<u64>], port: Port) -> AtPort {
    let (mut encoder, mut out) = (encoder(), AtPort::new(port));
    for (at, cycles) in blocks.iter().enumerate() {
        if out.is_lost() {
            encoder.request_sync();
        }
        encoder.block(0x1000 + 32 * at as u64, cycles, &mut out).unwrap();
    }
    encoder.finish(&mut out);
    out.finish();
    out
}

#[test]
fn the_smallest_buffer_is_exact_and_gaps_are_told() {
    let mut losses = 0;
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let blocks = blocks(&mut rng);
        let rate = Rate::new(1 + rng.below(9) as u32, 1 + rng.below(9) as u32).unwrap();
        let (mut encoder, mut made) = (encoder(), Made::default());
        for (at, cycles) in blocks.iter().enumerate() {
            encoder.block(0x1000 + 32 * at as u64, cycles, &mut made).unwrap();
        }
        encoder.finish(&mut made);
        let mut backlog = Backlog::new(rate);
        made.0.iter().for_each(|&(cycle, bits)| backlog.add(bits, cycle));
        let smallest = backlog.smallest();
        let port = |bits, when_full| Port { rate, bits, when_full };
        for when_full in [WhenFull::Drop, WhenFull::Stall] {
            let stats = *through(&blocks, port(smallest, when_full)).stats();
            assert_eq!((stats.refused, stats.stall_cycles, stats.peak), (0, 0, smallest), "seed {seed}");
            let stats = *through(&blocks, port(smallest - 1, when_full)).stats();
            assert!(stats.refused + stats.stall_cycles > 0, "seed {seed}");
        }
        let passed = through(&blocks, port(400 + rng.below(400), WhenFull::Drop));
        assert!(!passed.is_lost() && (passed.lost().0 > 0) == (passed.stats().refused > 0));
        let items = decoded(&passed.bytes);
        let all: Vec<u64> = blocks.concat();
        let (mut told, mut lost, mut gaps) = (Vec::new(), 0, 0);
        for item in &items {
            match item {
                Item::Run(Run { cycle, cycles, each: 1 }) => told.extend(*cycle..cycle + cycles),
                Item::Lost(what) => {
                    assert_eq!(what.why, Why::Overflow, "seed {seed}: {what:?}");
                    gaps += 1;
                    lost += what.retired.unwrap_or(0);
                }
                Item::Sync { .. } | Item::Off { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        let mut ran = all.iter();
        assert!(told.iter().all(|told| ran.any(|ran| ran == told)), "seed {seed}");
        assert_eq!(gaps, passed.stats().refused, "seed {seed}");
        // A gap at the end has no known length.
        let is_open = matches!(items.last(), Some(Item::Lost(_)));
        let counted = told.len() as u64 + lost;
        assert!(counted == all.len() as u64 || is_open && counted < all.len() as u64, "seed {seed}");
        losses += gaps;
    }
    assert!(losses > 200, "{losses}");
}
