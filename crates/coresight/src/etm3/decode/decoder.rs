use tracewright_core::{
    Context, Element, Exception, GapReason, Isa, MemorySpace, Mismatch, Security, TraceOn,
};
use tracewright_flow::{ElementSink, Graph};
use tracewright_image::{Image, Moment};

use super::data::Access;
use super::follow::{Place, Whereabouts};
use crate::etm3::Params;
use crate::etm3::packet::{Atoms, Branch, ExceptionBytes, ISync, InstructionState, Packet, Reason};

/// Options of decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Decode as OpenCSD does: a block of its own for each instruction, elements for what it prints, and trust in programs. Cycles that
    /// OpenCSD prints in the line of a block or context follow it at once.
    pub like_opencsd: bool,
    /// Decode without a program: only the addresses that the trace has.
    pub no_image: bool,
}

/// A decoder of ETMv3: packets in, in the order of the stream, elements out.
#[derive(Clone, Debug)]
pub struct Decoder<'i> {
    pub(super) params: Params,
    pub(super) options: Options,
    pub(super) graph: Graph<'i>,
    pub(super) place: Place,
    pub(super) stream: Stream,
    pub(super) last_offset: Option<u64>,
    /// Blocks that ended since the last I-Sync.
    pub(super) ended: u64,
    /// Time at which the decoded instructions ran, for images that change with time.
    moment: Moment,
}

/// The state of a [`Decoder`]. Decoders in equal states emit the same elements for the same packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    whereabouts: Whereabouts,
    stream: Stream,
}

/// What a decoder knows of the stream, beside the place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    state: State,
    pub(super) context: Option<Context>,
    pub(super) space: MemorySpace,
    /// The newest atom, which an exception may cancel.
    pub(super) held: Option<Held>,
    /// Cycles since the last cycle count that was emitted.
    pub(super) cycles: u32,
    /// Last timestamp and data address: later ones tell only what differs.
    timestamp: Option<u64>,
    data: Option<u32>,
    overflowed: bool,
    /// Accesses whose values come later, by tag.
    pub(super) placeholders: [Option<Access>; 4],
    /// Like OpenCSD: the return from an exception that is held back with the instruction.
    pub(super) held_return: Option<u64>,
}

/// An atom that is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub offset: u64,
    pub passed: bool,
    pub cycles: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waiting for an A-Sync. `told` is set when the loss was emitted.
    Lost {
        reason: GapReason,
        from: u64,
        told: bool,
    },
    /// Waiting for an I-Sync after an A-Sync.
    Synchronised {
        reason: GapReason,
        from: u64,
        skipped: bool,
    },
    Running,
}

impl<'i> Decoder<'i> {
    /// Creates a decoder of a source's packets, with the program that ran.
    pub fn new(params: &Params, image: &'i Image, options: Options) -> Self {
        Self {
            params: params.clone(),
            options,
            graph: Graph::new(image, options.like_opencsd),
            place: Place::default(),
            stream: Stream::new(State::Lost { reason: GapReason::Start, from: 0, told: false }),
            last_offset: None,
            ended: 0,
            moment: Moment::LAST,
        }
    }

    /// Continues at stream position `offset` with instructions that ran at `moment`.
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

    /// Returns the program.
    pub fn image(&self) -> &'i Image {
        self.graph.image()
    }

    /// Returns the graph of the program as far as it ran, for sinks that count by graph node.
    pub fn graph_mut(&mut self) -> &mut Graph<'i> {
        &mut self.graph
    }

    /// Returns the memory space of the current code.
    pub fn space(&self) -> MemorySpace {
        self.stream.space
    }

    /// Returns the earliest stream position of an element still to come, if it is before that of the next packet.
    pub fn oldest(&self) -> Option<u64> {
        self.stream.held.map(|held| held.offset).or(self.stream.held_return)
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

    /// Returns the number of blocks that ended since the last I-Sync. From the first on, a decoder that began at the I-Sync is in the
    /// state of one that came from before.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// Returns the state that determines how later packets are decoded.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { whereabouts: self.whereabouts(), stream: self.stream }
    }

    /// Resets the decoder at stream position `offset`. What was learnt about the program is kept.
    pub fn restart(&mut self, offset: u64) {
        self.stream = Stream::new(State::Lost { reason: GapReason::Start, from: offset, told: false });
        self.place = Place::default();
        self.last_offset = None;
        self.ended = 0;
    }

    /// Reports that the parser skips bytes from stream position `offset` on in search of an A-Sync.
    pub fn skipping(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if let State::Lost { reason, from, told: false } = self.stream.state {
            sink.element(offset, &Element::Lost(reason));
            self.stream.state = State::Lost { reason, from, told: true };
        }
    }

    /// Ends the stream at stream position `offset`.
    pub fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.release(offset, sink);
        self.cut(offset, sink);
        match self.stream.state {
            State::Running => {}
            State::Lost { reason, from, .. } | State::Synchronised { reason, from, .. } => {
                self.tell_gap(offset, reason, from, sink);
            }
        }
        sink.element(offset, &Element::End);
        self.restart(offset);
    }

    /// Reports that what follows does not continue what came before. Decoding resumes at the next A-Sync.
    pub fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if self.stream.state == State::Running {
            self.release(offset, sink);
            self.cut(offset, sink);
            self.lost(offset, GapReason::Interrupted);
        }
    }

    /// Loses synchronisation until the next A-Sync.
    #[cold]
    fn lost(&mut self, offset: u64, reason: GapReason) {
        self.stream = Stream::new(State::Lost { reason, from: offset, told: false });
        self.place = Place::default();
    }

    fn tell_gap(&self, to: u64, reason: GapReason, from: u64, sink: &mut impl ElementSink) {
        if from < to {
            sink.element(to, &Element::Gap { reason, from, to });
        }
    }

    /// Decodes the packet that began at stream position `offset`.
    #[inline(always)]
    pub fn packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        self.last_offset = Some(offset);
        if self.stream.state == State::Running
            && let Packet::Atoms(atoms) = packet
            && !self.options.like_opencsd
        {
            return self.atoms(offset, *atoms, sink);
        }
        if self.stream.state == State::Running
            && let Packet::Branch(Branch { address, exception: None, .. }) = packet
            && !self.options.like_opencsd
            && !self.options.no_image
        {
            self.release(offset, sink);
            if self.place.went(address) {
                return;
            }
        }
        self.other_packet(offset, packet, sink);
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
                    self.tell_gap(offset, reason, from, sink);
                    self.stream.state = State::Synchronised { reason, from: offset, skipped: false };
                }
            }
            State::Synchronised { reason, from, skipped } => match packet {
                Packet::ISync(sync) => {
                    self.stream.state = State::Running;
                    if skipped {
                        self.tell_gap(offset, reason, from, sink);
                    }
                    self.i_sync(offset, sync, true, sink);
                }
                Packet::Timestamp(_) => self.running(offset, packet, sink),
                // What cannot be followed yet.
                Packet::Atoms(_) | Packet::CycleCount(_) if self.options.like_opencsd => {
                    self.running(offset, packet, sink);
                }
                Packet::NotSync { .. } => {}
                _ if packet.kind().is_error() => self.broken(offset, packet, sink),
                Packet::Atoms(Atoms { count: 1.., .. }) | Packet::Branch(_) => {
                    self.stream.state = State::Synchronised { reason, from, skipped: true };
                }
                _ => {}
            },
        }
    }

    /// Handles bytes that are not a packet.
    fn broken(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        match packet {
            Packet::Incomplete { .. } | Packet::NotSync { .. } => {}
            _ => {
                self.release(offset, sink);
                self.cut(offset, sink);
                self.lost(offset, GapReason::BadPacket);
            }
        }
    }

    /// Decodes a packet after an I-Sync.
    fn running(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        let like_opencsd = self.options.like_opencsd;
        // Only a branch address can cancel. Data of the instruction may come before.
        let keeps = match packet {
            Packet::Branch(_) => true,
            Packet::Data { .. }
            | Packet::Placeholder { .. }
            | Packet::OutOfOrder { .. }
            | Packet::ValueNotTraced { .. }
            | Packet::StoreFailed
            | Packet::DataSuppressed
            | Packet::CycleCount(_)
            | Packet::Ignore
            | Packet::Async => !like_opencsd,
            _ => false,
        };
        if !keeps {
            self.release(offset, sink);
        }
        match *packet {
            Packet::Atoms(atoms) if like_opencsd => self.opencsd_atoms(offset, atoms, sink),
            Packet::Atoms(atoms) => self.atoms(offset, atoms, sink),
            Packet::Branch(ref branch) => self.branch(offset, branch, sink),
            Packet::ISync(ref sync) => self.i_sync(offset, sync, false, sink),
            Packet::CycleCount(count) if like_opencsd => {
                sink.element(offset, &Element::Cycles(Some(count)));
            }
            Packet::CycleCount(count) => self.stream.cycles = self.stream.cycles.saturating_add(count),
            Packet::Trigger => sink.element(offset, &Element::Trigger),
            Packet::ContextId(id) => self.change(offset, sink, |context| context.context_id = Some(id)),
            Packet::Vmid(id) => self.change(offset, sink, |context| context.vmid = Some(id.into())),
            Packet::Timestamp(timestamp) => {
                self.stream.timestamp = Some(timestamp.value);
                let bits = if timestamp.known >= 48 { 48 } else { 0 };
                if like_opencsd || bits > 0 {
                    let value = timestamp.value;
                    sink.element(offset, &Element::Timestamp { value, cycles: None });
                }
            }
            Packet::ExceptionReturn if like_opencsd => self.stream.held_return = Some(offset),
            Packet::ExceptionReturn => sink.element(offset, &Element::ExceptionReturn),
            // OpenCSD has no elements for data.
            Packet::DataSuppressed if like_opencsd => {}
            Packet::DataSuppressed => sink.element(offset, &Element::DataLost),
            Packet::Data { address, .. }
            | Packet::Placeholder { address, .. }
            | Packet::ValueNotTraced { address, .. } => {
                self.stream.data = address.map(|address| address.value).or(self.stream.data);
                self.data(offset, packet, sink);
            }
            Packet::OutOfOrder { .. } | Packet::StoreFailed => self.data(offset, packet, sink),
            Packet::ExceptionEntry | Packet::Ignore | Packet::Async => {}
            Packet::NotSync { .. }
            | Packet::Reserved { .. }
            | Packet::ReservedForMode { .. }
            | Packet::Malformed { .. }
            | Packet::Incomplete { .. } => self.broken(offset, packet, sink),
        }
    }

    /// Changes the context.
    fn change(&mut self, offset: u64, sink: &mut impl ElementSink, change: impl FnOnce(&mut Context)) {
        let mut context = self.stream.context.unwrap_or(UNKNOWN);
        change(&mut context);
        if self.options.like_opencsd || self.stream.context != Some(context) {
            self.set_context(offset, context, None, sink);
        }
    }

    /// Emits a context. `cycles` are those that OpenCSD prints beside it.
    pub(super) fn set_context(
        &mut self,
        offset: u64,
        context: Context,
        cycles: Option<u32>,
        sink: &mut impl ElementSink,
    ) {
        self.stream.context = Some(context);
        let space = match self.options.like_opencsd {
            true if context.security == Security::Secure => MemorySpace::S,
            true => MemorySpace::N,
            false => self.graph.image().space(&context, &self.moment),
        };
        if space != self.stream.space {
            // The code here may be different now.
            self.cut(offset, sink);
            self.stream.space = space;
        }
        let isa = self.place.isa();
        sink.element(offset, &Element::Context(context, isa));
        if cycles.is_some() && self.options.like_opencsd {
            sink.element(offset, &Element::Cycles(cycles));
        }
    }

    /// Handles an I-Sync. `first`: nothing was known before.
    fn i_sync(&mut self, offset: u64, sync: &ISync, first: bool, sink: &mut impl ElementSink) {
        let like_opencsd = self.options.like_opencsd;
        let begins = first || sync.reason != Reason::Periodic;
        self.ended = 0;
        let target = sync.current.map_or(sync.address.map(|address| (address, sync.state)), |current| {
            Some((current.value, current.state))
        });
        let mut here = None;
        if begins {
            self.cut(offset, sink);
            self.tell_cycles(offset, sink);
            let reason = match sync.reason {
                Reason::Periodic | Reason::TraceOn => TraceOn::Normal,
                Reason::Overflow => TraceOn::Overflow,
                Reason::DebugExit => TraceOn::Debug,
            };
            sink.element(offset, &Element::TraceOn(reason));
        } else {
            here = self.address();
            if let (Some((address, _)), Some((from, _)), false) = (target, here, like_opencsd)
                && from != u64::from(address)
            {
                self.cut(offset, sink);
                let mismatch = Mismatch::Missed { from, to: address.into() };
                sink.element(offset, &Element::Mismatch(mismatch));
                self.place.lose();
                here = None;
            }
        }
        let isa_before = self.place.isa();
        if begins || !is_target(here, target) || like_opencsd {
            match target {
                Some((address, state)) => self.arrive(address, state, begins),
                None => self.place.lose(),
            }
        }
        let mut context = self.stream.context.filter(|_| !first).unwrap_or(UNKNOWN);
        context.security = if sync.non_secure { Security::NonSecure } else { Security::Secure };
        context.level = if sync.hyp { 2 } else { UNKNOWN.level };
        context.context_id = sync.context_id.or(context.context_id);
        if begins || like_opencsd || self.stream.context != Some(context) || self.place.isa() != isa_before {
            self.set_context(offset, context, sync.cycles, sink);
        }
        if let (Some(cycles), false) = (sync.cycles, like_opencsd) {
            sink.element(offset, &Element::Cycles(Some(cycles)));
        }
        if self.options.no_image
            && let (Some((address, isa)), true) = (self.address(), begins)
        {
            sink.element(offset, &Element::Target { address, isa, branch: false });
        }
    }

    /// Handles a branch address.
    fn branch(&mut self, offset: u64, branch: &Branch, sink: &mut impl ElementSink) {
        let Branch { address, exception, deprecated, .. } = *branch;
        let like_opencsd = self.options.like_opencsd;
        if exception.is_some_and(|exception| exception.cancel) {
            let held = self.stream.held.take();
            self.stream.held_return = None;
            // The cycles passed all the same.
            let cycles = held.map_or(0, |held| held.cycles.into());
            self.stream.cycles = self.stream.cycles.saturating_add(cycles);
        } else {
            self.release(offset, sink);
        }
        let taken = exception.filter(|exception| exception.number != 0);
        if let (Some(exception), false) = (taken, like_opencsd) {
            let return_address = self.address().map(|(address, _)| address);
            self.cut(offset, sink);
            self.tell_cycles(offset, sink);
            sink.element(offset, &self::taken(&exception, return_address));
            self.place.divert();
        }
        let context = exception.filter(|_| !deprecated).map(|exception| self.context_of(&exception));
        if !like_opencsd && taken.is_none() && !self.is_at(Some((address.value, address.state))) {
            self.contradict(offset, address.value.into(), sink);
        }
        if like_opencsd || taken.is_some() || !self.is_at(Some((address.value, address.state))) {
            self.arrive(address.value, address.state, false);
        }
        if let Some(context) = context
            && self.stream.context != Some(context)
        {
            self.set_context(offset, context, None, sink);
        }
        if let (Some(exception), true) = (taken, like_opencsd) {
            sink.element(offset, &self::taken(&exception, None));
        }
        if self.options.no_image
            && let Some((address, isa)) = self.address()
        {
            self.tell_cycles(offset, sink);
            sink.element(offset, &Element::Target { address, isa, branch: taken.is_none() });
        }
    }

    /// Returns the context after an exception's bytes.
    fn context_of(&self, exception: &ExceptionBytes) -> Context {
        let mut context = self.stream.context.unwrap_or(UNKNOWN);
        context.security = if exception.non_secure { Security::NonSecure } else { Security::Secure };
        context.level = if exception.hyp { 2 } else { UNKNOWN.level };
        context
    }

    /// Emits that execution goes on elsewhere than the program says.
    fn contradict(&mut self, offset: u64, to: u64, sink: &mut impl ElementSink) {
        if let (Some((from, _)), false) = (self.address(), self.options.no_image) {
            self.cut(offset, sink);
            self.tell_cycles(offset, sink);
            sink.element(offset, &Element::Mismatch(Mismatch::Missed { from, to }));
            self.place.divert();
        }
    }

    /// Returns whether the trace may continue: if not, decoding resumes at the next A-Sync.
    #[inline(always)]
    pub(super) fn is_running(&self) -> bool {
        self.stream.state == State::Running
    }

    /// Emits what is held back.
    pub(super) fn release(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let _ = offset;
        if let Some(held) = self.stream.held.take() {
            if self.options.like_opencsd {
                self.opencsd_atom(held.offset, held.passed, held.cycles.into(), sink);
            } else {
                self.atom(held.offset, held.passed, held.cycles, sink);
            }
        }
        if let Some(offset) = self.stream.held_return.take() {
            sink.element(offset, &Element::ExceptionReturn);
        }
    }

    /// Emits the cycles since the last count.
    pub(super) fn tell_cycles(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let cycles = std::mem::take(&mut self.stream.cycles);
        if cycles > 0 && !self.options.like_opencsd {
            sink.element(offset, &Element::Cycles(Some(cycles)));
        }
    }
}

impl Stream {
    /// Creates a stream in this state, of which nothing was decoded.
    fn new(state: State) -> Self {
        Self {
            state,
            context: None,
            space: MemorySpace::ANY,
            held: None,
            cycles: 0,
            timestamp: None,
            data: None,
            overflowed: false,
            placeholders: [None; 4],
            held_return: None,
        }
    }
}

/// A context of which nothing is known but that it is that of an Armv7 core. Packets tell Hyp mode alone from the others.
const UNKNOWN: Context =
    Context { level: 1, security: Security::Secure, is_64bit: false, vmid: None, context_id: None };

/// Returns whether `here` is the place that a packet tells.
pub(super) fn is_target(here: Option<(u64, Isa)>, target: Option<(u32, InstructionState)>) -> bool {
    target.is_some_and(|(address, state)| here == state.isa().map(|isa| (u64::from(address), isa)))
}

fn taken(exception: &ExceptionBytes, return_address: Option<u64>) -> Element {
    Element::Exception(Exception {
        number: exception.number,
        interrupt: false,
        value: None,
        return_address,
        at_target: false,
    })
}
