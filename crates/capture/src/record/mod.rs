//! Records a program on the hart, or reads a log, and makes a capture of what was executed.
//!
//! [`run`] takes a machine with its program, [`read`] takes a log. Both return a [`Recording`].

mod counts;
mod hart;
mod keep;
mod logged;
#[cfg(target_os = "linux")]
mod places;
mod ring;
#[cfg(test)]
mod tests;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tracewright_core::{Block, Isa};
use tracewright_hart::Stop;
use tracewright_hart::log::Kind;
use tracewright_hart::timing::{Model, Stats};
use tracewright_image::Image;
use tracewright_input::ImageFile;
use tracewright_isa::riscv::Xlen;

pub use self::counts::Counts;
use self::hart::{Controls, Parts, xlen};
pub use self::hart::{HartRun, Loaded, program_image};
use self::keep::Keep;
pub use self::keep::{Listing, LogOutput, Outputs};
use self::logged::Read;
pub use self::logged::{Contradictions, LogRead};
pub use self::ring::{NoRingSize, Ring, RingSize};
pub use self::watch::Progress;
use self::watch::Watch;
use crate::control::Qualified;
use crate::error::LogProblem;
use crate::etrace::{DeltaSettings, delta};
use crate::log::{Log, LogEnd, LogError, bits};
use crate::protocol::{Executed, InputKind, Subject, TraceWriter, Traced};
use crate::sink::NoTrace;
use crate::{CaptureOptions, Error, Remark, StopFlag};

/// Options of a run.
#[derive(Debug)]
pub struct RunOptions {
    /// The program's file.
    pub program: PathBuf,
    /// Instructions after which the run ends.
    pub limit: u64,
    /// A model that assigns a cycle to each instruction, if any.
    pub timing: Option<Model>,
    /// The files to write while it runs.
    pub outputs: Outputs,
    /// The capture that is made, if any.
    pub capture: Option<CaptureOptions>,
    /// The flag that ends the run.
    pub stop: StopFlag,
}

impl RunOptions {
    /// Returns options for a run to the program's end that writes nothing.
    pub fn new(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            limit: u64::MAX,
            timing: None,
            outputs: Outputs::default(),
            capture: None,
            stop: StopFlag::default(),
        }
    }
}

/// Options of reading a log.
#[derive(Debug)]
pub struct ReadOptions {
    /// The log's file.
    pub log: PathBuf,
    /// The thread to read, if the log tells threads apart; the first if not given.
    pub thread: Option<u32>,
    /// Whether the program is for RV32, for logs that do not say so.
    pub is_rv32: bool,
    /// The program's files.
    pub programs: Vec<ImageFile>,
    /// The program's code and symbols.
    pub image: Arc<Image>,
    /// The files to write.
    pub outputs: Outputs,
    /// The capture that is made, if any.
    pub capture: Option<CaptureOptions>,
    /// The flag that ends reading.
    pub stop: StopFlag,
}

/// Result of a run, or of reading a log.
#[derive(Debug)]
pub struct Recording {
    /// Why the run ended; for a log, an exit if all of it could be read.
    pub stop: Stop,
    /// Counts of what was executed.
    pub counts: Counts,
    /// Duration in seconds.
    pub seconds: f64,
    /// Statistics of the timing model, if there is one.
    pub timing: Option<Stats>,
    /// Bytes of the log that was written, if any.
    pub log_bytes: Option<u64>,
    /// Why a log or listing could not be written, which ended the run.
    pub failed: Option<Error>,
    /// Totals of the trace, if there is one.
    pub traced: Option<Traced>,
    /// How much of it is traced, if not everything is.
    pub qualified: Option<Qualified>,
    /// The address of the instruction after the last.
    pub pc: u64,
    /// The blocks that were executed last, in order.
    pub last: Vec<Block>,
    /// The program's symbols.
    pub image: Arc<Image>,
    /// Why the log could not be read to its end.
    pub log_error: Option<LogError>,
    /// Instructions that the listing lacks, since their code is not known.
    pub unlisted: u64,
    /// Set if some of the log contradicts the program, or does not follow from what is before it.
    pub is_contradicted: bool,
}

/// Runs a program, and writes the files and the capture that the options ask for.
///
/// `progress` is called now and then with the number of blocks executed so far.
///
/// # Errors
/// Fails if the options do not fit the program or each other, or if the capture cannot be written. A log or listing that cannot be written
/// ends the run; [`Recording::failed`] then has the error, beside what was recorded until then.
pub fn run(
    mut loaded: Loaded,
    options: RunOptions,
    progress: &mut dyn FnMut(Progress),
    remarks: &mut Vec<Remark>,
) -> Result<Recording, Error> {
    let RunOptions { program, limit, timing, outputs, capture, stop } = options;
    let xlen = xlen(loaded.core());
    let controls = capture.as_ref().map(|capture| Controls::new(capture, &loaded.image(&program), remarks));
    let controls = controls.transpose()?.flatten();
    let mut writer = match &capture {
        Some(capture) => {
            let delta = delta_of(capture, timing.as_ref())?;
            let files = loaded.files(&program);
            Some(create(capture, InputKind::Hart, xlen, delta, &program, &stop, &files, remarks)?)
        }
        None => None,
    };
    loaded.stop_when(StopFlag::clone(&stop));
    let start = Instant::now();
    let controls = controls.as_ref();
    let boot = loaded.boot_code();
    let parts = Parts { watch: Some(Watch::new(progress)), outputs, timing, controls, stop, boot };
    let mut run = HartRun { loaded, limit, parts, ran: None };
    match &mut writer {
        Some(writer) => writer.run_hart(&mut run),
        None => run.run(&mut NoTrace),
    }
    let HartRun { mut loaded, ran, .. } = run;
    let Some(ran) = ran else { return Err(Error::NothingRan) };
    let mut ran = ran?;
    let seconds = start.elapsed().as_secs_f64();
    remarks.extend(ran.remark);
    let (instructions, pc) = (loaded.core().instret, loaded.core().pc);
    if let (Some(qualified), Some(controls)) = (&mut ran.qualified, controls) {
        // After a trigger, the condition is no longer evaluated.
        qualified.seen = instructions;
        qualified.remark(&controls.asked, remarks);
    }
    let programs = loaded.files(&program);
    let traced = match writer {
        Some(writer) => {
            let memory = &mut loaded.core().memory;
            let blocks = &mut ran.watch.blocks.iter().map(|(block, _)| block);
            let halfword = &mut |at| memory.peek::<2>(at);
            Some(writer.finish(Executed::Hart { programs: &programs, blocks, halfword }, remarks)?)
        }
        None => None,
    };
    remarks.extend(loaded.warnings().into_iter().map(Remark::Note));
    let image = Arc::new(loaded.image(&program));
    let memory = &mut loaded.core().memory;
    let counts = Counts::new(instructions, &ran.watch, xlen, |pc| {
        let low = u16::from_le_bytes(memory.peek::<2>(pc)?);
        let high = memory.peek::<2>(pc.wrapping_add(2)).map_or(0, u16::from_le_bytes);
        Some(u32::from(high) << 16 | u32::from(low))
    });
    Ok(Recording {
        stop: ran.stop,
        counts,
        seconds,
        timing: ran.timing,
        log_bytes: ran.kept.log_bytes,
        failed: ran.kept.failed,
        traced,
        qualified: ran.qualified,
        pc,
        last: ran.watch.last().copied().collect(),
        image,
        log_error: None,
        unlisted: 0,
        is_contradicted: false,
    })
}

/// Reads a log of a hart instead of running a program. See [`run`].
///
/// # Errors
/// Fails if the log cannot be opened, and as [`run`] does. If the rest of the log cannot be read, [`Recording::log_error`] says why,
/// beside what came before.
pub fn read(
    options: ReadOptions,
    progress: &mut dyn FnMut(Progress),
    remarks: &mut Vec<Remark>,
) -> Result<Recording, Error> {
    let ReadOptions { log: path, thread, is_rv32, programs, image, outputs, capture, stop } = options;
    let mut log = Log::open(&path, &stop)?.in_sequence();
    log.check_program(!programs.is_empty())?;
    log.check_riscv("record --from-log")?;
    let (is_only_addresses, is_text) = (log.kind() == Kind::Qemu, !log.kind().is_ours());
    match (thread, log.threads()) {
        (Some(thread), _) => log.set_thread(thread)?,
        (None, Some(threads)) if threads.len() > 1 => {
            remarks.push(Remark::OneThread { path: path.clone(), of: threads.len(), thread: threads[0] });
        }
        (None, _) => {}
    }
    let xlen = log.xlen().unwrap_or(if is_rv32 { Xlen::Rv32 } else { Xlen::Rv64 });
    let controls = capture.as_ref().map(|capture| Controls::new(capture, &image, remarks));
    let controls = controls.transpose()?.flatten();
    let mut writer = match &capture {
        Some(capture) => {
            let delta = capture.delta.as_deref();
            let delta = delta.map(|spec| delta::of_log(spec, &path, xlen, &image)).transpose()?;
            Some(create(capture, InputKind::Log, xlen, delta, &path, &stop, &programs, remarks)?)
        }
        None => None,
    };
    let of_log = outputs.log.as_ref().map(|log| log.path.clone());
    let keep = match outputs.log.is_some() || outputs.listing.is_some() {
        true => {
            let image = Arc::clone(&image);
            Some(Keep::new(outputs, false, xlen, &stop)?.with_code(move |pc| bits(&image, pc)))
        }
        false => None,
    };
    let start = Instant::now();
    let controls = controls.as_ref();
    let parts = Some((log, Watch::new(progress), keep));
    let mut read = LogRead { xlen, image: Arc::clone(&image), controls, parts, read: None };
    match &mut writer {
        Some(writer) => writer.read_log(&mut read),
        None => read.run(&mut NoTrace),
    }
    let Some(Read { watch, code, keep, qualified, end: LogEnd { error, gaps, first_gap } }) = read.read
    else {
        return Err(Error::NothingRan);
    };
    if is_text && watch.is_empty() {
        discard(writer, keep, of_log.as_deref())?;
        let problem = error.map_or(LogProblem::NoInstructions, LogProblem::Damaged);
        return Err(Error::log(&path, problem));
    }
    let contradictions = code.contradictions;
    if let Some(program) = programs.first().filter(|_| contradictions.is_wrong_program()) {
        // What is in the log is the wrong program's.
        discard(writer, keep, of_log.as_deref())?;
        return Err(Error::WrongProgram { log: path, program: program.path.clone(), contradictions });
    }
    // A log with only addresses does not tell exceptions, either.
    let is_contradicted = !is_only_addresses && contradictions.first.is_some();
    if is_contradicted {
        remarks.push(Remark::Contradicted(path.clone(), contradictions));
    }
    if let (Some(qualified), Some(controls)) = (&qualified, controls) {
        qualified.remark(&controls.asked, remarks);
    }
    let unlisted = keep.as_ref().map_or(0, Keep::unlisted);
    let kept = keep.map(Keep::finish).unwrap_or_default();
    if let Some(error) = error.as_ref().filter(|_| kept.failed.is_none()) {
        remarks.push(Remark::LogDamaged(path.clone(), error.to_string()));
    }
    if let Some(first) = first_gap {
        remarks.push(Remark::LogGaps { log: path.clone(), gaps, first });
    }
    if unlisted > 0 {
        remarks.push(Remark::Unlisted(unlisted));
    }
    let seconds = start.elapsed().as_secs_f64();
    let traced = match writer {
        Some(writer) => {
            let blocks = &mut watch.blocks.iter().map(|(block, _)| block);
            let halfword = &mut |at| code.halfword(at);
            Some(writer.finish(Executed::Hart { programs: &programs, blocks, halfword }, remarks)?)
        }
        None => None,
    };
    let counts = Counts::new(watch.instructions, &watch, code.xlen.unwrap_or(xlen), |pc| {
        code.by_address.get(&pc).copied().or_else(|| bits(&image, pc))
    });
    Ok(Recording {
        stop: if error.is_none() { Stop::Exit { status: 0 } } else { Stop::Limit },
        counts,
        seconds,
        timing: None,
        log_bytes: kept.log_bytes,
        failed: kept.failed,
        traced,
        qualified,
        pc: 0,
        last: Vec::new(),
        image,
        log_error: error,
        unlisted,
        is_contradicted: is_contradicted || gaps > 0,
    })
}

/// Removes a capture, and the log that was written, if there is one.
fn discard(
    writer: Option<Box<dyn TraceWriter>>,
    keep: Option<Keep>,
    log: Option<&Path>,
) -> Result<(), Error> {
    writer.into_iter().for_each(TraceWriter::discard);
    drop(keep);
    log.map_or(Ok(()), |log| std::fs::remove_file(log).map_err(|error| Error::write(log, error)))
}

/// Returns the settings of delta trace for a model's cycles, if requested.
fn delta_of(capture: &CaptureOptions, timing: Option<&Model>) -> Result<Option<DeltaSettings>, Error> {
    let Some(spec) = &capture.delta else { return Ok(None) };
    let Some(model) = timing else {
        let problem = "cycles are not known without a timing model".into();
        return Err(Error::Delta { format: spec.clone(), problem });
    };
    let config = delta::config(spec, model.config().retire_width.into())?;
    Ok(Some(DeltaSettings { config, is_gapless: true }))
}

/// Creates a capture with one hart.
#[allow(clippy::too_many_arguments, reason = "each is given once, by two callers")]
fn create(
    capture: &CaptureOptions,
    input: InputKind,
    xlen: Xlen,
    delta: Option<DeltaSettings>,
    named: &Path,
    stop: &StopFlag,
    programs: &[ImageFile],
    remarks: &mut Vec<Remark>,
) -> Result<Box<dyn TraceWriter>, Error> {
    let isa = if xlen == Xlen::Rv32 { Isa::Rv32 } else { Isa::Rv64 };
    let name = named.file_name().unwrap_or_default().to_string_lossy();
    let mut writer = capture.create(capture.place(), isa, input, delta, &name, stop)?;
    writer.add_thread(&Subject::Hart, remarks)?;
    writer.add_programs(programs)?;
    Ok(writer)
}
