//! Every field of `--json` is on the page `reference/json.md`, in the section of its verb.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{BOOK, Place, root};

/// Fields whose own fields are named by the data: by register, kind of packet, or parameter.
const MAPS: [&str; 8] =
    ["no_source", "registers", "meaning", "kinds", "params", "options", "data_options", "packet_bits"];

/// What is run for each section; standard output, or the file `out.json`, is JSON. All run in one folder, in this order.
const RUNS: [(&str, &str); 32] = [
    ("packets", "packets samples/two-cores --json"),
    ("packets", "packets samples/etrace --json"),
    ("stats", "stats samples/two-cores --json"),
    ("stats", "stats samples/etrace --json"),
    ("stats", "stats samples/retirement.log --json"),
    ("info", "info samples/two-cores --json"),
    ("info", "info samples/etrace --json"),
    ("info", "info samples/threads --json"),
    ("info", "info samples/perf/perf.data --json"),
    ("info", "info samples/retirement.log --json"),
    ("decode", "decode samples/hello --image samples/hello/hello.elf --elements --json"),
    ("decode", "decode samples/hello --image samples/hello/hello.elf --instructions --json"),
    ("decode", "decode samples/two-cores --elements --json"),
    ("decode", "decode samples/perf/perf.data --symfs samples/hello --elements --json"),
    ("decode", "decode samples/two-cores --no-image --json"),
    ("decode", "decode samples/hello --summary --json"),
    (
        "record",
        "record -q --protocol etrace --timing rocket_like --delta -o run --log run.log --summary out.json programs/bin/args.elf",
    ),
    ("info", "info run --json"),
    ("decode", "decode run --instructions --json"),
    ("decode", "decode run --check run.log --json"),
    (
        "port",
        "encode -q run.log --image programs/bin/args.elf -o port --port 1 --buffer 64B --when-full drop --summary out.json",
    ),
    ("encode", "encode -q run.log --image programs/bin/args.elf -o encoded --summary out.json"),
    ("profile", "profile run --calls --paths --json"),
    ("profile", "profile run --json"),
    ("profile", "profile samples/hello --image samples/hello/hello.elf --json"),
    ("coverage", "coverage run --json"),
    ("annotate", "annotate run main --json"),
    ("stalls", "stalls run --json"),
    ("diff", "diff run run --json"),
    ("merge", "merge run run -o merged --json"),
    ("demo", "demo --json"),
    ("decode", "decode samples/etrace --image programs/bin/args.elf --elements --json"),
];

fn fields(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|value| fields(value, found)),
        Value::Object(object) => {
            for (name, value) in object {
                found.insert(name.clone());
                match value {
                    Value::Object(map) if MAPS.contains(&name.as_str()) => {
                        map.values().for_each(|value| fields(value, found));
                    }
                    value => fields(value, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_field_is_documented() {
    let page = fs::read_to_string(root().join(BOOK).join("reference/json.md")).unwrap();
    // Objects that several verbs have.
    let section = |name: &str| {
        let begin = page.find(&format!("\n## {name}\n")).unwrap_or_else(|| panic!("no section {name}"));
        page[begin + 1..].split("\n## ").next().unwrap_or_default()
    };
    let shared = [section("The funnel"), section("port"), section("record")].concat();
    let place = Place::new(Path::new("json"));
    let mut missing = BTreeSet::new();
    for (verb, run) in RUNS {
        let _ = fs::remove_file(place.0.join("out.json"));
        let (_, printed) = place
            .run(&format!("tracewright {run} 2> err.txt || [ $? = 1 ]\n[ ! -e out.json ] || cat out.json"));
        let mut found = BTreeSet::new();
        let objects = printed.lines().filter(|line| line.starts_with(['{', '[']));
        objects.for_each(|line| fields(&serde_json::from_str(line).unwrap(), &mut found));
        assert!(!found.is_empty(), "{run}: {printed}");
        let text = [section(verb), &shared].concat();
        let is_there = |field: &String| text.contains(&format!("`{field}`"));
        missing.extend(
            found.into_iter().filter(|field| !is_there(field)).map(|field| format!("{verb}: {field}")),
        );
    }
    assert!(missing.is_empty(), "fields that reference/json.md does not have: {missing:#?}");
}
