//! Relocation of branch instructions, for each processor.

use object::elf;

use super::tables::Relocation;

/// Symbol of a relocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Address of the symbol as laid out, plus the addend of the relocation.
    pub address: u64,
    /// Whether the symbol is a T32 function rather than an A32 one; `None` if unknown or irrelevant.
    pub is_thumb: Option<bool>,
}

/// Returns whether a relocation is only a hint to a linker and changes no bytes.
pub(super) fn changes_nothing(machine: elf::Machine, kind: elf::RelocationType) -> bool {
    match machine {
        elf::EM_RISCV => [elf::R_RISCV_NONE, elf::R_RISCV_RELAX, elf::R_RISCV_ALIGN].contains(&kind),
        elf::EM_ARM => [elf::R_ARM_NONE, elf::R_ARM_V4BX].contains(&kind),
        _ => kind.0 == 0,
    }
}

/// Makes the branch at the start of `bytes`, whose address is `place`, go to `target`. Returns `None` and
/// changes nothing if the relocation is not for a branch or the branch does not reach so far.
pub(super) fn branch(
    machine: elf::Machine,
    relocation: &Relocation,
    is_rela: bool,
    place: u64,
    target: Target,
    bytes: &mut [u8],
) -> Option<()> {
    let distance = target.address.wrapping_sub(place).cast_signed();
    match machine {
        elf::EM_AARCH64 => a64(relocation.kind, distance, bytes),
        elf::EM_RISCV => riscv(relocation.kind, distance, bytes),
        elf::EM_ARM => arm(relocation.kind, is_rela, place, target, bytes),
        _ => None,
    }
}

fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.first_chunk()?))
}

fn half(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.first_chunk()?))
}

fn put(bytes: &mut [u8], word: u32) -> Option<()> {
    *bytes.first_chunk_mut()? = word.to_le_bytes();
    Some(())
}

fn put_half(bytes: &mut [u8], half: u16) -> Option<()> {
    *bytes.first_chunk_mut()? = half.to_le_bytes();
    Some(())
}

/// Checks that `value` is a multiple of `unit` and fits a signed number of `bits` bits.
fn fits(value: i64, bits: u32, unit: i64) -> Option<()> {
    (value % unit == 0 && value >= -(1 << (bits - 1)) && value < 1 << (bits - 1)).then_some(())
}

fn a64(kind: elf::RelocationType, distance: i64, bytes: &mut [u8]) -> Option<()> {
    // Width of the distance, and the position of its lowest used bit in the instruction.
    let (bits, shift) = match kind {
        elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => (26, 0),
        elf::R_AARCH64_CONDBR19 => (19, 5),
        elf::R_AARCH64_TSTBR14 => (14, 5),
        _ => return None,
    };
    fits(distance, bits + 2, 4)?;
    let mask = ((1_u32 << bits) - 1) << shift;
    let field = ((distance >> 2) as u32) << shift & mask;
    put(bytes, word(bytes)? & !mask | field)
}

fn riscv(kind: elf::RelocationType, distance: i64, bytes: &mut [u8]) -> Option<()> {
    let bits = |high: u32, low: u32| (distance >> low) as u32 & ((1 << (high - low + 1)) - 1);
    match kind {
        elf::R_RISCV_BRANCH => {
            fits(distance, 13, 2)?;
            let field = bits(12, 12) << 31 | bits(10, 5) << 25 | bits(4, 1) << 8 | bits(11, 11) << 7;
            put(bytes, word(bytes)? & 0x01ff_f07f | field)
        }
        elf::R_RISCV_JAL => {
            fits(distance, 21, 2)?;
            let field = bits(20, 20) << 31 | bits(10, 1) << 21 | bits(11, 11) << 20 | bits(19, 12) << 12;
            put(bytes, word(bytes)? & 0xfff | field)
        }
        elf::R_RISCV_CALL | elf::R_RISCV_CALL_PLT => {
            // The part in AUIPC is rounded, so that the rest is a signed number of 12 bits.
            fits(distance.checked_add(0x800)?, 32, 2)?;
            let (auipc, jalr) = (word(bytes)?, word(bytes.get(4..)?)?);
            put(bytes, auipc & 0xfff | ((distance + 0x800) >> 12 << 12) as u32)?;
            put(bytes.get_mut(4..)?, jalr & 0x000f_ffff | (distance as u32) << 20)
        }
        elf::R_RISCV_RVC_BRANCH => {
            fits(distance, 9, 2)?;
            let field =
                bits(8, 8) << 12 | bits(4, 3) << 10 | bits(7, 6) << 5 | bits(2, 1) << 3 | bits(5, 5) << 2;
            put_half(bytes, half(bytes)? & 0xe383 | field as u16)
        }
        elf::R_RISCV_RVC_JUMP => {
            fits(distance, 12, 2)?;
            let field = bits(11, 11) << 12
                | bits(4, 4) << 11
                | bits(9, 8) << 9
                | bits(10, 10) << 8
                | bits(6, 6) << 7
                | bits(7, 7) << 6
                | bits(3, 1) << 3
                | bits(5, 5) << 2;
            put_half(bytes, half(bytes)? & 0xe003 | field as u16)
        }
        _ => None,
    }
}

/// Sign-extends a number of `bits` bits.
fn signed(value: u32, bits: u32) -> i64 {
    i64::from((value << (32 - bits)).cast_signed() >> (32 - bits))
}

fn arm(kind: elf::RelocationType, is_rela: bool, place: u64, target: Target, bytes: &mut [u8]) -> Option<()> {
    // Relocations without their own addend have it in the instruction.
    let distance = |addend: i64| {
        let addend = if is_rela { 0 } else { addend };
        let distance = target.address.wrapping_add_signed(addend).wrapping_sub(place);
        i64::from((distance as u32).cast_signed())
    };
    match kind {
        elf::R_ARM_CALL | elf::R_ARM_JUMP24 | elf::R_ARM_PC24 => {
            let old = word(bytes)?;
            // BLX (immediate) has no condition, and a bit for half a word.
            let (is_blx, is_bl) = (old >> 25 == 0x7d, old >> 24 == 0xeb);
            let addend = signed(old & 0xff_ffff, 24) << 2 | if is_blx { i64::from(old >> 23 & 2) } else { 0 };
            let distance = distance(addend);
            let to_thumb = target.is_thumb.unwrap_or(is_blx);
            fits(distance, 26, if to_thumb { 2 } else { 4 })?;
            let field = (distance >> 2) as u32 & 0xff_ffff;
            let head = match (to_thumb, is_blx) {
                (true, _) if is_blx || is_bl => 0xfa00_0000 | (distance as u32 & 2) << 23,
                (true, _) => return None,
                (false, true) => 0xeb00_0000,
                (false, false) => old & 0xff00_0000,
            };
            put(bytes, head | field)
        }
        elf::R_ARM_THM_PC22 | elf::R_ARM_THM_JUMP24 => {
            let (first, second) = (u32::from(half(bytes)?), u32::from(half(bytes.get(2..)?)?));
            let sign = first >> 10 & 1;
            let [i1, i2] = [13, 11].map(|bit| !(second >> bit ^ sign) & 1);
            let old = sign << 24 | i1 << 23 | i2 << 22 | (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
            let is_blx = second >> 12 & 1 == 0;
            let to_arm = target.is_thumb.map_or(is_blx, |is_thumb| !is_thumb);
            if to_arm && kind != elf::R_ARM_THM_PC22 {
                return None;
            }
            // BLX is relative to the word that it lies in.
            let distance = distance(signed(old, 25)) + if to_arm { (place & 2).cast_signed() } else { 0 };
            fits(distance, 25, if to_arm { 4 } else { 2 })?;
            let bit = |at: u32| (distance >> at) as u32 & 1;
            let sign = bit(24);
            let [j1, j2] = [23, 22].map(|at| !(bit(at) ^ sign) & 1);
            let first = first & 0xf800 | sign << 10 | (distance >> 12) as u32 & 0x3ff;
            let kept = if kind == elf::R_ARM_THM_PC22 {
                second & 0xc000 | u32::from(!to_arm) << 12
            } else {
                second & 0xd000
            };
            let second = kept | j1 << 13 | j2 << 11 | (distance >> 1) as u32 & 0x7ff;
            put(bytes, second << 16 | first)
        }
        elf::R_ARM_THM_JUMP19 => {
            let (first, second) = (u32::from(half(bytes)?), u32::from(half(bytes.get(2..)?)?));
            let [sign, j2, j1] = [first >> 10 & 1, second >> 11 & 1, second >> 13 & 1];
            let old = sign << 20 | j2 << 19 | j1 << 18 | (first & 0x3f) << 12 | (second & 0x7ff) << 1;
            let distance = same_mode(&target, true).map(|()| distance(signed(old, 21)))?;
            fits(distance, 21, 2)?;
            let bit = |at: u32| (distance >> at) as u32 & 1;
            let first = first & 0xfbc0 | bit(20) << 10 | (distance >> 12) as u32 & 0x3f;
            let second = second & 0xd000 | bit(18) << 13 | bit(19) << 11 | (distance >> 1) as u32 & 0x7ff;
            put(bytes, second << 16 | first)
        }
        elf::R_ARM_THM_PC11 | elf::R_ARM_THM_PC9 => {
            let bits = if kind == elf::R_ARM_THM_PC11 { 11 } else { 8 };
            let (old, mask) = (half(bytes)?, (1_u16 << bits) - 1);
            let addend = signed(u32::from(old & mask), bits) << 1;
            let distance = same_mode(&target, true).map(|()| distance(addend))?;
            fits(distance, bits + 1, 2)?;
            put_half(bytes, old & !mask | (distance >> 1) as u16 & mask)
        }
        _ => None,
    }
}

/// Fails if the target is known to be of the other instruction set.
fn same_mode(target: &Target, is_thumb: bool) -> Option<()> {
    target.is_thumb.is_none_or(|of| of == is_thumb).then_some(())
}

/// Returns whether an instruction of `code` can change the flow of execution, or synchronises with one that
/// can (ISB).
pub(super) fn has_branch(machine: elf::Machine, code: &[u8]) -> bool {
    match machine {
        elf::EM_RISCV => riscv_has_branch(code),
        _ => a64_has_branch(code),
    }
}

fn a64_has_branch(code: &[u8]) -> bool {
    let is_branch = |word: u32| {
        let is_system = word >> 24 == 0xd5;
        word & 0x1c00_0000 == 0x1400_0000 && (!is_system || word & 0xffff_f0ff == 0xd503_30df)
    };
    code.chunks_exact(4).filter_map(word).any(is_branch)
}

fn riscv_has_branch(mut code: &[u8]) -> bool {
    while let Some(low) = half(code) {
        let is_long = low & 3 == 3;
        let is_branch = if is_long {
            match (low & 0x7f, word(code)) {
                (0x63 | 0x67 | 0x6f, _) => true,
                // ECALL, EBREAK, SRET, MRET.
                (_, word) => matches!(word, Some(0x73 | 0x10_0073 | 0x1020_0073 | 0x3020_0073)),
            }
        } else {
            match (low & 3, low >> 13) {
                // C.JAL exists in RV32 only; elsewhere it is an addition, which may be excluded as well.
                (1, 1 | 5..=7) => true,
                // C.JR, C.JALR, C.EBREAK; additions and moves have a second register.
                (2, 4) => low & 0x7c == 0,
                _ => false,
            }
        };
        if is_branch {
            return true;
        }
        code = code.get(if is_long { 4 } else { 2 }..).unwrap_or_default();
    }
    false
}
