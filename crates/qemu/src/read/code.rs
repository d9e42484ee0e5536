//! Instructions of the log, and runs of them.

use tracewright_core::{Block, Ended, Flow, Isa};
use tracewright_isa::{Instruction, ItState, a32, a64, riscv, t32};

use super::trapping::{is_riscv, xlen};

/// Consecutive instructions of which only the last may end a block, with details of that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The block so far. Its end is not known yet.
    pub block: Block,
    /// Target of the last instruction if it is a direct branch.
    pub target: u64,
    /// Instruction set at the target.
    pub target_isa: Isa,
    /// Bits of the last instruction.
    pub bits: u32,
    /// T32's IT block after it.
    pub it: ItState,
}

impl Run {
    /// Creates a run of a single instruction.
    pub fn of(isa: Isa, address: u64, bits: u32, it: &mut ItState) -> Self {
        let Instruction { len, class, target, target_isa } = decode(isa, address, bits, it);
        let end = wrapped(isa, address.wrapping_add(len.into()));
        let block = Block { start: address, end, count: 1, isa, last_len: len, class, ended: Ended::Cut };
        Self { block, target, target_isa, bits, it: *it }
    }

    /// Appends the run right behind.
    pub fn join(&mut self, next: &Self) {
        let Block { end, count, isa, last_len, mut class, .. } = next.block;
        let mut target = next.target;
        if count == 1
            && class.flow == Flow::Indirect
            && let Some(paired) = self.paired(next)
        {
            (class.flow, target) = (Flow::Pair, paired);
        }
        let Block { start, count: before, .. } = self.block;
        let count = before.saturating_add(count);
        *self = Self {
            block: Block { start, end, count, isa, last_len, class, ended: Ended::Cut },
            target,
            ..*next
        };
    }

    /// Returns the target of the jump `next` if the last instruction determines it (RISC-V).
    fn paired(&self, next: &Self) -> Option<u64> {
        let isa = next.block.isa;
        if !is_riscv(isa) {
            return None;
        }
        let xlen = xlen(isa);
        let (first, second) = (riscv::decode(xlen, self.bits), riscv::decode(xlen, next.bits));
        let target = riscv::sequentially_inferable(&first, self.block.last(), &second)?;
        Some(wrapped(isa, target))
    }

    pub fn ends_block(&self) -> bool {
        self.block.class.ends_block()
    }

    /// Returns the block with this end.
    pub fn ended(&self, ended: Ended) -> Block {
        Block { ended, ..self.block }
    }
}

/// Decodes an instruction: 16-bit ones in the low half, a 32-bit one of T32 with its first halfword in the high half.
pub(super) fn decode(isa: Isa, address: u64, bits: u32, it: &mut ItState) -> Instruction {
    match isa {
        Isa::A64 => a64::decode(address, bits),
        Isa::A32 => a32::decode(address, bits),
        Isa::T32 => t32::decode(address, if bits > 0xffff { bits } else { bits << 16 }, it),
        Isa::Rv32 | Isa::Rv64 => {
            let found = riscv::decode(xlen(isa), bits);
            let target = wrapped(isa, found.target(address));
            Instruction { len: found.len, class: found.class(), target, target_isa: isa }
        }
    }
}

/// Returns the bits of the instruction at the start of `code`, and its length; `None` if it is incomplete.
pub(super) fn bits(isa: Isa, code: &[u8]) -> Option<(u32, usize)> {
    let word = || code.first_chunk().copied().map(u32::from_le_bytes);
    let first = u16::from_le_bytes(*code.first_chunk()?);
    Some(match (isa, len(isa, first)) {
        (_, 2) => (first.into(), 2),
        (Isa::T32, _) => (word()?.rotate_left(16), 4),
        _ => (word()?, 4),
    })
}

/// Returns the bytes of an instruction.
pub(super) fn bytes(isa: Isa, bits: u32) -> ([u8; 4], usize) {
    let halves_swapped = isa == Isa::T32 && bits > 0xffff;
    let bytes = if halves_swapped { bits.rotate_left(16) } else { bits };
    (bytes.to_le_bytes(), len_of(isa, bits).into())
}

/// Returns the length of an instruction.
pub(super) fn len_of(isa: Isa, bits: u32) -> u8 {
    match isa {
        Isa::T32 if bits > 0xffff => 4,
        Isa::T32 => 2,
        _ => len(isa, bits as u16),
    }
}

fn len(isa: Isa, first: u16) -> u8 {
    match isa {
        Isa::A64 | Isa::A32 => 4,
        Isa::T32 => t32::len(first),
        Isa::Rv32 | Isa::Rv64 => riscv::len(first),
    }
}

/// Wraps an address of a 32-bit processor.
pub(super) fn wrapped(isa: Isa, address: u64) -> u64 {
    match isa {
        Isa::A64 | Isa::Rv64 => address,
        Isa::A32 | Isa::T32 | Isa::Rv32 => address & 0xffff_ffff,
    }
}
