//! `record --qemu`: any Linux program for Arm or RISC-V, run by QEMU, traced while it runs.

mod capture;
mod command;
mod counts;
mod keep;
mod process;
mod program;
mod session;
mod status;
mod summary;
mod tools;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::{Args, ValueEnum};
use tracewright_qemu::format::{CHUNK_SIZE, HEADER_SIZE};
use tracewright_qemu::live::{Connection, Receiver, SLOTS};

use self::capture::{Capture, Encoder};
use self::command::Launch;
use self::counts::{Counts, Progress};
use self::keep::Keep;
use self::program::Program;
use self::summary::Summary;
use super::{Opts, Protocol, on};
use crate::control::Asked;
use crate::etrace::LogData;
use crate::output::{Error, FileError, Outcome, report};

/// Of programs that QEMU runs.
#[derive(Args)]
#[command(next_help_heading = "Programs under QEMU")]
pub struct QemuArgs {
    /// Let QEMU run the program: any Linux program for aarch64, arm or riscv64, with its libraries, threads and signals. With -o, a capture
    /// is written while it runs, a source for each thread. The program sees your files and environment, and may change them.
    #[arg(long, conflicts_with_all = ["listing", "details", "timing", "from", "rv32", "machine", "memory", "root", "writable",
        "host_clock", "seed", "ram", "entry", "pmp_regions", "misaligned", "interrupt"])]
    pub qemu: bool,

    /// Where the program's libraries are: a folder with lib, usr and so on. The program itself may be there, too.
    #[arg(long, value_name = "DIR", requires = "qemu")]
    pub sysroot: Option<PathBuf>,

    /// What is recorded of accesses to memory, in the --log, and as data trace in E-Trace captures. (ETMv4 of Arm's application processors
    /// has no data trace.)
    #[arg(long, value_enum, requires = "qemu")]
    pub data: Option<Data>,

    /// Begin to record here: an address (0x...), or a symbol of the program or its libraries.
    #[arg(long, value_name = "ADDR|SYMBOL", requires = "qemu")]
    pub start: Option<String>,

    /// Stop to record here. The program goes on.
    #[arg(long, value_name = "ADDR|SYMBOL", requires = "qemu")]
    pub stop: Option<String>,

    /// Record processes that the program forks, too: each into a folder pidPID in the folder --output, and to a file FILE.PID beside --log.
    #[arg(long, requires = "qemu")]
    pub follow_forks: bool,

    /// QEMU itself. If not given: qemu-aarch64, qemu-arm or qemu-riscv64 in PATH.
    #[arg(long, value_name = "FILE", requires = "qemu")]
    pub qemu_path: Option<PathBuf>,

    /// An option for QEMU, such as -cpu, or its value (repeat for more).
    #[arg(long = "qemu-option", value_name = "TEXT", requires = "qemu", allow_hyphen_values = true)]
    pub qemu_options: Vec<OsString>,
}

/// What is recorded of accesses to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Data {
    /// Nothing.
    None,
    /// Which instruction, where, how many bytes.
    Addresses,
    /// Also what was read or written (QEMU 9.2 and later).
    Values,
}

impl QemuArgs {
    /// The same, as those see it who make a trace.
    fn log_data(&self) -> LogData {
        match self.data {
            None | Some(Data::None) => LogData::Nothing,
            Some(Data::Addresses) => LogData::Addresses,
            Some(Data::Values) => LogData::Values,
        }
    }
}

/// What is made of the program, as the options say.
struct Plan<'a> {
    opts: &'a Opts,
    control: Option<Asked>,
    program: Program,
    /// Made before the program runs: it should not run for nothing.
    capture: Mutex<Option<Capture>>,
}

/// Runs the program under QEMU.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let args = &opts.qemu;
    let Some(named) = &opts.program else {
        return Err(Error::Message("name a program to run".into()));
    };
    if opts.output.is_none() {
        let given = [
            ("--protocol", opts.protocol.is_some()),
            ("--option", !opts.options.is_empty()),
            ("--when", opts.control.is_given()),
            ("--port", opts.port.asked().is_some()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Error::Message(format!("{option}: say where the capture goes, with -o DIR")));
        }
    }
    let control = opts.control.asked()?;
    let prefix = std::env::var_os("QEMU_LD_PREFIX").filter(|prefix| !prefix.is_empty()).map(PathBuf::from);
    let sysroot = args.sysroot.clone().or(prefix);
    let program = program::find(named, sysroot.as_deref())?;
    let protocol = capture::protocol(opts.protocol, program.target)?;
    check_data(opts, protocol)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let qemu = tools::qemu(program.target, args.qemu_path.as_deref(), &path)?;
    let plugin = tools::plugin()?;
    let room = HEADER_SIZE as u64 + u64::from(SLOTS) * CHUNK_SIZE as u64;
    let receiver = Receiver::new(&places(opts), room).map_err(|error| {
        Error::Message(format!("there is no place for what the plugin records ({} MiB): {error}", room >> 20))
    })?;
    let capture = match &opts.output {
        Some(dir) => {
            let (encoder, data) = (encoder(opts, control.as_ref()), args.log_data());
            Some(Capture::create(dir, program.target, &encoder, data, &program.name())?)
        }
        None => None,
    };
    if let Some(log) = &opts.log {
        File::create(log).map_err(|error| on(log, &error))?;
    }
    let plan = Plan { opts, control, program, capture: Mutex::new(capture) };
    let launch = Launch {
        qemu: &qemu,
        plugin: &plugin,
        program: &plan.program,
        named,
        sysroot: sysroot.as_deref(),
        arguments: &opts.arguments,
        environment: &opts.linux.environment,
    };
    let child = launch
        .command(args, &plugin_arguments(opts, &receiver))
        .spawn()
        .map_err(|error| Error::Message(format!("{}: cannot be run: {error}", qemu.display())))?;
    let counts = Counts::default();
    let mut progress = Progress::new(&counts);
    let ended = session::run(
        child,
        &receiver,
        args.follow_forks,
        |incoming, session| process::record(incoming, session, &counts, |connection| plan.begin(connection)),
        || progress.show(),
    );
    let seconds = progress.finish().as_secs_f64();
    drop(receiver);
    let status = ended.status.map_err(|error| on(&qemu, &error))?;
    if ended.work.is_empty() {
        tools::check_plugins(&qemu)?;
        return Err(Error::Message(format!(
            "{} ended ({}) before it ran the program: what it says is above",
            qemu.display(),
            status::describe(status)
        )));
    }
    let work = ended.work.into_iter().collect::<Result<Vec<_>, _>>()?;
    Summary::new(&plan.program, status, ended.interrupts, seconds, work).end(opts)
}

/// Data that is asked for has to go somewhere.
fn check_data(opts: &Opts, protocol: Protocol) -> Result<(), Error> {
    if opts.qemu.log_data() == LogData::Nothing {
        return Ok(());
    }
    match (&opts.output, &opts.log, protocol) {
        (None, None, _) => Err(Error::Message("--data: say where it goes, with -o DIR or --log FILE".into())),
        (Some(_), None, Protocol::Etm4) => Err(Error::Message(
            "--data: ETMv4 of Arm's application processors has no data trace; add --log FILE, which has accesses to memory".into(),
        )),
        (Some(_), Some(_), Protocol::Etm4) => {
            report("the capture has no data trace, as ETMv4 of Arm's application processors has none; the log has it");
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Where the socket and what the plugin records can be: in memory, if there is a place for files in it.
fn places(opts: &Opts) -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let output = opts.output.as_deref().and_then(Path::parent).map(|parent| Path::new(".").join(parent));
    runtime.into_iter().chain(["/dev/shm".into(), std::env::temp_dir()]).chain(output).collect()
}

fn encoder<'a>(opts: &'a Opts, control: Option<&'a Asked>) -> Encoder<'a> {
    Encoder { options: &opts.options, port: opts.port.asked(), control }
}

fn plugin_arguments(opts: &Opts, receiver: &Receiver) -> Vec<(&'static str, OsString)> {
    let args = &opts.qemu;
    let mut arguments = vec![
        ("log", receiver.log().into()),
        ("socket", receiver.socket().into()),
        ("slots", SLOTS.to_string().into()),
    ];
    if let Some(data) = args.data.and_then(|data| data.to_possible_value()) {
        arguments.push(("data", data.get_name().into()));
    }
    if opts.max_instructions != u64::MAX {
        arguments.push(("instructions", opts.max_instructions.to_string().into()));
    }
    for (name, place) in [("start", &args.start), ("stop", &args.stop)] {
        if let Some(place) = place {
            arguments.push((name, place.into()));
        }
    }
    if args.follow_forks {
        arguments.push(("forks", "follow".into()));
    }
    arguments
}

impl Plan<'_> {
    /// A process connects: where its trace and its log go.
    fn begin(&self, connection: &Connection) -> Result<(Option<Capture>, Option<Keep>), Error> {
        let header = connection.header();
        if header.target != self.program.target {
            return Err(Error::Message(format!(
                "this QEMU is for {}, and the program for {}",
                header.target.name(),
                self.program.target.name()
            )));
        }
        let first = self.capture.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_first = header.forked_from == 0;
        let pid = connection.pid();
        let capture = match (first, &self.opts.output) {
            (Some(capture), _) => Some(capture),
            (None, Some(dir)) => {
                let dir = dir.join(format!("pid{pid}"));
                let data = self.opts.qemu.log_data();
                let encoder = encoder(self.opts, self.control.as_ref());
                Some(Capture::create(&dir, header.target, &encoder, data, &self.program.name())?)
            }
            (None, None) => None,
        };
        let keep = |path: &Path| -> io::Result<(PathBuf, Keep)> {
            let mut path = path.to_owned().into_os_string();
            if !is_first {
                path.push(format!(".{pid}"));
            }
            let path = PathBuf::from(path);
            Keep::create(&path, header).map(|keep| (path, keep))
        };
        let keep = match &self.opts.log {
            Some(path) => Some(keep(path).map_err(|error| FileError::wrap(path, error))?.1),
            None => None,
        };
        Ok((capture, keep))
    }
}
