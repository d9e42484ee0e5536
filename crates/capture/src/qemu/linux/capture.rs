//! The capture that a process's trace goes to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::control::Plan;
use tracewright_qemu::format::{Header, Target};
use tracewright_qemu::read::{Definitions, Map};

use crate::control::Qualified;
use crate::encode::{Traces, isa};
use crate::etrace::LogData;
use crate::protocol::{Executed, InputKind, Subject, TraceWriter, Traced};
use crate::{CaptureOptions, Error, Remark, StopFlag, retirement};

/// A capture that is being written.
pub struct Capture {
    /// What the threads' input goes to.
    pub writer: Box<dyn TraceWriter>,
    options: CaptureOptions,
    ballast: Ballast,
    /// What is traced, if not all, once it is known where the program is.
    plan: Option<Plan>,
    threads: usize,
    /// What should be known of it.
    pub remarks: Vec<Remark>,
}

/// A file that only takes up room: when the disk is full, it makes way for what a capture needs besides the trace.
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
        // It is in nobody's way.
        let _ = fs::remove_file(&self.0);
    }
}

impl Capture {
    /// Makes the folder `dir`. `data` is what is recorded of accesses to memory.
    pub fn create(
        dir: &Path,
        target: Target,
        options: &CaptureOptions,
        data: LogData,
        description: &str,
    ) -> Result<Self, Error> {
        let input = InputKind::Threads(data);
        let writer = options.create(dir, isa(target), input, None, description, &StopFlag::default())?;
        let ballast = Ballast::new(dir).map_err(|error| {
            let what = format!("cannot write {} MiB, which is the least: {error}", BALLAST >> 20);
            Error::Qemu(format!("{}: {what}", dir.display()))
        })?;
        let (options, plan, remarks) = (options.clone(), None, Vec::new());
        Ok(Self { writer, options, ballast, plan, threads: 0, remarks })
    }

    /// Adds a thread, of a process that has these files mapped by now. Returns its number, and what gives what it executes to the capture.
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

    /// Ends the traces, of which `qualified` was traced, and adds what was in memory.
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
