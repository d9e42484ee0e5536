//! Privileged registers.

use crate::Privilege;
use crate::execute::ILLEGAL;
use crate::machine::Exception;
use crate::memory::{PAGE, Rights};
use crate::state::Core;

use super::Options;
use super::counter::Counter;
use super::pmp::Pmp;

/// Privileged registers, and the current privilege.
#[derive(Clone, Debug, Default)]
pub(super) struct Csrs {
    pub privilege: Privilege,
    is_rv32: bool,
    pub mstatus: u64,
    misa: u64,
    pub medeleg: u64,
    /// Exceptions that can be delegated.
    delegable: u64,
    pub mideleg: u64,
    mie: u64,
    /// Interrupts set pending by software.
    mip: u64,
    /// Interrupts set pending by devices.
    pub pending: u64,
    /// External interrupt line, as bits of mip.
    pub external: u64,
    /// Time, for reads.
    pub time: u64,
    pub mtvec: u64,
    pub stvec: u64,
    mcounteren: u64,
    scounteren: u64,
    mscratch: u64,
    sscratch: u64,
    pub mepc: u64,
    pub sepc: u64,
    pub mcause: u64,
    pub scause: u64,
    pub mtval: u64,
    pub stval: u64,
    satp: u64,
    menvcfg: u64,
    senvcfg: u64,
    /// mcycle and minstret.
    cycle: Counter,
    instret: Counter,
    pub pmp: Pmp,
}

pub(super) const SIE: u64 = 1 << 1;
pub(super) const MIE: u64 = 1 << 3;
pub(super) const SPIE: u64 = 1 << 5;
pub(super) const MPIE: u64 = 1 << 7;
pub(super) const SPP: u64 = 1 << 8;
pub(super) const MPP: u64 = 3 << 11;
const FS: u64 = 3 << 13;
pub(super) const MPRV: u64 = 1 << 17;
pub(super) const SUM: u64 = 1 << 18;
pub(super) const MXR: u64 = 1 << 19;
pub(super) const TVM: u64 = 1 << 20;
pub(super) const TW: u64 = 1 << 21;
pub(super) const TSR: u64 = 1 << 22;

const MSTATUS_WRITABLE: u64 = SIE | MIE | SPIE | MPIE | SPP | MPP | FS | MPRV | SUM | MXR | TVM | TW | TSR;
const SSTATUS: u64 = SIE | SPIE | SPP | FS | SUM | MXR;
/// Software, timer and external interrupts of S mode.
const S_INTERRUPTS: u64 = 0x222;
const M_INTERRUPTS: u64 = 0x888;
pub(super) const SEIP: u64 = 1 << 9;
pub(super) const MEIP: u64 = 1 << 11;
/// Exceptions that may be delegated: all but ECALL from M mode.
const EXCEPTIONS: u64 = 0xb3ff;

impl Csrs {
    pub fn new(is_rv32: bool, options: &Options) -> Self {
        // A, C, D, F, I, M, S, U.
        let extensions = 0x14_112d;
        let mxl = if is_rv32 { 1 << 30 } else { 2 << 62 };
        Self {
            is_rv32,
            misa: extensions | mxl,
            delegable: EXCEPTIONS & !u64::from(!options.delegates_misaligned_jumps),
            pmp: Pmp { regions: options.pmp_regions.min(16), ..Pmp::default() },
            ..Self::default()
        }
    }

    /// Returns the privilege in MPP.
    pub fn previous(&self) -> Privilege {
        Privilege::from_bits(self.mstatus >> 11 & 3).unwrap_or(Privilege::Machine)
    }

    /// Returns the effective privilege of an access.
    pub fn privilege_for(&self, rights: Rights) -> Privilege {
        if rights != Rights::EXECUTE && self.mstatus & MPRV != 0 {
            return self.previous();
        }
        self.privilege
    }

    /// Returns the number of page table levels and the table's address; `None` if addresses are physical.
    pub fn page_table(&self) -> Option<(u32, u64)> {
        if self.is_rv32 {
            return (self.satp >> 31 & 1 == 1).then_some((2, (self.satp & 0x3f_ffff) * PAGE));
        }
        let root = (self.satp & ((1 << 44) - 1)) * PAGE;
        match self.satp >> 60 {
            8 => Some((3, root)),
            9 => Some((4, root)),
            10 => Some((5, root)),
            _ => None,
        }
    }

    pub fn asid(&self) -> u64 {
        if self.is_rv32 { self.satp >> 22 & 0x1ff } else { self.satp >> 44 & 0xffff }
    }

    /// Returns the pending interrupts.
    pub fn mip(&self) -> u64 {
        self.mip | self.pending
    }

    /// Returns the interrupts that are pending because of devices only, not of software.
    pub fn only_outside(&self) -> u64 {
        self.pending & !self.mip
    }

    /// Returns the number of the interrupt to take now.
    pub fn interrupt(&self) -> Option<u64> {
        let pending = self.mip() & self.mie;
        let m_enabled = self.privilege < Privilege::Machine || self.mstatus & MIE != 0;
        let s_enabled = self.privilege < Privilege::Supervisor
            || self.privilege == Privilege::Supervisor && self.mstatus & SIE != 0;
        let for_m = if m_enabled { pending & !self.mideleg } else { 0 };
        let for_s = if s_enabled { pending & self.mideleg } else { 0 };
        let enabled = if for_m != 0 { for_m } else { for_s };
        // External before software before timer; M before S.
        [11, 3, 7, 9, 1, 5].into_iter().find(|number| enabled >> number & 1 == 1)
    }

    /// Checks the right to an instruction that traps in U mode, and in S mode if this bit of mstatus is set.
    pub fn may_unless(&self, bit: u64) -> Result<(), Exception> {
        match self.privilege {
            Privilege::Machine => Ok(()),
            Privilege::Supervisor if self.mstatus & bit == 0 => Ok(()),
            _ => Err(ILLEGAL),
        }
    }

    /// Returns mstatus with its derived bits: FS dirty, and SD.
    fn status(&self, core: &Core) -> u64 {
        let fs = if core.fp_dirty && self.mstatus & FS != 0 { FS } else { self.mstatus & FS };
        let status = self.mstatus & !FS | fs;
        let dirty = if fs != FS {
            0
        } else if self.is_rv32 {
            1 << 31
        } else {
            1 << 63
        };
        let xl = if self.is_rv32 { 0 } else { 0xa << 32 };
        status | dirty | xl
    }

    fn set_status(&mut self, core: &mut Core, value: u64, writable: u64) {
        let mut value = self.mstatus & !writable | value & writable & MSTATUS_WRITABLE;
        // Privilege 2 does not exist.
        if value & MPP == 2 << 11 {
            value = value & !MPP | self.mstatus & MPP;
        }
        let on = value & FS != 0;
        core.fp_dirty = value & FS == FS;
        if core.fp_enabled != on {
            core.fp_enabled = on;
            core.code_changed = true;
        }
        if (self.mstatus ^ value) & (MPRV | SUM | MXR | MPP) != 0 {
            core.tlb.flush();
        }
        self.mstatus = value;
    }

    fn counter(&self, bit: u16) -> Result<(), Exception> {
        let bit = 1 << bit;
        let ok = match self.privilege {
            Privilege::Machine => true,
            Privilege::Supervisor => self.mcounteren & bit != 0,
            Privilege::User => self.mcounteren & self.scounteren & bit != 0,
        };
        if ok { Ok(()) } else { Err(ILLEGAL) }
    }

    pub fn read(&mut self, core: &mut Core, csr: u16) -> Result<u64, Exception> {
        // Bits 9:8 give the required privilege.
        if (self.privilege as u16) < csr >> 8 & 3 {
            return Err(ILLEGAL);
        }
        let cycle = self.cycle.value(core.instret);
        let instret = self.instret.value(core.instret);
        Ok(match csr {
            0x100 => self.status(core) & (SSTATUS | 1 << 63 | 1 << 31 | 3 << 32),
            0x104 => self.mie & self.mideleg,
            0x144 => self.mip() & self.mideleg,
            0x180 => {
                self.may_unless(TVM)?;
                self.satp
            }
            0x300 => self.status(core),
            0x320 => u64::from(self.cycle.stopped) | u64::from(self.instret.stopped) << 2,
            0x344 => self.mip(),
            0x3a0..=0x3af if self.pmp.regions > 0 => self.pmp_config(csr - 0x3a0)?,
            0x3b0..=0x3bf if self.pmp.regions > 0 => self.pmp.address[usize::from(csr - 0x3b0)],
            0xb00 => cycle,
            0xb02 => instret,
            0xb80 if self.is_rv32 => cycle >> 32,
            0xb82 if self.is_rv32 => instret >> 32,
            0xc00..=0xc02 => {
                self.counter(csr - 0xc00)?;
                [cycle, self.time, instret][usize::from(csr - 0xc00)]
            }
            0xc80..=0xc82 if self.is_rv32 => {
                self.counter(csr - 0xc80)?;
                [cycle, self.time, instret][usize::from(csr - 0xc80)] >> 32
            }
            _ if self.is_zero(csr) => 0,
            _ => *self.stored(csr).ok_or(ILLEGAL)?.0,
        })
    }

    /// Returns whether a register is always zero.
    fn is_zero(&self, csr: u16) -> bool {
        match csr {
            // Event counters, which count nothing; triggers.
            0x323..=0x33f | 0xb03..=0xb1f | 0x7a0..=0x7a3 => true,
            0x310 | 0x31a | 0xb83..=0xb9f => self.is_rv32,
            // Vendor, architecture and implementation: none; hart 0.
            0xf11..=0xf15 => true,
            _ => false,
        }
    }

    /// Returns a register that keeps what is written to it, and its writable bits.
    fn stored(&mut self, csr: u16) -> Option<(&mut u64, u64)> {
        const ALL: u64 = u64::MAX;
        // Trap vectors have two known modes.
        const VECTOR: u64 = !2;
        Some(match csr {
            0x105 => (&mut self.stvec, VECTOR),
            0x106 => (&mut self.scounteren, 0xffff_ffff),
            0x10a => (&mut self.senvcfg, 1),
            0x140 => (&mut self.sscratch, ALL),
            0x141 => (&mut self.sepc, !1),
            0x142 => (&mut self.scause, ALL),
            0x143 => (&mut self.stval, ALL),
            // The extensions cannot be changed.
            0x301 => (&mut self.misa, 0),
            0x302 => (&mut self.medeleg, self.delegable),
            0x303 => (&mut self.mideleg, S_INTERRUPTS),
            0x304 => (&mut self.mie, S_INTERRUPTS | M_INTERRUPTS),
            0x305 => (&mut self.mtvec, VECTOR),
            0x306 => (&mut self.mcounteren, 0xffff_ffff),
            0x30a => (&mut self.menvcfg, 1),
            0x340 => (&mut self.mscratch, ALL),
            0x341 => (&mut self.mepc, !1),
            0x342 => (&mut self.mcause, ALL),
            0x343 => (&mut self.mtval, ALL),
            _ => return None,
        })
    }

    fn pmp_config(&self, register: u16) -> Result<u64, Exception> {
        let (first, count) = self.pmp_regions_of(register)?;
        let configs = self.pmp.config[first..first + count].iter().rev();
        Ok(configs.fold(0, |all, &config| all << 8 | u64::from(config)))
    }

    /// Returns the first region in a configuration register, and the number of regions in it.
    fn pmp_regions_of(&self, register: u16) -> Result<(usize, usize), Exception> {
        let first = usize::from(register) * 4;
        match self.is_rv32 {
            _ if first >= 16 => Err(ILLEGAL),
            true => Ok((first, 4)),
            false if register.is_multiple_of(2) => Ok((first, 8)),
            false => Err(ILLEGAL),
        }
    }

    pub fn write(&mut self, core: &mut Core, csr: u16, value: u64) -> Result<(), Exception> {
        if (self.privilege as u16) < csr >> 8 & 3 {
            return Err(ILLEGAL);
        }
        let value = if self.is_rv32 { value & 0xffff_ffff } else { value };
        match csr {
            0x100 => self.set_status(core, value, SSTATUS),
            0x104 => self.mie = self.mie & !self.mideleg | value & self.mideleg & S_INTERRUPTS,
            0x144 => self.mip = self.mip & !(self.mideleg & 2) | value & self.mideleg & 2,
            0x180 => {
                self.may_unless(TVM)?;
                self.set_satp(core, value);
            }
            0x300 => self.set_status(core, value, MSTATUS_WRITABLE),
            0x320 => {
                self.cycle.stop(value & 1 != 0, core.instret + 1);
                self.instret.stop(value & 4 != 0, core.instret + 1);
            }
            0x344 => self.mip = value & S_INTERRUPTS,
            0x3a0..=0x3af if self.pmp.regions > 0 => {
                let (first, count) = self.pmp_regions_of(csr - 0x3a0)?;
                for (i, byte) in value.to_le_bytes().into_iter().take(count).enumerate() {
                    self.pmp.set_config(first + i, byte);
                }
                core.tlb.flush();
                core.code_changed = true;
            }
            0x3b0..=0x3bf if self.pmp.regions > 0 => {
                self.pmp.set_address(usize::from(csr - 0x3b0), value);
                core.tlb.flush();
                core.code_changed = true;
            }
            // The written value is what the next instruction counts from.
            0xb00 | 0xb02 | 0xb80 | 0xb82 if self.is_rv32 || csr < 0xb80 => {
                let counter = if csr & 2 == 0 { &mut self.cycle } else { &mut self.instret };
                let old = counter.value(core.instret);
                let new = match csr {
                    0xb80 | 0xb82 => value << 32 | old & 0xffff_ffff,
                    _ if self.is_rv32 => old >> 32 << 32 | value,
                    _ => value,
                };
                counter.set(new, core.instret + 1);
            }
            _ if self.is_zero(csr) => {}
            _ => {
                let (register, writable) = self.stored(csr).ok_or(ILLEGAL)?;
                *register = *register & !writable | value & writable;
            }
        }
        Ok(())
    }

    fn set_satp(&mut self, core: &mut Core, value: u64) {
        let known = if self.is_rv32 { true } else { matches!(value >> 60, 0 | 8..=10) };
        if known {
            self.satp = value;
            core.tlb.flush();
            core.code_changed = true;
        }
    }
}
