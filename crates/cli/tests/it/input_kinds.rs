//! Files that are no captures are named for what they are, in every verb; programs that are nowhere, and folders that cannot be read.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::run::{Ran, copy_folder, elf, ran, root, run, text, words};
use tracewright_testkit::qemu::{Guest, Variant, build};
use tracewright_testkit::{Scratch, captures_for, skip};

/// Verbs that take a capture, which is `{}`.
const VERBS: [&str; 10] = [
    "info {}",
    "packets {}",
    "stats {}",
    "decode {}",
    "coverage {}",
    "annotate {} main",
    "stalls {}",
    "timeline {} -o /dev/null",
    "diff {} {}",
    "profile {}",
];

fn says(place: &Scratch, name: &str, bytes: &[u8], verbs: &[&str], expected: &str) {
    let file = place.write(name, bytes);
    for verb in verbs {
        run!("{}", verb.replace("{}", text(&file))).ends(2).says(format!("{} {expected}", text(&file)));
    }
}

#[test]
fn every_verb_says_what_a_file_is() {
    let place = Scratch::new("kinds");
    let core = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &[4, 0], &[0; 60]].concat();
    let tar = [&[b'a'; 257][..], b"ustar\0"].concat();
    let csv = b"VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n1,80000000,13,3,0,0,0,0\n";
    let program = fs::read(root().join(elf("sort"))).unwrap();
    for (name, bytes, expected) in [
        ("empty", &b""[..], "is empty"),
        ("a.out", &program, "is a program (ELF), not a capture"),
        ("core", &core, "is a core dump"),
        ("notes.txt", b"what ran, and why\n", "is text, not trace"),
        ("x.zip", b"PK\x03\x04\x14\0\0\0", "is an archive (zip): unpack it"),
        ("x.tar", &tar, "is an archive (tar)"),
        ("delta.bin", b"\x01\x02\x03TWD\x01", "is retirement-delta trace"),
        (
            "spike.log",
            b"core   0: 0x0000000000001000 (0x00000297) auipc   t0, 0x0\n",
            "is a log of Spike: encode makes",
        ),
        ("run.csv", csv, "is a log of retirements (CSV)"),
        ("in.csv", b"itype_0,iaddr_0,iretire_0\n", "is the input of a trace encoder (CSV): encode makes"),
        ("capture.toml", b"format = 1\n", "belongs to a capture: give its folder"),
        ("raw", &[0xff; 512], "does not describe itself: if it is raw trace"),
    ] {
        let verbs = [&VERBS[..], &["profile {} --symfs ."]].concat();
        says(&place, name, bytes, &verbs, expected);
    }
    // What these hold, profile reads; the others say so.
    says(&place, "list", b"simpleperf:EtmBranchList", &VERBS[..9], "is a branch list of simpleperf");
    let kept = place.join("kept.prof");
    run!("profile samples/hello --format tracewright -o {kept}").ends(0);
    for verb in &VERBS[..4] {
        run!("{}", verb.replace("{}", &kept)).ends(2).says(format!("{kept} is a profile, without any trace"));
    }
}

#[test]
fn a_branch_list_without_its_program_says_what_is_missing() {
    let Some(captures) =
        captures_for("a_branch_list_without_its_program_says_what_is_missing", "perf/simpleperf")
    else {
        return;
    };
    let list = captures.join("old_branch_list.data");
    let place = Scratch::new("kinds");
    let moved = place.join("list.data");
    fs::copy(&list, &moved).unwrap();
    let ran = run!("profile {moved}").ends(2).says("none of its 1 is here: name them with --image");
    ran.says("[kernel.kallsyms]").says_not("there is no trace");
}

#[test]
fn a_program_that_can_be_anywhere_is_placed_or_told() {
    let test = "a_program_that_can_be_anywhere_is_placed_or_told";
    run!("decode samples/hello --image {}", elf("sort")).says_not("position-independent");
    let Some(program) = build(test, Guest::Aarch64, "unwind", Variant::StaticPie) else { return };
    let (place, program) = (Scratch::new("kinds"), text(&program));
    run!("decode samples/hello --image {program}")
        .says("a position-independent program")
        .says("(FILE@ADDRESS)");
    run!("decode samples/hello --image {program}@0x10000000").says_not("position-independent");
    // A capture with mappings says where it was: the copy gives the symbols that the program itself does not have here.
    let capture = place.join("capture");
    let gone = place.join("unwind-staticpie");
    fs::copy(program, &gone).unwrap();
    run!("record --qemu -q --protocol etm4 -o {capture} {gone}").ends(0);
    fs::remove_file(&gone).unwrap();
    run!("profile {capture}")
        .says_not("position-independent")
        .says("of a known function                      0");
    let named = run!("profile {capture} --image {program}").says_not("position-independent");
    named.prints("compare+0x0");
}

#[test]
fn a_folder_that_cannot_be_read_is_told() {
    let test = "a_folder_that_cannot_be_read_is_told";
    let place = Scratch::new("kinds");
    let folder = place.join("capture");
    copy_folder(root().join("samples/hello"), &folder);
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o000)).unwrap();
    // Whoever may do anything can read it.
    let line = format!("--reuid=65534 --clear-groups {} info {folder}", env!("CARGO_BIN_EXE_tracewright"));
    let output = Command::new("setpriv").args(words(&line)).output();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    match output {
        Ok(output)
            if output.stdout.is_empty()
                && String::from_utf8_lossy(&output.stderr).starts_with("tracewright: ") =>
        {
            Ran::new(line, output)
                .ends(2)
                .says("cannot look into the folder: Permission denied")
                .says_not("not a capture");
        }
        _ => skip(test, "no other user to run as (setpriv)"),
    }
}

#[test]
fn what_info_says_of_a_raw_file_can_be_used() {
    for (file, packets) in
        [("samples/two-cores/buffer_0.bin", "Trace Info"), ("samples/hello/buffer_0.bin", "Trace Info")]
    {
        let info = run!("info {file} --json").ends(0).json();
        let options = info["fits"][0]["options"].as_str().unwrap();
        // Registers are missing, so some bytes are no packet.
        run!("packets {file} {options}").ends_within(0..=1).prints(packets);
        run!("packets {file}").ends(2).says("tracewright info FILE tells what fits");
    }
    let place = Scratch::new("kinds");
    let noise = place.write("noise", &[0xff; 4096]);
    let nothing = run!("info {}", text(&noise)).ends(2).says("nothing in its 4096 bytes looks like trace");
    nothing.says_not("tracewright info");
    let none = run!("info {} --json", text(&noise)).ends(2).says("looks like trace").json();
    assert_eq!(none["fits"].as_array().unwrap().len(), 0);
}

/// Types what `info` says to try, with more options, in a shell.
fn tried(file: &str, more: &str) -> Ran {
    let info = run!("info {file}").ends(0).out;
    // Lines fit, but for those with a path, which may be as long as it likes.
    assert!(info.lines().all(|line| line.chars().count() <= 80 || line.contains('/')), "{info}");
    let (_, line) = info.split_once("\n  try      ").unwrap_or_else(|| panic!("{info}"));
    // A backslash at the end of a line joins it with the next.
    let mut typed = String::new();
    for line in line.lines() {
        typed += line.trim_end_matches('\\');
        if !line.ends_with('\\') {
            break;
        }
    }
    let command = env!("CARGO_BIN_EXE_tracewright");
    let typed = match typed.starts_with("tail ") {
        true => typed.replace("| tracewright", &format!("| {command}")),
        false => format!("{command} decode {file} {typed}"),
    };
    ran(Command::new("sh").args(["-c", &format!("{typed} {more}")]).current_dir(root()))
}

/// Recordings of ours whose description was lost: with the program and what `info` says, all instructions come back.
#[test]
fn a_recording_is_read_without_its_description() {
    let place = Scratch::new("kinds-own");
    for (number, (program, more)) in [
        ("sort", ""),
        ("tasks32", ""),
        ("args", "--option encapsulation=smi"),
        ("args", "--option data=address,value"),
    ]
    .into_iter()
    .enumerate()
    {
        let capture = place.join(&format!("run{number}"));
        run!("record -q {more} -o {capture} programs/bin/{program}.elf").ends_within(0..=1);
        let expected = run!("decode {capture} --summary --json").ends_within(0..=1).out;
        let file = format!("{capture}/trace.bin");
        // What runs before a bare program is not in its file.
        let rom = format!("{capture}/code.bin");
        let rom = if fs::exists(&rom).unwrap() { format!("--image {rom}@1000") } else { String::new() };
        let told = tried(&file, &format!("--image programs/bin/{program}.elf {rom} --summary --json"));
        let count =
            |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap()["instructions"].clone();
        assert_eq!(count(&told.ends_within(0..=1).out), count(&expected), "{program} {more}");
        run!("info {file}").ends(0).prints(format!("  tracewright info {capture}\n"));
    }
}

/// Traces of the reference flow and its C codec: messages of SMI, and packets that make sense.
#[test]
fn messages_of_the_reference_flow_are_recognised() {
    let Some(captures) = captures_for("messages_of_the_reference_flow_are_recognised", "riscv/etrace") else {
        return;
    };
    let mut seen = 0;
    for folder in
        ["itype3_basic", "itype3_debug", "itype4_basic", "itype4_debug", "itype4_fake_scf", "c_codec_options"]
    {
        for file in fs::read_dir(captures.join(folder)).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_none_or(|ending| ending != "te_inst_raw") {
                continue;
            }
            let file = text(&file);
            let info = run!("info {file} --json").ends(0).json();
            let options = info["fits"][0]["options"].as_str().unwrap();
            assert!(options.contains("encapsulation=smi"), "{file}: {options}");
            run!("stats {file} {options}").ends(0);
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

/// Frames after a header, or of which the first is cut.
/// Dumps of memory, programs without their headers, and what nobody wrote are no trace.
#[test]
fn memory_is_not_taken_for_trace() {
    let folder = Scratch::new("memory-no-trace");
    let mut images = vec![
        folder.write("zeros", &[0; 300_000]),
        folder.write("ones", &[0xff; 300_000]),
        folder.write("numbers", &(0..60_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>()),
    ];
    for name in fs::read_dir(root().join("programs/bin")).unwrap() {
        let path = name.unwrap().path();
        // Without the magic and the header, it is code and data.
        let bytes = fs::read(&path).unwrap();
        images.push(folder.write(path.file_name().unwrap().to_str().unwrap(), &bytes[64..]));
    }
    if let Some(captures) = captures_for("memory_is_not_taken_for_trace", "coresight") {
        // Those that devices of a snapshot name as dumps.
        for capture in
            captures.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
        {
            for file in capture.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
                let text = fs::read_to_string(&file).unwrap_or_default();
                let (mut is_dump, is_device) =
                    (false, file.extension().is_some_and(|ending| ending == "ini"));
                for line in text.lines().map(str::trim).filter(|_| is_device) {
                    is_dump = if line.starts_with('[') { line.starts_with("[dump") } else { is_dump };
                    let name = line.strip_prefix("file").filter(|_| is_dump);
                    let path = name.map(|name| capture.join(name.trim_start_matches([' ', '=']).trim()));
                    // A few instructions may be anything.
                    images.extend(path.filter(|path| path.metadata().is_ok_and(|file| file.len() >= 256)));
                }
            }
        }
        assert!(images.len() > 30, "{}", images.len());
    }
    images.sort();
    images.dedup();
    for image in images {
        let ran = run!("info {}", text(&image)).ends(2);
        assert_eq!(ran.out, "", "{}", image.display());
        let is_told = ["looks like trace that tracewright knows", "not trace", "a program", "an ELF"];
        assert!(is_told.iter().any(|part| ran.err.contains(part)), "{}: {}", image.display(), ran.err);
    }
}

#[test]
fn frames_are_found_wherever_they_begin() {
    let place = Scratch::new("kinds-shifted");
    let frames = fs::read(root().join("samples/two-cores/buffer_0.bin")).unwrap();
    for skip in [1, 5, 15, 100] {
        let file = place.write(format!("shifted{skip}.bin"), &[&vec![0x5a; skip][..], &frames].concat());
        let info = run!("info {} --json", text(&file)).ends(0).json();
        assert_eq!(info["fits"][0]["skip"], skip % 16, "{info}");
        tried(text(&file), "--no-image").ends_within(0..=1).prints("0xffff800010081000");
    }
    let file = place.write("cut.bin", &frames[3..]);
    run!("info {}", text(&file)).ends(0).prints("looks like CoreSight frames, after the first 13 bytes");
    let file = place.write("whole.bin", &frames);
    assert_eq!(run!("info {} --json", text(&file)).ends(0).json()["fits"][0]["skip"], 0);
}
