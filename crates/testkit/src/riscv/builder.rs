//! Common parts of the generator: register allocation, and the smallest pieces of code.

use super::asm;
use super::code::{Code, Fixup, Symbol};
use crate::Rng;

/// Stack pointer, which points into the program's own data.
pub(super) const SP: u8 = 2;

#[derive(Debug)]
pub(super) struct Function {
    pub code: Code,
    /// Register of the return address.
    pub link: u8,
}

#[derive(Debug)]
pub(super) struct Builder<'a> {
    pub rng: &'a mut Rng,
    /// Register that points into the middle of the data.
    pub base: u8,
    /// Counter register of the innermost loop.
    pub count: u8,
    /// Register that accumulates results: most registers are soon overwritten, but not forgotten.
    pub digest: u8,
    /// One bit for each integer register that must keep its value now.
    pub locked: u32,
    /// Finished functions. A function calls earlier ones only, so that everything ends.
    pub functions: Vec<Function>,
    /// Set if code lies so low that `lui` reaches it.
    pub low: bool,
}

impl<'a> Builder<'a> {
    pub fn new(rng: &'a mut Rng, low: bool) -> Self {
        // The roles vary between programs, so that all registers are used as operands.
        let mut roles: Vec<u8> = (3..32).filter(|register| *register != 5).collect();
        let mut role = || roles.swap_remove(rng.below(roles.len() as u64) as usize);
        let (base, count, digest) = (role(), role(), role());
        let locked = 1 << SP | 1 << base | 1 << count | 1 << digest;
        Self { rng, base, count, digest, locked, functions: Vec::new(), low }
    }

    /// Chooses registers until one is suitable.
    fn until(&mut self, choose: fn(&mut Self) -> u8, is_suitable: impl Fn(&Self, u8) -> bool) -> u8 {
        loop {
            let register = choose(self);
            if is_suitable(self, register) {
                return register;
            }
        }
    }

    /// Returns a register that may be written; sometimes x0.
    pub fn dest(&mut self) -> u8 {
        self.until(Self::any, Self::is_free)
    }

    /// Returns a register other than x0 that may be written.
    pub fn temp(&mut self) -> u8 {
        self.temp_but(0)
    }

    /// Returns a register other than x0 and `other` that may be written.
    pub fn temp_but(&mut self, other: u8) -> u8 {
        self.until(Self::dest, |_, register| register != 0 && register != other)
    }

    /// Returns a register of x8 to x15 that may be written.
    pub fn short_temp(&mut self) -> u8 {
        self.until(Self::short, Self::is_free)
    }

    /// Returns any register, to read.
    pub fn any(&mut self) -> u8 {
        self.rng.below(32) as u8
    }

    /// Returns any of x8 to x15 or f8 to f15, to read.
    pub fn short(&mut self) -> u8 {
        8 + self.rng.below(8) as u8
    }

    pub fn is_free(&self, register: u8) -> bool {
        self.locked & 1 << register == 0
    }

    /// Runs `body` while a register keeps its value.
    pub fn keeping(&mut self, register: u8, body: impl FnOnce(&mut Self)) {
        let before = self.locked;
        self.locked |= 1 << register;
        body(self);
        self.locked = before;
    }

    /// Returns a number from `low` up to but not including `high`.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.rng.below((high - low) as u64) as i32
    }

    /// Returns a 12-bit immediate, often an edge case.
    pub fn imm12(&mut self) -> i32 {
        match self.rng.below(4) {
            0 => *self.rng.pick(&[0, 1, -1, 2047, -2048]),
            _ => self.between(-2048, 2048),
        }
    }

    /// Emits `rd = rs + imm`.
    pub fn addi(out: &mut Code, rd: u8, rs: u8, imm: i32) {
        out.push("addi", asm::i(0x13, 0, rd, rs, imm));
    }

    /// Loads a small number into a register.
    pub fn number(&mut self, out: &mut Code, rd: u8, value: i32) {
        if asm::fits(value, 6) && self.rng.one_in(2) {
            out.push("c.li", asm::ci(1, 2, rd, value));
        } else {
            Self::addi(out, rd, 0, value);
        }
    }

    /// Folds an integer register into the digest, nearly always.
    pub fn fold(&mut self, out: &mut Code, register: u8) {
        if register != 0 && !self.rng.one_in(8) {
            let amount = self.between(1, 64);
            out.push("xor", asm::r(0x33, 4, 0, self.digest, self.digest, register));
            out.push("rori", asm::i(0x13, 5, self.digest, self.digest, 0x600 | amount));
        }
    }

    /// Folds a floating-point register, or the flags, into the digest.
    pub fn fold_float(&mut self, out: &mut Code, register: u8) {
        let temp = self.temp();
        if self.rng.one_in(6) {
            out.push("csrrs", asm::i(0x73, 2, temp, 0, 3));
        } else {
            out.push("fmv.x.d", asm::r(0x53, 0, 0x71, temp, register, 0));
        }
        self.fold(out, temp);
    }

    /// Loads the address of a symbol, plus `more`, into a register.
    pub fn address(out: &mut Code, rd: u8, symbol: Symbol, more: i32) {
        out.push_fixed("auipc", asm::u(0x17, rd, 0), Fixup::Pair(symbol, more));
        Self::addi(out, rd, rd, 0);
    }

    /// Moves the stack pointer by a multiple of 16.
    pub fn move_sp(&mut self, out: &mut Code, by: i32) {
        if asm::fits(by, 10) && self.rng.one_in(2) {
            out.push("c.addi16sp", asm::ci16(by));
        } else {
            Self::addi(out, SP, SP, by);
        }
    }

    /// Stores a register at `offset` from the stack pointer.
    pub fn push_at(&mut self, out: &mut Code, register: u8, offset: i32) {
        if self.rng.one_in(2) {
            out.push("c.sdsp", asm::css(7, 8, register, offset));
        } else {
            out.push("sd", asm::s(0x23, 3, SP, register, offset));
        }
    }

    /// Loads the register again.
    pub fn pop_from(&mut self, out: &mut Code, register: u8, offset: i32) {
        if self.rng.one_in(2) {
            out.push("c.ldsp", asm::ci_load(3, 8, register, offset));
        } else {
            out.push("ld", asm::i(0x03, 3, register, SP, offset));
        }
    }
}
