//! Whole programs on the machine.

use std::path::Path;

use tracewright_core::Block;
use tracewright_hart::linux::{Linux, Options};
use tracewright_hart::timing::{Config, Model, Timed};
use tracewright_hart::{Access, Hart, HartSink, Privilege, Stop, Trap};

/// A report to a sink.
#[derive(Debug, PartialEq)]
enum Told {
    Block(Block),
    Access(Access),
    Instructions(Vec<u32>),
    Trap(Trap),
    Privilege(Privilege),
}

#[derive(Default)]
struct Record {
    told: Vec<Told>,
    cycles: Vec<u64>,
    /// Cycles reported, and no block yet.
    waiting: Option<usize>,
}

impl HartSink for Record {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        if let Some(count) = self.waiting.take() {
            assert_eq!(count, block.count as usize);
        }
        self.told.push(Told::Block(*block));
    }

    fn access(&mut self, access: &Access) {
        self.told.push(Told::Access(*access));
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.told.push(Told::Instructions(bits.to_vec()));
    }

    fn cycles(&mut self, cycles: &[u64]) {
        assert_eq!(self.waiting.replace(cycles.len()), None);
        self.cycles.extend(cycles);
    }

    fn trap(&mut self, trap: &Trap) {
        self.told.push(Told::Trap(*trap));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.told.push(Told::Privilege(privilege));
    }
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
            assert!(timed.inner.told == plain.told, "{name}");
            assert!(timed.inner.cycles.is_sorted());
            let stats = timed.model.stats();
            assert_eq!(stats.instructions, timed.inner.cycles.len() as u64);
            assert_eq!(timed.inner.cycles.last(), Some(&stats.cycles));
            assert_eq!(stats.busy + stats.stalls.iter().sum::<u64>(), stats.cycles);
            // The range that any such pipeline has for such programs.
            assert!((0.5..4.0).contains(&stats.cpi()), "{name} {preset}\n{stats}");
            let data = plain.told.iter().filter(|told| matches!(told, Told::Access(_))).count() as u64;
            assert!(stats.dcache.hits + stats.dcache.misses >= data);
        }
    }
}
