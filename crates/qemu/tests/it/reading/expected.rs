//! Expected reports to a sink, computed instruction by instruction.

use tracewright_core::{Block, Class, Ended, Flow, Isa};
use tracewright_hart::{Access, HartSink, Privilege, Trap};

/// A report to a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Block(Block, Vec<u32>, Vec<Access>),
    Trap(Trap),
    Lost,
    Context(u64),
    Privilege(Privilege),
}

/// Collects all reports; or, by the fast path of the reader, all but instructions and accesses.
#[derive(Debug, Default)]
pub struct Collected<const ALL: bool> {
    pub told: Vec<Told>,
    bits: Vec<u32>,
    accesses: Vec<Access>,
}

pub type Everything = Collected<true>;
pub type Plain = Collected<false>;

impl<const ALL: bool> HartSink for Collected<ALL> {
    const ACCESSES: bool = ALL;
    const INSTRUCTIONS: bool = ALL;

    fn block(&mut self, block: &Block) {
        let (bits, accesses) = (std::mem::take(&mut self.bits), std::mem::take(&mut self.accesses));
        self.told.push(Told::Block(*block, bits, accesses));
    }

    fn access(&mut self, access: &Access) {
        self.accesses.push(*access);
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend(bits);
    }

    fn trap(&mut self, trap: &Trap) {
        self.told.push(Told::Trap(*trap));
    }

    fn lost(&mut self) {
        self.told.push(Told::Lost);
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.told.push(Told::Privilege(privilege));
    }

    fn context(&mut self, context: u64) {
        self.told.push(Told::Context(context));
    }
}

/// A retired instruction.
#[derive(Clone, Debug)]
pub struct Step {
    pub isa: Isa,
    pub at: u64,
    pub len: u8,
    pub bits: u32,
    pub class: Class,
    pub accesses: Vec<Access>,
}

/// Makes blocks of instructions.
#[derive(Debug, Default)]
pub struct Expected {
    pub told: Vec<Told>,
    run: Vec<Step>,
    /// Set if what came after the last block has begun, though nothing of it retired.
    pub has_begun: bool,
}

impl Expected {
    pub fn retire(&mut self, step: Step) {
        assert!(self.run.last().is_none_or(|last| last.at + u64::from(last.len) == step.at));
        self.run.push(step);
    }

    /// Returns the last retired instruction.
    pub fn last(&self) -> Option<&Step> {
        self.run.last()
    }

    /// Ends the block, if there is one.
    pub fn end(&mut self, ended: Ended) {
        let Some(last) = self.run.last() else { return };
        let block = Block {
            start: self.run[0].at,
            end: last.at + u64::from(last.len),
            count: self.run.len() as u32,
            isa: last.isa,
            last_len: last.len,
            class: last.class,
            ended,
        };
        let bits = self.run.iter().map(|step| step.bits).collect();
        let accesses = (0..)
            .zip(&self.run)
            .flat_map(|(index, step)| step.accesses.iter().map(move |access| Access { index, ..*access }));
        let accesses = accesses.collect();
        self.told.push(Told::Block(block, bits, accesses));
        self.run.clear();
        self.has_begun = false;
    }

    /// Returns whether instructions were the last event.
    pub fn is_running(&self) -> bool {
        !self.run.is_empty() || matches!(self.told.last(), Some(Told::Block(..)))
    }

    /// Ends everything: not even the outcome of a conditional branch at the very end is known.
    pub fn stop(&mut self) {
        self.cut();
        if let Some(Told::Block(block, ..)) = self.told.last_mut()
            && block.class.is_branch()
            && block.class.conditional
            && !self.has_begun
        {
            block.ended = Ended::Cut;
        }
    }

    /// Ends the block in an unknown way.
    pub fn cut(&mut self) {
        let Some(Class { flow, conditional, .. }) = self.run.last().map(|step| step.class) else { return };
        self.end(match flow {
            Flow::Next => Ended::Cut,
            Flow::Isb | Flow::Wait | Flow::TransactionStart => Ended::Through,
            _ if conditional => Ended::Cut,
            _ => Ended::Taken,
        });
    }
}

/// Removes what [`Plain`] does not ask for.
pub fn plain(told: &[Told]) -> Vec<Told> {
    let plain = |told: &Told| match told {
        Told::Block(block, ..) => Told::Block(*block, Vec::new(), Vec::new()),
        other => other.clone(),
    };
    told.iter().map(plain).collect()
}
