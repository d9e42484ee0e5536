//! Decoded instructions for the model, and a cache of them.

use tracewright_isa::riscv::{self, AccessKind, IType, Instruction, Op, Xlen};

use super::{Config, Reason};
use crate::float::registers;

/// An instruction as the model sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded {
    bits: u32,
    pub kind: Kind,
    /// Unit that executes it.
    pub unit: Unit,
    /// Stall reason of the users of its result.
    pub reason: Reason,
    pub len: u8,
    /// Source registers; floating-point ones are 32 and above. 0 for none, which is always ready.
    pub sources: [u8; 3],
    /// Destination register, or [`NOWHERE`].
    pub destination: u8,
    /// Cycles to the result.
    pub latency: u16,
    /// Cycles for which the unit cannot begin another instruction.
    pub busy: u16,
    /// Offset of a direct branch.
    pub offset: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Load,
    Store,
    /// An atomic operation or SC: reads and writes, and waits for earlier stores.
    Atomic,
    /// A CSR access or privileged instruction, which has the pipeline to itself.
    System,
    /// Like `System`, and waits for memory.
    Fence,
    /// Like `Fence`, and discards what was fetched.
    FenceI,
    /// A branch, by its type in E-Trace.
    Branch(IType),
}

/// Execution unit. [`Unit::Alu`] is always available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Unit {
    Alu,
    Memory,
    Branch,
    Multiply,
    Divide,
    Float,
    FloatDivide,
    System,
}

pub(super) const UNITS: usize = 8;

/// A register that nothing reads.
pub(super) const NOWHERE: u8 = 64;

/// Returns the unit, the latency, and the stall reason. Loads and atomics are handled before.
const fn unit(op: Op, config: &Config) -> (Unit, u32, Reason) {
    use Op::*;
    use Reason::{Float as Floating, MultiplyDivide};
    match op {
        Mul | Mulh | Mulhsu | Mulhu | Mulw => (Unit::Multiply, config.multiply, MultiplyDivide),
        Div | Divu | Rem | Remu => (Unit::Divide, config.divide, MultiplyDivide),
        Divw | Divuw | Remw | Remuw => (Unit::Divide, config.divide_word, MultiplyDivide),
        FaddS | FsubS | FaddD | FsubD => (Unit::Float, config.float_add, Floating),
        FmulS | FmulD => (Unit::Float, config.float_multiply, Floating),
        FmaddS | FmsubS | FnmsubS | FnmaddS | FmaddD | FmsubD | FnmsubD | FnmaddD => {
            (Unit::Float, config.float_fused, Floating)
        }
        FdivS => (Unit::FloatDivide, config.float_divide_single, Floating),
        FdivD => (Unit::FloatDivide, config.float_divide, Floating),
        FsqrtS => (Unit::FloatDivide, config.float_sqrt_single, Floating),
        FsqrtD => (Unit::FloatDivide, config.float_sqrt, Floating),
        Csrrw | Csrrs | Csrrc | Csrrwi | Csrrsi | Csrrci | Fence | FenceI | SfenceVma => {
            (Unit::System, config.csr, Reason::Serialize)
        }
        _ => match registers(op) {
            [2, ..] | [_, 2, ..] => (Unit::Float, config.float_convert, Floating),
            _ => (Unit::Alu, 1, Reason::Structural),
        },
    }
}

/// Decodes an instruction for this processor.
pub(super) fn decode(xlen: Xlen, bits: u32, config: &Config) -> Decoded {
    let found @ Instruction { op, len, rd, rs1, rs2, rs3, imm, .. } = riscv::decode(xlen, bits);
    let [to, from @ ..] = registers(op);
    let register = |kind, number| match kind {
        0 => 0,
        1 => number,
        _ => number + 32,
    };
    let destination = match register(to, rd) {
        0 => NOWHERE,
        register => register,
    };
    let sources = [register(from[0], rs1), register(from[1], rs2), register(from[2], rs3)];
    let load = 1 + config.load_use + (config.dcache.hit - 1);
    let is_sc = matches!(op, Op::ScW | Op::ScD);
    let (kind, (unit, latency, reason)) = match (found.access(), found.itype(true)) {
        (Some((AccessKind::Load, _)), _) => (Kind::Load, (Unit::Memory, load, Reason::LoadUse)),
        (Some((AccessKind::Store, _)), _) if !is_sc => (Kind::Store, (Unit::Memory, 1, Reason::Structural)),
        (Some(_), _) => (Kind::Atomic, (Unit::Memory, load + config.atomic, Reason::LoadUse)),
        (None, IType::None) => {
            let kind = match op {
                Op::Fence => Kind::Fence,
                Op::FenceI | Op::SfenceVma => Kind::FenceI,
                _ if matches!(unit(op, config).0, Unit::System) => Kind::System,
                _ => Kind::Plain,
            };
            (kind, unit(op, config))
        }
        (None, itype) => (Kind::Branch(itype), (Unit::Branch, 1, Reason::Structural)),
    };
    let busy = match (kind, unit) {
        (_, Unit::Alu) => 0,
        (Kind::Atomic, _) => 1 + config.atomic,
        (_, Unit::Divide | Unit::FloatDivide) => latency,
        (_, Unit::Multiply) if !config.multiply_pipelined => latency,
        _ => 1,
    };
    // All latencies of a checked configuration fit.
    let (latency, busy) = (latency as u16, busy as u16);
    Decoded { bits, kind, unit, reason, len, sources, destination, latency, busy, offset: imm }
}

/// Cache of decoded instructions, keyed by bits rather than address. So code may change, or differ between address
/// spaces, and the few encodings that programs consist of share entries.
#[derive(Clone, Debug)]
pub(super) struct Table {
    entries: Box<[Decoded; 1 << BITS]>,
    xlen: Xlen,
}

const BITS: u32 = 13;

impl Table {
    /// Creates a table filled with the decoded instruction 0.
    pub fn new(config: &Config) -> Self {
        let nothing = decode(Xlen::Rv64, 0, config);
        let entries = vec![nothing; 1 << BITS].into_boxed_slice().try_into();
        Self { entries: entries.expect("as long as it was made"), xlen: Xlen::Rv64 }
    }

    #[inline]
    pub fn set_xlen(&mut self, xlen: Xlen, config: &Config) {
        if self.xlen != xlen {
            // The instruction 0 that fills a new table is illegal in both widths.
            *self = Self { xlen, ..Self::new(config) };
        }
    }

    /// Returns the decoded instruction of these bits.
    #[inline(always)]
    pub fn get(&mut self, bits: u32, config: &Config) -> Decoded {
        let entry = &mut self.entries[(bits.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as usize];
        if entry.bits != bits {
            *entry = decode(self.xlen, bits, config);
        }
        *entry
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tracewright_testkit::Rng;

    use super::*;

    /// Compares with the disassembler, which has its own tables of floating-point registers.
    #[test]
    fn registers_are_those_of_the_disassembler() {
        let mut rng = Rng::new(6);
        let mut seen = HashSet::new();
        for _ in 0..400_000 {
            // Floating-point opcodes, and any.
            let opcodes =
                [0x07, 0x27, 0x43, 0x47, 0x4b, 0x4f, 0x53, 0x53, 0x53, rng.next_u64() as u32 & 0x7f];
            let mut bits = rng.next_u64() as u32 & !0x7f | rng.pick(&opcodes);
            if rng.one_in(2) {
                // Single or double, and a second source that selects the conversion.
                bits &= !(0b10 << 25 | 0b11100 << 20);
            }
            let found = riscv::decode(Xlen::Rv64, bits);
            let text = Instruction { rd: 10, rs1: 11, rs2: 12, rs3: 13, ..found }.text(0).to_string();
            let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
            let kinds = [0, 1, 2, 3].map(|i| match i {
                i if words.contains(&format!("fa{i}").as_str()) => 2,
                i if words.contains(&format!("a{i}").as_str()) => 1,
                _ => 0,
            });
            let ours = registers(found.op);
            if ours.contains(&2) || kinds.contains(&2) {
                assert_eq!(ours, kinds, "{text}");
                seen.insert(found.op as u8);
            }
        }
        // All of F and D.
        assert_eq!(seen.len(), 30 + 32);
    }
}
