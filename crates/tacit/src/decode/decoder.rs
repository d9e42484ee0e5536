use tracewright_core::{Contradiction, Element, Exception, GapReason, Isa, MemorySpace, TraceOn};
use tracewright_flow::{ElementSink, Graph, NodeId};
use tracewright_image::Image;

use super::report::Owner;
use crate::packet::{Packet, SyncKind, TrapKind};
use crate::predictor::Predictor;
use crate::stream::Item;
use crate::{Mode, Params};

/// TACIT decoder: takes packets in stream order and emits elements.
#[derive(Clone, Debug)]
pub struct Decoder<'i> {
    pub(super) params: Params,
    options: Options,
    pub(super) isa: Isa,
    pub(super) graph: Graph<'i>,
    /// Node at whose start execution is, or none.
    pub(super) here: NodeId,
    pub(super) predictor: Predictor,
    /// Number of blocks that the current packet may still stand for.
    pub(super) budget: u64,
    pub(super) state: State,
    /// Time of the last packet that had one, once there was one.
    pub(super) time: Option<u64>,
    /// Cycles up to then that were not reported.
    pub(super) owed: u64,
    pub(super) owner: Option<Owner>,
    /// Last whole address of a synchronisation packet.
    reference: u64,
    last_offset: Option<u64>,
}

/// Settings of a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Most blocks that one packet may stand for; a packet with more is treated as damaged. (A few bytes can stand for billions.)
    pub most_blocks: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Execution is not followed.
    Waiting {
        /// The reason; none before the start of a trace.
        reason: Option<GapReason>,
        from: u64,
        /// Whether the loss was reported. If not, only code is missing.
        is_told: bool,
    },
    Running,
}

/// Maximum number of nodes, after which the graph is emptied.
const MAX_NODES: usize = 1 << 18;
/// Number of an exception that the trace does not have.
const NO_CAUSE: u16 = u16::MAX;

impl<'i> Decoder<'i> {
    /// Creates a decoder for a stream, with the program that ran.
    pub fn new(params: &Params, options: Options, image: &'i Image, isa: Isa) -> Self {
        Self {
            params: params.clone(),
            options,
            isa,
            graph: Graph::new(image, false),
            here: NodeId::NONE,
            predictor: Predictor::new(params),
            budget: 0,
            state: State::Waiting { reason: None, from: 0, is_told: false },
            time: None,
            owed: 0,
            owner: None,
            reference: 0,
            last_offset: None,
        }
    }

    /// Returns the encoder's parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the graph of the executed program.
    pub fn graph(&self) -> &Graph<'i> {
        &self.graph
    }

    /// Returns the graph of the executed program, for sinks that count by graph node.
    pub fn graph_mut(&mut self) -> &mut Graph<'i> {
        &mut self.graph
    }

    /// Returns the memory space of the running code.
    pub fn space(&self) -> MemorySpace {
        MemorySpace::ANY
    }

    /// Returns the address in the last synchronisation packet.
    pub fn reference(&self) -> u64 {
        self.reference
    }

    /// Returns the stream position of the last packet taken.
    pub fn last_offset(&self) -> Option<u64> {
        self.last_offset
    }

    /// Returns the stream position where the current gap begins, if trace is missing.
    pub fn gap_start(&self) -> Option<u64> {
        match self.state {
            State::Waiting { reason: Some(_), from, .. } => Some(from),
            _ => None,
        }
    }

    /// Restarts at stream position `offset`. Keeps the program graph.
    pub fn restart(&mut self, offset: u64) {
        self.here = NodeId::NONE;
        (self.time, self.owed, self.owner, self.last_offset) = (None, 0, None, None);
        self.state = State::Waiting { reason: None, from: offset, is_told: false };
    }

    /// Decodes the item that began at stream position `offset`.
    #[inline(always)]
    pub fn item(&mut self, offset: u64, item: &Item, sink: &mut impl ElementSink) {
        match item {
            Item::Packet(packet) => self.packet(offset, packet, sink),
            Item::Malformed(_) | Item::NotSync { .. } => {
                self.last_offset = Some(offset);
                self.lose(offset, GapReason::BadPacket, sink);
            }
            Item::Incomplete => {}
        }
    }

    /// Ends the stream at stream position `offset`.
    pub fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if let State::Waiting { reason: Some(reason), from, is_told: true } = self.state
            && from < offset
        {
            sink.element(offset, &Element::Gap { reason, from, to: offset });
        }
        sink.element(offset, &Element::End);
        self.restart(offset);
    }

    /// Marks a discontinuity in the input. Decoding resumes at the next start of a stream.
    pub fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if self.state == State::Running {
            self.lose(offset, GapReason::Interrupted, sink);
        }
    }

    /// Decodes the packet that began at stream position `offset`.
    #[inline(always)]
    pub fn packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        self.last_offset = Some(offset);
        match *packet {
            Packet::TakenBranch { time } => self.branch(offset, true, time, sink),
            Packet::NotTakenBranch { time } => self.branch(offset, false, time, sink),
            Packet::InferableJump { time } => self.direct_jump(offset, time, sink),
            _ => self.other_packet(offset, packet, sink),
        }
    }

    /// Handles packets that only few bytes are.
    #[inline(never)]
    fn other_packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        if self.graph.len() > MAX_NODES {
            self.forget_nodes(sink);
        }
        self.budget = self.options.most_blocks.unwrap_or(u64::MAX);
        match *packet {
            Packet::Hits { count } => self.hits(offset, count, sink),
            Packet::Miss { time } => self.miss(offset, time, sink),
            Packet::UninferableJump { difference, time } => {
                self.indirect_jump(offset, difference, time, sink);
            }
            Packet::Trap { .. } => self.trap(offset, packet, sink),
            Packet::Sync { .. } => self.sync(offset, packet, sink),
            _ => {}
        }
    }

    fn trap(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        let Packet::Trap { kind, privilege, asid, from, difference, time } = *packet else { return };
        let to = self.params.whole(from ^ difference, self.isa);
        let from = self.params.whole(from, self.isa);
        let was_running = self.state == State::Running;
        if was_running {
            match kind {
                TrapKind::Return => self.return_from(offset, from, to, sink),
                TrapKind::Exception | TrapKind::Interrupt => self.cut_at(offset, from, sink),
            };
        }
        // No stream begins so.
        if matches!(self.state, State::Waiting { reason: None, .. }) {
            return self.contradiction(offset, sink);
        }
        if matches!(self.state, State::Waiting { .. }) && !self.resume(offset, to, sink) {
            return self.cycles(offset, time, sink);
        }
        if kind != TrapKind::Return {
            let exception = Exception {
                number: NO_CAUSE,
                interrupt: kind == TrapKind::Interrupt,
                value: None,
                return_address: was_running.then_some(from),
                at_target: false,
            };
            sink.element(offset, &Element::Exception(exception));
        }
        self.cycles(offset, time, sink);
        self.own(offset, privilege.map(|[_, after]| after), asid, sink);
        self.go(to);
    }

    fn sync(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        let Packet::Sync { kind, privilege, asid, target, time, .. } = *packet else { return };
        let target = self.params.whole(target, self.isa);
        self.reference = target;
        let begins = matches!(self.state, State::Waiting { reason: None, .. });
        match kind {
            SyncKind::Start => {
                if self.state == State::Running {
                    self.contradiction(offset, sink);
                }
                self.predictor.reset();
                self.begin(offset, sink);
                self.go(target);
            }
            _ if begins => return self.contradiction(offset, sink),
            SyncKind::Periodic => {
                if self.state == State::Running {
                    self.pass_to(offset, target, sink);
                }
                if self.state != State::Running && !self.resume(offset, target, sink) {
                    return;
                }
            }
            SyncKind::End => {
                if self.state == State::Running {
                    self.cut_at(offset, target, sink);
                }
                if let State::Waiting { reason: Some(reason), from, is_told: true } = self.state
                    && from < offset
                {
                    sink.element(offset, &Element::Gap { reason, from, to: offset });
                }
            }
        }
        match self.time.map(|last| time.checked_sub(last)) {
            None => {}
            Some(Some(cycles)) => self.cycles(offset, cycles, sink),
            // The counter went back.
            Some(None) => sink.element(offset, &Element::Cycles(None)),
        }
        self.time = Some(time);
        sink.element(offset, &Element::Timestamp { value: time, cycles: None });
        match kind {
            SyncKind::End => {
                self.here = NodeId::NONE;
                self.state = State::Waiting { reason: None, from: offset, is_told: false };
            }
            _ => self.own(offset, privilege, asid, sink),
        }
    }

    /// Begins to follow execution at the start of a stream.
    fn begin(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if let State::Waiting { reason: Some(reason), from, is_told: true } = self.state
            && from < offset
        {
            sink.element(offset, &Element::Gap { reason, from, to: offset });
        }
        sink.element(offset, &Element::TraceOn(TraceOn::Normal));
        self.state = State::Running;
    }

    /// Resumes at an address, where the program was not followed. Returns whether there is code.
    #[cold]
    fn resume(&mut self, offset: u64, to: u64, sink: &mut impl ElementSink) -> bool {
        let State::Waiting { reason, is_told, .. } = self.state else { return true };
        // What the predictor missed is not known.
        let is_lost = self.params.mode == Mode::Predict || reason == Some(GapReason::BadPacket);
        if is_lost || self.go(to).is_none() {
            self.here = NodeId::NONE;
            return false;
        }
        if is_told {
            self.begin(offset, sink);
        } else {
            self.state = State::Running;
            sink.element(offset, &Element::UnknownPath { start: None, next: to, isa: self.isa, count: None });
        }
        true
    }

    /// Moves to an address. Returns its node if there is code.
    pub(super) fn go(&mut self, to: u64) -> Option<NodeId> {
        self.here = self.graph.at(to, self.isa, MemorySpace::ANY);
        Some(self.here).filter(|here| here.is_some() && self.graph.node(*here).count() > 0)
    }

    /// Reports packets that cannot follow each other.
    #[cold]
    pub(super) fn contradiction(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.lose(offset, GapReason::Contradiction(Contradiction::UnexpectedPacket), sink);
    }

    /// Emits a loss.
    #[cold]
    pub(super) fn lose(&mut self, offset: u64, reason: GapReason, sink: &mut impl ElementSink) {
        let from = match self.state {
            State::Waiting { is_told: true, from, .. } => from,
            _ => {
                sink.element(offset, &Element::Lost(reason));
                offset
            }
        };
        self.here = NodeId::NONE;
        self.state = State::Waiting { reason: Some(reason), from, is_told: true };
    }

    /// Empties the graph, which has become too large.
    #[cold]
    fn forget_nodes(&mut self, sink: &mut impl ElementSink) {
        sink.forget(&self.graph);
        let start = self.here.is_some().then(|| self.graph.node(self.here).start());
        self.graph.clear();
        self.here = start.map_or(NodeId::NONE, |start| self.graph.at(start, self.isa, MemorySpace::ANY));
    }
}
