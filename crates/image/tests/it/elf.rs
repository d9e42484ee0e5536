//! Loading of ELF files of all kinds.

use crate::support::*;
use tracewright_image::{Bytes, Image, Place, Reason, Remark};

fn fails(bytes: Vec<u8>) -> String {
    Image::builder().elf("test", bytes.into(), None, ANY).unwrap_err().to_string()
}

/// Returns a program of two segments, data first, with its bytes in no particular order.
fn two_segments(wide: bool, kind: u16) -> Elf {
    Elf {
        wide,
        machine: if wide { EM_AARCH64 } else { EM_ARM },
        kind,
        segments: vec![
            Segment { executable: false, address: 0x10480, bytes: vec![1; 0x20] },
            Segment { executable: true, address: 0x12010, bytes: (0..0x40).collect() },
        ],
        sections: vec![section(".rodata", A, 0x10480, 0x20), section(".text", AX, 0x12010, 0x30)],
        symbols: vec![symbol("f", 0x12010, 8, 0x12, 2)],
    }
}

#[test]
fn segments_are_where_they_were_linked_to_be() {
    for wide in [false, true] {
        for kind in [ET_EXEC, ET_DYN, ET_CORE] {
            let image = two_segments(wide, kind).load();
            assert_eq!(image.read(0x12018, ANY)[..4], [8, 9, 10, 11]);
            assert_eq!(image.read(0x12010, ANY).len(), 0x40);
            assert_eq!(image.read(0x1049f, ANY), [1]);
            assert!(image.read(0x104a0, ANY).is_empty() && image.read(0x1200f, ANY).is_empty());
            assert_eq!(image.remarks(), []);
        }
    }
}

#[test]
fn a_base_is_that_of_the_lowest_page() {
    let image = load(two_segments(true, ET_DYN).write(), 0xffff_8000_0000);
    assert_eq!(image.read(0xffff_8000_0480, ANY).len(), 0x20);
    assert_eq!(image.read(0xffff_8000_2010, ANY)[1], 1);
    let symbol = image.symbols().symbol(0xffff_8000_2014, ANY).unwrap();
    assert_eq!((symbol.name, symbol.start, symbol.size), ("f", 0xffff_8000_2010, 8));
    assert_eq!(image.symbols().resolve("f"), Some(0xffff_8000_2010..0xffff_8000_2018));
    assert_eq!(symbol.offset(0xffff_8000_2014).to_string(), "f+0x4");
}

#[test]
fn a_mapping_tells_the_place_too() {
    // The second segment begins somewhere in the file; its mapping begins at the page before.
    let bytes = two_segments(true, ET_DYN).write();
    let at = bytes.windows(4).position(|window| window == [0, 1, 2, 3]).unwrap() as u64;
    for offset in [0, at - 0x10, at, at + 0x10] {
        let place = Place::Mapping { address: 0x5000_2010 + offset - at, offset };
        assert_eq!(load(bytes.clone(), place).read(0x5000_2014, ANY)[..2], [4, 5], "offset {offset:#x}");
    }
    let place = Place::Mapping { address: 0, offset: 0x100_0000 };
    let error = Image::builder().elf("test", bytes.into(), place, ANY).unwrap_err();
    assert_eq!(error.reason, Reason::NotMapped { offset: 0x100_0000 });
}

#[test]
fn regions_know_their_section() {
    let image = load(two_segments(true, ET_DYN).write(), 0x40_0000);
    let region = image.region(0x40_2020, ANY).unwrap();
    assert!(region.executable() && region.has_symbols() && !region.has_lines());
    assert_eq!(region.range(), 0x40_2010..0x40_2050);
    let text = region.section(0x40_2020).unwrap();
    assert_eq!((text.name, text.range), (".text", 0x40_2010..0x40_2040));
    assert_eq!(region.section(0x40_2044), None);
}

#[test]
fn a_module_has_its_text_at_the_address_given() {
    let mut module = program(0, vec![], vec![symbol("init", 0, 4, 0x02, 1), symbol("work", 4, 4, 0x12, 2)]);
    module.kind = ET_REL;
    module.segments.clear();
    module.sections = vec![
        own_section(".init.text", SHT_PROGBITS, AX, vec![1; 8], 0),
        own_section(".text", SHT_PROGBITS, AX, vec![2; 9], 0),
        own_section(".data", SHT_PROGBITS, 3, vec![3; 8], 0),
        own_section(".text.unlikely", SHT_PROGBITS, AX, vec![4; 8], 0),
    ];
    let image = load(module.write(), 0xffff_0000_1234_0000);
    assert_eq!(image.read(0xffff_0000_1234_0000, ANY), [2; 9]);
    assert_eq!(image.read(0xffff_0000_1234_000c, ANY), [4; 8]);
    assert_eq!(image.regions().count(), 2);
    let symbols = image.symbols();
    assert_eq!(symbols.symbol(0xffff_0000_1234_0005, ANY).unwrap().name, "work");
    assert_eq!(symbols.resolve("init"), None);

    // Addresses that a linker gave are kept.
    module.sections[1].address = 0x1000;
    module.sections[3].address = 0x2000;
    module.sections[0].flags = 0;
    module.sections[2].flags = 0;
    let image = load(module.write(), 0x8_0000);
    assert_eq!((image.read(0x8_0000, ANY), image.read(0x8_1000, ANY)), (&[2; 9][..], &[4; 8][..]));
}

#[test]
fn errors_say_what_and_where() {
    assert_eq!(fails(vec![]), "test: no bytes");
    assert_eq!(fails(b"#!/bin/sh\n".to_vec()), "test: not an ELF file");
    assert_eq!(fails(b"\x7fELF".to_vec()), "test: a broken ELF file: it is neither of 32 nor of 64 bits");
    let good = program(0x1000, vec![0; 16], vec![]).write();
    let mut big = good.clone();
    big[5] = 2;
    assert_eq!(fails(big), "test: an ELF file of a big-endian program: only little-endian ones are read");
    assert_eq!(
        fails(good[..40].to_vec()),
        "test: a broken ELF file: its header is cut off or of an unknown version"
    );
    assert_eq!(
        fails(good[..80].to_vec()),
        "test: a broken ELF file: its program headers are not in the file, or of an unknown size"
    );
    let mut nothing = program(0x1000, vec![], vec![]);
    assert_eq!(fails(nothing.write()), "test: an ELF file with nothing to load: no segment has bytes");
    nothing.segments.clear();
    assert_eq!(fails(nothing.write()), "test: an ELF file with nothing to load: no segment has bytes");
}

#[test]
fn a_file_cut_off_gives_what_it_has() {
    let bytes = program(0x1000, (0..100).collect(), vec![symbol("f", 0x1000, 8, 0x12, 1)]).write();
    let image = load(bytes[..64 + 56 + 60].to_vec(), None);
    let known = image.read(0x1000, ANY).len() as u64;
    assert!((40..100).contains(&known));
    let remark = Remark::Truncated { name: "test".into(), missing: 0x1000 + known..0x1064 };
    assert_eq!(image.remarks(), [remark]);
    assert_eq!(image.symbols().symbol(0x1000, ANY), None);
    assert_eq!(image.symbols().frames(0x1000, ANY), []);
}

#[test]
fn a_segment_may_claim_anything() {
    let mut elf =
        program(u64::MAX - 0x1f, vec![7; 64], vec![symbol("f", u64::MAX - 0x1f, u64::MAX, 0x12, 1)]);
    elf.sections.clear();
    let image = elf.load();
    assert_eq!(image.read(u64::MAX - 0xf, ANY), [7; 0xf]);
    assert!(matches!(image.remarks(), [Remark::BeyondTheEnd { .. }]));
    // Of the stated 2^60 bytes, those in the file are used.
    let mut bytes = program(0x1000, vec![7; 64], vec![]).write();
    bytes[64 + 32..64 + 40].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    let image = load(bytes, None);
    assert_eq!(image.read(0x1000, ANY)[..64], [7; 64]);
    assert!(matches!(image.remarks(), [Remark::Truncated { .. }]));
}

#[test]
fn a_dump_hides_the_bytes_of_a_program_but_not_its_symbols() {
    let mut builder = Image::builder();
    builder.raw("dump", Bytes::from(vec![9; 16]), 0x1000, ANY).unwrap();
    let elf = program(0x1000, vec![7; 32], vec![symbol("f", 0x1000, 32, 0x12, 1)]);
    builder.elf("elf", elf.write().into(), None, ANY).unwrap();
    let image = builder.build();
    assert_eq!((image.read(0x1000, ANY), image.read(0x1010, ANY)), (&[9; 16][..], &[7; 16][..]));
    assert_eq!(image.symbols().symbol(0x1008, ANY).unwrap().name, "f");
    let remarks: Vec<_> = image.remarks().iter().map(ToString::to_string).collect();
    assert_eq!(
        remarks,
        [
            "elf at 0x1000-0x1020 overlaps dump, which was given before it, at 0x1000: there the bytes of dump are used"
        ]
    );
}

/// Compressed sections that cannot be unpacked: no lines, and a reason. None of them takes much memory.
#[test]
fn compressed_lines_that_cannot_be_read_are_reported() {
    let header = |kind: u32, size: u64| {
        [&kind.to_le_bytes()[..], &[0; 4], &size.to_le_bytes(), &1_u64.to_le_bytes()].concat()
    };
    let with = |name: &'static str, flags: u64, bytes: Vec<u8>| {
        let mut elf = program(0x1000, vec![7; 32], vec![]);
        elf.sections.push(own_section(name, SHT_PROGBITS, flags, bytes, 0));
        elf.sections.push(own_section(".debug_line", SHT_PROGBITS, 0, vec![1; 32], 0));
        let image = elf.load();
        assert_eq!(image.damaged_lines().count(), 0, "nothing was asked yet");
        assert!(image.region(0x1000, ANY).unwrap().has_lines());
        assert_eq!(image.symbols().source(0x1000, ANY), None);
        let faults: Vec<_> = image.damaged_lines().map(|(name, why)| format!("{name}: {why}")).collect();
        faults.concat()
    };
    let compressed = |bytes: Vec<u8>| with(".debug_info", 0x800, bytes);
    let damaged = "test: .debug_info is compressed and damaged";
    assert_eq!(compressed(vec![1; 20]), damaged);
    assert_eq!(compressed([header(1, 100), vec![9; 20]].concat()), damaged);
    assert_eq!(compressed([header(2, 100), vec![9; 20]].concat()), damaged);
    let unknown = "test: .debug_info is compressed in an unknown way (type 3)";
    assert_eq!(compressed([header(3, 100), vec![9; 20]].concat()), unknown);
    let large = "test: .debug_info is compressed and claims to be 1099511627776 bytes: not unpacked";
    assert_eq!(compressed([header(1, 1 << 40), vec![9; 20]].concat()), large);
    // A frame that asks for a window of terabytes, and one that repeats a byte for 128 KiB, again and again.
    let frame = |window: u8, blocks: &[u8]| [&[0x28, 0xb5, 0x2f, 0xfd, 0, window], blocks].concat();
    assert_eq!(compressed([header(2, 100), frame(0xf8, &[1, 0, 0])].concat()), damaged);
    assert_eq!(compressed([header(2, 100), frame(0x48, &[2, 0, 16, 7].repeat(1000))].concat()), damaged);
    assert_eq!(compressed([header(2, 7), frame(0x48, &[0x3b, 0, 0, 7])].concat()), "", "seven bytes");
    assert_eq!(with(".zdebug_info", 0, b"ZLIB\0\0\0\0\0\0\0\x07nothing".to_vec()), damaged);
    assert_eq!(with(".zdebug_info", 0, b"ZL".to_vec()), damaged);
}
