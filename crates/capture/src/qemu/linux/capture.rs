//! The capture of a process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::control::Plan;
use tracewright_input::OutputFolder;
use tracewright_qemu::format::{Header, Target};
use tracewright_qemu::read::{Definitions, Map};

use crate::control::Qualified;
use crate::encode::{Traces, isa};
use crate::etrace::LogData;
use crate::protocol::{Executed, InputKind, Place, Subject, TraceWriter, Traced};
use crate::{CaptureOptions, Error, Remark, StopFlag, retirement};

/// A capture that is being written.
pub struct Capture {
    /// Writer of the threads' traces.
    pub writer: Box<dyn TraceWriter>,
    options: CaptureOptions,
    ballast: Ballast,
    /// Resolved condition for what is traced, once it is known where the program is.
    plan: Option<Plan>,
    threads: usize,
    /// Remarks about it.
    pub remarks: Vec<Remark>,
}

/// A file that reserves disk space. When the disk is full, it makes room for what a capture needs besides the trace.
struct Ballast(PathBuf);

const BALLAST: usize = 8 << 20;

impl Ballast {
    fn new(dir: &Path) -> io::Result<Self> {
        let ballast = Self(dir.join("room.tmp"));
        fs::write(&ballast.0, vec![0; BALLAST])?;
        Ok(ballast)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        // A file that stays is harmless.
        let _ = fs::remove_file(&self.0);
    }
}

impl Capture {
    /// Begins a capture in a folder. `data` says how much of memory accesses is recorded.
    pub fn create(
        folder: OutputFolder,
        target: Target,
        options: &CaptureOptions,
        data: LogData,
        description: &str,
    ) -> Result<Self, Error> {
        let input = InputKind::Threads(data);
        let dir = folder.path().to_owned();
        let place = Place::Claimed(folder);
        let writer = options.create(place, isa(target), input, None, description, &StopFlag::default())?;
        let ballast = Ballast::new(&dir).map_err(|error| {
            let what = format!("cannot write {} MiB, which is the least: {error}", BALLAST >> 20);
            Error::Qemu(format!("{}: {what}", dir.display()))
        })?;
        let (options, plan, remarks) = (options.clone(), None, Vec::new());
        Ok(Self { writer, options, ballast, plan, threads: 0, remarks })
    }

    /// Adds a thread of a process that has these files mapped by now. Returns its number, and the state of its tracing.
    pub fn thread(
        &mut self,
        index: u32,
        tid: u32,
        target: Target,
        maps: &[Map],
    ) -> Result<(usize, Traces), Error> {
        if let (Some(asked), None) = (&self.options.control, &self.plan) {
            self.plan = Some(asked.plan(&retirement::symbols(maps), &mut self.remarks)?);
        }
        self.writer.add_thread(&Subject::Thread { index, tid, maps }, &mut self.remarks)?;
        let number = self.threads;
        self.threads += 1;
        Ok((number, Traces::new(index, target, self.options.control.as_ref().zip(self.plan.as_ref()))))
    }

    /// Ends the traces, for which `qualified` says how much was traced, and adds memory.
    pub fn finish(
        self,
        qualified: Option<&Qualified>,
        header: &Header,
        definitions: &Definitions,
        remarks: &mut Vec<Remark>,
    ) -> Result<Traced, Error> {
        drop(self.ballast);
        remarks.extend(self.remarks);
        if let Some((asked, qualified)) = self.options.control.as_ref().zip(qualified) {
            qualified.remark(asked, remarks);
        }
        self.writer.finish(Executed::Process { header, definitions }, remarks)
    }
}
