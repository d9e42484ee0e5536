//! `mappings.toml`: mapped files give symbols. Faults are reported, and the capture is read without it.

use crate::elf;

use std::fs;

use crate::support::{Folder, listed};
use tracewright_core::MemorySpace;
use tracewright_input::Capture;

const CODE: [u8; 16] = [0x1f; 16];

/// Returns the snapshot of 16 bytes at 0x1000 with a program that was mapped there.
fn folder(build_id: Option<&str>) -> Folder {
    let symbols = vec![elf::symbol("main", 0x5000, 16, 0x12, 1)];
    let mut program = elf::program(0x5000, CODE.to_vec(), symbols);
    program.kind = elf::ET_DYN;
    let program = program.write();
    let offset = program.windows(16).position(|window| window == CODE).unwrap();
    let id = build_id.map_or(String::new(), |id| format!("build_id = \"{id}\"\n"));
    let mappings = format!(
        "format = 1\n[[process]]\npid = 1\ncommand = \"x\"\n\
         [[process.mapping]]\nstart = 0x1000\nend = 0x1010\noffset = {offset}\npath = \"x.elf\"\n{id}"
    );
    Folder::snapshot().with("x.elf", program).with("mappings.toml", mappings)
}

fn symbol(capture: &Capture) -> Option<String> {
    let (image, _) = capture.image(&[]);
    image.symbols().symbol(0x1004, MemorySpace::ANY).map(|symbol| symbol.name.to_string())
}

/// Returns the problems with the program.
fn problems(folder: &Folder) -> Vec<String> {
    let capture = Capture::open(folder.path()).unwrap();
    listed(&capture.image(&[]).1, folder.path())
}

#[test]
fn files_that_were_mapped_give_symbols() {
    let folder = folder(None);
    let capture = Capture::open(folder.path()).unwrap();
    assert_eq!(symbol(&capture).as_deref(), Some("main"));
    assert_eq!(problems(&folder), [""; 0]);
    // The bytes come from the memory dump.
    let mut bytes = [1; 4];
    capture.image(&[]).0.read_into(0x1000, MemorySpace::ANY, &mut bytes);
    assert_eq!(bytes, [0; 4]);
}

/// Names code without symbols after the file that was mapped there, whether the file still exists or not.
#[test]
fn memory_dumps_know_their_file() {
    let folder = folder(None);
    fs::remove_file(folder.path().join("x.elf")).unwrap();
    let mapped = |mappings: &[(u64, u64, u64, &str)]| {
        let mut text = String::from("format = 1\n");
        for (start, end, offset, path) in mappings {
            text += &format!(
                "[[process]]\npid = 1\n[[process.mapping]]\nstart = {start}\nend = {end}\noffset = {offset}\n{path}\n"
            );
        }
        fs::write(folder.path().join("mappings.toml"), text).unwrap();
        let (image, _) = Capture::open(folder.path()).unwrap().image(&[]);
        let region = image.region(0x1004, MemorySpace::ANY).unwrap();
        region.mapped().map(|(file, offset)| (file.to_owned(), offset))
    };
    let x = "path = \"x.elf\"";
    assert_eq!(mapped(&[(0x800, 0x2000, 0x10, x)]), Some(("x.elf".into(), 0x810)));
    assert_eq!(mapped(&[(0x800, 0x2000, 0x10, x), (0x800, 0x2000, 0x10, x)]), Some(("x.elf".into(), 0x810)));
    assert_eq!(mapped(&[(0x800, 0x2000, 0x10, x), (0x800, 0x2000, 0x20, x)]), None);
    assert_eq!(mapped(&[(0x800, 0x2000, 0x10, "")]), None);
    // Only a part belongs to the file.
    assert_eq!(mapped(&[(0x1004, 0x2000, 0x10, x)]), None);
    assert_eq!(mapped(&[(0x800, 0x1008, 0x10, x)]), None);
    assert_eq!(mapped(&[(0x800, 0x2000, u64::MAX >> 1, x)]), Some(("x.elf".into(), (u64::MAX >> 1) + 0x800)));
}

#[test]
fn a_file_that_is_another_by_now_is_not_used() {
    let folder = folder(Some("12AB"));
    assert_eq!(symbol(&Capture::open(folder.path()).unwrap()), None);
    let expected =
        "x.elf: warning: its build ID is none, and 12ab ran: no symbols of it; its code is in the capture";
    assert_eq!(problems(&folder), [expected]);
    fs::remove_file(folder.path().join("x.elf")).unwrap();
    let [gone] = &problems(&folder)[..] else { panic!() };
    assert!(gone.starts_with("x.elf: warning: cannot read: "), "{gone}");
}

#[test]
fn what_is_wrong_is_told() {
    let check = |text: &str, expected: &[&str]| {
        let folder = Folder::snapshot().with("mappings.toml", text);
        let snapshot = folder.check(expected);
        assert_eq!(snapshot.buffers.len(), 1);
    };
    check("format = 1", &[]);
    check("x", &["mappings.toml:1: warning: not TOML: key with no value, expected `=`: no symbols"]);
    check("", &["mappings.toml: error: format = 1 is what this tracewright reads: no symbols"]);
    check("format = 2", &["mappings.toml:1: error: format = 1 is what this tracewright reads: no symbols"]);
    check(
        "format = 1\nx = 1\n[[process]]\ny = 1",
        &[
            "mappings.toml:2: warning: the file has no key \"x\": passed over; there are format, [[process]]",
            "mappings.toml:4: warning: [[process]] has no key \"y\": passed over; there are pid, command, [[process.thread]], [[process.mapping]]",
        ],
    );
    check(
        "format = 1\n[[process]]\n[[process.mapping]]\nstart = 4\nend = 4\n[[process.mapping]]\nstart = 1\nend = \"a\"",
        &[
            "mappings.toml:3: error: a mapping has a start, and an end behind it: passed over",
            "mappings.toml:8: error: end: expected a number from 0 on, found \"string\"",
        ],
    );
}
