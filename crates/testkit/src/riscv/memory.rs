//! Loads, stores and atomic operations. Everything stays in the scratch area.

use super::asm;
use super::builder::{Builder, SP};
use super::code::Code;
use super::harness::{SCRATCH, SCRATCH_LEN};
use super::table;

impl Builder<'_> {
    /// Emits a pointer and some loads and stores from it, aligned or not.
    pub fn memory(&mut self, out: &mut Code) {
        let pointer = self.short_temp();
        // Any offset from the base, so that the access's own offset can be any too.
        let at = self.imm12();
        Self::addi(out, pointer, self.base, at);
        self.keeping(pointer, |this| {
            for _ in 0..1 + this.rng.below(4) {
                let offset = this.between(SCRATCH, SCRATCH + SCRATCH_LEN - 7) - at;
                if asm::fits(offset, 12) {
                    this.access(out, pointer, offset);
                }
            }
        });
        let at = self.between(SCRATCH, SCRATCH + SCRATCH_LEN - 256);
        Self::addi(out, pointer, self.base, at);
        self.keeping(pointer, |this| {
            for _ in 0..1 + this.rng.below(3) {
                let ([name, _], funct3, size, float, load) = *this.rng.pick(table::SHORT);
                let data = if load && !float { this.short_temp() } else { this.short() };
                let offset = size * this.between(0, 32);
                out.push(name, asm::cl(funct3, size, data, pointer, offset));
            }
        });
        if self.rng.one_in(4) {
            // The pointer itself is overwritten.
            out.push("c.ld", asm::cl(3, 8, pointer, pointer, 8));
        }
    }

    fn access(&mut self, out: &mut Code, pointer: u8, offset: i32) {
        if self.rng.one_in(2) {
            let (name, opcode, funct3, _) = *self.rng.pick(&table::LOAD);
            let rd = if opcode == 0x07 { self.any() } else { self.dest() };
            out.push(name, asm::i(opcode, funct3, rd, pointer, offset));
            if opcode == 0x03 {
                self.fold(out, rd);
            } else {
                self.fold_float(out, rd);
            }
        } else {
            let (name, opcode, funct3) = *self.rng.pick(table::STORE);
            out.push(name, asm::s(opcode, funct3, pointer, self.any(), offset));
        }
    }

    /// Emits a stack frame that is used and removed.
    pub fn frame(&mut self, out: &mut Code) {
        let size = 16 * self.between(1, 32);
        self.move_sp(out, -size);
        for _ in 0..2 + self.rng.below(6) {
            let ([_, name], funct3, bytes, float, load) = *self.rng.pick(table::SHORT);
            let offset = bytes * self.between(0, size.min(64 * bytes) / bytes);
            if load {
                let rd = if float { self.any() } else { self.temp() };
                out.push(name, asm::ci_load(funct3, bytes, rd, offset));
            } else {
                out.push(name, asm::css(funct3, bytes, self.any(), offset));
            }
            if self.rng.one_in(4) {
                let offset = self.between(0, size - 7);
                self.access(out, SP, offset);
            }
        }
        self.move_sp(out, size);
    }

    /// Emits an atomic operation on an aligned address.
    pub fn atomic(&mut self, out: &mut Code) {
        let pointer = self.aligned(out);
        let (names, funct5) = *self.rng.pick(table::ATOMIC);
        let wide = self.rng.below(2) as u32;
        let (rd, rs2, order) = (self.dest(), self.any(), self.rng.below(4) as u32);
        out.push(names[wide as usize], asm::amo(funct5, 2 + wide, order, rd, pointer, rs2));
        self.fold(out, rd);
    }

    /// Emits `lr` and `sc` of the same address with what the specification guarantees to work in between. The
    /// reservation is always used up, so an `sc` after it must fail, wherever it is.
    pub fn reserved(&mut self, out: &mut Code) {
        let pointer = self.aligned(out);
        let wide = self.rng.below(2) as u32;
        let (order, lr, sc) = (self.rng.below(4) as u32, ["lr.w", "lr.d"], ["sc.w", "sc.d"]);
        self.keeping(pointer, |this| {
            let start = out.bytes;
            let rd = this.dest();
            out.push(lr[wide as usize], asm::amo(2, 2 + wide, order, rd, pointer, 0));
            for _ in 0..this.rng.below(5) {
                this.base_only(out);
            }
            let status = this.temp();
            out.push(sc[wide as usize], asm::amo(3, 2 + wide, order, status, pointer, this.any()));
            if this.rng.one_in(3) {
                // Repeated if it failed, as in every lock.
                out.push("bne", asm::b(1, status, 0, start - out.bytes));
            }
            if this.rng.one_in(3) {
                let (rd, rs2, wide) = (this.dest(), this.any(), this.rng.below(2) as u32);
                out.push(sc[wide as usize], asm::amo(3, 2 + wide, order, rd, pointer, rs2));
                this.fold(out, rd);
            }
            this.fold(out, status);
        });
    }

    fn aligned(&mut self, out: &mut Code) -> u8 {
        let pointer = self.temp();
        let at = SCRATCH + 8 * self.between(0, SCRATCH_LEN / 8);
        Self::addi(out, pointer, self.base, at);
        pointer
    }
}
