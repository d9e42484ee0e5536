//! Packets to elements: the flow between changes of flow.
//!
//! Between two packets execution went straight on: from the target of one to the source of the next, over branches that were not taken.
//! Before the first packet, and before one that tracing started with, only the branch itself is known.

use std::collections::HashMap;

use tracewright_core::{Contradiction, Element, Exception, GapReason, Isa, MemorySpace, Mismatch, TraceOn};
use tracewright_flow::{ElementSink, Graph, NodeId, Rules, Stuck, Trail, Walker};
use tracewright_image::{Image, Moment};

use super::Params;
use super::packet::{Branch, Packet};

/// Options of decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Decodes without a program: emits targets of branches.
    pub no_image: bool,
}

/// A decoder of an MTB: packets in, in the order of the stream, elements out.
#[derive(Clone, Debug)]
pub struct Decoder<'i> {
    params: Params,
    options: Options,
    walker: Walker<'i>,
    /// Number of the exception that each handler is for, or 0 if it is for several.
    handlers: HashMap<u32, u16>,
    stream: Stream,
    last_offset: Option<u64>,
}

/// The state of a [`Decoder`]. Decoders in equal states emit the same elements for the same packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    walker: tracewright_flow::Snapshot,
    stream: Stream,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stream {
    /// Whether any packet was decoded since tracing began.
    has_begun: bool,
    /// Whether the last packet was a return from an exception.
    returned: bool,
    /// Addresses at which interrupted code goes on, newest last.
    interrupted: Vec<u32>,
}

/// Interrupted code that is remembered. Cores have fewer priorities than that.
const MOST_INTERRUPTED: usize = 256;

/// Vectors that a core of M profile can have, without the first, which is no address.
const VECTORS: u32 = 16 + 480;

impl<'i> Decoder<'i> {
    /// Creates a decoder of a source's packets, with the program that ran.
    pub fn new(params: &Params, image: &'i Image, options: Options) -> Self {
        // Each wait is passed by itself: packets do not tell of them.
        let rules = Rules { waits_are_traced: true, ..Rules::default() };
        Self {
            params: *params,
            options,
            walker: Walker::new(image, rules),
            handlers: handlers(image, params.vectors),
            stream: Stream::default(),
            last_offset: None,
        }
    }

    /// Continues at stream position `offset`: nothing before it matters.
    pub fn resume(&mut self, _offset: u64, _moment: Moment) {}

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

    /// Returns nothing: no packet is lost without a trace.
    pub fn gap_start(&self) -> Option<u64> {
        None
    }

    /// Returns the stream position of the last packet.
    pub fn last_offset(&self) -> Option<u64> {
        self.last_offset
    }

    /// Returns the state that determines how later packets are decoded.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { walker: self.walker.snapshot(), stream: self.stream.clone() }
    }

    /// Does nothing: a parser skips no bytes.
    pub fn skipping(&mut self, _offset: u64, _sink: &mut impl ElementSink) {}

    /// Resets the decoder. What was learnt about the program is kept.
    pub fn restart(&mut self, _offset: u64) {
        self.walker.restart();
        self.stream = Stream::default();
        self.last_offset = None;
    }

    /// Reports that what follows does not continue what came before.
    pub fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink) {
        if self.stream.has_begun {
            sink.element(offset, &Element::Lost(GapReason::Interrupted));
        }
        self.restart(offset);
    }

    /// Ends the stream at stream position `offset`.
    pub fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        sink.element(offset, &Element::End);
        self.restart(offset);
    }

    /// Decodes the packet that began at stream position `offset`.
    pub fn packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        self.last_offset = Some(offset);
        match packet {
            Packet::Branch(branch) => self.branch(offset, branch, sink),
            // A ring that is written again has none between packets.
            Packet::Unused if self.stream.has_begun => {
                sink.element(offset, &Element::Lost(GapReason::Interrupted));
                self.restart(offset);
            }
            Packet::Unused | Packet::Incomplete => {}
        }
    }

    fn branch(&mut self, offset: u64, branch: &Branch, sink: &mut impl ElementSink) {
        if branch.start || !self.stream.has_begun {
            self.walker.restart();
            self.stream = Stream::default();
            sink.element(offset, &Element::TraceOn(TraceOn::Normal));
            if !branch.exception {
                self.walker.set_address(branch.source.into(), Isa::T32);
            }
        }
        self.stream.has_begun = true;
        let returned = core::mem::replace(&mut self.stream.returned, branch.is_return());
        if !branch.exception {
            self.run(offset, branch, sink);
            if branch.is_return() {
                sink.element(offset, &Element::ExceptionReturn);
                return self.walker.lose();
            }
        } else if branch.is_resumed() {
            if !returned {
                sink.element(offset, &Element::ExceptionReturn);
            }
            match (self.stream.interrupted.last(), self.handlers.get(&branch.target)) {
                // An exception that waited is taken without going back first.
                (Some(&address), Some(&number)) if address != branch.target => {
                    self.exception(offset, number, None, sink);
                }
                _ => _ = self.stream.interrupted.pop(),
            }
        } else {
            self.interrupted(offset, branch, sink);
        }
        let address = u64::from(branch.target);
        if self.options.no_image {
            sink.element(offset, &Element::Target { address, isa: Isa::T32, branch: !branch.exception });
        }
        self.walker.set_address(address, Isa::T32);
    }

    /// Runs over the branch that a packet tells.
    fn run(&mut self, offset: u64, branch: &Branch, sink: &mut impl ElementSink) {
        if self.options.no_image {
            return;
        }
        if self.walker.address().is_none() {
            // What ran before it is not known.
            self.walker.set_address(branch.source.into(), Isa::T32);
        }
        let source = branch.source.into();
        if let Err(stuck) = self.walker.run_over(source, &mut Tell { offset, sink }) {
            return self.stuck(offset, stuck, source, sink);
        }
        if let Some((target, _)) = self.walker.address()
            && target != u64::from(branch.target)
        {
            let missed = Mismatch::Missed { from: target, to: branch.target.into() };
            sink.element(offset, &Element::Mismatch(missed));
        }
    }

    /// Runs up to where an exception, or a debugger, took over.
    fn interrupted(&mut self, offset: u64, branch: &Branch, sink: &mut impl ElementSink) {
        let source = u64::from(branch.source);
        if !self.options.no_image
            && self.walker.address().is_some()
            && let Err(stuck) = self.walker.run_up_to(source, &mut Tell { offset, sink })
        {
            self.stuck(offset, stuck, source, sink);
        }
        if self.stream.interrupted.len() < MOST_INTERRUPTED {
            self.stream.interrupted.push(branch.source);
        }
        match self.handlers.get(&branch.target) {
            Some(&number) => self.exception(offset, number, Some(source), sink),
            None if self.handlers.is_empty() => self.exception(offset, 0, Some(source), sink),
            // No vector leads there: a debugger set the address.
            None => {
                self.walker.restart();
                self.stream.interrupted.clear();
                sink.element(offset, &Element::TraceOn(TraceOn::Debug));
            }
        }
    }

    fn exception(&self, offset: u64, number: u16, from: Option<u64>, sink: &mut impl ElementSink) {
        let exception =
            Exception { number, interrupt: false, value: None, return_address: from, at_target: false };
        sink.element(offset, &Element::Exception(exception));
    }

    /// Emits why the walk ended. `to` is where it should have ended.
    #[cold]
    fn stuck(&mut self, offset: u64, stuck: Stuck, to: u64, sink: &mut impl ElementSink) {
        let element = match stuck {
            Stuck::NoCode(address) => Element::NoCode { address, space: self.walker.space() },
            Stuck::Endless(address) => Element::Mismatch(Mismatch::Endless(address)),
            Stuck::NotCode(address) => Element::Mismatch(Mismatch::NotCode(address)),
            Stuck::NoTarget(address) => Element::Mismatch(Mismatch::NoTarget(address)),
            Stuck::NotTaken(address) => Element::Mismatch(Mismatch::NotTaken(address)),
            Stuck::Missed(from) => Element::Mismatch(Mismatch::Missed { from, to }),
            Stuck::NoCall | Stuck::UnseenCall => {
                Element::Lost(GapReason::Contradiction(Contradiction::ReturnStackEmpty))
            }
        };
        sink.element(offset, &element);
    }
}

/// Reads the table of vectors at `address`. The first word is the stack's address.
fn handlers(image: &Image, address: u32) -> HashMap<u32, u16> {
    let mut handlers = HashMap::new();
    for number in 1..VECTORS {
        let mut word = [0; 4];
        let at = u64::from(address) + 4 * u64::from(number);
        if image.read_into(at, MemorySpace::ANY, &mut word) < word.len() {
            break;
        }
        // Handlers are T32 code: bit 0 of a vector is set.
        let handler = u32::from_le_bytes(word);
        if handler & 1 == 1 {
            let is_shared = |other: &mut u16| *other = 0;
            handlers.entry(handler & !1).and_modify(is_shared).or_insert(number as u16);
        }
    }
    handlers
}

/// A trail that emits what a walker reports.
struct Tell<'s, S> {
    offset: u64,
    sink: &'s mut S,
}

impl<S: ElementSink> Trail for Tell<'_, S> {
    #[inline(always)]
    fn node(&mut self, graph: &Graph<'_>, id: NodeId, taken: bool) {
        self.sink.node(self.offset, graph, id, taken);
    }

    fn block(&mut self, block: &tracewright_core::Block) {
        self.sink.block(self.offset, block);
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        self.sink.forget(graph);
    }
}
