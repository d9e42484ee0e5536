//! Beginning and end of a program, and its data.
//!
//! All offsets are from the base register, so that 12 bits reach everything but the stack.

use super::asm;
use super::builder::{Builder, SP};
use super::code::{Code, Symbol};
use super::values;
use crate::Rng;

/// Number of values in each pool.
pub(super) const POOL: i32 = 40;
/// Offset of the pool of integers. The initial values of the registers are its first.
pub(super) const INTEGERS: i32 = -2048;
/// Offsets of the pools of floating-point values, in double and in single precision. The initial values of the
/// registers are the first.
pub(super) const FLOATS: [i32; 2] = [INTEGERS + 8 * POOL, INTEGERS + 8 * 2 * POOL];
/// Offset of the area that the program may write.
pub(super) const SCRATCH: i32 = INTEGERS + 8 * 3 * POOL;
pub(super) const SCRATCH_LEN: i32 = 2048;
/// Offset where the registers are stored at the end: x0 to x31, f0 to f31, `fcsr`.
pub(super) const DUMP: i32 = SCRATCH + SCRATCH_LEN;
const REGISTERS: i32 = 65;
/// Top of the stack, which ends at the end of the dump.
const STACK_TOP: i32 = DUMP + 8 * (REGISTERS + 1) + STACK_LEN;
/// Size of the stack: more than the deepest chain of calls needs.
const STACK_LEN: i32 = 3 * 1024;
pub(super) const LEN: usize = (STACK_TOP - INTEGERS) as usize;

/// Returns the initial data. Bytes up to [`LEN`] are zero.
pub(super) fn data(rng: &mut Rng) -> Vec<u8> {
    let mut words = values::pools(rng, POOL as usize);
    words.extend((0..SCRATCH_LEN / 8).map(|_| values::any(rng)));
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// Returns the registers in the final data.
pub(super) fn registers(data: &[u8]) -> Option<&[u8]> {
    data.get((DUMP - INTEGERS) as usize..)?.get(..8 * REGISTERS as usize)
}

/// Returns the exit status for these registers: all of them folded.
pub(super) fn status(registers: &[u8]) -> u8 {
    let words = registers.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    let mut sum = words.fold(0_u64, |sum, word| sum.wrapping_mul(33) ^ word);
    for shift in [32, 16, 8] {
        sum ^= sum >> shift;
    }
    sum as u8
}

/// Gives every register a value.
pub(super) fn begin(builder: &mut Builder<'_>, out: &mut Code) {
    let base = builder.base;
    Builder::address(out, base, Symbol::Data(0), 0);
    Builder::addi(out, SP, base, 2032);
    for _ in 0..(STACK_TOP - 2032) / 2032 {
        Builder::addi(out, SP, SP, 2032);
    }
    Builder::addi(out, SP, SP, (STACK_TOP - 2032) % 2032);
    for register in (1..32).filter(|register| ![SP, base].contains(register)) {
        out.push("ld", asm::i(0x03, 3, register, base, INTEGERS + 8 * i32::from(register)));
    }
    for register in 0..32 {
        out.push(
            "fld",
            asm::i(0x07, 3, register, base, FLOATS[usize::from(register % 2)] + 8 * i32::from(register)),
        );
    }
}

/// Stores every register, writes all data to standard output and exits with the registers' [`status`].
pub(super) fn end(builder: &mut Builder<'_>, out: &mut Code) {
    let base = builder.base;
    for register in 0..32 {
        out.push("sd", asm::s(0x23, 3, base, register, DUMP + 8 * i32::from(register)));
        out.push("fsd", asm::s(0x27, 3, base, register, DUMP + 8 * (32 + i32::from(register))));
    }
    let (number, a0, a1, a2) = (17, 10, 11, 12);
    let (sum, times, word) = (13, 14, 15);
    // The base register may be one of those used from here on; it is not needed after this.
    let fcsr = if base == a0 { a1 } else { a0 };
    out.push("csrrs", asm::i(0x73, 2, fcsr, 0, 3));
    out.push("sd", asm::s(0x23, 3, base, fcsr, DUMP + 8 * 64));
    Builder::address(out, a1, Symbol::Data(INTEGERS), 0);
    out.push("lui", asm::u(0x37, a2, LEN as i32 + 0x800));
    out.push("addiw", asm::i(0x1b, 0, a2, a2, LEN as i32));
    Builder::addi(out, a0, 0, 1);
    Builder::addi(out, number, 0, 64);
    out.push("ecall", 0x73);

    Builder::addi(out, a0, 0, 0);
    Builder::address(out, a1, Symbol::Data(DUMP), 0);
    Builder::addi(out, a2, a1, 8 * REGISTERS);
    Builder::addi(out, times, 0, 33);
    let start = out.bytes;
    out.push("mul", asm::r(0x33, 0, 1, a0, a0, times));
    out.push("ld", asm::i(0x03, 3, word, a1, 0));
    out.push("xor", asm::r(0x33, 4, 0, a0, a0, word));
    Builder::addi(out, a1, a1, 8);
    out.push("bltu", asm::b(6, a1, a2, start - out.bytes));
    for shift in [32, 16, 8] {
        out.push("srli", asm::i(0x13, 5, sum, a0, shift));
        out.push("xor", asm::r(0x33, 4, 0, a0, a0, sum));
    }
    out.push("andi", asm::i(0x13, 7, a0, a0, 255));
    Builder::addi(out, number, 0, 93);
    out.push("ecall", 0x73);
    out.cost += 5 * REGISTERS as u64;
}
