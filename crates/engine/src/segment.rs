//! Decoding a part of a stream for a consumer.

use tracewright_image::Image;

use crate::consumer::WantedBlocks;
use crate::delivery::{Deliver, Overflow, Part, Remembered, Setting};
use crate::erased::{AnyConsumer, Receiver};
use crate::lane::Lane;
use crate::limits::{Limit, Limits, Quota, Range};
use crate::stream::{Handed, Job, Stream, Wanted};

/// A stream, and its state for a consumer.
pub struct Segment<'i> {
    pub stream: Box<dyn Stream<'i> + 'i>,
    receiver: Box<dyn Receiver + 'i>,
    remembered: Remembered,
    pub quota: Quota,
}

/// A consumer, and what to decode for it.
#[derive(Clone, Copy)]
pub struct For<'a> {
    pub consumer: &'a dyn AnyConsumer,
    pub image: &'a Image,
    pub range: Range,
    pub blocks: WantedBlocks,
}

/// Result of running a segment.
pub struct Ran {
    pub part: Part,
    pub handed: Handed,
}

impl<'i> Segment<'i> {
    pub fn new(stream: Box<dyn Stream<'i> + 'i>, to: For<'i>, limits: Limits) -> Self {
        let remembered = Remembered::default();
        Self { stream, receiver: to.consumer.receiver(), remembered, quota: Quota::new(limits) }
    }

    /// Decodes the bytes of a job.
    pub fn run(&mut self, to: For<'_>, job: &Job<'_>, overflow: Overflow<'_>) -> Ran {
        let mut handed = Handed::default();
        let part = self.with(to, job.lane, overflow, |stream, wanted, delivery| {
            handed = stream.run(job, wanted, &mut |items| delivery.take(items));
        });
        // A part whose output is incomplete does not count.
        if self.quota.reached == Some(Limit::Output) {
            handed.began = None;
        }
        self.quota.spend(&part.tally);
        Ran { part, handed }
    }

    /// Ends a part of the stream: what follows does not continue it.
    pub fn interrupt(&mut self, to: For<'_>, lane: &Lane<'_>) -> Part {
        let part = self.with(to, lane, Overflow::Keep(usize::MAX), |stream, wanted, delivery| {
            stream.interrupt(lane, wanted, &mut |items| delivery.take(items));
        });
        self.quota.spend(&part.tally);
        part
    }

    /// Ends the stream.
    pub fn finish(&mut self, to: For<'_>, lane: &Lane<'_>) -> Part {
        let is_limited = self.quota.reached.is_some();
        self.with(to, lane, Overflow::Keep(usize::MAX), |stream, wanted, delivery| {
            let overflowed = stream.overflowed();
            let ended = stream.finish(lane, wanted, &mut |items| delivery.take(items));
            // After a limit, reading may have stopped inside a packet.
            delivery.end(&ended, is_limited, overflowed);
        })
    }

    /// Returns the bytes of tables that grow with the trace.
    pub fn tables(&self) -> usize {
        self.receiver.memory()
    }

    /// Runs `f` with the stream and a delivery to the consumer. Returns the delivered part.
    fn with(
        &mut self,
        to: For<'_>,
        lane: &Lane<'_>,
        overflow: Overflow<'_>,
        mut f: impl FnMut(&mut (dyn Stream<'i> + 'i), Wanted, &mut dyn Deliver),
    ) -> Part {
        let Self { stream, receiver, remembered, quota } = self;
        let wanted = Wanted { blocks: to.blocks, range: to.range, is_stopped: quota.reached.is_some() };
        let setting = Setting {
            source: &lane.source,
            image: to.image,
            places: &lane.places,
            cursor: 0,
            space: stream.space(),
            moment: lane.moment,
            range: to.range,
            most: quota.instructions,
            quota,
            remembered,
            overflow,
        };
        receiver.with(setting, &mut |delivery| f(&mut **stream, wanted, delivery))
    }
}
