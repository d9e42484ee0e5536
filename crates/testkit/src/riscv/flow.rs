//! Control flow. Bodies are built first, so that the branches around them know their distance.

use super::asm::{self, fits, is_short};
use super::builder::{Builder, Function};
use super::code::{Code, Fixup, Symbol};
use super::table;

/// Maximum nesting of bodies.
const DEPTH: u32 = 3;

impl Builder<'_> {
    /// Makes about `size` instructions that run at most about `budget` instructions.
    pub fn body(&mut self, size: usize, budget: u64, depth: u32, calls: bool) -> Code {
        let mut out = Code::default();
        while out.items.len() < size && out.cost < budget {
            let left = budget - out.cost;
            let inner = if depth < DEPTH { self.rng.below(16) } else { 16 };
            match inner {
                0..=1 => self.when(&mut out, left, depth, calls),
                2 => self.either(&mut out, left, depth, calls),
                3..=4 => self.repeat(&mut out, left, depth, calls),
                5 => self.switch(&mut out, left, depth, calls),
                6..=7 if calls => self.call(&mut out, left),
                8 => self.frame(&mut out),
                9 => self.reserved(&mut out),
                10 => self.skip(&mut out),
                _ => self.straight(&mut out),
            }
        }
        out
    }

    fn inner(&mut self, budget: u64, depth: u32, calls: bool) -> Code {
        let size = self.between(2, 40) as usize;
        self.body(size, budget, depth + 1, calls)
    }

    /// Emits a branch over a body.
    fn when(&mut self, out: &mut Code, budget: u64, depth: u32, calls: bool) {
        let body = self.inner(budget / 2, depth, calls);
        self.branch_over(out, body.bytes);
        out.append(&body);
    }

    /// Emits a branch to one of two bodies.
    fn either(&mut self, out: &mut Code, budget: u64, depth: u32, calls: bool) {
        let mut first = self.inner(budget / 3, depth, calls);
        let second = self.inner(budget / 3, depth, calls);
        self.jump_over(&mut first, second.bytes);
        self.branch_over(out, first.bytes);
        out.append(&first);
        out.append(&second);
    }

    /// Emits a loop with a counter. The outer loop keeps its counter on the stack.
    fn repeat(&mut self, out: &mut Code, budget: u64, depth: u32, calls: bool) {
        let count = self.count;
        let body = self.inner(budget / 4, depth, calls);
        let most = (budget / (body.cost + 4)).clamp(1, 24);
        let times = 1 + self.rng.below(most);
        self.move_sp(out, -16);
        self.push_at(out, count, 0);
        self.number(out, count, times as i32);

        let mut round = body;
        match self.rng.below(3) {
            0 => round.push("c.addi", asm::ci(1, 0, count, -1)),
            1 => round.push("addiw", asm::i(0x1b, 0, count, count, -1)),
            _ => Self::addi(&mut round, count, count, -1),
        }
        let back = -round.bytes;
        if is_short(count) && fits(back, 9) && self.rng.one_in(2) {
            round.push("c.bnez", asm::cb(7, count, back));
        } else if fits(back, 13) {
            let (name, funct3, rs1, rs2) =
                *self.rng.pick(&[("bne", 1, count, 0), ("blt", 4, 0, count), ("bltu", 6, 0, count)]);
            round.push(name, asm::b(funct3, rs1, rs2, back));
        } else {
            round.push("beq", asm::b(0, count, 0, 8));
            round.push("jal", asm::j(0, back - 4));
        }
        let cost = round.cost * times;
        let before = out.cost;
        out.append(&round);
        out.cost = before + cost;
        self.pop_from(out, count, 0);
        self.move_sp(out, 16);
    }

    /// Emits a jump to one of several bodies, through a table of addresses or into a row of jumps.
    fn switch(&mut self, out: &mut Code, budget: u64, depth: u32, calls: bool) {
        let ways = 1 << self.between(1, 4);
        let mut cases = Code::default();
        let mut starts = Vec::new();
        let bodies: Vec<Code> = (0..ways).map(|_| self.inner(budget / 10, depth, calls)).collect();
        // From the last, so that each knows its distance to the end.
        let mut finished: Vec<Code> = Vec::new();
        let mut after = 0;
        for mut body in bodies.into_iter().rev() {
            if after > 0 {
                self.jump_over(&mut body, after);
            }
            after += body.bytes;
            finished.push(body);
        }
        for body in finished.iter().rev() {
            starts.push((cases.items.len(), cases.bytes));
            cases.append(body);
        }

        let which = self.temp();
        let target = self.temp_but(which);
        out.push("andi", asm::i(0x13, 7, which, self.any(), ways - 1));
        if self.rng.one_in(2) {
            let fixup = out.items.len();
            Self::address(out, target, Symbol::Item(0), 0);
            out.push("sh3add", asm::r(0x33, 6, 0x10, target, which, target));
            out.push("ld", asm::i(0x03, 3, target, target, 0));
            self.jump_to(out, target);
            let table = out.items.len();
            out.fixups.last_mut().expect("the address").1 = Fixup::Pair(Symbol::Item(table), 0);
            debug_assert_eq!(out.fixups.last().map(|last| last.0), Some(fixup));
            let first = table + ways as usize;
            for (item, _) in starts {
                out.address(Symbol::Item(first + item));
            }
        } else {
            Self::address(out, target, Symbol::Item(0), 0);
            out.push("sh2add", asm::r(0x33, 4, 0x10, target, which, target));
            self.jump_to(out, target);
            let row = out.items.len();
            out.fixups.last_mut().expect("the address").1 = Fixup::Pair(Symbol::Item(row), 0);
            for (i, (_, start)) in starts.into_iter().enumerate() {
                out.push("jal", asm::j(0, 4 * (ways - i as i32) + start));
            }
        }
        out.append(&cases);
    }

    /// Emits a jump over bytes that are no instructions.
    fn skip(&mut self, out: &mut Code) {
        let illegal = self.between(0, 6);
        match self.rng.below(3) {
            0 => self.jump_over(out, 2 * illegal),
            // The usual way to read the program counter.
            1 => out.push("jal", asm::j(self.dest(), 4 + 2 * illegal)),
            _ => {
                let target = self.temp();
                out.push("auipc", asm::u(0x17, target, 0));
                // The lowest bit of the target is ignored.
                let odd = self.between(0, 2);
                out.push("jalr", asm::i(0x67, 0, self.dest(), target, 8 + 2 * illegal + odd));
            }
        }
        for _ in 0..illegal {
            out.illegal();
        }
    }

    /// Emits a call of some function that is not too long, in some way.
    fn call(&mut self, out: &mut Code, budget: u64) {
        match self.callee(budget, None) {
            Some(number) => self.call_function(out, number),
            None => self.straight(out),
        }
    }

    /// Emits a call of each function, with something in between.
    pub fn call_all(&mut self, out: &mut Code) {
        for number in 0..self.functions.len() {
            self.straight(out);
            self.call_function(out, number);
        }
    }

    fn call_function(&mut self, out: &mut Code, number: usize) {
        let (link, cost) = (self.functions[number].link, self.functions[number].code.cost);
        let symbol = Symbol::Function(number);
        let target = self.temp();
        match self.rng.below(5) {
            0 => out.push_fixed("jal", asm::j(link, 0), Fixup::Jump(symbol)),
            1 => {
                out.push_fixed("auipc", asm::u(0x17, target, 0), Fixup::Pair(symbol, 0));
                out.push("jalr", asm::i(0x67, 0, link, target, 0));
            }
            2 if self.low => {
                out.push_fixed("lui", asm::u(0x37, target, 0), Fixup::Absolute(symbol));
                out.push("jalr", asm::i(0x67, 0, link, target, 0));
            }
            3 if link == 1 => {
                Self::address(out, target, symbol, 0);
                out.push("c.jalr", asm::cr(9, target, 0));
            }
            _ => {
                let offset = self.imm12();
                let odd = self.between(0, 2);
                Self::address(out, target, symbol, odd - offset);
                out.push("jalr", asm::i(0x67, 0, link, target, offset));
            }
        }
        out.cost += cost;
    }

    /// Returns a function that runs at most `budget` instructions and uses this link register.
    fn callee(&mut self, budget: u64, link: Option<u8>) -> Option<usize> {
        let fits = |f: &Function| f.code.cost <= budget && link.is_none_or(|link| link == f.link);
        let numbers: Vec<usize> = (0..self.functions.len()).filter(|&i| fits(&self.functions[i])).collect();
        if numbers.is_empty() { None } else { Some(*self.rng.pick(&numbers)) }
    }

    /// Builds another function.
    pub fn function(&mut self, size: usize, budget: u64) {
        let link = *self.rng.pick(&[1, 1, 5]);
        let mut code = Code::default();
        if self.rng.one_in(3) {
            // A leaf: the return address stays in its register.
            self.keeping(link, |this| code = this.body(size, budget, 0, false));
        } else {
            let size_of_frame = 16 * self.between(1, 5);
            let place = 8 * self.between(0, size_of_frame / 8);
            self.move_sp(&mut code, -size_of_frame);
            self.push_at(&mut code, link, place);
            code.append(&self.body(size, budget, 0, true));
            self.pop_from(&mut code, link, place);
            self.move_sp(&mut code, size_of_frame);
        }
        match self.callee(budget, Some(link)) {
            Some(number) if self.rng.one_in(2) => {
                let cost = self.functions[number].code.cost;
                self.tail_call(&mut code, number, link);
                code.cost += cost;
            }
            _ => self.jump_to(&mut code, link),
        }
        self.functions.push(Function { code, link });
    }

    /// Emits a jump to a function that returns to the caller of this one.
    fn tail_call(&mut self, out: &mut Code, number: usize, link: u8) {
        let symbol = Symbol::Function(number);
        let target = self.temp_but(link);
        match self.rng.below(3) {
            0 => out.push_fixed("jal", asm::j(0, 0), Fixup::Jump(symbol)),
            1 => {
                out.push_fixed("auipc", asm::u(0x17, target, 0), Fixup::Pair(symbol, 0));
                out.push("jalr", asm::i(0x67, 0, 0, target, 0));
            }
            _ => {
                Self::address(out, target, symbol, 0);
                self.jump_to(out, target);
            }
        }
    }

    fn jump_to(&mut self, out: &mut Code, target: u8) {
        if self.rng.one_in(2) {
            out.push("c.jr", asm::cr(8, target, 0));
        } else {
            out.push("jalr", asm::i(0x67, 0, 0, target, 0));
        }
    }

    fn jump_over(&mut self, out: &mut Code, bytes: i32) {
        if fits(bytes + 2, 12) && self.rng.one_in(2) {
            out.push("c.j", asm::cj(bytes + 2));
        } else {
            out.push("jal", asm::j(0, bytes + 4));
        }
    }

    fn branch_over(&mut self, out: &mut Code, bytes: i32) {
        if fits(bytes + 2, 9) && self.rng.one_in(3) {
            let (name, funct3) = *self.rng.pick(&[("c.beqz", 6), ("c.bnez", 7)]);
            return out.push(name, asm::cb(funct3, self.short(), bytes + 2));
        }
        let (name, funct3) = *self.rng.pick(table::BRANCH);
        let rs1 = self.any();
        let rs2 = if self.rng.one_in(6) { rs1 } else { self.any() };
        if fits(bytes + 4, 13) {
            out.push(name, asm::b(funct3, rs1, rs2, bytes + 4));
        } else {
            out.push(name, asm::b(funct3, rs1, rs2, 8));
            out.push("jal", asm::j(0, bytes + 4));
        }
    }
}
