//! Pipes, devices and folders where a file is expected: nothing waits, nothing is read until memory ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::run::{Ran, copy_folder, ends_soon, replace, root, text, words};
use tracewright_testkit::Scratch;

/// A pipe that nobody writes to, a device that never ends, a folder.
fn odd_files(folder: &Scratch) -> [PathBuf; 3] {
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    [fifo, "/dev/zero".into(), folder.path().to_owned()]
}

/// Runs a line of arguments, in which `{}` is a file, with 4 GiB of memory.
fn run(line: &str, file: &Path) -> Ran {
    let line = line.replace("{}", text(file));
    let mut command = Command::new("prlimit");
    command.args(["--as=4294967296", env!("CARGO_BIN_EXE_tracewright")]).args(words(&line));
    command.current_dir(root()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    ends_soon(&mut child, &line);
    Ran::new(line, child.wait_with_output().unwrap())
}

#[test]
fn options_and_programs() {
    let folder = Scratch::new("inputs");
    let new = folder.path().join("new");
    let lines = [
        "record {}",
        "record --machine bare {}",
        "record --machine linux {}",
        "record --qemu {}",
        "record --timing {} programs/bin/args.elf",
        "record --protocol etrace -o NEW --when-events {} --when x programs/bin/args.elf",
        "decode samples/hello --image {}",
        "info samples/hello --image {}",
        "profile samples/hello --image {}@0x1000",
        "decode samples/etrace/trace.bin --source etrace,params={}",
        "profile {}",
        "coverage {}",
        "annotate {} main",
        "diff {} {}",
        "merge {} -o NEW",
        "timeline {} -o NEW",
        "info {}",
        "stats {}",
        "encode {} -o NEW",
    ];
    for file in &odd_files(&folder) {
        for line in lines {
            let line = line.replace("NEW", new.to_str().unwrap());
            let ran = run(&line, file).ends_within(1..=2);
            assert!(!ran.err.is_empty(), "{line} with {}", file.display());
            let _ = fs::remove_dir_all(&new);
        }
    }
}

#[test]
fn files_that_captures_name() {
    let folder = Scratch::new("inputs");
    for (number, file) in odd_files(&folder).iter().enumerate() {
        let threads = folder.path().join(format!("threads{number}"));
        copy_folder(root().join("samples/threads"), &threads);
        replace(threads.join("mappings.toml"), "hello.elf", text(file));
        for line in ["info {}", "decode {}", "profile {}", "coverage {}"] {
            run(line, &threads).ends_within(0..=1).says("not a plain file");
        }
        // All the files that describe it, and those with trace and memory.
        let names =
            ["mappings.toml", "snapshot.ini", "device_0.ini", "trace.ini", "buffer_0.bin", "memory_0.bin"];
        for name in names {
            let kept = fs::read(threads.join(name)).unwrap();
            fs::remove_file(threads.join(name)).unwrap();
            std::os::unix::fs::symlink(file, threads.join(name)).unwrap();
            run("decode {}", &threads).ends_within(0..=2).says("not a plain file");
            fs::remove_file(threads.join(name)).unwrap();
            fs::write(threads.join(name), kept).unwrap();
        }
    }
}

/// The dynamic linker that a program asks for.
#[test]
fn a_dynamic_linker_that_is_no_file() {
    let folder = Scratch::new("inputs");
    let programs = root().join("programs/bin");
    let elf = fs::read(programs.join("args.elf")).unwrap();
    let (root, _) = (folder.path().join("root"), odd_files(&folder));
    fs::create_dir(&root).unwrap();
    for name in ["/fifo", "/folder"] {
        // A further program header behind the file, where the others are copied to.
        let mut file = elf.clone();
        let count = u16::from_le_bytes([elf[0x38], elf[0x39]]);
        let headers = u64::from_le_bytes(elf[0x20..0x28].try_into().unwrap()) as usize;
        let at = file.len();
        let mut interpreter = vec![3_u8, 0, 0, 0, 4, 0, 0, 0];
        let text = (at + 56 * (usize::from(count) + 1)) as u64;
        let len = name.len() as u64 + 1;
        [text, 0, 0, len, len, 1].iter().for_each(|number| interpreter.extend(number.to_le_bytes()));
        file.extend(&interpreter);
        file.extend(&elf[headers..][..56 * usize::from(count)]);
        file.extend(name.bytes().chain([0]));
        file[0x20..0x28].copy_from_slice(&(at as u64).to_le_bytes());
        file[0x38..0x3a].copy_from_slice(&(count + 1).to_le_bytes());
        fs::write(root.join("program"), file).unwrap();
        let _ = fs::create_dir(root.join("folder"));
        if name == "/fifo" {
            assert!(Command::new("mkfifo").arg(root.join("fifo")).status().unwrap().success());
        }
        run("record --root {} /program", &root).ends(2).says("not a plain file");
    }
}
