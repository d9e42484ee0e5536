//! Threads, signals, processes and sudden ends in the retirement log.

use crate::support;
use crate::support::addresses;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use addresses::Addresses;
use support::{plugin, record};
use tracewright_hart::Trap;
use tracewright_qemu::format::Off;
use tracewright_qemu::read::Log;
use tracewright_testkit::Scratch;
use tracewright_testkit::qemu::{Guest, Program, Variant, build};

/// Runs a check on each processor that can be emulated and compiled for.
fn everywhere(test: &str, name: &str, variant: Variant, check: impl Fn(Guest, &Path)) {
    for guest in Guest::ALL {
        if guest.available(test)
            && let Some(elf) = build(test, guest, name, variant)
        {
            check(guest, &elf);
        }
    }
}

#[test]
fn threads_are_told_apart() {
    everywhere("threads", "threads", Variant::Pie, |guest, elf| {
        let mut recorded = record(&Program::new(guest, elf, &[]));
        assert!(recorded.status.success(), "{guest:?}");
        let threads: Vec<_> = recorded.log.threads().collect();
        assert_eq!(threads, [0, 1, 2, 3, 4], "{guest:?}");
        for thread in threads {
            let (ran, off) = Addresses::of(&mut recorded.log, thread);
            assert_eq!((ran.lost, off), (0, Some(Off::Exit)), "{guest:?} {thread}");
            assert!(ran.all.len() > 50_000, "{guest:?} {thread}: {}", ran.all.len());
            assert!(ran.traps.iter().all(|trap| !trap.interrupt), "{guest:?} {thread}");
        }
    });
}

/// Returns whether the trap is that of a forbidden load or store: mcause, or ETMv4's exception type.
fn is_data_fault(guest: Guest, trap: &Trap) -> bool {
    let causes: &[u64] = if guest == Guest::Riscv64 { &[13, 15] } else { &[0xc] };
    !trap.interrupt && causes.contains(&trap.cause)
}

#[test]
fn signals_are_told() {
    everywhere("signals", "signals", Variant::Static, |guest, elf| {
        let mut recorded = record(&Program::new(guest, elf, &[]));
        assert!(recorded.status.success(), "{guest:?}");
        let (ran, off) = Addresses::of(&mut recorded.log, 0);
        assert_eq!(off, Some(Off::Exit), "{guest:?}");
        let faults = ran.traps.iter().filter(|trap| is_data_fault(guest, trap)).count();
        // Eight that the handler repairs, five that it leaves.
        assert_eq!(faults, 13, "{guest:?}: {:x?}", ran.traps);
        // At least ten of the timer. Those that the program sends to itself come at the end of a system call.
        let interrupts =
            ran.traps.iter().filter(|trap| trap.interrupt || trap.served && trap.next != trap.pc).count();
        assert!(interrupts + ran.lost >= 10, "{guest:?}: {interrupts} and {}", ran.lost);
        assert!(ran.lost <= 200, "{guest:?}: {}", ran.lost);
    });
}

#[test]
fn forks_have_logs_of_their_own() {
    everywhere("forks", "fork", Variant::Static, |guest, elf| {
        let folder = Scratch::new("events");
        let file = folder.path().join("log");
        let option = format!("{},log={},forks=follow", plugin().display(), file.display());
        let status = Program::new(guest, elf, &["exec"]).run_silently(&["-plugin", &option]).unwrap();
        assert!(status.success(), "{guest:?}: {status}");
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert_eq!(files.len(), 3, "{guest:?}: {files:?}");
        let mut logs: Vec<Log> = files.iter().map(|file| Log::open(file).unwrap()).collect();
        let parent = logs.iter().find(|log| log.header().forked_from == 0).unwrap().header().pid;
        let mut ends = Vec::new();
        for log in &mut logs {
            assert!([0, parent].contains(&log.header().forked_from), "{guest:?}");
            let first = log.threads().next().unwrap();
            let (ran, off) = Addresses::of(log, first);
            ends.push((off, ran.all.len() > 10_000));
        }
        // The first became another program, the second exited, the third was killed while it waited.
        assert!(ends.contains(&(Some(Off::Exec), true)), "{guest:?}: {ends:?}");
        assert!(ends.contains(&(Some(Off::Exit), true)), "{guest:?}: {ends:?}");
        assert!(ends.contains(&(None, false)), "{guest:?}: {ends:?}");
    });
}

/// A thread ends the process while others run: what ran of all of them is there.
#[test]
fn a_process_that_is_left_is_complete() {
    everywhere("leave", "leave", Variant::Static, |guest, elf| {
        let mut recorded = record(&Program::new(guest, elf, &[]));
        assert_eq!(recorded.status.code(), Some(4), "{guest:?}");
        let threads: Vec<_> = recorded.log.threads().collect();
        assert_eq!(threads, [0, 1, 2, 3], "{guest:?}");
        for thread in threads {
            let (ran, _) = Addresses::of(&mut recorded.log, thread);
            assert_eq!(ran.lost, 0, "{guest:?} {thread}");
            assert!(!ran.all.is_empty(), "{guest:?} {thread}");
        }
    });
}

/// After a kill at any moment, the log can be read up to the last complete block.
#[test]
fn what_was_recorded_survives_a_kill() {
    everywhere("kill", "crash", Variant::Static, |guest, elf| {
        let folder = Scratch::new("events");
        for round in 0..4 {
            let file = folder.path().join(round.to_string());
            let option = format!("{},log={}", plugin().display(), file.display());
            let program = Program::new(guest, elf, &["forever"]);
            let mut child = program.start_silently(&["-plugin", &option]).unwrap();
            // Until there is enough: several chunks in the later rounds.
            let enough = 600_000 * round + 5000;
            let start = Instant::now();
            while fs::metadata(&file).map_or(0, |file| file.len()) < enough {
                assert!(start.elapsed() < Duration::from_secs(60), "{guest:?}: nothing is written");
                thread::sleep(Duration::from_millis(3));
            }
            thread::sleep(Duration::from_millis(20));
            child.kill().unwrap();
            child.wait().unwrap();
            let mut log = Log::open(&file).unwrap();
            assert!(log.damage().is_none(), "{guest:?}: {:?}", log.damage());
            let (ran, off) = Addresses::of(&mut log, 0);
            assert_eq!((ran.lost, off), (0, None), "{guest:?} {round}");
            if round > 0 {
                // The whole loop: a few instructions, over and over.
                let last: std::collections::BTreeSet<_> = ran.all[ran.all.len() - 10_000..].iter().collect();
                assert!((5..40).contains(&last.len()), "{guest:?}: {last:x?}");
            }
        }
    });
}
