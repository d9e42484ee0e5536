//! The short way: an ordinary entry after ordinary entries, which nearly all are.
//!
//! What happens is what [`Encoder::settle`] would do; what cannot be of any concern is not asked for.

use tracewright_isa::riscv::IType;

use super::encoder::{Before, Encoder, Reason};
use super::returns::Return;
use crate::ingress::{Entry, Step};
use crate::packet::Packet;

/// What the last entry of the short way waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    Nothing,
    /// It ended with a return: where to?
    Return,
    /// It ended with a jump to anywhere: where to has to be told.
    Jump,
}

impl Encoder {
    /// Takes what retired next, if it can be told the short way. Otherwise it has to be taken as an [entry](Self::entry).
    ///
    /// Its circumstances (privilege, context, how a change of it is to be reported) have to be those of the entry before.
    #[inline(always)]
    pub fn step(&mut self, next: &Step, out: &mut impl FnMut(&Packet)) -> bool {
        if !self.may_step || !self.counts_packets && self.is_due_soon() {
            return false;
        }
        if let Before::Jump(returns) = self.before {
            if self.current.is_single() {
                return false;
            }
            self.tell_target(self.current.iaddr, returns, out);
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

    /// What retired next ends with the branch at `address`, and its circumstances are those of the entry before: counts that, if nothing
    /// else has to be done. Otherwise it has to be taken as a [step](Self::step).
    ///
    /// The encoder has to know what it was ([`went_to`](Self::went_to)) before it is told anything but [branches](Self::branch) and
    /// [the like](Self::go).
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

    /// The same for any end, and for what comes after jumps.
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
                self.tell_target(step.iaddr, None, out);
                self.may_go = self.may_step;
                self.settles_early(step, false)
            }
        }
    }

    /// What the last [branch](Self::branch), or [the like](Self::go), was the end of.
    #[inline]
    pub fn went_to(&mut self, step: &Step) {
        self.replace(step);
    }

    #[inline(always)]
    fn replace(&mut self, next: &Step) {
        // The rest is as it was, and it has no trap.
        let current = &mut self.current;
        (current.iaddr, current.iretire, current.ilastsize) = (next.iaddr, next.iretire, next.ilastsize);
        (current.itype, current.sijump) = (next.itype, next.sijump);
        (current.time, current.cycle) = (next.time, next.cycle);
    }

    /// Whether all that is to be done for a step, but for what its branch or its jump may need, can be done before it is known what comes
    /// after it.
    #[inline(always)]
    fn is_early(&self, step: &Step) -> bool {
        match step.itype {
            IType::TakenBranch | IType::NotTakenBranch => true,
            IType::None | IType::InferableJump | IType::OtherInferableJump => true,
            // Calls change what packets say of returns, unless that is a number.
            IType::InferableCall | IType::UninferableCall => self.returns.counts() && !step.sijump,
            IType::Return | IType::UninferableJump => !step.sijump,
            _ => false,
        }
    }

    /// Settles what comes next as far as that can be done before it is known what comes after it: if nothing has to be told whatever that is.
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
        self.returns_before = self.returns.count();
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

    /// An entry as a step, if it is one.
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

    /// Whether to synchronise is due when the current entry is settled.
    #[inline(never)]
    fn is_due_soon(&self) -> bool {
        self.resync.is_due_after(self.current.iretire, self.current.cycle)
    }

    #[inline(never)]
    fn advance(&mut self) {
        self.resync.advance(self.current.iretire, self.current.cycle);
        self.cycle = self.current.cycle;
    }

    /// Whether an ordinary entry may come after the current one: nothing but how the one before it ended decides what is told of it.
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

    /// The same, after a step.
    #[inline]
    fn goes_on_stepping(&self) -> bool {
        self.resync.is_far() && !self.returns.is_counted_out() && !self.branches.is_nearly_counted_out()
    }

    /// A jump led to the first instruction.
    #[inline(never)]
    fn tell_target(&mut self, address: u64, returns: Option<u32>, out: &mut impl FnMut(&Packet)) {
        let reason = Reason { is_target: true, is_first: true, returns, ..Reason::default() };
        self.tell_address(address, reason, out);
        self.before = Before::Inferable;
        self.may_step = self.goes_on_stepping();
    }

    /// The last instruction retires, and execution goes on at `next`.
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
            if self.branches.map().is_full() {
                if self.branches.is_full() {
                    self.tell_branches(out);
                }
                self.may_step = self.goes_on_stepping();
            }
        } else if current.itype == IType::None {
            self.before = Before::Inferable;
        } else {
            self.jumps(next);
        }
    }

    /// The current entry ends with a jump.
    #[inline(never)]
    fn jumps(&mut self, next: u64) {
        let after = self.foresee(&self.current, Some(next));
        let current = self.current;
        self.leave(&current, after);
        self.may_step = self.goes_on_stepping();
    }
}
