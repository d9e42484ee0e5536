//! Signals that a program sends to itself, and those of its faults.

use super::errno::{Answer, Errno, Failure};
use super::process::PROCESS;
use super::{Linux, guest};
use crate::{Core, Stop};

const COUNT: usize = 64;
const SIGKILL: u32 = 9;
const SIGSTOP: u32 = 19;
const SA_NODEFER: u64 = 0x4000_0000;
const SA_RESETHAND: u64 = 0x8000_0000;
const SA_ONSTACK: u64 = 0x0800_0000;

/// Sizes and offsets in the frame that Linux puts on a handler's stack: `siginfo`, then `ucontext`.
const INFO_SIZE: u64 = 128;
const MASK_AT: u64 = INFO_SIZE + 40;
const REGISTERS_AT: u64 = INFO_SIZE + 176;
const FLOATS_AT: u64 = REGISTERS_AT + 32 * 8;
const FRAME_SIZE: u64 = FLOATS_AT + 528;

/// Signal state of a program.
#[derive(Clone, Debug)]
pub struct Signals {
    actions: [Action; COUNT + 1],
    /// Pending signals for any thread.
    pending: u64,
    /// State of the running thread.
    pub thread: PerThread,
}

#[derive(Clone, Debug)]
pub struct PerThread {
    /// Blocked signals; bit n - 1 is signal n.
    blocked: u64,
    pub pending: u64,
    /// Alternate stack: address, flags, size.
    stack: [u64; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct Action {
    /// 0: default; 1: ignore; else the handler.
    handler: u64,
    flags: u64,
    mask: u64,
}

/// SS_DISABLE.
const NO_STACK: [u64; 3] = [0, 2, 0];

impl Default for Signals {
    fn default() -> Self {
        let thread = PerThread { blocked: 0, pending: 0, stack: NO_STACK };
        Self { actions: [Action::default(); COUNT + 1], pending: 0, thread }
    }
}

impl Signals {
    /// Returns the initial state of a thread that the running one creates.
    pub fn for_new_thread(&self) -> PerThread {
        PerThread { blocked: self.thread.blocked, pending: 0, stack: NO_STACK }
    }

    /// Returns whether a handler would take this signal now.
    pub fn is_handled(&self, signal: u32) -> bool {
        self.actions[signal as usize].handler > 1 && self.thread.blocked & bit(signal) == 0
    }
}

fn bit(signal: u32) -> u64 {
    1 << (signal - 1)
}

pub fn name(signal: u32) -> String {
    /// Names from signal 1 on, without `SIG`.
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    match NAMES.get(signal as usize - 1) {
        Some(name) => format!("SIG{name}"),
        None => "a real-time signal".into(),
    }
}

impl Linux {
    pub(super) fn rt_sigaction(&mut self, core: &mut Core, signal: u64, new: u64, old: u64) -> Answer {
        Errno::EINVAL.when(!(1..=COUNT as u64).contains(&signal))?;
        let size = guest::word_size(core);
        let action = self.signals.actions[signal as usize];
        let fresh = if new == 0 {
            None
        } else {
            Errno::EINVAL.when(matches!(signal as u32, SIGKILL | SIGSTOP))?;
            let handler = guest::word(core, new)?;
            let flags = guest::word(core, new.wrapping_add(size))?;
            Some(Action { handler, flags, mask: guest::double(core, new.wrapping_add(2 * size))? })
        };
        if old != 0 {
            guest::put_words(core, old, &[action.handler, action.flags])?;
            guest::put(core, old.wrapping_add(2 * size), &action.mask.to_le_bytes())?;
        }
        if let Some(fresh) = fresh {
            self.signals.actions[signal as usize] = fresh;
        }
        Ok(0)
    }

    pub(super) fn rt_sigprocmask(&mut self, core: &mut Core, how: u64, new: u64, old: u64) -> Answer {
        let now = self.signals.thread.blocked;
        if new != 0 {
            let set = guest::double(core, new)?;
            let blocked = match how {
                0 => now | set,
                1 => now & !set,
                2 => set,
                _ => return Err(Errno::EINVAL.into()),
            };
            self.signals.thread.blocked = blocked & !(bit(SIGKILL) | bit(SIGSTOP));
        }
        if old != 0 {
            guest::put(core, old, &now.to_le_bytes())?;
        }
        Ok(0)
    }

    pub(super) fn rt_sigpending(&mut self, core: &mut Core, to: u64) -> Answer {
        guest::put(core, to, &(self.signals.pending | self.signals.thread.pending).to_le_bytes())
    }

    pub(super) fn sigaltstack(&mut self, core: &mut Core, new: u64, old: u64) -> Answer {
        let size = guest::word_size(core);
        let now = self.signals.thread.stack;
        if new != 0 {
            let mut fresh = [0; 3];
            for (index, word) in fresh.iter_mut().enumerate() {
                *word = guest::word(core, new.wrapping_add(index as u64 * size))?;
            }
            // The flags are an int.
            fresh[1] &= 0xffff_ffff;
            self.signals.thread.stack = fresh;
        }
        if old != 0 {
            guest::put_words(core, old, &now)?;
        }
        Ok(0)
    }

    /// Implements `tkill` and `tgkill`.
    pub(super) fn tkill(&mut self, thread: u64, signal: u64) -> Answer {
        let bit = match signal {
            0 => 0,
            1..=64 => bit(signal as u32),
            _ => return Err(Errno::EINVAL.into()),
        };
        if thread == self.threads.number() {
            self.signals.thread.pending |= bit;
        } else if !self.signal_thread(thread, bit) {
            return Err(Errno::ESRCH.into());
        }
        Ok(0)
    }

    /// Implements `kill`: the only process is this one.
    pub(super) fn kill(&mut self, target: u64, signal: u64) -> Answer {
        Errno::ESRCH.when(!matches!(target as i32, 0 | -1) && target as i32 as i64 != PROCESS as i64)?;
        match signal {
            0 => {}
            1..=64 => self.signals.pending |= bit(signal as u32),
            _ => return Err(Errno::EINVAL.into()),
        }
        Ok(0)
    }

    /// Raises SIGPIPE because the program wrote to a pipe without readers.
    pub(super) fn reader_has_gone(&mut self) {
        self.signals.thread.pending |= bit(13);
    }

    /// Delivers pending signals that are not blocked. Called after a system call.
    pub(super) fn deliver_pending(&mut self, core: &mut Core) -> Result<(), Stop> {
        loop {
            let pending = (self.signals.pending | self.signals.thread.pending) & !self.signals.thread.blocked;
            if pending == 0 {
                return Ok(());
            }
            let signal = pending.trailing_zeros() + 1;
            self.signals.pending &= !bit(signal);
            self.signals.thread.pending &= !bit(signal);
            match self.signals.actions[signal as usize].handler {
                1 => {}
                // The default for SIGCHLD, SIGCONT, SIGURG and SIGWINCH is to ignore them.
                0 if matches!(signal, 17 | 18 | 23 | 28) => {}
                0 => {
                    self.warn(format!("the program ended itself by signal {signal} ({})", name(signal)));
                    return Err(Stop::Exit { status: 128 + signal as i32 });
                }
                _ => {
                    // SI_TKILL
                    self.enter_handler(core, signal, -6, PROCESS | USER_HIGH)?;
                    return Ok(());
                }
            }
        }
    }

    /// Starts a handler: saves the interrupted state on the stack in Linux's layout.
    pub(super) fn enter_handler(
        &mut self,
        core: &mut Core,
        signal: u32,
        code: i32,
        value: u64,
    ) -> Result<(), Stop> {
        if core.is_rv32 {
            return Err(Stop::Fault(format!("{} has a handler; handlers do not run on RV32", name(signal))));
        }
        let action = self.signals.actions[signal as usize];
        let [stack, flags, size] = self.signals.thread.stack;
        let mut top = core.x[2];
        let is_on_it = top.wrapping_sub(stack) < size;
        if action.flags & SA_ONSTACK != 0 && flags & 2 == 0 && !is_on_it {
            top = stack.wrapping_add(size);
        }
        let frame = top.wrapping_sub(FRAME_SIZE) & !15;

        let mut bytes = vec![0; FRAME_SIZE as usize];
        let mut set =
            |at: u64, value: u64| bytes[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
        set(0, u64::from(signal));
        set(8, u64::from(code as u32));
        set(16, value);
        for (index, word) in self.signals.thread.stack.into_iter().enumerate() {
            set(INFO_SIZE + 16 + 8 * index as u64, word);
        }
        set(MASK_AT, self.signals.thread.blocked);
        set(REGISTERS_AT, core.pc);
        for index in 1..32 {
            set(REGISTERS_AT + 8 * index, core.x[index as usize]);
        }
        for index in 0..32 {
            set(FLOATS_AT + 8 * index, core.f[index as usize]);
        }
        set(FLOATS_AT + 8 * 32, u64::from(core.fcsr));
        core.memory.write(frame, &bytes).map_err(|_| {
            Stop::Fault(format!(
                "there is no room on the stack at {top:#x} for the handler of {}",
                name(signal)
            ))
        })?;

        if action.flags & SA_NODEFER == 0 {
            self.signals.thread.blocked |= bit(signal);
        }
        self.signals.thread.blocked |= action.mask & !(bit(SIGKILL) | bit(SIGSTOP));
        if action.flags & SA_RESETHAND != 0 {
            self.signals.actions[signal as usize] = Action::default();
        }
        core.x[1] = self.layout.trampoline();
        core.x[2] = frame;
        core.x[10] = u64::from(signal);
        core.x[11] = frame;
        core.x[12] = frame + INFO_SIZE;
        core.pc = action.handler;
        Ok(())
    }

    /// Implements `rt_sigreturn`: resumes what the handler interrupted.
    pub(super) fn rt_sigreturn(&mut self, core: &mut Core) -> Answer {
        let frame = core.x[2];
        let mut bytes = vec![0; FRAME_SIZE as usize];
        core.memory.read(frame, &mut bytes)?;
        let get = |at: u64| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at as usize..at as usize + 8]);
            u64::from_le_bytes(word)
        };
        self.signals.thread.blocked = get(MASK_AT) & !(bit(SIGKILL) | bit(SIGSTOP));
        core.pc = get(REGISTERS_AT);
        for index in 1..32 {
            core.x[index as usize] = get(REGISTERS_AT + 8 * index);
        }
        for index in 0..32 {
            core.f[index as usize] = get(FLOATS_AT + 8 * index);
        }
        core.fcsr = get(FLOATS_AT + 8 * 32) as u8;
        Err(Failure::Resumed)
    }
}

/// `si_uid`, beside `si_pid`.
const USER_HIGH: u64 = super::process::USER << 32;
