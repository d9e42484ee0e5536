//! An opened capture, and what can be asked of it.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use tracewright_engine::{
    self as engine, Consumer, Counted as PacketCounts, Engine, Limits, Options, PacketRequest, Request,
    Tally, Visitor,
};
use tracewright_image::Image;
use tracewright_input::{self as input, Buffer, Capture, ImageFile, Subject};
use tracewright_profile::coverage::{Coverage, Wanted};
use tracewright_profile::{Functions, Named, PlaceNames, Profile, Program, ThreadsBy, Window};

#[cfg(feature = "capture")]
use crate::check::{self, Checked, Checker};
use crate::clocks::Clocks;
use crate::error::Error;
use crate::exceptions::{ExceptionMeter, SourceExceptions};
use crate::filter::{Filter, Filtered, check_process, check_threads, check_window, listed};
use crate::open::OpenOptions;
use crate::outcome::Outcome;
use crate::profile::{BlockCounter, attribute, counted_functions, fill, in_binaries};
use crate::pull::{Blocks, Elements, Instructions, Packets};
use crate::stalls::{SourceStalls, StallMeter};
#[cfg(feature = "capture")]
use tracewright_capture::retirement::is_log;

#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) capture: Arc<Capture>,
    pub(crate) image: Arc<Image>,
    problems: Vec<input::Problem>,
    accept_mismatch: bool,
}

/// Which part of a trace is decoded, and how.
#[derive(Clone, Debug)]
struct Selection {
    ids: Vec<u16>,
    /// Numbers of sources that are not wanted.
    except: Vec<u16>,
    cpus: Vec<u32>,
    filter: Filter,
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
            except: Vec::new(),
            cpus: Vec::new(),
            filter: Filter::default(),
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
    /// Returns the name of each function that ran and the number of instructions it executed, the most first. Inlined functions are
    /// among them, unless the program does not [show](Program::show_inlined) them.
    pub fn functions(&self) -> Vec<(String, u64)> {
        let mut numbers = Functions::default();
        let counted = counted_functions(&self.profile, &self.program, &mut numbers, &[]);
        let mut functions: Vec<_> = counted
            .into_iter()
            .map(|(number, of)| (numbers.name(number).to_owned(), of.own.instructions))
            .filter(|(_, instructions)| *instructions > 0)
            .collect();
        functions.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
        functions
    }

    /// Counts the instructions of functions with symbols. [`Outcome::is_complete`] does not judge names: a profile by block or address needs
    /// none. Verbs that count by function also end with status 1 if [`Named::lacks_symbols`].
    pub fn named(&self) -> Named {
        Named::of(&self.profile, &[&self.program], None)
    }
}

impl Trace {
    /// Opens a capture folder (tracewright's own, or an Arm trace snapshot), a recording of perf or simpleperf, or a log of tracewright.
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
        let opened = Opened { capture: Arc::new(capture), image: Arc::new(image), problems, accept_mismatch };
        Self { opened: Arc::new(opened), selection: Selection::default() }
    }

    /// Returns the trace with another image.
    #[cfg(feature = "capture")]
    pub(crate) fn set_image(&self, image: Image) -> Self {
        let Opened { capture, problems, accept_mismatch, .. } = &*self.opened;
        let (capture, problems) = (Arc::clone(capture), problems.clone());
        let opened = Opened { capture, image: Arc::new(image), problems, accept_mismatch: *accept_mismatch };
        Self { opened: Arc::new(opened), selection: self.selection.clone() }
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

    /// Leaves out sources by their numbers.
    pub(crate) fn except(mut self, ids: Vec<u16>) -> Self {
        self.selection.except = ids;
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

    /// Chooses the sources of a core, by its number. Call it again to choose more. [`buffers`](Self::buffers), and with it everything that
    /// reads trace, fails if the capture tells of no such core.
    #[must_use]
    pub fn cpu(mut self, number: u32) -> Self {
        self.selection.cpus.push(number);
        self
    }

    /// Chooses what a thread ran, also in the kernel, by its thread ID: the context ID in the trace, or the thread that a recording of perf
    /// names. Call it again to choose more. Choose sources first.
    ///
    /// # Errors
    /// Fails if nothing in the capture tells which thread ran.
    pub fn thread(mut self, tid: u32) -> Result<Self, Error> {
        check_threads(&self, "--tid")?;
        self.selection.filter.tids.push(tid);
        Ok(self)
    }

    /// Chooses what the threads of a process ran, by its process ID. Call it again to choose more. Choose sources first.
    ///
    /// # Errors
    /// Fails if the capture tells of no such process, or if nothing tells which thread ran.
    pub fn process(mut self, pid: u32) -> Result<Self, Error> {
        check_process(pid, self.capture())?;
        check_threads(&self, "--pid")?;
        self.selection.filter.add_process(pid, &self.opened.capture);
        Ok(self)
    }

    /// Chooses what ran in a window of time. Choose sources first.
    ///
    /// # Errors
    /// Fails if no chosen source tells this time.
    pub fn window(mut self, window: Window) -> Result<Self, Error> {
        let clocks = match window.cycles {
            Some(_) => Clocks::find(self.capture())?,
            None => Clocks::default(),
        };
        self.check_window(&window, &clocks)?;
        (self.selection.filter.window, self.selection.filter.clocks) = (window, Arc::new(clocks));
        Ok(self)
    }

    /// Fails if no chosen source tells the time of a window, with these clocks.
    ///
    /// # Errors
    /// Fails if no chosen source does, or if the trace cannot be read.
    pub fn check_window(&self, window: &Window, clocks: &Clocks) -> Result<(), Error> {
        check_window(window, self, clocks)
    }

    /// Chooses the instructions in named places of the programs; blocks are cut. An element without an address counts to the place of the
    /// block before it.
    ///
    /// # Errors
    /// Fails if no program has one of the names.
    pub fn places(mut self, names: &PlaceNames) -> Result<Self, Error> {
        let image = &self.opened.image;
        let has_offset = names.functions.iter().chain(&names.ranges).any(|name| name.contains("+0x"));
        match self.selection.filter.set_places(names, image, Profile::default()) {
            // Functions without symbols, app+0x1a20, are known by the calls to them: all is decoded once for them.
            Err(error) if error.symbol().is_some() && has_offset => {
                let Ok(counted) = self.split_filter().0.profile() else { return Err(error.into()) };
                self.selection.filter.set_places(names, image, counted.value.profile)?;
            }
            found => found?,
        }
        Ok(self)
    }

    /// Returns the clocks by which a [`window`](Self::window) of cycles is found.
    pub fn window_clocks(&self) -> &Clocks {
        &self.selection.filter.clocks
    }

    /// Returns threads that ran, where [`thread`](Self::thread) or [`process`](Self::process) chose some: those that were seen while
    /// decoding, or some of them if there are many.
    pub fn threads_seen(&self) -> Vec<u32> {
        self.selection.filter.seen()
    }

    /// Returns the trace without its filter, and the filter.
    pub(crate) fn split_filter(&self) -> (Self, &Filter) {
        let selection = Selection { filter: Filter::default(), ..self.selection.clone() };
        (Self { opened: Arc::clone(&self.opened), selection }, &self.selection.filter)
    }

    /// Returns the part of the file that is chosen.
    pub(crate) fn file_range(&self) -> engine::Range {
        self.selection.range
    }

    /// Returns whether the chosen part can only be found by decoding from the beginning.
    pub(crate) fn needs_all(&self) -> bool {
        !self.selection.filter.window.is_all()
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
        let is_it = |source: &&input::Source| source.number() == Some(id);
        let Selection { ids, cpus, .. } = &self.selection;
        (ids.is_empty() || ids.contains(&id))
            && (cpus.is_empty() || self.capture().sources.iter().filter(is_it).any(|of| self.has_source(of)))
    }

    /// Returns whether a source is chosen.
    pub fn has_source(&self, source: &input::Source) -> bool {
        let Selection { ids, cpus, .. } = &self.selection;
        (ids.is_empty() || source.number().is_some_and(|id| ids.contains(&id)))
            && (cpus.is_empty() || source.cpu().is_some_and(|cpu| cpus.contains(&cpu)))
    }

    /// Returns whether the source of a buffer with this number is chosen.
    fn wants(&self, buffer: &Buffer, id: u16) -> bool {
        let Selection { ids, except, cpus, .. } = &self.selection;
        let sources = || buffer.sources.iter().map(|&index| &self.capture().sources[index]);
        (ids.is_empty() || ids.contains(&id))
            && !except.contains(&id)
            && (cpus.is_empty() || sources().any(|of| of.number() == Some(id) && self.has_source(of)))
    }

    /// Fails if the capture tells of no such core.
    fn check_cpus(&self) -> Result<(), Error> {
        let mut known: Vec<_> = self.capture().sources.iter().filter_map(input::Source::cpu).collect();
        known.sort_unstable();
        known.dedup();
        let Some(cpu) = self.selection.cpus.iter().find(|cpu| !known.contains(cpu)) else { return Ok(()) };
        Err(Error::Selection(match known.is_empty() {
            true => {
                format!("--cpu {cpu}: nothing tells which core a source traces: {}", self.how_to_choose())
            }
            false => format!("--cpu {cpu}: no source traces it; there are {}", listed(&known)),
        }))
    }

    /// Says which option tells the sources of the capture apart.
    fn how_to_choose(&self) -> String {
        let sources = &self.capture().sources;
        let mut ids: Vec<_> = sources.iter().filter_map(input::Source::number).collect();
        ids.sort_unstable();
        let has_own_ids = ids.windows(2).all(|pair| pair[0] != pair[1]);
        let of_processes = self.capture().processes.iter().flat_map(|process| &process.threads);
        let of_sources = sources.iter().filter_map(|source| source.thread);
        let mut threads: Vec<_> = of_sources.chain(of_processes.map(|thread| thread.tid)).collect();
        threads.sort_unstable();
        threads.dedup();
        match (has_own_ids, self.capture().buffers.as_slice()) {
            (true, _) => "--id takes trace IDs".into(),
            (false, _) if threads.len() > 1 => format!("--tid takes thread IDs ({})", listed(&threads)),
            (false, [first, .., last]) => {
                format!("--buffer takes names of buffers ({} to {})", first.name, last.name)
            }
            (false, _) => "nothing tells its sources apart".into(),
        }
    }

    /// Returns the problems of the capture and its programs that concern a result. Code that is not there concerns it only if it ran.
    pub fn problems_of(&self, tally: &Tally) -> impl Iterator<Item = &input::Problem> {
        let is_code_missing = tally.no_code > 0;
        self.problems().filter(move |problem| is_code_missing || problem.subject != Subject::MissingCode)
    }

    /// Returns the chosen buffers: those with this name, or those that hold a chosen source.
    ///
    /// # Errors
    /// Fails if there is no such source or buffer.
    pub fn buffers(&self) -> Result<Vec<&Buffer>, Error> {
        let (capture, Selection { ids, buffer, .. }) = (self.capture(), &self.selection);
        let known: Vec<_> = capture.sources.iter().filter_map(input::Source::number).collect();
        if let Some(id) = ids.iter().find(|id| !known.contains(id)) {
            let first = known.first().filter(|&first| known.len() > 1 && known.iter().all(|id| id == first));
            let others = match first {
                Some(first) => format!("all {} have {first:#04x}: {}", known.len(), self.how_to_choose()),
                None => {
                    let known: Vec<_> = known.iter().map(|id| format!("{id:#04x}")).collect();
                    format!("there are {}", known.join(", "))
                }
            };
            return Err(Error::Selection(format!("no source has trace ID {id:#04x}; {others}")));
        }
        self.check_cpus()?;
        let is_all = ids.is_empty() && self.selection.cpus.is_empty();
        let is_wanted = |of: &&Buffer| match buffer {
            Some(name) => of.name == *name,
            None => is_all || of.sources.iter().any(|&index| self.has_source(&capture.sources[index])),
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

    /// Decodes a buffer for `consumer`, and returns its merged output. [`Outcome::problems`] stays empty: [`problems_of`](Self::problems_of)
    /// returns those of the capture. `take` gets output that has an order, piece by piece, and may stop decoding. If `lists` is false, a program that does not explain the trace is an error, since the result would count what did
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
    ) -> Result<Outcome<C::Output>, Error> {
        let Selection { filter, range, limits, options, progress, .. } = &self.selection;
        let request = Request {
            capture: self.capture(),
            buffer,
            bytes: None,
            image: self.image(),
            wants: &|id| self.wants(buffer, id),
            options,
            range: *range,
            limits: *limits,
            refuse_mismatch: !lists && !self.opened.accept_mismatch,
            progress: &|bytes| progress.report(bytes),
        };
        if filter.is_all() {
            return Ok(Outcome::decoded(self.capture(), buffer, engine.decode(&request, consumer, take)?));
        }
        let (filtered, mut take) = (Filtered { filter, inner: consumer }, take);
        let decoded = engine.decode(&request, &filtered, |output, range| take(&output.inner, range))?;
        let mut outcome = Outcome::decoded(self.capture(), buffer, decoded);
        let counts = &outcome.value.counts;
        for of in &mut outcome.sources {
            let source = (of.source.index, of.source.id);
            let count = counts.iter().find(|count| count.source == source).copied().unwrap_or_default();
            leave_out(&mut of.tally, count.instructions, count.blocks);
        }
        let (instructions, blocks) = counts
            .iter()
            .fold((0, 0), |(instructions, blocks), of| (instructions + of.instructions, blocks + of.blocks));
        leave_out(&mut outcome.tally, instructions, blocks);
        Ok(outcome.map(|filtered| filtered.inner))
    }

    /// Returns whether only a part of what ran is chosen.
    pub(crate) fn is_filtered(&self) -> bool {
        !self.selection.filter.is_all()
    }

    /// Returns whether a program is accepted that does not explain the trace.
    pub(crate) fn accepts_mismatch(&self) -> bool {
        self.opened.accept_mismatch
    }

    fn run<C: Consumer>(
        &self,
        consumer: &C,
        lists: bool,
        mut take: impl FnMut(&C::Output, Range<usize>) -> ControlFlow<()> + Send,
    ) -> Result<Outcome<C::Output>, Error> {
        let (mut all, mut output) = (Outcome::default(), C::Output::default());
        let engine = self.engine()?;
        for buffer in self.buffers()? {
            let decoded = all.add(self.decode_buffer(&engine, buffer, consumer, lists, &mut take)?);
            consumer.merge(&mut output, decoded);
            if all.is_stopped {
                break;
            }
        }
        all.problems = self.problems_of(&all.tally).cloned().collect();
        Ok(all.map(|()| output))
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
        let mut outcome = Outcome::default();
        for buffer in self.buffers()? {
            outcome.add(self.visit_buffer(buffer, visitor)?);
            if visitor.is_done() {
                break;
            }
        }
        outcome.problems = self.trace_problems().cloned().collect();
        Ok(outcome)
    }

    /// Returns the problems of the capture that concern packets: not those of its programs.
    pub fn trace_problems(&self) -> impl Iterator<Item = &input::Problem> {
        self.problems().filter(|problem| problem.subject == Subject::Trace)
    }

    /// Gives the packets of a buffer to `visitor`, in the order in which they end in the file. Returns the number of bytes read.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read, or if the capture is a log, which has no packets.
    pub fn visit_buffer(&self, buffer: &Buffer, visitor: &mut dyn Visitor) -> Result<Outcome<u64>, Error> {
        #[cfg(feature = "capture")]
        if crate::log::is_log(self.capture()) {
            return Err(Error::NoPackets(self.capture().path.clone()));
        }
        let read = self.with_packets(buffer, |request| request.visit(visitor))?;
        let bytes = read.bytes;
        Ok(Outcome::packets(self.capture(), buffer, read, bytes))
    }

    /// Counts the packets of a buffer.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read.
    pub fn count_packets(&self, buffer: &Buffer) -> Result<Outcome<PacketCounts>, Error> {
        let counted = self.with_packets(buffer, |request| request.count())?;
        let read = counted.read.clone();
        Ok(Outcome::packets(self.capture(), buffer, read, counted))
    }

    fn with_packets<R>(
        &self,
        buffer: &Buffer,
        read: impl FnOnce(PacketRequest<'_>) -> Result<R, engine::Error>,
    ) -> Result<R, Error> {
        let Selection { options, range, progress, .. } = &self.selection;
        Ok(read(PacketRequest {
            capture: self.capture(),
            buffer,
            bytes: None,
            wants: &|id| self.wants(buffer, id),
            options,
            range: *range,
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
        let (tally, faults) = (outcome.tally, u64::from(!outcome.is_complete()));
        Ok(outcome.map(|counts| {
            let mut profile = in_binaries(counts, self.image());
            let program = Program::new(&profile, self.image());
            attribute(&mut profile, &program);
            fill(&mut profile.funnel, &tally);
            profile.funnel.faults = faults;
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
        let checked = self.check_source(log, thread, source, prefix)?;
        if !checked.value.lacks_code() {
            return Ok(checked);
        }
        match self.with_code_of_log(log, thread, source)? {
            Some((trace, code)) => {
                Ok(trace.check_source(log, thread, source, prefix)?.map(|checked| checked.with_code(code)))
            }
            None => Ok(checked),
        }
    }

    #[cfg(feature = "capture")]
    fn check_source(
        &self,
        log: &Path,
        thread: Option<u32>,
        source: &input::Source,
        prefix: bool,
    ) -> Result<Outcome<Checked>, Error> {
        let mut checker = Checker::of_log(log, thread, source, &self.opened.image)?;
        let records = checker.records();
        let outcome = self.decode_in_order(&records, |records, range| checker.take(&records[range]))?;
        Ok(outcome.map(|_| checker.finish(prefix)))
    }

    /// Returns the exceptions of each source, and its threads by context IDs: in cycles or the trace's time where it has these, else in
    /// instructions. Decode with an [`ExceptionMeter`] for threads by other means.
    ///
    /// # Errors
    /// Fails if the trace cannot be read, or if the program does not explain it.
    pub fn exceptions(&self) -> Result<Outcome<Vec<SourceExceptions>>, Error> {
        let clocks = Clocks::find(self.capture())?;
        self.decode(&ExceptionMeter { clocks: &clocks, threads_by: ThreadsBy::default() })
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

/// Makes a tally that of what a filter let through.
fn leave_out(tally: &mut Tally, instructions: u64, blocks: u64) {
    tally.left_out = tally.instructions.saturating_sub(instructions);
    (tally.instructions, tally.blocks) = (instructions, blocks);
}
