//! Our own programs, compiled by GCC with glibc: they do the same here and under QEMU.
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::Output;
use tracewright_hart::linux::{Linux, Mount, Options, Streams};
use tracewright_hart::{Hart, Stop};
use tracewright_testkit::{has_programs, skip};

const SYSROOT: &str = "/usr/riscv64-linux-gnu";
/// More instructions than any of the programs takes.
const LIMIT: u64 = 2_000_000_000;
const INPUT: &[u8] = b"first line\nsecond line\n";

/// Way of linking a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Static,
    StaticPie,
    Dynamic,
}

/// Outcome of a run.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    output: String,
    error: String,
    status: i32,
}

/// What compiles a program of `tests/c`; `None` if it is not there.
fn compiler(source: &str) -> Option<&'static str> {
    let compiler = if source.ends_with(".cc") { "riscv64-linux-gnu-g++" } else { "riscv64-linux-gnu-gcc" };
    has_programs(source, &[compiler]).then_some(compiler)
}

/// Compiles a program of `tests/c`. Returns `None` if that is impossible here.
fn compile(source: &str, link: Link) -> Option<PathBuf> {
    let compiler = compiler(source)?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linux");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join(format!("{source}-{link:?}"));
    let flags = match link {
        Link::Static => ["-static", "-no-pie"],
        Link::StaticPie => ["-static-pie", "-fPIE"],
        Link::Dynamic => ["-pie", "-fPIE"],
    };
    // First under a unique name, since tests run in parallel.
    let new = program.with_extension(format!("{:?}", std::thread::current().id()).replace(['(', ')'], ""));
    let (name, source) = (source, Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source));
    let done = Command::new(compiler)
        .args(["-O2", "-w", "-o"])
        .arg(&new)
        .arg(&source)
        .args(flags)
        .arg("-lm")
        .output();
    let error = String::from_utf8_lossy(&done.unwrap().stderr).into_owned();
    // GCC may lack C libraries, or the needed part of one.
    if error.contains("cannot find") || error.contains("No such file") {
        skip(&format!("{name}, {link:?}"), "the compiler has no library for that");
        return None;
    }
    assert_eq!(error, "");
    fs::rename(&new, &program).unwrap();
    Some(program)
}

/// Makes an empty folder.
fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

fn options(program: &Path, arguments: &[&str], folder: &Path, link: Link) -> Options {
    let mut all = vec![program.as_os_str().to_owned()];
    all.extend(arguments.iter().map(OsString::from));
    Options {
        arguments: all,
        environment: vec!["TESTED=yes".into()],
        root: (link == Link::Dynamic).then(|| SYSROOT.into()),
        mounts: vec![Mount { at: folder.to_path_buf(), host: folder.to_path_buf(), writable: true }],
        folder: Some(folder.to_path_buf()),
        ..Options::default()
    }
}

fn run(program: &Path, mut options: Options) -> (Stop, Vec<String>, String, String) {
    let text = |output: &Output| String::from_utf8_lossy(&output.bytes()).into_owned();
    let (output, error) = (Output::default(), Output::default());
    options.streams = Streams {
        input: Box::new(INPUT),
        output: Box::new(output.clone()),
        error: Box::new(error.clone()),
        ..Streams::none()
    };
    let (core, linux) = Linux::load(program, options).unwrap_or_else(|error| panic!("{error}"));
    let mut hart = Hart::new(core, linux);
    let stop = hart.run(LIMIT, &mut ());
    (stop, hart.machine.warnings().to_vec(), text(&output), text(&error))
}

fn qemu(program: &Path, arguments: &[&str], folder: &Path) -> Outcome {
    let mut child = Command::new("qemu-riscv64")
        .args(["-L", SYSROOT])
        .arg(program)
        .args(arguments)
        .env_clear()
        .env("TESTED", "yes")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read closes its input.
    let _ = child.stdin.take().unwrap().write_all(INPUT);
    let out = child.wait_with_output().unwrap();
    let status = out.status.code().unwrap_or_else(|| 128 + out.status.signal().unwrap_or(0));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Outcome { output: text(&out.stdout), error: text(&out.stderr), status }
}

/// Runs a program here and under QEMU, and compares.
fn compare(source: &str, arguments: &[&str], links: &[Link]) {
    if !has_programs(source, &["qemu-riscv64"]) || compiler(source).is_none() {
        return;
    }
    for &link in links {
        let Some(program) = compile(source, link) else { continue };
        let name = format!("{source}-{link:?}-{}", arguments.join("-"));
        let folder = fresh(&name);
        let theirs = qemu(&program, arguments, &folder);
        // The same folder, since programs print its name.
        let folder = fresh(&name);
        let (stop, warnings, output, error) = run(&program, options(&program, arguments, &folder, link));
        let Stop::Exit { status } = stop else { panic!("{name}: {stop:?}\n{output}{error}") };
        let ours = Outcome { output, error, status };
        assert_eq!(ours.output, theirs.output, "{name}");
        // QEMU itself reports signals there.
        if theirs.status < 128 {
            assert_eq!(ours.error, theirs.error, "{name}");
            assert_eq!(warnings, [""; 0], "{name}");
        }
        assert_eq!(ours.status, theirs.status, "{name}");
    }
}

const ALL: &[Link] = &[Link::Static, Link::StaticPie, Link::Dynamic];

#[test]
fn text() {
    compare("text.c", &[], ALL);
}

#[test]
fn files() {
    compare("files.c", &[], &[Link::Static, Link::Dynamic]);
}

#[test]
fn memory() {
    compare("memory.c", &[], ALL);
}

#[test]
fn signals() {
    compare("signals.c", &[], ALL);
    compare("signals.c", &["abort"], &[Link::Static]);
    compare("signals.c", &["term"], &[Link::Dynamic]);
}

#[test]
fn system() {
    compare("system.c", &["one", "two words", ""], ALL);
}

#[test]
fn threads() {
    compare("threads.c", &[], ALL);
}

#[test]
fn exceptions() {
    compare("exceptions.cc", &[], ALL);
}

/// There is no C library for RV32, and not always a QEMU: the expected output is known.
#[test]
fn rv32() {
    let Some(compiler) = compiler("rv32.c") else { return };
    let folder = fresh("rv32");
    let program = folder.join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/rv32.c");
    let flags =
        ["-march=rv32gc", "-mabi=ilp32d", "-nostdlib", "-static", "-ffreestanding", "-O1", "-w", "-o"];
    assert!(Command::new(compiler).args(flags).arg(&program).arg(source).status().unwrap().success());
    let known = "arguments 3\none\ntwo\nbrk 2000\nmmap 0\nmunmap 0\nopen 0\nwritev 9\nllseek 0\nplace 5\nread 4\ntext\n\
                 pread 4\nsome\ntruncate 0\nmap of file 0\nstatx 0\nsize 1388\ntime 0\nnanoseconds 1\n\
                 missing fffffffe\nbad fffffff2\nfloat 3e8\n";
    let (stop, warnings, output, _) =
        run(&program, options(&program, &["one", "two"], &folder, Link::Static));
    assert_eq!((stop, output.as_str()), (Stop::Exit { status: 65 }, known));
    assert_eq!(warnings, [""; 0]);
    if Command::new("qemu-riscv32").arg("--version").output().is_ok() {
        fs::remove_file(folder.join("file")).unwrap();
        let theirs =
            Command::new("qemu-riscv32").arg(&program).args(["one", "two"]).current_dir(&folder).output();
        assert_eq!(String::from_utf8_lossy(&theirs.unwrap().stdout), known);
    }
}

#[test]
fn faults_say_what_and_where() {
    let Some(program) = compile("fault.c", Link::Static) else { return };
    let folder = fresh("faults");
    let fault = |which| run(&program, options(&program, &[which], &folder, Link::Static));
    let cases = [
        ("load", "load from 0x18 at pc 0x", "where there is no memory"),
        ("store", "store to 0x", "where that is not allowed"),
        ("jump", "jump to 0x40, where there is no memory", ""),
        ("illegal", "illegal instruction 0xffffffff at pc 0x", ""),
        ("csr", "illegal instruction 0x30002573 at pc 0x", ""),
        ("breakpoint", "breakpoint (ebreak) at pc 0x", ""),
        ("stack", "store to 0x", "where there is no memory"),
    ];
    for (which, start, end) in cases {
        let (stop, ..) = fault(which);
        let Stop::Fault(text) = stop else { panic!("{which}: {stop:?}") };
        assert!(text.starts_with(start) && text.ends_with(end), "{which}: {text}");
    }
    let (stop, warnings, ..) = fault("call");
    assert_eq!(stop, Stop::Exit { status: 0 });
    assert_eq!(warnings, ["system call 425 (io_uring_setup) is not there: the program got ENOSYS"]);
}

#[test]
fn each_run_is_the_same() {
    let Some(program) = compile("system.c", Link::Static) else { return };
    let once = || {
        let options = options(&program, &[], &fresh("same"), Link::Static);
        let (core, linux) = Linux::load(&program, options).unwrap();
        let mut hart = Hart::new(core, linux);
        assert!(matches!(hart.run(LIMIT, &mut ()), Stop::Exit { .. }));
        (hart.core.instret, hart.core.x)
    };
    assert_eq!(once(), once());
}
