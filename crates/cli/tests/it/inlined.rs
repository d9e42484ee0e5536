//! Inlined functions, call trees, and functions without symbols: beside LLVM, callgrind_annotate, pprof, and the same program with symbols.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::{
    Ran, TIMED, address, assert_fits, elf, number, ran, recorded, root, rows, run, string, sum, text, values,
};
use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for, has_programs, skip};

const SOURCE: &str = "\
#include <stdio.h>
struct Sq {
    double v;
    long n;
    explicit Sq(double x) : v(x * x), n(3) { if (x > 100) n = (long)x; }
    double get() const { return v + n; }
};
__attribute__((noinline)) int outside(int x) { asm volatile(\"\"); return x + 1; }
static inline int middle(int x) { if (x & 1) return outside(x); return x; }
int risky(int x) {
    if (x % 7 == 3) return -middle(x);
    return x * 2;
}
int main(int argc, char **argv) {
    long sum = 0;
    for (int i = 0; i < 200; i++) sum += risky(i * argc);
    double d = 0;
    for (int i = 0; i < 150; i++) { Sq s(i * argc); d += s.get(); }
    auto twice = [&](int v) {
        return v * 2 + argc;
    };
    for (int i = 0; i < 30; i++) sum ^= twice((int)sum + i);
    printf(\"%ld %g\\n\", sum, d);
    return 0;
}
";

/// A program of which the compiler inlines most functions, and its capture.
struct App {
    folder: Scratch,
    capture: String,
}

impl App {
    fn new(test: &str, tools: &[&str]) -> Option<Self> {
        if !has_programs(test, &[&["riscv64-linux-gnu-g++"], tools].concat()) {
            return None;
        }
        let folder = Scratch::new("inlined");
        folder.write("app.cpp", SOURCE.as_bytes());
        let options = ["-O2", "-g", "-static", "-o", "app", "app.cpp"];
        ran(Command::new("riscv64-linux-gnu-g++").args(options).current_dir(folder.path())).ends(0);
        let capture = recorded(&folder, &folder.join("app"), "");
        Some(Self { folder, capture })
    }

    fn profile(&self, options: &str) -> Ran {
        run!("profile {} {options}", self.capture).ends(0)
    }

    /// How often the instruction at each address ran, as `decode` lists them.
    fn executed(&self) -> BTreeMap<u64, u64> {
        let listed = run!("decode {} --instructions --json", self.capture).ends(0).out;
        let mut all = BTreeMap::new();
        for line in values(&listed).filter(|line| line["kind"] == "instruction") {
            *all.entry(address(&line, "address")).or_default() += 1;
        }
        all
    }
}

fn instructions(profile: &Value) -> HashMap<&str, u64> {
    let mut all = HashMap::new();
    for row in rows(profile, "functions") {
        *all.entry(string(row, "function")).or_default() += number(row, "instructions");
    }
    all
}

/// The functions at addresses, the outermost first, as LLVM names them. None where there is no debug information.
fn symbolized(folder: &Path, addresses: impl Iterator<Item = u64>) -> Vec<Option<Vec<String>>> {
    let mut command = Command::new("llvm-symbolizer-19");
    command.args(["--obj=app", "--inlines"]).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let asked: String = addresses.map(|address| format!("{address:#x}\n")).collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(asked.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let answers = printed.trim_end().split("\n\n");
    let frames = answers.map(|answer| {
        let lines: Vec<_> = answer.lines().collect();
        let has_lines = lines.iter().skip(1).step_by(2).all(|line| !line.starts_with("??"));
        let mut names: Vec<String> = lines.iter().step_by(2).rev().map(|&name| name.to_owned()).collect();
        // A part that GCC split off a function and inlined again is that function.
        names.dedup();
        has_lines.then_some(names)
    });
    frames.collect()
}

/// LLVM says of every address that ran which functions are there. Sums of instructions are those of its innermost functions, and stacks end
/// with its chains.
#[test]
fn inlined_functions_have_the_instructions_that_llvm_gives_them() {
    let name = "inlined_functions_have_the_instructions_that_llvm_gives_them";
    let Some(app) = App::new(name, &["llvm-symbolizer-19"]) else { return };
    let executed = app.executed();
    let chains = symbolized(app.folder.path(), executed.keys().copied());
    assert_eq!(chains.len(), executed.len());
    let (mut innermost, mut around): (HashMap<&str, u64>, HashMap<&str, u64>) = Default::default();
    let mut by_chain: BTreeMap<&[String], u64> = BTreeMap::new();
    for (chain, count) in chains.iter().zip(executed.values()) {
        let Some(chain) = chain else { continue };
        *innermost.entry(chain.last().unwrap()).or_default() += count;
        *around.entry(&chain[0]).or_default() += count;
        *by_chain.entry(chain).or_default() += count;
    }
    assert!(by_chain.keys().any(|chain| chain.len() == 3), "{by_chain:?}");
    for (options, expected) in [("", &innermost), ("--calls", &innermost), ("--no-inline --calls", &around)] {
        let profile = app.profile(&format!("{options} --json")).json();
        let ours = instructions(&profile);
        for (name, count) in expected {
            assert_eq!(ours.get(name), Some(count), "{name} {options}");
        }
        assert_eq!(sum(rows(&profile, "functions"), "instructions"), executed.values().sum::<u64>());
    }
    let told = |options: &str| -> HashMap<String, u64> {
        let folded = app.profile(&format!("--format folded {options}")).out;
        let lines = folded.lines().map(|line| line.rsplit_once(' ').unwrap());
        lines.map(|(stack, count)| (stack.to_owned(), count.parse().unwrap())).collect()
    };
    let folded = told("");
    for (chain, count) in by_chain.iter().filter(|(chain, _)| chain[0] == "main") {
        let end = format!(";{}", chain.join(";"));
        let sum: u64 = folded.iter().filter(|(stack, _)| stack.ends_with(&end)).map(|(_, count)| count).sum();
        assert_eq!(sum, *count, "{end}: {folded:?}");
    }
    // What an inlined function calls is called by it.
    assert!(folded.keys().any(|stack| stack.ends_with(";main;risky(int);middle;outside(int)")), "{folded:?}");
    assert_eq!(folded.values().sum::<u64>(), told("--no-inline").values().sum::<u64>());
    // Only an inlined function: what ran in it, with what is inlined into it.
    let of_risky: u64 =
        by_chain.iter().filter(|(chain, _)| chain.contains(&"risky(int)".into())).map(|(_, n)| n).sum();
    assert_eq!(told("--function risky").values().sum::<u64>(), of_risky);
    let csv = app.profile("--function risky --format csv --rows blocks").out;
    let counts = csv.lines().skip(1).map(|line| {
        let cells: Vec<u64> = line.rsplit(',').take(6).map(|cell| cell.parse().unwrap_or(0)).collect();
        cells[4] * cells[3]
    });
    assert_eq!(counts.sum::<u64>(), of_risky);
    let table = app.profile("--function risky --json").json();
    assert_eq!(instructions(&table)["risky(int)"], innermost["risky(int)"]);
}

/// `--range` and `--function` choose the same instructions in every verb: those at the addresses, and those of the function with what is
/// inlined into it, also where it is inlined itself.
#[test]
fn filters_mean_one_thing_in_every_verb() {
    let name = "filters_mean_one_thing_in_every_verb";
    let Some(app) = App::new(name, &["llvm-symbolizer-19"]) else { return };
    let (executed, capture) = (app.executed(), &app.capture);
    let chains = symbolized(app.folder.path(), executed.keys().copied());
    let of = |name: &str| -> u64 {
        let all = chains.iter().zip(executed.values());
        let of_it = all.filter(|(chain, _)| chain.iter().flatten().any(|of| of.starts_with(name)));
        of_it.map(|(_, count)| count).sum()
    };
    let addresses: Vec<_> = executed.keys().copied().collect();
    // From the middle of a block to the middle of another.
    let (from, to) = (addresses[addresses.len() / 3], addresses[2 * addresses.len() / 3]);
    let in_range = executed.range(from..to).map(|(_, count)| count).sum();
    let cases = [
        ("--function risky".to_owned(), of("risky(")),
        ("--function main".to_owned(), of("main")),
        (format!("--range {from:#x}..{to:#x}"), in_range),
        (format!("--range {from:#x}..{:#x}", from + 2), executed[&from]),
    ];
    let kept = app.folder.path().join("part.prof");
    for (part, expected) in cases {
        let listed = run!("decode {capture} --instructions --json {part}").ends(0).out;
        let listed = values(&listed).filter(|line| line["kind"] == "instruction").count() as u64;
        assert_eq!(listed, expected, "decode {part}");
        for options in ["", "--calls"] {
            let table = app.profile(&format!("{options} --json {part}")).json();
            assert_eq!(sum(rows(&table, "functions"), "instructions"), expected, "profile {options} {part}");
        }
        for format in ["folded", "csv --rows blocks", "callgrind", "tree"] {
            let ran = app.profile(&format!("--format {format} {part}"));
            assert_eq!(ran.funnel("in the output"), expected, "profile {format} {part}");
        }
        let merged = run!("merge --force -o {} {capture} {part}", kept.display()).ends(0);
        assert_eq!(merged.funnel("in the output"), expected, "merge {part}");
        if part.starts_with("--range") {
            let coverage = run!("coverage {capture} {part}").ends(0);
            assert_eq!(coverage.funnel("in the output"), expected, "coverage {part}");
            // What was left out when it was kept is not of an unknown function.
            run!("coverage {}", kept.display())
                .ends(0)
                .says("left out: not asked for when the profile was made");
        }
    }
}

/// `decode`, `stalls` and `diff` know the inlined functions that LLVM tells.
#[test]
fn listings_and_tables_know_inlined_functions() {
    let name = "listings_and_tables_know_inlined_functions";
    let Some(app) = App::new(name, &["llvm-symbolizer-19"]) else { return };
    let timed = app.folder.join("timed");
    run!("record -q --protocol etrace {TIMED} -o {timed} {}", app.folder.join("app")).ends(0);
    let executed = app.executed();
    let chains = symbolized(app.folder.path(), executed.keys().copied());
    let chains: BTreeMap<u64, Vec<String>> =
        executed.keys().zip(chains).filter_map(|(address, chain)| Some((*address, chain?))).collect();
    let listed = run!("decode {} --instructions --json", app.capture).ends(0).out;
    let mut inlined = 0;
    for row in values(&listed).filter(|row| row["kind"] == "instruction") {
        let Some(chain) = chains.get(&address(&row, "address")) else { continue };
        let told: Vec<_> =
            row["inlined"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(told, chain[1..], "{row}");
        inlined += usize::from(!told.is_empty());
    }
    assert!(inlined > 1000, "{inlined}");
    let text = run!("decode {} --instructions --function main", app.capture).ends(0);
    let text = text.prints(" [inlined risky(int)]  app.cpp:").prints(" ; [risky(int)] ").prints(" ; [main] ");
    let text = text.prints(" [inlined risky(int) > middle]");
    assert_fits(&text.out);
    for option in ["--json", ""] {
        let without = run!("decode {} --instructions --no-inline {option}", app.capture).ends(0).out;
        assert!(!without.contains("[inlined ") && !without.contains(r#""inlined":"#));
    }
    let sum = |of: fn(&[String]) -> &str| {
        let mut sums: HashMap<String, u64> = HashMap::new();
        for (address, chain) in &chains {
            *sums.entry(of(chain).to_owned()).or_default() += executed[address];
        }
        sums
    };
    let (innermost, outermost) = (sum(|chain| &chain[chain.len() - 1]), sum(|chain| &chain[0]));
    for (option, expected) in [("", &innermost), ("--no-inline", &outermost)] {
        let stalls = run!("stalls {timed} --json {option}").ends(0).json();
        let diff = run!("diff {0} {0} --json {option}", app.capture).ends(0).json();
        let told = |of: &Value, name: &str| {
            let row = rows(of, "functions").iter().find(|row| row["function"] == name);
            row.unwrap_or_else(|| panic!("{name} {option}: {of}"))["instructions"].clone()
        };
        for (name, instructions) in expected {
            assert_eq!(told(&stalls, name), *instructions, "{option} {name}");
            assert_eq!(told(&diff, name)[1], *instructions, "{option} {name}");
        }
    }
}

/// Calls of inlined functions are those of `coverage`, and other tools read who calls whom.
#[test]
fn other_tools_know_inlined_functions() {
    let Some(app) = App::new("other_tools_know_inlined_functions", &[]) else { return };
    let profile = app.profile("--calls --json").json();
    let coverage = run!("coverage {} --file app.cpp --json", app.capture).ends(0).json();
    let of_file = rows(&rows(&coverage, "files")[0], "functions_list");
    let function = |name: &str| rows(&profile, "functions").iter().find(|row| row["function"] == name);
    assert!(of_file.len() >= 6, "{of_file:?}");
    for covered in of_file {
        let row = function(string(covered, "function")).unwrap();
        assert_eq!(row["calls"], covered["calls"], "{row}");
    }
    assert_eq!(function("Sq::Sq(double)").unwrap()["calls"], 150);
    // Those of inlined functions are marked.
    for (name, is_estimate) in [("Sq::Sq(double)", true), ("risky(int)", true), ("outside(int)", false)] {
        assert_eq!(function(name).unwrap()["calls_estimated"], is_estimate, "{name}");
        let covered = of_file.iter().find(|row| row["function"] == name).unwrap();
        assert_eq!(covered["calls_estimated"], is_estimate, "{name}");
    }
    let table = app.profile("--calls --top 1000").out;
    let row = |end: &str| {
        table.lines().find(|line| line.ends_with(end)).unwrap_or_else(|| panic!("{end}: {table}"))
    };
    assert!(
        row("  risky(int)").contains(" ~200 ") && row("main -> risky(int) (inlined)").contains(" ~200 "),
        "{table}"
    );
    assert!(row("  outside(int)").contains(" 15 ") && table.contains(" ~ an estimate: "), "{table}");
    assert!(!app.profile("--calls --no-inline").out.contains('~'));
    let annotated = run!("annotate {} Sq::get", app.capture).ends(0).prints("about 150 calls").out;
    assert!(!annotated.is_empty());
    assert_eq!(function("risky(int)").unwrap()["calls"], 200);
    let edges = rows(&profile, "call_edges");
    let edge = |caller: &str, callee: &str| {
        edges.iter().find(|edge| edge["caller"] == caller && edge["callee"] == callee).unwrap()
    };
    assert_eq!(
        (&edge("main", "risky(int)")["inlined"], &edge("main", "risky(int)")["calls"]),
        (&true.into(), &200.into())
    );
    assert_eq!(edge("main", "risky(int)")["calls_estimated"], true);
    assert_eq!(edge("middle", "outside(int)")["calls_estimated"], false);
    assert_eq!(
        (&edge("middle", "outside(int)")["inlined"], &edge("middle", "outside(int)")["calls"]),
        (&false.into(), &15.into())
    );
    callgrind(&app, &profile, "");
    callgrind(&app, &app.profile("--calls --no-inline --json").json(), "--no-inline");
    let risky = app.profile("--function risky --format callgrind").out;
    let total = number(&app.profile("--function risky --format tree --json").json(), "instructions");
    assert!(total > 0 && risky.contains(&format!("\ntotals: {total}\n")), "{risky}");
    pprof(&app, &profile);
}

/// callgrind_annotate finds totals, inclusive instructions and calls.
fn callgrind(app: &App, profile: &Value, options: &str) {
    let file = app.folder.join("app.callgrind");
    app.profile(&format!("--format callgrind {options} -o {file}"));
    let arguments = ["--inclusive=yes", "--tree=calling", "--threshold=100", "--auto=no", &file];
    let mut command = Command::new("callgrind_annotate");
    let Ok(output) = command.args(arguments).current_dir("/").output() else {
        return skip("inlined functions as callgrind", "callgrind_annotate is not installed");
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>();
    let totals = printed.lines().find(|line| line.contains("PROGRAM TOTALS")).unwrap();
    assert_eq!(digits(totals.split('(').next().unwrap()), Ok(number(profile, "instructions")), "{printed}");
    let count = |line: &str| digits(line.split('(').next().unwrap());
    for edge in rows(profile, "call_edges").iter().filter(|edge| string(edge, "caller") == "main") {
        let callee = string(edge, "callee");
        let mut of_main =
            printed.lines().skip_while(|line| !(line.contains(" * ") && line.contains(":main [")));
        let found =
            of_main.find(|line| line.contains(" > ") && line.contains(&format!(":{callee} ("))).unwrap();
        assert_eq!(count(found), Ok(number(edge, "inclusive_instructions")), "{found}");
        let times = found.rsplit('(').find(|part| part.contains("x)")).unwrap();
        assert_eq!(digits(times.split('x').next().unwrap()), Ok(number(edge, "calls")), "{found}");
    }
}

/// pprof shows inlined functions as such.
fn pprof(app: &App, profile: &Value) {
    let file = app.folder.join("app.pb.gz");
    app.profile(&format!("--format pprof -o {file}"));
    let arguments = ["tool", "pprof", "-top", "-nodefraction=0", "-sample_index=instructions", &file];
    let Ok(output) = Command::new("go").args(arguments).output() else {
        return skip("inlined functions as pprof", "go is not installed");
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    for (name, count) in instructions(profile).into_iter().filter(|(_, count)| *count > 0) {
        let shown = [name.to_owned(), format!("{name} (inline)"), format!("{name} (partial-inline)")];
        let line =
            printed.lines().find(|line| shown.iter().any(|name| line.ends_with(&format!("%  {name}"))));
        let line = line.unwrap_or_else(|| panic!("{name}: {printed}"));
        assert_eq!(line.split_whitespace().next().unwrap().parse(), Ok(count), "{line}");
    }
    assert!(printed.contains("risky(int) (inline)"), "{printed}");
}

/// `annotate` shows each copy, with what its instructions did.
#[test]
fn annotate_shows_where_a_function_is_inlined() {
    let Some(app) = App::new("annotate_shows_where_a_function_is_inlined", &[]) else { return };
    let executed = app.executed();
    let capture = &app.capture;
    let shown = run!("annotate {capture} Sq::get --json").ends(0).json();
    let [copy] = rows(&shown, "functions") else { panic!("{shown}") };
    assert_eq!(
        (&copy["inlined_into"], &copy["called_at"], &copy["calls"]),
        (&"main".into(), &"app.cpp:18".into(), &150.into())
    );
    for row in rows(copy, "code") {
        assert_eq!(
            executed.get(&address(row, "address")).copied().unwrap_or(0),
            number(row, "count"),
            "{row}"
        );
    }
    assert_eq!(number(copy, "instructions"), instructions(&app.profile("--json").json())["Sq::get() const"]);
    // Its own code never ran; a part of it is inlined into it again, which is no copy.
    let text = run!("annotate {capture} risky --src {}", app.folder.path().display()).ends(0).out;
    assert_fits(&text);
    let heads: Vec<_> = text.lines().filter(|line| line.starts_with("risky(int) in ")).collect();
    assert_eq!(heads.len(), 2, "{heads:?}");
    assert!(heads[1].ends_with(", inlined into main at app.cpp:16"), "{heads:?}");
    assert!(!text.contains("risky(int), inlined"), "{text}");
    run!("annotate {capture} Sq::get --no-inline")
        .ends(1)
        .says("has no code of its own: it ran inlined into main");
    run!("annotate {capture} main --no-inline --no-source").ends(0).prints(" instructions ran\n");
    run!("profile {capture} --function nothing").ends(2).says("no binary that is here has such a symbol");
    for verb in ["profile --no-inline", "decode --no-inline", "timeline -o -"] {
        let ran = run!("{verb} {capture} --function Sq::get").ends(2);
        ran.says("it has no code of its own: it is inlined into main, name that");
    }
    let listed = run!("decode {capture} --instructions --json --function Sq::get").ends(0).out;
    let listed = values(&listed).filter(|line| line["kind"] == "instruction").count() as u64;
    assert_eq!(number(copy, "instructions"), listed);
}

/// The tree, its JSON and its CSV are one; it fits into a terminal, and adds up.
#[test]
fn call_trees_add_up() {
    let folder = Scratch::new("trees");
    let capture = folder.join("sort");
    run!("record -q {TIMED} -o {capture} {} 300", elf("sort")).ends(0);
    let profile = run!("profile {capture} --calls --json").ends(0).json();
    let tree = run!("profile {capture} --format tree --json").ends(0).json();
    let nodes = rows(&tree, "nodes");
    for what in ["instructions", "cycles"] {
        assert_eq!(sum(nodes, what), number(&profile, what));
        let inclusive = format!("inclusive_{what}");
        for node in nodes {
            let below = nodes.iter().filter(|below| below["parent"] == node["node"]);
            let below: u64 = below.map(|below| number(below, &inclusive)).sum();
            assert_eq!(number(node, what) + below, number(node, &inclusive), "{node}");
        }
    }
    // Who calls whom, on all paths.
    let edges = rows(&profile, "call_edges");
    assert!(edges.iter().any(|edge| edge["caller"] == "heap_sort" && edge["callee"] == "sift_down"));
    for edge in edges.iter().filter(|edge| edge["inlined"] == false) {
        let parent =
            |node: &Value| node["parent"].as_u64().map(|parent| string(&nodes[parent as usize], "function"));
        let called = nodes.iter().filter(|node| {
            node["function"] == edge["callee"] && parent(node) == Some(string(edge, "caller"))
        });
        let calls: u64 = called.filter_map(|node| node["calls"].as_u64()).sum();
        assert!(calls <= number(edge, "calls"), "{edge}");
    }
    for row in rows(&profile, "functions").iter().filter(|row| row["function"] != "_start") {
        let into = edges.iter().filter(|edge| edge["callee"] == row["function"]);
        assert_eq!(into.map(|edge| number(edge, "calls")).sum::<u64>(), number(row, "calls"), "{row}");
    }
    let csv = run!("profile {capture} --format csv --rows call-tree").ends(0).out;
    assert_eq!(csv.lines().count(), nodes.len() + 1);
    let csv = run!("profile {capture} --calls --format csv --rows call-edges").ends(0).out;
    assert_eq!(csv.lines().count(), edges.len() + 1);
    for options in ["", "--min-share 0", "--min-share 5 --weight cycles", "--function sift_down"] {
        let text = run!("profile {capture} --format tree {options}").ends(0).out;
        assert_fits(&text);
        assert!(text.contains("sift_down"), "{options}: {text}");
    }
    let all = run!("profile {capture} --format tree --min-share 0").ends(0).out;
    assert_eq!(all.lines().count(), nodes.len() + 1);
    let heavy = run!("profile {capture} --format tree --min-share 20").ends(0).out;
    let shares = heavy.lines().skip(1).map(|line| line[13..19].trim().parse::<f64>().unwrap());
    assert!(shares.clone().count() > 3 && shares.clone().all(|share| share >= 20.0), "{heavy}");
    run!("profile {capture} --format tree --min-share 101").ends(2);
    let kept = folder.join("kept");
    run!("profile {capture} --format tracewright -o {kept}").ends(0);
    run!("profile {kept} --format tree").ends(2).says("in which order");
}

/// A deep recursion is cut to the width of a terminal, and tells its depth.
#[test]
fn deep_trees_fit() {
    let folder = Scratch::new("trees");
    let capture = recorded(&folder, "recursion", "");
    let text = run!("profile {capture} --format tree --min-share 0").ends(1).says("calls deeper").out;
    assert_fits(&text);
    assert!(text.contains("[25] "), "{text}");
}

/// Without symbols, functions begin where those with symbols do, and execute as many instructions, as all are called.
#[test]
fn functions_without_symbols_are_those_with_symbols() {
    let name = "functions_without_symbols_are_those_with_symbols";
    if !has_programs(name, &["llvm-strip-19"]) {
        return;
    }
    for (program, arguments) in [("sort", "300"), ("args", ""), ("search", "")] {
        let folder = Scratch::new("stripped");
        let stripped = folder.join("stripped");
        fs::copy(root().join(elf(program)), &stripped).unwrap();
        ran(Command::new("llvm-strip-19").args(["--strip-all", &stripped])).ends(0);
        let (whole, without) = (folder.join("whole"), folder.join("without"));
        for (program, capture) in [(&elf(program), &whole), (&stripped, &without)] {
            run!("record -q -o {capture} {program} {arguments}").ends(0);
        }
        // Symbols are missing: that is said, and the status says so in all verbs that count by function.
        let lacks = |verb: &str| run!("{verb}").ends(1).says("symbols are missing for ");
        let profile = |capture: &str, status: i32| {
            run!("profile {capture} --calls --no-inline --json").ends(status).json()
        };
        let (with, ours) = (profile(&whole, 0), profile(&without, 1));
        lacks(&format!("coverage {without}"));
        run!("coverage {whole}").ends(0).says_not("symbols are missing");
        let by_start = |profile: &Value| -> BTreeMap<u64, Value> {
            rows(profile, "functions").iter().map(|row| (address(row, "address"), row.clone())).collect()
        };
        let (with, ours) = (by_start(&with), by_start(&ours));
        // Every verb takes the names that tables have.
        let (start, hottest) = ours.iter().max_by_key(|(_, row)| number(row, "instructions")).unwrap();
        let (named, count) = (string(hottest, "function"), number(hottest, "instructions"));
        let summary = run!("decode {without} --summary --json --function {named}").ends(0).json();
        assert_eq!(number(&summary, "instructions"), count, "{named}");
        let covered = lacks(&format!("coverage {without} --function {named}"));
        assert_eq!(covered.funnel("in the output"), count, "{named}");
        let range = format!("--range stripped+{start:#x}..stripped+{:#x}", start + 2);
        assert!(lacks(&format!("profile {without} {range}")).funnel("in the output") > 0, "{range}");
        assert_eq!(ours.keys().collect::<Vec<_>>(), with.keys().collect::<Vec<_>>(), "{program}");
        for (start, row) in &ours {
            assert_eq!(string(row, "function"), format!("stripped+{start:#x}"));
            for what in ["instructions", "calls", "inclusive_instructions"] {
                assert_eq!(row[what], with[start][what], "{program}: {row}");
            }
        }
        // All agree on names.
        let names: BTreeSet<_> = ours.values().map(|row| string(row, "function").to_owned()).collect();
        let folded = lacks(&format!("profile {without} --format folded")).out;
        let told =
            folded.lines().flat_map(|line| line.rsplit_once(' ').unwrap().0.split(';')).map(str::to_owned);
        assert_eq!(told.collect::<BTreeSet<_>>(), names);
        let callgrind = lacks(&format!("profile {without} --format callgrind")).out;
        let told = callgrind.lines().filter_map(|line| line.strip_prefix("fn=")).map(str::to_owned);
        assert_eq!(told.collect::<BTreeSet<_>>(), names);
        let timeline = lacks(&format!("timeline {without} -o -")).out;
        names.iter().for_each(|name| assert!(timeline.contains(&format!("\"{name}\"")), "{name}"));
        let hottest = ours.values().max_by_key(|row| number(row, "instructions")).unwrap();
        let name = string(hottest, "function");
        let shown = run!("annotate {without} {name} --json").ends(0).json();
        let [shown] = rows(&shown, "functions") else { panic!("{shown}") };
        assert_eq!((&shown["instructions"], &shown["calls"]), (&hottest["instructions"], &hottest["calls"]));
        let part = lacks(&format!("profile {without} --function {name} --json")).json();
        assert_eq!(rows(&part, "functions").len(), 1);
        // Each function of `diff` is one of these, and the two are alike.
        let diff = lacks(&format!("diff {without} {without} --json")).json();
        let told: BTreeMap<_, _> = rows(&diff, "functions")
            .iter()
            .map(|row| (string(row, "function").to_owned(), row["instructions"][0].as_u64().unwrap()))
            .collect();
        let counts =
            ours.values().map(|row| (string(row, "function").to_owned(), number(row, "instructions")));
        assert_eq!(told, counts.collect());
        // Compilers know no such functions.
        for format in ["autofdo", "bolt", "fdata", "profgen", "bolt-simpleperf"] {
            let file = folder.join("out");
            run!("profile {without} --format {format} -o {file}").ends_within(0..=1);
            let written = fs::read_to_string(&file).unwrap_or_default();
            assert!(!written.contains("stripped+0x"), "{format}: {written}");
        }
    }
}

/// A real capture with dumps of code without symbols.
#[test]
fn dumps_have_functions() {
    let Some(all) = captures_for("functions of dumps", "") else { return };
    let path = all.join("coresight/bugfix-exact-match");
    let path = text(&path);
    let profile = run!("profile {path} --calls --json").ends(1).says("symbols are missing").json();
    let functions = rows(&profile, "functions");
    assert!(functions.len() > 100, "{}", functions.len());
    assert_eq!(sum(functions, "instructions"), number(&profile, "instructions"));
    let hottest = functions.iter().find(|row| !row["address"].is_null()).unwrap();
    let name = string(hottest, "function");
    assert!(name.contains(".bin+0x"), "{name}");
    let shown = run!("annotate {path} {name} --json").ends(0).json();
    let [shown] = rows(&shown, "functions") else { panic!("{shown}") };
    assert_eq!(shown["instructions"], hottest["instructions"]);
    let folded = run!("profile {path} --format folded").ends(1).out;
    let told =
        folded.lines().filter(|line| line.rsplit_once(' ').unwrap().0.rsplit(';').next() == Some(name));
    let told: u64 = told.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(told, number(hottest, "instructions"));
}
