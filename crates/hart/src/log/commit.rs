//! Contents of lines, and how they are joined to one record for each instruction.

use tracewright_core::Flow;
use tracewright_isa::riscv::{AccessKind, Xlen, decode};

use super::LineProblem;
use super::lines::Scan;
use crate::{Access, Privilege, Retired, Trap, cause};

/// Content of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// An instruction that is about to run.
    Listed(Retired),
    /// An instruction that retired.
    Committed(Retired),
    Trap(Trap),
    /// Value of mtval after the preceding trap.
    TrapValue(u64),
    /// An interrupt at an address that is not told, and the first instruction of its handler, which is about to run.
    Interrupt(Retired),
    /// An instruction or trap to which no other line adds anything.
    Complete(Retired),
    /// The last instruction did not run if it is at this address.
    Stopped(u64),
}

/// Cause of an interrupt whose cause is not in the log.
pub const UNTOLD: u64 = u64::MAX;

/// Creates a trap of which nothing else is told.
pub(super) fn trap(pc: u64, cause: u64, interrupt: bool) -> Trap {
    Trap { pc, cause, interrupt, value: 0, next: 0, served: false }
}

/// Returns whether a line begins as a commit without its core does: with a privilege and an address.
pub(super) fn is_bare(line: &[u8]) -> bool {
    matches!(line, [b'0'..=b'3', b' ', b'0', b'x', ..])
}

/// Creates a record of an instruction. Some logs include the bits after a compressed one, and old versions of Spike
/// sign-extend addresses of RV32.
pub(super) fn instruction(xlen: Xlen, pc: u64, bits: u32) -> Retired {
    Retired::new(address(xlen, pc), if bits & 3 == 3 { bits } else { bits & 0xffff })
}

/// Undoes the sign extension of RV32 addresses.
pub(super) fn address(xlen: Xlen, address: u64) -> u64 {
    if xlen == Xlen::Rv32 { address & 0xffff_ffff } else { address }
}

/// Parses `0xADDRESS (0xBITS)`, which all lines about instructions have.
pub(super) fn place(scan: &mut Scan<'_>, xlen: Xlen) -> Result<Retired, LineProblem> {
    let before = scan.0;
    let place = (|| {
        let pc = scan.hex()?;
        scan.spaces();
        scan.eat("(").then_some(())?;
        let bits = u32::try_from(scan.hex()?).ok()?;
        scan.eat(")").then_some(())?;
        scan.spaces();
        Some(instruction(xlen, pc, bits))
    })();
    place.ok_or_else(|| LineProblem::unexpected("an address and an instruction: 0x... (0x...)", before))
}

/// Parses `PRIVILEGE 0xADDRESS (0xBITS) EFFECTS`.
pub(super) fn committed(scan: &mut Scan<'_>, xlen: Xlen) -> Result<Event, LineProblem> {
    let before = scan.0;
    let privilege = scan.decimal().and_then(Privilege::from_bits);
    let privilege = privilege.ok_or_else(|| LineProblem::unexpected("a privilege: 0, 1 or 3", before))?;
    scan.spaces();
    let retired = place(scan, xlen)?;
    let access = Effects::read(scan)?.access(xlen, retired.bits);
    Ok(Event::Committed(Retired { privilege: Some(privilege), access, ..retired }))
}

/// Registers and memory that an instruction wrote or read.
#[derive(Clone, Copy, Debug, Default)]
struct Effects {
    written: Option<u64>,
    load: Option<u64>,
    store: Option<(u64, u64)>,
}

impl Effects {
    /// Parses `x5  0x1`, `x 5 0x1`, `f5 0x1`, `mem 0x10` (a load), `mem 0x10 0x1` (a store), in any number and order.
    /// Effects on CSRs and vectors are skipped.
    fn read(scan: &mut Scan<'_>) -> Result<Self, LineProblem> {
        let mut effects = Self::default();
        while !scan.0.is_empty() {
            let before = scan.0;
            match scan.word() {
                b"mem" => {
                    let load = Scan(scan.word()).hex();
                    let load = load.ok_or_else(|| LineProblem::unexpected("an address after mem", before))?;
                    match scan.0.starts_with(b"0x") {
                        true => effects.store = Scan(scan.word()).hex().map(|value| (load, value)),
                        false => effects.load = Some(load),
                    }
                }
                [b'x' | b'f', number @ ..] if number.iter().all(u8::is_ascii_digit) => {
                    if number.is_empty() {
                        scan.word();
                    }
                    effects.written = effects.written.or(Scan(scan.word()).hex());
                }
                _ => {}
            }
        }
        Ok(effects)
    }

    /// Returns the memory access; `None` for unknown instructions, such as those on vectors. Its size is that of the
    /// instruction. A loaded value is known if it was written to a register.
    fn access(&self, xlen: Xlen, bits: u32) -> Option<Access> {
        let (kind, size) = decode(xlen, bits).access()?;
        let (address, value) = match kind {
            AccessKind::Store => self.store?,
            AccessKind::Load => (self.load?, self.written.unwrap_or(0)),
            AccessKind::Amo => {
                (self.load.or(self.store.map(|(address, _)| address))?, self.written.unwrap_or(0))
            }
        };
        let value = if size < 8 { value & ((1 << (8 * size)) - 1) } else { value };
        Some(Access { index: 0, kind, size, address: self::address(xlen, address), value })
    }
}

/// Joins lines about the same instruction. A listed one may be committed in the next line, or did not retire because of
/// the next trap. So records are emitted one step late.
#[derive(Debug)]
pub(super) struct Join {
    xlen: Xlen,
    pending: Option<Retired>,
    /// Line of the pending record.
    line: u64,
    /// Set if the pending record is listed and may yet be committed.
    is_listed: bool,
    /// Instruction after the interrupt that was taken last.
    after_interrupt: Option<Retired>,
}

impl Join {
    pub fn new(xlen: Xlen) -> Self {
        Self { xlen, pending: None, line: 0, is_listed: false, after_interrupt: None }
    }

    /// Returns the instruction after an interrupt, which comes before the next line.
    pub fn after_interrupt(&mut self) -> Option<Event> {
        self.after_interrupt.take().map(Event::Listed)
    }

    /// Takes the content of the next line, which has this number. Returns a record that is now complete, and its line.
    pub fn take(&mut self, event: Event, line: u64) -> Option<(u64, Retired)> {
        match event {
            Event::Listed(listed) => self.replace(listed, true, line),
            Event::Committed(committed) => match &mut self.pending {
                Some(pending)
                    if self.is_listed && (pending.pc, pending.bits) == (committed.pc, committed.bits) =>
                {
                    *pending = Retired { cycle: pending.cycle, ..committed };
                    self.is_listed = false;
                    None
                }
                _ => self.replace(committed, false, line),
            },
            Event::Trap(trap) => {
                // Spike lists an instruction after fetching it, and interrupts are taken between instructions.
                let is_before = trap.interrupt
                    || matches!(trap.cause, cause::INSTRUCTION_ACCESS_FAULT | cause::INSTRUCTION_PAGE_FAULT);
                match &mut self.pending {
                    Some(pending) if self.is_listed && pending.pc == trap.pc && !is_before => {
                        pending.trap = Some(trap);
                        self.is_listed = false;
                        None
                    }
                    _ => self.replace(Retired::trap(trap), false, line),
                }
            }
            Event::TrapValue(value) => {
                if let Some(trap) = self.pending.as_mut().and_then(|pending| pending.trap.as_mut()) {
                    trap.value = value;
                }
                None
            }
            Event::Interrupt(listed) => {
                self.after_interrupt = Some(listed);
                self.replace(Retired::trap(trap(self.next(), UNTOLD, true)), false, line)
            }
            Event::Complete(retired) => Some((line, retired)),
            Event::Stopped(pc) => {
                self.pending = self.pending.filter(|pending| pending.pc != pc);
                None
            }
        }
    }

    pub fn finish(&mut self) -> Option<(u64, Retired)> {
        self.is_listed = false;
        self.pending.take().map(|retired| (self.line, retired))
    }

    /// Returns the address after the last instruction; 0 if unknown.
    fn next(&self) -> u64 {
        let Some(last) = self.pending.filter(|last| last.trap.is_none()) else { return 0 };
        let instruction = decode(self.xlen, last.bits);
        let class = instruction.class();
        match class.flow {
            Flow::Direct if !class.conditional => address(self.xlen, instruction.target(last.pc)),
            Flow::Direct | Flow::Indirect | Flow::Pair => 0,
            _ => address(self.xlen, last.pc.wrapping_add(u64::from(last.len))),
        }
    }

    fn replace(&mut self, with: Retired, is_listed: bool, line: u64) -> Option<(u64, Retired)> {
        self.is_listed = is_listed;
        let before = std::mem::replace(&mut self.line, line);
        self.pending.replace(with).map(|retired| (before, retired))
    }
}

/// Returns the cause of the exception with this name.
pub(super) fn cause_of(name: &[u8]) -> Option<u64> {
    let is_it = |names: &&[&str]| names.iter().any(|&one| one.as_bytes() == name);
    NAMES.iter().find(|(_, names)| is_it(names)).map(|&(cause, _)| cause)
}

/// Exception names of Spike, current and old, and of CVA6's tracer.
#[rustfmt::skip]
const NAMES: &[(u64, &[&str])] = &[
    (0, &["trap_instruction_address_misaligned", "trap_misaligned_fetch", "INSTR_ADDR_MISALIGNED"]),
    (1, &["trap_instruction_access_fault", "trap_fault_fetch", "INSTR_ACCESS_FAULT"]),
    (2, &["trap_illegal_instruction", "ILLEGAL_INSTR"]),
    (3, &["trap_breakpoint", "BREAKPOINT"]),
    (4, &["trap_load_address_misaligned", "trap_misaligned_load", "LD_ADDR_MISALIGNED"]),
    (5, &["trap_load_access_fault", "trap_fault_load", "LD_ACCESS_FAULT"]),
    (6, &["trap_store_address_misaligned", "trap_misaligned_store", "ST_ADDR_MISALIGNED"]),
    (7, &["trap_store_access_fault", "trap_fault_store", "ST_ACCESS_FAULT"]),
    (8, &["trap_user_ecall", "ENV_CALL_UMODE"]),
    (9, &["trap_supervisor_ecall", "ENV_CALL_SMODE"]),
    (10, &["trap_virtual_supervisor_ecall", "trap_hypervisor_ecall"]),
    (11, &["trap_machine_ecall", "ENV_CALL_MMODE"]),
    (12, &["trap_instruction_page_fault", "INSTR_PAGE_FAULT"]),
    (13, &["trap_load_page_fault", "LOAD_PAGE_FAULT"]),
    (15, &["trap_store_page_fault", "STORE_PAGE_FAULT"]),
    (16, &["trap_double_trap"]),
    (18, &["trap_software_check"]),
    (19, &["trap_hardware_error"]),
    (20, &["trap_instruction_guest_page_fault"]),
    (21, &["trap_load_guest_page_fault"]),
    (22, &["trap_virtual_instruction"]),
    (23, &["trap_store_guest_page_fault"]),
];
