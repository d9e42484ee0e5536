//! Profiles as files, added up and compared, beside what is decoded instruction by instruction.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{ends, json, tracewright, values};
use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for, skip};

fn record_part(place: &Scratch, name: &str, program: &str) -> String {
    let path = place.join(name);
    let limit = ["--max-instructions", "60000"];
    // It is stopped, which its status says.
    ends(1, &[&["record", "-q", "--protocol", "etrace", "-o", &path, program][..], &limit].concat());
    path
}

/// A profile of a capture.
fn profile(place: &Scratch, name: &str, capture: &str, more: &[&str]) -> String {
    let path = place.join(name);
    ends(0, &[&["profile", capture, "--format", "tracewright", "-o", &path], more].concat());
    path
}

/// Instructions of each function, counted one by one.
fn decoded(capture: &str) -> HashMap<String, u64> {
    let (text, _) = ends(0, &["decode", capture, "--instructions", "--json"]);
    let mut functions = HashMap::new();
    for row in values(&text) {
        if row["kind"] == "instruction" {
            let symbol = row["symbol"].as_str().unwrap();
            *functions.entry(symbol.split('+').next().unwrap().to_owned()).or_default() += 1;
        }
    }
    functions
}

/// A side of a comparison: instructions of each function that ran there.
fn functions(diff: &Value, side: usize) -> HashMap<String, u64> {
    let rows = diff["functions"].as_array().unwrap().iter();
    let rows = rows
        .map(|row| (row["name"].as_str().unwrap().to_owned(), row["instructions"][side].as_u64().unwrap()));
    rows.filter(|(_, count)| *count > 0).collect()
}

#[test]
fn a_stored_profile_is_as_good_as_its_capture() {
    let place = Scratch::new("merge");
    let run = record_part(&place, "run", "programs/bin/recursion.elf");
    let stored = profile(&place, "run.prof", &run, &[]);
    let autofdo = |of: &str| ends(0, &["profile", of, "--format", "autofdo"]);
    assert_eq!(autofdo(&stored).0, autofdo(&run).0);
    assert!(!autofdo(&run).0.is_empty());
    // What is stored again is the same, and so is the funnel.
    let again = profile(&place, "again.prof", &stored, &[]);
    assert_eq!(fs::read(&again).unwrap(), fs::read(&stored).unwrap());
    let funnel = |(_, err): (String, String)| err[err.find("bytes of trace").unwrap()..].to_owned();
    assert_eq!(funnel(autofdo(&stored)), funnel(autofdo(&run)));
    // Every function has the instructions that decoding them one by one gives.
    let expected = decoded(&run);
    let diff = json(&["diff", &stored, &run, "--json"]);
    assert_eq!(functions(&diff, 0), expected);
    assert_eq!(functions(&diff, 1), expected);
    let all: u64 = expected.values().sum();
    assert!(all > 10_000);
    for step in ["instructions", "in_binary", "in_function", "in_output"] {
        assert_eq!(diff["funnels"][0][step], all, "{step}");
    }
    let bytes = fs::metadata(Path::new(&run).join("trace.bin")).unwrap().len();
    assert_eq!(diff["funnels"][1]["bytes"], bytes);
    assert_eq!(diff["funnels"][1]["bytes_decoded"], bytes);
}

#[test]
fn merged_profiles_add_up_in_any_order() {
    let place = Scratch::new("merge");
    let runs =
        ["recursion", "search"].map(|name| record_part(&place, name, &format!("programs/bin/{name}.elf")));
    let [a, b] = [0, 1].map(|i| profile(&place, &format!("{i}.prof"), &runs[i], &[]));
    let sum = |name: &str, of: &[&str]| {
        let path = place.join(name);
        let object = json(&[&["merge"], of, &["--json", "-o", &path]].concat());
        (fs::read(&path).unwrap(), object)
    };
    let (bytes, object) = sum("ab", &[&a, &b]);
    assert_eq!(sum("ba", &[&b, &a]).0, bytes);
    // Captures or profiles, one at a time or all at once.
    assert_eq!(sum("captures", &[&runs[1], &runs[0]]).0, bytes);
    assert_eq!(sum("mixed", &[&runs[0], &b]).0, bytes);
    let (aab, three) = sum("aab", &[&place.join("ab"), &a]);
    assert_eq!(sum("aba", &[&a, &b, &runs[0]]).0, aab);
    let count = |of: &Value| of["instructions"].as_u64().unwrap();
    let [one, two] = runs.each_ref().map(|run| decoded(run).values().sum::<u64>());
    assert_eq!((count(&object), count(&three)), (one + two, 2 * one + two));
    assert_eq!(count(&three["funnel"]), 2 * one + two);
    // What ran twice as often has the same share.
    sum("aa", &[&a, &a]);
    let diff = json(&["diff", &a, &place.join("aa"), "--json"]);
    for row in diff["functions"].as_array().unwrap().iter().chain(diff["branches"].as_array().unwrap()) {
        assert_eq!(row["change"], 0.0, "{row}");
        let twice = |field: &str| {
            let of = row[field].as_array().unwrap();
            assert_eq!(2 * of[0].as_u64().unwrap(), of[1].as_u64().unwrap(), "{row}");
        };
        if row["ran"].is_null() { twice("instructions") } else { twice("taken") }
    }
}

#[test]
fn filters_keep_what_they_say() {
    let place = Scratch::new("merge");
    let run = record_part(&place, "run", "programs/bin/recursion.elf");
    let stored = profile(&place, "run.prof", &run, &[]);
    let expected = decoded(&run);
    let all: u64 = expected.values().sum();
    let left = |more: &[&str]| {
        let diff = json(&[&["diff", &stored, &run, "--json"], more].concat());
        let funnel = |side: usize| diff["funnels"][side]["in_output"].as_u64().unwrap();
        assert_eq!(funnel(0), funnel(1), "{more:?}");
        assert_eq!(diff["funnels"][0]["instructions"], all);
        funnel(0)
    };
    for (function, count) in &expected {
        assert_eq!(left(&["--function", function]), *count, "{function}");
    }
    let main = expected["main"];
    assert_eq!(left(&["--function", "main", "--function", "_start"]), main + expected["_start"]);
    assert_eq!(left(&["--binary", "recursion.elf"]), all);
    assert_eq!(left(&["--binary", "recursion.elf", "--function", "main"]), main);
    assert_eq!(left(&["--range", "0x0..main"]) + left(&["--range", "main..0xffffffffffff"]), all);
    assert_eq!(left(&["--range", "0..main+4", "--range", "main+0x4..0xffffffffffff"]), all);
    // Parts of the trace file add up.
    let part = |more: &[&str]| {
        let path = place.join("part");
        json(&[&["merge", &run, "-o", &path, "--json"], more].concat())["instructions"].as_u64().unwrap()
    };
    assert_eq!(part(&["--to", "0x200"]) + part(&["--from", "0x200"]), all);
    assert!(part(&["--to", "0x200"]) > 0);
    let (path, trace) = (place.join("part"), fs::metadata(Path::new(&run).join("trace.bin")).unwrap().len());
    let funnel = json(&["merge", &run, "-o", &path, "--json", "--from", "0x200"])["funnel"].clone();
    assert_eq!(
        (&funnel["bytes"], &funnel["bytes_decoded"]),
        (&(trace - 0x200).into(), &(trace - 0x200).into())
    );
    // What was left out when a profile was made stays so, and is told.
    let only = profile(&place, "only.prof", &run, &["--function", "main"]);
    let (_, err) = ends(0, &["profile", &only, "--format", "autofdo"]);
    let left_out = (all - main).to_string();
    assert!(
        err.replace(' ', "").contains(&format!("-{left_out}leftout:notaskedforwhentheprofilewasmade")),
        "{err}"
    );
    // What is not there is said.
    let refused = |more: &[&str]| ends(2, &[&["profile", &stored, "--format", "autofdo"], more].concat()).1;
    assert!(refused(&["--function", "mian"]).contains("there is main"));
    assert!(refused(&["--binary", "other"]).contains("there are: recursion.elf"));
    assert!(refused(&["--range", "main"]).contains("expected A..B"));
    assert!(refused(&["--range", "0x20..0x10"]).contains("0x20 is not before 0x10"));
    assert!(refused(&["--from", "1"]).contains("is a profile, without any trace"));
    let (out, err) = ends(1, &["profile", &stored, "--format", "autofdo", "--range", "0..4"]);
    assert_eq!(out, "");
    assert!(err.contains("nothing is in the output: all was left out: not asked for (--function"), "{err}");
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
    fs::write(place.join("app.c"), PROGRAM).unwrap();
    let build = |name: &str, more: &[&str]| {
        let out = place.join(name);
        fs::create_dir_all(Path::new(&out).parent().unwrap()).unwrap();
        let mut gcc = Command::new("riscv64-linux-gnu-gcc");
        gcc.args(["-O1", "-g", "-static", "-Wl,--build-id", "-o", &out, &place.join("app.c")]).args(more);
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
        let output = tracewright(&["record", "-q", "--protocol", "etrace", "-o", &run, &programs[i]]);
        assert!(output.status.code().is_some_and(|code| code < 2));
        profile(&place, &format!("{i}.prof"), &run, &[])
    });
    let diff = json(&["diff", &a, &b, "--json"]);
    let function = |name: &str| {
        let rows = diff["functions"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
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
    let rows = diff["branches"].as_array().unwrap();
    let hot = rows.iter().find(|row| row["name"].as_str().unwrap().starts_with("hot app.c:3")).unwrap();
    assert!(hot["ran"][0].as_u64().unwrap() >= 1_999 && hot["ran"][1].as_u64().unwrap() >= 2_999, "{hot}");
    let (text, err) = ends(0, &["diff", &a, &b]);
    assert!(text.lines().any(|line| line.ends_with("  added")), "{text}");
    let long = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None);
    assert!(err.lines().all(|line| line.contains(&place.join("")) || line.chars().count() <= 80), "{err}");
    found_again(&place, &a, programs);
}

/// Binaries are found again by path, by --image and in --symfs, and by build ID; one that is another is named.
fn found_again(place: &Scratch, stored: &str, [one, two]: [String; 2]) {
    let copies = ["run0/app", "one/app"].map(|name| place.join(name));
    let main = |more: &[&str]| {
        tracewright(&[&["profile", stored, "--format", "autofdo", "--function", "hot"], more].concat())
    };
    assert_eq!(main(&[]).status.code(), Some(0));
    let kept = place.join("kept");
    fs::copy(&one, &kept).unwrap();
    // Its folder in the capture has it, too.
    for copy in &copies {
        let _ = fs::remove_file(copy);
    }
    let (_, err) = ends(0, &["profile", stored, "--format", "autofdo"]);
    assert!(err.contains("no symbols of it: tried ") && err.contains("/app"), "{err}");
    assert!(err.contains(", which is not here (--image, --symfs)"), "{err}");
    assert_eq!(main(&["--image", &kept]).status.code(), Some(0));
    // Another build at its path is not taken for it.
    fs::copy(&two, &copies[0]).unwrap();
    let (_, err) = ends(0, &["profile", stored, "--format", "autofdo"]);
    assert!(err.contains("its build ID is "), "{err}");
    let (_, err) = ends(1, &["profile", stored, "--format", "autofdo", "--image", &two]);
    assert!(err.contains(&two) && err.contains("no binary of"), "{err}");
    let symfs = place.join("symfs");
    fs::create_dir_all(&symfs).unwrap();
    fs::copy(&kept, Path::new(&symfs).join("app")).unwrap();
    assert_eq!(main(&["--symfs", &symfs]).status.code(), Some(0));
}

#[test]
fn damaged_profiles_are_refused_with_the_offset() {
    let place = Scratch::new("merge");
    let run = record_part(&place, "run", "programs/bin/recursion.elf");
    let stored = profile(&place, "run.prof", &run, &[]);
    let bytes = fs::read(&stored).unwrap();
    let bad = place.join("bad.prof");
    fs::write(&bad, &bytes[..bytes.len() / 2]).unwrap();
    for arguments in [&["profile", &bad][..], &["merge", &stored, &bad, "-o", "-"], &["diff", &bad, &stored]]
    {
        let (out, err) = ends(2, arguments);
        assert_eq!(out, "");
        let at = format!("bad.prof: at offset {:#x}: it ends too early", bytes.len() / 2);
        assert!(err.contains(&at), "{err}");
    }
    let mut changed = bytes;
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    fs::write(&bad, changed).unwrap();
    assert!(ends(2, &["profile", &bad]).1.contains("the checksum of a section is wrong"));
}

#[test]
fn the_funnel_of_a_capture_in_frames_adds_up() {
    let Some(folder) = captures_for("the_funnel_of_a_capture_in_frames_adds_up", "") else { return };
    let place = Scratch::new("merge");
    let capture = folder.join("coresight/bugfix-exact-match");
    let capture = capture.to_str().unwrap();
    let object = json(&["merge", capture, "--json", "-o", &place.join("out")]);
    let number = |name: &str| object["funnel"][name].as_u64().unwrap();
    let parts: u64 = ["bytes_decoded", "bytes_around", "bytes_unread", "bytes_lost"].map(number).iter().sum();
    assert_eq!(parts, number("bytes"));
    let summary = json(&["decode", capture, "--summary", "--json"]);
    assert_eq!(summary["instructions"], number("instructions"));
    assert_eq!(object["instructions"], number("instructions"));
    // Memory dumps are no binaries that AutoFDO knows: that nothing comes out is said.
    let (out, err) = ends(1, &["profile", capture, "--format", "autofdo"]);
    assert_eq!(out, "");
    assert!(err.contains("nothing is in the output: all was left out: of no ELF file"), "{err}");
}

#[test]
fn rows_of_a_difference_are_in_the_order_of_the_change_they_show() {
    let place = Scratch::new("merge");
    let runs = ["sort", "hash"].map(|name| {
        let (path, program) = (place.join(name), format!("programs/bin/{name}.elf"));
        ends(0, &["record", "-q", "--protocol", "etrace", "-o", &path, &program, "--", "1000"]);
        path
    });
    let diff = json(&["diff", &runs[0], &runs[1], "--json"]);
    for table in ["functions", "branches"] {
        let rows = diff[table].as_array().unwrap();
        let changes: Vec<_> = rows.iter().map(|row| row["change"].as_f64().unwrap().abs()).collect();
        assert!(changes.len() > 10 && changes.is_sorted_by(|a, b| a >= b), "{table}: {changes:?}");
    }
}
