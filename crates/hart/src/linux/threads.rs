//! Threads: one at a time, in turn.
//!
//! There is one hart. A thread runs until it waits, ends, yields, or its time is over; which is next, and when, depends
//! on nothing but the program.

use std::collections::VecDeque;

use super::errno::{Answer, Errno, Failure};
use super::process::PROCESS;
use super::{Linux, guest};
use crate::{Core, Stop};

/// Instructions that a thread may execute in a row while others could run.
const SLICE: u64 = 100_000;
/// As many as there may be.
const MOST: usize = 1024;

const CLONE_VM: u64 = 0x100;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;

/// The threads of a program.
#[derive(Debug)]
pub struct Threads {
    /// The one that runs.
    running: Identity,
    /// The others, in the order of their turns.
    others: VecDeque<Thread>,
    /// The number of the last one made.
    last: u64,
    /// Calls in a row that could do nothing yet.
    pub tries: u64,
}

#[derive(Clone, Copy, Debug)]
struct Identity {
    number: u64,
    /// Where a zero is to be written when it ends; 0: nowhere.
    clear: u64,
}

/// A thread that does not run now.
#[derive(Clone, Debug)]
struct Thread {
    identity: Identity,
    x: [u64; 33],
    f: [u64; 32],
    fcsr: u8,
    pc: u64,
    signals: super::signals::PerThread,
    wait: Option<Wait>,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// To be woken at this address, and by one of these bits; 0: by nobody.
    pub futex: (u64, u32),
    /// Until the monotonic clock tells this.
    pub deadline: Option<u64>,
    /// What the call answers when that comes first.
    pub expired: i64,
    /// What it answers when a signal comes first.
    pub interrupted: i64,
}

impl Wait {
    /// Until then, for nothing else.
    pub fn until(deadline: u64) -> Self {
        Self { futex: (0, 0), deadline: Some(deadline), expired: 0, interrupted: INTERRUPTED }
    }
}

const INTERRUPTED: i64 = -(Errno::EINTR.0 as i64);

impl Default for Threads {
    fn default() -> Self {
        Self {
            running: Identity { number: PROCESS, clear: 0 },
            others: VecDeque::new(),
            last: PROCESS,
            tries: 0,
        }
    }
}

impl Threads {
    /// The number of the one that runs.
    pub fn number(&self) -> u64 {
        self.running.number
    }

    /// Whether there are others.
    pub fn are_many(&self) -> bool {
        !self.others.is_empty()
    }
}

impl Linux {
    /// clone, of a thread: what shares less is another process.
    pub(super) fn clone_thread(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        let [flags, stack, parent, tls, child, _] = arguments;
        if flags & (CLONE_VM | CLONE_THREAD) != CLONE_VM | CLONE_THREAD {
            self.warn("the program tried to start another process: there is only one here; refused".into());
            return Err(Errno::ENOSYS.into());
        }
        if self.threads.others.len() >= MOST {
            return Err(Errno::EAGAIN.into());
        }
        let number = self.threads.last + 1;
        for (flag, to) in [(CLONE_PARENT_SETTID, parent), (CLONE_CHILD_SETTID, child)] {
            if flags & flag != 0 {
                guest::put(core, to, &(number as u32).to_le_bytes())?;
            }
        }
        self.threads.last = number;
        let clear = if flags & CLONE_CHILD_CLEARTID != 0 { child } else { 0 };
        let mut new = self.save(core, None);
        new.identity = Identity { number, clear };
        new.pc = core.address(core.pc.wrapping_add(4));
        new.signals = self.signals.for_new_thread();
        new.x[10] = 0;
        if stack != 0 {
            new.x[2] = stack;
        }
        if flags & CLONE_SETTLS != 0 {
            new.x[4] = tls;
        }
        self.threads.others.push_back(new);
        core.deadline = core.instret + SLICE;
        Ok(number)
    }

    /// set_tid_address.
    pub(super) fn set_tid_address(&mut self, address: u64) -> Answer {
        self.threads.running.clear = address;
        Ok(self.threads.running.number)
    }

    /// exit: of this thread; of the program if it is the last.
    pub(super) fn exit(&mut self, core: &mut Core, status: u64) -> Answer {
        if !self.threads.are_many() {
            return Err(Stop::Exit { status: i32::from(status as u8) }.into());
        }
        let clear = self.threads.running.clear;
        if clear != 0 && guest::put(core, clear, &[0; 4]).is_ok() {
            self.wake(clear, 1, u32::MAX);
        }
        self.resume_next(core)?;
        Err(Failure::Resumed)
    }

    /// futex.
    pub(super) fn futex(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        const REALTIME: u64 = 0x100;
        let [address, operation, value, timeout, second, third] = arguments;
        match operation & 0x7f {
            // FUTEX_WAIT, FUTEX_WAIT_BITSET
            kind @ (0 | 9) => {
                if u32::from_le_bytes(guest::get(core, address)?) != value as u32 {
                    return Err(Errno::EAGAIN.into());
                }
                let now = self.clock.monotonic(core);
                let deadline = match timeout {
                    0 => None,
                    at => {
                        let time = guest::timespec(core, at)?;
                        Some(match (kind, operation & REALTIME != 0) {
                            (0, _) => now.saturating_add(time),
                            (_, false) => time,
                            (_, true) => now.saturating_add(time.saturating_sub(self.clock.realtime(core))),
                        })
                    }
                };
                let bits = if kind == 9 { third as u32 } else { u32::MAX };
                if bits == 0 {
                    return Err(Errno::EINVAL.into());
                }
                let expired = -i64::from(Errno::ETIMEDOUT.0);
                let wait = Wait { futex: (address, bits), deadline, expired, interrupted: INTERRUPTED };
                Err(Failure::Wait(wait))
            }
            // FUTEX_WAKE, FUTEX_WAKE_BITSET
            1 => Ok(self.wake(address, value, u32::MAX)),
            10 => Ok(self.wake(address, value, third as u32)),
            // FUTEX_REQUEUE, FUTEX_CMP_REQUEUE: the number to move is where the timeout would be.
            kind @ (3 | 4) => {
                if kind == 4 && u32::from_le_bytes(guest::get(core, address)?) != third as u32 {
                    return Err(Errno::EAGAIN.into());
                }
                let woken = self.wake(address, value, u32::MAX);
                let mut moved = 0;
                let waits = self.threads.others.iter_mut().filter_map(|thread| thread.wait.as_mut());
                for wait in waits.filter(|wait| wait.futex.0 == address).take(timeout as u32 as usize) {
                    wait.futex.0 = second;
                    moved += 1;
                }
                Ok(if kind == 4 { woken + moved } else { woken })
            }
            _ => Err(Errno::ENOSYS.into()),
        }
    }

    /// Wakes up to `count` of those that wait at `address`; returns how many.
    fn wake(&mut self, address: u64, count: u64, bits: u32) -> u64 {
        let is_it = |wait: Wait| wait.futex.0 == address && wait.futex.1 & bits != 0;
        let waiting = self.threads.others.iter_mut().filter(|thread| thread.wait.is_some_and(is_it));
        let mut woken = 0;
        for thread in waiting.take((count as u32).min(i32::MAX as u32) as usize) {
            thread.wait = None;
            woken += 1;
        }
        woken
    }

    /// The thread that runs waits, or lets others run (`None`). Its call has its answer already.
    pub(super) fn switch(&mut self, core: &mut Core, wait: Option<Wait>) -> Result<(), Stop> {
        let now = self.save(core, wait);
        self.threads.others.push_back(now);
        self.resume_next(core)
    }

    /// The thread that runs cannot do its call yet (it reads from an empty pipe, say): it makes it again in a while.
    pub(super) fn try_again_later(&mut self, core: &mut Core) -> Result<(), Stop> {
        const WHILE: u64 = 1_000_000;
        /// Nobody else does anything, either.
        const ENOUGH: u64 = 1_000_000;
        self.threads.tries += 1;
        if self.threads.tries > ENOUGH {
            return Err(Stop::Fault(
                "the threads of the program wait for each other: they would wait for ever".into(),
            ));
        }
        let wait = Wait::until(self.clock.monotonic(core).saturating_add(WHILE));
        // The answer's place has the first argument still.
        let argument = core.x[10] as i64;
        self.switch(core, Some(Wait { expired: argument, interrupted: argument, ..wait }))
    }

    /// The time of the thread that runs is over. Whether another runs now.
    pub(super) fn next_turn(&mut self, core: &mut Core) -> Result<bool, Stop> {
        if !self.threads.are_many() {
            core.deadline = u64::MAX;
            return Ok(false);
        }
        core.deadline = core.instret.saturating_add(SLICE);
        self.expire(core);
        if self.threads.others.iter().all(|thread| thread.wait.is_some()) {
            return Ok(false);
        }
        self.switch(core, None)?;
        self.deliver_pending(core)?;
        Ok(true)
    }

    /// Sends a signal to a thread that does not run. Whether there is such a thread.
    pub(super) fn signal_thread(&mut self, number: u64, bit: u64) -> bool {
        let Some(thread) = self.threads.others.iter_mut().find(|thread| thread.identity.number == number)
        else {
            return false;
        };
        if bit != 0 {
            thread.signals.pending |= bit;
            if let Some(wait) = thread.wait.take() {
                thread.x[10] = wait.interrupted as u64;
            }
        }
        true
    }

    fn save(&self, core: &Core, wait: Option<Wait>) -> Thread {
        Thread {
            identity: self.threads.running,
            x: core.x,
            f: core.f,
            fcsr: core.fcsr,
            pc: core.pc,
            signals: self.signals.thread.clone(),
            wait,
        }
    }

    /// Wakes those whose time has come.
    fn expire(&mut self, core: &Core) {
        let now = self.clock.monotonic(core);
        for thread in &mut self.threads.others {
            if let Some(wait) = thread.wait
                && wait.deadline.is_some_and(|deadline| deadline <= now)
            {
                thread.x[10] = wait.expired as u64;
                thread.wait = None;
            }
        }
    }

    fn resume_next(&mut self, core: &mut Core) -> Result<(), Stop> {
        let thread = loop {
            self.expire(core);
            let ready = self.threads.others.iter().position(|thread| thread.wait.is_none());
            if let Some(thread) = ready.and_then(|at| self.threads.others.remove(at)) {
                break thread;
            }
            let deadlines = self.threads.others.iter().filter_map(|thread| thread.wait?.deadline);
            let Some(first) = deadlines.min() else {
                let who = match self.threads.others.len() {
                    1 => "the only thread of the program waits".into(),
                    count => format!("all {count} threads of the program wait"),
                };
                return Err(Stop::Fault(format!(
                    "{who} to be woken by another (futex): nobody is left to do so"
                )));
            };
            let now = self.clock.monotonic(core);
            // Where clocks end, nothing comes after.
            if first == u64::MAX {
                return Err(Stop::Fault("the program waits for ever".into()));
            }
            self.clock.sleep(first.saturating_sub(now));
        };
        self.threads.running = thread.identity;
        self.signals.thread = thread.signals;
        (core.x, core.f, core.fcsr, core.pc) = (thread.x, thread.f, thread.fcsr, thread.pc);
        // Another thread may have stored there.
        core.reservation = None;
        core.fp_dirty = true;
        if self.threads.are_many() {
            core.deadline = core.instret.saturating_add(SLICE);
        }
        Ok(())
    }
}
