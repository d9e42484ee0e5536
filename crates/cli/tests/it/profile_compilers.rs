//! Profiles for compilers and binary optimisers: byte for byte as simpleperf writes them, and as their readers take them. What is
//! compiled is `programs/pays`, for RISC-V and for AArch64; that it runs better afterwards is the proof that it was understood.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{self, Ran, command, recorded, root, run, text, words};
use tracewright_profile::branch_list::{self, ListedKind};
use tracewright_testkit::perf::{Form, Recording, who};
use tracewright_testkit::{Scratch, captures_for, has_programs};

/// Runs another program that must succeed; what it writes to standard output.
fn ran(line: &str) -> String {
    let words = words(line);
    run::ran(Command::new(&words[0]).args(&words[1..])).good()
}

/// A profile of something of simpleperf's; the status is not looked at, since other programs that ran are not here.
fn simpleperf(folder: &Path, input: &Path, format: &str) -> Vec<u8> {
    let mut command = command(format_args!("profile {} --format {format} --symfs", text(input)));
    command.arg(folder.join("simpleperf")).output().unwrap().stdout
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
        let decoded = run!("decode {}", text(&recorded));
        decoded.says("it holds a branch list, and no trace: profile reads it");
    }
    // Programs that are not here are named.
    let list = folder.join("oracle/perf_kernel.bl");
    let missing = run!("profile {} --format autofdo", text(&list)).ends(2);
    let missing = missing.says("no code of /vendor/lib/modules/msm_ipc_logging.ko: tried ");
    missing.says("none of its 5 is here: name them with --image");
    // What is decoded and what is followed are two ways to the same. (simpleperf gives up on this module, and writes no ranges.)
    let ways = ["simpleperf/perf_kernel.data", "oracle/perf_kernel.bl"];
    let ways =
        ways.map(|path| String::from_utf8(simpleperf(&folder, &folder.join(path), "autofdo")).unwrap());
    assert!(ways[0].contains("\n60-74:1\n"), "{}", ways[0]);
    assert!(ways[0].ends_with("// /vendor/lib/modules/rq_stats.ko\n\n"), "{}", ways[0]);
    assert_eq!(ways[0], ways[1]);
}

/// A kernel whose addresses are those in memory: the same program, called the kernel.
#[test]
fn branch_lists_of_a_kernel_that_was_moved() {
    let Some(folder) = captures_for("branch_lists_of_a_kernel_that_was_moved", "perf") else { return };
    // Its name is told as well, and is another.
    let counts = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("F ") || line.starts_with("B "));
        lines.map(Into::into).collect()
    };
    let expected = simpleperf(&folder, &folder.join("oracle/perf_etm.bl"), "bolt-simpleperf");
    let expected = counts(&String::from_utf8(expected).unwrap());
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
    for option in [format!("--symfs {}", text(here.path())), format!("--image {}", text(&vmlinux))] {
        let ran = run!("profile {} --format bolt-simpleperf {option}", text(&moved));
        assert_eq!(counts(&ran.out), expected, "{}", ran.err);
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
    let mut protoc = Command::new("protoc");
    protoc.args(["--proto_path", text(here.path()), "--decode=BranchList", "list.proto"]);
    let read = run::ran(protoc.stdin(fs::File::open(part).unwrap())).good();
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
    let listed = run!("decode {} --symfs {} --instructions --json", text(&input), text(&programs)).out;
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
    fn record(self, program: &str, capture: &str) -> Run {
        let _ = fs::remove_dir_all(capture);
        let how = match self {
            Self::Riscv64 => "--protocol etrace",
            Self::Aarch64 => "--qemu --protocol etm4",
        };
        let Ran { out, err: told, .. } = run!("record {how} -o {capture} {program} -- 20000").ends(0);
        assert_eq!(out, EXPECTED, "{program}");
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

fn profile(capture: &str, format: &str) -> Vec<u8> {
    let output = command(format_args!("profile {capture} --format {format}")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Its source files.
fn sources() -> String {
    let folder = root().join("programs/pays");
    format!("{0}/main.c {0}/take.c", text(&folder))
}

/// Compiles the program with clang.
fn clang(target: Target, options: &str, output: &str) {
    let triple = format!("--target={}-linux-gnu", target.name());
    let common = "-static -fuse-ld=lld -Wl,--emit-relocs -O2 -gmlt -fdebug-info-for-profiling";
    ran(&format!("clang-19 {triple} {common} -o {output} {options} {}", sources()));
}

const LLVM: [&str; 5] = ["clang-19", "ld.lld-19", "llvm-profdata-19", "llvm-profgen-19", "qemu-aarch64"];

/// A profile in LLVM's own text.
fn normal(file: &str) -> String {
    ran(&format!("llvm-profdata-19 merge --sample --text {file} -o -"))
}

/// What llvm-profgen makes of addresses.
fn profgen(addresses: &str, program: &str, theirs: &str) -> String {
    let how = format!("--unsymbolized-profile={addresses} --binary={program}");
    ran(&format!("llvm-profgen-19 {how} --format=text -o {theirs}"));
    normal(theirs)
}

/// A profile as text, as bytes, and as llvm-profgen makes it of addresses: all the same, as LLVM writes them.
fn same_as_profgen(here: &Scratch, program: &str, capture: &str) -> String {
    let [text_form, binary, addresses] = ["llvm", "llvm-binary", "profgen"]
        .map(|format| text(&here.write(format, &profile(capture, format))).to_owned());
    let ours = normal(&text_form);
    assert_eq!(normal(&binary), ours);
    let theirs = profgen(&addresses, program, &here.join("theirs"));
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(theirs, ours);
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
        let at = |name: &str| here.join(name);
        let (program, capture) = (at("program"), at("capture"));
        clang(target, "", &program);
        let before = target.record(&program, &capture);
        let only = same_as_profgen(&here, &program, &capture);
        // It is of inlined functions as well, and of what is called through pointers.
        assert!(only.contains(" weigh:") && only.contains(" apply_scaled:"), "{only}");
        // And of parts of lines: `5.1: 2707`.
        let has_part = |line: &str| line.trim_start().split(": ").next().is_some_and(|at| at.contains('.'));
        assert!(only.lines().filter(|line| has_part(line)).count() > 5, "{only}");
        for format in ["llvm", "llvm-binary"] {
            let better = at("better");
            clang(target, &format!("-fprofile-sample-use={}", at(format)), &better);
            let after = target.record(&better, &capture);
            tell(&format!("{} clang {format}", target.name()), before, after);
            assert!(after.instructions * 100 < before.instructions * 96, "{before:?} {after:?}");
            assert!(after.taken * 100 < before.taken * 60, "{before:?} {after:?}");
        }
    }
}

/// Counts by function and line, of all contexts and inlined copies together, as LLVM adds them up: `take 5.1` ran so often.
fn flat(file: &str) -> BTreeMap<String, u64> {
    let merged = ran(&format!(
        "llvm-profdata-19 merge --sample --text --convert-sample-profile-layout=flat {file} -o -"
    ));
    let (mut lines, mut function) = (BTreeMap::new(), "");
    for line in merged.lines() {
        match line.strip_prefix(' ').and_then(|line| line.split_once(": ")) {
            Some((at, rest)) => {
                let count = rest.split(' ').next().unwrap().parse().unwrap();
                lines.insert(format!("{function} {at}"), count);
            }
            None => function = line.split(':').next().unwrap(),
        }
    }
    lines.retain(|_, count| *count > 0);
    lines
}

#[test]
fn llvm_reads_contexts_and_makes_better_code() {
    let test = "llvm_reads_contexts_and_makes_better_code";
    if !has_programs(test, &LLVM) {
        return;
    }
    for target in Target::ALL {
        let here = Scratch::new("profile-compilers");
        let at = |name: &str| here.join(name);
        let (program, capture, better) = (at("program"), at("capture"), at("better"));
        clang(target, "", &program);
        let before = target.record(&program, &capture);
        let [contexts, nested] = ["llvm-contexts", "llvm"]
            .map(|format| text(&here.write(format, &profile(&capture, format))).to_owned());
        let ours = fs::read_to_string(&contexts).unwrap();
        assert_eq!(normal(&contexts), ours, "LLVM reads and writes it as it is");
        // A function that two call sites reach has counts of its own for each.
        let mend: Vec<_> = ours.lines().filter(|line| line.contains(" @ mend]:")).collect();
        assert!(mend.len() > 1 && mend.iter().all(|line| line.starts_with("[main:6 @ take:")), "{mend:?}");
        // The sum of the largest counts of several contexts may be larger than the largest sum.
        let (contexts_flat, nested) = (flat(&contexts), flat(&nested));
        assert_eq!(contexts_flat.keys().collect::<Vec<_>>(), nested.keys().collect::<Vec<_>>());
        for (line, &count) in &nested {
            assert!((count..=count + count / 100).contains(&contexts_flat[line]), "{line}");
        }
        clang(target, &format!("-fprofile-sample-use={contexts}"), &better);
        let after = target.record(&better, &capture);
        tell(&format!("{} clang contexts", target.name()), before, after);
        assert!(after.instructions * 100 < before.instructions * 96, "{before:?} {after:?}");
        assert!(after.taken * 100 < before.taken * 60, "{before:?} {after:?}");
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
        let at = |name: &str| here.join(name);
        let (program, capture, theirs) = (at("program"), at("capture"), at("theirs"));
        // It counts from the first segment: that is an offset in the file if segments are linked so.
        clang(target, "-gdwarf-4 -Wl,-z,separate-loadable-segments", &program);
        target.record(&program, &capture);
        let addresses = here.write("autofdo", &profile(&capture, "autofdo"));
        let files = format!("--binary={program} --profile={} --out={theirs}", text(&addresses));
        ran(&format!("create_llvm_prof {files} --profiler=text --format=text"));
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
    let at = |name: &str| here.join(name);
    let (program, capture) = (at("program"), at("capture"));
    let common = "--target=aarch64-linux-gnu -fPIE -pie -fuse-ld=lld -Wl,--emit-relocs -O2 -gmlt";
    ran(&format!("clang-19 {common} -fdebug-info-for-profiling -o {program} {}", sources()));
    let how = format!("--qemu --symfs {SYSROOT} --protocol etm4 -o {capture}");
    run!("record {how} {program} -- 20000").ends(0);
    let write = |format: &str| {
        let profile = run!("profile {capture} --binary program --format {format}").out;
        text(&here.write(format, profile.as_bytes())).to_owned()
    };
    let [lines, addresses, aggregated, fdata] = ["llvm", "profgen", "bolt", "fdata"].map(write);
    let theirs = at("theirs");
    assert_eq!(normal(&lines), profgen(&addresses, &program, &theirs));
    assert!(normal(&lines).lines().count() > 60);
    ran(&format!("{PERF2BOLT} -pa -p {aggregated} -o {theirs} {program}"));
    // BOLT has a name of its own for the stubs that call libraries.
    let lines = |file: &str| -> BTreeSet<String> {
        let text = fs::read_to_string(file).unwrap();
        let lines = text.lines().filter(|line| !line.contains("PLT") && !line.contains(".plt"));
        lines.map(str::to_owned).collect()
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
    let source = root().join("programs/pays/shapes.cc");
    let clang = "clang++-19 --target=riscv64-linux-gnu -fuse-ld=lld -fdebug-info-for-profiling";
    for (compiler, debug) in [(clang, "-gmlt"), (clang, "-g"), (gcc, "-g")] {
        let here = Scratch::new("profile-compilers");
        let program = here.join("program");
        ran(&format!("{compiler} -static -O2 {debug} -o {program} {}", text(&source)));
        let capture = recorded(&here, &program, "");
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
        let at = |name: &str| here.join(name);
        let (program, capture, better) = (at("program"), at("capture"), at("better"));
        clang(target, "", &program);
        let before = target.record(&program, &capture);
        here.write("bolt", &profile(&capture, "bolt"));
        here.write("ours", &profile(&capture, "fdata"));
        let (theirs, ours) = (at("theirs"), at("ours"));
        ran(&format!("{PERF2BOLT} -pa -p {} -o {theirs} {program}", at("bolt")));
        // Of what is ours, BOLT's own tool says the same as we do. (Functions of libraries have several names.)
        let lines = |file: &str| -> BTreeSet<String> {
            let is_ours = |word: &str| ["take", "mend/1", "apply_scaled", "apply_saturating"].contains(&word);
            let is_ours = |line: &&str| is_ours(line.split(' ').nth(1).unwrap_or_default());
            fs::read_to_string(file).unwrap().lines().filter(is_ours).map(str::to_owned).collect()
        };
        assert_eq!(lines(&ours), lines(&theirs));
        assert!(lines(&ours).len() > 20, "{:?}", lines(&ours));
        let twice = ran(&format!("{MERGE} {ours} {ours}"));
        let total = |text: &str| -> u64 {
            text.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        assert_eq!(total(&twice), 2 * total(&fs::read_to_string(&ours).unwrap()));
        for data in [&ours, &theirs] {
            let layout = "-reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions";
            ran(&format!("{BOLT} {program} -data {data} -o {better} {layout}"));
            let after = target.record(&better, &capture);
            tell(&format!("{} bolt", target.name()), before, after);
            assert!(after.instructions < before.instructions, "{before:?} {after:?}");
            assert!(after.taken * 100 < before.taken * 70, "{before:?} {after:?}");
        }
    }
}

/// The blocks of each function of a list for Propeller.
fn clusters(list: &str) -> BTreeMap<&str, Vec<u32>> {
    let mut lines = list.lines();
    assert_eq!(lines.next(), Some("v1"));
    let mut clusters = BTreeMap::new();
    while let Some(line) = lines.next() {
        let blocks = lines.next().unwrap().strip_prefix("c ").unwrap().split(' ');
        let blocks = blocks.map(|block| block.parse().unwrap()).collect();
        assert_eq!(clusters.insert(line.strip_prefix("f ").unwrap(), blocks), None, "{list}");
    }
    clusters
}

/// Clang maps basic blocks for AArch64 only (and for x86-64).
#[test]
fn propeller_places_blocks_and_functions() {
    const READOBJ: &str = "llvm-readobj-19";
    let test = "propeller_places_blocks_and_functions";
    if !has_programs(test, &[&LLVM[..2], &LLVM[4..], &[READOBJ, "llvm-nm-19"]].concat()) {
        return;
    }
    let here = Scratch::new("profile-compilers");
    let at = |name: &str| here.join(name);
    let (program, capture, better) = (at("program"), at("capture"), at("better"));
    let target = Target::Aarch64;
    clang(target, "-ffunction-sections -fbasic-block-address-map", &program);
    let before = target.record(&program, &capture);
    let list = here.write("cc", &profile(&capture, "propeller"));
    let order = here.write("ld", &profile(&capture, "symbol-order"));
    let text_of = |path: &Path| fs::read_to_string(path).unwrap();
    let (list_text, order_text) = (text_of(&list), text_of(&order));
    let clusters = clusters(&list_text);
    // Its blocks are those that LLVM finds in the program; the entry is first, and some never ran.
    let map = ran(&format!("{READOBJ} --bb-addr-map {program}"));
    let mut cold = 0;
    for (name, blocks) in &clusters {
        let of = map.split("  Function {").find(|of| of.contains(&format!("Name: {name}\n"))).unwrap();
        let known = of.lines().filter_map(|line| line.trim().strip_prefix("ID: "));
        let known: BTreeSet<u32> = known.map(|id| id.parse().unwrap()).collect();
        let listed: BTreeSet<u32> = blocks.iter().copied().collect();
        assert_eq!((blocks[0], listed.len()), (0, blocks.len()), "{name}");
        assert!(listed.is_subset(&known), "{name}: {blocks:?} {known:?}");
        cold += known.len() - listed.len();
    }
    assert!(clusters.contains_key("take") && clusters.contains_key("mend") && cold > 3, "{list_text}");
    // Functions of the library ran as well; what others call is behind its caller.
    let order: Vec<_> = order_text.lines().collect();
    let place = |name| order.iter().position(|one| *one == name).unwrap();
    assert!(order.len() > clusters.len() && place("take") > place("main"), "{order_text}");
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), order.len(), "{order_text}");
    let sections = format!("-ffunction-sections -fbasic-block-sections=list={}", text(&list));
    clang(target, &format!("{sections} -Wl,--symbol-ordering-file={}", at("ld")), &better);
    // The linker has put them in this order, and what never ran elsewhere.
    let symbols = ran(&format!("llvm-nm-19 --numeric-sort {better}"));
    let names: Vec<_> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let address = |name: &str| names.iter().position(|one| *one == name).unwrap();
    assert!(address("take") < address("take.cold") && names.contains(&"main"), "{symbols}");
    let placed: Vec<_> = order.iter().filter(|name| clusters.contains_key(*name)).collect();
    assert!(placed.is_sorted_by_key(|name| address(name)), "{placed:?} {symbols}");
    let after = target.record(&better, &capture);
    tell("aarch64 propeller", before, after);
    assert!(after.taken * 100 < before.taken * 70, "{before:?} {after:?}");
    // Without a map there is nothing to list, but the functions have an order all the same.
    clang(target, "", &program);
    target.record(&program, &capture);
    let none = run!("profile {capture} --format propeller").ends(2);
    none.says("program: nothing that ran of it is in a map of basic blocks");
    assert!(!profile(&capture, "symbol-order").is_empty());
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
        let (program, capture) = (here.join("program"), here.join("capture"));
        let compile = format!("{gcc} -static -O2 -g -o {program} {}", sources());
        ran(&compile);
        let before = Target::Riscv64.record(&program, &capture);
        let profile = here.write("profile.gcov", &profile(&capture, format));
        ran(&format!("{compile} -fauto-profile={}", text(&profile)));
        let after = Target::Riscv64.record(&program, &capture);
        tell(&format!("riscv64 {gcc}"), before, after);
        assert!(after.instructions * 100 < before.instructions * 95, "{before:?} {after:?}");
        assert!(after.taken * 100 < before.taken * 60, "{before:?} {after:?}");
    }
}

#[test]
fn what_cannot_be_written_is_said() {
    let Some(folder) = captures_for("what_cannot_be_written_is_said", "perf") else { return };
    let folder = format!("{}/simpleperf", text(&folder));
    for (format, expected) in [
        ("llvm", "nothing that ran has debug information: compile the program with -g"),
        ("fdata --binary nothing", "--binary nothing: no binary is called so; there are: etm_test_loop"),
    ] {
        run!("profile {folder}/perf_etm.data --symfs {folder} --format {format}").ends(2).says(expected);
    }
}
