//! Writes a snapshot folder.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tracewright_core::{Context, MemorySpace, Security, TraceId};
use tracewright_input::Packing;
use tracewright_input::{OutputFolder, Process, SnapshotWriter};

use super::Tracer;
use super::output::Output;
use super::tracer::LeftOut;
use super::unit::{Device, Unit as _, UnitSettings};
use crate::protocol::Traced;
use crate::retirement::{CodePages, Missing};
use crate::{Error, Remark, port};

/// A snapshot folder that is being written.
pub struct Folder<S> {
    writer: SnapshotWriter,
    dir: PathBuf,
    settings: S,
    output: Arc<Mutex<Output>>,
    buffer: usize,
    /// Device numbers of the cores, one for each thread.
    cores: Vec<usize>,
    /// Number of threads without a trace ID.
    without_id: usize,
}

/// Trace IDs in the order in which threads get them. Those that are never reserved for other sources come first.
const IDS: [(u8, u8); 2] = [(0x10, 0x6f), (0x01, 0x0f)];
/// Most references from cores to pieces of memory. If there were more, only the first core names them; readers use the memory of one
/// core for all.
const MOST_NAMED: usize = 20_000;

impl<S: UnitSettings> Folder<S> {
    /// Creates the folder. `description` is for people.
    pub fn create(folder: OutputFolder, settings: &S, description: &str) -> Result<Self, Error> {
        let dir = folder.path().to_owned();
        let mut writer = SnapshotWriter::within(folder)?;
        let plain: String =
            description.chars().map(|c| if c.is_control() || ";#\"".contains(c) { ' ' } else { c }).collect();
        if !plain.trim().is_empty() {
            writer.describe(plain.trim())?;
        }
        let (buffer, path, file) = writer.open_buffer("ETB_0", Packing::CoreSight)?;
        let output = Arc::new(Mutex::new(Output::new(file, path)));
        let settings = settings.clone();
        Ok(Self { writer, dir, settings, output, buffer, cores: Vec::new(), without_id: 0 })
    }

    /// Adds a thread by its index in the log and its Linux thread ID. Returns the tracer for it.
    pub fn thread(&mut self, index: u32, tid: u32) -> Result<Tracer<S::Unit>, Error> {
        let id = IDS.iter().flat_map(|&(first, last)| first..=last).nth(self.cores.len());
        let id = id.and_then(TraceId::new);
        let Device { kind, registers, unit } = self.settings.device(id.unwrap_or_default())?;
        if id.is_some() {
            let core = self.writer.core(&format!("thread{index}"), self.settings.core(), &[])?;
            let source = self.writer.source(&format!("ETM_{index}"), kind, &registers)?;
            self.writer.connect(source, self.buffer, Some(core))?;
            self.cores.push(core);
        } else {
            self.without_id += 1;
        }
        // User level.
        let context = Context {
            level: 0,
            security: Security::NonSecure,
            is_64bit: self.settings.is_64bit(),
            vmid: None,
            context_id: Some(tid),
        };
        Ok(Tracer::new(unit, id, context, Arc::clone(&self.output)))
    }

    /// Fails if trace could not be written, so that the rest would be lost.
    pub fn check(&self) -> Result<(), Error> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).check()
    }

    /// Ends the trace, and adds memory: `process` says what was mapped, and `code` has the executed pieces with their addresses, in the
    /// order in which they first ran. Returns the totals of what is in the trace, and of what is not.
    pub fn finish(
        mut self,
        tracers: Vec<Tracer<S::Unit>>,
        process: Process,
        code: impl IntoIterator<Item = (u64, impl AsRef<[u8]>)>,
        remarks: &mut Vec<Remark>,
    ) -> Result<(Traced, LeftOut), Error> {
        if self.cores.is_empty() {
            return Err(Error::NothingRan);
        }
        let (mut counted, mut left_out, mut port) = (0, LeftOut::default(), None);
        for mut tracer in tracers {
            tracer.finish();
            counted += tracer.instructions;
            left_out.branches += tracer.left_out.branches;
            left_out.nonsense += tracer.left_out.nonsense;
            left_out.instructions += tracer.left_out.instructions;
            port = port::Report::all(port.into_iter().chain(tracer.unit.port()));
        }
        // If the disk is full, the trace so far should be readable.
        let (written, bytes) = {
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            (output.finish(), output.bytes)
        };
        remarks.extend(self.settings.remark());
        let LeftOut { branches, nonsense, instructions } = left_out;
        if self.without_id > 0 {
            let (without, traced) = (self.without_id, self.cores.len());
            remarks.push(Remark::ManyThreads { without, traced, instructions });
        }
        if branches > 0 {
            remarks.push(Remark::BranchesLeftOut(branches));
        }
        if nonsense > 0 {
            remarks.push(Remark::Nonsense(nonsense));
        }
        self.memory(&process, code, remarks)?;
        self.writer.process(process);
        self.writer.finish()?;
        let instructions = Some(counted);
        written.map(|()| (Traced { bytes, kept: bytes, instructions, port, ..Traced::default() }, left_out))
    }

    /// Adds memory: the same for all cores, in files that they share.
    fn memory(
        &mut self,
        process: &Process,
        code: impl IntoIterator<Item = (u64, impl AsRef<[u8]>)>,
        remarks: &mut Vec<Remark>,
    ) -> Result<(), Error> {
        let mut executed: CodePages = code.into_iter().collect();
        if let Some(address) = executed.changed {
            remarks.push(Remark::CodeChanged(address));
        }
        let (mapped, missing) = executed.mapped(&self.dir, &process.mappings);
        remarks.extend(missing.into_iter().map(|Missing { path, why }| Remark::FileGone(path, why)));
        // File, offset and length in it, address.
        let mut places = Vec::new();
        for piece in mapped {
            let file = self.writer.memory(&piece.bytes[..])?;
            places.push((file, (0, piece.bytes.len() as u64), piece.address));
        }
        let rest = executed.rest(!self.settings.is_64bit());
        if !rest.is_empty() {
            let bytes: Vec<u8> = rest.iter().flat_map(|piece| &piece.bytes).copied().collect();
            let file = self.writer.memory(&bytes[..])?;
            let mut offset = 0;
            for piece in rest {
                let len = piece.bytes.len() as u64;
                places.push((file, (offset, len), piece.address));
                offset += len;
            }
        }
        let all = places.len().saturating_mul(self.cores.len()) <= MOST_NAMED;
        if places.len() > MOST_NAMED {
            remarks.push(Remark::ManyPieces { kept: MOST_NAMED, of: places.len(), is_unnamed: false });
            places.truncate(MOST_NAMED);
        }
        for &core in self.cores.iter().take(if all { usize::MAX } else { 1 }) {
            for &(file, part, address) in &places {
                self.writer.see(core, file, part, address, MemorySpace::ANY)?;
            }
        }
        Ok(())
    }
}
