//! `tracewright timeline`: files that parse, slices that are balanced, sums that are those of `stalls`; and the Firefox Profiler's own
//! command line (npm: @firefox-devtools/profiler-cli), where it is installed. Perfetto's own format is read by protoc.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::run::{Ran, TIMED, number, ran, recorded, rows, run, string, text, value};
use serde_json::Value;
use tracewright_testkit::{Scratch, has_programs};

/// Writes a timeline and reads it.
fn timeline(capture: &str, options: &str) -> Value {
    let ran = run!("timeline {capture} -o - {options}");
    // The status is 1 if calls that are too deep are left out, and only then.
    let status = ran.err.contains("calls deeper than 4096 left out").into();
    ran.ends(status).json()
}

/// What `stalls` says: the cycles of each function.
fn cycles(capture: &str) -> BTreeMap<String, u64> {
    let json = run!("stalls {capture} --no-inline --json").ends(0).json();
    let functions = rows(&json, "functions").iter();
    functions.map(|row| (string(row, "function").to_owned(), number(row, "cycles"))).collect()
}

/// By function: the time that is not of a slice within. Slices must be balanced, and in order.
fn own(json: &Value) -> (BTreeMap<String, u64>, usize) {
    let mut own: BTreeMap<String, u64> = BTreeMap::new();
    let mut threads: BTreeMap<(u64, u64), (u64, Vec<String>)> = BTreeMap::new();
    let mut slices = 0;
    for event in rows(json, "traceEvents").iter().filter(|event| event["ph"] != "M") {
        let (last, stack) = threads.entry((number(event, "pid"), number(event, "tid"))).or_default();
        // In nanoseconds.
        let now = (event["ts"].as_f64().unwrap() * 1000.0).round() as u64;
        if let Some(function) = stack.last() {
            assert!(now >= *last, "{event}");
            *own.entry(function.clone()).or_default() += now - *last;
        }
        *last = now;
        match string(event, "ph") {
            "B" => stack.push(string(event, "name").to_owned()),
            "E" => {
                slices += 1;
                assert!(stack.pop().is_some(), "{event}");
            }
            _ => panic!("{event}"),
        }
    }
    assert!(threads.values().all(|(_, stack)| stack.is_empty()));
    (own, slices)
}

#[test]
fn times_of_functions_are_those_of_stalls() {
    let folder = Scratch::new("timeline");
    for program in ["hash", "divides"] {
        let capture = recorded(&folder, program, TIMED);
        let expected = cycles(&capture);
        let (own, slices) = own(&timeline(&capture, ""));
        assert!(slices > 20, "{program}: {slices}");
        assert_eq!(own, expected, "{program}");

        let firefox = timeline(&capture, "--format firefox");
        assert_eq!(firefox["meta"]["preprocessedProfileVersion"], 47);
        let thread = &firefox["threads"][0];
        for table in ["samples", "stackTable", "frameTable", "funcTable"] {
            let len = number(&thread[table], "length") as usize;
            let columns = thread[table].as_object().unwrap().values();
            assert!(columns.filter_map(Value::as_array).all(|column| column.len() == len), "{table}");
        }
        let (frames, names) = (rows(&thread["stackTable"], "frame"), rows(thread, "stringArray"));
        let samples = &thread["samples"];
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for (stack, weight) in rows(samples, "stack").iter().zip(rows(samples, "weight")) {
            let frame = frames[stack.as_u64().unwrap() as usize].as_u64().unwrap() as usize;
            let name = names[frame].as_str().unwrap().to_owned();
            *found.entry(name).or_default() += (weight.as_f64().unwrap() * 1e6).round() as u64;
        }
        assert_eq!(found, expected, "{program}");
    }
}

/// What is used of Perfetto's schema (perfetto_trace.proto). A field that is not in it has no name in what protoc prints.
const SCHEMA: &str = r#"
syntax = "proto2";
message Trace { repeated TracePacket packet = 1; }
message TracePacket {
  optional uint64 timestamp = 8;
  optional uint32 trusted_packet_sequence_id = 10;
  optional TrackEvent track_event = 11;
  optional InternedData interned_data = 12;
  optional uint32 sequence_flags = 13;
  optional TracePacketDefaults trace_packet_defaults = 59;
  optional TrackDescriptor track_descriptor = 60;
}
message TrackEvent {
  enum Type { TYPE_UNSPECIFIED = 0; TYPE_SLICE_BEGIN = 1; TYPE_SLICE_END = 2; }
  optional Type type = 9;
  optional uint64 name_iid = 10;
}
message TrackEventDefaults { optional uint64 track_uuid = 11; }
message TracePacketDefaults { optional TrackEventDefaults track_event_defaults = 11; }
message InternedData { repeated EventName event_names = 2; }
message EventName { optional uint64 iid = 1; optional string name = 2; }
message TrackDescriptor {
  optional uint64 uuid = 1;
  optional ProcessDescriptor process = 3;
  optional ThreadDescriptor thread = 4;
}
message ProcessDescriptor { optional int32 pid = 1; optional string process_name = 6; }
message ThreadDescriptor { optional int32 pid = 1; optional int32 tid = 2; optional string thread_name = 5; }
"#;

/// A message as protoc prints it: values of fields, by the way to them.
type Fields = BTreeMap<String, String>;

/// The packets of a trace, as protoc reads them.
fn packets(folder: &Scratch, trace: &str) -> Vec<Fields> {
    let mut protoc = Command::new("protoc");
    protoc.args(["--proto_path", text(folder.path()), "--decode=Trace", "perfetto.proto"]);
    let Ran { out, .. } = ran(protoc.stdin(fs::File::open(trace).unwrap())).ends(0);
    let (mut all, mut fields, mut way) = (Vec::new(), Fields::new(), Vec::new());
    for line in out.lines() {
        let line = line.trim_start();
        if let Some(name) = line.strip_suffix(" {") {
            way.push(name.to_owned());
        } else if line == "}" {
            way.pop();
            if way.is_empty() {
                all.push(std::mem::take(&mut fields));
            }
        } else {
            let (name, value) = line.split_once(": ").unwrap();
            assert!(name.starts_with(|first: char| first.is_ascii_alphabetic()), "{line}");
            let name = way[1..].iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(".");
            fields.insert(name, value.trim_matches('"').to_owned());
        }
    }
    all
}

/// A slice begins, with a name, or ends: in a track, at a time.
type Change = (Option<String>, String, u64);

/// What Perfetto's viewer makes of packets: changes, and the names of threads by track.
fn of_packets(packets: &[Fields]) -> (Vec<Change>, BTreeMap<String, String>) {
    let mut names: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut tracks: BTreeMap<&str, &str> = BTreeMap::new();
    let mut threads: BTreeMap<String, String> = BTreeMap::new();
    let mut events = Vec::new();
    for packet in packets {
        let get = |name: &str| packet.get(name).map(String::as_str);
        let sequence = get("trusted_packet_sequence_id").unwrap();
        if let Some(track) = get("trace_packet_defaults.track_event_defaults.track_uuid") {
            assert_eq!(get("sequence_flags"), Some("1"), "{packet:?}");
            tracks.insert(sequence, track);
        }
        if let Some(iid) = get("interned_data.event_names.iid") {
            names.insert((sequence, iid), get("interned_data.event_names.name").unwrap());
        }
        if let (Some(track), Some(name)) =
            (get("track_descriptor.uuid"), get("track_descriptor.thread.thread_name"))
        {
            threads.insert(track.to_owned(), name.to_owned());
        }
        let Some(kind) = get("track_event.type") else { continue };
        assert_eq!(get("sequence_flags"), Some("2"), "{packet:?}");
        let name =
            (kind == "TYPE_SLICE_BEGIN").then(|| names[&(sequence, get("track_event.name_iid").unwrap())]);
        let time = get("timestamp").unwrap().parse().unwrap();
        events.push((name.map(str::to_owned), tracks[sequence].to_owned(), time));
    }
    (events, threads)
}

#[test]
fn perfetto_packets_are_the_events_of_chrome() {
    let test = "perfetto_packets_are_the_events_of_chrome";
    if !has_programs(test, &["protoc"]) {
        return;
    }
    let folder = Scratch::new("timeline");
    folder.write("perfetto.proto", SCHEMA.as_bytes());
    let hash = recorded(&folder, "hash", TIMED);
    let file = folder.join("run.pftrace");
    for (capture, options, names) in [
        (hash.as_str(), "", &["thread 1000"][..]),
        (&hash, "--mhz 3000 --min 20", &["thread 1000"]),
        ("samples/threads", "", &["hello 1234", "hello 1234, thread 1235"]),
    ] {
        let chrome = timeline(capture, options);
        run!("timeline {capture} --format perfetto -o {file} {options}").ends(0);
        let (told, threads) = of_packets(&packets(&folder, &file));
        let mut tracks = BTreeMap::new();
        let mut expected = rows(&chrome, "traceEvents").iter().filter(|event| event["ph"] != "M");
        for (name, track, time) in &told {
            let event = expected.next().unwrap();
            assert_eq!(event["ph"], if name.is_some() { "B" } else { "E" }, "{event}");
            assert_eq!(event["name"].as_str(), name.as_deref(), "{event}");
            // Nanoseconds, rounded down, of microseconds with six digits.
            let exact = event["ts"].as_f64().unwrap() * 1000.0;
            assert!((exact - *time as f64).abs() < 1.0, "{event}: {time}");
            let thread = (event["pid"].as_u64(), event["tid"].as_u64());
            assert_eq!(tracks.entry(track).or_insert(thread), &thread, "{event}");
        }
        assert!(expected.next().is_none() && told.len() > 10, "{}", told.len());
        assert!(tracks.keys().all(|track| threads.contains_key(*track)), "{tracks:?}");
        assert_eq!(threads.values().collect::<Vec<_>>(), names);
        let json = serde_json::to_vec(&chrome).unwrap().len();
        let size = fs::metadata(&file).unwrap().len() as usize;
        assert!(told.len() < 40 || size * 5 < json * 2, "{size} of {json} bytes");
    }
}

#[test]
fn limits_are_kept() {
    let folder = Scratch::new("timeline");
    let capture = recorded(&folder, "recursion", TIMED);
    let (all, slices) = own(&timeline(&capture, ""));
    let total: u64 = all.values().sum();
    let options = format!("--from-cycle {} --to-cycle {}", total / 3, total / 2);
    let (window, _) = own(&timeline(&capture, &options));
    assert_eq!(window.values().sum::<u64>(), total / 2 - total / 3);
    let (long, fewer) = own(&timeline(&capture, "--min 50"));
    assert!(fewer > 0 && fewer < slices, "{fewer} of {slices}");
    assert_eq!(long.values().sum::<u64>(), total);
    let file = folder.join("few.json");
    let few = run!("timeline {capture} -o {file} --most 10").ends(1);
    few.says("more than 10 slices: what comes after cycles ");
    assert_eq!(own(&value(&file)).1, 10);
    // Instructions instead of cycles.
    let (instructions, _) = own(&timeline(&capture, "--clock instructions"));
    let summary = run!("stalls {capture} --json").ends(0).json();
    assert_eq!(instructions.values().sum::<u64>(), summary["sources"][0]["instructions"]);
}

#[test]
fn the_firefox_profiler_says_the_same() {
    let test = "the_firefox_profiler_says_the_same";
    let folder = Scratch::new("timeline");
    if !has_programs(test, &["profiler-cli"]) {
        return;
    }
    let ask = |line: &str| ran(Command::new("profiler-cli").args(line.split(' ')).env("HOME", folder.path()));
    let (capture, file) = (recorded(&folder, "divides", TIMED), folder.join("divides.json"));
    run!("timeline {capture} -o {file} --format firefox").ends(0);
    // It gives its daemon half a second to start, which is too little on a busy machine.
    let mut session = 0;
    loop {
        let loaded = ask(&format!("load {file} --session s{session}"));
        if loaded.status == Some(0) {
            break;
        }
        assert!(session < 5);
        loaded.says("did not become ready");
        std::thread::sleep(std::time::Duration::from_secs(3));
        session += 1;
    }
    let asked = ask(&format!("thread functions --json --session s{session}"));
    ask("stop --all");
    let json = asked.ends(0).json();
    let told = rows(&json, "functions").iter().map(|row| {
        let cycles = (row["selfSamples"].as_f64().unwrap() * 1e6).round() as u64;
        (string(row, "name").to_owned(), cycles)
    });
    assert_eq!(told.collect::<BTreeMap<_, _>>(), cycles(&capture));
}

/// A clock that the trace does not have is refused, with those that it has; what a rate is of is said.
#[test]
fn clocks_that_are_not_there_are_refused() {
    let refused = run!("timeline samples/etrace -o - --clock cycles").ends(2);
    refused.says("--clock cycles: nothing tells cycles in samples/etrace: choose --clock instructions");
    run!("timeline samples/etrace -o - --clock time").ends(2).says(", or choose --clock instructions");
    run!("timeline samples/perf/perf.data --symfs samples/hello -o - --clock cycles").ends_within(0..=2);
    let image = "--image samples/hello/hello.elf";
    run!("timeline samples/hello {image} -o - --clock cycles").ends(0).says("times in cycles\n");
    let rate = run!("timeline samples/hello {image} -o - --mhz 2").ends(0);
    rate.says("times in cycles, 2 in a microsecond of the viewer\n");
    let rate = run!("timeline samples/etrace -o - --mhz 2.5").ends(0);
    rate.says("times in instructions, 2.5 in a microsecond of the viewer\n");
    // Both timestamps of each core come before anything that was called ends.
    let instants = run!("timeline samples/threads -o - --clock time --mhz 0.5").ends(1);
    instants
        .says("times in real time from timestamps at 0.5 MHz\n")
        .says("ETM_0: all slices have length 0: its timestamps ");
}
