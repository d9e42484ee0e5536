//! `tracewright isr`, beside the listing of the same capture.

use std::collections::BTreeMap;

use crate::run::{ETRACE, elf, run, values};
use serde_json::Value;
use tracewright_testkit::Scratch;

/// Number of times that each exception came, and how many instructions each took that ended, in increasing order.
type Told = BTreeMap<(u64, bool), (u64, Vec<u64>)>;

/// Reads a listing: an exception begins where it says so, and ends with a return from a trap.
fn listed(listing: &str) -> Told {
    let (mut told, mut active, mut ran) = (Told::new(), Vec::new(), 0);
    for row in values(listing) {
        match row["kind"].as_str() {
            Some("block") => {
                ran += row["instructions"].as_u64().unwrap();
                if row["ended"] == "trap return"
                    && let Some((key, began)) = active.pop()
                {
                    told.entry(key).or_default().1.push(ran - began);
                }
            }
            Some("exception") => {
                let key = (row["number"].as_u64().unwrap(), row["interrupt"] == true);
                told.entry(key).or_default().0 += 1;
                active.push((key, ran));
            }
            _ => {}
        }
    }
    told.values_mut().for_each(|(_, times)| times.sort_unstable());
    told
}

#[test]
fn exceptions_are_those_of_the_listing() {
    let place = Scratch::new("isr");
    let capture = place.join("run");
    let mut most = 0;
    for program in ["timer", "tasks", "traps", "timer32"] {
        run!("{ETRACE} {capture} --force {}", elf(program));
        let expected = listed(&run!("decode {capture} --json").out);
        let ran = run!("isr {capture} --json");
        let object = ran.json();
        let rows = object["exceptions"].as_array().unwrap();
        assert_eq!(rows.len(), expected.len(), "{program}: {object}");
        for row in rows {
            let key = (row["number"].as_u64().unwrap(), row["interrupt"] == true);
            let (count, times) = &expected[&key];
            assert_eq!(row["count"], *count, "{program}: {row}");
            let durations = &row["durations"];
            assert_eq!(durations["count"], times.len(), "{program}: {row}");
            let middle = times.get(times.len().saturating_sub(1) / 2);
            let ends = [(times.first(), "shortest"), (middle, "median"), (times.last(), "longest")];
            for (time, name) in ends {
                assert_eq!(
                    durations[name],
                    time.map_or(Value::Null, |&time| time.into()),
                    "{program}: {row}"
                );
            }
            assert_eq!(row["unfinished"], count - times.len() as u64, "{program}: {row}");
            most = most.max(*count);
        }
    }
    assert!(most > 10, "too few exceptions to tell: {most}");
}

/// A part of a trace has the exceptions that began in it, with the time that they took.
#[test]
fn a_part_has_what_began_in_it() {
    let place = Scratch::new("isr-part");
    let capture = place.join("run");
    run!("{ETRACE} {capture} --timing tiny --delta {}", elf("timer"));
    let rows =
        |options: &str| run!("isr {capture} --json --exception 7 {options}").json()["exceptions"].clone();
    let all = rows("");
    let (count, longest) = (all[0]["count"].as_u64().unwrap(), &all[0]["durations"]["longest"]);
    assert_eq!(all[0]["unit"], "cycles");
    let half = all[0]["intervals"]["median"].as_u64().unwrap() * count / 2;
    let parts = [rows(&format!("--to-cycle {half}")), rows(&format!("--from-cycle {half}"))];
    assert_eq!(parts.iter().map(|part| part[0]["count"].as_u64().unwrap()).sum::<u64>(), count);
    assert!(parts.iter().all(|part| part[0]["durations"]["longest"].as_u64() <= longest.as_u64()));
    // The picture and the table of values are of the same.
    let csv = run!("isr {capture} --exception 7 --format csv --histogram {}", place.join("isr.svg")).out;
    let cells: Vec<_> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((cells[5], cells[10]), (&*count.to_string(), &*longest.to_string()));
    assert!(std::fs::read_to_string(place.join("isr.svg")).unwrap().contains("exceptions by duration"));
}
