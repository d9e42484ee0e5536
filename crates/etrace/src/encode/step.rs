//! Fast path for an ordinary entry after ordinary entries, which nearly all are.
//!
//! It has the same effect as [`Encoder::settle`], without the checks that cannot matter.

use tracewright_isa::riscv::IType;

use super::encoder::{Before, Encoder, Reason};
use super::returns::Return;
use crate::ingress::{Entry, Step};
use crate::packet::Packet;

/// Unknown fact about the end of the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    Nothing,
    /// Target of a return.
    Return,
    /// Target of an uninferable jump, which must be reported.
    Jump,
}

impl Encoder {
    /// Encodes the next retired step on the fast path. Returns `false` if it must be passed as an
    /// [entry](Self::entry) instead.
    ///
    /// Privilege, context and context type must equal those of the entry before.
    #[inline(always)]
    pub fn step(&mut self, next: &Step, out: &mut impl FnMut(&Packet)) -> bool {
        if !self.may_step || !self.counts_packets && self.is_due_soon() {
            return false;
        }
        if let Before::Jump(returns) = self.before {
            if self.current.is_single() {
                return false;
            }
            self.emit_target(self.current.iaddr, returns, out);
        }
        self.leave_step(next.iaddr, out);
        if !self.counts_packets {
            self.advance();
        }
        self.replace(next);
        self.is_settled =
            self.counts_packets && self.before == Before::Inferable && self.settles_early(next, false);
        self.may_go = self.is_settled && self.may_step;
        true
    }

    /// Counts a block that ends with the branch at `address`, if nothing else has to be done. Returns `false`
    /// if it must be passed as a [step](Self::step) instead. Privilege, context and context type must equal
    /// those of the entry before.
    ///
    /// Before any call other than `branch` and [`go`](Self::go), the caller must give the block with
    /// [`went_to`](Self::went_to).
    #[inline(always)]
    pub fn branch(&mut self, address: u64, taken: bool) -> bool {
        let is_quick =
            self.may_go && self.awaits == Awaits::Nothing && self.branches.push_silently(address, taken);
        if is_quick {
            self.before = Before::Inferable;
            self.returns_before = self.returns.branch();
        }
        is_quick
    }

    /// Counts a block like [`branch`](Self::branch), with any kind of end and also after jumps.
    #[inline(always)]
    pub fn go(&mut self, step: &Step, out: &mut impl FnMut(&Packet)) -> bool {
        if !self.may_go {
            return false;
        }
        match self.awaits {
            Awaits::Nothing => self.settles_early(step, false),
            Awaits::Return => {
                self.returns.leads_to(self.config.params.address(step.iaddr))
                    && self.settles_early(step, true)
            }
            Awaits::Jump => {
                if step.is_single() || !self.is_early(step) {
                    return false;
                }
                self.emit_target(step.iaddr, None, out);
                self.may_go = self.may_step;
                self.settles_early(step, false)
            }
        }
    }

    /// Gives the block that the last [`branch`](Self::branch) or [`go`](Self::go) ended.
    #[inline]
    pub fn went_to(&mut self, step: &Step) {
        self.replace(step);
    }

    #[inline(always)]
    fn replace(&mut self, next: &Step) {
        // The other fields stay the same, and there is no trap.
        let current = &mut self.current;
        (current.iaddr, current.iretire, current.ilastsize) = (next.iaddr, next.iretire, next.ilastsize);
        (current.itype, current.sijump) = (next.itype, next.sijump);
        (current.time, current.cycle) = (next.time, next.cycle);
    }

    /// Returns whether a step can be handled before the next one is known, apart from its branch or jump.
    #[inline(always)]
    fn is_early(&self, step: &Step) -> bool {
        match step.itype {
            IType::TakenBranch | IType::NotTakenBranch => true,
            IType::None | IType::InferableJump | IType::OtherInferableJump => true,
            // A call changes what packets say about returns, unless they carry a count.
            IType::InferableCall | IType::UninferableCall => self.returns.counts && !step.sijump,
            IType::Return | IType::UninferableJump => !step.sijump,
            _ => false,
        }
    }

    /// Settles a step before the one after it is known, if no packet is needed whatever follows.
    #[inline(always)]
    fn settles_early(&mut self, step: &Step, is_after_return: bool) -> bool {
        let is_branch = matches!(step.itype, IType::TakenBranch | IType::NotTakenBranch);
        let is_settled = match is_branch {
            true => self.branches.push_silently(step.last(), step.itype == IType::TakenBranch),
            false => self.is_early(step),
        };
        if !is_settled {
            return false;
        }
        self.before = Before::Inferable;
        if is_after_return {
            self.returns.ret(Return::Implicit);
            self.before = Before::Return;
        }
        if is_branch {
            self.returns_before = self.returns.branch();
            self.awaits = Awaits::Nothing;
            return true;
        }
        self.returns_before = self.returns.count;
        if matches!(step.itype, IType::InferableCall | IType::UninferableCall) {
            self.returns.call(self.config.params.address(step.end()));
        }
        self.awaits = match step.itype {
            IType::Return => Awaits::Return,
            IType::UninferableCall | IType::UninferableJump => Awaits::Jump,
            _ => Awaits::Nothing,
        };
        true
    }

    /// Converts an entry to a step, if it is one.
    #[inline]
    pub(super) fn as_step(&self, entry: &Entry) -> Option<Step> {
        let Entry { itype, iaddr, iretire, ilastsize, sijump, time, cycle, .. } = *entry;
        let is_step = iretire > 0
            && !entry.notify
            && !entry.is_trap()
            && entry.privilege == self.current.privilege
            && entry.context == self.current.context
            && entry.ctype == self.current.ctype;
        is_step.then_some(Step { itype, iaddr, iretire, ilastsize, sijump, time, cycle })
    }

    /// Returns whether synchronisation is due once the current entry is settled.
    #[inline(never)]
    fn is_due_soon(&self) -> bool {
        self.resync.is_due_after(self.current.iretire, self.current.cycle)
    }

    #[inline(never)]
    fn advance(&mut self) {
        self.resync.advance(self.current.iretire, self.current.cycle);
        self.cycle = self.current.cycle;
    }

    /// Returns whether an ordinary entry may follow the current one: only the end of the current entry
    /// decides what is reported about it.
    pub(super) fn may_step(&self) -> bool {
        let current = &self.current;
        self.has_current
            && !self.filters
            && self.buffer.is_none()
            && !self.is_armed
            && !current.notify
            && !current.is_trap()
            && current.iretire > 0
            && (current.privilege, current.context) == (self.privilege, self.context)
            && matches!(self.before, Before::Inferable | Before::Return | Before::Jump(_))
            && self.goes_on_stepping()
    }

    /// Returns the same as [`may_step`](Self::may_step) after a step.
    #[inline]
    fn goes_on_stepping(&self) -> bool {
        self.resync.is_far() && !self.returns.is_counted_out() && !self.branches.is_nearly_counted_out()
    }

    /// Reports the first instruction as the target of a jump.
    #[inline(never)]
    fn emit_target(&mut self, address: u64, returns: Option<u32>, out: &mut impl FnMut(&Packet)) {
        let reason = Reason { is_target: true, is_first: true, returns, ..Reason::default() };
        self.emit_address(address, reason, out);
        self.before = Before::Inferable;
        self.may_step = self.goes_on_stepping();
    }

    /// Retires the last instruction; execution goes on at `next`.
    #[inline(always)]
    fn leave_step(&mut self, next: u64, out: &mut impl FnMut(&Packet)) {
        let current = &self.current;
        let is_taken = current.itype == IType::TakenBranch;
        if self.is_settled && self.awaits == Awaits::Nothing {
            self.before = Before::Inferable;
        } else if is_taken || current.itype == IType::NotTakenBranch {
            self.branches.push(current.last(), is_taken);
            self.returns.branch();
            self.before = Before::Inferable;
            if self.branches.map.is_full() {
                if self.branches.is_full() {
                    self.emit_branches(out);
                }
                self.may_step = self.goes_on_stepping();
            }
        } else if current.itype == IType::None {
            self.before = Before::Inferable;
        } else {
            self.jumps(next);
        }
    }

    /// Ends the current entry with a jump.
    #[inline(never)]
    fn jumps(&mut self, next: u64) {
        let after = self.foresee(&self.current, Some(next));
        let current = self.current;
        self.leave(&current, after);
        self.may_step = self.goes_on_stepping();
    }
}
