//! ETMv4 streams with branch broadcasting and cycle counting: the most bytes that a core can produce.
//!
//! With branch broadcasting every taken branch is an atom and an address; with cycle counting most are followed by a
//! count. Nearly every packet is a byte or two, and neighbours are of different kinds: the worst case for a reader.

use tracewright_etm::packet::{
    Address, AddressForm, Atoms, Context, CycleCount, InstructionSet, Packet, Security, Timestamp, TraceInfo,
};
use tracewright_etm::{Params, Registers};

use crate::Rng;
use crate::etm::Generator;

/// Returns the registers of the trace unit of these streams.
pub fn registers() -> Registers {
    Registers {
        trcconfigr: 1 | 1 << 3 | 1 << 4 | 1 << 11,
        trctraceidr: 0x10,
        // TRCBB, TRCCCI, RETSTACK, four events, 48-bit timestamps, COMMOPT = 1.
        trcidr0: 0x2600_0ea1,
        ..Registers::default()
    }
}

/// Makes about `len` bytes of trace of a core that runs a nest of loops and calls with short bodies. Branches and waits
/// repeat in patterns, as in programs.
pub fn program(seed: u64, len: usize) -> Vec<u8> {
    let mut stream = Stream::new(seed);
    let functions: Vec<_> =
        (0..24).map(|i| Function::random(&mut stream.rng, 0x40_0000 + i * 0x1400)).collect();
    let mut round = 0;
    while stream.bytes.len() < len {
        // A dispatcher that calls a few functions in turn, and sometimes another.
        let call = if stream.rng.one_in(20) { stream.rng.below(24) as usize } else { round % 5 };
        functions[call].run(&mut stream, &functions, 0);
        round += 1;
    }
    stream.bytes
}

/// Makes about `len` bytes of noise: each branch is independent of the one before. No program does this, and no branch
/// predictor, the reader's included, learns anything from it.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut stream = Stream::new(seed);
    while stream.bytes.len() < len {
        // A loop returns to one of the last targets; a call goes near, sometimes far.
        let state = stream.generator.trace_state();
        let target = match stream.rng.below(16) {
            0..=6 => state.history(stream.rng.below(3) as usize).0,
            7..=11 => state.history(0).0 & !0x1ff | stream.rng.below(128) << 2,
            12..=14 => state.history(0).0 & !0x1_ffff | stream.rng.below(1 << 15) << 2,
            _ => 0x40_0000 + (stream.rng.below(1 << 18) << 2),
        };
        let not_taken = if stream.rng.one_in(3) { stream.rng.below(3) as u8 } else { 0 };
        let cycles = match stream.rng.below(20) {
            0..=9 => Some(4 + stream.rng.below(4) as u32),
            10..=12 => Some(8 + stream.rng.below(12) as u32),
            13 => Some(20 + stream.rng.sized(10) as u32),
            _ => None,
        };
        let events = if stream.rng.one_in(20) { 1 + stream.rng.below(15) as u8 } else { 0 };
        stream.branch(not_taken, target, cycles, events);
    }
    stream.bytes
}

/// A stream under construction.
struct Stream {
    generator: Generator,
    rng: Rng,
    bytes: Vec<u8>,
    next_sync: usize,
    time: u64,
}

impl Stream {
    fn new(seed: u64) -> Self {
        let params = Params::new(&registers()).unwrap_or_else(|error| panic!("{error}"));
        let generator = Generator::new(params, Rng::new(0));
        Self { generator, rng: Rng::new(seed), bytes: Vec::new(), next_sync: 0, time: 0x1000_0000 }
    }

    fn say(&mut self, packet: Packet) {
        let (_, bytes) = self.generator.say(packet);
        self.bytes.extend_from_slice(&bytes);
    }

    /// Emits what a trace unit repeats every few kilobytes for readers to start at.
    fn sync(&mut self, at: u64) {
        self.next_sync = self.bytes.len() + 4096;
        self.time += self.rng.below(5000);
        let plctl = TraceInfo::INFO | TraceInfo::CYCT;
        let start = Address { value: at, is: InstructionSet::Is0, form: AddressForm::Long64 };
        self.say(Packet::Async);
        self.say(Packet::TraceInfo(TraceInfo { plctl, info: 1, cyct: 4, ..TraceInfo::default() }));
        self.say(Packet::AddressContext(start, Context::new(0, true, Security::NonSecure)));
        let bytes = self.generator.trace_state().timestamp_bytes(self.time);
        self.say(Packet::Timestamp(Timestamp { value: self.time, bytes, cycles: None }));
    }

    /// Emits branches not taken, then one taken to `target`; perhaps a cycle count, perhaps events.
    fn branch(&mut self, not_taken: u8, target: u64, cycles: Option<u32>, events: u8) {
        if self.bytes.len() >= self.next_sync {
            self.sync(target);
        }
        self.say(Packet::Atom(Atoms { bits: 1 << not_taken, count: not_taken + 1 }));
        let address = self.generator.trace_state().shortest(target, InstructionSet::Is0);
        self.say(Packet::Address(address));
        if let Some(cycles) = cycles {
            let format = match cycles - self.generator.trace_state().cycle_threshold() {
                0..=3 => 3,
                4..=15 => 2,
                _ => 1,
            };
            self.say(Packet::CycleCount(CycleCount { format, commit: None, cycles: Some(cycles) }));
        }
        if events != 0 {
            self.say(Packet::Event(events));
        }
    }
}

/// A loop: its blocks and its trip count.
struct Function {
    start: u64,
    blocks: Vec<Block>,
    trips: u64,
    call: Option<usize>,
}

/// Code that ends in a taken branch to the next block.
struct Block {
    target: u64,
    /// Number of branches passed on the way.
    not_taken: u8,
    /// Cycles, if they are counted.
    cycles: Option<u32>,
    /// Number of turns after which it waits for a cache miss.
    miss_every: u64,
}

impl Function {
    fn random(rng: &mut Rng, start: u64) -> Self {
        let blocks = (0..1 + rng.below(4)).map(|i| Block {
            target: start + 0x40 * (i + 1) + (rng.below(12) << 2),
            not_taken: if rng.one_in(3) { rng.below(3) as u8 } else { 0 },
            cycles: (!rng.one_in(3)).then(|| 4 + rng.below(5) as u32),
            miss_every: 8 + rng.below(120),
        });
        let blocks = blocks.collect();
        let call = rng.one_in(3).then(|| rng.below(24) as usize);
        Self { start, blocks, trips: 4 + rng.sized(6), call }
    }

    fn run(&self, stream: &mut Stream, functions: &[Self], depth: u32) {
        for trip in 0..self.trips {
            for block in &self.blocks {
                let miss = trip % block.miss_every == block.miss_every - 1;
                let cycles = if miss { Some(60 + 10 * (block.miss_every % 16) as u32) } else { block.cycles };
                stream.branch(block.not_taken, block.target, cycles, u8::from(miss));
            }
            stream.branch(0, self.start, None, 0);
            if let Some(call) = self.call.filter(|_| depth < 2 && trip % 4 == 3) {
                functions[call].run(stream, functions, depth + 1);
            }
        }
    }
}
