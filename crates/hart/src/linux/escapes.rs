//! Tests in which a program tries to leave its root with system calls.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::numbers::*;
use super::tests::{CWD, Guest, elf_file};
use super::*;
use tracewright_testkit::Scratch;

const O_CREAT_WRITE: u64 = 0o101;
const O_DIRECTORY: u64 = 0o20_0000;
const ENOENT: i64 = -2;
const EROFS: i64 = -30;

impl Guest {
    /// Starts a program in a writable root, with a folder beside that root with files that it must not reach.
    fn beside(name: &str) -> Self {
        let scratch = Scratch::new(name);
        fs::create_dir_all(scratch.path().join("root/a/etc")).unwrap();
        fs::create_dir_all(scratch.path().join("outside/etc/inner")).unwrap();
        fs::write(scratch.path().join("outside/etc/secret"), "secret").unwrap();
        symlink("secret", scratch.path().join("outside/etc/link")).unwrap();
        Self::in_folder(scratch, true)
    }

    fn outside(&self) -> PathBuf {
        self.scratch.path().join("outside")
    }

    fn rename(&mut self, from: &str, to: &str) -> i64 {
        let (from, to) = (self.text(0, from), self.text(1, to));
        self.call(RENAMEAT2, &[CWD, from, CWD, to, 0])
    }

    fn link(&mut self, target: impl AsRef<Path>, at: &str) -> i64 {
        let (target, at) = (self.text(0, target), self.text(1, at));
        self.call(SYMLINKAT, &[target, CWD, at])
    }

    /// Renames the folder `/a` to `/a2` and puts a link to the outside in its place.
    fn swap(&mut self) {
        assert_eq!(self.rename("/a", "/a2"), 0);
        let outside = self.outside();
        assert_eq!(self.link(outside, "/a"), 0);
    }

    fn read(&mut self, fd: i64) -> Vec<u8> {
        let to = self.text(2, "");
        let count = self.call(READ, &[fd as u64, to, 100]);
        let mut bytes = vec![0; count.max(0) as usize];
        self.core.memory.read(to, &mut bytes).unwrap();
        bytes
    }

    /// Tries every call that takes a name, from the folder `folder`. None may find what is outside.
    fn try_all(&mut self, folder: u64) {
        let before = state(&self.outside());
        for name in ["secret", "link", "inner"] {
            let at = self.text(0, name);
            let (other, buffer) = (self.text(1, "other"), self.text(2, ""));
            for flags in [0, 2, 0o1002, O_DIRECTORY, 0o1000_0000] {
                assert_eq!(self.call(OPENAT, &[folder, at, flags, 0]), ENOENT, "open {name}");
            }
            for (number, arguments) in [
                (NEWFSTATAT, vec![folder, at, buffer, 0]),
                (NEWFSTATAT, vec![folder, at, buffer, 0x100]),
                (STATX, vec![folder, at, 0, 0x7ff, buffer]),
                (FACCESSAT, vec![folder, at, 4]),
                (READLINKAT, vec![folder, at, buffer, 100]),
                (UNLINKAT, vec![folder, at, 0]),
                (UNLINKAT, vec![folder, at, 0x200]),
                (RENAMEAT2, vec![folder, at, folder, other, 0]),
                (LINKAT, vec![folder, at, folder, other, 0]),
                (FCHMODAT, vec![folder, at, 0o777]),
                (FCHOWNAT, vec![folder, at, 0, 0, 0]),
                (UTIMENSAT, vec![folder, at, 0, 0]),
            ] {
                assert_eq!(self.call(number, &arguments), ENOENT, "call {number} on {name}");
            }
            if folder == CWD {
                assert_eq!(self.call(TRUNCATE, &[at, 0]), ENOENT);
                assert_eq!(self.call(CHDIR, &[at]), ENOENT);
                assert_eq!(self.call(STATFS, &[at, buffer]), ENOENT);
            }
        }
        let made = self.open(folder, "made", O_CREAT_WRITE);
        assert!(made >= 0, "{made}");
        let folder_made = self.text(0, "folder-made");
        assert_eq!(self.call(MKDIRAT, &[folder, folder_made, 0o755]), 0);
        let link_made = self.text(1, "link-made");
        assert_eq!(self.call(SYMLINKAT, &[folder_made, folder, link_made]), 0);
        assert_eq!(state(&self.outside()), before, "the program changed what is outside");
    }
}

/// Describes names, sizes, modes, links and times of everything in a folder.
fn state(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let (mode, links, size) = (metadata.mode(), metadata.nlink(), metadata.size());
        all.push(format!("{path:?} {mode:o} {links} {size} {} {}", metadata.mtime(), metadata.mtime_nsec()));
        if metadata.is_dir() {
            all.extend(state(&path));
        }
    }
    all.sort();
    all
}

#[test]
fn a_folder_is_the_same_after_a_link_took_its_name() {
    let mut guest = Guest::beside("escape-folder");
    let folder = guest.open(CWD, "/a/etc", O_DIRECTORY);
    assert!(folder >= 0);
    guest.swap();
    guest.try_all(folder as u64);
    assert!(guest.root().join("a2/etc/made").exists());
    assert!(guest.root().join("a2/etc/folder-made").exists());

    // fstat and getdents64 also see the old folder.
    let to = guest.text(2, "");
    assert_eq!(guest.call(FSTAT, &[folder as u64, to]), 0);
    let inode = u64::from_le_bytes(guest.core.memory.peek(to + 8).unwrap());
    assert_eq!(inode, fs::metadata(guest.root().join("a2/etc")).unwrap().ino());
    let len = guest.call(GETDENTS64, &[folder as u64, to, 1000]);
    let mut listed = vec![0; len as usize];
    guest.core.memory.read(to, &mut listed).unwrap();
    let listed = String::from_utf8_lossy(&listed);
    assert!(listed.contains("made") && !listed.contains("secret"), "{listed}");

    // So does the folder above, and changes by descriptor reach the old folder.
    assert_eq!(guest.open(folder as u64, "../../secret", 0), ENOENT);
    assert!(guest.open(folder as u64, "../up", O_CREAT_WRITE) >= 0);
    assert!(guest.root().join("a2/up").exists());
    let before = state(&guest.outside());
    assert_eq!(guest.call(FCHMOD, &[folder as u64, 0o700]), 0);
    assert_eq!(guest.call(UTIMENSAT, &[folder as u64, 0, 0, 0]), 0);
    assert_eq!(fs::metadata(guest.root().join("a2/etc")).unwrap().mode() & 0o777, 0o700);
    assert_eq!(state(&guest.outside()), before);
}

#[test]
fn the_working_folder_is_the_same_after_a_link_took_its_name() {
    let mut guest = Guest::beside("escape-cwd");
    let folder = guest.text(0, "/a/etc");
    assert_eq!(guest.call(CHDIR, &[folder]), 0);
    guest.swap();
    guest.try_all(CWD);
    assert!(guest.root().join("a2/etc/made").exists());

    // The same by fchdir.
    let mut guest = Guest::beside("escape-fchdir");
    let folder = guest.open(CWD, "/a/etc", O_DIRECTORY);
    guest.swap();
    assert_eq!(guest.call(FCHDIR, &[folder as u64]), 0);
    guest.try_all(CWD);
}

#[test]
fn a_folder_that_was_removed_has_nothing() {
    let mut guest = Guest::beside("escape-removed");
    let folder = guest.open(CWD, "/a/etc", O_DIRECTORY);
    let name = guest.text(0, "/a/etc");
    assert_eq!(guest.call(UNLINKAT, &[CWD, name, 0x200]), 0);
    let outside = guest.outside().join("etc");
    assert_eq!(guest.link(outside, "/a/etc"), 0);
    for flags in [0, O_CREAT_WRITE] {
        assert_eq!(guest.open(folder as u64, "secret", flags), ENOENT);
    }
    assert_eq!(guest.open(folder as u64, "new", O_CREAT_WRITE), ENOENT);
}

#[test]
fn links_of_all_kinds_stay_inside() {
    let mut guest = Guest::beside("escape-links");
    let outside = guest.outside().join("etc");
    let up = format!("{}outside/etc", "../".repeat(40));
    let before = state(&guest.outside());
    for (number, target) in [
        outside,
        up.into(),
        "/proc/self/root/etc".into(),
        "/proc/self/cwd/../outside/etc".into(),
        "/proc/1/root".into(),
        "/dev/fd/../../../outside/etc".into(),
    ]
    .into_iter()
    .enumerate()
    {
        let link = format!("/link{number}");
        assert_eq!(guest.link(&target, &link), 0);
        for path in [format!("{link}/secret"), format!("{link}/../etc/secret"), format!("{link}/new")] {
            for flags in [0, 2] {
                assert_eq!(guest.open(CWD, &path, flags), ENOENT, "{path} by {target:?}");
            }
            let made = guest.open(CWD, &path, O_CREAT_WRITE);
            assert!(made == ENOENT || made == EROFS, "{path} by {target:?}: {made}");
        }
    }
    // A link to a descriptor is that descriptor, whatever the host has under its number.
    assert_eq!(guest.link("/proc/self/fd/77", "/number"), 0);
    assert_eq!(guest.open(CWD, "/number", 0), -9);
    assert_eq!(state(&guest.outside()), before);
}

#[test]
fn the_program_is_found_again_by_its_folder() {
    let scratch = Scratch::new("escape-exe");
    fs::create_dir_all(scratch.path().join("root/bin")).unwrap();
    fs::create_dir_all(scratch.path().join("outside")).unwrap();
    fs::write(scratch.path().join("outside/program"), "secret").unwrap();
    fs::write(scratch.path().join("root/bin/program"), elf_file()).unwrap();
    let options = Options { root: Some(scratch.path().join("root")), writable: true, ..Options::default() };
    let (core, linux) = Linux::load(&scratch.path().join("root/bin/program"), options).unwrap();
    let outside = scratch.path().join("outside");
    let mut guest = Guest { scratch, core, linux };
    assert_eq!(guest.rename("/bin", "/old"), 0);
    assert_eq!(guest.link(&outside, "/bin"), 0);
    let fd = guest.open(CWD, "/proc/self/exe", 0);
    assert!(fd >= 0);
    assert_eq!(guest.read(fd)[..4], *b"\x7fELF");
    // Files that were mapped and are gone are not searched by name.
    assert!(guest.linux.mapped().iter().all(|mapped| !mapped.path.starts_with(guest.root().join("bin"))));
}

/// A thread of the host alternates a folder and a link to the outside where the program looks.
#[test]
fn nothing_outside_is_found_while_the_host_swaps_names() {
    let mut guest = Guest::beside("escape-race");
    let (root, outside) = (guest.root(), guest.outside());
    fs::write(root.join("a/etc/secret"), "inside").unwrap();
    symlink(&outside, root.join("link")).unwrap();
    let before = state(&outside);
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let mut swaps = 0;
            while !stop.load(Ordering::Relaxed) {
                fs::rename(root.join("a"), root.join("away")).unwrap();
                fs::rename(root.join("link"), root.join("a")).unwrap();
                fs::rename(root.join("a"), root.join("link")).unwrap();
                fs::rename(root.join("away"), root.join("a")).unwrap();
                swaps += 1;
            }
            swaps
        }
    });
    let mut opened = 0;
    for round in 0..20_000_u32 {
        let fd = guest.open(CWD, "/a/etc/secret", 0);
        if fd >= 0 {
            opened += 1;
            assert_eq!(guest.read(fd), b"inside", "round {round}");
            assert_eq!(guest.call(CLOSE, &[fd as u64]), 0);
        }
        let made = guest.open(CWD, "/a/etc/made", O_CREAT_WRITE);
        if made >= 0 {
            assert_eq!(guest.call(CLOSE, &[made as u64]), 0);
            let name = guest.text(0, "/a/etc/made");
            let _ = guest.call(FCHMODAT, &[CWD, name, 0o600]);
            let _ = guest.call(UTIMENSAT, &[CWD, name, 0, 0]);
            let _ = guest.call(TRUNCATE, &[name, 10]);
            let _ = guest.call(UNLINKAT, &[CWD, name, 0]);
        }
    }
    stop.store(true, Ordering::Relaxed);
    let swaps = swapper.join().unwrap();
    assert!(opened > 0 && swaps > 100, "{opened} opened, {swaps} swaps");
    assert_eq!(state(&outside), before, "the program changed what is outside");
}

/// Files that Linux provides are not the host's and cannot be replaced.
#[test]
fn folders_that_linux_makes_cannot_be_replaced() {
    let mut guest = Guest::beside("escape-made");
    let before = state(&guest.root());
    for name in ["/dev", "/proc", "/sys", "/proc/self"] {
        assert!(guest.open(CWD, name, O_CREAT_WRITE) < 0, "open {name}");
        let (at, from) = (guest.text(0, name), guest.text(1, "/a"));
        assert!(guest.call(MKDIRAT, &[CWD, at, 0o755]) < 0, "mkdir {name}");
        assert!(guest.call(SYMLINKAT, &[from, CWD, at]) < 0, "symlink {name}");
        assert!(guest.call(RENAMEAT2, &[CWD, from, CWD, at, 0]) < 0, "rename to {name}");
        assert!(guest.call(LINKAT, &[CWD, from, CWD, at, 0]) < 0, "link to {name}");
    }
    assert_eq!(state(&guest.root()), before);
}

/// Each folder on the way to a descriptor is kept once, and paths do not grow without bound.
#[test]
fn folders_within_folders_take_little_memory() {
    const ENAMETOOLONG: i64 = -36;
    let mut guest = Guest::beside("escape-deep");
    let name = "d".repeat(255);
    let mut depth = 0;
    let result = loop {
        let at = guest.text(0, &name);
        assert_eq!(guest.call(MKDIRAT, &[CWD, at, 0o755]), 0);
        match guest.call(CHDIR, &[at]) {
            0 => depth += 1,
            error => break error,
        }
    };
    assert_eq!(result, ENAMETOOLONG);
    assert!((10..20).contains(&depth), "{depth}");
}

/// Tests a file offset near the maximum, and more bytes than one call moves.
#[test]
fn extreme_lengths_and_offsets() {
    let mut guest = Guest::beside("escape-lengths");
    let (null, zero) = (guest.open(CWD, "/dev/null", 2) as u64, guest.open(CWD, "/dev/zero", 0) as u64);
    let offset = guest.text(0, "");
    guest.core.memory.write(offset, &(-2_i64).to_le_bytes()).unwrap();
    assert_eq!(guest.call(SENDFILE, &[null, zero, offset, 10]), 10);
    // 1,024 times 2 GiB to nowhere: Linux moves 0x7ffff000 bytes.
    let vectors = guest.call(MMAP, &[0, 1 << 31, 3, 0x22, u64::MAX, 0]) as u64;
    assert!((vectors as i64) > 0);
    for index in 0..1024 {
        let vector = [vectors.to_le_bytes(), (1_u64 << 31).to_le_bytes()].concat();
        guest.core.memory.write(vectors + index * 16, &vector).unwrap();
    }
    assert_eq!(guest.call(WRITEV, &[null, vectors, 1024]), 0x7fff_f000);
}
