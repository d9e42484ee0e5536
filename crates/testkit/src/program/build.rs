use std::ops::Range;

use super::op::Op;
use super::{Program, Segment};
use crate::Rng;

/// Vectors of AArch64, as instruction numbers: synchronous exceptions and interrupts, from the same and a lower level.
pub(super) const VECTORS: [u32; 4] = [0x200 / 4, 0x280 / 4, 0x400 / 4, 0x480 / 4];
/// Size of all vectors.
const VECTOR_TABLE: u32 = 0x800 / 4;

/// Generates a program of about `size` instructions, without the 512 of the exception vectors.
pub fn generate(rng: &mut Rng, size: usize) -> Program {
    build(Builder::new(rng), size)
}

/// Generates a program without system calls.
pub fn generate_computing(rng: &mut Rng, size: usize) -> Program {
    build(Builder { calls_system: false, ..Builder::new(rng) }, size)
}

fn build(mut builder: Builder<'_>, size: usize) -> Program {
    builder.user(size * 3 / 4);
    let kernel = builder.ops.len() as u32;
    builder.kernel(size / 4);
    let Builder { rng, mut ops, functions, mut choices, .. } = builder;

    // Until here, targets of calls (unlike those of branches inside a function) were function numbers.
    let resolve = |target: &mut u32| {
        if *target >= FUNCTION {
            *target = functions[(*target - FUNCTION) as usize].start;
        }
    };
    for op in &mut ops {
        if let Op::Jump { target } | Op::Call { target } = op {
            resolve(target);
        }
    }
    choices.iter_mut().for_each(resolve);

    let mut ends: Vec<u32> = (0..ops.len() as u32).collect();
    for i in (0..ops.len() - 1).rev() {
        if !ops[i].ends_block() {
            ends[i] = ends[i + 1];
        }
    }
    // Sometimes code lies where short addresses need a carry, or where all 64 bits count.
    let user = *rng.pick(&[0x40_0000, 0xaaaa_d5f0_0000, 0x7fff_f000, 0x8000]);
    let bases = [user, *rng.pick(&[0xffff_8000_1008_0000, 0xffff_ffc0_0801_0000, 0x1_0000_0800])];
    let mut words =
        ops.iter().enumerate().map(|(i, op)| op.encode(i as u32, rng)).collect::<Vec<_>>().into_iter();
    let mut segment = |address, len| Segment {
        address,
        bytes: words.by_ref().take(len as usize).flat_map(u32::to_le_bytes).collect(),
    };
    let user = segment(bases[0], kernel);
    let segments = [user, segment(bases[1], u32::MAX)];
    Program { segments, ops, ends, kernel, choices }
}

/// Approximate size of functions.
const SIZE: usize = 80;

/// Targets from here on are function numbers.
const FUNCTION: u32 = 1 << 31;

#[derive(Clone, Copy)]
struct Function {
    start: u32,
    /// Set if it calls nothing, so that anything may call it at any depth.
    leaf: bool,
    kernel: bool,
}

struct Builder<'a> {
    rng: &'a mut Rng,
    ops: Vec<Op>,
    functions: Vec<Function>,
    choices: Vec<u32>,
    /// The function under construction.
    current: Function,
    /// Index where it should end.
    limit: usize,
    calls_system: bool,
}

impl<'a> Builder<'a> {
    fn new(rng: &'a mut Rng) -> Self {
        let current = Function { start: 0, leaf: false, kernel: false };
        Self {
            rng,
            ops: Vec::new(),
            functions: Vec::new(),
            choices: Vec::new(),
            current,
            limit: 0,
            calls_system: true,
        }
    }

    /// Plans functions: every third is a leaf. Returns the number of the first and the one after the last.
    fn plan(&mut self, size: usize, kernel: bool) -> (usize, usize) {
        let first = self.functions.len();
        let count = 2 + size / SIZE;
        self.functions.extend((0..count).map(|i| Function { start: 0, leaf: i % 3 == 1, kernel }));
        (first, first + count)
    }

    fn user(&mut self, size: usize) {
        let (first, end) = self.plan(size, false);
        // The first runs forever.
        self.begin(first);
        self.body(0);
        self.body(0);
        self.ops.push(Op::Jump { target: 0 });
        self.functions(first + 1..end);
    }

    fn functions(&mut self, numbers: Range<usize>) {
        for number in numbers {
            self.begin(number);
            self.body(0);
            self.end();
        }
    }

    fn kernel(&mut self, size: usize) {
        let table = self.ops.len();
        self.ops.resize(table + VECTOR_TABLE as usize, Op::Plain);
        let (first, end) = self.plan(size, true);
        self.functions(first..end);
        for vector in VECTORS {
            self.current = Function { start: 0, leaf: false, kernel: true };
            self.limit = self.ops.len() + 20;
            self.ops[table + vector as usize] = Op::Jump { target: self.ops.len() as u32 };
            self.body(1);
            if self.rng.one_in(2) {
                self.ops.extend([Op::Plain, Op::Isb]);
            }
            self.straight();
            self.ops.push(Op::Eret);
        }
    }

    fn begin(&mut self, number: usize) {
        self.functions[number].start = self.ops.len() as u32;
        self.current = self.functions[number];
        self.limit = self.ops.len() + self.rng.below(2 * SIZE as u64) as usize;
    }

    /// Ends a function with a return or a tail call.
    fn end(&mut self) {
        if !self.current.leaf && self.rng.one_in(4) {
            let op = if self.rng.one_in(2) {
                Op::Jump { target: self.callee(false) }
            } else {
                let (first, len) = self.callees();
                Op::IndirectJump { first, len }
            };
            self.ops.push(op);
        } else {
            self.ops.push(Op::Return);
        }
    }

    fn body(&mut self, nesting: u32) {
        for _ in 0..1 + self.rng.below(if nesting == 0 { 12 } else { 3 }) {
            self.statement(nesting);
            if self.ops.len() > self.limit {
                break;
            }
        }
    }

    fn statement(&mut self, nesting: u32) {
        let leaf = self.current.leaf;
        match self.rng.below(if nesting > 3 { 6 } else { 20 }) {
            0..=2 => self.straight(),
            3 if !leaf => {
                self.straight();
                let target = self.callee(true);
                self.ops.push(Op::Call { target });
            }
            4 if self.rng.one_in(4) => self.ops.push(Op::Isb),
            4 if self.rng.one_in(6) => self.ops.push(Op::Wait),
            5 if !self.current.kernel && self.rng.one_in(3) => {
                self.ops.push(if self.calls_system { Op::Svc } else { Op::Plain });
            }
            6..=8 => self.repeat(nesting),
            9 | 10 if !leaf => self.guarded_call(),
            11 => self.switch(nesting),
            12 if nesting > 0 => {
                let skip = self.branch(false);
                self.straight();
                self.ops.push(if self.is_handler() { Op::Plain } else { Op::Return });
                self.land(skip);
            }
            13..=15 => {
                let skip = self.branch(false);
                self.body(nesting + 1);
                let over = self.ops.len();
                self.ops.push(Op::Plain);
                self.land(skip);
                self.body(nesting + 1);
                self.ops[over] = Op::Jump { target: self.ops.len() as u32 };
            }
            _ => {
                self.straight();
                let skip = self.branch(false);
                self.body(nesting + 1);
                self.land(skip);
            }
        }
    }

    fn is_handler(&self) -> bool {
        // The first function's number is 0 too, but it never returns either.
        self.current.start == 0
    }

    fn straight(&mut self) {
        let len = 1 + self.rng.below(10) as usize;
        self.ops.resize(self.ops.len() + len, Op::Plain);
    }

    /// Emits a forward branch whose target is not known yet.
    fn branch(&mut self, guard: bool) -> usize {
        // Most branches of programs go one way most of the time.
        let bias = *self.rng.pick(&[4, 16, 64, 128, 200, 240, 252]);
        self.ops.push(Op::Conditional { target: 0, bias, guard });
        self.ops.len() - 1
    }

    /// Sets the target of the branch at `from` to here.
    fn land(&mut self, from: usize) {
        let here = self.ops.len() as u32;
        if let Op::Conditional { target, .. } = &mut self.ops[from] {
            *target = here;
        }
    }

    fn repeat(&mut self, nesting: u32) {
        let top = self.ops.len() as u32;
        self.body(nesting + 1);
        let bias = *self.rng.pick(&[128, 200, 240, 250]);
        // Nested loops multiply, so inner ones have fewer trips.
        let bias = if nesting > 1 { 128 } else { bias };
        self.ops.push(Op::Conditional { target: top, bias, guard: false });
    }

    fn guarded_call(&mut self) {
        let skip = self.branch(true);
        self.straight();
        let op = if self.rng.one_in(3) {
            let (first, len) = self.callees();
            Op::IndirectCall { first, len }
        } else {
            Op::Call { target: self.callee(false) }
        };
        self.ops.push(op);
        self.land(skip);
    }

    /// Emits a jump table.
    fn switch(&mut self, nesting: u32) {
        let cases = 2 + self.rng.below(5) as u32;
        self.straight();
        let at = self.ops.len();
        self.ops.push(Op::Plain);
        let mut jumps = Vec::new();
        let mut starts = Vec::new();
        for _ in 0..cases {
            starts.push(self.ops.len() as u32);
            self.body(nesting + 2);
            jumps.push(self.ops.len());
            self.ops.push(Op::Plain);
        }
        let end = self.ops.len() as u32;
        jumps.into_iter().for_each(|jump| self.ops[jump] = Op::Jump { target: end });
        self.ops[at] = Op::IndirectJump { first: self.choices.len() as u32, len: cases };
        self.choices.extend(starts);
    }

    fn callee(&mut self, leaf: bool) -> u32 {
        loop {
            let number = self.rng.below(self.functions.len() as u64) as usize;
            let function = self.functions[number];
            if number != 0 && function.kernel == self.current.kernel && (!leaf || function.leaf) {
                return FUNCTION + number as u32;
            }
        }
    }

    /// Returns a few functions that a pointer may point to; the first is the likeliest.
    fn callees(&mut self) -> (u32, u32) {
        let first = self.choices.len() as u32;
        let len = 1 + self.rng.below(4) as u32;
        for _ in 0..len {
            let callee = self.callee(false);
            self.choices.push(callee);
        }
        (first, len)
    }
}
