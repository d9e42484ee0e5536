//! Runs a program under QEMU, from its start to the recording.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tracewright_input::{OutputFile, OutputFolder};
use tracewright_qemu::format::{CHUNK_SIZE, HEADER_SIZE, Target};
use tracewright_qemu::live::{Connection, Receiver, SLOTS};

use super::capture::Capture;
use super::command::command;
use super::keep::Keep;
use super::program::{self, Program};
use super::session::{self, Interrupter, Waits};
use super::{Counts, QemuOptions, QemuRecording, process, status, tools};
use crate::encode::isa;
use crate::etrace::LogData;
use crate::{Error, Remark};

/// A program that is ready to run under QEMU.
pub struct Recorder {
    options: QemuOptions,
    symfs: Option<PathBuf>,
    program: Program,
    qemu: PathBuf,
    plugin: PathBuf,
    receiver: Receiver,
    /// Claimed before the program runs, so that it does not run in vain. It takes its place when all processes have ended.
    folder: Option<OutputFolder>,
    capture: Mutex<Option<Capture>>,
    log: Mutex<Option<OutputFile>>,
    waits: Waits,
}

impl Recorder {
    /// Finds the program, QEMU and the plugin, and creates the requested capture and log.
    ///
    /// # Errors
    /// Fails if something is missing, cannot be written, or does not fit the program.
    pub fn new(options: QemuOptions, remarks: &mut Vec<Remark>) -> Result<Self, Error> {
        let prefix = std::env::var_os("QEMU_LD_PREFIX").filter(|prefix| !prefix.is_empty());
        let symfs = options.symfs.clone().or(prefix.map(PathBuf::from));
        let program = program::find(&options.program, symfs.as_deref())?;
        check_data(&options, &program, remarks)?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let qemu = tools::qemu(program.target, options.qemu.as_deref(), &path)?;
        let plugin = tools::plugin()?;
        let room = HEADER_SIZE as u64 + u64::from(SLOTS) * CHUNK_SIZE as u64;
        let receiver = Receiver::new(&places(&options), room).map_err(|error| {
            let what = format!("there is no place for what the plugin records ({} MiB): {error}", room >> 20);
            Error::Qemu(what)
        })?;
        let data = options.data.unwrap_or(LogData::Nothing);
        let folder = options.capture.as_ref().map(|asked| asked.place().claim()).transpose()?;
        let capture = match options.capture.as_ref().zip(folder.clone()) {
            Some((asked, folder)) => {
                Some(Capture::create(folder, program.target, asked, data, &program.name())?)
            }
            None => None,
        };
        let log = options.log.as_ref().map(crate::record::LogOutput::create).transpose()?;
        let waits = Waits::new(options.follows_forks, options.has_terminal);
        let (capture, log) = (Mutex::new(capture), Mutex::new(log));
        Ok(Self { options, symfs, program, qemu, plugin, receiver, folder, capture, log, waits })
    }

    /// Returns the processor that the program is for.
    pub fn target(&self) -> Target {
        self.program.target
    }

    /// Returns a handle that interrupts the recording, as Ctrl-C does.
    pub fn interrupter(&self) -> Interrupter {
        self.waits.interrupter.clone()
    }

    /// Runs the program to its end. `progress` is called now and then.
    ///
    /// # Errors
    /// Fails if QEMU cannot be run, or ends before the program begins, or if a capture cannot be made. Later errors are in
    /// [`Recorded::problems`](super::Recorded::problems), beside what was recorded until then.
    pub fn run(self, progress: &mut dyn FnMut(&Counts)) -> Result<QemuRecording, Error> {
        let Self { options, symfs, program, qemu, plugin, receiver, folder, capture, log, waits } = self;
        let arguments = plugin_arguments(&options, &receiver);
        let child = command((&qemu, &plugin), &program, symfs.as_deref(), &options, &arguments)
            .spawn()
            .map_err(|error| Error::Qemu(format!("{}: cannot be run: {error}", qemu.display())))?;
        let (counts, start) = (Counts::default(), Instant::now());
        let begin = |connection: &Connection| {
            begin(&options, &program, folder.as_ref(), (&capture, &log), connection)
        };
        let ended = session::run(
            child,
            &receiver,
            waits,
            |incoming, session| process::record(incoming, session, &counts, begin),
            || progress(&counts),
        );
        let seconds = start.elapsed().as_secs_f64();
        drop(receiver);
        let status = ended.status.map_err(|error| Error::read(&qemu, error))?;
        if ended.work.is_empty() {
            tools::check_plugins(&qemu)?;
            return Err(Error::Qemu(format!(
                "{} ended ({}) before it ran the program: what it says is above",
                qemu.display(),
                status::describe(status)
            )));
        }
        let mut processes = ended.work.into_iter().collect::<Result<Vec<_>, _>>()?;
        processes.sort_by_key(|process| process.header.forked_from != 0);
        if let Some(folder) = folder.filter(|_| processes.iter().all(|process| process.problems.is_empty())) {
            folder.finish()?;
        }
        Ok(QemuRecording { name: program.name(), status, interrupts: ended.interrupts, seconds, processes })
    }
}

/// Fails if memory accesses are requested, the capture's protocol has no data trace, and there is no log for them.
fn check_data(options: &QemuOptions, program: &Program, remarks: &mut Vec<Remark>) -> Result<(), Error> {
    let Some(capture) = &options.capture else { return Ok(()) };
    let protocol = capture.protocols.of(capture.protocol.as_deref(), isa(program.target))?;
    if protocol.has_data || matches!(options.data, None | Some(LogData::Nothing)) {
        return Ok(());
    }
    if options.log.is_none() {
        return Err(Error::Unsupported { by: protocol.name, what: "data trace" });
    }
    remarks.push(Remark::OnlyLogHasData);
    Ok(())
}

/// Returns folders for the socket and the plugin's chunks: in memory, if the system has such a folder.
fn places(options: &QemuOptions) -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let output = options.capture.as_ref().and_then(|capture| capture.dir.parent());
    let output = output.map(|parent| Path::new(".").join(parent));
    runtime.into_iter().chain(["/dev/shm".into(), std::env::temp_dir()]).chain(output).collect()
}

fn plugin_arguments(options: &QemuOptions, receiver: &Receiver) -> Vec<(&'static str, OsString)> {
    let mut arguments = vec![
        ("log", receiver.log().into()),
        ("socket", receiver.socket().into()),
        ("slots", SLOTS.to_string().into()),
    ];
    if let Some(data) = options.data {
        arguments.push(("data", data.name().into()));
    }
    if let Some(limit) = options.limit {
        arguments.push(("instructions", limit.to_string().into()));
    }
    for (name, place) in [("start", &options.start), ("stop", &options.stop)] {
        if let Some(place) = place {
            arguments.push((name, place.into()));
        }
    }
    if options.follows_forks {
        arguments.push(("forks", "follow".into()));
    }
    arguments
}

/// Creates the capture and the log of a process that has connected.
fn begin(
    options: &QemuOptions,
    program: &Program,
    folder: Option<&OutputFolder>,
    (first, first_log): (&Mutex<Option<Capture>>, &Mutex<Option<OutputFile>>),
    connection: &Connection,
) -> Result<(Option<Capture>, Option<Keep>), Error> {
    let (header, pid) = (connection.header(), connection.pid());
    if header.target != program.target {
        return Err(Error::Qemu(format!(
            "this QEMU is for {}, and the program for {}",
            header.target.name(),
            program.target.name()
        )));
    }
    let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
    let capture = match (first, options.capture.as_ref().zip(folder)) {
        (Some(capture), _) => Some(capture),
        (None, Some((asked, folder))) => {
            let dir = folder.inside(&format!("pid{pid}"))?;
            let data = options.data.unwrap_or(LogData::Nothing);
            Some(Capture::create(dir, header.target, asked, data, &program.name())?)
        }
        (None, None) => None,
    };
    let keep = match &options.log {
        Some(log) => {
            let first = first_log.lock().unwrap_or_else(PoisonError::into_inner).take();
            let file = match first.filter(|_| header.forked_from == 0) {
                Some(file) => file,
                None => log.beside(&format!(".{pid}")).create()?,
            };
            Some(Keep::create(file, header).map_err(|error| Error::write(&log.path, error))?)
        }
        None => None,
    };
    Ok((capture, keep))
}
