//! Decoding a buffer on all cores.
//!
//! The file is read in windows. In each, the stream of each source is cut into segments at synchronisation points
//! (A-Sync). The first segment goes on where the last window ended. The others begin cold, side by side; the output of a
//! cold one counts from where its decoder knows all that one knows that came from before: an address and a context since
//! the Trace Info. Up to that point the segment before goes on. There the states of the two are compared; if they
//! differ in anything, the cold one's work is thrown away and the segment before goes on through it. So what comes out
//! never depends on how the work was split.

use std::io::Write;
use std::sync::Mutex;

use rayon::prelude::*;
use tracewright_etm::decode::{Decoder, Options, Unsupported};
use tracewright_etm::packet::{Parser, Resync};
use tracewright_image::Image;

use super::lane::{Lane, Lanes};
use super::part::{Part, Print, Range, Tally};
use super::segment::{Job, Ran, Segment};

/// How to decode.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub decode: Options,
    pub resync: Resync,
    pub range: Range,
    /// How many segments side by side.
    pub jobs: usize,
}

/// Bytes of a window for each job: the most, the least, and to begin with.
const MOST: usize = 1 << 17;
const LEAST: usize = 1 << 9;
const FIRST: usize = 1 << 14;
/// Bytes of text that a window is to give.
const TEXT: usize = 16 << 20;
/// Bytes of a segment at least.
const SEGMENT: usize = 1 << 12;

/// The decoders of a buffer's sources.
pub struct Engine<'i, 'p, P: Print> {
    image: &'i Image,
    print: &'p P,
    plan: Plan,
    window: usize,
    /// By lane: where its last window ended.
    warm: Vec<Option<Segment<'i, P>>>,
    /// Decoders that know the program already, by lane.
    spare: Vec<Mutex<Vec<Decoder<'i>>>>,
    pub tally: Tally,
}

impl<'i, 'p, P: Print> Engine<'i, 'p, P> {
    pub fn new(
        lanes: &Lanes<'_>,
        image: &'i Image,
        print: &'p P,
        plan: Plan,
    ) -> (Self, Vec<(usize, Unsupported)>) {
        let mut failures = Vec::new();
        let warm = lanes.lanes.iter().enumerate().map(|(i, lane)| {
            let parser = Parser::starting_at(lane.source.params.clone(), lane.start).with_resync(plan.resync);
            match Decoder::new(lane.source.params, image, plan.decode) {
                Ok(decoder) => Some(Segment::new(parser, decoder)),
                Err(error) => {
                    failures.push((i, error));
                    None
                }
            }
        });
        let warm = warm.collect();
        let spare = lanes.lanes.iter().map(|_| Mutex::default()).collect();
        let window = FIRST * plan.jobs;
        (Self { image, print, plan, window, warm, spare, tally: Tally::default() }, failures)
    }

    /// Bytes to read for the next window: a byte of trace may become a kilobyte of text, and memory must not grow.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Decodes the window's bytes and writes what they say.
    pub fn window_done(&mut self, lanes: &mut Lanes<'_>, out: &mut impl Write) -> std::io::Result<()> {
        let starts: Vec<Vec<usize>> = lanes.lanes.iter().map(|lane| self.split(lane)).collect();
        // Every segment of every lane.
        let mut tasks = Vec::new();
        for (index, lane) in lanes.lanes.iter().enumerate() {
            let Some(warm) = self.warm[index].take() else { continue };
            let next = starts[index].first().copied();
            tasks.push((index, self.job(lane, 0, false, next), Some(warm)));
            for (i, &start) in starts[index].iter().enumerate() {
                tasks.push((index, self.job(lane, start, true, starts[index].get(i + 1).copied()), None));
            }
        }
        let done: Vec<_> = if self.plan.jobs > 1 {
            tasks.into_par_iter().with_max_len(1).map(|task| self.run(task)).collect()
        } else {
            tasks.into_iter().map(|task| self.run(task)).collect()
        };
        let mut parts: Vec<Vec<Part>> = lanes.lanes.iter().map(|_| Vec::new()).collect();
        let mut done = done.into_iter().peekable();
        while let Some((index, job, segment, ran)) = done.next() {
            let mut rest = Vec::new();
            while let Some((_, job, segment, ran)) = done.next_if(|&(other, ..)| other == index) {
                rest.push((job, segment, ran));
            }
            let last = self.join(index, (job, segment, ran), rest, &mut parts[index]);
            self.warm[index] = Some(last);
        }
        for (lane, warm) in lanes.lanes.iter_mut().zip(&self.warm) {
            // Where the stream ends is asked for at its end.
            let last = lane.end().saturating_sub(1);
            lane.places.forget_before(warm.as_ref().map_or(last, |warm| warm.oldest().min(last)));
        }
        let mut text = 0;
        for part in parts.iter().flatten() {
            self.tally += &part.tally;
            text += part.line.bytes().len();
        }
        let jobs = self.plan.jobs;
        let fitting = TEXT.saturating_mul(self.window) / text.max(1);
        self.window = fitting.min(2 * self.window).clamp(LEAST * jobs, MOST * jobs);
        merge(&parts, out)
    }

    /// Ends all streams.
    pub fn finish(&mut self, lanes: &Lanes<'_>, out: &mut impl Write) -> std::io::Result<()> {
        for (lane, warm) in lanes.lanes.iter().zip(&mut self.warm) {
            if let Some(warm) = warm {
                let part = warm.finish(lane, self.print, self.plan.range);
                self.tally += &part.tally;
                out.write_all(part.line.bytes())?;
            }
        }
        Ok(())
    }

    /// Lanes that never came to an A-Sync, with how many bytes they had.
    pub fn unsynchronised(&self) -> impl Iterator<Item = (usize, u64)> {
        let lanes = self.warm.iter().enumerate().filter_map(|(i, warm)| Some((i, warm.as_ref()?)));
        lanes
            .filter(|(_, warm)| !warm.synchronised && warm.parser.position() > 0)
            .map(|(i, warm)| (i, warm.parser.position()))
    }

    fn job<'a>(&self, lane: &'a Lane<'a>, from: usize, cold: bool, next: Option<usize>) -> Job<'a, P>
    where
        'p: 'a,
    {
        Job { lane, print: self.print, range: self.plan.range, from, cold, next }
    }

    /// Where the lane's cold segments begin.
    fn split(&self, lane: &Lane<'_>) -> Vec<usize> {
        let mut starts = Vec::new();
        if self.plan.jobs == 1 || !lane.cuts.is_empty() {
            return starts;
        }
        // No more segments than threads: each has a decoder that must learn the program, and keep it in the cache.
        let segment = (lane.bytes.len() / self.plan.jobs).max(SEGMENT);
        let mut last = 0;
        let mut zeros = 0;
        for (i, &byte) in lane.bytes.iter().enumerate() {
            if byte == 0x80 && zeros >= 11 {
                let start = i - 11;
                if start >= last + segment {
                    starts.push(start);
                    last = start;
                }
            }
            zeros = if byte == 0 { zeros + 1 } else { 0 };
        }
        starts
    }

    fn run<'a>(
        &self,
        (index, job, segment): (usize, Job<'a, P>, Option<Segment<'i, P>>),
    ) -> (usize, Job<'a, P>, Segment<'i, P>, Ran) {
        let mut segment = segment.unwrap_or_else(|| self.cold(index, &job));
        let ran = segment.run(&job);
        (index, job, segment, ran)
    }

    /// A segment that knows nothing.
    fn cold(&self, index: usize, job: &Job<'_, P>) -> Segment<'i, P> {
        let params = job.lane.source.params;
        let position = job.lane.start + job.from as u64;
        let parser = Parser::starting_at(params.clone(), position).with_resync(self.plan.resync);
        let spare = self.spare[index].lock().ok().and_then(|mut spare| spare.pop());
        let decoder = spare.or_else(|| Decoder::new(params, self.image, self.plan.decode).ok());
        let mut decoder = decoder.expect("its lane's first segment has one");
        decoder.restart(position);
        Segment::new(parser, decoder)
    }

    /// Joins what the segments of a lane gave. Returns the one that goes on in the next window.
    fn join<'a>(
        &self,
        index: usize,
        first: (Job<'a, P>, Segment<'i, P>, Ran),
        rest: Vec<(Job<'a, P>, Segment<'i, P>, Ran)>,
        parts: &mut Vec<Part>,
    ) -> Segment<'i, P> {
        let (_, mut now, ran) = first;
        let mut handed_over = ran.handed_over;
        parts.push(ran.part);
        for (mut job, next, ran) in rest {
            let spare = match handed_over {
                // It came to the end of the window without this segment.
                None => next,
                Some(position) => {
                    let state = now.decoder.snapshot();
                    let same =
                        ran.began.as_ref().is_some_and(|began| began.0 == position && began.1 == state);
                    if same {
                        handed_over = ran.handed_over;
                        parts.push(ran.part);
                        let synchronised = now.synchronised;
                        let before = std::mem::replace(&mut now, next);
                        now.synchronised |= synchronised;
                        before
                    } else {
                        now.rewind(job.lane, job.from, position);
                        job.from = (position - job.lane.start) as usize;
                        job.cold = false;
                        let ran = now.run(&job);
                        handed_over = ran.handed_over;
                        parts.push(ran.part);
                        next
                    }
                }
            };
            if let Ok(mut spares) = self.spare[index].lock() {
                spares.push(spare.decoder);
            }
        }
        now
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
