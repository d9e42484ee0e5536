use tracewright_core::port::Stats;
use tracewright_isa::riscv::IType;

use super::branches::Branches;
use super::port::{Buffer, Reached};
use super::resync::Counter;
use super::returns::{Return, Returns};
use super::step::Awaits;
use super::unfit::Unfit;
use super::{Config, Filter};
use crate::ingress::{CType, Entry};
use crate::packet::{Packet, QualStatus, Start};
use crate::{JumpTargets, Options, Params};

/// Encoder from retired instructions to packets.
///
/// Tracing is on from the start. Packets are emitted as soon as they are certain, which is one entry late.
#[derive(Clone, Debug)]
pub struct Encoder {
    pub(super) config: Config,
    pub(super) filters: bool,
    is_enabled: bool,
    /// Whether the initial support packet was sent.
    is_announced: bool,
    /// Entry that waits for the next one; valid if `has_current`.
    pub(super) current: Entry,
    pub(super) has_current: bool,
    /// Whether its branch or call is already counted, so that only the next entry can still require a packet.
    pub(super) is_settled: bool,
    /// Fact about its end that is still unknown.
    pub(super) awaits: Awaits,
    /// Whether more steps may come through [`go`](Self::go).
    pub(super) may_go: bool,
    /// Implicit returns before that branch or call, which a packet may have to report.
    pub(super) returns_before: u32,
    /// How the previous entry ended.
    pub(super) before: Before,
    /// Trap that the previous entry ended with.
    trap: Entry,
    /// Privilege, context and cycle of the previous entry.
    pub(super) privilege: u8,
    pub(super) context: u64,
    pub(super) cycle: u64,
    /// Whether an ordinary entry may come next through [`step`](Self::step).
    pub(super) may_step: bool,
    /// Whether the next instruction gets a synchronisation packet.
    pub(super) is_armed: bool,
    /// Whether the last reported address was a jump's target that no later packet has confirmed.
    pub(super) is_unconfirmed: bool,
    /// Last reported address.
    pub(super) address: u64,
    pub(super) branches: Branches,
    pub(super) returns: Returns,
    pub(super) targets: Option<JumpTargets>,
    pub(super) resync: Counter,
    /// Whether only packets count towards the next synchronisation.
    pub(super) counts_packets: bool,
    pub(super) buffer: Option<Buffer>,
    /// Cycle of the newest entry, in which packets go to the port.
    pub(super) now: u64,
    /// Whether packets are being lost.
    pub(super) is_lost: bool,
    /// First value that was wider than its field.
    pub(super) unfit: Option<Unfit>,
}

/// How an entry ended, from the point of view of the next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// It was not traced.
    Nothing,
    /// Execution went to an inferable address.
    Inferable,
    /// A return went to its call.
    Return,
    /// An uninferable jump; with the value of `irdepth` or `irets` to report.
    Jump(Option<u32>),
    /// A trap; and whether it was already reported.
    Trap { is_told: bool },
}

/// What was reported about an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    Nothing,
    Synchronised,
    /// Its address; and whether an uninferable jump led to it.
    Address {
        is_target: bool,
    },
}

/// Reason for reporting an address.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reason {
    pub(super) notify: bool,
    pub(super) updiscon: bool,
    /// Whether an uninferable jump led to the address.
    pub(super) is_target: bool,
    /// Whether the address is that of an entry's first instruction.
    pub(super) is_first: bool,
    pub(super) returns: Option<u32>,
}

/// How privilege and context differ between two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Nothing,
    /// The second instruction must be reported.
    Precise,
    /// Both instructions must be reported.
    Discontinuity,
}

impl Encoder {
    /// Creates an encoder with tracing on. Its parameters must pass [`Params::check`].
    pub fn new(config: Config) -> Self {
        let Config { params, options, quirks, .. } = &config;
        Self {
            filters: config.filter != Filter::default(),
            is_enabled: true,
            is_announced: false,
            current: Entry::NOTHING,
            has_current: false,
            is_settled: false,
            awaits: Awaits::Nothing,
            may_go: false,
            returns_before: 0,
            before: Before::Nothing,
            trap: Entry::NOTHING,
            privilege: 0,
            context: 0,
            cycle: 0,
            may_step: false,
            is_armed: false,
            is_unconfirmed: false,
            address: 0,
            branches: Branches::new(params, options, quirks),
            returns: Returns::new(params, options, quirks),
            targets: targets(params, options),
            resync: Counter::new(config.resync),
            counts_packets: Counter::new(config.resync).counts_packets_at_most(),
            buffer: config.port.as_ref().map(Buffer::new),
            now: 0,
            is_lost: false,
            unfit: None,
            config,
        }
    }

    /// Returns the fixed attributes of the encoder.
    pub fn params(&self) -> &Params {
        &self.config.params
    }

    /// Returns the statistics of the port, if there is one. Each packet that did not fit begins a loss.
    pub fn port_stats(&self) -> Stats {
        self.buffer.as_ref().map(|buffer| *buffer.buffer.stats()).unwrap_or_default()
    }

    /// Returns whether packets are being lost at the port.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns the first value that did not fit its field. Packets carry only its lowest bits, so that the trace is not that of the
    /// execution.
    pub fn unfit(&self) -> Option<Unfit> {
        self.unfit
    }

    /// Returns how far a reader gets, if that has changed since the last call. Only an encoder with a port
    /// reports it.
    pub fn reached(&mut self) -> Option<Reached> {
        self.buffer.as_mut()?.reached.take()
    }

    /// Encodes the next retired entry.
    #[inline]
    pub fn entry(&mut self, entry: &Entry, out: &mut impl FnMut(&Packet)) {
        match self.as_step(entry) {
            Some(step) if self.step(&step, out) => {}
            _ => self.any_entry(entry, out),
        }
    }

    #[inline(never)]
    pub(super) fn any_entry(&mut self, entry: &Entry, out: &mut impl FnMut(&Packet)) {
        if !self.is_enabled {
            return;
        }
        match (entry.is_trap(), entry.iretire) {
            (false, 0) => {}
            (true, 1..) => {
                // First the retired instructions, then the trap.
                self.take(&Entry { itype: IType::None, ..*entry }, out);
                let iaddr = entry.end();
                self.take(&Entry { iaddr, iretire: 0, notify: false, ..*entry }, out);
            }
            _ => self.take(entry, out),
        }
    }

    /// Emits the remaining packets and the end of tracing. The encoder is off afterwards.
    pub fn finish(&mut self, out: &mut impl FnMut(&Packet)) {
        self.enable(false, out);
    }

    /// Switches tracing on or off.
    pub fn enable(&mut self, enable: bool, out: &mut impl FnMut(&Packet)) {
        if self.is_enabled == enable {
            return;
        }
        if !enable {
            self.announce(out);
            self.end(false, out);
        }
        self.is_announced = false;
        self.is_enabled = enable;
    }

    /// Ends tracing because the hart was halted or reset. Tracing restarts at the next entry.
    pub fn halt(&mut self, out: &mut impl FnMut(&Packet)) {
        if self.is_enabled && (self.has_current || self.is_lost) {
            self.end(true, out);
        }
    }

    /// Switches options. Tracing ends and restarts at the next entry.
    pub fn set_options(&mut self, options: Options, out: &mut impl FnMut(&Packet)) {
        self.halt(out);
        self.config.options = options;
        let Config { params, options, quirks, .. } = &self.config;
        self.branches = Branches::new(params, options, quirks);
        self.returns = Returns::new(params, options, quirks);
        self.targets = targets(params, options);
        self.is_announced = false;
    }

    /// Sets the filter from the next entry on.
    pub fn set_filter(&mut self, filter: Filter) {
        (self.may_step, self.may_go) = (false, false);
        self.filters = filter != Filter::default();
        self.config.filter = filter;
    }

    fn take(&mut self, entry: &Entry, out: &mut impl FnMut(&Packet)) {
        self.now = entry.cycle;
        if self.is_lost && !self.recovers(entry, out) {
            return;
        }
        if self.filters && !self.config.filter.qualifies(entry) {
            if self.has_current {
                self.end(true, out);
            }
            return;
        }
        match self.take_current() {
            Some(current) => _ = self.settle(&current, Some(entry), out),
            None => self.announce(out),
        }
        if !self.is_lost {
            (self.current, self.has_current) = (*entry, true);
        }
        self.may_step = self.may_step();
    }

    /// Takes the waiting entry, if there is one.
    fn take_current(&mut self) -> Option<Entry> {
        (self.may_step, self.may_go) = (false, false);
        core::mem::take(&mut self.has_current).then_some(self.current)
    }

    /// Emits the initial support packet, once.
    fn announce(&mut self, out: &mut impl FnMut(&Packet)) {
        if !self.is_announced {
            self.is_announced = true;
            self.emit_support(true, QualStatus::NoChange, out);
        }
    }

    /// Ends tracing after the current entry.
    fn end(&mut self, ienable: bool, out: &mut impl FnMut(&Packet)) {
        let status = match self.take_current() {
            Some(current) if self.config.quirks.always_ends_with_address => {
                self.settle(&current, Some(&current), out);
                self.emit_address(current.last(), Reason::default(), out);
                QualStatus::EndedRep
            }
            Some(current) => match self.settle(&current, None, out) {
                Reported::Address { is_target: true } => QualStatus::EndedNtr,
                _ => QualStatus::EndedRep,
            },
            None => QualStatus::NoChange,
        };
        self.before = Before::Nothing;
        self.is_armed = false;
        self.emit_support(ienable, status, out);
        if self.is_lost && !ienable {
            // Otherwise the end is reported when there is room again; no more entries come now.
            if let Some(buffer) = &mut self.buffer {
                buffer.buffer.flush();
            }
            self.is_lost = false;
            self.emit_support(ienable, QualStatus::TraceLost, out);
        }
    }

    /// Resumes with `entry` after lost packets, if there is room again.
    #[cold]
    fn recovers(&mut self, entry: &Entry, out: &mut impl FnMut(&Packet)) -> bool {
        if entry.iretire == 0 {
            // A trap is reported with the entry after it.
            return false;
        }
        let support = self.support(true, QualStatus::TraceLost);
        let start =
            Packet::Start(Start { taken: false, context: self.context_of(entry), address: entry.iaddr });
        let Some(buffer) = &mut self.buffer else { return true };
        if !buffer.has_room(&[support, start], entry.cycle) {
            return false;
        }
        (self.is_lost, self.is_announced) = (false, true);
        self.before = Before::Nothing;
        self.is_armed = false;
        self.cycle = entry.cycle;
        self.send(&support, out);
        true
    }

    /// Decides what to report about `entry`, now that the `next` one is known; `None` means that tracing
    /// ends. Returns what was reported about its last instruction.
    fn settle(&mut self, entry: &Entry, next: Option<&Entry>, out: &mut impl FnMut(&Packet)) -> Reported {
        if self.is_settled {
            self.returns.count = self.returns_before;
        }
        let reported = if entry.iretire == 0 {
            self.settle_trap(entry, next, out);
            Reported::Nothing
        } else {
            let is_single = entry.is_single();
            let mut reported = self.settle_first(entry, is_single, next, out);
            if self.is_imprecise_change(entry) && reported != Reported::Synchronised {
                self.emit_context(entry, out);
            }
            if !is_single {
                self.push_branch(entry);
                reported = Reported::Nothing;
            }
            let target = next.map(|next| next.iaddr);
            let after = self.foresee(entry, target);
            let reported = self.settle_last(entry, is_single, reported, next, after, out);
            // A fact that was just reported is not reported again.
            let after = if reported == Reported::Nothing { after } else { self.foresee(entry, target) };
            let is_break = next.is_some_and(|next| self.is_break(entry, next, after));
            self.leave(entry, after);
            if is_break {
                self.emit_support(true, QualStatus::EndedRep, out);
                (self.before, self.is_armed) = (Before::Nothing, false);
            }
            reported
        };
        self.privilege = entry.privilege;
        self.context = entry.context;
        self.cycle = entry.cycle;
        (self.is_settled, self.awaits) = (false, Awaits::Nothing);
        reported
    }

    /// Handles a trap without an instruction.
    #[cold]
    fn settle_trap(&mut self, entry: &Entry, next: Option<&Entry>, out: &mut impl FnMut(&Packet)) {
        let mut is_told = match self.before {
            Before::Trap { is_told: false } => {
                let trap = self.trap;
                self.emit_trap(&trap, false, entry, out);
                false
            }
            Before::Trap { is_told: true } | Before::Nothing | Before::Jump(_) => {
                self.emit_trap(entry, false, entry, out);
                true
            }
            Before::Inferable | Before::Return => false,
        };
        if next.is_none() && !is_told {
            self.emit_trap(entry, false, entry, out);
            is_told = true;
        }
        self.trap = *entry;
        self.before = Before::Trap { is_told };
    }

    /// Handles the first instruction, whose origin may have to be reported. Counts its branch if it is also
    /// the last.
    #[inline]
    fn settle_first(
        &mut self,
        entry: &Entry,
        is_single: bool,
        next: Option<&Entry>,
        out: &mut impl FnMut(&Packet),
    ) -> Reported {
        if let Before::Trap { is_told: false } = self.before {
            let trap = self.trap;
            if self.change(self.privilege, self.context, entry) == Change::Discontinuity {
                // The next instruction is not the trap handler.
                self.emit_trap(&trap, false, &trap, out);
                self.emit_start(entry, out);
                return self.synchronised(entry, is_single);
            }
            self.emit_trap(&trap, true, entry, out);
            return self.synchronised(entry, is_single);
        }
        let is_start = matches!(self.before, Before::Trap { .. } | Before::Nothing)
            || self.is_armed
            || self.resync.is_exceeded()
            || self.change(self.privilege, self.context, entry) != Change::Nothing;
        if is_start {
            self.emit_start(entry, out);
            return self.synchronised(entry, is_single);
        }
        if is_single {
            self.push_branch(entry);
        }
        match self.before {
            Before::Jump(returns) => {
                let updiscon = self.resync.is_due_after_packet()
                    || is_single && next.is_some_and(|next| self.synchronises_after(entry, next));
                let reason = Reason { notify: false, updiscon, is_target: true, is_first: true, returns };
                self.emit_address(entry.iaddr, reason, out);
                Reported::Address { is_target: true }
            }
            Before::Return if self.returns.is_counted_out() => {
                let returns = self.returns.report(true, is_single && entry.taken().is_some());
                let reason = Reason { returns, is_first: true, ..Reason::default() };
                self.emit_address(entry.iaddr, reason, out);
                Reported::Address { is_target: false }
            }
            _ => Reported::Nothing,
        }
    }

    /// Handles the last instruction, which may have to be reported because of what comes `after` it.
    #[inline]
    fn settle_last(
        &mut self,
        entry: &Entry,
        is_single: bool,
        mut reported: Reported,
        next: Option<&Entry>,
        after: Before,
        out: &mut impl FnMut(&Packet),
    ) -> Reported {
        self.resync.advance(entry.iretire, entry.cycle);
        let may_synchronise = next.is_some_and(|next| self.may_synchronise(entry, next, after));
        if reported == Reported::Nothing {
            let has_to_tell = match next {
                None => true,
                Some(next) if next.iretire == 0 => true,
                Some(next) => match self.change(entry.privilege, entry.context, next) {
                    Change::Nothing => false,
                    Change::Precise => {
                        self.has_unreported(after, entry.privilege == next.privilege)
                            || self.is_break(entry, next, after)
                    }
                    Change::Discontinuity => true,
                },
            };
            if has_to_tell
                || entry.notify
                || may_synchronise && self.resync.is_due() && self.has_unreported(after, true)
                || self.branches.is_counted_out()
            {
                let is_after_return = is_single && self.before == Before::Return;
                let returns = self.returns.report(is_after_return, entry.taken().is_some());
                let reason = Reason { notify: entry.notify, returns, ..Reason::default() };
                self.emit_address(entry.last(), reason, out);
                reported = Reported::Address { is_target: false };
            } else if self.branches.is_full() {
                self.emit_branches(out);
            }
        }
        self.is_armed = may_synchronise && self.resync.is_due() && !self.resync.counts_packets_anywhere();
        reported
    }

    /// Returns whether a packet must precede a start packet so that a decoder finds the path to it.
    #[inline]
    fn has_unreported(&self, after: Before, is_same_privilege: bool) -> bool {
        if !self.branches.map.is_empty() || self.returns.has_unreported(after == Before::Return) {
            return true;
        }
        // A decoder that passes the address on another path would stop there if the privilege is right.
        let is_ambiguous = self.is_unconfirmed || is_same_privilege && matches!(after, Before::Jump(_));
        is_ambiguous && !self.config.quirks.bare_starts
    }

    /// Returns whether no start packet can express how execution got from `entry` to `next`, so that tracing
    /// must end and restart.
    #[inline]
    fn is_break(&self, entry: &Entry, next: &Entry, after: Before) -> bool {
        if self.config.quirks.bare_starts {
            return false;
        }
        match self.change(entry.privilege, entry.context, next) {
            Change::Nothing => false,
            Change::Precise => next.iretire > 0 && self.is_failed(after),
            Change::Discontinuity => true,
        }
    }

    /// Returns whether a return does not go to its call. A return without a call may have something to report
    /// too.
    #[inline]
    fn is_failed(&self, after: Before) -> bool {
        matches!(after, Before::Jump(Some(_))) && self.returns.is_open()
    }

    /// Returns how `entry` ends, given where execution went next.
    #[inline]
    pub(super) fn foresee(&self, entry: &Entry, next: Option<u64>) -> Before {
        match entry.itype {
            IType::None
            | IType::TakenBranch
            | IType::NotTakenBranch
            | IType::InferableCall
            | IType::InferableJump
            | IType::OtherInferableJump
            | IType::Exception
            | IType::Interrupt => Before::Inferable,
            IType::TrapReturn => Before::Jump(None),
            _ if entry.sijump && self.config.options.sijump => Before::Inferable,
            IType::Return => {
                let target = next.map_or(0, |next| self.config.params.address(next));
                match self.returns.foresee(target) {
                    Return::Implicit => Before::Return,
                    Return::Uninferable(returns) => Before::Jump(returns),
                }
            }
            _ => Before::Jump(None),
        }
    }

    /// Records how `entry` ended.
    #[inline]
    pub(super) fn leave(&mut self, entry: &Entry, after: Before) {
        match (entry.itype, after) {
            (IType::None, _) => {}
            (IType::TakenBranch | IType::NotTakenBranch, _) => _ = self.returns.branch(),
            (IType::InferableCall | IType::UninferableCall, _) if self.is_settled => {}
            (IType::InferableCall | IType::UninferableCall, _) => {
                self.returns.call(self.config.params.address(entry.end()));
            }
            (IType::Return, Before::Return) => self.returns.ret(Return::Implicit),
            (IType::Return, Before::Jump(returns)) => self.returns.ret(Return::Uninferable(returns)),
            (IType::Return, _) => self.returns.inferable_ret(),
            _ => {}
        }
        self.before = after;
    }

    /// Records the last instruction of `entry` if it is a branch.
    #[inline]
    fn push_branch(&mut self, entry: &Entry) {
        if let Some(taken) = entry.taken()
            && !self.is_settled
        {
            self.branches.push(entry.last(), taken);
        }
    }

    /// Records a synchronisation packet for the first instruction of `entry`, which may be a branch.
    fn synchronised(&mut self, entry: &Entry, is_single: bool) -> Reported {
        if is_single && let Some(taken) = entry.taken() {
            self.branches.synchronised(entry.last(), taken);
        }
        Reported::Synchronised
    }

    /// Returns whether `next` gets a synchronisation packet, as far as that is known when `entry` has one
    /// instruction.
    fn synchronises_after(&self, entry: &Entry, next: &Entry) -> bool {
        next.iretire == 0
            || self.change(entry.privilege, entry.context, next) != Change::Nothing
            || self.may_synchronise(entry, next, self.foresee(entry, Some(next.iaddr)))
                && self.resync.is_due_after(entry.iretire, entry.cycle)
    }

    /// Returns whether synchronisation is possible at `next`. It is not after a return that did not go to its
    /// call, because start packets say nothing about returns.
    #[inline]
    fn may_synchronise(&self, entry: &Entry, next: &Entry, after: Before) -> bool {
        let is_start = self.resync.is_anywhere() || entry.itype != IType::None || next.iaddr != entry.end();
        is_start && next.iretire > 0 && !self.is_failed(after)
    }

    /// Compares privilege and context of `next` with the given ones.
    #[inline]
    fn change(&self, privilege: u8, context: u64, next: &Entry) -> Change {
        if privilege == next.privilege && context == next.context {
            return Change::Nothing;
        }
        let has_context = !self.config.params.nocontext;
        match next.ctype {
            CType::Discontinuity if context != next.context => Change::Discontinuity,
            CType::Precise if context != next.context && has_context => Change::Precise,
            _ if privilege != next.privilege => Change::Precise,
            _ => Change::Nothing,
        }
    }

    #[inline]
    fn is_imprecise_change(&self, entry: &Entry) -> bool {
        entry.context != self.context
            && entry.ctype == CType::Imprecise
            && !self.config.params.nocontext
            && self.before != Before::Nothing
    }
}

fn targets(params: &Params, options: &Options) -> Option<JumpTargets> {
    (options.jump_target_cache && params.cache_size > 0).then(|| JumpTargets::new(params))
}
