//! Timestamps of the trace on the clock of the recording (`TIME_CONV`).

use crate::run::{rows, run, string, text, values};
use crate::support::processes::{Made, Running, install, map, programs};
use tracewright_core::Element;
use tracewright_etm::Protocol;
use tracewright_testkit::perf::{Who, who};
use tracewright_testkit::{Rng, Scratch};

/// Decodes a recording whose counter counts 25 million times a second, from 7 seconds on. What was told of time, as objects and as
/// text; and of the capture.
fn told(counter: u64, with_record: bool) -> (Vec<serde_json::Value>, String, serde_json::Value) {
    let scratch = Scratch::new(&format!("perf-time-{counter}-{with_record}"));
    let recording = recording(&scratch, counter, with_record, &[25_000_000]);
    let objects = run!("decode --elements --json {recording}").good();
    let times = values(&objects).filter(|object| object["kind"] == "timestamp").collect();
    let lines = run!("decode --elements {recording}").good();
    let lines = lines.lines().filter(|line| line.contains("timestamp 0x")).collect();
    (times, lines, run!("info --json {recording}").ends(0).json())
}

/// Writes a recording with these timestamps, 200 instructions before each. Returns the arguments that name it.
fn recording(scratch: &Scratch, counter: u64, with_record: bool, timestamps: &[u64]) -> String {
    let mut rng = Rng::new(48);
    let programs = programs(&mut rng);
    install(scratch, &programs);
    let mut made = Made::timed(counter);
    if with_record {
        let mut body = [24, 40 << 24, 7_000_000_000, 0, 0].map(u64::to_le_bytes).concat();
        body.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        made.recording.record(79, 0, body, Who::default());
    }
    map(&mut made.recording, who(100, 0), &programs[0], "/bin/one");
    let mut running = Running::new(&programs[0], 100, &mut rng);
    let mut elements = Vec::new();
    for value in timestamps {
        let ran = running.run(Protocol::Etm4, 200);
        // Tracing begins once.
        elements.extend(ran.into_iter().skip(if elements.is_empty() { 0 } else { 2 }));
        elements.push(Element::Timestamp { value: *value, cycles: None });
    }
    elements.extend(running.run(Protocol::Etm4, 200).into_iter().skip(2));
    made.piece(who(100, 10), &elements);
    let path = made.write(scratch);
    format!("{} --symfs {}", text(&path), scratch.join("root"))
}

#[test]
fn timestamps_are_told_on_the_clock_of_the_recording() {
    let (times, text, info) = told(1, true);
    let last = times.last().unwrap();
    assert_eq!((&last["timestamp"], &last["nanoseconds"]), (&"0x17d7840".into(), &8_000_000_000_u64.into()));
    assert!(text.contains("timestamp 0x17d7840, 8.000000000 s"), "{text}");
    assert_eq!(info["timestamp_hertz"], 25_000_000);
}

/// As perf does it: of another counter, or without the record, nothing is known.
#[test]
fn of_other_counters_nothing_is_said() {
    for (counter, with_record) in [(1, false), (3, true), (u64::MAX, true)] {
        let (times, text, info) = told(counter, with_record);
        assert_eq!(times.last().unwrap()["timestamp"], "0x17d7840");
        assert!(times.iter().all(|time| time.get("nanoseconds").is_none()) && !text.contains(" s"), "{text}");
        assert!(info.get("timestamp_hertz").is_none());
    }
}

/// Events of a timeline: their kinds and times in microseconds.
fn events(arguments: &str) -> (Vec<(String, f64)>, String) {
    let timeline = run!("timeline -o - {arguments}").nameless().json();
    let all = rows(&timeline, "traceEvents");
    let events = all.iter().filter(|event| event["ph"] != "M");
    let events = events.map(|event| (string(event, "ph").to_owned(), event["ts"].as_f64().unwrap()));
    let process = all.iter().find(|event| event["name"] == "process_name").unwrap();
    (events.collect(), string(&process["args"], "name").to_owned())
}

/// The first and last slice begin and end at timestamps, which are marked, in microseconds of the recorder's clock.
#[test]
fn timelines_are_in_real_time() {
    let scratch = Scratch::new("perf-real-time");
    let timestamps = [25_000_000, 25_000_025, 25_000_075];
    let recording = recording(&scratch, 1, true, &timestamps);
    let (told, name) = events(&recording);
    assert_eq!(name, "cpu0 (times in real time)");
    let marks = |told: &[(String, f64)]| {
        let marks = told.iter().filter(|(kind, _)| kind == "i");
        marks.map(|(_, time)| *time).collect::<Vec<_>>()
    };
    assert_eq!(marks(&told), [8_000_000.0, 8_000_001.0, 8_000_003.0]);
    let mut slices = told.iter().filter(|(kind, _)| kind != "i").map(|(_, time)| *time);
    assert_eq!((slices.next(), slices.next_back()), (Some(8_000_000.0), Some(8_000_003.0)));
    // The clock began 7 seconds before the counter; a rate has no beginning.
    let (by_rate, _) = events(&format!("{recording} --clock time --mhz 25"));
    assert_eq!(marks(&by_rate), [1_000_000.0, 1_000_001.0, 1_000_003.0]);
    let (counted, name) = events(&format!("{recording} --clock instructions"));
    assert_eq!((counted[0].1, name.as_str()), (0.0, "cpu0 (times in instructions)"));
    run!("timeline -o - {recording} --clock time --from-cycle 5").ends(2).says("--from-time");
}

#[test]
fn without_a_rate_timelines_are_in_timestamps() {
    let scratch = Scratch::new("perf-timestamps");
    let recording = recording(&scratch, 1, false, &[5000, 6000]);
    assert_eq!(events(&recording).1, "cpu0 (times in instructions)");
    let (told, name) = events(&format!("{recording} --clock time"));
    assert_eq!(name, "cpu0 (times in timestamps)");
    assert_eq!((told.first().unwrap().1, told.last().unwrap().1), (5.0, 6.0));
    let without = run!("timeline -o - samples/etrace --clock time").ends(2);
    without.says("--clock time: samples/etrace has no timestamps");
}
