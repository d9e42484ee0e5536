//! Lines that Spike's log and logs in its style share, and how they are joined to one record for each instruction.

use tracewright_core::Flow;
use tracewright_isa::riscv::{AccessKind, Xlen, decode};

use super::LogError;
use super::lines::Scan;
use crate::{Access, Privilege, Retired, Trap, cause};

/// Content of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// An instruction that is about to run.
    Listed(Retired),
    /// An instruction that retired.
    Committed(Retired),
    /// A trap.
    Trap(Trap),
    /// Value of mtval after the preceding trap.
    TrapValue(u64),
}

/// Parses `0xADDRESS (0xBITS)`, which all lines about instructions have.
pub(super) fn place(scan: &mut Scan<'_>, xlen: Xlen, line: u64) -> Result<Retired, LogError> {
    let expected = "an address and an instruction: 0x... (0x...)";
    let before = scan.0;
    let place = (|| {
        let pc = scan.hex()?;
        scan.spaces();
        scan.eat("(").then_some(())?;
        let bits = u32::try_from(scan.hex()?).ok()?;
        scan.eat(")").then_some(())?;
        scan.spaces();
        Some((pc, bits))
    })();
    let (pc, bits) = place.ok_or_else(|| LogError::line(line, expected, before))?;
    // Some logs include the bits after a compressed instruction.
    let bits = if bits & 3 == 3 { bits } else { bits & 0xffff };
    Ok(Retired::new(address(xlen, pc), bits))
}

/// Undoes the sign extension of RV32 addresses by old versions of Spike.
pub(super) fn address(xlen: Xlen, address: u64) -> u64 {
    if xlen == Xlen::Rv32 { address & 0xffff_ffff } else { address }
}

/// Parses `PRIVILEGE 0xADDRESS (0xBITS) EFFECTS`. `untold` counts accesses of unknown instructions.
pub(super) fn committed(
    scan: &mut Scan<'_>,
    xlen: Xlen,
    line: u64,
    untold: &mut u64,
) -> Result<Retired, LogError> {
    let before = scan.0;
    let privilege = scan.decimal().and_then(Privilege::from_bits);
    let privilege = privilege.ok_or_else(|| LogError::line(line, "a privilege: 0, 1 or 3", before))?;
    scan.spaces();
    let retired = place(scan, xlen, line)?;
    let effects = Effects::read(scan, line)?;
    let access = effects.access(xlen, retired.bits);
    if access.is_none() {
        *untold += u64::from(effects.load.is_some()) + u64::from(effects.store.is_some());
    }
    Ok(Retired { privilege: Some(privilege), access, ..retired })
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
    fn read(scan: &mut Scan<'_>, line: u64) -> Result<Self, LogError> {
        let mut effects = Self::default();
        while !scan.0.is_empty() {
            let before = scan.0;
            match scan.word() {
                b"mem" => {
                    let load = Scan(scan.word()).hex();
                    let load = load.ok_or_else(|| LogError::line(line, "an address after mem", before))?;
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

    /// Returns the memory access. Its size is that of the instruction. A loaded value is known if it was written to a
    /// register.
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
#[derive(Debug, Default)]
pub(super) struct Join {
    pending: Option<Retired>,
    /// Set if the pending record is listed and may yet be committed.
    is_listed: bool,
}

impl Join {
    /// Takes the content of the next line. Returns a record that is now complete.
    pub fn take(&mut self, event: Event) -> Option<Retired> {
        match event {
            Event::Listed(listed) => self.replace(listed, true),
            Event::Committed(committed) => match &mut self.pending {
                Some(pending)
                    if self.is_listed && (pending.pc, pending.bits) == (committed.pc, committed.bits) =>
                {
                    *pending = Retired { cycle: pending.cycle, ..committed };
                    self.is_listed = false;
                    None
                }
                _ => self.replace(committed, false),
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
                    _ => self.replace(Retired::trap(trap), false),
                }
            }
            Event::TrapValue(value) => {
                if let Some(trap) = self.pending.as_mut().and_then(|pending| pending.trap.as_mut()) {
                    trap.value = value;
                }
                None
            }
        }
    }

    /// Returns the last record.
    pub fn finish(&mut self) -> Option<Retired> {
        self.is_listed = false;
        self.pending.take()
    }

    /// Returns the address after the last instruction; 0 if unknown.
    pub fn next(&self, xlen: Xlen) -> u64 {
        let Some(last) = self.pending.filter(|last| last.trap.is_none()) else { return 0 };
        let instruction = decode(xlen, last.bits);
        let class = instruction.class();
        match class.flow {
            Flow::Direct if !class.conditional => address(xlen, instruction.target(last.pc)),
            Flow::Direct | Flow::Indirect | Flow::Pair => 0,
            _ => address(xlen, last.pc.wrapping_add(u64::from(last.len))),
        }
    }

    fn replace(&mut self, with: Retired, is_listed: bool) -> Option<Retired> {
        self.is_listed = is_listed;
        self.pending.replace(with)
    }
}
