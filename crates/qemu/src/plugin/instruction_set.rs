use tracewright_core::{Flow, Isa};
use tracewright_isa::{Instruction, ItState, decode};

use crate::format::Target;

/// Page size of QEMU for Arm.
const PAGE: u64 = 4096;

/// Returns the instruction set of a translation, since QEMU does not say whether code is A32 or T32.
///
/// `lens` are the lengths of its instructions according to QEMU. If the code could be either, which is rare, QEMU's
/// disassembly of the last instruction decides.
///
/// Before the end of a page, QEMU 7.2 reads the last two bytes to see whether a T32 instruction crosses it, and
/// attributes them to the instruction before.
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
    // The first half of a 32-bit T32 instruction is e800 or more.
    let is_wide = |word: &[u8; 4]| word[1] >= 0xe8;
    if start & 2 != 0 || lens.iter().any(|len| [2, 6].contains(len)) {
        return Isa::T32;
    }
    let (words, _) = code.as_chunks::<4>();
    if let [before @ .., last] = words
        && start.wrapping_add(code.len() as u64).is_multiple_of(PAGE)
        && before.iter().all(is_wide)
        && !is_wide(last)
        && last[3] >= 0xe8
    {
        return if is_narrow(u32::from_le_bytes(*last), &last_text()) { Isa::T32 } else { Isa::A32 };
    }
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

/// Returns whether `text` is that of the T32 instruction in the low half of `bits`, and not of A32's. The T32 instruction is
/// neither a branch nor a system call, since QEMU does not look ahead then; the A32 one has a condition code of 14 or 15.
fn is_narrow(bits: u32, text: &str) -> bool {
    let (name, operands) = text.trim().split_once([' ', '\t']).unwrap_or((text.trim(), ""));
    if ["push", "pop", "ldm", "stm"].iter().any(|both| name.starts_with(both)) {
        let listed = operands.split_once('{').map_or(0, |(_, list)| 1 + list.matches(',').count() as u32);
        // PUSH has a bit for the link register, POP one for the program counter.
        let with_link = if name.starts_with('p') { 0x1ff } else { 0xff };
        return listed == (bits & with_link).count_ones() || listed != (bits & 0xffff).count_ones();
    }
    let of_a32 = [
        "b", "svc", "v", "ldc", "stc", "mcr", "mrc", "mrr", "cdp", "pld", "pli", "dmb", "dsb", "isb", "clrex",
    ];
    let no_branch = name.starts_with("bic") || name.starts_with("bkpt");
    no_branch || !of_a32.iter().any(|of_a32| name.starts_with(of_a32))
}

/// Returns which of two decodings of an instruction a disassembly fits.
fn by_text(a32: &Instruction, t32: &Instruction, text: &str) -> Isa {
    let (name, operands) = text.trim().split_once([' ', '\t']).unwrap_or((text.trim(), ""));
    let operands = operands.trim();
    let goes_to = |found: &Instruction| {
        found.class.flow == Flow::Direct && operands.ends_with(&format!("#{:#x}", found.target))
    };
    let no_branch = ["bic", "bfi", "bfc", "bkpt"].iter().any(|other| name.starts_with(other));
    let loads_pc = operands.starts_with("pc") || operands.ends_with("pc}");
    let by_table = name.starts_with("tbb") || name.starts_with("tbh");
    let flow = match name.starts_with('b') && !no_branch {
        _ if loads_pc || by_table => Some(Flow::Indirect),
        true if operands.starts_with('#') => Some(Flow::Direct),
        true => Some(Flow::Indirect),
        false => None,
    };
    let fits = |found: &Instruction| match flow {
        Some(flow) => found.class.flow == flow,
        None => !matches!(found.class.flow, Flow::Direct | Flow::Indirect),
    };
    // Branches to different addresses differ in these, or in the kind of branch.
    match (goes_to(a32), goes_to(t32)) {
        (true, false) => Isa::A32,
        (false, true) => Isa::T32,
        _ if fits(a32) && !fits(t32) => Isa::A32,
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
        // A table branch alone, after a branch around it.
        assert_eq!(found(0x10530, &[0xf000_e8df], "tbb [pc, r0]"), Isa::T32);
        assert_eq!(found(0x10530, &[0xf012_e8df], "tbh [pc, r2, lsl #1]"), Isa::T32);
        // The last instruction of a PLT entry, alone on its page: the same bits are a BL of T32.
        assert_eq!(found(0x3f30_c000, &[0xe5bc_f410], "ldr pc, [ip, #0x410]!"), Isa::A32);
        // b 0x1000 + 8 + 4 * 0xf000: the same bits are a BLX of T32.
        assert_eq!(found(0x1000, &[0xea00_f000], "b #0x3d008"), Isa::A32);
    }

    #[test]
    fn bytes_that_were_only_looked_at_are_no_code() {
        // ADDS, then the first half of an ADD that crosses the end of the page.
        assert_eq!(found(0x12ffc, &[0xf500_3001], "adds r0, #1"), Isa::T32);
        assert_eq!(found(0x14ff8, &[0x7000_f500, 0xf500_b501], "push {r0, lr}"), Isa::T32);
        let edge = instruction_set(Target::Arm, 0x16ffa, &[0; 6], &[6], String::new);
        assert_eq!(edge, Isa::T32);
        // The same bits in A32, as QEMU shows them.
        assert_eq!(found(0x12ffc, &[0xe92d_4010], "push {r4, lr}"), Isa::A32);
        assert_eq!(found(0x12ffc, &[0xea00_3001], "b #0x1f008"), Isa::A32);
        assert_eq!(found(0x12ffc, &[0xe8bd_40f0], "pop {r4, r5, r6, r7, lr}"), Isa::A32);
        assert_eq!(found(0x12ffc, &[0xed9f_0b02], "vldr d0, [pc, #8]"), Isa::A32);
        assert_eq!(found(0x12ff8, &[0xed9f_0b02], "vldr d0, [pc, #8]"), Isa::A32);
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
