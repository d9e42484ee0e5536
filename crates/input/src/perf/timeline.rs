//! Mappings of processes over time: mappings, new programs, forks and exits in order of time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::bpf::BpfFunction;
use super::faults::Faults;
use super::kernel::KernelCode;
use super::made::MadeFile;
use super::map_names::Named;
use super::record::{BuildId, Comm, Fork, Mmap};
use super::recording::{Event, What};

/// Most mappings in all memories together, and most memories: a forked process has the mappings of another at
/// no cost in the file.
const MOST_MAPPINGS: usize = 1 << 21;
const MOST_MEMORIES: usize = 1 << 16;

/// Processes and threads over time, with their mappings.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// All mapped files.
    pub files: Vec<MappedFile>,
    /// Mappings of processes; the first has number 1.
    pub memories: Vec<Memory>,
    pub processes: Vec<ProcessLine>,
    /// Threads, start times, and their processes, in order of time.
    pub threads: Vec<(u32, u64, u32)>,
    /// Mappings of the kernel: itself and its modules, in file order.
    pub kernel: Vec<(Range<u64>, Mapped)>,
    /// Index of the process whose memories are the kernel's code that was made or changed at run time. The first
    /// memory is empty: it stands for the kernel's own code.
    pub run_time_kernel: Option<u32>,
    /// Code that processes made at run time.
    pub made: Vec<MadeFile>,
    /// Functions that came into the kernel at run time, and bytes that replaced others.
    pub kernel_functions: Option<MadeFile>,
    pub kernel_patches: Vec<u8>,
}

/// Mapped file, as the recording describes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MappedFile {
    pub path: String,
    pub build_id: Option<BuildId>,
    pub origin: Origin,
}

/// Origin of mapped code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// File that was mapped.
    #[default]
    File,
    /// Code that a process made, by its index.
    Made(u32),
    /// Functions that came into the kernel.
    KernelFunctions,
    /// Bytes that replaced others in the kernel.
    KernelPatches,
    /// Function of the kernel whose code was not recorded; the path is its name.
    NoCode,
    /// Function of a process, likewise.
    Named,
}

/// Code that a process made at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    pub pid: u32,
    pub start: u64,
    pub end: u64,
    /// Offset in the file with the code.
    pub offset: u64,
    /// Index of that file.
    pub made: u32,
}

/// Executable mappings by start address. They do not overlap.
pub(crate) type Mappings = BTreeMap<u64, Mapped>;

/// Mapping without its start address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub end: u64,
    /// File offset of its first byte.
    pub offset: u64,
    /// Index of the file.
    pub file: u32,
}

/// Mappings of a process at a time.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub mappings: Arc<Mappings>,
    /// Number of the memory that the process had before it started another program; 0 for none. Trace that
    /// was written at one time may belong to both.
    pub before: u32,
    /// Number of processes that share it.
    pub(super) users: u32,
}

#[derive(Debug, Default)]
pub(crate) struct ProcessLine {
    pub pid: u32,
    pub command: String,
    /// Last known names of its threads by thread ID; empty if unknown.
    pub threads: BTreeMap<u32, String>,
    /// Numbers of its memories with their start times; at least one.
    pub memories: Vec<(u64, u32)>,
}

/// Makes a timeline of events, which are in order of time. `observed` are the times, in order, that will be
/// queried.
pub(super) fn timeline(
    events: Vec<Event>,
    build_ids: &HashMap<String, BuildId>,
    (made, bpf): (Vec<MadeFile>, Vec<BpfFunction>),
    observed: &[u64],
    faults: &mut Faults,
) -> Timeline {
    let mut maker = Maker {
        timeline: Timeline { made, ..Timeline::default() },
        kernel: KernelCode::new(bpf),
        build_ids,
        observed,
        files: HashMap::new(),
        running: HashMap::new(),
        ended: HashSet::new(),
        threads: HashMap::new(),
        room: MOST_MAPPINGS,
    };
    maker.before_events(&events);
    for Event { time, what } in events {
        match what {
            What::Mmap(mmap) => maker.mmap(time, mmap),
            What::Comm(comm) => maker.comm(time, comm),
            What::Fork(fork) => maker.fork(time, fork),
            What::Exit(exit) => maker.exit(exit),
            What::Thread { pid, tid } => {
                maker.thread(time, pid, tid);
            }
            What::Code(code) => maker.code(time, code),
            What::Named(named) => maker.named(time, named),
            What::Ksymbol(ksymbol) => maker.ksymbol(time, ksymbol),
            What::BpfLoaded(program) => maker.bpf_loaded(time, program),
            What::Poke(poke) => maker.poke(time, &poke),
        }
    }
    if maker.room == 0 {
        faults.warning("more mappings than can be kept: code of some processes is missing");
    }
    if maker.kernel.is_short {
        faults.warning(
            "more kernel code was made or changed at run time than can be kept: some of it is missing",
        );
    }
    let (functions, patches) = maker.kernel.finish();
    Timeline { kernel_functions: Some(functions), kernel_patches: patches, ..maker.timeline }
}

pub(super) struct Maker<'a> {
    pub(super) timeline: Timeline,
    pub(super) kernel: KernelCode,
    build_ids: &'a HashMap<String, BuildId>,
    observed: &'a [u64],
    files: HashMap<MappedFile, u32>,
    /// Processes that run, or ran last, by PID.
    running: HashMap<u32, u32>,
    /// Processes that have ended.
    ended: HashSet<u32>,
    /// Process of each thread.
    threads: HashMap<u32, u32>,
    /// Number of mappings that may still be kept.
    room: usize,
}

impl Maker<'_> {
    /// Takes what the events tell of the time before them.
    fn before_events(&mut self, events: &[Event]) {
        let pokes = events.iter().filter_map(|event| match &event.what {
            What::Poke(poke) => Some(&**poke),
            _ => None,
        });
        let told: HashSet<u64> = events.iter().filter_map(told_kernel_code).collect();
        self.before_changes(pokes, |bpf| {
            told.contains(&bpf.address) || told.contains(&u64::from(bpf.program))
        });
    }

    fn named(&mut self, time: u64, Named { pid, start, end, name }: Named) {
        let file = self.file(MappedFile { path: name, build_id: None, origin: Origin::Named });
        let process = self.alive(time, pid, pid);
        self.map(time, process, start, Mapped { end, offset: 0, file });
    }

    fn code(&mut self, time: u64, Code { pid, start, end, offset, made }: Code) {
        let path = self.timeline.made[made as usize].name.clone();
        let file = self.file(MappedFile { path, build_id: None, origin: Origin::Made(made) });
        if start < end {
            let process = self.alive(time, pid, pid);
            self.map(time, process, start, Mapped { end, offset, file });
        }
    }

    fn mmap(&mut self, time: u64, mmap: Mmap) {
        let Mmap { pid, tid, start, len, offset, path, build_id, executable, kernel } = mmap;
        let end = start.saturating_add(len);
        if !executable || start == end {
            return;
        }
        // The kernel is named after one of its symbols.
        let name =
            path.split_once(']').filter(|_| kernel).map_or(path.clone(), |(name, _)| format!("{name}]"));
        let build_id = build_id.or_else(|| self.build_ids.get(&name).cloned());
        let file = self.file(MappedFile { path, build_id, origin: Origin::File });
        let mapped = Mapped { end, offset, file };
        if kernel {
            self.timeline.kernel.push((start..end, mapped));
        } else {
            let process = self.alive(time, pid, tid);
            self.map(time, process, start, mapped);
        }
    }

    fn comm(&mut self, time: u64, comm: Comm) {
        let process = self.alive(time, comm.pid, comm.tid);
        self.name(process, comm.pid, comm.tid, comm.name);
        if comm.exec {
            let before = self.number(process);
            self.give(time, process, Memory { before, ..Memory::default() });
        }
    }

    fn fork(&mut self, time: u64, Fork { pid, parent, tid, parent_tid, fresh, .. }: Fork) {
        // A new thread has the name of the thread that made it.
        let maker = self.threads.get(&parent_tid).filter(|_| !fresh);
        let maker =
            maker.and_then(|&process| self.timeline.processes[process as usize].threads.get(&parent_tid));
        let name = maker.cloned().unwrap_or_default();
        if pid == parent {
            let process = self.thread(time, pid, tid);
            self.name(process, pid, tid, name);
            return;
        }
        let parent = self.running.get(&parent).copied().filter(|_| !fresh);
        let inherited = parent.map_or(0, |parent| self.number(parent));
        let process = self.start(time, pid, inherited);
        self.is_of(time, tid, process);
        self.name(process, pid, tid, name);
    }

    fn name(&mut self, process: u32, pid: u32, tid: u32, name: String) {
        let process = &mut self.timeline.processes[process as usize];
        if name.is_empty() {
            return;
        }
        if pid == tid {
            process.command.clone_from(&name);
        }
        process.threads.insert(tid, name);
    }

    fn exit(&mut self, Fork { pid, tid, .. }: Fork) {
        // Its trace may still come. Only a process that maps something is a new one with the same PID.
        if pid == tid {
            self.ended.insert(pid);
        }
    }

    pub(super) fn file(&mut self, file: MappedFile) -> u32 {
        *self.files.entry(file).or_insert_with_key(|file| {
            self.timeline.files.push(file.clone());
            self.timeline.files.len() as u32 - 1
        })
    }

    /// Records that a thread runs. Returns its process.
    fn thread(&mut self, time: u64, pid: u32, tid: u32) -> u32 {
        let process = match self.running.get(&pid) {
            Some(&process) => process,
            None => self.start(time, pid, 0),
        };
        self.is_of(time, tid, process);
        process
    }

    /// Records that a thread runs in a process that has not ended. Returns the process.
    fn alive(&mut self, time: u64, pid: u32, tid: u32) -> u32 {
        if self.ended.contains(&pid) {
            self.start(time, pid, 0);
        }
        self.thread(time, pid, tid)
    }

    fn is_of(&mut self, time: u64, tid: u32, process: u32) {
        if self.threads.insert(tid, process) != Some(process) {
            self.timeline.threads.push((tid, time, process));
            self.timeline.processes[process as usize].threads.entry(tid).or_default();
        }
    }

    /// Starts a process, with the memory of another or without any.
    fn start(&mut self, time: u64, pid: u32, inherited: u32) -> u32 {
        let process = self.timeline.processes.len() as u32;
        self.timeline.processes.push(ProcessLine { pid, ..ProcessLine::default() });
        if let Some(memory) = self.memory(inherited) {
            memory.users += 1;
            self.timeline.processes[process as usize].memories.push((time, inherited));
        }
        self.running.insert(pid, process);
        self.ended.remove(&pid);
        self.is_of(time, pid, process);
        process
    }

    /// Returns the number of a process's memory; 0 if it has none.
    fn number(&self, process: u32) -> u32 {
        self.timeline.processes[process as usize].memories.last().map_or(0, |&(_, number)| number)
    }

    fn memory(&mut self, number: u32) -> Option<&mut Memory> {
        self.timeline.memories.get_mut((number as usize).checked_sub(1)?)
    }

    /// Gives a process another memory. Returns its number, if one was left.
    pub(super) fn give(&mut self, time: u64, process: u32, memory: Memory) -> Option<u32> {
        if self.timeline.memories.len() >= MOST_MEMORIES {
            self.room = 0;
            return None;
        }
        if let Some(last) = self.memory(self.number(process)) {
            last.users -= 1;
        }
        self.timeline.memories.push(Memory { users: 1, ..memory });
        let number = self.timeline.memories.len() as u32;
        self.timeline.processes[process as usize].memories.push((time, number));
        Some(number)
    }

    pub(super) fn map(&mut self, time: u64, process: u32, start: u64, mapped: Mapped) {
        let observed = self.observed;
        let since = self.timeline.processes[process as usize].memories.last().map_or(0, |&(since, _)| since);
        let mut number = self.number(process);
        let copy = match self.memory(number) {
            None => Some(Memory::default()),
            Some(Memory { mappings, before, users }) => {
                let is_observed =
                    || observed.partition_point(|at| *at < since) < observed.partition_point(|at| *at < time);
                let changes = || replaces(mappings, start, &mapped) && is_observed();
                let must_copy = *users > 1 || changes();
                must_copy.then(|| Memory { mappings: Arc::clone(mappings), before: *before, users: 0 })
            }
        };
        if let Some(copy) = copy {
            self.room = self.room.saturating_sub(copy.mappings.len());
            if self.room == 0 {
                return;
            }
            let Some(given) = self.give(time, process, copy) else { return };
            number = given;
        }
        self.room = self.room.saturating_sub(1);
        if let Some(memory) = self.memory(number) {
            insert(Arc::make_mut(&mut memory.mappings), start, mapped);
        }
    }
}

/// Returns the address of a kernel function, or the ID of a BPF program, that an event tells of.
fn told_kernel_code(event: &Event) -> Option<u64> {
    match &event.what {
        What::Ksymbol(ksymbol) => Some(ksymbol.address),
        What::BpfLoaded(program) => Some((*program).into()),
        _ => None,
    }
}

/// Returns the file and the difference between offset and address, which all parts of a mapping share.
fn place(start: u64, mapped: &Mapped) -> (u32, u64) {
    (mapped.file, mapped.offset.wrapping_sub(start))
}

/// Returns whether a mapping would change what is at an address.
fn replaces(mappings: &Mappings, start: u64, mapped: &Mapped) -> bool {
    overlapping(mappings, start, mapped.end).any(|(at, other)| place(at, other) != place(start, mapped))
}

/// Returns the mappings that overlap this range, the last first.
fn overlapping(mappings: &Mappings, start: u64, end: u64) -> impl Iterator<Item = (u64, &Mapped)> {
    mappings
        .range(..end)
        .rev()
        .take_while(move |(_, mapped)| mapped.end > start)
        .map(|(&at, mapped)| (at, mapped))
}

/// Adds a mapping in place of what was there before.
fn insert(mappings: &mut Mappings, start: u64, mapped: Mapped) {
    let hidden: Vec<(u64, Mapped)> =
        overlapping(mappings, start, mapped.end).map(|(at, other)| (at, *other)).collect();
    // Reported again because its protection has changed.
    if hidden.iter().any(|(at, other)| {
        *at <= start && mapped.end <= other.end && place(*at, other) == place(start, &mapped)
    }) {
        return;
    }
    for (at, other) in hidden {
        mappings.remove(&at);
        if at < start {
            mappings.insert(at, Mapped { end: start, ..other });
        }
        if other.end > mapped.end {
            let offset = other.offset.wrapping_add(mapped.end - at);
            mappings.insert(mapped.end, Mapped { offset, ..other });
        }
    }
    mappings.insert(start, mapped);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mmap(pid: u32, start: u64, path: &str) -> What {
        What::Mmap(Mmap {
            pid,
            tid: pid,
            start,
            len: 0x1000,
            offset: 0,
            path: path.into(),
            build_id: None,
            executable: true,
            kernel: false,
        })
    }

    fn fork(pid: u32, parent: u32) -> What {
        What::Fork(Fork { pid, parent, tid: pid, parent_tid: parent, time: 0, fresh: false })
    }

    fn exec(pid: u32) -> What {
        What::Comm(Comm { pid, tid: pid, name: format!("program{pid}"), exec: true })
    }

    /// Returns what is at 0x1000 for a thread at a time.
    fn at(timeline: &Timeline, thread: u32, time: u64) -> String {
        let told = timeline.threads.iter().rfind(|(tid, since, _)| *tid == thread && *since <= time);
        let Some(&(_, _, process)) = told else { return "nobody".into() };
        let memories = &timeline.processes[process as usize].memories;
        let mut number = memories.iter().rfind(|(since, _)| *since <= time).map_or(0, |memory| memory.1);
        while let Some(memory) = timeline.memories.get((number as usize).wrapping_sub(1)) {
            if let Some(found) = memory.mappings.get(&0x1000) {
                return timeline.files[found.file as usize].path.clone();
            }
            number = memory.before;
        }
        "nothing".into()
    }

    fn make(events: Vec<(u64, What)>, observed: &[u64]) -> Timeline {
        let events = events.into_iter().map(|(time, what)| Event { time, what }).collect();
        timeline(events, &HashMap::new(), Default::default(), observed, &mut Faults::default())
    }

    #[test]
    fn memory_changes_where_somebody_looks() {
        let events =
            || vec![(0, mmap(1, 0x1000, "a")), (10, mmap(1, 0x1000, "b")), (20, mmap(1, 0x1000, "c"))];
        let seen = make(events(), &[5, 25]);
        assert_eq!([5, 25].map(|time| at(&seen, 1, time)), ["a", "c"]);
        assert_eq!(seen.memories.len(), 2, "what nobody saw is not kept");
        assert_eq!(make(events(), &[]).memories.len(), 1);
        let apart = vec![(0, mmap(1, 0x1000, "a")), (10, mmap(1, 0x8000, "b"))];
        assert_eq!(make(apart, &[5]).memories.len(), 1, "nor what changes nothing");
    }

    #[test]
    fn a_fork_has_what_its_parent_had_until_it_changes() {
        let events = vec![
            (0, mmap(1, 0x1000, "a")),
            (10, fork(2, 1)),
            (20, mmap(2, 0x1000, "b")),
            (30, mmap(1, 0x1000, "c")),
            (40, fork(3, 1)),
        ];
        let seen = make(events, &[15, 25, 35, 45]);
        assert_eq!([15, 25, 35].map(|time| at(&seen, 1, time)), ["a", "a", "c"]);
        assert_eq!([15, 25, 35].map(|time| at(&seen, 2, time)), ["a", "b", "b"]);
        assert_eq!([35, 45].map(|time| at(&seen, 3, time)), ["nobody", "c"]);
    }

    #[test]
    fn a_new_program_hides_the_old_one() {
        let events = vec![
            (0, mmap(1, 0x1000, "old")),
            (10, exec(1)),
            (20, mmap(1, 0x1000, "new")),
            (30, What::Exit(Fork { pid: 1, parent: 0, tid: 1, parent_tid: 1, time: 30, fresh: false })),
            (40, fork(1, 7)),
        ];
        let seen = make(events, &[]);
        assert_eq!([5, 25, 35].map(|time| at(&seen, 1, time)), ["old", "new", "new"]);
        assert_eq!(seen.memories[1].before, 1, "trace that was written later may be of the old one");
        assert_eq!(at(&seen, 1, 45), "nothing", "another process with the same number");
        assert_eq!(seen.processes[0].command, "program1");
        let exit = || What::Exit(Fork { pid: 1, parent: 0, tid: 1, parent_tid: 1, time: 5, fresh: false });
        let late = What::Thread { pid: 1, tid: 1 };
        let seen = make(vec![(0, mmap(1, 0x1000, "a")), (5, exit()), (6, late)], &[]);
        assert_eq!(at(&seen, 1, 9), "a", "what is told late is of the old one");
        let seen = make(vec![(0, mmap(1, 0x1000, "a")), (5, exit()), (6, mmap(1, 0x8000, "b"))], &[]);
        assert_eq!(at(&seen, 1, 9), "nothing");
    }

    #[test]
    fn threads_share_the_memory_of_their_process() {
        let thread = What::Fork(Fork { pid: 1, parent: 1, tid: 9, parent_tid: 1, time: 0, fresh: false });
        let seen = make(vec![(0, mmap(1, 0x1000, "a")), (5, thread), (10, mmap(1, 0x1000, "b"))], &[7]);
        assert_eq!([7, 15].map(|time| at(&seen, 9, time)), ["a", "b"]);
    }

    #[test]
    fn a_mapping_in_the_middle_of_another_leaves_both_ends() {
        let mut mappings = Mappings::new();
        let file = |file, end, offset| Mapped { end, offset, file };
        insert(&mut mappings, 0x1000, file(0, 0x5000, 0));
        insert(&mut mappings, 0x2000, file(1, 0x3000, 0x100));
        let all: Vec<_> = mappings.iter().map(|(&start, mapped)| (start, *mapped)).collect();
        let expected = [
            (0x1000, file(0, 0x2000, 0)),
            (0x2000, file(1, 0x3000, 0x100)),
            (0x3000, file(0, 0x5000, 0x2000)),
        ];
        assert_eq!(all, expected);
        insert(&mut mappings, 0x4000, file(0, 0x5000, 0x3000));
        assert_eq!(mappings.len(), 3, "the same again");
        insert(&mut mappings, 0, file(2, 0x9000, 0));
        assert_eq!(mappings.len(), 1);
    }

    #[test]
    fn forks_upon_forks_do_not_fill_the_memory() {
        let mut events: Vec<_> = (0..3000).map(|i| (0, mmap(1, 0x1000 * (i + 1), "lib"))).collect();
        for pid in 2..3000 {
            events.push((1, fork(pid, 1)));
            events.push((2, mmap(pid, 0x1000, "own")));
        }
        let mut faults = Faults::default();
        let events = events.into_iter().map(|(time, what)| Event { time, what }).collect();
        let seen = timeline(events, &HashMap::new(), Default::default(), &[], &mut faults);
        let kept: usize = seen.memories.iter().map(|memory| memory.mappings.len()).sum();
        assert!(kept <= MOST_MAPPINGS + 3000, "{kept}");
        assert_eq!(faults.problems("x".as_ref()).count(), 1);
    }
}
