//! Recordings as captures.

use std::path::{Path, PathBuf};

use tracewright_image::Bytes;

use super::buffers::{buffers, name, sources};
use super::faults::Faults;
use super::features::feature::ETM_BRANCH_LIST;
use super::header::{Header, MAGIC};
use super::jit;
use super::map_names;
use super::pieces::{self, Owner, Tally};
use super::programs::RecordedPrograms;
use super::recording::{Reader, Recording};
use super::repeats;
use super::search::Search;
use super::timeline::{Timeline, timeline};
use super::units::Units;
use super::unpack::unpack_to;
use super::walk::section;
use crate::Capture;
use crate::capture::{Buffer, Packed};
use crate::file::{compression, first_bytes};
use crate::mapping::{Mapping, Process, ProcessThread};
use crate::problem::Problem;
use crate::program::map_file;
use crate::raw::RawSource;
use crate::source::Source;

/// Most unpacked bytes of compressed trace in one piece; no buffer is as large.
const MOST_UNPACKED: usize = 1 << 30;
/// Most unknown types of records that are named.
const MOST_NAMED: usize = 3;
/// Most mappings that are listed with the processes.
const MOST_LISTED: usize = 1 << 17;

/// Returns the file of a recording: itself, or one in the folder that perf makes of several files.
fn data_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("data") } else { path.to_owned() }
}

/// Returns whether this is a recording of perf or simpleperf: a file, or a folder of them.
pub fn is_recording(path: &Path) -> bool {
    // Big-endian and old recordings count too; they are rejected with a message of their own.
    first_bytes(&data_file(path)).is_some_and(|magic| [MAGIC, b"2ELIFREP", b"PERFFILE"].contains(&&magic))
}

/// Opens a recording. The folders `symfs` are searched for programs when an image is built.
///
/// # Errors
/// Fails if there is no readable recording; lesser faults are in [`Capture::problems`].
pub fn open(path: &Path, symfs: &[PathBuf]) -> Result<Capture, Problem> {
    open_with(path, symfs, &[])
}

/// Opens a recording like [`open`], with descriptions of the trace units that the recording lacks: those of RISC-V harts. Recordings with
/// CoreSight describe their units, and descriptions of others are not used ([`RecordedPrograms::is_riscv`]).
///
/// # Errors
/// Fails if there is no readable recording; lesser faults are in [`Capture::problems`].
pub fn open_with(path: &Path, symfs: &[PathBuf], given: &[RawSource]) -> Result<Capture, Problem> {
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
    let units = Units::of(&recording, given, &mut faults);
    let described = (&units, given);
    let mut capture = capture(path, (&paths, &files), recording, described, (symfs, kcore), &mut faults);
    for buffer in &mut capture.buffers {
        let file = paths.iter().position(|path| *path == buffer.path);
        let file = file.filter(|_| compression(&buffer.path).is_some());
        buffer.contents = file.map(|file| files[file].clone());
    }
    capture.problems.extend(faults.problems(path));
    Ok(capture.note_protocols())
}

/// Returns the branch list of a recording that has one instead of trace (`simpleperf record --decode-etm`).
pub fn branch_list(path: &Path) -> Option<Bytes> {
    let file = is_recording(path).then(|| map_file(&data_file(path)).ok())??;
    let header = Header::read(file.as_slice(), &mut Faults::default()).ok()?;
    let (_, range) = header.features.into_iter().find(|(number, _)| *number == ETM_BRANCH_LIST)?;
    file.slice(range.start, range.len()).filter(|bytes| !bytes.is_empty())
}

/// Unpacks compressed trace in a file, whose contents are given if they are in memory.
///
/// # Errors
/// Fails if the trace cannot be read or is damaged.
pub fn unpacked(path: &Path, contents: Option<&Bytes>, packed: Packed) -> Result<Vec<u8>, Problem> {
    let file = match contents {
        Some(contents) => contents.clone(),
        None => map_file(path).map_err(|problem| Problem::file_error(path, problem.message))?,
    };
    let wrong = |why: String| Problem::file_error(path, format!("at {:#x}: {why}", packed.offset));
    let bytes = section(file.as_slice(), packed.offset, packed.len);
    let bytes = unpack_to(bytes, u64::MAX, MOST_UNPACKED).map_err(|error| wrong(error.to_string()))?;
    if bytes.len() > MOST_UNPACKED {
        return Err(wrong(format!("more than {MOST_UNPACKED} bytes in one piece")));
    }
    Ok(bytes)
}

fn capture(
    path: &Path,
    (paths, files): (&[PathBuf], &[Bytes]),
    mut recording: Recording<'_>,
    (units, given): (&Units, &[RawSource]),
    (symfs, kcore): (&[PathBuf], Option<PathBuf>),
    faults: &mut Faults,
) -> Capture {
    let (mut pieces, tallies) = pieces::pieces(&recording, units, faults);
    let is_riscv = matches!(units, Units::Riscv(_));
    if is_riscv {
        repeats::take_out(&mut pieces, &recording, files, faults);
    }
    let (sources, by_cpu) = sources(&recording, units, given, faults);
    for (owner, tally) in &tallies {
        report(*owner, tally, faults);
    }
    if recording.lost > 0 {
        faults.warning(format!(
            "the kernel had no room for {} records: what they told is not known",
            recording.lost
        ));
    }
    if units.is_empty() && recording.traces.is_empty() && recording.aux.is_empty() {
        faults.error(if recording.features.branch_list.is_some() {
            "it holds a branch list, and no trace: profile reads it"
        } else if faults.is_cut_off() {
            "no hardware trace is in what is left of it"
        } else {
            "it holds no hardware trace: was it recorded with -e cs_etm//?"
        });
    }
    report_unknown(&recording, faults);
    let mut observed: Vec<u64> = pieces.iter().filter_map(|piece| piece.time).collect();
    observed.sort_unstable();
    let search = Search::new(symfs, path, None);
    let made = jit::take_dumps(&mut recording, &search, faults);
    map_names::take_maps(&mut recording, &search);
    let events = std::mem::take(&mut recording.events);
    let code = (made, std::mem::take(&mut recording.features.bpf));
    let timeline = timeline(events, &recording.features.build_ids, code, &observed, faults);
    let buffers = buffers(&recording, units, &pieces, paths, &sources, &by_cpu);
    let sources = sources.into_iter().enumerate();
    let sources =
        sources.map(|(index, (source, _))| Source { thread: only_thread(index, &buffers), ..source });
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
        sources: sources.collect(),
        buffers,
        processes: processes(&timeline),
        recorded: Some(Box::new(RecordedPrograms {
            timeline,
            path: paths.first().cloned().unwrap_or_default(),
            symfs: symfs.to_vec(),
            kcore,
            release: features.release,
            is_riscv,
            modules: features.modules,
        })),
        ..Capture::default()
    }
}

/// Returns the thread that the records of a source's trace name, if they all name the same.
fn only_thread(source: usize, buffers: &[Buffer]) -> Option<u32> {
    let of_source = buffers.iter().filter(|buffer| buffer.sources.contains(&source));
    let mut threads =
        of_source.flat_map(|buffer| buffer.pieces.iter().flatten()).map(|piece| piece.moment.thread);
    let first = threads.next()?;
    threads.all(|thread| thread == first).then_some(first)?
}

/// Reports what happened to an owner's trace.
fn report(owner: Owner, tally: &Tally, faults: &mut Faults) {
    let name = name(owner);
    let Tally { truncated, partial, collision, unknown, missing, missing_bytes, undescribed_bytes } = *tally;
    let flags = [(truncated, "truncated"), (partial, "partial"), (collision, "collided")];
    let flags: Vec<_> =
        flags.iter().filter(|(count, _)| *count > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !flags.is_empty() {
        faults.warning(format!(
            "{name}: trace was lost while it was recorded (AUX records: {})",
            flags.join(", ")
        ));
    }
    if unknown > 0 {
        faults.warning(format!(
            "{name}: {unknown} AUX records say that trace is packed in a way that is not known here: read as if it were raw"
        ));
    }
    if missing > 0 {
        faults.warning(format!(
            "{name}: {missing_bytes} bytes of trace were not saved, as {missing} AUX records tell"
        ));
    }
    if undescribed_bytes > 0 {
        faults.warning(format!(
            "{name}: no AUX record tells of {undescribed_bytes} bytes of trace: they are read as they are"
        ));
    }
}

/// Reports unknown types of records, because the missing data may be in them.
fn report_unknown(recording: &Recording<'_>, faults: &mut Faults) {
    let mut kinds: Vec<_> = recording.unknown.iter().map(|(kind, &(count, at))| (kind, count, at)).collect();
    kinds.sort_by_key(|&(_, count, _)| std::cmp::Reverse(count));
    let named: Vec<_> = kinds
        .iter()
        .take(MOST_NAMED)
        .map(|(kind, count, at)| match count {
            1 => format!("type {kind} (one, at {at:#x})"),
            count => format!("type {kind} ({count}, the first at {at:#x})"),
        })
        .collect();
    if !named.is_empty() {
        let more = match kinds.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more types"),
        };
        let all = named.join(", ");
        faults.warning(format!(
            "records that are not known here were passed over: {all}{more}: was it made by a newer perf, or damaged?"
        ));
    }
}

/// Returns the processes with their last mappings.
fn processes(timeline: &Timeline) -> Vec<Process> {
    let mut room = MOST_LISTED;
    let mut process = |process: &super::timeline::ProcessLine| {
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
        let threads = process.threads.iter().map(|(&tid, name)| ProcessThread { tid, name: name.clone() });
        let (pid, command) = (process.pid, process.command.clone());
        Process { pid, command, threads: threads.collect(), mappings }
    };
    let processes = (0..).zip(&timeline.processes);
    processes
        .filter(|(index, _)| Some(*index) != timeline.run_time_kernel)
        .map(|(_, line)| process(line))
        .collect()
}
