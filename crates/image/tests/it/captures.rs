//! Traced programs compared with the memory that was dumped with the trace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{self, ANY};
use tracewright_image::{Image, Kind, Place, RegionRef};
use tracewright_testkit::captures_for;

/// Returns the folders of the process captures.
fn processes(test: &str) -> Vec<PathBuf> {
    let Some(captures) = captures_for(test, "") else { return Vec::new() };
    ["branches_trace1", "branches_trace2", "fib_trace1"]
        .map(|name| captures.join("process").join(name))
        .into()
}

/// Loads the programs of a process at the addresses in `load_addresses.txt`: NAME START END...
fn load(folder: &Path) -> Image {
    let text = fs::read_to_string(folder.join("load_addresses.txt")).unwrap();
    let words: Vec<_> = text.split_whitespace().skip(3).collect();
    let mut builder = Image::builder();
    for program in words.chunks_exact(3) {
        let bytes = fs::read(folder.parent().unwrap().join("elf").join(program[0])).unwrap();
        builder.elf(program[0], bytes.into(), number(program[1]), ANY).unwrap();
    }
    builder.build()
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// Returns the dumps that `cpu_0.ini` lists: address and bytes.
fn dumps(folder: &Path) -> Vec<(u64, Vec<u8>)> {
    let text = fs::read_to_string(folder.join("cpu_0.ini")).unwrap();
    let values = |key: &str| text.lines().filter_map(|line| line.strip_prefix(key)).collect::<Vec<_>>();
    let dumps = values("file=").into_iter().zip(values("address=")).zip(values("length="));
    let dump = |((file, address), length): ((&str, _), _)| {
        let bytes = fs::read(folder.join(file)).unwrap();
        assert_eq!(bytes.len() as u64, number(length));
        (number(address), bytes)
    };
    dumps.map(dump).collect()
}

#[test]
fn programs_are_as_they_were_in_memory() {
    for folder in processes("programs_are_as_they_were_in_memory") {
        let image = load(&folder);
        assert_eq!(image.remarks(), []);
        let dumps = dumps(&folder);
        assert_eq!(dumps.len(), 3);
        let executable = image.regions().filter(RegionRef::executable);
        assert_eq!(
            executable.clone().map(|region| region.range().start).max(),
            dumps.iter().map(|d| d.0).max()
        );
        for region in executable {
            let (address, bytes) =
                dumps.iter().find(|(address, _)| region.range().contains(address)).unwrap();
            let mut known = vec![0; bytes.len()];
            assert_eq!(image.read_into(*address, ANY, &mut known), bytes.len());
            assert!(known == *bytes, "{} in {}", region.name(), folder.display());
            assert_eq!(region.range(), *address..address + bytes.len() as u64);
        }
    }
}

#[test]
fn functions_of_a_process_have_names() {
    for folder in processes("functions_of_a_process_have_names") {
        let image = load(&folder);
        let symbols = image.symbols();
        let main = symbols.resolve("main").unwrap();
        let region = image.region(main.start, ANY).unwrap();
        assert!(["branches", "fib"].contains(&region.name()) && region.kind() == Kind::Elf);
        assert_eq!(region.section(main.start).unwrap().name, ".text");
        assert_eq!(region.build_id().unwrap().len(), 20);
        assert_eq!(symbols.symbol(main.end - 4, ANY).unwrap().name, "main");
        // Stubs lead to functions of libc, which is elsewhere.
        let start = symbols.resolve("__libc_start_main").unwrap();
        let stub = symbols.resolve("__libc_start_main@plt").unwrap();
        assert_eq!(image.region(start.start, ANY).unwrap().name(), "libc-2.31.so");
        assert_eq!(image.region(stub.start, ANY).unwrap().section(stub.start).unwrap().name, ".plt");
        assert_eq!(stub.end - stub.start, 16);
    }
}

/// Uses the file and mapping of the capture `perf_etm.data`.
#[test]
fn a_mapping_of_perf_puts_a_program_to_its_place() {
    let Some(captures) = captures_for("a_mapping_of_perf_puts_a_program_to_its_place", "") else { return };
    let bytes = fs::read(captures.join("perf/simpleperf/etm_test_loop")).unwrap();
    let mapped = Place::Mapping { address: 0x58_2b2b_1000, offset: 0x1000 };
    let image = support::load(bytes.clone(), mapped);
    assert_eq!(image.read(0x58_2b2b_1000, ANY), &bytes[0x1000..0x10f0]);
    assert_eq!(image.region(0x58_2b2b_10c0, ANY).unwrap().section(0x58_2b2b_10c0).unwrap().name, ".plt");
    assert_eq!(image.symbols().symbol(0x58_2b2b_10e4, ANY).unwrap().name, "__libc_init@plt");
}

#[test]
fn a_kernel_module_has_its_functions() {
    let Some(captures) = captures_for("a_kernel_module_has_its_functions", "") else { return };
    let bytes = fs::read(captures.join("perf/simpleperf/rq_stats.ko")).unwrap();
    let image = support::load(bytes.clone(), 0xffff_ffc0_0800_0000);
    // The calls and jumps within .text that objdump -dr lists with a relocation lead where it says.
    let mut expected = bytes[0x1000..0x12fc].to_vec();
    let within =
        [(0xec, 0xf8), (0x2e8, 0x110), (0x2ec, 0x140), (0x2f0, 0x198), (0x2f4, 0x1f0), (0x2f8, 0x254)];
    for (at, to) in within {
        let offset = ((to - at) >> 2) as u32 & 0x03ff_ffff;
        let (code, at) = (&mut expected, at as usize);
        code[at..at + 3].copy_from_slice(&offset.to_le_bytes()[..3]);
        code[at + 3] |= (offset >> 24) as u8;
    }
    assert_eq!(image.read(0xffff_ffc0_0800_0000, ANY), expected);
    let symbol = image.symbols().symbol(0xffff_ffc0_0800_0000, ANY).unwrap();
    assert_eq!(image.symbols().resolve(symbol.name).unwrap().start, 0xffff_ffc0_0800_0000);
    let address = image.symbols().resolve("wakeup_user").unwrap();
    assert_eq!(address, 0xffff_ffc0_0800_0140..0xffff_ffc0_0800_0198);
    assert_eq!(image.regions().next().unwrap().build_id().unwrap().len(), 8);
    // In a real recording its `.text` is a page behind the start of its memory, because a jump table comes
    // first.
    for text in [None, Some(0x1000)] {
        let image = support::load(bytes.clone(), Place::Module { start: 0xffff_ff99_f589_6000, text });
        assert_eq!(image.read(0xffff_ff99_f589_7000, ANY), expected);
        let region = image.region(0xffff_ff99_f589_7140, ANY).unwrap();
        assert_eq!(region.linked(0xffff_ff99_f589_7140), Some(0x140));
        assert_eq!(region.section_named(".text").unwrap().range.start, 0xffff_ff99_f589_7000);
    }
}
