//! Common properties of blocks: the instruction set and the class of the last instruction.

use tracewright_core::{Class, Flow, Isa, Role};

use crate::counts::Code;

// The index in these lists is the number in files: add new ones at the end.
const ISAS: [Isa; 5] = [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64];
const FLOWS: [Flow; 7] =
    [Flow::Next, Flow::Direct, Flow::Indirect, Flow::Pair, Flow::Isb, Flow::Wait, Flow::TransactionStart];
const ROLES: [Role; 6] =
    [Role::Jump, Role::Call, Role::Return, Role::Swap, Role::ExceptionReturn, Role::LoopEnd];

/// Instruction set, length, flow and role of the last instruction, in file order. The highest bit of the flow marks a
/// conditional one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(pub [u8; 4]);

const CONDITIONAL: u8 = 0x80;

impl Shape {
    pub fn of(code: &Code) -> Self {
        let Class { flow, role, conditional } = code.class;
        // A test checks that the lists are complete.
        let isa = ISAS.iter().position(|&isa| isa == code.isa).unwrap_or(0) as u8;
        let flow = FLOWS.iter().position(|&known| known == flow).unwrap_or(0) as u8;
        let role = ROLES.iter().position(|&known| known == role).unwrap_or(0) as u8;
        Self([isa, code.last_len, flow | if conditional { CONDITIONAL } else { 0 }, role])
    }

    pub fn isa(self) -> Option<Isa> {
        ISAS.get(usize::from(self.0[0])).copied()
    }

    /// Returns the length of the last instruction in bytes.
    pub fn last_len(self) -> u8 {
        self.0[1]
    }

    pub fn class(self) -> Option<Class> {
        let [.., flow, role] = self.0;
        Some(Class {
            flow: *FLOWS.get(usize::from(flow & !CONDITIONAL))?,
            role: *ROLES.get(usize::from(role))?,
            conditional: flow & CONDITIONAL != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_number() {
        // A new variant breaks these matches; add it to the lists then.
        let isa = |isa: Isa| match isa {
            Isa::A64 => 0,
            Isa::A32 => 1,
            Isa::T32 => 2,
            Isa::Rv32 => 3,
            Isa::Rv64 => 4,
        };
        let flow = |flow: Flow| match flow {
            Flow::Next => 0,
            Flow::Direct => 1,
            Flow::Indirect => 2,
            Flow::Pair => 3,
            Flow::Isb => 4,
            Flow::Wait => 5,
            Flow::TransactionStart => 6,
        };
        let role = |role: Role| match role {
            Role::Jump => 0,
            Role::Call => 1,
            Role::Return => 2,
            Role::Swap => 3,
            Role::ExceptionReturn => 4,
            Role::LoopEnd => 5,
        };
        assert!(ISAS.iter().enumerate().all(|(i, &of)| isa(of) == i));
        assert!(FLOWS.iter().enumerate().all(|(i, &of)| flow(of) == i));
        assert!(ROLES.iter().enumerate().all(|(i, &of)| role(of) == i));
    }
}
