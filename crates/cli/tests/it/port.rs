//! The trace port from the command line: how large the buffer must be, and what a smaller one costs.

use crate::run::{ETRACE, elf, number, run, value};
use serde_json::Value;
use tracewright_testkit::Scratch;

/// Records a program through a port; what is said of the port.
fn record_through_port(place: &Scratch, program: &str, port: &str) -> Value {
    let (dir, log, summary) = (place.join("run"), place.join("run.log"), place.join("summary.json"));
    let program = elf(program);
    let ran =
        run!("{ETRACE} {dir} --timing tiny --log {log} --summary-json {summary} --port {port} {program}");
    // Programs end with a status of their own.
    assert!(ran.status.is_some_and(|code| code != 2), "{program} {port}: {}", ran.err);
    ran.says_not("error");
    value(&summary)["port"].clone()
}

/// All that ran is in the trace.
fn assert_equal(place: &Scratch) {
    run!("decode {} --check {}", place.join("run"), place.join("run.log")).begins("equal: ");
}

/// Sample programs that are short enough.
const PROGRAMS: &[&str] = &["args", "jumps", "traps", "semihosting32", "recursion"];

/// For each of the programs, with the smallest buffer nothing is lost and nobody waits; with a bit less, something is, or somebody does.
#[test]
fn the_smallest_buffer_is_exact() {
    let place = Scratch::new("port");
    for name in PROGRAMS {
        for rate in ["1/4", "3"] {
            let smallest = number(&record_through_port(&place, name, rate), "smallest_buffer_bits");
            for when_full in ["drop", "stall"] {
                let run = |bits: u64| {
                    let port = format!("{rate} --port-buffer {bits}bits --when-full {when_full}");
                    let port = record_through_port(&place, name, &port);
                    assert_eq!(number(&port, "smallest_buffer_bits"), smallest, "{name} {rate}");
                    let buffer = &port["buffer"];
                    assert_eq!(number(buffer, "bits"), bits);
                    (number(buffer, "losses"), number(buffer, "stall_cycles"), number(buffer, "peak_bits"))
                };
                assert_eq!(run(smallest), (0, 0, smallest), "{name} {rate} {when_full}");
                assert_equal(&place);
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
        let port = record_through_port(&place, name, "1/16 --port-buffer 96B --when-full stall");
        assert!(number(&port["buffer"], "stall_cycles") > 0, "{port}");
        assert!(port["buffer"]["slowdown_percent"].as_f64().unwrap() > 0.0, "{port}");
        assert_equal(&place);

        let port = record_through_port(&place, name, "1/16 --port-buffer 96B --when-full drop");
        let decoded = run!("decode {} --summary --json", place.join("run")).json();
        let lost = number(&port["buffer"], "lost_instructions");
        assert!(lost > 0 && number(&port["buffer"], "lost_packets") > 0, "{name}: {port}");
        assert_eq!(number(&decoded, "instructions") + lost, number(&port, "instructions"), "{name}: {port}");
        assert_eq!(number(&decoded, "gaps"), number(&port["buffer"], "losses"), "{name}: {decoded}");
        assert_eq!(number(&decoded, "mismatches"), 0, "{name}: {decoded}");
        // Up to the first gap it is what the log says, and then the log cannot be compared.
        let checked = run!("decode {} --check {}", place.join("run"), place.join("run.log"));
        checked.prints("a gap: trace is missing");
    }
}

/// A log that was encoded goes through the same port as the program.
#[test]
fn logs_go_through_ports_too() {
    let place = Scratch::new("port");
    let (dir, log, summary) = (place.join("run"), place.join("run.log"), place.join("summary.json"));
    let program = elf("args");
    run!("record -q --log {log} {program}").ends(0);
    run!("{ETRACE} {dir} --port 1/4 --summary-json {summary} {program}").ends(0);
    let recorded = value(&summary)["port"].clone();
    let encoded =
        run!("encode {log} --image {program} -o {dir} --port 0.25 --summary-json {summary}").ends(0);
    encoded.says("cycles, one for each instruction").says("bits at rate 1/4 (asked for)");
    let encoded = value(&summary);
    assert_eq!(encoded["port"], recorded);
    assert_eq!(encoded["port"]["cycles_are_instructions"], true);
    assert_eq!(number(&encoded["port"], "cycles"), number(&encoded, "instructions"));
}
