//! The expected execution: a log or a machine, read on a thread of its own.

use tracewright_core::Block;
use tracewright_hart::{self as hart, Access, HartSink, Privilege};

use super::item::{Item, Mode, Trap};
use crate::ahead::{Ahead, Batches};

/// Items of a batch, and the most batches that wait to be compared.
const BATCHES: (usize, usize) = (4096, 16);

/// A sink that sends what runs to the comparison, in batches.
#[derive(Debug)]
pub struct Items {
    batches: Batches<Item>,
    knows: Knows,
}

/// Facts that the log has and that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Knows {
    /// Whether values of traps are compared.
    pub values: bool,
    /// Whether traps say that they are interrupts, which have numbers of their own (RISC-V).
    pub interrupts: bool,
    /// Bits of a context that the trace has.
    pub context: u64,
    /// Whether accesses are compared.
    pub data: bool,
    /// What turns the log's numbers of exceptions into those of the trace.
    pub exceptions: fn(u16) -> u16,
}

/// The items of a log, in order, and why the log could not be read to its end.
pub type Expected = Ahead<Item, Option<String>>;

/// Reads a log on a thread of its own. `tell` passes items to a sink, and returns what is wrong with the log, if anything.
pub fn read_ahead(knows: Knows, tell: impl FnOnce(Items) -> Option<String> + Send + 'static) -> Expected {
    Ahead::new(BATCHES, move |batches| tell(Items { batches, knows }))
}

/// Returns why a log could not be read to its end; `None` as well if its end was not reached.
pub fn error(log: Expected) -> Option<String> {
    log.result_at_end()?.unwrap_or_else(|_| Some("reading it failed".to_owned()))
}

impl HartSink for Items {
    const ACCESSES: bool = true;

    #[inline]
    fn block(&mut self, block: &Block) {
        self.batches.push(Item::Run(block.into()));
    }

    fn access(&mut self, access: &Access) {
        if self.knows.data {
            self.batches.push(Item::Data(access.into()));
        }
    }

    fn trap(&mut self, trap: &hart::Trap) {
        let &hart::Trap { pc, cause, interrupt, value, .. } = trap;
        let value = (self.knows.values && !interrupt).then_some(value);
        let interrupt = interrupt && self.knows.interrupts;
        let cause = u16::try_from(cause).map_or(cause, |number| (self.knows.exceptions)(number).into());
        self.batches.push(Item::Trap(Trap { pc: Some(pc), cause, interrupt, value }));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.batches.push(Item::Mode(Mode { privilege: Some(privilege as u8), context: None }));
    }

    fn context(&mut self, context: u64) {
        self.batches.push(Item::Mode(Mode { privilege: None, context: Some(context & self.knows.context) }));
    }
}
