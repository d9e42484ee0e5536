//! Recordings with RISC-V trace, as the fact sheet describes them byte by byte: no such recording was at hand.

use std::path::Path;

use crate::support::Folder;
use tracewright_input::{Capture, Packing, Protocol, RawSource, perf};
use tracewright_testkit::perf::{Form, Recording, Who, who};

/// Opens a recording with descriptions of its encoders.
fn open(recording: &Recording, sources: &[&str]) -> (Capture, Folder) {
    let folder = Folder::new().with("perf.data", recording.write(Form::File));
    let sources: Vec<RawSource> = sources.iter().map(|text| text.parse().unwrap()).collect();
    (perf::open_with(&folder.path().join("perf.data"), &[], &sources).unwrap(), folder)
}

fn problems(capture: &Capture) -> Vec<String> {
    capture.problems.iter().map(|problem| format!("{}: {}", problem.severity, problem.message)).collect()
}

/// The facts of each source: name, protocol, parameters.
fn sources(capture: &Capture) -> Vec<String> {
    let facts = |protocol: &Protocol| match protocol {
        Protocol::Registered(params) => {
            let facts = params.facts().into_iter().map(|(name, value)| format!("{name}={value}"));
            format!("{} {}", params.title(), facts.collect::<Vec<_>>().join(" "))
        }
        Protocol::Etrace(source) => format!("E-Trace id={}", source.source),
        Protocol::Unsupported(name, _) => format!("unsupported {name}"),
        Protocol::Etm(_) => "ETM".into(),
    };
    let sources = capture.sources.iter();
    sources.map(|source| format!("{}: {}", source.name, facts(&source.protocol))).collect()
}

/// A recording of the mainline form, with a piece of trace of each CPU.
fn mainline(kind: u32, unit: &str, formats: &[u64]) -> Recording {
    let mut recording = Recording::new();
    recording.machine("riscv64").unit_names(&[(4, "cpu"), (12, unit)]).units_of(kind, &[12]);
    for (cpu, format) in (0..).zip(formats) {
        let who = Who { cpu, ..who(7, 5) };
        recording.hardware_id(who, cpu.into()).aux(who, 0, 16, *format).trace(cpu, 0, &[0xff; 16]);
    }
    recording
}

/// SpacemiT's words, 7 for each CPU.
fn spacemit(kind: u32, cpus: &[[u64; 7]]) -> Recording {
    let mut recording = Recording::new();
    let words: Vec<_> =
        [12 << 32 | cpus.len() as u64].into_iter().chain(cpus.iter().flatten().copied()).collect();
    recording.machine("riscv64").unit_names(&[(12, "rvtrace")]).units_of(kind, &words);
    for cpu in 0..cpus.len() as u32 {
        let who = Who { cpu, ..who(7, 5) };
        recording.aux(who, 0, 16, 0).trace(cpu, 0, &FRAME);
    }
    recording
}

/// Two messages of SRC 1, and idle bytes.
const FRAME: [u8; 16] =
    [0x21, 0x24, 0xa4, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x08, 0xc4, 0xa0, 0x0b, 0xfe, 0x80];

/// The examples of the fact sheet, to the byte.
#[test]
fn descriptions_are_those_of_the_examples() {
    let contains = |file: &[u8], part: &[u8]| file.windows(part.len()).any(|window| window == part);
    let info = [0x46, 0, 0, 0, 0, 0, 0x18, 0, 0x08, 0, 0, 0, 0, 0, 0, 0, 0x0c, 0, 0, 0, 0, 0, 0, 0];
    assert!(contains(&mainline(8, "gtrace", &[0]).write(Form::File), &info));
    let two = spacemit(8, &[[0, 5, 1, 1, 0, 3, 0], [1, 5, 1, 1, 0, 3, 1]]);
    assert!(contains(
        &two.write(Form::File),
        &[0x46, 0, 0, 0, 0, 0, 0x88, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x0c]
    ));
}

#[test]
fn mainline_needs_what_it_does_not_say() {
    let how = "One --source is for all CPUs; of several, each is for the CPU that its id names";
    for (kind, unit, formats, begins, has, lacks) in [
        (
            7,
            "rvtrace",
            &[0, 0][..],
            "error: holds RISC-V trace of 2 CPUs, recorded by rvtrace",
            "etrace,isa=rv64",
            "rv32",
        ),
        (
            8,
            "gtrace",
            &[0x200],
            "error: holds N-Trace of one CPU, recorded by gtrace",
            "implicit_return",
            "etrace",
        ),
        (8, "gtrace", &[0x100], "error: holds E-Trace of one CPU", "encapsulation", "src_bits"),
    ] {
        let (capture, _folder) = open(&mainline(kind, unit, formats), &[]);
        let [problem] = &problems(&capture)[..] else { panic!("{:?}", problems(&capture)) };
        assert!(problem.starts_with(begins) && problem.ends_with(how), "{problem}");
        assert!(problem.contains(has) && !problem.contains(lacks), "{problem}");
        assert!(sources(&capture).iter().all(|source| source.contains("unsupported")));
        // What is known without is told.
        assert_eq!(capture.buffers.len(), formats.len());
        assert!(capture.buffers.iter().all(|buffer| buffer.format == Packing::Source));
    }
}

#[test]
fn one_description_is_for_all_cpus() {
    let (capture, _folder) = open(&mainline(8, "gtrace", &[0x200, 0x200]), &["ntrace,isa=rv64,src_bits=1"]);
    assert_eq!(problems(&capture), [""; 0]);
    let found = sources(&capture);
    assert!(found[0].starts_with("cpu0: N-Trace id=0 isa=rv64 src=0 src_bits=1"), "{found:?}");
    assert!(found[1].starts_with("cpu1: N-Trace id=1 isa=rv64 src=1 src_bits=1"), "{found:?}");
    assert_eq!(capture.buffers.iter().map(|buffer| buffer.sources.clone()).collect::<Vec<_>>(), [[0], [1]]);
    let smi = "etrace,isa=rv64,encapsulation=standard,source_bits=2";
    let (capture, _folder) = open(&mainline(7, "rvtrace", &[0, 0]), &[smi]);
    assert_eq!(sources(&capture), ["cpu0: E-Trace id=0", "cpu1: E-Trace id=1"]);
}

#[test]
fn several_descriptions_are_for_their_cpus() {
    let given = ["ntrace,isa=rv64,id=1,mode=branch", "ntrace,isa=rv64,id=0"];
    let (capture, _folder) = open(&mainline(8, "gtrace", &[0x200, 0x200, 0x200]), &given);
    let found = sources(&capture);
    assert!(found[0].contains("mode=history") && found[1].contains("mode=branch"), "{found:?}");
    assert_eq!(found[2], "cpu2: unsupported N-Trace");
    let why = "error: cpu2: no --source has id=2, as several are given: its trace cannot be read";
    assert_eq!(problems(&capture), [why]);
}

#[test]
fn descriptions_must_fit() {
    let error = |source: &str, format: u64| {
        let (capture, _folder) = open(&mainline(8, "gtrace", &[format]), &[source]);
        problems(&capture).join("\n")
    };
    assert_eq!(
        error("etrace,isa=rv64,encapsulation=smi", 0x200),
        "error: holds N-Trace, as AUX records tell: --source etrace does not fit"
    );
    assert_eq!(error("itm,sync=0", 0), "error: holds RISC-V trace: --source must be ntrace or etrace");
    assert_eq!(error("ntrace,isa=rv64", 0x200), "");
    assert_eq!(error("ntrace,isa=rv64", 0), "");
}

#[test]
fn spacemit_says_it_all() {
    let (capture, _folder) = open(&spacemit(7, &[[0, 5, 1, 1, 0, 3, 0], [1, 5, 1, 1, 0, 3, 1]]), &[]);
    assert_eq!(problems(&capture), [""; 0]);
    let found = sources(&capture);
    assert!(found[1].starts_with("cpu1: N-Trace id=1 isa=rv64 src_bits=3 mode=history"), "{found:?}");
    assert!(found[1].contains("dialect=spacemit"), "{found:?}");
    assert_eq!(capture.sources[1].register("CONTEXT"), Some(1));
    for buffer in &capture.buffers {
        assert_eq!((buffer.format, &buffer.sources[..]), (Packing::CoreSightNexus, &[0, 1][..]));
    }
    // Options of the encoder that are not in the file.
    let (capture, _folder) =
        open(&spacemit(8, &[[0, 5, 1, 1, 1, 3, 0]]), &["ntrace,isa=rv64,implicit_return=stack"]);
    let found = sources(&capture);
    assert!(found[0].contains("src_bits=0") && found[0].contains("implicit_return=stack"), "{found:?}");
    for (cpus, why) in [
        (
            &[[0, 5, 0, 1, 0, 3, 0]][..],
            "error: cpu0: E-Trace in CoreSight frames is not supported: its trace cannot be read",
        ),
        (
            &[[0, 5, 9, 1, 0, 3, 0]],
            "error: cpu0: its trace has the unknown format 9: its trace cannot be read",
        ),
        (
            &[[0, 5, 1, 1, 0, 13, 0]],
            "error: cpu0: SRC has 13 bits, and 12 at most are possible: its trace cannot be read",
        ),
        (&[[0, 5, 1, 1, 0, 3, 8]], "error: cpu0: SRC 8 does not fit into 3 bits: its trace cannot be read"),
        (
            &[[0, 5, 1, 1, 0, 3, 1], [1, 5, 1, 1, 0, 3, 1]],
            "error: cpu1: another CPU has the same SRC, 1: its trace cannot be read",
        ),
        (
            &[[0, 5, 1, 1, 0, 3, 0], [1, 5, 1, 1, 0, 2, 1]],
            "error: cpu1: its messages have another width of SRC than others: its trace cannot be read",
        ),
    ] {
        let (capture, _folder) = open(&spacemit(8, cpus), &[]);
        assert_eq!(problems(&capture), [why]);
    }
}

/// Kind 7 is PowerPC's, too.
#[test]
fn other_machines_are_named() {
    let with = |machine: Option<&str>, unit: &str, kind: u32, sources: &[&str]| {
        let mut recording = Recording::new();
        if let Some(machine) = machine {
            recording.machine(machine);
        }
        if !unit.is_empty() {
            recording.unit_names(&[(12, unit)]);
        }
        recording.units_of(kind, &[12]).aux(who(7, 5), 0, 16, 0).trace(0, 0, &[0; 16]);
        problems(&open(&recording, sources).0)
    };
    let ntrace = &["ntrace,isa=rv64"][..];
    let first = |problems: Vec<String>| problems.into_iter().next().unwrap_or_default();
    let power = "error: holds PowerPC dispatch trace: only CoreSight and RISC-V trace can be read";
    assert_eq!(first(with(Some("ppc64le"), "", 7, ntrace)), power);
    assert_eq!(first(with(None, "vpa_dtl", 7, ntrace)), power);
    assert!(
        first(with(Some("aarch64"), "", 8, &[])).starts_with("error: holds trace of unknown kind 8: only")
    );
    assert!(
        first(with(None, "", 7, &[]))
            .starts_with("error: holds PowerPC's dispatch trace log or RISC-V trace")
    );
    for (machine, unit) in [(None, ""), (None, "rvtrace"), (Some("riscv64"), "")] {
        assert_eq!(with(machine, unit, 7, ntrace), [""; 0], "{machine:?} {unit}");
    }
}

/// The third version of the driver copies from the start of its memory each time.
#[test]
fn bytes_that_were_saved_twice_are_read_once() {
    let slices: [&[u8]; 3] = [&[1; 40], &[2; 30], &[3; 50]];
    let record = |pieces: &[Vec<u8>]| {
        let mut recording = Recording::new();
        recording.machine("riscv64").units_of(8, &[12]);
        let mut at = 0;
        for (time, piece) in (10..).zip(pieces) {
            recording.aux(who(7, time), at, piece.len() as u64, 0);
            at += piece.len() as u64;
        }
        recording.trace(0, 0, &pieces.concat());
        let (capture, _folder) = open(&recording, &["ntrace,isa=rv64"]);
        let lens: Vec<_> = capture.buffers[0].pieces.iter().flatten().map(|piece| piece.len).collect();
        (lens, problems(&capture))
    };
    let sums: Vec<_> = (1..=3).map(|upto| slices[..upto].concat()).collect();
    let (lens, told) = record(&sums);
    assert_eq!(lens, [40, 30, 50]);
    assert_eq!(
        told,
        ["warning: cpu0: 110 bytes of trace were saved twice by the driver: they are read once"]
    );
    // A program that does the same each time is not saved twice.
    assert_eq!(record(&[slices[0].to_vec(), slices[0].to_vec()]), (vec![40, 40], vec![]));
    assert_eq!(record(&slices.map(<[u8]>::to_vec)).0, [40, 30, 50]);
    // The whole memory of 256 bytes, of which the slice before had some.
    let old: Vec<u8> = (0..200).map(|at| (at * 7 % 251) as u8).collect();
    let new: Vec<u8> = old[80..].iter().copied().chain((0..136).map(|at| (at * 13 % 250) as u8)).collect();
    assert_eq!(record(&[old.clone(), new.clone()]).0, [200, 136]);
    assert_eq!(record(&[old, new[..255].to_vec()]).0, [200, 255], "not the whole memory");
}

/// Pieces of threads' own buffers have the source of the CPU that their record names.
#[test]
fn threads_have_the_encoder_of_their_cpu() {
    let mut recording = Recording::new();
    recording.machine("riscv64").units_of(8, &[12]);
    recording.aux(Who { cpu: 3, ..who(7, 5) }, 0, 16, 0x200).aux(Who { cpu: 1, ..who(7, 6) }, 16, 16, 0x200);
    recording.thread_trace(7, 0, &[0xff; 32]);
    let (capture, _folder) = open(&recording, &["ntrace,isa=rv64"]);
    assert_eq!(problems(&capture), [""; 0]);
    let found: Vec<_> = capture.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(found, ["cpu1", "cpu3"]);
    let buffers: Vec<_> =
        capture.buffers.iter().map(|buffer| (buffer.name.as_str(), &buffer.sources[..])).collect();
    assert_eq!(buffers, [("tid7-cpu1", &[0][..]), ("tid7-cpu3", &[1][..])]);
}

/// Recordings that are cut anywhere are read as far as they go, or rejected.
#[test]
fn any_end_is_an_end() {
    let files = [
        spacemit(7, &[[0, 5, 1, 1, 0, 3, 0], [1, 5, 1, 1, 0, 3, 1]]).write(Form::File),
        mainline(8, "gtrace", &[0x200, 0x200]).write(Form::File),
    ];
    for file in files {
        for len in 0..file.len() {
            let folder = Folder::new().with("perf.data", &file[..len]);
            let source = "ntrace,isa=rv64".parse().unwrap();
            let path: &Path = &folder.path().join("perf.data");
            if let Ok(capture) = perf::open_with(path, &[], &[source]) {
                assert!(!capture.problems.is_empty(), "{len} of {} bytes", file.len());
            }
        }
    }
}
