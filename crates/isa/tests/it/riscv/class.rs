//! Flow, E-Trace types and memory accesses, as in the tables of the specifications.

use tracewright_core::{Class, Flow, Isa, Role};
use tracewright_isa::riscv::{AccessKind, IType, Instruction, Xlen, decode, sequentially_inferable};
use tracewright_isa::{ItState, decode as decode_any};

fn rv64(bits: u32) -> Instruction {
    decode(Xlen::Rv64, bits)
}

const fn jal(rd: u32) -> u32 {
    0x6f | rd << 7
}

const fn jalr(rd: u32, rs1: u32, imm: u32) -> u32 {
    0x67 | rd << 7 | rs1 << 15 | imm << 20
}

/// E-Trace's table of types, and the unprivileged specification's table of return-address-stack hints.
#[test]
fn jumps() {
    use IType::*;
    #[rustfmt::skip]
    let lines = [
        (jal(0),         11, InferableJump,        Flow::Direct,   Role::Jump),
        (jal(1),          9, InferableCall,        Flow::Direct,   Role::Call),
        (jal(5),          9, InferableCall,        Flow::Direct,   Role::Call),
        (jal(6),         15, OtherInferableJump,   Flow::Direct,   Role::Jump),
        (jalr(0, 6, 0),  10, UninferableJump,      Flow::Indirect, Role::Jump),
        (jalr(0, 1, 0),  13, Return,               Flow::Indirect, Role::Return),
        (jalr(0, 5, 0),  13, Return,               Flow::Indirect, Role::Return),
        (jalr(7, 1, 0),  13, Return,               Flow::Indirect, Role::Return),
        (jalr(1, 6, 0),   8, UninferableCall,      Flow::Indirect, Role::Call),
        (jalr(5, 6, 0),   8, UninferableCall,      Flow::Indirect, Role::Call),
        (jalr(1, 1, 0),   8, UninferableCall,      Flow::Indirect, Role::Call),
        (jalr(5, 5, 0),   8, UninferableCall,      Flow::Indirect, Role::Call),
        (jalr(1, 5, 0),  12, CoRoutineSwap,        Flow::Indirect, Role::Swap),
        (jalr(5, 1, 0),  12, CoRoutineSwap,        Flow::Indirect, Role::Swap),
        (jalr(7, 6, 0),  14, OtherUninferableJump, Flow::Indirect, Role::Jump),
        (jalr(0, 0, 0),  11, InferableJump,        Flow::Direct,   Role::Jump),
        (jalr(1, 0, 0),   9, InferableCall,        Flow::Direct,   Role::Call),
        (jalr(7, 0, 0),  15, OtherInferableJump,   Flow::Direct,   Role::Jump),
        (0xa001,         11, InferableJump,        Flow::Direct,   Role::Jump),   // c.j
        (0x8082,         13, Return,               Flow::Indirect, Role::Return), // c.jr ra
        (0x8302,         10, UninferableJump,      Flow::Indirect, Role::Jump),   // c.jr t1
        (0x9302,          8, UninferableCall,      Flow::Indirect, Role::Call),   // c.jalr t1
        (0x9082,          8, UninferableCall,      Flow::Indirect, Role::Call),   // c.jalr ra
        (0x9282,         12, CoRoutineSwap,        Flow::Indirect, Role::Swap),   // c.jalr t0
        (0x3020_0073,     3, TrapReturn,           Flow::Indirect, Role::ExceptionReturn),
        (0x1020_0073,     3, TrapReturn,           Flow::Indirect, Role::ExceptionReturn),
    ];
    for (bits, number, itype, flow, role) in lines {
        let found = rv64(bits);
        assert_eq!((found.itype(true), itype as u8), (itype, number), "{bits:08x}");
        assert_eq!(found.itype(false), itype, "{bits:08x}");
        assert_eq!(found.class(), Class { flow, role, conditional: false }, "{bits:08x}");
        assert_eq!(found.is_uninferable(), flow == Flow::Indirect, "{bits:08x}");
    }
    // Only RV32 has c.jal.
    assert_eq!(decode(Xlen::Rv32, 0x2001).itype(true), InferableCall);
}

#[test]
fn branches() {
    for bits in [0xfe00_0ee3, 0xdc75] {
        let branch = rv64(bits); // beq x0, x0, . - 4; c.beqz a0, . - 4
        assert_eq!(branch.class(), Class { flow: Flow::Direct, role: Role::Jump, conditional: true });
        assert_eq!((branch.itype(true), branch.itype(false)), (IType::TakenBranch, IType::NotTakenBranch));
        assert_eq!((IType::TakenBranch as u8, IType::NotTakenBranch as u8), (5, 4));
        assert_eq!(branch.target(0x1000), 0xffc);
        assert_eq!(branch.target(0), 0xffff_ffff_ffff_fffc);
    }
}

/// ecall, ebreak, wfi, fence.i, sfence.vma and an illegal instruction go to the next instruction.
#[test]
fn what_goes_on() {
    for bits in [0x73, 0x0010_0073, 0x1050_0073, 0x100f, 0x1200_0073, 0x9002, 0, 0xffff_ffff] {
        assert_eq!((rv64(bits).class(), rv64(bits).itype(true)), (Class::NEXT, IType::None));
    }
}

#[test]
fn sequential_jumps() {
    let (lui, c_lui, auipc) = (rv64(0x8000_0337), rv64(0x737d), rv64(0xffff_f317)); // to t1
    let (call, jump) = (rv64(jalr(1, 6, 0xffd)), rv64(0x8302)); // jalr ra, -3(t1); c.jr t1
    let found = |first: &Instruction, second: &Instruction| sequentially_inferable(first, 0x1_2344, second);
    assert_eq!(found(&lui, &call), Some(0xffff_ffff_7fff_fffc));
    assert_eq!(found(&c_lui, &jump), Some(0xffff_ffff_ffff_f000));
    assert_eq!(found(&auipc, &jump), Some(0x1_1344));
    assert_eq!(found(&auipc, &call), Some(0x1_1340));
    assert_eq!(found(&auipc, &rv64(0x8082)), None);
    assert_eq!(found(&call, &jump), None);
    assert_eq!(found(&lui, &lui), None);
    // A write to x0 is lost.
    assert_eq!(found(&rv64(0x8000_0037), &rv64(jalr(1, 0, 0))), None);
}

#[test]
fn accesses() {
    use AccessKind::{Amo, Load, Store};
    #[rustfmt::skip]
    let lines = [
        (0x0000_0003, Some((Load, 1))),  (0x0000_4003, Some((Load, 1))),  // lb, lbu
        (0x0000_1003, Some((Load, 2))),  (0x0000_5003, Some((Load, 2))),  // lh, lhu
        (0x0000_2003, Some((Load, 4))),  (0x0000_6003, Some((Load, 4))),  // lw, lwu
        (0x0000_3003, Some((Load, 8))),  (0x0000_2007, Some((Load, 4))),  // ld, flw
        (0x0000_3007, Some((Load, 8))),  (0x0000_3027, Some((Store, 8))), // fld, fsd
        (0x0000_0023, Some((Store, 1))), (0x0000_1023, Some((Store, 2))), // sb, sh
        (0x0000_2023, Some((Store, 4))), (0x0000_3023, Some((Store, 8))), // sw, sd
        (0x0000_2027, Some((Store, 4))), (0x1000_202f, Some((Load, 4))),  // fsw, lr.w
        (0x1000_302f, Some((Load, 8))),  (0x1800_202f, Some((Store, 4))), // lr.d, sc.w
        (0x1800_302f, Some((Store, 8))), (0x0000_202f, Some((Amo, 4))),   // sc.d, amoadd.w
        (0x0000_302f, Some((Amo, 8))),   (0x0000_0013, None),             // amoadd.d, nop
        (0x4108,      Some((Load, 4))),  (0xe108,      Some((Store, 8))), // c.lw, c.sd
    ];
    for (bits, access) in lines {
        assert_eq!(rv64(bits).access(), access, "{bits:08x}");
    }
}

/// The crate's entry point for all instruction sets.
#[test]
fn any_instruction_set() {
    let of = |isa, address, bytes: &[u8]| decode_any(isa, address, bytes, &mut ItState::default());
    let bytes = 0xfe00_0ee3_u32.to_le_bytes(); // beq x0, x0, . - 4
    let branch = of(Isa::Rv64, 0, &bytes).unwrap();
    assert_eq!((branch.len, branch.target, branch.target_isa), (4, u64::MAX - 3, Isa::Rv64));
    let branch = of(Isa::Rv32, 0, &bytes).unwrap();
    assert_eq!((branch.len, branch.target, branch.target_isa), (4, 0xffff_fffc, Isa::Rv32));
    assert_eq!(of(Isa::Rv64, 0, &bytes[..3]), None);
    assert_eq!(of(Isa::Rv64, 0, &[0x82, 0x80]).map(|ret| (ret.len, ret.class.role)), Some((2, Role::Return)));
    assert_eq!(of(Isa::Rv64, 0, &[0x82]), None);
}
