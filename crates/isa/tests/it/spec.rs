//! Instructions by hand, one line each: address, encoding, text and meaning.

use tracewright_core::Flow::{self, Direct, Indirect, Isb, Next, TransactionStart, Wait};
use tracewright_core::Isa::{self, A32, A64, T32};
use tracewright_core::Role::{self, Call, ExceptionReturn, Jump, LoopEnd, Return};
use tracewright_core::{Class, Isa as Set};
use tracewright_isa::{Instruction, ItState, decode, is_undefined};

/// The meaning of an instruction: flow, role, whether it is conditional, and the target of a direct branch.
type Does = (Flow, Role, bool, Option<(u64, Set)>);

const NEXT: Does = (Next, Jump, false, None);
const CONDITION: bool = true;
const ALWAYS: bool = false;

fn check(isa: Isa, lines: &[(u64, u32, &str, Does)]) {
    for &(address, word, text, (flow, role, conditional, target)) in lines {
        // T32 lines with one halfword have it in the lower half.
        let (len, bytes) = match isa {
            T32 if word <= 0xffff => (2, (word as u16).to_le_bytes().to_vec()),
            T32 => (4, word.rotate_left(16).to_le_bytes().to_vec()),
            _ => (4, word.to_le_bytes().to_vec()),
        };
        let (target, target_isa) = target.unwrap_or((0, isa));
        let expected = Instruction { len, class: Class { flow, role, conditional }, target, target_isa };
        let mut it = ItState::default();
        assert_eq!(decode(isa, address, &bytes, &mut it), Some(expected), "{address:x}: {word:08x} {text}");
        let cut_short = decode(isa, address, &bytes[..bytes.len() - 1], &mut it);
        assert_eq!(cut_short, None, "{word:08x} {text}");
    }
}

#[test]
fn a64() {
    const TOP: u64 = 0xffff_ffff_ffff_fffc;
    const BELOW: u64 = 0xffff_ffff_ffff_9000;
    check(
        A64,
        &[
            // Unconditional branch (immediate)
            (0x1000, 0x1400_0000, "b .", (Direct, Jump, ALWAYS, Some((0x1000, A64)))),
            (0x1000, 0x15ff_ffff, "b .+0x7fffffc", (Direct, Jump, ALWAYS, Some((0x0800_0ffc, A64)))),
            (0x8000_0000, 0x1600_0000, "b .-0x8000000", (Direct, Jump, ALWAYS, Some((0x7800_0000, A64)))),
            (TOP, 0x1400_0002, "b .+8, around the top", (Direct, Jump, ALWAYS, Some((4, A64)))),
            (0, 0x17ff_ffff, "b .-4, around zero", (Direct, Jump, ALWAYS, Some((TOP, A64)))),
            (0x1000, 0x97ff_fffe, "bl .-8", (Direct, Call, ALWAYS, Some((0xff8, A64)))),
            (TOP, 0x9400_0001, "bl .+4, around the top", (Direct, Call, ALWAYS, Some((0, A64)))),
            // Conditional branch (immediate)
            (0x1000, 0x54ff_fec1, "b.ne .-0x28", (Direct, Jump, CONDITION, Some((0xfd8, A64)))),
            (0x10_0000, 0x5480_0000, "b.eq .-0x100000", (Direct, Jump, CONDITION, Some((0, A64)))),
            (0, 0x547f_ffee, "b.al .+0xffffc", (Direct, Jump, CONDITION, Some((0xf_fffc, A64)))),
            (0x1000, 0x54ff_ff50, "bc.eq .-0x18", (Direct, Jump, CONDITION, Some((0xfe8, A64)))),
            // Compare and branch, test and branch
            (0x1000, 0x3400_0040, "cbz w0, .+8", (Direct, Jump, CONDITION, Some((0x1008, A64)))),
            (0x1000, 0xb5ff_ffe1, "cbnz x1, .-4", (Direct, Jump, CONDITION, Some((0xffc, A64)))),
            (0x1000, 0x3604_0002, "tbz w2, #0, .-0x8000", (Direct, Jump, CONDITION, Some((BELOW, A64)))),
            (0x1000, 0xb7f8_0043, "tbnz x3, #63, .+8", (Direct, Jump, CONDITION, Some((0x1008, A64)))),
            // FEAT_CMPBR
            (0x1000, 0x7405_2005, "cbgt w5, w5, .-0x400", (Direct, Jump, CONDITION, Some((0xc00, A64)))),
            (0x1000, 0xf4e0_1fe1, "cbne x1, x0, .+0x3fc", (Direct, Jump, CONDITION, Some((0x13fc, A64)))),
            (0x1000, 0x7403_8045, "cbbgt w5, w3, .+8", (Direct, Jump, CONDITION, Some((0x1008, A64)))),
            (0x1000, 0x7443_e005, "cbhhi w5, w3, .-0x400", (Direct, Jump, CONDITION, Some((0xc00, A64)))),
            (0x1000, 0x7500_2005, "cbgt w5, #0, .-0x400", (Direct, Jump, CONDITION, Some((0xc00, A64)))),
            (0x1000, 0xf51f_a005, "cbgt x5, #63, .-0x400", (Direct, Jump, CONDITION, Some((0xc00, A64)))),
            (0x1000, 0x74c3_8045, "cbbeq w5, w3, .+8", (Direct, Jump, CONDITION, Some((0x1008, A64)))),
            (0x1000, 0xf5c0_2005, "cbeq x5, #0, .-0x400", (Direct, Jump, CONDITION, Some((0xc00, A64)))),
            (0x1000, 0x7483_0005, "condition 100 of cb", NEXT),
            (0x1000, 0xf403_8005, "cbbgt of 64 bits", NEXT),
            (0x1000, 0x7500_4005, "cb with bit 14", NEXT),
            // Unconditional branch (register)
            (0x1000, 0xd61f_0200, "br x16", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xd63f_0100, "blr x8", (Indirect, Call, ALWAYS, None)),
            (0x1000, 0xd65f_03c0, "ret", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xd65f_0000, "ret x0", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xd69f_03e0, "eret", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xd6bf_03e0, "drps", NEXT),
            (0x1000, 0xd71f_0be7, "braa xzr, x7", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xd71f_0c01, "brab x0, x1", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xd61f_083f, "braaz x1", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xd61f_0c3f, "brabz x1", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xd73f_0801, "blraa x0, x1", (Indirect, Call, ALWAYS, None)),
            (0x1000, 0xd73f_0c01, "blrab x0, x1", (Indirect, Call, ALWAYS, None)),
            (0x1000, 0xd63f_083f, "blraaz x1", (Indirect, Call, ALWAYS, None)),
            (0x1000, 0xd63f_0c3f, "blrabz x1", (Indirect, Call, ALWAYS, None)),
            (0x1000, 0xd65f_0bff, "retaa", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xd65f_0fff, "retab", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xd65f_0be2, "retaasppcr x2", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xd65f_0fe2, "retabsppcr x2", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0x5500_005f, "retaasppc .-8", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0x5520_005f, "retabsppc .-8", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xd69f_0bff, "eretaa", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xd69f_0fff, "eretab", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xd6ff_03e0, "texit", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xd6ff_07e0, "texit nb", (Indirect, ExceptionReturn, ALWAYS, None)),
            // Barriers, waits, transactions
            (0x1000, 0xd503_3fdf, "isb", (Isb, Jump, ALWAYS, None)),
            (0x1000, 0xd503_30df, "isb #0", (Isb, Jump, ALWAYS, None)),
            (0x1000, 0xd503_3f9f, "dsb sy", NEXT),
            (0x1000, 0xd503_3fbf, "dmb sy", NEXT),
            (0x1000, 0xd503_30ff, "sb", NEXT),
            (0x1000, 0xd503_205f, "wfe", (Wait, Jump, ALWAYS, None)),
            (0x1000, 0xd503_207f, "wfi", (Wait, Jump, ALWAYS, None)),
            (0x1000, 0xd503_1005, "wfet x5", (Wait, Jump, ALWAYS, None)),
            (0x1000, 0xd503_1025, "wfit x5", (Wait, Jump, ALWAYS, None)),
            (0x1000, 0xd503_203f, "yield", NEXT),
            (0x1000, 0xd503_201f, "nop", NEXT),
            (0x1000, 0xd503_233f, "paciasp", NEXT),
            (0x1000, 0xd523_3060, "tstart x0", (TransactionStart, Jump, ALWAYS, None)),
            (0x1000, 0xd523_3160, "ttest x0", NEXT),
            (0x1000, 0xd503_307f, "tcommit", NEXT),
            (0x1000, 0xd460_0000, "tcancel #0", NEXT),
            // Exceptions, and what has a condition but does not branch
            (0x1000, 0xd400_0001, "svc #0", NEXT),
            (0x1000, 0xd400_0002, "hvc #0", NEXT),
            (0x1000, 0xd400_0003, "smc #0", NEXT),
            (0x1000, 0xd420_0000, "brk #0", NEXT),
            (0x1000, 0xd440_0000, "hlt #0", NEXT),
            (0x1000, 0x0000_0000, "udf #0", NEXT),
            (0x1000, 0x9a81_0000, "csel x0, x0, x1, eq", NEXT),
            (0x1000, 0xfa41_0000, "ccmp x0, x1, #0, eq", NEXT),
        ],
    );
}

#[test]
fn a32() {
    check(
        A32,
        &[
            (0x1000, 0xeaff_fffe, "b .", (Direct, Jump, ALWAYS, Some((0x1000, A32)))),
            (0x1000, 0x0a00_0000, "beq .+8", (Direct, Jump, CONDITION, Some((0x1008, A32)))),
            (0x1000, 0xebff_fffc, "bl .-8", (Direct, Call, ALWAYS, Some((0xff8, A32)))),
            (0x1000, 0x1b00_0000, "blne .+8", (Direct, Call, CONDITION, Some((0x1008, A32)))),
            (0x1000, 0xfa00_0000, "blx .+8", (Direct, Call, ALWAYS, Some((0x1008, T32)))),
            (0x1000, 0xfbff_fffe, "blx .+2", (Direct, Call, ALWAYS, Some((0x1002, T32)))),
            (0x0200_0000, 0xea7f_ffff, "b .+0x2000004", (Direct, Jump, ALWAYS, Some((0x0400_0004, A32)))),
            (0x0200_0000, 0xea80_0000, "b .-0x1fffff8", (Direct, Jump, ALWAYS, Some((8, A32)))),
            (0xffff_fffc, 0xea00_0000, "b .+8, around the top", (Direct, Jump, ALWAYS, Some((4, A32)))),
            (0, 0xeaff_fffd, "b .-4, around zero", (Direct, Jump, ALWAYS, Some((0xffff_fffc, A32)))),
            (0xffff_fffc, 0xfb00_0000, "blx .+10, around the top", (Direct, Call, ALWAYS, Some((6, T32)))),
            (0x1000, 0xe12f_ff13, "bx r3", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe12f_ff1e, "bx lr", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0x012f_ff1e, "bxeq lr", (Indirect, Return, CONDITION, None)),
            (0x1000, 0xe12f_ff23, "bxj r3", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe12f_ff33, "blx r3", (Indirect, Call, ALWAYS, None)),
            (0x1000, 0xe1a0_f00e, "mov pc, lr", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xd1a0_f00e, "movle pc, lr", (Indirect, Return, CONDITION, None)),
            (0x1000, 0xe1a0_f003, "mov pc, r3", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe1b0_f00e, "movs pc, lr", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xe3a0_f000, "mov pc, #0", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe08f_f103, "add pc, pc, r3, lsl #2", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe25e_f004, "subs pc, lr, #4", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xe24e_f004, "sub pc, lr, #4", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe010_f001, "ands pc, r0, r1", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xe3f0_f000, "mvns pc, #0", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xe15f_0003, "cmp pc, r3", NEXT),
            (0x1000, 0xe35f_0000, "cmp pc, #0", NEXT),
            (0x1000, 0xe59f_f004, "ldr pc, [pc, #4]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe51f_f004, "ldr pc, [pc, #-4]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe49d_f004, "ldr pc, [sp], #4", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xe41d_f004, "ldr pc, [sp], #-4", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe4bd_f004, "ldrt pc, [sp], #4", NEXT),
            (0x1000, 0xe79f_f103, "ldr pc, [pc, r3, lsl #2]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe690_f001, "ldr pc, [r0], r1", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe5dd_f004, "ldrb pc, [sp, #4]", NEXT),
            (0x1000, 0xe58d_f004, "str pc, [sp, #4]", NEXT),
            (0x1000, 0xe8bd_8010, "pop {r4, pc}", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xe8bd_4010, "pop {r4, lr}", NEXT),
            (0x1000, 0xe89d_8010, "ldm sp, {r4, pc}", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe8b1_8010, "ldm r1!, {r4, pc}", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe91b_8010, "ldmdb fp, {r4, pc}", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe8fd_8010, "ldm sp!, {r4, pc}^", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xe92d_8010, "push {r4, pc}", NEXT),
            (0x1000, 0xf8bd_0a00, "rfeia sp!", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xe160_006e, "eret", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xf57f_f06f, "isb sy", (Isb, Jump, ALWAYS, None)),
            (0x1000, 0xf57f_f04f, "dsb sy", NEXT),
            (0x1000, 0xf57f_f05f, "dmb sy", NEXT),
            (0x1000, 0xee07_0f95, "mcr p15, 0, r0, c7, c5, 4", (Isb, Jump, ALWAYS, None)),
            (0x1000, 0xee07_0f9a, "mcr p15, 0, r0, c7, c10, 4", NEXT),
            (0x1000, 0xe320_f002, "wfe", (Wait, Jump, ALWAYS, None)),
            (0x1000, 0x1320_f003, "wfine", (Wait, Jump, CONDITION, None)),
            (0x1000, 0xe320_f000, "nop", NEXT),
            (0x1000, 0xef00_0000, "svc #0", NEXT),
            (0x1000, 0xe140_0070, "hvc #0", NEXT),
            (0x1000, 0xe160_0070, "smc #0", NEXT),
            (0x1000, 0xe120_0070, "bkpt #0", NEXT),
            (0x1000, 0xe7f0_00f0, "udf #0", NEXT),
            (0x1000, 0x0081_0002, "addeq r0, r1, r2", (Next, Jump, CONDITION, None)),
            (0x1000, 0xe12f_f000, "msr cpsr_fsxc, r0", NEXT),
            (0x1000, 0xe32f_f000, "msr cpsr_fsxc, #0", NEXT),
            (0x1000, 0xe180_fc91, "stl r1, [r0]", NEXT),
        ],
    );
}

#[test]
fn t32_of_16_bits() {
    check(
        T32,
        &[
            (0x1000, 0xe7fe, "b .", (Direct, Jump, ALWAYS, Some((0x1000, T32)))),
            (0x1000, 0xe400, "b .-0x7fc", (Direct, Jump, ALWAYS, Some((0x804, T32)))),
            (0x1000, 0xe3ff, "b .+0x802", (Direct, Jump, ALWAYS, Some((0x1802, T32)))),
            (0xffff_fffe, 0xe000, "b .+4, around the top", (Direct, Jump, ALWAYS, Some((2, T32)))),
            (0, 0xe7fd, "b .-2, around zero", (Direct, Jump, ALWAYS, Some((0xffff_fffe, T32)))),
            (0x1000, 0xd0fe, "beq .", (Direct, Jump, CONDITION, Some((0x1000, T32)))),
            (0x1000, 0xdd80, "ble .-0xfc", (Direct, Jump, CONDITION, Some((0xf04, T32)))),
            (0x1000, 0xdc7f, "bgt .+0x102", (Direct, Jump, CONDITION, Some((0x1102, T32)))),
            (0x1000, 0xde00, "udf #0", NEXT),
            (0x1000, 0xdf00, "svc #0", NEXT),
            (0x1000, 0xb100, "cbz r0, .+4", (Direct, Jump, CONDITION, Some((0x1004, T32)))),
            (0x1000, 0xbbff, "cbnz r7, .+0x82", (Direct, Jump, CONDITION, Some((0x1082, T32)))),
            (
                0xffff_fff0,
                0xb3f8,
                "cbz r0, .+0x82, over the top",
                (Direct, Jump, CONDITION, Some((0x72, T32))),
            ),
            (0x1000, 0x4718, "bx r3", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0x4770, "bx lr", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0x4774, "bxns lr", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0x4798, "blx r3", (Indirect, Call, ALWAYS, None)),
            (0x1000, 0x479c, "blxns r3", (Indirect, Call, ALWAYS, None)),
            (0x1000, 0x46f7, "mov pc, lr", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0x4687, "mov pc, r0", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0x449f, "add pc, r3", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0x4587, "cmp pc, r0", NEXT),
            (0x1000, 0xbd10, "pop {r4, pc}", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xbc10, "pop {r4}", NEXT),
            (0x1000, 0xb510, "push {r4, lr}", NEXT),
            (0x1000, 0xbf20, "wfe", (Wait, Jump, ALWAYS, None)),
            (0x1000, 0xbf30, "wfi", (Wait, Jump, ALWAYS, None)),
            (0x1000, 0xbf00, "nop", NEXT),
            (0x1000, 0xbf40, "sev", NEXT),
            (0x1000, 0xbe00, "bkpt #0", NEXT),
            (0x1000, 0xbf08, "it eq", NEXT),
        ],
    );
}

#[test]
fn t32_of_32_bits() {
    check(
        T32,
        &[
            (0x1000, 0xf43f_affe, "beq.w .", (Direct, Jump, CONDITION, Some((0x1000, T32)))),
            (0x20_0000, 0xf400_8000, "beq.w .-0xffffc", (Direct, Jump, CONDITION, Some((0x10_0004, T32)))),
            (0x1000, 0xf03f_afff, "beq.w .+0x100002", (Direct, Jump, CONDITION, Some((0x10_1002, T32)))),
            (0x1000, 0xf03f_a7ff, "beq.w .+0x80002", (Direct, Jump, CONDITION, Some((0x8_1002, T32)))),
            (0x1000, 0xf000_b800, "b.w .+4", (Direct, Jump, ALWAYS, Some((0x1004, T32)))),
            (0x1000, 0xf7ff_bffe, "b.w .", (Direct, Jump, ALWAYS, Some((0x1000, T32)))),
            (0x0200_0000, 0xf400_9000, "b.w .-0xfffffc", (Direct, Jump, ALWAYS, Some((0x0100_0004, T32)))),
            (0x0200_0000, 0xf3ff_97ff, "b.w .+0x1000002", (Direct, Jump, ALWAYS, Some((0x0300_0002, T32)))),
            (0x1000, 0xf7ff_fffe, "bl .", (Direct, Call, ALWAYS, Some((0x1000, T32)))),
            (0x1000, 0xf000_f802, "bl .+8", (Direct, Call, ALWAYS, Some((0x1008, T32)))),
            (0xffff_fffe, 0xf000_f800, "bl .+4, around the top", (Direct, Call, ALWAYS, Some((2, T32)))),
            (0x1000, 0xf000_e802, "blx .+8", (Direct, Call, ALWAYS, Some((0x1008, A32)))),
            (0x1002, 0xf000_e802, "blx .+6", (Direct, Call, ALWAYS, Some((0x1008, A32)))),
            (2, 0xf7ff_effc, "blx .-6, around zero", (Direct, Call, ALWAYS, Some((0xffff_fffc, A32)))),
            // Armv8.1-M loops
            (0x1000, 0xf00f_c803, "le lr, .-2", (Direct, LoopEnd, CONDITION, Some((0xffe, T32)))),
            (0x1000, 0xf00f_cfff, "le lr, .-0xffa", (Direct, LoopEnd, CONDITION, Some((0x6, T32)))),
            (0x1000, 0xf01f_c803, "letp lr, .-2", (Direct, LoopEnd, CONDITION, Some((0xffe, T32)))),
            (0x1000, 0xf02f_c803, "le .-2", (Direct, LoopEnd, ALWAYS, Some((0xffe, T32)))),
            (0, 0xf00f_c005, "le lr, .-4, around 0", (Direct, LoopEnd, CONDITION, Some((0xffff_fffc, T32)))),
            (0x1000, 0xf042_c803, "wls lr, r2, .+10", (Direct, Jump, CONDITION, Some((0x100a, T32)))),
            (0x1000, 0xf012_c803, "wlstp.16 lr, r2, .+10", (Direct, Jump, CONDITION, Some((0x100a, T32)))),
            (0x1000, 0xf002_cfff, "wlstp.8 lr, r2, .+0x1002", (Direct, Jump, CONDITION, Some((0x2002, T32)))),
            (0x1000, 0xf042_e001, "dls lr, r2", NEXT),
            (0x1000, 0xf012_e001, "dlstp.16 lr, r2", NEXT),
            (0x1000, 0xf00f_e001, "lctp", NEXT),
            (0x1000, 0xf000_e801, "vctp.8 r0, beside blx", NEXT),
            (0x1000, 0xf0c0_e803, "bf .+6, .+10", NEXT),
            // Table branch, branches through registers
            (0x1000, 0xe8df_f003, "tbb [pc, r3]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe8df_f013, "tbh [pc, r3, lsl #1]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe8d0_1f4f, "ldrexb r1, [r0]", NEXT),
            (0x1000, 0xf3c3_8f00, "bxj r3", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xfb5e_cf1d, "bxaut r12, lr, sp", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xfb53_cf1d, "bxaut r12, r3, sp", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xfb5e_cf0d, "autg r12, lr, sp", NEXT),
            // Exception returns
            (0x1000, 0xf3de_8f00, "eret", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xf3de_8f04, "subs pc, lr, #4", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xe9bd_c000, "rfeia sp!", (Indirect, ExceptionReturn, ALWAYS, None)),
            (0x1000, 0xe81d_c000, "rfedb sp", (Indirect, ExceptionReturn, ALWAYS, None)),
            // Loads
            (0x1000, 0xe8bd_8010, "pop.w {r4, pc}", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xe8b1_8010, "ldm.w r1!, {r4, pc}", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe911_8010, "ldmdb r1, {r4, pc}", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xe8bd_4010, "pop.w {r4, lr}", NEXT),
            (0x1000, 0xe92d_4010, "push.w {r4, lr}", NEXT),
            (0x1000, 0xe89f_8001, "clrm {r0, apsr}", NEXT),
            (0x1000, 0xf85d_fb04, "ldr pc, [sp], #4", (Indirect, Return, ALWAYS, None)),
            (0x1000, 0xf85d_f904, "ldr pc, [sp], #-4", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xf853_fd04, "ldr pc, [r3, #-4]!", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xf853_fc04, "ldr pc, [r3, #-4]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xf853_fe04, "ldrt pc, [r3, #4]", NEXT),
            (0x1000, 0xf8d3_f004, "ldr.w pc, [r3, #4]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xf8df_f004, "ldr.w pc, [pc, #4]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xf85f_fabc, "ldr.w pc, [pc, #-0xabc]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xf853_f022, "ldr.w pc, [r3, r2, lsl #2]", (Indirect, Jump, ALWAYS, None)),
            (0x1000, 0xf893_f004, "pld [r3, #4]", NEXT),
            // Barriers, waits, exceptions
            (0x1000, 0xf3bf_8f6f, "isb sy", (Isb, Jump, ALWAYS, None)),
            (0x1000, 0xf3bf_8f4f, "dsb sy", NEXT),
            (0x1000, 0xf3bf_8f5f, "dmb sy", NEXT),
            (0x1000, 0xee07_0f95, "mcr p15, 0, r0, c7, c5, 4", (Isb, Jump, ALWAYS, None)),
            (0x1000, 0xf3af_8002, "wfe.w", (Wait, Jump, ALWAYS, None)),
            (0x1000, 0xf3af_8003, "wfi.w", (Wait, Jump, ALWAYS, None)),
            (0x1000, 0xf3af_8000, "nop.w", NEXT),
            (0x1000, 0xf3ef_8000, "mrs r0, apsr", NEXT),
            (0x1000, 0xf7e0_8000, "hvc #0", NEXT),
            (0x1000, 0xf7f0_8000, "smc #0", NEXT),
            (0x1000, 0xf7f0_a000, "udf.w #0", NEXT),
            (0x1000, 0xf78f_8001, "dcps1", NEXT),
            (0x1000, 0xe97f_e97f, "sg", NEXT),
        ],
    );
}

/// IT blocks: which of five NOPs after it are conditional.
#[test]
fn it_blocks() {
    for (it, text, conditional) in [
        (0xbf08_u16, "it eq", 1),
        (0xbf04, "itt eq", 2),
        (0xbf0c, "ite eq", 2),
        (0xbf02, "ittt eq", 3),
        (0xbf0e, "itee eq", 3),
        (0xbf01, "itttt eq", 4),
        (0xbfdf, "iteee le", 4),
        (0xbf00, "nop", 0),
        (0xbf30, "wfi", 0),
    ] {
        let mut state = ItState::default();
        decode(T32, 0, &it.to_le_bytes(), &mut state).unwrap();
        for n in 0..5 {
            let nop = decode(T32, 0, &[0x00, 0xbf], &mut state).unwrap();
            assert_eq!(nop.class.conditional, n < conditional, "{text}: {n}");
        }
        assert_eq!(state, ItState::default(), "{text}");
    }
}

/// What Arm's specification reserves or does not allocate as a whole, and what lies beside it.
#[test]
fn undefined() {
    let lines = [
        (A64, 0x0000_0000, true, "udf #0"),
        (A64, 0x0000_ffff, true, "udf #65535"),
        (A64, 0x0001_0000, true, "reserved"),
        (A64, 0x61ff_ffff, true, "reserved"),
        (A64, 0x8000_0000, false, "SME"),
        (A64, 0xc080_0000, false, "SME"),
        (A64, 0x0200_0000, true, "group 0001"),
        (A64, 0xe7ff_ffff, true, "group 0011"),
        (A64, 0x0400_0000, false, "SVE"),
        (A64, 0xffff_ffff, false, "floating point, or new"),
        (A64, 0xd503_201f, false, "nop"),
        (A32, 0xe7f0_00f0, true, "udf #0"),
        (A32, 0xe7ff_fff0, true, "udf #65280"),
        (A32, 0x07f0_00f0, false, "with a condition that may fail"),
        (A32, 0xf000_0000, true, "unconditional, not allocated"),
        (A32, 0xffff_ffff, true, "memory that was never written"),
        (A32, 0xf100_0000, false, "cps"),
        (A32, 0xfe00_0000, false, "cdp2"),
        (A32, 0x0000_0000, false, "andeq r0, r0, r0"),
        (T32, 0xde00, true, "udf #0"),
        (T32, 0xdeff, true, "udf #255"),
        (T32, 0xdd00, false, "ble"),
        (T32, 0xdf00, false, "svc #0"),
        (T32, 0x0000, false, "movs r0, r0"),
        (T32, 0xf7f0_a000, true, "udf.w #0"),
        (T32, 0xf7ff_afff, true, "udf.w #65535"),
        (T32, 0xffff_ffff, true, "memory that was never written"),
        (T32, 0xffff_fffe, false, "coprocessor, or vector"),
        (Isa::Rv64, 0x0000, true, "zeros"),
        (Isa::Rv64, 0x001c, true, "c.addi4spn of 0"),
        (Isa::Rv64, 0x0020, false, "c.addi4spn of 8"),
        (Isa::Rv64, 0xffff_ffff, true, "ones"),
        (Isa::Rv64, 0x0000_001f, false, "longer than 32 bits"),
        (Isa::Rv64, 0x8002, true, "c.jr x0"),
        (Isa::Rv64, 0x8082, false, "ret"),
        (Isa::Rv64, 0x2001, true, "c.addiw to x0"),
        (Isa::Rv32, 0x2001, false, "c.jal"),
        (Isa::Rv64, 0x4002, true, "c.lwsp to x0"),
        (Isa::Rv64, 0x6002, true, "c.ldsp to x0"),
        (Isa::Rv32, 0x6002, false, "c.flwsp"),
        (Isa::Rv64, 0x6081, false, "c.mop.1"),
        (Isa::Rv64, 0xc000_1073, false, "unimp, a write to cycle"),
    ];
    for (isa, word, expected, text) in lines {
        let word: u32 = word;
        let is_narrow = word <= 0xffff
            && match isa {
                T32 => true,
                Isa::Rv32 | Isa::Rv64 => word & 0x1f != 0x1f,
                _ => false,
            };
        let bytes = match isa {
            _ if is_narrow => (word as u16).to_le_bytes().to_vec(),
            T32 => word.rotate_left(16).to_le_bytes().to_vec(),
            _ => word.to_le_bytes().to_vec(),
        };
        assert_eq!(is_undefined(isa, &bytes), expected, "{isa} {word:08x} {text}");
        assert!(!is_undefined(isa, &bytes[..1]), "{isa} {word:08x} {text}");
    }
}
