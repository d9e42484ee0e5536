//! Iterators over a decoded trace. A thread decodes ahead; it stops when the iterator is dropped.

use std::ops::Range;
use std::sync::Arc;
use std::vec;

use tracewright_core::{Block, Class, Element, Isa, MemorySpace};
use tracewright_engine::{At, Consumer, Found, Line, Visitor};
use tracewright_flow::{self as flow, InBlock};

use crate::ahead::{Ahead, Batches};
use crate::disassembly;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::trace::{Opened, Trace};

/// Packets of a batch (elements come in batches of the engine), and the most batches that wait to be taken.
const BATCHES: (usize, usize) = (1024, 4);

/// Something decoded from a trace, and where it was.
#[derive(Clone, Copy, Debug)]
pub struct Traced<T> {
    /// Number of the source in its buffer: the trace ID, or E-Trace's srcID.
    pub id: u16,
    /// Offset in the trace file of the packet that reported it.
    pub offset: u64,
    /// Memory space of the code.
    pub space: MemorySpace,
    /// The element, block or instruction.
    pub value: T,
}

/// Lists elements in the order of the file.
struct Lister;

impl Consumer for Lister {
    type State = ();
    type Output = Vec<Traced<Element>>;

    fn element(&self, _: &mut (), list: &mut Vec<Traced<Element>>, at: &At<'_>, element: &Element) {
        list.push(Traced { id: at.source.id, offset: at.place.offset, space: at.space, value: *element });
    }

    /// Output is taken piece by piece, in order: nothing is left to merge.
    fn merge(&self, _: &mut Vec<Traced<Element>>, _: Vec<Traced<Element>>) {}

    fn len(&self, list: &Vec<Traced<Element>>) -> usize {
        list.len()
    }

    fn size(&self, list: &Vec<Traced<Element>>) -> usize {
        size_of_val(&list[..])
    }

    fn clear(&self, list: &mut Vec<Traced<Element>>) {
        list.clear();
    }
}

/// Items of a trace that another thread reads ahead.
type Pulled<T> = Ahead<T, Result<Outcome<()>, Error>>;

/// A packet of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Number of its source in the buffer; `None` if it belongs to no source.
    pub id: Option<u16>,
    /// Offset in the trace file.
    pub offset: u64,
    /// Its bytes; empty for bytes that were skipped.
    pub bytes: Vec<u8>,
    /// Its kind, as the specification names it.
    pub kind: &'static str,
    /// Its fields, as text.
    pub text: String,
}

/// The packets of a trace, in the order in which they end in the file.
#[derive(Debug)]
pub struct Packets(Pulled<Packet>);

/// Gathers packets in batches.
struct Gather {
    batches: Batches<Packet>,
    line: Line,
}

impl Visitor for Gather {
    fn packet(&mut self, found: &Found<'_>) {
        self.line.clear();
        found.packet.words(&mut self.line);
        self.batches.push(Packet {
            id: found.source.map(|source| source.id),
            offset: found.place.offset,
            bytes: found.bytes.to_vec(),
            kind: found.kind.name,
            text: String::from_utf8_lossy(self.line.bytes()).into_owned(),
        });
    }

    fn is_done(&self) -> bool {
        self.batches.is_done()
    }
}

impl Packets {
    pub(crate) fn new(trace: &Trace) -> Self {
        let trace = trace.clone();
        Self(Ahead::new(BATCHES, move |batches| {
            trace.read_packets(&mut Gather { batches, line: Line::default() })
        }))
    }

    /// Stops reading. Returns what is missing from the packets read so far, or may be wrong with them.
    ///
    /// # Errors
    /// Fails if the trace could not be read.
    pub fn finish(self) -> Result<Outcome<()>, Error> {
        self.0.finish()
    }
}

impl Iterator for Packets {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        self.0.next()
    }
}

/// All elements of a trace, in the order of the file.
#[derive(Debug)]
pub struct Elements(Pulled<Traced<Element>>);

impl Elements {
    pub(crate) fn new(trace: &Trace) -> Self {
        let trace = trace.clone();
        Self(Ahead::new(BATCHES, move |mut batches| {
            let take = |list: &Vec<_>, range: Range<usize>| batches.send(list[range].to_vec());
            Ok(trace.decode_in_order(&Lister, take)?.map(|_| ()))
        }))
    }

    /// Stops decoding. Returns totals of what was decoded, and what is missing from it or may be wrong.
    ///
    /// # Errors
    /// Fails if the trace could not be read.
    pub fn finish(self) -> Result<Outcome<()>, Error> {
        self.0.finish()
    }
}

impl Iterator for Elements {
    type Item = Traced<Element>;

    #[inline]
    fn next(&mut self) -> Option<Traced<Element>> {
        self.0.next()
    }
}

/// The blocks of a trace, in the order of the file.
#[derive(Debug)]
pub struct Blocks(pub(crate) Elements);

impl Blocks {
    /// Stops decoding. See [`Elements::finish`].
    ///
    /// # Errors
    /// Fails if the trace could not be read.
    pub fn finish(self) -> Result<Outcome<()>, Error> {
        self.0.finish()
    }
}

impl Iterator for Blocks {
    type Item = Traced<Block>;

    fn next(&mut self) -> Option<Traced<Block>> {
        self.0.find_map(|Traced { id, offset, space, value }| match value {
            Element::Block(value) => Some(Traced { id, offset, space, value }),
            _ => None,
        })
    }
}

/// An instruction that ran.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// Its instruction set.
    pub isa: Isa,
    /// Its effect on the flow.
    pub class: Class,
    of: InBlock,
}

impl Instruction {
    /// Returns its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.of.bytes[..self.of.len.into()]
    }

    /// Returns it as assembly text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        disassembly::write(&mut text, self.isa, &self.of);
        text
    }
}

impl Trace {
    /// Returns the instructions of a block.
    pub fn instructions_of(&self, block: &Block, space: MemorySpace) -> impl Iterator<Item = Instruction> {
        let isa = block.isa;
        let instructions = flow::Instructions::new(self.image(), space, block);
        instructions.map(move |of| Instruction { address: of.address, isa, class: of.class, of })
    }
}

/// The instructions of a trace, in the order of the file.
#[derive(Debug)]
pub struct Instructions {
    blocks: Blocks,
    opened: Arc<Opened>,
    block: Option<Traced<Block>>,
    instructions: vec::IntoIter<InBlock>,
}

impl Instructions {
    pub(crate) fn new(trace: &Trace) -> Self {
        let (blocks, opened) = (trace.blocks(), Arc::clone(&trace.opened));
        Self { blocks, opened, block: None, instructions: Vec::new().into_iter() }
    }

    /// Stops decoding. See [`Elements::finish`].
    ///
    /// # Errors
    /// Fails if the trace could not be read.
    pub fn finish(self) -> Result<Outcome<()>, Error> {
        self.blocks.finish()
    }
}

impl Iterator for Instructions {
    type Item = Traced<Instruction>;

    fn next(&mut self) -> Option<Traced<Instruction>> {
        loop {
            if let (Some(of), Some(Traced { id, offset, space, value })) =
                (self.instructions.next(), self.block)
            {
                let value = Instruction { address: of.address, isa: value.isa, class: of.class, of };
                return Some(Traced { id, offset, space, value });
            }
            let block = self.blocks.next()?;
            let instructions: Vec<_> =
                flow::Instructions::new(&self.opened.image, block.space, &block.value).collect();
            (self.instructions, self.block) = (instructions.into_iter(), Some(block));
        }
    }
}
