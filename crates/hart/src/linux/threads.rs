//! Threads, which run one at a time.
//!
//! There is one hart. A thread runs until it waits, ends, yields, or its time slice is over. The schedule depends on
//! nothing but the program.

use std::collections::VecDeque;

use super::errno::{Answer, Errno, Failure};
use super::process::PROCESS;
use super::{Linux, guest};
use crate::{Core, Stop};

/// Number of instructions in a time slice.
const SLICE: u64 = 100_000;
/// Maximum number of threads.
const MOST: usize = 1024;

const CLONE_VM: u64 = 0x100;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;

#[derive(Debug)]
pub struct Threads {
    running: Identity,
    /// Other threads, in the order of their turns.
    others: VecDeque<Thread>,
    /// Number of the last thread created.
    last: u64,
    /// Consecutive calls that could not proceed.
    pub tries: u64,
}

#[derive(Clone, Copy, Debug)]
struct Identity {
    number: u64,
    /// Address to clear when the thread ends; 0 for none.
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

/// Conditions that end a thread's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Address and bits of a futex; 0 for none.
    pub futex: (u64, u32),
    /// Time of the monotonic clock at which the wait ends.
    pub deadline: Option<u64>,
    /// Result of the call if the deadline comes first.
    pub expired: i64,
    /// Result of the call if a signal comes first.
    pub interrupted: i64,
}

impl Wait {
    /// Waits until `deadline` only.
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
    /// Returns the number of the running thread.
    pub fn number(&self) -> u64 {
        self.running.number
    }

    /// Returns whether there are several threads.
    pub fn are_many(&self) -> bool {
        !self.others.is_empty()
    }
}

impl Linux {
    /// Implements `clone` for threads. A clone that shares less would be another process.
    pub(super) fn clone_thread(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        let [flags, stack, parent, tls, child, _] = arguments;
        if flags & (CLONE_VM | CLONE_THREAD) != CLONE_VM | CLONE_THREAD {
            self.warn("the program tried to start another process: there is only one here; refused".into());
            return Err(Errno::ENOSYS.into());
        }
        Errno::EAGAIN.when(self.threads.others.len() >= MOST)?;
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

    pub(super) fn set_tid_address(&mut self, address: u64) -> Answer {
        self.threads.running.clear = address;
        Ok(self.threads.running.number)
    }

    /// Implements `exit`: ends this thread, or the program if it is the last.
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

    pub(super) fn futex(&mut self, core: &mut Core, arguments: [u64; 6]) -> Answer {
        const REALTIME: u64 = 0x100;
        let [address, operation, value, timeout, second, third] = arguments;
        match operation & 0x7f {
            // FUTEX_WAIT, FUTEX_WAIT_BITSET
            kind @ (0 | 9) => {
                Errno::EAGAIN.when(u32::from_le_bytes(guest::get(core, address)?) != value as u32)?;
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
                Errno::EINVAL.when(bits == 0)?;
                let expired = -i64::from(Errno::ETIMEDOUT.0);
                let wait = Wait { futex: (address, bits), deadline, expired, interrupted: INTERRUPTED };
                Err(Failure::Wait(wait))
            }
            // FUTEX_WAKE, FUTEX_WAKE_BITSET
            1 => Ok(self.wake(address, value, u32::MAX)),
            10 => Ok(self.wake(address, value, third as u32)),
            // FUTEX_REQUEUE, FUTEX_CMP_REQUEUE: the number to move is in place of the timeout.
            kind @ (3 | 4) => {
                Errno::EAGAIN
                    .when(kind == 4 && u32::from_le_bytes(guest::get(core, address)?) != third as u32)?;
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

    /// Wakes up to `count` threads that wait at `address`. Returns how many.
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

    /// Lets the running thread wait, or lets others run (`None`). The result of its call is already set.
    pub(super) fn switch(&mut self, core: &mut Core, wait: Option<Wait>) -> Result<(), Stop> {
        let now = self.save(core, wait);
        self.threads.others.push_back(now);
        self.resume_next(core)
    }

    /// Repeats the call of the running thread later, since it cannot proceed yet (it reads from an empty pipe, for example).
    pub(super) fn try_again_later(&mut self, core: &mut Core) -> Result<(), Stop> {
        const WHILE: u64 = 1_000_000;
        /// Number of attempts after which all threads are considered stuck.
        const ENOUGH: u64 = 1_000_000;
        self.threads.tries += 1;
        if self.threads.tries > ENOUGH {
            return Err(Stop::Fault(
                "the threads of the program wait for each other: they would wait for ever".into(),
            ));
        }
        let wait = Wait::until(self.clock.monotonic(core).saturating_add(WHILE));
        // The result register still has the first argument.
        let argument = core.x[10] as i64;
        self.switch(core, Some(Wait { expired: argument, interrupted: argument, ..wait }))
    }

    /// Ends the time slice of the running thread. Returns whether another one runs now.
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

    /// Sends a signal to a thread that does not run. Returns whether there is such a thread.
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

    /// Wakes the threads whose deadline has passed.
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
            // Nothing comes after the end of the clock.
            if first == u64::MAX {
                return Err(Stop::Fault("the program waits for ever".into()));
            }
            self.clock.sleep(first.saturating_sub(now));
        };
        self.threads.running = thread.identity;
        self.signals.thread = thread.signals;
        (core.x, core.f, core.fcsr, core.pc) = (thread.x, thread.f, thread.fcsr, thread.pc);
        // Another thread may have stored to the reserved address.
        core.reservation = None;
        core.fp_dirty = true;
        if self.threads.are_many() {
            core.deadline = core.instret.saturating_add(SLICE);
        }
        Ok(())
    }
}
