//! Coverage of damaged programs with arbitrary profiles.

use std::fs;
use std::path::Path;

use tracewright_core::{Class, Ended, Flow, Isa, MemorySpace, Role};
use tracewright_image::{Bytes, Image, Place as Load};
use tracewright_profile::coverage::{Coverage, File, Part, Ran, Wanted};
use tracewright_profile::{Binary, Code, Place, Profile, Program, export};
use tracewright_testkit::Rng;

/// Takes any bytes as a program with arbitrary counts, which the first eight bytes choose.
pub fn coverage(data: &[u8]) {
    let Some((seed, file)) = data.split_first_chunk::<8>() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let mut builder = Image::builder();
    if builder.elf("fuzz", Bytes::from(file.to_vec()), Load::AsLinked, MemorySpace::ANY).is_err() {
        return;
    }
    let image = builder.build();
    let mut profile = Profile::default();
    for file in image.files() {
        let build_id = file.build_id().unwrap_or_default().to_vec();
        profile.binary(Binary {
            name: file.name().to_owned(),
            build_id,
            is_elf: true,
            found: None,
            code: Vec::new(),
        });
    }
    let starts: Vec<_> = image.regions().map(|region| region.range()).collect();
    for _ in 0..if starts.is_empty() { 0 } else { rng.below(40) } {
        let range = rng.pick(&starts);
        let address = range.start + rng.below(range.end - range.start);
        let binary = if rng.one_in(8) { rng.next_u64() as u32 } else { 0 };
        let flow = *rng.pick(&[Flow::Next, Flow::Direct, Flow::Indirect]);
        let role = *rng.pick(&[Role::Jump, Role::Call, Role::Return]);
        let code = Code {
            start: Place { binary, address },
            len: rng.below(64) as u32,
            count: rng.below(32) as u32,
            isa: *rng.pick(&[Isa::Rv64, Isa::A64, Isa::T32]),
            last_len: rng.below(5) as u8,
            class: Class { flow, role, conditional: rng.one_in(2) },
        };
        let count = rng.next_u64() >> (16 + rng.below(48));
        profile.blocks.entry(code).or_default().add(*rng.pick(&[Ended::Taken, Ended::NotTaken]), count);
        let to = Place { binary: 0, address: range.start + rng.below(range.end - range.start) };
        profile.branches.insert((code.last(), to), count);
    }
    let programs = [Program::new(&profile, &image)];
    let found = Coverage::new(&profile, &programs, &Wanted::default());
    let (ran, _) = Ran::of_all(&profile, &programs);
    assert_eq!(ran.len(), profile.binaries.len());
    // Functions and files are sums of the same instructions and branches.
    let sum = |parts: &mut dyn Iterator<Item = Part>| {
        let mut sum = Part::default();
        parts.for_each(|part| sum += part);
        assert!(sum.hit <= sum.all);
        sum
    };
    let of_functions = sum(&mut found.functions.iter().map(|function| function.instructions));
    assert_eq!(of_functions, sum(&mut found.files.iter().map(|file| file.instructions)));
    let of_functions = sum(&mut found.functions.iter().map(|function| function.branches));
    assert_eq!(of_functions, sum(&mut found.files.iter().map(File::branches)));
    let lcov = export::lcov::write(&found);
    assert_eq!(
        lcov.lines().filter(|line| line.starts_with("SF:")).count(),
        found.files.iter().filter(|file| file.is_source).count()
    );
}

#[test]
fn damaged_programs_are_covered() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/bin/args.elf");
    let program = fs::read(path).unwrap();
    for seed in 0..400_u64 {
        let mut rng = Rng::new(seed);
        let mut data = seed.to_le_bytes().to_vec();
        data.extend(&program);
        // Headers, symbols and lines are most of the file: damage anywhere.
        for _ in 0..rng.below(30) {
            let at = 8 + rng.below(program.len() as u64) as usize;
            data[at] = rng.next_u64() as u8;
        }
        if rng.one_in(8) {
            data.truncate(8 + rng.below(program.len() as u64) as usize);
        }
        coverage(&data);
    }
}
