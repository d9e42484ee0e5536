//! Follows the program from one reported address to the next.

use tracewright_core::{Contradiction, GapReason};
use tracewright_flow::{ElementSink, Goal, NodeId, Reached, Returns};

use super::Decoder;
use super::emit::Next;
use crate::packet::{Address, BranchCount, BranchMap, Packet, Start};

/// Destination that a packet reports, and how execution got there.
#[derive(Clone, Copy)]
struct Report {
    goal: Goal,
    /// Node at the destination.
    target: NodeId,
    /// Outcome of the branch at the destination, if it is one.
    pending: Option<bool>,
    /// Whether a later occurrence may be meant, as the target of an uninferable jump that leads back there.
    inferred: bool,
    /// Whether the report is a requested notification, after which no particular packet must follow.
    notify: bool,
    /// Whether the report is a synchronisation packet.
    is_sync: bool,
}

/// Largest value of `irets`, which has 8 bits.
const MOST_RETURNS: u32 = 255;

impl Report {
    /// Creates a report from a packet of format 0, 1 or 2. A branch cannot be passed unreported, so a later
    /// occurrence of one is never meant.
    fn of(goal: Goal, target: NodeId, pending: Option<bool>, sent: &Address) -> Self {
        let inferred = !sent.notify && !goal.is_branch;
        Self { goal, target, pending, inferred, notify: sent.notify, is_sync: false }
    }
}

impl Decoder<'_> {
    /// Handles formats 1 and 2 with an address.
    #[inline(always)]
    pub(super) fn address(
        &mut self,
        offset: u64,
        map: BranchMap,
        sent: &Address,
        sink: &mut impl ElementSink,
    ) {
        if self.inferred.is_some() && !self.run_on(offset, sink) {
            return;
        }
        let leap = self.unread.take().filter(|&(from, _)| from == offset);
        let to = self.received(sent.value);
        let is_told = sent.notify || sent.updiscon || sent.returns.is_some();
        let is_flagged = is_told || self.params.iret_ext;
        if let (Some((_, leap)), false) = (leap, is_told) {
            self.runner.see_leap(leap, (map.bits(), map.count()), to);
        }
        let target = self.runner.at(to);
        if is_flagged || self.is_branch(target) {
            return self.report(offset, map, to, sent, sink);
        }
        // Shortcut for the most frequent case; does the same as `report`.
        let goal = Goal { address: to, inline: true, is_branch: false, returns: Returns::Any };
        match self.branches(offset, map, sink) {
            Ok((here, skip)) => match self.runner.run(here, skip, &goal, 0, offset, sink) {
                Reached::Indirect(from) => {
                    self.jumped(from, target, to);
                    self.is_final = false;
                }
                reached => self.no_jump(offset, reached, to, target, sink),
            },
            Err(reached) => self.fail(offset, reached, Some(to), sink),
        }
    }

    /// Handles an address reported without any flag when no uninferable jump led to it.
    #[inline(never)]
    fn no_jump(
        &mut self,
        offset: u64,
        reached: Reached,
        to: u64,
        target: NodeId,
        sink: &mut impl ElementSink,
    ) {
        let Reached::Inline(here) = reached else {
            return self.fail(offset, reached, Some(to), sink);
        };
        let goal = Goal { address: to, inline: true, is_branch: false, returns: Returns::Any };
        let report = Report { goal, target, pending: None, inferred: true, notify: false, is_sync: false };
        self.came_inline(offset, here, &report, sink);
    }

    /// Handles format 1 without an address: the last branch of the map is the new position.
    #[inline(never)]
    pub(super) fn full_map(&mut self, offset: u64, map: BranchMap, sink: &mut impl ElementSink) {
        if self.inferred.is_some() && !self.run_on(offset, sink) {
            return;
        }
        if map.is_empty() {
            return;
        }
        let last = map.bits() >> (map.count() - 1) & 1 == 0;
        let map = BranchMap::new(map.bits(), map.count() as u8 - 1);
        match self.branches(offset, map, sink) {
            Ok((here, skip)) => self.stop_at_branch(offset, here, skip, |_, _| last, sink),
            Err(reached) => self.fail(offset, reached, None, sink),
        }
    }

    /// Handles packets that few traces contain.
    #[inline(never)]
    pub(super) fn rare_packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        if self.inferred.is_some() && !self.run_on(offset, sink) {
            return;
        }
        match *packet {
            Packet::BranchCount(count) => self.branch_count(offset, &count, sink),
            Packet::JumpTarget { index, branches, returns } => {
                let Some(to) = self.targets.get(index as usize) else {
                    return self.contradiction(offset, Contradiction::UnexpectedPacket, sink);
                };
                self.address = to;
                // Only targets of uninferable jumps are sent this way. The packet does not say whether a
                // format 3 packet follows.
                let sent = Address { value: to, returns, updiscon: true, notify: false };
                self.report(offset, branches, to, &sent, sink);
                self.is_final = false;
            }
            _ => {}
        }
    }

    /// Handles format 0, subformat 0: the predictor gives the outcomes of the branches.
    fn branch_count(&mut self, offset: u64, packet: &BranchCount, sink: &mut impl ElementSink) {
        // Without an address, a mispredicted branch ends the count.
        let is_odd = packet.address.is_none() && !packet.failed || packet.count == 0;
        if is_odd || self.config.most_branches.is_some_and(|most| packet.count > most) {
            return self.contradiction(offset, Contradiction::UnexpectedPacket, sink);
        }
        let Some(sent) = &packet.address else {
            return match self.foretold(offset, packet.count, sink) {
                // The next branch was mispredicted.
                Ok(here) => {
                    let failed = |decoder: &Self, branch| !decoder.predictor.foretells(branch);
                    self.stop_at_branch(offset, here, 0, failed, sink);
                }
                Err(reached) => self.fail(offset, reached, None, sink),
            };
        };
        let to = self.received(sent.value);
        let target = self.runner.at(to);
        let is_branch = self.is_branch(target);
        if packet.failed && !is_branch {
            return self.fail(offset, Reached::Branch(target), Some(to), sink);
        }
        // The branch at the address was predicted too, and is included in the count.
        let count = packet.count - u64::from(is_branch && !packet.failed);
        match self.foretold(offset, count, sink) {
            Ok(here) => {
                let pending = is_branch.then(|| self.predictor.foretells(to) != packet.failed);
                let goal = self.goal(to, sent, is_branch);
                let report = Report::of(goal, target, pending, sent);
                self.arrive(offset, here, 0, report, sink);
            }
            Err(reached) => self.fail(offset, reached, Some(to), sink),
        }
    }

    /// Handles format 3, subformat 0, while running. Returns whether the program leads to the address.
    pub(super) fn follow_to_start(
        &mut self,
        offset: u64,
        start: &Start,
        to: u64,
        sink: &mut impl ElementSink,
    ) -> bool {
        let target = self.runner.at(to);
        // The last report was not the target of an uninferable jump.
        if self.inferred.is_some() {
            self.check_again(offset, sink);
        }
        if self.is_next(to) {
            self.step_to(offset, to, target, start.taken, sink);
            return true;
        }
        let same_privilege = self.context.is_none_or(|context| context.privilege == start.context.privilege);
        let is_branch = self.is_branch(target);
        let inline = same_privilege;
        let mut goal = Goal { address: to, inline, is_branch, returns: Returns::Any };
        let pending = is_branch.then_some(start.taken);
        match self.branches(offset, BranchMap::default(), sink) {
            Ok((here, skip)) => {
                // An encoder that counts returns should report them before synchronisation.
                if self.options.implicit_return && self.params.iret_ext {
                    let strict = Goal { returns: Returns::Passed { count: 0, explicit: false }, ..goal };
                    if let Reached::Inline(_) = self.runner.look_ahead(here, skip, Some(&strict), 0) {
                        goal = strict;
                    }
                }
                let report = Report { goal, target, pending, inferred: false, notify: false, is_sync: true };
                self.arrive(offset, here, skip, report, sink);
            }
            Err(reached) => self.fail(offset, reached, Some(to), sink),
        }
        self.state == super::decoder::State::Running
    }

    /// Returns whether `to` is the next instruction, because the last report was made only for the following
    /// format 3 packet.
    fn is_next(&mut self, to: u64) -> bool {
        if !self.is_final {
            return false;
        }
        match self.next() {
            Next::Address(next) => next == to || self.is_at_return(),
            Next::Indirect | Next::Unknown | Next::NoCode => true,
        }
    }

    /// Retires the next instruction, at `to`.
    fn step_to(&mut self, offset: u64, to: u64, target: NodeId, taken: bool, sink: &mut impl ElementSink) {
        let last = self.runner.graph().node(self.here).last();
        if self.at == Some(last) || self.at.is_none() {
            if self.at.is_some() {
                sink.node(offset, self.runner.graph(), self.here, self.pending.unwrap_or(true));
            }
            self.here = target;
        }
        self.at = Some(to);
        self.pending = self.is_branch(target).then_some(taken);
    }

    /// Runs on to the next occurrence of the last reported address. No format 3 packet follows it, so it was
    /// the target of an uninferable jump. Returns whether there is such an occurrence.
    #[inline(never)]
    pub(super) fn run_on(&mut self, offset: u64, sink: &mut impl ElementSink) -> bool {
        let (Some((returns, passed)), Some(to)) = (self.inferred.take(), self.at) else { return true };
        let goal = Goal { address: to, inline: false, is_branch: false, returns };
        let target = self.runner.at(to);
        let skip = self.skip();
        match self.runner.run(self.here, skip, &goal, passed, offset, sink) {
            Reached::Indirect(from) => {
                self.jumped(from, target, to);
                true
            }
            reached => {
                self.fail(offset, reached, Some(to), sink);
                false
            }
        }
    }

    /// Returns the address that a packet's value stands for.
    #[inline(always)]
    fn received(&mut self, value: u64) -> u64 {
        let base = if self.options.full_address { 0 } else { self.address };
        self.address = self.params.address(base.wrapping_add(value));
        self.address
    }

    #[inline(always)]
    fn goal(&self, address: u64, sent: &Address, is_branch: bool) -> Goal {
        let returns = match sent.returns {
            _ if !self.options.implicit_return => Returns::Any,
            Some(count) if self.params.iret_ext => Returns::Passed { count, explicit: !sent.notify },
            None if self.params.iret_ext => Returns::Passed { count: 0, explicit: false },
            Some(count) => {
                let mask = low_bits(self.params.returns_bits());
                Returns::Depth { count, mask, explicit: !sent.notify }
            }
            None => Returns::Any,
        };
        // A branch cannot be passed unreported; its outcome is the last one in the map.
        Goal { address, inline: is_branch || sent.notify || !sent.updiscon, is_branch, returns }
    }

    /// Follows the branches of the map, then runs to the address.
    #[inline(never)]
    fn report(&mut self, offset: u64, map: BranchMap, to: u64, sent: &Address, sink: &mut impl ElementSink) {
        let target = self.runner.at(to);
        let is_branch = self.is_branch(target);
        let (map, pending) = match (is_branch, map.count()) {
            (false, _) => (map, None),
            // The branch at the address is reported without its outcome.
            (true, 0) => return self.fail(offset, Reached::Branch(target), Some(to), sink),
            (true, count) => {
                let taken = map.bits() >> (count - 1) & 1 == 0;
                (BranchMap::new(map.bits(), count as u8 - 1), Some(taken))
            }
        };
        let goal = self.goal(to, sent, is_branch);
        let report = Report::of(goal, target, pending, sent);
        match self.branches(offset, map, sink) {
            Ok((here, skip)) => self.arrive(offset, here, skip, report, sink),
            Err(reached) => self.fail(offset, reached, Some(to), sink),
        }
    }

    /// Follows the pending branch, if there is one, and the branches of the map. Returns the resulting node
    /// and how many of its bytes are known to have run.
    #[inline(always)]
    fn branches(
        &mut self,
        offset: u64,
        map: BranchMap,
        sink: &mut impl ElementSink,
    ) -> Result<(NodeId, u64), Reached> {
        let (mut bits, mut count) = (map.bits(), map.count());
        if let Some(taken) = self.pending.take() {
            bits = bits << 1 | u32::from(!taken);
            count += 1;
        }
        if count == 0 {
            return Ok((self.here, self.skip()));
        }
        if self.options.branch_prediction {
            let predictor = &mut self.predictor;
            let guide = |branch| {
                let taken = bits & 1 == 0;
                bits >>= 1;
                predictor.update(branch, taken);
                taken
            };
            return self
                .runner
                .follow_with(self.here, count.into(), offset, sink, guide)
                .map(|here| (here, 0));
        }
        match self.runner.follow(self.here, bits, count, offset, sink) {
            Ok(here) => Ok((here, 0)),
            Err((reached, _)) => Err(reached),
        }
    }

    /// Follows the pending branch, if there is one, and then `count` branches as predicted.
    fn foretold(&mut self, offset: u64, count: u64, sink: &mut impl ElementSink) -> Result<NodeId, Reached> {
        let (here, _) = self.branches(offset, BranchMap::default(), sink)?;
        let predictor = &mut self.predictor;
        let guide = |branch| {
            let taken = predictor.foretells(branch);
            predictor.update(branch, taken);
            taken
        };
        self.runner.follow_with(here, count, offset, sink, guide)
    }

    /// Runs on to the next branch, which stays pending.
    fn stop_at_branch<S: ElementSink>(
        &mut self,
        offset: u64,
        here: NodeId,
        skip: u64,
        taken: impl FnOnce(&Self, u64) -> bool,
        sink: &mut S,
    ) {
        let goal = Goal { address: 0, inline: false, is_branch: false, returns: Returns::Any };
        match self.runner.run(here, skip, &goal, 0, offset, sink) {
            Reached::Branch(here) => {
                let branch = self.runner.graph().node(here).last();
                let pending = Some(taken(self, branch));
                (self.here, self.at, self.pending) = (here, Some(branch), pending);
                self.is_final = false;
            }
            reached => self.fail(offset, reached, None, sink),
        }
    }

    /// Runs to the reported address.
    #[inline(always)]
    fn arrive(&mut self, offset: u64, here: NodeId, skip: u64, report: Report, sink: &mut impl ElementSink) {
        let Report { goal, target, pending, .. } = report;
        let to = goal.address;
        match self.runner.run(here, skip, &goal, 0, offset, sink) {
            Reached::Indirect(from) => {
                self.jumped(from, target, to);
                self.pending = pending;
                // Only `updiscon` announces a following format 3 packet.
                self.is_final = !goal.inline;
            }
            Reached::Inline(here) => self.came_inline(offset, here, &report, sink),
            Reached::Several(here) => self.came_somehow(offset, here, &report, sink),
            reached => self.fail(offset, reached, Some(to), sink),
        }
    }

    /// Records that the uninferable jump at the end of `from` led to `to`.
    #[inline(always)]
    fn jumped(&mut self, from: NodeId, target: NodeId, to: u64) {
        self.runner.went(from, target);
        (self.here, self.at, self.pending) = (target, Some(to), None);
        if self.options.jump_target_cache {
            self.targets.insert(to);
        }
    }

    /// Records that execution reached the address without an uninferable jump.
    #[cold]
    fn came_inline(&mut self, offset: u64, here: NodeId, report: &Report, sink: &mut impl ElementSink) {
        let Report { goal, pending, inferred, .. } = *report;
        (self.here, self.at, self.pending) = (here, Some(goal.address), pending);
        let passed = match goal.returns {
            Returns::Passed { count, .. } => count,
            Returns::Any | Returns::Depth { .. } => 0,
        };
        if self.config.quirks.caches_all_addresses && self.options.jump_target_cache {
            self.targets.insert(goal.address);
        }
        // A return is also reported just because the counter is full.
        let inferred = inferred && passed < MOST_RETURNS;
        self.inferred = inferred.then_some((goal.returns, passed));
        self.is_final = !report.is_sync && !report.notify && passed < MOST_RETURNS;
        // No later packet will say more about this report.
        if !inferred && pending.is_none() {
            self.inferred = Some((goal.returns, passed));
            // Synchronisation resets the calls, which are unknown in this case.
            if self.check_again(offset, sink) && self.options.implicit_return && !report.is_sync {
                self.lose(offset, GapReason::Ambiguous, sink);
            }
        }
    }

    /// Handles an address that several paths reach, where the open calls that would decide are unknown.
    #[cold]
    fn came_somehow(&mut self, offset: u64, here: NodeId, report: &Report, sink: &mut impl ElementSink) {
        let Report { goal, target, pending, .. } = *report;
        self.unknown_path(offset, here, goal.address, sink);
        (self.here, self.at, self.pending) = (target, Some(goal.address), pending);
        (self.inferred, self.is_final) = (None, false);
        match goal.returns {
            // A return led there, unless a format 3 packet comes next.
            Returns::Depth { count, mask, .. } => {
                // There was at least one return.
                let count = if count == 0 { mask.wrapping_add(1) } else { count };
                let kept = u32::from(self.config.quirks.keeps_failed_returns);
                self.runner.calls.set_unknown((count + kept).saturating_sub(1) as usize);
                if self.options.jump_target_cache {
                    self.targets.insert(goal.address);
                }
            }
            _ if report.is_sync => {}
            _ => self.lose(offset, GapReason::Ambiguous, sink),
        }
    }

    /// Settles that the last report was inline. If execution can return there without any report, the number
    /// of rounds is unknown. Returns whether that is so.
    #[cold]
    pub(super) fn check_again(&mut self, offset: u64, sink: &mut impl ElementSink) -> bool {
        let (Some((returns, passed)), Some(address)) = (self.inferred.take(), self.at) else { return false };
        // The trace reports no return that led there.
        let returns = match returns {
            Returns::Depth { count, mask, .. } => Returns::Depth { count, mask, explicit: false },
            other => other,
        };
        let goal = Goal { address, inline: true, is_branch: false, returns };
        let skip = self.skip();
        let reached = self.runner.look_ahead(self.here, skip, Some(&goal), passed);
        let is_doubt = matches!(reached, Reached::Inline(_) | Reached::Several(_));
        if is_doubt {
            let is_loop = matches!(reached, Reached::Inline(_));
            self.unknown_rounds(offset, address, is_loop, sink);
        }
        is_doubt
    }

    /// Returns whether the last instruction is a return that the trace may leave out.
    pub(super) fn is_at_return(&mut self) -> bool {
        self.here.is_some()
            && self.at == Some(self.runner.graph().node(self.here).last())
            && self.runner.is_return(self.here)
    }

    /// Returns how many bytes of the held-back block are known to have run, counting its last instruction as
    /// one byte.
    #[inline(always)]
    pub(super) fn skip(&self) -> u64 {
        match self.at {
            Some(at) => at.wrapping_sub(self.runner.graph().node(self.here).start()) + 1,
            None => 0,
        }
    }
}

/// Returns a number with the `count` lowest bits set.
const fn low_bits(count: u32) -> u32 {
    if count >= 32 { u32::MAX } else { (1 << count) - 1 }
}
