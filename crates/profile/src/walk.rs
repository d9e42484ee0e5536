//! All instructions of a function, whether they ran or not.

use std::ops::Range;

use tracewright_core::{Flow, Isa};
use tracewright_flow::InBlock;
use tracewright_image::CodeRange;
use tracewright_isa::{ItState, decode};

use crate::program::Program;

/// Calls `take` for each instruction of an address range of a binary with the code ranges `code`. An instruction
/// that extends beyond the range is left out.
pub fn instructions(
    program: &Program,
    binary: u32,
    range: &Range<u64>,
    code: &[CodeRange],
    mut take: impl FnMut(Isa, &InBlock),
) {
    let first = code.partition_point(|code| code.range.end <= range.start);
    for code in code[first..].iter().take_while(|code| code.range.start < range.end) {
        let range = range.start.max(code.range.start)..range.end.min(code.range.end);
        let bytes = program.image().read(range.start, program.space(binary));
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut left = &bytes[..bytes.len().min(len)];
        let mut address = range.start;
        let mut it = ItState::default();
        while let Some(instruction) = decode(code.isa, address, left, &mut it) {
            let Some((own, rest)) = left.split_at_checked(instruction.len.into()) else { break };
            let mut bytes = [0; 4];
            bytes[..own.len()].copy_from_slice(own);
            let target = (instruction.class.flow == Flow::Direct).then_some(instruction.target);
            let (len, class) = (instruction.len, instruction.class);
            take(code.isa, &InBlock { address, bytes, len, class, target });
            (address, left) = (address + u64::from(instruction.len), rest);
        }
    }
}
