//! Malicious files take time and memory in proportion to their size.

use crate::support::program;
use crate::support::*;
use tracewright_image::{Image, RegionRef};
use tracewright_testkit::{Scratch, skip};

#[test]
fn segments_upon_segments() {
    let mut elf = program(0x1000, vec![7; 0x100], vec![]);
    elf.segments = (0..60_000)
        .map(|i| Segment { executable: true, address: 0x1000 + i % 77, bytes: vec![i as u8; 0x20] })
        .collect();
    let image = elf.load();
    assert_eq!(image.regions().count(), 60_000);
    assert_eq!(image.read(0x1000, ANY), [0; 0x20]);
    assert_eq!(image.remarks().len(), 59_999);
}

/// Returns a `.symtab` of 100,000 functions whose names are all suffixes of one long string.
fn sharing_names(text: u8) -> Elf {
    let names = vec![text; 1 << 20];
    let mut table = vec![0; 24];
    for i in 0..100_000_u32 {
        table.extend(i.to_le_bytes());
        table.extend([0x12, 0, 1, 0]);
        table.extend(0x1000_u64.to_le_bytes());
        table.extend(u64::from(i % 0x100).to_le_bytes());
    }
    let mut elf = program(0x1000, vec![0; 0x100], vec![]);
    elf.sections.push(own_section(".symtab", 2, 0, table, 3));
    elf.sections.push(own_section(".strtab", 3, 0, names, 0));
    elf
}

#[test]
fn names_within_names() {
    for text in *b"_aZ" {
        let image = sharing_names(text).load();
        assert!(image.symbols().symbol(0x1004, ANY).unwrap().name.len() <= 0x4000);
        assert_eq!(image.symbols().resolve("f"), None);
    }
    let mut elf = sharing_names(b'1');
    // Mangled ones: `_Z`, and numbers that are lengths of missing names.
    for (i, byte) in elf.sections[2].bytes.as_mut().unwrap().iter_mut().enumerate() {
        *byte = b"_ZN1"[i % 4];
    }
    assert_eq!(elf.load().symbols().resolve("f"), None);
}

/// Many sections over the same bytes, each a table of symbols, or of notes, or a linkage table.
#[test]
fn sections_upon_sections() {
    for (name, kind) in [(".symtab", 2), (".note", 7), (".plt", SHT_PROGBITS), (".debug_info", SHT_PROGBITS)]
    {
        let mut elf = program(0x1000, vec![0; 0x8_0000], vec![]);
        let over_all = Section { kind, ..section(name, AX, 0x1000, 0x8_0000) };
        elf.sections.extend(vec![over_all; 20_000]);
        let image = elf.load();
        assert_eq!(image.symbols().symbol(0x1004, ANY), None);
        assert_eq!(image.symbols().source(0x1004, ANY), None);
        assert_eq!(image.region(0x1004, ANY).unwrap().build_id(), None);
    }
}

/// Returns a relocation of the first symbol.
fn relocation(offset: u64, kind: u64, addend: u64) -> Vec<u8> {
    [offset, 1 << 32 | kind, addend].into_iter().flat_map(u64::to_le_bytes).collect()
}

/// Many tables of relocations over the same bytes, or with as many tables of symbols, or for alternatives.
#[test]
fn relocations_upon_relocations() {
    let call: Vec<u8> = relocation(0, 283, 0).repeat(1000);
    let len = call.len() as u64;
    let module = |tables: usize, kind: u32, target: &'static str| {
        let mut elf = program(0x1000, call.clone(), vec![symbol("f", 0, 8, 0x12, 1)]);
        elf.kind = ET_REL;
        elf.sections.push(section(target, 0, 0x1000, len));
        let info = if target.is_empty() { 1 } else { 2 };
        elf.sections.extend(vec![Section { kind, info, ..section("", 0, 0x1000, len) }; tables]);
        elf
    };
    let reason = |elf: &Elf| {
        let added = Image::builder().elf("test", elf.write().into(), None, ANY);
        added.map_err(|error| error.reason.to_string())
    };
    let overlap = "a broken ELF file: its relocations and symbols are longer than the file";
    for kind in [SHT_RELA, SHT_REL, SHT_DYNSYM, 2] {
        for target in ["", ".altinstructions"] {
            assert_eq!(reason(&module(1, kind, target)), Ok(()));
            assert_eq!(reason(&module(5000, kind, target)), Err(overlap.to_owned()));
        }
    }
    // Truncated files have missing tables.
    let mut elf = module(1, SHT_RELA, "");
    elf.sections[2].len = 1 << 40;
    assert_eq!(reason(&elf), Ok(()));
}

/// Many sections of code over the same bytes, and as many alternatives in each.
#[test]
fn alternatives_upon_alternatives() {
    let (entries, sections) = (20_000, 500);
    let code = [0x1400_0000_u32, 0xd503_201f].into_iter().flat_map(u32::to_le_bytes).collect::<Vec<_>>();
    let code = code.repeat(entries);
    let len = code.len() as u64;
    let relocations = (0..entries as u64).flat_map(|at| relocation(12 * at, 261, 8 * at)).collect();
    let lens = [&[0; 10][..], &[4, 0]].concat().repeat(entries);
    let mut elf = program(0x1000, code, vec![symbol("f", 0, 8, 0x12, 1)]);
    elf.kind = ET_REL;
    elf.sections.push(own_section(".altinstructions", SHT_PROGBITS, 0, lens, 0));
    // Its symbols follow.
    elf.sections.push(Section { info: 2, ..own_section("", SHT_RELA, 0, relocations, 4) });
    let alone = elf.load();
    assert_eq!(alone.regions().count(), entries);
    let symbols_at = 4 + sections as u32;
    elf.sections[2].link = symbols_at;
    elf.sections.extend(vec![section("", AX, 0x1000, len); sections]);
    assert!(elf.load().regions().count() <= (1 << 16) + 2 * sections);
}

/// Reads 50,000 units without address ranges, all with the same long line program.
#[test]
fn units_sharing_lines() {
    // A unit: its length, version 4, abbreviations at 0, addresses of 8 bytes, an entry: number 1, its lines at 0.
    let unit = [&[12, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8][..], &[1, 0, 0, 0, 0]].concat();
    // Number 1 is a unit without children; DW_AT_stmt_list as DW_FORM_sec_offset.
    let abbreviations = vec![1, 0x11, 0, 0x10, 0x17, 0, 0, 0];
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
    header.extend(b"a\0\0\0\0".repeat(100_000));
    header.push(0);
    let mut lines = Vec::new();
    let set_address: &[u8] = &[0, 9, 2, 0, 0x10, 0, 0, 0, 0, 0, 0];
    let program = [set_address, &[20, 75, 75, 2, 4, 0, 1, 1]].concat();
    lines.extend((2 + 4 + header.len() as u32 + program.len() as u32).to_le_bytes());
    lines.extend([4, 0]);
    lines.extend((header.len() as u32).to_le_bytes());
    lines.extend(header);
    lines.extend(program);
    let mut elf = program_with(lines, unit.repeat(50_000), abbreviations);
    let image = elf.load();
    assert!(image.regions().all(|region| region.has_lines()));
    let line = image.symbols().source(0x1000, ANY).unwrap();
    assert_eq!(line.file, "a");
    // All of them with their own abbreviations, which end together.
    let mut units = Vec::new();
    for i in 0..20_000_u32 {
        let mut unit = unit.clone();
        unit[6..10].copy_from_slice(&(7 * i).to_le_bytes());
        units.extend(unit);
    }
    let mut abbreviations = Vec::new();
    for i in 0..20_000_u32 {
        let number = [i as u8 | 0x80, (i >> 7) as u8 | 0x80, (i >> 14) as u8];
        abbreviations.extend([&number[..], &[0x11, 0, 0, 0]].concat());
    }
    let lines = elf.sections[1].bytes.take().unwrap();
    elf = program_with(lines, units, abbreviations);
    let _ = elf.load().symbols().source(0x1000, ANY);
}

fn program_with(lines: Vec<u8>, units: Vec<u8>, abbreviations: Vec<u8>) -> Elf {
    let mut elf = program(0x1000, vec![0; 0x100], vec![]);
    elf.sections.push(own_section(".debug_line", SHT_PROGBITS, 0, lines, 0));
    elf.sections.push(own_section(".debug_info", SHT_PROGBITS, 0, units, 0));
    elf.sections.push(own_section(".debug_abbrev", SHT_PROGBITS, 0, abbreviations, 0));
    elf
}

/// Checks that threads get the same answers when they ask at once, before anything was read. This is not a
/// limit.
#[test]
fn threads_share_an_image() {
    let Some(file) =
        program::compile(&Scratch::new("image"), &["-g", "-O2"]).map(|file| std::fs::read(file).unwrap())
    else {
        return skip("threads_share_an_image", "no C compiler");
    };
    let image = || load(file.clone(), None);
    let ask = |image: &Image| {
        let code = image.regions().filter(RegionRef::executable).flat_map(|region| region.range());
        let answers = code.map(|address| {
            let symbols = image.symbols();
            format!("{:?} {:?}", symbols.symbol(address, ANY), symbols.frames(address, ANY))
        });
        answers.collect::<Vec<_>>()
    };
    let expected = ask(&image());
    let shared = image();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| ask(&shared))).collect();
        for thread in threads {
            assert!(thread.join().unwrap() == expected);
        }
    });
}

/// Returns a unit in a folder whose line program has many files in its header, and a row for each.
fn many_files(folder: &[u8], files: usize, name: &[u8]) -> Elf {
    // An entry with addresses and lines: low address, length, offset of the lines, folder.
    let abbreviations = [1, 0x11, 0, 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0x1b, 0x08, 0, 0, 0].to_vec();
    let mut info = vec![0; 4];
    info.extend([4, 0, 0, 0, 0, 0, 8, 1]);
    info.extend(0x1000_u64.to_le_bytes());
    info.extend(0x100_u64.to_le_bytes());
    info.extend([0; 4]);
    info.extend(folder);
    info.push(0);
    let len = info.len() as u32 - 4;
    info[..4].copy_from_slice(&len.to_le_bytes());
    // Lines: instruction length, whether rows are statements, line base and range, opcodes up to 13.
    let mut head = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
    for _ in 0..files {
        head.extend(name);
        head.extend([0, 0, 0, 0]);
    }
    head.push(0);
    let mut lines = vec![0; 4];
    lines.extend([4, 0]);
    lines.extend((head.len() as u32).to_le_bytes());
    lines.extend(head);
    // Set the address; a row for each file with an advance; the end.
    lines.extend([0, 9, 2]);
    lines.extend(0x1000_u64.to_le_bytes());
    for mut number in 1..=files {
        lines.push(4);
        while number > 0x7f {
            lines.push(number as u8 | 0x80);
            number >>= 7;
        }
        lines.extend([number as u8, 20, 2, 1]);
    }
    lines.extend([0, 1, 1]);
    let len = lines.len() as u32 - 4;
    lines[..4].copy_from_slice(&len.to_le_bytes());
    program_with(lines, info, abbreviations)
}

#[test]
fn line_tables_with_many_files() {
    let image = many_files(b"", 1000, b"file.c").load();
    let source =
        |image: &Image, address| image.symbols().source(address, ANY).map(|line| line.file.to_owned());
    assert_eq!(source(&image, 0x1000).as_deref(), Some("file.c"));
    assert_eq!(source(&image, 0x1020).as_deref(), Some("file.c"));
    assert_eq!(image.lines_left_out().count(), 0);
    // gimli would need a hundred megabytes for these.
    let image = many_files(b"", 1_000_000, b"a").load();
    assert_eq!(source(&image, 0x1000), None);
    assert_eq!(image.lines_left_out().collect::<Vec<_>>(), [("test", 1)]);
    // A second query does not count again.
    assert_eq!(source(&image, 0x1010), None);
    assert_eq!(image.lines_left_out().collect::<Vec<_>>(), [("test", 1)]);
    // Paths of 20 megabytes, made from few bytes.
    let image = many_files(&[b'/'; 4000], 5000, b"a").load();
    assert!(source(&image, 0x1000).is_some());
    assert_eq!(image.lines_left_out().collect::<Vec<_>>(), [("test", 1)]);
}

/// Damaged tables do not count as too large.
#[test]
fn line_tables_that_are_not_there() {
    let elf = many_files(b"", 10, b"a");
    let lines_at = elf.sections.iter().position(|section| section.name == ".debug_line").unwrap();
    for len in 1..40 {
        let mut elf = elf.clone();
        elf.sections[lines_at].bytes.as_mut().unwrap().truncate(len);
        elf.sections[lines_at].len = len as u64;
        // Its header claims to be long, or to lie behind the end.
        for (section, at, byte) in [(lines_at, 9, 0x7f), (lines_at + 1, 31, 0x7f)] {
            let mut elf = elf.clone();
            if let Some(field) = elf.sections[section].bytes.as_mut().unwrap().get_mut(at) {
                *field = byte;
            }
            let image = elf.load();
            assert_eq!(image.symbols().source(0x1000, ANY), None);
            assert_eq!(image.lines_left_out().count(), 0, "{len} {at}");
        }
    }
}
