//! From a request to its result.

use std::fmt;
use std::ops::ControlFlow;

use tracewright_core::{MemorySpace, Mismatch};
use tracewright_image::Image;
use tracewright_input::{Buffer, Capture};

use crate::consumer::{Consumer, WantedBlocks};
use crate::erased::{AnyConsumer, AnyOutput, OWN};
use crate::incoming::{Incoming, Reading};
use crate::lane;
use crate::limits::{Limit, Limits, Range};
use crate::missing::MissingCode;
use crate::pipeline::{Pipeline, Take};
use crate::problem::{Error, Named, Problem};
use crate::protocol::Options;
use crate::reader::{BufferReader, Progress};
use crate::segment::For;
use crate::source::Source;
use crate::tally::Tally;

/// Bytes read before the range, to find a synchronisation point, and after it, since what begins inside may be committed later.
pub const LEAD: u64 = 1 << 20;

/// A buffer to decode, and how.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The capture.
    pub capture: &'a Capture,
    /// One of its buffers.
    pub buffer: &'a Buffer,
    /// The trace itself, if it is in memory and not in the buffer's file.
    pub bytes: Option<&'a [u8]>,
    /// The program that ran.
    pub image: &'a Image,
    /// Which sources to decode, by their numbers in the buffer.
    pub wants: &'a (dyn Fn(u16) -> bool + Sync),
    /// How to decode.
    pub options: &'a Options,
    /// Part of the file to decode.
    pub range: Range,
    /// Limits of what is decoded.
    pub limits: Limits,
    /// Whether to fail with [`Error::WrongProgram`] if the program does not explain the trace. A consumer that counts sets it, since it
    /// would count what did not run.
    pub refuse_mismatch: bool,
    /// Called with the number of bytes read since the last call.
    pub progress: Progress<'a>,
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("buffer", &self.buffer.name).finish_non_exhaustive()
    }
}

/// A source whose trace the program does not explain.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// The source.
    pub source: Named,
    /// Times that the program contradicted the trace.
    pub mismatches: u64,
    /// Blocks that were decoded.
    pub blocks: u64,
    /// Bytes of trace that the program could not be followed through.
    pub bytes_unfollowed: u64,
    /// The first mismatch: its offset, what it is, the memory space.
    pub first: Option<(u64, Mismatch, MemorySpace)>,
    /// Whether the source is left out of totals.
    pub is_left_out: bool,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, mismatches, blocks, bytes_unfollowed, is_left_out, .. } = self;
        let plural = |count: u64, more: &'static str| if count == 1 { "" } else { more };
        write!(
            f,
            "{source}: the program does not explain the trace (another program ran, or the trace is damaged): \
             {mismatches} mismatch{} in {blocks} block{}",
            plural(*mismatches, "es"),
            plural(*blocks, "s")
        )?;
        if let lost @ 1.. = *bytes_unfollowed {
            write!(f, ", {lost} byte{} of trace that it cannot explain", plural(lost, "s"))?;
        }
        match is_left_out {
            true => f.write_str(
                ": its instructions are not counted; name the right program with --image, or count nevertheless with \
                 --accept-mismatch",
            ),
            false => Ok(()),
        }
    }
}

/// What was decoded of a source.
#[derive(Clone, Debug)]
pub struct SourceTally {
    /// The source.
    pub source: Named,
    /// Bytes of its trace.
    pub bytes: u64,
    /// What was decoded. Its numbers of bytes are not filled in.
    pub tally: Tally,
    /// Where code ran that no image has.
    pub missing: MissingCode,
}

/// The result of decoding a buffer.
#[derive(Debug)]
pub struct Decoded<O> {
    /// Merged outputs of the consumer.
    pub output: O,
    /// What was decoded.
    pub tally: Tally,
    /// What was decoded of each source.
    pub sources: Vec<SourceTally>,
    /// What is missing or may be wrong.
    pub problems: Vec<Problem>,
    /// Bytes of sources that no protocol reads: trace ID and number.
    pub unread: Vec<(u16, u64)>,
    /// Whether `take` asked to stop.
    pub is_stopped: bool,
    /// Whether any source has a synchronisation point: if none has, nothing could be read.
    pub is_synchronised: bool,
}

/// Threads that decode buffers.
#[derive(Debug)]
pub struct Engine {
    threads: rayon::ThreadPool,
    jobs: usize,
}

impl Engine {
    /// Starts `jobs` threads; 0 starts one for each core.
    ///
    /// # Errors
    /// Fails if the threads cannot be started.
    pub fn new(jobs: usize) -> Result<Self, Error> {
        let jobs = match jobs {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            jobs => jobs,
        };
        // One more thread reads ahead, unless there is to be only one.
        let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs + usize::from(jobs > 1)).build();
        let threads = threads.map_err(|error| Error::Threads { jobs, message: error.to_string() })?;
        Ok(Self { threads, jobs })
    }

    /// Returns the number of threads that decode.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// Decodes a buffer and gives its elements to `consumer`. `take` gets output that has an order (see [`Consumer::len`]) piece by
    /// piece, and may stop decoding. A consumer that takes elements in order, and a limit of instructions, use one thread.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read, or if the program does not explain the trace and [`Request::refuse_mismatch`] is set.
    pub fn decode<C: Consumer>(
        &self,
        request: &Request<'_>,
        consumer: &C,
        take: impl FnMut(&C::Output, std::ops::Range<usize>) -> ControlFlow<()> + Send,
    ) -> Result<Decoded<C::Output>, Error> {
        let mut take = take;
        let mut take_any = |output: &AnyOutput, range| take(output.downcast_ref().expect(OWN), range);
        let is_single = consumer.in_order() || request.limits.instructions != Limits::NONE.instructions;
        let jobs = if is_single { 1 } else { self.jobs };
        let Decoded { output, tally, sources, problems, unread, is_stopped, is_synchronised } =
            self.decode_any(request, consumer, jobs, &mut take_any)?;
        let output = *output.downcast().expect(OWN);
        Ok(Decoded { output, tally, sources, problems, unread, is_stopped, is_synchronised })
    }

    fn decode_any(
        &self,
        request: &Request<'_>,
        consumer: &dyn AnyConsumer,
        jobs: usize,
        take: Take<'_>,
    ) -> Result<Decoded<Box<AnyOutput>>, Error> {
        self.threads.install(|| request.decode(consumer, jobs, take))
    }
}

impl<'a> Request<'a> {
    fn decode(
        &self,
        consumer: &dyn AnyConsumer,
        jobs: usize,
        take: Take<'_>,
    ) -> Result<Decoded<Box<AnyOutput>>, Error> {
        let Self { capture, buffer, image, wants, options, range, limits, .. } = *self;
        let mut input = match self.bytes {
            Some(bytes) => BufferReader::in_memory(bytes),
            None => BufferReader::open(buffer, &capture.checksums, self.progress)?,
        };
        let mut lanes = lane::lanes(capture, buffer, wants);
        // What lies long before the range is skipped, unless something is counted or reported from the start on: DSTREAM's blocks,
        // samples, cycles, options of E-Trace.
        let start = range.from.saturating_sub(LEAD) & !0xf;
        let from_start = buffer.format.needs_start()
            || buffer.ring.is_some()
            || lanes.iter().any(|lane| lane.plug.needs_start())
            || consumer.needs_all();
        if start > 0 && !from_start {
            input.skip_to(start);
        }
        let first = buffer.sources.first().and_then(|&source| capture.sources[source].id());
        let mut incoming = Incoming::new(&mut lanes, options, wants, first);
        let mut reading = Reading::new(input, buffer);
        let blocks = match consumer.blocks() {
            WantedBlocks::Summed if !range.is_all() || limits.instructions != u64::MAX => WantedBlocks::Each,
            blocks => blocks,
        };
        let to = For { consumer, image, range, blocks };
        let (mut pipeline, unsupported) = Pipeline::new(&lanes, to, options, limits, jobs);
        // In a ring, what is in the range may follow what lies behind it in the file.
        let upto = if buffer.ring.is_some() { u64::MAX } else { range.to.saturating_add(LEAD) };
        let mut flow = ControlFlow::Continue(());
        let mut wanted = 0;
        // Bytes of the windows that were decoded.
        let (mut bytes, mut unread) = (0, incoming.unread);
        let mut is_first = true;
        while !pipeline.is_stopped()
            && flow.is_continue()
            && let Some(piece) = reading.next_piece()?
        {
            if !std::mem::replace(&mut is_first, false) {
                lane::end(&mut lanes, &mut incoming);
                flow = pipeline.interrupt(&lanes, take);
            }
            if piece.offset >= upto {
                break;
            }
            lane::begin(&mut lanes, piece.offset, piece.moment, &mut incoming);
            pipeline.begin(&lanes);
            let mut more = reading.window(pipeline.window(), &mut incoming)?;
            let mut at;
            loop {
                lane::advance(&mut lanes, &mut incoming);
                more &= reading.at < upto;
                (bytes, at, unread) = (reading.bytes, reading.at, incoming.unread);
                let window = pipeline.window();
                let mut came = Ok(false);
                // The next window is read while this one is decoded.
                flow = rayon::in_place_scope(|scope| {
                    if more {
                        scope.spawn(|_| came = reading.window(window, &mut incoming));
                    }
                    pipeline.decode(&mut lanes, take)
                });
                if !more || flow.is_break() || pipeline.is_stopped() {
                    break;
                }
                more = came?;
            }
            wanted += range.bytes(buffer.ring, piece.offset, at);
        }
        if flow.is_continue() {
            lane::end(&mut lanes, &mut incoming);
            flow = pipeline.finish(&lanes, take);
        }
        let named = |lane: usize| named(&lanes[lane].source);
        let doubts: Vec<_> = pipeline
            .doubtful(&lanes)
            .map(|(lane, tally)| Doubt {
                source: named(lane),
                mismatches: tally.mismatches,
                blocks: tally.blocks,
                bytes_unfollowed: tally.bytes_unfollowed,
                first: tally.first_mismatch,
                is_left_out: false,
            })
            .collect();
        if !doubts.is_empty() && self.refuse_mismatch && flow.is_continue() {
            return Err(Error::WrongProgram(doubts));
        }
        let mut problems: Vec<_> = reading.take_faults().into_iter().map(Problem::File).collect();
        problems.extend(unsupported.into_iter().map(|(lane, why)| Problem::Unsupported(named(lane), why)));
        if bytes == 0 {
            problems.push(Problem::Empty);
        } else if !buffer.format.is_as_sent() && !incoming.any_frame {
            problems.push(Problem::NoFrames { syncs: buffer.format.has_syncs(), bytes });
        }
        for (lane, bytes) in pipeline.unsynchronised(&lanes) {
            let what = lanes[lane].plug.synchronisation();
            problems.push(Problem::Unsynchronised { source: named(lane), what, bytes });
        }
        problems.extend(doubts.into_iter().map(Problem::WrongProgram));
        if let Some((offset, len)) = pipeline.tally.cut.filter(|_| range.to == u64::MAX) {
            // A ring buffer may end inside a packet, and nothing is wrong with it.
            problems.push(match buffer.format.is_as_sent() {
                true => Problem::EndsInside { offset, len },
                false => Problem::RingEndsInside { offset },
            });
        }
        problems.extend(incoming.damage.iter().copied().map(Problem::Damage));
        let stopped = pipeline.stopped().filter(|&(_, limit)| limit != Limit::Output);
        problems.extend(stopped.map(|(lane, limit)| Problem::Stopped(named(lane), limit, limits)));
        let decoded = pipeline.decoded(&lanes);
        let sources = pipeline.sources(&lanes);
        let mut tally = pipeline.tally;
        let is_explained = tally.no_code > 0 || incoming.unread.iter().any(|bytes| *bytes > 0);
        let has_only_messages =
            !lanes.is_empty() && lanes.iter().all(|lane| !lane.source.of.traces_instructions());
        if !problems.iter().any(Problem::is_error)
            && !is_explained
            && !has_only_messages
            && tally.instructions == 0
            && range.is_all()
            && !options.no_image
        {
            problems.push(Problem::Nothing);
        }
        tally.count_bytes(bytes, wanted, &lanes, &decoded, &unread);
        if let Some(router) = &incoming.router {
            router.strangers().iter().for_each(|(id, bytes)| tally.strangers.add(id, bytes));
        }
        let mut unread: Vec<_> = (0..).zip(incoming.unread).filter(|(_, bytes)| *bytes > 0).collect();
        unread.extend(tally.strangers.iter().filter(|(id, _)| wants(*id)));
        let (is_stopped, is_synchronised) = (flow.is_break(), bytes > 0 && pipeline.is_synchronised());
        Ok(Decoded { output: pipeline.output, tally, sources, problems, unread, is_stopped, is_synchronised })
    }
}

/// Returns the names of a source, for messages.
pub fn named(source: &Source<'_>) -> Named {
    Named { index: source.index, name: source.of.name.clone(), id: source.id }
}
