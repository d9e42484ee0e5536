//! Names of code that compilers made at run time, from `perf-PID.map`: lines of address, size and name. There is no code
//! in it, so that the names are those of missing code.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::jit::is_anonymous;
use super::recording::{Event, Recording, What};
use super::search::Search;
use crate::file::{MAX_TEXT, read_plain};

/// Most names of all processes that are kept, and most that are mapped.
const MOST_NAMES: usize = 1 << 17;

/// Function of a process whose code is unknown.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub pid: u32,
    pub start: u64,
    pub end: u64,
    pub name: String,
}

/// Names by address, with the end of each.
type Names = BTreeMap<u64, (u64, String)>;

/// Adds the names of functions in memory of no file to the events, for processes whose map is in a folder that the user
/// named, or beside the recording. (One that lies in `/tmp` here may be of another process.)
pub(super) fn take_maps(recording: &mut Recording<'_>, search: &Search<'_>) {
    let mut maps: HashMap<u32, Names> = HashMap::new();
    let mut room = MOST_NAMES;
    let mut added = Vec::new();
    for Event { time, what } in &recording.events {
        let What::Mmap(mmap) = what else { continue };
        if mmap.kernel || !mmap.executable || !is_anonymous(&mmap.path) {
            continue;
        }
        let names = maps.entry(mmap.pid).or_insert_with(|| {
            let names = read(&search.beside_or_named(&format!("tmp/perf-{}.map", mmap.pid)), room);
            room -= names.len();
            names
        });
        let range = mmap.start..mmap.start.saturating_add(mmap.len);
        let inside = names.range(range.clone()).take(MOST_NAMES - added.len().min(MOST_NAMES));
        added.extend(inside.map(|(&start, (end, name))| {
            let named = Named { pid: mmap.pid, start, end: range.end.min(*end), name: name.clone() };
            Event { time: *time, what: What::Named(named) }
        }));
    }
    if !added.is_empty() {
        // Behind the mappings of the same time.
        recording.events.append(&mut added);
        recording.events.sort_by_key(|event| event.time);
    }
}

/// Reads the first of the files that can be read.
fn read(paths: &[PathBuf], most: usize) -> Names {
    let text = paths.iter().find_map(|path| read_plain(path, MAX_TEXT).ok()).unwrap_or_default();
    let lines = text.split(|&byte| byte == b'\n').filter_map(line);
    lines.take(most).map(|(start, end, name)| (start, (end, name))).collect()
}

fn line(line: &[u8]) -> Option<(u64, u64, String)> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.trim_end().splitn(3, ' ');
    let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
    let (start, len) = (number()?, number()?);
    let end = start.checked_add(len).filter(|end| *end > start)?;
    Some((start, end, words.next().filter(|name| !name.is_empty())?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        assert_eq!(line(b"7f00 20 Lmain;a b"), Some((0x7f00, 0x7f20, "Lmain;a b".into())));
        assert_eq!(line(b"0x7f00 0x20 f\r"), Some((0x7f00, 0x7f20, "f".into())));
        for wrong in ["", "7f00", "7f00 20", "7f00 20 ", "7f00 0 f", "x 20 f", "ffffffffffffffff 20 f"] {
            assert_eq!(line(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
