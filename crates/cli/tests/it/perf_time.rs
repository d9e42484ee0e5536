//! Timestamps of the trace on the clock of the recording (`TIME_CONV`).

use crate::run::{run, text, values};
use crate::support::processes::{Made, Running, install, map, programs};
use tracewright_core::Element;
use tracewright_etm::Protocol;
use tracewright_testkit::perf::{Who, who};
use tracewright_testkit::{Rng, Scratch};

/// Decodes a recording whose counter counts 25 million times a second, from 7 seconds on. What was told of time, as objects and as
/// text; and of the capture.
fn told(counter: u64, with_record: bool) -> (Vec<serde_json::Value>, String, serde_json::Value) {
    let scratch = Scratch::new(&format!("perf-time-{counter}-{with_record}"));
    let mut rng = Rng::new(48);
    let programs = programs(&mut rng);
    install(&scratch, &programs);
    let mut made = Made::timed(counter);
    if with_record {
        let mut body = [24, 40 << 24, 7_000_000_000, 0, 0].map(u64::to_le_bytes).concat();
        body.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        made.recording.record(79, 0, body, Who::default());
    }
    map(&mut made.recording, who(100, 0), &programs[0], "/bin/one");
    let mut elements = Running::new(&programs[0], 100, &mut rng).run(Protocol::Etm4, 200);
    elements.push(Element::Timestamp { value: 25_000_000, cycles: None });
    made.piece(who(100, 10), &elements);
    let path = made.write(&scratch);
    let recording = format!("{} --symfs {}", text(&path), scratch.join("root"));
    let objects = run!("decode --elements --json {recording}").good();
    let times = values(&objects).filter(|object| object["kind"] == "timestamp").collect();
    let lines = run!("decode --elements {recording}").good();
    let lines = lines.lines().filter(|line| line.contains("timestamp 0x")).collect();
    (times, lines, run!("info --json {recording}").ends(0).json())
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
