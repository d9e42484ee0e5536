//! Binaries without symbols: functions known by calls, wherever they were loaded; and which binary is the program.

use tracewright_core::{Class, Ended, Flow, MemorySpace, Role};
use tracewright_image::{Bytes, Image};
use tracewright_profile::diff::{Diff, Side};
use tracewright_profile::export::ranges::largest;
use tracewright_profile::{Binary, Code, Named, Place, Profile, Program};

use crate::executed::block_at;

const CALL: Class = Class { flow: Flow::Direct, role: Role::Call, conditional: false };
const BRANCH: Class = Class { flow: Flow::Direct, role: Role::Jump, conditional: true };
const GOTO: Class = Class { flow: Flow::Indirect, role: Role::Jump, conditional: false };

/// Files without symbols at these addresses, of which the blocks of `runs` ran: file, offset, class, how often.
fn ran(files: &[(&str, u64)], runs: &[(usize, u64, Class, u64)]) -> (Profile, Image) {
    let mut builder = Image::builder();
    for (name, base) in files {
        builder.raw(name, Bytes::from(vec![0; 0x100]), *base, MemorySpace::ANY).unwrap();
    }
    let (mut profile, image) = (Profile::default(), builder.build());
    for file in image.files() {
        profile.binary(Binary::of(&file));
    }
    for &(file, offset, class, count) in runs {
        let address = files[file].1 + offset;
        let block = block_at(address, 1, class, Ended::Taken);
        let start = Place { binary: file as u32, address };
        profile.blocks.entry(Code::of(&block, start)).or_default().add(Ended::Taken, count);
    }
    (profile, image)
}

/// Notes that a branch at an offset of a file went to another.
fn went(profile: &mut Profile, files: &[(&str, u64)], from: (usize, u64), to: (usize, u64)) {
    let place = |(file, offset): (usize, u64)| Place { binary: file as u32, address: files[file].1 + offset };
    profile.branches.insert((place(from), place(to)), 1);
}

/// The same code, at two addresses. One of the runs calls a function that the other only jumps to.
#[test]
fn code_without_symbols_is_compared_by_offset() {
    let runs = [(0, 0, CALL, 3), (0, 0x40, BRANCH, 5), (0, 0x80, BRANCH, 2)];
    let [one, other] = [[("one/code.bin", 0x1000)], [("other/code.bin", 0x7000)]];
    let (mut a, image_a) = ran(&one, &runs);
    went(&mut a, &one, (0, 0), (0, 0x40));
    let (b, image_b) = ran(&other, &runs);
    let (program_a, program_b) = (Program::new(&a, &image_a), Program::new(&b, &image_b));
    let diff =
        Diff::new([Side { profile: &a, program: &program_a }, Side { profile: &b, program: &program_b }]);
    let functions: Vec<_> = diff.functions.iter().map(|of| (&*of.name, of.instructions)).collect();
    assert_eq!(functions, [("[code.bin]", [3, 3]), ("code.bin+0x40", [7, 7])]);
    let branches: Vec<_> = diff.branches.iter().map(|of| (&*of.name, of.ran)).collect();
    assert_eq!(branches, [("code.bin+0x40", [5, 5]), ("code.bin+0x80", [2, 2])]);
    // Nothing has a symbol.
    let names = Named::of(&a, &[&program_a], None);
    assert_eq!(names, Named { named: 0, all: 10 });
    assert!(names.lacks_symbols());
    for (named, is_lacking) in [(5, false), (4, true), (10, false)] {
        assert_eq!(Named { named, all: 10 }.lacks_symbols(), is_lacking);
    }
    assert!(!Named::default().lacks_symbols());
}

/// What is called through the dynamic loader begins where the loader jumps to. A jump within a binary is none.
#[test]
fn functions_begin_where_jumps_into_other_binaries_lead() {
    let files = [("app", 0x1000), ("ld.so", 0x2000), ("libc.so", 0x3000)];
    let runs = [(0, 0, CALL, 1), (1, 0x20, GOTO, 1), (1, 0x40, GOTO, 1), (2, 0x60, BRANCH, 4)];
    let (mut profile, image) = ran(&files, &runs);
    went(&mut profile, &files, (0, 0), (1, 0x20));
    went(&mut profile, &files, (1, 0x20), (1, 0x40));
    went(&mut profile, &files, (1, 0x40), (2, 0x60));
    let program = Program::new(&profile, &image);
    let all: Vec<_> = (0..3).flat_map(|binary| program.all_called(binary)).map(|(_, name)| name).collect();
    assert_eq!(all, ["ld.so+0x20", "libc.so+0x60"]);
    // Handlers are functions, too.
    let program = program.with_handlers(&image, [(0x2040, MemorySpace::ANY), (0x9000, MemorySpace::ANY)]);
    let all: Vec<_> = program.all_called(1).collect();
    assert_eq!(all, [(0x2020..0x2040, "ld.so+0x20".to_owned()), (0x2040..0x2100, "ld.so+0x40".to_owned())]);
}

/// The profile of one binary is that of the program, even if the dynamic loader ran more.
#[test]
fn the_program_is_not_the_loader() {
    let files = [("/lib/ld-linux-aarch64.so.1", 0x1000), ("/bin/app", 0x2000), ("/lib/libc.so.6", 0x3000)];
    let runs = [(0, 0, GOTO, 90), (1, 0, GOTO, 7), (2, 0, GOTO, 3)];
    let (mut profile, _) = ran(&files, &runs);
    assert_eq!(largest(&profile), None, "dumps are no programs");
    profile.binaries.iter_mut().for_each(|binary| binary.is_elf = true);
    assert_eq!(largest(&profile), Some(1));
    profile.binaries[1].is_elf = false;
    assert_eq!(largest(&profile), Some(0));
    profile.binaries[1] = Binary { name: "[vdso]".into(), is_elf: true, ..profile.binaries[1].clone() };
    assert_eq!(largest(&profile), Some(0));
}
