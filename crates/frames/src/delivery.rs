use tracewright_core::TraceId;

use crate::block::Segment;
use crate::{Lost, LostReason, Run, Sink};

/// The way from segments to the sink: drops padding, and joins losses so that they are reported once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// A loss that may still grow. A loss always makes the source unknown, so that it is over when data of a
    /// known source comes.
    pending: Option<Lost>,
    /// Bytes of the null source.
    padding: u64,
}

impl Delivery {
    /// Bytes of the null source that were dropped.
    pub(crate) fn padding(&self) -> u64 {
        self.padding
    }

    /// Hands a segment over.
    pub(crate) fn segment<S: Sink>(&mut self, segment: &Segment<'_>, sink: &mut S) {
        let &Segment { source, offset, lane, slip, bytes } = segment;
        if bytes.is_empty() {
            return;
        }
        // A segment without source still has neighbouring bytes, as a run has: this is used to find its end.
        let run = Run { id: source.unwrap_or_default(), lane, slip, offset };
        let len = bytes.len() as u64;
        if source.is_none() {
            let end = run.offset_of(len - 1) + 1;
            return self.lose(Lost { offset, len: end - offset, reason: LostReason::NoSource }, sink);
        }
        self.flush(sink);
        if run.id == TraceId::NULL {
            self.padding += len;
        } else {
            sink.data(run, bytes);
        }
    }

    /// Notes a loss, or lets the pending one grow.
    #[cold]
    pub(crate) fn lose<S: Sink>(&mut self, lost: Lost, sink: &mut S) {
        // Between data without a source there may be auxiliary bytes and syncs; other losses have no holes.
        match &mut self.pending {
            Some(pending)
                if pending.reason == lost.reason
                    && (lost.reason == LostReason::NoSource
                        || pending.offset + pending.len == lost.offset) =>
            {
                pending.len = lost.offset + lost.len - pending.offset;
            }
            _ => {
                self.flush(sink);
                self.pending = Some(lost);
            }
        }
    }

    /// Reports the pending loss.
    pub(crate) fn flush<S: Sink>(&mut self, sink: &mut S) {
        if let Some(lost) = self.pending.take() {
            sink.lost(lost);
        }
    }
}
