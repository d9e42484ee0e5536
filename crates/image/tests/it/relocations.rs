//! Branches of relocatable files (kernel modules) lead where a linker makes them lead, or nowhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{ANY, load};
use tracewright_image::{Image, Place};
use tracewright_testkit::{Scratch, has_programs};

/// Code with every branch that has a relocation: within its section, to another loaded section, to one that
/// is not loaded, and to an undefined symbol.
const A64: &str = "
    .text
    .globl near, other
near: b near; bl far; b.eq other; cbz x0, local; tbz w0, #3, other; b outside; bl at_start; nop
    bl local + 8
local: nop; nop; nop; bl other; b.ne near; tbnz x1, #40, near; b.eq outside
    .section .text.unlikely, \"ax\"
    .balign 64
    .globl far
other: b near
far: nop; b local; bl outside; cbnz w3, far
    .section .init.text, \"ax\"
    .globl at_start
at_start: b near
";
const RISCV: &str = "
    .option norelax
    .text
    .globl near, other
near: call far; tail other; jal ra, near; j other; beq a0, a1, near; bnez a0, other; c.j other; c.beqz a0, near
    call outside; j outside; beqz a0, outside; call at_start; nop
local: call near; jal near; lla a0, outside; jalr a0
    .section .text.unlikely, \"ax\"
    .balign 64
    .globl far
other: call near; c.j near
far: nop; bltu a0, a1, local; jal near
    .section .init.text, \"ax\"
    .globl at_start
at_start: call near
";
const A32: &str = "
    .syntax unified
    .arch armv7-a
    .arm
    .text
    .globl near, other, thumb
    .type near, %function
    .type other, %function
    .type thumb, %function
    .type far, %function
    .type thumb_far, %function
near: b near; bl far; beq other; blne other; bl thumb; bl thumb_far; blx thumb_far; blx far; bl outside; b outside; b at_start
local: bl local; b near
    .thumb
    .thumb_func
thumb: bl thumb; bl thumb_far; b.w thumb_far; beq.w thumb_far; bl far; blx far; bl outside; nop; blx near; nop
    .section .text.unlikely, \"ax\"
    .arm
    .balign 64
    .globl far, thumb_far
other: b near
far: nop; bl thumb; bne local
    .thumb
    .thumb_func
thumb_far: bl near; bl thumb; b.w thumb; bne.w thumb
    .section .init.text, \"ax\"
    .arm
    .globl at_start
at_start: b near
";

/// Places sections as a kernel loads them; sections that are not loaded are elsewhere.
const SCRIPT: &str = "SECTIONS {
    . = 0x100000; .text : { *(.text) } .text.unlikely : { *(.text.unlikely) }
    . = 0x100400; .init.text : { *(.init.text) } outside = 0x100600;
    /DISCARD/ : { *(.note*) *(.ARM.attributes) *(.riscv.attributes) }
}";
const BASE: u64 = 0x10_0000;

fn ran(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the bytes of both loaded sections with code.
fn code(image: &Image, start: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for (at, byte) in (start..).zip(&mut bytes) {
        *byte = image.read(at, ANY).first().copied().unwrap_or(0);
    }
    bytes
}

fn image(path: &Path, place: Place) -> Image {
    load(fs::read(path).unwrap(), place)
}

/// Assembles and links `source`. Compares all bytes except those reported as unknown, which must be `unknown`
/// in number.
fn check(triple: &str, source: &str, options: &[&str], unknown: usize) {
    let tools = ["as", "ld"].map(|tool| format!("{triple}-{tool}"));
    if !has_programs("relocations", &tools.each_ref().map(String::as_str)) {
        return;
    }
    let here = Scratch::new("relocations");
    let [object, linked] = ["module.o", "linked"].map(|name| here.path().join(name));
    let source = here.write("module.s", source.as_bytes());
    let script = here.write("script", SCRIPT.as_bytes());
    ran(&tools[0], &[options, &[text(&source), "-o", text(&object)]].concat());
    ran(&tools[1], &["--no-relax", "-T", text(&script), text(&object), "-o", text(&linked)]);
    let (ours, theirs) = (image(&object, Place::AsLinked), image(&linked, Place::AsLinked));
    let last = ours.regions().map(|region| region.range().end).max().unwrap();
    let [mut ours_code, mut theirs_code] =
        [(&ours, 0), (&theirs, BASE)].map(|(image, base)| code(image, base, last as usize));
    let mut count = 0;
    for at in 0..last as usize {
        if ours.is_unrelocated(at as u64, ANY) {
            // A RISC-V call has two instructions.
            for code in [&mut ours_code, &mut theirs_code] {
                let end = code.len().min(at + if triple.starts_with("riscv") { 8 } else { 4 });
                code[at..end].fill(0);
            }
            count += 1;
        }
    }
    assert_eq!(count, unknown, "{triple}");
    let differs = (0..last as usize).step_by(2).find(|&at| ours_code[at..][..2] != theirs_code[at..][..2]);
    assert_eq!(differs, None, "{triple}: {:x?} and {:x?}", ours_code, theirs_code);
    // A file loaded elsewhere, or twice, gives the same.
    let moved = image(&object, Place::Base(0x7000_0000));
    assert_eq!(code(&moved, 0x7000_0000, last as usize), code(&ours, 0, last as usize));
    assert!((0..last).all(|at| moved.is_unrelocated(0x7000_0000 + at, ANY) == ours.is_unrelocated(at, ANY)));
    let again = moved.as_linked();
    let space = Image::space_of(0);
    for at in 0..last {
        assert_eq!(again.read(at, space).first(), ours.read(at, ANY).first(), "{triple} {at:#x}");
    }
}

#[test]
fn branches_of_a64_are_those_of_a_linker() {
    check("aarch64-linux-gnu", A64, &[], 4);
}

#[test]
fn branches_of_a32_and_t32_are_those_of_a_linker() {
    check("arm-linux-gnueabihf", A32, &[], 4);
}

#[test]
fn branches_of_riscv_are_those_of_a_linker() {
    check("riscv64-linux-gnu", RISCV, &["-march=rv64gc"], 6);
    // A linker that may shorten code aligns by removing bytes.
    let relaxed = RISCV.replace("    .option norelax\n", "").replace("    .balign 64\n", "");
    check("riscv64-linux-gnu", &relaxed, &["-march=rv64gc"], 6);
}

/// Covers `alternative_has_cap_unlikely` of Linux: a branch that becomes a NOP. Only the kernel knows which
/// one runs.
#[test]
fn code_that_the_kernel_replaces_by_branches_is_not_there() {
    let triple = "aarch64-linux-gnu";
    if !has_programs("alternatives", &[&format!("{triple}-as")]) {
        return;
    }
    let entry = |original: &str, other: &str, lens: &str| {
        format!(".word {original} - .\n.word {other} - .\n.hword 9\n.byte {lens}\n")
    };
    let source = format!(
        ".arch armv8.2-a\n.text\nnop\none: b two\nnop\ntwo: msr pan, #1\nthree: nop\nnop\nfour: nop; ret\n\
         .section .altinstr_replacement, \"ax\"\nother: nop\nisb\nmsr pan, #0\nbranch: b two\n\
         .section .altinstructions, \"a\"\n{}{}{}{}",
        entry("one", "other", "4, 4"),
        entry("two", "other + 8", "4, 4"),
        entry("three", "branch", "4, 4"),
        entry("four", "0", "4, 0"),
    );
    let here = Scratch::new("relocations");
    let object = here.path().join("module.o");
    let source = here.write("module.s", source.as_bytes());
    ran(&format!("{triple}-as"), &[text(&source), "-o", text(&object)]);
    let image = image(&object, Place::Base(0x1000));
    let known: Vec<_> = (0..8).map(|at| image.read(0x1000 + 4 * at, ANY).len() >= 4).collect();
    assert_eq!(known, [true, false, true, true, false, true, false, true]);
}

/// Covers `riscv_has_extension_likely` of Linux and the like, as its macros write them: the replacement is in
/// a subsection, and relocations give its length.
#[test]
fn code_that_the_kernel_replaces_by_branches_on_riscv_is_not_there() {
    let triple = "riscv64-linux-gnu";
    if !has_programs("alternatives", &[&format!("{triple}-as")]) {
        return;
    }
    let alternative = |original: &str, other: &str| {
        format!(
            "886: {original}\n887:\n.pushsection .altinstructions, \"a\"\n\
             .4byte 886b - .\n.4byte 888f - .\n.2byte 0\n.2byte 889f - 888f\n.4byte 5\n.popsection\n\
             .subsection 1\n888: {other}\n889:\n.previous\n"
        )
    };
    let source = format!(
        ".option norvc\n.text\nnop\n{}nop\n{}nop\ntwo: {}nop\n{}nop\n{}ret\n",
        alternative("j two", "nop"),
        alternative("nop", "j two"),
        alternative("csrsi sstatus, 2", "csrci sstatus, 2"),
        alternative("nop; nop", "nop; jalr a0"),
        alternative("ecall", "nop"),
    );
    let here = Scratch::new("relocations");
    let object = here.path().join("module.o");
    let path = here.write("module.s", source.as_bytes());
    for options in [&["-mno-relax"][..], &[]] {
        ran(&format!("{triple}-as"), &[options, &[text(&path), "-o", text(&object)]].concat());
        let image = image(&object, Place::Base(0x1000));
        let known = |words: std::ops::Range<u64>| {
            words.map(|at| image.read(0x1000 + 4 * at, ANY).len() >= 4).collect::<Vec<_>>()
        };
        let expected = [true, false, true, false, true, true, true, false, false, true, false, true];
        assert_eq!(known(0..12), expected);
        // The replacement stays as it is.
        assert_eq!(known(12..18), [true; 6]);
    }
}
