//! Cycles attributed to owners, such as call tree nodes or loops.

use tracewright_core::Stamp;

use crate::clock::{Kind, Told};
use crate::costs::Portions;

/// Attributes cycles to owners as [`Stalls`](crate::Stalls) does to instructions: an instruction's cycles are those
/// from the retirement of the previous instruction to its own. If only the cycles of several instructions together are
/// known, each gets the same part.
#[derive(Clone, Debug)]
pub struct Meter {
    kind: Kind,
    /// Last known cycle. `None` after a loss.
    last: Option<u64>,
    before_loss: Option<u64>,
    /// Instructions since then, by owner, whose cycles are not known yet.
    pending: Vec<(u32, u64)>,
    waiting: u64,
}

/// Maximum number of owners that wait for cycles.
const MOST_PENDING: usize = 1 << 20;

impl Meter {
    /// Creates a meter for a kind of clock.
    pub fn new(kind: Kind) -> Self {
        let last = (kind == Kind::Counts).then_some(0);
        Self { kind, last, before_loss: None, pending: Vec::new(), waiting: 0 }
    }

    /// Takes the stamps of a block of `owner`. Calls `add` with owners and their cycles.
    pub fn block(&mut self, owner: u32, stamps: &[Stamp], mut add: impl FnMut(u32, u64)) {
        // If all stamps of the block are exact, its cycles are one difference.
        let mut sum = 0;
        for stamp in stamps {
            let &Stamp::Exact(cycle) = stamp else {
                self.wait(owner);
                continue;
            };
            if self.waiting > 0 {
                self.wait(owner);
                self.reached(cycle, &mut add);
                continue;
            }
            match self.last.map(|last| cycle.checked_sub(last)) {
                Some(Some(cycles)) => {
                    sum += cycles;
                    self.last = Some(cycle);
                    continue;
                }
                // The clock went back.
                Some(None) => self.lose(),
                None => {}
            }
            sum += match self.before_loss.take() {
                None => u64::from(cycle > 0),
                Some(last) => u64::from(cycle > last),
            };
            self.last = Some(cycle);
        }
        if sum > 0 {
            add(owner, sum);
        }
    }

    /// Takes what the clock says about another element.
    pub fn told(&mut self, told: Told<'_>, mut add: impl FnMut(u32, u64)) {
        match told {
            Told::Reached(cycle) => self.reached(cycle, &mut add),
            Told::Lost => self.lose(),
            Told::Block(_) | Told::Nothing => {}
        }
    }

    fn wait(&mut self, owner: u32) {
        self.waiting += 1;
        match self.pending.last_mut() {
            Some((last, count)) if *last == owner => *count += 1,
            _ => self.pending.push((owner, 1)),
        }
        if self.pending.len() > MOST_PENDING {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.waiting = 0;
        self.pending.clear();
    }

    fn reached(&mut self, cycle: u64, add: &mut impl FnMut(u32, u64)) {
        let cycles = self.last.map(|last| cycle.checked_sub(last));
        if let Some(None) = cycles {
            self.lose();
        }
        self.before_loss = None;
        self.last = Some(cycle);
        let Some(Some(cycles)) = cycles else { return self.give_up() };
        let mut each = Portions::new(cycles, self.waiting);
        for (owner, count) in self.pending.drain(..) {
            add(owner, each.take(count));
        }
        self.waiting = 0;
    }

    fn lose(&mut self) {
        self.give_up();
        if self.kind == Kind::Counts {
            self.last = Some(0);
        } else if let Some(last) = self.last.take() {
            self.before_loss = Some(last);
        }
    }
}
