//! Random RV64GC programs with Zba, Zbb and Zbs for Linux.
//!
//! A program initialises all registers, computes, calls, loops and jumps in ways that end by construction, then writes all its
//! data, including its registers, to standard output and exits with a status folded from the registers. One register holds a
//! digest of intermediate results: machines that agree about the output agree about most of what happened.
//!
//! Nothing depends on what the specification leaves open, on the initial stack and registers, or on time. The encoder
//! is its own ([`asm`]), a second opinion on `tracewright-isa`.
//!
//! ```
//! use tracewright_testkit::{Rng, riscv};
//!
//! let program = riscv::generate(&mut Rng::new(1));
//! assert_eq!(program.elf()[..4], *b"\x7fELF");
//! assert_eq!(program.instruction(program.entry).unwrap().mnemonic, "auipc");
//! ```

pub mod asm;
mod builder;
mod code;
mod elf;
mod flow;
mod harness;
mod memory;
mod straight;
mod table;
mod values;
pub mod walk;

use builder::Builder;
use code::{Code, Symbol};
use elf::Segment;
pub use table::mnemonics;

use crate::Rng;

/// Approximate number of instructions of a program, without those that begin and end it.
const SIZE: usize = 1000;
/// Approximate maximum number of executed instructions, without those that begin and end it.
const STEPS: u64 = 20_000;

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Entry address.
    pub entry: u64,
    /// Address of the code.
    pub code_address: u64,
    /// Code: instructions, tables of addresses, and bytes that are neither.
    pub code: Vec<u8>,
    /// Address of the data.
    pub data_address: u64,
    /// Initial data; the rest up to [`output_len`](Self::output_len) is zero.
    pub data: Vec<u8>,
    /// Maximum number of executed instructions.
    pub most_steps: u64,
    instructions: Vec<Instruction>,
}

/// An instruction of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Address.
    pub address: u64,
    /// Encoding.
    pub bits: u32,
    /// Length in bytes: 2 or 4.
    pub len: u8,
    /// Mnemonic, as in `objdump -M no-aliases`, without the suffixes for ordering.
    pub mnemonic: &'static str,
}

impl Program {
    /// Returns the program as a static executable.
    pub fn elf(&self) -> Vec<u8> {
        let (code, data) = (&self.code[..], &self.data[..]);
        let segments = [
            Segment { address: self.code_address, bytes: code, len: code.len(), flags: elf::READ_EXECUTE },
            Segment {
                address: self.data_address,
                bytes: data,
                len: self.output_len(),
                flags: elf::READ_WRITE,
            },
        ];
        elf::write(self.entry, &segments)
    }

    /// Returns the number of bytes that it writes.
    pub fn output_len(&self) -> usize {
        harness::LEN
    }

    /// Returns the exit status for this output; `None` if the output is too short.
    pub fn status(output: &[u8]) -> Option<u8> {
        harness::registers(output).map(harness::status)
    }

    /// Returns the registers in the output: x0 to x31, f0 to f31, `fcsr`.
    pub fn registers(output: &[u8]) -> Option<Vec<u64>> {
        let words = harness::registers(output)?.chunks_exact(8);
        Some(words.map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect())
    }

    /// Returns its instructions, sorted by address.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Returns the instruction at an address.
    pub fn instruction(&self, address: u64) -> Option<&Instruction> {
        let at = self.instructions.binary_search_by_key(&address, |instruction| instruction.address).ok()?;
        Some(&self.instructions[at])
    }
}

/// Generates a random program, which is the same for the same `rng` forever.
pub fn generate(rng: &mut Rng) -> Program {
    // Low and high, and where addresses need 32, 33 or more bits; not always at the start of a page.
    let page = *rng.pick(&[0x1_0000, 0x40_0000, 0x7fff_e000, 0xffff_e000, 0x12_3456_7000]);
    let code_address: u64 = page + 2 * rng.below(1000);
    let gap = *rng.pick(&[0x1000, 0x10_0000, 0x1000_0000]);

    let mut builder = Builder::new(rng, page < 0x7000_0000);
    let count = builder.between(3, 10) as usize;
    let size = SIZE / (count + 1);
    for number in 0..count {
        builder.function(size, (STEPS / 100) << number.min(5));
    }
    let mut main = Code::default();
    harness::begin(&mut builder, &mut main);
    while main.items.len() < size + 80 || main.cost < STEPS / 4 {
        main.append(&builder.body(size, STEPS, 0, true));
    }
    // Every function runs, whatever the branches did.
    builder.call_all(&mut main);
    harness::end(&mut builder, &mut main);
    let most_steps = main.cost;

    let mut pieces: Vec<Code> = builder.functions.into_iter().map(|function| function.code).collect();
    pieces.push(main);
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
    let mut starts = vec![0; pieces.len()];
    let mut end = code_address;
    for &piece in &order {
        starts[piece] = end;
        end += pieces[piece].bytes as u64;
    }
    let data_address = (end + gap).next_multiple_of(0x1000) + 16 * rng.below(100);
    let base = data_address.wrapping_add_signed(-i64::from(harness::INTEGERS));
    let address_of = |symbol| match symbol {
        Symbol::Function(number) => starts[number],
        Symbol::Data(offset) => base.wrapping_add_signed(offset.into()),
        Symbol::Item(_) => unreachable!("the code itself knows its items"),
    };

    let (mut code, mut instructions) = (Vec::new(), Vec::new());
    for piece in order {
        pieces[piece].place(starts[piece], address_of);
        for item in &pieces[piece].items {
            let address = code_address + code.len() as u64;
            if !item.name.is_empty() {
                let (bits, len, mnemonic) = (item.bits as u32, item.len, item.name);
                instructions.push(Instruction { address, bits, len, mnemonic });
            }
            code.extend(&item.bits.to_le_bytes()[..item.len.into()]);
        }
    }
    let entry = starts[pieces.len() - 1];
    let data = harness::data(rng);
    Program { entry, code_address, code, data_address, data, most_steps, instructions }
}
