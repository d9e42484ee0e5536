//! Every recording in `shared/captures/perf`, compared with the results of an independent script.

use tracewright_input::{Capture, Piece, Protocol, perf};
use tracewright_testkit::{Rng, Scratch, captures_for};

/// Returns each buffer: name, format, sources, pieces as offset and length.
fn buffers(capture: &Capture) -> Vec<String> {
    let buffer = |buffer: &tracewright_input::Buffer| {
        let names: Vec<_> =
            buffer.sources.iter().map(|&source| capture.sources[source].name.as_str()).collect();
        let piece = |piece: &Piece| format!("{:x}+{:x}", piece.offset, piece.len);
        let pieces: Vec<_> = buffer.pieces.iter().flatten().map(piece).collect();
        format!("{} {:?} {} {}", buffer.name, buffer.format, names.join(","), pieces.join(" "))
    };
    capture.buffers.iter().map(buffer).collect()
}

/// Recording; number of trace units with their IDs and protocol; buffers; processes: PID, command, and number
/// of executable mappings at the end; problems.
type Row = (&'static str, &'static str, &'static [&'static str], &'static str, &'static [&'static str]);

const EIGHT: &str = "cpu0,cpu1,cpu2,cpu3,cpu4,cpu5,cpu6,cpu7";
const ETM4: &str = "10 12 14 16 18 1a 1c 1e ETMv4.2";

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("ricsec_branches_trace1.data", "10 ETMv4.0", &["cpu0 CoreSight cpu0 3d8+36c0"], "1815064 branches 3", &[]),
    ("simpleperf/perf_etm.data", ETM4, &["cpu7 CoreSight EIGHT 26d8+50 2728+50 2778+50 27c8+90"], "17235 etm_test_loop 8", &[]),
    ("simpleperf/perf_header_v0.data", ETM4,
        &["cpu5 CoreSight EIGHT 2a78+50 2ac8+50 2b18+70 2b88+a0 2c28+50 2c78+50 2cc8+d0"], "16049 etm_test_loop 8", &[]),
    ("simpleperf/perf_with_unformatted_trace.data", "10 12 ETE 1.1", &["cpu0 Source cpu0 4940+4c"], "319 etm_test_loop 8", &[]),
    // The kernel says that it lost trace.
    ("simpleperf/perf_kernel.data", ETM4, &["cpu0 CoreSight EIGHT 13998+3ff0", "cpu6 CoreSight EIGHT df28+3ff0 11fb8+1940"],
        "15320 sleep 17", &[
            "warning: cpu0: trace was lost while it was recorded (AUX records: 1 truncated)",
            "warning: cpu6: trace was lost while it was recorded (AUX records: 1 truncated)",
        ]),
    // simpleperf marks the units as ETEs, because it can read their TRCDEVARCH; the recorder had no room for
    // their trace.
    ("simpleperf/perf_with_missing_aux_data.data", ETM4, &[], "26421 sleep 17", &[
        "warning: cpu4: 14000 bytes of trace were not saved, as 1 AUX records tell",
        "warning: cpu7: 1521344 bytes of trace were not saved, as 5 AUX records tell",
    ]),
];

#[test]
fn recordings_are_read_as_they_are() {
    let Some(folder) = captures_for("recordings", "perf") else { return };
    for (name, units, expected, process, problems) in TABLE {
        let path = folder.join(name);
        assert!(perf::is_recording(&path), "{name}");
        let capture = perf::open(&path, &[]).unwrap_or_else(|problem| panic!("{problem}"));
        let mut words: Vec<_> =
            capture.sources.iter().map(|source| format!("{:x}", source.id().unwrap().get())).collect();
        words.push(capture.sources[0].protocol_name());
        assert!(capture.sources.iter().all(|source| matches!(source.protocol, Protocol::Etm(_))));
        assert_eq!(words.join(" "), *units, "{name}");
        let expected: Vec<_> = expected.iter().map(|buffer| buffer.replace("EIGHT", EIGHT)).collect();
        assert_eq!(buffers(&capture), expected, "{name}");
        let processes: Vec<_> = capture
            .processes
            .iter()
            .map(|process| format!("{} {} {}", process.pid, process.command, process.mappings.len()))
            .collect();
        assert_eq!(processes.join(", "), *process, "{name}");
        let found: Vec<_> = capture.problems.iter().map(ToString::to_string).collect();
        let expected: Vec<_> =
            problems.iter().map(|problem| format!("{}: {problem}", path.display())).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn pieces_have_the_time_and_the_thread_of_their_record() {
    let Some(folder) = captures_for("pieces", "perf") else { return };
    let capture = perf::open(&folder.join("simpleperf/perf_etm.data"), &[]).unwrap();
    let pieces = capture.buffers[0].pieces.as_ref().unwrap();
    let moments: Vec<_> = pieces.iter().map(|piece| (piece.moment.time, piece.moment.thread)).collect();
    let times = [1_118_687_117_325, 1_118_688_029_825, 1_118_688_983_262, 1_118_693_749_982];
    assert_eq!(moments, times.map(|time| (time, Some(17235))));
}

#[test]
fn other_files_of_simpleperf_are_no_recordings() {
    let Some(folder) = captures_for("other files", "perf") else { return };
    for name in ["etm_test_loop", "old_branch_list.data", "perf_inject.data", "rq_stats.ko", "no such file"] {
        assert!(!perf::is_recording(&folder.join("simpleperf").join(name)), "{name}");
    }
    assert!(!perf::is_recording(&folder));
}

/// Returns the offsets of records, by the sizes in the file.
fn boundaries(file: &[u8]) -> Vec<usize> {
    let word = |at: usize| u64::from_le_bytes(*file[at..].first_chunk().unwrap()) as usize;
    let (mut at, len) = (word(40), word(48));
    let end = at + len;
    let mut all = vec![0, 8, 16, 104, at];
    while at < end {
        let size = usize::from(u16::from_le_bytes(*file[at + 6..].first_chunk().unwrap()));
        let is_trace = file[at..].starts_with(&71_u32.to_le_bytes());
        all.push(at + size);
        at += size + if is_trace { word(at + 8) } else { 0 };
        all.push(at);
    }
    // Features: offset and size each.
    let features = file[72..104].iter().map(|byte| byte.count_ones() as usize).sum::<usize>();
    for entry in 0..features {
        let at = end + 16 * entry;
        all.extend([at, word(at), word(at) + word(at + 8)]);
    }
    all
}

/// Cuts a recording anywhere. It is rejected or reported as cut off, and has no trace that the whole one
/// lacks.
#[test]
fn recordings_that_are_cut_off_have_less_and_say_so() {
    let Some(folder) = captures_for("recordings that are cut off", "perf") else { return };
    let scratch = Scratch::new("input-cut");
    let cut = scratch.path().join("perf.data");
    let mut rng = Rng::new(5);
    for (name, ..) in TABLE {
        let whole = std::fs::read(folder.join(name)).unwrap();
        let bytes = |capture: &Capture| -> Vec<(u64, u64)> {
            let pieces = capture.buffers.iter().flat_map(|buffer| buffer.pieces.iter().flatten());
            pieces.map(|piece| (piece.offset, piece.offset + piece.len)).collect()
        };
        let all = bytes(&perf::open(&folder.join(name), &[]).unwrap());
        let mut places = boundaries(&whole);
        // Of a recording with thousands, some.
        let step = places.len().div_ceil(200);
        places = places.into_iter().step_by(step).collect();
        places = places.iter().flat_map(|&at| [at.saturating_sub(1), at, at + 1]).collect();
        places.extend((0..whole.len()).step_by(4096));
        places.extend((0..100).map(|_| rng.below(whole.len() as u64) as usize));
        places.retain(|at| *at < whole.len());
        for at in places {
            std::fs::write(&cut, &whole[..at]).unwrap();
            let capture = match perf::open(&cut, &[]) {
                Ok(capture) => capture,
                Err(problem) => {
                    assert!(at < 104, "{name} cut at {at:#x}: {problem}");
                    continue;
                }
            };
            let told: Vec<_> = capture.problems.iter().map(ToString::to_string).collect();
            assert!(
                told.iter().any(|problem| problem.contains("cut off")),
                "{name} cut at {at:#x}: {told:?}"
            );
            for (start, end) in bytes(&capture) {
                // Bytes whose records are lost may be padded.
                let is_in = |(from, to): &(u64, u64)| (*from..*to + 8).contains(&start);
                assert!(
                    end <= at as u64 && all.iter().any(is_in),
                    "{name} cut at {at:#x}: {start:#x}-{end:#x}"
                );
            }
        }
    }
}
