//! Infers from a log what instructions did to memory and control registers.
//!
//! A log has the code, and addresses and perhaps values of memory accesses, but no registers. So some of what data trace needs is unknown:
//!
//! * Control registers: the instruction has the register and the operation. Values are not known.
//! * Atomics: QEMU reports a load and a store. The store has the value that was stored or the operand, depending on how QEMU translated
//!   the instruction. An operand is traced only if both are the same, or if the code before determines it.
//! * Store-conditionals: success is known if a branch tests it, or if values show that memory was not what had been loaded. One that
//!   failed without an access has no address.

use tracewright_core::{AtomicOp, DataAccess, DataKind, Ended};
use tracewright_etrace::data::{atomic_op, csr_op};
use tracewright_hart::Access;
use tracewright_isa::riscv::{AccessKind, Instruction, Op};

/// What is known of an instruction's access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It did nothing that is traced.
    Nothing,
    /// It made this access.
    Access(DataAccess),
    /// It made an access of this kind and size, of which not everything is known.
    Unknown(DataKind, u8),
}

/// A block, for the inference of its accesses.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// Its instructions.
    pub code: &'a [Instruction],
    /// Why it ended.
    pub ended: Ended,
}

/// Infers the accesses of instructions.
#[derive(Clone, Debug)]
pub struct Accesses {
    /// Whether values are traced.
    has_values: bool,
    /// Size and value of the last load-reserved.
    reserved: Option<(u8, u64)>,
}

impl Accesses {
    /// Creates an inference of accesses with values, or with addresses alone.
    pub fn new(has_values: bool) -> Self {
        Self { has_values, reserved: None }
    }

    /// Forgets what came before, where something is missing.
    pub fn lose(&mut self) {
        self.reserved = None;
    }

    /// Returns the access of the instruction with this index, for which the log has `accesses`. Must be called for all instructions in order.
    pub fn of(&mut self, ran: Ran<'_>, index: usize, accesses: &[Access]) -> Known {
        let Some(instruction) = ran.code.get(index) else { return Known::Nothing };
        if let Some(op) = csr_op(instruction.op) {
            let kind = DataKind::Csr(op);
            // Registers of RV64 have eight bytes.
            return match self.has_values {
                true => Known::Unknown(kind, 8),
                false => Known::Access(self.access(kind, 8, instruction.imm as u64 & 0xfff, None)),
            };
        }
        let Some((kind, size)) = instruction.access() else { return Known::Nothing };
        let found = Found::new(accesses, size);
        let value = |access: &Access| self.has_values.then_some(access.value);
        match (kind, instruction.op) {
            (_, Op::ScW | Op::ScD) => self.conditional(ran, index, size, found),
            (AccessKind::Load, op) => {
                let is_reserving = matches!(op, Op::LrW | Op::LrD);
                let Some(Found { address, load: Some(load), store: None }) = found else {
                    self.reserved = if is_reserving { None } else { self.reserved };
                    return Known::Unknown(DataKind::Load, size);
                };
                if is_reserving {
                    self.reserved = value(load).map(|value| (size, value));
                }
                Known::Access(self.access(DataKind::Load, size, address, value(load)))
            }
            (AccessKind::Store, _) => match found {
                Some(Found { address, load: None, store: Some(store) }) => {
                    Known::Access(self.access(DataKind::Store, size, address, value(store)))
                }
                _ => Known::Unknown(DataKind::Store, size),
            },
            (AccessKind::Amo, op) => match atomic_op(op) {
                Some(op) => self.atomic(ran, index, op, size, found),
                None => Known::Nothing,
            },
        }
    }

    fn access(&self, kind: DataKind, size: u8, address: u64, value: Option<u64>) -> DataAccess {
        DataAccess { kind, size, address: Some(address), value, operand: None, after: false }
    }

    fn conditional(&mut self, ran: Ran<'_>, index: usize, size: u8, found: Option<Found<'_>>) -> Known {
        let reserved = self.reserved.take().filter(|(of, _)| self.has_values && *of == size);
        let Some(Found { address, load, store }) = found else {
            return Known::Unknown(DataKind::StoreFailed, size);
        };
        // QEMU stores if memory still has the value that was loaded.
        let by_value = reserved.zip(load).map(|((_, reserved), load)| reserved == load.value);
        match (by_value.or_else(|| succeeded(ran, index)), store) {
            (Some(true), Some(store)) => {
                let value = self.has_values.then_some(store.value);
                Known::Access(self.access(DataKind::Store, size, address, value))
            }
            (Some(false), _) => Known::Access(self.access(DataKind::StoreFailed, size, address, None)),
            _ => Known::Unknown(DataKind::Store, size),
        }
    }

    fn atomic(&self, ran: Ran<'_>, index: usize, op: AtomicOp, size: u8, found: Option<Found<'_>>) -> Known {
        let kind = DataKind::Atomic(op);
        let Some(Found { address, load, store }) = found else { return Known::Unknown(kind, size) };
        let access = self.access(kind, size, address, None);
        if !self.has_values {
            return Known::Access(access);
        }
        let Some((load, store)) = load.zip(store) else { return Known::Unknown(kind, size) };
        let operand = constant(ran.code, index)
            .or_else(|| operand(op, load.value, store.value, access.truncated(u64::MAX)));
        match operand {
            Some(operand) => Known::Access(DataAccess {
                value: Some(load.value),
                operand: Some(access.truncated(operand)),
                ..access
            }),
            None => Known::Unknown(kind, size),
        }
    }
}

/// Accesses of an instruction: to one place, a load or a store or one of each.
#[derive(Clone, Copy, Debug)]
struct Found<'a> {
    address: u64,
    load: Option<&'a Access>,
    store: Option<&'a Access>,
}

impl<'a> Found<'a> {
    /// Returns `None` if an instruction that accesses `size` bytes cannot have made these accesses.
    fn new(accesses: &'a [Access], size: u8) -> Option<Self> {
        let (first, second) = match accesses {
            [first] => (first, None),
            [first, second] => (first, Some(second)),
            _ => return None,
        };
        let found = Self {
            address: first.address,
            load: Some(first).filter(|first| first.kind == AccessKind::Load),
            store: Some(second.unwrap_or(first)).filter(|store| store.kind == AccessKind::Store),
        };
        let is_one_place =
            accesses.iter().all(|access| (access.size, access.address) == (size, first.address));
        let is_whole =
            accesses.len() == usize::from(found.load.is_some()) + usize::from(found.store.is_some());
        (is_one_place && is_whole).then_some(found)
    }
}

/// Returns whether a store-conditional stored, if the instruction after it is a branch that tests it.
fn succeeded(ran: Ran<'_>, index: usize) -> Option<bool> {
    let rd = ran.code.get(index)?.rd;
    let [branch] = ran.code.get(index + 1..)? else { return None };
    let is_asked = rd != 0 && matches!((branch.rs1, branch.rs2), (asked, 0) | (0, asked) if asked == rd);
    match (branch.op, ran.ended) {
        (Op::Bne, Ended::NotTaken) | (Op::Beq, Ended::Taken) if is_asked => Some(true),
        (Op::Bne, Ended::Taken) | (Op::Beq, Ended::NotTaken) if is_asked => Some(false),
        _ => None,
    }
}

/// Returns the operand of an atomic, if the code of its block determines it.
fn constant(code: &[Instruction], index: usize) -> Option<u64> {
    let register = code.get(index)?.rs2;
    if register == 0 {
        return Some(0);
    }
    let last = code.get(..index)?.iter().rfind(|before| before.rd == register)?;
    (last.op == Op::Addi && last.rs1 == 0).then_some(i64::from(last.imm) as u64)
}

/// Returns `told` if it must be both the operand of an atomic that loaded `found`, and the value stored.
fn operand(op: AtomicOp, found: u64, told: u64, ones: u64) -> Option<u64> {
    let is_certain = match op {
        AtomicOp::Swap => true,
        AtomicOp::Add | AtomicOp::Or | AtomicOp::Xor => found == 0,
        AtomicOp::And => found == ones,
        // The result is one of the two.
        AtomicOp::Max | AtomicOp::Min => told != found,
    };
    is_certain.then_some(told)
}

#[cfg(test)]
mod tests {
    use tracewright_isa::riscv::{Xlen, decode};

    use super::*;

    const LR_W: u32 = 0x1005_252f; // lr.w a0, (a0)
    const SC_W: u32 = 0x18b5_262f; // sc.w a2, a1, (a0)
    const BNEZ_A2: u32 = 0xfe06_1ce3; // bnez a2, .-8
    const BNEZ_A3: u32 = 0xfe06_9ce3; // bnez a3, .-8
    const LI_A1: u32 = 0xffb0_0593; // li a1, -5
    const AMOADD_W: u32 = 0x00b5_262f; // amoadd.w a2, a1, (a0)
    const AMOADD_ZERO: u32 = 0x0005_262f; // amoadd.w a2, zero, (a0)
    const LW: u32 = 0x0005_2603; // lw a2, 0(a0)
    const FRM: u32 = 0x0020_2673; // frrm a2

    fn access(kind: AccessKind, value: u64) -> Access {
        Access { index: 0, kind, size: 4, address: 0x1000, value }
    }

    /// What is known of the last of these, or of the one before a branch; each has its accesses.
    fn known(values: bool, code: &[(u32, &[Access])], ended: Ended) -> Known {
        let instructions: Vec<_> = code.iter().map(|(bits, _)| decode(Xlen::Rv64, *bits)).collect();
        let ran = Ran { code: &instructions, ended };
        let mut all = Accesses::new(values);
        let mut last = Known::Nothing;
        for (index, (_, its)) in code.iter().enumerate() {
            match all.of(ran, index, its) {
                Known::Nothing => {}
                known => last = known,
            }
        }
        last
    }

    fn kind(known: Known) -> Option<DataKind> {
        match known {
            Known::Access(access) => Some(access.kind),
            Known::Nothing | Known::Unknown(..) => None,
        }
    }

    #[test]
    fn a_branch_tells_whether_a_store_conditional_failed() {
        let both = [access(AccessKind::Load, 0), access(AccessKind::Store, 0)];
        let asked = |branch, ended| kind(known(false, &[(SC_W, &both), (branch, &[])], ended));
        assert_eq!(asked(BNEZ_A2, Ended::NotTaken), Some(DataKind::Store));
        assert_eq!(asked(BNEZ_A2, Ended::Taken), Some(DataKind::StoreFailed));
        assert_eq!(asked(BNEZ_A2, Ended::Cut), None);
        assert_eq!(asked(BNEZ_A3, Ended::Taken), None);
        // QEMU 7.2 may tell of both as one. Without any, nobody knows where.
        assert_eq!(
            kind(known(false, &[(SC_W, &both[1..]), (BNEZ_A2, &[])], Ended::NotTaken)),
            Some(DataKind::Store)
        );
        let nowhere = known(false, &[(SC_W, &[]), (BNEZ_A2, &[])], Ended::Taken);
        assert_eq!(nowhere, Known::Unknown(DataKind::StoreFailed, 4));
    }

    #[test]
    fn values_tell_whether_a_store_conditional_failed() {
        let with = |reserved, found| {
            let load = [access(AccessKind::Load, reserved)];
            let both = [access(AccessKind::Load, found), access(AccessKind::Store, 9)];
            known(true, &[(LR_W, &load), (SC_W, &both)], Ended::Cut)
        };
        let Known::Access(stored) = with(5, 5) else { panic!() };
        assert_eq!((stored.kind, stored.value), (DataKind::Store, Some(9)));
        let Known::Access(failed) = with(5, 6) else { panic!() };
        assert_eq!((failed.kind, failed.value), (DataKind::StoreFailed, None));
        // It was reserved before anything was recorded.
        let both = [access(AccessKind::Load, 5), access(AccessKind::Store, 9)];
        assert_eq!(known(true, &[(SC_W, &both)], Ended::Cut), Known::Unknown(DataKind::Store, 4));
    }

    #[test]
    fn operands_are_told_if_they_are_certain() {
        let told = |code: &[u32], found, told| {
            let both = [access(AccessKind::Load, found), access(AccessKind::Store, told)];
            let (last, before) = code.split_last().unwrap();
            let mut code: Vec<(u32, &[Access])> = before.iter().map(|&bits| (bits, &[][..])).collect();
            code.push((*last, &both));
            match known(true, &code, Ended::Cut) {
                Known::Access(access) => access.operand,
                _ => None,
            }
        };
        // Stored, or the operand? It is the same if there was nothing before.
        assert_eq!(told(&[AMOADD_W], 1, 4), None);
        assert_eq!(told(&[AMOADD_W], 0, 4), Some(4));
        assert_eq!(told(&[AMOADD_ZERO], 7, 7), Some(0));
        assert_eq!(told(&[LI_A1, AMOADD_W], 1, 4), Some(0xffff_fffb));
        for (op, found, value, expected) in [
            (AtomicOp::Swap, 1, 2, Some(2)),
            (AtomicOp::Or, 1, 3, None),
            (AtomicOp::And, 0xffff_ffff, 3, Some(3)),
            (AtomicOp::And, 0xff, 3, None),
            (AtomicOp::Max, 1, 3, Some(3)),
            (AtomicOp::Min, 3, 3, None),
        ] {
            assert_eq!(operand(op, found, value, 0xffff_ffff), expected, "{op:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_told() {
        let load = access(AccessKind::Load, 0);
        let unknown = Known::Unknown(DataKind::Load, 4);
        assert!(matches!(known(false, &[(LW, &[load])], Ended::Cut), Known::Access(_)));
        for its in [&[][..], &[load, load], &[Access { size: 8, ..load }], &[access(AccessKind::Store, 0)]] {
            assert_eq!(known(false, &[(LW, its)], Ended::Cut), unknown, "{its:?}");
        }
        let Known::Access(csr) = known(false, &[(FRM, &[])], Ended::Cut) else { panic!() };
        assert_eq!((csr.address, csr.value, csr.operand), (Some(2), None, None));
        assert!(matches!(known(true, &[(FRM, &[])], Ended::Cut), Known::Unknown(DataKind::Csr(_), 8)));
    }
}
