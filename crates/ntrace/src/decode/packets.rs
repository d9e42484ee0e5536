//! What each message means.

use tracewright_core::{Contradiction, Element, Exception, GapReason, Message, Mismatch, Write};
use tracewright_flow::{ElementSink, NodeId, Stop};

use super::Decoder;
use super::decoder::{MOST, MOST_REPEATS, State};
use super::walk::{Last, Place, Stuck};
use crate::packet::{Address, History, Packet};
use crate::{Dialect, Mode};

/// A message with a count, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// Reason for the synchronisation, if it is one.
    sync: Option<u8>,
    /// Cause of the branch.
    btype: u8,
    /// Half-words that retired.
    icnt: u64,
    target: Target,
    /// History as it was sent.
    hist: u64,
    /// Whether the last instruction is a branch that was taken.
    is_taken: bool,
}

/// Where a branch message says that execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Where the program says.
    Program,
    /// At an address that was sent whole.
    Full(Address),
    /// At an address relative to the last one.
    Relative(Address),
    /// At this address, which an earlier message sent.
    Known(u64),
}

/// History without a branch.
const NO_BRANCH: u64 = 1;
/// Reasons for a synchronisation after which execution may go on elsewhere: reset, debug mode, tracing switched on, loss, power-down.
const RESTARTS: [u8; 5] = [1, 3, 5, 7, 9];
/// Events of SiFive's hardware whose first value is no address: counters and, with one value only, control.
const COUNTERS: u8 = 12;

impl Branch {
    /// Takes a message apart. Returns `None` if it has no count, or ends tracing.
    #[inline(always)]
    pub fn of(packet: &Packet) -> Option<Self> {
        let (sync, is_taken) = (None, false);
        Some(match *packet {
            Packet::IndirectBranchHist { btype, icnt, uaddr, hist } => {
                Self { sync, btype, icnt, target: Target::Relative(uaddr), hist, is_taken }
            }
            Packet::IndirectBranch { btype, icnt, uaddr } => {
                Self { sync, btype, icnt, target: Target::Relative(uaddr), hist: NO_BRANCH, is_taken }
            }
            Packet::DirectBranch { icnt } => {
                Self { sync, btype: 0, icnt, target: Target::Program, hist: NO_BRANCH, is_taken: true }
            }
            Packet::ProgTraceSync { sync, icnt, faddr } => Self::synced(sync, 0, icnt, faddr, NO_BRANCH),
            Packet::DirectBranchSync { sync, icnt, faddr } => {
                Self { is_taken: true, ..Self::synced(sync, 0, icnt, faddr, NO_BRANCH) }
            }
            Packet::IndirectBranchSync { sync, btype, icnt, faddr } => {
                Self::synced(sync, btype, icnt, faddr, NO_BRANCH)
            }
            Packet::IndirectBranchHistSync { sync, btype, icnt, faddr, hist } => {
                Self::synced(sync, btype, icnt, faddr, hist)
            }
            _ => return None,
        })
    }

    fn synced(sync: u8, btype: u8, icnt: u64, faddr: Address, hist: u64) -> Self {
        Self { sync: Some(sync), btype, icnt, target: Target::Full(faddr), hist, is_taken: false }
    }
}

impl Decoder<'_> {
    /// Handles a message with a count.
    #[inline(always)]
    pub(super) fn branch(&mut self, offset: u64, branch: &Branch, sink: &mut impl ElementSink) {
        let to = self.address(branch.target);
        if self.state != State::Running {
            self.resume_at(offset, branch, to, sink);
        } else {
            self.check_mode(branch.is_taken, branch.hist);
            if self.count(offset, branch.icnt, branch.hist, branch.is_taken, sink) {
                self.arrive(offset, branch, to, sink);
            } else if let State::Waiting { resume: true, .. } = self.state {
                self.resume_at(offset, branch, to, sink);
            }
        }
        if self.walk.has_halves() {
            self.tell_half(offset, sink);
        }
    }

    /// Returns the address that a message sends, and keeps it.
    #[inline(always)]
    fn address(&mut self, target: Target) -> Option<u64> {
        let isa = self.walk.isa();
        self.reference = match target {
            Target::Program => return None,
            Target::Full(sent) => sent.whole(&self.params, isa),
            Target::Relative(sent) => self.reference ^ sent.whole(&self.params, isa),
            Target::Known(address) => address,
        };
        Some(self.reference)
    }

    /// Follows execution over the half-words and branches of a message. Returns whether the program allows it.
    #[inline(always)]
    fn count(
        &mut self,
        offset: u64,
        icnt: u64,
        hist: u64,
        is_taken: bool,
        sink: &mut impl ElementSink,
    ) -> bool {
        let Some(mut history) = History::of(hist).filter(|_| icnt < MOST) else {
            self.contradiction(offset, Contradiction::UnexpectedPacket, sink);
            return false;
        };
        self.walk.owed = self.walk.owed.saturating_add(icnt as i64);
        let last = if is_taken { Last::Taken } else { Last::NotTaken };
        if let Err(stuck) = self.walk.run(&mut history, last, offset, sink) {
            self.fail(offset, stuck, sink);
            return false;
        }
        let (Place::At(here) | Place::After(here, _)) = self.walk.place;
        let is_whole = self.walk.owed == 0 || self.walk.part().is_some();
        let is_branch = self.walk.owed == 0 || !is_taken;
        if !(history.is_empty() && is_whole && is_branch) {
            self.fail(offset, Stuck::Unreached(here), sink);
            return false;
        }
        true
    }

    /// Goes where a message with a count leads.
    #[inline(always)]
    fn arrive(&mut self, offset: u64, branch: &Branch, to: Option<u64>, sink: &mut impl ElementSink) {
        let is_jump = branch.btype == 0 && matches!(self.walk.place, Place::After(..));
        match to {
            Some(to) if is_jump => {
                self.walk.go(to);
            }
            Some(to) => self.arrive_otherwise(offset, branch, to, sink),
            None if matches!(self.walk.place, Place::After(..)) => {
                // The last instruction is no branch.
                return self.no_target(offset, sink);
            }
            None => {}
        }
        if branch.sync.is_some() {
            self.after_sync(offset, to);
        } else if self.params.mode == Mode::Branch && self.state == State::Running {
            let target = to.map_or(Target::Program, Target::Known);
            self.last = Some(Branch { target, ..*branch });
        }
    }

    /// Forgets what a synchronisation resets.
    #[cold]
    fn after_sync(&mut self, offset: u64, to: Option<u64>) {
        self.last = None;
        if let (Some(to), State::Running) = (to, self.state) {
            self.walk.forget_calls();
            self.see_sync(offset, to);
        }
    }

    /// Goes to an address to which no indirect jump led.
    #[inline(never)]
    fn arrive_otherwise(&mut self, offset: u64, branch: &Branch, to: u64, sink: &mut impl ElementSink) {
        let Some(at) = self.walk.address(sink) else { return self.no_target(offset, sink) };
        match branch.sync {
            _ if branch.btype > 0 => {
                self.walk.cut(offset, sink);
                self.exception(offset, branch.btype, Some(at), sink);
                self.walk.place = Place::At(NodeId::NONE);
                self.walk.go(to);
            }
            _ if at == to => {}
            // Execution went on elsewhere, and no message ended tracing before.
            Some(sync) if RESTARTS.contains(&sync) => {
                self.walk.cut(offset, sink);
                self.end(offset);
                self.begin(offset, sync, sink);
                self.walk.go(to);
            }
            Some(_) => self.missed(offset, at, to, sink),
            // An instruction that nobody knows may jump.
            None if self.walk.is_custom() => {
                self.walk.cut(offset, sink);
                self.walk.go(to);
            }
            None => self.missed(offset, at, to, sink),
        }
    }

    fn exception(&mut self, offset: u64, btype: u8, at: Option<u64>, sink: &mut impl ElementSink) {
        sink.element(
            offset,
            &Element::Exception(Exception {
                number: Exception::UNKNOWN,
                interrupt: btype == 3,
                value: None,
                return_address: at,
                at_target: false,
            }),
        );
    }

    /// Begins at a message with an address, if it is a synchronisation or only code was missing.
    #[inline(never)]
    fn resume_at(&mut self, offset: u64, branch: &Branch, to: Option<u64>, sink: &mut impl ElementSink) {
        let (State::Waiting { resume, .. }, Some(to)) = (self.state, to) else {
            return self.pass_over(offset, sink);
        };
        match branch.sync {
            Some(sync) => {
                self.begin(offset, sync, sink);
                self.walk.go(to);
                self.see_sync(offset, to);
            }
            None if resume => {
                // Nothing resumes where there is no code either.
                let isa = self.walk.isa();
                let there = self.walk.go(to);
                if self.walk.graph().node(there).count() == 0 {
                    return self.walk.lose();
                }
                self.facts.resumed += 1;
                self.state = State::Running;
                sink.element(offset, &Element::UnknownPath { start: None, next: to, isa, count: None });
            }
            None => return self.pass_over(offset, sink),
        }
        if branch.btype > 0 {
            self.exception(offset, branch.btype, None, sink);
        }
    }

    fn see_sync(&mut self, offset: u64, to: u64) {
        let Place::At(here) = self.walk.place else { return };
        let is_known = here.is_some() && self.walk.graph().node(here).count() > 0;
        self.facts.sync(offset, to, is_known);
    }

    /// Counts a message that the mode does not have.
    #[inline(always)]
    fn check_mode(&mut self, is_taken: bool, hist: u64) {
        let is_wrong = match self.params.mode {
            Mode::History => is_taken,
            Mode::Branch => hist > NO_BRANCH,
        };
        self.facts.other_mode += u64::from(is_wrong);
    }

    /// Handles messages that few traces contain.
    #[inline(never)]
    pub(super) fn other_packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        match *packet {
            Packet::Ownership { process } => self.ownership(offset, process, sink),
            Packet::Error { .. } => self.lose(offset, GapReason::Overflow, sink),
            Packet::DataAcquisition { idtag, data } => {
                let bits = [32, 32, 16, 8][idtag as usize & 3];
                let write = Write { channel: (idtag >> 2) as u32, bits, value: data, ..Write::default() };
                sink.element(offset, &Element::Message(Message::Write(write)));
            }
            Packet::InCircuitTrace { cksrc, ckdf, ckdata } if has_address(cksrc, ckdf) => {
                self.reference ^= ckdata.first().map_or(0, |sent| sent << 1);
            }
            Packet::InCircuitTraceSync { cksrc, ckdf, ckdata } if has_address(cksrc, ckdf) => {
                self.reference = ckdata.first().map_or(0, |sent| sent << 1);
            }
            Packet::AuxAccessWrite { .. }
            | Packet::InCircuitTrace { .. }
            | Packet::InCircuitTraceSync { .. } => {}
            // The end may be reported more than once.
            Packet::ProgTraceCorrelation { icnt: 0, hist: None | Some(NO_BRANCH), .. }
                if self.state != State::Running => {}
            _ if self.state != State::Running => self.pass_over(offset, sink),
            Packet::ResourceFull { rcode, rdata, hrepeat } => {
                self.resource(offset, rcode, rdata, hrepeat, sink);
            }
            Packet::RepeatBranch { bcnt } => self.repeat(offset, bcnt, sink),
            Packet::ProgTraceCorrelation { icnt, hist, .. } => {
                let hist = hist.unwrap_or(NO_BRANCH);
                self.check_mode(false, hist);
                if self.count(offset, icnt, hist, false, sink) {
                    self.walk.cut(offset, sink);
                    self.end(offset);
                }
            }
            _ => {}
        }
    }

    /// Handles ResourceFull.
    fn resource(
        &mut self,
        offset: u64,
        rcode: u8,
        rdata: u64,
        hrepeat: Option<u64>,
        sink: &mut impl ElementSink,
    ) {
        let is_sifive = self.params.dialect == Dialect::Sifive;
        let (bits, times) = match (rcode, History::of(rdata)) {
            (0, _) if rdata < MOST => {
                self.walk.owed = self.walk.owed.saturating_add(rdata as i64);
                return;
            }
            (1, Some(history)) => (history, 1),
            (2, Some(history)) => (history, hrepeat.unwrap_or(0)),
            // So many branches that were not taken, or taken.
            (8, _) if is_sifive => (History::of(0b10).unwrap_or(History::EMPTY), rdata),
            (9, _) if is_sifive => (History::of(0b11).unwrap_or(History::EMPTY), rdata),
            _ => return self.contradiction(offset, Contradiction::UnexpectedPacket, sink),
        };
        if times >= MOST_REPEATS {
            return self.contradiction(offset, Contradiction::UnexpectedPacket, sink);
        }
        self.facts.other_mode += u64::from(self.params.mode == Mode::Branch);
        for _ in 0..times {
            if bits.is_empty() {
                return;
            }
            if let Err(stuck) = self.walk.follow(&mut bits.clone(), offset, sink) {
                return self.fail(offset, stuck, sink);
            }
        }
    }

    /// Handles RepeatBranch.
    fn repeat(&mut self, offset: u64, bcnt: u64, sink: &mut impl ElementSink) {
        self.facts.other_mode += u64::from(self.params.mode == Mode::History);
        let Some(last) = self.last.filter(|last| bcnt < MOST_REPEATS && last.icnt > 0) else {
            return self.contradiction(offset, Contradiction::UnexpectedPacket, sink);
        };
        for _ in 0..bcnt {
            self.walk.budget = self.walk.budget.saturating_sub(1);
            self.branch(offset, &last, sink);
            if self.walk.budget == 0 || sink.is_full() || self.state != State::Running {
                return;
            }
        }
    }

    /// Reports that the trace does not have the target of the last jump.
    #[cold]
    fn no_target(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let (Place::At(here) | Place::After(here, _)) = self.walk.place;
        self.fail(offset, Stuck::NoTarget(here), sink);
    }

    #[cold]
    fn missed(&mut self, offset: u64, from: u64, to: u64, sink: &mut impl ElementSink) {
        self.walk.cut(offset, sink);
        self.mismatch(offset, Mismatch::Missed { from, to }, sink);
    }

    /// Reports that the program cannot have run as the trace says.
    #[cold]
    #[inline(never)]
    fn fail(&mut self, offset: u64, stuck: Stuck, sink: &mut impl ElementSink) {
        let node = |here: NodeId| *self.walk.graph().node(here);
        let mismatch = match stuck {
            Stuck::End(here) => match node(here).stop() {
                Stop::NotCode => Mismatch::NotCode(node(here).end()),
                Stop::Endless => Mismatch::Endless(node(here).start()),
                Stop::NoCode | Stop::Class => return self.no_code(offset, here, sink),
            },
            Stuck::NoOutcome(here) | Stuck::NoTarget(here) => Mismatch::NoTarget(node(here).last()),
            Stuck::NotTaken(here) => Mismatch::NotTaken(node(here).last()),
            Stuck::Unreached(here) => {
                let from = node(here).start();
                let owed = 2_u64.wrapping_mul(self.walk.owed as u64);
                Mismatch::Missed { from, to: from.wrapping_add(owed) }
            }
            Stuck::NoCall(_) => {
                return self.contradiction(offset, Contradiction::ReturnStackEmpty, sink);
            }
            Stuck::TooMany => {
                // The count is not believed.
                self.walk.owed = 0;
                return self.contradiction(offset, Contradiction::UnexpectedPacket, sink);
            }
        };
        self.mismatch(offset, mismatch, sink);
    }

    fn mismatch(&mut self, offset: u64, mismatch: Mismatch, sink: &mut impl ElementSink) {
        sink.element(offset, &Element::Mismatch(mismatch));
        self.facts.mismatches += 1;
        self.forget();
        let reason = Some(GapReason::Mismatch);
        self.state = State::Waiting { reason, from: offset, skipped: true, resume: false };
    }
}

/// Returns whether the first value of an event is an address.
const fn has_address(cksrc: u8, ckdf: u8) -> bool {
    cksrc != COUNTERS && (cksrc != 0 || ckdf != 0)
}
