//! Scans from an address in the program to the next instruction that ends a block.

use tracewright_core::{Block, Class, Flow, Isa, MemorySpace};
use tracewright_image::{Image, UNKNOWN_TARGET};
use tracewright_isa::{self as isa, Instruction, ItState, a64, riscv};

use crate::Instructions;
use crate::node::{Found, Stop};

/// A scan stops at multiples of this. The rest is another scan, which is shared by all that reach it. Otherwise each
/// of many random addresses in a large piece of memory without branches would cost a scan of the whole piece.
const STRIDE: u64 = 0x1000;

pub(crate) enum Scan {
    /// The scan found the end of the block.
    Done(Found),
    /// The scan reached a multiple of [`STRIDE`], after this many bytes and instructions.
    Boundary { len: u32, count: u32 },
}

pub(crate) fn scan(image: &Image, space: MemorySpace, start: u64, isa: Isa, trust: bool) -> Scan {
    let (mut at, mut count) = (start, 0);
    // Instructions of A64 are aligned.
    if isa == Isa::A64 && !start.is_multiple_of(4) && !trust && !image.read(start, space).is_empty() {
        return Scan::Done(Found { stop: Stop::NotCode, ..no_code(0, 0, isa) });
    }
    let mut it = ItState::default();
    let mut last = None;
    loop {
        let bytes = image.read(at, space);
        if isa == Isa::A64 {
            let (skipped, is_code) = plain_a64(bytes, at, trust);
            at = at.wrapping_add(4 * u64::from(skipped));
            count += skipped;
            if !is_code {
                return Scan::Done(Found {
                    stop: Stop::NotCode,
                    ..no_code(at.wrapping_sub(start), count, isa)
                });
            }
        }
        let last_len = |last: Option<u64>| match last {
            Some(last) if isa.shortest() == 2 => at.wrapping_sub(last) as u8,
            _ => isa.shortest(),
        };
        let is_boundary = at != start && (at & !(STRIDE - 1)) != (start & !(STRIDE - 1));
        // Pairs are not split.
        if is_boundary
            && it == ItState::default()
            && !last.is_some_and(|last| begins_pair(image, space, isa, last))
        {
            return Scan::Boundary { len: at.wrapping_sub(start) as u32, count };
        }
        // In an IT block, an instruction whose condition fails may do nothing.
        if isa != Isa::A64 && !trust && it == ItState::default() && isa::is_undefined(isa, bytes) {
            let found = no_code(at.wrapping_sub(start), count, isa);
            return Scan::Done(Found { stop: Stop::NotCode, last_len: last_len(last), ..found });
        }
        let Some(instruction) = instruction(image, space, at, isa, &mut it) else {
            return Scan::Done(Found {
                last_len: last_len(last),
                ..no_code(at.wrapping_sub(start), count, isa)
            });
        };
        let (here, previous) = (at, last.replace(at));
        at = at.wrapping_add(instruction.len.into());
        count += 1;
        let Instruction { len, mut class, mut target, target_isa } = instruction;
        if class.flow == Flow::Indirect
            && let Some(previous) = previous
            && let Some(paired) = pair(image, space, isa, previous, here)
        {
            (class.flow, target) = (Flow::Pair, paired);
        }
        if class.ends_block() {
            let (stop, scanned) = (Stop::Class, at.wrapping_sub(start) as u32);
            return Scan::Done(Found { len: scanned, count, class, last_len: len, target, target_isa, stop });
        }
    }
}

/// Returns the target of the jump at the end of `block` if the instruction before it contains it ([`Flow::Pair`]).
#[must_use]
pub fn pair_target(image: &Image, space: MemorySpace, block: &Block) -> Option<u64> {
    let mut last = [None; 2];
    Instructions::new(image, space, block).for_each(|found| last = [last[1], Some(found.address)]);
    pair(image, space, block.isa, last[0]?, last[1]?).filter(|&target| target != UNKNOWN_TARGET)
}

/// Returns the target of the jump at `at` if the instruction at `previous`, just before it, contains it (RISC-V).
/// Returns [`UNKNOWN_TARGET`] if either has a relocation that the file does not resolve.
fn pair(image: &Image, space: MemorySpace, isa: Isa, previous: u64, at: u64) -> Option<u64> {
    let mask = if isa == Isa::Rv32 { u64::from(u32::MAX) } else { u64::MAX };
    let (first, second) = (riscv(image, space, isa, previous)?, riscv(image, space, isa, at)?);
    let target = riscv::sequentially_inferable(&first, previous, &second)?;
    let is_unknown = [previous, at].iter().any(|&at| image.is_unrelocated(at, space));
    Some(if is_unknown { UNKNOWN_TARGET } else { target & mask })
}

/// Returns whether the instruction at `at` can be the first of a pair.
fn begins_pair(image: &Image, space: MemorySpace, isa: Isa, at: u64) -> bool {
    riscv(image, space, isa, at).is_some_and(|found| matches!(found.op, riscv::Op::Lui | riscv::Op::Auipc))
}

/// Returns the RISC-V instruction at `at` with its operands.
fn riscv(image: &Image, space: MemorySpace, isa: Isa, at: u64) -> Option<riscv::Instruction> {
    let xlen = xlen(isa)?;
    let mut bytes = [0; 4];
    image.read_into(at, space, &mut bytes);
    Some(riscv::decode(xlen, u32::from_le_bytes(bytes)))
}

/// Returns how many A64 instructions from `bytes[0]` on, which is at `at`, cannot end a block, up to the next
/// multiple of [`STRIDE`], and whether an instruction follows. What is undefined does not count as one: memory without
/// code is most often full of UDF. Nothing runs past it.
fn plain_a64(bytes: &[u8], at: u64, trust: bool) -> (u32, bool) {
    let len = (STRIDE - at % STRIDE).min(bytes.len() as u64) as usize;
    for (i, word) in bytes[..len].chunks_exact(4).enumerate() {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        if a64::is_undefined(word) && !trust {
            return (i as u32, false);
        }
        if a64::may_end_block(word) {
            return (i as u32, true);
        }
    }
    (len as u32 / 4, true)
}

/// Returns the instruction at `at`, even if it straddles two regions. A direct branch whose target only a loader knew
/// goes to [`UNKNOWN_TARGET`].
pub(crate) fn instruction(
    image: &Image,
    space: MemorySpace,
    at: u64,
    isa: Isa,
    it: &mut ItState,
) -> Option<Instruction> {
    let bytes = image.read(at, space);
    let mut straddling = [0; 4];
    let bytes = if bytes.len() >= 4 {
        bytes
    } else {
        let known = image.read_into(at, space, &mut straddling);
        &straddling[..known]
    };
    let mut found = isa::decode(isa, at, bytes, it)?;
    if let Some(zcm) = zcm(image, space, at, isa, bytes) {
        (found.class, found.target) = (zcm.class(), table_entry(image, space, at, isa, zcm));
    }
    if found.class.flow == Flow::Direct && image.is_unrelocated(at, space) {
        found.target = UNKNOWN_TARGET;
    }
    Some(found)
}

/// Returns the instruction of Zcmp or Zcmt at `at`, if it is one and the program has those.
#[inline]
fn zcm(image: &Image, space: MemorySpace, at: u64, isa: Isa, bytes: &[u8]) -> Option<riscv::Zcm> {
    let zcm = riscv::Zcm::decode(xlen(isa)?, u16::from_le_bytes(*bytes.first_chunk()?))?;
    image.has_zcm(at, space).then_some(zcm)
}

/// Returns the target of a jump through the table of the program at `at`. Returns [`UNKNOWN_TARGET`] if there is no table.
#[cold]
fn table_entry(image: &Image, space: MemorySpace, at: u64, isa: Isa, zcm: riscv::Zcm) -> u64 {
    let table = image.jump_table(at, space);
    let Some((xlen, entry)) = xlen(isa).and_then(|xlen| Some((xlen, zcm.entry(xlen, table?)?))) else {
        return UNKNOWN_TARGET;
    };
    let mut target = [0; 8];
    let size = if xlen == riscv::Xlen::Rv32 { 4 } else { 8 };
    let known = image.read_into(entry, space, &mut target[..size]);
    if known == size { u64::from_le_bytes(target) } else { UNKNOWN_TARGET }
}

/// Returns the width of registers of a RISC-V instruction set.
#[inline]
fn xlen(isa: Isa) -> Option<riscv::Xlen> {
    match isa {
        Isa::Rv32 => Some(riscv::Xlen::Rv32),
        Isa::Rv64 => Some(riscv::Xlen::Rv64),
        Isa::A64 | Isa::A32 | Isa::T32 => None,
    }
}

fn no_code(len: u64, count: u32, isa: Isa) -> Found {
    Found {
        len: len as u32,
        count,
        class: Class::NEXT,
        last_len: isa.shortest(),
        target: 0,
        target_isa: isa,
        stop: Stop::NoCode,
    }
}
