//! Sources from trace units, and buffers from pieces of trace.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use tracewright_core::TraceId;
use tracewright_image::Moment;

use super::faults::Faults;
use super::pieces::{self, Owner};
use super::recording::Recording;
use super::units::{Unit, Units};
use crate::capture::{Buffer, Packed, Piece};
use crate::packing::Packing;
use crate::raw::RawSource;
use crate::source::Source;

pub(super) fn name(owner: Owner) -> String {
    match owner {
        Owner::Cpu(cpu) => format!("cpu{cpu}"),
        Owner::Thread(tid) => format!("tid{tid}"),
    }
}

/// Sources, each with the sink that its ID is valid for, and the index of each CPU's source.
pub(super) type Sources = (Vec<(Source, Option<u32>)>, HashMap<u32, usize>);

/// Makes the sources of all units. `given` is what the user says of them.
pub(super) fn sources(
    recording: &Recording<'_>,
    units: &Units,
    given: &[RawSource],
    faults: &mut Faults,
) -> Sources {
    match units {
        Units::Riscv(riscv) => {
            let told = recording.aux.iter().filter(|record| record.aux.size > 0);
            let formats = told.clone().map(|record| record.aux.flags.format()).collect();
            let saved = recording.traces.iter().filter_map(|trace| trace.auxtrace.cpu);
            let cpus = told.filter_map(|record| record.id.cpu).chain(saved).collect();
            riscv.sources(&cpus, &formats, given, faults)
        }
        Units::CoreSight(units) => coresight(recording, units, faults),
    }
}

fn coresight(recording: &Recording<'_>, units: &[Unit], faults: &mut Faults) -> Sources {
    if units.is_empty() && !recording.traces.is_empty() {
        faults.error("nothing describes the trace units (AUXTRACE_INFO): their trace cannot be read");
    }
    let told = hardware_ids(recording, faults);
    // As in perf: if one unit uses another counter, it is unknown which one.
    let time = recording.time.filter(|_| units.iter().all(Unit::has_virtual_time));
    let mut sources = Vec::new();
    let mut by_cpu = HashMap::new();
    for unit in units {
        // Kernels that report IDs report those of all units.
        let (id, sink) = match told.get(&unit.cpu) {
            Some(&(id, sink)) => (Some(id), sink),
            None => (unit.id().filter(|_| told.is_empty()), None),
        };
        if by_cpu.contains_key(&unit.cpu) {
            faults.warning(format!("cpu{} is described twice: the first description counts", unit.cpu));
            continue;
        }
        match unit.source(id) {
            Ok(mut source) => {
                source.time = time;
                by_cpu.insert(unit.cpu, sources.len());
                sources.push((source, sink));
            }
            Err(error) => faults.error(format!("cpu{}: {error}: its trace cannot be read", unit.cpu)),
        }
    }
    (sources, by_cpu)
}

/// Returns the trace ID of each CPU, and the sink that it is valid for if other sinks may reuse it.
fn hardware_ids(recording: &Recording<'_>, faults: &mut Faults) -> BTreeMap<u32, (TraceId, Option<u32>)> {
    let mut ids = BTreeMap::new();
    for &(word, cpu) in &recording.hardware_ids {
        let (major, minor) = (word >> 60, word >> 56 & 0xf);
        if major != 0 {
            faults
                .warning(format!("trace IDs are told in version {major}, and 0 is known: they are not used"));
            return BTreeMap::new();
        }
        let id = TraceId::from_low_bits(word as u8);
        let sink = (minor > 0).then_some((word >> 8) as u32);
        let first = *ids.entry(cpu).or_insert((id, sink));
        if first.0 != id {
            faults
                .warning(format!("cpu{cpu} has trace ID {} and then {id}: only the first is read", first.0));
        }
    }
    ids
}

/// Key of a buffer: pieces with the same key belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    owner: Owner,
    file: usize,
    framed: bool,
    packed: bool,
    /// Source of unframed bytes, or the sink of framed ones.
    of: Option<u32>,
}

pub(super) fn buffers(
    recording: &Recording<'_>,
    units: &Units,
    pieces: &[pieces::Piece],
    paths: &[PathBuf],
    sources: &[(Source, Option<u32>)],
    by_cpu: &HashMap<u32, usize>,
) -> Vec<Buffer> {
    let mut groups: BTreeMap<Key, Vec<Piece>> = BTreeMap::new();
    for piece in pieces {
        let trace = &recording.traces[piece.trace];
        let cpu = match piece.owner {
            Owner::Cpu(cpu) => Some(cpu),
            Owner::Thread(_) => piece.cpu,
        };
        let sink = || cpu.and_then(|cpu| sources.get(*by_cpu.get(&cpu)?)?.1);
        let is_joined = piece.framed && matches!(units, Units::Riscv(riscv) if riscv.shares_stream());
        let is_own = matches!(units, Units::Riscv(_)) && !is_joined;
        let of = if piece.framed && !is_own { sink() } else { cpu };
        let key =
            Key { owner: piece.owner, file: trace.file, framed: piece.framed, packed: trace.packed, of };
        let packed = Packed { offset: trace.at, len: trace.len, skip: piece.from };
        let start = if trace.packed { trace.auxtrace.offset } else { trace.at };
        groups.entry(key).or_default().push(Piece {
            offset: start.saturating_add(piece.from),
            len: piece.len,
            moment: Moment { time: piece.time.unwrap_or(u64::MAX), thread: piece.tid },
            packed: trace.packed.then_some(packed),
        });
    }
    let mut buffers: Vec<Buffer> = Vec::new();
    for (key, pieces) in groups {
        let of: Vec<usize> = if let (true, Units::Riscv(riscv)) = (key.framed, units) {
            match riscv.shares_stream() {
                true => (0..sources.len()).collect(),
                false => key.of.and_then(|cpu| by_cpu.get(&cpu)).copied().into_iter().collect(),
            }
        } else if key.framed {
            let is_in = |(source, sink): &(Source, Option<u32>)| {
                let has_id = source.id().is_some_and(|id| (0x01..=0x6f).contains(&id.get()));
                has_id && (sink.is_none() || key.of.is_none() || *sink == key.of)
            };
            (0..sources.len()).filter(|&index| is_in(&sources[index])).collect()
        } else {
            key.of.and_then(|cpu| by_cpu.get(&cpu)).copied().into_iter().collect()
        };
        let mut name = name(key.owner);
        if let (Owner::Thread(_), false, Some(cpu)) = (key.owner, key.framed, key.of) {
            name += &format!("-cpu{cpu}");
        }
        let same = |buffer: &&Buffer| {
            buffer.name == name || buffer.name.strip_prefix(&name).is_some_and(|rest| rest.starts_with('#'))
        };
        match buffers.iter().filter(same).count() {
            0 => {}
            others => name += &format!("#{}", others + 1),
        }
        let format = match (key.framed, units) {
            (false, _) => Packing::Source,
            (true, Units::CoreSight(_)) => Packing::CoreSight,
            (true, Units::Riscv(_)) => Packing::CoreSightNexus,
        };
        buffers.push(Buffer {
            name,
            path: paths.get(key.file).cloned().unwrap_or_default(),
            format,
            sources: of,
            pieces: Some(pieces),
            contents: None,
            ring: None,
        });
    }
    buffers
}
