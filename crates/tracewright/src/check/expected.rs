//! The expected execution: a log or a machine, read on a thread of its own.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::vec;

use tracewright_core::Block;
use tracewright_hart::{self as hart, Access, HartSink, Privilege};

use super::item::{Item, Mode, Trap};

/// Items of a batch, and the most batches that wait: bounds memory.
const BATCH: usize = 4096;
const WAITING: usize = 16;

/// A sink that sends what runs to the comparison, in batches.
#[derive(Debug)]
pub struct Items {
    batch: Vec<Item>,
    to: SyncSender<Vec<Item>>,
    knows: Knows,
}

/// Facts that the log has and that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knows {
    /// Whether values of traps are compared.
    pub values: bool,
    /// Whether traps say that they are interrupts, which have numbers of their own (RISC-V).
    pub interrupts: bool,
    /// Bits of a context that the trace has.
    pub context: u64,
    /// Whether accesses are compared.
    pub data: bool,
}

impl Items {
    fn push(&mut self, item: Item) {
        self.batch.push(item);
        if self.batch.len() == BATCH {
            self.send();
        }
    }

    fn send(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        // Fails if the comparison has ended.
        let _ = self.to.send(batch);
    }
}

impl HartSink for Items {
    const ACCESSES: bool = true;

    #[inline]
    fn block(&mut self, block: &Block) {
        self.push(Item::Run(block.into()));
    }

    fn access(&mut self, access: &Access) {
        if self.knows.data {
            self.push(Item::Data(access.into()));
        }
    }

    fn trap(&mut self, trap: &hart::Trap) {
        let &hart::Trap { pc, cause, interrupt, value, .. } = trap;
        let value = (self.knows.values && !interrupt).then_some(value);
        let interrupt = interrupt && self.knows.interrupts;
        self.push(Item::Trap(Trap { pc: Some(pc), cause, interrupt, value }));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.push(Item::Mode(Mode { privilege: Some(privilege as u8), context: None }));
    }

    fn context(&mut self, context: u64) {
        self.push(Item::Mode(Mode { privilege: None, context: Some(context & self.knows.context) }));
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        self.send();
    }
}

/// The receiving end: items in order.
#[derive(Debug)]
pub struct Expected {
    from: Receiver<Vec<Item>>,
    batch: vec::IntoIter<Item>,
    thread: Option<JoinHandle<Option<String>>>,
    /// Why the log could not be read to its end, once it has ended.
    pub error: Option<String>,
}

impl Expected {
    /// Runs `tell` on a thread of its own. It passes items to a sink, and returns what is wrong with the log, if anything.
    pub fn new(knows: Knows, tell: impl FnOnce(Items) -> Option<String> + Send + 'static) -> Self {
        let (to, from) = sync_channel(WAITING);
        let items = Items { batch: Vec::with_capacity(BATCH), to, knows };
        let thread = Some(std::thread::spawn(move || tell(items)));
        Self { from, batch: Vec::new().into_iter(), thread, error: None }
    }
}

impl Iterator for Expected {
    type Item = Item;

    #[inline]
    fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.batch.next() {
                return Some(item);
            }
            match self.from.recv() {
                Ok(batch) => self.batch = batch.into_iter(),
                Err(_) => {
                    let failed = || Some("reading it failed".to_owned());
                    self.error = self
                        .thread
                        .take()
                        .map_or(self.error.take(), |thread| thread.join().unwrap_or_else(|_| failed()));
                    return None;
                }
            }
        }
    }
}
