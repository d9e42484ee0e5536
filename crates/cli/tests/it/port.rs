//! The trace port from the command line: how large the buffer must be, and what a smaller one costs.

use std::process::Output;

use crate::run::{stderr, tracewright};
use serde_json::Value;
use tracewright_testkit::Scratch;

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
}

/// Records a program through a port; what is said of the port.
fn record_through_port(place: &Scratch, program: &str, more: &[&str]) -> Value {
    let (dir, log, summary) = (place.join("run"), place.join("run.log"), place.join("summary.json"));
    let mut arguments = vec!["record", "-q", "--protocol", "etrace", "--timing", "tiny", "-o", &dir];
    arguments.extend(["--log", &log, "--summary", &summary]);
    arguments.extend(more);
    arguments.push(program);
    let output = tracewright(&arguments);
    assert!(summary_is_there(&output), "{program} {more:?}: {}", stderr(&output));
    json(&std::fs::read(&summary).unwrap())["port"].clone()
}

/// What decoding came to.
fn decode(place: &Scratch) -> Value {
    json(&tracewright(&["decode", &place.join("run"), "--summary", "--json"]).stdout)
}

/// Programs end with a status of their own.
fn summary_is_there(output: &Output) -> bool {
    output.status.code().is_some_and(|code| code != 2) && !stderr(output).contains("error")
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name}: {value}"))
}

/// Sample programs that are short enough.
const PROGRAMS: &[&str] = &["args", "jumps", "traps", "semihosting32", "recursion"];

/// For each of the programs, with the smallest buffer nothing is lost and nobody waits; with a bit less, something is, or somebody does.
#[test]
fn the_smallest_buffer_is_exact() {
    let place = Scratch::new("port");
    for name in PROGRAMS {
        let program = format!("programs/bin/{name}.elf");
        for rate in ["1/4", "3"] {
            let smallest =
                number(&record_through_port(&place, &program, &["--port", rate]), "smallest_buffer_bits");
            for when_full in ["drop", "stall"] {
                let run = |bits: u64| {
                    let size = format!("{bits}bits");
                    let port = record_through_port(
                        &place,
                        &program,
                        &["--port", rate, "--buffer", &size, "--when-full", when_full],
                    );
                    assert_eq!(number(&port, "smallest_buffer_bits"), smallest, "{name} {rate}");
                    let buffer = &port["buffer"];
                    assert_eq!(number(buffer, "bits"), bits);
                    (number(buffer, "losses"), number(buffer, "stall_cycles"), number(buffer, "peak_bits"))
                };
                assert_eq!(run(smallest), (0, 0, smallest), "{name} {rate} {when_full}");
                let checked = tracewright(&["decode", &place.join("run"), "--check", &place.join("run.log")]);
                assert!(checked.stdout.starts_with(b"equal: "), "{name}: {}", stderr(&checked));
                let (lost, waited, _) = run(smallest - 1);
                assert!(if when_full == "drop" { lost > 0 } else { waited > 0 }, "{name} {rate} {when_full}");
            }
        }
    }
}

/// Who waits loses nothing; what is lost otherwise is told, and the rest is what ran.
#[test]
fn a_smaller_buffer_costs_what_is_said() {
    let place = Scratch::new("port");
    for name in PROGRAMS {
        let program = format!("programs/bin/{name}.elf");
        let limit = ["--port", "1/16", "--buffer", "96B", "--when-full"];
        let port = record_through_port(&place, &program, &[&limit[..], &["stall"]].concat());
        assert!(number(&port["buffer"], "stall_cycles") > 0, "{port}");
        assert!(port["buffer"]["slowdown_percent"].as_f64().unwrap() > 0.0, "{port}");
        let checked = tracewright(&["decode", &place.join("run"), "--check", &place.join("run.log")]);
        assert!(checked.stdout.starts_with(b"equal: "), "{name}: {}", stderr(&checked));

        let port = record_through_port(&place, &program, &[&limit[..], &["drop"]].concat());
        let decoded = decode(&place);
        let lost = number(&port["buffer"], "lost_instructions");
        assert!(lost > 0 && number(&port["buffer"], "lost_packets") > 0, "{name}: {port}");
        assert_eq!(number(&decoded, "instructions") + lost, number(&port, "instructions"), "{name}: {port}");
        assert_eq!(number(&decoded, "gaps"), number(&port["buffer"], "losses"), "{name}: {decoded}");
        assert_eq!(number(&decoded, "mismatches"), 0, "{name}: {decoded}");
        // Up to the first gap it is what the log says, and then the log cannot be compared.
        let checked = tracewright(&["decode", &place.join("run"), "--check", &place.join("run.log")]);
        let text = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(text.contains("a gap: trace is missing"), "{name}: {text}");
    }
}

/// A log that was encoded goes through the same port as the program.
#[test]
fn logs_go_through_ports_too() {
    let place = Scratch::new("port");
    let program = "programs/bin/args.elf";
    let (dir, log, summary) = (place.join("run"), place.join("run.log"), place.join("summary.json"));
    let output = tracewright(&["record", "-q", "--log", &log, program]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = tracewright(&[
        "record",
        "-q",
        "--protocol",
        "etrace",
        "-o",
        &dir,
        "--port",
        "1/4",
        "--summary",
        &summary,
        program,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let recorded = json(&std::fs::read(&summary).unwrap())["port"].clone();
    let output = tracewright(&[
        "encode",
        &log,
        "--image",
        program,
        "-o",
        &dir,
        "--port",
        "0.25",
        "--summary",
        &summary,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let encoded = json(&std::fs::read(&summary).unwrap());
    assert_eq!(encoded["port"], recorded);
    assert_eq!(encoded["port"]["cycles_are_instructions"], true);
    assert_eq!(number(&encoded["port"], "cycles"), number(&encoded, "instructions"));
    let text = stderr(&output);
    assert!(text.contains("cycles, one for each instruction"), "{text}");
    assert!(text.contains("bits at rate 1/4 (asked for)"), "{text}");
}
