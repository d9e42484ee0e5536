//! The model of the trace port, compared with one that advances cycle by cycle.

use tracewright_core::port::{Backlog, Buffer, NoRate, Port, Rate, WhenFull};
use tracewright_testkit::Rng;

/// A simple, slow twin of the model: a cycle at a time, in parts of a bit of which `rate.bits()` leave in each.
struct Twin {
    port: Port,
    parts: u64,
    /// Cycles that have passed, stalls included.
    cycle: u64,
    waited: u64,
    peak: u64,
}

impl Twin {
    fn new(port: Port) -> Self {
        Self { port, parts: 0, cycle: 0, waited: 0, peak: 0 }
    }

    fn pass(&mut self) {
        self.cycle += 1;
        for _ in 0..self.port.rate.bits() {
            self.parts -= u64::from(self.parts > 0);
        }
    }

    fn take(&mut self, bits: u64, cycle: u64) -> bool {
        while self.cycle < cycle + self.waited {
            self.pass();
        }
        let a_bit = u64::from(self.port.rate.cycles());
        let most = self.port.bits * a_bit;
        if self.parts + bits * a_bit > most && self.port.when_full == WhenFull::Drop {
            return false;
        }
        self.parts += bits * a_bit;
        self.peak = self.peak.max(self.parts.min(most));
        while self.parts > most {
            self.pass();
            self.waited += 1;
        }
        true
    }
}

fn any_rate(rng: &mut Rng) -> Rate {
    Rate::new(1 + rng.below(20) as u32, 1 + rng.below(7) as u32).unwrap()
}

/// Makes packet sizes and the cycles in which the packets are made.
fn any_packets(rng: &mut Rng) -> Vec<(u64, u64)> {
    let (largest, longest) = (1 + rng.below(100), 1 + rng.below(60));
    let mut cycle = 0;
    let packets = 1 + rng.below(80);
    (0..packets)
        .map(|_| {
            if !rng.one_in(3) {
                cycle += rng.below(longest);
            }
            (rng.below(largest), cycle)
        })
        .collect()
}

#[test]
fn a_buffer_does_what_it_does_cycle_by_cycle() {
    let mut rng = Rng::new(1);
    let (mut lost, mut stalled) = (0, 0);
    for _ in 0..20_000 {
        let when_full = *rng.pick(&[WhenFull::Stall, WhenFull::Drop]);
        let port = Port { rate: any_rate(&mut rng), bits: rng.below(200), when_full };
        let (mut buffer, mut twin) = (Buffer::new(port), Twin::new(port));
        let packets = any_packets(&mut rng);
        let (mut taken, mut bits) = (0, 0);
        for &(size, cycle) in &packets {
            let fits = buffer.clone().has_room(size, cycle);
            let (waited, took) = (twin.waited, twin.take(size, cycle));
            assert_eq!(fits, took && twin.waited == waited, "{port:?} {packets:?}");
            assert_eq!(buffer.take(size, cycle), took, "{port:?} {packets:?}");
            taken += u64::from(took);
            bits += if took { size } else { 0 };
        }
        let stats = buffer.stats();
        assert_eq!((stats.packets, stats.bits), (taken, bits));
        assert_eq!(stats.refused, packets.len() as u64 - taken);
        assert_eq!(stats.stall_cycles, twin.waited, "{port:?} {packets:?}");
        assert_eq!(stats.peak, twin.peak.div_ceil(port.rate.cycles().into()), "{port:?} {packets:?}");
        lost += stats.refused;
        stalled += stats.stall_cycles;
    }
    assert!(lost > 100_000 && stalled > 100_000, "{lost} {stalled}");
}

#[test]
fn the_smallest_buffer_is_exact() {
    let mut rng = Rng::new(2);
    for _ in 0..20_000 {
        let rate = any_rate(&mut rng);
        let packets = any_packets(&mut rng);
        let mut backlog = Backlog::new(rate);
        packets.iter().for_each(|&(bits, cycle)| backlog.add(bits, cycle));
        let run = |bits: u64, when_full: WhenFull| {
            let mut buffer = Buffer::new(Port { rate, bits, when_full });
            packets.iter().for_each(|&(bits, cycle)| _ = buffer.take(bits, cycle));
            *buffer.stats()
        };
        let smallest = backlog.smallest();
        let enough = run(smallest, WhenFull::Drop);
        assert_eq!((enough.refused, enough.peak), (0, smallest), "{rate} {packets:?}");
        assert_eq!(run(smallest, WhenFull::Stall).stall_cycles, 0);
        if let Some(less) = smallest.checked_sub(1) {
            assert!(run(less, WhenFull::Drop).refused > 0, "{rate} {packets:?}");
            assert!(run(less, WhenFull::Stall).stall_cycles > 0, "{rate} {packets:?}");
        }
    }
}

#[test]
fn a_third_of_a_bit_does_not_drift() {
    let rate = Rate::new(1, 3).unwrap();
    let mut backlog = Backlog::new(rate);
    // As many bits leave as enter, so no more than one packet is in the backlog.
    for round in 0..1_000_000 {
        backlog.add(7, round * 21);
    }
    assert_eq!(backlog.smallest(), 7);
    // Packets that come a cycle earlier each time add a third of a bit each time.
    let mut backlog = Backlog::new(rate);
    for round in 0..=300 {
        backlog.add(7, round * 20);
    }
    assert_eq!(backlog.smallest(), 7 + 100);
}

#[test]
fn no_number_is_too_large() {
    let rate = Rate::new(1, u32::MAX).unwrap();
    let port = Port { rate, bits: u64::MAX, when_full: WhenFull::Stall };
    let mut buffer = Buffer::new(port);
    let mut backlog = Backlog::new(rate);
    for cycle in [0, 1, u64::MAX, u64::MAX, 3] {
        buffer.take(u64::MAX, cycle);
        backlog.add(u64::MAX, cycle);
    }
    assert_eq!((buffer.stats().bits, buffer.stats().peak), (u64::MAX, u64::MAX));
    assert_eq!((buffer.stats().stall_cycles, backlog.smallest()), (u64::MAX, u64::MAX));
}

#[test]
fn rates_as_text() {
    for (text, bits, cycles, shown) in [
        ("4", 4, 1, "4"),
        ("0.5", 1, 2, "1/2"),
        ("1/2", 1, 2, "1/2"),
        ("2.50", 5, 2, "5/2"),
        ("6/4", 3, 2, "3/2"),
        ("4294967295", u32::MAX, 1, "4294967295"),
    ] {
        let rate: Rate = text.parse().unwrap();
        assert_eq!((rate.bits(), rate.cycles(), rate.to_string().as_str()), (bits, cycles, shown));
        assert_eq!(shown.parse(), Ok(rate));
    }
    for text in " 0 0.0 0/1 1/0 -1 +1 1e3 . 1. .5 1/2/3 4294967296 1.0000000000".split(' ') {
        assert_eq!(text.parse::<Rate>(), Err(NoRate), "{text}");
    }
}
