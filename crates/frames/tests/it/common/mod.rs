//! Shared parts of the tests: a record of all events of a deframer, byte by byte, and streams to deframe.

pub mod lines;
pub mod twin;

use std::num::NonZero;

use tracewright_core::TraceId;
use tracewright_frames::{Deframer, DstreamBlocks, Format, FrameSink, Framer, Lost, Options, Run};
use tracewright_testkit::Rng;

pub const FORMATS: [Format; 3] = [Format::Aligned, Format::Fsync, Format::FsyncHsync];

/// An event of a deframer, with data in single bytes, so that it does not depend on how the input is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Data { id: u8, byte: u8, offset: u64, opencsd_index: u64 },
    Lost(Lost),
    Reset(u64),
}

/// Whether the stream is wrapped in DSTREAM blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Plain,
    Dstream,
}

/// All events of a deframer, and the padding it dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub events: Vec<Event>,
    pub padding: u64,
}

struct Recorder {
    container: Container,
    events: Vec<Event>,
}

impl FrameSink for Recorder {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        assert!(!bytes.is_empty());
        for (i, &byte) in (0..).zip(bytes) {
            let offset = run.offset_of(i);
            let opencsd_index = match self.container {
                Container::Plain => run.opencsd_index_of(i),
                Container::Dstream => DstreamBlocks::payload_offset(offset) - u64::from(run.slip_of(i)),
            };
            self.events.push(Event::Data { id: run.id.get(), byte, offset, opencsd_index });
        }
    }

    fn lost(&mut self, lost: Lost) {
        self.events.push(Event::Lost(lost));
    }

    fn reset(&mut self, offset: u64) {
        self.events.push(Event::Reset(offset));
    }
}

/// Deframes input in pieces.
pub fn deframe<'a>(
    format: Format,
    container: Container,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Record {
    let mut recorder = Recorder { container, events: Vec::new() };
    let mut deframer = Deframer::new(format);
    let mut blocks = DstreamBlocks::new();
    for piece in pieces {
        match container {
            Container::Plain => deframer.feed(piece, &mut recorder),
            Container::Dstream => blocks.feed(piece, &mut deframer, &mut recorder),
        }
    }
    deframer.finish(&mut recorder);
    Record { events: recorder.events, padding: deframer.padding() }
}

/// Deframes input in one piece, without container.
pub fn deframe_whole(format: Format, input: &[u8]) -> Vec<Event> {
    deframe(format, Container::Plain, [input]).events
}

/// Splits the input into pieces, from single bytes up.
pub fn pieces<'a>(rng: &mut Rng, mut input: &'a [u8]) -> Vec<&'a [u8]> {
    let longest = [1, 5, 17, 40, 600][rng.below(5) as usize];
    let mut pieces = Vec::new();
    while !input.is_empty() {
        let (piece, rest) = input.split_at((rng.below(longest + 1) as usize).min(input.len()));
        pieces.push(piece);
        input = rest;
    }
    pieces
}

/// The bytes that each source sent, by ID.
pub type Sources = Vec<Vec<u8>>;

/// Returns the data among events, by source.
pub fn sources(events: &[Event]) -> Sources {
    let mut sources = vec![Vec::new(); 128];
    for event in events {
        if let Event::Data { id, byte, .. } = *event {
            sources[usize::from(id)].push(byte);
        }
    }
    sources
}

/// Returns random options whose output has this format.
pub fn options(rng: &mut Rng, format: Format) -> Options {
    let mut every = |most: u64| NonZero::new(1 + rng.below(most) as u32);
    match format {
        Format::Aligned => Options::default(),
        Format::Fsync => Options { fsync_every: every(9), hsync_every: None },
        Format::FsyncHsync => Options { fsync_every: every(9), hsync_every: every(20) },
    }
}

/// Returns a formatted stream of random sources, and what they sent.
pub fn framed(rng: &mut Rng, options: Options) -> (Vec<u8>, Sources) {
    let mut framer = Framer::new(options);
    let mut stream = Vec::new();
    let mut sent = vec![Vec::new(); 128];
    let longest = 1 + rng.sized(8);
    for _ in 0..rng.below(60) {
        let id = if rng.one_in(4) { 1 + rng.below(0x7e) } else { 0x10 + rng.below(4) };
        let len = rng.below(longest + 1) as usize;
        // Many bytes of all ones, which must not be taken for syncs.
        let data = if rng.one_in(3) { vec![0xff; len] } else { rng.bytes(len) };
        framer.push(TraceId::from_low_bits(id as u8), &data, &mut stream).expect("not 0x7f");
        sent[id as usize].extend(data);
        if rng.one_in(20) {
            framer.flush(&mut stream);
        }
    }
    framer.flush(&mut stream);
    (stream, sent)
}

/// Wraps a stream into DSTREAM blocks.
pub fn dstream(stream: &[u8]) -> Vec<u8> {
    let footer = [0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f];
    let mut out = Vec::new();
    for block in stream.chunks(504) {
        out.extend(block);
        if block.len() == 504 {
            out.extend(footer);
        }
    }
    out
}
