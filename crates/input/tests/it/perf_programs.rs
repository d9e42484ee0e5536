//! Programs of recordings: the files at each address of each process, and reports about missing ones.

use std::path::PathBuf;

use crate::elf::{self, AX, ET_REL, own_section, program, section, symbol};
use crate::support::Folder;
use tracewright_core::{Context, MemorySpace, Security};
use tracewright_image::{Image, Moment};
use tracewright_input::{Problem, perf};
use tracewright_testkit::perf::{Form, Recording, etm4, who};

const SHT_NOTE: u32 = 7;

/// Returns an ELF file of one page of code, all bytes the same, with a build ID and a symbol.
fn elf_file(byte: u8, id: &[u8], name: &'static str) -> Vec<u8> {
    let mut elf = program(0x40_0000, vec![byte; 0x1000], vec![symbol(name, 0x40_0000, 0x1000, 0x12, 1)]);
    if !id.is_empty() {
        elf.sections.push(note(id));
    }
    elf.write()
}

fn note(id: &[u8]) -> elf::Section {
    let note = [&[4, id.len() as u32, 3].map(u32::to_le_bytes).concat(), &b"GNU\0"[..], id].concat();
    own_section(".note.gnu.build-id", SHT_NOTE, 2, note, 0)
}

/// Returns the same as two files: the stripped program and its debug file.
fn stripped_file(byte: u8, id: &[u8], name: &'static str) -> (Vec<u8>, Vec<u8>) {
    let mut stripped = program(0x40_0000, vec![byte; 0x1000], Vec::new());
    stripped.sections.push(note(id));
    let mut debug = program(0x40_0000, vec![0; 0x1000], vec![symbol(name, 0x40_0000, 0x1000, 0x12, 1)]);
    debug.segments.clear();
    debug.sections[0].kind = elf::SHT_NOBITS;
    debug.sections.push(note(id));
    (stripped.write(), debug.write())
}

/// Returns the offset of the code in such a file.
fn code_at(file: &[u8]) -> u64 {
    let offset =
        file.windows(0x1000).position(|bytes| bytes.iter().all(|byte| *byte == bytes[0] && *byte != 0));
    offset.unwrap() as u64
}

fn context(level: u8, thread: u32) -> Context {
    Context { level, security: Security::NonSecure, is_64bit: true, vmid: None, context_id: Some(thread) }
}

/// Returns the byte at an address that a thread sees at a time, and the symbol there.
fn seen(image: &Image, level: u8, thread: u32, time: u64, address: u64) -> (Option<u8>, Option<String>) {
    let space = image.space(&context(level, thread), &Moment { time, thread: None });
    let symbol = image.symbols().symbol(address, space).map(|symbol| symbol.name.to_owned());
    (image.read(address, space).first().copied(), symbol)
}

/// Builds the image of a recording in a folder.
fn image(folder: &Folder, recording: &Recording, symfs: &[PathBuf]) -> (Image, Vec<String>) {
    let path = folder.path().join("perf.data");
    std::fs::write(&path, recording.write(Form::File)).unwrap();
    let capture = perf::open(&path, symfs).unwrap();
    assert_eq!(capture.problems, [] as [Problem; 0]);
    let (image, problems) = capture.image(&[]);
    let name = format!("{}/", folder.path().display());
    (image, problems.iter().map(|problem| problem.to_string().replace(&name, "")).collect())
}

const ID: &[u8] = &[0xab, 0xcd, 0xef, 1, 2, 3, 4, 5];

/// Returns a recording of one process with one mapped file, whose build ID is known.
fn one(offset: u64) -> Recording {
    let mut recording = Recording::new();
    recording.units(1, &[etm4(0, 0x40, 0x10)]);
    recording.mmap2_id(who(7, 0), 0x7000_0000, 0x1000, offset, "/usr/bin/app", ID);
    recording.aux(who(7, 1), 0, 16, 0).trace(0, 0, &[0; 16]);
    recording
}

/// Writes a file, with its folders.
fn put(folder: &Folder, name: &str, bytes: &[u8]) {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn files_are_found_where_people_keep_them() {
    let file = elf_file(0x11, ID, "main");
    let there = |name: &str, symfs: &[&str]| {
        let folder = Folder::new();
        put(&folder, name, &file);
        put(&folder, "root/build_id_list", b"0xabcdef0102030405=some/where/else\n");
        let symfs: Vec<_> = symfs.iter().map(|name| folder.path().join(name)).collect();
        let (image, problems) = image(&folder, &one(code_at(&file)), &symfs);
        (seen(&image, 0, 7, 0, 0x7000_0010), problems)
    };
    let found = (Some(0x11), Some("main".to_owned()));
    assert_eq!(there("root/usr/bin/app", &["root"]), (found.clone(), vec![]));
    assert_eq!(there("heap/app", &["root", "heap"]), (found.clone(), vec![]));
    assert_eq!(there("root/.build-id/ab/cdef0102030405.debug", &["root"]), (found.clone(), vec![]));
    assert_eq!(there("root/.build-id/ab/cdef0102030405/elf", &["root"]), (found.clone(), vec![]));
    assert_eq!(there("root/some/where/else", &["root"]), (found.clone(), vec![]));
    assert_eq!(there("app", &[]), (found, vec![]), "beside the recording");
    let (nothing, problems) = there("elsewhere", &["root"]);
    assert_eq!(nothing, (None, None));
    let expected = "perf.data: warning: /usr/bin/app, which was mapped, is not here: tried root/usr/bin/app, root/app, and looked in root/some/where, /usr/bin, ";
    assert!(problems[1].starts_with(expected), "{problems:?}");
    let expected = "root: warning: nothing of what was mapped is in this folder (--symfs)";
    assert!(problems[0].starts_with(expected), "{problems:?}");
    let (_, problems) = there("elsewhere", &["nowhere"]);
    assert_eq!(problems[0], "nowhere: error: no such folder (--symfs)");
}

#[test]
fn files_of_another_build_are_not_used() {
    let check = |bytes: &[u8], expected: &str| {
        let folder = Folder::new();
        put(&folder, "root/usr/bin/app", bytes);
        let (image, problems) = image(&folder, &one(0x1000), &[folder.path().join("root")]);
        assert_eq!(seen(&image, 0, 7, 0, 0x7000_0010), (None, None));
        let space = image.space(&context(0, 7), &Moment::LAST);
        let (name, why) = image.absent(0x7000_0010, space).unwrap();
        assert_eq!(name, "/usr/bin/app");
        assert!(why.contains(&format!("root/usr/bin/app ({expected})")), "{why}");
        problems
    };
    let other = elf_file(0x11, &[1, 2, 3], "main");
    let problems = check(&other, "its build ID is 010203, and abcdef0102030405 ran");
    assert_eq!(
        problems[0],
        "root/usr/bin/app: warning: its build ID is 010203, and abcdef0102030405 ran: not used"
    );
    check(&elf_file(0x11, &[], "main"), "it has no build ID, and abcdef0102030405 ran");
    let mut x86 = elf_file(0x11, ID, "main");
    x86[18] = 62;
    check(&x86, "a program for x86-64");
}

#[test]
fn symbols_are_in_the_file_that_they_were_stripped_to() {
    let (stripped, debug) = stripped_file(0x11, ID, "main");
    let (_, other) = stripped_file(0x11, &[1, 2, 3], "other");
    let there = |name: &str, debug: &[u8]| {
        let folder = Folder::new();
        put(&folder, "root/usr/bin/app", &stripped);
        put(&folder, name, debug);
        let (image, problems) = image(&folder, &one(code_at(&stripped)), &[folder.path().join("root")]);
        assert_eq!(problems, [""; 0]);
        let linked = image.as_linked();
        let files = linked.files().position(|file| file.is_elf()).unwrap() as u32;
        let symbol =
            linked.symbols().symbol(0x40_0010, Image::space_of(files)).map(|symbol| symbol.name.to_owned());
        let (byte, seen) = seen(&image, 0, 7, 0, 0x7000_0010);
        assert_eq!((byte, &seen), (Some(0x11), &symbol), "{name}");
        seen
    };
    let id = "ab/cdef0102030405";
    for name in [
        format!("root/.build-id/{id}.debug"),
        format!("root/usr/lib/debug/.build-id/{id}.debug"),
        "root/usr/lib/debug/usr/bin/app.debug".to_owned(),
        "root/usr/bin/app.debug".to_owned(),
    ] {
        assert_eq!(there(&name, &debug), Some("main".to_owned()), "{name}");
        assert_eq!(there(&name, &other), None, "of another build");
        assert_eq!(there(&name, &debug[..100]), None, "cut off");
    }
    // It is not used as the program.
    let folder = Folder::new();
    put(&folder, "root/usr/bin/app", &debug);
    let (image, problems) = image(&folder, &one(0), &[folder.path().join("root")]);
    assert_eq!(seen(&image, 0, 7, 0, 0x7000_0010), (None, None));
    assert!(
        problems[1].contains("root/usr/bin/app (it has no code, only debug information)"),
        "{problems:?}"
    );
}

/// Modules as distributions store them. Where perf does not find the file, it has only the name.
#[test]
fn modules_may_be_compressed() {
    let mut module = program(0, Vec::new(), vec![symbol("work", 8, 8, 0x12, 1)]);
    module.kind = ET_REL;
    module.segments.clear();
    module.sections = vec![own_section(".text", elf::SHT_PROGBITS, AX, vec![0x66; 0x100], 0)];
    let module = module.write();
    let folder = Folder::new();
    put(&folder, "x.ko", &module);
    let packed = |program: &str, ending: &str| {
        let mut command = std::process::Command::new(program);
        command.args(["-k", "-q", "-f"]).arg(folder.path().join("x.ko"));
        let is_packed = command.status().is_ok_and(|status| status.success());
        is_packed.then(|| std::fs::read(folder.path().join(format!("x.ko{ending}"))).unwrap())
    };
    let found = |stored: &str, bytes: &[u8], mapped: &str| {
        let folder = Folder::new();
        put(&folder, stored, bytes);
        let mut recording = one(0);
        recording.kernel_mmap(0xffff_0000_0000, 0x5000, 0, mapped);
        let (image, problems) = image(&folder, &recording, &[folder.path().join("root")]);
        (seen(&image, 1, 7, 0, 0xffff_0000_0008).1, problems)
    };
    let work = Some("work".to_owned());
    assert_eq!(found("root/x.ko", &module, "[x]").0, work);
    assert_eq!(found("root/lib/x.ko", &module, "/lib/x.ko.zst").0, work);
    for (program, ending) in [("xz", ".xz"), ("zstd", ".zst")] {
        let Some(packed) = packed(program, ending) else {
            tracewright_testkit::skip("modules_may_be_compressed", &format!("no {program}"));
            continue;
        };
        for (stored, mapped) in
            [("root/lib/x.ko", "/lib/x.ko"), ("root/x.ko", "/lib/x.ko"), ("root/x.ko", "[x]")]
        {
            let stored = format!("{stored}{ending}");
            assert_eq!(found(&stored, &packed, mapped).0, work, "{stored}");
            if !mapped.starts_with('[') {
                assert_eq!(found(&stored, &packed, &format!("{mapped}{ending}")).0, work, "{stored}");
            }
        }
        let (none, problems) = found(&format!("root/x.ko{ending}"), &packed[..packed.len() / 2], "/lib/x.ko");
        assert_eq!(none, None);
        assert!(problems.join("").contains(&format!("root/x.ko{ending}: warning: ")), "{problems:?}");
    }
    let (none, problems) = found("root/x.ko.gz", &[0x1f, 0x8b, 8, 0], "/lib/x.ko");
    assert_eq!(none, None);
    assert!(
        problems
            .join("")
            .contains("root/x.ko.gz: warning: cannot read: compressed with gzip, and cut off: not used"),
        "{problems:?}"
    );
}

#[test]
fn processes_see_their_own_files_at_their_time() {
    let folder = Folder::new();
    for (name, byte) in [("a", 0xa1), ("b", 0xb1), ("c", 0xc1)] {
        put(&folder, &format!("root/{name}"), &vec![byte; 0x1000]);
    }
    let at = 0x40_0000;
    let mut recording = Recording::new();
    recording.units(1, &[etm4(0, 0x40, 0x10)]);
    recording.mmap2(who(1, 0), at, 0x1000, 0, "/a");
    recording.aux(who(1, 5), 0, 16, 0);
    recording.fork(who(2, 10), 1);
    recording.aux(who(2, 15), 16, 16, 0);
    recording.comm(who(2, 20), "b", true).mmap2(who(2, 21), at, 0x1000, 0, "/b");
    recording.aux(who(2, 25), 32, 16, 0);
    recording.mmap2(who(1, 30), at + 0x800, 0x800, 0, "/c");
    recording.aux(who(1, 35), 48, 16, 0).trace(0, 0, &[0; 64]);
    // A second thread without any other record.
    recording.fork(tracewright_testkit::perf::Who { tid: 9, ..who(1, 31) }, 1);
    let (image, problems) = image(&folder, &recording, &[folder.path().join("root")]);
    assert_eq!(problems, [""; 0]);
    let byte = |thread, time, address| seen(&image, 0, thread, time, address).0;
    assert_eq!([5, 35].map(|time| byte(1, time, at)), [Some(0xa1); 2]);
    assert_eq!([5, 35].map(|time| byte(1, time, at + 0x900)), [Some(0xa1), Some(0xc1)]);
    assert_eq!([15, 25].map(|time| byte(2, time, at)), [Some(0xa1), Some(0xb1)]);
    assert_eq!(byte(9, 35, at + 0x900), Some(0xc1));
    assert_eq!(byte(3, 35, at), None, "a process of which nothing is known has nothing");
    assert_eq!(seen(&image, 1, 1, 35, at).0, None, "nor has the kernel");
}

#[test]
fn memory_without_a_file_hides_what_was_there() {
    let folder = Folder::new();
    put(&folder, "root/a", &[0xa1; 0x2000]);
    let mut recording = Recording::new();
    recording.units(1, &[etm4(0, 0x40, 0x10)]);
    recording.mmap2(who(1, 0), 0x40_0000, 0x2000, 0, "/a").mmap2(who(1, 1), 0x40_1000, 0x1000, 0, "//anon");
    recording.aux(who(1, 5), 0, 16, 0).trace(0, 0, &[0; 16]);
    let (image, problems) = image(&folder, &recording, &[folder.path().join("root")]);
    assert_eq!(problems, [""; 0]);
    let byte = |address| seen(&image, 0, 1, 5, address).0;
    assert_eq!([0x40_0fff, 0x40_1000].map(byte), [Some(0xa1), None]);
    let space = image.space(&context(0, 1), &Moment::LAST);
    let why = "memory of no file: its code is not in a recording";
    assert_eq!(image.absent(0x40_1000, space), Some(("//anon", why)));
}

/// Loads a kernel that was moved by 0x1230000.
#[test]
fn the_kernel_is_where_the_recorder_says_that_a_symbol_was() {
    let linked = 0xffff_8000_1000_0000;
    let mut vmlinux = program(linked, vec![0x55; 0x1000], vec![symbol("_stext", linked + 0x100, 8, 0x12, 1)]);
    vmlinux.symbols.push(symbol("schedule", linked + 0x200, 8, 0x12, 1));
    // A label, as the kernel's linker script makes it.
    vmlinux.symbols.push(symbol("_text", linked, 0, 0x10, 1));
    vmlinux.sections =
        vec![section(".head.text", AX, linked, 0x100), section(".text", AX, linked + 0x100, 0xf00)];
    let ran = linked + 0x123_0000;
    // Linux perf, with either symbol; simpleperf; and without the symbol's name.
    let told =
        [(ran, ran, "_text"), (ran, ran + 0x100, "_stext"), (ran + 0x100, 0, "_stext"), (ran + 0x100, 0, "")];
    for (start, offset, name) in told {
        let folder = Folder::new();
        put(&folder, "root/vmlinux", &vmlinux.write());
        let mut recording = one(0);
        recording.kernel_mmap(start, 0x10_0000, offset, &format!("[kernel.kallsyms]{name}"));
        let (image, _) = image(&folder, &recording, &[folder.path().join("root")]);
        let found = seen(&image, 1, 7, 0, ran + 0x204);
        assert_eq!(found, (Some(0x55), Some("schedule".into())), "{name}");
        assert_eq!(seen(&image, 0, 7, 0, ran + 0x204).0, None, "not in processes");
    }
}

#[test]
fn a_module_is_behind_the_table_that_the_kernel_makes() {
    // `.text` begins a page, or the recording gives its offset.
    let mut module = program(0, Vec::new(), vec![symbol("work", 8, 8, 0x12, 2)]);
    module.kind = ET_REL;
    module.segments.clear();
    module.sections = vec![
        own_section(".plt", elf::SHT_PROGBITS, AX, vec![0; 1], 0),
        own_section(".text", elf::SHT_PROGBITS, AX, vec![0x66; 0x100], 0),
    ];
    let folder = Folder::new();
    put(&folder, "root/x.ko", &module.write());
    let mut recording = one(0);
    recording.kernel_mmap(0xffff_0000_0000, 0x5000, 0, "/lib/x.ko");
    // simpleperf's FILE2: path, type 1 (kernel module), memory_offset_of_min_vaddr.
    let mut file = vec![0x0a, 9];
    file.extend(b"/lib/x.ko");
    file.extend([0x10, 1, 0x3a, 3, 0x08, 0x80, 0x20]);
    let mut feature = (file.len() as u32).to_le_bytes().to_vec();
    feature.extend(file);
    recording.feature(132, feature);
    let (image, _) = image(&folder, &recording, &[folder.path().join("root")]);
    let found = seen(&image, 1, 7, 0, 0xffff_0000_1008);
    assert_eq!(found, (Some(0x66), Some("work".into())));
    assert_eq!(seen(&image, 1, 7, 0, 0xffff_0000_0008).0, None);
}

#[test]
fn memory_of_the_kernel_that_came_along_is_used() {
    let mut core = program(0xffff_8000_0000_0000, vec![0x77; 0x1000], Vec::new());
    core.kind = elf::ET_CORE;
    let mut recording = one(0);
    recording.kernel_mmap(0xffff_8000_0000_0000, 0x1000, 0, "[kernel.kallsyms]_text");
    let folder = Folder::new();
    put(&folder, "perf.data/data", &recording.write(Form::File));
    put(&folder, "perf.data/kcore_dir/kcore", &core.write());
    let capture = perf::open(&folder.path().join("perf.data"), &[]).unwrap();
    let (image, _) = capture.image(&[]);
    assert_eq!(seen(&image, 1, 7, 0, 0xffff_8000_0000_0010).0, Some(0x77));
}

#[test]
fn files_that_people_name_count_first() {
    let folder = Folder::new();
    put(&folder, "root/usr/bin/app", &elf_file(0x11, ID, "main"));
    put(&folder, "dump", &[0x99; 0x100]);
    let path = folder.path().join("perf.data");
    std::fs::write(&path, one(0x1000).write(Form::File)).unwrap();
    let capture = perf::open(&path, &[folder.path().join("root")]).unwrap();
    let named = format!("{}@70000000", folder.path().join("dump").display()).parse().unwrap();
    let (image, _) = capture.image(&[named]);
    let space = image.space(&context(0, 7), &Moment::LAST);
    assert_eq!(image.read(0x7000_0000, space)[0], 0x99);
    assert_eq!(image.read(0x7000_0000, MemorySpace::EL1N)[0], 0x99, "in all processes");
    assert_ne!(image.read(0x7000_0100, space).first(), Some(&0x99));
}
