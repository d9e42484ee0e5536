use tracewright_core::port::{Backlog, Rate};

/// Rates that are always told of, besides the one that is asked for.
const RATES: [(u32, u32); 7] = [(1, 4), (1, 2), (1, 1), (2, 1), (4, 1), (8, 1), (16, 1)];

/// So many rates.
pub(super) const COUNT: usize = RATES.len() + 1;

/// Finds out how large a buffer has to be, for several rates at once. Takes the packets of the trace that loses nothing.
#[derive(Clone, Debug)]
pub struct Sizing {
    /// The first is at the rate that is asked for.
    backlogs: [Backlog; COUNT],
    /// Packets so far.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
    /// The cycle of the last.
    pub cycles: u64,
}

impl Sizing {
    /// Looks at this rate, and at those that are always told of.
    pub fn new(rate: Rate) -> Self {
        let backlogs = std::array::from_fn(|at| {
            let of_table = at.checked_sub(1).and_then(|at| Rate::new(RATES[at].0, RATES[at].1));
            Backlog::new(of_table.unwrap_or(rate))
        });
        Self { backlogs, packets: 0, bits: 0, cycles: 0 }
    }

    /// Adds packets that are made in this cycle, of so many bits together.
    pub fn add(&mut self, packets: u64, bits: u64, cycle: u64) {
        self.cycles = self.cycles.max(cycle);
        if bits > 0 {
            self.packets += packets;
            self.bits += bits;
            self.backlogs.iter_mut().for_each(|backlog| backlog.add(bits, cycle));
        }
    }

    /// Returns the smallest buffer that loses nothing, for each rate.
    pub(super) fn smallest(&self) -> [(Rate, u64); COUNT] {
        self.backlogs.each_ref().map(|backlog| (backlog.rate(), backlog.smallest()))
    }
}
