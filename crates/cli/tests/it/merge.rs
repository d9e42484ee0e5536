//! Profiles as files, added up and compared, beside what is decoded instruction by instruction.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{ETRACE, assert_fits, elf, number, recorded, root, rows, run, string, text, values};
use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for, skip};

fn record_part(place: &Scratch, program: &str) -> String {
    let path = place.join(program);
    // It is stopped, which its status says.
    run!("{ETRACE} {path} --max-instructions 60000 {}", elf(program)).ends(1);
    path
}

/// A profile of a capture.
fn profile(place: &Scratch, name: &str, capture: &str, more: &str) -> String {
    let path = place.join(name);
    run!("profile {capture} --format tracewright -o {path} {more}").ends(0);
    path
}

/// Instructions of each function, counted one by one.
fn decoded(capture: &str) -> HashMap<String, u64> {
    let text = run!("decode {capture} --instructions --json").good();
    let mut functions = HashMap::new();
    for row in values(&text).filter(|row| row["kind"] == "instruction") {
        let symbol = string(&row, "function").split('+').next().unwrap().to_owned();
        *functions.entry(symbol).or_default() += 1;
    }
    functions
}

/// A side of a comparison: instructions of each function that ran there.
fn functions(diff: &Value, side: usize) -> HashMap<String, u64> {
    let functions = rows(diff, "functions").iter();
    let counts = functions
        .map(|row| (string(row, "function").to_owned(), row["instructions"][side].as_u64().unwrap()));
    counts.filter(|(_, count)| *count > 0).collect()
}

#[test]
fn a_stored_profile_is_as_good_as_its_capture() {
    let place = Scratch::new("merge");
    let run = record_part(&place, "recursion");
    let stored = profile(&place, "run.prof", &run, "");
    let [of_stored, of_run] = [&stored, &run].map(|of| run!("profile {of} --format autofdo").ends(0));
    assert_eq!(of_stored.out, of_run.out);
    assert!(!of_run.out.is_empty());
    // What is stored again is the same, and so is the funnel.
    let again = profile(&place, "again.prof", &stored, "");
    assert_eq!(fs::read(&again).unwrap(), fs::read(&stored).unwrap());
    let [of_stored, of_run] =
        [of_stored.err, of_run.err].map(|err| err[err.find("bytes of trace").unwrap()..].to_owned());
    assert_eq!(of_stored, of_run);
    // Every function has the instructions that decoding them one by one gives.
    let expected = decoded(&run);
    let diff = run!("diff {stored} {run} --json").ends(0).json();
    assert_eq!(functions(&diff, 0), expected);
    assert_eq!(functions(&diff, 1), expected);
    let all: u64 = expected.values().sum();
    assert!(all > 10_000);
    for step in ["instructions", "in_binary", "in_function", "in_output"] {
        assert_eq!(diff["funnels"][0][step], all, "{step}");
    }
    let bytes = fs::metadata(format!("{run}/trace.bin")).unwrap().len();
    assert_eq!(diff["funnels"][1]["bytes"], bytes);
    assert_eq!(diff["funnels"][1]["decoded_bytes"], bytes);
}

#[test]
fn merged_profiles_add_up_in_any_order() {
    let place = Scratch::new("merge");
    let runs = ["recursion", "search"].map(|name| record_part(&place, name));
    let [a, b] = [0, 1].map(|i| profile(&place, &format!("{i}.prof"), &runs[i], ""));
    let sum = |name: &str, of: &[&str]| {
        let path = place.join(name);
        let object = run!("merge {} --json -o {path}", of.join(" ")).ends(0).json();
        (fs::read(&path).unwrap(), object)
    };
    let (bytes, object) = sum("ab", &[&a, &b]);
    assert_eq!(sum("ba", &[&b, &a]).0, bytes);
    // Captures or profiles, one at a time or all at once.
    assert_eq!(sum("captures", &[&runs[1], &runs[0]]).0, bytes);
    assert_eq!(sum("mixed", &[&runs[0], &b]).0, bytes);
    let (aab, three) = sum("aab", &[&place.join("ab"), &a]);
    assert_eq!(sum("aba", &[&a, &b, &runs[0]]).0, aab);
    let count = |of: &Value| number(of, "instructions");
    let [one, two] = runs.each_ref().map(|run| decoded(run).values().sum::<u64>());
    assert_eq!((count(&object), count(&three)), (one + two, 2 * one + two));
    assert_eq!(count(&three["funnel"]), 2 * one + two);
    // What ran twice as often has the same share.
    sum("aa", &[&a, &a]);
    let diff = run!("diff {a} {} --json", place.join("aa")).ends(0).json();
    for row in rows(&diff, "functions").iter().chain(rows(&diff, "branches")) {
        assert_eq!(row["change"], 0.0, "{row}");
        let of = if row["count"].is_null() { &row["instructions"] } else { &row["taken"] };
        assert_eq!(2 * of[0].as_u64().unwrap(), of[1].as_u64().unwrap(), "{row}");
    }
}

#[test]
fn filters_keep_what_they_say() {
    let place = Scratch::new("merge");
    let run = record_part(&place, "recursion");
    let stored = profile(&place, "run.prof", &run, "");
    let expected = decoded(&run);
    let all: u64 = expected.values().sum();
    let left = |more: &str| {
        let diff = run!("diff {stored} {run} --json {more}").ends(0).json();
        let funnel = |side: usize| number(&diff["funnels"][side], "in_output");
        assert_eq!(funnel(0), funnel(1), "{more:?}");
        assert_eq!(diff["funnels"][0]["instructions"], all);
        funnel(0)
    };
    for (function, count) in &expected {
        assert_eq!(left(&format!("--function {function}")), *count, "{function}");
    }
    let main = expected["main"];
    assert_eq!(left("--function main --function _start"), main + expected["_start"]);
    assert_eq!(left("--binary recursion.elf"), all);
    assert_eq!(left("--binary recursion.elf --function main"), main);
    assert_eq!(left("--range 0x0..main") + left("--range main..0xffffffffffff"), all);
    assert_eq!(left("--range 0..main+4 --range main+0x4..0xffffffffffff"), all);
    // Parts of the trace file add up.
    let part = |more: &str| run!("merge {run} -o {} --json {more}", place.join("part")).ends(0).json();
    let (first, rest) = (part("--to 0x200"), part("--from 0x200"));
    assert_eq!(number(&first, "instructions") + number(&rest, "instructions"), all);
    assert!(number(&first, "instructions") > 0);
    let trace = fs::metadata(format!("{run}/trace.bin")).unwrap().len();
    assert_eq!(number(&rest["funnel"], "bytes"), trace - 0x200);
    assert_eq!(number(&rest["funnel"], "decoded_bytes"), trace - 0x200);
    // What was left out when a profile was made stays so, and is told.
    let only = profile(&place, "only.prof", &run, "--function main");
    let told = run!("profile {only} --format autofdo").ends(0).err;
    let left_out = format!("-{}leftout:notaskedforwhentheprofilewasmade", all - main);
    assert!(told.replace(' ', "").contains(&left_out), "{told}");
    // What is not there is said.
    for (more, why) in [
        ("--function mian", "there is main"),
        ("--binary other", "there are: recursion.elf"),
        ("--range main", "expected A..B"),
        ("--range 0x20..0x10", "0x20 is not before 0x10"),
        ("--from 1", "is a profile, without any trace"),
    ] {
        run!("profile {stored} --format autofdo {more}").ends(2).says(why);
    }
    let nothing = run!("profile {stored} --format autofdo --range 0..4").ends(1);
    assert_eq!(nothing.out, "");
    nothing.says("nothing is in the output: all was left out: not asked for (--function");
}

const PROGRAM: &str = "
#include <stdio.h>
__attribute__((noinline)) int hot(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i ^ n; return sum; }
#ifdef MORE
__attribute__((noinline)) int added(int n) { return n * 3 + hot(10); }
#else
#define added(n) n
#endif
__attribute__((noinline)) int same(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * n; return sum; }
int main(void) { return (hot(HOT) + same(500) + added(1)) & 1; }
";

/// Two builds of a program, with build IDs. `None`: there is no compiler.
fn builds(place: &Scratch) -> Option<[String; 2]> {
    let source = place.write("app.c", PROGRAM.as_bytes());
    let build = |name: &str, more: &[&str]| {
        let out = place.join(name);
        fs::create_dir_all(Path::new(&out).parent().unwrap()).unwrap();
        let mut gcc = Command::new("riscv64-linux-gnu-gcc");
        gcc.args(["-O1", "-g", "-static", "-Wl,--build-id", "-o", &out, text(&source)]).args(more);
        Some(gcc.status().ok()?.success()).filter(|good| *good).map(|_| out)
    };
    Some([build("one/app", &["-DHOT=2000"])?, build("two/app", &["-DHOT=3000", "-DMORE"])?])
}

#[test]
fn two_builds_are_compared_by_names_and_lines() {
    let place = Scratch::new("merge");
    let Some(programs) = builds(&place) else {
        return skip("two_builds_are_compared_by_names_and_lines", "no riscv64-linux-gnu-gcc");
    };
    let [a, b] = [0, 1].map(|i| {
        let run = place.join(&format!("run{i}"));
        // The program says with its status what it has computed.
        run!("{ETRACE} {run} {}", programs[i]).ends_within(0..=1);
        profile(&place, &format!("{i}.prof"), &run, "")
    });
    let diff = run!("diff {a} {b} --json").ends(0).json();
    let function = |name: &str| {
        let row = rows(&diff, "functions").iter().find(|row| row["function"] == name).unwrap();
        [0, 1].map(|side| row["instructions"][side].as_u64().unwrap())
    };
    let [before, after] = function("hot");
    assert!(before > 2_000 && after > before + before / 3, "{before} {after}");
    assert_eq!(function("same")[0], function("same")[1]);
    assert_eq!(function("added")[0], 0);
    assert!(function("added")[1] > 0);
    for side in 0..2 {
        let sum: u64 = functions(&diff, side).values().sum();
        assert_eq!(diff["instructions"][side], sum);
    }
    // The loops are at other addresses, on the same lines.
    let mut branches = rows(&diff, "branches").iter();
    let hot = branches.find(|row| string(row, "branch").starts_with("hot app.c:3")).unwrap();
    assert!(
        hot["count"][0].as_u64().unwrap() >= 1_999 && hot["count"][1].as_u64().unwrap() >= 2_999,
        "{hot}"
    );
    let told = run!("diff {a} {b}").ends(0);
    assert!(told.out.lines().any(|line| line.ends_with("  added")), "{}", told.out);
    assert_fits(&told.out);
    told.err.lines().filter(|line| !line.contains(&place.join(""))).for_each(assert_fits);
    found_again(&place, &a, programs);
}

/// Binaries are found again by path, by --image and in --symfs, and by build ID; one that is another is named.
fn found_again(place: &Scratch, stored: &str, [one, two]: [String; 2]) {
    let copies = ["run0/app", "one/app"].map(|name| place.join(name));
    let autofdo = |more: &str| run!("profile {stored} --format autofdo {more}");
    autofdo("--function hot").ends(0);
    let kept = place.join("kept");
    fs::copy(&one, &kept).unwrap();
    // Its folder in the capture has it, too.
    for copy in &copies {
        let _ = fs::remove_file(copy);
    }
    let missing = autofdo("").ends(0).says("no symbols of it: tried ").says("/app");
    missing.says(", which is not here (--image, --symfs)");
    autofdo(&format!("--function hot --image {kept}")).ends(0);
    // Another build at its path is not taken for it.
    fs::copy(&two, &copies[0]).unwrap();
    autofdo("").ends(0).says("its build ID is ");
    autofdo(&format!("--image {two}")).ends(1).says(&two).says("no binary of");
    let symfs = place.join("symfs");
    fs::create_dir_all(&symfs).unwrap();
    fs::copy(&kept, format!("{symfs}/app")).unwrap();
    autofdo(&format!("--function hot --symfs {symfs}")).ends(0);
}

#[test]
fn damaged_profiles_are_refused_with_the_offset() {
    let place = Scratch::new("merge");
    let run = record_part(&place, "recursion");
    let (stored, bad) = (profile(&place, "run.prof", &run, ""), place.join("bad.prof"));
    let mut bytes = fs::read(&stored).unwrap();
    let middle = bytes.len() / 2;
    fs::write(&bad, &bytes[..middle]).unwrap();
    for line in
        [format!("profile {bad}"), format!("merge {stored} {bad} -o -"), format!("diff {bad} {stored}")]
    {
        let refused = run!("{line}").ends(2);
        assert_eq!(refused.out, "");
        refused.says(format!("bad.prof: at offset {middle:#x}: it ends too early"));
    }
    bytes[middle] ^= 1;
    fs::write(&bad, bytes).unwrap();
    run!("profile {bad}").ends(2).says("the checksum of a section is wrong");
}

#[test]
fn the_funnel_of_a_capture_in_frames_adds_up() {
    let test = "the_funnel_of_a_capture_in_frames_adds_up";
    let Some(capture) = captures_for(test, "coresight/bugfix-exact-match") else { return };
    let (place, capture) = (Scratch::new("merge"), text(&capture));
    let object = run!("merge {capture} --json -o {}", place.join("out")).ends(0).json();
    let count = |name: &str| number(&object["funnel"], name);
    let parts: u64 = ["decoded_bytes", "around_bytes", "unread_bytes", "lost_bytes"].map(count).iter().sum();
    assert_eq!(parts, count("bytes"));
    let summary = run!("decode {capture} --summary --json").ends(0).json();
    assert_eq!(summary["instructions"], count("instructions"));
    assert_eq!(object["instructions"], count("instructions"));
    // Memory dumps are no binaries that AutoFDO knows: that nothing comes out is said.
    let nothing = run!("profile {capture} --format autofdo").ends(1);
    assert_eq!(nothing.out, "");
    nothing.says("nothing is in the output: all was left out: of no ELF file");
}

#[test]
fn rows_of_a_difference_are_in_the_order_of_the_change_they_show() {
    let place = Scratch::new("merge");
    let [sort, hash] = ["sort -- 1000", "hash -- 1000"].map(|program| recorded(&place, program, ""));
    let diff = run!("diff {sort} {hash} --json").ends(0).json();
    for table in ["functions", "branches"] {
        let changes = rows(&diff, table).iter().map(|row| row["change"].as_f64().unwrap().abs());
        let changes: Vec<_> = changes.collect();
        assert!(changes.len() > 10 && changes.is_sorted_by(|a, b| a >= b), "{table}: {changes:?}");
    }
}

/// A profile that is kept remembers where its binaries were found; of another build nothing is taken.
#[test]
fn kept_profiles_find_their_binaries_again() {
    let folder = Scratch::new("kept-paths");
    let copy = folder.join("root/usr/bin");
    fs::create_dir_all(&copy).unwrap();
    let (program, kept) = (format!("{copy}/hello.elf"), folder.join("app.kept"));
    fs::copy(root().join("samples/hello/hello.elf"), &program).unwrap();
    let symfs = folder.join("root");
    run!("profile samples/perf/perf.data --symfs {symfs} --format tracewright -o {kept}").ends(0);
    run!("profile {kept}").ends(0).prints("square");
    let merged = folder.join("merged.kept");
    run!("merge {kept} {kept} -o {merged}").ends(0);
    run!("profile {merged}").ends(0).prints("square");
    fs::remove_file(&program).unwrap();
    run!("profile {kept}").says("/usr/bin/hello.elf: no symbols of it");
}

/// Stacks of two runs: the counts of each are those of its own stacks.
#[test]
fn stacks_of_two_runs_are_compared() {
    let folder = Scratch::new("diff-stacks");
    let [first, second] = [("one", "300"), ("two", "900")].map(|(name, count)| {
        let run = folder.join(name);
        run!("record -q -o {run} programs/bin/sort.elf {count}").ends(0);
        run
    });
    let stacks = |run: &str| -> BTreeMap<String, u64> {
        let folded = run!("profile {run} --format folded -o -").ends(0).out;
        let line =
            |line: &str| line.rsplit_once(' ').map(|(stack, n)| (stack.to_owned(), n.parse().unwrap()));
        folded.lines().filter_map(line).collect()
    };
    let both = run!("diff {first} {second} --format folded").ends(0).out;
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    for line in both.lines() {
        let mut words = line.rsplitn(3, ' ');
        let mut count = || words.next().unwrap().parse::<u64>().unwrap();
        let (second, first) = (count(), count());
        let stack = words.next().unwrap();
        before.extend((first > 0).then(|| (stack.to_owned(), first)));
        after.extend((second > 0).then(|| (stack.to_owned(), second)));
    }
    assert_eq!((before, after), (stacks(&first), stacks(&second)));
    let picture = folder.join("diff.svg");
    run!("diff {first} {second} --format flamegraph -o {picture}").ends(0);
    let svg = fs::read_to_string(&picture).unwrap();
    assert!(svg.contains("compared with") && svg.contains("%)</title>"), "{svg}");
    assert!(svg.contains("; +") && svg.contains("insertion_sort"), "what got hotter says by how much");
    let kept = folder.join("kept");
    run!("profile {first} --format tracewright -o {kept}").ends(0);
    let none = run!("diff {kept} {second} --format flamegraph -o {picture}").ends(2);
    none.says("is a profile that was kept: it has no stacks");
}
