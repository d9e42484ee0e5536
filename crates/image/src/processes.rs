use std::collections::HashMap;

use tracewright_core::Context;

/// Time of an execution, and the thread if the trace does not give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Time on the clock of the mapping records.
    pub time: u64,
    /// Thread that ran, if neither context ID nor VMID gives it.
    pub thread: Option<u32>,
}

impl Moment {
    /// Moment after all records.
    pub const LAST: Self = Self { time: u64::MAX, thread: None };
}

/// Table of threads and processes over time: the process of each thread, and the number of each process's
/// memory.
///
/// A process whose memory changes has several numbers, one after another. Numbers are those of
/// [`MemorySpace::process`](tracewright_core::MemorySpace::process).
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// For each thread, its processes with their start times.
    threads: HashMap<u32, Vec<(u64, u32)>>,
    /// For each process, the numbers of its memory with their start times.
    memories: Vec<Vec<(u64, u32)>>,
    /// Numbers of the kernel's memory with their start times.
    kernel: Vec<(u64, u32)>,
}

impl Processes {
    /// Adds a process whose memory has this number. Returns the index of the process.
    pub fn add(&mut self, number: u32) -> u32 {
        self.memories.push(vec![(0, number)]);
        self.memories.len() as u32 - 1
    }

    /// Gives the memory of a process another number from `time` on. Calls must be in order of time.
    pub fn changed(&mut self, process: u32, time: u64, number: u32) {
        if let Some(memories) = self.memories.get_mut(process as usize) {
            memories.push((time, number));
        }
    }

    /// Assigns a thread to `process` from `time` on. Calls must be in order of time.
    pub fn thread(&mut self, thread: u32, time: u64, process: u32) {
        let told = self.threads.entry(thread).or_default();
        if told.last().is_none_or(|&(_, last)| last != process) {
            told.push((time, process));
        }
    }

    /// Sets the number of the kernel's memory from `time` on; the kernel runs at a higher exception level than
    /// processes. Calls must be in order of time.
    pub fn kernel(&mut self, time: u64, number: u32) {
        self.kernel.push((time, number));
    }

    /// Returns whether no thread is known.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty() && self.kernel.is_empty()
    }

    /// Returns the number of the memory that a thread has at a time; 0 if unknown. Before the first record,
    /// the first number is returned.
    pub fn number(&self, thread: u32, time: u64) -> u32 {
        let process = self.threads.get(&thread).and_then(|told| at(told, time));
        let memories = process.and_then(|process| self.memories.get(process as usize));
        memories.and_then(|memories| at(memories, time)).unwrap_or(0)
    }

    /// Returns the index of the process that a thread belongs to at a time, if known.
    pub(crate) fn process(&self, thread: u32, time: u64) -> Option<u32> {
        self.threads.get(&thread).and_then(|told| at(told, time))
    }

    /// Returns the thread that runs in a context: the context ID or VMID that is a known thread, or else either of them that is not 0;
    /// or the thread that wrote the trace.
    pub(crate) fn thread_in(&self, context: Option<&Context>, moment: &Moment) -> Option<u32> {
        let told = context.map_or([None; 2], |context| [context.context_id, context.vmid]);
        let told = told.into_iter().flatten().filter(|thread| *thread != 0);
        let known = told.clone().find(|thread| self.threads.contains_key(thread));
        known.or_else(|| told.clone().next()).or(moment.thread)
    }

    /// Returns the number of the memory of code in a context; 0 if unknown.
    pub(crate) fn number_in(&self, context: &Context, moment: &Moment) -> u32 {
        if context.level != 0 {
            return at(&self.kernel, moment.time).unwrap_or(0);
        }
        // Linux puts the thread into one of them; the other is 0 or names no thread. Both are 0 if the kernel
        // was built without CONFIG_PID_IN_CONTEXTIDR: thread 0 runs nothing at this level.
        let told = [context.vmid, context.context_id];
        let mut threads = told.into_iter().flatten().filter(|thread| *thread != 0).peekable();
        if threads.peek().is_none() {
            return moment.thread.map_or(0, |thread| self.number(thread, moment.time));
        }
        threads.map(|thread| self.number(thread, moment.time)).find(|number| *number != 0).unwrap_or(0)
    }
}

/// Returns the entry that holds at a time.
fn at(told: &[(u64, u32)], time: u64) -> Option<u32> {
    let since = told.partition_point(|&(since, _)| since <= time);
    told.get(since.saturating_sub(1)).map(|&(_, what)| what)
}

#[cfg(test)]
mod tests {
    use tracewright_core::Security;

    use super::*;

    fn processes() -> Processes {
        let mut processes = Processes::default();
        let first = processes.add(1);
        processes.thread(100, 0, first);
        processes.thread(101, 5, first);
        processes.changed(first, 10, 2);
        // A thread number is reused.
        let second = processes.add(3);
        processes.thread(100, 20, second);
        processes.kernel(0, 4);
        processes.kernel(15, 5);
        processes
    }

    #[test]
    fn memory_changes_with_time() {
        let numbers = |thread| [0, 9, 10, 19, 20, u64::MAX].map(|time| processes().number(thread, time));
        assert_eq!(numbers(100), [1, 1, 2, 2, 3, 3]);
        assert_eq!(numbers(101), [1, 1, 2, 2, 2, 2], "also of a time before it is known");
        assert_eq!(numbers(102), [0; 6]);
    }

    #[test]
    fn context_id_or_vmid_say_who_runs() {
        let context = |vmid, context_id| Context {
            level: 0,
            security: Security::NonSecure,
            is_64bit: true,
            vmid,
            context_id,
        };
        let moment = Moment { time: 10, thread: Some(101) };
        let number = |context: &Context| processes().number_in(context, &moment);
        assert_eq!(number(&context(None, Some(100))), 2);
        assert_eq!(number(&context(Some(100), Some(0))), 2);
        assert_eq!(number(&context(Some(0), Some(100))), 2);
        assert_eq!(number(&context(None, Some(7))), 0, "who is told of and not known is not somebody else");
        assert_eq!(number(&context(None, None)), 2, "the thread that is said to have run");
        assert_eq!(number(&context(Some(0), Some(0))), 2, "no thread is 0");
        assert_eq!(number(&Context { level: 1, ..context(None, Some(100)) }), 4, "the kernel is everybody's");
    }
}
