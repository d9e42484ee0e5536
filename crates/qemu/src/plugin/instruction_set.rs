use tracewright_core::{Flow, Isa};
use tracewright_isa::{Instruction, ItState, decode};

use crate::format::Target;

/// The instruction set of a translation. QEMU does not say whether it is A32 or T32.
///
/// `lens` are the lengths of its instructions. Where code could be either, which is seldom, the text of the last instruction decides, as
/// QEMU disassembles it.
pub fn instruction_set(
    target: Target,
    start: u64,
    code: &[u8],
    lens: &[u8],
    last_text: impl FnOnce() -> String,
) -> Isa {
    match target {
        Target::Aarch64 => return Isa::A64,
        Target::Riscv64 => return Isa::Rv64,
        Target::Arm => {}
    }
    // The first half of a T32 instruction with 32 bits is e800 or more.
    let is_wide = |word: &[u8; 4]| word[1] >= 0xe8;
    if start & 2 != 0 || lens.contains(&2) {
        return Isa::T32;
    }
    let (words, _) = code.as_chunks::<4>();
    let Some(last) = words.last() else { return Isa::A32 };
    if !words.iter().all(is_wide) {
        return Isa::A32;
    }
    let address = start + 4 * (words.len() as u64 - 1);
    let as_isa = |isa| decode(isa, address, last, &mut ItState::default());
    match (as_isa(Isa::A32), as_isa(Isa::T32)) {
        (Some(a32), Some(t32)) => by_text(&a32, &t32, &last_text()),
        _ => Isa::T32,
    }
}

/// Which of two readings of an instruction a text fits.
fn by_text(a32: &Instruction, t32: &Instruction, text: &str) -> Isa {
    let (name, operands) = text.trim().split_once([' ', '\t']).unwrap_or((text.trim(), ""));
    let operands = operands.trim();
    let goes_to = |found: &Instruction| {
        found.class.flow == Flow::Direct && operands.ends_with(&format!("#{:#x}", found.target))
    };
    let can_branch = |found: &Instruction| matches!(found.class.flow, Flow::Direct | Flow::Indirect);
    let no_branch = ["bic", "bfi", "bfc", "bkpt"].iter().any(|other| name.starts_with(other));
    let loads_pc = operands.starts_with("pc") || operands.ends_with("pc}");
    let by_table = name.starts_with("tbb") || name.starts_with("tbh");
    let branches = name.starts_with('b') && !no_branch || by_table || loads_pc;
    // Two branches to different addresses are told apart by the name if by nothing else: only A32 has a plain `b` here.
    match (goes_to(a32), goes_to(t32)) {
        (true, false) => Isa::A32,
        (false, true) => Isa::T32,
        _ if can_branch(a32) == branches && can_branch(t32) != branches => Isa::A32,
        _ => Isa::T32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(start: u64, words: &[u32], text: &str) -> Isa {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let lens = vec![4; words.len()];
        instruction_set(Target::Arm, start, &code, &lens, || text.to_owned())
    }

    #[test]
    fn code_that_could_be_either_is_told_by_its_text() {
        // As QEMU 7.2 shows them.
        assert_eq!(found(0x22488, &[0xe12f_ff1e], "bx lr"), Isa::A32);
        assert_eq!(found(0x106d8, &[0xf8fc_f000], "bl #0x108d4"), Isa::T32);
        assert_eq!(found(0x26a28, &[0xfb04_f85d], "ldr pc, [sp], #4"), Isa::T32);
        assert_eq!(found(0x10770, &[0xecfa_f7ff], "blx #0x10168"), Isa::T32);
        assert_eq!(found(0x13fa0, &[0x0100_f04f, 0xbbbc_f022], "b.w #0x36720"), Isa::T32);
        assert_eq!(found(0x21788, &[0x8f5b_f3bf, 0x8108_f040], "bne.w #0x219a0"), Isa::T32);
        // A table of branches alone, after a branch around it.
        assert_eq!(found(0x10530, &[0xf000_e8df], "tbb [pc, r0]"), Isa::T32);
        assert_eq!(found(0x10530, &[0xf012_e8df], "tbh [pc, r2, lsl #1]"), Isa::T32);
        // b 0x1000 + 8 + 4 * 0xf000: the same bits are a BLX of T32.
        assert_eq!(found(0x1000, &[0xea00_f000], "b #0x3d008"), Isa::A32);
    }

    #[test]
    fn most_code_needs_no_text() {
        let isa = |start, words: &[u32]| found(start, words, "?");
        assert_eq!(isa(0x1000, &[0xe591_0000, 0xe12f_ff1e]), Isa::A32);
        assert_eq!(isa(0x1002, &[0xf8fc_f000]), Isa::T32);
        let narrow = instruction_set(Target::Arm, 0x1000, &[0x70, 0x47], &[2], String::new);
        assert_eq!(narrow, Isa::T32);
    }
}
