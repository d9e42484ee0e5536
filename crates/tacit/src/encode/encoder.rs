use tracewright_core::{Block, Ended, Flow, Role};

use super::Config;
use crate::packet::{Packet, SyncKind, TrapKind};
use crate::predictor::Predictor;
use crate::{Form, Mode};

/// Encoder from executed blocks to packets.
///
/// ```
/// use tracewright_core::{Block, Class, Ended, Isa};
/// use tracewright_tacit::Params;
/// use tracewright_tacit::encode::{Config, Encoder};
///
/// let mut encoder = Encoder::new(Config::new(Params::default(), Isa::Rv64));
/// let (start, end) = (0x100, 0x110);
/// let block = Block { start, end, count: 4, isa: Isa::Rv64, last_len: 4, class: Class::NEXT, ended: Ended::Cut };
/// let mut text = Vec::new();
/// encoder.time(7);
/// encoder.block(&block, 11, &mut |packet| text.push(packet.to_string()));
/// encoder.stop(None, &mut |packet| text.push(packet.to_string()));
/// assert_eq!(text, [
///     "Sync event=start privilege=U asid=0 configuration=0x80 target=0x100 time=7",
///     "Sync event=end privilege=U asid=0 configuration=0x80 target=0x110 time=11",
/// ]);
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    config: Config,
    is_on: bool,
    pending: Option<Pending>,
    /// Address of the next instruction, where the last block alone determines it.
    next: Option<u64>,
    predictor: Predictor,
    /// Branches that went as predicted and were not sent.
    hits: u64,
    owner: Owner,
    /// What a reader knows.
    told: Owner,
    time: u64,
    /// Time of the last packet that had one.
    sent_time: u64,
    /// Packets since the last synchronisation.
    packets: u32,
}

/// What waits for the next address.
#[derive(Clone, Copy, Debug)]
struct Pending {
    what: What,
    /// Address of the branch, or where the trap was taken.
    at: u64,
    time: u64,
    /// Privilege before it.
    privilege: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Taken,
    DirectJump,
    IndirectJump,
    Trap(TrapKind),
}

/// Privilege and address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Owner {
    privilege: u8,
    asid: u64,
}

impl Encoder {
    /// Creates an encoder with tracing on. Its settings must pass [`Config::check`].
    pub fn new(config: Config) -> Self {
        Self {
            is_on: false,
            pending: None,
            next: None,
            predictor: Predictor::new(&config.params),
            hits: 0,
            owner: Owner::default(),
            told: Owner::default(),
            time: 0,
            sent_time: 0,
            packets: 0,
            config,
        }
    }

    /// Returns the settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns whether tracing has begun and not ended.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Sets the cycle: that in which the next instruction retires, or the next trap is taken.
    pub fn time(&mut self, cycle: u64) {
        self.time = cycle;
    }

    /// Sets the privilege from now on: 0 U, 1 S, 2 H, 3 M. Give a trap before the privilege that it brings.
    pub fn privilege(&mut self, privilege: u8) {
        self.owner.privilege = privilege & 3;
    }

    /// Sets the number of the address space from now on.
    pub fn address_space(&mut self, asid: u64) {
        self.owner.asid = asid & ((1 << self.config.params.asid_bits) - 1);
    }

    /// Encodes an executed block, whose last instruction retired in the cycle `retired`.
    #[inline]
    pub fn block(&mut self, block: &Block, retired: u64, out: &mut impl FnMut(&Packet)) {
        self.reach(block.start, out);
        self.time = retired;
        let class = block.class;
        let taken = block.ended == Ended::Taken;
        self.next = (!taken).then_some(block.end);
        let what = match class.flow {
            _ if !class.is_branch() => return,
            // Where the log of an execution ends at a branch, its way is not known.
            _ if block.ended == Ended::Cut => {
                self.next = Some(block.last());
                return;
            }
            _ if class.conditional && !taken => return self.outcome(block.last(), false, retired, out),
            _ if class.conditional => What::Taken,
            Flow::Direct => What::DirectJump,
            _ if class.role == Role::ExceptionReturn => What::Trap(TrapKind::Return),
            _ => What::IndirectJump,
        };
        self.wait(what, block.last());
    }

    /// Encodes a trap at `pc`: the instruction that did not retire, or that would have been next.
    pub fn trap(&mut self, pc: u64, is_interrupt: bool, out: &mut impl FnMut(&Packet)) {
        self.reach(pc, out);
        let kind = if is_interrupt { TrapKind::Interrupt } else { TrapKind::Exception };
        self.wait(What::Trap(kind), pc);
        self.next = None;
    }

    fn wait(&mut self, what: What, at: u64) {
        self.pending = Some(Pending { what, at, time: self.time, privilege: self.owner.privilege });
    }

    /// Ends tracing. The next block begins it again. `next` is the address of the next instruction, if it is known although that did not
    /// run: without it, a branch, jump or trap at the end is not sent.
    pub fn stop(&mut self, next: Option<u64>, out: &mut impl FnMut(&Packet)) {
        if !self.is_on {
            return;
        }
        if let Some((pending, next)) = self.pending.zip(next) {
            self.pending = None;
            self.report(pending, next, out);
            self.next = Some(next);
        }
        self.flush(out);
        let (pending, next) = (self.pending.take(), self.next.take());
        let target = pending.map(|pending| pending.at).or(next).unwrap_or_default();
        // The privilege may be that of a handler that did not run.
        let privilege = pending.map_or(self.owner.privilege, |pending| pending.privilege);
        self.sync(SyncKind::End, target, privilege, out);
        self.is_on = false;
    }

    /// Arrives at the address of the next instruction.
    #[inline(always)]
    fn reach(&mut self, pc: u64, out: &mut impl FnMut(&Packet)) {
        let is_quiet = self.is_on
            && self.pending.is_none()
            && self.next == Some(pc)
            && self.owner == self.told
            && (self.config.periodic == 0 || self.packets < self.config.periodic);
        if !is_quiet {
            self.reach_with(pc, out);
        }
    }

    #[inline(never)]
    fn reach_with(&mut self, pc: u64, out: &mut impl FnMut(&Packet)) {
        let goes_elsewhere = self.pending.is_none() && self.next != Some(pc);
        if self.is_on && goes_elsewhere {
            self.stop(None, out);
        }
        if !self.is_on {
            self.predictor.reset();
            (self.is_on, self.pending) = (true, None);
            return self.sync(SyncKind::Start, pc, self.owner.privilege, out);
        }
        if let Some(pending) = self.pending.take() {
            self.report(pending, pc, out);
        }
        let owner =
            if self.owner.privilege == 0 { self.owner } else { Owner { asid: self.told.asid, ..self.owner } };
        let is_unknown = owner != self.told && self.config.params.form != Form::Plain;
        if is_unknown || self.config.periodic > 0 && self.packets >= self.config.periodic {
            self.flush(out);
            self.sync(SyncKind::Periodic, pc, self.owner.privilege, out);
        }
    }

    /// Sends what waited, now that it is known where execution goes on.
    fn report(&mut self, pending: Pending, pc: u64, out: &mut impl FnMut(&Packet)) {
        let Pending { what, at, time, privilege } = pending;
        match (what, self.config.params.mode) {
            (What::Taken, _) => self.outcome(at, true, time, out),
            (What::DirectJump, Mode::Predict) => {}
            (What::DirectJump, Mode::Target) => {
                let time = self.since(time);
                self.send(&Packet::InferableJump { time }, out);
            }
            (What::IndirectJump, _) => {
                self.flush(out);
                let (difference, time) = (self.config.params.cut(at ^ pc), self.since(time));
                self.send(&Packet::UninferableJump { difference, time }, out);
            }
            (What::Trap(kind), _) => {
                self.flush(out);
                let is_tagged = self.config.params.form != Form::Plain;
                let to_user = kind == TrapKind::Return && self.owner.privilege == 0;
                if is_tagged {
                    self.told.privilege = self.owner.privilege;
                }
                if is_tagged && to_user {
                    self.told.asid = self.owner.asid;
                }
                let packet = Packet::Trap {
                    kind,
                    privilege: is_tagged.then_some([privilege, self.owner.privilege]),
                    asid: (is_tagged && to_user).then_some(self.owner.asid),
                    from: self.config.params.cut(at),
                    difference: self.config.params.cut(at ^ pc),
                    time: self.since(time),
                };
                self.send(&packet, out);
            }
        }
    }

    /// Reports the outcome of the branch at `at`.
    #[inline(always)]
    fn outcome(&mut self, at: u64, taken: bool, time: u64, out: &mut impl FnMut(&Packet)) {
        if self.config.params.mode == Mode::Target {
            let time = self.since(time);
            let packet = if taken { Packet::TakenBranch { time } } else { Packet::NotTakenBranch { time } };
            return self.send(&packet, out);
        }
        let slot = self.predictor.slot(at);
        let is_hit = self.predictor.predicts(slot) == taken;
        self.predictor.learn(slot, taken);
        if is_hit {
            self.hits += 1;
            if self.hits >= self.config.most_hits.into() {
                self.flush(out);
            }
        } else {
            self.flush(out);
            let time = self.since(time);
            self.send(&Packet::Miss { time }, out);
        }
    }

    /// Sends the count of branches that went as predicted.
    fn flush(&mut self, out: &mut impl FnMut(&Packet)) {
        let count = core::mem::take(&mut self.hits);
        if count > 0 {
            self.send(&Packet::Hits { count }, out);
        }
    }

    fn sync(&mut self, kind: SyncKind, target: u64, privilege: u8, out: &mut impl FnMut(&Packet)) {
        let params = &self.config.params;
        let is_tagged = params.form != Form::Plain;
        let packet = Packet::Sync {
            kind,
            privilege: is_tagged.then_some(privilege),
            asid: is_tagged.then_some(self.owner.asid),
            configuration: kind.has_configuration(params.form).then(|| params.configuration()),
            target: params.cut(target),
            time: self.time,
        };
        self.send(&packet, out);
        (self.sent_time, self.packets, self.told) = (self.time, 0, self.owner);
    }

    /// Returns the cycles since the last packet with a time.
    #[inline(always)]
    fn since(&mut self, time: u64) -> u64 {
        let cycles = time.saturating_sub(self.sent_time);
        self.sent_time = self.sent_time.max(time);
        cycles
    }

    #[inline(always)]
    fn send(&mut self, packet: &Packet, out: &mut impl FnMut(&Packet)) {
        self.packets = self.packets.saturating_add(1);
        out(packet);
    }
}
