//! Random programs of user code: A64, or A32 and T32 that call each other.

use tracewright_core::Isa;
use tracewright_testkit::Rng;

/// A program, and what there is in it.
pub struct Program {
    pub address: u64,
    pub bytes: Vec<u8>,
    /// Where functions begin.
    pub functions: Vec<(u64, Isa)>,
    /// System calls.
    pub calls: Vec<u64>,
    /// What is no instruction.
    pub undefined: Vec<u64>,
}

/// An instruction.
#[derive(Clone)]
enum Op {
    /// Nothing that has a target.
    Plain(Vec<u8>),
    Svc,
    Undefined,
    /// A branch to an instruction of the function, by number; perhaps conditional.
    Branch {
        to: usize,
        conditional: bool,
    },
    /// A short branch forward over a few instructions.
    Skip {
        to: usize,
    },
    /// A call, perhaps into the other instruction set.
    Call {
        function: usize,
        conditional: bool,
    },
}

struct Function {
    isa: Isa,
    ops: Vec<Op>,
}

impl Program {
    pub fn random(rng: &mut Rng, is_64bit: bool) -> Self {
        let count = 3 + rng.below(8) as usize;
        let isas: Vec<Isa> =
            (0..count).map(|_| if is_64bit { Isa::A64 } else { *rng.pick(&[Isa::A32, Isa::T32]) }).collect();
        let functions: Vec<_> = isas.iter().map(|&isa| function(rng, isa, count)).collect();
        let bases: &[u64] =
            if is_64bit { &[0x40_0000, 0xaaaa_d5f0_0000, 0x55_5000_0000] } else { &[0x1_0000, 0xf6ff_f000] };
        let address = *rng.pick(bases);
        // First where everything is, then its bytes.
        let (mut at, mut places) = (address, Vec::new());
        for function in &functions {
            at = at.next_multiple_of(4);
            let mut starts = Vec::new();
            for op in &function.ops {
                starts.push(at);
                at += op.len(function.isa) as u64;
            }
            starts.push(at);
            places.push(starts);
        }
        let entries: Vec<_> = places.iter().zip(&isas).map(|(starts, &isa)| (starts[0], isa)).collect();
        let mut program =
            Self { address, bytes: Vec::new(), functions: entries, calls: Vec::new(), undefined: Vec::new() };
        for (function, starts) in functions.iter().zip(&places) {
            program.bytes.resize((starts[0] - address) as usize, 0);
            for (op, &at) in function.ops.iter().zip(starts) {
                match op {
                    Op::Svc => program.calls.push(at),
                    Op::Undefined => program.undefined.push(at),
                    _ => {}
                }
                let bytes = op.encode(rng, function.isa, at, starts, &program.functions);
                assert_eq!(bytes.len(), op.len(function.isa));
                program.bytes.extend(bytes);
            }
        }
        program
    }

    /// The bytes from an address on.
    pub fn at(&self, address: u64) -> &[u8] {
        &self.bytes[(address - self.address) as usize..]
    }
}

/// A function ends in a return or a jump.
fn function(rng: &mut Rng, isa: Isa, functions: usize) -> Function {
    let mut ops = Vec::new();
    let mut pending: Vec<usize> = Vec::new();
    let statements = 3 + rng.below(12);
    for _ in 0..statements {
        (0..rng.below(6)).for_each(|_| ops.push(plain(rng, isa)));
        match rng.below(12) {
            0 => ops.push(Op::Svc),
            1 if rng.one_in(6) => ops.push(Op::Undefined),
            2 => ops.push(Op::Plain(barrier(rng, isa))),
            3 | 4 => {
                let (function, conditional) = (rng.below(functions as u64) as usize, rng.one_in(3));
                ops.push(Op::Call { function, conditional });
            }
            5 => ops.push(indirect(rng, isa, true)),
            6 => {
                let to = ops.len() + 2 + rng.below(3) as usize;
                ops.push(Op::Skip { to });
                while ops.len() < to {
                    ops.push(plain(rng, isa));
                }
            }
            7 => ops.extend(conditional_return(rng, isa)),
            8 | 9 if !ops.is_empty() => {
                let to = rng.below(ops.len() as u64) as usize;
                // Not into the middle of an IT block.
                let to = (0..=to).rev().find(|&to| to == 0 || !is_it(&ops, to)).unwrap_or(0);
                ops.push(Op::Branch { to, conditional: true });
            }
            _ => {
                pending.push(ops.len());
                ops.push(Op::Branch { to: 0, conditional: !rng.one_in(3) });
            }
        }
        // Branches forward land here, some of them.
        for from in std::mem::take(&mut pending) {
            if rng.one_in(2) {
                pending.push(from);
            } else if let Op::Branch { to, .. } = &mut ops[from] {
                *to = from + 1;
            }
        }
    }
    let end = ops.len();
    for from in pending {
        if let Op::Branch { to, .. } = &mut ops[from] {
            *to = end;
        }
    }
    ops.push(plain(rng, isa));
    ops.push(indirect(rng, isa, false));
    Function { isa, ops }
}

/// Whether the instruction may be covered by IT.
fn is_it(ops: &[Op], number: usize) -> bool {
    let begins = |op: &Op| matches!(op, Op::Plain(bytes) if bytes.len() == 2 && bytes[1] == 0xbf && bytes[0] & 0xf != 0);
    ops[number.saturating_sub(2)..number].iter().any(begins)
}

fn word(word: u32) -> Vec<u8> {
    word.to_le_bytes().to_vec()
}

/// T32: one or two halfwords.
fn halves(halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

fn plain(rng: &mut Rng, isa: Isa) -> Op {
    Op::Plain(match isa {
        Isa::A64 => word(*rng.pick(&[0x9100_0400, 0xf940_0020, 0xf900_0020, 0xd280_0020, 0xd503_201f])),
        Isa::A32 => word(*rng.pick(&[0xe280_0001, 0xe590_1000, 0x0280_0001, 0xe320_f000, 0xe3a0_1005])),
        _ => match rng.below(6) {
            0 => halves(&[0x3001]),
            1 => halves(&[0x6808]),
            2 => halves(&[0xbf00]),
            3 => halves(&[0xf100, 0x0001]),
            4 => halves(&[0xf8d1, 0x0000]),
            _ => halves(&[0x2005]),
        },
    })
}

fn barrier(rng: &mut Rng, isa: Isa) -> Vec<u8> {
    let is_wait = rng.one_in(2);
    match isa {
        Isa::A64 => word(if is_wait { 0xd503_205f } else { 0xd503_3fdf }),
        Isa::A32 => word(if is_wait { 0xe320_f002 } else { 0xf57f_f06f }),
        _ if is_wait => halves(&[0xbf20]),
        _ => halves(&[0xf3bf, 0x8f6f]),
    }
}

/// An indirect call, or a return or indirect jump.
fn indirect(rng: &mut Rng, isa: Isa, call: bool) -> Op {
    Op::Plain(match (isa, call) {
        (Isa::A64, true) => word(*rng.pick(&[0xd63f_0020, 0xd73f_0822])),
        (Isa::A64, false) => word(*rng.pick(&[0xd65f_03c0, 0xd65f_03c0, 0xd65f_0bff, 0xd61f_0040])),
        (Isa::A32, true) => word(0xe12f_ff32),
        (Isa::A32, false) => {
            word(*rng.pick(&[0xe12f_ff1e, 0xe12f_ff1e, 0xe8bd_8010, 0xe12f_ff11, 0xe591_f000, 0xe1a0_f00e]))
        }
        (_, true) => halves(&[0x4790]),
        (_, false) => match rng.below(6) {
            0 | 1 => halves(&[0x4770]),
            2 => halves(&[0xbd10]),
            3 => halves(&[0xe8bd, 0x8010]),
            4 => halves(&[0x4708]),
            _ => halves(&[0xf8d1, 0xf000]),
        },
    })
}

fn conditional_return(rng: &mut Rng, isa: Isa) -> Vec<Op> {
    match isa {
        Isa::A64 => vec![],
        Isa::A32 => vec![Op::Plain(word(*rng.pick(&[0x012f_ff1e, 0x18bd_8010])))],
        // IT, or ITT with something before.
        _ if rng.one_in(2) => vec![Op::Plain(halves(&[0xbf08])), Op::Plain(halves(&[0x4770]))],
        _ => vec![
            Op::Plain(halves(&[0xbf04])),
            Op::Plain(halves(&[0x3001])),
            Op::Plain(halves(&[*rng.pick(&[0x4770, 0xbd10])])),
        ],
    }
}

impl Op {
    fn len(&self, isa: Isa) -> usize {
        match (self, isa) {
            (Self::Plain(bytes), _) => bytes.len(),
            (Self::Svc | Self::Undefined | Self::Skip { .. }, Isa::T32) => 2,
            // The wide call has no condition of its own: a branch around it.
            (Self::Call { conditional: true, .. }, Isa::A64 | Isa::T32) => 8,
            _ => 4,
        }
    }

    fn encode(&self, rng: &mut Rng, isa: Isa, at: u64, starts: &[u64], functions: &[(u64, Isa)]) -> Vec<u8> {
        let condition = rng.below(14) as u32;
        match self {
            Self::Plain(bytes) => bytes.clone(),
            Self::Svc => match isa {
                Isa::A64 => word(0xd400_0001),
                Isa::A32 => word(0xef00_0000),
                _ => halves(&[0xdf00]),
            },
            Self::Undefined => match isa {
                Isa::A64 => word(0x0000_0000),
                Isa::A32 => word(0xe7f0_00f0),
                _ => halves(&[0xde00]),
            },
            Self::Skip { to } => match isa {
                Isa::A64 => word(0x3400_0000 | field(starts[*to], at, 2, 19) << 5),
                Isa::A32 => word(condition << 28 | 0x0a00_0000 | field(starts[*to], at + 8, 2, 24)),
                _ if rng.one_in(2) && starts[*to] >= at + 4 => {
                    let offset = field(starts[*to], at + 4, 1, 6) as u16;
                    halves(&[0xb100 | (offset >> 5) << 9 | (offset & 0x1f) << 3])
                }
                _ => halves(&[0xd000 | (condition as u16) << 8 | field(starts[*to], at + 4, 1, 8) as u16]),
            },
            &Self::Branch { to, conditional } => {
                branch(isa, at, starts[to], conditional.then_some(condition))
            }
            &Self::Call { function, conditional } => {
                let (target, target_isa) = functions[function];
                match (isa, conditional) {
                    (Isa::A64 | Isa::T32, true) => [
                        branch(isa, at, at + 8, Some(condition)),
                        call(isa, at + 4, target, target_isa, None),
                    ]
                    .concat(),
                    _ => call(isa, at, target, target_isa, conditional.then_some(condition)),
                }
            }
        }
    }
}

/// An offset as a field of so many bits.
fn field(to: u64, from: u64, shift: u32, bits: u32) -> u32 {
    (to.wrapping_sub(from) as i64 >> shift) as u32 & ((1 << bits) - 1)
}

fn branch(isa: Isa, at: u64, to: u64, condition: Option<u32>) -> Vec<u8> {
    match (isa, condition) {
        (Isa::A64, None) => word(0x1400_0000 | field(to, at, 2, 26)),
        (Isa::A64, Some(condition)) => word(0x5400_0000 | field(to, at, 2, 19) << 5 | condition),
        (Isa::A32, _) => word(condition.unwrap_or(14) << 28 | 0x0a00_0000 | field(to, at + 8, 2, 24)),
        (_, None) => wide(to, at, 0x9000),
        (_, Some(condition)) => {
            // B.W T3: S, condition, six bits; J1, J2, eleven bits.
            let offset = field(to, at + 4, 1, 20);
            let (sign, j2, j1) = (offset >> 19 & 1, offset >> 18 & 1, offset >> 17 & 1);
            let first = 0xf000 | sign << 10 | condition << 6 | offset >> 11 & 0x3f;
            halves(&[first as u16, (0x8000 | j1 << 13 | j2 << 11 | offset & 0x7ff) as u16])
        }
    }
}

/// T32's wide branches: B.W T4, BL, BLX.
fn wide(to: u64, at: u64, second: u32) -> Vec<u8> {
    let offset = field(to, at + 4, 1, 24);
    let sign = offset >> 23 & 1;
    let j1 = !(offset >> 22 & 1 ^ sign) & 1;
    let j2 = !(offset >> 21 & 1 ^ sign) & 1;
    let first = 0xf000 | sign << 10 | offset >> 11 & 0x3ff;
    halves(&[first as u16, (second | j1 << 13 | j2 << 11 | offset & 0x7ff) as u16])
}

fn call(isa: Isa, at: u64, to: u64, to_isa: Isa, condition: Option<u32>) -> Vec<u8> {
    match (isa, to_isa) {
        (Isa::A64, _) => word(0x9400_0000 | field(to, at, 2, 26)),
        (Isa::A32, Isa::T32) => {
            let half = (to >> 1 & 1) as u32;
            word(0xfa00_0000 | half << 24 | field(to & !3, at + 8, 2, 24))
        }
        (Isa::A32, _) => word(condition.unwrap_or(14) << 28 | 0x0b00_0000 | field(to, at + 8, 2, 24)),
        // BLX counts from a multiple of four, and has an even offset.
        (_, Isa::A32) => wide(to, at & !3, 0xc000),
        _ => wide(to, at, 0xd000),
    }
}
