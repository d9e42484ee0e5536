//! Iterators over what was decoded. A thread decodes ahead; it stops when the iterator is dropped.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::vec;

use tracewright_core::{Block, Class, Element, Isa, MemorySpace};
use tracewright_engine::{At, Consumer};
use tracewright_flow::{self as flow, InBlock};

use crate::disassembly;
use crate::error::Error;
use crate::trace::{Opened, Outcome, Trace};

/// Batches of elements that may wait: bounds memory.
const WAITING: usize = 4;

/// An element, and where it is from.
#[derive(Clone, Copy, Debug)]
pub struct Traced<T> {
    /// Number of the source in its buffer: the trace ID, or E-Trace's srcID.
    pub id: u16,
    /// Offset in the trace file of the packet that told it.
    pub offset: u64,
    /// Memory space of the code.
    pub space: MemorySpace,
    /// What it is.
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

/// All elements of a trace, in the order of the file.
#[derive(Debug)]
pub struct Elements {
    batches: Option<Receiver<Vec<Traced<Element>>>>,
    batch: vec::IntoIter<Traced<Element>>,
    thread: Option<JoinHandle<Result<Outcome<()>, Error>>>,
}

impl Elements {
    pub(crate) fn new(trace: &Trace) -> Self {
        let (to, batches) = sync_channel(WAITING);
        let trace = trace.clone();
        let decode = move || {
            let take = |list: &Vec<_>, range: std::ops::Range<usize>| match to.send(list[range].to_vec()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            Ok(trace.run(&Lister, true, take)?.map(|_| ()))
        };
        Self { batches: Some(batches), batch: Vec::new().into_iter(), thread: Some(thread::spawn(decode)) }
    }

    /// Stops decoding. Returns what was decoded and what was wrong with it.
    ///
    /// # Errors
    /// Fails if the trace could not be read.
    ///
    /// # Panics
    /// Panics if decoding did.
    pub fn finish(mut self) -> Result<Outcome<()>, Error> {
        // The decoder sees that nobody takes more.
        self.batches = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Outcome::default()),
        }
    }
}

impl Iterator for Elements {
    type Item = Traced<Element>;

    #[inline]
    fn next(&mut self) -> Option<Traced<Element>> {
        loop {
            if let Some(element) = self.batch.next() {
                return Some(element);
            }
            self.batch = self.batches.as_ref()?.recv().ok()?.into_iter();
        }
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
    /// What it can do to the flow.
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
