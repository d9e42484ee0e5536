//! Whole programs on the machine.

use std::path::Path;

use crate::support::{Record, Told};
use tracewright_hart::linux::{Linux, Options};
use tracewright_hart::timing::{Config, Model, Timed};
use tracewright_hart::{Hart, HartSink, Stop};

/// Takes the cycles out of all reports. Those of a block must come just before it.
fn without_cycles(Record(all): Record) -> (Vec<Told>, Vec<u64>) {
    let (mut told, mut cycles, mut waiting) = (Vec::new(), Vec::new(), 0);
    for one in all {
        match one {
            Told::Cycle(cycle) => {
                cycles.push(cycle);
                waiting += 1;
                continue;
            }
            Told::Block(block) => assert_eq!(std::mem::take(&mut waiting), block.count),
            _ => assert_eq!(waiting, 0),
        }
        told.push(one);
    }
    (told, cycles)
}

/// Runs a sample program up to `limit` instructions.
fn run<S: HartSink>(name: &str, argument: &str, limit: u64, sink: &mut S) -> Stop {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/bin").join(name);
    let options = Options { arguments: vec![name.into(), argument.into()], ..Options::default() };
    let (core, linux) = Linux::load(&path, options).unwrap();
    Hart::new(core, linux).run(limit, sink)
}

#[test]
fn the_inner_sink_gets_the_same_and_cycles() {
    for (name, argument) in [("sort.elf", "200"), ("fft.elf", "8"), ("recursion.elf", "8")] {
        let mut plain = Record::default();
        let stop = run(name, argument, 300_000, &mut plain);
        for preset in Config::preset_names().skip(1) {
            let model = Model::new(&Config::preset(preset).unwrap()).unwrap();
            let mut timed = Timed::new(model, Record::default());
            assert_eq!(run(name, argument, 300_000, &mut timed), stop);
            let (told, cycles) = without_cycles(timed.inner);
            assert!(told == plain.0, "{name}");
            assert!(cycles.is_sorted());
            let stats = timed.model.stats();
            assert_eq!(stats.instructions, cycles.len() as u64);
            assert_eq!(cycles.last(), Some(&stats.cycles));
            assert_eq!(stats.busy + stats.stalls.iter().sum::<u64>(), stats.cycles);
            // The range that any such pipeline has for such programs.
            assert!((0.5..4.0).contains(&stats.cpi()), "{name} {preset}\n{stats}");
            let data = plain.0.iter().filter(|told| matches!(told, Told::Access(_))).count() as u64;
            assert!(stats.dcache.hits + stats.dcache.misses >= data);
        }
    }
}
