use tracewright_core::{Class, Flow, Role};

use crate::Rng;

/// An instruction, as far as control flow is concerned. Targets are instruction numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Continues with the next.
    Plain,
    /// B.cond, CBZ, TBZ and similar: taken `bias` of 256 times.
    Conditional { target: u32, bias: u8, guard: bool },
    /// B.
    Jump { target: u32 },
    /// BL.
    Call { target: u32 },
    /// BR: one of `len` choices from `first` on.
    IndirectJump { first: u32, len: u32 },
    /// BLR: one of `len` choices from `first` on.
    IndirectCall { first: u32, len: u32 },
    /// RET.
    Return,
    /// ISB; in the kernel perhaps the end of a context switch.
    Isb,
    /// WFI or WFE.
    Wait,
    /// SVC.
    Svc,
    /// ERET.
    Eret,
}

impl Op {
    /// Returns whether the executor stops here.
    pub(super) fn ends_block(self) -> bool {
        self != Self::Plain
    }

    pub(super) fn class(self) -> Class {
        let class = |flow, role| Class { flow, role, conditional: false };
        match self {
            // An exception is no branch for trace.
            Self::Plain | Self::Svc => Class::NEXT,
            Self::Conditional { .. } => Class { conditional: true, ..class(Flow::Direct, Role::Jump) },
            Self::Jump { .. } => class(Flow::Direct, Role::Jump),
            Self::Call { .. } => class(Flow::Direct, Role::Call),
            Self::IndirectJump { .. } => class(Flow::Indirect, Role::Jump),
            Self::IndirectCall { .. } => class(Flow::Indirect, Role::Call),
            Self::Return => class(Flow::Indirect, Role::Return),
            Self::Isb => class(Flow::Isb, Role::Jump),
            Self::Wait => class(Flow::Wait, Role::Jump),
            Self::Eret => class(Flow::Indirect, Role::ExceptionReturn),
        }
    }

    pub(super) fn encode(self, at: u32, rng: &mut Rng) -> u32 {
        let register = rng.below(31) as u32;
        let offset = |target: u32, bits: u32| {
            let offset = i64::from(target) - i64::from(at);
            assert!(matches!(offset >> (bits - 1), 0 | -1), "a branch of {offset} is too far");
            offset as u32 & ((1 << bits) - 1)
        };
        match self {
            Self::Plain => {
                let plain = [
                    0x9100_0000, // ADD (immediate)
                    0xd100_0000, // SUB (immediate)
                    0xf940_0000, // LDR (immediate)
                    0xf900_0000, // STR (immediate)
                    0xd280_0000, // MOVZ
                ];
                match rng.below(40) {
                    0 => 0xd503_201f, // NOP
                    1 => 0xd503_3f9f, // DSB SY
                    _ => rng.pick(&plain) | (rng.below(1 << 10) as u32) << 5 | register,
                }
            }
            Self::Conditional { target, .. } => match rng.below(4) {
                0 => 0x5400_0000 | offset(target, 19) << 5 | rng.below(14) as u32,
                1 => 0x3600_0000 | (rng.below(2) as u32) << 24 | offset(target, 14) << 5 | register,
                _ => {
                    let form = rng.below(2) as u32 | (rng.below(2) as u32) << 7;
                    0x3400_0000 | form << 24 | offset(target, 19) << 5 | register
                }
            },
            Self::Jump { target } => 0x1400_0000 | offset(target, 26),
            Self::Call { target } => 0x9400_0000 | offset(target, 26),
            Self::IndirectJump { .. } => 0xd61f_0000 | register << 5,
            Self::IndirectCall { .. } => 0xd63f_0000 | register << 5,
            Self::Return => 0xd65f_03c0,
            Self::Isb => 0xd503_3fdf,
            Self::Wait => *rng.pick(&[0xd503_207f, 0xd503_205f]),
            Self::Svc => 0xd400_0001 | (rng.below(1 << 16) as u32) << 5,
            Self::Eret => 0xd69f_03e0,
        }
    }
}
