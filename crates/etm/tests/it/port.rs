//! Trace through a port: all that fits is there, and what is lost is what the port reports.

use tracewright_core::port::{Backlog, Port, Rate, WhenFull};
use tracewright_core::{Element, GapReason, MemorySpace};
use tracewright_etm::decode::{Decoder, Feed};
use tracewright_etm::encode::{AtPort, Encoder, Options};
use tracewright_etm::packet::Parser;
use tracewright_etm::{Params, Registers, decode};
use tracewright_flow::Instructions;
use tracewright_image::Image;
use tracewright_testkit::program::{self, Executor, Happenings};
use tracewright_testkit::{Reader, Rng, Run};

use crate::round_trip::image;

/// An execution: elements and their cycles.
struct Case {
    image: Image,
    registers: Registers,
    options: Options,
    elements: Vec<(u64, Element)>,
    rate: Rate,
}

/// The output of a port.
struct Passed {
    bytes: Vec<u8>,
    port: AtPort,
    /// Instructions of each gap, except for a last one that does not end.
    gaps: Vec<u64>,
    /// Cycles in which bits were made, and how many.
    made: Vec<(u64, u64)>,
}

impl Case {
    fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let program = program::generate(&mut rng, 1 << (6 + seed % 6));
        // Any trace unit without speculation.
        let (registers, options) = loop {
            let Run { registers, options, .. } = Run::random(&mut rng, &program, 0x10, Reader::Any);
            if registers.trcidr8 == 0 && options.source_addresses.is_none() {
                break (registers, options);
            }
        };
        let happenings = Happenings {
            exceptions: *rng.pick(&[0, 5, 50]),
            cycles: 10,
            cycle_threshold: options.cycle_threshold,
            timestamps: 20,
            markers: registers.trcidr0 & 1 << 23 != 0,
            events: 20,
            machines: 2,
            ..Happenings::default()
        };
        let executed = Executor::new(&program, Rng::new(rng.next_u64()), happenings).elements(3000);
        let slow = 1 + rng.below(4);
        let mut cycle = 0;
        let elements = executed.into_iter().map(|element| {
            if let Element::Block(block) = element {
                cycle += u64::from(block.count) * slow;
            }
            (cycle, element)
        });
        let elements = elements.collect();
        let rate = Rate::new(1 + rng.below(8) as u32, 1 + rng.below(12) as u32).unwrap();
        Self { image: image(&program), registers, options, elements, rate }
    }

    fn through(&self, bits: u64, when_full: WhenFull) -> Passed {
        let encoder = Encoder::new(&self.registers, self.options.clone()).unwrap();
        let mut port = AtPort::new(encoder, Port { rate: self.rate, bits, when_full });
        let (mut bytes, mut gaps, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for &(cycle, element) in &self.elements {
            let (losses, lost, was_lost) = (port.stats().refused, port.lost_instructions(), port.is_lost());
            let before = bytes.len();
            port.element(cycle, &element, &mut bytes).unwrap();
            made.push((cycle, 8 * (bytes.len() - before) as u64));
            if (was_lost || port.stats().refused > losses) && !port.is_lost() {
                gaps.push(port.lost_instructions() - lost);
            }
        }
        Passed { bytes, port, gaps, made }
    }

    /// Returns the size of the smallest buffer that loses nothing.
    fn smallest(&self, whole: &Passed) -> u64 {
        let mut backlog = Backlog::new(self.rate);
        whole.made.iter().for_each(|&(cycle, bits)| backlog.add(bits, cycle));
        backlog.smallest()
    }

    /// Returns the instructions of a trace, in pieces between overflows.
    fn decode(&self, bytes: &[u8]) -> Vec<Vec<u64>> {
        let params = Params::new(&self.registers).unwrap();
        let mut pieces = vec![Vec::new()];
        let sink = |_: u64, element: &Element| match element {
            Element::Block(block) => {
                let instructions = Instructions::new(&self.image, MemorySpace::ANY, block);
                pieces.last_mut().unwrap().extend(instructions.map(|found| found.address));
            }
            Element::Lost(GapReason::Overflow) => pieces.push(Vec::new()),
            Element::Lost(GapReason::Start) => {}
            Element::Lost(_) | Element::NoCode { .. } | Element::Mismatch(_) => panic!("{element:?}"),
            _ => {}
        };
        let decoder = Decoder::new(&params, &self.image, decode::Options::default()).unwrap();
        let mut feed = Feed { decoder, sink };
        let mut parser = Parser::new(params);
        parser.feed(bytes, &mut feed);
        parser.finish(&mut feed);
        feed.decoder.finish(parser.position(), &mut feed.sink);
        pieces
    }

    fn ran(&self) -> Vec<u64> {
        let blocks = self.elements.iter().filter_map(|(_, element)| match element {
            Element::Block(block) => Some(block),
            _ => None,
        });
        let of = |block| Instructions::new(&self.image, MemorySpace::ANY, block).map(|found| found.address);
        blocks.flat_map(of).collect()
    }
}

#[test]
fn the_smallest_buffer_is_exact() {
    for seed in 0..120 {
        let case = Case::random(seed);
        let whole = case.through(u64::MAX, WhenFull::Drop);
        let smallest = case.smallest(&whole);
        for when_full in [WhenFull::Drop, WhenFull::Stall] {
            let enough = case.through(smallest, when_full);
            let stats = *enough.port.stats();
            assert_eq!((stats.refused, stats.stall_cycles), (0, 0), "seed {seed}");
            assert_eq!((stats.peak, enough.port.lost_instructions()), (smallest, 0), "seed {seed}");
            assert_eq!(enough.bytes, whole.bytes, "seed {seed}");
            let less = case.through(smallest - 1, when_full);
            let stats = *less.port.stats();
            assert!(stats.refused > 0 || stats.stall_cycles > 0, "seed {seed}");
            // With stalls, nothing is lost.
            assert!(when_full == WhenFull::Drop || less.bytes == whole.bytes, "seed {seed}");
        }
    }
}

#[test]
fn what_is_lost_is_what_the_port_says() {
    let mut losses = 0;
    for seed in 0..300 {
        let case = Case::random(seed);
        let whole = case.through(u64::MAX, WhenFull::Drop);
        let most = case.smallest(&whole);
        let bits = AtPort::LEAST + Rng::new(seed).below(most);
        let passed = case.through(bits, WhenFull::Drop);
        let pieces = case.decode(&passed.bytes);
        assert_eq!(pieces.len() as u64, 1 + passed.port.stats().refused, "seed {seed}");
        assert_eq!(passed.gaps.len() + 1, pieces.len(), "seed {seed}");
        assert!(!passed.port.is_lost(), "seed {seed}");
        let ran = case.ran();
        let mut at = 0;
        for (number, piece) in pieces.iter().enumerate() {
            if let Some(gap) = number.checked_sub(1) {
                at += passed.gaps[gap] as usize;
            }
            assert_eq!(piece[..], ran[at..at + piece.len()], "seed {seed}, piece {number}, {bits} bits");
            at += piece.len();
        }
        // What ran after the last branch is never traced.
        let untold = ran.len() - case.decode(&whole.bytes)[0].len();
        assert!(at == ran.len() || at == ran.len() - untold, "seed {seed}: {at} of {}", ran.len());
        assert_eq!(passed.gaps.iter().sum::<u64>(), passed.port.lost_instructions());
        losses += passed.gaps.len();
    }
    assert!(losses > 1000, "{losses}");
}
