//! What of a line is reported, and what is lost. A receiver that begins in the middle of a character may take data for
//! start bits. So characters count only once an idle line, or what no other place can have, tells where one begins; or
//! several in a row had no error.

use crate::{LineEvent, Lost, LostReason};

/// Characters or packets in a row without error after which the receiver is in step.
const ENOUGH: u8 = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    /// First sample of the character or packet that has begun.
    pub(crate) start: Option<u64>,
    /// Characters or packets in a row without error, at most [`ENOUGH`].
    good: u8,
    was_sure: bool,
    /// Loss that may still grow: its first sample, the sample after the last, and the reason.
    lost: Option<(u64, u64, LostReason)>,
}

impl Trust {
    /// Notes that the next character begins where one must.
    pub(crate) fn is_sure(&mut self) {
        (self.good, self.was_sure) = (ENOUGH, true);
    }

    /// Ends a character or packet before sample `end`. Its bytes come with their first samples.
    pub(crate) fn good(
        &mut self,
        bytes: impl IntoIterator<Item = (u64, u8)>,
        end: u64,
        emit: &mut impl FnMut(LineEvent),
    ) {
        let start = self.start.take().unwrap_or(end);
        if self.good < ENOUGH {
            self.lose(start, end, self.reason());
            self.good += 1;
            self.was_sure |= self.good == ENOUGH;
            return;
        }
        self.flush(emit);
        bytes.into_iter().for_each(|(at, byte)| emit(LineEvent::Byte { offset: at / 8, byte }));
    }

    /// Accepts samples from `at` on, or from what has begun, that are no character or packet.
    pub(crate) fn bad(&mut self, at: u64, end: u64) {
        let start = self.start.take().unwrap_or(at);
        self.good = 0;
        self.lose(start, end, self.reason());
    }

    /// Ends the input at sample `end`.
    pub(crate) fn finish(&mut self, end: u64, emit: &mut impl FnMut(LineEvent)) {
        if let Some(start) = self.start.take() {
            if self.good == ENOUGH {
                self.flush(emit);
            }
            self.lose(start, end, if self.good == ENOUGH { LostReason::Truncated } else { self.reason() });
        }
        self.flush(emit);
    }

    fn reason(&self) -> LostReason {
        if self.was_sure { LostReason::Line } else { LostReason::LineStart }
    }

    fn lose(&mut self, start: u64, end: u64, reason: LostReason) {
        let start = self.lost.map_or(start, |(start, ..)| start);
        self.lost = Some((start, end, reason));
    }

    fn flush(&mut self, emit: &mut impl FnMut(LineEvent)) {
        if let Some((start, end, reason)) = self.lost.take() {
            let (offset, end) = (start / 8, end / 8);
            emit(LineEvent::Lost(Lost { offset, len: end - offset, reason }));
        }
    }
}
