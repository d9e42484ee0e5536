//! Dispatch of system calls. A function named like a call implements it.

use super::Linux;
use super::errno::{Answer, Errno, Failure};
use super::numbers::*;
use super::process::{GROUP, PROCESS, USER};
use super::threads::Wait;
use crate::memory::PAGE;
use crate::{Core, Stop};

impl Linux {
    /// Handles an ECALL at `core.pc`. The call's number is in a7, its arguments in a0 to a5; its result goes to a0.
    pub(super) fn call(&mut self, core: &mut Core) -> Result<(), Stop> {
        let mut arguments = [0; 6];
        arguments.copy_from_slice(&core.x[10..16]);
        if core.is_rv32 {
            arguments = arguments.map(|argument| argument & 0xffff_ffff);
        }
        let number = core.x[17];
        let next = core.address(core.pc.wrapping_add(4));
        let answer = match self.dispatch(core, number, arguments) {
            Ok(answer) => answer,
            Err(Failure::Errno(Errno(number))) => i64::from(-number) as u64,
            Err(Failure::Stop(stop)) => return Err(stop),
            Err(Failure::Resumed) => return self.deliver_pending(core),
            Err(Failure::Wait(wait)) => {
                core.x[10] = 0;
                core.pc = next;
                self.switch(core, Some(wait))?;
                return self.deliver_pending(core);
            }
            Err(Failure::Again) => {
                self.try_again_later(core)?;
                return self.deliver_pending(core);
            }
        };
        self.threads.tries = 0;
        core.x[10] = if core.is_rv32 { answer as i32 as u64 } else { answer };
        core.pc = next;
        self.deliver_pending(core)
    }

    pub(super) fn dispatch(&mut self, core: &mut Core, number: u64, arguments: [u64; 6]) -> Answer {
        let [a, b, c, d, e, _] = arguments;
        let fd = a as i32;
        // RV32 passes 64 bits in two registers, and gives mmap offsets in pages.
        let wide = |low: u64, high: u64| if core.is_rv32 { low | high << 32 } else { low };
        match number {
            // Descriptors.
            READ => self.read(core, fd, b, c, None),
            WRITE => self.write(core, fd, b, c, None),
            PREAD64 => self.read(core, fd, b, c, Some(wide(d, e))),
            PWRITE64 => self.write(core, fd, b, c, Some(wide(d, e))),
            READV => self.vectored(core, fd, [b, c], None, Self::read),
            WRITEV => self.vectored(core, fd, [b, c], None, Self::write),
            PREADV => self.vectored(core, fd, [b, c], Some(wide(d, e)), Self::read),
            PWRITEV => self.vectored(core, fd, [b, c], Some(wide(d, e)), Self::write),
            LSEEK if core.is_rv32 => {
                let at = self.lseek(fd, wide(c, b), e)?;
                super::guest::put(core, d, &at.to_le_bytes())
            }
            LSEEK => self.lseek(fd, b, c),
            CLOSE => Ok(self.descriptors.close(fd).map(|()| 0)?),
            CLOSE_RANGE => self.close_range(a, b, c),
            DUP => Ok(self.descriptors.duplicate(fd, 0, false)?),
            DUP3 if a == b => Err(Errno::EINVAL.into()),
            DUP3 => Ok(self.descriptors.replace(fd, b as i32, c & super::files::O_CLOEXEC != 0)?),
            FCNTL => self.fcntl(core, fd, b, c),
            IOCTL => self.ioctl(core, fd, b, c),
            PIPE2 => self.pipe2(core, a, b),
            PPOLL | PPOLL_TIME64 => self.ppoll(core, a, b),
            PSELECT6 | PSELECT6_TIME64 => self.pselect6(core, arguments),
            FSTAT => self.fstat(core, fd, b),
            FTRUNCATE => self.ftruncate(fd, wide(b, c)),
            FALLOCATE => self.fallocate(fd, b, c, d),
            FCHMOD => self.fchmod(fd, b),
            FCHOWN => Ok(self.must_be_writable(fd).map(|()| 0)?),
            GETDENTS64 => self.getdents64(core, fd, b, c),
            SENDFILE => self.sendfile(core, arguments),
            // Programs copy by themselves if this fails.
            COPY_FILE_RANGE => Err(Errno::EXDEV.into()),
            FSYNC | FDATASYNC | SYNC_FILE_RANGE | FLOCK | FADVISE64 | READAHEAD | SYNCFS => {
                Ok(self.descriptors.get(fd).map(|_| 0)?)
            }
            SYNC => Ok(0),
            FSTATFS => {
                self.descriptors.get(fd)?;
                self.put_statfs(core, b)
            }

            // Paths.
            OPENAT => self.openat(core, arguments),
            NEWFSTATAT => self.newfstatat(core, arguments),
            STATX => self.statx(core, a, b, c, e),
            FACCESSAT => self.faccessat(core, [a, b, c, 0, 0, 0]),
            FACCESSAT2 => self.faccessat(core, arguments),
            READLINKAT => self.readlinkat(core, arguments),
            UNLINKAT => self.unlinkat(core, a, b, c),
            MKDIRAT => self.mkdirat(core, a, b, c),
            RENAMEAT2 => self.renameat2(core, arguments),
            LINKAT => self.linkat(core, arguments),
            SYMLINKAT => self.symlinkat(core, a, b, c),
            FCHMODAT | FCHMODAT2 => self.fchmodat(core, a, b, c),
            FCHOWNAT => self.fchownat(core, a, b, e),
            UTIMENSAT | UTIMENSAT_TIME64 => self.utimensat(core, arguments),
            TRUNCATE => self.truncate(core, a, wide(b, c)),
            CHDIR => self.chdir(core, a),
            FCHDIR => self.fchdir(fd),
            GETCWD => self.getcwd(core, a, b),
            STATFS => self.statfs(core, a, b),
            UMASK => Ok(std::mem::replace(&mut self.umask, a & 0o777)),
            GETXATTR | LGETXATTR | FGETXATTR | LISTXATTR | LLISTXATTR | FLISTXATTR | SETXATTR | LSETXATTR
            | FSETXATTR | REMOVEXATTR | LREMOVEXATTR | FREMOVEXATTR => Err(Errno::EOPNOTSUPP.into()),

            // Memory.
            BRK => self.brk(core, a),
            MMAP if core.is_rv32 => self.mmap(core, [a, b, c, d, e, arguments[5] * PAGE]),
            MMAP => self.mmap(core, arguments),
            MUNMAP => self.munmap(core, a, b),
            MPROTECT => self.mprotect(core, a, b, c),
            MREMAP => self.mremap(core, arguments),
            MADVISE => self.madvise(core, a, b, c),
            MINCORE => self.mincore(core, a, b, c),
            MSYNC => Ok(self.write_back_all(core).map(|()| 0)?),
            MLOCK | MUNLOCK | MLOCKALL | MUNLOCKALL | MLOCK2 => Ok(0),
            RISCV_FLUSH_ICACHE => {
                core.code_changed = true;
                Ok(0)
            }
            MEMBARRIER if a == 0 => Ok(0),
            MEMBARRIER => Err(Errno::EINVAL.into()),

            // Time.
            CLOCK_GETTIME | CLOCK_GETTIME64 => self.clock_gettime(core, a, b),
            CLOCK_GETRES | CLOCK_GETRES_TIME64 => self.clock_getres(core, a, b),
            GETTIMEOFDAY => self.gettimeofday(core, a, b),
            NANOSLEEP => self.nanosleep(core, 1, 0, a),
            CLOCK_NANOSLEEP | CLOCK_NANOSLEEP_TIME64 => self.nanosleep(core, a, b, c),
            TIMES => self.times(core, a),
            GETRUSAGE => self.getrusage(core, a, b),

            // The process.
            EXIT => self.exit(core, a),
            EXIT_GROUP => Err(Stop::Exit { status: i32::from(a as u8) }.into()),
            GETPID | GETPGID | GETSID => Ok(PROCESS),
            GETTID => Ok(self.threads.number()),
            SET_TID_ADDRESS => self.set_tid_address(a),
            GETPPID => Ok(1),
            GETUID | GETEUID => Ok(USER),
            GETGID | GETEGID => Ok(GROUP),
            GETRESUID => self.three_numbers(core, [a, b, c], USER),
            GETRESGID => self.three_numbers(core, [a, b, c], GROUP),
            GETGROUPS => Ok(0),
            SETPGID | SETUID | SETGID | SETREUID | SETREGID | SETRESUID | SETRESGID => Ok(0),
            SET_ROBUST_LIST | SETPRIORITY | SCHED_SETAFFINITY | PERSONALITY => Ok(0),
            SCHED_YIELD if self.threads.are_many() => Err(Failure::Wait(Wait::until(0))),
            SCHED_YIELD => Ok(0),
            // The call returns 20 minus the priority.
            GETPRIORITY => Ok(20),
            FUTEX | FUTEX_TIME64 => self.futex(core, arguments),
            SCHED_GETAFFINITY => self.sched_getaffinity(core, b, c),
            SCHED_GETSCHEDULER => Ok(0),
            GETCPU => self.getcpu(core, a, b),
            UNAME => self.uname(core, a),
            SYSINFO => self.sysinfo(core, a),
            PRLIMIT64 => self.prlimit64(core, b, d),
            GETRLIMIT if !core.is_rv32 => self.prlimit64(core, a, b),
            SETRLIMIT => Ok(0),
            GETRANDOM => self.getrandom(core, a, b),
            PRCTL => self.prctl(core, a, b),
            // Programs do without these, so that no warning is needed.
            RSEQ | RISCV_HWPROBE | CLONE3 | LANDLOCK_CREATE_RULESET => Err(Errno::ENOSYS.into()),
            CLONE => self.clone_thread(core, arguments),
            EXECVE | EXECVEAT => self.execve(),
            SOCKET => self.socket(a),
            WAIT4 | WAITID => Err(Errno::ECHILD.into()),

            // Signals.
            RT_SIGACTION => self.rt_sigaction(core, a, b, c),
            RT_SIGPROCMASK => self.rt_sigprocmask(core, a, b, c),
            RT_SIGPENDING => self.rt_sigpending(core, a),
            RT_SIGRETURN => self.rt_sigreturn(core),
            SIGALTSTACK => self.sigaltstack(core, a, b),
            KILL => self.kill(a, b),
            TKILL => self.tkill(a, b),
            TGKILL => self.tkill(b, c),

            _ => {
                let name = name(number).unwrap_or_else(|| "unknown".into());
                self.warn(format!("system call {number} ({name}) is not there: the program got ENOSYS"));
                Err(Errno::ENOSYS.into())
            }
        }
    }
}
