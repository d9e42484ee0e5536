//! Code of compilers at run time: jitdump files (`jit-PID.dump`), which a process maps to announce them.
//!
//! `perf inject --jit` makes an image of each function (`jitted-PID-N.so`), and mappings of them. Here the dump is
//! read itself.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright_image::Bytes;

use super::dwarf::Line;
use super::faults::Faults;
use super::made::MadeFile;
use super::recording::{Event, Recording, What};
use super::search::Search;
use super::time::TimeConversion;
use super::timeline::Code;
use crate::program::map_file;

const MAGIC: u32 = 0x4a69_5444;
/// Flag: times are those of a counter of the processor.
const ARCH_TIMESTAMP: u64 = 1;
/// Types of records.
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const DEBUG_INFO: u32 = 2;
const CLOSE: u32 = 3;
/// Most functions and lines of a dump that are kept.
const MOST_FUNCTIONS: usize = 1 << 20;
const MOST_LINES: usize = 1 << 23;
/// Name of a source file that is the one before.
const SAME: &[u8] = &[0xff];

/// Content of a jitdump file.
#[derive(Debug, Default)]
pub(super) struct Dump {
    pub machine: u16,
    /// Whether times need conversion.
    pub counter: bool,
    pub records: Vec<Record>,
    /// What is wrong with it, if something is.
    pub fault: Option<String>,
}

#[derive(Debug)]
pub(super) enum Record {
    Load { time: u64, address: u64, index: u64, name: String, code: Bytes, lines: Vec<Line> },
    Move { time: u64, to: u64, size: u64, index: u64 },
}

/// Fields of either byte order; if too little is left, nothing is taken.
struct Fields<'a> {
    rest: &'a [u8],
    is_big: bool,
}

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = *self.take(4)?.first_chunk()?;
        Some(if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn u64(&mut self) -> Option<u64> {
        let bytes = *self.take(8)?.first_chunk()?;
        Some(if self.is_big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Takes a text and the zero at its end.
    fn text(&mut self) -> Option<&'a [u8]> {
        let len = self.rest.iter().position(|&byte| byte == 0)?;
        let text = self.take(len)?;
        self.take(1)?;
        Some(text)
    }
}

impl Dump {
    /// Reads a jitdump file, as far as it goes.
    pub fn read(file: &Bytes) -> Result<Self, &'static str> {
        let bytes = file.as_slice();
        let is_big = match bytes.first_chunk().map(|magic| u32::from_le_bytes(*magic)) {
            Some(MAGIC) => false,
            Some(magic) if magic.swap_bytes() == MAGIC => true,
            _ => return Err("not a jitdump file"),
        };
        let mut head = Fields { rest: bytes, is_big };
        let mut fields = || {
            let (_magic, _version, len) = (head.u32()?, head.u32()?, head.u32()?);
            let (machine, _pad, _pid) = (head.u32()?, head.u32()?, head.u32()?);
            let (_time, flags) = (head.u64()?, head.u64()?);
            Some((len as usize, machine, flags))
        };
        let (len, machine, flags) = fields().ok_or("a jitdump file that is cut off")?;
        let mut dump =
            Self { machine: machine as u16, counter: flags & ARCH_TIMESTAMP != 0, ..Self::default() };
        let mut at = len.max(40);
        let mut lines = Lines::default();
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let mut fields = Fields { rest, is_big };
            let head = (|| Some((fields.u32()?, fields.u32()? as usize, fields.u64()?)))();
            let Some((kind, size, time)) = head.filter(|(_, size, _)| (16..=rest.len()).contains(size))
            else {
                dump.fault = Some(format!("at {at:#x}: a record is cut off: nothing is read from there on"));
                break;
            };
            fields.rest = &rest[16..size];
            if kind == CLOSE {
                break;
            }
            if dump.records.len() >= MOST_FUNCTIONS {
                dump.fault = Some(format!("more than {MOST_FUNCTIONS} functions: the rest is not used"));
                break;
            }
            let done = match kind {
                LOAD => {
                    load(&mut fields, time, file, at + size, &mut lines).map(|load| dump.records.push(load))
                }
                MOVE => moved(&mut fields, time).map(|moved| dump.records.push(moved)),
                DEBUG_INFO => lines.read(&mut fields),
                // Unwinding information, or a later addition.
                _ => Some(()),
            };
            if done.is_none() {
                let fault = || format!("at {at:#x}: a record is too short for what it should hold: not used");
                dump.fault.get_or_insert_with(fault);
            }
            at += size;
        }
        Ok(dump)
    }
}

fn load(fields: &mut Fields<'_>, time: u64, file: &Bytes, end: usize, lines: &mut Lines) -> Option<Record> {
    let (_pid, _tid, _vma) = (fields.u32()?, fields.u32()?, fields.u64()?);
    let (address, size, index) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let name = String::from_utf8_lossy(fields.text()?).into_owned();
    // The code is at the end of the record.
    let size = usize::try_from(size).ok().filter(|size| *size <= fields.rest.len() && *size > 0)?;
    let code = file.slice(end - size, size)?;
    Some(Record::Load { time, address, index, name, code, lines: lines.of(address, size as u64) })
}

fn moved(fields: &mut Fields<'_>, time: u64) -> Option<Record> {
    let (_pid, _tid, _vma) = (fields.u32()?, fields.u32()?, fields.u64()?);
    let (_from, to) = (fields.u64()?, fields.u64()?);
    let (size, index) = (fields.u64()?, fields.u64()?);
    Some(Record::Move { time, to, size, index })
}

/// Lines of the function that comes next.
#[derive(Debug, Default)]
struct Lines {
    /// Address of the function, and its lines with addresses in place of offsets.
    pending: Option<(u64, Vec<Line>)>,
    files: HashMap<Vec<u8>, Arc<str>>,
    count: usize,
}

impl Lines {
    fn read(&mut self, fields: &mut Fields<'_>) -> Option<()> {
        let (address, count) = (fields.u64()?, fields.u64()?);
        let mut lines: Vec<Line> = Vec::new();
        for _ in 0..count {
            let (offset, line, discriminator) = (fields.u64()?, fields.u32()?, fields.u32()?);
            let name = fields.text()?;
            let file = match lines.last() {
                Some(last) if name == SAME => Arc::clone(&last.file),
                _ => {
                    let file = || String::from_utf8_lossy(name).into();
                    Arc::clone(self.files.entry(name.to_owned()).or_insert_with(file))
                }
            };
            self.count += 1;
            if self.count > MOST_LINES {
                break;
            }
            lines.push(Line { offset, line, discriminator, file });
        }
        self.pending = Some((address, lines));
        Some(())
    }

    /// Returns the lines of the function at `address`, if they were given before it.
    fn of(&mut self, address: u64, size: u64) -> Vec<Line> {
        let Some((_, mut lines)) = self.pending.take().filter(|(start, _)| *start == address) else {
            return Vec::new();
        };
        lines.retain(|line| (address..address.saturating_add(size)).contains(&line.offset));
        lines.iter_mut().for_each(|line| line.offset -= address);
        lines.sort_by_key(|line| line.offset);
        lines
    }
}

/// Returns the process of a jitdump file, if the path is of one.
fn process_of(path: &str) -> Option<u32> {
    path.rsplit('/').next()?.strip_prefix("jit-")?.strip_suffix(".dump")?.parse().ok()
}

/// Returns whether a mapping is memory of no file, where compilers put their code.
pub(super) fn is_anonymous(path: &str) -> bool {
    ["//anon", "[anon", "/memfd:", "/anon_hugepage"].iter().any(|start| path.starts_with(start))
        || path.is_empty()
}

/// Adds the code in jitdump files to the events, in the place of the memory without a file that it was in. Files that
/// are not found stay mappings, so that they are reported as missing. Returns the code.
pub(super) fn take_dumps(
    recording: &mut Recording<'_>,
    search: &Search<'_>,
    faults: &mut Faults,
) -> Vec<MadeFile> {
    let mut made: Vec<MadeFile> = Vec::new();
    let mut known: HashSet<(u32, String)> = HashSet::new();
    let mut read: HashSet<PathBuf> = HashSet::new();
    // Processes with code, and the time of the first.
    let mut since: HashMap<u32, u64> = HashMap::new();
    let mut added = Vec::new();
    for Event { time, what } in &recording.events {
        let What::Mmap(mmap) = what else { continue };
        let announces = process_of(&mmap.path).is_some_and(|pid| pid == mmap.pid || mmap.pid == 0);
        if !announces || mmap.kernel || known.contains(&(mmap.pid, mmap.path.clone())) {
            continue;
        }
        let Some(path) = search.by_path(&mmap.path).into_iter().find(|path| path.is_file()) else { continue };
        // A file is read once, whatever names lead to it.
        if !read.insert(path.clone()) || added.len() >= MOST_FUNCTIONS {
            continue;
        }
        let Some(dump) = open(&path, faults) else { continue };
        let clock = Clock::new(recording, &dump, *time);
        if clock.is_unknown() {
            let message = "its times are of another clock than those of the recording (perf record -k mono has the \
                           same): where code was replaced, the last counts";
            faults.warning(format!("{}: {message}", path.display()));
        }
        if let Some(fault) = &dump.fault {
            faults.error(format!("{}: {fault}", path.display()));
        }
        let index = made.len() as u32;
        let mut file = MadeFile::new(mmap.path.clone(), dump.machine);
        if !place(dump.records, &mut file, (mmap.pid, index), &clock, &mut added) {
            faults.warning(format!("{}: more code than is kept: the rest is missing", path.display()));
        }
        made.push(file);
        since.entry(mmap.pid).or_insert(*time);
        known.insert((mmap.pid, mmap.path.clone()));
    }
    recording.events.retain(|Event { time, what }| match what {
        What::Mmap(mmap) if known.contains(&(mmap.pid, mmap.path.clone())) => false,
        // The memory is mapped again whenever its protection changes.
        What::Mmap(mmap) if is_anonymous(&mmap.path) => {
            since.get(&mmap.pid).is_none_or(|since| time < since) || mmap.kernel
        }
        _ => true,
    });
    recording.events.append(&mut added);
    recording.events.sort_by_key(|event| event.time);
    made
}

/// Clock of a dump.
enum Clock {
    /// The recording's.
    Same,
    Counter(TimeConversion),
    /// Another one: code is valid from the time on at which the dump was announced.
    Unknown(u64),
}

impl Clock {
    fn new(recording: &Recording<'_>, dump: &Dump, announced: u64) -> Self {
        match (dump.counter, recording.time) {
            (true, Some(time)) => Self::Counter(time),
            (false, _) if recording.is_monotonic => Self::Same,
            _ => Self::Unknown(announced),
        }
    }

    fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    fn time(&self, time: u64) -> u64 {
        match self {
            Self::Same => time,
            Self::Counter(conversion) => conversion.nanoseconds(time),
            Self::Unknown(announced) => *announced,
        }
    }
}

fn open(path: &Path, faults: &mut Faults) -> Option<Dump> {
    let bytes = map_file(path).map_err(|problem| problem.message);
    let dump = bytes.and_then(|bytes| Dump::read(&bytes).map_err(str::to_owned));
    let missing = |why: &String| {
        faults.error(format!("{}: {why}: the code that was made at run time is missing", path.display()));
    };
    dump.inspect_err(missing).ok()
}

/// Adds the functions of a dump to a file, and their places to the events. Returns whether all fit.
fn place(
    records: Vec<Record>,
    file: &mut MadeFile,
    (pid, index): (u32, u32),
    clock: &Clock,
    events: &mut Vec<Event>,
) -> bool {
    // Offset and size of each function, by its number.
    let mut offsets: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut add = |time, start: u64, len, offset| {
        let code = Code { pid, start, end: start.saturating_add(len), offset, made: index };
        events.push(Event { time: clock.time(time), what: What::Code(code) });
    };
    for record in records {
        match record {
            Record::Load { time, address, index, name, code, lines } => {
                let len = code.len() as u64;
                let Some(offset) = file.add(name, code, lines) else { return false };
                offsets.insert(index, (offset, len));
                add(time, address, len, offset);
            }
            Record::Move { time, to, size, index } => {
                if let Some(&(offset, len)) = offsets.get(&index) {
                    add(time, to, len.min(size), offset);
                }
            }
        }
    }
    true
}
