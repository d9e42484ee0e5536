//! Fuzzing of ELF files. Each body is a plain function, for `cargo test` and for a fuzzer.

#[path = "it/support/mod.rs"]
mod support;

use object::{Object, ObjectSection};
use support::program;
use support::*;
use tracewright_core::MemorySpace;
use tracewright_image::{Bytes, Facts, Image, Place, unpacked_xz};
use tracewright_testkit::{Rng, Scratch, captures, captures_for, skip};

/// Loads any bytes as an ELF file, above some raw ones. Expects an error, or an image whose every answer
/// makes sense. The first nine bytes choose its place.
pub fn image(data: &[u8]) {
    let Some((seed, data)) = data.split_first_chunk::<8>() else { return };
    let Some((kind, file)) = data.split_first() else { return };
    let address = u64::from_le_bytes(*seed);
    let place = match kind % 4 {
        0 => Place::AsLinked,
        1 => Place::Base(address),
        2 => Place::Mapping { address, offset: u64::from(*kind) << 4 },
        _ => Place::Mapping { address, offset: 0 },
    };
    let mut builder = Image::builder();
    builder.raw("raw", Bytes::from(vec![1; 64]), address, MemorySpace::EL1N).unwrap();
    let loaded = builder.elf("fuzz", file.to_vec().into(), place, MemorySpace::N);
    if kind & 4 != 0 {
        // The debug file is arbitrary, too.
        builder.debug(file.iter().rev().copied().collect::<Vec<u8>>().into());
        builder.debug(file.to_vec().into());
    }
    let _ = Facts::of(file);
    let image = builder.build();
    if let Err(error) = loaded {
        assert!(error.to_string().starts_with("fuzz: "));
        assert!(image.regions().count() <= 1);
    }
    check(&image, Rng::new(address));
}

/// Loads any bytes as a kernel module: a relocatable ELF file, in memory that Linux gave it. The first eight
/// bytes give the address, the next two the optional offset of `.text`.
pub fn kernel_module(data: &[u8]) {
    let Some((start, data)) = data.split_first_chunk::<8>() else { return };
    let Some((&[seen, text], file)) = data.split_first_chunk::<2>() else { return };
    let start = u64::from_le_bytes(*start);
    let mut file = file.to_vec();
    if let Some(kind) = file.get_mut(16..18) {
        kind.copy_from_slice(&ET_REL.to_le_bytes());
    }
    let mut builder = Image::builder();
    let place = Place::Module { start, text: (seen & 1 == 1).then_some(u64::from(text) << 4) };
    let _ = builder.elf("fuzz.ko", file.clone().into(), place, MemorySpace::EL1N);
    // The same module elsewhere, as after a reload.
    let _ = builder.elf("fuzz.ko", file.into(), Place::Base(start.rotate_left(20)), MemorySpace::EL1N);
    check(&builder.build(), Rng::new(start));
}

/// Sections with DWARF, in the order in which [`dwarf`] takes them.
const DEBUG_SECTIONS: [&str; 10] = [
    ".debug_line",
    ".debug_info",
    ".debug_abbrev",
    ".debug_str",
    ".debug_line_str",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_addr",
    ".debug_str_offsets",
    ".debug_aranges",
];

/// Reads any bytes as the DWARF of a valid program. Each section begins with its length in two bytes; the
/// first byte chooses the class of the file. What is left is its map of basic blocks.
pub fn dwarf(data: &[u8]) {
    let Some((&class, mut data)) = data.split_first() else { return };
    let mut elf = program(0x1000, vec![0x1f; 256], vec![symbol("main", 0x1000, 256, 0x12, 1)]);
    elf.wide = class & 1 == 0;
    for name in DEBUG_SECTIONS {
        let Some((len, rest)) = data.split_first_chunk::<2>() else { break };
        let (bytes, rest) = rest.split_at(rest.len().min(u16::from_le_bytes(*len).into()));
        elf.sections.push(own_section(name, SHT_PROGBITS, 0, bytes.to_vec(), 0));
        data = rest;
    }
    elf.sections.push(own_section(".llvm_bb_addr_map", SHT_LLVM_BB_ADDR_MAP, 0, data.to_vec(), 0));
    image(&[&[0; 9][..], &elf.write()].concat());
}

/// Returns the input that gives [`dwarf`] the sections of this file, if they are small enough.
pub fn dwarf_of(file: &[u8]) -> Option<Vec<u8>> {
    let mut data = vec![u8::from(file.get(4) != Some(&2))];
    let file = object::read::File::parse(file).ok()?;
    for name in DEBUG_SECTIONS {
        let bytes = file.section_by_name(name).and_then(|section| section.uncompressed_data().ok());
        let bytes = bytes.unwrap_or_default();
        data.extend(u16::try_from(bytes.len()).ok()?.to_le_bytes());
        data.extend_from_slice(&bytes);
    }
    data.extend(
        file.section_by_name(".llvm_bb_addr_map").and_then(|map| map.data().ok()).unwrap_or_default(),
    );
    Some(data)
}

/// Reads any bytes as names of functions, each ended by a 0. All are shown in some way, within the limits of
/// time and space.
pub fn symbol_names(data: &[u8]) {
    let mut table = vec![0; 24];
    let mut strings = vec![0];
    for (name, number) in data.split(|&byte| byte == 0).take(200).zip(0_u64..) {
        table.extend((strings.len() as u32).to_le_bytes());
        table.extend([0x12, 0, 1, 0]);
        table.extend((0x1000 + number).to_le_bytes());
        table.extend(1_u64.to_le_bytes());
        strings.extend_from_slice(name);
        strings.push(0);
    }
    let mut elf = program(0x1000, vec![0x1f; 256], Vec::new());
    elf.sections.push(own_section(".symtab", 2, 0, table, 3));
    elf.sections.push(own_section(".strtab", 3, 0, strings, 0));
    let mut builder = Image::builder();
    builder.elf("fuzz", elf.write().into(), Place::AsLinked, MemorySpace::ANY).unwrap();
    check(&builder.build(), Rng::new(1));
}

/// Unpacks any bytes as xz data. Expects an error, or no more bytes than requested.
pub fn xz(data: &[u8]) {
    match unpacked_xz(data, 1 << 16) {
        Ok(bytes) => assert!(bytes.len() <= 1 << 16),
        Err(why) => assert!(why.to_string().starts_with("compressed with xz, and "), "{why}"),
    }
}

fn check(image: &Image, mut rng: Rng) {
    let symbols = image.symbols();
    for file in image.files() {
        // Each address is in at most one function and one instruction set.
        let functions = file.functions();
        assert!(functions.iter().all(|part| !part.range.is_empty() && part.start <= part.range.start));
        assert!(functions.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
        for function in file.block_map().unwrap_or_default() {
            assert!(function.blocks.iter().all(|block| block.range.start <= block.range.end));
        }
        let code = file.code();
        assert!(code.iter().all(|code| !code.range.is_empty()));
        assert!(code.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    }
    for region in image.regions().take(40) {
        let range = region.range();
        assert!(range.start < range.end && region.build_id().is_none_or(|id| !id.is_empty()));
        let inside = range.start + rng.below(range.end - range.start);
        for address in [range.start, inside, range.end - 1, range.end, range.start.wrapping_sub(1)] {
            for space in [region.space(), MemorySpace::ANY, MemorySpace::EL3] {
                let bytes = image.read(address, space);
                let (known, names) = (image.region(address, space), symbols.symbol(address, space));
                assert_eq!(bytes.is_empty(), known.is_none());
                assert!(space == MemorySpace::EL3 || !range.contains(&address) || !bytes.is_empty());
                let mut buffer = [0; 8];
                assert!(image.read_into(address, space, &mut buffer) >= bytes.len().min(8));
                if let Some(symbol) = names {
                    assert!(address.wrapping_sub(symbol.start) < symbol.size && symbol.name.len() < 1 << 16);
                }
                if let Some(known) = known {
                    let section = known.section(address);
                    assert!(section.is_none_or(|section| section.range.contains(&address)));
                }
            }
            let line = symbols.source(address, region.space());
            let frames = symbols.frames(address, region.space());
            assert!(line.is_none_or(|line| !line.file.is_empty() && line.file.len() < 1 << 16));
            assert!(frames.first().is_none_or(|frame| frame.line == line));
        }
    }
    for name in ["main", "f::g", ""] {
        if let Some(range) = symbols.resolve(name) {
            assert!(range.start <= range.end);
        }
    }
    assert!(image.remarks().iter().all(|remark| !remark.to_string().is_empty()));
}

/// Changes some fields of a good file, in its headers more than elsewhere.
fn damaged(rng: &mut Rng, good: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..1 + rng.below(8) {
        let len = bytes.len() as u64;
        let at = match rng.below(4) {
            0 => rng.below(len),
            1 => rng.below(len.min(0x200)),
            _ => len - 1 - rng.below(len.min(0x1000)),
        } as usize;
        let value = match rng.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << rng.below(64),
            3 => len.wrapping_sub(rng.below(16)),
            4 => rng.below(16),
            _ => rng.next_u64(),
        };
        let width = (1 << rng.below(4)).min(bytes.len() - at);
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
    if rng.one_in(8) {
        bytes.truncate(rng.below(bytes.len() as u64) as usize);
    }
    bytes
}

fn damage_often(rng: &mut Rng, good: &[u8], times: usize) {
    for _ in 0..times {
        let mut data = [rng.sized(64).to_le_bytes().as_slice(), &[rng.next_u64() as u8]].concat();
        data.extend(damaged(rng, good));
        image(&data);
    }
}

#[test]
fn random_bytes() {
    let mut rng = Rng::new(1);
    for _ in 0..2000 {
        let len = rng.sized(10) as usize;
        let mut bytes = rng.bytes(len);
        image(&bytes);
        let elf = bytes.iter_mut().skip(9);
        elf.zip(*b"\x7fELF\x02\x01\x01").for_each(|(byte, magic)| *byte = magic);
        image(&bytes);
    }
}

#[test]
fn damaged_files_made_by_hand() {
    let mut rng = Rng::new(2);
    let symbols = vec![symbol("main", 0x1000, 8, 0x12, 1), symbol("_ZN1f1gEv", 0x1008, 0, 0x02, 1)];
    let mut elf = program(0x1000, (0..100).collect(), symbols);
    for (wide, kind) in [(true, ET_EXEC), (false, ET_DYN), (true, ET_REL), (false, ET_REL)] {
        (elf.wide, elf.kind) = (wide, kind);
        damage_often(&mut rng, &elf.write(), 3000);
    }
}

#[test]
fn damaged_files_with_lines() {
    let mut rng = Rng::new(3);
    let folder = Scratch::new("image");
    for version in ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5"] {
        let Some(file) = program::compile(&folder, &[version, "-O2"]) else {
            return skip("damaged_files_with_lines", "no C compiler");
        };
        let good = std::fs::read(file).unwrap();
        damage_often(&mut rng, &good, 300);
        // The middle has the debug information.
        for _ in 0..500 {
            let mut bytes = vec![0; 9];
            bytes.extend(&good);
            for _ in 0..1 + rng.below(20) {
                let at = bytes.len() / 2 + rng.below(bytes.len() as u64 / 3) as usize;
                bytes[at] = *rng.pick(&[0, 1, 0x7f, 0x80, 0xff, rng.clone().next_u64() as u8]);
            }
            image(&bytes);
        }
    }
}

#[test]
fn damaged_compressed_lines() {
    let mut rng = Rng::new(8);
    let folder = Scratch::new("image");
    let Some(plain) = program::compile(&folder, &["-g", "-O2"]) else {
        return skip("damaged_compressed_lines", "no C compiler");
    };
    for way in ["zlib", "zstd"] {
        let file = folder.path().join(way);
        let mut objcopy = std::process::Command::new("objcopy");
        objcopy.arg(format!("--compress-debug-sections={way}")).args([&plain, &file]);
        if !objcopy.status().is_ok_and(|status| status.success()) {
            return skip("damaged_compressed_lines", &format!("no objcopy for {way}"));
        }
        damage_often(&mut rng, &std::fs::read(file).unwrap(), 500);
    }
}

#[test]
fn damaged_lines_alone() {
    let mut rng = Rng::new(5);
    let folder = Scratch::new("image");
    for version in ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5"] {
        let Some(file) = program::compile(&folder, &[version, "-O2"]) else {
            return skip("damaged_lines_alone", "no C compiler");
        };
        let good = dwarf_of(&std::fs::read(file).unwrap()).expect("small sections");
        assert!(good.len() > 500);
        dwarf(&good);
        for _ in 0..500 {
            dwarf(&damaged(&mut rng, &good));
        }
    }
}

/// Returns a module as compilers leave it: code without addresses, and its names.
pub fn module() -> Elf {
    let symbols = vec![symbol("init_module", 0, 8, 0x12, 1), symbol("work", 8, 24, 0x02, 1)];
    let mut elf = program(0, (0..64).collect(), symbols);
    elf.kind = ET_REL;
    elf.segments.clear();
    elf.sections = vec![
        own_section(".text", SHT_PROGBITS, AX, (0..64).collect(), 0),
        own_section(".init.text", SHT_PROGBITS, AX, (64..96).collect(), 0),
        own_section(".rela.text", SHT_RELA, 0, [[0; 8], [27, 1, 0, 0, 1, 0, 0, 0], [8; 8]].concat(), 4),
    ];
    elf
}

#[test]
fn damaged_modules() {
    let mut rng = Rng::new(6);
    let mut good = vec![module().write()];
    if let Some(captures) = captures() {
        good.push(std::fs::read(captures.join("perf/simpleperf/rq_stats.ko")).unwrap());
    }
    for _ in 0..1500 {
        let file = rng.pick(&good).clone();
        let head = [&rng.sized(64).to_le_bytes()[..], &rng.bytes(2)].concat();
        kernel_module(&[head, damaged(&mut rng, &file)].concat());
    }
}

/// Names as compilers make them, and some that nest.
pub const NAMES: &[&str] = &[
    "main",
    "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
    "_RNvCs1234_7mycrate3foo",
    "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
    "_ZNSt6vectorIiSaIiEE9push_backERKi",
    "_ZZN1A1fEiENKUlT_E_clIiEEDaS0_",
    "_ZN1AIXsr1BIXadL_Z1fvEEE1CEE1gEv",
    "_Z1fIJiJiJiEEEEvDpT_",
];

#[test]
fn names_of_anything() {
    let mut rng = Rng::new(7);
    for _ in 0..300 {
        let mut data = Vec::new();
        for _ in 0..20 {
            let name = rng.pick(NAMES).as_bytes();
            let part = &name[..1 + rng.below(name.len() as u64) as usize];
            data.extend(part.repeat(1 + rng.below(3) as usize));
            data.extend(rng.pick(NAMES).as_bytes());
            data.push(0);
        }
        symbol_names(&damaged(&mut rng, &data));
    }
}

#[test]
fn damaged_files_of_captures() {
    let Some(captures) = captures_for("damaged_files_of_captures", "") else { return };
    let mut rng = Rng::new(4);
    for name in ["process/elf/branches", "perf/simpleperf/rq_stats.ko", "riscv/elf/embench-crc32.riscv"] {
        let good = std::fs::read(captures.join(name)).unwrap();
        damage_often(&mut rng, &good, 1000);
    }
}

/// Unpacks a program's names, packed by other tools, with a few bytes changed or cut off.
#[test]
fn damaged_names_that_are_compressed() {
    let mut rng = Rng::new(8);
    let mut good = b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46".to_vec();
    if let Some(file) = captures().map(|captures| captures.join("perf/simpleperf/etm_test_loop")) {
        let file = std::fs::read(file).unwrap();
        let at = file.windows(6).position(|bytes| bytes == b"\xfd7zXZ\0").unwrap();
        good = file[at..at + 0x308].to_vec();
        assert_eq!(unpacked_xz(&good, 1 << 16).unwrap().len(), 3432);
        let too_many = unpacked_xz(&good, 3431).unwrap_err();
        assert_eq!(too_many.to_string(), "compressed with xz, and more than 3431 bytes");
        for len in 0..good.len() {
            let cut_off = unpacked_xz(&good[..len], 1 << 16).unwrap_err();
            assert_eq!(cut_off.to_string(), "compressed with xz, and cut off");
        }
    } else {
        skip("damaged_names_that_are_compressed", "no captures");
    }
    for _ in 0..3000 {
        let mut data = good.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(data.len() as u64) as usize;
            data[at] = rng.next_u64() as u8;
        }
        xz(&data);
    }
}
