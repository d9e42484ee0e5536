//! `--json` writes what the page `reference/json.md` says, field by field, in the section of its verb.
//!
//! The page has tables `| field | type | meaning |`. A field is a path: `functions[].address` is in each object of the list
//! `functions`, `kinds.*.bytes` in each object of `kinds`, whatever its name. A type that is a link stands for the fields of another
//! section.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::{BOOK, Place, root};

/// What is run for each section; standard output, or the file `out.json`, is JSON. All run in one folder, in this order.
const RUNS: &[(&str, &str)] = &[
    ("packets", "packets samples/two-cores --json"),
    ("packets", "packets samples/etrace --json"),
    // Bytes of any kind are packets of an MTB.
    ("packets", "packets samples/etrace/trace.bin --source mtb,MTB_POSITION=0x84,MTB_MASTER=0 --json"),
    ("stats", "stats samples/two-cores --json"),
    ("stats", "stats samples/etrace --json"),
    ("stats of a log", "stats samples/retirement.log --json"),
    ("info", "info samples/two-cores --missing-code --json"),
    ("info", "info samples/perf/perf.data --missing-code --json"),
    ("info", "info samples/etrace --json"),
    ("info", "info samples/threads --json"),
    ("info", "info samples/perf/perf.data --json"),
    ("info", "info samples/hello --image samples/hello/hello.elf --json"),
    ("info of a log", "info samples/retirement.log --json"),
    ("info of a raw file", "info samples/two-cores/buffer_0.bin --json"),
    ("info of a raw file", "info samples/etrace/trace.bin --json"),
    ("info of a raw file", "info samples/swo/uart.bin --json"),
    ("decode", "decode samples/hello --image samples/hello/hello.elf --elements --json"),
    ("decode", "decode samples/hello --image samples/hello/hello.elf --instructions --json"),
    ("decode", "decode samples/two-cores --elements --json"),
    ("decode", "decode samples/hello --image samples/hello/hello.elf --timestamps --json"),
    ("decode", "decode samples/perf/perf.data --symfs samples/hello --elements --json"),
    ("decode", "decode samples/two-cores --no-image --event 0=REFILL --json"),
    ("decode --summary", "decode samples/hello --summary --json"),
    (
        "record",
        "record -q --protocol etrace --timing rocket_like --delta -o run --log run.log --summary-json out.json programs/bin/args.elf",
    ),
    ("info", "info run --json"),
    (
        "record",
        "record -q --protocol tacit --option mode=predict -o tacit --summary-json out.json programs/bin/traps.elf",
    ),
    ("packets", "packets tacit --json"),
    ("decode", "decode run --instructions --json"),
    ("decode", "decode run --calls --json"),
    ("decode", "decode samples/two-cores --calls --json"),
    ("decode --check", "decode run --check run.log --json"),
    (
        "encode",
        "encode -q run.log --image programs/bin/args.elf -o port --port 1 --port-buffer 64B --when-full drop --summary-json out.json",
    ),
    ("encode", "encode -q run.log --image programs/bin/args.elf -o encoded --summary-json out.json"),
    ("profile", "profile run --calls --paths --json"),
    ("profile", "profile run --json"),
    ("profile --format tree", "profile run --format tree --json"),
    ("profile", "profile samples/hello --image samples/hello/hello.elf --json"),
    ("coverage", "coverage run --json"),
    ("annotate", "annotate run main --json"),
    ("annotate", "annotate run try_memory --json"),
    ("stalls", "stalls run --json"),
    ("isr", "isr run --json"),
    ("isr --threads", "isr samples/two-cores --threads --json"),
    (
        "record",
        "record -q -o tasks --option data=address,value --summary-json out.json programs/bin/tasks.elf",
    ),
    ("isr --threads", "isr tasks --thread-symbol current --json"),
    ("diff", "diff run run --json"),
    ("merge", "merge run run -o merged --json"),
    ("demo", "demo --json"),
    ("decode", "decode samples/etrace --image programs/bin/args.elf --elements --json"),
    ("decode --check", "decode samples/etrace --check run.log --json"),
    ("conform", "conform --protocol ntrace -o kit --json"),
    ("conform --compare", "conform --compare kit/cases/sync-packets/trace.bin --kit kit --case plain --json"),
    ("conform --compare", "conform --compare kit/cases/traps/trace.bin --kit kit --case plain --json"),
    ("packets --against", "packets kit/cases/plain --against kit/cases/sync-packets --json"),
];

/// What these runs do not write, by section: other tests [`check`] it, or it takes hardware that no sample is of.
const RARE: &[(&str, &[&str])] = &[
    ("conform", &["left_out"]),
    (
        "decode",
        &[
            "access",
            "by",
            "bytes",
            "cycle_to",
            "interrupt",
            "nanoseconds",
            "next",
            "operand",
            "time_nanoseconds",
            "value_after",
        ],
    ),
    ("decode---check", &["code_from_log", "source"]),
    ("info", &["timestamp_hertz"]),
    (
        "packets",
        &[
            "bits",
            "bytes",
            "cancel",
            "change",
            "channel",
            "ci",
            "clock_changed",
            "code",
            "commit",
            "comparator",
            "data",
            "flow",
            "half",
            "hardware",
            "header",
            "hertz",
            "increment",
            "increments",
            "index",
            "instructions",
            "key",
            "low",
            "marked",
            "master",
            "mispredict",
            "of",
            "packet_delayed",
            "page",
            "port",
            "reason",
            "results",
            "same_key",
            "size",
            "source",
            "spec",
            "steps",
            "text",
            "times",
            "timestamp_delayed",
            "token",
            "tokens",
            "type",
            "upper",
            "upper_changed",
            "version",
            "wndw",
        ],
    ),
    ("profile", &["events", "events_of_functions", "indirect_calls"]),
    ("record---qemu", &[""]),
    ("stats", &["lost", "other_ids"]),
];

/// A row of the page.
#[derive(Debug)]
struct Field {
    kind: String,
    is_nullable: bool,
    is_optional: bool,
    /// The section that describes the fields of the object.
    section: Option<String>,
}

impl Field {
    fn new(cell: &str) -> Self {
        let (cell, section) = match cell.split_once("](#") {
            Some((kind, anchor)) => {
                let (anchor, rest) = anchor.split_once(')').unwrap();
                (format!("{}{rest}", kind.trim_start_matches('[')), Some(anchor.to_owned()))
            }
            None => (cell.to_owned(), None),
        };
        let (cell, is_optional) = match cell.strip_suffix(", *opt*") {
            Some(cell) => (cell.to_owned(), true),
            None => (cell, false),
        };
        let (kind, is_nullable) = match cell.strip_suffix(" or null") {
            Some(kind) => (kind.to_owned(), true),
            None => (cell, false),
        };
        Self { kind, is_nullable, is_optional, section }
    }

    /// Whether a value is of the type.
    fn fits(&self, value: &Value) -> bool {
        let digits = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match (self.kind.as_str(), value) {
            ("any", _) => true,
            (_, Value::Null) => self.is_nullable,
            ("address" | "value", Value::String(text)) => text
                .strip_prefix("0x")
                .is_some_and(|text| digits(text) && !text.is_empty() && !text.starts_with("00")),
            ("digits", Value::String(text)) => digits(text),
            ("text", Value::String(text)) => !text.starts_with("0x"),
            (kind, value) => match value {
                Value::Bool(_) => kind == "flag",
                Value::Number(_) => kind == "number",
                Value::Object(_) => kind == "object",
                _ => false,
            },
        }
    }
}

/// The fields of a section by path.
type Section = BTreeMap<String, Field>;

/// The sections of the page, by name and by anchor.
fn sections(page: &str) -> BTreeMap<String, Section> {
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    for text in page.split("\n## ").skip(1) {
        let (title, text) = text.split_once('\n').unwrap();
        let title = title.replace('`', "");
        let mut fields = Section::new();
        let mut is_table = false;
        for line in text.lines() {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let [_, names, kind, _, _] = cells[..] else {
                is_table = false;
                continue;
            };
            if is_table && !names.starts_with('-') {
                for name in names.split('`').skip(1).step_by(2) {
                    let known = fields.insert(name.to_owned(), Field::new(kind));
                    assert!(known.is_none(), "{title}: {name} is there twice");
                }
            }
            is_table |= (names, kind) == ("field", "type");
        }
        sections.insert(anchor(&title), fields);
    }
    sections
}

/// Compares what is written with the page.
struct Comparison<'a> {
    sections: &'a BTreeMap<String, Section>,
    wrong: BTreeSet<String>,
    seen: BTreeSet<(String, String)>,
}

impl Comparison<'_> {
    fn object(&mut self, section: &str, path: &str, object: &Map<String, Value>) {
        let fields = &self.sections[section];
        let any = join(path, "*");
        let is_map = fields.keys().any(|field| field.starts_with(&any));
        for (name, value) in object {
            self.value(section, &join(path, if is_map { "*" } else { name }), value);
        }
        // What is not optional is in each object.
        for (name, field) in fields.iter().filter(|(_, field)| !field.is_optional) {
            let own =
                if path.is_empty() { Some(name.as_str()) } else { name.strip_prefix(&format!("{path}.")) };
            let is_missing = |name: &&str| {
                !name.contains('.')
                    && !name.starts_with('*')
                    && !object.contains_key(name.trim_end_matches("[]"))
            };
            if let Some(name) = own.filter(is_missing) {
                self.wrong.insert(format!("{section}: {} is not always there: {field:?}", join(path, name)));
            }
        }
    }

    fn value(&mut self, section: &str, path: &str, value: &Value) {
        if let Value::Array(values) = value {
            let each = format!("{path}[]");
            self.seen.insert((section.to_owned(), each.clone()));
            return values.iter().for_each(|value| self.value(section, &each, value));
        }
        let fields = &self.sections[section];
        let is_above = || fields.keys().any(|field| field.starts_with(&format!("{path}.")));
        let field = match (fields.get(path), value) {
            (Some(field), _) => field,
            // What is in it is on the page.
            (None, Value::Object(object)) if is_above() => return self.object(section, path, object),
            _ => {
                self.wrong.insert(format!("{section}: {path} is not on the page: {value}"));
                return;
            }
        };
        self.seen.insert((section.to_owned(), path.to_owned()));
        if !field.fits(value) {
            self.wrong.insert(format!("{section}: {path} is not {}: {value}", field.kind));
        }
        if let Value::Object(object) = value {
            match &field.section {
                Some(section) => self.object(section, "", object),
                None => self.object(section, path, object),
            }
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn page() -> BTreeMap<String, Section> {
    sections(&fs::read_to_string(root().join(BOOK).join("reference/json.md")).unwrap())
}

/// Fails if an object is not as its section of the page says.
pub fn check(section: &str, object: &Value) {
    let sections = &page();
    let mut comparison = Comparison { sections, wrong: BTreeSet::new(), seen: BTreeSet::new() };
    comparison.object(&anchor(section), "", object.as_object().unwrap());
    assert!(comparison.wrong.is_empty(), "{:#?}", comparison.wrong);
}

fn anchor(title: &str) -> String {
    title.to_lowercase().replace(' ', "-")
}

/// The names of reasons on the page.
fn reasons() -> BTreeSet<String> {
    let page = fs::read_to_string(root().join(BOOK).join("reference/json.md")).unwrap();
    let (_, section) = page.split_once("## Why the status is 1\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    rows.flat_map(|row| row.split(['`', ',', ' ']).map(str::to_owned))
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn every_field_is_as_the_page_says() {
    let sections = page();
    let (names, mut told) = (reasons(), BTreeSet::new());
    let place = Place::new(Path::new("json"));
    let mut comparison = Comparison { sections: &sections, wrong: BTreeSet::new(), seen: BTreeSet::new() };
    for (section, run) in RUNS {
        let _ = fs::remove_file(place.0.join("out.json"));
        let (_, printed) = place
            .run(&format!("tracewright {run} 2> err.txt || [ $? = 1 ]\n[ ! -e out.json ] || cat out.json"));
        // The program that `record` runs prints, too.
        let objects: Vec<Value> = printed
            .lines()
            .filter(|line| line.starts_with('{'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let verb = run.split(' ').next().unwrap();
        let is_listing = matches!(*section, "packets" | "decode");
        for (number, object) in objects.iter().enumerate() {
            let has_version = object["version"] == 2 && object["verb"] == verb;
            // The last line of a listing says why it is not complete.
            let is_last = number + 1 == objects.len() && object["kind"] == "tracewright";
            assert_eq!(has_version, number == 0 || !is_listing || is_last, "{run}: {object}");
            let reasons = [&object["incomplete"], &object["funnel"]["incomplete"]];
            let reasons = reasons.into_iter().filter_map(Value::as_array).flatten();
            for reason in reasons {
                assert!(names.contains(reason.as_str().unwrap()), "{run}: {reason} is not on the page");
                told.insert(reason.as_str().unwrap().to_owned());
            }
        }
        assert_eq!(objects[0]["kind"] == "tracewright", is_listing, "{run}");
        for object in objects.iter().filter(|object| object["kind"] != "tracewright") {
            comparison.object(&anchor(section), "", object.as_object().unwrap());
        }
    }
    assert!(["lost-trace", "no-code"].iter().all(|name| told.contains(*name)), "{told:?}");
    let Comparison { wrong, seen, .. } = comparison;
    assert!(wrong.is_empty(), "{wrong:#?}");
    let never = sections.iter().flat_map(|(section, fields)| {
        fields.keys().map(|path| (section.clone(), path.clone())).filter(|field| !seen.contains(field))
    });
    let is_rare = |section: &str, path: &str| {
        let fields = RARE.iter().find(|(of, _)| *of == section).map_or(&[][..], |(_, fields)| fields);
        fields.iter().any(|field| field.is_empty() || path.split(['.', '[']).next() == Some(field))
    };
    let never = never.filter(|(section, path)| !is_rare(section, path));
    let never: Vec<_> = never.map(|(section, path)| format!("{section}: {path}")).collect();
    assert!(never.is_empty(), "on the page, but never written: {never:#?}");
}
