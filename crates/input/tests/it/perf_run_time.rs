//! Code that changes at run time, in recordings that our own writer made: functions and patches of the kernel, BPF
//! programs, jitdump files. perf reads the same files in `perf_live.rs`.

use crate::elf::{program, symbol};
use crate::support::Folder;
use tracewright_core::{Context, Security};
use tracewright_image::{Image, Moment};
use tracewright_input::perf;
use tracewright_testkit::perf::{BpfProgram, Form, JitDump, Recording, etm4, who};

const KERNEL: u64 = 0xffff_8000_0000_0000;
const BPF: u64 = 0xffff_8000_7c00_0000;
const TAG: [u8; 8] = [0xaa; 8];

/// Returns a recording of a kernel, with a piece of trace at each of these times.
fn recording(times: &[u64]) -> Recording {
    let mut recording = Recording::new();
    recording.machine("aarch64").units(1, &[etm4(0, 0x40, 0x10)]);
    recording.kernel_mmap(KERNEL, 0x10000, KERNEL, "[kernel.kallsyms]_text");
    for (index, time) in times.iter().enumerate() {
        recording.aux(who(7, *time), 16 * index as u64, 16, 0);
    }
    recording.trace(0, 0, &vec![0; 16 * times.len()]);
    recording
}

/// Returns a folder with a kernel, a recording, and other files.
fn folder(recording: &Recording) -> Folder {
    let symbols =
        vec![symbol("_text", KERNEL, 0x100, 0x12, 1), symbol("schedule", KERNEL + 0x100, 0x100, 0x12, 1)];
    let folder = Folder::new().with("vmlinux", program(KERNEL, vec![0x11; 0x1000], symbols).write());
    folder.with("perf.data", recording.write(Form::File))
}

/// Opens it. Returns the image, and what was reported.
fn image(folder: &Folder) -> (Image, Vec<String>) {
    let capture = perf::open(&folder.path().join("perf.data"), &[folder.path().to_owned()]).unwrap();
    let (image, problems) = capture.image(&[]);
    let name = format!("{}/", folder.path().display());
    let all = capture.problems.iter().chain(&problems);
    (image, all.map(|problem| problem.to_string().replace(&name, "")).collect())
}

/// Returns the first byte at an address that a level sees at a time, with the function and its line.
fn seen(image: &Image, level: u8, time: u64, address: u64) -> (Option<u8>, String) {
    let security = Security::NonSecure;
    let context = Context { level, security, is_64bit: true, vmid: None, context_id: Some(7) };
    let space = image.space(&context, &Moment { time, thread: None });
    let name = image.symbols().symbol(address, space).map(|symbol| symbol.offset(address).to_string());
    let line = image.symbols().source(address, space).map(|line| format!(" {line}"));
    (image.read(address, space).first().copied(), name.unwrap_or_default() + &line.unwrap_or_default())
}

#[test]
fn patched_kernel_code_is_that_of_its_time() {
    let mut recording = recording(&[10, 20, 30]);
    recording.text_poke(15, KERNEL + 0x104, &[0x22; 4], &[0x33; 4]);
    recording.text_poke(25, KERNEL + 0x104, &[0x33; 4], &[0x44; 4]);
    let (image, problems) = image(&folder(&recording));
    assert_eq!(problems, [""; 0]);
    let at = |time, address| seen(&image, 1, time, address);
    // Before the first change, what it replaced counts: the file may have been patched before.
    let name = "schedule+0x4".to_owned();
    assert_eq!(at(10, KERNEL + 0x104), (Some(0x22), name.clone()));
    assert_eq!(at(20, KERNEL + 0x104), (Some(0x33), name.clone()));
    assert_eq!(at(30, KERNEL + 0x104), (Some(0x44), name));
    for time in [10, 20, 30] {
        assert_eq!(at(time, KERNEL + 0x100), (Some(0x11), "schedule".into()), "beside it");
        assert_eq!(at(time, KERNEL + 0x108), (Some(0x11), "schedule+0x8".into()), "behind it");
    }
}

#[test]
fn code_of_bpf_programs_has_its_names() {
    let mut recording = recording(&[10, 20]);
    let functions = vec![(BPF, TAG, vec![0x55; 0x20]), (BPF + 0x100, [0xbb; 8], vec![0x66; 0x10])];
    let first = BpfProgram { id: 3, name: "trace", functions };
    // Another program comes to the same address.
    let second = BpfProgram { id: 4, name: "later", functions: vec![(BPF, [0xcc; 8], vec![0x77; 0x20])] };
    let untold = BpfProgram { id: 5, name: "", functions: vec![(BPF + 0x1000, [0xdd; 8], vec![0x78; 0x20])] };
    recording.bpf_programs(&[first, second, untold]);
    recording.ksymbol(5, BPF, 0x20, 1, false, "bpf_prog_aaaaaaaaaaaaaaaa_trace");
    recording.bpf_event(5, 1, 3, TAG);
    recording.ksymbol(12, BPF, 0x20, 1, true, "bpf_prog_aaaaaaaaaaaaaaaa_trace").bpf_event(12, 2, 3, TAG);
    recording.ksymbol(15, BPF, 0x20, 1, false, "bpf_prog_cccccccccccccccc_later");
    recording.ksymbol(16, BPF + 0x2000, 0x20, 1, false, "bpf_prog_eeeeeeeeeeeeeeee");
    let (image, problems) = image(&folder(&recording));
    assert_eq!(problems, [""; 0]);
    let at = |time, address| seen(&image, 1, time, address);
    assert_eq!(at(10, BPF + 4), (Some(0x55), "bpf_prog_aaaaaaaaaaaaaaaa_trace+0x4".into()));
    assert_eq!(
        at(10, BPF + 0x100),
        (Some(0x66), "bpf_prog_bbbbbbbbbbbbbbbb_F".into()),
        "by its program's load"
    );
    assert_eq!(at(20, BPF + 4), (Some(0x77), "bpf_prog_cccccccccccccccc_later+0x4".into()));
    assert_eq!(
        at(10, BPF + 0x1000),
        (Some(0x78), "bpf_prog_dddddddddddddddd".into()),
        "no record tells of it"
    );
    assert_eq!(at(20, BPF + 0x2000).0, None);
    let absent: Vec<_> = image.absences().map(|(name, _)| name).collect();
    assert_eq!(absent, ["bpf_prog_eeeeeeeeeeeeeeee"]);
    assert_eq!(
        at(20, KERNEL + 0x104),
        (Some(0x11), "schedule+0x4".into()),
        "the kernel itself is still there"
    );
}

/// A page for instructions that probes replaced: it comes empty, and is written later.
#[test]
fn out_of_line_code_comes_with_patches() {
    let mut recording = recording(&[10, 20]);
    recording.ksymbol(5, BPF, 0x1000, 2, false, "kprobe_insn_page");
    recording.text_poke(6, BPF + 0x40, &[], &[0x21; 8]).text_poke(15, BPF + 0x44, &[0x21; 4], &[0x22; 4]);
    let (image, problems) = image(&folder(&recording));
    assert_eq!(problems, [""; 0]);
    let at = |time, address| seen(&image, 1, time, address);
    assert_eq!(at(10, BPF + 0x40), (Some(0x21), "kprobe_insn_page+0x40".into()));
    assert_eq!(at(10, BPF + 0x44), (Some(0x21), "kprobe_insn_page+0x44".into()));
    assert_eq!(at(20, BPF + 0x44), (Some(0x22), "kprobe_insn_page+0x44".into()));
    assert_eq!(at(10, BPF + 0x48).0, None, "unknown bytes are not code");
}

/// Returns a recording of a process that announces a dump, in memory of no file.
fn jit(times: &[u64]) -> Recording {
    let mut recording = recording(times);
    recording.monotonic().comm(who(7, 0), "node", false);
    recording.mmap2(who(7, 1), 0x7000_0000, 0x1000, 0, "/tmp/jit-7.dump");
    recording.mmap2(who(7, 2), 0x5000_0000, 0x10000, 0, "//anon");
    recording
}

#[test]
fn jitted_code_has_names_and_lines_from_its_time_on() {
    for is_big in [false, true] {
        let mut recording = jit(&[10, 20, 30]);
        // The memory changes its protection.
        recording.mmap2(who(7, 18), 0x5000_0000, 0x10000, 0, "//anon");
        let mut dump = JitDump::new(7, 183, 0, is_big);
        let lines = [(0x5000_0000, 4, "/src/a.js"), (0x5000_0008, 5, ""), (0x5000_0018, 9, "/src/b.js")];
        dump.lines(5, 0x5000_0000, &lines).load(5, 0x5000_0000, 1, "Lfirst", &[0x31; 0x20]);
        dump.load(15, 0x5000_0000, 2, "Lsecond", &[0x32; 0x10]).load(
            16,
            0x5000_0100,
            3,
            "Lthird",
            &[0x33; 0x10],
        );
        dump.moved(25, 0x5000_0100, 0x5000_0000, 0x10, 3).close(26).load(
            27,
            0x5000_0000,
            4,
            "Lnever",
            &[0x34; 4],
        );
        let folder = folder(&recording).with("jit-7.dump", dump.bytes());
        let (image, problems) = image(&folder);
        assert_eq!(problems, [""; 0]);
        let at = |time, address| seen(&image, 0, time, address);
        assert_eq!(at(10, 0x5000_0000), (Some(0x31), "Lfirst /src/a.js:4".into()));
        assert_eq!(at(10, 0x5000_000c), (Some(0x31), "Lfirst+0xc /src/a.js:5".into()));
        assert_eq!(at(10, 0x5000_0018), (Some(0x31), "Lfirst+0x18 /src/b.js:9".into()));
        assert_eq!(at(20, 0x5000_0000), (Some(0x32), "Lsecond".into()));
        assert_eq!(at(20, 0x5000_0104), (Some(0x33), "Lthird+0x4".into()));
        assert_eq!(at(30, 0x5000_000c), (Some(0x33), "Lthird+0xc".into()), "moved");
        assert_eq!(at(30, 0x5000_0200).0, None);
    }
}

/// A map has names, and no code.
#[test]
fn names_in_maps_are_those_of_missing_code() {
    let mut recording = recording(&[10]);
    recording.mmap2(who(7, 2), 0x5000_0000, 0x10000, 0, "//anon");
    let map = "50000000 20 LazyCompile:~first a.js:1\n50000100 10 second\n60000000 10 elsewhere\nnothing\n";
    let folder = folder(&recording).with("perf-7.map", map);
    let (image, problems) = image(&folder);
    assert_eq!(problems, [""; 0]);
    let context =
        Context { level: 0, security: Security::NonSecure, is_64bit: true, vmid: None, context_id: Some(7) };
    let space = image.space(&context, &Moment::LAST);
    let name = |address| image.absent(address, space).map(|(name, _)| name);
    assert_eq!([0x5000_001f, 0x5000_0020].map(name), [Some("LazyCompile:~first a.js:1"), Some("//anon")]);
    assert_eq!([0x5000_0100, 0x6000_0000].map(name), [Some("second"), None]);
    assert!(image.read(0x5000_0000, space).is_empty());
}

#[test]
fn faults_of_dumps_are_reported() {
    let reported = |recording: &Recording, dump: &[u8]| {
        let folder = folder(recording).with("jit-7.dump", dump);
        let (image, problems) = image(&folder);
        (seen(&image, 0, 10, 0x5000_0000), problems.join("\n"))
    };
    let mut dump = JitDump::new(7, 183, 0, false);
    dump.load(5, 0x5000_0000, 1, "Lfirst", &[0x31; 0x20]);
    let good = dump.bytes();
    let first = (Some(0x31), "Lfirst".to_owned());
    assert_eq!(reported(&jit(&[10]), &good), (first.clone(), String::new()));
    // A process that was killed.
    let cut = "perf.data: error: jit-7.dump: at 0x87: a record is cut off: nothing is read from there on";
    let mut more = dump.clone();
    let more = more.load(6, 0x5000_0100, 2, "Lsecond", &[0x32; 0x20]).bytes();
    assert_eq!(reported(&jit(&[10]), &more[..more.len() - 8]), (first.clone(), cut.into()));
    let not =
        "perf.data: error: jit-7.dump: not a jitdump file: the code that was made at run time is missing";
    assert!(reported(&jit(&[10]), b"nothing of the kind").1.starts_with(not));
    // Of another clock: all code is there from the start.
    let mut clock = recording(&[10]);
    clock.mmap2(who(7, 1), 0x7000_0000, 0x1000, 0, "/tmp/jit-7.dump");
    let (code, problems) = reported(&clock, &good);
    assert_eq!(code, first);
    assert!(problems.contains("its times are of another clock"), "{problems}");
    // Without the dump, it is named.
    let (_, problems) = image(&folder(&jit(&[10])));
    assert!(problems.concat().contains("/tmp/jit-7.dump, which was mapped, is not here"), "{problems:?}");
}
