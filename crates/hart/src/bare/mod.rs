//! A bare machine: a hart with M, S and U mode, memory, a timer, and a host interface.
//!
//! Where the architecture leaves a choice it behaves like Spike, so that retirements can be compared: time advances,
//! and the host looks at `tohost`, every [`QUANTUM`] instructions and after each trap.

mod console;
mod counter;
mod csrs;
mod devices;
#[cfg_attr(not(target_os = "linux"), path = "no_host_files.rs")]
mod host_files;
mod htif;
mod load;
mod paging;
mod pmp;
mod rom;
mod semihosting;
mod trap;

use std::io::{self, Write};
use std::path::PathBuf;

use tracewright_isa::riscv::Op;

use crate::Privilege;
use crate::execute::ILLEGAL;
use crate::machine::{Exception, Machine, Served, Stop, access_fault, cause};
use crate::memory::{Fault, PAGE, Rights};
use crate::state::Core;

use self::console::Console;
use self::csrs::Csrs;
use self::devices::{Clint, Plic, Uart};
use self::host_files::HostFiles;
use self::htif::Htif;

#[cfg(target_os = "linux")]
pub(crate) use self::load::MOST_HEADERS;
pub use self::load::{LoadError, is_for_it};

/// Number of instructions after which time advances and the host looks.
pub const QUANTUM: u64 = 5000;
/// Timer ticks in a quantum.
const TICKS: u64 = 50;

/// Configuration of a bare machine.
#[derive(Clone, Debug)]
pub struct Options {
    /// Size in bytes of the memory at 0x8000_0000.
    pub memory: u64,
    /// Additional memory: addresses and sizes.
    pub more_memory: Vec<(u64, u64)>,
    /// Maximum number of bytes that may be touched.
    pub limit: usize,
    /// Number of regions of physical memory protection: 0 to 16.
    pub pmp_regions: u8,
    /// Set if loads and stores need not be aligned.
    pub misaligned: bool,
    /// Set if misaligned-jump exceptions, which cannot occur with compressed instructions, can be delegated to S mode.
    /// The proxy kernel needs this; Spike does not have it.
    pub delegates_misaligned_jumps: bool,
    /// Start address, instead of the ROM that jumps to the program's entry point.
    pub entry: Option<u64>,
    /// Changes of the external interrupt line, sorted: instructions retired and new level.
    pub external: Vec<(u64, bool)>,
    /// Set if the host answers as soon as the program has written to `tohost`, not only after each [`QUANTUM`].
    /// Otherwise a program that waits for its end executes a loop of arbitrary length. Spike does not do this.
    pub host_is_quick: bool,
    /// Arguments of the program, its name first. Programs under a proxy kernel ask for them.
    pub arguments: Vec<String>,
    /// Folder whose files the program may read through the host (HTIF). `None` if it may read none.
    pub host_files: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            more_memory: Vec::new(),
            limit: 4 << 30,
            pmp_regions: 16,
            misaligned: false,
            delegates_misaligned_jumps: true,
            entry: None,
            external: Vec::new(),
            host_is_quick: false,
            arguments: Vec::new(),
            host_files: None,
        }
    }
}

/// A bare machine.
pub struct Bare {
    csrs: Csrs,
    clint: Clint,
    plic: Plic,
    uart: Uart,
    htif: Htif,
    host_is_quick: bool,
    /// Set if the program has written to `tohost`, or is about to.
    host_is_called: bool,
    external: Vec<(u64, bool)>,
    /// Value of `instret` at which the quantum ends.
    quantum_end: u64,
    limit: usize,
    /// Set if the memory limit was reached.
    is_full: bool,
    out: Console,
}

impl std::fmt::Debug for Bare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bare").field("csrs", &self.csrs).finish_non_exhaustive()
    }
}

/// Returns the code of the boot ROM and its address, if execution is about to begin there.
pub fn boot_code(core: &mut Core) -> Option<(u64, Vec<u8>)> {
    let code = (core.pc == rom::START).then(|| core.memory.peek::<{ rom::CODE }>(rom::START)).flatten();
    code.map(|code| (rom::START, code.to_vec()))
}

impl Bare {
    /// Creates a machine with the program `elf` in its memory, and the hart's state at reset. Output of the program
    /// goes to `out`.
    ///
    /// # Errors
    /// Returns an error if `elf` is not an ELF file for this machine.
    pub fn new(elf: &[u8], options: &Options, out: Box<dyn Write + Send>) -> Result<(Core, Self), LoadError> {
        let loaded = load::load(elf, options)?;
        let mut core = loaded.core;
        core.misaligned = options.misaligned;
        core.fp_enabled = false;
        core.deadline = QUANTUM;
        let mut external = options.external.clone();
        external.reverse();
        let files = match &options.host_files {
            None => None,
            Some(folder) => Some(HostFiles::below(folder).map_err(|error| {
                LoadError(format!(
                    "may read the files in {}, which cannot be opened: {error}",
                    folder.display()
                ))
            })?),
        };
        let machine = Self {
            csrs: Csrs::new(core.is_rv32, options),
            clint: Clint::new(),
            plic: Plic::default(),
            uart: Uart::default(),
            htif: Htif::new([loaded.tohost, loaded.fromhost], options.arguments.clone(), files),
            host_is_quick: options.host_is_quick,
            host_is_called: false,
            external,
            quantum_end: QUANTUM,
            limit: options.limit,
            is_full: false,
            out: Console::new(out),
        };
        Ok((core, machine))
    }

    /// Returns warnings for the user.
    pub fn warnings(&self) -> Vec<String> {
        let refused = |path| {
            format!(
                "the program asked the host for the file {path:?} and was refused: --host-files FOLDER lets it read the files \
                 below FOLDER"
            )
        };
        self.htif.refused.as_ref().map(refused).into_iter().collect()
    }

    /// Requests a poll at the next block.
    fn look(&self, core: &mut Core) {
        core.deadline = core.instret;
    }
}

impl Machine for Bare {
    fn translate(
        &mut self,
        core: &mut Core,
        address: u64,
        size: u8,
        rights: Rights,
    ) -> Result<usize, Exception> {
        let physical = paging::translate(&self.csrs, core, address, rights)?;
        let fault = Exception { cause: access_fault(rights), value: address };
        let privilege = self.csrs.privilege_for(rights);
        if [Clint::RANGE, Plic::RANGE, Uart::RANGE].iter().any(|device| device.contains(&physical)) {
            // A device is checked for the size of the access only, not for a whole page.
            let allowed = self.csrs.pmp.allows(physical, size.into(), rights, privilege);
            return Err(if rights == Rights::EXECUTE || !allowed { fault } else { Exception::DEVICE });
        }
        if !self.csrs.pmp.allows(physical / PAGE * PAGE, PAGE, rights, privilege) {
            // Only part of the page may be allowed, so each access must be checked.
            if !self.csrs.pmp.allows(physical, size.into(), rights, privilege) {
                return Err(fault);
            }
            core.tlb.skip_next();
        }
        if self.host_is_quick && rights == Rights::WRITE && self.htif.shares_page(physical) {
            // Each store must be checked.
            core.tlb.skip_next();
            if self.htif.is_called_by(physical) {
                self.host_is_called = true;
                self.look(core);
            }
        }
        core.memory.frame(physical, Rights::NONE).map_err(|error| {
            self.is_full |= error == Fault::Full;
            fault
        })
    }

    fn load(&mut self, core: &mut Core, address: u64, size: u8) -> Result<u64, Exception> {
        let physical = paging::translate(&self.csrs, core, address, Rights::READ)?;
        let fault = Exception { cause: cause::LOAD_ACCESS_FAULT, value: address };
        match physical {
            at if Plic::RANGE.contains(&at) => self.plic.load(at, size),
            at if Uart::RANGE.contains(&at) => Some(self.uart.load(at)),
            at => self.clint.load(at, size),
        }
        .ok_or(fault)
    }

    fn store(&mut self, core: &mut Core, address: u64, size: u8, value: u64) -> Result<(), Exception> {
        let physical = paging::translate(&self.csrs, core, address, Rights::WRITE)?;
        let fault = Exception { cause: cause::STORE_ACCESS_FAULT, value: address };
        match physical {
            at if Plic::RANGE.contains(&at) => self.plic.store(at, size, value),
            at if Uart::RANGE.contains(&at) => {
                self.uart.store(at, value, &mut self.out);
                Some(())
            }
            at => self.clint.store(at, size, value),
        }
        .ok_or(fault)
    }

    fn read_csr(&mut self, core: &mut Core, csr: u16) -> Result<u64, Exception> {
        self.csrs.pending = self.clint.pending() | self.csrs.external;
        self.csrs.time = self.clint.time;
        self.csrs.read(core, csr)
    }

    fn write_csr(&mut self, core: &mut Core, csr: u16, value: u64) -> Result<(), Exception> {
        self.csrs.write(core, csr, value)?;
        self.look(core);
        Ok(())
    }

    fn outside_bits(&self, csr: u16) -> u64 {
        // mip, sip
        if matches!(csr, 0x344 | 0x144) { self.csrs.only_outside() } else { 0 }
    }

    fn privileged(&mut self, core: &mut Core, op: Op) -> Result<u64, Exception> {
        let next = core.address(core.pc.wrapping_add(4));
        self.look(core);
        match op {
            Op::Mret => self.csrs.mret(core),
            Op::Sret => self.csrs.sret(core),
            Op::SfenceVma => {
                self.csrs.may_unless(csrs::TVM)?;
                core.tlb.flush();
                core.code_changed = true;
                Ok(next)
            }
            Op::Wfi => {
                self.csrs.may_unless(csrs::TW)?;
                // Nothing happens until time advances, so it advances at once.
                self.quantum_end = core.instret;
                Ok(next)
            }
            _ => Err(ILLEGAL),
        }
    }

    fn exception(&mut self, core: &mut Core, exception: Exception) -> Result<Served, Stop> {
        if exception.cause == cause::BREAKPOINT && semihosting::is_call(core) {
            let result = semihosting::serve(core, &mut self.out);
            self.out.check(result)?;
            return Ok(Served::Machine);
        }
        if self.is_full {
            // The program did nothing wrong that a handler of its own could correct.
            let limit = self.limit >> 20;
            return Err(Stop::Fault(format!(
                "the program needs more than the {limit} MiB of memory it may use; see --memory"
            )));
        }
        self.quantum_end = core.instret;
        self.look(core);
        self.csrs.enter(core, exception.cause, false, exception.value)?;
        Ok(Served::Handler)
    }

    fn poll(&mut self, core: &mut Core) -> Result<Option<u64>, Stop> {
        if core.instret >= self.quantum_end {
            self.clint.advance(TICKS);
            self.quantum_end = core.instret + QUANTUM;
            self.host_is_called = true;
        }
        if std::mem::take(&mut self.host_is_called) {
            let result = self.htif.look(core, &mut self.out);
            self.out.check(result)?;
        }
        while self.external.last().is_some_and(|&(at, _)| at <= core.instret) {
            if let Some((_, level)) = self.external.pop() {
                self.csrs.external = if level { csrs::MEIP | csrs::SEIP } else { 0 };
            }
        }
        let next_change = self.external.last().map_or(u64::MAX, |&(at, _)| at);
        core.deadline = self.quantum_end.min(next_change).max(core.instret + 1);
        self.csrs.pending = self.clint.pending() | self.csrs.external;
        let Some(cause) = self.csrs.interrupt() else { return Ok(None) };
        self.quantum_end = core.instret;
        self.look(core);
        self.csrs.enter(core, cause, true, 0)?;
        Ok(Some(cause))
    }

    fn privilege(&self) -> Privilege {
        self.csrs.privilege
    }

    fn context(&self) -> u64 {
        self.csrs.asid()
    }
}

/// Returns standard output, for [`Bare::new`].
pub fn standard_output() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}
