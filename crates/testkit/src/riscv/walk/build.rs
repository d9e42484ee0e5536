//! Generates programs.

use tracewright_core::Isa;

use super::super::asm;
use super::{Kind, Op, Program};
use crate::Rng;

/// Addresses of programs: where LUI reaches them, where it does not, and at the upper end.
const BASES: [u64; 4] = [0x1_0000, 0x8000_0000, 0x3f_f123_4000, 0xffff_ffff_8000_0000];

impl Program {
    /// Generates a program.
    pub fn generate(rng: &mut Rng) -> Self {
        let isa = if rng.one_in(4) { Isa::Rv32 } else { Isa::Rv64 };
        let address = if isa == Isa::Rv32 { *rng.pick(&BASES[..2]) } else { *rng.pick(&BASES) };
        let reaches_lui = isa == Isa::Rv32 || address != BASES[1] && address != BASES[2];
        let mut builder = Builder { rng, ops: Vec::new(), reaches_lui };
        let count = 3 + builder.rng.below(8) as usize;
        let mut functions = Vec::new();
        for function in 0..count {
            functions.push(builder.ops.len());
            builder.function(function, function + 1 == count);
        }
        let handlers = (0..1 + builder.rng.below(3)).map(|_| builder.handler(count - 1)).collect();
        let mut ops = builder.ops;
        // Calls name functions until their addresses are known.
        for op in &mut ops {
            match &mut op.kind {
                Kind::Call { to } | Kind::PairFirst { to, .. } | Kind::PairSecond { to, .. } => {
                    *to = functions[*to];
                }
                _ => {}
            }
        }
        let mut program =
            Self { isa, address, bytes: Vec::new(), ops, addresses: Vec::new(), functions, handlers };
        let mut at = address;
        for op in &program.ops {
            program.addresses.push(at);
            at += u64::from(op.len);
        }
        for op in 0..program.ops.len() {
            let bits = program.bits(op);
            let len = program.ops[op].len.into();
            program.bytes.extend_from_slice(&bits.to_le_bytes()[..len]);
        }
        program
    }

    fn bits(&self, op: usize) -> u32 {
        let Op { kind, len, register } = self.ops[op];
        let offset = |to: usize| self.addresses[to].wrapping_sub(self.addresses[op]) as i64 as i32;
        match kind {
            Kind::Plain if len == 2 => asm::ci(1, 0, 10, 1),
            Kind::Plain => asm::i(0x13, 0, 10, 10, 1),
            Kind::Branch { to, .. } if len == 2 => asm::cb(7, 8, offset(to)),
            Kind::Branch { to, .. } => asm::b(u32::from(register) & 1, 10, 11, offset(to)),
            Kind::Jump { to } if len == 2 => asm::cj(offset(to)),
            Kind::Jump { to } | Kind::Call { to } => asm::j(register, offset(to)),
            Kind::PairFirst { to, is_lui } => {
                let (opcode, value) =
                    if is_lui { (0x37, self.addresses[to] as i32) } else { (0x17, offset(to)) };
                asm::u(opcode, register, value.wrapping_add(0x800))
            }
            Kind::PairSecond { to, link } => {
                let value = match self.ops[op - 1].kind {
                    Kind::PairFirst { is_lui: true, .. } => self.addresses[to] as i32,
                    _ => self.addresses[to].wrapping_sub(self.addresses[op - 1]) as i64 as i32,
                };
                asm::i(0x67, 0, link, register, value << 20 >> 20)
            }
            Kind::JumpTable { .. } if len == 2 => asm::cr(8, register, 0),
            Kind::JumpTable { .. } => asm::i(0x67, 0, 0, register, 16),
            Kind::CallRegister if len == 2 => asm::cr(9, register, 0),
            Kind::CallRegister => asm::i(0x67, 0, 1, register, -4),
            Kind::Return if len == 2 => asm::cr(8, register, 0),
            Kind::Return => asm::i(0x67, 0, 0, register, 0),
            Kind::Swap => asm::i(0x67, 0, 1, 5, 0),
            Kind::Ecall => 0x73,
            Kind::Ebreak if len == 2 => 0x9002,
            Kind::Ebreak => 0x0010_0073,
            Kind::TrapReturn { is_sret: true } => 0x1020_0073,
            Kind::TrapReturn { is_sret: false } => 0x3020_0073,
        }
    }
}

struct Builder<'r> {
    rng: &'r mut Rng,
    ops: Vec<Op>,
    reaches_lui: bool,
}

impl Builder<'_> {
    fn push(&mut self, kind: Kind, len: u8, register: u8) {
        self.ops.push(Op { kind, len, register });
    }

    fn len(&mut self) -> u8 {
        *self.rng.pick(&[2, 4])
    }

    /// Emits an instruction of either length.
    fn push_any(&mut self, kind: Kind, register: u8) {
        let len = self.len();
        self.push(kind, len, register);
    }

    fn plain(&mut self) {
        for _ in 0..self.rng.below(4) {
            self.push_any(Kind::Plain, 0);
        }
    }

    /// Builds a function. It calls later ones and, where a branch may skip the call, earlier ones and itself; a leaf
    /// calls nothing.
    fn function(&mut self, function: usize, is_leaf: bool) {
        let first = self.ops.len();
        let pieces = 1 + self.rng.below(if is_leaf { 4 } else { 12 });
        for _ in 0..pieces {
            self.plain();
            match self.rng.below(if is_leaf { 4 } else { 16 }) {
                0 | 1 => self.forwards(),
                2 => self.backwards(first),
                3 => {}
                4 | 5 => self.call_to(function + 1),
                6 | 7 => {
                    // Direct or indirect recursion. At some depth the branch skips it.
                    let at = self.ops.len();
                    self.push(Kind::Branch { to: at + 2, guards: true }, 4, 0);
                    let to = self.rng.below(function as u64 + 1) as usize;
                    self.call_to(to);
                }
                8 | 9 => self.pair(function + 1, true),
                10 => self.push_any(Kind::CallRegister, 6),
                11 => self.push_any(Kind::JumpTable { first, last: first }, 6),
                12 => self.push(Kind::Ecall, 4, 0),
                13 => self.push_any(Kind::Ebreak, 0),
                14 => self.push(Kind::Swap, 4, 0),
                _ => {
                    let at = self.ops.len();
                    self.push(Kind::Branch { to: at + 3, guards: false }, 4, 1);
                    self.pair(function + 1, false);
                }
            }
        }
        self.plain();
        let (len, register) = (self.len(), *self.rng.pick(&[1, 1, 5]));
        self.push(Kind::Return, len, register);
        // Forward branches go at most here.
        let last = self.ops.len() - 1;
        for at in first..=last {
            let guards = |at: usize| matches!(self.ops[at].kind, Kind::Branch { guards: true, .. });
            // Only its guard leads to a guarded call, or execution could call forever without a branch.
            let allowed = |to: usize| if to > first && guards(to - 1) { to - 1 } else { to };
            let kind = match self.ops[at].kind {
                Kind::Branch { to, guards: true } => Kind::Branch { to: to.min(last), guards: true },
                Kind::Branch { to, guards } => Kind::Branch { to: allowed(to.min(last)), guards },
                Kind::Jump { to } => Kind::Jump { to: allowed(to.min(last)) },
                Kind::JumpTable { first, .. } => Kind::JumpTable { first, last },
                kind => kind,
            };
            self.ops[at].kind = kind;
        }
    }

    fn call_to(&mut self, function: usize) {
        let register = *self.rng.pick(&[1, 1, 1, 5]);
        self.push(Kind::Call { to: function }, 4, register);
    }

    fn pair(&mut self, function: usize, is_call: bool) {
        let is_lui = self.reaches_lui && self.rng.one_in(2);
        let (register, link) = if is_call { (1, 1) } else { (6, 0) };
        self.push(Kind::PairFirst { to: function, is_lui }, 4, register);
        self.push(Kind::PairSecond { to: function, link }, 4, register);
    }

    fn forwards(&mut self) {
        let at = self.ops.len();
        let to = at + 1 + self.rng.below(12) as usize;
        let len = self.len();
        if self.rng.one_in(4) {
            let register = if len == 4 && self.rng.one_in(2) { 7 } else { 0 };
            self.push(Kind::Jump { to }, len, register);
        } else {
            let register = self.rng.below(2) as u8;
            self.push(Kind::Branch { to, guards: false }, len, register);
        }
    }

    fn backwards(&mut self, first: usize) {
        let at = self.ops.len();
        let to = at - self.rng.below((at - first).min(12) as u64 + 1) as usize;
        self.push_any(Kind::Branch { to, guards: false }, 0);
    }

    /// Builds a trap handler, which may call the function `leaf`.
    fn handler(&mut self, leaf: usize) -> usize {
        let first = self.ops.len();
        self.plain();
        if self.rng.one_in(2) {
            self.call_to(leaf);
        }
        if self.rng.one_in(3) {
            self.backwards(first);
        }
        self.plain();
        let is_sret = self.rng.one_in(3);
        self.push(Kind::TrapReturn { is_sret }, 4, 0);
        first
    }
}
