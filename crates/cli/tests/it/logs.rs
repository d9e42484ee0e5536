//! Our logs, read as captures are.

use std::fs;

use crate::run::{elf, run, text, values};
use tracewright_testkit::Scratch;
use tracewright_testkit::qemu::{Guest, Variant, build};

/// What `decode` lists of blocks and exceptions, without offsets and IDs, which differ between a log and its trace.
fn listed(line: &str) -> Vec<String> {
    let lines = run!("decode {line}").good();
    let rest = lines.lines().skip(1).filter_map(|line| line.trim_start().split_once(' '));
    let rest = rest.filter_map(|(_, rest)| rest.split_once(' ')).map(|(_, rest)| rest.to_owned());
    // Where trace units begin and end is no part of what ran.
    rest.filter(|line| {
        !line.contains("trace on") && !line.contains("context ") && !line.contains("exception ")
    })
    .collect()
}

/// The profile, without names of files and counts of bytes.
fn profiled(line: &str) -> String {
    let rows = run!("profile {line} --calls --format csv --rows blocks").ends_within(0..=1).out;
    // Calls of `recursion` are too deep.
    let functions = run!("profile {line} --calls").ends_within(0..=1).out;
    rows.lines().map(|row| row.split_once(',').map_or(row, |(_, row)| row)).collect::<Vec<_>>().join("\n")
        + &functions
}

#[test]
fn a_log_of_a_hart_is_read_as_its_trace_is() {
    for (program, is_bare) in [("sort", false), ("recursion", false), ("timer32", true)] {
        let place = Scratch::new("logs");
        let [capture, log] = ["capture", "run.log"].map(|name| place.join(name));
        let program = elf(program);
        run!("record -q --protocol etrace -o {capture} --log {log} --max-instructions 300000 {program}")
            .ends_within(0..=1);
        let of_log = format!("{log} --image {program}");
        let (mut one, mut other) = (listed(&of_log), listed(&capture));
        // The code of a bare machine's ROM is in a file of the capture.
        for list in [&mut one, &mut other] {
            list.retain(|line| !(is_bare && line.contains(" 0x1000 ")));
        }
        assert!(one.len() > 1000 && one == other, "{program}");
        run!("decode {of_log} --check {log}").ends(0);
        if is_bare {
            continue;
        }
        assert_eq!(profiled(&of_log), profiled(&capture), "{program}");
        let [coverage, of_trace] = [&of_log, &capture].map(|of| run!("coverage {of}").good());
        assert_eq!(coverage, of_trace, "{program}");
        run!("diff {capture} {of_log} --json").ends(0).prints("\"functions\":");
    }
}

#[test]
fn a_log_has_code_of_its_own_and_cycles() {
    let place = Scratch::new("logs");
    let log = place.join("run.log");
    run!("record -q --log {log} --details all --timing cva6_like {} -- 100", elf("sort")).good();
    run!("decode {log} --instructions").ends(0).prints("auipc gp,0x2").says_not("--image");
    run!("stalls {log}").nameless().prints("cycles of hart0, from cycle counts");
    run!("info {log}").ends(0).prints("with their bits     yes").prints("chunks of a log");
    run!("packets {log}").ends(2).says("is a log, which has no packets: decode shows what ran");
    run!("decode {log} --source etm4,id=1").ends(2).says("a log of tracewright describes itself");
    let other = run!("decode {log} --image {}", elf("hash"));
    other.ends(1).says("hash.elf: error: other code than ran at 0x");
}

#[test]
fn a_log_without_code_says_so() {
    let place = Scratch::new("logs");
    let log = place.join("run.log");
    run!("record -q --log {log} {} -- 100", elf("sort")).good();
    run!("decode {log}").ends(0).prints("0x10120    9 call").says("name the program with --image");
    run!("decode {log} --image {}", elf("sort")).ends(0).prints("_start+0x0").says_not("--image");
    // Blocks are listed and counted, and their instructions cannot be.
    let listing = run!("decode {log} --instructions --json").ends(1).prints(r#"{"incomplete":["no-code"]"#);
    listing.says("instructions ran and cannot be listed");
    run!("decode {log} --instructions --last 9").ends(1).says("ran and cannot be listed");
    run!("decode {log}").ends(0).says_not("cannot be listed");
    run!("decode {log} --instructions --image {}", elf("sort")).ends(0).says_not("cannot be listed");
    // A kept profile never tells the programs again.
    let kept = place.join("kept");
    for verb in ["merge", "profile --format tracewright"] {
        run!("{verb} {log} --force -o {kept}").ends(1).says("programs are missing for");
        run!("{verb} {log} --force -o {kept} --image {}", elf("sort")).ends(0);
    }
}

#[test]
fn damage_ends_what_is_decoded_and_is_told() {
    let place = Scratch::new("logs");
    let log = place.join("run.log");
    run!("record -q --log {log} {} -- 3000", elf("sort")).good();
    let whole = fs::read(&log).unwrap();
    let all = run!("decode {log} --summary --json").ends(0).json()["instructions"].as_u64().unwrap();
    let cut = place.write("cut.log", &whole[..whole.len() / 2]);
    let cut = run!("decode {} --summary --json", text(&cut)).ends(1).says("ends inside a message");
    assert!(cut.json()["instructions"].as_u64().unwrap() < all);
    let mut bad = whole.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    let bad = run!("decode {} --summary --json", text(&place.write("bad.log", &bad)))
        .ends(1)
        .says("its checksum is wrong");
    assert!(bad.json()["instructions"].as_u64().unwrap() < all);
    // Without its last chunk, the log does not say that it is whole.
    let open = place.write("open.log", &whole[..whole.len() - 24]);
    run!("decode {}", text(&open)).ends(1).prints("recording interrupted");
}

#[test]
fn each_thread_of_a_retirement_log_is_a_source() {
    for (guest, protocol) in [(Guest::Aarch64, "etm4"), (Guest::Riscv64, "etrace")] {
        let test = "each_thread_of_a_retirement_log_is_a_source";
        let Some(program) = build(test, guest, "threads", Variant::Static) else { continue };
        let place = Scratch::new("logs");
        let [capture, log] = ["capture", "q.log"].map(|name| place.join(name));
        run!("record --qemu -q --protocol {protocol} -o {capture} --log {log} {}", text(&program)).ends(0);
        let info = run!("info {capture} --json").ends(0).json();
        for thread in 0..5 {
            // In an Arm capture, the core is the thread.
            let is_it = |source: &&serde_json::Value| {
                let name = format!("thread{thread}");
                source["name"] == *name || source["core"]["name"] == *name
            };
            let sources = info["sources"].as_array().unwrap();
            let source = sources.iter().find(is_it).unwrap();
            let of_trace = match protocol {
                "etm4" => format!("{capture} --id {}", source["id"]),
                _ => format!("{capture} --buffer thread{thread}"),
            };
            let one = listed(&format!("{log} --id {thread}"));
            assert!(one.len() > 10 && one == listed(&of_trace), "{guest:?} {thread}");
        }
        assert_eq!(profiled(&log), profiled(&capture), "{guest:?}");
    }
}

#[test]
fn a_damaged_retirement_log_is_told() {
    let place = Scratch::new("logs");
    let sample = fs::read("../../samples/retirement.log").unwrap();
    // One of its threads was killed, or crashed: what ran before that is there, as in a capture that is made of it.
    run!("decode samples/retirement.log").ends(0);
    let cut = place.write("cut.log", &sample[..sample.len() - 4000]);
    run!("decode {}", text(&cut)).ends_within(0..=1);
    for (number, at) in (0..sample.len()).step_by(509).enumerate() {
        let mut bytes = sample.clone();
        bytes[at] ^= 0x55;
        let path = place.write(format!("{number}.log"), &bytes);
        run!("profile {}", text(&path)).ends_within(0..=2);
    }
}

/// A retirement log that ends inside a chunk was cut short, and every verb that reads it says so. The status is 1; where no thread is left, 2.
#[test]
fn a_retirement_log_that_was_cut_short_is_told() {
    let place = Scratch::new("logs");
    let sample = fs::read("../../samples/retirement.log").unwrap();
    // Its chunks have 4096 bytes, and so has its header.
    let cut = place.write("cut.log", &sample[..sample.len() - 2000]);
    let path = text(&cut);
    let told =
        format!("the log was cut short: it ends inside a chunk (at offset {:#x})", sample.len() - 2000);
    let out = place.join("out");
    for line in ["decode", "decode --summary", "profile", "coverage", "info", "stats"] {
        run!("{line} {path}").ends(1).says(&told);
    }
    run!("encode {path} -o {out}").ends(1).says(&told);
    let summaries: Vec<_> = values(&run!("decode {path} --summary --json").ends(1).out).collect();
    let cut =
        summaries.iter().any(|of| of["incomplete"].as_array().is_some_and(|reasons| !reasons.is_empty()));
    assert!(cut, "{summaries:?}");
    // No chunk of a thread is left.
    let cut = place.write("shorter.log", &sample[..5000]);
    let path = text(&cut);
    for (line, status) in [("decode", 2), ("profile", 2), ("info", 1)] {
        run!("{line} {path}").ends(status).says("the log was cut short: it ends inside a chunk");
    }
    run!("stats {path}").ends(2).says("the log has no thread");
}

/// The sources of E-Trace of threads have one ID: what tells them apart is said.
#[test]
fn sources_with_one_id_are_told_apart() {
    let place = Scratch::new("logs");
    let capture = place.join("threads");
    run!("encode samples/retirement.log -o {capture}").ends_within(0..=1);
    let how = "--tid takes thread IDs (1234, 1235)";
    let none = "no source has trace ID 0x01; all 2 have 0x00: ";
    run!("profile {capture} --id 1").ends(2).says(format!("{none}{how}"));
    let none = "--cpu 1: nothing tells which core a source traces: ";
    run!("profile {capture} --cpu 1").ends(2).says(format!("{none}{how}"));
    run!("profile {capture} --tid 1235").ends_within(0..=1).says_not("trace ID");
    // Without names of threads there are still their numbers.
    fs::remove_file(format!("{capture}/mappings.toml")).unwrap();
    run!("profile {capture} --id 1").ends(2).says("--tid takes thread IDs (1234, 1235)");
}

/// A log, a profile or a recording is read at any place: from a pipe it is refused with what it is.
#[test]
fn what_cannot_come_from_a_pipe_is_named() {
    let place = Scratch::new("logs");
    let profile = place.join("kept.profile");
    run!("profile samples/hello --format tracewright -o {profile}").ends_within(0..=1);
    for (file, what) in [
        ("samples/retirement.log", "a log of tracewright"),
        ("samples/perf/perf.data", "a recording of perf"),
        (&profile, "a profile"),
    ] {
        let file = fs::File::open(crate::run::root().join(file)).unwrap();
        let ran = crate::run::ran(crate::run::command("decode -").stdin(file)).ends(2);
        ran.says(format!("- is {what}, which cannot come from a pipe: give the file"));
    }
    let raw = fs::File::open("../../samples/hello/buffer_0.bin").unwrap();
    crate::run::ran(crate::run::command("info -").stdin(raw)).ends(0).prints("looks like CoreSight");
}
