//! Trap entry and return.

use crate::Privilege;
use crate::execute::ILLEGAL;
use crate::machine::{Exception, Stop, cause::describe};
use crate::state::Core;

use super::csrs::{Csrs, MIE, MPIE, MPP, MPRV, SIE, SPIE, SPP, TSR};

impl Csrs {
    /// Enters the handler of a trap at `core.pc`.
    pub fn enter(&mut self, core: &mut Core, cause: u64, interrupt: bool, value: u64) -> Result<(), Stop> {
        let delegated = if interrupt { self.mideleg } else { self.medeleg };
        let to_s = self.privilege < Privilege::Machine && delegated >> cause.min(63) & 1 == 1;
        let sign = if core.is_rv32 { 1 << 31 } else { 1 << 63 };
        let full_cause = cause | if interrupt { sign } else { 0 };
        let vector = if to_s { self.stvec } else { self.mtvec };
        let offset = if interrupt && vector & 1 == 1 { 4 * cause } else { 0 };
        let handler = core.address((vector & !3).wrapping_add(offset));
        let to = if to_s { Privilege::Supervisor } else { Privilege::Machine };
        // From a lower privilege, the same address may be other code, or forbidden only there.
        let again = handler == core.pc && self.privilege == to && !interrupt;
        if again || vector == 0 {
            // The handler itself traps, or there is none: this would repeat forever.
            return Err(Stop::Fault(format!(
                "{} at {:#x} (value {value:#x}), and {}",
                describe(cause, interrupt),
                core.pc,
                if vector == 0 { "the program has set no trap handler" } else { "its handler is there too" }
            )));
        }
        let from = self.privilege as u64;
        if to_s {
            (self.sepc, self.scause, self.stval) = (core.pc, full_cause, value);
            let enabled = if self.mstatus & SIE != 0 { SPIE } else { 0 };
            self.mstatus = self.mstatus & !(SIE | SPIE | SPP) | enabled | if from == 0 { 0 } else { SPP };
        } else {
            (self.mepc, self.mcause, self.mtval) = (core.pc, full_cause, value);
            let enabled = if self.mstatus & MIE != 0 { MPIE } else { 0 };
            self.mstatus = self.mstatus & !(MIE | MPIE | MPP) | enabled | from << 11;
        }
        self.go(core, to);
        core.pc = handler;
        core.reservation = None;
        Ok(())
    }

    /// Executes MRET. Returns the next address.
    pub fn mret(&mut self, core: &mut Core) -> Result<u64, Exception> {
        if self.privilege != Privilege::Machine {
            return Err(ILLEGAL);
        }
        let to = self.previous();
        let enabled = if self.mstatus & MPIE != 0 { MIE } else { 0 };
        self.mstatus = self.mstatus & !(MIE | MPP) | MPIE | enabled;
        if to != Privilege::Machine {
            self.mstatus &= !MPRV;
        }
        self.go(core, to);
        Ok(core.address(self.mepc))
    }

    /// Executes SRET. Returns the next address.
    pub fn sret(&mut self, core: &mut Core) -> Result<u64, Exception> {
        self.may_unless(TSR)?;
        let to = if self.mstatus & SPP != 0 { Privilege::Supervisor } else { Privilege::User };
        let enabled = if self.mstatus & SPIE != 0 { SIE } else { 0 };
        self.mstatus = self.mstatus & !(SIE | SPP | MPRV) | SPIE | enabled;
        self.go(core, to);
        Ok(core.address(self.sepc))
    }

    fn go(&mut self, core: &mut Core, to: Privilege) {
        // MPRV and the user bit of pages change the meaning of addresses.
        core.tlb.flush();
        self.privilege = to;
    }
}
