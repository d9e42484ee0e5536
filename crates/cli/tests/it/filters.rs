//! Only a part of what ran: by time, by place, by offset. Counts in a window are those that the machine itself listed; windows that
//! do not meet add up to the whole; what is there is as it is without a filter.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::run::{cycles_and_addresses, good_or_bounded as good, root, text, tracewright, values};
use serde_json::Value;
use tracewright_testkit::Scratch;

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(&[arguments, &["--json"]].concat()).0).unwrap()
}

/// Runs a command that must not go well: what it says.
fn refused(arguments: &[&str]) -> String {
    let output = tracewright(arguments);
    assert_ne!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A program of ours that ran on the hart, with the cycle of each instruction; and the machine's own list of cycles and addresses.
fn recorded(folder: &Scratch, program: &str, model: &str) -> (PathBuf, Vec<(u64, u64)>) {
    let (capture, listing) = (folder.path().join(program), folder.path().join("listing"));
    let elf = format!("programs/bin/{program}.elf");
    let options = ["--protocol", "etrace", "--timing", model, "--delta", "--listing", text(&listing)];
    good(&[&["record", "-q"], &options[..], &["-o", text(&capture), &elf]].concat());
    (capture, cycles_and_addresses(&fs::read_to_string(&listing).unwrap()))
}

/// Three windows that do not meet, from before the first instruction to after the last: as options.
fn windows(ran: &[(u64, u64)]) -> [(u64, u64); 3] {
    let (third, last) = (ran.len() / 3, ran.last().unwrap().0);
    [(0, ran[third].0), (ran[third].0, ran[2 * third].0), (ran[2 * third].0, last + 1)]
}

fn options((from, to): (u64, u64)) -> [String; 4] {
    ["--from-cycle".into(), from.to_string(), "--to-cycle".into(), to.to_string()]
}

fn refs(options: &[String]) -> Vec<&str> {
    options.iter().map(String::as_str).collect()
}

fn rows<'v>(value: &'v Value, name: &str) -> &'v Vec<Value> {
    value[name].as_array().unwrap()
}

/// The row of the funnel that says what is in the output.
fn in_output(errors: &str) -> u64 {
    let line = errors.lines().find(|line| line.starts_with("in the output")).unwrap();
    let number =
        line["in the output".len()..].split("  ").map(str::trim).find(|word| !word.is_empty()).unwrap();
    number.replace(' ', "").parse().unwrap()
}

#[test]
fn windows_hold_what_the_machine_did_then() {
    let folder = Scratch::new("filters");
    for (program, model) in [("args", "rocket_like"), ("args", "dual_issue"), ("divides", "tiny")] {
        let (capture, ran) = recorded(&folder, program, model);
        let capture = text(&capture);
        let middle = ran[ran.len() / 2].0;
        let all = windows(&ran);
        for window in [all[0], all[1], all[2], (middle, middle + 1), (middle, middle + 37)] {
            let inside = |cycle: u64| window.0 <= cycle && cycle < window.1;
            let expected = ran.iter().filter(|(cycle, _)| inside(*cycle)).count() as u64;
            let options = options(window);
            let options = refs(&options);
            let what = format!("{program} {model} {window:?}");
            let table = json(&[&["profile", capture], &options[..]].concat());
            assert_eq!(table["instructions"], expected, "{what}");
            // Each address of a function: how often, and how many cycles since the instruction before.
            let (mut counts, mut cycles) = (BTreeMap::new(), BTreeMap::new());
            let mut before = ran[0].0.saturating_sub(1);
            for &(cycle, pc) in &ran {
                if inside(cycle) {
                    *counts.entry(pc).or_insert(0_u64) += 1;
                    *cycles.entry(pc).or_insert(0_u64) += cycle - before;
                }
                before = cycle;
            }
            let mut seen = 0;
            let functions = rows(&table, "functions").iter().map(|row| row["function"].as_str().unwrap());
            for function in functions.filter(|name| !name.starts_with('[')) {
                let output =
                    tracewright(&[&["annotate", capture, function, "--json"], &options[..]].concat());
                let functions: Value = serde_json::from_slice(&output.stdout).unwrap();
                for row in functions.as_array().unwrap().iter().flat_map(|of| rows(of, "instructions")) {
                    let address = row["address"].as_str().unwrap();
                    let pc = u64::from_str_radix(&address[2..], 16).unwrap();
                    let expected = counts.get(&pc).copied().unwrap_or(0);
                    assert_eq!(row["count"], expected, "{what} {function} {address}");
                    let told = cycles.get(&pc).copied().unwrap_or(0);
                    assert_eq!(row["cycles"], told, "{what} {function} {address}");
                    seen += expected;
                }
            }
            assert_eq!(seen, expected, "{what}");
        }
    }
}

#[test]
fn windows_that_do_not_meet_add_up() {
    let folder = Scratch::new("filters");
    let (capture, ran) = recorded(&folder, "divides", "rocket_like");
    let kept = |name: &str, options: &[&str]| -> String {
        let file = folder.path().join(name);
        let arguments = ["profile", text(&capture), "--format", "tracewright", "-o", text(&file)];
        good(&[&arguments, options].concat());
        text(&file).to_owned()
    };
    let whole = kept("whole", &[]);
    let parts = (0..)
        .zip(windows(&ran))
        .map(|(number, window)| kept(&format!("part{number}"), &refs(&options(window))));
    let parts: Vec<_> = parts.collect();
    let sum = folder.path().join("sum");
    let parts: Vec<_> = parts.iter().map(String::as_str).collect();
    good(&[&["merge"], &parts[..], &["-o", text(&sum)]].concat());
    let tables = [text(&sum), &whole].map(|file| json(&["profile", file]));
    for (name, fields) in
        [("functions", &["function", "instructions"][..]), ("branches", &["address", "taken", "not_taken"])]
    {
        let all = tables.each_ref().map(|table| {
            let row = |row: &Value| fields.iter().map(|field| row[field].to_string()).collect::<Vec<_>>();
            let mut all: Vec<_> = rows(table, name).iter().map(row).collect();
            all.sort();
            all
        });
        assert!(all[0].len() > 5 && all[0] == all[1], "{name}: {all:?}");
    }
    // Coverage of the parts together is that of the whole, and each part has the same lines to cover.
    let covered = |files: &[&str]| {
        let mut of = json(&[&["coverage"], files].concat());
        of.as_object_mut().unwrap().remove("funnel");
        of
    };
    assert_eq!(covered(&parts), covered(&[&whole]));
    for part in &parts {
        let (one, all) = (covered(&[part]), covered(&[&whole]));
        assert_eq!(one["all"]["instructions"]["of"], all["all"]["instructions"]["of"]);
        assert!(one["all"]["instructions"]["ran"].as_u64() < all["all"]["instructions"]["ran"].as_u64());
    }
    // So does what is in timelines.
    let shown = |options: &[&str]| {
        let file = folder.path().join("timeline.json");
        in_output(&good(&[&["timeline", text(&capture), "-o", text(&file)], options].concat()).1)
    };
    let sum: u64 = windows(&ran).iter().map(|&window| shown(&refs(&options(window)))).sum();
    assert_eq!((sum, shown(&[])), (ran.len() as u64, ran.len() as u64));
}

#[test]
fn rows_there_are_as_they_are_without_a_filter() {
    let folder = Scratch::new("filters");
    let (capture, _) = recorded(&folder, "tasks", "rocket_like");
    let capture = text(&capture);
    let whole = json(&["profile", capture, "--calls"]);
    let (folded, _) = good(&["profile", capture, "--format", "folded"]);
    for function in ["count_primes", "mix", "mix_numbers"] {
        let (start, end) = (format!("{function}+0"), format!("{function}+0x2"));
        let first = format!("{start}..{end}");
        let is_it = |row: &&Value| row["function"] == function;
        for filter in [["--function", function], ["--range", &first]] {
            let part = json(&[&["profile", capture, "--calls"], &filter[..]].concat());
            let expected: Vec<_> = rows(&whole, "functions").iter().filter(is_it).collect();
            assert_eq!(rows(&part, "functions").iter().collect::<Vec<_>>(), expected, "{filter:?}");
            assert_eq!(part["instructions"], whole["instructions"]);
        }
        let part = json(&["profile", capture, "--calls", "--function", function]);
        for name in ["loops", "branches", "indirect_calls"] {
            let expected: Vec<_> = rows(&whole, name).iter().filter(is_it).collect();
            assert_eq!(rows(&part, name).iter().collect::<Vec<_>>(), expected, "{function} {name}");
        }
        let (part, errors) = good(&["profile", capture, "--format", "folded", "--function", function]);
        let is_last = |line: &&str| line.rsplit_once(' ').unwrap().0.rsplit(';').next() == Some(function);
        let expected: Vec<_> = folded.lines().filter(is_last).collect();
        assert_eq!(part.lines().collect::<Vec<_>>(), expected, "{function}");
        let weight = |line: &&str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
        assert_eq!(in_output(&errors), expected.iter().map(weight).sum::<u64>(), "{function}");
        // Callgrind's own lines and its sums tell the same.
        let (callgrind, errors) =
            good(&["profile", capture, "--format", "callgrind", "--function", function]);
        let totals = callgrind.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
        let totals = totals.split(' ').next().unwrap().parse::<u64>().unwrap();
        assert_eq!(in_output(&errors), totals, "{function}");
        // Slices of it, and no others.
        let slices = |options: &[&str]| {
            let (json, _) = good(&[&["timeline", capture, "-o", "-"], options].concat());
            let json: Value = serde_json::from_str(&json).unwrap();
            let begins = rows(&json, "traceEvents").iter().filter(|event| event["ph"] == "B");
            let mut names: BTreeMap<String, u64> = BTreeMap::new();
            begins
                .for_each(|event| *names.entry(event["name"].as_str().unwrap().to_owned()).or_default() += 1);
            names
        };
        let (all, some) = (slices(&[]), slices(&["--function", function]));
        assert_eq!(some, BTreeMap::from([(function.to_owned(), all[function])]));
        // Its coverage, and that of its first instruction.
        let whole = json(&["coverage", capture]);
        let part = json(&["coverage", capture, "--function", function]);
        let functions = |of: &Value| -> Vec<Value> {
            let all = rows(of, "files").iter().flat_map(|file| rows(file, "functions_list")).cloned();
            all.filter(|row| row["name"] == function).collect()
        };
        assert_eq!(functions(&part), functions(&whole), "{function}");
        assert_eq!(part["all"]["functions"]["of"], 1);
        let part = json(&["coverage", capture, "--range", &first]);
        assert_eq!(part["all"]["instructions"]["of"], 1, "{function}");
    }
}

/// What counts alone tell is what is told where the order is known.
#[test]
fn a_table_of_counts_tells_what_they_tell() {
    let folder = Scratch::new("filters");
    let mut entries = 0;
    for program in ["tasks", "divides", "sort", "hash", "bits", "fft", "recursion"] {
        let (capture, elf) = (folder.path().join(program), format!("programs/bin/{program}.elf"));
        good(&["record", "-q", "--protocol", "etrace", "-o", text(&capture), &elf]);
        let kept = folder.path().join("kept");
        good(&["profile", text(&capture), "--format", "tracewright", "-o", text(&kept)]);
        let ordered = json(&["profile", text(&capture), "--calls"]);
        let [counts, of_kept] = [&capture, &kept].map(|path| json(&["profile", text(path)]));
        assert_eq!(counts, of_kept, "{program}");
        assert_eq!((&ordered["ordered"], &counts["ordered"]), (&true.into(), &false.into()));
        for (name, fields) in [
            ("functions", &["function", "address", "instructions", "calls"][..]),
            ("loops", &["address", "function", "depth", "entries", "trips", "instructions"]),
            ("branches", &["address", "taken", "not_taken"]),
            ("indirect_calls", &["address", "taken", "targets"]),
        ] {
            // Calls that are too deep are not followed, nor are their loops.
            if name == "loops" && ordered["calls_too_deep"] != 0 {
                continue;
            }
            let all = [&ordered, &counts].map(|table| {
                // Only in order is it known that an exception is a call. Who follows loops in order loses them where tasks are
                // switched: counts are right there.
                let is_known = |row: &Value, field: &str| match field {
                    "calls" => row["function"] != "machine_trap_entry",
                    "entries" => program != "tasks",
                    _ => true,
                };
                let row = |row: &Value| -> Vec<String> {
                    let known = fields.iter().filter(|field| is_known(row, field));
                    known.map(|field| row[field].to_string()).collect()
                };
                let mut all: Vec<_> = rows(table, name).iter().map(row).collect();
                all.sort();
                all
            });
            assert_eq!(all[0], all[1], "{program} {name}");
        }
        entries += rows(&counts, "loops").iter().map(|row| row["entries"].as_u64().unwrap()).sum::<u64>();
        let (table, _) = good(&["profile", text(&kept)]);
        assert!(table.contains("With --calls"), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert!(refused(&["profile", text(&kept), "--calls"]).contains("leave out --calls"));
    }
    assert!(entries > 10_000, "{entries}");
}

/// A capture that `decode` tells all of: its elements, one by one.
fn decoded(arguments: &[&str]) -> Vec<Value> {
    let (text, _) = good(&[&["decode"], arguments, &["--json"]].concat());
    values(&text).collect()
}

/// With cycle counts an instruction is where the last count before it ends; they go on after a gap.
#[test]
fn cycle_counts_are_summed_up() {
    let hello = ["samples/hello", "--image", "samples/hello/hello.elf"];
    let (mut now, mut cycles) = (0, Vec::new());
    for row in decoded(&[&hello[..], &["--elements"]].concat()) {
        now += row["cycles"].as_u64().filter(|_| row["kind"] == "cycles").unwrap_or(0);
        if row["kind"] == "block" {
            cycles.extend(std::iter::repeat_n(now, row["count"].as_u64().unwrap() as usize));
        }
    }
    assert_eq!(cycles.len(), 50);
    for window in [(0, 10), (10, 30), (30, 50), (50, 10_000)] {
        let expected = cycles.iter().filter(|&&cycle| window.0 <= cycle && cycle < window.1).count() as u64;
        let options = options(window);
        let table = json(&[&["profile"], &hello[..], &refs(&options)].concat());
        assert_eq!(table["instructions"], expected, "{window:?}");
        assert!(expected > 0, "{window:?}");
    }
}

/// What ran at a timestamp is what comes after it, up to the next of the same source.
#[test]
fn timestamps_hold_up_to_the_next() {
    let folder = Scratch::new("filters");
    let threads = "samples/threads";
    let (mut now, mut ran) = (BTreeMap::new(), Vec::new());
    for row in decoded(&[threads, "--elements"]) {
        let id = row["id"].as_u64();
        if let Some(time) = row["timestamp"].as_str() {
            now.insert(id, u64::from_str_radix(&time[2..], 16).unwrap());
        }
        if row["kind"] == "block" {
            ran.push((now.get(&id).copied(), row["count"].as_u64().unwrap()));
        }
    }
    let mut times: Vec<_> = ran.iter().filter_map(|(time, _)| *time).collect();
    times.sort_unstable();
    times.dedup();
    assert!(times.len() > 1, "{times:?}");
    for window in
        times.iter().map(|&time| (time, time + 1)).chain([(0, times[0]), (0, times[1]), (times[1], u64::MAX)])
    {
        let inside = |time: &Option<u64>| time.is_some_and(|time| window.0 <= time && time < window.1);
        let expected: u64 = ran.iter().filter(|(time, _)| inside(time)).map(|(_, count)| count).sum();
        let (from, to) = (window.0.to_string(), window.1.to_string());
        let options = ["--from-time", &from, "--to-time", &to];
        let file = folder.path().join("timeline.json");
        for verb in [&["profile"][..], &["coverage"], &["timeline", "-o", text(&file)]] {
            let output = tracewright(&[verb, &[threads], &options].concat());
            let errors = String::from_utf8(output.stderr).unwrap();
            assert_eq!(in_output(&errors), expected, "{verb:?} {window:?} {errors}");
            assert_eq!(errors.contains("nothing is in the output"), expected == 0, "{errors}");
        }
    }
}

/// A copy of a sample whose registers do not say what is switched on: TRCCONFIGR without the bits `less`.
fn without(folder: &Scratch, sample: &str, less: u32) -> PathBuf {
    let (from, to) = (root().join("samples").join(sample), folder.path().join(sample));
    fs::create_dir_all(&to).unwrap();
    let mut changed = 0;
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let mut bytes = fs::read(entry.path()).unwrap();
        if entry.file_name().to_str().unwrap().starts_with("device_") {
            let line = |line: &str| match line.strip_prefix("TRCCONFIGR=0x") {
                Some(value) => {
                    let value = u32::from_str_radix(value, 16).unwrap();
                    assert_eq!(value & less, less);
                    changed += 1;
                    format!("TRCCONFIGR={:#010x}\n", value & !less)
                }
                None => format!("{line}\n"),
            };
            bytes = String::from_utf8(bytes).unwrap().lines().map(line).collect::<String>().into_bytes();
        }
        fs::write(to.join(entry.file_name()), bytes).unwrap();
    }
    assert!(changed > 0);
    to
}

/// What the trace has counts, and not what the registers say of it.
#[test]
fn times_and_cycles_in_the_trace_that_registers_do_not_tell_of() {
    const TS: u32 = 1 << 11;
    const CCI: u32 = 1 << 4;
    let folder = Scratch::new("filters");
    let threads = without(&folder, "threads", TS);
    let hello = without(&folder, "hello", CCI);
    let cases = [("samples/threads", &threads, "--from-time"), ("samples/hello", &hello, "--from-cycle")];
    for (sample, changed, option) in cases {
        let options = ["--json", option, "1"];
        let expected = good(&[&["profile", sample], &options[..]].concat()).0;
        let told = good(&[&["profile", text(changed)], &options[..]].concat()).0;
        assert_eq!(told.replace(text(changed), sample), expected, "{option}");
    }
    let stalls = |capture: &str| json(&["stalls", capture])["functions"].to_string().replace(capture, "");
    assert_eq!(stalls(text(&hello)), stalls("samples/hello"));
}

/// Two parts of the trace file are the whole, with its cycles.
#[test]
fn offsets_keep_their_cycles() {
    let folder = Scratch::new("filters");
    let (capture, _) = recorded(&folder, "divides", "rocket_like");
    let capture = text(&capture);
    let sums = |options: &[&str]| -> (u64, u64) {
        let of = json(&[&["profile", capture, "--calls"], options].concat());
        (of["instructions"].as_u64().unwrap(), of["cycles"].as_u64().unwrap())
    };
    let annotated = |options: &[&str]| -> (u64, u64) {
        let of = json(&[&["annotate", capture, "digits_by_division"], options].concat());
        (of[0]["instructions_executed"].as_u64().unwrap(), of[0]["cycles"].as_u64().unwrap())
    };
    let add = |one: (u64, u64), other: (u64, u64)| (one.0 + other.0, one.1 + other.1);
    let (first, second) = (["--to", "12000"], ["--from", "12000"]);
    assert_eq!(add(sums(&first), sums(&second)), sums(&[]));
    assert_eq!(add(annotated(&first), annotated(&second)), annotated(&[]));
    assert!(sums(&first).0 > 1000 && sums(&second).0 > 1000);
}

#[test]
fn what_cannot_be_told_is_said() {
    let folder = Scratch::new("filters");
    let plain = ["samples/etrace"];
    let verbs = [&["profile"][..], &["coverage"], &["profile", "--format", "autofdo"]];
    for verb in verbs {
        let errors = refused(&[verb, &plain[..], &["--from-cycle", "3"]].concat());
        assert!(errors.contains("nothing tells cycles here"), "{errors}");
        assert!(errors.contains("--from and --to take offsets"), "{errors}");
        let errors = refused(&[verb, &plain[..], &["--to-time", "3"]].concat());
        assert!(errors.contains("the trace has no timestamps"), "{errors}");
        let errors = refused(&[verb, &plain[..], &["--from-cycle", "9", "--to-cycle", "9"]].concat());
        assert!(errors.contains("--to-cycle (9) must be after --from-cycle (9)"), "{errors}");
    }
    // A timeline counts instructions then.
    let file = folder.path().join("timeline.json");
    let (_, errors) = good(
        &[&["timeline"], &plain[..], &["-o", text(&file), "--from-cycle", "10", "--to-cycle", "30"]].concat(),
    );
    assert_eq!(in_output(&errors), 20, "{errors}");
    assert!(errors.contains("- 3 806 left out: outside the time asked for"), "{errors}");
    // An empty result is never silent.
    let (capture, ran) = recorded(&folder, "args", "rocket_like");
    let after = (ran.last().unwrap().0 + 1).to_string();
    for verb in [&["profile"][..], &["coverage"], &["timeline", "-o", text(&file)]] {
        let output = tracewright(&[verb, &[text(&capture), "--from-cycle", &after]].concat());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("nothing is in the output: all was left out: outside the time"), "{errors}");
    }
    // What is wrong is said once, though the capture is read twice.
    for verb in [&["annotate", text(&capture), "main"][..], &["timeline", text(&capture), "-o", text(&file)]]
    {
        let (_, errors) = good(verb);
        assert_eq!(errors.matches("instructions in").count(), 1, "{errors}");
    }
}

/// Of a part of the trace, the branches are those of its blocks: where one went, another one's target, is not counted outside.
#[test]
fn branches_of_a_part_are_those_of_its_blocks() {
    let folder = Scratch::new("filters");
    let (capture, kept) = (folder.path().join("run"), folder.path().join("kept"));
    good(&[
        "record",
        "-q",
        "--protocol",
        "etrace",
        "-o",
        text(&capture),
        "programs/bin/sort.elf",
        "--",
        "1000",
    ]);
    let middle = fs::metadata(capture.join("trace.bin")).unwrap().len() / 2;
    let (from, to) = (middle.to_string(), (middle + 100).to_string());
    let part = ["--from", &from, "--to", &to];
    let sum = json(&[&["merge", text(&capture), "-o", text(&kept)], &part[..]].concat());
    let (rows, _) =
        good(&[&["profile", text(&capture), "--format", "csv", "--rows", "blocks"], &part[..]].concat());
    let column = rows.lines().next().unwrap().split(',').position(|name| name == "taken").unwrap();
    let taken = rows.lines().skip(1).map(|row| row.split(',').nth(column).unwrap().parse::<u64>().unwrap());
    let taken: u64 = taken.sum();
    // Where the last one went is not in the part.
    let known = sum["taken"].as_u64().unwrap();
    assert!(taken > 10 && (known == taken || known + 1 == taken), "{known} of {taken}");
}
