//! Processes with their own memory.

use std::collections::HashMap;

use crate::support::{ANY, program, symbol};
use tracewright_core::{Context, MemorySpace, Security};
use tracewright_image::{Bytes, FileId, Image, Moment};
use tracewright_testkit::Rng;

/// Memory as a map of single bytes, one for each process: a twin that is too simple to be wrong. `None` marks
/// a mapping without bytes.
type Memory = HashMap<u64, Option<u8>>;

#[test]
fn memory_is_that_of_a_map_of_bytes() {
    let mut rng = Rng::new(11);
    for _ in 0..200 {
        let mut builder = Image::builder();
        let files: Vec<(FileId, Option<Vec<u8>>)> = (0..4)
            .map(|i| match i {
                0 => (builder.absent("gone", "not here"), None),
                _ => {
                    let bytes = rng.bytes(40);
                    (builder.file("file", Bytes::from(bytes.clone())), Some(bytes))
                }
            })
            .collect();
        let common = rng.bytes(6);
        let common_at = rng.below(90);
        builder.raw("common", Bytes::from(common.clone()), common_at, ANY).unwrap();
        let mut memories: Vec<(u32, Memory)> = vec![(0, Memory::new())];
        for number in 1..6 {
            let inherited = rng.below(number + 1) as u32 % number as u32;
            assert_eq!(builder.number(inherited), Some(number as u32));
            let mut memory = Memory::new();
            for _ in 0..rng.below(4) {
                let (file, bytes) = &files[rng.below(4) as usize];
                let (start, len, offset) = (rng.below(80), 1 + rng.below(20), rng.below(45));
                builder.map(*file, start..start + len, offset, ANY.of_process(number as u32));
                for i in 0..len {
                    let byte = match bytes {
                        None => Some(None),
                        Some(bytes) => bytes.get((offset + i) as usize).map(|&byte| Some(byte)),
                    };
                    if let Some(byte) = byte {
                        memory.entry(start + i).or_insert(byte);
                    }
                }
            }
            memories.push((inherited, memory));
        }
        let image = builder.build();
        for number in 0..memories.len() as u32 {
            let space = MemorySpace::EL1N.of_process(number);
            for address in 0..120_u64 {
                let named = address.checked_sub(common_at).and_then(|i| common.get(i as usize)).copied();
                let mut expected = named.map(Some);
                let mut of = number;
                while of != 0 && expected.is_none() {
                    let (inherited, memory) = &memories[of as usize];
                    expected = memory.get(&address).copied();
                    of = *inherited;
                }
                let found = image.read(address, space).first().copied();
                assert_eq!(found, expected.flatten(), "{address:#x} of {number}");
                assert_eq!(image.absent(address, space).is_some(), expected == Some(None));
                assert_eq!(image.region(address, space).is_some(), expected.flatten().is_some());
                // Bytes that are returned together belong together.
                if let Some((start, bytes)) = image.lookup(address, space) {
                    for (at, byte) in (start..).zip(bytes) {
                        assert_eq!(image.read(at, space).first(), Some(byte));
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_has_its_symbols_wherever_it_is_mapped() {
    let elf = program(
        0x1000,
        vec![0; 16],
        vec![symbol("first", 0x1000, 8, 0x12, 1), symbol("second", 0x1008, 8, 0x12, 1)],
    );
    let bytes = elf.write();
    let offset = bytes.len() as u64;
    let mut builder = Image::builder();
    let file = builder.file("lib.so", Bytes::from(bytes));
    let [one, two] = [0; 2].map(|_| builder.number(0).unwrap());
    let segment = (0..offset).find(|&at| {
        // The file's code begins where a mapping of its segment does.
        let mut probe = Image::builder();
        let file = probe.file("lib.so", Bytes::from(elf.write()));
        probe.map(file, 0x8000..0x8010, at, ANY);
        probe.build().symbols().symbol(0x8000, ANY).is_some_and(|symbol| symbol.start == 0x8000)
    });
    let segment = segment.expect("a mapping of the code");
    builder.map(file, 0x7000_0000..0x7000_0010, segment, ANY.of_process(one));
    builder.map(file, 0x5000_0000..0x5000_0010, segment, ANY.of_process(two));
    let image = builder.build();
    let name = |address, number| {
        let symbol = image.symbols().symbol(address, ANY.of_process(number))?;
        Some((symbol.name.to_owned(), symbol.start))
    };
    assert_eq!(name(0x7000_0008, one), Some(("second".into(), 0x7000_0008)));
    assert_eq!(name(0x5000_000c, two), Some(("second".into(), 0x5000_0008)));
    assert_eq!(name(0x5000_000c, one), None);
    let region = image.region(0x5000_0008, ANY.of_process(two)).unwrap();
    assert_eq!((region.linked(0x5000_0008), region.mapped()), (Some(0x1008), Some(("lib.so", segment))));
}

#[test]
fn contexts_tell_whose_memory_it_is() {
    let mut builder = Image::builder();
    let context = |level, context_id| Context {
        level,
        security: Security::NonSecure,
        is_64bit: true,
        vmid: None,
        context_id: Some(context_id),
    };
    let nobody = Image::builder().build();
    assert_eq!(nobody.space(&context(0, 7), &Moment::LAST), MemorySpace::EL1N);
    let number = builder.number(0).unwrap();
    let process = builder.processes().add(number);
    builder.processes().thread(7, 0, process);
    let image = builder.build();
    assert_eq!(image.space(&context(0, 7), &Moment::LAST), MemorySpace::EL1N.of_process(number));
    assert_eq!(image.space(&context(1, 7), &Moment::LAST), MemorySpace::EL1N, "no kernel");
    assert_eq!(image.space(&context(0, 8), &Moment::LAST), MemorySpace::EL1N);
}
