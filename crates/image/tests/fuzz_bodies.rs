//! Anything as an ELF file. Each body is a plain function, for `cargo test` and for a fuzzer.

mod support;

use support::program::{self, Folder};
use support::*;
use tracewright_core::MemorySpace;
use tracewright_image::{Bytes, Facts, Image, Place, unpacked_xz};
use tracewright_testkit::{Rng, captures, skip};

/// Any bytes as an ELF file, above some raw ones: an error, or an image whose every answer makes sense. The first nine
/// bytes choose where it lies.
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
        // What it was stripped of is anything, too.
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

/// Any bytes as compressed with xz: an error in words, or no more than was asked for.
pub fn xz(data: &[u8]) {
    match unpacked_xz(data, 1 << 16) {
        Ok(bytes) => assert!(bytes.len() <= 1 << 16),
        Err(why) => assert!(why.starts_with("compressed with xz, and "), "{why}"),
    }
}

fn check(image: &Image, mut rng: Rng) {
    let symbols = image.symbols();
    for file in image.files() {
        // Each address is in one function, and of one instruction set, at most.
        let functions = file.functions();
        assert!(functions.iter().all(|part| !part.range.is_empty() && part.start <= part.range.start));
        assert!(functions.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
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
    let folder = Folder::new();
    for version in ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5"] {
        let Some(file) = program::compile(&folder, &[version, "-O2"]) else {
            return skip("damaged_files_with_lines", "no C compiler");
        };
        let good = std::fs::read(file).unwrap();
        damage_often(&mut rng, &good, 300);
        // What is in the middle: the debug information.
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
fn damaged_files_of_captures() {
    let Some(captures) = captures() else { return skip("damaged_files_of_captures", "no captures") };
    let mut rng = Rng::new(4);
    for name in ["process/elf/branches", "perf/simpleperf/rq_stats.ko", "riscv/elf/embench-crc32.riscv"] {
        let good = std::fs::read(captures.join(name)).unwrap();
        damage_often(&mut rng, &good, 1000);
    }
}

/// A program's names, packed by others, with a few bytes changed or cut off.
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
        assert_eq!(too_many, "compressed with xz, and more than 3431 bytes");
        for len in 0..good.len() {
            assert_eq!(unpacked_xz(&good[..len], 1 << 16).unwrap_err(), "compressed with xz, and cut off");
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
