use core::fmt;

use tracewright_core::{
    Block, Context, Contradiction, Element, Exception, Flow, GapReason, Isa, MemorySpace, Mismatch, Security,
    TraceOn,
};
use tracewright_flow::{ElementSink, Graph, NodeId, Rules, Stuck, Trail, Walker};
use tracewright_image::{Image, Moment};

use crate::ptm::Params;
use crate::ptm::packet::{Address, Atoms, Branch, ISync, ISyncReason, Packet, Timestamp};
use crate::shared::address::State as InstructionState;

/// Options of decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Emits what OpenCSD's decoder does: trusts programs; takes addresses for right without comparing them; cycles only where blocks
    /// were emitted, and inside of timestamps; no changes of context by branches.
    pub like_opencsd: bool,
    /// Decodes without a program: emits targets of branches.
    pub no_image: bool,
}

/// The registers enable an option that cannot be decoded: DMB and DSB are waypoints (ETMCCER bit 24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported;

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DMB and DSB are waypoints of this trace unit (ETMCCER bit 24), which is not supported")
    }
}

impl core::error::Error for Unsupported {}

/// A decoder of PTM: packets in, in the order of the stream, elements out.
#[derive(Clone, Debug)]
pub struct Decoder<'i> {
    params: Params,
    options: Options,
    walker: Walker<'i>,
    stream: Stream,
    last_offset: Option<u64>,
    /// Time at which the decoded instructions ran, for images that change with time.
    moment: Moment,
}

/// The state of a [`Decoder`]. Decoders in equal states emit the same elements for the same packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    walker: tracewright_flow::Snapshot,
    stream: Stream,
}

/// What a decoder knows of the stream, beside its walker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stream {
    state: State,
    /// Context as it was emitted last.
    context: Option<Context>,
    /// Instruction set as the last packet with an address had it.
    isa: Option<(InstructionState, bool)>,
    vmid: Option<u32>,
    context_id: Option<u32>,
    overflowed: bool,
    /// Whether a return led where nothing tells, until the next address.
    is_unseen: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waiting for an A-Sync. `told` is set when the loss was emitted.
    Lost {
        reason: GapReason,
        from: u64,
        told: bool,
    },
    /// Waiting for an I-Sync. `lost` is where the first packet that could not be decoded began.
    Synchronised {
        reason: GapReason,
        lost: Option<u64>,
    },
    Running,
}

impl Stream {
    const fn new(state: State) -> Self {
        Self {
            state,
            context: None,
            isa: None,
            vmid: None,
            context_id: None,
            overflowed: false,
            is_unseen: false,
        }
    }
}

impl<'i> Decoder<'i> {
    /// Creates a decoder of a source's packets, with the program that ran.
    ///
    /// # Errors
    /// Fails if the registers enable an option that cannot be decoded.
    pub fn new(params: &Params, image: &'i Image, options: Options) -> Result<Self, Unsupported> {
        if params.barriers_are_waypoints {
            return Err(Unsupported);
        }
        let rules = Rules {
            waits_are_traced: false,
            return_stack: params.return_stack,
            calls_pop: true,
            trust_program: options.like_opencsd,
        };
        Ok(Self {
            params: params.clone(),
            options,
            walker: Walker::new(image, rules),
            stream: Stream::new(State::Lost { reason: GapReason::Start, from: 0, told: false }),
            last_offset: None,
            moment: Moment::LAST,
        })
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

    /// Returns the walker.
    pub fn walker(&self) -> &Walker<'i> {
        &self.walker
    }

    /// Returns the program.
    pub fn image(&self) -> &'i Image {
        self.walker.graph().image()
    }

    /// Returns the graph of the program as far as it ran.
    pub fn graph_mut(&mut self) -> &mut Graph<'i> {
        self.walker.graph_mut()
    }

    /// Returns the memory space of the current code.
    pub fn space(&self) -> MemorySpace {
        self.walker.space()
    }

    /// Returns the stream position at which the current gap began, if there is one.
    #[inline]
    pub fn gap_start(&self) -> Option<u64> {
        match self.stream.state {
            State::Lost { from, .. } => Some(from),
            State::Synchronised { lost, .. } => lost,
            State::Running => None,
        }
    }

    /// Returns the stream position of the last packet.
    pub fn last_offset(&self) -> Option<u64> {
        self.last_offset
    }

    /// Returns whether an I-Sync was decoded and nothing was lost since.
    pub fn is_running(&self) -> bool {
        self.stream.state == State::Running
    }

    /// Returns the state that determines how later packets are decoded.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { walker: self.walker.snapshot(), stream: self.stream }
    }

    /// Resets the decoder at stream position `offset`. What was learnt about the program is kept.
    pub fn restart(&mut self, offset: u64) {
        self.lost(offset, GapReason::Start);
        self.last_offset = None;
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
        match self.stream.state {
            State::Running => self.no_target(offset, sink),
            State::Lost { reason, from, .. } => tell_gap(offset, reason, from, sink),
            State::Synchronised { reason, lost } => {
                tell_gap(offset, reason, lost.unwrap_or(offset), sink);
            }
        }
        sink.element(offset, &Element::End);
        self.restart(offset);
    }

    /// Reports that what follows does not continue what came before. Decoding resumes at the next A-Sync.
    pub fn interrupt(&mut self, offset: u64, _sink: &mut impl ElementSink) {
        if self.stream.state == State::Running {
            self.lost(offset, GapReason::Interrupted);
        }
    }

    /// Loses synchronisation until the next A-Sync.
    fn lost(&mut self, from: u64, reason: GapReason) {
        self.stream = Stream::new(State::Lost { reason, from, told: false });
        self.walker.restart();
    }

    /// Decodes the packet that began at stream position `offset`.
    #[inline(always)]
    pub fn packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        self.last_offset = Some(offset);
        if self.stream.state == State::Running {
            match packet {
                Packet::Atoms(atoms) => return self.atoms(offset, *atoms, sink),
                Packet::CycleAtom { taken, cycles } => {
                    return self.cycle_atom(offset, *taken, *cycles, sink);
                }
                _ => return self.running(offset, packet, sink),
            }
        }
        self.waiting(offset, packet, sink);
    }

    #[inline(never)]
    fn waiting(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        match self.stream.state {
            State::Lost { reason, from, .. } => {
                self.skipping(offset, sink);
                if *packet == Packet::Async {
                    tell_gap(offset, reason, from, sink);
                    self.stream.state = State::Synchronised { reason, lost: None };
                }
            }
            State::Synchronised { reason, lost } => match packet {
                Packet::ISync(sync) => {
                    tell_gap(offset, reason, lost.unwrap_or(offset), sink);
                    self.stream.state = State::Running;
                    let first = match sync.reason {
                        ISyncReason::Periodic => ISyncReason::TraceOn,
                        reason => reason,
                    };
                    self.i_sync(offset, &ISync { reason: first, ..*sync }, sink);
                }
                Packet::Reserved | Packet::Malformed { .. } => self.bad(offset, sink),
                Packet::Async | Packet::Ignore | Packet::Trigger | Packet::Incomplete { .. } => {}
                Packet::Timestamp(_) | Packet::NotSync { .. } => {}
                _ => {
                    self.stream.state = State::Synchronised { reason, lost: lost.or(Some(offset)) };
                }
            },
            State::Running => {}
        }
    }

    #[cold]
    fn bad(&mut self, offset: u64, sink: &mut impl ElementSink) {
        self.lost(offset, GapReason::BadPacket);
        self.skipping(offset, sink);
    }

    #[inline(never)]
    fn running(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        match packet {
            Packet::Branch(branch) => self.branch(offset, branch, sink),
            Packet::ISync(sync) => self.i_sync(offset, sync, sink),
            Packet::WaypointUpdate(address) => self.waypoint_update(offset, *address, sink),
            Packet::Timestamp(timestamp) => self.timestamp(offset, timestamp, sink),
            Packet::ContextId(id) => {
                self.stream.context_id = Some(*id);
                self.context(offset, None, true, sink);
            }
            Packet::Vmid(id) => {
                self.stream.vmid = Some((*id).into());
                self.context(offset, None, true, sink);
            }
            Packet::Trigger => sink.element(offset, &Element::Trigger),
            Packet::ExceptionReturn => sink.element(offset, &Element::ExceptionReturn),
            Packet::Reserved | Packet::Malformed { .. } => self.bad(offset, sink),
            Packet::NotSync { .. } => {}
            Packet::Async | Packet::Ignore | Packet::Incomplete { .. } => {}
            Packet::Atoms(_) | Packet::CycleAtom { .. } => {}
        }
    }

    #[inline]
    fn atoms(&mut self, offset: u64, atoms: Atoms, sink: &mut impl ElementSink) {
        if self.options.no_image {
            return;
        }
        let Atoms { bits, count } = atoms;
        let (mut bits, mut left) = (u32::from(bits), u32::from(count));
        loop {
            let result = self.walker.branches(bits, left, &mut Tell::new(offset, self.options, sink));
            let Err((stuck, used)) = result else { break };
            self.stuck(offset, stuck, 0, sink);
            bits >>= used;
            left -= used;
        }
        self.resolve(offset, sink);
    }

    #[inline]
    fn cycle_atom(&mut self, offset: u64, taken: bool, cycles: u32, sink: &mut impl ElementSink) {
        let is_told = self.outcome(offset, taken, sink);
        self.resolve(offset, sink);
        self.cycles(offset, Some(cycles), is_told, sink);
    }

    /// Runs over the next waypoint. Returns whether a block was emitted for it.
    fn outcome(&mut self, offset: u64, taken: bool, sink: &mut impl ElementSink) -> bool {
        if self.options.no_image {
            return false;
        }
        let mut tell = Tell::new(offset, self.options, sink);
        let result = self.walker.branches(u32::from(taken), 1, &mut tell);
        let any = tell.any;
        drop(tell);
        match result {
            Ok(_) => any,
            Err((stuck, _)) => {
                self.stuck(offset, stuck, 0, sink);
                false
            }
        }
    }

    /// Goes where the last branch returns to, if it is an indirect branch without address.
    #[inline]
    fn resolve(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if self.params.return_stack
            && let Err(stuck) = self.walker.resolve_return()
        {
            self.stuck(offset, stuck, 0, sink);
        }
    }

    /// Emits a mismatch if the last branch was indirect and its target is unknown.
    fn no_target(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if let Err(stuck) = self.walker.no_target() {
            self.stuck(offset, stuck, 0, sink);
        }
    }

    /// Emits cycles after what they belong to.
    #[inline]
    fn cycles(&mut self, offset: u64, cycles: Option<u32>, is_told: bool, sink: &mut impl ElementSink) {
        let is_wanted = |count: &u32| if self.options.like_opencsd { is_told } else { *count > 0 };
        if let Some(count) = cycles.filter(is_wanted) {
            sink.element(offset, &Element::Cycles(Some(count)));
        }
    }

    fn branch(&mut self, offset: u64, branch: &Branch, sink: &mut impl ElementSink) {
        let Branch { address, exception, cycles } = branch;
        let told = match exception.filter(|exception| exception.number != 0) {
            Some(exception) => {
                let here = self.walker.address().map(|(address, _)| address);
                if here.is_none() {
                    self.no_target(offset, sink);
                    self.stream.is_unseen = false;
                }
                let taken = Exception {
                    number: exception.number,
                    interrupt: false,
                    value: None,
                    return_address: here.filter(|_| !self.options.no_image),
                    at_target: false,
                };
                sink.element(offset, &Element::Exception(taken));
                self.walker.divert();
                true
            }
            None => {
                let told = self.outcome(offset, true, sink);
                self.check_target(offset, *address, sink);
                told
            }
        };
        self.cycles(offset, *cycles, told, sink);
        let is_branch = exception.is_none_or(|exception| exception.number == 0);
        self.stream.isa = Some((address.state, address.alternative));
        if let Some(exception) = exception
            && !self.options.like_opencsd
        {
            self.context(offset, Some((exception.non_secure, exception.hyp)), false, sink);
        }
        self.arrive(offset, address.value, address.state, is_branch, address.known, sink);
    }

    /// Compares the target of a direct branch with the address that was told (branch broadcast).
    fn check_target(&mut self, offset: u64, address: Address, sink: &mut impl ElementSink) {
        if let Some((target, isa)) = self.walker.address()
            && !self.options.like_opencsd
            && !self.options.no_image
            && address.known == 32
            && (target != u64::from(address.value) || Some(isa) != address.state.isa())
        {
            let missed = Mismatch::Missed { from: target, to: address.value.into() };
            sink.element(offset, &Element::Mismatch(missed));
        }
    }

    /// Continues at an address.
    fn arrive(
        &mut self,
        offset: u64,
        address: u32,
        state: InstructionState,
        branch: bool,
        known: u8,
        sink: &mut impl ElementSink,
    ) {
        let address = u64::from(address);
        let Some(isa) = state.isa().filter(|_| known == 32) else {
            // Bytecodes of Jazelle, or an address of which only the low bits are known.
            self.walker.lose_way();
            if state == InstructionState::Jazelle && !self.options.like_opencsd {
                let space = self.walker.space();
                sink.element(offset, &Element::NoCode { address, space });
            }
            return;
        };
        if self.options.no_image {
            sink.element(offset, &Element::Target { address, isa, branch });
        }
        self.seen_again(offset, address, isa, sink);
        self.walker.set_address(address, isa);
    }

    /// Emits that a path was not seen, if so, which led to an address.
    fn seen_again(&mut self, offset: u64, next: u64, isa: Isa, sink: &mut impl ElementSink) {
        if std::mem::take(&mut self.stream.is_unseen) {
            sink.element(offset, &Element::UnknownPath { start: None, next, isa, count: None });
        }
    }

    fn i_sync(&mut self, offset: u64, sync: &ISync, sink: &mut impl ElementSink) {
        let &ISync { reason, address, non_secure, hyp, cycles, context_id, .. } = sync;
        let isa = sync.state().isa().unwrap_or(Isa::A32);
        let at = u64::from(address);
        if reason == ISyncReason::Periodic {
            if !self.options.like_opencsd && !self.options.no_image {
                self.catch_up(offset, at, isa, sink);
            }
            self.seen_again(offset, at, isa, sink);
            self.walker.flush_returns();
        } else {
            self.no_target(offset, sink);
            self.stream.is_unseen = false;
            self.walker.restart();
            let reason = match reason {
                ISyncReason::Overflow => TraceOn::Overflow,
                ISyncReason::Debug => TraceOn::Debug,
                _ => TraceOn::Normal,
            };
            sink.element(offset, &Element::TraceOn(reason));
            self.cycles(offset, cycles, true, sink);
        }
        let isa_before = self.stream.isa.replace((sync.state(), sync.alternative));
        let begins = reason != ISyncReason::Periodic;
        let changed = begins && (isa_before != self.stream.isa || context_id.is_some());
        self.stream.context_id = context_id.or(self.stream.context_id);
        self.context(offset, Some((non_secure, hyp)), changed, sink);
        if self.options.no_image {
            sink.element(offset, &Element::Target { address: at, isa, branch: false });
        }
        self.walker.set_address(at, isa);
    }

    /// Runs to the address of a periodic I-Sync, if execution is not there.
    fn catch_up(&mut self, offset: u64, address: u64, isa: Isa, sink: &mut impl ElementSink) {
        self.no_target(offset, sink);
        let Some((here, _)) = self.walker.address().filter(|&here| here != (address, isa)) else { return };
        let ran = if here <= address {
            self.walker.run_to(address, &mut Tell::new(offset, self.options, sink))
        } else {
            Err(Stuck::Missed(here))
        };
        if let Err(stuck) = ran {
            self.stuck(offset, stuck, address, sink);
        }
    }

    /// Emits the context if it changed, or if `changed`. `security` is the new one: non-secure, Hyp mode.
    fn context(
        &mut self,
        offset: u64,
        security: Option<(bool, bool)>,
        changed: bool,
        sink: &mut impl ElementSink,
    ) {
        let (security, level) = match (security, self.stream.context) {
            (Some((non_secure, hyp)), _) => {
                let security = if non_secure { Security::NonSecure } else { Security::Secure };
                (security, if hyp { 2 } else { 1 })
            }
            (None, Some(context)) => (context.security, context.level),
            (None, None) => return,
        };
        let Stream { vmid, context_id, .. } = self.stream;
        let context = Context { level, security, is_64bit: false, vmid, context_id };
        if !changed && self.stream.context == Some(context) {
            return;
        }
        self.stream.context = Some(context);
        // The privilege level is not traced, so code may be in any space of the security state.
        let process = self.walker.graph().image().space(&context, &self.moment).process();
        let spaces = if security == Security::Secure { MemorySpace::S } else { MemorySpace::N };
        self.walker.set_space(spaces.of_process(process));
        let isa = self.stream.isa.and_then(|(state, _)| state.isa()).unwrap_or(Isa::A32);
        sink.element(offset, &Element::Context(context, isa));
    }

    fn waypoint_update(&mut self, offset: u64, address: Address, sink: &mut impl ElementSink) {
        if self.options.no_image || address.known < 32 {
            return;
        }
        let last = u64::from(address.value);
        let Some((here, isa)) = self.walker.address() else { return };
        // It names the last instruction that ran.
        let len = match isa {
            Isa::T32 => {
                let mut bytes = [0; 2];
                self.walker.graph().image().read_into(last, self.walker.space(), &mut bytes);
                if bytes[1] >> 3 >= 0x1d { 4 } else { 2 }
            }
            _ => 4,
        };
        let ran = if here <= last {
            self.walker.run_to(last + len, &mut Tell::new(offset, self.options, sink))
        } else {
            self.walker.lose_way();
            Err(Stuck::Missed(here))
        };
        if let Err(stuck) = ran {
            self.stuck(offset, stuck, last + len, sink);
        }
    }

    fn timestamp(&mut self, offset: u64, timestamp: &Timestamp, sink: &mut impl ElementSink) {
        let &Timestamp { value, cycles, .. } = timestamp;
        if self.options.like_opencsd {
            return sink.element(offset, &Element::Timestamp { value, cycles });
        }
        // The count goes up to the timestamp.
        self.cycles(offset, cycles, false, sink);
        sink.element(offset, &Element::Timestamp { value, cycles: None });
    }

    /// Emits why the walk ended. `to` is where it should have ended.
    #[cold]
    fn stuck(&mut self, offset: u64, stuck: Stuck, to: u64, sink: &mut impl ElementSink) {
        let space = self.walker.space();
        let element = match stuck {
            Stuck::UnseenCall => {
                self.stream.is_unseen = true;
                return;
            }
            Stuck::NoCode(address) => Element::NoCode { address, space },
            Stuck::Endless(address) => Element::Mismatch(Mismatch::Endless(address)),
            Stuck::NotCode(address) => Element::Mismatch(Mismatch::NotCode(address)),
            Stuck::NoTarget(address) => Element::Mismatch(Mismatch::NoTarget(address)),
            Stuck::NotTaken(address) => Element::Mismatch(Mismatch::NotTaken(address)),
            Stuck::Missed(from) => Element::Mismatch(Mismatch::Missed { from, to }),
            Stuck::NoCall => {
                self.walker.lose();
                if !self.options.like_opencsd {
                    let reason = GapReason::Contradiction(Contradiction::ReturnStackEmpty);
                    sink.element(offset, &Element::Lost(reason));
                    self.stream.state = State::Synchronised { reason, lost: Some(offset) };
                }
                return;
            }
        };
        sink.element(offset, &element);
    }
}

fn tell_gap(to: u64, reason: GapReason, from: u64, sink: &mut impl ElementSink) {
    if from < to {
        sink.element(to, &Element::Gap { reason, from, to });
    }
}

/// A trail that emits what a walker reports.
struct Tell<'s, S: ElementSink> {
    offset: u64,
    /// Whether anything was emitted.
    any: bool,
    /// Whether blocks that end in a wait are joined with the next, as OpenCSD does.
    joins: bool,
    /// Block that ended in a wait.
    waiting: Option<Block>,
    sink: &'s mut S,
}

impl<'s, S: ElementSink> Tell<'s, S> {
    #[inline(always)]
    fn new(offset: u64, options: Options, sink: &'s mut S) -> Self {
        Self { offset, any: false, joins: options.like_opencsd, waiting: None, sink }
    }

    /// Emits a block, or keeps it if it ends in a wait.
    fn join(&mut self, block: &Block) {
        let (start, count) = match self.waiting.take() {
            Some(before) if before.end == block.start => (before.start, before.count + block.count),
            Some(before) => {
                self.sink.block(self.offset, &before);
                (block.start, block.count)
            }
            None => (block.start, block.count),
        };
        let joined = Block { start, count, ..*block };
        if block.class.flow == Flow::Wait {
            self.waiting = Some(joined);
        } else {
            self.sink.block(self.offset, &joined);
        }
    }
}

impl<S: ElementSink> Drop for Tell<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            self.sink.block(self.offset, &waiting);
        }
    }
}

impl<S: ElementSink> Trail for Tell<'_, S> {
    #[inline(always)]
    fn node(&mut self, graph: &Graph<'_>, id: NodeId, taken: bool) {
        self.any = true;
        if self.joins {
            let node = graph.node(id);
            return self.join(&node.block(node.ended(taken)));
        }
        self.sink.node(self.offset, graph, id, taken);
    }

    #[inline]
    fn block(&mut self, block: &Block) {
        self.any = true;
        if self.joins {
            return self.join(block);
        }
        self.sink.block(self.offset, block);
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        self.sink.forget(graph);
    }
}
