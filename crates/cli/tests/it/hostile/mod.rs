//! Hostile files and arguments: damaged inputs of every format through every verb that takes them, and options with values of
//! any kind. No run may panic, die by a signal, take too long, write something that was not asked for, or print JSON that is none.
//!
//! A run is decided by its number alone. `HOSTILE_RUNS=FROM-TO` says which are run: more than usual, or one again. What a failing run
//! was given is kept in `target/hostile`.
#![cfg(unix)]

mod cases;
mod corpus;
mod older;
mod process;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::run::{run, seeds};
use corpus::{Input, Kind};
use process::Worker;
use tracewright_testkit::Rng;
use tracewright_testkit::hostile::{damage_bytes, damage_text};

/// All verbs but demo, which reads nothing.
const VERBS: [&str; 15] = [
    "annotate", "conform", "coverage", "decode", "diff", "encode", "info", "isr", "merge", "packets",
    "profile", "record", "stalls", "stats", "timeline",
];

/// Failures after which nothing more is tried.
const ENOUGH: usize = 20;

/// How many runs ended with each status: 0, 1, 2, other.
type Tally = [AtomicU64; 4];

/// Does all runs on all cores. `prepare` writes the input of a run and returns its arguments.
fn all(name: &str, usual: u64, prepare: impl Fn(u64, &mut Rng, &Worker) -> Vec<String> + Sync) -> [u64; 4] {
    let runs = seeds("HOSTILE_RUNS", usual);
    let next = AtomicU64::new(runs.start);
    let failures = Mutex::new(Vec::new());
    let tally = Tally::default();
    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for number in 0..threads {
            let (next, failures, tally, prepare, end) = (&next, &failures, &tally, &prepare, runs.end);
            scope.spawn(move || {
                let worker = Worker::new(&format!("hostile-{name}-{number}"));
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= end || failures.lock().unwrap().len() >= ENOUGH {
                        break;
                    }
                    worker.clear();
                    let args = prepare(run, &mut Rng::new(run), &worker);
                    match worker.run(&args) {
                        Ok(status) => {
                            let slot = status.map_or(3, |status| status.clamp(0, 3) as usize);
                            tally[slot].fetch_add(1, Ordering::Relaxed);
                        }
                        Err(why) => {
                            let kept = keep(name, run, &worker);
                            failures.lock().unwrap().push(format!(
                                "{name} {run}: {why}\n  cd {} && tracewright {}",
                                kept.display(),
                                shown(&args)
                            ));
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of runs {runs:?}:\n{}", failures.len(), failures.join("\n"));
    tally.map(AtomicU64::into_inner)
}

/// Copies what a run was given to where it stays.
fn keep(name: &str, run: u64, worker: &Worker) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../hostile").join(format!("{name}-{run}"));
    let _ = fs::create_dir_all(folder.join("in")).and_then(|()| fs::create_dir_all(folder.join("out")));
    for entry in fs::read_dir(worker.input()).into_iter().flatten().flatten() {
        let _ = fs::copy(entry.path(), folder.join("in").join(entry.file_name()));
    }
    folder
}

fn shown(args: &[String]) -> String {
    let mut line = String::new();
    for arg in args {
        let arg: String = arg.chars().take(300).collect();
        let _ = write!(line, "{arg:?} ");
    }
    line
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}

/// Writes an input with one of its files damaged; `other` gives parts.
fn write(rng: &mut Rng, input: &Input, other: &Input, worker: &Worker) {
    let victim = rng.below(input.victims as u64) as usize;
    let parts = &rng.pick(&other.files).1;
    for (number, (name, bytes)) in input.files.iter().enumerate() {
        let mut bytes = bytes.clone();
        if number == victim {
            if is_text(&bytes) {
                damage_text(rng, &mut bytes, parts);
            } else {
                damage_bytes(rng, &mut bytes, parts);
            }
        }
        fs::write(worker.input().join(name), bytes).expect("a file in a temporary folder");
    }
}

fn write_all(input: &Input, worker: &Worker) {
    for (name, bytes) in &input.files {
        fs::write(worker.input().join(name), bytes).expect("a file in a temporary folder");
    }
}

#[test]
fn damaged_files_of_every_format() {
    let inputs = corpus::make();
    let tally = all("files", 10_000, |_, rng, worker| {
        let input = rng.pick(&inputs);
        write(rng, input, rng.clone().pick(&inputs), worker);
        cases::command(rng, input)
    });
    let [good, bad, refused, _] = tally;
    // Damage goes deeper than the first check of a file.
    assert!(2 * (good + bad) > refused || good + bad + refused < 100, "{tally:?}");
}

#[test]
fn hostile_arguments() {
    let inputs = corpus::make();
    let options: Vec<_> = VERBS
        .iter()
        .flat_map(|verb| {
            let options = cases::options(verb, &run!("help {verb}").out);
            assert!(options.len() > 3, "{verb}: {options:?}");
            options
        })
        .collect();
    all("arguments", 6_000, |run, rng, worker| {
        let (verb, option) = cases::hostile_option(run, &options);
        // What runs programs has most of its options for that.
        let is_wanted = |input: &Input, args: &[String]| {
            args[0] == verb && (verb != "record" || input.kind == Kind::Program)
        };
        let (input, mut args) = loop {
            let input = rng.pick(&inputs);
            let args = cases::command(rng, input);
            if is_wanted(input, &args) {
                break (input, args);
            }
        };
        write_all(input, worker);
        // Before the files: what comes after the program of `record` is the program's own.
        args.insert(1, option);
        if rng.one_in(4) {
            let (_, more) = cases::hostile_option(rng.next_u64(), &options);
            args.insert(1, more);
        }
        args
    });
}

/// Without damage, each input is what it is taken for: some verbs do something with it.
#[test]
fn good_files_are_good() {
    let inputs = corpus::make();
    let worker = Worker::new("hostile-good");
    for (number, input) in (0..).zip(&inputs) {
        let is_read = (0..6).any(|seed| {
            worker.clear();
            write_all(input, &worker);
            let args = cases::command(&mut Rng::new(seed), input);
            let status = worker.run(&args).unwrap_or_else(|why| panic!("{args:?}: {why}"));
            matches!(status, Some(0 | 1))
        });
        assert!(is_read, "{:?}, {}", input.kind, keep("good", number, &worker).display());
    }
}
