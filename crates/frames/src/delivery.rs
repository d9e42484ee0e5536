use tracewright_core::TraceId;

use crate::block::Segment;
use crate::{FrameSink, Lost, LostReason, Run};

/// The way from segments to the sink. It drops padding, and joins losses so that each is reported once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Loss that may still grow. Every loss makes the source unknown, so it ends with the next data of a known
    /// source.
    pending: Option<Lost>,
    /// Bytes of the null source that were dropped.
    padding: u64,
}

impl Delivery {
    pub(crate) fn padding(&self) -> u64 {
        self.padding
    }

    pub(crate) fn segment<S: FrameSink>(&mut self, segment: &Segment<'_>, sink: &mut S) {
        let &Segment { source, offset, lane, slip, bytes } = segment;
        if bytes.is_empty() {
            return;
        }
        // A segment without a source is also contiguous, like a run. This is used to find its end.
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

    /// Adds a loss to the pending one, or makes it the pending one.
    #[cold]
    pub(crate) fn lose<S: FrameSink>(&mut self, lost: Lost, sink: &mut S) {
        // Data without a source may have auxiliary bytes and syncs in between, bytes of a serial line have samples.
        // Other losses have no holes.
        match &mut self.pending {
            Some(pending)
                if pending.reason == lost.reason
                    && (matches!(lost.reason, LostReason::NoSource | LostReason::NoSync)
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

    pub(crate) fn flush<S: FrameSink>(&mut self, sink: &mut S) {
        if let Some(lost) = self.pending.take() {
            sink.lost(lost);
        }
    }
}
