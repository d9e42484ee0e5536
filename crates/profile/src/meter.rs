//! Cycles put down to whatever ran: a node of a call tree, a loop.

use tracewright_core::Stamp;

use crate::clock::{Kind, Told};
use crate::costs::Portions;

/// Puts cycles down to owners, which are numbers, as [`Stalls`](crate::Stalls) does to instructions: those from the retirement of
/// the instruction before up to an instruction's own are its. Where only the cycles of several together are known, each gets the same part.
#[derive(Clone, Debug)]
pub struct Meter {
    kind: Kind,
    /// The last cycle that is known; `None` after a loss.
    last: Option<u64>,
    before_loss: Option<u64>,
    /// Instructions since, whose cycles are not known yet, by owner.
    pending: Vec<(u32, u64)>,
    waiting: u64,
}

/// No more owners wait for their cycles.
const MOST_PENDING: usize = 1 << 20;

impl Meter {
    /// By a clock of this kind.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        let last = (kind == Kind::Counts).then_some(0);
        Self { kind, last, before_loss: None, pending: Vec::new(), waiting: 0 }
    }

    /// What the clock says of a block that is the owner's. `add` gets owners and their cycles.
    pub fn block(&mut self, owner: u32, stamps: &[Stamp], mut add: impl FnMut(u32, u64)) {
        // The cycles of a block that are all exact are one difference.
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

    /// What it says of something else.
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
