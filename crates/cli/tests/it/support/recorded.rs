//! Programs that `record --qemu` recorded, and what proves the captures: `decode --check`, and OpenCSD's lister.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::run::{Ran, command, run, text};
use tracewright_core::{Block, Element, Ended};
use tracewright_coresight::shared::exception;
use tracewright_hart::{HartSink, Trap};
use tracewright_qemu::read::Log;
use tracewright_testkit::qemu::{Guest, Program};
use tracewright_testkit::{Scratch, lister};

/// Instructions of each thread that are compared with OpenCSD's.
const LISTED: u64 = 5_000_000;

/// A capture and its log.
pub struct Recorded {
    folder: Scratch,
    guest: Guest,
    unit: Unit,
    /// What the recorder and the program said.
    pub output: Output,
}

/// The kind of trace unit, as far as it matters for what OpenCSD lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unit {
    #[default]
    Etm4,
    Ptm,
    Etm3,
}

/// Records a program, with these options besides.
pub fn record(program: &Program<'_>, options: &[&str]) -> Recorded {
    let folder = Scratch::new("recorded");
    let mut command = command("record --qemu -q");
    // Cargo builds it with the command; an older one may be elsewhere.
    let plugin = Path::new(env!("CARGO_BIN_EXE_tracewright")).with_file_name("deps/libtracewright_qemu.so");
    command.env("TRACEWRIGHT_QEMU_PLUGIN", plugin);
    command.args(options).args(["-o", &folder.join("capture"), "--log", &folder.join("log")]);
    if let Some(root) = program.root {
        command.arg("--symfs").arg(root);
    }
    for (name, value) in program.environment {
        let mut variable = OsString::from(name);
        variable.push("=");
        variable.push(value);
        command.arg("--env").arg(variable);
    }
    command.arg(program.elf).arg("--").args(program.arguments);
    if let Some(at) = program.folder {
        command.current_dir(at);
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let unit = match options {
        ["--protocol", "ptm", ..] => Unit::Ptm,
        ["--protocol", "etm3", ..] => Unit::Etm3,
        _ => Unit::Etm4,
    };
    Recorded { folder, guest: program.guest, unit, output }
}

impl Recorded {
    /// The folder of the capture.
    pub fn capture(&self) -> PathBuf {
        self.folder.path().join("capture")
    }

    /// The retirement log.
    pub fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// What proves that the trace tells what ran: every instruction of every thread, as the log has it; for Arm also what
    /// OpenCSD makes of it. `Err` says what differs.
    pub fn prove(&self) -> Result<(), String> {
        self.check()?;
        if self.guest == Guest::Riscv64 { Ok(()) } else { self.list() }
    }

    fn check(&self) -> Result<(), String> {
        let Ran { status, out: text, err: said, .. } =
            run!("decode {} --check {}", text(&self.capture()), text(&self.log()));
        let threads = Log::open(&self.log()).map_err(|error| error.to_string())?.threads().count();
        let equal = text.lines().filter(|line| line.contains("equal: ")).count();
        if status == Some(0) && equal == threads {
            return Ok(());
        }
        Err(format!("decode --check: {status:?}, {equal} of {threads} threads are equal\n{text}{said}"))
    }

    /// Compares with `trc_pkt_lister`, if it is here.
    fn list(&self) -> Result<(), String> {
        let mut command = Command::new("trc_pkt_lister");
        command.arg("-ss_dir").arg(self.capture()).args(["-decode_only", "-logstdout"]);
        // Else it writes all of it to a file, too.
        command.args(["-logfilename", "/dev/null"]);
        let Ok(mut child) = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else {
            tracewright_testkit::skip("captures beside OpenCSD's lister", "no trc_pkt_lister");
            return Ok(());
        };
        let mut log = Log::open(&self.log()).map_err(|error| error.to_string())?;
        let threads: Vec<_> = log.threads().collect();
        let mut listed: BTreeMap<u8, Events> = BTreeMap::new();
        for line in BufReader::new(child.stdout.take().unwrap()).split(b'\n') {
            let line = line.unwrap();
            let Some(line) = lister::lines(&String::from_utf8_lossy(&line)).next() else { continue };
            // The lister tells of the end of the trace with an ID that nobody has.
            if matches!(line.element, Ok(Element::End | Element::Lost(_))) {
                continue;
            }
            listed.entry(line.id).or_default().listed(&line.element);
            if listed.len() == threads.len() && listed.values().all(Events::is_full) {
                break;
            }
        }
        let _ = child.kill();
        let _ = child.wait();
        if listed.len() != threads.len() {
            return Err(format!("OpenCSD lists {} threads of {}", listed.len(), threads.len()));
        }
        for thread in threads {
            // Contexts tell Linux's number of the thread; IDs are given as threads come.
            let tid = log.definitions().tid(thread);
            let of = listed.iter().find(|(_, theirs)| theirs.context == tid);
            let Some((id, theirs)) = of else { return Err(format!("OpenCSD lists no thread {tid:?}")) };
            let mut ours = Events { unit: self.unit, ..Events::default() };
            log.read(thread, &mut ours).map_err(|error| error.to_string())?;
            ours.compare(theirs)
                .map_err(|wrong| format!("thread {thread}, OpenCSD's ID {id:#x}: {wrong}"))?;
        }
        Ok(())
    }
}

/// What happened, in a way that does not depend on where blocks are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    /// Instructions from here to there, one after another.
    Ran(u64, u64),
    /// The number of an exception, and where it returns to.
    Exception(u64, u64),
    /// Something else.
    Other(String),
}

#[derive(Debug, Default)]
struct Events {
    unit: Unit,
    all: Vec<Event>,
    instructions: u64,
    /// The context ID, as listed.
    context: Option<u32>,
}

impl Events {
    fn is_full(&self) -> bool {
        self.instructions >= LISTED
    }

    fn ran(&mut self, start: u64, end: u64, count: u32) {
        if self.is_full() || start == end {
            return;
        }
        self.instructions += u64::from(count);
        match self.all.last_mut() {
            Some(Event::Ran(_, last)) if *last == start => *last = end,
            _ => self.all.push(Event::Ran(start, end)),
        }
    }

    fn push(&mut self, event: Event) {
        if !self.is_full() {
            self.all.push(event);
        }
    }

    fn listed(&mut self, element: &Result<Element, String>) {
        match element {
            Ok(Element::Block(block)) => self.ran(block.start, block.end, block.count),
            // With a debug halt the trace of a run ends that no branch ended; nothing happened.
            Ok(Element::Exception(exception)) if exception.number == 1 => {}
            Ok(Element::Exception(exception)) => self.push(Event::Exception(
                exception.number.into(),
                exception.return_address.unwrap_or_default(),
            )),
            Ok(Element::Context(context, _)) => self.context = context.context_id,
            Ok(Element::TraceOn(_) | Element::Timestamp { .. }) => {}
            other => self.push(Event::Other(format!("{other:x?}"))),
        }
    }

    fn compare(&self, theirs: &Self) -> Result<(), String> {
        let same = self.all.iter().zip(&theirs.all).take_while(|(ours, theirs)| ours == theirs).count();
        // Where listing stopped, one of them may have gone on a little.
        let most = self.all.len().max(theirs.all.len());
        let is_all = if self.is_full() { same + 1 >= most } else { same == most };
        if is_all && (theirs.is_full() || self.instructions == theirs.instructions) {
            return Ok(());
        }
        let rest = |events: &Self| {
            events.all.iter().skip(same.saturating_sub(1)).take(5).cloned().collect::<Vec<_>>()
        };
        Err(format!(
            "{same} of {} and {}: {:x?}, OpenCSD: {:x?}",
            self.all.len(),
            theirs.all.len(),
            rest(self),
            rest(theirs)
        ))
    }
}

impl HartSink for Events {
    fn block(&mut self, block: &Block) {
        // A branch of which nobody knows where it went is left out of traces: nothing can be told of it.
        let is_undecided = block.ended == Ended::Cut && block.class.is_branch();
        let (end, count) =
            if is_undecided { (block.last(), block.count - 1) } else { (block.end, block.count) };
        self.ran(block.start, end, count);
    }

    fn trap(&mut self, trap: &Trap) {
        // The older trace units have numbers of their own, and OpenCSD no return address for ETMv3.
        let number = match self.unit {
            Unit::Etm4 => trap.cause,
            Unit::Ptm | Unit::Etm3 => exception::of_etmv4(trap.cause as u16).into(),
        };
        self.push(Event::Exception(number, if self.unit == Unit::Etm3 { 0 } else { trap.pc }));
    }
}
