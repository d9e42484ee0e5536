//! Decoding a part of a stream.

use tracewright_etm::decode::{Decoder, Snapshot};
use tracewright_etm::packet::{self, Packet, Parser};

use super::lane::Lane;
use super::part::{Out, Part, Print, Range, Remembered};
use crate::reader::Place;

/// A decoder in the middle of a stream.
pub struct Segment<'i, P: Print> {
    pub parser: Parser,
    pub decoder: Decoder<'i>,
    /// What the printer keeps.
    printed: P::State,
    remembered: Remembered,
    pub synchronised: bool,
    passed_over: bool,
}

/// What running a segment came to.
pub struct Ran {
    pub part: Part,
    /// Where, and in which state, output began, if it began in the middle of something.
    pub began: Option<(u64, Snapshot)>,
    /// Stream position from which on the next segment's output counts. `None`: all bytes of the window were decoded.
    pub handed_over: Option<u64>,
}

/// How to run a segment.
pub struct Job<'a, P> {
    pub lane: &'a Lane<'a>,
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

impl<'i, P: Print> Segment<'i, P> {
    pub fn new(parser: Parser, decoder: Decoder<'i>) -> Self {
        Self {
            parser,
            decoder,
            printed: P::State::default(),
            remembered: Remembered::default(),
            synchronised: false,
            passed_over: false,
        }
    }

    /// Decodes.
    pub fn run(&mut self, job: &Job<'_, P>) -> Ran {
        let Job { lane, from, cold, next, .. } = *job;
        let mut part = Part::default();
        let mut feed = Feed {
            began: cold.then(|| Handover::new(lane.start + from as u64)),
            next: next.map(|next| Handover::new(lane.start + next as u64)),
            out: Out {
                part: &mut part,
                print: job.print,
                state: &mut self.printed,
                source: &lane.source,
                image: self.decoder.walker().graph().image(),
                places: &lane.places,
                cursor: 0,
                space: self.decoder.space(),
                range: job.range,
                passed_over: &mut self.passed_over,
                remembered: &mut self.remembered,
            },
            decoder: &mut self.decoder,
            snapshot: None,
            handed_over: None,
            synchronised: &mut self.synchronised,
        };
        if let Some(from) = feed.decoder.gap_start() {
            feed.out.remember_gap(from);
        }
        let mut at = from;
        for &cut in &lane.cuts {
            let cut_at = (cut - lane.start) as usize;
            self.parser.feed(&lane.bytes[at..cut_at], &mut feed);
            self.parser.finish(&mut feed);
            feed.decoder.interrupt(cut, &mut feed.out);
            feed.out.mark(cut.max(1) - 1);
            at = cut_at;
        }
        let sure = next.unwrap_or(lane.bytes.len());
        self.parser.feed(&lane.bytes[at..sure], &mut feed);
        for piece in lane.bytes[sure..].chunks(PIECE) {
            if feed.handed_over.is_some() {
                break;
            }
            self.parser.feed(piece, &mut feed);
        }
        let (snapshot, handed_over) = (feed.snapshot, feed.handed_over);
        Ran { part, began: snapshot, handed_over }
    }

    /// Puts the parser to where the segment that begins at `next` has taken over.
    pub fn rewind(&mut self, lane: &Lane<'_>, next: usize, position: u64) {
        let params = self.parser.params().clone();
        let resync = self.parser.resync();
        self.parser = Parser::starting_at(params, lane.start + next as u64).with_resync(resync);
        let upto = (position - lane.start) as usize;
        // The state of the compression begins with the segment's Trace Info.
        self.parser.feed(&lane.bytes[next..upto], &mut |_: u64, _: &[u8], _: &Packet| {});
    }

    /// Ends the stream.
    pub fn finish(&mut self, lane: &Lane<'_>, print: &P, range: Range) -> Part {
        let mut part = Part::default();
        let overflowed = self.decoder.overflowed();
        let mut feed = Feed {
            began: None,
            next: None,
            out: Out {
                part: &mut part,
                print,
                state: &mut self.printed,
                source: &lane.source,
                image: self.decoder.walker().graph().image(),
                places: &lane.places,
                cursor: 0,
                space: self.decoder.space(),
                range,
                passed_over: &mut self.passed_over,
                remembered: &mut self.remembered,
            },
            decoder: &mut self.decoder,
            snapshot: None,
            handed_over: None,
            synchronised: &mut self.synchronised,
        };
        self.parser.finish(&mut feed);
        let last = feed.decoder.last_offset();
        let Feed { decoder, mut out, .. } = feed;
        decoder.finish(lane.end(), &mut out);
        let place = last.map_or(Place { offset: 0, opencsd_index: 0 }, |last| out.place(last));
        let at = super::part::At { source: out.source, place, space: out.space, image: out.image };
        print.end(&mut out.part.line, &at, overflowed);
        part
    }

    /// The earliest stream position that may still be asked for.
    pub fn oldest(&self) -> u64 {
        let last = self.decoder.last_offset().unwrap_or(u64::MAX);
        self.decoder.oldest().unwrap_or(u64::MAX).min(last).min(self.parser.unfinished())
    }
}

/// Watches for the point where all that matters was told since a synchronisation point: a decoder that began there knows
/// then what one knows that came from before.
struct Handover {
    /// Stream position of the A-Sync.
    at: u64,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    Async,
    TraceInfo,
    /// Stream positions of the last address and of the last context.
    Known {
        address: Option<u64>,
        context: Option<u64>,
    },
}

impl Handover {
    fn new(at: u64) -> Self {
        Self { at, stage: Stage::Async }
    }

    /// Whether this is the point, `decoder` having taken the packet.
    fn is_now(&mut self, offset: u64, packet: &Packet, decoder: &Decoder<'_>) -> bool {
        match (&mut self.stage, packet) {
            (Stage::Async, Packet::Async) if offset == self.at => self.stage = Stage::TraceInfo,
            (Stage::Async, _) => {}
            (Stage::TraceInfo, Packet::TraceInfo(_)) => {
                self.stage = Stage::Known { address: None, context: None };
            }
            (Stage::TraceInfo, _) => {}
            (Stage::Known { address, context }, packet) => {
                match packet {
                    Packet::Address(_) => *address = Some(offset),
                    Packet::Context(_) => *context = Some(offset),
                    Packet::AddressContext(..) => (*address, *context) = (Some(offset), Some(offset)),
                    _ => {}
                }
                let known = (*address).zip(*context);
                // Both must have happened, not only have been announced.
                let happened = |(address, context): (u64, u64)| {
                    decoder.oldest().is_none_or(|oldest| oldest > address.max(context))
                };
                return known.is_some_and(happened);
            }
        }
        false
    }
}

struct Feed<'f, 'i, P: Print> {
    decoder: &'f mut Decoder<'i>,
    out: Out<'f, P>,
    began: Option<Handover>,
    next: Option<Handover>,
    snapshot: Option<(u64, Snapshot)>,
    handed_over: Option<u64>,
    synchronised: &'f mut bool,
}

impl<P: Print> packet::Sink for Feed<'_, '_, P> {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        if self.handed_over.is_some() {
            return;
        }
        self.decoder.packet(offset, packet, &mut self.out);
        let len = match packet {
            Packet::NotSync { len } => *len,
            _ => bytes.len() as u64,
        };
        let end = offset + len;
        self.out.mark(end.max(offset + 1) - 1);
        if let Some(from) = self.decoder.gap_start() {
            self.out.remember_gap(from);
            self.out.remembered.skipped = None;
        }
        if self.began.is_some() || self.next.is_some() {
            self.watch(offset, end, packet);
        }
        *self.synchronised |= *packet == Packet::Async;
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        *self.out.passed_over |= bytes.iter().any(|&byte| byte != 0);
        if self.handed_over.is_none() {
            self.out.remember_skipped(offset);
            self.decoder.skipping(offset, &mut self.out);
            self.out.mark(offset);
        }
    }
}

impl<P: Print> Feed<'_, '_, P> {
    fn watch(&mut self, offset: u64, end: u64, packet: &Packet) {
        if let Some(began) = &mut self.began
            && began.is_now(offset, packet, self.decoder)
        {
            self.began = None;
            self.snapshot = Some((end, self.decoder.snapshot()));
            *self.out.part = Part::default();
            self.out.space = self.decoder.space();
        }
        if let Some(next) = &mut self.next
            && next.is_now(offset, packet, self.decoder)
        {
            self.handed_over = Some(end);
        }
    }
}
