//! Walks to an address that the trace names, through branches that were not taken.

use tracewright_core::{Class, Ended, Flow};

use super::{Stuck, Trail, Walker};
use crate::Node;

/// Maximum number of not-taken branches that one source address may stand for. More are damage.
const MOST_NOT_TAKEN: usize = 1 << 12;

impl Walker<'_> {
    /// Runs to the instruction at `last`, which ends a block, and over it. Branches on the way are not taken, that at `last` is.
    ///
    /// # Errors
    /// If the program does not allow it. Nothing was reported then, unless the code ends on the way.
    pub fn run_over(&mut self, last: u64, told: &mut impl Trail) -> Result<(), Stuck> {
        // A path that leads elsewhere did not run.
        let waits_are_traced = self.rules.waits_are_traced;
        self.leads(last, told, |node| {
            let is_told = node.class().flow != Flow::Wait || waits_are_traced;
            node.count() > 0 && node.last() == last && is_told
        })?;
        loop {
            let Some(node) = self.here(told) else { return Ok(()) };
            let at_end = node.count() > 0 && node.block(Ended::Taken).last() == last;
            // A node that ends without a branch: the code ends there.
            let is_branch = node.class().is_branch() || node.class() == Class::NEXT;
            let (start, end) = (node.start(), node.end());
            // The address is inside the block or after it: where a block of another program would end.
            if !at_end && last < end || start > last {
                self.lose_way();
                return Err(Stuck::Missed(start));
            }
            // A wait that is not traced does not end a walk to the next branch.
            if at_end || is_branch {
                self.branch(at_end, told)?;
            } else {
                self.run_to(end, told)?;
            }
            if at_end {
                return Ok(());
            }
        }
    }

    /// Runs up to `address`. Branches on the way are not taken.
    ///
    /// # Errors
    /// As [`run_over`](Self::run_over).
    pub fn run_up_to(&mut self, address: u64, told: &mut impl Trail) -> Result<(), Stuck> {
        self.leads(address, told, |node| {
            let distance = address.wrapping_sub(node.start());
            // Code that ends where no branch is ends there.
            distance == 0
                || distance < u64::from(node.len())
                || distance == u64::from(node.len()) && node.class() == Class::NEXT
        })?;
        loop {
            let Some(node) = self.here(told) else { return Ok(()) };
            let (start, end, class) = (node.start(), node.end(), node.class());
            if start == address {
                return Ok(());
            }
            if class == Class::NEXT || address < end {
                return self.run_into(address, told);
            }
            if class.is_branch() {
                self.branch(false, told)?;
            } else {
                self.run_to(end, told)?;
            }
        }
    }

    /// Checks that the code from here on, over branches that are not taken, has a node that `is_there`. Reports nothing.
    ///
    /// # Errors
    /// If there is no such node. The current address is then unknown.
    fn leads(
        &mut self,
        address: u64,
        told: &mut impl Trail,
        is_there: impl Fn(&Node) -> bool,
    ) -> Result<(), Stuck> {
        if self.here(told).is_none() {
            return Ok(());
        }
        let mut here = self.here;
        let mut stuck = Stuck::Missed(self.graph.node(here).start());
        for _ in 0..MOST_NOT_TAKEN {
            let node = *self.graph.node(here);
            if is_there(&node) {
                return Ok(());
            }
            let falls_through = node.direct_target() == Some((node.end(), node.isa()));
            if node.class().is_branch()
                && !node.class().conditional
                && !falls_through
                && !self.rules.trust_program
            {
                stuck = Stuck::NotTaken(node.last());
                break;
            }
            if node.start() > address || node.end() > address || node.class() == Class::NEXT {
                break;
            }
            here = self.graph.next(here);
        }
        let space = self.graph.node(here).space();
        if self.graph.image().read(address, space).is_empty() {
            stuck = Stuck::NoCode(address);
        }
        self.lose_way();
        Err(stuck)
    }
}
