//! Encodings that must be illegal, and odd-looking ones that must not, one line each. The disassemblers check all of
//! them too, but are laxer in places.

use tracewright_isa::riscv::{Op, Xlen, decode};

#[test]
fn reserved() {
    use Xlen::{Rv32, Rv64};
    #[rustfmt::skip]
    let lines = [
        (Rv64, 0x0000, "all zeros, c.addi4spn of 0"),
        (Rv64, 0x001c, "c.addi4spn of 0"),
        (Rv64, 0x8000, "quadrant 0, funct3 4"),
        (Rv64, 0x2001, "c.addiw to x0"),
        (Rv64, 0x6101, "c.addi16sp of 0"),
        (Rv64, 0x6081, "c.lui of 0"),
        (Rv64, 0x6001, "c.lui of 0 to x0"),
        (Rv64, 0x9c41, "quadrant 1, funct6 100111, 2"),
        (Rv64, 0x9c61, "quadrant 1, funct6 100111, 3"),
        (Rv32, 0x9c01, "c.subw in RV32"),
        (Rv32, 0x9c21, "c.addw in RV32"),
        (Rv32, 0x9001, "c.srli by 32 in RV32"),
        (Rv32, 0x9401, "c.srai by 32 in RV32"),
        (Rv32, 0x1082, "c.slli by 32 in RV32"),
        (Rv64, 0x4002, "c.lwsp to x0"),
        (Rv64, 0x6002, "c.ldsp to x0"),
        (Rv64, 0x8002, "c.jr x0"),
        (Rv64, 0x0000_001f, "longer than 32 bits"),
        (Rv64, 0xffff_ffff, "all ones"),
        (Rv64, 0x0000_1067, "jalr, funct3 1"),
        (Rv64, 0x0000_2063, "branch, funct3 2"),
        (Rv64, 0x0000_7003, "load, funct3 7"),
        (Rv32, 0x0000_3003, "ld in RV32"),
        (Rv32, 0x0000_6003, "lwu in RV32"),
        (Rv32, 0x0000_3023, "sd in RV32"),
        (Rv32, 0x0200_1013, "slli by 32 in RV32"),
        (Rv32, 0x0200_5013, "srli by 32 in RV32"),
        (Rv32, 0x4200_5013, "srai by 32 in RV32"),
        (Rv64, 0x0200_101b, "slliw by 32"),
        (Rv32, 0x0000_001b, "addiw in RV32"),
        (Rv32, 0x0000_003b, "addw in RV32"),
        (Rv64, 0x1010_202f, "lr.w with rs2"),
        (Rv32, 0x1000_302f, "lr.d in RV32"),
        (Rv64, 0x0000_0053 | 5 << 12, "fadd.s, rounding mode 5"),
        (Rv64, 0x0000_0053 | 6 << 12, "fadd.s, rounding mode 6"),
        (Rv64, 0x0000_0043 | 6 << 12, "fmadd.s, rounding mode 6"),
        (Rv64, 0x0400_0053, "fadd.h"),
        (Rv64, 0x5810_0053, "fsqrt.s with rs2"),
        (Rv64, 0x4000_0053, "fcvt.s.s"),
        (Rv32, 0xc020_0053, "fcvt.l.s in RV32"),
        (Rv32, 0xe200_0053, "fmv.x.d in RV32"),
        (Rv32, 0xf200_0053, "fmv.d.x in RV32"),
        (Rv64, 0x6980_5013, "RV32's rev8 in RV64"),
        (Rv32, 0x6b80_5013, "RV64's rev8 in RV32"),
        (Rv64, 0x0800_4033, "RV32's zext.h in RV64"),
        (Rv32, 0x0800_403b, "RV64's zext.h in RV32"),
        (Rv64, 0x0000_0073 | 1 << 7, "ecall with rd"),
        (Rv64, 0x1200_0073 | 1 << 7, "sfence.vma with rd"),
        (Rv64, 0x0020_0073, "uret"),
        (Rv64, 0x0000_4073, "system, funct3 4"),
    ];
    for (xlen, bits, what) in lines {
        let found = decode(xlen, bits);
        assert_eq!(found.op, Op::Illegal, "{what}");
        assert_eq!(found.len, if bits & 3 == 3 { 4 } else { 2 }, "{what}");
    }
}

#[test]
fn hints_and_ignored_fields() {
    #[rustfmt::skip]
    let lines = [
        (0x0005, Op::Addi, "c.nop of 1"),
        (0x0081, Op::Addi, "c.addi of 0"),
        (0x4005, Op::Addi, "c.li to x0"),
        (0x6005, Op::Lui, "c.lui to x0"),
        (0x8006, Op::Add, "c.mv to x0"),
        (0x9006, Op::Add, "c.add to x0"),
        (0x0006, Op::Slli, "c.slli to x0"),
        (0x0082, Op::Slli, "c.slli by 0"),
        (0x8001, Op::Srli, "c.srli by 0"),
        (0x0000_0037, Op::Lui, "lui to x0"),
        (0x0000_008f, Op::Fence, "fence with rd"),
        (0x2000_000f, Op::Fence, "fence with an fm that is reserved"),
        (0xfff0_108f, Op::FenceI, "fence.i with immediate and rd"),
    ];
    for (bits, op, what) in lines {
        for xlen in [Xlen::Rv32, Xlen::Rv64] {
            assert_eq!(decode(xlen, bits).op, op, "{what}");
        }
    }
}
