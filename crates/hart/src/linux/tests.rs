//! Tests of system calls without a program: a core, a tree of files, and calls made by hand.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::descriptors::Device;
use super::elf::Elf;
use super::errno::{Errno, Failure};
use super::numbers::*;
use super::paths::{Mount, Place, Special, Tree};
use super::*;
use crate::memory::PAGE;
use tracewright_testkit::Scratch;

#[path = "../../tests/it/support/elf.rs"]
mod elf_files;

const CODE: u64 = 0x10000;
const RISCV: u8 = 243;
const EXECUTABLE: u8 = 2;
const SHARED: u8 = 3;
pub(super) const CWD: u64 = -100_i64 as u64;

/// Makes an ELF file of this type for this machine, with an ECALL as code.
fn elf(is_rv32: bool, kind: u8, machine: u8) -> Vec<u8> {
    let mut file = elf_files::elf(is_rv32, CODE, &[0x73, 0, 0, 0]);
    (file[16], file[18]) = (kind, machine);
    file
}

/// Makes a loadable program for RV64.
pub(super) fn elf_file() -> Vec<u8> {
    elf(false, EXECUTABLE, RISCV)
}

/// A program, its Linux, and the folder of its root.
pub(super) struct Guest {
    pub scratch: Scratch,
    pub core: Core,
    pub linux: Linux,
}

impl Guest {
    pub fn new(name: &str, writable: bool) -> Self {
        Self::in_folder(Scratch::new(name), writable)
    }

    /// Starts a program whose root is the folder `root`.
    pub fn in_folder(scratch: Scratch, writable: bool) -> Self {
        let program = scratch.write("program", &elf_file());
        let root = scratch.path().join("root");
        fs::create_dir_all(root.join("folder")).unwrap();
        let options =
            Options { root: Some(root), writable, arguments: vec!["program".into()], ..Options::default() };
        let (core, linux) = Linux::load(&program, options).unwrap();
        Self { scratch, core, linux }
    }

    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    /// Makes a call. Returns a0.
    pub fn call(&mut self, number: u64, arguments: &[u64]) -> i64 {
        let core = &mut self.core;
        core.x[10..10 + arguments.len()].copy_from_slice(arguments);
        core.x[17] = number;
        let pc = core.pc;
        self.linux.exception(core, Exception { cause: cause::ECALL_U, value: 0 }).unwrap();
        assert_eq!(core.pc, pc + 4);
        core.pc = pc;
        core.x[10] as i64
    }

    /// Writes a path where calls can read it: eight slots are available.
    pub fn text(&mut self, slot: u64, text: impl AsRef<Path>) -> u64 {
        let at = self.core.x[2] - 0x8000 + slot * 512;
        let mut bytes = text.as_ref().as_os_str().as_encoded_bytes().to_vec();
        bytes.push(0);
        self.core.memory.write(at, &bytes).unwrap();
        at
    }

    pub fn open(&mut self, folder: u64, path: impl AsRef<Path>, flags: u64) -> i64 {
        let path = self.text(0, path);
        self.call(OPENAT, &[folder, path, flags, 0o644])
    }
}

fn load_error(bytes: &[u8]) -> String {
    Elf::read(bytes).unwrap_err().to_string()
}

#[test]
fn loads_what_is_a_program() {
    for is_rv32 in [false, true] {
        for kind in [EXECUTABLE, SHARED] {
            let scratch = Scratch::new(&format!("load-{is_rv32}-{kind}"));
            let program = scratch.write("program", &elf(is_rv32, kind, RISCV));
            let options = Options {
                arguments: vec!["one".into(), "two".into()],
                environment: vec!["A=b".into()],
                ..Options::default()
            };
            let (mut core, linux) = Linux::load(&program, options).unwrap();
            let base = CODE + if kind == SHARED { linux.layout.program } else { 0 };
            assert_eq!((core.is_rv32, core.pc), (is_rv32, base));
            assert_eq!(core.memory.peek::<4>(core.pc), Some([0x73, 0, 0, 0]));
            assert_eq!(core.memory.rights(core.pc), Some(Rights::ALL));
            // Zeros after the file's bytes, then the heap.
            assert_eq!(core.memory.peek::<4>(base + 0x1000), Some([0; 4]));
            assert_eq!(linux.layout.heap, base + 0x3000..base + 0x3000);
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
    let good = elf_file();
    assert!(Elf::read(&good).is_ok());
    let arm = load_error(&elf(false, EXECUTABLE, 183));
    assert!(arm.contains("AArch64") && arm.contains("tracewright record"), "{arm}");
    assert!(load_error(&elf(true, EXECUTABLE, 40)).contains("32-bit Arm"));
    assert!(load_error(&elf(false, EXECUTABLE, 62)).contains("x86-64"));
    assert!(load_error(&elf(false, EXECUTABLE, 99)).contains("99"));
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
    let mut guest = Guest::new("brk", false);
    let brk = |guest: &mut Guest, to: i64| guest.call(BRK, &[to as u64]);
    let first = brk(&mut guest, 0);
    assert_eq!(brk(&mut guest, first + 5000), first + 5000);
    guest.core.memory.write(first as u64 + 4999, &[7]).unwrap();
    assert_eq!(brk(&mut guest, first + 100), first + 100);
    assert!(guest.core.memory.read(first as u64 + 5000, &mut [0]).is_err());
    assert_eq!(brk(&mut guest, first + 5000), first + 5000);
    assert_eq!(guest.core.memory.peek(first as u64 + 4999), Some([0]));
    // An impossible request changes nothing.
    assert_eq!(brk(&mut guest, 1), first + 5000);
    assert_eq!(brk(&mut guest, i64::MAX), first + 5000);
}

#[test]
fn mappings_are_where_they_should_be() {
    const ANONYMOUS: u64 = 0x22;
    const FIXED: u64 = 0x10;
    const NO_REPLACE: u64 = 0x10_0000;
    let mut guest = Guest::new("mmap", false);
    let none = u64::MAX;
    let a = guest.call(MMAP, &[0, 2 * PAGE, 3, ANONYMOUS, none, 0]) as u64;
    let b = guest.call(MMAP, &[0, 1, 3, ANONYMOUS, none, 0]) as u64;
    assert_eq!(b, a + 2 * PAGE);
    guest.core.memory.write(a + PAGE, &[1, 2, 3]).unwrap();
    // EEXIST where something is; replaced where asked for; EINVAL between pages.
    assert_eq!(guest.call(MMAP, &[a, PAGE, 3, ANONYMOUS | NO_REPLACE, none, 0]), -17);
    assert_eq!(guest.call(MMAP, &[a, PAGE, 1, ANONYMOUS | FIXED, none, 0]), a as i64);
    assert_eq!(guest.call(MMAP, &[a + 1, PAGE, 1, ANONYMOUS | FIXED, none, 0]), -22);
    assert_eq!(guest.core.memory.rights(a), Some(Rights::READ));
    assert_eq!(guest.core.memory.peek(a + PAGE), Some([1, 2, 3]));
    // Outside of the program's address space.
    assert_eq!(guest.call(MMAP, &[1 << 50, PAGE, 1, ANONYMOUS | FIXED, none, 0]), -12);
    assert_eq!(guest.call(MMAP, &[0, 1 << 60, 1, ANONYMOUS, none, 0]), -12);
    assert_eq!(guest.call(MMAP, &[0, u64::MAX, 1, ANONYMOUS, none, 0]), -12);
    // A hint is followed where it is free.
    let hint = a + (1 << 30);
    assert_eq!(guest.call(MMAP, &[hint, PAGE, 1, ANONYMOUS, none, 0]), hint as i64);

    assert_eq!(guest.call(MPROTECT, &[a, PAGE, 0]), 0);
    assert!(guest.core.memory.read(a, &mut [0]).is_err());
    assert_eq!(guest.call(MPROTECT, &[b, 2 * PAGE, 1]), -12);
    // Moved, because its neighbour is in the way.
    let moved = guest.call(MREMAP, &[a + PAGE, PAGE, 4 * PAGE, 1]) as u64;
    assert_ne!(moved, a + PAGE);
    assert_eq!(guest.core.memory.peek(moved), Some([1, 2, 3]));
    assert_eq!(guest.core.memory.rights(a + PAGE), None);
    assert_eq!(guest.call(MREMAP, &[moved, 4 * PAGE, PAGE, 0]), moved as i64);
    assert_eq!(guest.core.memory.rights(moved + PAGE), None);
    assert_eq!(guest.call(MUNMAP, &[moved, PAGE]), 0);
    assert_eq!(guest.call(MUNMAP, &[moved + 1, PAGE]), -22);
    assert_eq!(guest.core.memory.rights(moved), None);
    // A range that had code is decoded anew, others are not.
    guest.core.code_changed = false;
    assert_eq!(guest.call(MUNMAP, &[b, PAGE]), 0);
    assert!(!guest.core.code_changed);
    assert_eq!(guest.call(MPROTECT, &[CODE, PAGE, 7]), 0);
    assert!(guest.core.code_changed);
}

#[test]
fn files_are_mapped() {
    let mut guest = Guest::new("map-file", true);
    fs::write(guest.root().join("file"), vec![9; 5000]).unwrap();
    let fd = guest.open(CWD, "/file", 2) as u64;
    let at = guest.call(MMAP, &[0, 8192, 3, 2, fd, 0]) as u64;
    assert_eq!(guest.core.memory.peek(at + 4999), Some([9, 0]));
    guest.core.memory.write(at, &[1]).unwrap();
    assert_eq!(fs::read(guest.root().join("file")).unwrap()[0], 9);
    let tail = guest.call(MMAP, &[0, 4096, 1, 1, fd, 4096]) as u64;
    assert_eq!(guest.core.memory.peek(tail + 903), Some([9, 0]));
    assert_eq!(guest.linux.mapped().last().map(|mapped| (mapped.len, mapped.offset)), Some((904, 4096)));

    // Shared: what is written reaches the file, and only what is in it.
    let path = guest.root().join("file");
    let file = || fs::read(&path).unwrap();
    let shared = guest.call(MMAP, &[0, 3 * 4096, 3, 1, fd, 0]) as u64;
    guest.core.memory.write(shared + 10, &[1]).unwrap();
    guest.core.memory.write(shared + 4998, &[2, 3, 4]).unwrap();
    assert_eq!(file()[10], 9);
    assert_eq!(guest.call(MSYNC, &[shared, 3 * 4096, 4]), 0);
    assert_eq!((file()[10], file().len(), file().last()), (1, 5000, Some(&3)));
    guest.core.memory.write(shared + 11, &[5]).unwrap();
    let to = guest.text(0, "");
    assert_eq!(guest.call(PREAD64, &[fd, to, 2, 10]), 2);
    assert_eq!(guest.core.memory.peek(to), Some([1, 5]));
    // Its first page goes, the second stays.
    guest.core.memory.write(shared + 12, &[6]).unwrap();
    guest.core.memory.write(shared + 4097, &[7]).unwrap();
    assert_eq!(guest.call(MUNMAP, &[shared, 4096]), 0);
    assert_eq!((file()[12], file()[4097]), (6, 9));
    guest.core.x[17] = EXIT_GROUP;
    let end = guest.linux.exception(&mut guest.core, Exception { cause: cause::ECALL_U, value: 0 });
    assert!(matches!(end, Err(Stop::Exit { .. })));
    assert_eq!(file()[4097], 7);
}

#[test]
fn what_is_read_only_is_not_written_through_memory() {
    let mut guest = Guest::new("map-read-only", false);
    fs::write(guest.root().join("file"), "text").unwrap();
    let fd = guest.open(CWD, "/file", 0) as u64;
    assert_eq!(guest.call(MMAP, &[0, 4096, 3, 1, fd, 0]), -13);
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
    assert_eq!(special("/dev/null"), Some(Special::Device(Device::Null)));
    assert_eq!(special("device/zero"), Some(Special::Device(Device::Zero)));
    assert_eq!(special("/dev/fd/5"), Some(Special::Descriptor(5)));
    let all = Tree::new(vec![mount("/", "/".into(), true)], "/bin/sh".into()).unwrap();
    for path in ["/proc/self/mem", "/proc/1", "/sys/kernel", "/dev/sda", "/proc/self/exe/.."] {
        assert!(host(&all, path).is_err(), "{path}");
    }
}

#[test]
fn what_is_read_only_stays_as_it_is() {
    let mut guest = Guest::new("read-only", false);
    fs::write(guest.root().join("file"), "text").unwrap();
    let (erofs, enoent) = (-30, -2);
    let file = guest.text(0, "file");
    assert!(guest.call(OPENAT, &[CWD, file, 0, 0]) >= 3);
    for flags in [1, 2, 0o1000, 0o2001] {
        assert_eq!(guest.call(OPENAT, &[CWD, file, flags, 0]), erofs);
    }
    assert_eq!(guest.call(UNLINKAT, &[CWD, file, 0]), erofs);
    assert_eq!(guest.call(FCHMODAT, &[CWD, file, 0o777]), erofs);
    assert_eq!(guest.call(TRUNCATE, &[file, 0]), erofs);
    assert_eq!(guest.call(UTIMENSAT, &[CWD, file, 0, 0]), erofs);
    assert_eq!(guest.call(UTIMENSAT, &[3, 0, 0, 0]), erofs);
    assert_eq!(guest.call(FCHMOD, &[3, 0]), erofs);
    assert_eq!(guest.call(FACCESSAT, &[CWD, file, 2]), erofs);
    assert_eq!(guest.call(LINKAT, &[CWD, file, CWD, file, 0]), erofs);
    assert_eq!(guest.call(RENAMEAT2, &[CWD, file, CWD, file, 0]), erofs);
    let new = guest.text(0, "new");
    assert_eq!(guest.call(OPENAT, &[CWD, new, 0o101, 0o644]), erofs);
    assert_eq!(guest.call(MKDIRAT, &[CWD, new, 0o755]), erofs);
    assert_eq!(guest.call(SYMLINKAT, &[new, CWD, new]), erofs);
    assert_eq!(guest.call(UNLINKAT, &[CWD, new, 0]), enoent);
    assert_eq!(fs::read(guest.root().join("file")).unwrap(), b"text");
    assert_eq!(fs::read_dir(guest.root()).unwrap().count(), 2);
}

#[test]
fn a_link_that_was_made_leads_nowhere_else() {
    let mut guest = Guest::new("made-link", true);
    fs::write(guest.scratch.path().join("secret"), "x").unwrap();
    let name = guest.text(0, "../secret");
    guest.core.memory.write(name + 100, b"link\0").unwrap();
    assert_eq!(guest.call(SYMLINKAT, &[name, CWD, name + 100]), 0);
    assert_eq!(guest.call(OPENAT, &[CWD, name + 100, 0, 0]), -2);
    // Writing through the link creates a file inside.
    assert_eq!(guest.call(OPENAT, &[CWD, name + 100, 0o101, 0o644]), 3);
    assert_eq!(fs::read(guest.scratch.path().join("secret")).unwrap(), b"x");
    assert!(guest.root().join("secret").exists());
}

#[test]
fn unknown_calls_are_told_once() {
    let mut guest = Guest::new("unknown", false);
    for _ in 0..3 {
        assert_eq!(guest.call(BPF, &[]), -38);
        assert_eq!(guest.call(9999, &[]), -38);
    }
    assert_eq!(guest.linux.warnings().len(), 2);
    assert!(guest.linux.warnings()[0].contains("280 (bpf)"));
    assert!(guest.linux.warnings()[1].contains("9999 (unknown)"));
}

#[test]
fn no_call_panics() {
    let mut guest = Guest::new("any-call", true);
    let mut random = Random(1);
    let name = guest.text(0, "file");
    let values = [0, 1, 2, 3, 8, 4096, name, u64::MAX, CWD, 1 << 31, 1 << 40, 1 << 63, CODE, 0o101];
    for round in 0..50_000 {
        let number = random.next() % 470;
        // Calls that end the program.
        if matches!(number, EXIT | EXIT_GROUP | KILL | TKILL | TGKILL) {
            continue;
        }
        for at in 10..16 {
            guest.core.x[at] = values[random.next() as usize % values.len()];
        }
        guest.core.x[17] = number;
        let arguments = std::array::from_fn(|at| guest.core.x[10 + at]);
        let result = guest.linux.dispatch(&mut guest.core, number, arguments);
        if let Err(Failure::Stop(stop)) = result {
            assert!(
                matches!(&stop, Stop::Fault(why) if why.contains("futex")),
                "{round}: {number}: {stop:?}"
            );
        }
        guest.linux.warnings.clear();
        guest.core.memory.map(name, 4096, Rights::ALL);
        let _ = guest.core.memory.write(name, b"file\0");
    }
    // Nothing outside of the root was touched.
    assert_eq!(fs::read_dir(guest.scratch.path()).unwrap().count(), 2);
}

#[test]
fn memory_where_a_file_was_is_memory_like_any_other() {
    let mut guest = Guest::new("madvise", false);
    fs::write(guest.root().join("file"), [7; 100]).unwrap();
    let fd = guest.open(CWD, "/file", 0);
    assert!(fd >= 0, "{fd}");
    // PROT_READ and PROT_WRITE; MAP_PRIVATE, then also MAP_ANONYMOUS and MAP_FIXED.
    let at = guest.call(MMAP, &[0, PAGE, 3, 2, fd as u64, 0]) as u64;
    assert_eq!(guest.core.memory.peek::<1>(at), Some([7]));
    assert_eq!(guest.call(MADVISE, &[at, PAGE, 4]), 0);
    assert_eq!(guest.core.memory.peek::<1>(at), Some([7]), "it is a file's");
    assert_eq!(guest.call(MUNMAP, &[at, PAGE]), 0);
    assert_eq!(guest.call(MMAP, &[at, PAGE, 3, 0x32, u64::MAX, 0]) as u64, at);
    guest.core.memory.write(at, &[42]).unwrap();
    assert_eq!(guest.call(MADVISE, &[at, PAGE, 4]), 0);
    assert_eq!(guest.core.memory.peek::<1>(at), Some([0]));
}

#[test]
fn what_a_program_gives_back_is_used_again() {
    let mut guest = Guest::new("again", false);
    let at = guest.text(0, "");
    let mut most = 0;
    for _ in 0..5000 {
        assert_eq!(guest.call(PIPE2, &[at, 0]), 0);
        let ends = guest.core.memory.peek::<8>(at).unwrap();
        for end in ends.chunks(4) {
            let end = u32::from_le_bytes(end.try_into().unwrap());
            assert_eq!(guest.call(CLOSE, &[end.into()]), 0);
        }
        most = most.max(guest.linux.descriptors.pipes());
    }
    assert_eq!(most, 1);
    // Neighbours are one region; alternating rights reach the limit of Linux.
    let before = guest.core.memory.regions();
    for _ in 0..1000 {
        assert!(guest.call(MMAP, &[0, 4096, 3, 0x22, u64::MAX, 0]) > 0);
    }
    assert!(guest.core.memory.regions() <= before + 1, "{} regions", guest.core.memory.regions());
}
