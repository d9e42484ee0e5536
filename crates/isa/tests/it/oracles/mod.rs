//! The decoder against independent oracles: Arm's machine-readable specification ([`arm`]) and a disassembler made
//! from LLVM's tables ([`disassembler`]). Only the differences in DIFFERENCES.md are allowed.

mod arm;
pub mod differences;
mod disassembler;
mod words;

use tracewright_core::{Flow, Isa, Role};
use tracewright_isa::{Instruction, ItState, decode};

/// The properties that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct View {
    len: u8,
    flow: Flow,
    role: Role,
    conditional: bool,
    /// Target of a direct branch, otherwise 0.
    target: u64,
}

fn view(instruction: Instruction) -> View {
    let Instruction { len, class, target, .. } = instruction;
    View { len, flow: class.flow, role: class.role, conditional: class.conditional, target }
}

/// Returns the bytes of `word`, whose upper half is the first halfword in T32.
fn bytes(isa: Isa, word: u32) -> [u8; 4] {
    (if isa == Isa::T32 { word.rotate_left(16) } else { word }).to_le_bytes()
}

fn ours(isa: Isa, address: u64, word: u32) -> View {
    view(decode(isa, address, &bytes(isa, word), &mut ItState::default()).expect("four bytes are enough"))
}
