//! `tracewright coverage`, beside tools that nobody here wrote: gcov (what ran), objdump (what could have run), genhtml (lcov's text),
//! and edges that another tool told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process::{expected_edges, images, loaded};
use crate::run::{
    Ran, address, assert_fits, elf, number, ran, recorded, root, rows, run, string, text, values,
};
use serde_json::{Value, json};
use tracewright_testkit::{Scratch, captures_for, has_programs, skip};

mod inlined;

/// Runs another program. It must end well.
fn other(folder: &Path, line: &str) -> Ran {
    let words: Vec<_> = line.split(' ').collect();
    ran(Command::new(words[0]).args(&words[1..]).current_dir(folder)).ends(0)
}

fn json(line: &str) -> Value {
    let ran = run!("coverage --json {line}");
    // Names are missing where most of what ran has none.
    let funnel = ran.json()["funnel"].clone();
    let lacks_names = 2 * number(&funnel, "in_function") < number(&funnel, "instructions");
    ran.ends(lacks_names.into()).json()
}

fn part(value: &Value, what: &str) -> (u64, u64) {
    (number(&value[what], "ran"), number(&value[what], "of"))
}

/// The functions of all files.
fn functions(of: &Value) -> impl Iterator<Item = &Value> + Clone {
    rows(of, "files").iter().flat_map(|file| rows(file, "functions_list"))
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
    let (sort, search) = (recorded(&folder, "sort", ""), recorded(&folder, "search", ""));
    let (info, html) = (folder.join("all.info"), folder.join("html"));
    for captures in [sort.clone(), format!("{sort} {search}")] {
        let ours = json(&captures);
        run!("coverage {captures} --format lcov -o {info} --force").ends(0);
        let printed = other(&root(), &format!("genhtml --branch-coverage -o {html} {info}")).out;
        for what in ["lines", "functions", "branches"] {
            let (ran, all) = part(&ours["source_files"], what);
            assert!(ran > 0 && ran < all, "{what}: {ran} of {all}");
            assert_eq!(totals(&printed, what), (ran, all), "{what} of {captures}: {printed}");
        }
        let sorted = fs::read_to_string(&info).unwrap();
        assert!(sorted.contains("SF:./programs/sort.c\n"), "{sorted}");
    }
}

/// What `genhtml` sums up says nothing of single numbers: those of the text must be those of the table.
#[test]
fn lcov_has_every_number() {
    let folder = Scratch::new("coverage");
    let sort = recorded(&folder, "sort", "");
    let info = run!("coverage {sort} --format lcov").good();
    let mut expected = Vec::new();
    for file in rows(&json(&sort), "files") {
        expected.push(format!("SF:{}", string(file, "file")));
        for function in rows(file, "functions_list") {
            let name = string(function, "function");
            expected.push(format!("FN:{},{name}", function["line"]));
            expected.push(format!("FNDA:{},{name}", function["calls"]));
        }
        for line in rows(file, "lines_list") {
            expected.push(format!("DA:{},{}", line["line"], line["count"]));
        }
        for branch in rows(file, "branches_list") {
            let (taken, not) = (number(branch, "taken"), number(branch, "not_taken"));
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
    let listing = other(folder, &format!("riscv64-linux-gnu-objdump -d -C {program}")).out;
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
    let addresses: String = all.iter().map(|(address, ..)| format!("{address:#x}\n")).collect();
    fs::write(folder.join("addresses"), addresses).unwrap();
    let told = other(folder, &format!("llvm-addr2line-19 -f -C -e {program} @addresses")).out;
    let lines: Vec<_> = told.lines().collect();
    let mut there: BTreeMap<(String, String), Code> = BTreeMap::new();
    for ((address, symbol, branches), told) in all.into_iter().zip(lines.chunks(2)) {
        // Without lines, it knows the file of some symbols.
        let known = told[1].rsplit_once(':').filter(|(_, line)| !["?", "0"].contains(line));
        let key = match known.map_or("??", |(file, _)| file) {
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
    let capture = recorded(&folder, "args", "");
    let program = root().join(elf("args")).canonicalize().unwrap();
    let there = code_of(text(&program), folder.path());
    let decoded = run!("decode {capture} --instructions --json").good();
    let mut ran: HashMap<u64, u64> = HashMap::new();
    for row in values(&decoded).filter(|row| row["kind"] == "instruction") {
        *ran.entry(address(&row, "address")).or_default() += 1;
    }
    let ours = json(&capture);
    let mut functions = BTreeSet::new();
    let mut branches = BTreeSet::new();
    for file in rows(&ours, "files") {
        let path = string(file, "file");
        for function in rows(file, "functions_list") {
            let name = string(function, "function");
            let of = if file["has_lines"] == true { path.rsplit('/').next().unwrap() } else { "" };
            let key = (name.to_owned(), of.to_owned());
            let (all, conditional) =
                there.get(&key).unwrap_or_else(|| panic!("{key:?} of {:?}", there.keys()));
            let hit = all.iter().filter(|address| ran.contains_key(address)).count();
            assert_eq!(part(function, "instructions"), (hit as u64, all.len() as u64), "{name}");
            assert_eq!(part(function, "branches").1, 2 * conditional.len() as u64, "{name}");
            functions.insert(key);
        }
        for branch in rows(file, "branches_list") {
            let address = address(branch, "address");
            let times = number(branch, "taken") + number(branch, "not_taken");
            assert_eq!(times, ran.get(&address).copied().unwrap_or(0), "{address:#x}");
            branches.insert(address);
        }
    }
    assert_eq!(functions, there.keys().cloned().collect());
    assert_eq!(branches, there.values().flat_map(|(_, conditional)| conditional.clone()).collect());
    assert_eq!(ours["instructions_executed"], ran.values().sum::<u64>());
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
    folder.write("app.c", source.as_bytes());
    other(folder.path(), "riscv64-linux-gnu-gcc -g -O1 -o app app.c");
    let capture = recorded(&folder, &folder.join("app"), "--root /usr/riscv64-linux-gnu");
    let ours = json(&capture);
    let stub = functions(&ours).find(|function| function["function"] == "puts@plt");
    assert_eq!(stub.map(|stub| (part(stub, "instructions").0, &stub["calls"])), Some((3, &1.into())));
    // What is of a known function in a profile is in the output here.
    let funnel = &ours["funnel"];
    assert_eq!(funnel["in_output"], funnel["in_function"], "{funnel}");
}

/// gcov counts with instructions that a compiler put into the program; we count the program without them. Two things differ, and no
/// more: gcov has no lines for the ends of functions, and no line table can tell two lines that share their first instruction apart.
#[test]
fn gcov_counts_the_same() {
    for arch in ["riscv64", "aarch64"] {
        let [compiler, gcov] = ["gcc", "gcov"].map(|tool| format!("{arch}-linux-gnu-{tool}"));
        let emulator = format!("qemu-{arch}");
        if !has_programs("gcov_counts_the_same", &[&compiler, &gcov, &emulator]) {
            continue;
        }
        let source = root().join("programs/qemu/cpu.c").canonicalize().unwrap();
        for what in ["text", "calls"] {
            let folder = Scratch::new("coverage");
            let (path, compiler) = (folder.path(), format!("{compiler} -g -O0 -static {}", text(&source)));
            other(path, &format!("{compiler} -o plain"));
            other(path, &format!("{compiler} --coverage -o counting"));
            other(path, &format!("{emulator} ./counting {what} 1"));
            let mut files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
            let counts = files.find(|path| path.extension().is_some_and(|it| it == "gcda")).unwrap();
            let told = other(path, &format!("{gcov} --json-format --stdout {}", text(&counts))).json();
            let (capture, plain) = (folder.join("capture"), folder.join("plain"));
            run!("record --qemu -o {capture} {plain} -- {what} 1").ends(0);
            let ours = json(&format!("{capture} --file cpu.c"));
            let source = fs::read_to_string(&source).unwrap();
            compare(&told["files"][0], &rows(&ours, "files")[0], &source, arch);
        }
    }
}

fn compare(told: &Value, ours: &Value, source: &str, arch: &str) {
    let source: Vec<_> = source.lines().collect();
    let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
    for line in rows(told, "lines") {
        *expected.entry(number(line, "line_number")).or_default() += number(line, "count");
    }
    let lines = rows(ours, "lines_list").iter();
    let mut found: BTreeMap<u64, u64> =
        lines.map(|line| (number(line, "line"), number(line, "count"))).collect();
    found.retain(|&line, _| expected.contains_key(&line) || source[line as usize - 1] != "}");
    // A leaf function without a prologue: its first line has no instruction of its own.
    let leaf = source.iter().position(|line| line.contains("next(void)")).unwrap() as u64 + 1;
    if arch == "aarch64" {
        assert!(!found.contains_key(&leaf));
        expected.remove(&leaf);
    }
    assert!(expected.values().any(|&count| count > 1000) && expected.values().any(|&count| count == 0));
    assert_eq!(found, expected, "{arch}");

    let calls = |rows: &[Value], name: &str, count: &str| -> BTreeMap<String, u64> {
        rows.iter().map(|row| (string(row, name).to_owned(), number(row, count))).collect()
    };
    let functions = calls(rows(told, "functions"), "name", "execution_count");
    assert_eq!(calls(rows(ours, "functions_list"), "function", "calls"), functions, "{arch}");
}

/// Another tool told 42 edges that a process took: from the start of a block to that of the next.
#[test]
fn the_expected_edges_are_covered() {
    let test = "the_expected_edges_are_covered";
    let Some(process) = captures_for(test, "process") else { return };
    let edges = expected_edges(&process);
    for name in ["branches_trace1", "branches_trace2"] {
        let capture = process.join(name);
        let base = loaded(&capture)[0].1;
        let capture = format!("{} {}", text(&capture), images(&process, &capture));
        let ours = json(&capture);
        let is_it = |file: &&Value| string(file, "file").ends_with("/branches");
        let file = rows(&ours, "files").iter().find(is_it).unwrap();
        let outcomes = rows(file, "branches_list").iter().map(|branch| {
            (address(branch, "address"), ["taken", "not_taken"].map(|outcome| number(branch, outcome)))
        });
        let outcomes: BTreeMap<_, _> = outcomes.collect();
        // Blocks one after another, and where each ends.
        let decoded = run!("decode --json {capture}").good();
        let (mut went, mut lasts, mut before) = (BTreeSet::new(), HashMap::new(), None);
        for row in values(&decoded).filter(|row| row["kind"] == "block") {
            let [start, end] = ["address", "end"].map(|at| address(&row, at).wrapping_sub(base));
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
    let capture = recorded(&folder, "args", "");
    let (ran, all) = part(&json(&capture)["source_files"], "lines");
    let percent = 100.0 * ran as f64 / all as f64;
    assert!(ran < all && ran > 0);
    for (least, status, option) in [
        (percent - 0.01, 0, "--min-lines"),
        (percent + 0.01, 3, "--min-lines"),
        (100.0, 3, "--min-branches"),
        (1.0, 0, "--min-functions"),
        (100.0, 3, "--min-functions"),
    ] {
        let ran = run!("coverage {capture} {option} {least}").ends(status);
        assert_eq!(ran.err.contains("is less than"), status == 3, "{}", ran.err);
    }
}

#[test]
fn tables_fit_the_screen_and_add_up() {
    let folder = Scratch::new("coverage");
    let capture = recorded(&folder, "search", "");
    for options in ["", "--missing", "--file search.c", "--function horspool"] {
        let table = run!("coverage {capture} {options}").good();
        assert_fits(&table);
        assert!(table.lines().count() > 3, "{options:?}: {table}");
    }
    let ours = json(&capture);
    for what in ["lines", "branches", "functions", "instructions"] {
        let sum = rows(&ours, "files").iter().map(|file| part(file, what));
        let sum = sum.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        assert_eq!(sum, part(&ours["all"], what), "{what}");
    }
    // What ran in each file is what ran.
    let in_output = |of: &Value| number(&of["funnel"], "in_output");
    let files = rows(&ours, "files").iter().map(|file| string(file, "file"));
    let parts: Vec<u64> = files.map(|file| in_output(&json(&format!("{capture} --file {file}")))).collect();
    assert!(parts.len() > 3 && parts.iter().sum::<u64>() == in_output(&ours), "{parts:?}");
}

/// The value of an attribute of an element.
fn attribute<'x>(element: &'x str, name: &str) -> &'x str {
    let start = element.find(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name}: {element}"));
    element[start + name.len() + 3..].split('"').next().unwrap()
}

/// Cobertura's XML has the elements and attributes that its DTD asks for, and the numbers of lcov's text.
#[test]
fn cobertura_has_the_numbers_of_lcov() {
    let folder = Scratch::new("coverage");
    let sort = recorded(&folder, "sort", "");
    let xml = run!("coverage {sort} --format cobertura").good();
    let ours = json(&sort);
    let mut open: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for element in xml.lines().filter(|line| line.starts_with('<') && !line.starts_with("<?")) {
        let name = element.trim_start_matches(['<', '/', '!']).split([' ', '>', '/']).next().unwrap();
        let inside = match name {
            "DOCTYPE" => continue,
            "coverage" => "",
            "sources" | "packages" => "coverage",
            "source" => "sources",
            "package" => "packages",
            "classes" => "package",
            "class" => "classes",
            "methods" => "class",
            "method" => "methods",
            "lines" => {
                if open.contains(&"method") {
                    "method"
                } else {
                    "class"
                }
            }
            "line" => "lines",
            "conditions" => "line",
            "condition" => "conditions",
            other => panic!("{other} is no element of Cobertura's"),
        };
        if element.starts_with("</") {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        assert_eq!(open.last().copied().unwrap_or_default(), inside, "{element}");
        let needed: &[&str] = match name {
            "coverage" => &[
                "line-rate",
                "branch-rate",
                "lines-covered",
                "lines-valid",
                "branches-covered",
                "branches-valid",
                "complexity",
                "version",
                "timestamp",
            ],
            "package" => &["name", "line-rate", "branch-rate", "complexity"],
            "class" => &["name", "filename", "line-rate", "branch-rate", "complexity"],
            "method" => &["name", "signature", "line-rate", "branch-rate", "complexity"],
            "line" => &["number", "hits"],
            "condition" => &["number", "type", "coverage"],
            _ => &[],
        };
        for name in needed {
            attribute(element, name);
        }
        if name == "line" && !open.contains(&"method") {
            lines.push(format!("DA:{},{}", attribute(element, "number"), attribute(element, "hits")));
        }
        if name == "coverage" {
            for (what, part_of) in [("lines", "lines"), ("branches", "branches")] {
                let (ran, all) = part(&ours["source_files"], part_of);
                assert_eq!(attribute(element, &format!("{what}-covered")), ran.to_string());
                assert_eq!(attribute(element, &format!("{what}-valid")), all.to_string());
            }
        }
        if !element.ends_with("/>") && !element.ends_with(&format!("</{name}>")) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let mut info: Vec<_> = run!("coverage {sort} --format lcov").good().lines().map(str::to_owned).collect();
    info.retain(|line| line.starts_with("DA:"));
    info.sort();
    lines.sort();
    assert_eq!(lines, info);
    let file = folder.join("coverage.xml");
    fs::write(&file, &xml).unwrap();
    let program = "import sys, pycobertura; c = pycobertura.Cobertura(sys.argv[1]); \
        print(c.total_statements(), c.total_hits())";
    let read = Command::new("python3").args(["-c", program, &file]).output();
    match read {
        Ok(read) if read.status.success() => {
            // It counts a line as missed if one of its branches only went one way.
            let is_partial = |line: &&str| {
                line.contains(" condition-coverage=\"")
                    && !line.contains("=\"100%")
                    && !line.contains(" hits=\"0\"")
            };
            let partial = xml.lines().filter(is_partial).count() as u64;
            let (ran, all) = part(&ours["source_files"], "lines");
            assert_eq!(String::from_utf8_lossy(&read.stdout).trim(), format!("{all} {}", ran - partial));
        }
        _ => skip("Cobertura by pycobertura", "no pycobertura (pip)"),
    }
}

/// LLVM's export has the sums of ours, and segments that give each line its count.
#[test]
fn llvm_json_has_the_numbers_of_lcov() {
    let folder = Scratch::new("coverage");
    let sort = recorded(&folder, "sort", "");
    let (theirs, ours) = (run!("coverage {sort} --format llvm-json").ends(0).json(), json(&sort));
    assert_eq!((&theirs["type"], &theirs["version"]), (&"llvm.coverage.json.export".into(), &"2.0.1".into()));
    let data = &theirs["data"][0];
    for what in ["lines", "functions", "branches"] {
        let (ran, all) = part(&ours["source_files"], what);
        let sum = &data["totals"][what];
        assert_eq!((number(sum, "covered"), number(sum, "count")), (ran, all), "{what}");
    }
    for file in rows(data, "files") {
        let known = rows(&ours, "files").iter().find(|known| known["file"] == file["filename"]).unwrap();
        let lines =
            rows(known, "lines_list").iter().map(|line| (number(line, "line"), number(line, "count")));
        let begins = rows(file, "segments").iter().filter(|segment| segment[4] == true);
        let begins = begins.map(|segment| (segment[0].as_u64().unwrap(), segment[2].as_u64().unwrap()));
        assert_eq!(begins.collect::<Vec<_>>(), lines.collect::<Vec<_>>());
    }
    assert!(rows(data, "functions").iter().any(|function| function["name"] == "insertion_sort"));
}

/// A program of which some code never runs, compiled for coverage and recorded: what LLVM's own tool exports of it has the same structure as
/// ours, and each line that has code the same count.
#[test]
fn llvm_cov_counts_the_same() {
    let test = "llvm_cov_counts_the_same";
    if !has_programs(test, &["clang-19", "ld.lld-19", "llvm-profdata-19", "llvm-cov-19"]) {
        return;
    }
    let folder = Scratch::new("coverage");
    let at = |name: &str| folder.join(name);
    let source = "\
static int divisor(int a, int b) {
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
static int never(int x) {
    return x + 1;
}
int main(int argc, char **argv) {
    int sum = 0;
    for (int i = 1; i <= 10; i++) {
        if (i % 3 == 0)
            sum += divisor(i, 12);
        else if (i > 20)
            sum += never(i);
        else
            sum -= 1;
    }
    switch (sum) {
    case 1:
        sum = 7;
        break;
    default:
        sum = 0;
    }
    return argc > 5 ? 1 : sum;
}
";
    folder.write("few.c", source.as_bytes());
    // What counts is a library of clang, which may not be here.
    let host = "-O0 -g -fprofile-instr-generate -fcoverage-mapping -o host few.c";
    let compiled = ran(Command::new("clang-19").args(host.split(' ')).current_dir(folder.path()));
    if compiled.err.contains("libclang_rt.profile") {
        return skip(test, "no libclang-rt-19-dev");
    }
    compiled.ends(0);
    ran(Command::new(at("host")).env("LLVM_PROFILE_FILE", at("raw"))).ends(0);
    let run = |line: &str| other(folder.path(), line).out;
    run("llvm-profdata-19 merge raw -o counts");
    let export = |form: &str| run(&format!("llvm-cov-19 export{form} host -instr-profile=counts"));
    let theirs: Value = serde_json::from_str(&export("")).unwrap();
    run("clang-19 --target=riscv64-linux-gnu -O0 -g -static -fuse-ld=lld -o few few.c");
    let capture = recorded(&folder, &at("few"), "");
    let ours = run!("coverage {capture} --file few.c --format llvm-json").ends(0).json();
    assert_eq!(keys(&ours), keys(&theirs));
    assert_eq!((&ours["type"], &ours["version"]), (&theirs["type"], &theirs["version"]));
    let lines = run!("coverage {capture} --file few.c --format lcov").ends(0).out;
    let theirs = export(" -format=lcov");
    let counts = |lcov: &str| -> BTreeMap<u64, u64> {
        let lines = lcov.lines().filter_map(|line| line.strip_prefix("DA:")?.split_once(','));
        lines.map(|(line, count)| (line.parse().unwrap(), count.parse().unwrap())).collect()
    };
    let (ours, theirs) = (counts(&lines), counts(&theirs));
    // Lines that only end something have no code.
    assert!(ours.len() > 20 && ours.len() <= theirs.len(), "{ours:?}");
    for (line, count) in ours {
        assert_eq!(theirs.get(&line), Some(&count), "line {line}");
    }
}

/// The names of all fields, with where they are.
fn keys(value: &Value) -> BTreeSet<String> {
    fn collect(value: &Value, path: &str, keys: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let path = format!("{path}.{name}");
                    collect(value, &path, keys);
                    keys.insert(path);
                }
            }
            Value::Array(values) => {
                values.iter().for_each(|value| collect(value, &format!("{path}[]"), keys));
            }
            _ => {}
        }
    }
    let mut keys = BTreeSet::new();
    collect(value, "", &mut keys);
    keys
}

/// Symbols that are missing elsewhere are not missing from what is asked for.
#[test]
fn names_outside_of_what_is_asked_for_do_not_count() {
    const TEST: &str = "names_outside_of_what_is_asked_for_do_not_count";
    if !has_programs(TEST, &["llvm-objcopy-19"]) {
        return;
    }
    let folder = Scratch::new("coverage-names");
    let sparse = folder.join("sparse");
    let mut objcopy = Command::new("llvm-objcopy-19");
    ran(objcopy
        .args(["--strip-debug", "--strip-symbol=insertion_sort", &elf("sort"), &sparse])
        .current_dir(root()))
    .ends(0);
    let run = recorded(&folder, &format!("{sparse} 300"), "");
    run!("coverage {run}").ends(1).says("symbols are missing");
    let json = run!("coverage {run} --function main --json").ends(0).json();
    assert_eq!(json["funnel"]["incomplete"], json!([]));
    run!("coverage {run} --file no-such --json").ends(1).says_not("symbols are missing");
}
