//! Programs with a planted stall (`programs/misses.c`, `programs/divides.c`): the model attributes most stall cycles to
//! that loop and that reason.

use std::collections::BTreeMap;
use std::path::Path;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, SymbolKind};
use tracewright_core::Block;
use tracewright_hart::linux::{Linux, Options, Streams};
use tracewright_hart::timing::{Config, Model, Reason, Stats, Timed};
use tracewright_hart::{Hart, HartSink, Stop};

/// Instructions of each function, and stall cycles before them.
struct ByFunction<'a> {
    /// Names by start address.
    functions: BTreeMap<u64, &'a str>,
    counts: BTreeMap<&'a str, (u64, u64)>,
    bits: Vec<u32>,
    cycles: Vec<u64>,
    last: u64,
}

impl HartSink for ByFunction<'_> {
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend(bits);
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.cycles.extend(cycles);
    }

    fn block(&mut self, block: &Block) {
        let mut pc = block.start;
        for (bits, cycle) in self.bits.drain(..).zip(self.cycles.drain(..)) {
            let name = self.functions.range(..=pc).next_back().map_or("", |(_, name)| name);
            let (instructions, stalled) = self.counts.entry(name).or_default();
            *instructions += 1;
            *stalled += (cycle - self.last).saturating_sub(1);
            self.last = cycle;
            pc += if bits & 3 == 3 { 4 } else { 2 };
        }
    }
}

/// Runs a program to its end.
fn run(name: &str, preset: &str) -> (BTreeMap<String, (u64, u64)>, Stats) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/bin").join(name);
    let file = std::fs::read(&path).unwrap();
    let elf = ElfFile64::<Endianness>::parse(&*file).unwrap();
    let functions = elf.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let sink = ByFunction {
        functions: functions.map(|symbol| (symbol.address(), symbol.name().unwrap())).collect(),
        counts: BTreeMap::new(),
        bits: Vec::new(),
        cycles: Vec::new(),
        last: 0,
    };
    let mut timed = Timed::new(Model::new(&Config::preset(preset).unwrap()).unwrap(), sink);
    let options = Options { arguments: vec![name.into()], streams: Streams::none(), ..Options::default() };
    let (core, linux) = Linux::load(&path, options).unwrap();
    assert_eq!(Hart::new(core, linux).run(10_000_000, &mut timed), Stop::Exit { status: 0 });
    let counts = timed.inner.counts.iter().map(|(&name, &counts)| (name.to_owned(), counts)).collect();
    (counts, *timed.model.stats())
}

/// Checks that at least `percent` of all stall cycles belong to `planted`, and to `reason`, while each of `others`
/// executes at least half as many instructions.
fn check(name: &str, preset: &str, (planted, reason): (&str, Reason), percent: u64, others: &[&str]) {
    let (counts, stats) = run(name, preset);
    assert!((300_000..2_000_000).contains(&stats.instructions), "{name}: {}", stats.instructions);
    let all: u64 = counts.values().map(|counts| counts.1).sum();
    assert_eq!(all, stats.stalls.iter().sum::<u64>(), "all stalled cycles are some function's");
    let (instructions, stalled) = counts[planted];
    assert!(stalled * 100 >= all * percent, "{name} {preset}: {stalled} of {all}: {counts:#?}");
    assert!(stats.stall(reason) * 100 >= all * percent, "{name} {preset}\n{stats}");
    for &other in others {
        assert!(counts[other].0 * 2 >= instructions, "{name}: {other} does too little: {counts:#?}");
    }
}

#[test]
fn a_list_across_memory_misses_the_data_cache() {
    let planted = ("walk_scattered_list", Reason::DataMiss);
    let others = ["walk_short_list", "sum_in_order", "stir_registers"];
    for (preset, percent) in [("rocket_like", 94), ("cva6_like", 74), ("dual_issue", 83)] {
        check("misses.elf", preset, planted, percent, &others);
    }
    // Without a cache, the same loop costs what the others do.
    let (counts, stats) = run("misses.elf", "tiny");
    assert!(stats.stalls.iter().sum::<u64>() * 100 < stats.cycles, "{stats}");
    assert_eq!(counts["walk_scattered_list"].0, counts["walk_short_list"].0);
}

#[test]
fn digits_by_division_wait_for_the_divider() {
    let planted = ("digits_by_division", Reason::MultiplyDivide);
    let others = ["digits_by_multiplication", "digits_by_subtraction"];
    for (preset, percent) in [("rocket_like", 93), ("cva6_like", 92), ("dual_issue", 82), ("tiny", 90)] {
        check("divides.elf", preset, planted, percent, &others);
    }
}
