//! User-mode Linux for one program: its memory, its files, and its system calls.
//!
//! Runs are deterministic for the same program, files and arguments: clocks count instructions, random numbers come
//! from a seed, folders are listed in order.

mod calls;
mod descriptors;
mod elf;
mod errno;
#[cfg(test)]
mod escapes;
mod files;
mod guest;
mod host;
mod load;
mod memory;
mod names;
#[expect(dead_code, reason = "the list is whole; what is not served is named in warnings")]
mod numbers;
pub(crate) mod paths;
mod process;
mod shared;
mod signals;
mod stack;
mod stat;
#[cfg(test)]
mod tests;
mod threads;
mod time;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tracewright_isa::riscv::Op;

pub use descriptors::Streams;
pub use elf::ElfError;
pub use load::{LoadError, Why};
pub use paths::Mount;

use crate::execute::ILLEGAL;
use crate::machine::page_fault;
use crate::memory::{Fault, Rights};
use crate::{Core, Exception, Machine, Privilege, Served, Stop, cause};
use descriptors::Descriptors;
use memory::Layout;
use paths::{Folder, Place, Tree};
use process::Random;
use shared::Shared;
use signals::Signals;
use threads::Threads;
use time::Clock;

/// Returns where `program`, a path inside `root`, is on the host. Links are resolved inside the root. Returns `None` if
/// there is no such file.
pub fn program_in(root: &Path, program: &Path) -> Option<PathBuf> {
    let mount = Mount { at: "/".into(), host: root.canonicalize().ok()?, writable: false };
    let tree = Tree::new(vec![mount], PathBuf::new()).ok()?;
    match tree.find(&tree.root(), program.as_os_str().as_encoded_bytes(), true) {
        Ok(Place::Host(found)) if found.open(OFlags::RDONLY).is_ok() => Some(found.path),
        _ => None,
    }
}

/// Options of a run.
#[derive(Debug)]
pub struct Options {
    /// Arguments, the program's name first.
    pub arguments: Vec<OsString>,
    /// Environment: `NAME=value`.
    pub environment: Vec<OsString>,
    /// Folder that is `/` for the program. If `None`, it sees the host's files without `/dev`, `/proc` and `/sys`.
    pub root: Option<PathBuf>,
    /// Set if the program may change files below `/`.
    pub writable: bool,
    /// Additional folders of the host that the program sees.
    pub mounts: Vec<Mount>,
    /// Working directory. If `None`, `/` with a root, else that of this process.
    pub folder: Option<PathBuf>,
    /// Maximum memory in bytes.
    pub memory: usize,
    /// Seed of random numbers.
    pub seed: u64,
    /// Set if the program sees the host's clocks.
    pub host_clock: bool,
    /// Standard input, output and error.
    pub streams: Streams,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arguments: Vec::new(),
            environment: Vec::new(),
            root: None,
            writable: false,
            mounts: Vec::new(),
            folder: None,
            memory: 4 << 30,
            seed: 0,
            host_clock: false,
            streams: Streams::none(),
        }
    }
}

/// Part of a file that was loaded or mapped into memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Address in memory.
    pub address: u64,
    /// Number of bytes from the file.
    pub len: u64,
    /// Path of the file on the host.
    pub path: PathBuf,
    /// Offset in the file.
    pub offset: u64,
    /// Rights of the memory.
    pub rights: Rights,
    /// Identity of the file: device and number.
    identity: (u64, u64),
}

/// Linux for one program.
#[derive(Debug)]
pub struct Linux {
    tree: Tree,
    /// Working directory.
    folder: Folder,
    descriptors: Descriptors,
    layout: Layout,
    mapped: Vec<Mapped>,
    shared: Vec<Shared>,
    clock: Clock,
    random: Random,
    signals: Signals,
    threads: Threads,
    umask: u64,
    thread_name: Vec<u8>,
    memory_limit: usize,
    /// Set if the memory limit was reached.
    is_full: bool,
    warnings: Vec<String>,
}

impl Linux {
    /// Loads the program at `path` of the host. Returns a hart that is ready to start and its environment.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is no RISC-V program.
    pub fn load(path: &Path, options: Options) -> Result<(Core, Self), LoadError> {
        let failed = |error| LoadError { path: path.to_path_buf(), why: Why::Read(error) };
        let (given, path) = (path, path.canonicalize().map_err(failed)?);
        let root = options.root.clone().unwrap_or_else(|| "/".into());
        let root = root.canonicalize().map_err(|error| LoadError { path: root, why: Why::Read(error) })?;
        let mut mounts = options.mounts.clone();
        mounts.push(Mount { at: "/".into(), host: root, writable: options.writable });
        let tree = Tree::new(mounts, path.clone())
            .map_err(|(path, error)| LoadError { path, why: Why::Read(error) })?;
        let folder = match (&options.folder, &options.root) {
            (Some(folder), _) => folder.clone(),
            (None, Some(_)) => "/".into(),
            (None, None) => std::env::current_dir().unwrap_or_else(|_| "/".into()),
        };

        let folder = match tree.find(&tree.root(), folder.as_os_str().as_encoded_bytes(), true) {
            Ok(Place::Host(found)) => found.folder,
            _ => None,
        }
        .ok_or_else(|| LoadError { path: folder, why: Why::Read(io::ErrorKind::NotFound.into()) })?;

        let mut random = Random(options.seed);
        let loaded = load::load(&path, &tree, &options, &mut random).map_err(|error| LoadError {
            path: if error.path == path { given.to_path_buf() } else { error.path },
            ..error
        })?;
        let thread_name = path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
        let mut linux = Self {
            tree,
            folder,
            descriptors: Descriptors::new(options.streams),
            layout: loaded.layout,
            mapped: loaded.mapped,
            shared: Vec::new(),
            clock: Clock::new(options.host_clock),
            random,
            signals: Signals::default(),
            threads: Threads::default(),
            umask: 0o022,
            thread_name: thread_name.into_iter().take(15).collect(),
            memory_limit: options.memory,
            is_full: false,
            warnings: Vec::new(),
        };
        linux.note_loaded_code();
        Ok((loaded.core, linux))
    }

    /// Returns warnings for the user, each once: unsupported calls, a signal that ended the program.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns what was mapped from files, in order, including mappings that are gone. A file is left out if its path
    /// now names another one, so that all paths can be read.
    pub fn mapped(&self) -> Vec<Mapped> {
        let is_still_there = |mapped: &&Mapped| load::identity(&mapped.path).ok() == Some(mapped.identity);
        self.mapped.iter().filter(is_still_there).cloned().collect()
    }

    fn warn(&mut self, warning: String) {
        /// Maximum number of warnings, since a program can make any number of unsupported calls.
        const MOST: usize = 100;
        if self.warnings.len() < MOST && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Delivers the signal of an exception that is no call, or ends the program.
    fn fault(&mut self, core: &mut Core, exception: Exception) -> Result<Served, Stop> {
        let (pc, value) = (core.pc, exception.value);
        if self.is_full {
            let limit = self.memory_limit >> 20;
            return Err(Stop::Fault(format!(
                "the program needs more than the {limit} MiB of memory it may use"
            )));
        }
        let at = |what: &str| format!("{what} {value:#x} at pc {pc:#x}");
        // SEGV_MAPERR, SEGV_ACCERR
        let (why, why_code) = match core.memory.rights(value) {
            None => ("where there is no memory", 1),
            Some(_) => ("where that is not allowed", 2),
        };
        // The text, the signal, and its si_code.
        let (text, signal, code) = match exception.cause {
            cause::ILLEGAL_INSTRUCTION => {
                let bits = self.bits(core, pc);
                (format!("illegal instruction {bits} at pc {pc:#x}"), 4, 1)
            }
            cause::BREAKPOINT => (format!("breakpoint (ebreak) at pc {pc:#x}"), 5, 1),
            cause::INSTRUCTION_MISALIGNED => (at("jump to the odd address"), 7, 1),
            cause::LOAD_MISALIGNED => (at("misaligned load from"), 7, 1),
            cause::STORE_MISALIGNED => (at("misaligned store or atomic operation to"), 7, 1),
            cause::INSTRUCTION_ACCESS_FAULT | cause::INSTRUCTION_PAGE_FAULT => {
                (format!("jump to {value:#x}, {why}"), 11, why_code)
            }
            cause::LOAD_ACCESS_FAULT | cause::LOAD_PAGE_FAULT => {
                (format!("{}, {why}", at("load from")), 11, why_code)
            }
            cause::STORE_ACCESS_FAULT | cause::STORE_PAGE_FAULT => {
                (format!("{}, {why}", at("store to")), 11, why_code)
            }
            other => (format!("exception {other} at pc {pc:#x}"), 11, 1),
        };
        if self.signals.is_handled(signal) {
            let address = if matches!(signal, 4 | 5) { pc } else { value };
            self.enter_handler(core, signal, code, address)?;
            return Ok(Served::Machine);
        }
        Err(Stop::Fault(text))
    }

    /// Formats the bits of an instruction.
    fn bits(&self, core: &mut Core, pc: u64) -> String {
        let low = core.memory.peek::<2>(pc).map(u16::from_le_bytes);
        let high = core.memory.peek::<2>(pc.wrapping_add(2)).map(u16::from_le_bytes);
        match (low, high) {
            (Some(low), Some(high)) if low & 3 == 3 => {
                format!("{:#010x}", u32::from(high) << 16 | u32::from(low))
            }
            (Some(low), _) => format!("{low:#06x}"),
            (None, _) => "(not there)".into(),
        }
    }
}

impl Machine for Linux {
    fn translate(
        &mut self,
        core: &mut Core,
        address: u64,
        _size: u8,
        rights: Rights,
    ) -> Result<usize, Exception> {
        core.memory.frame(address, rights).map_err(|fault| {
            self.is_full |= fault == Fault::Full;
            Exception { cause: page_fault(rights), value: address }
        })
    }

    fn read_csr(&mut self, core: &mut Core, csr: u16) -> Result<u64, Exception> {
        const CYCLE: u16 = 0xc00;
        const TIME: u16 = 0xc01;
        const INSTRET: u16 = 0xc02;
        /// Nanoseconds per tick of TIME: 10 MHz, as in QEMU's machine.
        const TICK: u64 = 100;
        /// Distance to the upper half of a counter on RV32.
        const HIGH: u16 = 0x80;
        let value = match csr & !HIGH {
            CYCLE | INSTRET => core.instret,
            TIME => self.clock.monotonic(core) / TICK,
            _ => return Err(ILLEGAL),
        };
        match (csr & HIGH != 0, core.is_rv32) {
            (false, false) => Ok(value),
            (false, true) => Ok(value as i32 as u64),
            (true, true) => Ok((value >> 32) as i32 as u64),
            (true, false) => Err(ILLEGAL),
        }
    }

    fn write_csr(&mut self, _: &mut Core, _: u16, _: u64) -> Result<(), Exception> {
        Err(ILLEGAL)
    }

    fn privileged(&mut self, _: &mut Core, _: Op) -> Result<u64, Exception> {
        Err(ILLEGAL)
    }

    fn exception(&mut self, core: &mut Core, exception: Exception) -> Result<Served, Stop> {
        let result = if exception.cause == cause::ECALL_U {
            self.call(core).map(|()| Served::Machine)
        } else {
            self.fault(core, exception)
        };
        if result.is_err() {
            self.end_shared(core, &(0..u64::MAX));
        }
        result
    }

    fn poll(&mut self, core: &mut Core) -> Result<Option<u64>, Stop> {
        /// Supervisor timer interrupt, which ends the time slice of a thread. There are no other interrupts.
        const TIMER: u64 = 5;
        Ok(self.next_turn(core)?.then_some(TIMER))
    }

    fn privilege(&self) -> Privilege {
        Privilege::User
    }

    fn context(&self) -> u64 {
        self.threads.number()
    }
}
