//! Profiles for compilers and binary optimisers: byte for byte as simpleperf writes them, and as their readers take them. What is
//! compiled is `programs/pays`, for RISC-V and for AArch64; that it runs better afterwards is the proof that it was understood.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{root, text, tracewright};
use tracewright_profile::branch_list::{self, ListedKind};
use tracewright_testkit::perf::{Form, Recording, who};
use tracewright_testkit::{Scratch, captures_for, has_programs};

/// Runs a program that must succeed; what it writes to standard output.
fn ran(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A profile of something of simpleperf's; the status is not looked at, since other programs that ran are not here.
fn simpleperf(folder: &Path, input: &Path, format: &str) -> Vec<u8> {
    let programs = folder.join("simpleperf");
    tracewright(&["profile", text(input), "--symfs", text(&programs), "--format", format]).stdout
}

#[test]
fn autofdo_and_bolt_are_those_of_simpleperf() {
    let Some(folder) = captures_for("autofdo_and_bolt_are_those_of_simpleperf", "perf") else { return };
    for name in ["perf_etm", "perf_with_unformatted_trace"] {
        let input = folder.join(format!("simpleperf/{name}.data"));
        let expected = fs::read(folder.join(format!("oracle/{name}.afdo.txt"))).unwrap();
        assert_eq!(simpleperf(&folder, &input, "autofdo"), expected, "{name}");
        assert_eq!(expected, fs::read(folder.join("simpleperf/perf_inject.data")).unwrap());
    }
    let input = folder.join("simpleperf/perf_etm.data");
    let expected = fs::read(folder.join("oracle/perf_etm.bolt")).unwrap();
    assert_eq!(simpleperf(&folder, &input, "bolt-simpleperf"), expected);
    assert_eq!(expected, fs::read(folder.join("simpleperf/perf_inject_bolt.data")).unwrap());
}

#[test]
fn branch_lists_come_to_what_simpleperf_makes_of_them() {
    let test = "branch_lists_come_to_what_simpleperf_makes_of_them";
    let Some(folder) = captures_for(test, "perf") else { return };
    let expected = fs::read(folder.join("oracle/perf_etm.afdo.txt")).unwrap();
    for name in ["perf_etm", "perf_with_unformatted_trace"] {
        let input = folder.join(format!("oracle/{name}.bl"));
        assert_eq!(simpleperf(&folder, &input, "autofdo"), expected, "{name}");
    }
    // And those that we write.
    let ours = simpleperf(&folder, &folder.join("simpleperf/perf_etm.data"), "branch-list");
    let here = Scratch::new("profile-compilers");
    let ours = here.write("ours.bl", &ours);
    assert_eq!(simpleperf(&folder, &ours, "autofdo"), expected);
    // And those in recordings, without any trace.
    for (name, file) in [("oracle/perf_etm.bl", "theirs.data"), ("ours", "ours.data")] {
        let list = if name == "ours" { fs::read(&ours) } else { fs::read(folder.join(name)) }.unwrap();
        let mut recorded = Recording::new();
        let recorded = recorded.comm(who(1, 0), "app", true).feature(133, list).write(Form::File);
        let recorded = here.write(file, &recorded);
        assert_eq!(simpleperf(&folder, &recorded, "autofdo"), expected, "{name}");
        let output = tracewright(&["decode", text(&recorded)]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("it holds a branch list, and no trace: profile reads it"), "{told}");
    }
    // Programs that are not here are named.
    let list = folder.join("oracle/perf_kernel.bl");
    let output = tracewright(&["profile", text(&list), "--format", "autofdo"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("no code of /vendor/lib/modules/msm_ipc_logging.ko: tried "), "{told}");
    assert!(told.contains("0 branches of 0 of 5 programs followed"), "{told}");
    // What is decoded and what is followed are two ways to the same. (simpleperf gives up on this module, and writes no ranges.)
    let ways = ["simpleperf/perf_kernel.data", "oracle/perf_kernel.bl"];
    let ways =
        ways.map(|path| String::from_utf8(simpleperf(&folder, &folder.join(path), "autofdo")).unwrap());
    assert!(
        ways[0].contains("\n60-74:1\n") && ways[0].ends_with("// /vendor/lib/modules/rq_stats.ko\n\n"),
        "{}",
        ways[0]
    );
    assert_eq!(ways[0], ways[1]);
}

/// A kernel whose addresses are those in memory: the same program, called the kernel.
#[test]
fn branch_lists_of_a_kernel_that_was_moved() {
    let Some(folder) = captures_for("branch_lists_of_a_kernel_that_was_moved", "perf") else { return };
    // Its name is told as well, and is another.
    let counts = |bytes: &[u8]| -> Vec<String> {
        let lines = String::from_utf8_lossy(bytes);
        lines
            .lines()
            .filter(|line| line.starts_with("F ") || line.starts_with("B "))
            .map(Into::into)
            .collect()
    };
    let expected = counts(&simpleperf(&folder, &folder.join("oracle/perf_etm.bl"), "bolt-simpleperf"));
    assert_eq!(expected.len(), 19);
    let bytes = fs::read(folder.join("oracle/perf_etm.bl")).unwrap();
    let mut list = branch_list::read(&bytes, |_| Err("")).unwrap();
    // Its `.text` is linked for 0x1000.
    let start = 0xffff_ff9a_5dc9_d000_u64;
    for binary in &mut list.binaries {
        *binary = binary.moved(start - 0x1000);
        binary.path = "[kernel.kallsyms]".into();
        binary.kind = ListedKind::Kernel;
        binary.kernel_start = Some(start);
    }
    let here = Scratch::new("profile-compilers");
    let moved = here.write("kernel.bl", &branch_list::write(&list));
    let program = fs::read(folder.join("simpleperf/etm_test_loop")).unwrap();
    let vmlinux = here.write("vmlinux", &program);
    let dir = vmlinux.parent().unwrap();
    for option in [["--symfs", text(dir)], ["--image", text(&vmlinux)]] {
        let arguments = [&["profile", text(&moved), "--format", "bolt-simpleperf"], &option[..]].concat();
        let output = tracewright(&arguments);
        assert_eq!(counts(&output.stdout), expected, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// simpleperf's schema of branch lists, for a reader that is not ours. A field that is not in it has no name in what protoc prints.
const BRANCH_LIST: &str = r#"
syntax = "proto3";
message BranchList { string magic = 1; repeated Binary etm_data = 2; }
message Branch { bytes branch = 1; uint32 branch_size = 2; uint64 count = 3; }
message Address { uint64 addr = 1; repeated Branch branches = 2; }
message Kernel { uint64 kernel_start_addr = 1; }
message Binary {
  string path = 1;
  string build_id = 2;
  repeated Address addrs = 3;
  uint32 type = 4;
  Kernel kernel_info = 5;
}
"#;

/// What protoc reads in the one part of a branch list: of which binaries, and of how many branches it tells.
fn read_by_protoc(list: &Path) -> (Vec<String>, u64) {
    // Magic, version, whether it is compressed, and the length of the part.
    const HEAD: usize = 24 + 4 + 1 + 4;
    let here = Scratch::new("profile-compilers");
    here.write("list.proto", BRANCH_LIST.as_bytes());
    let part = here.write("part", &fs::read(list).unwrap()[HEAD..]);
    let output = Command::new("protoc")
        .args(["--proto_path", text(here.path()), "--decode=BranchList", "list.proto"])
        .stdin(fs::File::open(part).unwrap())
        .output()
        .unwrap();
    let read = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut binaries, mut branches, mut size) = (Vec::new(), 0, 0);
    for line in read.lines().map(str::trim_start) {
        let Some((name, value)) = line.split_once(": ") else { continue };
        match name {
            "path" | "build_id" => binaries.push(value.to_owned()),
            "branch_size" => size = value.parse::<u64>().unwrap(),
            "count" => branches += size * value.parse::<u64>().unwrap(),
            _ => assert!(["addr", "branch", "type"].contains(&name), "{line}"),
        }
    }
    (binaries, branches)
}

#[test]
fn branch_lists_are_messages_as_simpleperf_writes_them() {
    let test = "branch_lists_are_messages_as_simpleperf_writes_them";
    let Some(folder) = captures_for(test, "perf") else { return };
    if !has_programs(test, &["protoc"]) {
        return;
    }
    let ours = simpleperf(&folder, &folder.join("simpleperf/perf_etm.data"), "branch-list");
    let here = Scratch::new("profile-compilers");
    let ours = read_by_protoc(&here.write("ours.bl", &ours));
    assert_eq!(ours, read_by_protoc(&folder.join("oracle/perf_etm.bl")));
    assert_eq!((ours.0.len(), ours.1), (2, 208));
}

#[test]
fn ranges_are_all_instructions() {
    let Some(folder) = captures_for("ranges_are_all_instructions", "perf") else { return };
    let input = folder.join("simpleperf/perf_etm.data");
    let profile = String::from_utf8(simpleperf(&folder, &input, "bolt-simpleperf")).unwrap();
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let instructions: u64 = profile
        .lines()
        .filter(|line| line.starts_with('F'))
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            ((hex(words[2]) - hex(words[1])) / 4 + 1) * words[3].parse::<u64>().unwrap()
        })
        .sum();
    let programs = folder.join("simpleperf");
    let arguments = ["decode", text(&input), "--symfs", text(&programs), "--instructions", "--json"];
    let listed = String::from_utf8(tracewright(&arguments).stdout).unwrap();
    let one_by_one = listed.lines().filter(|line| line.contains(r#""kind":"instruction""#)).count();
    assert_eq!(instructions, 944, "as simpleperf's listing of elements has it");
    assert_eq!(one_by_one as u64, instructions, "{}", listed.lines().take(3).collect::<String>());
}

/// A processor that programs are built for.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    Riscv64,
    Aarch64,
}

/// How a program ran.
#[derive(Clone, Copy, Debug)]
struct Run {
    instructions: u64,
    taken: u64,
}

impl Target {
    const ALL: [Self; 2] = [Self::Riscv64, Self::Aarch64];

    fn name(self) -> &'static str {
        if self == Self::Riscv64 { "riscv64" } else { "aarch64" }
    }

    /// Records a program, and what it came to.
    fn record(self, program: &Path, capture: &Path) -> Run {
        let _ = fs::remove_dir_all(capture);
        let how: &[&str] = match self {
            Self::Riscv64 => &["--protocol", "etrace"],
            Self::Aarch64 => &["--qemu", "--protocol", "etm4"],
        };
        let arguments = [&["record"], how, &["-o", text(capture), text(program), "--", "20000"]].concat();
        let output = tracewright(&arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), EXPECTED, "{}", program.display());
        let profile = String::from_utf8(profile(capture, "bolt")).unwrap();
        let count = |line: &str| line.split(' ').nth(3).unwrap().parse::<u64>().unwrap();
        let taken = profile.lines().filter(|line| line.starts_with("B ")).map(count).sum();
        let words: Vec<_> = told.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "instructions").unwrap();
        let digits = words[at + 1..].iter().take_while(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        Run { instructions: digits.copied().collect::<String>().parse().unwrap(), taken }
    }
}

/// A row of the README's table.
#[expect(clippy::print_stdout, reason = "for those who run this test to see it")]
fn tell(what: &str, before: Run, after: Run) {
    println!("{what}: {before:?} -> {after:?}");
}

/// What the program prints.
const EXPECTED: &str = "1161605 24 11993395 16837\n";

fn profile(capture: &Path, format: &str) -> Vec<u8> {
    let output = tracewright(&["profile", text(capture), "--format", format]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn sources() -> [String; 2] {
    let folder = root().join("programs/pays");
    ["main.c", "take.c"].map(|name| text(&folder.join(name)).to_owned())
}

/// Compiles the program with clang.
fn clang(target: Target, options: &[&str], output: &Path) {
    let triple = format!("--target={}-linux-gnu", target.name());
    let sources = sources();
    let common = [&*triple, "-static", "-fuse-ld=lld", "-Wl,--emit-relocs", "-O2", "-gmlt"];
    let common = [&common[..], &["-fdebug-info-for-profiling", "-o", text(output)]].concat();
    ran("clang-19", &[&common[..], options, &sources.each_ref().map(String::as_str)].concat());
}

const LLVM: [&str; 5] = ["clang-19", "ld.lld-19", "llvm-profdata-19", "llvm-profgen-19", "qemu-aarch64"];

/// A profile as text, as bytes, and as llvm-profgen makes it of addresses: all the same, as LLVM writes them.
fn same_as_profgen(here: &Scratch, program: &Path, capture: &Path) -> String {
    let [text_form, binary, addresses] =
        ["llvm", "llvm-binary", "profgen"].map(|format| here.write(format, &profile(capture, format)));
    let theirs = here.path().join("theirs");
    let options =
        [format!("--unsymbolized-profile={}", text(&addresses)), format!("--binary={}", text(program))];
    ran("llvm-profgen-19", &[&options[0], &options[1], "--format=text", "-o", text(&theirs)]);
    let normal =
        |file: &Path| ran("llvm-profdata-19", &["merge", "--sample", "--text", text(file), "-o", "-"]);
    let ours = normal(&text_form);
    assert_eq!(normal(&binary), ours);
    for (ours, theirs) in ours.lines().zip(normal(&theirs).lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(normal(&theirs), ours);
    ours
}

#[test]
fn llvm_reads_its_profile_and_makes_better_code() {
    let test = "llvm_reads_its_profile_and_makes_better_code";
    if !has_programs(test, &LLVM) {
        return;
    }
    for target in Target::ALL {
        let here = Scratch::new("profile-compilers");
        let at = |name: &str| here.path().join(name);
        let (program, capture) = (at("program"), at("capture"));
        clang(target, &[], &program);
        let before = target.record(&program, &capture);
        let only = same_as_profgen(&here, &program, &capture);
        // It is of inlined functions as well, and of what is called through pointers.
        assert!(only.contains(" weigh:") && only.contains(" apply_scaled:"), "{only}");
        // And of parts of lines: `5.1: 2707`.
        let has_part = |line: &str| line.trim_start().split(": ").next().is_some_and(|at| at.contains('.'));
        assert!(only.lines().filter(|line| has_part(line)).count() > 5, "{only}");
        for format in ["llvm", "llvm-binary"] {
            let (better, used) = (at("better"), format!("-fprofile-sample-use={}", text(&at(format))));
            clang(target, &[&used], &better);
            let after = target.record(&better, &capture);
            tell(&format!("{} clang {format}", target.name()), before, after);
            assert!(after.instructions * 100 < before.instructions * 96, "{before:?} {after:?}");
            assert!(after.taken * 100 < before.taken * 60, "{before:?} {after:?}");
        }
    }
}

/// Counts by line of the functions of ours, without what is inlined: `take 5.1` ran so often.
fn lines_of_ours(profile: &str) -> BTreeMap<String, u64> {
    let mut lines = BTreeMap::new();
    let mut function = "";
    for line in profile.lines() {
        if !line.starts_with(' ') {
            function = line.split(':').next().unwrap();
        } else if let Some((at, rest)) = line[1..].split_once(": ")
            && ["take", "mend", "main"].contains(&function)
            && !at.starts_with(' ')
            && let Ok(count) = rest.split(' ').next().unwrap().parse()
        {
            lines.insert(format!("{function} {at}"), count);
        }
    }
    lines
}

/// What AutoFDO makes of ranges and branches is what we say of source lines. (Debian's 0.19 reads no DWARF 5, and writes names of what is
/// inlined out of memory that it has freed.)
#[test]
fn create_llvm_prof_reads_its_profile() {
    let test = "create_llvm_prof_reads_its_profile";
    if !has_programs(test, &[&LLVM[..], &["create_llvm_prof"]].concat()) {
        return;
    }
    for target in Target::ALL {
        let here = Scratch::new("profile-compilers");
        let at = |name: &str| here.path().join(name);
        let (program, capture, theirs) = (at("program"), at("capture"), at("theirs"));
        // It counts from the first segment: that is an offset in the file if segments are linked so.
        clang(target, &["-gdwarf-4", "-Wl,-z,separate-loadable-segments"], &program);
        target.record(&program, &capture);
        let addresses = here.write("autofdo", &profile(&capture, "autofdo"));
        let options = [("binary", &program), ("profile", &addresses), ("out", &theirs)];
        let mut options: Vec<_> =
            options.iter().map(|(name, path)| format!("--{name}={}", text(path))).collect();
        options.extend(["--profiler=text".into(), "--format=text".into()]);
        ran("create_llvm_prof", &options.iter().map(String::as_str).collect::<Vec<_>>());
        let theirs = lines_of_ours(&String::from_utf8_lossy(&fs::read(&theirs).unwrap()));
        let ours = lines_of_ours(&String::from_utf8(profile(&capture, "llvm")).unwrap());
        assert!(theirs.len() > 30, "{theirs:?}");
        for (line, count) in &theirs {
            assert_eq!(ours.get(line), Some(count), "{line}");
        }
    }
}

/// Programs that are loaded anywhere, with their libraries: addresses are those in the file.
#[test]
fn position_independent_programs_are_understood() {
    const PERF2BOLT: &str = "/usr/lib/llvm-19/bin/perf2bolt";
    const SYSROOT: &str = "/usr/aarch64-linux-gnu";
    let test = "position_independent_programs_are_understood";
    if !has_programs(test, &[&LLVM[..], &[PERF2BOLT]].concat()) {
        return;
    }
    let here = Scratch::new("profile-compilers");
    let at = |name: &str| here.path().join(name);
    let (program, capture) = (at("program"), at("capture"));
    let sources = sources();
    let common = ["--target=aarch64-linux-gnu", "-fPIE", "-pie", "-fuse-ld=lld", "-Wl,--emit-relocs", "-O2"];
    let common = [&common[..], &["-gmlt", "-fdebug-info-for-profiling", "-o", text(&program)]].concat();
    ran("clang-19", &[&common[..], &sources.each_ref().map(String::as_str)].concat());
    let how = ["--qemu", "--sysroot", SYSROOT, "--protocol", "etm4", "-o", text(&capture)];
    ran(
        env!("CARGO_BIN_EXE_tracewright"),
        &[&["record"], &how[..], &[text(&program), "--", "20000"]].concat(),
    );
    let write = |format: &str| {
        let arguments = ["profile", text(&capture), "--binary", "program", "--format", format];
        here.write(format, &tracewright(&arguments).stdout)
    };
    let [lines, addresses, aggregated, fdata] = ["llvm", "profgen", "bolt", "fdata"].map(write);
    let theirs = at("theirs");
    let options =
        [format!("--unsymbolized-profile={}", text(&addresses)), format!("--binary={}", text(&program))];
    ran("llvm-profgen-19", &[&options[0], &options[1], "--format=text", "-o", text(&theirs)]);
    let normal =
        |file: &Path| ran("llvm-profdata-19", &["merge", "--sample", "--text", text(file), "-o", "-"]);
    assert_eq!(normal(&lines), normal(&theirs));
    assert!(normal(&lines).lines().count() > 60);
    ran(PERF2BOLT, &["-pa", "-p", text(&aggregated), "-o", text(&theirs), text(&program)]);
    // BOLT has a name of its own for the stubs that call libraries.
    let lines = |file: &Path| -> BTreeSet<String> {
        let text = fs::read_to_string(file).unwrap();
        text.lines()
            .filter(|line| !line.contains("PLT") && !line.contains(".plt"))
            .map(str::to_owned)
            .collect()
    };
    assert!(lines(&fdata).len() > 60);
    assert_eq!(lines(&fdata), lines(&theirs));
}

#[test]
fn profiles_of_cpp_are_those_of_llvm_profgen() {
    let test = "profiles_of_cpp_are_those_of_llvm_profgen";
    let gcc = "riscv64-linux-gnu-g++";
    if !has_programs(test, &[&LLVM[..4], &[gcc]].concat()) {
        return;
    }
    let source = sources()[0].replace("main.c", "shapes.cc");
    let clang: &[&str] =
        &["clang++-19", "--target=riscv64-linux-gnu", "-fuse-ld=lld", "-fdebug-info-for-profiling"];
    for (compiler, debug) in [(clang, "-gmlt"), (clang, "-g"), (&[gcc], "-g")] {
        let here = Scratch::new("profile-compilers");
        let (program, capture) = (here.path().join("program"), here.path().join("capture"));
        let common = ["-static", "-O2", debug, "-o", text(&program), &source];
        ran(compiler[0], &[&compiler[1..], &common].concat());
        let output = tracewright(&["record", "--protocol", "etrace", "-o", text(&capture), text(&program)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let same = same_as_profgen(&here, &program, &capture);
        assert!(same.contains("_ZNK6shapes6Square4areaEi:") && same.lines().count() > 900, "{same}");
    }
}

#[test]
fn bolt_reads_its_profiles_and_makes_better_code() {
    const BOLT: &str = "/usr/lib/llvm-19/bin/llvm-bolt";
    const PERF2BOLT: &str = "/usr/lib/llvm-19/bin/perf2bolt";
    const MERGE: &str = "/usr/lib/llvm-19/bin/merge-fdata";
    let test = "bolt_reads_its_profiles_and_makes_better_code";
    if !has_programs(test, &[&LLVM[..2], &LLVM[4..], &[BOLT, PERF2BOLT, MERGE]].concat()) {
        return;
    }
    for target in Target::ALL {
        let here = Scratch::new("profile-compilers");
        let at = |name: &str| here.path().join(name);
        let (program, capture, better) = (at("program"), at("capture"), at("better"));
        clang(target, &[], &program);
        let before = target.record(&program, &capture);
        let aggregated = here.write("bolt", &profile(&capture, "bolt"));
        let (theirs, ours) = (at("theirs"), here.write("ours", &profile(&capture, "fdata")));
        ran(PERF2BOLT, &["-pa", "-p", text(&aggregated), "-o", text(&theirs), text(&program)]);
        // Of what is ours, BOLT's own tool says the same as we do. (Functions of libraries have several names.)
        let lines = |file: &Path| -> BTreeSet<String> {
            let is_ours = |word: &str| ["take", "mend/1", "apply_scaled", "apply_saturating"].contains(&word);
            let is_ours = |line: &&str| is_ours(line.split(' ').nth(1).unwrap_or_default());
            fs::read_to_string(file).unwrap().lines().filter(is_ours).map(str::to_owned).collect()
        };
        assert_eq!(lines(&ours), lines(&theirs));
        assert!(lines(&ours).len() > 20, "{:?}", lines(&ours));
        let twice = ran(MERGE, &[text(&ours), text(&ours)]);
        let total = |text: &str| -> u64 {
            text.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        assert_eq!(total(&twice), 2 * total(&fs::read_to_string(&ours).unwrap()));
        for data in [&ours, &theirs] {
            let layout = ["-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", "-split-functions"];
            let files = [text(&program), "-data", text(data), "-o", text(&better)];
            ran(BOLT, &[&files[..], &layout].concat());
            let after = target.record(&better, &capture);
            tell(&format!("{} bolt", target.name()), before, after);
            assert!(after.instructions < before.instructions, "{before:?} {after:?}");
            assert!(after.taken * 100 < before.taken * 70, "{before:?} {after:?}");
        }
    }
}

/// Each GCC reads its own version of the file. GCC 16 is tested where it is installed: it is not in Debian 12.
#[test]
fn gcc_reads_its_profile_and_makes_better_code() {
    let test = "gcc_reads_its_profile_and_makes_better_code";
    for (gcc, format) in [("riscv64-linux-gnu-gcc", "gcov"), ("riscv64-linux-gnu-gcc-16", "gcov-16")] {
        if !has_programs(test, &[gcc]) {
            continue;
        }
        let here = Scratch::new("profile-compilers");
        let (program, capture) = (here.path().join("program"), here.path().join("capture"));
        let sources = sources();
        let sources = sources.each_ref().map(String::as_str);
        let common = ["-static", "-O2", "-g", "-o", text(&program)];
        ran(gcc, &[&common[..], &sources].concat());
        let before = Target::Riscv64.record(&program, &capture);
        let profile = here.write("profile.gcov", &profile(&capture, format));
        let used = format!("-fauto-profile={}", text(&profile));
        ran(gcc, &[&common[..], &sources, &[&used]].concat());
        let after = Target::Riscv64.record(&program, &capture);
        tell(&format!("riscv64 {gcc}"), before, after);
        assert!(after.instructions * 100 < before.instructions * 95, "{before:?} {after:?}");
        assert!(after.taken * 100 < before.taken * 60, "{before:?} {after:?}");
    }
}

#[test]
fn what_cannot_be_written_is_said() {
    let Some(folder) = captures_for("what_cannot_be_written_is_said", "perf") else { return };
    let (input, programs) = (folder.join("simpleperf/perf_etm.data"), folder.join("simpleperf"));
    let mut all = String::new();
    for arguments in [&["--format", "llvm"][..], &["--format", "fdata", "--binary", "nothing"]] {
        let common = ["profile", text(&input), "--symfs", text(&programs)];
        let output = tracewright(&[&common[..], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        write!(all, "{}", String::from_utf8_lossy(&output.stderr)).unwrap();
    }
    assert!(all.contains("nothing that ran has debug information: compile the program with -g"), "{all}");
    assert!(all.contains("--binary nothing: no binary is called so; there are: etm_test_loop"), "{all}");
}
