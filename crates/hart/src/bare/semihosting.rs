//! Semihosting: the host handles an EBREAK between two special no-ops.

use std::io::Write;

use crate::machine::Stop;
use crate::state::Core;

/// `slli x0, x0, 0x1f` and `srai x0, x0, 7`.
const BEFORE: u32 = 0x01f0_1013;
const AFTER: u32 = 0x4070_5013;

const SYS_WRITEC: u64 = 0x03;
const SYS_WRITE0: u64 = 0x04;
const SYS_WRITE: u64 = 0x05;
const SYS_EXIT: u64 = 0x18;
const SYS_EXIT_EXTENDED: u64 = 0x20;
/// Reason code of a regular exit.
const APPLICATION_EXIT: u64 = 0x20026;
/// Maximum length of text written at once.
const MOST_BYTES: u64 = 1 << 20;

/// Returns whether the EBREAK at `core.pc` is a semihosting call. (Paging is off in programs without a kernel.)
pub(super) fn is_call(core: &mut Core) -> bool {
    let pc = core.pc;
    let mut word = |at: u64| core.memory.peek::<4>(at).map(u32::from_le_bytes);
    word(pc.wrapping_sub(4)) == Some(BEFORE) && word(pc.wrapping_add(4)) == Some(AFTER)
}

pub(super) fn serve(core: &mut Core, out: &mut dyn Write) -> Result<(), Stop> {
    let (number, argument) = (core.x[10], core.address(core.x[11]));
    let size = if core.is_rv32 { 4 } else { 8 };
    let memory = &mut core.memory;
    let mut word = |i: u64| {
        let at = argument.wrapping_add(size * i);
        match size {
            4 => memory.peek::<4>(at).map_or(0, |bytes| u32::from_le_bytes(bytes).into()),
            _ => memory.peek::<8>(at).map_or(0, u64::from_le_bytes),
        }
    };
    let status = |reason: u64, code: u64| Stop::Exit {
        status: if reason == APPLICATION_EXIT { code as i32 } else { 1 },
    };
    let result = match number {
        // RV32 passes the reason in the register, RV64 in memory with a code.
        SYS_EXIT if size == 4 => return Err(status(core.x[11] & 0xffff_ffff, 0)),
        SYS_EXIT | SYS_EXIT_EXTENDED => return Err(status(word(0), word(1))),
        SYS_WRITEC => {
            let byte = core.memory.peek::<1>(argument).unwrap_or([0]);
            let _ = out.write_all(&byte);
            0
        }
        SYS_WRITE0 => {
            for i in 0..MOST_BYTES {
                match core.memory.peek::<1>(argument.wrapping_add(i)) {
                    Some(byte) if byte != [0] => drop(out.write_all(&byte)),
                    _ => break,
                }
            }
            0
        }
        SYS_WRITE => {
            let (from, len) = (word(1), word(2));
            for i in 0..len.min(MOST_BYTES) {
                let byte = core.memory.peek::<1>(from.wrapping_add(i)).unwrap_or([0]);
                let _ = out.write_all(&byte);
            }
            len.saturating_sub(MOST_BYTES)
        }
        _ => u64::MAX,
    };
    core.x[10] = result;
    core.pc = core.address(core.pc.wrapping_add(4));
    Ok(())
}
