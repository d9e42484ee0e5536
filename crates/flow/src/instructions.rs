use std::ops::Range;

use tracewright_core::{Block, Class, Ended, Flow, MemorySpace};
use tracewright_image::{Image, UNKNOWN_TARGET};
use tracewright_isa::ItState;

use crate::scan::instruction;

/// An iterator over the instructions of a block.
#[derive(Clone, Debug)]
pub struct Instructions<'i> {
    image: &'i Image,
    space: MemorySpace,
    block: Block,
    at: u64,
    it: ItState,
}

/// An instruction of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InBlock {
    /// Address of the instruction.
    pub address: u64,
    /// Bytes of the instruction. Those after its length are 0.
    pub bytes: [u8; 4],
    /// Length in bytes.
    pub len: u8,
    /// Effect that the instruction can have on the flow of execution.
    pub class: Class,
    /// Target of a direct branch.
    pub target: Option<u64>,
}

impl<'i> Instructions<'i> {
    /// Creates an iterator over the instructions of `block`, whose code is in `space` of `image`.
    pub fn new(image: &'i Image, space: MemorySpace, block: &Block) -> Self {
        Self { image, space, block: *block, at: block.start, it: ItState::default() }
    }
}

impl Iterator for Instructions<'_> {
    type Item = InBlock;

    fn next(&mut self) -> Option<InBlock> {
        if self.at == self.block.end {
            return None;
        }
        let found = instruction(self.image, self.space, self.at, self.block.isa, &mut self.it)?;
        let mut bytes = [0; 4];
        self.image.read_into(self.at, self.space, &mut bytes[..found.len.into()]);
        let address = self.at;
        self.at = self.at.wrapping_add(found.len.into());
        let is_told = found.class.flow == Flow::Direct && found.target != UNKNOWN_TARGET;
        let target = is_told.then_some(found.target);
        Some(InBlock { address, bytes, len: found.len, class: found.class, target })
    }
}

/// Returns the part of a block that holds the instructions with numbers `inside`; `None` if there are none.
#[inline]
#[must_use]
pub fn cut(image: &Image, space: MemorySpace, block: &Block, inside: &Range<u32>) -> Option<Block> {
    match inside {
        _ if inside.is_empty() => None,
        _ if *inside == (0..block.count) => Some(*block),
        _ => Some(cut_at(image, space, block, inside)),
    }
}

#[cold]
fn cut_at(image: &Image, space: MemorySpace, block: &Block, inside: &Range<u32>) -> Block {
    let mut part = *block;
    for (at, instruction) in (0..block.count).zip(Instructions::new(image, space, block)) {
        if at == inside.start {
            part.start = instruction.address;
        }
        if at + 1 == inside.end && inside.end < block.count {
            part.end = instruction.address.wrapping_add(instruction.len.into());
            (part.last_len, part.class, part.ended) = (instruction.len, instruction.class, Ended::Cut);
        }
    }
    part.count = inside.end.min(block.count).saturating_sub(inside.start);
    part
}
