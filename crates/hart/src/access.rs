//! Loads and stores.

use crate::machine::{Exception, Machine, cause};
use crate::memory::{PAGE, Rights};
use crate::state::Core;

/// Loads a little-endian number of `N` bytes.
#[inline(always)]
pub(crate) fn load<const N: usize, M: Machine>(
    core: &mut Core,
    machine: &mut M,
    address: u64,
) -> Result<u64, Exception> {
    if address.is_multiple_of(N as u64)
        && let Some(at) = core.tlb.read(address)
        && let Some(bytes) = core.memory.bytes().get(at..at + N)
    {
        return Ok(number(bytes));
    }
    slow_load(core, machine, address, N)
}

/// Stores a little-endian number of `N` bytes.
#[inline(always)]
pub(crate) fn store<const N: usize, M: Machine>(
    core: &mut Core,
    machine: &mut M,
    address: u64,
    value: u64,
) -> Result<(), Exception> {
    if address.is_multiple_of(N as u64)
        && let Some(at) = core.tlb.write(address)
        && let Some(bytes) = core.memory.bytes_mut().get_mut(at..at + N)
    {
        bytes.copy_from_slice(&value.to_le_bytes()[..N]);
        return Ok(());
    }
    slow_store(core, machine, address, N, value)
}

/// Loads a number for a read-modify-write: raises the exceptions that the store would.
pub(crate) fn load_to_store<const N: usize, M: Machine>(
    core: &mut Core,
    machine: &mut M,
    address: u64,
) -> Result<u64, Exception> {
    let at = match core.tlb.write(address) {
        Some(at) => at,
        None => match locate(core, machine, address, N, Rights::WRITE) {
            Ok(at) => at,
            Err(Exception::DEVICE) => return machine.load(core, address, N as u8),
            Err(exception) => return Err(exception),
        },
    };
    Ok(number(&core.memory.bytes()[at..at + N]))
}

/// Returns where `address` is in the bytes of memory, and adds its page to the TLB.
fn locate<M: Machine>(
    core: &mut Core,
    machine: &mut M,
    address: u64,
    size: usize,
    rights: Rights,
) -> Result<usize, Exception> {
    let frame = machine.translate(core, address, size as u8, rights)?;
    core.tlb.add(address, frame, rights);
    Ok(frame + (address % PAGE) as usize)
}

#[inline(always)]
fn number(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

#[cold]
#[inline(never)]
fn slow_load<M: Machine>(
    core: &mut Core,
    machine: &mut M,
    address: u64,
    size: usize,
) -> Result<u64, Exception> {
    if !address.is_multiple_of(size as u64) {
        if !core.misaligned {
            return Err(Exception { cause: cause::LOAD_MISALIGNED, value: address });
        }
        let mut bytes = [0; 8];
        for (i, byte) in bytes[..size].iter_mut().enumerate() {
            *byte = load::<1, M>(core, machine, core.address(address.wrapping_add(i as u64)))? as u8;
        }
        return Ok(u64::from_le_bytes(bytes));
    }
    match locate(core, machine, address, size, Rights::READ) {
        Ok(at) => Ok(number(&core.memory.bytes()[at..at + size])),
        Err(Exception::DEVICE) => machine.load(core, address, size as u8),
        Err(exception) => Err(exception),
    }
}

#[cold]
#[inline(never)]
fn slow_store<M: Machine>(
    core: &mut Core,
    machine: &mut M,
    address: u64,
    size: usize,
    value: u64,
) -> Result<(), Exception> {
    if !address.is_multiple_of(size as u64) {
        if !core.misaligned {
            return Err(Exception { cause: cause::STORE_MISALIGNED, value: address });
        }
        // A store is all or nothing, so both ends must be writable.
        let last = core.address(address.wrapping_add(size as u64 - 1));
        // Devices accept whole registers only.
        let fault = Exception { cause: cause::STORE_ACCESS_FAULT, value: address };
        for end in [address, last] {
            if core.tlb.write(end).is_none() {
                let at = locate(core, machine, end, 1, Rights::WRITE);
                at.map_err(|exception| exception.or_device(fault))?;
            }
        }
        for (i, byte) in value.to_le_bytes()[..size].iter().enumerate() {
            store::<1, M>(core, machine, core.address(address.wrapping_add(i as u64)), (*byte).into())?;
        }
        return Ok(());
    }
    match locate(core, machine, address, size, Rights::WRITE) {
        Ok(at) => {
            core.memory.bytes_mut()[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
            Ok(())
        }
        Err(Exception::DEVICE) => machine.store(core, address, size as u8, value),
        Err(exception) => Err(exception),
    }
}
