//! OpenCSD (Debian's `trc_pkt_lister`, 1.3.3) on what our encoder writes: it must list exactly what was executed.
//!
//! Random programs run under several trace units at once, each with a random configuration of its own. Every range, exception,
//! context, timestamp, cycle count and event must come back, and nothing else.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_core::{Element, Ended, Security, TraceId};
use tracewright_etm::encode::{Commits, Encoder, Options};
use tracewright_etm::{Protocol, Registers};
use tracewright_frames::Framer;
use tracewright_input::SnapshotWriter;
use tracewright_input::snapshot::{BufferFormat, MemorySpace};
use tracewright_testkit::program::{self, Executor, Happenings, Program};
use tracewright_testkit::{Rng, lister, skip};

/// Snapshots, of four sources each.
const SNAPSHOTS: u64 = 60;

/// A temporary folder, removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What one trace unit saw, and wrote.
struct Source {
    registers: Registers,
    options: Options,
    executed: Vec<Element>,
    bytes: Vec<u8>,
}

impl Source {
    fn random(rng: &mut Rng, program: &Program, id: u8) -> Self {
        let registers = registers(rng, id);
        let happenings = Happenings {
            exceptions: *rng.pick(&[0, 5, 20, 200]),
            cycles: *rng.pick(&[2, 10]),
            cycle_threshold: *rng.pick(&[1, 4, 200]),
            timestamps: *rng.pick(&[5, 50]),
            events: *rng.pick(&[0, 20]),
            gaps: *rng.pick(&[0, 50, 200]),
            machines: 2,
            security: *rng.pick(&[Security::Secure, Security::NonSecure]),
        };
        let seed = rng.next_u64();
        // 1.3.3 empties the return stack where it reads Trace Info, not where that comes in the order of commits. So all must
        // be committed there, which it does not do for what only cycle counts commit.
        let return_stack = registers.trcconfigr & 1 << 12 != 0;
        let sync_every = *rng.pick(&[0, 40, 150, 1000]);
        let sync_every = if return_stack && cycle_counts_commit(&registers) { 0 } else { sync_every };
        let options = Options {
            sync_every: NonZero::new(sync_every),
            return_stack: *rng.pick(&[1, 3, 16]),
            cycle_threshold: happenings.cycle_threshold,
            commits: *rng.pick(&[Commits::AtMaxSpec, Commits::Implicit, Commits::Random(seed)]),
            commit_before_sync: return_stack || rng.one_in(2),
            mispredict: rng.one_in(2).then_some(seed),
        };
        let instructions = *rng.pick(&[200, 2000, 5000]);
        let executed = Executor::new(program, Rng::new(rng.next_u64()), happenings).elements(instructions);
        let mut encoder = Encoder::new(&registers, options.clone()).unwrap();
        let mut bytes = Vec::new();
        for element in &executed {
            encoder.element(element, &mut bytes).unwrap_or_else(|error| panic!("{element:?}: {error}"));
        }
        Self { registers, options, executed, bytes }
    }

    /// What went wrong, if OpenCSD's listing is not what was executed.
    fn check(&self, text: &str) -> Result<(), String> {
        let expected = lister::as_listed(&self.registers, self.executed.iter().copied());
        let listed = lister::elements(text, self.registers.trctraceidr as u8)?;
        // 1.3.3 does not commit with cycle counts: what only they commit is missing at the end.
        let p0 = |element: &&Element| match element {
            Element::Block(block) => block.ended != Ended::Cut,
            element => matches!(element, Element::Exception(_)),
        };
        let expected = match expected.split_at_checked(listed.len()) {
            Some((told, missing))
                if cycle_counts_commit(&self.registers)
                    && missing.iter().filter(p0).count() <= self.registers.trcidr8 as usize =>
            {
                told
            }
            _ => &expected[..],
        };
        if let Some(i) = (0..expected.len().max(listed.len())).find(|&i| listed.get(i) != expected.get(i)) {
            let (listed, expected) = (listed.get(i), expected.get(i));
            return Err(format!("element {i}:\n  executed {expected:x?}\n  listed   {listed:x?}"));
        }
        Ok(())
    }
}

/// Whether TRCIDR0.COMMOPT is 0 and matters.
fn cycle_counts_commit(registers: &Registers) -> bool {
    registers.trcidr8 > 0 && registers.trcconfigr & 1 << 4 != 0 && registers.trcidr0 & 1 << 29 == 0
}

/// Random registers of a trace unit whose trace 1.3.3 can decode.
fn registers(rng: &mut Rng, id: u8) -> Registers {
    let protocol = if rng.one_in(4) { Protocol::Ete } else { Protocol::Etm4 };
    let minor = rng.below(if protocol == Protocol::Etm4 { 7 } else { 3 }) as u32;
    let mut on = |bit: u32| (rng.below(2) as u32) << bit;
    // BB, CCI, CID, VMID, TS, RS.
    let trcconfigr = 1 | on(3) & on(3) | on(4) | on(6) | on(7) | on(11) | on(12);
    // COMMOPT; in all TRCBB, TRCCCI, RETSTACK, four events, 64-bit timestamps.
    let trcidr0 = 0x0800_0ea1 | on(29);
    // WFXMODE; in all 64-bit addresses, 32-bit context IDs, 20-bit cycle counts.
    let trcidr2 = 0x1000_0088 | on(31);
    let vmid_size = *rng.pick(if minor == 0 { &[1][..] } else { &[1, 2, 4] });
    Registers {
        protocol,
        trcconfigr,
        trctraceidr: id.into(),
        trcidr0,
        trcidr1: 0x4100_f403 | minor << 4,
        trcidr2: trcidr2 | vmid_size << 10,
        trcidr8: *rng.pick(&[0, 0, 0, 1, 3, 16, 78]),
        trcdevarch: 0x4770_5a13 | minor << 16,
        ..Registers::default()
    }
}

fn write_snapshot(dir: &Path, program: &Program, sources: &[Source], rng: &mut Rng) {
    let mut framer = Framer::new(tracewright_frames::Options::default());
    let mut frames = Vec::new();
    let mut rest: Vec<(TraceId, &[u8])> = sources
        .iter()
        .map(|source| (TraceId::new(source.registers.trctraceidr as u8).unwrap(), &source.bytes[..]))
        .collect();
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
    let mut writer = SnapshotWriter::create(dir).unwrap();
    let buffer = writer.buffer("ETB_0", BufferFormat::CoreSight, &frames[..]).unwrap();
    for (i, source) in sources.iter().enumerate() {
        let ete = source.registers.protocol == Protocol::Ete;
        let core =
            writer.core(&format!("cpu_{i}"), if ete { "ARM-AA64" } else { "Cortex-A53" }, &[]).unwrap();
        let dumps = if i == 0 { &program.segments[..] } else { &[] };
        for segment in dumps {
            writer.dump(core, segment.address, MemorySpace::ANY, &segment.bytes[..]).unwrap();
        }
        let values: Vec<_> = source.registers.named().map(|(name, value)| (name, value.into())).collect();
        let kind = if ete { "ETE" } else { "ETM4" };
        let source = writer.source(&format!("ETM_{i}"), kind, &values).unwrap();
        writer.connect(source, buffer, Some(core)).unwrap();
    }
    writer.finish().unwrap();
}

fn list(dir: &Path) -> Option<String> {
    let listing = Command::new("trc_pkt_lister")
        .args(["-ss_dir", dir.to_str()?, "-decode_only", "-logstdout"])
        .current_dir(dir)
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&listing.stdout).into_owned())
}

/// The law for snapshots made with these seeds.
fn opencsd_agrees(seeds: impl Iterator<Item = u64>) -> Result<(), String> {
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let size = 1 << (6 + rng.below(7));
        let program = program::generate(&mut rng, size);
        let sources: Vec<_> = (0..4).map(|i| Source::random(&mut rng, &program, 0x10 + i as u8)).collect();
        let name = format!("tracewright-encode-{}-{seed}", std::process::id());
        let scratch = Scratch(std::env::temp_dir().join(name));
        write_snapshot(&scratch.0, &program, &sources, &mut rng);
        let text = list(&scratch.0).unwrap_or_default();
        for source in &sources {
            let Source { registers, options, .. } = source;
            source
                .check(&text)
                .map_err(|error| format!("seed {seed}, {registers:x?}, {options:?}: {error}"))?;
        }
    }
    Ok(())
}

#[test]
fn opencsd_lists_what_was_executed() {
    if Command::new("trc_pkt_lister").arg("-h").current_dir(std::env::temp_dir()).output().is_err() {
        return skip(
            "opencsd_lists_what_was_executed",
            "trc_pkt_lister (Debian package libopencsd-bin) is not installed",
        );
    }
    // More than the usual: ENCODE_SEEDS=1000-3000 cargo test -p tracewright --test encode
    let seeds = std::env::var("ENCODE_SEEDS").unwrap_or(format!("0-{SNAPSHOTS}"));
    let (from, to) = seeds.split_once('-').unwrap();
    opencsd_agrees(from.parse().unwrap()..to.parse().unwrap()).unwrap_or_else(|error| panic!("{error}"));
}
