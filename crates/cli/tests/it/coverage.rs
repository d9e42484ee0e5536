//! `tracewright coverage`, beside tools that nobody here wrote: gcov (what ran), objdump (what could have run), genhtml (lcov's text),
//! and edges that another tool told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::run::{self, ends, good, recorded, root, text, values};
use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for, has_programs, skip};

mod inlined;

/// Runs a program. It must end well.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Output {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {}: {errors}", output.status);
    output
}

fn json(arguments: &[&str]) -> Value {
    run::json(&[&["coverage", "--json"], arguments].concat())
}

fn part(value: &Value, what: &str) -> (u64, u64) {
    (value[what]["ran"].as_u64().unwrap(), value[what]["of"].as_u64().unwrap())
}

fn rows<'a>(value: &'a Value, list: &str) -> &'a [Value] {
    value[list].as_array().unwrap()
}

fn hex(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

/// The totals that genhtml prints: `lines......: 91.8% (146 of 159 lines)`.
fn totals(printed: &str, what: &str) -> (u64, u64) {
    let line = printed.lines().find(|line| line.trim_start().starts_with(what));
    let line = line.unwrap_or_else(|| panic!("no {what}: {printed}"));
    let (_, numbers) = line.split_once('(').unwrap();
    let mut numbers = numbers.split_whitespace().filter_map(|word| word.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn genhtml_counts_the_same() {
    if !has_programs("genhtml_counts_the_same", &["genhtml"]) {
        return;
    }
    let folder = Scratch::new("coverage");
    let (sort, search) = (recorded(&folder, "sort", &[]), recorded(&folder, "search", &[]));
    for captures in [&[text(&sort)][..], &[text(&sort), text(&search)]] {
        let info = folder.path().join("all.info");
        let ours = json(&[captures, &["--lcov", text(&info)]].concat());
        let html = folder.path().join("html");
        let arguments = ["--branch-coverage", "-o", text(&html), text(&info)];
        let printed = run("genhtml", &arguments, &root());
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        for what in ["lines", "functions", "branches"] {
            let (ran, all) = part(&ours["sources"], what);
            assert!(ran > 0 && ran < all, "{what}: {ran} of {all}");
            assert_eq!(totals(&printed, what), (ran, all), "{what} of {captures:?}: {printed}");
        }
        let sorted = fs::read_to_string(&info).unwrap();
        assert!(sorted.contains("SF:./programs/sort.c\n"), "{sorted}");
    }
}

/// What `genhtml` sums up says nothing of single numbers: those of the text must be those of the table.
#[test]
fn lcov_has_every_number() {
    let folder = Scratch::new("coverage");
    let sort = recorded(&folder, "sort", &[]);
    let ours = json(&[text(&sort)]);
    let info = good(&["coverage", text(&sort), "--lcov", "-"]);
    let mut expected = Vec::new();
    for file in rows(&ours, "files") {
        expected.push(format!("SF:{}", file["file"].as_str().unwrap()));
        for function in rows(file, "functions_list") {
            let name = function["name"].as_str().unwrap();
            expected.push(format!("FN:{},{name}", function["line"]));
            expected.push(format!("FNDA:{},{name}", function["calls"]));
        }
        for line in rows(file, "lines_list") {
            expected.push(format!("DA:{},{}", line["line"], line["count"]));
        }
        for branch in rows(file, "branches_list") {
            let (taken, not) = (branch["taken"].as_u64().unwrap(), branch["not_taken"].as_u64().unwrap());
            for (outcome, count) in [(0, taken), (1, not)] {
                let count = if taken + not == 0 { "-".into() } else { count.to_string() };
                expected.push(format!("BRDA:{},*,{outcome},{count}", branch["line"]));
            }
        }
    }
    let told = info.lines().filter_map(|line| {
        let (kind, rest) = line.split_once(':')?;
        match kind {
            "BRDA" => {
                let fields: Vec<_> = rest.split(',').collect();
                Some(format!("BRDA:{},*,{},{}", fields[0], fields[2], fields[3]))
            }
            "SF" | "FN" | "FNDA" | "DA" => Some(line.to_owned()),
            _ => None,
        }
    });
    let mut told: Vec<_> = told.collect();
    assert!(told.len() > 300, "{}", told.len());
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
}

/// Instructions of a function, and its conditional branches.
type Code = (BTreeSet<u64>, BTreeSet<u64>);

/// All code of a program: objdump says which instructions there are, and which branch on a condition; LLVM's addr2line (that of
/// binutils 2.40 mistakes files of DWARF 5), which file and function of the source each is of. What has no source is of its symbol.
fn code_of(program: &str, folder: &Path) -> BTreeMap<(String, String), Code> {
    let listing = run("riscv64-linux-gnu-objdump", &["-d", "-C", program], folder);
    let listing = String::from_utf8(listing.stdout).unwrap();
    let mut symbol = "";
    let mut all = Vec::new();
    for line in listing.lines() {
        if let Some((_, name)) = line.split_once(" <").filter(|_| line.ends_with(">:")) {
            symbol = name.strip_suffix(">:").unwrap();
        }
        let fields: Vec<_> = line.trim().split('\t').collect();
        if let Some(address) = fields[0].strip_suffix(':').and_then(|it| u64::from_str_radix(it, 16).ok()) {
            all.push((address, symbol, fields.get(2).is_some_and(|name| name.starts_with('b'))));
        }
    }
    let addresses = folder.join("addresses");
    fs::write(&addresses, all.iter().map(|(address, ..)| format!("{address:#x}\n")).collect::<String>())
        .unwrap();
    let arguments = ["-f", "-C", "-e", program, &format!("@{}", text(&addresses))];
    let told = run("llvm-addr2line-19", &arguments, folder);
    let told = String::from_utf8(told.stdout).unwrap();
    let lines: Vec<_> = told.lines().collect();
    let mut there: BTreeMap<(String, String), Code> = BTreeMap::new();
    for ((address, symbol, branches), told) in all.into_iter().zip(lines.chunks(2)) {
        // Without lines, it knows the file of some symbols.
        let known = told[1].rsplit_once(':').filter(|(_, line)| !["?", "0"].contains(line));
        let file = known.map_or("??", |(file, _)| file);
        let key = match file {
            "??" => (symbol.to_owned(), String::new()),
            file => (told[0].to_owned(), file.rsplit('/').next().unwrap().to_owned()),
        };
        let of = there.entry(key).or_default();
        of.0.insert(address);
        if branches {
            of.1.insert(address);
        }
    }
    there
}

/// All code of a program in C is counted, once, for the functions that the source tells; a listing of all that was decoded says what ran.
#[test]
fn all_code_is_counted() {
    if !has_programs("all_code_is_counted", &["riscv64-linux-gnu-objdump", "llvm-addr2line-19"]) {
        return;
    }
    let folder = Scratch::new("coverage");
    let capture = recorded(&folder, "args", &[]);
    let program = root().join("programs/bin/args.elf").canonicalize().unwrap();
    let there = code_of(text(&program), folder.path());
    let decoded = good(&["decode", text(&capture), "--instructions", "--json"]);
    let mut ran: HashMap<u64, u64> = HashMap::new();
    for row in values(&decoded).filter(|row| row["kind"] == "instruction") {
        *ran.entry(hex(&row["pc"])).or_default() += 1;
    }
    let ours = json(&[text(&capture)]);
    let mut functions = BTreeSet::new();
    let mut branches = BTreeSet::new();
    for file in rows(&ours, "files") {
        let path = file["file"].as_str().unwrap();
        for function in rows(file, "functions_list") {
            let name = function["name"].as_str().unwrap();
            let of = if file["source"] == true { path.rsplit('/').next().unwrap() } else { "" };
            let key = (name.to_owned(), of.to_owned());
            let (all, conditional) =
                there.get(&key).unwrap_or_else(|| panic!("{key:?} of {:?}", there.keys()));
            let hit = all.iter().filter(|address| ran.contains_key(address)).count();
            assert_eq!(part(function, "instructions"), (hit as u64, all.len() as u64), "{name}");
            assert_eq!(part(function, "branches").1, 2 * conditional.len() as u64, "{name}");
            functions.insert(key);
        }
        for branch in rows(file, "branches_list") {
            let address = hex(&branch["address"]);
            let times = branch["taken"].as_u64().unwrap() + branch["not_taken"].as_u64().unwrap();
            assert_eq!(times, ran.get(&address).copied().unwrap_or(0), "{address:#x}");
            branches.insert(address);
        }
    }
    assert_eq!(functions, there.keys().cloned().collect());
    assert_eq!(branches, there.values().flat_map(|(_, conditional)| conditional.clone()).collect());
    let executed: u64 = ran.values().sum();
    assert_eq!(ours["instructions_executed"], executed);
    assert_eq!(ours["instructions_executed_outside"], 0);
}

/// Stubs through which functions of libraries are called have names, for coverage as for profiles.
#[test]
fn stubs_are_functions() {
    let libraries = Path::new("/usr/riscv64-linux-gnu/lib/ld-linux-riscv64-lp64d.so.1");
    if !libraries.exists() {
        return skip("stubs_are_functions", "no libc for riscv64");
    }
    if !has_programs("stubs_are_functions", &["riscv64-linux-gnu-gcc"]) {
        return;
    }
    let folder = Scratch::new("coverage");
    let source = "#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n";
    fs::write(folder.path().join("app.c"), source).unwrap();
    run("riscv64-linux-gnu-gcc", &["-g", "-O1", "-o", "app", "app.c"], folder.path());
    let (app, capture) = (folder.path().join("app"), folder.path().join("run"));
    let root = ["--root", "/usr/riscv64-linux-gnu", "-o", text(&capture), text(&app)];
    good(&[&["record", "-q", "--protocol", "etrace"][..], &root].concat());
    let ours = json(&[text(&capture)]);
    let functions = rows(&ours, "files").iter().flat_map(|file| rows(file, "functions_list"));
    let stub = functions.clone().find(|function| function["name"] == "puts@plt");
    assert_eq!(stub.map(|stub| (part(stub, "instructions").0, &stub["calls"])), Some((3, &1.into())));
    // What is of a known function in a profile is in the output here.
    let funnel = &ours["funnel"];
    assert_eq!(funnel["in_output"], funnel["in_function"], "{funnel}");
}

/// gcov counts with instructions that a compiler put into the program; we count the program without them. Two things differ, and no
/// more: gcov has no lines for the ends of functions, and no line table can tell two lines that share their first instruction apart.
#[test]
fn gcov_counts_the_same() {
    for (arch, amounts) in [("riscv64", ["text", "calls"]), ("aarch64", ["text", "calls"])] {
        let [compiler, gcov] = ["gcc", "gcov"].map(|tool| format!("{arch}-linux-gnu-{tool}"));
        let emulator = format!("qemu-{arch}");
        if !has_programs("gcov_counts_the_same", &[&compiler, &gcov, &emulator]) {
            continue;
        }
        let source = root().join("programs/qemu/cpu.c").canonicalize().unwrap();
        for what in amounts {
            let folder = Scratch::new("coverage");
            let path = folder.path();
            run(&compiler, &["-g", "-O0", "-static", text(&source), "-o", "plain"], path);
            run(&compiler, &["-g", "-O0", "-static", "--coverage", text(&source), "-o", "counting"], path);
            run(&emulator, &["./counting", what, "1"], path);
            let counts = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
            let counts = counts.filter(|path| path.extension().is_some_and(|it| it == "gcda"));
            let counts: Vec<_> = counts.collect();
            let told = run(&gcov, &["--json-format", "--stdout", text(&counts[0])], path);
            let told: Value = serde_json::from_slice(&told.stdout).unwrap();
            let told = &told["files"][0];
            let capture = path.join("capture");
            let plain = path.join("plain");
            good(&["record", "--qemu", "-o", text(&capture), text(&plain), "--", what, "1"]);
            let ours = json(&[text(&capture), "--file", "cpu.c"]);
            compare(told, &rows(&ours, "files")[0], &fs::read_to_string(&source).unwrap(), arch);
        }
    }
}

fn compare(told: &Value, ours: &Value, source: &str, arch: &str) {
    let source: Vec<_> = source.lines().collect();
    let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
    for line in rows(told, "lines") {
        *expected.entry(line["line_number"].as_u64().unwrap()).or_default() +=
            line["count"].as_u64().unwrap();
    }
    let lines = rows(ours, "lines_list").iter();
    let mut found: BTreeMap<u64, u64> =
        lines.map(|line| (line["line"].as_u64().unwrap(), line["count"].as_u64().unwrap())).collect();
    found.retain(|&line, _| expected.contains_key(&line) || source[line as usize - 1] != "}");
    // A leaf function without a prologue: its first line has no instruction of its own.
    let leaf = source.iter().position(|line| line.contains("next(void)")).unwrap() as u64 + 1;
    if arch == "aarch64" {
        assert!(!found.contains_key(&leaf));
        expected.remove(&leaf);
    }
    assert!(expected.values().any(|&count| count > 1000) && expected.values().any(|&count| count == 0));
    assert_eq!(found, expected, "{arch}");

    let calls = |rows: &[Value], count: &str| -> BTreeMap<String, u64> {
        let rows = rows.iter();
        rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row[count].as_u64().unwrap())).collect()
    };
    let functions = calls(rows(told, "functions"), "execution_count");
    assert_eq!(calls(rows(ours, "functions_list"), "calls"), functions, "{arch}");
}

/// Another tool told 42 edges that a process took: from the start of a block to that of the next.
#[test]
fn the_expected_edges_are_covered() {
    let test = "the_expected_edges_are_covered";
    let Some(captures) = captures_for(test, "") else { return };
    let process = captures.join("process");
    let told = fs::read_to_string(process.join("elf/expected_edge_coverage.out")).unwrap();
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let edges = told.lines().map(|line| {
        let (from, to) = line.split_once(" -> ").unwrap();
        [from, to].map(|end| number(end.strip_suffix(" [0]").unwrap()))
    });
    let edges: Vec<_> = edges.collect();
    assert_eq!(edges.len(), 42);
    for name in ["branches_trace1", "branches_trace2"] {
        let capture = process.join(name);
        let loaded = fs::read_to_string(capture.join("load_addresses.txt")).unwrap();
        let words: Vec<_> = loaded.split_whitespace().skip(3).collect();
        let mut options = Vec::new();
        for image in words.chunks(3) {
            options.push("--image".to_owned());
            options.push(format!("{}@{}", process.join("elf").join(image[0]).display(), image[1]));
        }
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let ours = json(&[&[text(&capture)], &options[..]].concat());
        let is_it = |file: &&Value| file["file"].as_str().unwrap().ends_with("/branches");
        let file = rows(&ours, "files").iter().find(is_it).unwrap();
        let outcomes = rows(file, "branches_list").iter().map(|branch| {
            (hex(&branch["address"]), [&branch["taken"], &branch["not_taken"]].map(|it| it.as_u64().unwrap()))
        });
        let outcomes: BTreeMap<_, _> = outcomes.collect();
        // Blocks one after another, and where each ends.
        let base = number(words[1]);
        let decoded = good(&[&["decode", text(&capture), "--json"], &options[..]].concat());
        let (mut went, mut lasts, mut before) = (BTreeSet::new(), HashMap::new(), None);
        for row in values(&decoded) {
            if row["kind"] != "block" {
                continue;
            }
            let [start, end] = ["start", "end"].map(|at| hex(&row[at]).wrapping_sub(base));
            before.replace(start).map(|before| went.insert([before, start]));
            lasts.insert(start, end.wrapping_sub(4));
        }
        let mut conditional = 0;
        for [from, to] in &edges {
            assert!(went.contains(&[*from, *to]), "{name}: {from:#x} -> {to:#x}");
            let last = &lasts[from];
            let is_next = last + 4 == *to;
            if let Some(outcome) = outcomes.get(last) {
                conditional += 1;
                assert!(outcome[usize::from(is_next)] > 0, "{name}: {from:#x} -> {to:#x}: {outcome:?}");
            }
        }
        assert!(conditional > 10, "{name}: {conditional}");
    }
}

#[test]
fn minimums_are_kept() {
    let folder = Scratch::new("coverage");
    let capture = recorded(&folder, "args", &[]);
    let (ran, all) = part(&json(&[text(&capture)])["sources"], "lines");
    let percent = 100.0 * ran as f64 / all as f64;
    assert!(ran < all && ran > 0);
    for (least, status, option) in [
        (percent - 0.01, 0, "--min-lines"),
        (percent + 0.01, 3, "--min-lines"),
        (100.0, 3, "--min-branches"),
        (1.0, 0, "--min-functions"),
    ] {
        let (_, errors) = ends(status, &["coverage", text(&capture), option, &least.to_string()]);
        assert_eq!(errors.contains("is less than"), status == 3, "{errors}");
    }
}

#[test]
fn tables_fit_the_screen_and_add_up() {
    let folder = Scratch::new("coverage");
    let capture = recorded(&folder, "search", &[]);
    for options in [&[][..], &["--missing"], &["--file", "search.c"], &["--function", "horspool"]] {
        let table = good(&[&["coverage", text(&capture)], options].concat());
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{widest}: {table}");
        assert!(table.lines().count() > 3, "{options:?}: {table}");
    }
    let ours = json(&[text(&capture)]);
    for what in ["lines", "branches", "functions", "instructions"] {
        let sum = rows(&ours, "files").iter().map(|file| part(file, what));
        let sum = sum.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        assert_eq!(sum, part(&ours["all"], what), "{what}");
    }
    // What ran in each file is what ran.
    let in_output = |of: &Value| of["funnel"]["in_output"].as_u64().unwrap();
    let files = rows(&ours, "files").iter().map(|file| file["file"].as_str().unwrap());
    let parts: Vec<u64> = files.map(|file| in_output(&json(&[text(&capture), "--file", file]))).collect();
    assert!(parts.len() > 3 && parts.iter().sum::<u64>() == in_output(&ours), "{parts:?}");
}
