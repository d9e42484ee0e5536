//! Decoding a part of a stream.

use super::lane::Lane;
use super::part::{
    At, Counted, DecodeLimits, Limit, Out, Overflow, Part, Print, Quota, Range, Remembered, Verdict,
};
use super::protocol::{Decoder, Protocol};
use crate::reader::Place;

/// A decoder in the middle of a stream.
pub struct Segment<'i, T: Protocol, P: Print> {
    pub parser: T::Parser,
    pub decoder: T::Decoder<'i>,
    /// What the printer keeps.
    printed: P::State,
    /// What is counted in the decoder's graph.
    pub counted: Counted,
    remembered: Remembered,
    pub quota: Quota,
    pub synchronised: bool,
    passed_over: bool,
}

/// What running a segment came to.
pub struct Ran<S> {
    pub part: Part,
    /// Where, and in which state, output began, if it began in the middle of something.
    pub began: Option<(u64, S)>,
    /// Stream position from which on the next segment's output counts. `None`: all bytes of the window were decoded.
    pub handed_over: Option<u64>,
}

/// How to run a segment.
pub struct Job<'a, T: Protocol, P> {
    pub lane: &'a Lane<'a, T>,
    pub print: &'a P,
    pub range: Range,
    /// Where to begin, in the bytes of the window.
    pub from: usize,
    /// Whether it begins in the middle: output counts from where all is known.
    pub cold: bool,
    /// Where the next segment begins.
    pub next: Option<usize>,
}

/// Bytes fed after the next segment's begin until it is known whether it has taken over.
const PIECE: usize = 1 << 10;

/// What a segment's decoder is compared by.
pub type SnapshotOf<'i, T> = <<T as Protocol>::Decoder<'i> as Decoder<'i>>::Snapshot;

impl<'i, T: Protocol, P: Print> Segment<'i, T, P> {
    pub fn new(parser: T::Parser, decoder: T::Decoder<'i>, counted: Counted, limits: DecodeLimits) -> Self {
        Self {
            parser,
            decoder,
            printed: P::State::default(),
            counted,
            remembered: Remembered::default(),
            quota: Quota::new(limits),
            synchronised: false,
            passed_over: false,
        }
    }

    /// Decodes.
    pub fn run(&mut self, job: &Job<'_, T, P>, mut overflow: Overflow<'_>) -> Ran<SnapshotOf<'i, T>> {
        let Job { lane, from, cold, next, .. } = *job;
        // Who goes on is right whatever comes: it need not stop to add up.
        if P::COUNTS && cold {
            self.counted.settle(self.decoder.graph_mut());
        }
        let mut part = Part::default();
        let (parser, mut feed) = self.feed(lane, job.print, job.range, &mut part, overflow.by_ref());
        feed.began = cold.then(|| T::handover(lane.start + from as u64));
        if let Some(from) = feed.decoder.gap_start() {
            feed.out.remember_gap(from);
        }
        let mut at = from;
        for &cut in &lane.cuts {
            let cut_at = (cut - lane.start) as usize;
            T::feed(parser, &lane.bytes[at..cut_at], &mut feed);
            T::end(parser, &mut feed);
            feed.decoder.interrupt(cut, &mut feed.out);
            feed.out.mark(cut.max(1) - 1);
            at = cut_at;
        }
        let sure = next.unwrap_or(lane.bytes.len());
        T::feed(parser, &lane.bytes[at..sure], &mut feed);
        // Only now: who watches takes packets one by one.
        feed.next = next.map(|next| T::handover(lane.start + next as u64));
        for piece in lane.bytes[sure..].chunks(PIECE) {
            if feed.is_done() {
                break;
            }
            T::feed(parser, piece, &mut feed);
        }
        let (snapshot, handed_over) = (feed.snapshot, feed.handed_over);
        // A part whose text is not all there does not count.
        let began = snapshot.filter(|_| self.quota.reached != Some(Limit::Output));
        self.quota.spend(&part.tally);
        Ran { part, began, handed_over }
    }

    /// Ends a part of the stream: what follows does not continue it.
    pub fn interrupt(&mut self, lane: &Lane<'_, T>, print: &P, range: Range) -> Part {
        let mut part = Part::default();
        let (parser, mut feed) = self.feed(lane, print, range, &mut part, Overflow::Keep(usize::MAX));
        T::end(parser, &mut feed);
        feed.decoder.interrupt(lane.end(), &mut feed.out);
        feed.out.mark(lane.end().max(1) - 1);
        self.quota.spend(&part.tally);
        part
    }

    /// Ends the stream.
    pub fn finish(&mut self, lane: &Lane<'_, T>, print: &P, range: Range) -> Part {
        let mut part = Part::default();
        let overflowed = self.decoder.overflowed();
        let is_limited = self.quota.reached.is_some();
        let (parser, mut feed) = self.feed(lane, print, range, &mut part, Overflow::Keep(usize::MAX));
        T::end(parser, &mut feed);
        let last = feed.decoder.last_offset();
        let Feed { decoder, mut out, cut, .. } = feed;
        // After a limit, reading stopped anywhere.
        let cut = cut.filter(|_| !is_limited);
        out.part.tally.cut = cut.map(|(position, len)| (out.place(position).offset, len));
        decoder.finish(lane.end(), &mut out);
        let place = last.map_or(Place { offset: 0, opencsd_index: 0 }, |last| out.place(last));
        let at = At { source: out.source, place, space: out.space, image: out.image };
        print.end(out.state, &mut out.part.line, &at, overflowed);
        part
    }

    /// Bytes of the tables that grow with what the trace tells.
    pub fn tables(&self, print: &P) -> usize {
        print.memory(&self.printed)
    }

    /// Whether what was counted since the last time is right.
    pub fn judge(&mut self, verdict: Verdict) {
        self.counted.verdict = Some(verdict);
    }

    /// What a segment must know that begins further on.
    pub fn knows(&self) -> T::Knows {
        T::knows(&self.parser, &self.decoder)
    }

    /// The parser, and what takes its packets.
    fn feed<'f>(
        &'f mut self,
        lane: &'f Lane<'_, T>,
        print: &'f P,
        range: Range,
        part: &'f mut Part,
        overflow: Overflow<'f>,
    ) -> (&'f mut T::Parser, Feed<'f, 'i, T, P>) {
        let out = Out {
            part,
            print,
            state: &mut self.printed,
            counted: &mut self.counted,
            source: &lane.source,
            image: self.decoder.image(),
            places: &lane.places,
            cursor: 0,
            space: self.decoder.space(),
            moment: lane.moment,
            range,
            most: if self.quota.reached.is_some() { 0 } else { self.quota.instructions },
            quota: &mut self.quota,
            passed_over: &mut self.passed_over,
            remembered: &mut self.remembered,
            overflow,
        };
        let feed = Feed {
            decoder: &mut self.decoder,
            out,
            began: None,
            next: None,
            snapshot: None,
            handed_over: None,
            synchronised: &mut self.synchronised,
            cut: None,
        };
        (&mut self.parser, feed)
    }

    /// The earliest stream position that may still be asked for.
    pub fn oldest(&self) -> u64 {
        let last = self.decoder.last_offset().unwrap_or(u64::MAX);
        self.decoder.oldest().unwrap_or(u64::MAX).min(last).min(T::unfinished(&self.parser))
    }
}

/// Takes a parser's packets: gives them to the decoder, and watches for the points where segments take over.
pub struct Feed<'f, 'i, T: Protocol, P: Print> {
    pub decoder: &'f mut T::Decoder<'i>,
    pub out: Out<'f, P>,
    /// Where this segment takes over, if it has not yet.
    began: Option<T::Handover>,
    /// Where the next one does.
    next: Option<T::Handover>,
    snapshot: Option<(u64, SnapshotOf<'i, T>)>,
    pub handed_over: Option<u64>,
    /// Whether anything could be read.
    pub synchronised: &'f mut bool,
    /// The packet that the stream ended in: where it begins, and how many bytes of it there are.
    pub cut: Option<(u64, usize)>,
}

impl<'i, T: Protocol, P: Print> Feed<'_, 'i, T, P> {
    /// The decoder has taken a packet, from stream position `offset` to `end`. `is_now`: whether that is the point of a handover.
    #[inline(always)]
    pub fn taken(
        &mut self,
        offset: u64,
        end: u64,
        is_now: impl Fn(&mut T::Handover, &T::Decoder<'i>) -> bool,
    ) {
        self.out.mark(end.max(offset + 1) - 1);
        if let Some(from) = self.decoder.gap_start() {
            self.out.remember_gap(from);
            self.out.remembered.skipped = None;
        }
        if self.began.is_some() || self.next.is_some() {
            self.watch(end, is_now);
        }
    }

    /// Whether nothing more is told: the next segment has taken over, or a limit was reached.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        // What only counts is stopped between windows.
        self.handed_over.is_some() || !P::COUNTS && self.out.is_stopped()
    }

    /// Whether a segment takes over somewhere here.
    #[inline(always)]
    pub fn is_watching(&self) -> bool {
        self.began.is_some() || self.next.is_some() || self.handed_over.is_some()
    }

    fn watch(&mut self, end: u64, is_now: impl Fn(&mut T::Handover, &T::Decoder<'i>) -> bool) {
        if let Some(began) = &mut self.began
            && is_now(began, self.decoder)
        {
            self.began = None;
            self.snapshot = Some((end, self.decoder.snapshot()));
            *self.out.part = Part::default();
            self.out.space = self.decoder.space();
            if P::COUNTS {
                self.out.counted.now.discard(self.decoder.graph_mut());
            }
        }
        if let Some(next) = &mut self.next
            && is_now(next, self.decoder)
        {
            self.handed_over = Some(end);
        }
    }
}
