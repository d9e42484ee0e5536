//! Who called whom, loops, branches and paths: beside what the machine counted, and what others make of the files.

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Output};

use crate::book;
use crate::run::{
    Ran, TIMED, assert_fits, compiled, number, recorded, root, rows, run, string, sum, text, value,
};
use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for, skip};

/// A recorded program.
struct Run {
    folder: Scratch,
    /// The capture.
    run: String,
    /// Instructions and cycles that the machine counted.
    counted: [u64; 2],
}

impl Run {
    fn new(program: &str) -> Self {
        let folder = Scratch::new("profile-calls");
        let summary = folder.join("summary.json");
        let run = recorded(&folder, program, &format!("{TIMED} --summary-json {summary}"));
        let summary = value(summary);
        let counted = ["instructions", "cycles"].map(|name| number(&summary, name));
        Self { folder, run, counted }
    }

    fn profile(&self, more: &str) -> Ran {
        run!("profile {} --calls {more}", self.run).ends(0)
    }
}

fn function<'v>(profile: &'v Value, name: &str) -> &'v Value {
    rows(profile, "functions").iter().find(|row| row["function"] == name).unwrap()
}

/// How often functions of recursion.c call themselves can be worked out, and all instructions are those that the machine ran.
#[test]
fn calls_of_recursion() {
    let run = Run::new("recursion");
    let profile = run!("profile {} --calls --json --paths=4", run.run).ends(1).says("calls deeper").json();
    let functions = rows(&profile, "functions");
    assert_eq!(sum(functions, "instructions"), run.counted[0]);
    assert_eq!(profile["instructions"], run.counted[0]);
    assert_eq!(sum(functions, "cycles"), number(&profile, "cycles"));
    assert!(number(&profile, "cycles") <= run.counted[1]);
    assert_eq!(function(&profile, "_start")["inclusive_instructions"], run.counted[0]);
    assert_eq!(function(&profile, "main")["calls"], 1);
    assert_eq!(profile["returns_elsewhere"], 0);

    // What the C program calls.
    let source = fs::read_to_string(root().join("programs/recursion.c")).unwrap();
    let call = source.lines().rev().find_map(|line| line.split("fibonacci(").nth(1)).unwrap();
    let n: u64 = call.split([',', ')']).next().unwrap().trim().trim_end_matches('u').parse().unwrap();
    let (mut calls, mut before) = (1_u64, 1_u64);
    for _ in 1..n {
        (calls, before) = (1 + calls + before, calls);
    }
    assert_eq!(function(&profile, "fibonacci")["calls"], calls, "fibonacci({n})");

    // Branches: those of paths are among all.
    let branches = rows(&profile, "branches").iter();
    let all: HashMap<&str, u64> = branches
        .map(|row| (string(row, "address"), number(row, "taken") + number(row, "not_taken")))
        .collect();
    let paths = rows(&profile["paths"], "branches");
    assert!(!paths.is_empty());
    for row in paths {
        assert!(number(row, "count") <= all[string(row, "address")]);
    }
}

/// sort.c gets its functions by pointers, and its loops turn as often as there are numbers.
#[test]
fn loops_and_pointers_of_sort() {
    let run = Run::new("sort");
    let profile = run.profile("--json").json();
    let sorts = rows(&profile, "indirect_calls").iter().find(|row| row["function"] == "try").unwrap();
    let mut targets: Vec<_> = rows(sorts, "targets").iter().map(|row| string(row, "function")).collect();
    targets.sort_unstable();
    assert_eq!(targets, ["heap_sort", "insertion_sort", "quick_sort"]);
    // mix() has one loop, of eight turns.
    let mix = rows(&profile, "loops").iter().find(|row| row["function"] == "mix").unwrap();
    assert_eq!((&mix["trips_least"], &mix["trips_most"]), (&8.into(), &8.into()));
    assert_eq!(mix["entries"], function(&profile, "mix")["calls"]);
    // The table is as wide as a terminal.
    assert_fits(&run.profile("--paths").prints("sift_down").prints("hot path").out);

    // Folded stacks add up, with either weight.
    for (weight, all) in [("instructions", run.counted[0]), ("cycles", number(&profile, "cycles"))] {
        let folded = run.profile(&format!("--format folded --weight {weight}"));
        let folded = folded.prints("_start;main;try;heap_sort;sift_down ").out;
        let sums = folded.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
        assert_eq!(sums.sum::<u64>(), all, "{weight}");
    }
    let svg = run.folder.join("sort.svg");
    run.profile(&format!("--format flamegraph -o {svg}"));
    browser(&run, &svg);
    let svg = fs::read_to_string(svg).unwrap();
    assert!(svg.contains("<title>sift_down (") && svg.trim_end().ends_with("</svg>"));
    callgrind(&run, &profile);
    pprof(&run, &profile);
}

/// What another program printed, which must have ended well.
fn printed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// A browser opens a flame graph: its script has run when the picture is as wide as the window, and functions have their names on them.
fn browser(run: &Run, svg: &str) {
    let data = format!("--user-data-dir={}", run.folder.join("browser"));
    let picture = format!("--screenshot={}", run.folder.join("picture.png"));
    let open = |what: &str| {
        let options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900"];
        let address = format!("file://{svg}");
        Command::new("chromium").args(options).args([&data, what, &address]).output()
    };
    let Ok(output) = open("--dump-dom") else {
        return skip("flame graph in a browser", "chromium is not installed");
    };
    let page = printed(&output);
    let root = page.split("<svg ").nth(1).and_then(|svg| svg.split('>').next()).unwrap();
    assert!(root.contains("height=\"") && !root.contains(" width=\"1200\""), "{root}");
    for name in ["_start", "main", "try", "heap_sort", "sift_down", "insertion_sort"] {
        assert!(page.contains(&format!(">{name} </text>")), "{name}: {page}");
    }
    // Width and height are where every PNG file has them.
    assert!(open(&picture).unwrap().status.success());
    let picture = fs::read(run.folder.join("picture.png")).unwrap();
    assert_eq!(&picture[16..24], [0, 0, 5, 120, 0, 0, 3, 132]);
}

fn callgrind(run: &Run, profile: &Value) {
    let file = run.folder.join("sort.callgrind");
    run.profile(&format!("--format callgrind -o {file}"));
    let arguments = ["--inclusive=yes", "--threshold=100", "--auto=no", "--show=Instructions", &file];
    let Ok(output) = Command::new("callgrind_annotate").args(arguments).output() else {
        return skip("profile as callgrind", "callgrind_annotate is not installed");
    };
    let text = printed(&output);
    let count = |name: &str| {
        let line = text.lines().find(|line| line.contains(name)).unwrap();
        // It writes numbers with commas.
        let digits = line.split('(').next().unwrap().chars().filter(char::is_ascii_digit);
        digits.collect::<String>().parse::<u64>().unwrap()
    };
    assert_eq!(count("PROGRAM TOTALS"), run.counted[0]);
    own_counts_are_the_total(&file, run.counted[0]);
    // None of these is called by itself.
    for name in ["main", "try", "heap_sort", "sift_down", "insertion_sort", "mix"] {
        let expected = number(function(profile, name), "inclusive_instructions");
        assert_eq!(count(&format!(":{name} [")), expected, "{name}");
    }
}

/// callgrind_annotate finds the instructions of all functions, each once.
fn own_counts_are_the_total(file: &str, total: u64) {
    let output =
        Command::new("callgrind_annotate").args(["--threshold=100", "--auto=no", file]).output().unwrap();
    let text = printed(&output);
    let rows = text.lines().filter(|line| line.contains(" [") && !line.contains("PROGRAM TOTALS"));
    let own = rows.map(|line| {
        let digits = line.split('(').next().unwrap().chars().filter(char::is_ascii_digit);
        digits.collect::<String>().parse::<u64>().unwrap_or(0)
    });
    assert_eq!(own.sum::<u64>(), total, "{text}");
}

fn pprof(run: &Run, profile: &Value) {
    let file = run.folder.join("sort.pb.gz");
    run.profile(&format!("--format pprof -o {file}"));
    let gzip = Command::new("gzip").args(["-t", &file]).status().unwrap();
    assert!(gzip.success());
    let arguments = ["tool", "pprof", "-top", "-cum", "-nodefraction=0", "-sample_index=cycles", &file];
    let Ok(output) = Command::new("go").args(arguments).output() else {
        return skip("profile as pprof", "go is not installed");
    };
    let text = printed(&output);
    for row in rows(profile, "functions") {
        let name = string(row, "function");
        let line = text.lines().find(|line| line.split_whitespace().last() == Some(name)).unwrap();
        let columns: Vec<_> = line.split_whitespace().collect();
        assert_eq!(columns[0].parse(), Ok(number(row, "cycles")), "{line}");
        assert_eq!(columns[3].parse(), Ok(number(row, "inclusive_cycles")), "{line}");
    }
}

/// longjmp, exceptions of C++ and virtual calls.
const LEAPS: &str = r#"
#include <csetjmp>
struct Shape { virtual long area(long x) = 0; };
struct Square : Shape { long area(long x) override { return x * x; } };
struct Line : Shape { long area(long x) override { return x + 1; } };
static jmp_buf here;
__attribute__((noinline)) void deep(int n) { if (n == 0) longjmp(here, 1); deep(n - 1); asm volatile(""); }
__attribute__((noinline)) void thrower(int n) { if (n % 3 == 0) throw n; asm volatile(""); }
__attribute__((noinline)) long total(Shape **shapes, int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += shapes[i % 3]->area(i);
    return sum;
}
int main()
{
    Square square;
    Line line;
    Shape *shapes[3] = {&square, &square, &line};
    long sum = total(shapes, 300);
    for (int i = 0; i < 5; i++)
        if (!setjmp(here))
            deep(10);
    for (int i = 0; i < 9; i++)
        try {
            thrower(i);
        } catch (int e) {
            sum += e;
        }
    return sum == 0;
}
"#;

#[test]
fn leaps_come_back() {
    let folder = Scratch::new("profile-calls");
    let source = folder.write("leaps.cc", LEAPS.as_bytes());
    let Some(program) = compiled("profile of longjmp and exceptions", &source, "") else { return };
    let run = recorded(&folder, &program, "");
    let profile = run!("profile {run} --calls --json").ends(0).json();
    let calls = |name: &str| number(function(&profile, name), "calls");
    assert_eq!(calls("deep(int)"), 5 * 11);
    assert_eq!(calls("thrower(int)"), 9);
    assert_eq!((calls("longjmp"), calls("__cxa_throw")), (5, 3));
    assert_eq!((calls("Square::area(long)"), calls("Line::area(long)")), (200, 100));
    // Nothing else is a guess, and all is still under _start.
    assert_eq!((&profile["returns_elsewhere"], &profile["callers_unknown"]), (&8.into(), &1.into()));
    assert_eq!(function(&profile, "_start")["inclusive_instructions"], profile["instructions"]);
    book::json::check("profile", &profile);
    let indirect = rows(&profile, "indirect_calls");
    let area = indirect.iter().find(|row| row["function"] == "total(Shape**, int)").unwrap();
    assert_eq!((&area["virtual"], &area["taken"]), (&true.into(), &300.into()));
    let targets: Vec<_> = rows(area, "targets").iter().map(|row| number(row, "count")).collect();
    assert_eq!(targets, [200, 100]);
    // The loop around it turns 300 times.
    let loops = rows(&profile, "loops");
    assert!(loops.iter().any(|row| row["function"] == "total(Shape**, int)" && row["trips_most"] == 300));
}

/// Of real captures: the instructions of all functions are those that are decoded.
#[test]
fn captures_add_up() {
    let Some(all) = captures_for("profiles of captures", "") else { return };
    // Of juno-uname-002 trace was lost, and code is missing.
    for (name, status) in
        [("coresight/bugfix-exact-match", 0), ("coresight/juno-uname-002", 1), ("process/fib_trace1", 0)]
    {
        let path = all.join(name);
        let path = text(&path);
        let decoded = run!("decode {path} --summary --json").ends(status).json();
        let ran = run!("profile {path} --calls --json");
        let lacks_names = ran.err.contains("symbols are missing for ");
        let profile = ran.ends(status.max(lacks_names.into())).json();
        let funnel = &profile["funnel"];
        assert_eq!(lacks_names, 2 * number(funnel, "in_function") < number(funnel, "instructions"), "{name}");
        assert_eq!(decoded["instructions"], profile["instructions"], "{name}");
        assert_eq!(sum(rows(&profile, "functions"), "instructions"), number(&profile, "instructions"));
        // What is counted, and what is followed in order, are the same functions.
        for row in rows(&profile, "functions") {
            assert!(number(row, "inclusive_instructions") >= number(row, "instructions"), "{name}: {row}");
        }
    }
}

/// A branch list does not tell where indirect branches went. Functions that are called by pointers have as many calls as they begin.
#[test]
fn calls_by_pointers_in_branch_lists() {
    let folder = Scratch::new("profile-calls-list");
    let capture = recorded(&folder, "sort 300", "");
    let list = folder.join("sort.branches");
    run!("profile {capture} --format branch-list -o {list}").ends(0);
    let calls = |path: &str| -> HashMap<String, u64> {
        let profile = run!("profile {path} --json").ends(0).json();
        let functions = rows(&profile, "functions").iter();
        functions.map(|row| (string(row, "function").to_owned(), number(row, "calls"))).collect()
    };
    let [known, listed] = [&capture, &list].map(|path| calls(path));
    // sort.c gets the functions that compare numbers by pointers.
    assert!(known.values().filter(|calls| **calls > 0).count() > 5);
    for (function, calls) in listed {
        assert_eq!(known[&function], calls, "{function}");
    }
}
