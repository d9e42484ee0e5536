//! Only a part of what ran: by time, by place, by offset. Counts in a window are those that the machine itself listed; windows that
//! do not meet add up to the whole; what is there is as it is without a filter.

use std::collections::BTreeMap;
use std::fs;

use crate::run::{
    Ran, address, assert_fits, copy_folder, cycles_and_addresses, hex, number, recorded, root, rows, run,
    string, values,
};
use serde_json::Value;
use tracewright_testkit::Scratch;

fn json(line: &str) -> Value {
    run!("{line} --json").ends(0).json()
}

/// Runs a command that must not go well.
fn refused(line: &str) -> Ran {
    let ran = run!("{line}");
    assert_ne!(ran.status, Some(0), "{line}");
    ran
}

/// A program of ours that ran on the hart, with the cycle of each instruction; and the machine's own list of cycles and addresses.
fn listed(folder: &Scratch, program: &str, model: &str) -> (String, Vec<(u64, u64)>) {
    let listing = folder.join("listing");
    let capture = recorded(folder, program, &format!("--timing {model} --delta --listing {listing}"));
    (capture, cycles_and_addresses(&fs::read_to_string(&listing).unwrap()))
}

/// Three windows that do not meet, from before the first instruction to after the last.
fn windows(ran: &[(u64, u64)]) -> [(u64, u64); 3] {
    let (third, last) = (ran.len() / 3, ran.last().unwrap().0);
    [(0, ran[third].0), (ran[third].0, ran[2 * third].0), (ran[2 * third].0, last + 1)]
}

/// A window as options.
fn options((from, to): (u64, u64)) -> String {
    format!("--from-cycle {from} --to-cycle {to}")
}

/// These fields of all rows of a table, in an order that does not depend on theirs.
fn sorted(
    table: &Value,
    name: &str,
    fields: &str,
    is_known: impl Fn(&Value, &str) -> bool,
) -> Vec<Vec<String>> {
    let row = |row: &Value| -> Vec<String> {
        let known = fields.split(' ').filter(|field| is_known(row, field));
        known.map(|field| row[field].to_string()).collect()
    };
    let mut all: Vec<_> = rows(table, name).iter().map(row).collect();
    all.sort();
    all
}

#[test]
fn windows_hold_what_the_machine_did_then() {
    let folder = Scratch::new("filters");
    for (program, model) in [("args", "rocket_like"), ("args", "dual_issue"), ("divides", "tiny")] {
        let (capture, ran) = listed(&folder, program, model);
        let middle = ran[ran.len() / 2].0;
        let all = windows(&ran);
        for window in [all[0], all[1], all[2], (middle, middle + 1), (middle, middle + 37)] {
            let inside = |cycle: u64| window.0 <= cycle && cycle < window.1;
            let expected = ran.iter().filter(|(cycle, _)| inside(*cycle)).count() as u64;
            let options = options(window);
            let what = format!("{program} {model} {window:?}");
            let table = json(&format!("profile {capture} --no-inline {options}"));
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
            let functions = rows(&table, "functions").iter().map(|row| string(row, "function"));
            for function in functions.filter(|name| !name.starts_with('[')) {
                let functions = run!("annotate {capture} {function} --no-inline --json {options}").json();
                for row in rows(&functions, "functions").iter().flat_map(|of| rows(of, "code")) {
                    let pc = address(row, "address");
                    let expected = counts.get(&pc).copied().unwrap_or(0);
                    assert_eq!(row["count"], expected, "{what} {function} {pc:#x}");
                    let told = cycles.get(&pc).copied().unwrap_or(0);
                    assert_eq!(row["cycles"], told, "{what} {function} {pc:#x}");
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
    let (capture, ran) = listed(&folder, "divides", "rocket_like");
    let kept = |name: &str, options: &str| -> String {
        let file = folder.join(name);
        run!("profile {capture} --format tracewright -o {file} {options}").ends(0);
        file
    };
    let whole = kept("whole", "");
    let parts =
        (0..).zip(windows(&ran)).map(|(number, window)| kept(&format!("part{number}"), &options(window)));
    let parts: Vec<_> = parts.collect();
    let sum = folder.join("sum");
    run!("merge {} -o {sum}", parts.join(" ")).ends(0);
    let tables = [&sum, &whole].map(|file| json(&format!("profile {file}")));
    for (name, fields) in [("functions", "function instructions"), ("branches", "address taken not_taken")] {
        let all = tables.each_ref().map(|table| sorted(table, name, fields, |_, _| true));
        assert!(all[0].len() > 5 && all[0] == all[1], "{name}: {all:?}");
    }
    // Coverage of the parts together is that of the whole, and each part has the same lines to cover.
    let covered = |files: &str| {
        let mut of = json(&format!("coverage {files}"));
        of.as_object_mut().unwrap().remove("funnel");
        of
    };
    assert_eq!(covered(&parts.join(" ")), covered(&whole));
    for part in &parts {
        let [one, all] = [part, &whole].map(|of| covered(of)["all"]["instructions"].clone());
        assert_eq!(one["of"], all["of"]);
        assert!(number(&one, "ran") < number(&all, "ran"));
    }
    // So does what is in timelines.
    let shown = |options: &str| {
        let file = folder.join("timeline.json");
        run!("timeline {capture} -o {file} {options}").ends(0).funnel("in the output")
    };
    let sum: u64 = windows(&ran).iter().map(|&window| shown(&options(window))).sum();
    assert_eq!((sum, shown("")), (ran.len() as u64, ran.len() as u64));
}

#[test]
fn rows_there_are_as_they_are_without_a_filter() {
    let folder = Scratch::new("filters");
    let (capture, _) = listed(&folder, "tasks", "rocket_like");
    let whole = json(&format!("profile {capture} --calls"));
    let folded = run!("profile {capture} --format folded").ends(0).out;
    for function in ["count_primes", "mix", "mix_numbers"] {
        let first = format!("{function}+0..{function}+0x2");
        let its = |table: &Value, name: &str| -> Vec<Value> {
            rows(table, name).iter().filter(|row| row["function"] == function).cloned().collect()
        };
        let part = json(&format!("profile {capture} --calls --function {function}"));
        assert_eq!(rows(&part, "functions"), its(&whole, "functions"), "{function}");
        assert_eq!(part["instructions"], whole["instructions"]);
        // Of its first instruction, how often that ran; its calls, and what it called, as without.
        let first = json(&format!("profile {capture} --calls --range {first}"));
        let ([first], [all]) = (rows(&first, "functions"), &its(&whole, "functions")[..]) else { panic!() };
        assert!(number(first, "instructions") < number(all, "instructions"), "{first} {all}");
        assert_eq!(first["instructions"], first["calls"], "{first}");
        for name in ["calls", "inclusive_instructions"] {
            assert_eq!(first[name], all[name], "{first} {all}");
        }
        let first = format!("{function}+0..{function}+0x2");
        let part = json(&format!("profile {capture} --calls --function {function}"));
        for name in ["loops", "branches", "indirect_calls"] {
            assert_eq!(rows(&part, name), its(&whole, name), "{function} {name}");
        }
        let part = run!("profile {capture} --format folded --function {function}").ends(0);
        let is_last = |line: &&str| line.rsplit_once(' ').unwrap().0.rsplit(';').next() == Some(function);
        let expected: Vec<_> = folded.lines().filter(is_last).collect();
        assert_eq!(part.out.lines().collect::<Vec<_>>(), expected, "{function}");
        let weight = |line: &&str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
        assert_eq!(part.funnel("in the output"), expected.iter().map(weight).sum::<u64>(), "{function}");
        // Callgrind's own lines and its sums tell the same.
        let callgrind = run!("profile {capture} --format callgrind --function {function}").ends(0);
        let totals = callgrind.out.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
        let totals = totals.split(' ').next().unwrap().parse::<u64>().unwrap();
        assert_eq!(callgrind.funnel("in the output"), totals, "{function}");
        // Slices of it, and no others.
        let slices = |options: &str| {
            let json = run!("timeline {capture} -o - {options}").ends(0).json();
            let mut names: BTreeMap<String, u64> = BTreeMap::new();
            for event in rows(&json, "traceEvents").iter().filter(|event| event["ph"] == "B") {
                *names.entry(string(event, "name").to_owned()).or_default() += 1;
            }
            names
        };
        let (all, some) = (slices(""), slices(&format!("--function {function}")));
        assert_eq!(some, BTreeMap::from([(function.to_owned(), all[function])]));
        // Its coverage, and that of its first instruction.
        let whole = json(&format!("coverage {capture}"));
        let part = json(&format!("coverage {capture} --function {function}"));
        let functions = |of: &Value| -> Vec<Value> {
            let all = rows(of, "files").iter().flat_map(|file| rows(file, "functions_list")).cloned();
            all.filter(|row| row["function"] == function).collect()
        };
        assert_eq!(functions(&part), functions(&whole), "{function}");
        assert_eq!(part["all"]["functions"]["of"], 1);
        let part = json(&format!("coverage {capture} --range {first}"));
        assert_eq!(part["all"]["instructions"]["of"], 1, "{function}");
    }
}

/// What counts alone tell is what is told where the order is known.
#[test]
fn a_table_of_counts_tells_what_they_tell() {
    let folder = Scratch::new("filters");
    let kept = folder.join("kept");
    let mut entries = 0;
    for program in ["tasks", "divides", "sort", "hash", "bits", "fft", "recursion"] {
        let capture = recorded(&folder, program, "");
        run!("profile {capture} --format tracewright -o {kept}").ends(0);
        let ordered = run!("profile {capture} --calls --json").ends((program == "recursion").into()).json();
        let [counts, of_kept] = [&capture, &kept].map(|path| json(&format!("profile {path}")));
        assert_eq!(counts, of_kept, "{program}");
        assert_eq!((&ordered["ordered"], &counts["ordered"]), (&true.into(), &false.into()));
        for (name, fields) in [
            ("functions", "function address instructions calls"),
            ("loops", "address function depth entries trips instructions"),
            ("branches", "address taken not_taken"),
            ("indirect_calls", "address taken targets"),
        ] {
            // Calls that are too deep are not followed, nor are their loops.
            if name == "loops" && ordered["calls_too_deep"] != 0 {
                continue;
            }
            // Only in order is it known that an exception is a call. Who follows loops in order loses them where tasks are switched:
            // counts are right there.
            let is_known = |row: &Value, field: &str| match field {
                "calls" => row["function"] != "machine_trap_entry",
                "entries" => program != "tasks",
                _ => true,
            };
            let [ordered, counts] = [&ordered, &counts].map(|table| sorted(table, name, fields, is_known));
            assert_eq!(ordered, counts, "{program} {name}");
        }
        entries += rows(&counts, "loops").iter().map(|row| number(row, "entries")).sum::<u64>();
        let table = run!("profile {kept}").ends(0).prints("With --calls").out;
        assert_fits(&table);
        refused(&format!("profile {kept} --calls")).says("leave out --calls");
    }
    assert!(entries > 10_000, "{entries}");
}

/// A capture that `decode` tells all of: its elements, one by one.
fn decoded(line: &str) -> Vec<Value> {
    values(&run!("decode {line} --elements --json").ends(0).out).collect()
}

/// With cycle counts an instruction is where the last count before it ends; they go on after a gap.
#[test]
fn cycle_counts_are_summed_up() {
    let hello = "samples/hello --image samples/hello/hello.elf";
    let (mut now, mut cycles) = (0, Vec::new());
    for row in decoded(hello) {
        now += row["cycles"].as_u64().filter(|_| row["kind"] == "cycles").unwrap_or(0);
        if row["kind"] == "block" {
            cycles.extend(std::iter::repeat_n(now, number(&row, "instructions") as usize));
        }
    }
    assert_eq!(cycles.len(), 50);
    for window in [(0, 10), (10, 30), (30, 50), (50, 10_000)] {
        let expected = cycles.iter().filter(|&&cycle| window.0 <= cycle && cycle < window.1).count() as u64;
        let table = json(&format!("profile {hello} {}", options(window)));
        assert_eq!(table["instructions"], expected, "{window:?}");
        assert!(expected > 0, "{window:?}");
    }
}

/// What ran at a timestamp is what comes after it, up to the next of the same source.
#[test]
fn timestamps_hold_up_to_the_next() {
    let folder = Scratch::new("filters");
    let timeline = format!("timeline -o {}", folder.join("timeline.json"));
    let (mut now, mut ran) = (BTreeMap::new(), Vec::new());
    for row in decoded("samples/threads") {
        let id = row["id"].as_u64();
        if let Some(time) = row["timestamp"].as_str() {
            now.insert(id, hex(time));
        }
        if row["kind"] == "block" {
            ran.push((now.get(&id).copied(), number(&row, "instructions")));
        }
    }
    let mut times: Vec<_> = ran.iter().filter_map(|(time, _)| *time).collect();
    times.sort_unstable();
    times.dedup();
    assert!(times.len() > 1, "{times:?}");
    for (from, to) in
        times.iter().map(|&time| (time, time + 1)).chain([(0, times[0]), (0, times[1]), (times[1], u64::MAX)])
    {
        let inside = |time: &Option<u64>| time.is_some_and(|time| from <= time && time < to);
        let expected: u64 = ran.iter().filter(|(time, _)| inside(time)).map(|(_, count)| count).sum();
        for verb in ["profile", "coverage", &timeline] {
            let ran = run!("{verb} samples/threads --from-time {from} --to-time {to}");
            assert_eq!(ran.funnel("in the output"), expected, "{verb} {from} {to} {}", ran.err);
            assert_eq!(ran.err.contains("nothing is in the output"), expected == 0, "{}", ran.err);
        }
    }
}

/// A timestamp before the offset asked for opens the window, whoever counts.
#[test]
fn times_before_the_offset_count() {
    let folder = Scratch::new("times-and-offsets");
    let timeline = format!("timeline -o {}", folder.join("slices.json"));
    let part = "samples/threads --id 0x10 --from 0x20 --from-time 0x6780";
    for verb in ["profile", &timeline] {
        assert_eq!(run!("{verb} {part}").funnel("in the output"), 50, "{verb}");
    }
    let stacks = run!("profile {part} --format folded").good();
    let weights = stacks.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert_eq!(weights.sum::<u64>(), 50, "{stacks}");
}

/// A copy of a sample whose registers do not say what is switched on: TRCCONFIGR without the bits `less`.
fn without(folder: &Scratch, sample: &str, less: u32) -> String {
    let to = folder.join(sample);
    copy_folder(root().join("samples").join(sample), &to);
    let mut changed = 0;
    for entry in fs::read_dir(&to).unwrap().map(Result::unwrap) {
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
            let text = fs::read_to_string(entry.path()).unwrap();
            fs::write(entry.path(), text.lines().map(line).collect::<String>()).unwrap();
        }
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
        let [expected, told] = [sample, changed].map(|capture| {
            let ran = run!("profile {capture} --json {option} 1");
            if sample == "samples/hello" { ran.nameless().out } else { ran.ends(0).out }
        });
        assert_eq!(told.replace(changed, sample), expected, "{option}");
    }
    let stalls = |capture: &str| {
        run!("stalls {capture} --json").nameless().json()["functions"].to_string().replace(capture, "")
    };
    assert_eq!(stalls(&hello), stalls("samples/hello"));
}

/// Two parts of the trace file are the whole, with its cycles.
#[test]
fn offsets_keep_their_cycles() {
    let folder = Scratch::new("filters");
    let (capture, _) = listed(&folder, "divides", "rocket_like");
    let sums = |options: &str| {
        let of = json(&format!("profile {capture} --calls {options}"));
        (number(&of, "instructions"), number(&of, "cycles"))
    };
    let annotated = |options: &str| {
        let of = json(&format!("annotate {capture} digits_by_division {options}"));
        (number(&of["functions"][0], "instructions"), number(&of["functions"][0], "cycles"))
    };
    let add = |one: (u64, u64), other: (u64, u64)| (one.0 + other.0, one.1 + other.1);
    let (first, second) = ("--to 12000", "--from 12000");
    assert_eq!(add(sums(first), sums(second)), sums(""));
    assert_eq!(add(annotated(first), annotated(second)), annotated(""));
    assert!(sums(first).0 > 1000 && sums(second).0 > 1000);
}

#[test]
fn what_cannot_be_told_is_said() {
    let folder = Scratch::new("filters");
    let timeline = format!("timeline -o {}", folder.join("timeline.json"));
    for verb in ["profile", "coverage", "profile --format autofdo"] {
        let verb = format!("{verb} samples/etrace");
        let cycles = refused(&format!("{verb} --from-cycle 3")).says("nothing tells cycles here");
        cycles.says("--from and --to take offsets");
        refused(&format!("{verb} --to-time 3")).says("the trace has no timestamps");
        let empty = refused(&format!("{verb} --from-cycle 9 --to-cycle 9"));
        empty.says("--to-cycle (9) must be after --from-cycle (9)");
    }
    // A timeline counts instructions then.
    let ran = run!("{timeline} samples/etrace --from-cycle 10 --to-cycle 30").ends(0);
    assert_eq!(ran.funnel("in the output"), 20, "{}", ran.err);
    ran.says("- 3 806 left out: outside the time asked for");
    // An empty result is never silent.
    let (capture, ran) = listed(&folder, "args", "rocket_like");
    let after = ran.last().unwrap().0 + 1;
    for verb in ["profile", "coverage", &timeline] {
        let empty = run!("{verb} {capture} --from-cycle {after}");
        empty.says("nothing is in the output: all was left out: outside the time");
    }
    // What is wrong is said once, though the capture is read twice.
    for verb in [format!("annotate {capture} main"), format!("{timeline} {capture}")] {
        let ran = run!("{verb}").ends(0);
        assert_eq!(ran.err.matches("bytes of trace").count(), 1, "{}", ran.err);
    }
}

/// Of a part of the trace, the branches are those of its blocks: where one went, another one's target, is not counted outside.
#[test]
fn branches_of_a_part_are_those_of_its_blocks() {
    let folder = Scratch::new("filters");
    let capture = recorded(&folder, "sort -- 1000", "");
    let middle = fs::metadata(format!("{capture}/trace.bin")).unwrap().len() / 2;
    let part = format!("--from {middle} --to {}", middle + 100);
    let sum = json(&format!("merge {capture} -o {} {part}", folder.join("kept")));
    let rows = run!("profile {capture} --format csv --rows blocks {part}").ends(0).out;
    let column = rows.lines().next().unwrap().split(',').position(|name| name == "taken").unwrap();
    let taken = rows.lines().skip(1).map(|row| row.split(',').nth(column).unwrap().parse::<u64>().unwrap());
    let taken: u64 = taken.sum();
    // Where the last one went is not in the part.
    let known = number(&sum, "taken");
    assert!(taken > 10 && (known == taken || known + 1 == taken), "{known} of {taken}");
}
