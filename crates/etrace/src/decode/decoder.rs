use tracewright_core::{Context, Contradiction, DataAccess, Element, GapReason, Isa, MemorySpace, TraceOn};
use tracewright_flow::{Calls, ElementSink, Inferred, Leap, NodeId, Returns, Runner};
use tracewright_image::{Image, Moment};

use super::handlers::Handlers;
use super::{Facts, Options};
use crate::packet::{self, Packet, QualStatus, Start, Support};
use crate::stream::{Content, Message};
use crate::{JumpTargets, Params, Predictor, data};

/// E-Trace decoder for one source: takes messages in stream order and emits elements.
#[derive(Clone, Debug)]
pub struct Decoder<'i> {
    pub(super) params: Params,
    pub(super) config: Options,
    /// Options of the last support packet.
    pub(super) options: crate::Options,
    pub(super) runner: Runner<'i>,
    pub(super) state: State,
    /// Block that is held back because its end is not yet known.
    pub(super) here: NodeId,
    /// Address of its last instruction that is known to have retired, if any.
    pub(super) at: Option<u64>,
    /// Whether that instruction is a taken branch; `None` if it is not a branch.
    pub(super) pending: Option<bool>,
    /// Whether position and packet alone decide where execution goes, so that leaps can be cached.
    pub(super) leaps: bool,
    /// Message that the leap cache did not know, with its stream position.
    pub(super) unread: Option<(u64, Leap)>,
    /// Set when execution was followed to the first occurrence of the last reported address, but a later
    /// occurrence, as the target of an uninferable jump, may have been meant. Holds what the packet said
    /// about returns, and how many returns were passed.
    pub(super) inferred: Option<(Returns, u32)>,
    /// Whether the last report may have been made only because a format 3 packet follows.
    pub(super) is_final: bool,
    /// Last address sent.
    pub(super) address: u64,
    /// Last reported privilege and context; time is left out.
    pub(super) context: Option<packet::Context>,
    pub(super) predictor: Predictor,
    pub(super) targets: JumpTargets,
    pub(super) handlers: Handlers,
    pub(super) facts: Facts,
    pub(super) data: data::Decoder,
    moment: Moment,
    last_offset: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Waits for a synchronisation packet.
    Waiting {
        reason: Option<GapReason>,
        from: u64,
        /// Whether packets were skipped.
        skipped: bool,
        /// Whether any address suffices to resume, because only the code in between is missing.
        resume: bool,
    },
    /// A trap was taken and its handler is not yet known.
    Trapped {
        next: Epc,
    },
    Running,
}

/// Where the next trap is taken, if it comes before the first instruction of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epc {
    /// Address in the trap's own packet.
    Own,
    /// Address given by the packet of the previous trap.
    Other(u64),
    Unknown,
}

impl<'i> Decoder<'i> {
    /// Creates a decoder for the messages of a source, with the program that ran.
    pub fn new(params: &Params, options: impl Into<Options>, image: &'i Image, isa: Isa) -> Self {
        let config = options.into();
        let mut decoder = Self {
            params: params.clone(),
            options: config.initial,
            runner: Runner::new(image, isa),
            state: State::start(0),
            here: NodeId::NONE,
            at: None,
            pending: None,
            leaps: false,
            unread: None,
            inferred: None,
            is_final: false,
            address: 0,
            context: None,
            predictor: Predictor::new(params),
            targets: JumpTargets::new(params),
            handlers: Handlers::new(&config.handlers),
            facts: Facts::default(),
            data: data::Decoder::new(params, config.data),
            moment: Moment::LAST,
            last_offset: None,
            config,
        };
        let (most, most_repeats) = params.calls();
        decoder.runner.calls = Calls::new(most, most_repeats);
        decoder.set_options(decoder.options);
        decoder
    }

    /// Returns the encoder's parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the current options.
    pub fn options(&self) -> crate::Options {
        self.options
    }

    /// Returns the runner that this decoder drives.
    pub fn runner(&self) -> &Runner<'i> {
        &self.runner
    }

    /// Returns the graph of the executed program, for sinks that count by graph node.
    pub fn graph_mut(&mut self) -> &mut tracewright_flow::Graph<'i> {
        self.runner.graph_mut()
    }

    /// Returns the memory space of the running code.
    pub fn space(&self) -> MemorySpace {
        self.runner.spaces().of_level(self.context.map_or(0, |context| context.privilege))
    }

    /// Continues at stream position `offset` with instructions that ran at `moment`. The moment selects what was mapped, if the image
    /// has the mappings of processes.
    pub fn resume(&mut self, offset: u64, moment: Moment) {
        self.moment = moment;
        self.context = None;
        if let State::Waiting { from, .. } = &mut self.state {
            *from = offset;
        }
    }

    /// Finds the code that runs in a context.
    pub(super) fn enter(&mut self, context: &Context) {
        let spaces = self.runner.graph().image().halves(context, self.runner.isa(), &self.moment);
        self.here = self.runner.set_spaces(spaces, self.here);
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
            State::Trapped { .. } | State::Running => None,
        }
    }

    /// Returns the addresses of the current block, which is emitted once its end is known.
    pub fn held_back(&self) -> Option<core::ops::Range<u64>> {
        let node = self.here.is_some().then(|| self.runner.graph().node(self.here))?;
        Some(node.start()..node.end())
    }

    /// Restarts at stream position `offset`. Keeps the program graph and the current options.
    pub fn restart(&mut self, offset: u64) {
        self.forget();
        self.data.lose(&mut |_| {});
        self.context = None;
        self.last_offset = None;
        self.state = State::start(offset);
    }

    /// Sets the options, as a support packet would.
    pub fn set_options(&mut self, options: crate::Options) {
        if options != self.options {
            self.runner.forget_leaps();
        }
        self.options = options;
        self.leaps = !(options.branch_prediction || options.jump_target_cache) && self.is_ours(0);
        self.runner.set_inferred(Inferred {
            pairs: options.sijump,
            returns: options.implicit_return,
            keeps_failed: self.config.quirks.keeps_failed_returns,
        });
    }

    /// Sets the options of data trace, as a support packet would.
    pub fn set_data_options(&mut self, options: data::Options) {
        self.data.set_options(options);
    }

    /// Decodes the message that began at stream position `offset`.
    #[inline(always)]
    pub fn message(&mut self, offset: u64, message: &Message, sink: &mut impl ElementSink) {
        match &message.content {
            Content::Instruction(packet) if self.is_ours(message.source) => {
                self.packet(offset, packet, sink);
                // Events of the packet happened before it was sent.
                if let Some(value) = message.timestamp {
                    sink.element(offset, &Element::Timestamp { value, cycles: None });
                }
            }
            Content::Instruction(_) => {}
            _ => self.no_packet(offset, message, sink),
        }
    }

    /// Decodes a short instruction trace message of source 0 from the bytes that
    /// [`stream::EtraceSink::short`](crate::stream::EtraceSink::short) offers, if the same bytes were decoded at the
    /// current position before. Otherwise returns `false`: the message must be parsed and passed to
    /// [`message`](Self::message).
    #[inline(always)]
    pub fn short(&mut self, offset: u64, word: u64, len: u32, sink: &mut impl ElementSink) -> bool {
        // Under these conditions the next position depends on nothing else.
        if !self.leaps
            || self.at != Some(self.address)
            || self.pending.is_some()
            || self.inferred.is_some()
            || self.state != State::Running
        {
            return false;
        }
        let leap = Leap { here: self.here, len, at: self.address, word };
        let Some((target, to)) = self.runner.leap(&leap, offset, sink) else {
            self.unread = Some((offset, leap));
            return false;
        };
        (self.here, self.at, self.address) = (target, Some(to), to);
        self.is_final = false;
        self.last_offset = Some(offset);
        true
    }

    /// Decodes the packet that began at stream position `offset`.
    #[inline(always)]
    pub fn packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        self.last_offset = Some(offset);
        self.runner.make_room(&mut self.here, sink);
        if self.state == State::Running {
            match packet {
                Packet::Branches(map, Some(address)) => return self.address(offset, *map, address, sink),
                Packet::Branches(map, None) => return self.full_map(offset, *map, sink),
                Packet::Address(address) => {
                    return self.address(offset, packet::BranchMap::default(), address, sink);
                }
                _ => {}
            }
        }
        self.other_packet(offset, packet, sink);
    }

    /// Ends the stream at stream position `offset`.
    pub fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        match self.state {
            State::Running => self.close_uncertain(offset, sink),
            State::Waiting { reason: Some(reason), from, skipped: true, .. } if from < offset => {
                sink.element(offset, &Element::Gap { reason, from, to: offset });
            }
            State::Waiting { .. } | State::Trapped { .. } => {}
        }
        self.lose_data(offset, sink);
        sink.element(offset, &Element::End);
        self.restart(offset);
    }

    /// Marks a discontinuity in the input. Decoding resumes at the next synchronisation packet.
    pub fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.lose_data(offset, sink);
        if !matches!(self.state, State::Waiting { .. }) {
            self.lose(offset, GapReason::Interrupted, sink);
        }
    }

    fn lose_data(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.data.lose(&mut emit_access(offset, sink));
    }

    pub(super) fn is_ours(&self, source: u16) -> bool {
        self.config.source.is_none_or(|ours| ours == source)
    }

    /// Handles a message that is not an instruction trace packet.
    #[inline(never)]
    fn no_packet(&mut self, offset: u64, message: &Message, sink: &mut impl ElementSink) {
        match message.content {
            Content::Malformed(_) if self.is_ours(message.source) => {
                self.facts.malformed += 1;
                self.last_offset = Some(offset);
                self.lose_data(offset, sink);
                self.lose(offset, GapReason::BadPacket, sink);
            }
            // The source of these bytes is unknown.
            Content::NotSync { .. } => {
                self.last_offset = Some(offset);
                self.lose_data(offset, sink);
                self.lose(offset, GapReason::BadPacket, sink);
            }
            // Emitted at once, because its instruction may be known earlier or later.
            Content::Data(packet) if self.is_ours(message.source) => {
                self.last_offset = Some(offset);
                if let Some(access) = self.data.packet(&packet) {
                    sink.element(offset, &Element::Data { access, by: None });
                }
            }
            Content::Malformed(_)
            | Content::Instruction(_)
            | Content::Data(_)
            | Content::Other { .. }
            | Content::Idle
            | Content::Alignment
            | Content::Incomplete => {}
        }
    }

    #[inline(never)]
    fn other_packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        let is_data_lost = self.data.instruction(packet, &mut emit_access(offset, sink));
        match packet {
            Packet::Start(start) => self.start(offset, start, sink),
            Packet::Trap(trap) => self.trap(offset, trap, sink),
            Packet::Context(context) => self.emit_context(offset, *context, sink),
            Packet::Support(support) => self.support(offset, support, sink),
            Packet::Address(_)
            | Packet::Branches(..)
            | Packet::BranchCount(_)
            | Packet::JumpTarget { .. } => match self.state {
                State::Running => self.rare_packet(offset, packet, sink),
                State::Trapped { .. } => self.contradiction(offset, Contradiction::UnexpectedPacket, sink),
                State::Waiting { .. } => self.pass_over(offset, packet, sink),
            },
        }
        // Earlier accesses belong to the stretch that this packet ends.
        if is_data_lost {
            sink.element(offset, &Element::DataLost);
        }
    }

    /// Skips a packet that needs synchronisation while there is none.
    pub(super) fn pass_over(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        let State::Waiting { reason, from, skipped, resume } = self.state else { return };
        if resume && self.resume_at(offset, packet, sink) {
            return;
        }
        self.facts.unsynchronised += 1;
        if skipped {
            return;
        }
        // A start packet must come first after an end of trace.
        let (reason, from) = match reason {
            Some(reason) => (reason, from),
            None => (GapReason::Contradiction(Contradiction::UnexpectedPacket), offset),
        };
        sink.element(offset, &Element::Lost(reason));
        self.state = State::Waiting { reason: Some(reason), from, skipped: true, resume };
    }

    /// Handles format 3, subformat 0.
    fn start(&mut self, offset: u64, start: &Start, sink: &mut impl ElementSink) {
        let address = self.params.address(start.address);
        if self.state == State::Running && self.is_elsewhere(&start.context) {
            self.close(offset, sink);
            self.state = State::Trapped { next: Epc::Unknown };
        }
        // If the program does not lead to the address, execution is there nevertheless.
        if self.state == State::Running && self.follow_to_start(offset, start, address, sink) {
            self.sync(offset, address);
            return self.emit_context(offset, start.context, sink);
        }
        if !matches!(self.state, State::Trapped { .. }) {
            self.begin(offset, sink);
        }
        self.emit_context(offset, start.context, sink);
        self.sync(offset, address);
        self.go_to(offset, address, start.taken, sink);
    }

    /// Returns whether execution moved only because the context changed.
    pub(super) fn is_elsewhere(&self, context: &packet::Context) -> bool {
        self.config.context_discontinuity
            && !self.params.nocontext
            && self.context.is_some_and(|before| before.context != context.context)
    }

    /// Begins tracing at a synchronisation packet.
    pub(super) fn begin(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let State::Waiting { reason, from, skipped, .. } = self.state else { return };
        if let (Some(reason), true) = (reason, skipped && from < offset) {
            sink.element(offset, &Element::Gap { reason, from, to: offset });
        }
        let is_overflow = reason == Some(GapReason::Overflow);
        let on = if is_overflow { TraceOn::Overflow } else { TraceOn::Normal };
        sink.element(offset, &Element::TraceOn(on));
    }

    /// Resets all history at a synchronisation packet.
    pub(super) fn sync(&mut self, offset: u64, address: u64) {
        let node = self.runner.at(address);
        let known = self.runner.graph().node(node).count() > 0;
        self.facts.sync(offset, address, known);
        self.address = address;
        self.reset_history();
    }

    pub(super) fn reset_history(&mut self) {
        (self.inferred, self.is_final) = (None, false);
        if !self.config.quirks.keeps_predictor && self.options.branch_prediction {
            self.predictor.reset();
        }
        if !self.config.quirks.keeps_history {
            self.runner.calls.clear();
            if self.options.jump_target_cache {
                self.targets.reset();
            }
        }
    }

    /// Moves to `address`, whose instruction has retired.
    pub(super) fn go_to(&mut self, offset: u64, address: u64, taken: bool, sink: &mut impl ElementSink) {
        self.state = State::Running;
        self.here = self.runner.at(address);
        self.at = Some(address);
        self.pending = self.is_branch(self.here).then_some(taken);
        let node = self.runner.graph().node(self.here);
        if node.count() == 0 {
            self.no_code(offset, self.here, sink);
        }
    }

    /// Handles format 3, subformat 3.
    fn support(&mut self, offset: u64, support: &Support, sink: &mut impl ElementSink) {
        if support.qual_status == QualStatus::EndedNtr && self.state == State::Running {
            self.run_on(offset, sink);
        }
        let is_running = !matches!(self.state, State::Waiting { .. });
        match support.qual_status {
            QualStatus::NoChange => {}
            QualStatus::EndedRep | QualStatus::EndedNtr if is_running => {
                self.close(offset, sink);
                self.forget();
                self.state = State::Waiting { reason: None, from: offset, skipped: false, resume: false };
            }
            QualStatus::EndedRep | QualStatus::EndedNtr => {}
            QualStatus::TraceLost => self.lose(offset, GapReason::Overflow, sink),
        }
        self.set_options(support.ioptions);
        // Mode 0 is the only one defined.
        if support.encoder_mode != 0 {
            self.contradiction(offset, Contradiction::UnexpectedPacket, sink);
        }
    }

    /// Reports packets that cannot follow each other.
    #[cold]
    pub(super) fn contradiction(&mut self, offset: u64, what: Contradiction, sink: &mut impl ElementSink) {
        self.facts.contradictions += 1;
        self.lose(offset, GapReason::Contradiction(what), sink);
    }

    /// Emits a loss and waits for the next synchronisation packet.
    #[cold]
    pub(super) fn lose(&mut self, offset: u64, reason: GapReason, sink: &mut impl ElementSink) {
        let was = self.state;
        if let State::Waiting { skipped: true, resume: false, .. } = was {
            return;
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

    /// Discards the position and all history.
    pub(super) fn forget(&mut self) {
        self.here = NodeId::NONE;
        self.at = None;
        self.pending = None;
        self.reset_history();
    }

    pub(super) fn is_branch(&self, node: NodeId) -> bool {
        let node = self.runner.graph().node(node);
        node.count() == 1 && node.class().conditional
    }
}

impl State {
    fn start(from: u64) -> Self {
        Self::Waiting { reason: Some(GapReason::Start), from, skipped: false, resume: false }
    }
}

/// Returns a function that emits accesses to `sink`.
fn emit_access(offset: u64, sink: &mut impl ElementSink) -> impl FnMut(&DataAccess) {
    move |access| sink.element(offset, &Element::Data { access: *access, by: None })
}
