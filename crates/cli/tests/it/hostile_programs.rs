//! Programs and logs that mean harm: nothing outside of what they may use is touched, nothing hangs, and what was recorded is
//! kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_hart::HartSink;
use tracewright_hart::log::own::Writer;
use tracewright_isa::riscv::Xlen;
use tracewright_testkit::{Scratch, captures_for};

use crate::elf;
use crate::run::{ETRACE, command, compiled, root, run, text};

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
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    fs::create_dir_all(&root).unwrap();
    fs::create_dir_all(outside.join("etc")).unwrap();
    fs::write(outside.join("etc/secret"), "secret").unwrap();
    let source = folder.write("escape.c", ESCAPE.as_bytes());
    let Some(program) = compiled("a_program_does_not_leave_its_root", &source, "") else { return };
    fs::rename(program, root.join("escape")).unwrap();
    run!("record -q --root {} --writable /escape -- {}", text(&root), text(&outside)).ends(0);
    let names = |path: &Path| fs::read_dir(path).unwrap().count();
    assert_eq!((names(&outside), names(&outside.join("etc"))), (1, 1));
    assert!(root.join("a2/etc/made").exists() && root.join("a2/etc/folder").exists());
}

/// The program could rename the folder of the recording, and put a link in its place.
#[test]
fn nothing_is_recorded_where_the_program_may_change_it() {
    let folder = Scratch::new("hostile-programs");
    let (root, link) = (folder.join("root"), folder.join("link"));
    fs::create_dir(&root).unwrap();
    fs::copy(args(), format!("{root}/args")).unwrap();
    std::os::unix::fs::symlink(&root, &link).unwrap();
    for output in ["root/out", "root/new/out", "link/out", "root/../root/out"].map(|name| folder.join(name)) {
        for option in ["-o", "--log", "--listing", "--summary-json"] {
            let refused = run!("record --root {root} --writable {option} {output} /args").ends(2);
            refused.says("is in --root");
        }
    }
    assert_eq!(fs::read_dir(root).unwrap().count(), 1);
}

/// A sample program.
fn args() -> PathBuf {
    root().join("programs/bin/args.elf")
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
    let root = folder.join("root");
    fs::create_dir(&root).unwrap();
    let source = folder.write("map.c", MAP.as_bytes());
    let Some(program) = compiled("a_huge_file_that_is_mapped", &source, "") else { return };
    fs::rename(program, format!("{root}/map")).unwrap();
    run!("record -q --root {root} --writable /map").ends(0);
}

/// A recording that does not begin leaves an earlier one as it is.
#[test]
fn an_earlier_recording_is_kept_until_the_next_begins() {
    let folder = Scratch::new("hostile-programs");
    let (out, log) = (folder.join("out"), folder.join("out/trace.bin"));
    run!("record -q -o {out} programs/bin/args.elf").ends(0);
    let recorded = fs::read(&log).unwrap();
    for (more, status) in [
        ("not-there.elf", 2),
        (&format!("--from-log {log}"), 2),
        ("--timing print", 0),
        ("--timing no-such-model programs/bin/args.elf", 2),
    ] {
        run!("record -o {out} {more}").ends(status);
        assert_eq!(fs::read(&log).unwrap(), recorded, "{more}");
    }
}

/// Who reads the listing may go: what else is written is whole.
#[test]
fn a_closed_listing_does_not_cut_a_capture() {
    let folder = Scratch::new("hostile-programs");
    // lui t0, 0x200; again: addi t0, t0, -1; bnez t0, again; li a7, 93; li a0, 0; ecall
    let words = [0x0020_02b7_u32, 0xfff2_8293, 0xfe02_9ee3, 0x05d0_0893, 0x513, 0x73];
    let program = folder.write("loop", &elf::elf(false, 0x10000, &words.map(u32::to_le_bytes).concat()));
    let (cut, whole, program) = (folder.join("cut"), folder.join("whole"), text(&program));
    let mut listing = command(format_args!("{ETRACE} {cut} --listing - {program}"));
    let mut child = listing.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    run!("{ETRACE} {whole} {program}").ends(0);
    let [cut, whole] = [cut, whole].map(|capture| fs::read(format!("{capture}/trace.bin")).unwrap());
    assert_eq!(cut, whole);
}

/// A link in the root leads where it leads for the program, not where it leads on the host.
#[test]
fn the_program_is_looked_for_inside_the_root() {
    let folder = Scratch::new("hostile-programs");
    let outside = folder.write("outside", &fs::read(args()).unwrap());
    let root = outside.with_file_name("root");
    fs::create_dir_all(&root).unwrap();
    std::os::unix::fs::symlink(&outside, root.join("program")).unwrap();
    run!("record --root {} /program", text(&root)).ends(2).says("No such file");
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
        for (index, more) in ["", "--entry ffffffffffffffff", "--entry fffffffffffffffe"].iter().enumerate() {
            let capture = folder.join(&format!("{name}-{index}"));
            run!("{ETRACE} {capture} --max-instructions 1000 {more} {}", text(&program)).ends(1);
            assert!(Path::new(&capture).join("capture.toml").is_file(), "{name} {more}");
            let decoded = run!("decode {capture}").ends_within(0..=1);
            if more.is_empty() {
                decoded.prints("80000000");
            }
        }
    }
}

fn log(folder: &Scratch, name: &str, blocks: &[(u64, u64, u32)]) -> String {
    let mut writer = Writer::<_, false, false>::new(Vec::new(), Xlen::Rv64).unwrap();
    for &(start, len, count) in blocks {
        let (end, isa, ended) = (start.wrapping_add(len), Isa::Rv64, Ended::Cut);
        writer.block(&Block { start, end, count, isa, last_len: 4, class: Class::NEXT, ended });
    }
    text(&folder.write(name, &writer.finish().unwrap())).to_owned()
}

/// Blocks of a log that are longer than any code: neither `encode` nor `record --from-log` walks through them.
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
        run!("encode {log} -o {log}-encoded").says(says);
        run!("record --from-log {log} --protocol etrace -o {log}-recorded").says(says);
        run!("record --from-log {log} --listing -").ends(1);
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
        run!("record --memory 16 --max-instructions 1000 {}", text(&program)).ends(status);
    }
}

/// A log of blocks does not have the instructions; the program does.
#[test]
fn a_listing_of_a_log_has_every_instruction() {
    let folder = Scratch::new("hostile-programs");
    let [log, ran, listed] = ["log", "ran", "listed"].map(|name| folder.join(name));
    run!("record -q --log {log} --listing {ran} programs/bin/args.elf").ends(0);
    let again = run!("record -q --from-log {log} --listing {listed} programs/bin/args.elf").ends(0);
    assert_eq!(again.err, "");
    let [ran, listed] = [ran, listed].map(|path| fs::read_to_string(path).unwrap());
    assert!(ran.lines().count() > 1000);
    assert_eq!(ran.lines().count(), listed.lines().count());
    // A run tells the accesses to memory, too.
    let differs = ran.lines().zip(listed.lines()).find(|(ran, listed)| !ran.starts_with(listed));
    assert_eq!(differs, None);

    // Without the program, what is missing is said.
    let alone = run!("record -q --from-log {log} --listing -").ends(1);
    alone.says("the listing lacks").prints("is not known");
}

/// The proxy kernel asks the host for the program that it runs.
#[test]
fn host_files_are_read_where_that_is_allowed() {
    let Some(programs) = captures_for("host_files_are_read_where_that_is_allowed", "riscv/elf") else {
        return;
    };
    let programs = programs.canonicalize().unwrap();
    let programs = text(&programs);
    let whole = format!("{programs}/hello_world.pk");
    for (folder, program, is_allowed) in [
        (Some(programs), "hello_world.pk", true),
        (Some(programs), &whole, true),
        (Some("."), &whole, false),
        (None, &whole, false),
    ] {
        let allowed = folder.map_or(String::new(), |folder| format!("--host-files {folder}"));
        let ran = run!("record {allowed} {programs}/pk.riscv -- {program}");
        assert_eq!(ran.out.contains("Hello world!"), is_allowed, "{folder:?}: {}", ran.err);
        let told = ran.err.matches("--host-files FOLDER").count();
        assert_eq!(told, usize::from(folder.is_none()), "{}", ran.err);
    }
}
