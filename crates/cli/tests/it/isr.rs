//! `tracewright isr`, beside the listing of the same capture.

use std::collections::BTreeMap;
use std::process::Command;

use crate::run::{ETRACE, elf, root, run, values};
use serde_json::Value;
use tracewright_testkit::{Scratch, has_programs};

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
fn a_number_that_no_exception_has_is_told() {
    let place = Scratch::new("isr");
    let capture = place.join("run");
    run!("{ETRACE} {capture} {}", elf("timer"));
    let all: u64 = listed(&run!("decode {capture} --json").out).values().map(|(count, _)| count).sum();
    let ran = run!("isr {capture} --exception 99 -q").ends(1);
    ran.says(format!("no exception has the number 99; there are {all}"));
    let object = run!("isr {capture} --exception 99 --json").ends(1).json();
    assert_eq!(object["incomplete"].as_array().unwrap(), &["nothing-ran"]);
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

/// Threads as the test's own replay of the listing has them: value, number of runs that ended, and the instructions in them.
fn listed_threads(listing: &str, variable: u64) -> BTreeMap<u64, Vec<u64>> {
    let number =
        |row: &Value, name: &str| u64::from_str_radix(row[name].as_str()?.strip_prefix("0x")?, 16).ok();
    let (mut threads, mut ran, mut depth, mut began) = (BTreeMap::<_, Vec<_>>::new(), 0, 0, 0);
    let (mut now, mut next) = (None::<(u64, u64)>, None::<u64>);
    for row in values(listing) {
        match row["kind"].as_str() {
            Some("block") => {
                ran += row["instructions"].as_u64().unwrap();
                depth -= u64::from(row["ended"] == "trap return");
            }
            Some("exception") => {
                if depth == 0 {
                    began = ran;
                }
                depth += 1;
            }
            Some("data") if row["access"] == "store" && number(&row, "address") == Some(variable) => {
                next = number(&row, "value");
            }
            _ => {}
        }
        // The store may be told after the handler's end.
        if depth == 0
            && let Some(thread) = next.take()
            && now.is_none_or(|(running, _)| running != thread)
            && let Some((thread, since)) = now.replace((thread, ran))
        {
            threads.entry(thread).or_default().push(began - since);
        }
    }
    threads.values_mut().for_each(|times| times.sort_unstable());
    threads
}

/// Threads are those that the system's stores to its variable tell, and each task of the program is one.
#[test]
fn threads_are_those_that_stores_tell() {
    const NM: &str = "llvm-nm-19";
    if !has_programs("threads by stores", &[NM]) {
        return;
    }
    let place = Scratch::new("isr-threads");
    let capture = place.join("run");
    for program in ["tasks", "tasks32"] {
        let elf = elf(program);
        run!("{ETRACE} {capture} --force --option data=address,value {elf}");
        let symbols = Command::new(NM).arg(root().join(&elf)).output().unwrap();
        let symbols = String::from_utf8(symbols.stdout).unwrap();
        let line = symbols.lines().find(|line| line.ends_with(" current")).unwrap();
        let variable = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
        let expected = listed_threads(&run!("decode {capture} --json").out, variable);
        assert_eq!(expected.len(), 2, "{program}");
        let object = run!("isr {capture} --thread-symbol current --json").json();
        let rows = object["threads"].as_array().unwrap();
        assert_eq!(rows.len(), expected.len(), "{program}: {object}");
        for (row, (value, times)) in rows.iter().zip(&expected) {
            assert_eq!(row["value"], format!("{value:#x}"), "{program}");
            assert_eq!(row["durations"]["count"], times.len(), "{program}: {row}");
            assert_eq!(row["durations"]["shortest"], times[0], "{program}: {row}");
            assert_eq!(row["durations"]["longest"], times[times.len() - 1], "{program}: {row}");
            assert_eq!(row["durations"]["total"], times.iter().sum::<u64>(), "{program}: {row}");
            assert!(times.len() > 5, "{program}: too few to tell");
        }
        let csv = run!("isr {capture} --thread-symbol current --format csv").out;
        assert_eq!(csv.lines().count(), 3, "{csv}");
    }
    run!("isr {capture} --thread-symbol nothing").ends(2).says("no program has a variable of this name");
    run!("isr {capture} --thread-comparator 3").ends(0).says("the trace tells no thread");
}
