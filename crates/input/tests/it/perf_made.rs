//! Recordings made by hand: all forms of trace, units and processes, and their faults.

use std::path::Path;

use crate::support::Folder;
use tracewright_input::{Capture, Packing, perf};
use tracewright_testkit::perf::{Form, Index, Recording, Who, etm4, who};

/// Opens bytes as a capture.
fn open(bytes: &[u8]) -> (Capture, Folder) {
    let folder = Folder::new().with("perf.data", bytes);
    let capture =
        perf::open(&folder.path().join("perf.data"), &[]).unwrap_or_else(|problem| panic!("{problem}"));
    (capture, folder)
}

/// Returns problems without the file's name.
fn problems(capture: &Capture) -> Vec<String> {
    capture.problems.iter().map(|problem| format!("{}: {}", problem.severity, problem.message)).collect()
}

/// Returns the bytes of each piece of a buffer.
fn trace(capture: &Capture, buffer: &str) -> Vec<Vec<u8>> {
    let buffer = capture.buffers.iter().find(|found| found.name == buffer).unwrap_or_else(|| {
        panic!("no {buffer} in {:?}", capture.buffers.iter().map(|buffer| &buffer.name).collect::<Vec<_>>())
    });
    let file = std::fs::read(&buffer.path).unwrap();
    let pieces = buffer.pieces.iter().flatten().map(|piece| match piece.packed {
        None => file[piece.offset as usize..][..piece.len as usize].to_vec(),
        Some(packed) => {
            let bytes = perf::unpacked(&buffer.path, None, packed).unwrap();
            bytes[packed.skip as usize..].iter().copied().take(piece.len as usize).collect()
        }
    });
    pieces.collect()
}

/// Returns a recording of two processes on two CPUs, with trace of each.
fn two() -> Recording {
    let mut recording = Recording::new();
    recording.build_ids(&[("/bin/one", &[0xaa, 0xbb]), ("/bin/two", &[1; 20])]);
    recording.units(1, &[etm4(0, 0x40, 0x10), etm4(1, 0x40, 0x12)]);
    recording.comm(who(100, 0), "one", false).mmap2(who(100, 0), 0x1000, 0x1000, 0, "/bin/one");
    recording.itrace_start(who(100, 5));
    recording.aux(who(100, 10), 0, 16, 0).aux(who(100, 20), 16, 32, 0).trace(0, 0, &[1; 48]);
    recording.fork(who(200, 30), 100).comm(who(200, 31), "two", true);
    recording.mmap2(who(200, 32), 0x1000, 0x2000, 0x3000, "/bin/two");
    let on_second = Who { cpu: 1, ..who(200, 40) };
    recording.aux(on_second, 0, 16, 0).trace(1, 0, &[2; 16]);
    recording.exit(who(200, 50));
    recording
}

#[test]
fn all_forms_tell_the_same() {
    for form in [Form::File, Form::Pipe, Form::Compressed, Form::Compressed2, Form::CompressedTrace] {
        let (capture, _folder) = open(&two().write(form));
        assert_eq!(problems(&capture), [""; 0], "{form:?}");
        assert_eq!(trace(&capture, "cpu0"), [vec![1; 16], vec![1; 32]], "{form:?}");
        assert_eq!(trace(&capture, "cpu1"), [vec![2; 16]], "{form:?}");
        let ids: Vec<_> = capture.sources.iter().map(|source| source.id().unwrap().get()).collect();
        assert_eq!(ids, [0x10, 0x12]);
        let processes: Vec<_> = capture
            .processes
            .iter()
            .map(|process| {
                let mapping = &process.mappings[0];
                (process.pid, process.command.as_str(), mapping.end, mapping.offset, mapping.build_id.clone())
            })
            .collect();
        let expected = [
            (100, "one", 0x2000, 0, Some("aabb".to_owned())),
            (200, "two", 0x3000, 0x3000, Some("01".repeat(20))),
        ];
        assert_eq!(processes, expected, "{form:?}");
    }
}

#[test]
fn events_may_be_of_any_size() {
    for size in [64, 112, 120, 128, 136, 200] {
        for form in [Form::File, Form::Pipe] {
            let (capture, _folder) = open(&two().event_size(size).write(form));
            assert_eq!(problems(&capture), [""; 0], "{size}");
            assert_eq!(trace(&capture, "cpu0"), [vec![1; 16], vec![1; 32]], "{size}");
        }
    }
}

#[test]
fn trace_is_found_without_an_index() {
    for index in [Index::Counted, Index::Pairs, Index::None] {
        let (capture, _folder) = open(&two().index(index).write(Form::File));
        assert_eq!(problems(&capture), [""; 0]);
        assert_eq!(trace(&capture, "cpu0").len(), 2);
    }
    let (capture, _folder) = open(&two().index(Index::None).feature(18, vec![9; 24]).write(Form::File));
    assert_eq!(problems(&capture), ["warning: its index of trace is damaged: trace is found without it"]);
    assert_eq!(trace(&capture, "cpu0").len(), 2);
}

#[test]
fn a_folder_of_files_is_a_recording() {
    let mut further = Recording::new();
    let third = Who { cpu: 1, ..who(200, 60) };
    further.aux(third, 16, 16, 0).trace(1, 16, &[3; 16]);
    // Further files have no header.
    let further = further.index(Index::None).write(Form::File)[104 + 8 + 144..].to_vec();
    let folder = Folder::new().with("data", two().write(Form::File)).with("data.0", further);
    assert!(perf::is_recording(folder.path()));
    let capture = perf::open(folder.path(), &[]).unwrap();
    assert_eq!(problems(&capture), [""; 0]);
    assert_eq!(trace(&capture, "cpu1"), [[2; 16]]);
    assert_eq!(trace(&capture, "cpu1#2"), [[3; 16]]);
}

#[test]
fn what_aux_records_tell_is_cut_out() {
    let mut recording = Recording::new();
    recording.units(1, &[etm4(0, 0x40, 0x10)]);
    let bytes: Vec<u8> = (0..100).collect();
    recording.trace(0, 0, &bytes[..48]).trace(0, 48, &bytes[48..]);
    // Out of order, twice, across the end of one AUXTRACE record, and without the last bytes.
    let at = |time| who(1, time);
    recording.aux(at(3), 16, 16, 0).aux(at(1), 0, 16, 0).aux(at(2), 0, 16, 0).aux(at(4), 32, 32, 0).aux(
        at(5),
        0,
        0,
        0,
    );
    let (capture, _folder) = open(&recording.write(Form::File));
    let expected = [0..16, 16..32, 32..48, 48..64, 64..100].map(|range| bytes[range].to_vec());
    assert_eq!(trace(&capture, "cpu0"), expected);
    let times: Vec<_> = capture.buffers[0].pieces.iter().flatten().map(|piece| piece.moment.time).collect();
    assert_eq!(times, [1, 3, 4, 4, u64::MAX]);
    let expected = ["warning: cpu0: no AUX record tells of 36 bytes of trace: they are read as they are"];
    assert_eq!(problems(&capture), expected);
}

#[test]
fn flags_say_what_was_lost() {
    let mut recording = Recording::new();
    recording.units(1, &[etm4(0, 0x40, 0x10)]);
    recording
        .aux(who(1, 1), 0, 16, 1)
        .aux(who(1, 2), 16, 16, 4)
        .aux(who(1, 3), 32, 16, 9)
        .trace(0, 0, &[0; 48]);
    recording.aux(who(1, 4), 48, 0x500, 0);
    let mut lost = [7_u64, 12].map(u64::to_le_bytes).concat();
    lost.truncate(16);
    recording.record(2, 0, lost, Who::default());
    let (capture, _folder) = open(&recording.write(Form::File));
    assert_eq!(trace(&capture, "cpu0").len(), 3);
    assert_eq!(
        problems(&capture),
        [
            "warning: cpu0: trace was lost while it was recorded (AUX records: 2 truncated, 1 partial, 1 collided)",
            "warning: cpu0: 1280 bytes of trace were not saved, as 1 AUX records tell",
            "warning: the kernel had no room for 12 records: what they told is not known",
        ]
    );
}

#[test]
fn of_a_ring_the_offset_is_where_it_ends() {
    let mut recording = Recording::new();
    recording.units(1, &[etm4(0, 0x40, 0x10)]);
    let bytes: Vec<u8> = (0..64).collect();
    // The ring has 64 bytes, and more was written to it; only 16 bytes the second time.
    recording.trace(0, 1000, &bytes).aux(who(1, 1), 1064, 5000, 2);
    recording.trace(0, 2000, &bytes).aux(who(1, 2), 2064, 16, 2);
    let (capture, _folder) = open(&recording.write(Form::File));
    assert_eq!(trace(&capture, "cpu0"), [bytes.clone(), bytes[48..].to_vec()]);
    assert_eq!(problems(&capture), [""; 0], "what else is in a ring is old");
}

#[test]
fn raw_trace_is_one_source_each() {
    let mut recording = Recording::new();
    recording.units(1, &[etm4(0, 0x40, 0x10), etm4(1, 0x40, 0x12)]);
    // A thread that ran on both.
    recording.thread_trace(9, 0, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0]);
    let on = |cpu, time| Who { cpu, ..who(9, time) };
    recording.aux(on(0, 1), 0, 4, 0x100).aux(on(1, 2), 4, 5, 0x100);
    let (capture, _folder) = open(&recording.write(Form::File));
    assert_eq!(problems(&capture), [""; 0], "seven bytes fill up");
    assert_eq!(trace(&capture, "tid9-cpu0"), [[1, 2, 3, 4]]);
    assert_eq!(trace(&capture, "tid9-cpu1"), [[5, 6, 7, 8, 9]]);
    for (buffer, source) in capture.buffers.iter().zip([0, 1]) {
        assert_eq!((buffer.format, &buffer.sources[..]), (Packing::Source, &[source][..]));
    }
}

#[test]
fn ids_that_the_kernel_tells_count() {
    let four: Vec<_> = (0..4).map(|cpu| etm4(cpu, 0x40, 0x10 + 2 * cpu)).collect();
    let ids = |capture: &Capture| -> Vec<u8> {
        capture.sources.iter().map(|source| source.id().unwrap().get()).collect()
    };
    let mut recording = Recording::new();
    recording.units(2, &four).trace(0, 0, &[0; 16]).aux(who(1, 1), 0, 16, 0);
    let (capture, _folder) = open(&recording.write(Form::File));
    assert_eq!(ids(&capture), [0x10, 0x12, 0x14, 0x16]);

    // Two CPUs are traced, with other IDs.
    let on = |cpu| Who { cpu, ..who(1, 0) };
    recording.hardware_id(on(0), 0x21).hardware_id(on(2), 0x23);
    let (capture, _folder) = open(&recording.write(Form::File));
    assert_eq!(ids(&capture), [0x21, 0, 0x23, 0]);
    assert_eq!(capture.buffers[0].sources, [0, 2], "those without an ID are in no frames");

    // IDs are valid for a sink: two CPUs have the same one.
    let mut recording = Recording::new();
    recording.units(2, &four);
    for cpu in 0..4 {
        let (sink, id) = (u64::from(cpu) / 2 + 0x55, u64::from(cpu) % 2 + 1);
        recording.hardware_id(on(cpu), 1 << 56 | sink << 8 | id);
    }
    recording.trace(1, 0, &[0; 16]).trace(2, 0, &[0; 16]);
    recording.aux(on(1), 0, 16, 0).aux(on(2), 0, 16, 0);
    let (capture, _folder) = open(&recording.write(Form::File));
    assert_eq!(ids(&capture), [1, 2, 1, 2]);
    let sources: Vec<_> = capture.buffers.iter().map(|buffer| buffer.sources.clone()).collect();
    assert_eq!(sources, [[0, 1], [2, 3]]);

    let (capture, _folder) = open(&recording.hardware_id(on(3), 1 << 60 | 9).write(Form::File));
    let expected = "warning: trace IDs are told in version 1, and 0 is known: they are not used";
    assert_eq!(problems(&capture), [expected]);
    assert_eq!(ids(&capture), [0x10, 0x12, 0x14, 0x16]);
}

#[test]
fn units_of_all_versions() {
    let ete = |idr1: u64, devarch: u64| {
        vec![0x5050_5050_5050_5050, 3, 9, 0x8080, 0x16, 0x2880_06a1, idr1, 0xc000_1088, 0, 0xcc, devarch, 1]
    };
    let protocol = |version, unit: Vec<u64>| {
        let (capture, _folder) = open(&Recording::new().units(version, &[unit]).write(Form::File));
        assert_eq!(problems(&capture), [""; 0]);
        assert_eq!(capture.sources.len(), 1);
        (capture.sources[0].protocol_name(), capture.sources[0].name.clone())
    };
    let named = |name: &str, cpu: &str| (name.to_owned(), cpu.to_owned());
    assert_eq!(protocol(1, ete(0x4100_fff0, 0x4771_5a13)), named("ETE 1.1", "cpu3"));
    assert_eq!(protocol(1, ete(0x4100_f423, 0x4772_4a13)), named("ETMv4.2", "cpu3"), "TRCDEVARCH says ETMv4");
    let mut etm = etm4(2, 0x40, 0x10);
    assert_eq!(protocol(2, etm.clone()), named("ETMv4.0", "cpu2"));
    // Unknown words.
    etm[2] = 12;
    etm.extend([1, 2, 3, 4, 5]);
    assert_eq!(protocol(2, etm), named("ETMv4.0", "cpu2"));
    let mut etm = etm4(2, 0x40, 0x10);
    etm.remove(2);
    assert_eq!(protocol(0, etm), named("ETMv4.0", "cpu2"));
    let etm3 = |idr| vec![0x3030_3030_3030_3030, 1, 0x1000, 0x10, 0x0, idr];
    assert_eq!(protocol(0, etm3(0x4114_f250)), named("ETMv3", "cpu1"));
    assert_eq!(protocol(0, etm3(0x411c_f300)), named("PTM", "cpu1"));
}

/// Returns the error about a file as a whole.
fn refused(bytes: &[u8]) -> String {
    let folder = Folder::new().with("perf.data", bytes);
    perf::open(&folder.path().join("perf.data"), &[]).map(|_| ()).unwrap_err().message
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    assert_eq!(refused(b"PERFILE2"), "cut off within its header");
    assert_eq!(refused(b""), "not a recording of perf: it does not begin with PERFILE2");
    assert_eq!(refused(b"2ELIFREP0000"), "recorded on a big-endian machine: not supported");
    assert_eq!(refused(b"PERFFILE0000"), "of a version of perf before 2010: not supported");
    let small = [&b"PERFILE2"[..], &20_u64.to_le_bytes()].concat();
    assert_eq!(refused(&small), "its header says that it has 20 bytes: expected 104, or 16 (of a pipe)");
    let nowhere = perf::open(Path::new("/nowhere/perf.data"), &[]).unwrap_err();
    assert!(nowhere.message.starts_with("cannot read: "), "{nowhere}");
}

#[test]
fn other_trace_is_named() {
    let pt = [1_u32, 0, 0, 0].map(u32::to_le_bytes).concat();
    let (capture, _folder) = open(&Recording::new().record(70, 0, pt, Who::default()).write(Form::File));
    let expected = [
        "error: holds Intel PT trace: only CoreSight and RISC-V trace can be read",
        "error: it holds no hardware trace: was it recorded with -e cs_etm//?",
    ];
    assert_eq!(problems(&capture), expected);
    let mut recording = Recording::new();
    recording.trace(0, 0, &[0; 16]).aux(who(1, 1), 0, 16, 0);
    let (capture, _folder) = open(&recording.write(Form::File));
    let expected = "error: nothing describes the trace units (AUXTRACE_INFO): their trace cannot be read";
    assert_eq!(problems(&capture), [expected]);
}

#[test]
fn a_recorder_that_was_killed_leaves_what_it_wrote() {
    let whole = two().write(Form::File);
    let mut killed = whole.clone();
    // perf writes the size of the data at the end.
    killed[48..56].fill(0);
    let end = whole.len() - 200;
    killed.truncate(end);
    let (capture, _folder) = open(&killed);
    assert_eq!(trace(&capture, "cpu0").len(), 2);
    let told = problems(&capture).join("\n");
    assert!(told.contains("the size of its data is not in the header"), "{told}");

    let (capture, _folder) = open(&whole[..0x2c0]);
    let told = problems(&capture).join("\n");
    assert!(told.contains("cut off: ") && told.contains("bytes of its records"), "{told}");
}

#[test]
fn records_that_are_none_do_not_hide_trace_that_is_indexed() {
    let mut recording = two();
    recording.record(9, 0, vec![0; 16], Who::default());
    recording.aux(who(1, 90), 48, 16, 0).trace(0, 48, &[9; 16]);
    let mut bytes = recording.write(Form::File);
    // The sample before the last trace becomes a record without a size.
    let at = bytes.windows(8).rposition(|bytes| bytes == [9, 0, 0, 0, 0, 0, 64, 0]).unwrap();
    bytes[at + 6] = 0;
    let (capture, _folder) = open(&bytes);
    let expected = format!("error: at {at:#x}: no record, as its size says: nothing is read from there on");
    assert_eq!(problems(&capture)[0], expected);
    // Its AUX record is lost, too.
    assert_eq!(trace(&capture, "cpu0"), [vec![1; 16], vec![1; 32], vec![9; 16]]);
}

#[test]
fn damaged_compression_gives_what_is_whole() {
    let bytes = two().write(Form::Compressed);
    // Its last block has an undefined type.
    let last = bytes.windows(4).rposition(|bytes| bytes == [81, 0, 0, 0]).unwrap();
    let mut cut = bytes.clone();
    cut[last + 8] |= 6;
    let (capture, _folder) = open(&cut);
    assert_eq!(trace(&capture, "cpu0").len(), 2, "{:?}", problems(&capture));
    assert!(problems(&capture)[0].starts_with("error: "), "{:?}", problems(&capture));
    // A window of four gigabytes.
    let frame = bytes.windows(6).position(|bytes| bytes == [0x28, 0xb5, 0x2f, 0xfd, 0, 0x48]).unwrap();
    let mut large = bytes.clone();
    large[frame + 5] = 22 << 3;
    let (capture, _folder) = open(&large);
    let expected = "error: its compressed part needs 4294967296 bytes of memory: not read";
    assert_eq!(problems(&capture)[0], expected);
}
