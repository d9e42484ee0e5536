//! Decoding a part of a stream for a consumer.

use tracewright_image::Image;

use crate::consumer::{Blocks, Consumer};
use crate::delivery::{Delivery, Overflow, Part, Remembered};
use crate::lane::Lane;
use crate::limits::{Limit, Limits, Quota, Range};
use crate::stream::{Handed, Job, Stream, Wanted};

/// A stream, and its state for a consumer.
pub struct Segment<'i, C: Consumer> {
    pub stream: Box<dyn Stream<'i> + 'i>,
    state: C::State,
    remembered: Remembered,
    pub quota: Quota,
}

/// A consumer, and what to decode for it.
pub struct For<'a, C> {
    pub consumer: &'a C,
    pub image: &'a Image,
    pub range: Range,
    pub blocks: Blocks,
}

impl<C> Clone for For<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for For<'_, C> {}

/// Result of running a segment.
pub struct Ran<O> {
    pub part: Part<O>,
    pub handed: Handed,
}

impl<'i, C: Consumer> Segment<'i, C> {
    pub fn new(stream: Box<dyn Stream<'i> + 'i>, limits: Limits) -> Self {
        let (state, remembered) = (C::State::default(), Remembered::default());
        Self { stream, state, remembered, quota: Quota::new(limits) }
    }

    /// Decodes the bytes of a job.
    pub fn run(
        &mut self,
        to: For<'_, C>,
        job: &Job<'_>,
        overflow: Overflow<'_, C::Output>,
    ) -> Ran<C::Output> {
        let mut part = Part::default();
        let mut handed = self.with(to, job.lane, &mut part, overflow, |stream, wanted, delivery| {
            stream.run(job, wanted, &mut |items| delivery.take(items))
        });
        // A part whose output is incomplete does not count.
        if self.quota.reached == Some(Limit::Output) {
            handed.began = None;
        }
        self.quota.spend(&part.tally);
        Ran { part, handed }
    }

    /// Ends a part of the stream: what follows does not continue it.
    pub fn interrupt(&mut self, to: For<'_, C>, lane: &Lane<'_>) -> Part<C::Output> {
        let mut part = Part::default();
        let overflow = Overflow::Keep(usize::MAX);
        self.with(to, lane, &mut part, overflow, |stream, wanted, delivery| {
            stream.interrupt(lane, wanted, &mut |items| delivery.take(items));
        });
        self.quota.spend(&part.tally);
        part
    }

    /// Ends the stream.
    pub fn finish(&mut self, to: For<'_, C>, lane: &Lane<'_>) -> Part<C::Output> {
        let mut part = Part::default();
        let overflow = Overflow::Keep(usize::MAX);
        let is_limited = self.quota.reached.is_some();
        self.with(to, lane, &mut part, overflow, |stream, wanted, delivery| {
            let overflowed = stream.overflowed();
            let ended = stream.finish(lane, wanted, &mut |items| delivery.take(items));
            // After a limit, reading may have stopped inside a packet.
            let cut = ended.cut.filter(|_| !is_limited);
            delivery.part.tally.cut = cut.map(|(position, len)| (delivery.place(position).offset, len));
            delivery.end(ended.last, overflowed);
        });
        part
    }

    /// Returns the bytes of tables that grow with the trace.
    pub fn tables(&self, consumer: &C) -> usize {
        consumer.memory(&self.state)
    }

    /// Runs `f` with the stream and a delivery to the consumer.
    fn with<'v, R>(
        &mut self,
        to: For<'_, C>,
        lane: &Lane<'_>,
        part: &mut Part<C::Output>,
        overflow: Overflow<'v, C::Output>,
        f: impl FnOnce(&mut (dyn Stream<'i> + 'i), Wanted, &mut Delivery<'_, 'v, C>) -> R,
    ) -> R {
        let Self { stream, state, remembered, quota } = self;
        let For { consumer, image, range, blocks } = to;
        let is_stopped = quota.reached.is_some();
        let mut delivery = Delivery {
            part,
            consumer,
            state,
            source: &lane.source,
            image,
            places: &lane.places,
            cursor: 0,
            space: stream.space(),
            moment: lane.moment,
            range,
            most: quota.instructions,
            quota,
            remembered,
            overflow,
        };
        f(&mut **stream, Wanted { blocks, range, is_stopped }, &mut delivery)
    }
}
