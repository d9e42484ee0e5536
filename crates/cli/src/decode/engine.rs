//! Decoding a buffer on all cores.
//!
//! The file is read in windows, the next while one is decoded. In each, the stream of each source is cut into segments at synchronisation points
//! (ETM: A-Syncs). The first segment goes on where the last window ended. The others begin cold, side by side; the output of a
//! cold one counts from where its decoder knows all that one knows that came from before (ETM: an address and a context
//! since the Trace Info). Up to that point the segment before goes on. There the states of the two are compared; if they
//! differ in anything, the cold one's work is thrown away and the segment before goes on through it. So what comes out
//! never depends on how the work was split.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use tracewright_image::Image;

use super::lane::{Lane, Lanes};
use super::part::{Counted, DecodeLimits, Limit, Overflow, Part, Print, Range, Tally, Verdict};
use super::protocol::{Decoder, Protocol};
use super::segment::{Job, Ran, Segment, SnapshotOf};
use crate::line::Line;

/// How to decode.
#[derive(Clone, Copy, Debug)]
pub struct Plan<O> {
    pub options: O,
    pub range: Range,
    pub limits: DecodeLimits,
    /// How many segments side by side.
    pub jobs: usize,
}

/// Bytes of a window for each job: the most, and to begin with.
const MOST: usize = 1 << 17;
/// The most where blocks are only counted, and there is no text: for each job, and for all. There are three of them: read, taken
/// out of frames, and decoded.
const MOST_COUNTED: usize = 1 << 24;
const ALL_COUNTED: usize = 1 << 25;
/// The same of a single one, which never waits for others: what a core's own cache holds.
const ONE_COUNTED: usize = 1 << 19;
const FIRST: usize = 1 << 14;
/// Bytes of a segment at least.
const SEGMENT: usize = 1 << 12;

/// The decoders of a buffer's sources.
pub struct Engine<'i, 'p, T: Protocol, P: Print> {
    image: &'i Image,
    print: &'p P,
    plan: Plan<T::Options>,
    window: usize,
    /// By lane: where its last window ended.
    warm: Vec<Option<Segment<'i, T, P>>>,
    /// Decoders that know the program already, by lane.
    spare: Vec<Mutex<Vec<Spare<'i, T>>>>,
    pub tally: Tally,
    /// The same of each lane.
    by_lane: Vec<Tally>,
    /// By lane: bytes of its tables. They grow only where there is a single job, so one lane after another.
    tables: Vec<AtomicUsize>,
    /// By lane: the bytes of it before the packet in which it reached a limit.
    limited: Vec<Option<u64>>,
}

/// A decoder that knows the program already, and what was counted with it.
type Spare<'i, T> = (<T as Protocol>::Decoder<'i>, Counted);
/// A segment of a lane to be run; one that begins cold is made then.
type Task<'a, 'i, T, P> = (usize, Job<'a, T, P>, Begin<'a, 'i, T, P>);
/// A segment that was run.
type Done<'a, 'i, T, P> = (Job<'a, T, P>, Segment<'i, T, P>, Ran<SnapshotOf<'i, T>>);

enum Begin<'a, 'i, T: Protocol, P: Print> {
    Warm(Box<Segment<'i, T, P>>),
    Cold(&'a T::Knows),
}

impl<'i, 'p, T: Protocol, P: Print> Engine<'i, 'p, T, P> {
    /// An engine for these lanes; of those that cannot be decoded, why.
    pub fn new(
        lanes: &Lanes<'_, T>,
        image: &'i Image,
        print: &'p P,
        plan: Plan<T::Options>,
    ) -> (Self, Vec<(usize, String)>) {
        let mut failures = Vec::new();
        let warm = lanes.lanes.iter().enumerate().map(|(i, lane)| {
            match T::decoder(lane.params, plan.options, image) {
                Ok(decoder) => {
                    let parser = T::first(lane.params, plan.options, lane.start);
                    Some(Segment::new(parser, decoder, Counted::default(), plan.limits))
                }
                Err(error) => {
                    failures.push((i, error));
                    None
                }
            }
        });
        let warm = warm.collect();
        let spare = lanes.lanes.iter().map(|_| Mutex::default()).collect();
        let window = FIRST * plan.jobs;
        let by_lane = vec![Tally::default(); lanes.lanes.len()];
        let limited = vec![None; lanes.lanes.len()];
        let tally = Tally::default();
        let tables = lanes.lanes.iter().map(|_| AtomicUsize::new(0)).collect();
        (Self { image, print, plan, window, warm, spare, tally, by_lane, tables, limited }, failures)
    }

    /// Bytes to read for the next window: a byte of trace may become a kilobyte of text, and memory must not grow.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Decodes the window's bytes and writes what they say.
    pub fn window_done(&mut self, lanes: &mut Lanes<'_, T>, out: &mut impl Write) -> std::io::Result<()> {
        let starts: Vec<Vec<usize>> =
            lanes.lanes.iter().zip(&self.warm).map(|(lane, warm)| self.split(lane, warm.as_ref())).collect();
        let knows: Vec<_> = self.warm.iter().map(|warm| warm.as_ref().map(Segment::knows)).collect();
        // Every segment of every lane.
        let mut tasks = Vec::new();
        for (index, lane) in lanes.lanes.iter().enumerate() {
            let (Some(warm), Some(knows)) = (self.warm[index].take(), &knows[index]) else { continue };
            let next = starts[index].first().copied();
            tasks.push((index, self.job(lane, 0, false, next), Begin::Warm(Box::new(warm))));
            for (i, &start) in starts[index].iter().enumerate() {
                let job = self.job(lane, start, true, starts[index].get(i + 1).copied());
                tasks.push((index, job, Begin::Cold(knows)));
            }
        }
        // A single lane's text need not wait for that of others.
        let text = if lanes.lanes.len() == 1 {
            self.run_single(tasks, &knows, out)?
        } else {
            self.run_all(tasks, &knows, lanes.lanes.len(), out)?
        };
        for (lane, warm) in lanes.lanes.iter_mut().zip(&self.warm) {
            // Where the stream ends is asked for at its end.
            let last = lane.end().saturating_sub(1);
            lane.places.forget_before(warm.as_ref().map_or(last, |warm| warm.oldest().min(last)));
        }
        let jobs = self.plan.jobs;
        let most = match jobs {
            1 if P::COUNTS => ONE_COUNTED,
            _ if P::COUNTS => MOST_COUNTED.min(ALL_COUNTED / jobs),
            _ => MOST,
        };
        let fitting = T::text(jobs).saturating_mul(self.window) / text.max(1);
        self.window = fitting.min(2 * self.window).clamp(T::WINDOW * jobs, most * jobs);
        if P::COUNTS && self.memory() > self.plan.limits.memory {
            self.stop();
        }
        for ((lane, warm), limited) in lanes.lanes.iter().zip(&self.warm).zip(&mut self.limited) {
            if let Some(warm) = warm.as_ref().filter(|warm| limited.is_none() && warm.quota.reached.is_some())
            {
                // What only counts has counted all of the window.
                let after = match warm.decoder.last_offset().filter(|_| !P::COUNTS) {
                    Some(last) => lane.end().saturating_sub(last),
                    None => 0,
                };
                *limited = Some(lane.taken.saturating_sub(after));
            }
        }
        Ok(())
    }

    /// By lane: the bytes up to its limit, if it has reached one, and all that were taken otherwise.
    pub fn decoded(&self, lanes: &Lanes<'_, T>) -> Vec<u64> {
        let lanes = lanes.lanes.iter().zip(&self.limited);
        lanes.map(|(lane, limited)| limited.unwrap_or(lane.taken)).collect()
    }

    /// Bytes of what is counted.
    fn memory(&mut self) -> usize {
        let spare =
            self.spare.iter_mut().map(|spare| spare.get_mut().unwrap_or_else(PoisonError::into_inner));
        let spare = spare.flatten().map(|(decoder, counted)| (decoder, &*counted));
        let warm = self.warm.iter_mut().flatten().map(|warm| (&mut warm.decoder, &warm.counted));
        spare.chain(warm).map(|(decoder, counted)| counted.memory() + decoder.graph_mut().memory()).sum()
    }

    /// Stops all sources: their tables are too large.
    #[cold]
    fn stop(&mut self) {
        for warm in self.warm.iter_mut().flatten().filter(|warm| warm.quota.reached.is_none()) {
            warm.quota.reached = Some(Limit::Memory);
            self.tally.stopped += 1;
        }
    }

    /// Whether all sources have reached a limit: nothing more has to be read.
    pub fn is_stopped(&self) -> bool {
        let mut lanes = self.warm.iter().flatten().peekable();
        lanes.peek().is_some() && lanes.all(|warm| warm.quota.reached.is_some())
    }

    /// Lanes that have reached a limit, and which.
    pub fn stopped(&self) -> impl Iterator<Item = (usize, Limit)> {
        let lanes = self.warm.iter().enumerate();
        lanes.filter_map(|(lane, warm)| Some((lane, warm.as_ref()?.quota.reached?)))
    }

    /// Runs the segments of a single lane. What the first tells is written at once, what others tell when all before it is
    /// written. Returns how much text there was.
    fn run_single(
        &mut self,
        tasks: Vec<Task<'_, 'i, T, P>>,
        knows: &[Option<T::Knows>],
        out: &mut impl Write,
    ) -> std::io::Result<usize> {
        let mut tasks = tasks.into_iter();
        let (Some((index, job, Begin::Warm(mut warm))), Some(Some(knows))) = (tasks.next(), knows.first())
        else {
            return Ok(0);
        };
        let mut out = Ordered { out, error: Ok(()) };
        let cold: Vec<_> = tasks.map(|task| (Mutex::new(None), task)).collect();
        let ran = rayon::in_place_scope(|scope| {
            for (done, task) in &cold {
                let this = &*self;
                scope.spawn(move |_| {
                    let (_, job, _) = task;
                    let mut segment = this.cold(index, job, knows);
                    let ran = segment.run(job, Overflow::Drop);
                    if let Ok(mut done) = done.lock() {
                        *done = Some((segment, ran));
                    }
                });
            }
            warm.run(&job, Overflow::Write(&mut |text| out.write(text)))
        });
        let rest = cold.into_iter().filter_map(|(done, (_, job, _))| {
            let (segment, ran) = done.into_inner().ok()??;
            Some((job, segment, ran))
        });
        let mut parts = Vec::new();
        let last = self.join(index, knows, (job, *warm, ran), rest.collect(), &mut parts, Some(&mut out));
        self.warm[index] = Some(last);
        let mut text = 0;
        for part in &parts {
            self.add(index, &part.tally);
            text += part.written;
        }
        out.error.map(|()| text)
    }

    /// Runs the segments of all lanes, and writes what they tell, in the order of the file. Returns how much text there was.
    fn run_all(
        &mut self,
        tasks: Vec<Task<'_, 'i, T, P>>,
        knows: &[Option<T::Knows>],
        lanes: usize,
        out: &mut impl Write,
    ) -> std::io::Result<usize> {
        let done: Vec<_> = if self.plan.jobs > 1 {
            tasks.into_par_iter().with_max_len(1).map(|task| self.run(task)).collect()
        } else {
            tasks.into_iter().map(|task| self.run(task)).collect()
        };
        let mut parts: Vec<Vec<Part>> = (0..lanes).map(|_| Vec::new()).collect();
        let mut done = done.into_iter().peekable();
        while let Some((index, first)) = done.next() {
            let mut rest = Vec::new();
            while let Some((_, segment)) = done.next_if(|&(other, _)| other == index) {
                rest.push(segment);
            }
            let Some(knows) = &knows[index] else { continue };
            let none = None::<&mut Ordered<'_, Vec<u8>>>;
            let last = self.join(index, knows, first, rest, &mut parts[index], none);
            self.warm[index] = Some(last);
        }
        let mut text = 0;
        for (index, part) in
            parts.iter().enumerate().flat_map(|(i, parts)| parts.iter().map(move |part| (i, part)))
        {
            self.add(index, &part.tally);
            text += part.line.bytes().len();
        }
        merge(&parts, out).map(|()| text)
    }

    /// A part of the file begins that does not continue what came before: its bytes are those of `lanes` from now on.
    pub fn begin(&mut self, lanes: &Lanes<'_, T>) {
        for (lane, warm) in lanes.lanes.iter().zip(&mut self.warm) {
            if let Some(warm) = warm {
                warm.parser = T::first(lane.params, self.plan.options, lane.start);
                warm.decoder.resume(lane.start, lane.moment);
            }
        }
    }

    /// A part of the file has ended: all of `lanes` was decoded.
    pub fn interrupt(&mut self, lanes: &Lanes<'_, T>, out: &mut impl Write) -> std::io::Result<()> {
        for (index, lane) in lanes.lanes.iter().enumerate() {
            if let Some(warm) = &mut self.warm[index] {
                let part = warm.interrupt(lane, self.print, self.plan.range);
                self.add(index, &part.tally);
                out.write_all(part.line.bytes())?;
            }
        }
        Ok(())
    }

    /// Ends all streams.
    pub fn finish(&mut self, lanes: &Lanes<'_, T>, out: &mut impl Write) -> std::io::Result<()> {
        for (index, lane) in lanes.lanes.iter().enumerate() {
            if let Some(warm) = &mut self.warm[index] {
                let part = warm.finish(lane, self.print, self.plan.range);
                self.add(index, &part.tally);
                out.write_all(part.line.bytes())?;
            }
        }
        if P::COUNTS {
            self.tell_counts();
        }
        Ok(())
    }

    /// Tells what all decoders have counted.
    fn tell_counts(&mut self) {
        let spare = self.spare.iter_mut().enumerate().flat_map(|(index, spare)| {
            let spare = std::mem::take(spare.get_mut().unwrap_or_else(PoisonError::into_inner));
            spare.into_iter().map(move |spare| (index, spare))
        });
        let spare: Vec<_> = spare.collect();
        let finish = |(index, (mut decoder, counted)): (usize, Spare<'i, T>)| {
            (index, counted.finish(decoder.graph_mut()))
        };
        let mut all: Vec<_> = spare.into_par_iter().map(finish).collect();
        for (index, warm) in self.warm.iter_mut().enumerate() {
            let Some(warm) = warm else { continue };
            warm.judge(Verdict::Right);
            all.push((index, std::mem::take(&mut warm.counted).finish(warm.decoder.graph_mut())));
        }
        for (index, profile) in all {
            let mut tally = Tally::default();
            for ((block, _), count) in &profile.blocks {
                tally.blocks += count;
                tally.instructions += u64::from(block.count) * count;
            }
            self.add(index, &tally);
            self.print.counted(profile);
        }
    }

    /// Adds what was decoded of a lane.
    fn add(&mut self, lane: usize, tally: &Tally) {
        self.tally += tally;
        self.by_lane[lane] += tally;
    }

    /// Lanes whose trace the program does not explain, with what they came to.
    pub fn doubtful(&self, lanes: &Lanes<'_, T>) -> impl Iterator<Item = (usize, &Tally)> {
        let lanes = self.by_lane.iter().zip(&lanes.lanes).enumerate();
        lanes.filter(|(_, (tally, lane))| tally.is_doubtful(lane.taken)).map(|(i, (tally, _))| (i, tally))
    }

    /// Lanes that never came to a synchronisation point, with how many bytes they had.
    pub fn unsynchronised(&self, lanes: &Lanes<'_, T>) -> impl Iterator<Item = (usize, u64)> {
        let lanes = lanes.lanes.iter().zip(&self.warm).enumerate();
        lanes.filter_map(|(i, (lane, warm))| {
            (!warm.as_ref()?.synchronised && lane.taken > 0).then_some((i, lane.taken))
        })
    }

    fn job<'a>(&self, lane: &'a Lane<'a, T>, from: usize, cold: bool, next: Option<usize>) -> Job<'a, T, P>
    where
        'p: 'a,
    {
        Job { lane, print: self.print, range: self.plan.range, from, cold, next }
    }

    /// Where the lane's cold segments begin.
    fn split(&self, lane: &Lane<'_, T>, warm: Option<&Segment<'i, T, P>>) -> Vec<usize> {
        let Some(warm) = warm.filter(|_| self.plan.jobs > 1 && lane.cuts.is_empty()) else {
            return Vec::new();
        };
        // No more segments than threads: each has a decoder that must learn the program, and keep it in the cache.
        T::split(lane.params, &warm.parser, &lane.bytes, (lane.bytes.len() / self.plan.jobs).max(SEGMENT))
    }

    fn run<'a>(&self, (index, job, begin): Task<'a, 'i, T, P>) -> (usize, Done<'a, 'i, T, P>) {
        let (mut segment, overflow) = match begin {
            Begin::Warm(segment) => (*segment, self.keep()),
            Begin::Cold(knows) => (self.cold(index, &job, knows), Overflow::Drop),
        };
        // All lanes share the limit.
        let others = self.tables.iter().enumerate().filter(|(lane, _)| *lane != index);
        let others = others.map(|(_, tables)| tables.load(Ordering::Relaxed)).sum();
        segment.quota.memory = self.plan.limits.memory.saturating_sub(others);
        let ran = segment.run(&job, overflow);
        self.tables[index].store(segment.tables(self.print), Ordering::Relaxed);
        (index, (job, segment, ran))
    }

    /// All text of a lane is kept until that of the others is there, too.
    fn keep(&self) -> Overflow<'static> {
        Overflow::Keep(self.plan.limits.memory / self.warm.len().max(1))
    }

    /// A segment that begins in the middle.
    fn cold(&self, index: usize, job: &Job<'_, T, P>, knows: &T::Knows) -> Segment<'i, T, P> {
        let params = job.lane.params;
        let position = job.lane.start + job.from as u64;
        let parser = T::parser(params, self.plan.options, knows, position);
        let spare = self.spare[index].lock().ok().and_then(|mut spare| spare.pop());
        let new = || Some((T::decoder(params, self.plan.options, self.image).ok()?, Counted::default()));
        let (mut decoder, counted) = spare.or_else(new).expect("its lane's first segment has one");
        T::restart(&mut decoder, knows, position);
        decoder.resume(position, job.lane.moment);
        Segment::new(parser, decoder, counted, self.plan.limits)
    }

    /// Joins what the segments of a lane gave. Returns the one that goes on in the next window. With `out`, text is written
    /// there.
    fn join<'a, W: Write>(
        &self,
        index: usize,
        knows: &T::Knows,
        first: Done<'a, 'i, T, P>,
        rest: Vec<Done<'a, 'i, T, P>>,
        parts: &mut Vec<Part>,
        mut out: Option<&mut Ordered<'_, W>>,
    ) -> Segment<'i, T, P> {
        let (_, mut now, ran) = first;
        let mut handed_over = ran.handed_over;
        now.judge(Verdict::Right);
        let mut push = |mut part: Part, out: &mut Option<&mut Ordered<'_, W>>| {
            if let Some(out) = out {
                out.part(&mut part);
            }
            parts.push(part);
        };
        push(ran.part, &mut out);
        for (mut job, mut next, ran) in rest {
            let spare = match handed_over {
                // It came to the end of the window without this segment.
                None => {
                    next.judge(Verdict::Wrong);
                    next
                }
                Some(position) => {
                    let state = now.decoder.snapshot();
                    let same =
                        ran.began.as_ref().is_some_and(|began| began.0 == position && began.1 == state);
                    if same {
                        next.judge(Verdict::Right);
                        handed_over = ran.handed_over;
                        push(ran.part, &mut out);
                        let synchronised = now.synchronised;
                        let before = std::mem::replace(&mut now, next);
                        now.synchronised |= synchronised;
                        before
                    } else {
                        let Lane { params, start, bytes, .. } = job.lane;
                        let upto = (position - start) as usize;
                        let (options, bytes) = (self.plan.options, &bytes[..upto]);
                        now.parser = T::rewound(params, options, knows, bytes, job.from);
                        job.from = upto;
                        job.cold = false;
                        let ran = match &mut out {
                            Some(out) => now.run(&job, Overflow::Write(&mut |text| out.write(text))),
                            None => now.run(&job, self.keep()),
                        };
                        now.judge(Verdict::Right);
                        handed_over = ran.handed_over;
                        push(ran.part, &mut out);
                        next.judge(Verdict::Wrong);
                        next
                    }
                }
            };
            if let Ok(mut spares) = self.spare[index].lock() {
                spares.push((spare.decoder, spare.counted));
            }
        }
        now
    }
}

/// Where text goes in order. After an error nothing is written.
struct Ordered<'o, W> {
    out: &'o mut W,
    error: std::io::Result<()>,
}

impl<W: Write> Ordered<'_, W> {
    /// Returns whether it was written.
    fn write(&mut self, text: &[u8]) -> bool {
        if self.error.is_ok() {
            self.error = self.out.write_all(text);
        }
        self.error.is_ok()
    }

    /// Writes what a part has.
    fn part(&mut self, part: &mut Part) {
        self.write(part.line.bytes());
        part.written += part.line.bytes().len();
        part.line = Line::default();
        part.marks = Vec::new();
    }
}

/// Writes the lanes' texts in the order in which their packets end in the file.
fn merge(lanes: &[Vec<Part>], out: &mut impl Write) -> std::io::Result<()> {
    let mut pieces = lanes.iter().map(|parts| pieces(parts).peekable()).collect::<Vec<_>>();
    pieces.retain_mut(|pieces| pieces.peek().is_some());
    while pieces.len() > 1 {
        let key = |pieces: &mut std::iter::Peekable<_>| {
            pieces.peek().map_or(u64::MAX, |&(key, _): &(u64, &[u8])| key)
        };
        let (first, _) =
            pieces.iter_mut().map(key).enumerate().min_by_key(|&(_, key)| key).unwrap_or((0, u64::MAX));
        let second = pieces.iter_mut().enumerate().filter(|&(i, _)| i != first).map(|(_, p)| key(p)).min();
        while let Some((_, text)) =
            pieces[first].next_if(|&(key, _)| second.is_none_or(|second| key <= second))
        {
            out.write_all(text)?;
        }
        pieces.retain_mut(|pieces| pieces.peek().is_some());
    }
    for (_, text) in pieces.into_iter().flatten() {
        out.write_all(text)?;
    }
    Ok(())
}

fn pieces(parts: &[Part]) -> impl Iterator<Item = (u64, &[u8])> {
    parts.iter().flat_map(|part| {
        let starts = std::iter::once(0).chain(part.marks.iter().map(|&(_, end)| end));
        starts.zip(&part.marks).map(|(start, &(key, end))| (key, &part.line.bytes()[start..end]))
    })
}
