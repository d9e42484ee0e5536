//! All instructions of a function, whether they ran or not.

use std::collections::BTreeMap;
use std::ops::Range;

use tracewright_core::{Flow, Isa};
use tracewright_flow::InBlock;
use tracewright_flow::hash::HashMap;
use tracewright_image::{CodeRange, Frame};
use tracewright_isa::{ItState, decode};

use crate::counts::Place;
use crate::coverage::Ran;
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

/// Finds the symbols that a source function is inlined into. Returns for each symbol how many instructions of the
/// inlined function ran there, according to `ran`, which is indexed by binary.
pub fn inlined_into<'p>(binaries: &[(u32, &'p Program)], ran: &[Ran], name: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for &(binary, program) in binaries {
        let Some(file) = program.file(binary) else { continue };
        let code = file.code();
        let ran = ran.get(binary as usize);
        // Whether a function is the wanted one, by linkage name or else by display name.
        let mut known: HashMap<&'p str, bool> = HashMap::default();
        let mut is_it = |frame: &Frame<'p>| {
            let key = frame.linkage.or(frame.function);
            key.is_some_and(|key| *known.entry(key).or_insert_with(|| frame.is_called(name)))
        };
        for part in file.functions() {
            instructions(program, binary, &part.range, &code, |_, instruction| {
                let address = instruction.address;
                let frames = program.frames(Place { binary, address });
                let inlined = frames.split_last().map_or(&[][..], |(_, inlined)| inlined);
                if inlined.iter().any(&mut is_it) {
                    let into = part.name.strip_suffix(".cold").unwrap_or(part.name);
                    let sum: &mut u64 = found.entry(into.to_owned()).or_default();
                    *sum = sum.saturating_add(ran.map_or(0, |ran| ran.at(address)));
                }
            });
        }
    }
    found
}
