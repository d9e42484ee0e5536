//! Our own capture folder: written, read back, and with every fault that people manage.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::support::{CAPTURE, Folder, listed};
use tracewright_core::{Isa, MemorySpace};
use tracewright_etrace::stream::{Config, Encapsulation};
use tracewright_etrace::{Options, Params, SupportLayout, data};
use tracewright_input::{
    Capture, CaptureWriter, EtraceSource, ImageFile, OutputFolder, Packing, Protocol, RawSource, Replace,
};
use tracewright_testkit::{Rng, captures_for};

fn folder(text: &str) -> Folder {
    Folder::new().with("capture.toml", text).with("trace.bin", [1, 2, 3]).with("rom.bin", [0x13, 0, 0, 0])
}

/// Opens a capture and compares its problems, which are all in `capture.toml`.
fn check(text: &str, expected: &[&str]) -> Capture {
    let folder = folder(text);
    let capture = Capture::open(folder.path()).unwrap();
    let expected: Vec<_> = expected.iter().map(|problem| format!("capture.toml:{problem}")).collect();
    assert_eq!(listed(&capture.problems, folder.path()), expected);
    capture
}

fn etrace(capture: &Capture, index: usize) -> &EtraceSource {
    match &capture.sources[index].protocol {
        Protocol::Etrace(source) => source,
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_that_is_said_is_read() {
    let folder = folder(CAPTURE);
    let capture = Capture::open(folder.path()).unwrap();
    assert!(capture.problems.is_empty(), "{:?}", capture.problems);
    assert_eq!(capture.description.as_deref(), Some("a test"));
    let source = etrace(&capture, 0);
    assert_eq!((source.source, source.isa), (3, Isa::Rv32));
    let params = Params {
        iaddress_width: 32,
        daddress_width: 32,
        data_width: 32,
        context_width: 8,
        nocontext: false,
        ..Params::default()
    };
    assert_eq!(source.config.params, params);
    assert!(source.config.options.implicit_return && !source.config.options.full_address);
    let encapsulation = Encapsulation::Standard { source_bits: 6, timestamp_bytes: 2, type_bits: 1 };
    assert_eq!(source.config.encapsulation, encapsulation);
    let buffer = &capture.buffers[0];
    assert_eq!((buffer.name.as_str(), buffer.format), ("sink", Packing::Source));
    assert_eq!((&buffer.path, &buffer.sources[..]), (&folder.path().join("trace.bin"), &[0][..]));
    assert!(capture.is_riscv());
    let (image, problems) = capture.image(&[]);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(image.read(0x1000, MemorySpace::ANY), [0x13, 0, 0, 0]);
}

#[test]
fn problems_have_lines_and_say_what_follows() {
    let other = |from: &str, to: &str| CAPTURE.replace(from, to);
    check(
        &other("id = 3", "id = 3\ncolour = \"red\""),
        &["8: warning: [[source]] has no key \"colour\": passed over; there are name, protocol, id, isa, \
handlers, delta, encapsulation, params, options, data_options"],
    );
    check(
        &other("implicit_return", "implicit_banana"),
        &["13: warning: options has no \"implicit_banana\": passed over"],
    );
    check(
        &other("description", "descripton"),
        &["2: warning: the file has no key \"descripton\": passed over; there are format, description, \
finished, checksums, [[source]], [[buffer]], [[image]]"],
    );
    let skipped = |from: &str, to: &str, line: u32, problem: &str, table: &str| {
        let problem = format!("{line}: error: {problem}");
        let left_out = "18: error: no source has the name \"hart0\" and can be read: left out";
        let problems = [&problem, table, left_out];
        check(&other(from, to), &problems[..if table.contains("source") { 3 } else { 2 }]);
    };
    let buffer = "15: error: the buffer is skipped: repair what is wrong with it";
    let image = "20: error: the image is skipped: its code will be missing";
    let source = "4: error: the source is skipped: repair what is wrong with it";
    skipped("trace.bin", "gone.bin", 17, "\"gone.bin\": no such file", buffer);
    skipped("rom.bin", "gone.bin", 21, "\"gone.bin\": no such file", image);
    skipped("trace.bin", ".", 17, "\".\": not a plain file", buffer);
    skipped("file = \"trace.bin\"", "", 15, "file is missing", buffer);
    skipped("0x1000", "\"0x1000\"", 22, "address: expected a number from 0 on, found \"string\"", image);
    skipped("0x1000", "-1", 22, "address: expected a number from 0 on, found \"-1\"", image);
    skipped(
        "0x1000",
        "0x1000\noffset = 1\nlength = 4",
        21,
        "\"rom.bin\": 4 bytes at offset 1 are not in it (4 bytes)",
        image,
    );
    skipped("address = 0x1000", "offset = 1", 21, "a part of a file (offset, length) has an address", image);
    skipped("\"rv32\"", "\"arm\"", 8, "isa \"arm\": expected \"rv32\" or \"rv64\"", source);
    skipped("id = 3", "id = 65536", 7, "id 65536: expected 0 to 0xffff", source);
    skipped("= 32", "= 100", 10, "iaddress_width: 100 is not from 8 to 64", source);
    skipped("= 32", "= -1", 10, "iaddress_width: `-1` is not a number", source);
    skipped("standard", "frames", 9, "encapsulation \"frames\": expected standard, smi, pulp", source);
    skipped("= 6", "= \"six\"", 9, "source_bits: expected a number from 0 on, found \"string\"", source);
    check(
        &other("[\"hart0\"]", "[\"hart1\"]"),
        &["18: error: no source has the name \"hart1\" and can be read: left out"],
    );
    check(&other("format = 1", ""), &[" error: format = 1 is missing: is this a capture?"]);
    check("", &[" error: format = 1 is missing: is this a capture?"]);
}

/// Reads a source with a delta trace beside it. Without that file, all else can be read.
#[test]
fn a_delta_trace_that_is_not_there_is_a_problem_of_its_own() {
    let with = |value: &str| CAPTURE.replace("id = 3", &format!("id = 3\ndelta = {value}"));
    let capture = check(&with("\"trace.bin\""), &[]);
    assert_eq!(capture.sources[0].delta.as_deref().and_then(Path::file_name), Some("trace.bin".as_ref()));
    assert_eq!(check(CAPTURE, &[]).sources[0].delta, None);
    for (value, problems) in [
        (
            "\"gone.bin\"",
            &["8: error: delta \"gone.bin\": no such file: cycles of instructions will not be known"][..],
        ),
        ("\".\"", &["8: error: delta \".\": not a plain file: cycles of instructions will not be known"]),
        (
            "3",
            &[
                "8: error: delta: expected a text in quotes, found \"3\"",
                "4: error: the delta trace is skipped: cycles of instructions will not be known",
            ],
        ),
    ] {
        let capture = check(&with(value), problems);
        assert_eq!((&capture.sources[0].delta, capture.buffers.len()), (&None, 1), "{value}");
        assert_eq!(etrace(&capture, 0).source, 3);
    }
}

#[test]
fn sources_that_cannot_share_a_buffer_are_left_out() {
    let second = CAPTURE[CAPTURE.find("[[source]]").unwrap()..CAPTURE.find("[[buffer]]").unwrap()].to_owned();
    let with = |second: &str| CAPTURE.replace("[[buffer]]", &format!("{second}[[buffer]]"));
    let both = |second: &str| with(second).replace("[\"hart0\"]", "[\"hart0\", \"hart1\"]");
    check(
        &with(&second),
        &[
            "16: error: another source has the name \"hart0\", too",
            "15: error: the source is skipped: repair what is wrong with it",
        ],
    );
    let second = second.replace("hart0", "hart1");
    let capture = check(
        &both(&second),
        &["26: error: buffer \"sink\": source \"hart1\" has the ID of \"hart0\": left out"],
    );
    assert_eq!(capture.buffers[0].sources, [0]);
    let capture = check(&both(&second.replace("id = 3", "id = 4")), &[]);
    assert_eq!(capture.buffers[0].sources, [0, 1]);
    check(
        &both(&second.replace("id = 3", "id = 4").replace("source_bits = 6", "source_bits = 7")),
        &["26: error: buffer \"sink\": source \"hart1\" has other encapsulation than those before it: \
left out"],
    );
}

#[test]
fn newer_formats_and_other_folders_are_refused() {
    let error = |folder: &Folder| {
        let problem = Capture::open(folder.path()).unwrap_err();
        listed(&[problem], folder.path())[0].clone()
    };
    assert_eq!(
        error(&folder(&CAPTURE.replace("format = 1", "format = 2"))),
        "capture.toml:1: error: format 2: this tracewright reads format 1; use a newer one"
    );
    assert!(error(&Folder::new()).ends_with(
        "error: not a capture: it has neither a capture.toml nor a snapshot.ini (of an Arm trace snapshot)"
    ));
    // Files that a text editor or a full disk leaves.
    assert_eq!(
        error(&folder(&CAPTURE.replace("id = 3", "id = = 3"))),
        "capture.toml:7: error: not TOML: extra `=`, expected nothing"
    );
    let large = "#".repeat(5 << 20);
    assert_eq!(
        error(&folder(&large)),
        "capture.toml: error: cannot read: longer than 4194304 bytes, the most that is read of such a file"
    );
}

/// Reads back whatever is written, also after the folder was moved.
#[test]
fn written_captures_are_read_back() {
    let mut rng = Rng::new(5);
    for _ in 0..200 {
        let folder = Folder::new();
        let dir = folder.path().join("a folder");
        let mut writer = CaptureWriter::create(&dir).unwrap();
        let description = ["", "a \"b\" \\ c", "two\nlines\t\u{1}", "é → 日本"][rng.below(4) as usize];
        writer.describe(description);
        let count = 1 + rng.below(3) as u16;
        let encapsulation = encapsulation(&mut rng);
        let config = config(&mut rng, encapsulation);
        let sources: Vec<_> = (0..count)
            .map(|id| EtraceSource {
                config: config.clone(),
                source: id * 300,
                isa: Isa::Rv32,
                handlers: Vec::new(),
            })
            .collect();
        let numbers: Vec<_> = sources
            .iter()
            .enumerate()
            .map(|(i, source)| writer.source(&format!("hart {i} \"\\"), source.clone()))
            .collect();
        let (_, mut file) = writer.buffer("trace", &numbers).unwrap();
        file.write_all(&[1, 2, 3]).unwrap();
        let has_delta = rng.one_in(2);
        if has_delta {
            for &number in &numbers {
                let (_, mut file) = writer.delta(number).unwrap();
                file.write_all(&[number as u8]).unwrap();
            }
            assert!(writer.delta(numbers.len()).is_err());
        }
        let named = folder.path().join("trace.bin");
        fs::write(&named, b"no ELF").unwrap();
        writer.image(&named, Some(u64::MAX >> 1)).unwrap();
        writer.dump("boot-rom", &[(0x1000, vec![5; 8]), (0xffff_ffff_ffff_f000, vec![6; 2])]).unwrap();
        writer.finish().unwrap();

        let moved = folder.path().join("moved");
        fs::rename(&dir, &moved).unwrap();
        let capture = Capture::open(&moved).unwrap();
        assert!(capture.problems.is_empty(), "{:?}", capture.problems);
        assert_eq!(capture.description.as_deref(), Some(description));
        for (i, source) in sources.iter().enumerate() {
            assert_eq!(etrace(&capture, i), source);
            let delta = capture.sources[i].delta.as_ref().map(|path| fs::read(path).unwrap());
            assert_eq!(delta, has_delta.then(|| vec![i as u8]));
        }
        assert_eq!(capture.buffers[0].sources, numbers);
        assert_eq!(fs::read(&capture.buffers[0].path).unwrap(), [1, 2, 3]);
        let files: Vec<_> = capture.programs.iter().map(|program| program.file.clone()).collect();
        let expected = [ImageFile { path: moved.join("2-trace.bin"), at: Some(u64::MAX >> 1) }];
        assert_eq!(files, expected);
        let (image, problems) = capture.image(&[]);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(image.read(0x1004, MemorySpace::ANY), [5; 4]);
        assert_eq!(image.read(0xffff_ffff_ffff_f000, MemorySpace::ANY), [6; 2]);
    }
}

fn encapsulation(rng: &mut Rng) -> Encapsulation {
    match rng.below(3) {
        0 => Encapsulation::Smi,
        1 => Encapsulation::Pulp,
        _ => Encapsulation::Standard {
            source_bits: rng.below(17) as u8,
            timestamp_bytes: rng.below(9) as u8,
            type_bits: rng.below(9) as u8,
        },
    }
}

fn config(rng: &mut Rng, encapsulation: Encapsulation) -> Config {
    let mut flag = || rng.below(2) == 0;
    let options = Options {
        implicit_return: flag(),
        implicit_exception: flag(),
        full_address: flag(),
        jump_target_cache: flag(),
        branch_prediction: flag(),
        sijump: flag(),
    };
    let data = data::Options { no_address: flag(), no_data: flag(), full_address: flag(), full_data: flag() };
    let (nocontext, notime, sijump, iret_ext) = (flag(), flag(), flag(), flag());
    let mut number = |least: u64, most: u64| (least + rng.below(most - least + 1)) as u8;
    let params = Params {
        iaddress_width: number(8, 64),
        iaddress_lsb: number(0, 2),
        context_width: number(1, 32),
        time_width: number(1, 64),
        privilege_width: number(1, 4),
        ecause_width: number(1, 16),
        f0s_width: number(1, 2),
        bpred_size: number(0, 16),
        cache_size: number(0, 16),
        call_counter_size: number(0, 16),
        return_stack_size: number(0, 12),
        daddress_width: number(8, 64),
        data_width: 8 << number(0, 3),
        support: [SupportLayout::Reference, SupportLayout::Pulp][usize::from(number(0, 1))],
        nocontext,
        notime,
        sijump,
        iret_ext,
        ..Params::default()
    };
    Config { params, encapsulation, options, data }
}

/// Keeps a program that is already in the folder: copying it onto itself would empty it.
#[test]
fn an_image_of_its_own_folder_stays() {
    let folder = folder("");
    let rom = folder.path().join("rom.bin");
    let claimed = OutputFolder::claim(folder.path(), Replace::Anything).unwrap();
    let mut writer = CaptureWriter::within(claimed).unwrap();
    writer.image(&rom, Some(0)).unwrap();
    writer.finish().unwrap();
    assert_eq!(fs::read(&rom).unwrap(), [0x13, 0, 0, 0]);
}

#[test]
fn what_cannot_be_written_is_named() {
    let folder = Folder::new().with("file", "");
    let file = folder.path().join("file");
    let error = CaptureWriter::create(&file).unwrap_err();
    assert_eq!(error.message, "is not a folder");
    let error = CaptureWriter::create(&file.join("below")).unwrap_err();
    assert!(error.message.starts_with("cannot write here: "), "{error}");
    fs::remove_file(&file).unwrap();
    let mut writer = CaptureWriter::create(&folder.path().join("run")).unwrap();
    let run = folder.path().join("run.part");
    let error = writer.image(Path::new("no/such.elf"), None).unwrap_err();
    assert_eq!(error.file, Path::new("no/such.elf"));
    fs::remove_file(run.join("capture.toml")).unwrap();
    // Folders in the way of files.
    for name in ["trace.bin", "rom.bin", "app.elf", "capture.toml"] {
        fs::create_dir(run.join(name)).unwrap();
    }
    let error = writer.buffer("trace", &[]).unwrap_err();
    assert_eq!(error.file, run.join("trace.bin"));
    let error = writer.dump("rom", &[]).unwrap_err();
    assert_eq!(error.file, run.join("rom.bin"));
    let elf = folder.path().join("elsewhere");
    fs::create_dir(&elf).unwrap();
    fs::write(elf.join("app.elf"), "").unwrap();
    let error = writer.image(&elf.join("app.elf"), None).unwrap_err();
    assert_eq!(error.file, run.join("app.elf"));
    let error = writer.finish().unwrap_err();
    assert_eq!(error.file, run.join("capture.toml"));
}

/// Reports a program that was rebuilt or is for another machine.
#[test]
fn programs_are_those_that_ran() {
    let Some(captures) = captures_for("programs_are_those_that_ran", "") else { return };
    let elf = captures.join("riscv/elf/median.riscv");
    let arm = captures.join("process/elf/branches");
    let folder = folder(CAPTURE).with("arm.elf", fs::read(arm).unwrap());
    let claimed = OutputFolder::claim(folder.path(), Replace::Anything).unwrap();
    let mut writer = CaptureWriter::within(claimed).unwrap();
    writer.image(&elf, None).unwrap();
    writer.image(&folder.path().join("arm.elf"), None).unwrap();
    writer.source(
        "hart0",
        EtraceSource {
            config: config(&mut Rng::new(1), Encapsulation::Smi),
            source: 0,
            isa: Isa::Rv64,
            handlers: Vec::new(),
        },
    );
    let capture = writer.finish().unwrap();
    let (image, problems) = capture.image(&[]);
    assert!(image.regions().any(|region| region.range().start == 0x8000_0000));
    assert_eq!(
        listed(&problems, folder.path()),
        ["arm.elf: error: a program for Arm: the trace is a RISC-V hart's"]
    );
}

/// Opens a file without a description, as the reference flow and PULP leave them.
#[test]
fn raw_files_are_described_on_the_command_line() {
    let folder =
        folder("").with("hw.scf", "# attributes\n[Required]\ncontext_width_p=16 # bits\nfilters_p=1\n");
    let source = |text: String| text.parse::<RawSource>();
    let scf = folder.path().join("hw.scf");
    let text = format!("etrace,isa=rv64,encapsulation=smi,params={},ecause_width=4", scf.display());
    let source0 = source(text).unwrap();
    let path = folder.path().join("trace.bin");
    let capture = Capture::raw(&path, Packing::Source, std::slice::from_ref(&source0)).unwrap();
    let params = &etrace(&capture, 0).config.params;
    assert_eq!((params.context_width, params.ecause_width), (16, 4));
    assert_eq!(capture.sources[0].number(), Some(0));
    let error = |format, sources: &[RawSource]| Capture::raw(&path, format, sources).unwrap_err().message;
    let two = [source0.clone(), source0.clone()];
    assert_eq!(error(Packing::Source, &two), "two sources with id=0x0");
    let pulp = source("etrace,isa=rv64,encapsulation=pulp,id=1".into()).unwrap();
    assert_eq!(
        error(Packing::Source, &[source0.clone(), pulp]),
        "sources in one file are built alike: these differ in encapsulation"
    );
    let etm = source("etm4,id=0x10".into()).unwrap();
    let mixed = [source0.clone(), etm];
    assert_eq!(error(Packing::Source, &mixed), "sources of ETM and E-Trace cannot be in one file");
    assert_eq!(
        error(Packing::CoreSight, &[source0]),
        "E-Trace is not read from frames, and has no --packing"
    );
    fs::write(&scf, "context_width_p=wide\n").unwrap();
    let error = source(format!("etrace,isa=rv64,encapsulation=smi,params={}", scf.display())).unwrap_err();
    assert!(error.to_string().ends_with("hw.scf:1: context_width_p: `wide` is not a number"), "{error}");
    fs::write(&scf, "nothing\n").unwrap();
    let error = source(format!("etrace,isa=rv64,encapsulation=smi,params={}", scf.display())).unwrap_err();
    assert!(error.to_string().ends_with("hw.scf: no attribute (name_p=value) in it"), "{error}");
}
