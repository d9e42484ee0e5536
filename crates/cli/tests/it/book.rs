//! The README and the book say what is true: links lead somewhere, commands run and print what the page shows, and the
//! command reference is what `--help` prints.
//!
//! A block marked `sh` is run, in a folder of the page's own that has `samples` and `programs` in it. The next block, if it
//! is marked `text`, is its output, standard output first: all of it, or the lines that the mark names
//! (`text,lines=1-4+9-12`; lines `...` stand for the others). `sh,status=1` expects another exit status than 0, `sh,needs=PROGRAM` is run only where the program is
//! installed, and `sh,needs-file` is never run: it needs a file that the reader has. `BLESS=1` rewrites outputs and reference.

pub mod json;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::run::{root, run};
use crate::shell::verbs;
use tracewright_testkit::{Scratch, skip};

/// Documents outside the book. Their links may lead anywhere in the repository.
const DOCUMENTS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "bench/RESULTS.md", "docs/validation.md"];
const BOOK: &str = "book/src";
const COMMANDS: &str = "reference/commands.md";

/// Returns the files of the book, relative to it, `SUMMARY.md` included.
fn pages() -> BTreeSet<PathBuf> {
    let book = root().join(BOOK);
    let mut folders = vec![book.clone()];
    let mut pages = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.insert(path.strip_prefix(&book).unwrap().to_owned());
            }
        }
    }
    pages
}

/// Returns all documents and pages, relative to the repository's root.
fn documents() -> Vec<PathBuf> {
    let pages = pages().into_iter().map(|page| Path::new(BOOK).join(page));
    DOCUMENTS.iter().map(PathBuf::from).chain(pages).collect()
}

/// A fenced block.
struct Block {
    /// What stands behind the backticks.
    mark: String,
    /// The number of the line after the opening fence, counted from 0.
    line: usize,
    text: Vec<String>,
}

/// Splits a page into its fenced blocks and the lines outside of them, with their numbers.
fn split(text: &str) -> (Vec<Block>, Vec<(usize, String)>) {
    let (mut blocks, mut prose) = (Vec::new(), Vec::new());
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(mark), None) => {
                open = Some(Block { mark: mark.into(), line: number + 1, text: Vec::new() });
            }
            (None, Some(block)) => block.text.push(line.into()),
            (None, None) => prose.push((number, line.into())),
        }
    }
    assert!(open.is_none(), "a block is not closed:\n{text}");
    (blocks, prose)
}

/// Returns a line's inline code, and the line without it.
fn code_and_rest(line: &str) -> (Vec<&str>, String) {
    let parts = line.split('`');
    let code = parts.clone().skip(1).step_by(2).collect();
    (code, parts.step_by(2).collect())
}

/// Returns the anchors of a page, as mdBook and GitHub make them of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let (_, prose) = split(text);
    let mut anchors: BTreeSet<String> = BTreeSet::new();
    for heading in prose.iter().filter_map(|(_, line)| {
        line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
    }) {
        let slug = |c: char| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c => c.is_alphanumeric().then(|| c.to_ascii_lowercase()),
        };
        let anchor: String = heading.chars().filter_map(slug).collect();
        let mut names = std::iter::once(anchor.clone()).chain((1..).map(|n| format!("{anchor}-{n}")));
        anchors.extend(names.find(|name| !anchors.contains(name)));
    }
    anchors
}

#[test]
fn links_lead_somewhere() {
    let root = root().canonicalize().unwrap();
    let mut wrong = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(root.join(&document)).unwrap();
        let is_page = document.starts_with(BOOK);
        for (number, line) in split(&text).1 {
            let (code, rest) = code_and_rest(&line);
            let mut complain =
                |what: &str| wrong.push(format!("{}:{}: {what}", document.display(), number + 1));
            for link in
                rest.split("](").skip(1).filter_map(|after| after.split_once(')')).map(|(link, _)| link)
            {
                if link.starts_with("https://") {
                    continue;
                }
                let (path, anchor) =
                    link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
                let target = match path {
                    "" => root.join(&document),
                    path => root.join(&document).parent().unwrap().join(path),
                };
                let Ok(target) = target.canonicalize() else {
                    complain(&format!("{link}: no such file"));
                    continue;
                };
                if is_page && !target.starts_with(root.join(BOOK)) {
                    complain(&format!("{link} leads out of the book: name the file in backticks instead"));
                }
                if let Some(anchor) = anchor
                    && !anchors(&fs::read_to_string(&target).unwrap()).contains(anchor)
                {
                    complain(&format!("{link}: no such heading"));
                }
            }
            for path in code.into_iter().filter(|code| is_path(code)) {
                if !root.join(path).exists() {
                    complain(&format!("{path}: no such file in the repository"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether inline code names a file of the repository.
fn is_path(code: &str) -> bool {
    let folders = ["bench/", "book/", "crates/", "docs/", "fuzz/", "programs/", "samples/", "tests/"];
    folders.iter().any(|folder| code.starts_with(folder)) && !code.contains([' ', '*', ':'])
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = fs::read_to_string(root().join(BOOK).join("SUMMARY.md")).unwrap();
    let linked: BTreeSet<PathBuf> =
        summary.split("](").skip(1).filter_map(|after| Some(after.split_once(')')?.0.into())).collect();
    let mut pages = pages();
    pages.remove(Path::new("SUMMARY.md"));
    assert_eq!(linked, pages);
}

#[test]
fn the_readme_is_short() {
    for (document, most) in [("README.md", 150), ("ARCHITECTURE.md", 250)] {
        let lines = fs::read_to_string(root().join(document)).unwrap().lines().count();
        assert!(lines <= most, "{document} has {lines} lines, and {most} are the limit");
    }
}

fn is_blessed() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Compares a file with what it should be, or writes it.
fn compare(path: &Path, expected: &str) -> Result<(), String> {
    let found = fs::read_to_string(path).unwrap_or_default();
    if found == expected {
        return Ok(());
    }
    if is_blessed() {
        fs::write(path, expected).unwrap();
        return Ok(());
    }
    let same = found.lines().zip(expected.lines()).take_while(|(found, expected)| found == expected).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
    let (number, found, expected) = (same, line(&found), line(expected));
    Err(format!("{}:{}: is\n{found}\nshould be (BLESS=1 writes it)\n{expected}", path.display(), number + 1))
}

#[test]
fn the_command_reference_is_what_help_prints() {
    let all = run!("help").out;
    let mut page =
        String::from("# Commands\n\nThis page is what `tracewright help VERB` prints; a test keeps it so.\n");
    let _ = write!(page, "\n## tracewright\n\n```text\n{}\n```\n", all.trim_end());
    for verb in verbs() {
        let _ = write!(page, "\n## {verb}\n\n```text\n{}\n```\n", run!("help {verb}").out.trim_end());
    }
    if let Err(why) = compare(&root().join(BOOK).join(COMMANDS), &page) {
        panic!("{why}");
    }
}

#[test]
fn the_table_of_options_is_that_of_the_source() {
    let page = run!("options").out;
    // Two meanings are two rows.
    let names = page.lines().filter_map(|line| line.split_once("--")?.1.split([' ', '`']).next());
    let mut seen = BTreeSet::new();
    let twice: Vec<_> = names.filter(|name| !seen.insert(*name)).collect();
    assert!(twice.is_empty(), "options with two meanings, in help or value: {twice:?}");
    if let Err(why) = compare(&root().join(BOOK).join("reference/options.md"), &page) {
        panic!("{why}");
    }
}

/// The picture of the README and of the chapter on stalls is the one that the commands beside it draw.
#[test]
fn the_picture_is_what_stalls_draws() {
    let place = Place::new(Path::new("picture"));
    let record = "tracewright record -q --protocol etrace --timing rocket_like --delta -o misses programs/bin/misses.elf";
    let (code, printed) =
        place.run(&format!("{record}\ntracewright stalls misses --top 3 --timeline misses.svg"));
    assert_eq!(code, Some(0), "{printed}");
    let drawn = fs::read_to_string(place.0.join("misses.svg")).unwrap();
    if let Err(why) = compare(&root().join(BOOK).join("stalls-timeline.svg"), &drawn) {
        panic!("{why}");
    }
}

/// A folder in which a page's commands run.
struct Place(Scratch);

impl Place {
    fn new(page: &Path) -> Self {
        let name = page.to_string_lossy().replace(['/', '.'], "-");
        let folder = Scratch::new(&format!("book-{name}"));
        let mut copy = Command::new("cp");
        copy.arg("-r").args(["samples", "programs"].map(|name| root().join(name))).arg(folder.path());
        assert!(copy.status().unwrap().success());
        fs::create_dir(folder.join("bin")).unwrap();
        // What `cargo run --release --` runs is built already.
        let cargo = "#!/bin/sh\n[ \"$1\" != run ] || { shift 3; exec tracewright \"$@\"; }\n";
        let tracewright = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_tracewright"));
        for (name, script) in [("cargo", cargo), ("tracewright", &tracewright)] {
            // An executable file.
            folder.write(format!("bin/{name}"), script.as_bytes());
        }
        Self(folder)
    }

    /// Runs a script. Returns its exit status, and what it wrote to standard output and after that to standard error.
    fn run(&self, script: &str) -> (Option<i32>, String) {
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("sh")
            .args(["-e", "-c", script])
            .current_dir(self.0.path())
            .env("PATH", format!("{}:{path}", self.0.join("bin")))
            .output()
            .unwrap();
        // What is said after a reader closed the pipe depends on who was faster.
        let said = if script.contains("| head") { Vec::new() } else { output.stderr };
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, said].concat()).into_owned())
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// The lines of an output that a mark names: `text,lines=1-4+9-12`.
fn chosen(output: &str, mark: &str) -> Vec<String> {
    let lines: Vec<String> = output.lines().map(str::to_owned).collect();
    let Some(ranges) = mark.strip_prefix("text,lines=") else { return lines };
    let (mut chosen, mut next): (Vec<String>, _) = (Vec::new(), 1);
    for range in ranges.split('+') {
        let (from, to) = range.split_once('-').unwrap_or_else(|| panic!("{mark}: lines are FROM-TO"));
        let [from, to]: [usize; 2] = [from, to].map(|number| number.parse().unwrap());
        assert!(from <= to && to <= lines.len(), "{mark}: there are {} lines:\n{output}", lines.len());
        chosen.extend((from > next).then(|| "...".into()));
        chosen.extend_from_slice(&lines[from - 1..to]);
        next = to + 1;
    }
    chosen.extend((next <= lines.len()).then(|| "...".into()));
    chosen
}

/// A line without what differs from run to run: how long something took.
fn stable(line: &str) -> &str {
    if line.ends_with(" million instructions/s") { line.split("; ").next().unwrap_or_default() } else { line }
}

/// Runs the commands of a page. Returns it as it should be.
fn run(page: &Path, text: &str) -> Result<String, String> {
    let place = Place::new(page);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut output = None;
    // From the end, replacing lines leaves the numbers of those before as they are.
    let mut replaced = BTreeMap::new();
    for block in split(text).0 {
        let at = format!("{}:{}", page.display(), block.line);
        let mut marks = block.mark.split(',');
        match marks.next() {
            Some("sh") => {
                let marks: Vec<_> = marks.collect();
                output = None;
                if marks.contains(&"needs-file") {
                    continue;
                }
                let mut needs = marks.iter().filter_map(|mark| mark.strip_prefix("needs="));
                if let Some(program) = needs.find(|program| !is_installed(program)) {
                    skip(&format!("commands at {at}"), &format!("no {program} (./test installs it)"));
                    continue;
                }
                let status = marks
                    .iter()
                    .find_map(|mark| mark.strip_prefix("status="))
                    .map_or(0, |n| n.parse().unwrap());
                let script = block.text.join("\n");
                let (code, printed) = place.run(&script);
                if code != Some(status) {
                    return Err(format!("{at}: exit status {code:?}\n{script}\n{printed}"));
                }
                output = Some(printed);
            }
            Some("text") => {
                if let Some(output) = output.take() {
                    let new = chosen(&output, &block.mark);
                    let is_same = new.len() == block.text.len()
                        && new.iter().zip(&block.text).all(|(new, old)| stable(new) == stable(old));
                    if !is_same {
                        replaced.insert(block.line, (block.text.len(), new));
                    }
                }
            }
            Some("" | "console" | "csv" | "json" | "rust" | "toml" | "c") => {}
            other => return Err(format!("{at}: {other:?} is no mark")),
        }
    }
    for (line, (len, new)) in replaced.into_iter().rev() {
        lines.splice(line..line + len, new);
    }
    Ok(lines.join("\n") + "\n")
}

#[test]
fn commands_print_what_the_page_shows() {
    let pages: Vec<_> = documents().into_iter().filter(|page| !page.ends_with(COMMANDS)).collect();
    let (queue, wrong) = (Mutex::new(pages.iter()), Mutex::new(Vec::new()));
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(page) = queue.lock().unwrap().next() else { break };
                    let path = root().join(page);
                    let text = fs::read_to_string(&path).unwrap();
                    let compared = run(page, &text).and_then(|expected| compare(&path, &expected));
                    wrong.lock().unwrap().extend(compared.err());
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
