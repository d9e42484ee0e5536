//! Address translation: Sv32, Sv39, Sv48 and Sv57.

use crate::Privilege;
use crate::machine::{Exception, access_fault, page_fault};
use crate::memory::{PAGE, Rights};
use crate::state::Core;

use super::csrs::{Csrs, MXR, SUM};

const VALID: u64 = 1;
const READ: u64 = 1 << 1;
const WRITE: u64 = 1 << 2;
const EXECUTE: u64 = 1 << 3;
const USER: u64 = 1 << 4;
/// Bits without a defined meaning, which must be zero.
const RESERVED: u64 = 0x3ff << 54;
const ACCESSED: u64 = 1 << 6;
const DIRTY: u64 = 1 << 7;

/// Translates `address` to a physical address.
pub(super) fn translate(
    csrs: &Csrs,
    core: &mut Core,
    address: u64,
    rights: Rights,
) -> Result<u64, Exception> {
    let privilege = csrs.privilege_for(rights);
    let Some((levels, root)) = csrs.page_table().filter(|_| privilege != Privilege::Machine) else {
        return Ok(core.address(address));
    };
    let fault = Exception { cause: page_fault(rights), value: address };
    let (entry_size, index_bits) = if core.is_rv32 { (4, 10) } else { (8, 9) };
    let width = 12 + index_bits * levels;
    // The upper bits must all be equal.
    if !core.is_rv32 && (address as i64) << (64 - width) >> (64 - width) != address as i64 {
        return Err(fault);
    }
    let mut table = root;
    for level in (0..levels).rev() {
        let shift = 12 + index_bits * level;
        let index = address >> shift & ((1 << index_bits) - 1);
        let at = table + index * entry_size;
        let access_fault = Exception { cause: access_fault(rights), value: address };
        // Page tables are read with S mode rights, whatever the access.
        if !csrs.pmp.allows(at, entry_size, Rights::READ, Privilege::Supervisor) {
            return Err(access_fault);
        }
        let entry = match entry_size {
            4 => core.memory.peek::<4>(at).map(|bytes| u32::from_le_bytes(bytes).into()),
            _ => core.memory.peek::<8>(at).map(u64::from_le_bytes),
        };
        let entry: u64 = entry.ok_or(access_fault)?;
        let page = entry << 10 >> 20;
        if entry & VALID == 0 || entry & (READ | WRITE) == WRITE || entry & RESERVED != 0 {
            return Err(fault);
        }
        if entry & (READ | EXECUTE) == 0 {
            // Reserved in pointers to tables.
            if entry & (USER | ACCESSED | DIRTY) != 0 {
                return Err(fault);
            }
            table = page * PAGE;
            continue;
        }
        let below = (1u64 << (shift - 12)) - 1;
        if page & below != 0 || !allows(csrs, entry, rights, privilege) {
            return Err(fault);
        }
        let wanted = if rights == Rights::WRITE { ACCESSED | DIRTY } else { ACCESSED };
        if entry & wanted != wanted {
            if !csrs.pmp.allows(at, entry_size, Rights::WRITE, Privilege::Supervisor) {
                return Err(access_fault);
            }
            let entry = (entry | wanted).to_le_bytes();
            core.memory.load(at, &entry[..entry_size as usize]).map_err(|_| access_fault)?;
        }
        let page = page | (address / PAGE) & below;
        return Ok(page * PAGE + address % PAGE);
    }
    Err(fault)
}

fn allows(csrs: &Csrs, entry: u64, rights: Rights, privilege: Privilege) -> bool {
    let is_user = entry & USER != 0;
    let privilege_fits = match privilege {
        Privilege::User => is_user,
        _ => !is_user || csrs.mstatus & SUM != 0 && rights != Rights::EXECUTE,
    };
    let readable = READ | if csrs.mstatus & MXR != 0 { EXECUTE } else { 0 };
    let needed = match rights {
        Rights::EXECUTE => EXECUTE,
        Rights::WRITE => WRITE,
        _ => readable,
    };
    privilege_fits && entry & needed != 0
}
