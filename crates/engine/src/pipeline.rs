//! Decoding all streams of a buffer on all cores.
//!
//! The file is read in windows, the next one while the current one is decoded. In each window, the stream of each source is split
//! into segments at synchronisation points (ETM: A-Syncs). The first segment continues the last window: it is warm. The
//! others start cold, side by side. The output of a cold segment counts from the point where its decoder knows all that a decoder
//! coming from before knows (ETM: an address and a context since the Trace Info). The segment before continues up to that
//! point. There the states of both are compared; if they differ, the cold segment's work is discarded and the segment before
//! continues through it. So the result never depends on how the work was split.

use std::iter::Peekable;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use tracewright_flow as flow;
use tracewright_input as input;

use crate::consumer::WantedBlocks;
use crate::decode::{SourceTally, named};
use crate::delivery::{Overflow, Part};
use crate::erased::{AnyConsumer, AnyOutput};
use crate::lane::Lane;
use crate::limits::{Limit, Limits};
use crate::missing::MissingCode;
use crate::problem::CannotDecode;
use crate::protocol::Options;
use crate::segment::{For, Ran, Segment};
use crate::sink::Verdict;
use crate::stream::{Job, Known, Plug, Stream};
use crate::tally::Tally;

/// Bytes of a window for each job: the maximum, and the initial size.
const MOST: usize = 1 << 17;
/// Maximum where blocks are only counted and there is no output: for each job, and for all. There are three such windows: one is
/// read, one deframed, one decoded.
const MOST_COUNTED: usize = 1 << 24;
const ALL_COUNTED: usize = 1 << 25;
/// Maximum for a single job that counts, which never waits for others: the size of a core's own cache.
const ONE_COUNTED: usize = 1 << 19;
const FIRST: usize = 1 << 14;
/// Fewest bytes of a segment.
const SEGMENT: usize = 1 << 12;

/// Takes output in order, and returns whether more is wanted.
pub type Take<'t> = &'t mut (dyn FnMut(&AnyOutput, Range<usize>) -> ControlFlow<()> + Send + 't);

/// The decoders of a buffer's sources.
pub struct Pipeline<'i> {
    to: For<'i>,
    options: &'i Options,
    limits: Limits,
    jobs: usize,
    window: usize,
    /// Protocol and description of each lane's source.
    sources: Vec<(&'static dyn Plug, &'i input::Source)>,
    /// Merged outputs.
    pub output: Box<AnyOutput>,
    /// Segment that continues each lane in the next window.
    warm: Vec<Option<Segment<'i>>>,
    /// Streams of each lane that have learnt the program already, for reuse.
    spare: Vec<Mutex<Vec<Box<dyn Stream<'i> + 'i>>>>,
    pub tally: Tally,
    by_lane: Vec<Tally>,
    missing: Vec<MissingCode>,
    /// Bytes of each lane's tables. They grow only where there is a single job, so one lane at a time.
    tables: Vec<AtomicUsize>,
    /// Bytes of each lane before the packet in which it reached a limit.
    limited: Vec<Option<u64>>,
}

/// A segment of a lane to be run. A cold segment is made when it is run.
struct Task<'a, 'i> {
    lane: usize,
    job: Job<'a>,
    warm: Option<Box<Segment<'i>>>,
}

/// A segment that was run.
type Done<'a, 'i> = (Job<'a>, Segment<'i>, Ran);

impl<'i> Pipeline<'i> {
    /// Creates the decoders of `lanes`. Returns also the lanes that cannot be decoded, and why.
    pub fn new(
        lanes: &[Lane<'i>],
        to: For<'i>,
        options: &'i Options,
        limits: Limits,
        jobs: usize,
    ) -> (Self, Vec<(usize, CannotDecode)>) {
        let mut failures = Vec::new();
        let warm = lanes.iter().enumerate().map(|(index, lane)| {
            match lane.plug.stream(lane.source.of, options, to.image, lane.start) {
                Ok(stream) => Some(Segment::new(stream, to, limits)),
                Err(error) => {
                    failures.push((index, error));
                    None
                }
            }
        });
        let warm = warm.collect();
        let pipeline = Self {
            to,
            options,
            limits,
            jobs,
            window: FIRST * jobs,
            sources: lanes.iter().map(|lane| (lane.plug, lane.source.of)).collect(),
            output: to.consumer.output(),
            warm,
            spare: lanes.iter().map(|_| Mutex::default()).collect(),
            tally: Tally::default(),
            by_lane: vec![Tally::default(); lanes.len()],
            missing: vec![MissingCode::default(); lanes.len()],
            tables: lanes.iter().map(|_| AtomicUsize::new(0)).collect(),
            limited: vec![None; lanes.len()],
        };
        (pipeline, failures)
    }

    /// Returns the number of bytes to read for the next window. A byte of trace may become a kilobyte of output, and memory must
    /// not grow.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Decodes the bytes of a window and gives their output to `take`. Returns `Break` when `take` did.
    pub fn decode(&mut self, lanes: &mut [Lane<'i>], take: Take<'_>) -> ControlFlow<()> {
        let starts: Vec<Vec<usize>> =
            lanes.iter().zip(&self.warm).map(|(lane, warm)| self.split(lane, warm.as_ref())).collect();
        let knows: Vec<_> =
            self.warm.iter().map(|warm| warm.as_ref().map(|warm| warm.stream.knows())).collect();
        let mut tasks = Vec::new();
        for (index, lane) in lanes.iter().enumerate() {
            let Some(warm) = self.warm[index].take() else { continue };
            let next = starts[index].first().copied();
            let job = Job { lane, from: 0, is_cold: false, next };
            tasks.push(Task { lane: index, job, warm: Some(Box::new(warm)) });
            for (i, &from) in starts[index].iter().enumerate() {
                let job = Job { lane, from, is_cold: true, next: starts[index].get(i + 1).copied() };
                tasks.push(Task { lane: index, job, warm: None });
            }
        }
        // The output of a single lane does not wait for others.
        let (size, flow) = if lanes.len() == 1 {
            self.run_single(tasks, &knows, take)
        } else {
            self.run_all(tasks, &knows, lanes.len(), take)
        };
        for (lane, warm) in lanes.iter_mut().zip(&self.warm) {
            // The position of the last byte is needed at the end of the stream.
            let last = lane.end().saturating_sub(1);
            lane.places.forget_before(warm.as_ref().map_or(last, |warm| warm.stream.oldest().min(last)));
        }
        self.next_window(lanes, size);
        let counts = self.counts();
        if counts && self.memory() > self.limits.memory {
            self.stop();
        }
        for ((lane, warm), limited) in lanes.iter().zip(&self.warm).zip(&mut self.limited) {
            if let Some(warm) = warm.as_ref().filter(|warm| limited.is_none() && warm.quota.reached.is_some())
            {
                // Counting stops only after a window.
                let last = warm.quota.reached_at.or(warm.stream.last_offset()).filter(|_| !counts);
                *limited =
                    Some(lane.taken.saturating_sub(last.map_or(0, |last| lane.end().saturating_sub(last))));
            }
        }
        flow
    }

    /// Chooses the size of the next window after one that gave `size` bytes of output.
    fn next_window(&mut self, lanes: &[Lane<'_>], size: usize) {
        let jobs = self.jobs;
        // Routed packets, and offsets of samples, take several times the memory of their bytes.
        let is_small = |lane: &Lane<'_>| lane.routed.is_none() && !lane.places.is_sampled();
        let counts = self.counts() && lanes.iter().all(is_small);
        let most = match jobs {
            1 if counts => ONE_COUNTED,
            _ if counts => MOST_COUNTED.min(ALL_COUNTED / jobs),
            _ => MOST,
        };
        let plugs = || lanes.iter().map(|lane| lane.plug);
        let least = plugs().map(Plug::window).max().unwrap_or(FIRST);
        let output = plugs().map(|plug| plug.output(jobs)).min().unwrap_or(MOST);
        let fitting = output.saturating_mul(self.window) / size.max(1);
        self.window = fitting.min(2 * self.window).clamp(least * jobs, most * jobs);
    }

    fn counts(&self) -> bool {
        self.to.blocks == WantedBlocks::Counted
    }

    /// Returns the bytes of each lane up to its limit, or all bytes of the lane if it reached none.
    pub fn decoded(&self, lanes: &[Lane<'_>]) -> Vec<u64> {
        let lanes = lanes.iter().zip(&self.limited);
        lanes.map(|(lane, limited)| limited.unwrap_or(lane.taken)).collect()
    }

    /// Returns the bytes of all counts.
    fn memory(&mut self) -> usize {
        let spare =
            self.spare.iter_mut().flat_map(|spare| spare.get_mut().unwrap_or_else(PoisonError::into_inner));
        let warm = self.warm.iter_mut().flatten().map(|warm| &mut warm.stream);
        spare.chain(warm).map(|stream| stream.memory()).sum()
    }

    /// Stops all sources: their tables are too large.
    #[cold]
    fn stop(&mut self) {
        for warm in self.warm.iter_mut().flatten().filter(|warm| warm.quota.reached.is_none()) {
            warm.quota.reached = Some(Limit::Memory);
            self.tally.stopped += 1;
        }
    }

    /// Returns whether all sources have reached a limit.
    pub fn is_stopped(&self) -> bool {
        let mut lanes = self.warm.iter().flatten().peekable();
        lanes.peek().is_some() && lanes.all(|warm| warm.quota.reached.is_some())
    }

    /// Returns the lanes that have reached a limit, and which.
    pub fn stopped(&self) -> impl Iterator<Item = (usize, Limit)> {
        let lanes = self.warm.iter().enumerate();
        lanes.filter_map(|(lane, warm)| Some((lane, warm.as_ref()?.quota.reached?)))
    }

    /// Runs the segments of a single lane. The output of the first is taken at once, that of others when all before it is taken.
    /// Returns the size of the output.
    fn run_single(
        &mut self,
        tasks: Vec<Task<'_, 'i>>,
        knows: &[Option<Known>],
        take: Take<'_>,
    ) -> (usize, ControlFlow<()>) {
        let mut tasks = tasks.into_iter();
        let (Some(Task { lane: index, job, warm: Some(mut warm) }), Some(Some(knows))) =
            (tasks.next(), knows.first())
        else {
            return (0, ControlFlow::Continue(()));
        };
        let mut ordered = Ordered { consumer: self.to.consumer, take, flow: ControlFlow::Continue(()) };
        let cold: Vec<_> = tasks.map(|task| (Mutex::new(None), task)).collect();
        let ran = rayon::in_place_scope(|scope| {
            for (done, task) in &cold {
                let this = &*self;
                scope.spawn(move |_| {
                    let mut segment = this.cold(index, &task.job, knows);
                    let ran = segment.run(this.to, &task.job, Overflow::Drop);
                    if let Ok(mut done) = done.lock() {
                        *done = Some((segment, ran));
                    }
                });
            }
            warm.run(self.to, &job, Overflow::Take(&mut |output| ordered.output(output)))
        });
        let rest = cold.into_iter().filter_map(|(done, task)| {
            let (segment, ran) = done.into_inner().ok()??;
            Some((task.job, segment, ran))
        });
        let mut parts = Vec::new();
        let last = self.join(index, knows, (job, *warm, ran), rest.collect(), &mut parts, Some(&mut ordered));
        self.warm[index] = Some(last);
        let flow = ordered.flow;
        let size = parts.iter().map(|part| part.taken).sum();
        parts.into_iter().for_each(|part| self.add(index, part));
        (size, flow)
    }

    /// Runs the segments of all lanes and gives their output to `take` in the order of the file. Returns the size of the output.
    fn run_all(
        &mut self,
        tasks: Vec<Task<'_, 'i>>,
        knows: &[Option<Known>],
        lanes: usize,
        take: Take<'_>,
    ) -> (usize, ControlFlow<()>) {
        let done: Vec<_> = if self.jobs > 1 {
            tasks.into_par_iter().with_max_len(1).map(|task| self.run(task, knows)).collect()
        } else {
            tasks.into_iter().map(|task| self.run(task, knows)).collect()
        };
        let mut parts: Vec<Vec<Part>> = (0..lanes).map(|_| Vec::new()).collect();
        let mut done = done.into_iter().peekable();
        while let Some((index, first)) = done.next() {
            let mut rest = Vec::new();
            while let Some((_, segment)) = done.next_if(|&(other, _)| other == index) {
                rest.push(segment);
            }
            let Some(knows) = &knows[index] else { continue };
            let last = self.join(index, knows, first, rest, &mut parts[index], None);
            self.warm[index] = Some(last);
        }
        let flow = merge(&parts, take);
        let mut size = 0;
        for (index, parts) in parts.into_iter().enumerate() {
            for part in parts {
                size += self.to.consumer.size(&*part.output);
                self.add(index, part);
            }
        }
        (size, flow)
    }

    /// Starts a piece of the file that does not continue what came before.
    pub fn begin(&mut self, lanes: &[Lane<'_>]) {
        for (lane, warm) in lanes.iter().zip(&mut self.warm) {
            if let Some(warm) = warm {
                warm.stream.begin(lane);
            }
        }
    }

    /// Ends a piece of the file: all bytes of `lanes` were decoded.
    pub fn interrupt(&mut self, lanes: &[Lane<'_>], take: Take<'_>) -> ControlFlow<()> {
        self.end_all(lanes, take, Segment::interrupt)
    }

    /// Ends all streams.
    pub fn finish(&mut self, lanes: &[Lane<'_>], take: Take<'_>) -> ControlFlow<()> {
        let flow = self.end_all(lanes, take, Segment::finish);
        if self.counts() {
            self.tell_counts();
        }
        flow
    }

    fn end_all(
        &mut self,
        lanes: &[Lane<'_>],
        take: Take<'_>,
        end: impl Fn(&mut Segment<'i>, For<'_>, &Lane<'_>) -> Part,
    ) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        for (index, lane) in lanes.iter().enumerate() {
            if let Some(warm) = &mut self.warm[index] {
                let part = end(warm, self.to, lane);
                let len = self.to.consumer.len(&*part.output);
                if len > 0 && flow.is_continue() {
                    flow = take(&*part.output, 0..len);
                }
                self.add(index, part);
            }
        }
        flow
    }

    /// Passes the counts of all decoders to the consumer.
    fn tell_counts(&mut self) {
        let spare = self.spare.iter_mut().enumerate().flat_map(|(index, spare)| {
            let spare = std::mem::take(spare.get_mut().unwrap_or_else(PoisonError::into_inner));
            spare.into_iter().map(move |spare| (index, spare))
        });
        let spare: Vec<_> = spare.collect();
        let finish = |(index, mut stream): (usize, Box<dyn Stream<'i> + 'i>)| (index, stream.counts());
        let mut all: Vec<(usize, flow::BlockCounts)> = spare.into_par_iter().map(finish).collect();
        for (index, warm) in self.warm.iter_mut().enumerate() {
            let Some(warm) = warm else { continue };
            warm.stream.judge(Verdict::Right);
            all.push((index, warm.stream.counts()));
        }
        for (index, counts) in all {
            let mut part = Part::new(self.to.consumer.output());
            for ((block, _), count) in &counts.blocks {
                part.tally.blocks += count;
                part.tally.instructions += u64::from(block.count) * count;
            }
            self.to.consumer.counted(&mut *part.output, counts);
            self.add(index, part);
        }
    }

    /// Adds a part of a lane to the result.
    fn add(&mut self, lane: usize, part: Part) {
        self.tally += &part.tally;
        self.by_lane[lane] += &part.tally;
        self.missing[lane].merge(&part.missing);
        self.to.consumer.merge(&mut *self.output, part.output);
    }

    /// Returns what was decoded of each lane.
    pub fn sources(&mut self, lanes: &[Lane<'_>]) -> Vec<SourceTally> {
        let missing = std::mem::take(&mut self.missing);
        let lanes = lanes.iter().zip(&self.by_lane).zip(missing);
        let of = |((lane, tally), missing): ((&Lane<'_>, &Tally), _)| SourceTally {
            source: named(&lane.source),
            bytes: lane.taken,
            tally: *tally,
            missing,
        };
        lanes.map(of).collect()
    }

    /// Returns the lanes whose trace the program does not explain, with their tallies.
    pub fn doubtful(&self, lanes: &[Lane<'_>]) -> impl Iterator<Item = (usize, &Tally)> {
        let lanes = self.by_lane.iter().zip(lanes).enumerate();
        lanes.filter(|(_, (tally, lane))| tally.is_doubtful(lane.taken)).map(|(i, (tally, _))| (i, tally))
    }

    /// Returns the lanes in which no synchronisation point was found, with their numbers of bytes.
    pub fn unsynchronised(&self, lanes: &[Lane<'_>]) -> impl Iterator<Item = (usize, u64)> {
        let lanes = lanes.iter().zip(&self.warm).enumerate();
        lanes.filter_map(|(i, (lane, warm))| {
            (!warm.as_ref()?.stream.is_synchronised() && lane.taken > 0).then_some((i, lane.taken))
        })
    }

    /// Returns whether a synchronisation point was found in any lane.
    pub fn is_synchronised(&self) -> bool {
        self.warm.iter().flatten().any(|warm| warm.stream.is_synchronised())
    }

    /// Returns where the lane's cold segments begin.
    fn split(&self, lane: &Lane<'_>, warm: Option<&Segment<'i>>) -> Vec<usize> {
        let Some(warm) = warm.filter(|_| self.jobs > 1 && lane.cuts.is_empty()) else {
            return Vec::new();
        };
        // No more segments than threads: each has a decoder that must learn the program, and keep it in the cache.
        warm.stream.split(lane, (lane.len / self.jobs).max(SEGMENT))
    }

    fn run<'a>(
        &self,
        Task { lane, job, warm }: Task<'a, 'i>,
        knows: &[Option<Known>],
    ) -> (usize, Done<'a, 'i>) {
        let (mut segment, overflow) = match (warm, &knows[lane]) {
            (None, Some(knows)) => (self.cold(lane, &job, knows), Overflow::Drop),
            (warm, _) => (*warm.expect("a lane without a decoder has no tasks"), self.keep()),
        };
        // All lanes share the limit.
        let others = self.tables.iter().enumerate().filter(|(other, _)| *other != lane);
        let others = others.map(|(_, tables)| tables.load(Ordering::Relaxed)).sum();
        segment.quota.memory = self.limits.memory.saturating_sub(others);
        let ran = segment.run(self.to, &job, overflow);
        self.tables[lane].store(segment.tables(), Ordering::Relaxed);
        (lane, (job, segment, ran))
    }

    /// Keeps all output of a lane until that of the others is there, too.
    fn keep<'o>(&self) -> Overflow<'o> {
        Overflow::Keep(self.limits.memory / self.warm.len().max(1))
    }

    /// Makes a segment that begins in the middle.
    fn cold(&self, index: usize, job: &Job<'_>, knows: &Known) -> Segment<'i> {
        let position = job.lane.start + job.from as u64;
        let spare = self.spare[index].lock().ok().and_then(|mut spare| spare.pop());
        let (plug, source) = self.sources[index];
        let new = || plug.stream(source, self.options, self.to.image, position).ok();
        let mut stream = spare.or_else(new).expect("its lane's first segment has one");
        stream.restart(knows, position, job.lane.moment);
        Segment::new(stream, self.to, self.limits)
    }

    /// Joins the parts of a lane's segments. Returns the segment that continues in the next window. With `ordered`, output is
    /// taken at once.
    fn join<'a>(
        &self,
        index: usize,
        knows: &Known,
        first: Done<'a, 'i>,
        rest: Vec<Done<'a, 'i>>,
        parts: &mut Vec<Part>,
        mut ordered: Option<&mut Ordered<'_, '_>>,
    ) -> Segment<'i> {
        let (_, mut now, ran) = first;
        let mut over = ran.handed.over;
        now.stream.judge(Verdict::Right);
        let mut push = |mut part: Part, ordered: &mut Option<&mut Ordered<'_, '_>>| {
            if let Some(ordered) = ordered {
                ordered.part(&mut part);
            }
            parts.push(part);
        };
        push(ran.part, &mut ordered);
        for (mut job, mut next, ran) in rest {
            let spare = match over {
                // The segment before decoded the whole window itself.
                None => {
                    next.stream.judge(Verdict::Wrong);
                    next
                }
                Some(position) => {
                    let began = ran.handed.began.as_ref();
                    if began.is_some_and(|(at, state)| *at == position && now.stream.is_in(state)) {
                        next.stream.judge(Verdict::Right);
                        over = ran.handed.over;
                        push(ran.part, &mut ordered);
                        let before = std::mem::replace(&mut now, next);
                        if before.stream.is_synchronised() {
                            now.stream.set_synchronised();
                        }
                        before
                    } else {
                        let upto = (position - job.lane.start) as usize;
                        now.stream.rewind(knows, job.lane, job.from, upto);
                        job.from = upto;
                        job.is_cold = false;
                        let ran = match &mut ordered {
                            Some(ordered) => {
                                now.run(self.to, &job, Overflow::Take(&mut |output| ordered.output(output)))
                            }
                            None => now.run(self.to, &job, self.keep()),
                        };
                        now.stream.judge(Verdict::Right);
                        over = ran.handed.over;
                        push(ran.part, &mut ordered);
                        next.stream.judge(Verdict::Wrong);
                        next
                    }
                }
            };
            if let Ok(mut spares) = self.spare[index].lock() {
                spares.push(spare.stream);
            }
        }
        now
    }
}

/// Passes output on in order, until a `Break`.
struct Ordered<'o, 't> {
    consumer: &'o dyn AnyConsumer,
    take: Take<'t>,
    flow: ControlFlow<()>,
}

impl Ordered<'_, '_> {
    /// Returns whether more is wanted.
    fn output(&mut self, output: &AnyOutput) -> bool {
        let len = self.consumer.len(output);
        if self.flow.is_continue() && len > 0 {
            self.flow = (self.take)(output, 0..len);
        }
        self.flow.is_continue()
    }

    /// Passes the output of a part on.
    fn part(&mut self, part: &mut Part) {
        self.output(&*part.output);
        part.taken += self.consumer.size(&*part.output);
        part.marks = Vec::new();
        if self.consumer.len(&*part.output) > 0 {
            self.consumer.clear(&mut *part.output);
        }
    }
}

/// Passes the lanes' outputs to `take` in the order in which their packets end in the file.
fn merge(lanes: &[Vec<Part>], take: Take<'_>) -> ControlFlow<()> {
    let mut pieces = lanes.iter().map(|parts| pieces(parts).peekable()).collect::<Vec<_>>();
    pieces.retain_mut(|pieces| pieces.peek().is_some());
    while pieces.len() > 1 {
        let (first, _) =
            pieces.iter_mut().map(key).enumerate().min_by_key(|&(_, key)| key).unwrap_or((0, u64::MAX));
        let second = pieces.iter_mut().enumerate().filter(|&(i, _)| i != first).map(|(_, p)| key(p)).min();
        while let Some((_, output, range)) =
            pieces[first].next_if(|&(key, ..)| second.is_none_or(|second| key <= second))
        {
            take(output, range)?;
        }
        pieces.retain_mut(|pieces| pieces.peek().is_some());
    }
    pieces.into_iter().flatten().try_for_each(|(_, output, range)| take(output, range))
}

/// Returns the file offset at which the next piece's packet ends.
fn key<'a>(pieces: &mut Peekable<impl Iterator<Item = (u64, &'a AnyOutput, Range<usize>)>>) -> u64 {
    pieces.peek().map_or(u64::MAX, |&(key, ..)| key)
}

fn pieces(parts: &[Part]) -> impl Iterator<Item = (u64, &AnyOutput, Range<usize>)> {
    parts.iter().flat_map(|part| {
        let starts = std::iter::once(0).chain(part.marks.iter().map(|&(_, end)| end));
        starts.zip(&part.marks).map(|(start, &(key, end))| (key, &*part.output, start..end))
    })
}
