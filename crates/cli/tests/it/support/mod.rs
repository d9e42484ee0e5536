//! Captures that our encoder writes, long enough to be split at many synchronisation points.

pub mod delta;
pub mod hello;
pub mod hostile_elf;
pub mod m33;
pub mod opencsd;
pub mod processes;
pub mod recorded;
pub mod riscv_perf;
pub mod swo;

use std::num::NonZero;
use std::path::Path;

use crate::run::{Ran, run, text};
use tracewright_core::TraceId;
use tracewright_etm::encode::Encoder;
use tracewright_etm::{Protocol, Registers};
use tracewright_frames::{Framer, Options};
use tracewright_input::{MemorySpace, Packing, SnapshotWriter};
use tracewright_testkit::program::{Executor, Happenings, Program};
use tracewright_testkit::{Reader, Rng, Run};

/// One source's trace.
pub struct Source {
    pub registers: Registers,
    pub bytes: Vec<u8>,
}

impl Source {
    /// A long run of `program` under a random trace unit that synchronises every 512 bytes.
    pub fn random(rng: &mut Rng, program: &Program, id: u8, instructions: u64) -> Self {
        let Run { registers, mut options, .. } = Run::random(rng, program, id, Reader::Any);
        options.sync_every = NonZero::new(512);
        let happenings = Happenings {
            exceptions: 100,
            cycles: 10,
            cycle_threshold: options.cycle_threshold,
            timestamps: 50,
            markers: registers.trcidr0 & 1 << 23 != 0,
            events: 50,
            gaps: *rng.pick(&[0, 500]),
            overflows: *rng.pick(&[0, 0, 1000]),
            ..Happenings::default()
        };
        let executed = Executor::new(program, Rng::new(rng.next_u64()), happenings).elements(instructions);
        let mut encoder = Encoder::new(&registers, options).unwrap();
        let mut bytes = Vec::new();
        executed.iter().for_each(|element| encoder.element(element, &mut bytes).unwrap());
        Self { registers, bytes }
    }
}

/// The sources' bytes in frames, in small pieces.
pub fn frames(sources: &[Source], rng: &mut Rng) -> Vec<u8> {
    let mut framer = Framer::new(Options::default());
    let mut frames = Vec::new();
    let id = |source: &Source| TraceId::new(source.registers.trctraceidr as u8).unwrap();
    let mut rest: Vec<(TraceId, &[u8])> =
        sources.iter().map(|source| (id(source), &source.bytes[..])).collect();
    while !rest.is_empty() {
        let i = rng.below(rest.len() as u64) as usize;
        let (id, bytes) = &mut rest[i];
        let (piece, after) = bytes.split_at(bytes.len().min(rng.sized(7) as usize));
        framer.push(*id, piece, &mut frames).unwrap();
        *bytes = after;
        if after.is_empty() {
            rest.remove(i);
        }
    }
    framer.flush(&mut frames);
    frames
}

/// One source's bytes in frames.
pub fn framed(id: u8, bytes: &[u8]) -> Vec<u8> {
    let mut framer = Framer::new(Options::default());
    let mut frames = Vec::new();
    framer.push(TraceId::new(id).unwrap(), bytes, &mut frames).unwrap();
    framer.flush(&mut frames);
    frames
}

/// Writes a snapshot folder of a program that ran. Its trace is in `buffer_0.bin`.
pub fn write_snapshot(dir: &Path, program: &Program, sources: &[Source], format: Packing, trace: &[u8]) {
    let memory = program.segments.iter().map(|segment| (segment.address, &segment.bytes[..]));
    let sources = sources.iter().map(|Source { registers, .. }| {
        (if registers.protocol == Protocol::Ete { "ARM-AA64" } else { "Cortex-A53" }, registers)
    });
    write_folder(dir, "made by a test", (format, trace), memory, sources);
}

/// Writes a snapshot folder: trace, memory, and each source with the kind of its core.
pub fn write_folder<'a>(
    dir: &Path,
    description: &str,
    (format, trace): (Packing, &[u8]),
    memory: impl IntoIterator<Item = (u64, &'a [u8])>,
    sources: impl IntoIterator<Item = (&'a str, &'a Registers)>,
) {
    let mut writer = SnapshotWriter::create(dir).unwrap();
    writer.describe(description).unwrap();
    let buffer = writer.buffer("ETB_0", format, trace).unwrap();
    let mut memory = memory.into_iter();
    for (i, (core, registers)) in sources.into_iter().enumerate() {
        let kind = if registers.protocol == Protocol::Ete { "ETE" } else { "ETM4" };
        let core = writer.core(&format!("cpu_{i}"), core, &[]).unwrap();
        for (address, bytes) in memory.by_ref() {
            writer.dump(core, address, MemorySpace::ANY, bytes).unwrap();
        }
        let values: Vec<_> = registers.named().map(|(name, value)| (name, value.into())).collect();
        let source = writer.source(&format!("{}_{i}", &kind[..3]), kind, &values).unwrap();
        writer.connect(source, buffer, Some(core)).unwrap();
    }
    writer.finish().unwrap();
}

/// Runs `tracewright decode`.
pub fn decode(capture: &Path, options: &str, jobs: u32) -> Ran {
    run!("decode --jobs {jobs} {} {options}", text(capture))
}
