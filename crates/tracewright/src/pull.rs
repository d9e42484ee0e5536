//! Iterators over a decoded trace. A thread decodes ahead; it stops when the iterator is dropped.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::vec;

use tracewright_core::{Block, Class, Element, Isa, MemorySpace};
use tracewright_engine::{At, Consumer, Found, Line, Visitor};
use tracewright_flow::{self as flow, InBlock};

use crate::disassembly;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::trace::{Opened, Trace};

/// Most batches that wait to be taken: bounds memory.
const WAITING: usize = 4;

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

/// Items that another thread reads ahead.
#[derive(Debug)]
struct Ahead<T> {
    batches: Option<Receiver<Vec<T>>>,
    batch: vec::IntoIter<T>,
    thread: Option<JoinHandle<Result<Outcome<()>, Error>>>,
}

impl<T: Send + 'static> Ahead<T> {
    /// Runs `read` on a thread. `read` passes batches to its second argument, which returns whether more are wanted.
    fn new(
        trace: &Trace,
        read: impl FnOnce(Trace, &mut (dyn FnMut(Vec<T>) -> ControlFlow<()> + Send)) -> Result<Outcome<()>, Error>
        + Send
        + 'static,
    ) -> Self {
        let (to, batches) = sync_channel(WAITING);
        let trace = trace.clone();
        let mut send = move |batch| match to.send(batch) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let thread = Some(thread::spawn(move || read(trace, &mut send)));
        Self { batches: Some(batches), batch: Vec::new().into_iter(), thread }
    }

    fn next(&mut self) -> Option<T> {
        loop {
            if let Some(next) = self.batch.next() {
                return Some(next);
            }
            self.batch = self.batches.as_ref()?.recv().ok()?.into_iter();
        }
    }

    fn finish(mut self) -> Result<Outcome<()>, Error> {
        // Sending fails from here on, so decoding stops.
        self.batches = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Outcome::default()),
        }
    }
}

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
pub struct Packets(Ahead<Packet>);

/// Packets of a batch.
const BATCH: usize = 1024;

/// Gathers packets in batches.
struct Gather<'s> {
    batch: Vec<Packet>,
    line: Line,
    send: &'s mut (dyn FnMut(Vec<Packet>) -> ControlFlow<()> + Send),
    is_done: bool,
}

impl Gather<'_> {
    fn send(&mut self) {
        self.is_done |= (self.send)(std::mem::take(&mut self.batch)).is_break();
    }
}

impl Visitor for Gather<'_> {
    fn packet(&mut self, found: &Found<'_>) {
        self.line.clear();
        found.packet.words(&mut self.line);
        self.batch.push(Packet {
            id: found.source.map(|source| source.id),
            offset: found.place.offset,
            bytes: found.bytes.to_vec(),
            kind: found.kind.name,
            text: String::from_utf8_lossy(self.line.bytes()).into_owned(),
        });
        if self.batch.len() == BATCH {
            self.send();
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}

impl Packets {
    pub(crate) fn new(trace: &Trace) -> Self {
        Self(Ahead::new(trace, |trace, send| {
            let mut gather = Gather { batch: Vec::new(), line: Line::default(), send, is_done: false };
            let outcome = trace.read_packets(&mut gather);
            gather.send();
            outcome
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
pub struct Elements(Ahead<Traced<Element>>);

impl Elements {
    pub(crate) fn new(trace: &Trace) -> Self {
        Self(Ahead::new(trace, |trace, send| {
            let take = |list: &Vec<_>, range: std::ops::Range<usize>| send(list[range].to_vec());
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
