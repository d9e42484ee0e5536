//! Tests of system calls without a program: a core, a tree of files, and calls made by hand.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::elf::Elf;
use super::errno::{Errno, Failure};
use super::paths::{Mount, Place, Special, Tree};
use super::*;
use crate::memory::PAGE;
use tracewright_testkit::Scratch;

const CODE: u64 = 0x10000;

/// Makes an ELF file with one segment: its header, and an ECALL as code.
fn elf(is_rv32: bool, kind: u16, machine: u16) -> Vec<u8> {
    let size = if is_rv32 { 4 } else { 8 };
    let base = if kind == 3 { 0 } else { CODE };
    let mut bytes = b"\x7fELF".to_vec();
    bytes.extend([if is_rv32 { 1 } else { 2 }, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(kind.to_le_bytes());
    bytes.extend(machine.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    let word = |bytes: &mut Vec<u8>, value: u64| bytes.extend(&value.to_le_bytes()[..size]);
    let (header, program) = if is_rv32 { (52, 32) } else { (64, 56) };
    let entry = header + program;
    word(&mut bytes, base + entry);
    word(&mut bytes, header);
    word(&mut bytes, 0);
    bytes.extend(0_u32.to_le_bytes());
    for half in [header as u16, program as u16, 1, 0, 0, 0] {
        bytes.extend(half.to_le_bytes());
    }
    // PT_LOAD, R+X; RV32 has the flags near the end.
    bytes.extend(1_u32.to_le_bytes());
    if !is_rv32 {
        bytes.extend(5_u32.to_le_bytes());
    }
    let len = entry + 4;
    for value in [0, base, base, len, len + 0x1800] {
        word(&mut bytes, value);
    }
    if is_rv32 {
        bytes.extend(5_u32.to_le_bytes());
    }
    word(&mut bytes, 0x1000);
    bytes.extend([0x73, 0, 0, 0]);
    bytes
}

const RISCV: u16 = 243;

/// Makes a loadable program for RV64.
pub(super) fn elf_file() -> Vec<u8> {
    elf(false, 2, RISCV)
}

pub(super) fn start(scratch: &Scratch, writable: bool) -> (Core, Linux) {
    let program = scratch.path().join("program");
    fs::write(&program, elf(false, 2, RISCV)).unwrap();
    let root = scratch.path().join("root");
    fs::create_dir_all(root.join("folder")).unwrap();
    let options =
        Options { root: Some(root), writable, arguments: vec!["program".into()], ..Options::default() };
    Linux::load(&program, options).unwrap()
}

/// Makes a call. Returns a0.
pub(super) fn call(core: &mut Core, linux: &mut Linux, number: u64, arguments: &[u64]) -> i64 {
    core.x[10..10 + arguments.len()].copy_from_slice(arguments);
    core.x[17] = number;
    let pc = core.pc;
    linux.exception(core, Exception { cause: cause::ECALL_U, value: 0 }).unwrap();
    assert_eq!(core.pc, pc + 4);
    core.pc = pc;
    core.x[10] as i64
}

/// Writes a path where calls can read it.
fn path(core: &mut Core, text: &str) -> u64 {
    let at = core.x[2] - 0x8000;
    core.memory.write(at, text.as_bytes()).unwrap();
    core.memory.write(at + text.len() as u64, &[0]).unwrap();
    at
}

fn load_error(bytes: &[u8]) -> String {
    Elf::read(bytes).unwrap_err().to_string()
}

#[test]
fn loads_what_is_a_program() {
    for is_rv32 in [false, true] {
        for kind in [2, 3] {
            let scratch = Scratch::new(&format!("load-{is_rv32}-{kind}"));
            let program = scratch.path().join("program");
            fs::write(&program, elf(is_rv32, kind, RISCV)).unwrap();
            let options = Options {
                arguments: vec!["one".into(), "two".into()],
                environment: vec!["A=b".into()],
                ..Options::default()
            };
            let (mut core, linux) = Linux::load(&program, options).unwrap();
            let base = if kind == 3 { linux.layout.program } else { CODE };
            assert_eq!(core.is_rv32, is_rv32);
            assert_eq!(core.pc, base + if is_rv32 { 52 + 32 } else { 64 + 56 });
            assert_eq!(core.memory.peek::<4>(core.pc), Some([0x73, 0, 0, 0]));
            assert_eq!(core.memory.rights(core.pc), Some(Rights::READ | Rights::EXECUTE));
            // Zeros after the file's bytes, then the heap.
            assert_eq!(core.memory.peek::<4>(base + 0x1000), Some([0; 4]));
            assert_eq!(linux.layout.heap, base + 0x2000..base + 0x2000);
            // argc, argv, envp.
            assert_eq!(core.x[2] % 16, 0);
            let size = guest::word_size(&core);
            let word = |core: &mut Core, index| guest::word(core, core.x[2] + index * size).unwrap();
            assert_eq!(word(&mut core, 0), 2);
            for (index, text) in [(1, "one"), (2, "two"), (4, "A=b")] {
                let at = word(&mut core, index);
                assert_eq!(guest::string(&mut core, at).unwrap(), text.as_bytes());
            }
            assert_eq!((word(&mut core, 3), word(&mut core, 5)), (0, 0));
            assert_eq!(linux.mapped().len(), 1);
        }
    }
}

#[test]
fn says_what_cannot_be_loaded() {
    let good = elf(false, 2, RISCV);
    assert!(Elf::read(&good).is_ok());
    let arm = load_error(&elf(false, 2, 183));
    assert!(arm.contains("AArch64") && arm.contains("tracewright decode"), "{arm}");
    assert!(load_error(&elf(true, 2, 40)).contains("32-bit Arm"));
    assert!(load_error(&elf(false, 2, 62)).contains("x86-64"));
    assert!(load_error(&elf(false, 2, 9999)).contains("9999"));
    assert!(load_error(&elf(false, 1, RISCV)).contains("object file"));
    assert!(load_error(&elf(false, 4, RISCV)).contains("core dump"));
    assert!(load_error(b"").contains("empty"));
    assert!(load_error(b"#!/bin/sh\necho").contains("script for /bin/sh"));
    assert!(load_error(b"some text").contains("not ELF"));
    // A cut or changed file gives an error or a program, never a panic.
    for len in 4..good.len() {
        assert!(load_error(&good[..len]).contains("damaged"), "{len}: {}", load_error(&good[..len]));
    }
    for at in 4..good.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = byte;
            let scratch = Scratch::new("linux-bytes");
            let path = scratch.write("program", &bytes);
            let _ = Linux::load(&path, Options { memory: 16 << 20, ..Options::default() });
        }
    }
}

#[test]
fn the_heap_grows_and_shrinks() {
    let scratch = Scratch::new("brk");
    let (mut core, mut linux) = start(&scratch, false);
    let (core, linux) = (&mut core, &mut linux);
    let mut brk = |core: &mut Core, to: i64| call(core, linux, numbers::BRK, &[to as u64]);
    let first = brk(core, 0);
    assert_eq!(brk(core, first + 5000), first + 5000);
    core.memory.write(first as u64 + 4999, &[7]).unwrap();
    assert_eq!(brk(core, first + 100), first + 100);
    assert!(core.memory.read(first as u64 + 5000, &mut [0]).is_err());
    assert_eq!(brk(core, first + 5000), first + 5000);
    assert_eq!(core.memory.peek(first as u64 + 4999), Some([0]));
    // An impossible request changes nothing.
    assert_eq!(brk(core, 1), first + 5000);
    assert_eq!(brk(core, i64::MAX), first + 5000);
}

#[test]
fn mappings_are_where_they_should_be() {
    const PAGE: u64 = crate::memory::PAGE;
    const ANONYMOUS: u64 = 0x22;
    const FIXED: u64 = 0x10;
    const NO_REPLACE: u64 = 0x10_0000;
    let scratch = Scratch::new("mmap");
    let (mut core, mut linux) = start(&scratch, false);
    let (core, linux) = (&mut core, &mut linux);
    let none = u64::MAX;
    let a = call(core, linux, numbers::MMAP, &[0, 2 * PAGE, 3, ANONYMOUS, none, 0]) as u64;
    let b = call(core, linux, numbers::MMAP, &[0, 1, 3, ANONYMOUS, none, 0]) as u64;
    assert_eq!(b, a + 2 * PAGE);
    core.memory.write(a + PAGE, &[1, 2, 3]).unwrap();
    // EEXIST where something is; replaced where asked for; EINVAL between pages.
    assert_eq!(call(core, linux, numbers::MMAP, &[a, PAGE, 3, ANONYMOUS | NO_REPLACE, none, 0]), -17);
    assert_eq!(call(core, linux, numbers::MMAP, &[a, PAGE, 1, ANONYMOUS | FIXED, none, 0]), a as i64);
    assert_eq!(call(core, linux, numbers::MMAP, &[a + 1, PAGE, 1, ANONYMOUS | FIXED, none, 0]), -22);
    assert_eq!(core.memory.rights(a), Some(Rights::READ));
    assert_eq!(core.memory.peek(a + PAGE), Some([1, 2, 3]));
    // Outside of the program's address space.
    assert_eq!(call(core, linux, numbers::MMAP, &[1 << 50, PAGE, 1, ANONYMOUS | FIXED, none, 0]), -12);
    assert_eq!(call(core, linux, numbers::MMAP, &[0, 1 << 60, 1, ANONYMOUS, none, 0]), -12);
    assert_eq!(call(core, linux, numbers::MMAP, &[0, u64::MAX, 1, ANONYMOUS, none, 0]), -12);
    // A hint is followed where it is free.
    let hint = a + (1 << 30);
    assert_eq!(call(core, linux, numbers::MMAP, &[hint, PAGE, 1, ANONYMOUS, none, 0]), hint as i64);

    assert_eq!(call(core, linux, numbers::MPROTECT, &[a, PAGE, 0]), 0);
    assert!(core.memory.read(a, &mut [0]).is_err());
    assert_eq!(call(core, linux, numbers::MPROTECT, &[b, 2 * PAGE, 1]), -12);
    // Moved, because its neighbour is in the way.
    let moved = call(core, linux, numbers::MREMAP, &[a + PAGE, PAGE, 4 * PAGE, 1]) as u64;
    assert_ne!(moved, a + PAGE);
    assert_eq!(core.memory.peek(moved), Some([1, 2, 3]));
    assert_eq!(core.memory.rights(a + PAGE), None);
    assert_eq!(call(core, linux, numbers::MREMAP, &[moved, 4 * PAGE, PAGE, 0]), moved as i64);
    assert_eq!(core.memory.rights(moved + PAGE), None);
    assert_eq!(call(core, linux, numbers::MUNMAP, &[moved, PAGE]), 0);
    assert_eq!(call(core, linux, numbers::MUNMAP, &[moved + 1, PAGE]), -22);
    assert_eq!(core.memory.rights(moved), None);
    // A range that had code is decoded anew, others are not.
    core.code_changed = false;
    assert_eq!(call(core, linux, numbers::MUNMAP, &[b, PAGE]), 0);
    assert!(!core.code_changed);
    assert_eq!(call(core, linux, numbers::MPROTECT, &[CODE, PAGE, 7]), 0);
    assert!(core.code_changed);
}

#[test]
fn files_are_mapped() {
    let scratch = Scratch::new("map-file");
    let (mut core, mut linux) = start(&scratch, true);
    let (core, linux) = (&mut core, &mut linux);
    fs::write(scratch.path().join("root/file"), vec![9; 5000]).unwrap();
    let name = path(core, "/file");
    let fd = call(core, linux, numbers::OPENAT, &[-100_i64 as u64, name, 2, 0]) as u64;
    let at = call(core, linux, numbers::MMAP, &[0, 8192, 3, 2, fd, 0]) as u64;
    assert_eq!(core.memory.peek(at + 4999), Some([9, 0]));
    core.memory.write(at, &[1]).unwrap();
    assert_eq!(fs::read(scratch.path().join("root/file")).unwrap()[0], 9);
    let tail = call(core, linux, numbers::MMAP, &[0, 4096, 1, 1, fd, 4096]) as u64;
    assert_eq!(core.memory.peek(tail + 903), Some([9, 0]));
    assert_eq!(linux.mapped().last().map(|mapped| (mapped.len, mapped.offset)), Some((904, 4096)));

    // Shared: what is written reaches the file, and only what is in it.
    let file = || fs::read(scratch.path().join("root/file")).unwrap();
    let shared = call(core, linux, numbers::MMAP, &[0, 3 * 4096, 3, 1, fd, 0]) as u64;
    core.memory.write(shared + 10, &[1]).unwrap();
    core.memory.write(shared + 4998, &[2, 3, 4]).unwrap();
    assert_eq!(file()[10], 9);
    assert_eq!(call(core, linux, numbers::MSYNC, &[shared, 3 * 4096, 4]), 0);
    assert_eq!((file()[10], file().len(), file().last()), (1, 5000, Some(&3)));
    core.memory.write(shared + 11, &[5]).unwrap();
    let to = path(core, "");
    assert_eq!(call(core, linux, numbers::PREAD64, &[fd, to, 2, 10]), 2);
    assert_eq!(core.memory.peek(to), Some([1, 5]));
    // Its first page goes, the second stays.
    core.memory.write(shared + 12, &[6]).unwrap();
    core.memory.write(shared + 4097, &[7]).unwrap();
    assert_eq!(call(core, linux, numbers::MUNMAP, &[shared, 4096]), 0);
    assert_eq!((file()[12], file()[4097]), (6, 9));
    core.x[17] = numbers::EXIT_GROUP;
    let end = linux.exception(core, Exception { cause: cause::ECALL_U, value: 0 });
    assert!(matches!(end, Err(Stop::Exit { .. })));
    assert_eq!(file()[4097], 7);
}

#[test]
fn what_is_read_only_is_not_written_through_memory() {
    let scratch = Scratch::new("map-read-only");
    let (mut core, mut linux) = start(&scratch, false);
    fs::write(scratch.path().join("root/file"), "text").unwrap();
    let name = path(&mut core, "/file");
    let fd = call(&mut core, &mut linux, numbers::OPENAT, &[-100_i64 as u64, name, 0, 0]) as u64;
    assert_eq!(call(&mut core, &mut linux, numbers::MMAP, &[0, 4096, 3, 1, fd, 0]), -13);
}

fn host(tree: &Tree, path: &str) -> Result<PathBuf, Errno> {
    match tree.find(&tree.root(), path.as_bytes(), true)? {
        Place::Host(found) if found.stat.is_some() => Ok(found.path),
        Place::Host(_) => Err(Errno::ENOENT),
        Place::Special(_) => Err(Errno(0)),
    }
}

#[test]
fn no_path_leads_out() {
    let scratch = Scratch::new("paths");
    let root = scratch.path().join("root");
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::create_dir_all(scratch.path().join("other/deep")).unwrap();
    fs::write(scratch.path().join("secret"), "x").unwrap();
    fs::write(root.join("file"), "x").unwrap();
    fs::write(scratch.path().join("other/file"), "x").unwrap();
    for (target, link) in [
        ("../../../secret", "up"),
        ("/file", "absolute"),
        ("a", "folder"),
        ("../secret", "a/up"),
        ("round", "round"),
        ("/a/../../secret", "a/b/twisted"),
        ("/proc/self/exe", "exe"),
        ("/dev", "device"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    symlink(scratch.path(), root.join("out")).unwrap();
    let mount = |at: &str, host: PathBuf, writable| Mount { at: at.into(), host, writable };
    let mounts =
        vec![mount("/", root.clone(), false), mount("/mnt/other", scratch.path().join("other"), true)];
    let tree = Tree::new(mounts, scratch.path().join("secret")).unwrap();

    assert_eq!(host(&tree, "/file"), Ok(root.join("file")));
    assert_eq!(host(&tree, "//a/./../file"), Ok(root.join("file")));
    assert_eq!(host(&tree, "/../../../file"), Ok(root.join("file")));
    assert_eq!(host(&tree, "absolute"), Ok(root.join("file")));
    assert_eq!(host(&tree, "folder/../file"), Ok(root.join("file")));
    assert_eq!(host(&tree, "folder/b/"), Ok(root.join("a/b")));
    for path in
        ["../secret", "up", "a/up", "a/b/twisted", "out/secret", "a/missing/../../file", "a/../../secret"]
    {
        assert_eq!(host(&tree, path), Err(Errno::ENOENT), "{path}");
    }
    assert_eq!(host(&tree, "file/x"), Err(Errno::ENOTDIR));
    assert_eq!(host(&tree, "file/"), Err(Errno::ENOTDIR));
    assert_eq!(host(&tree, "file/.."), Err(Errno::ENOTDIR));
    assert_eq!(host(&tree, "round"), Err(Errno::ELOOP));
    assert_eq!(host(&tree, ""), Err(Errno::ENOENT));

    // Mounts, and which may be written to.
    assert_eq!(host(&tree, "/mnt/other/file"), Ok(scratch.path().join("other/file")));
    assert_eq!(host(&tree, "/mnt/other/deep/../../../file"), Ok(root.join("file")));
    let is_writable = |path: &str| match tree.find(&tree.root(), path.as_bytes(), true) {
        Ok(Place::Host(found)) => found.writable,
        _ => false,
    };
    assert!(is_writable("/mnt/other") && is_writable("/mnt/other/new"));
    assert!(!is_writable("/mnt") && !is_writable("/file"));
    assert_eq!(tree.seen(&scratch.path().join("other/file")), Path::new("/mnt/other/file"));

    // What Linux makes; and nothing else of /proc, whatever the host has there.
    assert_eq!(host(&tree, "/proc/self/exe"), Ok(scratch.path().join("secret")));
    assert_eq!(host(&tree, "exe"), Ok(scratch.path().join("secret")));
    let special = |path: &str| match tree.find(&tree.root(), path.as_bytes(), true) {
        Ok(Place::Special(special)) => Some(special),
        _ => None,
    };
    assert_eq!(special("/dev/null"), Some(Special::Null));
    assert_eq!(special("device/zero"), Some(Special::Zero));
    assert_eq!(special("/dev/fd/5"), Some(Special::Descriptor(5)));
    let all = Tree::new(vec![mount("/", "/".into(), true)], "/bin/sh".into()).unwrap();
    for path in ["/proc/self/mem", "/proc/1", "/sys/kernel", "/dev/sda", "/proc/self/exe/.."] {
        assert!(host(&all, path).is_err(), "{path}");
    }
}

#[test]
fn what_is_read_only_stays_as_it_is() {
    let scratch = Scratch::new("read-only");
    let (mut core, mut linux) = start(&scratch, false);
    let (core, linux) = (&mut core, &mut linux);
    fs::write(scratch.path().join("root/file"), "text").unwrap();
    let here = -100_i64 as u64;
    let (erofs, enoent) = (-30, -2);
    let file = path(core, "file");
    assert!(call(core, linux, numbers::OPENAT, &[here, file, 0, 0]) >= 3);
    for flags in [1, 2, 0o1000, 0o2001] {
        assert_eq!(call(core, linux, numbers::OPENAT, &[here, file, flags, 0]), erofs);
    }
    assert_eq!(call(core, linux, numbers::UNLINKAT, &[here, file, 0]), erofs);
    assert_eq!(call(core, linux, numbers::FCHMODAT, &[here, file, 0o777]), erofs);
    assert_eq!(call(core, linux, numbers::TRUNCATE, &[file, 0]), erofs);
    assert_eq!(call(core, linux, numbers::UTIMENSAT, &[here, file, 0, 0]), erofs);
    assert_eq!(call(core, linux, numbers::UTIMENSAT, &[3, 0, 0, 0]), erofs);
    assert_eq!(call(core, linux, numbers::FCHMOD, &[3, 0]), erofs);
    assert_eq!(call(core, linux, numbers::FACCESSAT, &[here, file, 2]), erofs);
    assert_eq!(call(core, linux, numbers::LINKAT, &[here, file, here, file, 0]), erofs);
    assert_eq!(call(core, linux, numbers::RENAMEAT2, &[here, file, here, file, 0]), erofs);
    let new = path(core, "new");
    assert_eq!(call(core, linux, numbers::OPENAT, &[here, new, 0o101, 0o644]), erofs);
    assert_eq!(call(core, linux, numbers::MKDIRAT, &[here, new, 0o755]), erofs);
    assert_eq!(call(core, linux, numbers::SYMLINKAT, &[new, here, new]), erofs);
    assert_eq!(call(core, linux, numbers::UNLINKAT, &[here, new, 0]), enoent);
    assert_eq!(fs::read(scratch.path().join("root/file")).unwrap(), b"text");
    assert_eq!(fs::read_dir(scratch.path().join("root")).unwrap().count(), 2);
}

#[test]
fn a_link_that_was_made_leads_nowhere_else() {
    let scratch = Scratch::new("made-link");
    let (mut core, mut linux) = start(&scratch, true);
    let (core, linux) = (&mut core, &mut linux);
    fs::write(scratch.path().join("secret"), "x").unwrap();
    let here = -100_i64 as u64;
    let name = path(core, "../secret");
    core.memory.write(name + 100, b"link\0").unwrap();
    assert_eq!(call(core, linux, numbers::SYMLINKAT, &[name, here, name + 100]), 0);
    assert_eq!(call(core, linux, numbers::OPENAT, &[here, name + 100, 0, 0]), -2);
    // Writing through the link creates a file inside.
    assert_eq!(call(core, linux, numbers::OPENAT, &[here, name + 100, 0o101, 0o644]), 3);
    assert_eq!(fs::read(scratch.path().join("secret")).unwrap(), b"x");
    assert!(scratch.path().join("root/secret").exists());
}

#[test]
fn unknown_calls_are_told_once() {
    let scratch = Scratch::new("unknown");
    let (mut core, mut linux) = start(&scratch, false);
    for _ in 0..3 {
        assert_eq!(call(&mut core, &mut linux, numbers::BPF, &[]), -38);
        assert_eq!(call(&mut core, &mut linux, 9999, &[]), -38);
    }
    assert_eq!(linux.warnings().len(), 2);
    assert!(linux.warnings()[0].contains("280 (bpf)"));
    assert!(linux.warnings()[1].contains("9999 (unknown)"));
}

#[test]
fn no_call_panics() {
    let scratch = Scratch::new("any-call");
    let (mut core, mut linux) = start(&scratch, true);
    let mut random = Random(1);
    let name = path(&mut core, "file");
    let values =
        [0, 1, 2, 3, 8, 4096, name, u64::MAX, -100_i64 as u64, 1 << 31, 1 << 40, 1 << 63, CODE, 0o101];
    for round in 0..50_000 {
        let number = random.next() % 470;
        // Calls that end the program.
        if matches!(
            number,
            numbers::EXIT | numbers::EXIT_GROUP | numbers::KILL | numbers::TKILL | numbers::TGKILL
        ) {
            continue;
        }
        for at in 10..16 {
            core.x[at] = values[random.next() as usize % values.len()];
        }
        core.x[17] = number;
        let arguments = std::array::from_fn(|at| core.x[10 + at]);
        let result = linux.dispatch(&mut core, number, arguments);
        if let Err(Failure::Stop(stop)) = result {
            assert!(
                matches!(&stop, Stop::Fault(why) if why.contains("futex")),
                "{round}: {number}: {stop:?}"
            );
        }
        linux.warnings.clear();
        core.memory.map(name, 4096, Rights::ALL);
        let _ = core.memory.write(name, b"file\0");
    }
    // Nothing outside of the root was touched.
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 2);
}

#[test]
fn memory_where_a_file_was_is_memory_like_any_other() {
    const MUNMAP: u64 = 215;
    const MMAP: u64 = 222;
    const MADVISE: u64 = 233;
    let scratch = Scratch::new("madvise");
    let (mut core, mut linux) = start(&scratch, false);
    fs::write(scratch.path().join("root/file"), [7; 100]).unwrap();
    let name = path(&mut core, "/file");
    let fd = call(&mut core, &mut linux, 56, &[-100i64 as u64, name, 0, 0]);
    assert!(fd >= 0, "{fd}");
    // PROT_READ and PROT_WRITE; MAP_PRIVATE, then also MAP_ANONYMOUS and MAP_FIXED.
    let at = call(&mut core, &mut linux, MMAP, &[0, PAGE, 3, 2, fd as u64, 0]) as u64;
    assert_eq!(core.memory.peek::<1>(at), Some([7]));
    assert_eq!(call(&mut core, &mut linux, MADVISE, &[at, PAGE, 4]), 0);
    assert_eq!(core.memory.peek::<1>(at), Some([7]), "it is a file's");
    assert_eq!(call(&mut core, &mut linux, MUNMAP, &[at, PAGE]), 0);
    assert_eq!(call(&mut core, &mut linux, MMAP, &[at, PAGE, 3, 0x32, u64::MAX, 0]) as u64, at);
    core.memory.write(at, &[42]).unwrap();
    assert_eq!(call(&mut core, &mut linux, MADVISE, &[at, PAGE, 4]), 0);
    assert_eq!(core.memory.peek::<1>(at), Some([0]));
}

#[test]
fn what_a_program_gives_back_is_used_again() {
    let scratch = Scratch::new("again");
    let (mut core, mut linux) = start(&scratch, false);
    let at = path(&mut core, "");
    let mut most = 0;
    for _ in 0..5000 {
        assert_eq!(call(&mut core, &mut linux, 59, &[at, 0]), 0);
        let ends = core.memory.peek::<8>(at).unwrap();
        for end in ends.chunks(4) {
            let end = u32::from_le_bytes(end.try_into().unwrap());
            assert_eq!(call(&mut core, &mut linux, 57, &[end.into()]), 0);
        }
        most = most.max(linux.descriptors.pipes());
    }
    assert_eq!(most, 1);
    // Neighbours are one region; alternating rights reach the limit of Linux.
    let before = core.memory.regions();
    for _ in 0..1000 {
        assert!(call(&mut core, &mut linux, 222, &[0, 4096, 3, 0x22, u64::MAX, 0]) > 0);
    }
    assert!(core.memory.regions() <= before + 1, "{} regions", core.memory.regions());
}
