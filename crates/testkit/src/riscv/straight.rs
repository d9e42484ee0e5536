//! Arithmetic: instructions that continue with the next one and access no memory but the pools of values.

use super::asm;
use super::builder::Builder;
use super::code::Code;
use super::harness::{FLOATS, INTEGERS, POOL};
use super::table::{self, ROUNDS, Shape};
use super::values::EDGES;

impl Builder<'_> {
    /// Emits a few instructions of any kind that continues with the next one.
    pub fn straight(&mut self, out: &mut Code) {
        for _ in 0..2 + self.rng.below(8) {
            match self.rng.below(22) {
                0..=6 => self.integer(out),
                7..=10 => self.compressed(out),
                11..=16 => self.float(out),
                17 => self.fused(out),
                18 => self.memory(out),
                19..=20 => self.atomic(out),
                _ => self.csr(out),
            }
        }
    }

    fn integer(&mut self, out: &mut Code) {
        let rd = self.dest();
        let edges = self.edges();
        let (rs1, rs2) = (self.source(out, edges), self.source(out, edges));
        match self.rng.below(8) {
            0..=3 => {
                let (name, opcode, funct3, funct7) = *self.rng.pick(&table::REGISTER);
                out.push(name, asm::r(opcode, funct3, funct7, rd, rs1, rs2));
            }
            4..=5 => {
                let (name, opcode, funct3, fixed, bits) = *self.rng.pick(table::SHIFT);
                let amount = self.rng.below(1 << bits) as i32;
                // QEMU before 8.0 continues into the upper half if the lower one is zero, so the upper half is cleared.
                let rs1 = if name == "ctzw" && rd != 0 {
                    out.push("addiw", asm::i(0x1b, 0, rd, rs1, 0));
                    rd
                } else {
                    rs1
                };
                out.push(name, asm::i(opcode, funct3, rd, rs1, fixed | amount));
            }
            6 => {
                let (name, opcode, funct3, _) = *self.rng.pick(&table::IMMEDIATE);
                out.push(name, asm::i(opcode, funct3, rd, rs1, self.imm12()));
            }
            _ => match self.rng.below(7) {
                0..=1 => out.push("lui", asm::u(0x37, rd, self.rng.next_u64() as i32)),
                2..=3 => out.push("auipc", asm::u(0x17, rd, self.rng.next_u64() as i32)),
                4 => out.push("fence", asm::i(0x0f, 0, 0, 0, *self.rng.pick(&[0xff, 0x33, 0x23, 0x31]))),
                5 => out.push("fence.tso", asm::i(0x0f, 0, 0, 0, 0x833)),
                _ => out.push("fence.i", asm::i(0x0f, 1, 0, 0, 0)),
            },
        }
        self.fold(out, rd);
    }

    /// Emits an instruction that may stand between `lr` and `sc`: of the base set, without memory, jumps and fences.
    pub fn base_only(&mut self, out: &mut Code) {
        let (rd, rs1, rs2) = (self.dest(), self.any(), self.any());
        if self.rng.one_in(3) {
            let (name, opcode, funct3, _) = *self.rng.pick(&table::IMMEDIATE);
            out.push(name, asm::i(opcode, funct3, rd, rs1, self.imm12()));
        } else {
            let (name, opcode, funct3, funct7) = *self.rng.pick(&table::REGISTER[..table::BASE]);
            out.push(name, asm::r(opcode, funct3, funct7, rd, rs1, rs2));
        }
    }

    /// Emits a two-byte instruction on integer registers. Some write x0: hints, which do nothing.
    fn compressed(&mut self, out: &mut Code) {
        let (rd, rs2) = (self.dest(), self.any());
        let (short, other) = (self.short_temp(), self.short());
        let imm = self.between(-32, 32);
        let some = if imm == 0 { 1 } else { imm };
        for seeded in [rd, short] {
            if seeded != 0 && self.rng.one_in(4) {
                self.seed(out, seeded, false);
            }
        }
        match self.rng.below(18) {
            0 => out.push("c.addi4spn", asm::ciw(short, 4 * self.between(1, 256))),
            1 => out.push("c.nop", asm::ci(1, 0, 0, 0)),
            2 if rd != 0 => out.push("c.addi", asm::ci(1, 0, rd, some)),
            3 if rd != 0 => out.push("c.addiw", asm::ci(1, 1, rd, imm)),
            4 => out.push("c.li", asm::ci(1, 2, rd, imm)),
            5 => out.push("c.lui", asm::ci(1, 3, rd, some)),
            6 => out.push("c.srli", asm::cb_imm(0, short, some)),
            7 => out.push("c.srai", asm::cb_imm(1, short, some)),
            8 => out.push("c.andi", asm::cb_imm(2, short, imm)),
            9 => out.push("c.sub", asm::ca(0, 0, short, other)),
            10 => out.push("c.xor", asm::ca(0, 1, short, other)),
            11 => out.push("c.or", asm::ca(0, 2, short, other)),
            12 => out.push("c.and", asm::ca(0, 3, short, other)),
            13 => out.push("c.subw", asm::ca(1, 0, short, other)),
            14 => out.push("c.addw", asm::ca(1, 1, short, other)),
            15 => out.push("c.slli", asm::ci(2, 0, rd, some)),
            16 if rs2 != 0 => out.push("c.mv", asm::cr(8, rd, rs2)),
            17 if rs2 != 0 => out.push("c.add", asm::cr(9, rd, rs2)),
            _ => {}
        }
        self.fold(out, rd);
        self.fold(out, short);
    }

    fn float(&mut self, out: &mut Code) {
        let (names, funct7, funct3, shape) = *self.rng.pick(table::FLOAT);
        let funct3 = if funct3 == ROUNDS { self.rounding() } else { funct3 };
        let format = self.rng.below(2) as u8;
        let double = (format == 1) != (shape == Shape::Other);
        let edges = self.edges();
        let (rd, rs1, rs2) = match shape {
            Shape::Two => {
                (self.any(), self.float_source(out, double, edges), self.float_source(out, double, edges))
            }
            Shape::One(rs2) => (self.any(), self.float_source(out, double, edges), rs2),
            Shape::Other => (self.any(), self.float_source(out, double, edges), 1 - format),
            Shape::Compare => {
                (self.dest(), self.float_source(out, double, edges), self.float_source(out, double, edges))
            }
            Shape::ToInteger(rs2) => (self.dest(), self.float_source(out, double, edges), rs2),
            Shape::FromInteger(rs2) => (self.any(), self.source(out, edges), rs2),
        };
        out.push(names[usize::from(format)], asm::r(0x53, funct3, funct7 | u32::from(format), rd, rs1, rs2));
        match shape {
            Shape::Compare | Shape::ToInteger(_) => self.fold(out, rd),
            _ => self.fold_float(out, rd),
        }
    }

    fn fused(&mut self, out: &mut Code) {
        let (names, opcode) = *self.rng.pick(table::FUSED);
        let format = self.rng.below(2) as u32;
        let (rd, rm, edges) = (self.any(), self.rounding(), self.edges());
        let sources = [(); 3].map(|()| self.float_source(out, format == 1, edges));
        out.push(names[format as usize], asm::r4(opcode, rm, format, rd, sources));
        self.fold_float(out, rd);
    }

    /// Returns one of the five rounding modes, or the one in `frm`, which is always valid when it matters.
    fn rounding(&mut self) -> u32 {
        *self.rng.pick(&[0, 1, 2, 3, 4, 7, 7, 7])
    }

    /// Returns whether all operands shall be edge cases, since some pairs of them are special.
    fn edges(&mut self) -> bool {
        self.rng.one_in(4)
    }

    /// Returns an integer register to read. It often gets a new value first, since random arithmetic soon has nothing
    /// but zeros, ones and noise.
    fn source(&mut self, out: &mut Code, edge: bool) -> u8 {
        let register = if edge { self.temp() } else { self.any() };
        if edge || register != 0 && self.is_free(register) && self.rng.one_in(4) {
            self.seed(out, register, edge);
        }
        register
    }

    fn seed(&mut self, out: &mut Code, register: u8, edge: bool) {
        let offset = INTEGERS + self.slot(edge);
        out.push("ld", asm::i(0x03, 3, register, self.base, offset));
    }

    /// Returns a floating-point register to read. It mostly gets a new value first, since nearly everything ends as a NaN.
    fn float_source(&mut self, out: &mut Code, double: bool, edge: bool) -> u8 {
        let register = self.any();
        if edge || self.rng.one_in(2) {
            // Sometimes of the wrong kind.
            let single = double == self.rng.one_in(12);
            let offset = FLOATS[usize::from(single)] + self.slot(edge);
            if single && self.rng.one_in(3) {
                out.push("flw", asm::i(0x07, 2, register, self.base, offset));
            } else {
                out.push("fld", asm::i(0x07, 3, register, self.base, offset));
            }
        }
        register
    }

    /// Returns the offset of a value in its pool.
    fn slot(&mut self, edge: bool) -> i32 {
        8 * self.between(0, if edge { EDGES as i32 } else { POOL })
    }

    /// Emits an instruction on `fflags`, `frm` or `fcsr`, such that `frm` is a valid rounding mode afterwards.
    fn csr(&mut self, out: &mut Code) {
        let mode = self.rng.below(5) as u8;
        let rd = self.dest();
        match self.rng.below(8) {
            // Flags may become anything, and clearing bits of a valid rounding mode gives a valid one.
            0..=2 => {
                let (name, funct3) = *self.rng.pick(table::CSR);
                out.push(name, asm::i(0x73, funct3, rd, self.any(), 1));
            }
            3 => {
                let (name, funct3) = *self.rng.pick(&[("csrrc", 3), ("csrrci", 7)]);
                out.push(name, asm::i(0x73, funct3, rd, self.any(), *self.rng.pick(&[2, 3])));
            }
            4 => {
                // Read only.
                let (name, funct3) = *self.rng.pick(&[("csrrs", 2), ("csrrsi", 6)]);
                out.push(name, asm::i(0x73, funct3, rd, 0, *self.rng.pick(&[1, 2, 3])));
            }
            5 => {
                // The mode is 0 when bits are set, or 1 and 4 would become 5.
                out.push("csrrwi", asm::i(0x73, 5, 0, 0, 2));
                out.push("csrrsi", asm::i(0x73, 6, rd, mode, 2));
            }
            6 => {
                // Any number may be there while nothing uses it.
                out.push("csrrwi", asm::i(0x73, 5, rd, 5 + mode % 3, 2));
                let rd = self.dest();
                out.push("csrrs", asm::i(0x73, 2, rd, 0, *self.rng.pick(&[2, 3])));
                out.push("csrrwi", asm::i(0x73, 5, 0, mode, 2));
            }
            _ => {
                let value = i32::from(mode) << 5 | self.between(0, 32);
                let temp = self.temp();
                if self.rng.one_in(3) {
                    self.number(out, temp, value >> 5);
                    out.push("csrrw", asm::i(0x73, 1, rd, temp, 2));
                } else {
                    out.push("csrrwi", asm::i(0x73, 5, 0, 0, 2));
                    self.number(out, temp, value);
                    let (name, funct3) = *self.rng.pick(&[("csrrw", 1), ("csrrs", 2)]);
                    out.push(name, asm::i(0x73, funct3, rd, temp, 3));
                }
            }
        }
        self.fold(out, rd);
    }
}
