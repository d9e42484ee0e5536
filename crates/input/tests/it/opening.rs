//! Input files are opened in one place, `src/file.rs`, which rejects anything but plain files.

use std::fs;
use std::path::{Path, PathBuf};

/// Places that open files in another way, with the reason.
const ALLOWED: [(&str, &str, &str); 3] = [
    (
        "qemu/src/read/log.rs",
        "File::open(path)",
        "for tests and benchmarks: the command hands over an open file",
    ),
    ("engine/src/reader.rs", "File::open(path)", "the trace itself may be a pipe"),
    (
        "capture/src/log.rs",
        "File::open(path)",
        "a log that is traced may be a pipe; it is recognised by its first bytes",
    ),
];

const OPENING: [&str; 3] = ["File::open(", "fs::read(", "fs::read_to_string("];

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("tests") => {}
            true => sources(&path, all),
            false if path.extension().is_some_and(|extension| extension == "rs") => all.push(path),
            false => {}
        }
    }
}

#[test]
fn nothing_else_opens_input_files() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["input/src", "engine/src", "capture/src", "tracewright/src", "cli/src", "qemu/src/read"] {
        sources(&crates.join(folder), &mut files);
    }
    assert!(files.len() > 100, "{}", files.len());
    let mut found = Vec::new();
    for path in &files {
        let name = path.strip_prefix(crates).unwrap().to_str().unwrap();
        if name == "input/src/file.rs" || name.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| OPENING.iter().any(|opening| line.contains(opening))) {
            let is_allowed = |(file, what, _): &(&str, &str, &str)| *file == name && line.contains(what);
            if !ALLOWED.iter().any(is_allowed) {
                found.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert_eq!(found, [] as [String; 0], "use tracewright_input::file");
}
