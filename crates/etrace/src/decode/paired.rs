use core::ops::Deref;

use tracewright_core::{Block, DataAccess, Element, Isa, MemorySpace};
use tracewright_flow::{ElementSink, Graph, NodeId};
use tracewright_image::{Image, Moment};

use super::{Decoder, Options, Snapshot};
use crate::data::Pairing;
use crate::packet::Packet;
use crate::stream::{Content, Message};
use crate::{Params, data};

/// [`Decoder`] that also assigns each data access to its instruction, where that is certain ([`Pairing`]). An
/// access is held back until then, and emitted with the stream position of the message that settled it.
///
/// Without data trace it adds no cost.
#[derive(Clone, Debug)]
pub struct Paired<'i> {
    decoder: Decoder<'i>,
    data: data::Options,
    /// Pairing; `None` while there is no data trace.
    pairing: Option<Pairing>,
}

/// State of a [`Paired`]. Equal states emit the same elements for the same messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedSnapshot {
    decoder: Snapshot,
    pairing: Option<Pairing>,
}

/// State of data trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataState {
    /// Whether data trace is on.
    pub is_on: bool,
    /// Options of data trace.
    pub options: data::Options,
}

impl<'i> Paired<'i> {
    /// Returns the graph of the executed program, for sinks that count by graph node.
    pub fn graph_mut(&mut self) -> &mut Graph<'i> {
        self.decoder.graph_mut()
    }

    /// Creates a decoder; see [`Decoder::new`].
    pub fn new(params: &Params, options: impl Into<Options>, image: &'i Image, isa: Isa) -> Self {
        let options = options.into();
        let data = options.data;
        Self { decoder: Decoder::new(params, options, image, isa), data, pairing: None }
    }

    /// Decodes a message; see [`Decoder::message`].
    #[inline(always)]
    pub fn message(&mut self, offset: u64, message: &Message, sink: &mut impl ElementSink) {
        if self.pairing.is_some() || matches!(message.content, Content::Data(_)) {
            return self.with_data(offset, message, sink);
        }
        self.decoder.message(offset, message, sink);
        if let Content::Instruction(Packet::Support(support)) = &message.content
            && self.decoder.is_ours(message.source)
        {
            self.set_data_state(DataState { is_on: support.denable, options: support.doptions });
        }
    }

    #[inline(never)]
    fn with_data(&mut self, offset: u64, message: &Message, sink: &mut impl ElementSink) {
        if !self.decoder.is_ours(message.source) {
            return self.decoder.message(offset, message, sink);
        }
        let Self { decoder, data, pairing } = self;
        let pairing = pairing.get_or_insert_with(|| Pairing::new(decoder.params(), *data));
        let image = decoder.runner().graph().image();
        decoder.message(offset, message, &mut Beside { sink, pairing, image });
        pairing.message(message, &mut emit(offset, sink));
        if let Content::Instruction(Packet::Support(support)) = &message.content {
            *data = support.doptions;
            if !support.denable {
                pairing.finish(&mut emit(offset, sink));
                self.pairing = None;
            }
        }
    }

    /// Ends the stream; see [`Decoder::finish`].
    pub fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let Self { decoder, pairing: Some(pairing), .. } = self else {
            return self.decoder.finish(offset, sink);
        };
        let image = decoder.runner().graph().image();
        decoder.finish(offset, &mut Beside { sink, pairing, image });
        self.restart(offset);
    }

    /// Marks a discontinuity; see [`Decoder::interrupt`].
    pub fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let Self { decoder, pairing: Some(pairing), .. } = self else {
            return self.decoder.interrupt(offset, sink);
        };
        let image = decoder.runner().graph().image();
        decoder.interrupt(offset, &mut Beside { sink, pairing, image });
        pairing.lose(&mut emit(offset, sink));
    }

    /// Restarts; see [`Decoder::restart`].
    pub fn restart(&mut self, offset: u64) {
        self.decoder.restart(offset);
        self.set_data_state(self.data_state());
    }

    /// Continues with code that ran at `moment`; see [`Decoder::resume`].
    pub fn resume(&mut self, offset: u64, moment: Moment) {
        self.decoder.resume(offset, moment);
    }

    /// Sets the options; see [`Decoder::set_options`].
    pub fn set_options(&mut self, options: crate::Options) {
        self.decoder.set_options(options);
    }

    /// Returns the state of data trace.
    pub fn data_state(&self) -> DataState {
        DataState { is_on: self.pairing.is_some(), options: self.data }
    }

    /// Sets the state of data trace, as a support packet would.
    pub fn set_data_state(&mut self, state: DataState) {
        self.data = state.options;
        self.decoder.set_data_options(state.options);
        self.pairing = state.is_on.then(|| Pairing::new(self.decoder.params(), state.options));
    }

    /// Returns the state that decides what later messages emit.
    pub fn snapshot(&self) -> PairedSnapshot {
        PairedSnapshot { decoder: self.decoder.snapshot(), pairing: self.pairing.clone() }
    }
}

impl<'i> Deref for Paired<'i> {
    type Target = Decoder<'i>;

    fn deref(&self) -> &Decoder<'i> {
        &self.decoder
    }
}

/// Returns a function that emits accesses to `sink`.
fn emit(offset: u64, sink: &mut impl ElementSink) -> impl FnMut(&DataAccess, Option<u64>) {
    move |access, by| sink.element(offset, &Element::Data { access: *access, by })
}

/// ElementSink that forwards a decoder's elements and pairs accesses with instructions.
struct Beside<'a, S> {
    sink: &'a mut S,
    pairing: &'a mut Pairing,
    image: &'a Image,
}

impl<S: ElementSink> Beside<'_, S> {
    fn pair(&mut self, offset: u64, element: &Element) {
        self.pairing.element(element, self.image, MemorySpace::ANY, &mut emit(offset, self.sink));
    }
}

impl<S: ElementSink> ElementSink for Beside<'_, S> {
    const FOLLOWS: bool = S::FOLLOWS;

    fn element(&mut self, offset: u64, element: &Element) {
        match element {
            Element::Block(block) => self.block(offset, block),
            Element::Data { .. } => self.pair(offset, element),
            _ => {
                // Waiting accesses came before this element.
                self.pair(offset, element);
                self.sink.element(offset, element);
            }
        }
    }

    fn block(&mut self, offset: u64, block: &Block) {
        self.sink.block(offset, block);
        self.pair(offset, &Element::Block(*block));
    }

    fn node(&mut self, offset: u64, graph: &Graph<'_>, id: NodeId, taken: bool) {
        self.sink.node(offset, graph, id, taken);
        let node = graph.node(id);
        self.pair(offset, &Element::Block(node.block(node.ended(taken))));
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        self.sink.forget(graph);
    }
}
