//! Output folders of captures, and the checksums of their files.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tracewright_core::Isa;
use tracewright_etrace::stream::{Config, Encapsulation};
use tracewright_etrace::{Options, Params, data};
use tracewright_input::Packing;
use tracewright_input::{
    Capture, CaptureWriter, EtraceSource, ImageFile, MemorySpace, OutputFolder, Problem, Replace,
    SnapshotWriter, map_file,
};

use crate::elf;
use crate::support::{Folder, listed};

/// Returns a snapshot that our writer made.
fn snapshot() -> Folder {
    let folder = Folder::new();
    let mut writer = SnapshotWriter::create(folder.path()).unwrap();
    let core = writer.core("cpu_0", "Cortex-A53", &[]).unwrap();
    let registers = [
        ("TRCCONFIGR", 0),
        ("TRCIDR0", 0x2800_0ea1),
        ("TRCIDR1", 0x4100_f403),
        ("TRCIDR2", 0x488),
        ("TRCIDR8", 0),
    ];
    let etm = writer.source("ETM_0", "ETM4", &[&registers[..], &[("TRCTRACEIDR", 0x10)]].concat()).unwrap();
    writer.dump(core, 0x8000, MemorySpace::ANY, &[0x1f, 0x20, 0x03, 0xd5][..]).unwrap();
    let trace = vec![7; (1 << 20) + 100];
    let buffer = writer.buffer("ETB_0", Packing::Source, &trace[..]).unwrap();
    writer.connect(etm, buffer, Some(core)).unwrap();
    writer.finish().unwrap();
    folder
}

fn problems(folder: &Folder, accept: bool) -> Vec<String> {
    let capture = Capture::open(folder.path()).unwrap();
    let (image, problems) = capture.image_of(&[], accept);
    let mut bytes = [0; 4];
    let read = image.read_into(0x8000, MemorySpace::ANY, &mut bytes);
    assert_eq!(read, if problems.is_empty() || accept { 4 } else { 0 });
    [listed(&capture.problems, folder.path()), listed(&problems, folder.path())].concat()
}

#[test]
fn snapshots_that_we_write_are_checked() {
    let folder = snapshot();
    assert_eq!(problems(&folder, false), [""; 0]);
    let capture = Capture::open(folder.path()).unwrap();
    let sums = capture.checksums.of(&folder.path().join("buffer_0.bin")).unwrap();
    assert_eq!((sums.bytes, sums.piece()), ((1 << 20) + 100, 1 << 20));
    assert!(sums.fits(0, &vec![7; 1 << 20]) && sums.fits(1, &[7; 100]));
    assert!(!sums.fits(0, &vec![8; 1 << 20]) && !sums.fits(1, &[8; 100]));
    // If a file has grown, its former part counts; if it was cut, its length does.
    assert!(
        sums.fits(1, &[&[7; 100][..], &[8; 100]].concat()) && sums.fits(1, &[8; 99]) && sums.fits(2, &[8])
    );
    let folder = folder.with("buffer_0.bin", [7; 50]);
    let cut = "buffer_0.bin: error: has 50 bytes, and 1048676 were recorded: it was cut short since";
    assert_eq!(problems(&folder, false), [cut]);
    let folder = snapshot().with("dump_0_0.bin", [0x1f, 0x20, 0x03, 0xd4]);
    let changed = "dump_0_0.bin: error: is not what was recorded (checksum of the bytes from 0x0 on): ";
    for (accept, what) in [(false, "it is left out"), (true, "it is used")] {
        let problems = problems(&folder, accept);
        assert!(problems.len() == 1 && problems[0].starts_with(&format!("{changed}{what}")), "{problems:?}");
    }
}

#[test]
fn checksums_that_make_no_sense_are_told() {
    let text = |file: &str| format!("format = 1\npiece = 16\n[[file]]\n{file}");
    for (file, expected) in [
        ("name = \"buffer_0.bin\"", "a file has a name and a number of bytes: not checked"),
        (
            "name = \"a\"\nbytes = 17\ncrc32 = \"00000000\"",
            "\"a\": crc32 has not eight digits a piece: not checked",
        ),
        (
            "name = \"a\"\nbytes = 16\ncrc32 = \"0000000g\"",
            "\"a\": crc32 has not eight digits a piece: not checked",
        ),
        (
            "name = \"a\"\nbytes = 16\ncrc32 = \"000000000\"",
            "\"a\": crc32 has not eight digits a piece: not checked",
        ),
    ] {
        let folder = snapshot().with("checksums.toml", text(file));
        assert_eq!(problems(&folder, false), [format!("checksums.toml:3: error: {expected}")]);
    }
    let folder = snapshot().with(
        "checksums.toml",
        "format = 1\npiece = 0xffffffffffff\n[[file]]\nname = \"a\"\nbytes = 1\ncrc32 = \"00000000\"",
    );
    assert_eq!(problems(&folder, false).len(), 1, "pieces are held in memory");
    let folder = snapshot().with("checksums.toml", "format = 1\nfinished = false\n");
    let cut = "checksums.toml:2: error: the recording was not finished: the end is missing";
    assert_eq!(problems(&folder, false), [cut]);
    let folder = snapshot().without("snapshot.ini");
    let error = Capture::open(folder.path()).unwrap_err();
    assert!(error.message.starts_with("the recording was cut off before"), "{error}");
}

fn claim(dir: &Path) -> Result<OutputFolder, Problem> {
    OutputFolder::claim(dir, Replace::SameKind)
}

#[test]
fn folders_are_claimed_once_and_files_are_replaced() {
    let folder = Folder::new();
    let [run, part, theirs] = ["run", "run.part", "theirs"].map(|name| folder.path().join(name));
    fs::write(&theirs, "theirs").unwrap();
    let claimed = claim(&run).unwrap();
    let error = claim(&run).unwrap_err();
    assert!(error.message.starts_with("another recording is writing"), "{error}");
    for name in ["a", "b", "c.part"] {
        symlink(&theirs, part.join(name)).unwrap();
    }
    claimed.create("a").unwrap();
    claimed.replace("b", b"ours").unwrap();
    claimed.replace("c", b"ours").unwrap();
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    assert!(!part.join("b.part").exists() && !part.join("c.part").exists());
    assert!(!run.exists());
    assert_eq!(claimed.finish().unwrap(), run);
    assert_eq!(fs::read(run.join("b")).unwrap(), b"ours");
    assert!(!part.exists());
    let error = claim(&run).unwrap_err();
    assert!(error.message.starts_with("the folder is not empty and holds no capture"), "{error}");
    // A description that a person wrote is no mark of ours, and neither is a link.
    fs::write(run.join("capture.toml"), "format = 1\n").unwrap();
    assert!(claim(&run).is_err());
    fs::remove_file(run.join("capture.toml")).unwrap();
    symlink(&theirs, run.join("capture.toml")).unwrap();
    assert!(claim(&run).is_err());
    let link = folder.path().join("link");
    symlink(&run, &link).unwrap();
    for link in [link.clone(), link.join(""), link.join(".")] {
        let error = claim(&link).unwrap_err();
        assert!(error.message.starts_with("is a symbolic link"), "{error}");
    }
    let error = claim(&folder.path().join("no/such")).unwrap_err();
    assert!(error.message.starts_with("cannot write here: No such file"), "{error}");
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// An earlier capture is there until the new one is complete, and then nothing of it is left. What is not of a capture is never removed.
#[test]
fn a_capture_replaces_an_earlier_one_as_a_whole() {
    let folder = Folder::new();
    let run = folder.path().join("run");
    let make = |buffer: &str, bytes: &[u8], is_finished: bool| {
        let mut writer = CaptureWriter::create(&run)?;
        writer.buffer(buffer, &[])?.1.write_all(bytes).unwrap();
        assert!(names(folder.path()).contains(&"run.part".into()));
        if is_finished { writer.abandon() } else { Ok(()) }
    };
    make("first", b"1", true).unwrap();
    let first = ["capture.toml", "first.bin"];
    assert_eq!(names(&run), first);
    // Without any trace, nothing is replaced.
    make("second", b"", false).unwrap();
    assert_eq!((names(&run), names(folder.path())), (first.map(String::from).to_vec(), vec!["run".into()]));
    // What was recorded is kept.
    make("second", b"2", false).unwrap();
    assert_eq!(names(&run), ["capture.toml", "second.bin"]);
    fs::write(run.join("notes.txt"), "theirs").unwrap();
    let error = make("third", b"3", true).unwrap_err();
    assert!(error.message.starts_with("the folder holds \"notes.txt\" besides a capture"), "{error}");
    let claimed = OutputFolder::claim(&run, Replace::Anything).unwrap();
    CaptureWriter::within(claimed).unwrap().abandon().unwrap();
    assert_eq!(names(&run), ["capture.toml", "notes.txt"]);
    assert_eq!(names(folder.path()), ["run"]);
}

/// A recording that was killed is found beside its name, and gives way to the next. Something else of that name does not.
#[test]
fn what_a_killed_recording_left_is_replaced() {
    let folder = Folder::new();
    let (run, part) = (folder.path().join("run"), folder.path().join("run.part"));
    fs::create_dir(&part).unwrap();
    fs::write(part.join("capture.toml"), "format = 1\nfinished = false\n").unwrap();
    fs::write(part.join("trace.bin"), "1").unwrap();
    CaptureWriter::create(&run).unwrap().abandon().unwrap();
    assert_eq!((names(&run), part.exists()), (vec!["capture.toml".into()], false));
    fs::create_dir(&part).unwrap();
    fs::write(part.join("notes.txt"), "theirs").unwrap();
    let error = claim(&run).unwrap_err();
    assert!(error.message.contains("run.part is in the way"), "{error}");
}

/// Folders of processes take their place together with the first.
#[test]
fn folders_inside_a_folder_come_with_it() {
    let folder = Folder::new();
    let run = folder.path().join("run");
    let first = claim(&run).unwrap();
    let second = first.inside("pid7").unwrap();
    CaptureWriter::within(first).unwrap().abandon().unwrap();
    assert!(!run.exists());
    CaptureWriter::within(second).unwrap().abandon().unwrap();
    assert_eq!(
        (names(&run), names(&run.join("pid7"))),
        (vec!["capture.toml".into(), "pid7".into()], vec!["capture.toml".into()])
    );
    CaptureWriter::create(&run).unwrap().abandon().unwrap();
    assert_eq!(names(&run), ["capture.toml"]);
}

/// Does not wait for the lock of a folder at a pipe. Snapshots without checksums come from other tools.
#[test]
fn what_is_not_ours_is_left_alone() {
    let folder = snapshot();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let error = claim(&pipe).unwrap_err();
    assert_eq!(error.message, "is not a folder");
    fs::remove_file(&pipe).unwrap();
    claim(folder.path()).unwrap();
    let folder = snapshot().without("checksums.toml");
    let error = SnapshotWriter::create(folder.path()).unwrap_err();
    assert!(error.message.starts_with("the folder is not empty and holds no capture"), "{error}");
    assert_eq!(Capture::open(folder.path()).unwrap().problems, []);
}

/// Returns a RISC-V program with this code at 0x8000, and with a build ID.
fn program(code: u8, id: Option<u8>) -> Vec<u8> {
    let mut program = elf::program(0x8000, vec![code; 4], vec![]);
    program.machine = elf::EM_RISCV;
    if let Some(id) = id {
        let note = [&[4, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0][..], b"GNU\0", &[id]].concat();
        program.sections.push(elf::own_section(".note.gnu.build-id", 7, 0, note, 0));
    }
    program.write()
}

#[test]
fn a_program_that_is_not_what_ran_is_left_out() {
    let folder = Folder::new().with("app.elf", program(1, Some(0xab)));
    let (original, dir) = (folder.path().join("app.elf"), folder.path().join("run"));
    let mut writer = CaptureWriter::create(&dir).unwrap();
    let config = Config {
        params: Params::default(),
        encapsulation: Encapsulation::Standard { source_bits: 0, timestamp_bytes: 0, type_bits: 1 },
        options: Options::default(),
        data: data::Options::default(),
    };
    let source = EtraceSource { config, source: 0, isa: Isa::Rv32, handlers: Vec::new() };
    let source = writer.source("hart", source);
    writer.buffer("trace", &[source]).unwrap().1.write_all(&[1]).unwrap();
    writer.image(&original, None).unwrap();
    writer.finish().unwrap();
    let copy = dir.join("app.elf");
    let check = |expected: &str| {
        let capture = Capture::open(&dir).unwrap();
        for accept in [false, true] {
            let (image, problems) = capture.image_of(&[], accept);
            let problems = listed(&problems, &dir).join("\n");
            assert!(
                problems.starts_with(expected) && problems.is_empty() == expected.is_empty(),
                "{problems}"
            );
            let is_used = !image.read(0x8000, MemorySpace::ANY).is_empty();
            assert_eq!(is_used, accept || expected.is_empty(), "{problems}");
        }
        // Files that the user names are used whatever the copy is.
        let named = ImageFile { path: original.clone(), at: None };
        assert_eq!(capture.image_of(&[named], false).0.read(0x8000, MemorySpace::ANY), [1; 4]);
    };
    check("");
    let changed = "app.elf: error: is not what was recorded (checksum of the bytes from 0x0 on)";
    fs::write(&copy, program(2, Some(0xab))).unwrap();
    check(changed);
    let other = "app.elf: error: its build ID is";
    fs::write(&copy, program(2, Some(0xcd))).unwrap();
    check(&format!("{other} cd, and ab ran"));
    // Without checksums, the build ID decides.
    let toml = dir.join("capture.toml");
    let text = fs::read_to_string(&toml).unwrap();
    fs::write(&toml, text.replace("checksums = \"checksums.toml\"\n", "")).unwrap();
    check(&format!("{other} cd, and ab ran"));
    fs::write(&copy, program(2, None)).unwrap();
    check(&format!("{other} none, and ab ran"));
    fs::write(&copy, program(2, Some(0xab))).unwrap();
    check("");
}

/// A mapped file would end the process.
#[test]
fn a_program_that_becomes_shorter_does_no_harm() {
    let folder = Folder::new().with("app.elf", vec![1; 1 << 20]);
    let path = folder.path().join("app.elf");
    let bytes = map_file(&path).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    assert!(bytes.as_slice().iter().all(|&byte| byte == 1));
}
