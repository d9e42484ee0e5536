use tracewright_core::{Context, Contradiction, Element, GapReason, MemorySpace, Transaction};
use tracewright_flow::{ElementSink, Rules, Walker};
use tracewright_image::{Image, Moment};

use super::commit::Tell;
use super::options::{Options, Unsupported};
use super::queue::{Item, Queue};
use crate::packet::{Address, AtomRun, Atoms, CycleCount, InstructionSet, Packet, ReturnAddress};
use crate::{Architecture, CoreProfile, Params};

/// A decoder of ETMv4 and ETE: packets in, in the order of the stream, elements out.
#[derive(Clone, Debug)]
pub struct Decoder<'i> {
    pub(super) params: Params,
    pub(super) options: Options,
    pub(super) walker: Walker<'i>,
    /// Address at which code was missing, until a new address is known.
    pub(super) missing: Option<u64>,
    pub(super) stream: Stream,
    /// Elements that are speculative, or wait for what they belong to.
    pub(super) queue: Queue,
    /// Whether atoms can go straight to the walker: the queue is empty and stays so.
    straight: bool,
    /// Without a program, while the queue is empty: an address whose cycle count may still come.
    held: Option<(u64, Address)>,
    last_offset: Option<u64>,
    /// Time at which the decoded instructions ran, for images that change with time.
    pub(super) moment: Moment,
}

/// The state of a [`Decoder`]. Decoders in equal states emit the same elements for the same packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    walker: tracewright_flow::Snapshot,
    stream: Stream,
    queue: Queue,
}

/// What a decoder knows of the stream, beside its queue and its walker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    state: State,
    /// Number of P0 elements in the queue.
    pub(super) depth: u32,
    /// Whether the newest P0 element waits for its address.
    awaits_address: bool,
    pub(super) context: Option<Context>,
    /// Whether a context is needed before anything can be emitted.
    pub(super) needs_context: bool,
    /// Instruction set of the last address.
    last_is: InstructionSet,
    pub(super) overflowed: bool,
    /// Whether a return led where nothing tells, until the next address.
    pub(super) is_unseen: bool,
    /// Without a program: the reason why the next address is emitted.
    pub(super) awaited: Awaited,
    /// Whether timestamps have no meaning before the next marker.
    awaits_marker: bool,
}

impl Stream {
    /// Creates a stream in this state, of which nothing was decoded.
    fn new(state: State, params: &Params) -> Self {
        Self {
            state,
            depth: 0,
            awaits_address: false,
            context: None,
            needs_context: true,
            last_is: InstructionSet::Is0,
            overflowed: false,
            is_unseen: false,
            awaited: Awaited::Other,
            awaits_marker: params.timestamp_markers,
        }
    }
}

/// The reason why an address is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A branch was taken.
    Branch,
    /// Tracing has begun, or an exception was taken.
    Other,
    /// No address is expected.
    Nothing,
}

/// More elements than any trace unit keeps speculative.
const MOST_UNCERTAIN: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waiting for an A-Sync. `told` is set when the loss was emitted.
    Lost {
        reason: GapReason,
        from: u64,
        told: bool,
    },
    /// Waiting for a Trace Info after an A-Sync.
    Synchronised {
        reason: GapReason,
        from: u64,
        /// Whether unexpected packets came in between.
        skipped: bool,
    },
    Running,
}

impl<'i> Decoder<'i> {
    /// Creates a decoder of a source's packets, with the program that ran.
    ///
    /// # Errors
    /// If the registers enable an option that cannot be decoded.
    pub fn new(params: &Params, image: &'i Image, options: Options) -> Result<Self, Unsupported> {
        if params.loads_stores_p0 != 0 {
            return Err(Unsupported);
        }
        let rules = Rules {
            waits_are_traced: params.waits_are_p0,
            return_stack: params.return_stack,
            calls_pop: false,
            trust_program: options.trust_images,
        };
        Ok(Self {
            params: params.clone(),
            options,
            missing: None,
            walker: Walker::new(image, rules),
            stream: Stream::new(State::Lost { reason: GapReason::Start, from: 0, told: false }, params),
            queue: Queue::default(),
            straight: false,
            held: None,
            last_offset: None,
            moment: Moment::LAST,
        })
    }

    /// Continues at stream position `offset` with instructions that ran at `moment`. The moment selects what was
    /// mapped, if the image has the mappings of processes.
    pub fn resume(&mut self, offset: u64, moment: Moment) {
        self.moment = moment;
        if let State::Lost { from, .. } = &mut self.stream.state {
            *from = offset;
        }
    }

    /// Returns the parameters of the source.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the walker.
    pub fn walker(&self) -> &Walker<'i> {
        &self.walker
    }

    /// Returns the program.
    pub fn image(&self) -> &'i Image {
        self.walker.graph().image()
    }

    /// Returns the graph of the program as far as it ran, for sinks that count by graph node.
    pub fn graph_mut(&mut self) -> &mut tracewright_flow::Graph<'i> {
        self.walker.graph_mut()
    }

    /// Returns the memory space of the current code.
    pub fn space(&self) -> MemorySpace {
        self.walker.space()
    }

    /// Returns the earliest stream position of an element still to come, if it is before that of the next packet.
    pub fn oldest(&self) -> Option<u64> {
        self.held.map(|(offset, _)| offset).or(self.queue.oldest())
    }

    /// Returns the stream position at which the current gap began, if there is one.
    #[inline]
    pub fn gap_start(&self) -> Option<u64> {
        match self.stream.state {
            State::Running => None,
            State::Lost { from, .. } | State::Synchronised { from, .. } => Some(from),
        }
    }

    /// Returns the stream position of the last packet.
    pub fn last_offset(&self) -> Option<u64> {
        self.last_offset
    }

    /// Returns whether the trace unit overflowed and tracing has not resumed.
    pub fn overflowed(&self) -> bool {
        self.stream.overflowed
    }

    /// Returns the state that determines how later packets are decoded.
    pub fn snapshot(&self) -> Snapshot {
        let mut queue = self.queue.clone();
        if let Some((offset, address)) = self.held {
            queue.put_back(offset, Item::Address(address));
        }
        Snapshot { walker: self.walker.snapshot(), stream: self.stream, queue }
    }

    /// Resets the decoder at stream position `offset`. What was learnt about the program is kept.
    pub fn restart(&mut self, offset: u64) {
        self.forget();
        self.stream.overflowed = false;
        self.last_offset = None;
        self.stream.state = State::Lost { reason: GapReason::Start, from: offset, told: false };
    }

    /// Decodes the packet that began at stream position `offset`.
    #[inline(always)]
    pub fn packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        self.last_offset = Some(offset);
        if self.straight {
            match packet {
                Packet::Atom(atoms) => {
                    if let Err(contradiction) = self.atoms(offset, *atoms, sink) {
                        self.contradiction(offset, contradiction, sink);
                    }
                    return;
                }
                Packet::Address(address) => {
                    self.stream.last_is = address.is;
                    self.set_address(*address);
                    return;
                }
                _ => {}
            }
        } else if self.options.no_image && self.targets(offset, packet, sink) {
            return;
        }
        self.other_packet(offset, packet, sink);
    }

    /// Decodes atom packets, the first of which began at stream position `offset`. The result is that of decoding
    /// them one by one, but faster if the sink can count them at once.
    #[inline(always)]
    pub fn atoms_run(&mut self, offset: u64, run: AtomRun, sink: &mut impl ElementSink) {
        if !self.straight {
            for (offset, (_, atoms)) in (offset..).zip(run.packets()) {
                self.packet(offset, &Packet::Atom(atoms), sink);
            }
            return;
        }
        self.last_offset = Some(offset + run.len() as u64 - 1);
        let mut tell = Tell::new(offset, false, sink);
        if let Err(start) = self.walker.follow(run.code(), &mut tell) {
            self.walk_run(offset, run, start, sink);
        }
    }

    pub(super) fn is_straight(&self) -> bool {
        self.straight
    }

    /// Decodes a common packet without a program, if the queue is empty and stays so. Returns whether it did.
    #[inline]
    fn targets(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) -> bool {
        if self.params.max_spec == 0 && self.queue.is_empty() && matches!(self.stream.state, State::Running) {
            match *packet {
                Packet::Atom(atoms) => {
                    if let Some((at, address)) = self.held.take() {
                        self.arrive(at, address, sink);
                    }
                    self.await_target(atoms);
                    return true;
                }
                Packet::Address(address) if self.held.is_none() => {
                    self.stream.last_is = address.is;
                    self.held = Some((offset, address));
                    return true;
                }
                Packet::CycleCount(CycleCount { commit: None, cycles, .. }) => {
                    sink.element(offset, &Element::Cycles(cycles));
                    if let Some((at, address)) = self.held.take() {
                        self.arrive(at, address, sink);
                    }
                    return true;
                }
                _ => {}
            }
        }
        self.release();
        false
    }

    /// Moves the held address to the queue.
    fn release(&mut self) {
        if let Some((offset, address)) = self.held.take() {
            self.queue.put_back(offset, Item::Address(address));
        }
    }

    /// Reports that the parser skips bytes from stream position `offset` on in search of an A-Sync. The loss is
    /// emitted now, not at the end of the search.
    pub fn skipping(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if let State::Lost { reason, from, told: false } = self.stream.state {
            sink.element(offset, &Element::Lost(reason));
            self.stream.state = State::Lost { reason, from, told: true };
        }
    }

    /// Ends the stream at stream position `offset`.
    pub fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.release();
        match self.stream.state {
            State::Running => self.discard_at_end(sink),
            State::Lost { reason, from, .. } => self.tell_gap(offset, reason, from, sink),
            State::Synchronised { reason, from, .. } => {
                self.discard_at_end(sink);
                self.tell_gap(offset, reason, from, sink);
            }
        }
        sink.element(offset, &Element::End);
        self.restart(offset);
    }

    /// Reports that what follows does not continue what came before. Decoding resumes at the next A-Sync.
    pub fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if self.stream.state == State::Running {
            self.release();
            self.discard_at_end(sink);
            self.stream.overflowed = false;
            self.lost(offset, GapReason::Interrupted);
        }
    }

    /// Forgets all state of the stream.
    fn forget(&mut self) {
        self.queue.clear();
        self.held = None;
        self.straight = false;
        self.missing = None;
        let Stream { state, overflowed, .. } = self.stream;
        self.stream = Stream { overflowed, ..Stream::new(state, &self.params) };
        self.walker.restart();
    }

    /// Loses synchronisation until the next A-Sync.
    #[cold]
    pub(super) fn lost(&mut self, offset: u64, reason: GapReason) {
        self.forget();
        self.stream.state = State::Lost { reason, from: offset, told: false };
    }

    /// Loses synchronisation and emits `Lost` at this packet, not at the next.
    #[cold]
    pub(super) fn lost_here(&mut self, offset: u64, reason: GapReason, sink: &mut impl ElementSink) {
        self.lost(offset, reason);
        sink.element(offset, &Element::Lost(reason));
        self.stream.state = State::Lost { reason, from: offset, told: true };
    }

    fn tell_gap(&self, to: u64, reason: GapReason, from: u64, sink: &mut impl ElementSink) {
        if from < to {
            sink.element(to, &Element::Gap { reason, from, to });
        }
    }

    #[inline(never)]
    fn other_packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        match self.stream.state {
            State::Running => self.running(offset, packet, sink),
            State::Lost { reason, from, told } => {
                if !told {
                    sink.element(offset, &Element::Lost(reason));
                    self.stream.state = State::Lost { reason, from, told: true };
                }
                if *packet == Packet::Async {
                    let to = offset;
                    self.tell_gap(to, reason, from, sink);
                    self.stream.state = State::Synchronised { reason, from: to, skipped: false };
                }
            }
            State::Synchronised { reason, from, skipped } => match packet {
                Packet::TraceInfo(info) => {
                    self.stream.state = State::Running;
                    if skipped {
                        self.tell_gap(offset, reason, from, sink);
                    }
                    self.begin(offset, info);
                }
                // ETE events do not wait for the Trace Info.
                Packet::Event(events) => self.push(offset, Item::Event(*events)),
                Packet::Async | Packet::Ignore | Packet::Incomplete { .. } => {}
                _ if skipped => {}
                _ => {
                    let is_bad = packet.kind().is_error();
                    let unexpected = GapReason::Contradiction(Contradiction::UnexpectedPacket);
                    let reason = if is_bad { GapReason::BadPacket } else { unexpected };
                    self.stream.state = State::Synchronised { reason, from: offset, skipped: true };
                }
            },
        }
    }

    /// Starts decoding at the first Trace Info.
    fn begin(&mut self, offset: u64, info: &crate::packet::TraceInfo) {
        if info.spec > 0 {
            self.stream.depth = info.spec.min(MOST_UNCERTAIN as u32);
            self.queue.push(offset, Item::Unseen(self.stream.depth));
        }
        if info.in_transaction() {
            self.queue.push(offset, Item::Transaction(Transaction::Before));
        }
        self.set_straight();
    }

    /// Handles a Trace Info whose speculation depth differs from that of the queue. Something was decoded wrongly
    /// before, so the queue is discarded, and decoding starts anew here.
    #[cold]
    fn wrong_depth(&mut self, offset: u64, info: &crate::packet::TraceInfo, sink: &mut impl ElementSink) {
        let reason = GapReason::Contradiction(Contradiction::WrongDepth);
        let from = self.queue.oldest().unwrap_or(offset);
        self.discard(sink);
        self.forget();
        sink.element(offset, &Element::Lost(reason));
        self.tell_gap(offset, reason, from, sink);
        self.begin(offset, info);
    }

    pub(super) fn set_straight(&mut self) {
        self.straight = self.params.max_spec == 0
            && !self.options.no_image
            && !self.stream.needs_context
            && self.queue.is_empty()
            && self.stream.state == State::Running;
    }

    fn running(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        let mut commits = 0;
        match *packet {
            Packet::Async | Packet::Ignore | Packet::ContextSame => {}
            Packet::TraceInfo(ref info) if info.spec != self.stream.depth => {
                self.wrong_depth(offset, info, sink);
            }
            Packet::TraceInfo(_) if self.queue.is_empty() => self.trace_info(),
            Packet::TraceInfo(_) => self.push(offset, Item::TraceInfo),
            Packet::TraceOn => self.push(offset, Item::TraceOn),
            Packet::Atom(atoms) => self.push(offset, Item::Atoms(atoms)),
            Packet::Address(address) => {
                self.stream.last_is = address.is;
                self.address(offset, address);
            }
            Packet::AddressContext(address, context) => {
                self.stream.last_is = address.is;
                self.push(offset, Item::Context(context, address.is));
                self.address(offset, address);
            }
            Packet::Context(context) => self.push(offset, Item::Context(context, self.stream.last_is)),
            Packet::Exception(exception) => match exception.return_address {
                ReturnAddress::None => {
                    self.push(offset, Item::ExceptionOnly { number: exception.number });
                }
                form => {
                    let at_target = form == ReturnAddress::FollowsAtTarget;
                    self.push_without_address(
                        offset,
                        Item::Exception { number: exception.number, at_target },
                    );
                }
            },
            Packet::PeReset => self.push(offset, Item::ExceptionOnly { number: 0 }),
            Packet::TransactionFailure => self.push(offset, Item::Transaction(Transaction::Fail)),
            Packet::ExceptionReturn => {
                let p0 = self.params.profile() == CoreProfile::M;
                self.push(offset, Item::ExceptionReturn { p0 });
            }
            Packet::FunctionReturn => {
                if self.params.profile() == CoreProfile::M && self.params.architecture() >= Architecture::V8 {
                    self.push(offset, Item::FunctionReturn);
                }
            }
            Packet::Instrumentation { el, value } => {
                self.push(offset, Item::Instrumentation { level: el, value });
            }
            Packet::TransactionStart => {
                self.push(offset, Item::TransactionStart { p0: self.params.transaction_start_is_p0 });
            }
            Packet::TransactionCommit => self.push(offset, Item::Transaction(Transaction::Commit)),
            Packet::CycleCount(CycleCount { commit, cycles, .. }) if self.options.no_image => {
                self.count_before(offset, commit, cycles, sink);
            }
            Packet::CycleCount(CycleCount { commit, cycles, .. }) => {
                self.push(offset, Item::Cycles(cycles));
                commits = commit.unwrap_or(0).clamp(0, u32::MAX.into()) as u32;
            }
            Packet::Commit(count) => commits = count,
            Packet::CancelF1 { count, mispredict } => {
                self.resolve(offset, Atoms::NONE, count, mispredict, sink);
            }
            Packet::Mispredict(atoms) => self.resolve(offset, atoms, 0, true, sink),
            Packet::CancelF2(atoms) => self.resolve(offset, atoms, 1, true, sink),
            Packet::CancelF3 { atom, count } => {
                let atoms = if atom { Atoms::one(true) } else { Atoms::NONE };
                self.resolve(offset, atoms, count.into(), true, sink);
            }
            Packet::Event(events) => self.push(offset, Item::Event(events)),
            Packet::TimestampMarker => {
                self.stream.awaits_marker = false;
                self.push(offset, Item::TimestampMarker);
            }
            Packet::Timestamp(timestamp) => {
                if !self.stream.awaits_marker {
                    self.push(offset, Item::Timestamp(timestamp));
                }
            }
            Packet::Q(q) => {
                if q.address.is_some() {
                    self.push(offset, Item::Q(q));
                } else {
                    self.push_without_address(offset, Item::Q(q));
                }
            }
            Packet::SourceAddress(address) => self.push(offset, Item::SourceAddress(address)),
            Packet::Overflow | Packet::Discard => {
                self.discard(sink);
                let overflow = *packet == Packet::Overflow;
                self.stream.overflowed |= overflow;
                let reason = if overflow { GapReason::Overflow } else { GapReason::Discard };
                self.lost_here(offset, reason, sink);
            }
            Packet::Reserved { .. } | Packet::ReservedForConfig { .. } | Packet::Malformed { .. } => {
                self.discard_at_end(sink);
                self.lost(offset, GapReason::BadPacket);
            }
            // The parser searches for an A-Sync, and reported the reason before.
            Packet::NotSync { .. } => {}
            Packet::Incomplete { .. } => {}
            // These are about data accesses and conditional non-branch instructions.
            Packet::NumberedDataSync(_)
            | Packet::UnnumberedDataSync(_)
            | Packet::ConditionalInstruction(_)
            | Packet::ConditionalFlush
            | Packet::ConditionalResult(_) => {}
        }
        if self.stream.state != State::Running {
            return;
        }
        if commits > 0 {
            self.commit(offset, commits, sink);
        }
        if self.stream.depth > self.params.max_spec {
            self.commit(offset, self.stream.depth - self.params.max_spec, sink);
        }
        if self.queue.len() > MOST_UNCERTAIN {
            self.tell_all(offset, sink);
        }
        self.set_straight();
    }

    /// Empties the queue, whose memory is bounded. If nothing is speculative, what waits is emitted. Otherwise its
    /// fate is never known, and it is lost.
    #[cold]
    fn tell_all(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if self.stream.depth > 0 {
            return self.contradiction(offset, Contradiction::CommitBeyondDepth, sink);
        }
        while let Some((at, item)) = self.queue.pop() {
            if let Err(contradiction) = self.commit_item(at, item, sink) {
                return self.contradiction(offset, contradiction, sink);
            }
        }
    }

    fn push(&mut self, offset: u64, item: Item) {
        let p0 = item.p0();
        if p0 > 0 && self.stream.awaits_address {
            return self.lost(offset, GapReason::Contradiction(Contradiction::UnexpectedPacket));
        }
        self.queue.push(offset, item);
        self.stream.depth = self.stream.depth.saturating_add(p0);
    }

    /// Adds a P0 element whose address is in the next packet.
    fn push_without_address(&mut self, offset: u64, item: Item) {
        if self.stream.awaits_address {
            return self.lost(offset, GapReason::Contradiction(Contradiction::UnexpectedPacket));
        }
        self.queue.push(offset, item);
        self.stream.awaits_address = true;
    }

    /// Adds a cycle count, to be emitted before all else of the P0 element that it belongs to.
    fn count_before(
        &mut self,
        offset: u64,
        commit: Option<i64>,
        cycles: Option<u32>,
        sink: &mut impl ElementSink,
    ) {
        match commit {
            None => self.queue.push_count(offset, cycles),
            Some(commit) => {
                self.commit(offset, commit.clamp(0, u32::MAX.into()) as u32, sink);
                if self.stream.state == State::Running {
                    sink.element(offset, &Element::Cycles(cycles));
                }
            }
        }
    }

    fn address(&mut self, offset: u64, address: Address) {
        self.queue.push(offset, Item::Address(address));
        if self.stream.awaits_address {
            self.stream.awaits_address = false;
            self.stream.depth += 1;
        }
    }

    /// Handles new atoms, then a cancellation, then a misprediction.
    fn resolve(
        &mut self,
        offset: u64,
        atoms: Atoms,
        cancel: u32,
        mispredict: bool,
        sink: &mut impl ElementSink,
    ) {
        if atoms.count > 0 {
            self.push(offset, Item::Atoms(atoms));
        }
        if cancel > 0 && self.stream.state == State::Running {
            self.cancel(offset, cancel, sink);
        }
        if mispredict && self.stream.state == State::Running {
            self.mispredict(offset, sink);
        }
    }
}
