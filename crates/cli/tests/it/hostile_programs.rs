//! Programs and logs that mean harm: nothing outside of what they may use is touched, nothing hangs, and what was recorded is
//! kept.

use std::fs;
use std::path::Path;
use std::process::Command;

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_hart::HartSink;
use tracewright_hart::log::own::Writer;
use tracewright_isa::riscv::Xlen;
use tracewright_testkit::{Scratch, captures_for, skip};

use crate::elf;
use crate::run::{stderr, stdout, tracewright};

/// Opens a folder and makes it the working folder, puts a link to `argv[1]` where it was, and tries to reach what is there.
/// The status says what it reached.
const ESCAPE: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct stat status;
    int reached = 0;
    mkdir("/a", 0755);
    mkdir("/a/etc", 0755);
    int folder = open("/a/etc", O_RDONLY | O_DIRECTORY);
    if (folder < 0 || chdir("/a/etc") || rename("/a", "/a2") || symlink(argv[1], "/a")) return 100;
    if (openat(folder, "secret", O_RDONLY) >= 0) reached |= 1;
    if (open("secret", O_RDWR) >= 0) reached |= 2;
    if (stat("secret", &status) == 0) reached |= 4;
    if (open("/a/etc/secret", O_RDONLY) >= 0) reached |= 8;
    if (unlinkat(folder, "secret", 0) == 0) reached |= 16;
    if (openat(folder, "made", O_CREAT | O_WRONLY, 0644) < 0) return 101;
    if (mkdir("folder", 0755)) return 102;
    return reached;
}
"#;

#[test]
fn a_program_does_not_leave_its_root() {
    let folder = Scratch::new("hostile-programs");
    let source = folder.write("escape.c", ESCAPE.as_bytes());
    let scratch = source.parent().unwrap();
    let (root, outside) = (scratch.join("root"), scratch.join("outside"));
    fs::create_dir_all(&root).unwrap();
    fs::create_dir_all(outside.join("etc")).unwrap();
    fs::write(outside.join("etc/secret"), "secret").unwrap();
    let program = root.join("escape");
    let compiled =
        Command::new("riscv64-linux-gnu-gcc").arg("-static").arg(&source).arg("-o").arg(&program).status();
    if !compiled.is_ok_and(|status| status.success()) {
        return skip("a_program_does_not_leave_its_root", "no riscv64-linux-gnu-gcc");
    }
    let (root_name, outside_name) = (root.to_str().unwrap(), outside.to_str().unwrap());
    let output =
        tracewright(&["record", "-q", "--root", root_name, "--writable", "/escape", "--", outside_name]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let names = |path: &Path| fs::read_dir(path).unwrap().count();
    assert_eq!((names(&outside), names(&outside.join("etc"))), (1, 1));
    assert!(root.join("a2/etc/made").exists() && root.join("a2/etc/folder").exists());
}

/// The program could rename the folder of the recording, and put a link in its place.
#[test]
fn nothing_is_recorded_where_the_program_may_change_it() {
    let folder = Scratch::new("hostile-programs");
    let root = &folder.path().join("root");
    fs::create_dir(root).unwrap();
    fs::copy("../../programs/bin/args.elf", root.join("args")).unwrap();
    std::os::unix::fs::symlink(root, root.with_file_name("link")).unwrap();
    let (root_name, link) = (root.to_str().unwrap(), root.with_file_name("link"));
    for output in [root.join("out"), root.join("new/out"), link.join("out"), root.join("../root/out")] {
        for option in ["-o", "--log", "--listing", "--summary"] {
            let how =
                ["record", "--root", root_name, "--writable", option, output.to_str().unwrap(), "/args"];
            let output = tracewright(&how);
            assert_eq!(output.status.code(), Some(2), "{how:?}");
            assert!(stderr(&output).contains("is in --root"), "{}", stderr(&output));
        }
    }
    assert_eq!(fs::read_dir(root).unwrap().count(), 1);
}

/// A mapped file that is no program is not read.
#[test]
fn a_huge_file_that_is_mapped() {
    const MAP: &str = r#"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    int file = open("/huge", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 1ll << 40)) return 1;
    return mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED;
}
"#;
    let folder = Scratch::new("hostile-programs");
    let source = folder.write("map.c", MAP.as_bytes());
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    let compiled = Command::new("riscv64-linux-gnu-gcc")
        .arg("-static")
        .arg(&source)
        .arg("-o")
        .arg(root.join("map"))
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        return skip("a_huge_file_that_is_mapped", "no riscv64-linux-gnu-gcc");
    }
    let output = tracewright(&["record", "-q", "--root", root.to_str().unwrap(), "--writable", "/map"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// A recording that does not begin leaves an earlier one as it is.
#[test]
fn an_earlier_recording_is_kept_until_the_next_begins() {
    let folder = Scratch::new("hostile-programs");
    let out = folder.path().join("out");
    let (out_name, log) = (out.to_str().unwrap(), out.join("run.log"));
    assert_eq!(
        tracewright(&["record", "-q", "-o", out_name, "programs/bin/args.elf"]).status.code(),
        Some(0)
    );
    let recorded = fs::read(&log).unwrap();
    for (more, status) in [
        (&["not-there.elf"][..], 2),
        (&["--from", log.to_str().unwrap()], 2),
        (&["--timing", "print"], 0),
        (&["--timing", "no-such-model", "programs/bin/args.elf"], 2),
    ] {
        let output = tracewright(&[&["record", "-o", out_name], more].concat());
        assert_eq!(output.status.code(), Some(status), "{more:?}: {}", stderr(&output));
        assert_eq!(fs::read(&log).unwrap(), recorded, "{more:?}");
        assert!(out.join("summary.json").is_file(), "{more:?}");
    }
}

/// Who reads the listing may go: what else is written is whole.
#[test]
fn a_closed_listing_does_not_cut_a_capture() {
    let folder = Scratch::new("hostile-programs");
    // lui t0, 0x200; again: addi t0, t0, -1; bnez t0, again; li a7, 93; li a0, 0; ecall
    let words = [0x0020_02b7_u32, 0xfff2_8293, 0xfe02_9ee3, 0x05d0_0893, 0x513, 0x73];
    let program = folder.write("loop", &elf::elf(false, 0x10000, &words.map(u32::to_le_bytes).concat()));
    let (cut, whole) = (folder.path().join("cut"), folder.path().join("whole"));
    let how = |out: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
        command.args(["record", "-q", "--protocol", "etrace", "-o"]).args([out, &program]);
        command
    };
    let mut child = how(&cut).args(["--listing", "-"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(how(&whole).status().unwrap().success());
    assert_eq!(fs::read(cut.join("trace.bin")).unwrap(), fs::read(whole.join("trace.bin")).unwrap());
}

/// A link in the root leads where it leads for the program, not where it leads on the host.
#[test]
fn the_program_is_looked_for_inside_the_root() {
    let folder = Scratch::new("hostile-programs");
    let outside = folder.write("outside", &fs::read("../../programs/bin/args.elf").unwrap());
    let root = outside.with_file_name("root");
    fs::create_dir_all(&root).unwrap();
    std::os::unix::fs::symlink(&outside, root.join("program")).unwrap();
    let output = tracewright(&["record", "--root", root.to_str().unwrap(), "/program"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("No such file"), "{}", stderr(&output));
}

/// A program that goes to the last address: the capture is there, and can be read.
#[test]
fn what_was_recorded_is_kept() {
    let folder = Scratch::new("hostile-programs");
    // nop; li t0, -1; csrw mepc, t0; csrw mtvec, t0; mret
    let words = [0x13_u32, 0xfff0_0293, 0x3412_9073, 0x3052_9073, 0x3020_0073];
    let code = words.map(u32::to_le_bytes).concat();
    for (is_rv32, name) in [(false, "rv64"), (true, "rv32")] {
        let program = folder.write(format!("{name}.elf"), &elf::elf(is_rv32, 0x8000_0000, &code));
        for (index, more) in [&[][..], &["--entry", "ffffffffffffffff"], &["--entry", "fffffffffffffffe"]]
            .into_iter()
            .enumerate()
        {
            let capture = program.with_file_name(format!("{name}-{index}"));
            let (program, capture_name) = (program.to_str().unwrap(), capture.to_str().unwrap());
            let how = ["record", "--protocol", "etrace", "-o", capture_name, "--max-instructions", "1000"];
            let output = tracewright(&[&how[..], more, &[program]].concat());
            assert_eq!(output.status.code(), Some(1), "{name} {more:?}: {}", stderr(&output));
            assert!(capture.join("capture.toml").is_file(), "{name} {more:?}");
            let output = tracewright(&["decode", capture_name]);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{name} {more:?}: {}", stderr(&output));
            if more.is_empty() {
                assert!(stdout(&output).contains("80000000"), "{}", stdout(&output));
            }
        }
    }
}

fn log(folder: &Scratch, name: &str, blocks: &[(u64, u64, u32)]) -> String {
    let mut writer = Writer::<_, false, false>::new(Vec::new(), Xlen::Rv64).unwrap();
    for &(start, len, count) in blocks {
        writer.block(&Block {
            start,
            end: start.wrapping_add(len),
            count,
            isa: Isa::Rv64,
            last_len: 4,
            class: Class::NEXT,
            ended: Ended::Cut,
        });
    }
    folder.write(name, &writer.finish().unwrap()).to_str().unwrap().to_owned()
}

/// Blocks of a log that are longer than any code: neither `encode` nor `record --from` walks through them.
#[test]
fn a_log_with_huge_blocks_is_read_at_once() {
    let folder = Scratch::new("hostile-programs");
    let impossible = log(&folder, "impossible.log", &[(0x1000, 1 << 36, 1)]);
    // As many instructions as fit into so many bytes.
    let most = u32::MAX;
    let possible: Vec<_> = (0..20)
        .map(|i| (i << 40, 2 * u64::from(most), most))
        .chain([(1, 4 * u64::from(most), most)])
        .collect();
    let possible = log(&folder, "possible.log", &possible);
    for (log, says) in [(&impossible, "it tells nonsense"), (&possible, "lacks code that ran")] {
        let capture = format!("{log}-encoded");
        let output = tracewright(&["encode", log, "-o", &capture]);
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        let capture = format!("{log}-recorded");
        let output = tracewright(&["record", "--from", log, "--protocol", "etrace", "-o", &capture]);
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        let output = tracewright(&["record", "--from", log, "--listing", "-"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    }
}

/// A program that no machine has memory for, with and without an operating system.
#[test]
fn a_program_with_huge_segments_takes_what_it_touches() {
    let folder = Scratch::new("hostile-programs");
    // li a7, 93; ecall; j .
    let code = [0x05d0_0893_u32, 0x73, 0x6f].map(u32::to_le_bytes).concat();
    let segments =
        |address: u64| [0, 1].map(|_| elf::Segment { address, bytes: &code, zeros: 0x30_0000_0000 });
    for (name, address, status) in [("linux", 0x1_0000, 0), ("bare", 0x8000_0000, 1)] {
        let program = folder.write(name, &elf::elf_of(false, address, &segments(address)));
        let program = program.to_str().unwrap();
        let limits = ["--memory", "16", "--max-instructions", "1000"];
        let output = tracewright(&[&["record"], &limits[..], &[program]].concat());
        assert_eq!(output.status.code(), Some(status), "{name}: {}", stderr(&output));
    }
}

/// A log of blocks does not have the instructions; the program does.
#[test]
fn a_listing_of_a_log_has_every_instruction() {
    let folder = Scratch::new("hostile-programs");
    let [log, ran, listed] = ["log", "ran", "listed"].map(|name| {
        let path = folder.write(name, b"");
        path.to_str().unwrap().to_owned()
    });
    let program = "programs/bin/args.elf";
    let output = tracewright(&["record", "-q", "--log", &log, "--listing", &ran, program]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = tracewright(&["record", "-q", "--from", &log, "--listing", &listed, program]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let [ran, listed] = [ran, listed].map(|path| fs::read_to_string(path).unwrap());
    assert!(ran.lines().count() > 1000);
    assert_eq!(ran.lines().count(), listed.lines().count());
    // A run tells the accesses to memory, too.
    let differs = ran.lines().zip(listed.lines()).find(|(ran, listed)| !ran.starts_with(listed));
    assert_eq!(differs, None);

    // Without the program, what is missing is said.
    let listed = tracewright(&["record", "-q", "--from", &log, "--listing", "-"]);
    assert_eq!(listed.status.code(), Some(1));
    assert!(stderr(&listed).contains("the listing lacks"), "{}", stderr(&listed));
    assert!(stdout(&listed).contains("is not known"), "{}", stdout(&listed));
}

/// The proxy kernel asks the host for the program that it runs.
#[test]
fn host_files_are_read_where_that_is_allowed() {
    let Some(captures) = captures_for("host_files_are_read_where_that_is_allowed", "") else { return };
    let programs = captures.join("riscv/elf").canonicalize().unwrap();
    let (kernel, programs) = (programs.join("pk.riscv"), programs.to_str().unwrap());
    let kernel = kernel.to_str().unwrap();
    let whole = format!("{programs}/hello_world.pk");
    for (folder, program, says) in [
        (Some(programs), "hello_world.pk", Some("Hello world!")),
        (Some(programs), &whole, Some("Hello world!")),
        (Some("."), &whole, None),
        (None, &whole, None),
    ] {
        let allowed = folder.map_or(Vec::new(), |folder| vec!["--host-files", folder]);
        let output = tracewright(&[&["record"], &allowed[..], &[kernel, "--", program]].concat());
        assert_eq!(
            stdout(&output).contains("Hello world!"),
            says.is_some(),
            "{folder:?}: {}",
            stderr(&output)
        );
        let told = stderr(&output).matches("--host-files FOLDER").count();
        assert_eq!(told, usize::from(folder.is_none()), "{}", stderr(&output));
    }
}
