use tracewright_core::{Block, Class, DataAccess, Ended, Flow, Isa};
use tracewright_isa::{ItState, riscv, t32};

use crate::{Access, HartSink};

/// Reports for the current block. Buffers grow to the longest block; nothing is allocated after that.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub bits: Vec<u32>,
    pub accesses: Vec<Access>,
    pub data: Vec<(u64, DataAccess)>,
    pub cycles: Vec<u64>,
}

/// Part of a block: index and address of the first instruction, and of the one after the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub first: u32,
    pub start: u64,
    pub behind: u32,
    pub end: u64,
    pub last_len: u8,
}

impl Told {
    pub fn clear(&mut self) {
        self.bits.clear();
        self.accesses.clear();
        self.data.clear();
        self.cycles.clear();
    }

    /// Passes on everything, then the block.
    #[inline]
    pub fn all<S: HartSink>(&self, block: &Block, sink: &mut S) {
        if S::INSTRUCTIONS && !self.bits.is_empty() {
            sink.instructions(&self.bits);
        }
        if S::ACCESSES {
            self.accesses.iter().for_each(|access| sink.access(access));
        }
        if S::DATA {
            self.data.iter().for_each(|(pc, access)| sink.data(*pc, access));
        }
        if S::CYCLES && !self.cycles.is_empty() {
            sink.cycles(&self.cycles);
        }
        sink.block(block);
    }

    /// Passes on a part of the block.
    pub fn part<S: HartSink>(&self, block: &Block, part: Part, sink: &mut S) {
        let Part { first, start, behind, end, last_len } = part;
        let range = first as usize..behind as usize;
        if S::INSTRUCTIONS
            && let Some(bits) = self.bits.get(range.clone())
        {
            sink.instructions(bits);
        }
        if S::ACCESSES {
            for access in self.accesses.iter().filter(|access| (first..behind).contains(&access.index)) {
                sink.access(&Access { index: access.index - first, ..*access });
            }
        }
        if S::DATA {
            let len = end.wrapping_sub(start);
            for (pc, access) in self.data.iter().filter(|(pc, _)| pc.wrapping_sub(start) < len) {
                sink.data(*pc, access);
            }
        }
        if S::CYCLES
            && let Some(cycles) = self.cycles.get(range)
        {
            sink.cycles(cycles);
        }
        let count = behind - first;
        let is_end = behind == block.count;
        let (class, ended) = match (is_end, block.class.flow) {
            (false, _) => (Class::NEXT, Ended::Cut),
            // Half a pair is an ordinary indirect branch.
            (true, Flow::Pair) if count == 1 => (Class { flow: Flow::Indirect, ..block.class }, block.ended),
            (true, _) => (block.class, block.ended),
        };
        sink.block(&Block { start, end, count, isa: block.isa, last_len, class, ended });
    }

    /// Returns whether a part that begins with this instruction ends in a T32 branch that is conditional only by an IT
    /// instruction before the part. Read alone, the part would look unconditional.
    pub fn lacks_it(&self, block: &Block, first: u32) -> bool {
        if block.isa != Isa::T32 || !block.class.is_branch() || !block.class.conditional {
            return false;
        }
        // An IT block has at most four instructions, and a branch is its last.
        let before = block.count.saturating_sub(5).min(first) as usize..first as usize;
        let is_it = |bits: &u32| bits & 0xffff_ff00 == 0xbf00 && bits & 0xf != 0;
        let Some(&bits) = self.bits.get(block.count as usize - 1) else { return false };
        let alone =
            t32::decode(block.last(), if bits > 0xffff { bits } else { bits << 16 }, &mut ItState::default());
        self.bits.get(before).is_some_and(|bits| bits.iter().any(is_it)) && !alone.class.conditional
    }

    /// Returns the length of an instruction of the block, if known. `code` returns the bits at an address.
    pub fn len(
        &self,
        block: &Block,
        index: u32,
        pc: u64,
        code: &mut Option<impl FnMut(u64) -> Option<u32>>,
    ) -> Option<u8> {
        if index + 1 == block.count {
            return Some(block.last_len);
        }
        if block.isa.shortest() == 4 {
            return Some(4);
        }
        let bits = match self.bits.len() == block.count as usize {
            true => self.bits[index as usize],
            false => code.as_mut()?(pc)?,
        };
        Some(match block.isa {
            Isa::T32 if bits > 0xffff => 4,
            Isa::T32 => 2,
            _ => riscv::len(bits as u16),
        })
    }
}

/// Returns the address `len` bytes further on.
pub(super) fn behind(isa: Isa, pc: u64, len: u8) -> u64 {
    let address = pc.wrapping_add(len.into());
    match isa {
        Isa::A64 | Isa::Rv64 => address,
        Isa::A32 | Isa::T32 | Isa::Rv32 => address & 0xffff_ffff,
    }
}
