//! What is printed does not depend on how many threads decode: not a byte, not the summary, not the exit status.

use std::path::Path;

use crate::support::{Source, decode, frames, write_snapshot};
use tracewright_input::Packing;
use tracewright_testkit::{Rng, Scratch, captures_for, program};

const STYLES: &[&str] =
    &["", "--instructions", "--elements", "--elements --json", "--instructions --json", "--style opencsd"];

/// Compares several numbers of threads with one thread. Returns how long what was printed is.
fn check(capture: &Path, options: &str) -> usize {
    let one = decode(capture, options, 1).ends_within(0..=1);
    for jobs in [2, 5] {
        let more = decode(capture, options, jobs);
        let what = format!("{capture:?} {options} --jobs {jobs}");
        assert_eq!((more.status, &more.err), (one.status, &one.err), "{what}");
        if more.out != one.out {
            let mut lines = more.out.lines().zip(one.out.lines()).enumerate();
            let (i, (more, one)) = lines.find(|(_, (more, one))| more != one).unwrap();
            panic!("{what}: line {i}:\n  {jobs} jobs {more}\n  1 job  {one}");
        }
    }
    one.out.len()
}

#[test]
fn captures_of_chips() {
    let Some(captures) = captures_for("captures_of_chips", "") else { return };
    for name in
        ["coresight/juno_r1_1", "coresight/juno-ret-stck", "coresight/ete_spec_3", "process/fib_trace1"]
    {
        for options in STYLES {
            check(&captures.join(name), options);
        }
    }
    // Part of the largest: it has 227 synchronisation points.
    let largest = captures.join("coresight/bugfix-exact-match");
    for options in STYLES {
        let part = format!("{options} --from 0x10000 --to 0x30000");
        assert!(check(&largest, &part) > 1_000_000, "{options}");
    }
}

/// Random programs under random trace units: with and without return stack, speculation, cycle counts; several in a
/// buffer of frames.
#[test]
fn random_runs() {
    let (mut return_stacks, mut speculating, mut synchronised) = (0, 0, 0);
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let program = program::generate(&mut rng, 2000);
        let sources: Vec<_> = (0x10..0x13).map(|id| Source::random(&mut rng, &program, id, 40_000)).collect();
        for Source { registers, bytes } in &sources {
            return_stacks += registers.trcconfigr >> 12 & 1;
            speculating += u32::from(registers.trcidr8 > 0);
            synchronised += bytes.len() / 4096;
        }
        let scratch = Scratch::new(&format!("parallel-{seed}"));
        let trace = frames(&sources, &mut rng);
        write_snapshot(scratch.path(), &program, &sources, Packing::CoreSight, &trace);
        for options in STYLES {
            check(scratch.path(), options);
        }
        check(scratch.path(), "--id 0x11");
        check(scratch.path(), "--from 5000 --to 0x4000");
    }
    assert!((3..16).contains(&return_stacks) && (3..16).contains(&speculating), "all kinds of trace units");
    assert!(synchronised > 30, "enough to split: {synchronised}");
}
