//! Symbol shown at an address.

use crate::support::*;
use tracewright_image::Image;

/// Checks the symbols of a `.text` at 0x1000 of 0x100 bytes: pairs of address and shown name.
fn check(machine: u16, symbols: &[Symbol], expected: &[(u64, &str)]) {
    for wide in [true, false] {
        let mut elf = program(0x1000, vec![0; 0x120], symbols.to_vec());
        elf.sections = vec![section(".text", AX, 0x1000, 0x100), section(".rodata", A, 0x1100, 0x20)];
        (elf.machine, elf.wide) = (machine, wide);
        let image = elf.load();
        for &(address, expected) in expected {
            let symbol = image.symbols().symbol(address, ANY);
            let shown = symbol.map_or("?".into(), |symbol| symbol.offset(address).to_string());
            assert_eq!(shown, expected, "{address:#x}");
        }
    }
}

#[test]
fn functions_are_shown_where_they_are() {
    let symbols = [symbol("b", 0x1040, 0x10, 0x12, 1), symbol("a", 0x1000, 0x20, 0x12, 1)];
    let expected =
        [(0xfff, "?"), (0x1000, "a"), (0x101f, "a+0x1f"), (0x1020, "?"), (0x104f, "b+0xf"), (0x1050, "?")];
    check(EM_AARCH64, &symbols, &expected);
}

#[test]
fn functions_without_a_size_end_at_the_next_symbol_or_section() {
    let symbols = [symbol("a", 0x1000, 0, 0x12, 1), symbol("b", 0x1040, 0, 0x02, 1)];
    check(EM_AARCH64, &symbols, &[(0x103f, "a+0x3f"), (0x1040, "b"), (0x10ff, "b+0xbf"), (0x1100, "?")]);
    let endless = [symbol("a", 0x1000, 0x7fff_ffff, 0x12, 1)];
    check(EM_AARCH64, &endless, &[(0x10ff, "a+0xff"), (0x1100, "?")]);
    // A size beyond the section is ignored.
    let endless = [symbol("a", 0x1000, u64::MAX - 1, 0x12, 1), symbol("b", 0x1040, 8, 0x12, 1)];
    check(EM_AARCH64, &endless, &[(0x103f, "a+0x3f"), (0x1047, "b+0x7"), (0x1048, "?")]);
}

#[test]
fn labels_are_shown_only_where_no_function_is() {
    let symbols = [
        symbol("f", 0x1010, 0x10, 0x12, 1),
        symbol("inner", 0x1014, 0, 0x00, 1),
        symbol("_start", 0x1000, 0, 0x10, 1),
        symbol("after", 0x1020, 0, 0x00, 1),
        symbol("data", 0x1108, 0, 0x10, 2),
        symbol("size", 0x1030, 0, 0x10, ABS),
        symbol("table", 0x1038, 8, 0x11, 1),
    ];
    let expected = [(0x100f, "_start+0xf"), (0x1018, "f+0x8"), (0x1038, "after+0x18"), (0x1108, "?")];
    check(EM_RISCV, &symbols, &expected);
}

#[test]
fn an_inner_function_is_shown_within_the_outer() {
    let symbols = [symbol("outer", 0x1000, 0x40, 0x12, 1), symbol("inner", 0x1010, 0x10, 0x02, 1)];
    let expected = [(0x100c, "outer+0xc"), (0x1010, "inner"), (0x101f, "inner+0xf"), (0x1020, "outer+0x20")];
    check(EM_AARCH64, &symbols, &expected);
}

#[test]
fn of_several_names_the_best_is_shown() {
    let best = |names: &[(&'static str, u8)], best| {
        let symbols: Vec<_> = names.iter().map(|&(name, info)| symbol(name, 0x1000, 8, info, 1)).collect();
        let reversed: Vec<_> = symbols.iter().rev().cloned().collect();
        check(EM_AARCH64, &symbols, &[(0x1000, best)]);
        check(EM_AARCH64, &reversed, &[(0x1000, best)]);
    };
    best(&[("local", 0x02), ("a_global_one", 0x12)], "a_global_one");
    best(&[("label", 0x10), ("function", 0x02)], "function");
    best(&[("__libc_free", 0x12), ("cfree", 0x22), ("free", 0x22)], "free");
    best(&[("__open", 0x12), ("_open_it", 0x12)], "_open_it");
    best(&[("$x", 0x00), ("x", 0x00)], "x");
    best(&[("resolver", 0x1a), ("zzz", 0x00)], "resolver");
}

#[test]
fn names_of_the_tools_are_not_shown() {
    let names = ["$a", "$t", "$d", "$x", "$x.7", "$xrv64i2p1_m2p0", ".L12", ".annobin_x", ""];
    let symbols: Vec<_> = names.iter().map(|name| symbol(name, 0x1000, 0, 0x00, 1)).collect();
    check(EM_RISCV, &symbols, &[(0x1000, "?")]);
    check(EM_AARCH64, &[symbol("$tart", 0x1000, 0, 0x00, 1)], &[(0x1000, "$tart")]);
    let undefined = [symbol("f", 0x1000, 8, 0x12, 0), symbol("common", 0x1000, 8, 0x12, 0xfff2)];
    check(EM_AARCH64, &undefined, &[(0x1000, "?")]);
}

#[test]
fn thumb_functions_begin_at_an_even_address() {
    let symbols = [symbol("thumb", 0x1001, 8, 0x12, 1), symbol("arm", 0x1010, 8, 0x12, 1)];
    check(EM_ARM, &symbols, &[(0x1000, "thumb"), (0x1007, "thumb+0x7"), (0x1008, "?"), (0x1010, "arm")]);
}

#[test]
fn names_are_found() {
    let symbols = vec![
        symbol("main", 0x1000, 8, 0x12, 1),
        symbol("_ZN3foo3barEi", 0x1010, 8, 0x12, 1),
        symbol("_ZN4demo4main17h0123456789abcdefE", 0x1018, 8, 0x02, 1),
        symbol("twice", 0x1040, 8, 0x02, 1),
        symbol("twice", 0x1020, 8, 0x02, 1),
        symbol("twice", 0x1030, 8, 0x12, 1),
        symbol("old@V1", 0x1050, 8, 0x12, 1),
    ];
    let image = program(0x1000, vec![0; 0x100], symbols).load();
    let start = |name| image.symbols().resolve(name).map(|range| range.start);
    assert_eq!(image.symbols().resolve("main"), Some(0x1000..0x1008));
    for name in ["foo::bar(int)", "foo::bar", "_ZN3foo3barEi"] {
        assert_eq!(start(name), Some(0x1010), "{name}");
    }
    assert_eq!(start("demo::main"), Some(0x1018));
    assert_eq!(start("twice"), Some(0x1030));
    assert_eq!(start("old"), Some(0x1050));
    assert_eq!(start("bar"), None);
    assert_eq!(image.symbols().symbol(0x1012, ANY).unwrap().name, "foo::bar(int)");
}

/// Returns a program that calls one function of another file, `puts`, through the stub in a `.plt` at 0x1000.
fn with_plt(machine: u16, wide: bool, plt: &[u32], slot: u64) -> Image {
    let jump_slot: u64 = match machine {
        EM_AARCH64 => 1026,
        EM_ARM => 22,
        _ => 5,
    };
    let (table, strings) = symbol_table(wide, &[symbol("puts", 0, 0, 0x12, 0)]);
    let relocation = match wide {
        true => [slot, 1 << 32 | jump_slot, 0].iter().flat_map(|field| field.to_le_bytes()).collect(),
        false => {
            [slot as u32, 1 << 8 | jump_slot as u32].iter().flat_map(|field| field.to_le_bytes()).collect()
        }
    };
    let kind = if wide { SHT_RELA } else { SHT_REL };
    let code: Vec<u8> = plt.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut elf = program(0x1000, code, vec![]);
    (elf.machine, elf.wide) = (machine, wide);
    elf.sections[0].name = ".plt";
    elf.sections.push(own_section(".dynsym", SHT_DYNSYM, 0, table, 3));
    elf.sections.push(own_section(".dynstr", 3, 0, strings, 0));
    elf.sections.push(own_section(if wide { ".rela.plt" } else { ".rel.plt" }, kind, 0, relocation, 2));
    elf.load()
}

#[test]
fn stubs_have_the_name_of_the_function_they_lead_to() {
    const ADRP: u32 = 0xf000_0090; // adrp x16, 0x14000 (from 0x1000)
    const LDR: u32 = 0xf947_ca11; // ldr x17, [x16, #0xf90]
    let head =
        [0xa9bf_7bf0, ADRP, 0xf947_c611, 0x913e_2210, 0xd61f_0220, 0xd503_201f, 0xd503_201f, 0xd503_201f];
    let plain = [&head[..], &[ADRP, LDR, 0x913e_4210, 0xd61f_0220]].concat();
    let bti = [&head[..], &[0xd503_245f, ADRP, LDR, 0x913e_4210, 0xd61f_0220, 0xd503_201f]].concat();
    for (plt, end) in [(plain, 0x1030), (bti, 0x1038)] {
        let image = with_plt(EM_AARCH64, true, &plt, 0x14f90);
        assert_eq!(image.symbols().resolve("puts@plt"), Some(0x1020..end));
        assert_eq!(image.symbols().symbol(0x101c, ANY), None);
        assert_eq!(image.symbols().resolve("puts"), None);
    }
    // add ip, pc, #0; add ip, ip, #0x10000; ldr pc, [ip, #0x10]!, after bx pc; nop
    let arm = [0, 0x46c0_4778, 0xe28f_c600, 0xe28c_ca10, 0xe5bc_f010];
    let image = with_plt(EM_ARM, false, &arm, 0x1008 + 8 + 0x10000 + 0x10);
    assert_eq!(image.symbols().resolve("puts@plt"), Some(0x1004..0x1014));
    // auipc t3, 0x2; ld t3, -8(t3); jalr t1, t3; nop
    let riscv = [0x0000_2e17, 0xff8e_3e03, 0x000e_0367, 0x13];
    let image = with_plt(EM_RISCV, true, &riscv, 0x1000 + 0x2000 - 8);
    assert_eq!(image.symbols().resolve("puts@plt"), Some(0x1000..0x1010));
}
