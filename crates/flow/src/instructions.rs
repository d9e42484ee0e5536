use tracewright_core::{Block, Class, Flow, MemorySpace};
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
