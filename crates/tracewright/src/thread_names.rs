//! Names of threads, as the capture tells them.

use tracewright_core::text::Printable;
use tracewright_flow::hash::HashMap;
use tracewright_input::{Capture, Process, ProcessThread};
use tracewright_profile::Thread;

/// Names of a capture's threads.
///
/// A thread is named after its process and itself: `sort 1234`, `sort 1234, worker 1235`. The last name counts where a
/// thread had several, and the last thread where several had one ID.
#[derive(Clone, Debug, Default)]
pub struct ThreadNames {
    /// Names by thread ID.
    names: HashMap<u32, String>,
    /// For each source, the thread that it traces, if it traces only one.
    sources: Vec<Option<u32>>,
}

impl ThreadNames {
    /// Collects the names that a capture tells.
    pub fn of(capture: &Capture) -> Self {
        let threads = capture.processes.iter().flat_map(|process| {
            let main = ProcessThread { tid: process.pid, name: process.command.clone() };
            let others = process.threads.iter().filter(|thread| thread.tid != process.pid).cloned();
            std::iter::once(main)
                .chain(others)
                .map(move |thread| (thread.tid, Printable(&name(process, &thread)).to_string()))
        });
        let sources = capture.sources.iter().map(|source| source.thread);
        Self { names: threads.collect(), sources: sources.collect() }
    }

    /// Returns the name of a thread of a source. A thread that the capture does not name is known by its IDs.
    pub fn name(&self, source: usize, thread: &Thread) -> String {
        let Thread { vmid, context_id } = *thread;
        // Linux puts the thread ID into one of them, and 0 or something else into the other.
        let ids = [vmid, context_id].into_iter().flatten().filter(|id| *id != 0);
        if let Some(name) = ids.clone().find_map(|id| self.names.get(&id)) {
            return name.clone();
        }
        let only = self.sources.get(source).copied().flatten().filter(|_| ids.count() == 0);
        match (vmid, context_id, only) {
            (.., Some(tid)) => self.names.get(&tid).cloned().unwrap_or_else(|| format!("thread {tid}")),
            (None, None, None) => "all threads".into(),
            (None | Some(0), Some(id), None) => format!("thread {id}"),
            (Some(vm), None, None) => format!("VM {vm}"),
            (Some(vm), Some(id), None) => format!("VM {vm} thread {id}"),
        }
    }
}

fn name(process: &Process, thread: &ProcessThread) -> String {
    let (pid, tid) = (process.pid, thread.tid);
    let command = if process.command.is_empty() { "process" } else { &process.command };
    match thread.name.as_str() {
        _ if tid == pid => format!("{command} {pid}"),
        name if name.is_empty() || name == command => format!("{command} {pid}, thread {tid}"),
        name => format!("{command} {pid}, {name} {tid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_named_by_process_and_thread() {
        let thread = |tid, name: &str| ProcessThread { tid, name: name.into() };
        let threads = vec![thread(7, "sort"), thread(8, "sort"), thread(9, "worker")];
        let sort = Process { pid: 7, command: "sort".into(), threads, ..Process::default() };
        let nameless = Process { pid: 5, threads: vec![thread(6, "")], ..Process::default() };
        let names = ThreadNames::of(&Capture { processes: vec![sort, nameless], ..Capture::default() });
        let name = |vmid, context_id| names.name(0, &Thread { vmid, context_id });
        assert_eq!(name(None, Some(7)), "sort 7");
        assert_eq!(name(Some(8), Some(0)), "sort 7, thread 8");
        assert_eq!(name(Some(0), Some(9)), "sort 7, worker 9");
        assert_eq!(name(None, Some(5)), "process 5");
        assert_eq!(name(None, Some(6)), "process 5, thread 6");
        assert_eq!(name(None, Some(4)), "thread 4");
        assert_eq!(name(Some(3), None), "VM 3");
        assert_eq!(name(Some(3), Some(4)), "VM 3 thread 4");
        assert_eq!(name(None, None), "all threads");
    }

    #[test]
    fn a_source_of_one_thread_is_named_without_contexts() {
        let sort = Process { pid: 7, command: "sort".into(), ..Process::default() };
        let mut names = ThreadNames::of(&Capture { processes: vec![sort], ..Capture::default() });
        names.sources = vec![Some(7), Some(8), None];
        let name = |source| names.name(source, &Thread::default());
        assert_eq!([0, 1, 2, 3].map(name), ["sort 7", "thread 8", "all threads", "all threads"]);
        let zero = Thread { vmid: None, context_id: Some(0) };
        assert_eq!(names.name(0, &zero), "sort 7", "no thread is 0");
        assert_eq!(names.name(2, &zero), "thread 0");
    }
}
