//! System calls on the process and the system.

use super::errno::{Answer, Errno};
use super::{Linux, guest};
use crate::Core;
use crate::memory::PAGE;

/// User ID of the program.
pub const USER: u64 = 1000;
/// Group ID of the program.
pub const GROUP: u64 = 1000;
/// Process ID, and thread ID of the first thread.
pub const PROCESS: u64 = 1000;

impl Linux {
    /// Implements `uname`: six fields of 65 bytes.
    pub(super) fn uname(&mut self, core: &mut Core, to: u64) -> Answer {
        let machine = if core.is_rv32 { "riscv32" } else { "riscv64" };
        let fields = ["Linux", "tracewright", "6.12.0", "#1 tracewright", machine, "(none)"];
        let mut bytes = [0; 6 * 65];
        for (field, to) in fields.iter().zip(bytes.chunks_mut(65)) {
            to[..field.len()].copy_from_slice(field.as_bytes());
        }
        guest::put(core, to, &bytes)
    }

    pub(super) fn sysinfo(&mut self, core: &mut Core, to: u64) -> Answer {
        let up = self.clock.monotonic(core) / 1_000_000_000;
        let total = self.memory_limit as u64;
        let used = core.memory.bytes().len() as u64;
        let size = guest::word_size(core);
        // Uptime, three loads, RAM total, free, shared, buffers, swap total, free.
        guest::put_words(core, to, &[up, 0, 0, 0, total, total.saturating_sub(used), 0, 0, 0, 0])?;
        // Processes and padding, high memory total and free, the unit.
        let rest = to.wrapping_add(10 * size);
        guest::put(core, rest, &1_u64.to_le_bytes()[..size as usize])?;
        guest::put_words(core, rest.wrapping_add(size), &[0, 0])?;
        guest::put(core, rest.wrapping_add(3 * size), &1_u32.to_le_bytes())
    }

    /// Implements `prlimit64`: limits can be read; new limits are ignored.
    pub(super) fn prlimit64(&mut self, core: &mut Core, resource: u64, to: u64) -> Answer {
        const INFINITE: u64 = u64::MAX;
        let (now, most) = match resource {
            3 => (super::memory::STACK_SIZE, INFINITE),
            4 => (0, INFINITE),
            7 => (1024, 4096),
            0..16 => (INFINITE, INFINITE),
            _ => return Err(Errno::EINVAL.into()),
        };
        if to != 0 {
            guest::put_doubles(core, to, &[now, most])?;
        }
        Ok(0)
    }

    pub(super) fn getrandom(&mut self, core: &mut Core, to: u64, len: u64) -> Answer {
        let mut bytes = vec![0; len.min(1 << 16) as usize];
        self.random.fill(&mut bytes);
        guest::put(core, to, &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// Implements `sched_getaffinity`: there is one processor.
    pub(super) fn sched_getaffinity(&mut self, core: &mut Core, len: u64, to: u64) -> Answer {
        let size = guest::word_size(core);
        Errno::EINVAL.when(len < size)?;
        guest::put_words(core, to, &[1])?;
        Ok(size)
    }

    /// Implements `getcpu`: there is one processor.
    pub(super) fn getcpu(&mut self, core: &mut Core, cpu: u64, node: u64) -> Answer {
        for to in [cpu, node] {
            if to != 0 {
                guest::put(core, to, &[0; 4])?;
            }
        }
        Ok(0)
    }

    /// Implements `getresuid` and `getresgid`.
    pub(super) fn three_numbers(&mut self, core: &mut Core, to: [u64; 3], number: u64) -> Answer {
        for to in to {
            guest::put(core, to, &(number as u32).to_le_bytes())?;
        }
        Ok(0)
    }

    /// Implements `prctl`: the thread's name, and little else.
    pub(super) fn prctl(&mut self, core: &mut Core, operation: u64, argument: u64) -> Answer {
        match operation {
            // PR_SET_NAME, PR_GET_NAME
            15 => {
                let mut name = guest::string(core, argument)?;
                name.resize(15, 0);
                self.thread_name = name;
                Ok(0)
            }
            16 => {
                let mut name = self.thread_name.clone();
                name.resize(16, 0);
                guest::put(core, argument, &name)
            }
            // PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS
            3 | 4 | 38 => Ok(0),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    pub(super) fn execve(&mut self) -> Answer {
        self.warn("the program tried to run another program: there is only one here; refused".into());
        Err(Errno::ENOSYS.into())
    }

    pub(super) fn socket(&mut self, domain: u64) -> Answer {
        // AF_UNIX: the C library asks a daemon for names, and does without it.
        if domain != 1 {
            self.warn("the program tried to use a network: there is none here; refused".into());
        }
        Err(Errno::EAFNOSUPPORT.into())
    }

    /// Implements `mincore`: everything is in memory.
    pub(super) fn mincore(&mut self, core: &mut Core, start: u64, len: u64, to: u64) -> Answer {
        let pages = len.min(1 << 30).div_ceil(PAGE);
        for page in 0..pages {
            core.memory.rights(start.wrapping_add(page * PAGE)).ok_or(Errno::ENOMEM)?;
        }
        guest::put(core, to, &vec![1; pages as usize])?;
        Ok(0)
    }
}

/// Deterministic random bytes by SplitMix64: a counter and a mixer. Nothing secret depends on it.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}
