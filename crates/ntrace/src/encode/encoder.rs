use tracewright_core::{Block, Ended, Flow, Role};

use super::repeats::Repeats;
use super::returns::{Popped, Returns};
use super::{Config, SyncMode, Timestamps};
use crate::packet::{Address, Packet, Process};
use crate::{Dialect, Mode};

/// Encoder from executed blocks to messages. It emits each with its timestamp, if it has one.
///
/// ```
/// use tracewright_core::{Block, Class, Ended, Isa};
/// use tracewright_ntrace::Params;
/// use tracewright_ntrace::encode::{Config, Encoder};
///
/// let mut encoder = Encoder::new(Config::new(Params::default(), Isa::Rv64));
/// let (start, end) = (0x100, 0x110);
/// let block = Block { start, end, count: 4, isa: Isa::Rv64, last_len: 4, class: Class::NEXT, ended: Ended::Cut };
/// let mut text = Vec::new();
/// encoder.block(&block, &mut |packet, _| text.push(packet.to_string()));
/// encoder.stop(4, &mut |packet, _| text.push(packet.to_string()));
/// assert_eq!(text, [
///     "ProgTraceSync sync=5 icnt=0x0 faddr=0x80 (trace enabled)",
///     "ProgTraceCorrelation evcode=4 cdf=1 icnt=0x8 hist=0x1 (trace off)",
/// ]);
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    config: Config,
    is_on: bool,
    /// Reason for the next start.
    start: u8,
    pending: Pending,
    /// Address of the next instruction, where the last block alone determines it.
    next: Option<u64>,
    /// Half-words that retired and were not sent.
    icnt: u64,
    /// Branches that were not sent, below a 1.
    history: u64,
    repeats: Repeats,
    returns: Returns,
    /// Last address that was sent.
    reference: u64,
    /// Last branch message, its target, and how often it happened again.
    last: Option<(Packet, u64)>,
    again: u64,
    owner: Owner,
    is_owner_due: bool,
    time: u64,
    /// Last timestamp that was sent.
    sent_time: u64,
    /// Units since the last synchronisation, and the cycle of that.
    units: u64,
    cycle: u64,
    /// Reason for a synchronisation that was requested.
    requested: Option<u8>,
}

/// A message that waits for the next address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Nothing,
    /// A taken branch, in branch mode.
    Branch,
    /// An indirect jump.
    Jump(Popped),
    /// A trap with this cause.
    Trap(u8),
}

/// Privilege and contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Owner {
    privilege: u8,
    is_virtual: bool,
    scontext: Option<u64>,
    hcontext: Option<u64>,
}

/// Largest number of repeats that a message may have.
const MOST_REPEATS: u64 = (1 << 18) - 1;
/// Reason of a synchronisation: periodic.
const PERIODIC: u8 = 2;
/// Reason of a synchronisation: the buffer was full before.
const AFTER_LOSS: u8 = 7;
/// Kinds of lost messages: program and ownership.
const LOST: u64 = 1 << 2 | 1 << 3;

impl Encoder {
    /// Creates an encoder with tracing on. Its settings must pass [`Config::check`].
    pub fn new(config: Config) -> Self {
        Self {
            is_on: false,
            start: config.first_sync,
            pending: Pending::Nothing,
            next: None,
            icnt: 0,
            history: 1,
            repeats: Repeats::new(config.history_branches),
            returns: Returns::new(config.params.implicit_return, config.calls),
            reference: 0,
            last: None,
            again: 0,
            owner: Owner::default(),
            is_owner_due: false,
            time: 0,
            sent_time: 0,
            units: 0,
            cycle: 0,
            requested: None,
            config,
        }
    }

    /// Returns the settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Sets the time, which is also the cycle that is counted towards the next synchronisation.
    pub fn time(&mut self, time: u64) {
        self.time = time;
    }

    /// Sets the privilege from now on: 0 U, 1 S, 3 M. Give a trap before the privilege that it brings.
    pub fn privilege(&mut self, privilege: u8, is_virtual: bool) {
        self.own(Owner { privilege, is_virtual, ..self.owner });
    }

    /// Sets the contexts (`scontext`, `hcontext`) from now on, if the hart has them.
    pub fn context(&mut self, scontext: Option<u64>, hcontext: Option<u64>) {
        self.own(Owner { scontext, hcontext, ..self.owner });
    }

    fn own(&mut self, owner: Owner) {
        self.is_owner_due |= self.config.contexts && owner != self.owner;
        self.owner = owner;
    }

    /// Requests a synchronisation where the next block begins: 0 for an external trigger, 6 for a trace event.
    pub fn sync(&mut self, reason: u8) {
        self.requested = Some(reason & 15);
    }

    /// Encodes an executed block.
    #[inline]
    pub fn block(&mut self, block: &Block, out: &mut impl FnMut(&Packet, Option<u64>)) {
        self.reach(block.start, out);
        let class = block.class;
        let is_open = block.ended == Ended::Cut && class.is_branch();
        let mut bytes = block.end.wrapping_sub(block.start);
        if is_open {
            // Where the log of an execution ends at a branch, its way is not known.
            bytes = bytes.saturating_sub(block.last_len.into());
        }
        self.count(bytes / 2, out);
        let is_jump = class.is_branch() && block.ended == Ended::Taken;
        self.next = (!is_jump).then_some(block.end);
        if is_open || !class.is_branch() {
            return;
        }
        let is_reported = class.conditional || class.flow == Flow::Direct && self.config.params.all_jumps;
        match self.config.params.mode {
            Mode::History if is_reported => self.branch(is_jump, out),
            Mode::Branch if is_reported && is_jump => self.pending = Pending::Branch,
            _ => {}
        }
        if !class.conditional {
            self.jump(block);
        }
    }

    /// Encodes a trap at `pc`: the instruction that did not retire, or that would have been next.
    pub fn trap(&mut self, pc: u64, is_interrupt: bool, out: &mut impl FnMut(&Packet, Option<u64>)) {
        self.reach(pc, out);
        let btype = if !self.config.trap_kinds { 1 } else { 2 + u8::from(is_interrupt) };
        self.pending = Pending::Trap(btype);
        self.next = None;
    }

    /// Ends tracing, with an event as its reason: 0 debug mode, 1 low power, 4 trace off. The next block begins it again.
    pub fn stop(&mut self, event: u8, out: &mut impl FnMut(&Packet, Option<u64>)) {
        if !self.is_on {
            return;
        }
        if self.pending == Pending::Branch {
            self.report(self.pending, None, 0, out);
        }
        self.flush(out);
        let is_history = self.config.params.mode == Mode::History;
        let has_history = is_history && !(self.config.omits_empty_history && self.history == 1);
        let hist = has_history.then_some(self.history);
        let (evcode, cdf, icnt) = (event & 15, u8::from(has_history), self.icnt);
        self.send(&Packet::ProgTraceCorrelation { evcode, cdf, icnt, hist }, out);
        self.start = if event == 0 { 3 } else { 5 };
        self.forget();
        self.is_on = false;
    }

    /// Reports that messages were lost: the buffer was full. The next block begins tracing again.
    pub fn lose(&mut self, out: &mut impl FnMut(&Packet, Option<u64>)) {
        if self.is_on {
            self.forget();
            self.send(&Packet::Error { etype: 0, ecode: LOST }, out);
            (self.is_on, self.start) = (false, AFTER_LOSS);
        }
    }

    /// Arrives at the address of the next instruction.
    #[inline(always)]
    fn reach(&mut self, pc: u64, out: &mut impl FnMut(&Packet, Option<u64>)) {
        let is_quiet =
            self.is_on && self.pending == Pending::Nothing && self.next.is_none_or(|next| next == pc);
        if !is_quiet || self.is_owner_due || self.requested.is_some() || self.is_due() {
            self.reach_with(pc, out);
        }
    }

    #[inline(never)]
    fn reach_with(&mut self, pc: u64, out: &mut impl FnMut(&Packet, Option<u64>)) {
        if self.is_on && self.pending == Pending::Nothing && self.next.is_some_and(|next| next != pc) {
            self.stop(4, out);
        }
        if !self.is_on {
            let faddr = self.whole(pc);
            self.send(&Packet::ProgTraceSync { sync: self.start, icnt: 0, faddr }, out);
            self.is_on = true;
            self.synchronised();
        } else {
            let pending = core::mem::replace(&mut self.pending, Pending::Nothing);
            let is_silent = match pending {
                Pending::Nothing => true,
                Pending::Jump(popped) => self.returns.foretells(popped, pc),
                Pending::Branch | Pending::Trap(_) => false,
            };
            let due = if self.is_due() { Some(PERIODIC) } else { None };
            match self.requested.or(due) {
                None if is_silent => {}
                sync => self.report(if is_silent { Pending::Nothing } else { pending }, sync, pc, out),
            }
        }
        if core::mem::take(&mut self.is_owner_due) {
            self.send_owner(out);
        }
    }

    /// Sends what retired, and where execution goes on.
    fn report(
        &mut self,
        pending: Pending,
        sync: Option<u8>,
        pc: u64,
        out: &mut impl FnMut(&Packet, Option<u64>),
    ) {
        self.flush(out);
        let (icnt, hist) = (core::mem::take(&mut self.icnt), core::mem::replace(&mut self.history, 1));
        let btype = if let Pending::Trap(btype) = pending { btype } else { 0 };
        let packet = match (sync, pending) {
            (None, Pending::Branch) => Packet::DirectBranch { icnt },
            (None, _) => {
                let uaddr = Address::new(pc ^ self.reference, &self.config.params, self.config.isa);
                self.reference = pc;
                match hist {
                    1 => Packet::IndirectBranch { btype, icnt, uaddr },
                    _ => Packet::IndirectBranchHist { btype, icnt, uaddr, hist },
                }
            }
            (Some(sync), _) => {
                let faddr = self.whole(pc);
                match hist {
                    _ if pending == Pending::Branch => Packet::DirectBranchSync { sync, icnt, faddr },
                    1 => Packet::IndirectBranchSync { sync, btype, icnt, faddr },
                    _ => Packet::IndirectBranchHistSync { sync, btype, icnt, faddr, hist },
                }
            }
        };
        self.pending = Pending::Nothing;
        match sync {
            None if self.config.repeated_branch && self.config.params.mode == Mode::Branch => {
                self.send_or_count(&packet, pc, out);
            }
            None => self.send(&packet, out),
            Some(_) => {
                self.send(&packet, out);
                self.synchronised();
            }
        }
    }

    /// Sends a branch message, unless it is the last one again.
    fn send_or_count(&mut self, packet: &Packet, pc: u64, out: &mut impl FnMut(&Packet, Option<u64>)) {
        let is_same = match (self.last, packet) {
            (Some((Packet::DirectBranch { icnt: before }, _)), Packet::DirectBranch { icnt }) => {
                before == *icnt
            }
            (
                Some((Packet::IndirectBranch { btype: 0, icnt: before, .. }, to)),
                Packet::IndirectBranch { btype: 0, icnt, .. },
            ) => (before, to) == (*icnt, pc),
            _ => false,
        };
        if is_same && self.again < MOST_REPEATS {
            self.again += 1;
        } else {
            self.send(packet, out);
            self.last = Some((*packet, pc));
        }
    }

    /// Returns an address as a synchronisation sends it.
    fn whole(&mut self, pc: u64) -> Address {
        self.reference = pc;
        Address::new(pc, &self.config.params, self.config.isa)
    }

    /// Begins anew after a synchronisation.
    fn synchronised(&mut self) {
        self.forget();
        (self.units, self.cycle) = (0, self.time);
        self.requested = None;
        self.is_owner_due = self.config.contexts;
    }

    fn forget(&mut self) {
        (self.icnt, self.history, self.again, self.last) = (0, 1, 0, None);
        self.repeats.clear();
        self.returns.clear();
        (self.pending, self.next) = (Pending::Nothing, None);
    }

    fn is_due(&self) -> bool {
        let limit = 1_u64.checked_shl(u32::from(self.config.resync.max) + 4).unwrap_or(u64::MAX);
        match self.config.resync.mode {
            SyncMode::Off => false,
            SyncMode::Cycles => self.time.wrapping_sub(self.cycle) >= limit,
            SyncMode::Messages | SyncMode::HalfWords => self.units >= limit,
        }
    }

    /// Counts half-words that retired.
    #[inline(always)]
    fn count(&mut self, half_words: u64, out: &mut impl FnMut(&Packet, Option<u64>)) {
        if self.icnt > 0 && self.icnt.saturating_add(half_words) >> self.config.icnt_bits != 0 {
            let rdata = core::mem::take(&mut self.icnt);
            self.send(&Packet::ResourceFull { rcode: 0, rdata, hrepeat: None }, out);
        }
        self.icnt += half_words;
        if self.config.resync.mode == SyncMode::HalfWords {
            self.units = self.units.saturating_add(half_words);
        }
    }

    /// Adds a branch to the history.
    #[inline(always)]
    fn branch(&mut self, is_taken: bool, out: &mut impl FnMut(&Packet, Option<u64>)) {
        self.history = self.history << 1 | u64::from(is_taken);
        if self.history >> self.config.history_branches != 0 {
            self.full_history(out);
        }
    }

    #[inline(never)]
    fn full_history(&mut self, out: &mut impl FnMut(&Packet, Option<u64>)) {
        if self.config.repeated_history {
            let (left, message) = self.repeats.take(self.history);
            self.history = left;
            if let Some(packet) = message {
                self.send(&packet, out);
            }
        } else {
            let rdata = core::mem::replace(&mut self.history, 1);
            self.send(&Packet::ResourceFull { rcode: 1, rdata, hrepeat: None }, out);
        }
    }

    /// Handles a jump at the end of a block.
    #[inline(always)]
    fn jump(&mut self, block: &Block) {
        let (flow, role) = (block.class.flow, block.class.role);
        let popped =
            if matches!(role, Role::Return | Role::Swap) { self.returns.pop() } else { Popped::Nothing };
        if matches!(role, Role::Call | Role::Swap) {
            self.returns.push(block.end);
        }
        let is_pair = flow == Flow::Pair && self.config.params.sequential_jump;
        if flow != Flow::Direct && !is_pair {
            self.pending = Pending::Jump(popped);
        }
    }

    /// Sends messages that wait for repeats.
    fn flush(&mut self, out: &mut impl FnMut(&Packet, Option<u64>)) {
        if let Some(packet) = self.repeats.flush() {
            self.send(&packet, out);
        }
    }

    fn send_owner(&mut self, out: &mut impl FnMut(&Packet, Option<u64>)) {
        let Owner { privilege, is_virtual, scontext, hcontext } = self.owner;
        let mut contexts = [(3, hcontext), (2, scontext)];
        if self.config.params.dialect == Dialect::Sifive {
            contexts.reverse();
        }
        let mut contexts =
            contexts.into_iter().filter_map(|(format, context)| Some((format, context?))).peekable();
        if contexts.peek().is_none() {
            let process = Process { format: 0, privilege, is_virtual, context: 0 };
            self.send(&Packet::Ownership { process: process.field() }, out);
        }
        for (format, context) in contexts {
            let process = Process { format, privilege, is_virtual, context };
            self.send(&Packet::Ownership { process: process.field() }, out);
        }
    }

    /// Emits a message with its timestamp, after the repeats of the last one.
    fn send(&mut self, packet: &Packet, out: &mut impl FnMut(&Packet, Option<u64>)) {
        self.last = None;
        if self.again > 0 {
            let bcnt = core::mem::take(&mut self.again);
            self.send(&Packet::RepeatBranch { bcnt }, out);
        }
        if self.config.resync.mode == SyncMode::Messages {
            self.units += 1;
        }
        let is_sync = packet.sync().is_some();
        let time = match (self.config.timestamps, self.config.params.dialect) {
            (Timestamps::Off, _) => None,
            (Timestamps::Syncs, _) if !is_sync => None,
            _ if is_sync => Some(self.time),
            (_, Dialect::Standard | Dialect::Spacemit) => Some(self.time.wrapping_sub(self.sent_time)),
            (_, Dialect::Sifive) => Some(self.time ^ self.sent_time),
        };
        if time.is_some() {
            self.sent_time = self.time;
        }
        out(packet, time.map(|time| self.config.params.wrapped(time)));
    }
}
