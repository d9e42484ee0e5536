//! Clocks and sleeping.

use std::time::{Duration, Instant, SystemTime};

use super::errno::{Answer, Errno, Failure};
use super::threads::Wait;
use super::{Linux, guest};
use crate::Core;

/// Start time of programs: 2025-01-01 00:00:00 UTC, in nanoseconds.
const EPOCH: u64 = 1_735_689_600_000_000_000;
/// Uptime at the start of the program, in nanoseconds.
const UP: u64 = 1_000_000_000;

const SECOND: u64 = 1_000_000_000;

#[derive(Clone, Debug)]
pub struct Clock {
    /// Start on the host's clock, if that is used. Otherwise an instruction takes a nanosecond, and sleeping only
    /// advances the clock.
    host: Option<Instant>,
    slept: u64,
}

impl Clock {
    /// Creates clocks that follow the host's, or deterministic ones.
    pub fn new(host: bool) -> Self {
        Self { host: host.then(Instant::now), slept: 0 }
    }

    /// Returns the nanoseconds since 1970.
    pub fn realtime(&self, core: &Core) -> u64 {
        match self.host {
            Some(_) => SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |time| time.as_nanos() as u64),
            None => EPOCH.saturating_add(self.virtual_time(core)),
        }
    }

    /// Returns the nanoseconds since the machine was started.
    pub fn monotonic(&self, core: &Core) -> u64 {
        let since = match self.host {
            Some(start) => start.elapsed().as_nanos() as u64,
            None => self.virtual_time(core),
        };
        since.saturating_add(UP)
    }

    /// Returns the nanoseconds that the program itself took.
    pub fn spent(&self, core: &Core) -> u64 {
        match self.host {
            Some(start) => start.elapsed().as_nanos() as u64,
            None => core.instret,
        }
    }

    fn virtual_time(&self, core: &Core) -> u64 {
        core.instret.saturating_add(self.slept)
    }

    pub fn sleep(&mut self, nanoseconds: u64) {
        if self.host.is_some() {
            std::thread::sleep(Duration::from_nanos(nanoseconds));
        } else {
            self.slept = self.slept.saturating_add(nanoseconds);
        }
    }
}

impl Linux {
    fn clock(&self, core: &Core, clock: u64) -> Result<u64, Errno> {
        Ok(match clock {
            // CLOCK_REALTIME, _COARSE, _ALARM, TAI
            0 | 5 | 8 | 11 => self.clock.realtime(core),
            // CLOCK_MONOTONIC, _RAW, _COARSE, BOOTTIME, _ALARM
            1 | 4 | 6 | 7 | 9 => self.clock.monotonic(core),
            // CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID
            2 | 3 => self.clock.spent(core),
            // The processor time of a process or thread by number: there is only this one.
            _ if (clock as i32) < 0 => self.clock.spent(core),
            _ => return Err(Errno::EINVAL),
        })
    }

    pub(super) fn clock_gettime(&mut self, core: &mut Core, clock: u64, to: u64) -> Answer {
        let time = self.clock(core, clock)?;
        guest::put_doubles(core, to, &[time / SECOND, time % SECOND])
    }

    pub(super) fn clock_getres(&mut self, core: &mut Core, clock: u64, to: u64) -> Answer {
        self.clock(core, clock)?;
        if to != 0 {
            guest::put_doubles(core, to, &[0, 1])?;
        }
        Ok(0)
    }

    pub(super) fn gettimeofday(&mut self, core: &mut Core, to: u64, zone: u64) -> Answer {
        let time = self.clock.realtime(core);
        if to != 0 {
            guest::put_words(core, to, &[time / SECOND, time % SECOND / 1000])?;
        }
        if zone != 0 {
            guest::put(core, zone, &[0; 8])?;
        }
        Ok(0)
    }

    /// Implements `nanosleep`, and `clock_nanosleep` with a clock and flags.
    pub(super) fn nanosleep(&mut self, core: &mut Core, clock: u64, flags: u64, time: u64) -> Answer {
        const TIMER_ABSTIME: u64 = 1;
        let mut time = guest::timespec(core, time)?;
        let now = self.clock(core, clock)?;
        if flags & TIMER_ABSTIME != 0 {
            time = time.saturating_sub(now);
        }
        if self.threads.are_many() {
            return Err(Failure::Wait(Wait::until(self.clock.monotonic(core).saturating_add(time))));
        }
        self.clock.sleep(time);
        Ok(0)
    }

    /// Implements `times`, in hundredths of a second.
    pub(super) fn times(&mut self, core: &mut Core, to: u64) -> Answer {
        const TICK: u64 = SECOND / 100;
        if to != 0 {
            let spent = self.clock.spent(core) / TICK;
            guest::put_words(core, to, &[spent, 0, 0, 0])?;
        }
        Ok(self.clock.monotonic(core) / TICK)
    }

    /// Implements `getrusage`: only time is counted.
    pub(super) fn getrusage(&mut self, core: &mut Core, who: u64, to: u64) -> Answer {
        let spent = if who as i32 == -1 { 0 } else { self.clock.spent(core) };
        let mut words = [0; 18];
        words[0] = spent / SECOND;
        words[1] = spent % SECOND / 1000;
        guest::put_words(core, to, &words)
    }
}
