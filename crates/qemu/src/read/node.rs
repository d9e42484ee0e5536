use tracewright_core::{Block, Ended};

use super::definitions::{Definitions, Translation};
use crate::format::Successors;

/// A translation as one thread runs it, with everything that the next step needs in one place.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Node {
    /// Its only block, if it is simple.
    pub block: Block,
    /// Nodes that came after it.
    pub successors: Successors,
    /// For each of them, why the block ended, if reporting the block is all there is to do before `next`.
    pub ended: [Option<Ended>; 2],
    /// Nodes of these successors.
    pub next: [u32; 2],
    /// Set if it is one block, which ends with it, and all its instructions are known.
    pub is_simple: bool,
    /// Number of the translation.
    pub translation: u32,
    /// Index of its first instruction among all bits.
    pub first_bits: usize,
}

impl Node {
    pub fn new(number: u32, translation: &Translation, definitions: &Definitions) -> Self {
        let Translation { start, end, isa, count, is_whole, trapping, first_bits, .. } = *translation;
        let class = tracewright_core::Class::NEXT;
        let empty = Block { start, end, count, isa, last_len: isa.shortest(), class, ended: Ended::Cut };
        let runs = definitions.runs(translation);
        let only =
            runs.first().filter(|run| runs.len() == 1 && run.ends_block() && is_whole && trapping.is_none());
        Self {
            block: only.map_or(empty, |run| run.block),
            successors: Successors::default(),
            ended: [None; 2],
            next: [0; 2],
            is_simple: only.is_some(),
            translation: number,
            first_bits,
        }
    }
}
