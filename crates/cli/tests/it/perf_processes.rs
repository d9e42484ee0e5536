//! Recordings of several processes whose programs lie at the same addresses: each block must come from the program of the process
//! that ran it, at the time when it ran.

use crate::perf::{instructions, perf_script};
use crate::support::processes::{Made, Running, map, started};
use tracewright_etm::Protocol;
use tracewright_testkit::perf::who;
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
