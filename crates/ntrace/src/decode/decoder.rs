use tracewright_core::{Contradiction, Element, GapReason, Isa, MemorySpace, TraceOn};
use tracewright_flow::{ElementSink, Graph};
use tracewright_image::{Image, Moment};

use super::packets::Branch;
use super::walk::Walk;
use super::{Facts, report};
use crate::packet::Packet;
use crate::stream::{Content, Message};
use crate::{Dialect, Params, packet};

/// N-Trace decoder for one source: takes messages in stream order and emits elements.
#[derive(Clone, Debug)]
pub struct Decoder<'i> {
    pub(super) params: Params,
    pub(super) options: Options,
    pub(super) walk: Walk<'i>,
    pub(super) state: State,
    /// Last address that was sent, to which the next one is relative.
    pub(super) reference: u64,
    /// Last timestamp, if known.
    pub(super) time: Option<u64>,
    pub(super) context: report::Context,
    /// Last branch message, which may repeat.
    pub(super) last: Option<Branch>,
    pub(super) facts: Facts,
    moment: Moment,
    last_offset: Option<u64>,
}

/// Settings of a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Source whose messages are decoded; `None` if there is only one.
    pub source: Option<u16>,
    /// Most blocks that one message may stand for; a message with more is treated as damaged. (A few bytes can stand for billions.)
    pub most_blocks: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Waits for a synchronisation message.
    Waiting {
        reason: Option<GapReason>,
        from: u64,
        /// Whether messages were skipped.
        skipped: bool,
        /// Whether any address suffices to resume, because only the code in between is missing.
        resume: bool,
    },
    Running,
}

/// Largest number of half-words in one message that a decoder believes.
pub(super) const MOST: u64 = 1 << 32;
/// Largest number of repeats. The specification allows 18 bits.
pub(super) const MOST_REPEATS: u64 = 1 << 24;

impl<'i> Decoder<'i> {
    /// Creates a decoder for the messages of a source, with the program that ran.
    pub fn new(params: &Params, options: Options, image: &'i Image, isa: Isa) -> Self {
        Self {
            params: params.clone(),
            options,
            walk: Walk::new(image, isa, params),
            state: State::start(0),
            reference: 0,
            time: None,
            context: report::Context::default(),
            last: None,
            facts: Facts::default(),
            moment: Moment::LAST,
            last_offset: None,
        }
    }

    /// Returns the encoder's parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the graph of the executed program.
    pub fn graph(&self) -> &Graph<'i> {
        self.walk.graph()
    }

    /// Returns the graph of the executed program, for sinks that count by graph node.
    pub fn graph_mut(&mut self) -> &mut Graph<'i> {
        self.walk.graph_mut()
    }

    /// Returns the memory space of the running code.
    pub fn space(&self) -> MemorySpace {
        self.walk.spaces().of_level(self.context.level.unwrap_or(0))
    }

    /// Continues at stream position `offset` with instructions that ran at `moment`. The moment selects what was mapped, if the image
    /// has the mappings of processes.
    pub fn resume(&mut self, offset: u64, moment: Moment) {
        self.moment = moment;
        self.context = report::Context::default();
        self.enter();
        if let State::Waiting { from, .. } = &mut self.state {
            *from = offset;
        }
    }

    /// Finds the code that runs in the current context.
    pub(super) fn enter(&mut self) {
        let isa = self.walk.isa();
        let spaces = self.walk.graph().image().halves(&self.context.told(isa), isa, &self.moment);
        self.walk.set_spaces(spaces);
    }

    /// Returns the last address that was sent.
    pub fn reference(&self) -> u64 {
        self.reference
    }

    /// Returns counts that show whether parameters and program are the right ones.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the stream position of the last message taken.
    pub fn last_offset(&self) -> Option<u64> {
        self.last_offset
    }

    /// Returns the stream position where the current gap begins, if decoding is not synchronised.
    pub fn gap_start(&self) -> Option<u64> {
        match self.state {
            State::Waiting { from, .. } => Some(from),
            State::Running => None,
        }
    }

    /// Restarts at stream position `offset`. Keeps the program graph.
    pub fn restart(&mut self, offset: u64) {
        self.forget();
        self.context = report::Context::default();
        self.enter();
        self.last_offset = None;
        self.state = State::start(offset);
    }

    /// Decodes the message that began at stream position `offset`.
    #[inline(always)]
    pub fn message(&mut self, offset: u64, message: &Message, sink: &mut impl ElementSink) {
        match &message.content {
            Content::Packet(packet) if self.is_ours(message.source) => {
                self.packet(offset, packet, sink);
                if let Some(sent) = message.timestamp {
                    self.timestamp(offset, packet, sent, sink);
                }
            }
            Content::Packet(_) => {}
            _ => self.no_packet(offset, message, sink),
        }
    }

    fn is_ours(&self, source: u16) -> bool {
        self.options.source.is_none_or(|ours| ours == source)
    }

    /// Ends the stream at stream position `offset`.
    pub fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        match self.state {
            State::Running => self.close_uncertain(offset, sink),
            State::Waiting { reason: Some(reason), from, skipped: true, .. } if from < offset => {
                sink.element(offset, &Element::Gap { reason, from, to: offset });
            }
            State::Waiting { .. } => {}
        }
        sink.element(offset, &Element::End);
        self.restart(offset);
    }

    /// Marks a discontinuity in the input. Decoding resumes at the next synchronisation message.
    pub fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if self.state == State::Running {
            self.lose(offset, GapReason::Interrupted, sink);
        }
    }

    /// Handles a message that is no packet.
    #[inline(never)]
    fn no_packet(&mut self, offset: u64, message: &Message, sink: &mut impl ElementSink) {
        match message.content {
            // A reserved message may have counted what ran. Vendors' messages do not.
            Content::Other { tcode, .. } => {
                let is_harmless = packet::is_vendor(tcode) || self.params.dialect == Dialect::Sifive;
                if self.is_ours(message.source) && !is_harmless {
                    self.last_offset = Some(offset);
                    self.contradiction(offset, Contradiction::UnexpectedPacket, sink);
                }
            }
            // The source of these bytes is unknown.
            Content::Malformed(_) | Content::NotSync { .. } => {
                self.facts.malformed += 1;
                self.last_offset = Some(offset);
                self.lose(offset, GapReason::BadPacket, sink);
            }
            Content::Packet(_) | Content::Idle { .. } | Content::Incomplete => {}
        }
    }

    /// Decodes the packet that began at stream position `offset`.
    #[inline(always)]
    pub fn packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        self.last_offset = Some(offset);
        self.walk.make_room(sink);
        self.walk.budget = self.options.most_blocks.unwrap_or(u64::MAX);
        match Branch::of(packet) {
            Some(branch) => self.branch(offset, &branch, sink),
            None => self.other_packet(offset, packet, sink),
        }
    }

    /// Emits the time of a message, if it is known.
    fn timestamp(&mut self, offset: u64, packet: &Packet, sent: u64, sink: &mut impl ElementSink) {
        let time = match (packet.sync(), self.time, self.params.dialect) {
            (Some(_), ..) => Some(sent),
            (None, last, Dialect::Standard | Dialect::Spacemit) => last.map(|last| last.wrapping_add(sent)),
            (None, last, Dialect::Sifive) => last.map(|last| last ^ sent),
        };
        self.time = time.map(|time| self.params.wrapped(time));
        if let Some(value) = self.time {
            sink.element(offset, &Element::Timestamp { value, cycles: None });
        }
    }

    /// Skips a message that needs synchronisation while there is none.
    pub(super) fn pass_over(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let State::Waiting { reason, from, skipped, resume } = self.state else { return };
        if resume {
            return;
        }
        self.facts.unsynchronised += 1;
        if skipped {
            return;
        }
        // A synchronisation message must come first after the end of tracing.
        let (reason, from) = match reason {
            Some(reason) => (reason, from),
            None => (GapReason::Contradiction(Contradiction::UnexpectedPacket), offset),
        };
        sink.element(offset, &Element::Lost(reason));
        self.state = State::Waiting { reason: Some(reason), from, skipped: true, resume };
    }

    /// Begins to follow execution at a synchronisation message.
    pub(super) fn begin(&mut self, offset: u64, sync: u8, sink: &mut impl ElementSink) {
        let State::Waiting { reason, from, skipped, .. } = self.state else { return };
        if let (Some(reason), true) = (reason, skipped && from < offset) {
            sink.element(offset, &Element::Gap { reason, from, to: offset });
        }
        let on = match (reason, sync) {
            (Some(GapReason::Overflow), _) | (_, 7) => TraceOn::Overflow,
            (_, 3) => TraceOn::Debug,
            _ => TraceOn::Normal,
        };
        sink.element(offset, &Element::TraceOn(on));
        self.state = State::Running;
    }

    /// Ends tracing: a synchronisation message comes next.
    pub(super) fn end(&mut self, offset: u64) {
        let time = self.time;
        self.forget();
        self.time = time;
        self.state = State::Waiting { reason: None, from: offset, skipped: false, resume: false };
    }

    /// Reports messages that cannot follow each other.
    #[cold]
    pub(super) fn contradiction(&mut self, offset: u64, what: Contradiction, sink: &mut impl ElementSink) {
        self.facts.contradictions += 1;
        self.lose(offset, GapReason::Contradiction(what), sink);
    }

    /// Emits a loss and waits for the next synchronisation message.
    #[cold]
    pub(super) fn lose(&mut self, offset: u64, reason: GapReason, sink: &mut impl ElementSink) {
        let was = self.state;
        if let State::Waiting { skipped: true, resume: false, .. } = was {
            return self.forget();
        }
        if was == State::Running {
            self.close_uncertain(offset, sink);
        }
        self.forget();
        let (reason, from) = match was {
            State::Waiting { reason: Some(reason), from, .. } => (reason, from),
            _ => (reason, offset),
        };
        sink.element(offset, &Element::Lost(reason));
        self.state = State::Waiting { reason: Some(reason), from, skipped: true, resume: false };
    }

    /// Emits what certainly ran, when what comes next is unknown.
    fn close_uncertain(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.walk.budget = self.options.most_blocks.unwrap_or(u64::MAX);
        self.walk.run_out(offset, sink);
    }

    /// Discards the position and all history.
    pub(super) fn forget(&mut self) {
        self.walk.lose();
        self.last = None;
        self.time = None;
    }
}

impl State {
    fn start(from: u64) -> Self {
        Self::Waiting { reason: Some(GapReason::Start), from, skipped: false, resume: false }
    }
}
