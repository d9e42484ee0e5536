//! A recording as a capture.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tracewright_core::TraceId;
use tracewright_image::{Bytes, Moment};

use super::faults::Faults;
use super::fields::section;
use super::header::MAGIC;
use super::pieces::{self, Owner, Tally};
use super::programs::RecordedPrograms;
use super::recording::{Reader, Recording};
use super::timeline::{Timeline, timeline};
use super::unpack::unpack;
use crate::Capture;
use crate::capture::{Buffer, BufferFormat, Packed, Piece, Source};
use crate::mapping::{Mapping, Process};
use crate::problem::Problem;
use crate::program::map_file;

/// Trace that was compressed is no more than this in one piece: no buffer is as large.
const MOST_UNPACKED: usize = 1 << 30;
/// No more mappings are listed with the processes.
const MOST_LISTED: usize = 1 << 17;

/// The file of a recording: itself, or one in the folder that perf makes of several files.
fn data_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("data") } else { path.to_owned() }
}

/// Whether this is a recording of perf or simpleperf: a file, or a folder of them.
pub fn is_recording(path: &Path) -> bool {
    let mut magic = [0; 8];
    let file = data_file(path);
    let read = file.is_file().then(|| File::open(file).and_then(|mut file| file.read_exact(&mut magic)));
    // Those of other machines are told so.
    matches!(read, Some(Ok(()))) && [MAGIC, b"2ELIFREP", b"PERFFILE"].contains(&&magic)
}

/// Opens a recording. Programs are looked for in the folders `symfs` when an image is made.
///
/// # Errors
/// When there is no recording to be read at all; lesser faults are in [`Capture::problems`].
pub fn open(path: &Path, symfs: &[PathBuf]) -> Result<Capture, Problem> {
    let first = data_file(path);
    let mut faults = Faults::default();
    let mut paths = vec![first.clone()];
    let map = |path: &Path| map_file(path).map_err(|problem| Problem::file_error(path, problem.message));
    let mut files: Vec<Bytes> = vec![map(&first)?];
    if path.is_dir() {
        for further in
            (0..).map(|number| path.join(format!("data.{number}"))).take_while(|file| file.exists())
        {
            match map(&further) {
                Ok(bytes) => {
                    files.push(bytes);
                    paths.push(further);
                }
                Err(problem) => faults.error(format!("{}: {}", further.display(), problem.message)),
            }
        }
    }
    let mut reader = Reader::new(&mut faults);
    for (index, file) in files.iter().enumerate() {
        match index {
            0 => reader.first(file.as_slice()).map_err(|message| Problem::file_error(&first, message))?,
            _ => reader.further(file.as_slice()),
        }
    }
    let recording = reader.finish();
    let kcore = Some(path.join("kcore_dir").join("kcore")).filter(|kcore| kcore.is_file());
    let mut capture = capture(path, &paths, recording, kcore, &mut faults);
    if let Some(recorded) = &mut capture.recorded {
        recorded.symfs = symfs.to_vec();
    }
    capture.problems.extend(faults.problems(path));
    Ok(capture)
}

/// What was compressed in a file, whole.
///
/// # Errors
/// When it cannot be read, or is damaged.
pub fn unpacked(path: &Path, packed: Packed) -> Result<Vec<u8>, Problem> {
    let file = map_file(path).map_err(|problem| Problem::file_error(path, problem.message))?;
    let mut bytes = Vec::new();
    let result = unpack(&[section(file.as_slice(), packed.offset, packed.len)], |part| {
        bytes.extend_from_slice(part);
        bytes.len() < MOST_UNPACKED
    });
    let at = packed.offset;
    result.map_err(|message| Problem::file_error(path, format!("at {at:#x}: {message}")))?;
    if bytes.len() >= MOST_UNPACKED {
        return Err(Problem::file_error(
            path,
            format!("at {at:#x}: more than {MOST_UNPACKED} bytes in one piece"),
        ));
    }
    Ok(bytes)
}

fn capture(
    path: &Path,
    paths: &[PathBuf],
    mut recording: Recording<'_>,
    kcore: Option<PathBuf>,
    faults: &mut Faults,
) -> Capture {
    let (pieces, tallies) = pieces::pieces(&recording, faults);
    let (sources, by_cpu) = sources(&recording, faults);
    for (owner, tally) in &tallies {
        tell(*owner, tally, faults);
    }
    if recording.lost > 0 {
        faults.warning(format!(
            "the kernel had no room for {} records: what they told is not known",
            recording.lost
        ));
    }
    if recording.units.is_empty() && recording.traces.is_empty() && recording.aux.is_empty() {
        faults.error("it holds no hardware trace: was it recorded with -e cs_etm//?");
    }
    let mut observed: Vec<u64> = pieces.iter().filter_map(|piece| piece.time).collect();
    observed.sort_unstable();
    let events = std::mem::take(&mut recording.events);
    let timeline = timeline(events, &recording.features.build_ids, &observed, faults);
    let buffers = buffers(&recording, &pieces, paths, &sources, &by_cpu);
    let features = recording.features;
    let description = [
        Some(if features.simpleperf.is_some() { "simpleperf".to_owned() } else { "Linux perf".to_owned() }),
        features.arch,
        features.release.clone(),
        (!features.command.is_empty()).then(|| features.command.join(" ")),
    ];
    Capture {
        path: path.into(),
        description: Some(description.into_iter().flatten().collect::<Vec<_>>().join(", ")),
        sources: sources.into_iter().map(|(source, _)| source).collect(),
        buffers,
        memory: Vec::new(),
        programs: Vec::new(),
        processes: processes(&timeline),
        recorded: Some(Box::new(RecordedPrograms {
            timeline,
            path: paths.first().cloned().unwrap_or_default(),
            symfs: Vec::new(),
            kcore,
            release: features.release,
            modules: features.modules,
        })),
        problems: Vec::new(),
    }
}

/// Says what became of an owner's trace.
fn tell(owner: Owner, tally: &Tally, faults: &mut Faults) {
    let name = name(owner);
    let Tally { truncated, partial, collision, missing, missing_bytes, untold_bytes } = *tally;
    let flags = [(truncated, "truncated"), (partial, "partial"), (collision, "collided")];
    let flags: Vec<_> =
        flags.iter().filter(|(count, _)| *count > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !flags.is_empty() {
        faults.warning(format!(
            "{name}: trace was lost while it was recorded (AUX records: {})",
            flags.join(", ")
        ));
    }
    if missing > 0 {
        faults.warning(format!(
            "{name}: {missing_bytes} bytes of trace were not saved, as {missing} AUX records tell"
        ));
    }
    if untold_bytes > 0 {
        faults.warning(format!(
            "{name}: no AUX record tells of {untold_bytes} bytes of trace: they are read as they are"
        ));
    }
}

fn name(owner: Owner) -> String {
    match owner {
        Owner::Cpu(cpu) => format!("cpu{cpu}"),
        Owner::Thread(tid) => format!("tid{tid}"),
    }
}

/// Sources, each with the sink that its ID is good for; and which of them a CPU is.
type Sources = (Vec<(Source, Option<u32>)>, HashMap<u32, usize>);

fn sources(recording: &Recording<'_>, faults: &mut Faults) -> Sources {
    if recording.units.is_empty() && !recording.traces.is_empty() {
        faults.error("nothing describes the trace units (AUXTRACE_INFO): their trace cannot be read");
    }
    let told = hardware_ids(recording, faults);
    let mut sources = Vec::new();
    let mut by_cpu = HashMap::new();
    for unit in &recording.units {
        // Kernels that tell IDs tell them of all that trace.
        let (id, sink) = match told.get(&unit.cpu) {
            Some(&(id, sink)) => (Some(id), sink),
            None => (unit.id().filter(|_| told.is_empty()), None),
        };
        if by_cpu.contains_key(&unit.cpu) {
            faults.warning(format!("cpu{} is described twice: the first description counts", unit.cpu));
            continue;
        }
        match unit.source(id) {
            Ok(source) => {
                by_cpu.insert(unit.cpu, sources.len());
                sources.push((source, sink));
            }
            Err(error) => faults.error(format!("cpu{}: {error}: its trace cannot be read", unit.cpu)),
        }
    }
    (sources, by_cpu)
}

/// By CPU: its trace ID, and the sink that the ID is good for, if others may have the same.
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

/// What makes pieces belong to one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    owner: Owner,
    file: usize,
    framed: bool,
    packed: bool,
    /// Without frames: whose bytes they are. In frames: the sink they were written to.
    of: Option<u32>,
}

fn buffers(
    recording: &Recording<'_>,
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
        let of = if piece.framed { sink() } else { cpu };
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
        let of: Vec<usize> = if key.framed {
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
        let format = if key.framed { BufferFormat::CoreSight } else { BufferFormat::SourceData };
        buffers.push(Buffer {
            name,
            path: paths.get(key.file).cloned().unwrap_or_default(),
            format,
            sources: of,
            pieces: Some(pieces),
        });
    }
    buffers
}

/// The processes, with what they had mapped last.
fn processes(timeline: &Timeline) -> Vec<Process> {
    let mut room = MOST_LISTED;
    let process = |process: &super::timeline::ProcessLine| {
        let number = process.memories.last().map_or(0, |&(_, number)| number as usize);
        let memory = number.checked_sub(1).and_then(|index| timeline.memories.get(index));
        let mappings = memory.into_iter().flat_map(|memory| memory.mappings.iter()).take(room);
        let mappings: Vec<Mapping> = mappings
            .map(|(&start, mapped)| {
                let file = &timeline.files[mapped.file as usize];
                let path = (!file.path.is_empty()).then(|| PathBuf::from(&file.path));
                let build_id = file.build_id.as_ref().map(super::record::BuildId::hex);
                Mapping { start, end: mapped.end, offset: mapped.offset, path, build_id }
            })
            .collect();
        room -= mappings.len();
        Process { pid: process.pid, command: process.command.clone(), mappings }
    };
    timeline.processes.iter().map(process).collect()
}
