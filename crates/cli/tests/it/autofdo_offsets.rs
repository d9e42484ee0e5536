//! AutoFDO's text counts in offsets of the file, as simpleperf writes it. The program is simpleperf's `etm_test_loop`, changed so
//! that its code lies at another offset than the address it is linked for, as `-z noseparate-code` leaves it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{run, text};
use tracewright_testkit::{Scratch, captures_for};

/// The address of the code, which is its offset in simpleperf's file, too.
const ADDRESS: u64 = 0x1000;
/// The number of bytes of code.
const LEN: usize = 0xf0;
const NAME: &[u8] = b"/data/local/tmp/etm_test_loop\0";

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Moves the code of a program to the end of its file; returns its new offset.
fn move_code(program: &mut Vec<u8>) -> u64 {
    let offset = (program.len() as u64).next_multiple_of(0x1000);
    let code = program[ADDRESS as usize..][..LEN].to_vec();
    program[ADDRESS as usize..][..LEN].fill(0);
    program.resize(offset as usize, 0);
    program.extend(code);
    let headers = word(program, 32) as usize;
    let executable =
        (0..11).map(|number| headers + 56 * number).find(|&at| program[at] == 1 && program[at + 4] & 1 != 0);
    let at = executable.unwrap() + 8;
    assert_eq!(word(program, at), ADDRESS);
    program[at..at + 8].copy_from_slice(&offset.to_le_bytes());
    offset
}

/// Says in the `MMAP` records of a recording that the program was mapped from another offset.
fn move_mappings(recording: &mut [u8], offset: u64) {
    let names: Vec<_> = (40..recording.len()).filter(|&at| recording[at..].starts_with(NAME)).collect();
    let mut moved = 0;
    for name in names {
        // Behind the offset, MMAP2 has the device and inode, protection and flags; MMAP has the name.
        let at = [name - 8, name - 40].into_iter().find(|&at| word(recording, at) == ADDRESS);
        let Some(at) = at else { continue };
        recording[at..at + 8].copy_from_slice(&offset.to_le_bytes());
        moved += 1;
    }
    assert!(moved > 0);
}

/// Adds `by` to all addresses but 0 of AutoFDO's text.
fn shifted(expected: &str, by: u64) -> String {
    let shift = |word: &str| match u64::from_str_radix(word, 16).unwrap() {
        0 => "0".to_owned(),
        address => format!("{:x}", address + by),
    };
    let line = |line: &str| {
        let between = if line.contains("->") { "->" } else { "-" };
        match line.split_once(':').filter(|_| !line.starts_with("//")) {
            Some((pair, count)) => {
                let (from, to) = pair.split_once(between).unwrap();
                format!("{}{between}{}:{count}\n", shift(from), shift(to))
            }
            None => format!("{line}\n"),
        }
    };
    expected.lines().map(line).collect()
}

struct Case {
    here: Scratch,
    list: PathBuf,
    recording: PathBuf,
    expected: String,
    bolt: String,
}

fn case(test: &str) -> Option<Case> {
    let folder = captures_for(test, "perf")?;
    let here = Scratch::new("autofdo-offsets");
    let mut program = fs::read(folder.join("simpleperf/etm_test_loop")).unwrap();
    let offset = move_code(&mut program);
    here.write("etm_test_loop", &program);
    let mut recording = fs::read(folder.join("simpleperf/perf_etm.data")).unwrap();
    move_mappings(&mut recording, offset);
    let recording = here.write("perf.data", &recording);
    let read = |name: &str| fs::read_to_string(folder.join("oracle").join(name)).unwrap();
    let expected = shifted(&read("perf_etm.afdo.txt"), offset - ADDRESS);
    assert!(expected.contains(&format!("\n{offset:x}-")), "{expected}");
    Some(Case {
        here,
        list: folder.join("oracle/perf_etm.bl"),
        recording,
        expected,
        bolt: read("perf_etm.bolt"),
    })
}

impl Case {
    fn profile(&self, input: &Path, format: &str) -> String {
        run!("profile {} --symfs {} --format {format}", text(input), text(self.here.path())).out
    }
}

#[test]
fn autofdo_counts_in_offsets_of_the_file_and_bolt_in_addresses() {
    let Some(case) = case("autofdo_counts_in_offsets_of_the_file_and_bolt_in_addresses") else { return };
    for input in [&case.recording, &case.list] {
        assert_eq!(case.profile(input, "autofdo"), case.expected);
        assert_eq!(case.profile(input, "bolt-simpleperf"), case.bolt);
    }
}

#[test]
fn profiles_as_files_know_the_offsets_without_the_binary() {
    let Some(case) = case("profiles_as_files_know_the_offsets_without_the_binary") else { return };
    let [one, two, sum] = ["one.prof", "two.prof", "sum.prof"].map(|name| case.here.path().join(name));
    for (input, stored) in [(&case.recording, &one), (&case.list, &two)] {
        case.profile(input, &format!("tracewright -o {}", text(stored)));
        assert!(stored.is_file(), "{}", input.display());
    }
    run!("merge {} {} -o {}", text(&one), text(&two), text(&sum)).ends(0);
    fs::remove_file(case.here.path().join("etm_test_loop")).unwrap();
    let twice = |text: &str| -> String {
        let line = |line: &str| match line.rsplit_once(':').filter(|_| !line.starts_with("//")) {
            Some((pair, count)) => format!("{pair}:{}\n", 2 * count.parse::<u64>().unwrap()),
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    };
    for (stored, expected) in
        [(&one, case.expected.clone()), (&two, case.expected.clone()), (&sum, twice(&case.expected))]
    {
        assert_eq!(case.profile(stored, "autofdo"), expected, "{}", stored.display());
    }
}
