//! An opened capture, and what can be asked of it.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright_engine::{
    self as engine, Consumer, Counted as PacketCounts, Decoded, Engine, Limits, Options, PacketRequest,
    PacketsRead, Request, Tally, Visitor,
};
use tracewright_image::Image;
use tracewright_input::{self as input, Buffer, Capture, ImageFile, Packing, RawSource, perf};
use tracewright_profile::coverage::{Coverage, Wanted};
use tracewright_profile::{Functions, Profile, Program, Window};

#[cfg(feature = "capture")]
use crate::check::{self, Checked, Checker};
use crate::clocks::Clocks;
use crate::error::Error;
use crate::outcome::{Diagnostic, Outcome};
use crate::profile::{BlockCounter, attribute, counted_functions, fill, in_binaries};
use crate::pull::{Blocks, Elements, Instructions, Packets};
use crate::stalls::{SourceStalls, StallMeter};
use crate::words;
#[cfg(feature = "capture")]
use tracewright_capture::retirement::is_log;

/// How to open a capture.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    symbol_folders: Vec<PathBuf>,
    packing: Option<Packing>,
    sources: Vec<RawSource>,
    images: Vec<ImageFile>,
    accept_mismatch: bool,
}

impl OpenOptions {
    /// Creates options for a capture that describes itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a program that ran: an ELF file, or raw bytes with the address they were loaded at (`None`: where the ELF file says).
    #[must_use]
    pub fn image(mut self, file: impl Into<PathBuf>, address: Option<u64>) -> Self {
        self.images.push(ImageFile { path: file.into(), at: address });
        self
    }

    /// Adds a folder to search for the programs that a recording of perf or simpleperf names.
    #[must_use]
    pub fn symbol_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.symbol_folders.push(folder.into());
        self
    }

    /// Describes a source of a raw trace file. Its text form is that of the command's `--source`.
    #[must_use]
    pub fn source(mut self, source: RawSource) -> Self {
        self.sources.push(source);
        self
    }

    /// Sets how a raw trace file is packed; by default its bytes are not in frames. Has no effect without [`source`](Self::source).
    #[must_use]
    pub fn packing(mut self, packing: Packing) -> Self {
        self.packing = Some(packing);
        self
    }

    /// Accepts programs that differ from those recorded, and counts traces that contradict their program.
    #[must_use]
    pub fn accept_mismatch(mut self, accept: bool) -> Self {
        self.accept_mismatch = accept;
        self
    }

    /// Opens a capture folder, a recording of perf or simpleperf, or, if a [`source`](Self::source) is described, a raw trace file.
    ///
    /// # Errors
    /// Fails if there is no capture that can be read. Lesser faults are in [`Trace::problems`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Trace, Error> {
        let path = path.as_ref();
        let failed = |message: &str| Err(input::Problem::file_error(path, message).into());
        let is_stdin = path.as_os_str() == "-";
        let capture = if !is_stdin && !path.exists() {
            return failed("no such file or folder");
        } else if !self.sources.is_empty() || self.packing.is_some() {
            let is_etrace = |source: &RawSource| matches!(source, RawSource::Etrace(_));
            match self.packing.or(self.sources.iter().any(is_etrace).then_some(Packing::Source)) {
                _ if path.is_dir() => {
                    return failed("a folder; sources and packing describe a raw trace file");
                }
                _ if self.sources.is_empty() => return failed("a raw trace file needs a source"),
                None => return failed("a raw trace file needs a packing"),
                Some(packing) => Capture::raw(path, packing, &self.sources)?,
            }
        } else if perf::is_recording(path) {
            perf::open(path, &self.symbol_folders)?
        } else if path.is_file() || is_stdin {
            return failed("not a capture; a raw trace file needs a packing and sources (OpenOptions)");
        } else {
            Capture::open(path)?
        };
        Ok(Trace::new(capture, &self.images, self.accept_mismatch))
    }
}

#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) capture: Capture,
    pub(crate) image: Arc<Image>,
    problems: Vec<input::Problem>,
    accept_mismatch: bool,
}

/// Which part of a trace is decoded, and how.
#[derive(Clone, Debug)]
struct Selection {
    ids: Vec<u16>,
    buffer: Option<String>,
    range: engine::Range,
    limits: Limits,
    options: Options,
    jobs: usize,
    progress: Progress,
}

/// A callback that gets the number of bytes read since the last call.
#[derive(Clone, Default)]
struct Progress(Option<Arc<dyn Fn(u64) + Send + Sync>>);

impl Progress {
    fn report(&self, bytes: u64) {
        if let Some(progress) = &self.0 {
            progress(bytes);
        }
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            buffer: None,
            range: engine::Range::ALL,
            limits: Limits::NONE,
            options: Options::default(),
            jobs: 0,
            progress: Progress::default(),
        }
    }
}

/// A capture and the programs that ran.
///
/// Cloning is cheap. Methods that choose a part of the trace return a `Trace` of the same capture.
#[derive(Clone, Debug)]
pub struct Trace {
    pub(crate) opened: Arc<Opened>,
    selection: Selection,
}

/// Counts of the code that ran, and the programs.
#[derive(Debug)]
pub struct ProgramProfile {
    /// The counts.
    pub profile: Profile,
    /// The programs, with symbols and lines.
    pub program: Program,
}

impl ProgramProfile {
    /// Returns the name of each function that ran and the number of instructions it executed, the most first.
    pub fn functions(&self) -> Vec<(String, u64)> {
        let mut numbers = Functions::default();
        let counted = counted_functions(&self.profile, &self.program, &mut numbers);
        let mut functions: Vec<_> = counted
            .into_iter()
            .map(|(number, of)| (numbers.name(number).to_owned(), of.own.instructions))
            .filter(|(_, instructions)| *instructions > 0)
            .collect();
        functions.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
        functions
    }
}

impl Trace {
    /// Opens a capture folder (tracewright's own, or an Arm trace snapshot) or a recording of perf or simpleperf.
    /// [`OpenOptions`] opens raw files, and captures whose programs are elsewhere.
    ///
    /// # Errors
    /// Fails if there is no capture that can be read. Lesser faults are in [`Trace::problems`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        OpenOptions::new().open(path)
    }

    /// Creates a trace from an open capture, and opens the programs that ran: `images` and those that the capture names.
    pub fn new(capture: Capture, images: &[ImageFile], accept_mismatch: bool) -> Self {
        let (image, problems) = capture.image_of(images, accept_mismatch);
        Self::with_image(capture, image, problems, accept_mismatch)
    }

    /// Creates a trace from an open capture without opening any program.
    pub fn without_programs(capture: Capture) -> Self {
        Self::with_image(capture, Image::builder().build(), Vec::new(), false)
    }

    fn with_image(
        capture: Capture,
        image: Image,
        problems: Vec<input::Problem>,
        accept_mismatch: bool,
    ) -> Self {
        let opened = Opened { capture, image: Arc::new(image), problems, accept_mismatch };
        Self { opened: Arc::new(opened), selection: Selection::default() }
    }

    /// Chooses a source by its number in the buffer (trace ID, srcID). Call it again to choose more.
    #[must_use]
    pub fn source(mut self, id: u16) -> Self {
        self.selection.ids.push(id);
        self
    }

    /// Chooses one source, instead of those chosen before.
    #[must_use]
    pub fn only_source(mut self, id: u16) -> Self {
        self.selection.ids = vec![id];
        self
    }

    /// Chooses a buffer by name.
    #[must_use]
    pub fn buffer(mut self, name: &str) -> Self {
        self.selection.buffer = Some(name.to_owned());
        self
    }

    /// Chooses packets by their offsets in the trace file.
    #[must_use]
    pub fn range(mut self, offsets: Range<u64>) -> Self {
        self.selection.range = engine::Range { from: offsets.start, to: offsets.end };
        self
    }

    /// Limits what is decoded of each buffer.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.selection.limits = limits;
        self
    }

    /// Sets how the trace is decoded.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.selection.options = options;
        self
    }

    /// Sets the number of threads; 0 (the default) starts one for each core.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.selection.jobs = jobs;
        self
    }

    /// Calls `progress` with the number of bytes read since the last call.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.selection.progress = Progress(Some(Arc::new(progress)));
        self
    }

    /// Returns the capture's description: sources, buffers, programs.
    pub fn capture(&self) -> &Capture {
        &self.opened.capture
    }

    /// Returns the programs, by address.
    pub fn image(&self) -> &Arc<Image> {
        &self.opened.image
    }

    /// Returns what is wrong with the capture and its programs.
    pub fn problems(&self) -> impl Iterator<Item = &input::Problem> {
        self.opened.capture.problems.iter().chain(&self.opened.problems)
    }

    /// Returns whether a source with this number is chosen.
    pub fn is_chosen(&self, id: u16) -> bool {
        self.selection.ids.is_empty() || self.selection.ids.contains(&id)
    }

    fn is_damaged(&self) -> bool {
        self.problems().any(input::Problem::is_error)
    }

    /// Returns the chosen buffers: those with this name, or those that hold a chosen source.
    ///
    /// # Errors
    /// Fails if there is no such source or buffer.
    pub fn buffers(&self) -> Result<Vec<&Buffer>, Error> {
        let (capture, Selection { ids, buffer, .. }) = (self.capture(), &self.selection);
        let known: Vec<_> = capture.sources.iter().filter_map(input::Source::number).collect();
        if let Some(id) = ids.iter().find(|id| !known.contains(id)) {
            let known: Vec<_> = known.iter().map(|id| format!("{id:#04x}")).collect();
            let message = format!("no source has trace ID {id:#04x}; there are {}", known.join(", "));
            return Err(Error::Selection(message));
        }
        let number = |index: &usize| capture.sources[*index].number();
        let is_wanted = |of: &&Buffer| match buffer {
            Some(name) => of.name == *name,
            None => ids.is_empty() || of.sources.iter().filter_map(number).any(|id| ids.contains(&id)),
        };
        let buffers: Vec<_> = capture.buffers.iter().filter(is_wanted).collect();
        let names: Vec<_> = capture.buffers.iter().map(|buffer| buffer.name.as_str()).collect();
        match (buffers.is_empty(), buffer) {
            (false, _) => Ok(buffers),
            (true, Some(name)) if !names.is_empty() => {
                Err(Error::Selection(format!("no trace buffer {name}; there are {}", names.join(", "))))
            }
            (true, _) => Err(Error::Selection("the capture has no trace buffer that can be read".into())),
        }
    }

    /// Starts the threads that decode buffers.
    ///
    /// # Errors
    /// Fails if they cannot be started.
    pub fn engine(&self) -> Result<Engine, Error> {
        Ok(Engine::new(self.selection.jobs)?)
    }

    /// Decodes a buffer for `consumer`, and returns its merged output. `take` gets output that has an order, piece by piece, and may
    /// stop decoding. If `lists` is false, a program that does not explain the trace is an error, since the result would count what did
    /// not run; [`OpenOptions::accept_mismatch`] accepts it.
    ///
    /// # Errors
    /// Fails if the trace cannot be read, or if the program does not explain it.
    pub fn decode_buffer<C: Consumer>(
        &self,
        engine: &Engine,
        buffer: &Buffer,
        consumer: &C,
        lists: bool,
        take: impl FnMut(&C::Output, Range<usize>) -> ControlFlow<()> + Send,
    ) -> Result<Decoded<C::Output>, Error> {
        let Selection { range, limits, options, progress, .. } = &self.selection;
        let request = Request {
            capture: self.capture(),
            buffer,
            bytes: None,
            image: self.image(),
            wants: &|id| self.is_chosen(id),
            options,
            range: *range,
            limits: *limits,
            refuse_mismatch: !lists && !self.opened.accept_mismatch,
            progress: &|bytes| progress.report(bytes),
        };
        Ok(engine.decode(&request, consumer, take)?)
    }

    fn run<C: Consumer>(
        &self,
        consumer: &C,
        lists: bool,
        mut take: impl FnMut(&C::Output, Range<usize>) -> ControlFlow<()> + Send,
    ) -> Result<Outcome<C::Output>, Error> {
        let mut outcome = Outcome {
            value: C::Output::default(),
            tally: Tally::default(),
            diagnostics: Vec::new(),
            unread: Vec::new(),
            is_capture_damaged: self.is_damaged(),
        };
        let engine = self.engine()?;
        for buffer in self.buffers()? {
            let decoded = self.decode_buffer(&engine, buffer, consumer, lists, &mut take)?;
            consumer.merge(&mut outcome.value, decoded.output);
            outcome.tally += &decoded.tally;
            let named = |problem| Diagnostic { buffer: buffer.name.clone(), problem };
            outcome.diagnostics.extend(decoded.problems.into_iter().map(named));
            let unread = words::unread(self.capture(), buffer, decoded.unread);
            outcome.unread.extend(unread.into_iter().map(|line| format!("{}: {line}", buffer.name)));
            if decoded.is_stopped {
                break;
            }
        }
        Ok(outcome)
    }

    /// Decodes the trace on all cores for a consumer of your own, and returns its merged output.
    ///
    /// # Errors
    /// Fails if the trace cannot be read, or if the program does not explain it.
    pub fn decode<C: Consumer>(&self, consumer: &C) -> Result<Outcome<C::Output>, Error> {
        self.run(consumer, false, |_, _| ControlFlow::Continue(()))
    }

    /// Decodes the trace on all cores, and passes the consumer's output to `take` in the order of the file: an output, and the range of
    /// it that comes next. A program that does not explain the trace is no error here.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
    pub fn decode_in_order<C: Consumer>(
        &self,
        consumer: &C,
        take: impl FnMut(&C::Output, Range<usize>) -> ControlFlow<()> + Send,
    ) -> Result<Outcome<C::Output>, Error> {
        self.run(consumer, true, take)
    }

    /// Gives the packets of all chosen buffers to `visitor`.
    pub(crate) fn read_packets(&self, visitor: &mut dyn Visitor) -> Result<Outcome<()>, Error> {
        let mut outcome = Outcome { is_capture_damaged: self.is_damaged(), ..Outcome::default() };
        for buffer in self.buffers()? {
            let read = self.visit_buffer(buffer, visitor)?;
            let named = |problem| Diagnostic { buffer: buffer.name.clone(), problem };
            outcome.diagnostics.extend(read.problems.into_iter().map(named));
            if visitor.is_done() {
                break;
            }
        }
        Ok(outcome)
    }

    /// Gives the packets of a buffer to `visitor`, in the order in which they end in the file.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read.
    pub fn visit_buffer(&self, buffer: &Buffer, visitor: &mut dyn Visitor) -> Result<PacketsRead, Error> {
        self.with_packets(buffer, |request| request.visit(visitor))
    }

    /// Counts the packets of a buffer.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read.
    pub fn count_packets(&self, buffer: &Buffer) -> Result<PacketCounts, Error> {
        self.with_packets(buffer, |request| request.count())
    }

    fn with_packets<R>(
        &self,
        buffer: &Buffer,
        read: impl FnOnce(PacketRequest<'_>) -> Result<R, engine::Error>,
    ) -> Result<R, Error> {
        let Selection { options, progress, .. } = &self.selection;
        Ok(read(PacketRequest {
            capture: self.capture(),
            buffer,
            bytes: None,
            wants: &|id| self.is_chosen(id),
            options,
            progress: &|bytes| progress.report(bytes),
        })?)
    }

    /// Returns all packets, in the order in which they end in the file.
    pub fn packets(&self) -> Packets {
        Packets::new(self)
    }

    /// Returns all elements, in the order of the file.
    pub fn elements(&self) -> Elements {
        Elements::new(self)
    }

    /// Returns the blocks that ran, in the order of the file.
    pub fn blocks(&self) -> Blocks {
        Blocks(self.elements())
    }

    /// Returns the instructions that ran, in the order of the file.
    pub fn instructions(&self) -> Instructions {
        Instructions::new(self)
    }

    /// Counts how often each block ran, on all cores.
    ///
    /// # Errors
    /// Fails if the trace cannot be read, or if the program does not explain it.
    pub fn profile(&self) -> Result<Outcome<ProgramProfile>, Error> {
        let outcome = self.decode(&BlockCounter)?;
        let tally = outcome.tally;
        Ok(outcome.map(|counts| {
            let mut profile = in_binaries(counts, self.image());
            let program = Program::new(&profile, self.image());
            attribute(&mut profile, &program);
            fill(&mut profile.funnel, &tally);
            ProgramProfile { profile, program }
        }))
    }

    /// Returns which functions, lines and branches of the programs ran.
    ///
    /// # Errors
    /// Fails if the trace cannot be read, or if the program does not explain it.
    pub fn coverage(&self) -> Result<Outcome<Coverage>, Error> {
        Ok(self.profile()?.map(|ProgramProfile { profile, program }| {
            Coverage::new(&profile, &[program], &Wanted::default())
        }))
    }

    /// Compares the chosen source with a log of tracewright, Spike, CVA6 or QEMU (of several threads, with the one that the source is
    /// named after), or with retirements as CSV. With `prefix`, one of the two may end before the other.
    ///
    /// # Errors
    /// Fails if the trace or the log cannot be read, or if more than one source is chosen.
    #[cfg(feature = "capture")]
    pub fn check(&self, log: impl AsRef<Path>, prefix: bool) -> Result<Outcome<Checked>, Error> {
        let mut indices: Vec<_> = self.buffers()?.iter().flat_map(|buffer| &buffer.sources).collect();
        indices.sort();
        indices.dedup();
        let sources = indices.into_iter().map(|&index| &self.capture().sources[index]);
        let mut sources = sources.filter(|of| of.number().is_some_and(|id| self.is_chosen(id)));
        let (Some(source), None) = (sources.next(), sources.next()) else {
            return Err(Error::Selection("a log is compared with one source: choose one".into()));
        };
        let log = log.as_ref();
        let thread = is_log(log).then(|| check::thread_of(source)).flatten();
        let mut checker = Checker::of_log(log, thread, source, &self.opened.image)?;
        let records = checker.records();
        let outcome = self.decode_in_order(&records, |records, range| checker.take(&records[range]))?;
        Ok(outcome.map(|_| checker.finish(prefix)))
    }

    /// Returns where the cycles of each source went. [`SourceStalls::stalls`] is `None` for a source without cycles.
    ///
    /// # Errors
    /// Fails if the trace cannot be read, or if the program does not explain it.
    pub fn stalls(&self) -> Result<Outcome<Vec<SourceStalls>>, Error> {
        let clocks = Clocks::find(self.capture())?;
        self.decode(&StallMeter { clocks: &clocks, window: &Window::default() })
    }
}
