//! Recordings of several processes whose programs lie at the same addresses: each block must come from the program of the process
//! that ran it, at the time when it ran.

use std::collections::{BTreeMap, BTreeSet};

use crate::perf::{instructions, perf_script};
use crate::run::{run, text};
use crate::support::processes::{Made, Running, map, started};
use tracewright_etm::Protocol;
use tracewright_testkit::perf::{Who, who};
use tracewright_testkit::{Scratch, skip};

fn two_processes(protocol: Protocol, scratch: &Scratch) -> Made {
    let (mut made, programs, mut rng) = started(41, protocol, scratch);
    map(&mut made.recording, who(100, 0), &programs[0], "/bin/one");
    map(&mut made.recording, who(200, 0), &programs[1], "/bin/two");
    made.take_turns(&programs, &mut rng);
    made
}

#[test]
fn processes_at_the_same_addresses_are_kept_apart() {
    let scratch = Scratch::new("perf-two");
    two_processes(Protocol::Etm4, &scratch).check(&scratch);
}

#[test]
fn vmids_and_raw_trace_do_as_well() {
    let scratch = Scratch::new("perf-two-raw");
    two_processes(Protocol::Ete, &scratch).check(&scratch);
}

/// Long enough to be decoded in several windows, by several threads at once.
#[test]
fn long_pieces_are_split_between_threads() {
    let scratch = Scratch::new("perf-long");
    let (mut made, programs, mut rng) = started(43, Protocol::Etm4, &scratch);
    map(&mut made.recording, who(100, 0), &programs[0], "/bin/one");
    map(&mut made.recording, who(200, 0), &programs[1], "/bin/two");
    let mut running =
        [(0, 100), (1, 200)].map(|(program, tid)| Running::new(&programs[program], tid, &mut rng));
    for time in 1..4 {
        let mut elements = Vec::new();
        for turn in 0..40 {
            elements.extend(running[turn % 2].run(Protocol::Etm4, 5000));
        }
        made.piece(who(100, 10 * time), &elements);
    }
    assert!(made.trace.len() > 100_000, "{}", made.trace.len());
    made.check(&scratch);
}

#[test]
fn a_process_that_runs_another_program_changes() {
    let scratch = Scratch::new("perf-exec");
    let (mut made, programs, mut rng) = started(42, Protocol::Etm4, &scratch);
    map(&mut made.recording, who(100, 0), &programs[0], "/bin/one");
    let mut one = Running::new(&programs[0], 100, &mut rng);
    let mut child = Running::new(&programs[0], 200, &mut rng);
    let mut other = Running::new(&programs[1], 200, &mut rng);
    made.piece(who(100, 10), &one.run(Protocol::Etm4, 1000));
    made.recording.fork(who(200, 20), 100);
    made.piece(who(200, 30), &child.run(Protocol::Etm4, 1000));
    made.recording.comm(who(200, 40), "two", true);
    map(&mut made.recording, who(200, 41), &programs[1], "/bin/two");
    let both = [one.run(Protocol::Etm4, 500), other.run(Protocol::Etm4, 500)].concat();
    made.piece(who(200, 50), &both);
    made.check(&scratch);
}

/// The same by perf, which we did not write.
#[test]
fn perf_keeps_them_apart_as_we_do() {
    let scratch = Scratch::new("perf-itself");
    let mut made = two_processes(Protocol::Etm4, &scratch);
    let path = made.write(&scratch);
    let options = ["--itrace=i1i", "-F", "ip"];
    let Some(listed) = perf_script(&path, &scratch.path().join("root"), &options) else {
        return skip("processes by perf", "no perf that reads CoreSight");
    };
    let listed = instructions(&listed);
    let expected: Vec<u64> = made.ran.iter().flat_map(|block| (block.start..block.end).step_by(4)).collect();
    assert!(listed == expected, "{} instructions by perf, {} ran", listed.len(), expected.len());
}

/// Instructions by thread, as the stacks of `profile` name it.
fn by_thread(path: &str, symfs: &str) -> BTreeMap<String, u64> {
    let folded = run!("profile --format folded -o - {path} --symfs {symfs}").nameless().out;
    let mut threads = BTreeMap::new();
    for line in folded.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        let thread = stack.split(';').next().unwrap();
        *threads.entry(thread.to_owned()).or_default() += count.parse::<u64>().unwrap();
    }
    threads
}

/// Threads have the names that perf gives them, whether context IDs or VMIDs tell them.
#[test]
fn threads_have_the_names_that_perf_gives_them() {
    for protocol in [Protocol::Etm4, Protocol::Ete] {
        let scratch = Scratch::new(&format!("perf-names-{protocol:?}"));
        let mut made = two_processes(protocol, &scratch);
        made.recording.comm(Who { tid: 101, ..who(100, 2) }, "worker", false);
        let (path, symfs) = (made.write(&scratch), scratch.path().join("root"));
        let ours = by_thread(text(&path), text(&symfs));
        let names: Vec<_> = ours.keys().map(String::as_str).collect();
        assert_eq!(names, ["one 100", "one 100, worker 101", "two 200"]);
        for (name, tid) in names.iter().zip([100, 101, 200]) {
            let ran = made.ran.iter().zip(&made.by).filter(|(_, by)| **by == tid);
            assert_eq!(ours[*name], ran.map(|(block, _)| u64::from(block.count)).sum::<u64>());
        }
        for format in ["chrome", "firefox", "perfetto"] {
            let out = scratch.join(format);
            run!("timeline --format {format} -o {out} {} --symfs {}", text(&path), text(&symfs)).nameless();
            let written = String::from_utf8_lossy(&std::fs::read(&out).unwrap()).into_owned();
            assert!(names.iter().all(|name| written.contains(name)), "{format}");
        }
        let options = ["--itrace=i1i", "-F", "comm,tid"];
        let Some(listed) = perf_script(&path, &symfs, &options) else {
            return skip("names of threads by perf", "no perf that reads CoreSight");
        };
        // perf attributes what ran around a switch to the wrong thread, so that only names are compared.
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let theirs: BTreeSet<String> = listed.lines().map(words).filter(|line| !line.is_empty()).collect();
        let last = |name: &String| name.rsplit(", ").next().unwrap().to_owned();
        assert_eq!(ours.keys().map(last).collect::<BTreeSet<_>>(), theirs, "{protocol:?}");
    }
}
