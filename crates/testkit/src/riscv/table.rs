//! Instructions by name, grouped by what a generator must know to use them, with their fixed fields.

use std::sync::LazyLock;

/// Rows of instructions: name, opcode, funct3, funct7.
type Rows = LazyLock<Vec<(&'static str, u32, u32, u32)>>;

/// Makes rows from an opcode, a funct7, and the names by funct3 (`-`: none).
fn rows(groups: &[(u32, u32, &'static str)]) -> Vec<(&'static str, u32, u32, u32)> {
    let row = |&(opcode, funct7, names): &(u32, u32, &'static str)| {
        let names = (0..).zip(names.split(' ')).filter(|(_, name)| *name != "-");
        names.map(move |(funct3, name)| (name, opcode, funct3, funct7))
    };
    groups.iter().flat_map(row).collect()
}

/// `rd, rs1, rs2`.
pub(super) static REGISTER: Rows = LazyLock::new(|| {
    rows(&[
        // The first BASE of these may stand between lr and sc.
        (0x33, 0x00, "add sll slt sltu xor srl or and"),
        (0x33, 0x20, "sub - - - - sra"),
        (0x3b, 0x00, "addw sllw - - - srlw"),
        (0x3b, 0x20, "subw - - - - sraw"),
        (0x33, 0x20, "- - - - xnor - orn andn"),
        (0x33, 0x01, "mul mulh mulhsu mulhu div divu rem remu"),
        (0x3b, 0x01, "mulw - - - divw divuw remw remuw"),
        (0x3b, 0x04, "add.uw"),
        (0x33, 0x10, "- - sh1add - sh2add - sh3add"),
        (0x3b, 0x10, "- - sh1add.uw - sh2add.uw - sh3add.uw"),
        (0x33, 0x05, "- - - - min minu max maxu"),
        (0x33, 0x30, "- rol - - - ror"),
        (0x3b, 0x30, "- rolw - - - rorw"),
        (0x33, 0x24, "- bclr - - - bext"),
        (0x33, 0x34, "- binv"),
        (0x33, 0x14, "- bset"),
    ])
});

/// Number of instructions at the start of [`REGISTER`] that are of the base set.
pub(super) const BASE: usize = 15;

/// `rd, rs1, imm`.
pub(super) static IMMEDIATE: Rows =
    LazyLock::new(|| rows(&[(0x13, 0, "addi - slti sltiu xori - ori andi"), (0x1b, 0, "addiw")]));

/// `rd, rs1, amount`: name, opcode, funct3, the rest of the immediate, bits of the amount. No bits means one source.
pub(super) const SHIFT: &[(&str, u32, u32, i32, u32)] = &[
    ("slli", 0x13, 1, 0x000, 6),
    ("srli", 0x13, 5, 0x000, 6),
    ("srai", 0x13, 5, 0x400, 6),
    ("slliw", 0x1b, 1, 0x000, 5),
    ("srliw", 0x1b, 5, 0x000, 5),
    ("sraiw", 0x1b, 5, 0x400, 5),
    ("slli.uw", 0x1b, 1, 0x080, 6),
    ("rori", 0x13, 5, 0x600, 6),
    ("roriw", 0x1b, 5, 0x600, 5),
    ("bclri", 0x13, 1, 0x480, 6),
    ("bexti", 0x13, 5, 0x480, 6),
    ("binvi", 0x13, 1, 0x680, 6),
    ("bseti", 0x13, 1, 0x280, 6),
    ("clz", 0x13, 1, 0x600, 0),
    ("ctz", 0x13, 1, 0x601, 0),
    ("cpop", 0x13, 1, 0x602, 0),
    ("sext.b", 0x13, 1, 0x604, 0),
    ("sext.h", 0x13, 1, 0x605, 0),
    ("clzw", 0x1b, 1, 0x600, 0),
    ("ctzw", 0x1b, 1, 0x601, 0),
    ("cpopw", 0x1b, 1, 0x602, 0),
    ("orc.b", 0x13, 5, 0x287, 0),
    ("rev8", 0x13, 5, 0x6b8, 0),
    ("zext.h", 0x3b, 4, 0x080, 0),
];

/// `rd, offset(rs1)`. Those with opcode 0x07 load floating-point registers.
pub(super) static LOAD: Rows =
    LazyLock::new(|| rows(&[(0x03, 0, "lb lh lw ld lbu lhu lwu"), (0x07, 0, "- - flw fld")]));

/// `rs2, offset(rs1)`: name, opcode, funct3. Those with opcode 0x27 store floating-point registers.
pub(super) const STORE: &[(&str, u32, u32)] =
    &[("sb", 0x23, 0), ("sh", 0x23, 1), ("sw", 0x23, 2), ("sd", 0x23, 3), ("fsw", 0x27, 2), ("fsd", 0x27, 3)];

/// Compressed loads and stores: names, by a register and by the stack pointer, funct3, size, whether the register is a
/// floating-point one, whether it loads.
pub(super) const SHORT: &[([&str; 2], u32, i32, bool, bool)] = &[
    (["c.fld", "c.fldsp"], 1, 8, true, true),
    (["c.lw", "c.lwsp"], 2, 4, false, true),
    (["c.ld", "c.ldsp"], 3, 8, false, true),
    (["c.fsd", "c.fsdsp"], 5, 8, true, false),
    (["c.sw", "c.swsp"], 6, 4, false, false),
    (["c.sd", "c.sdsp"], 7, 8, false, false),
];

/// Conditional branches: name, funct3.
pub(super) const BRANCH: &[(&str, u32)] =
    &[("beq", 0), ("bne", 1), ("blt", 4), ("bge", 5), ("bltu", 6), ("bgeu", 7)];

/// Atomic operations on words, and on double words: names, funct5.
pub(super) const ATOMIC: &[([&str; 2], u32)] = &[
    (["amoadd.w", "amoadd.d"], 0x00),
    (["amoswap.w", "amoswap.d"], 0x01),
    (["amoxor.w", "amoxor.d"], 0x04),
    (["amoor.w", "amoor.d"], 0x08),
    (["amoand.w", "amoand.d"], 0x0c),
    (["amomin.w", "amomin.d"], 0x10),
    (["amomax.w", "amomax.d"], 0x14),
    (["amominu.w", "amominu.d"], 0x18),
    (["amomaxu.w", "amomaxu.d"], 0x1c),
];

/// CSR instructions: name, funct3. Those from the fourth on have an immediate.
pub(super) const CSR: &[(&str, u32)] =
    &[("csrrw", 1), ("csrrs", 2), ("csrrc", 3), ("csrrwi", 5), ("csrrsi", 6), ("csrrci", 7)];

/// Multiply and add: names in single and double precision, opcode.
pub(super) const FUSED: &[([&str; 2], u32)] = &[
    (["fmadd.s", "fmadd.d"], 0x43),
    (["fmsub.s", "fmsub.d"], 0x47),
    (["fnmsub.s", "fnmsub.d"], 0x4b),
    (["fnmadd.s", "fnmadd.d"], 0x4f),
];

/// Registers of a floating-point instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// All floating-point, two sources.
    Two,
    /// Floating-point, one source; the second field is this.
    One(u8),
    /// Floating-point, one source of the other precision, which the second field names.
    Other,
    /// To an integer register from two sources.
    Compare,
    /// To an integer register; the second field is this.
    ToInteger(u8),
    /// From an integer register; the second field is this.
    FromInteger(u8),
}

use Shape::{Compare, FromInteger, One, Other, ToInteger, Two};

/// Marks that funct3 is the rounding mode.
pub(super) const ROUNDS: u32 = 8;

/// Floating-point: names in single and double precision, funct7 of the first, funct3 (or [`ROUNDS`]), registers.
pub(super) const FLOAT: &[([&str; 2], u32, u32, Shape)] = &[
    (["fadd.s", "fadd.d"], 0x00, ROUNDS, Two),
    (["fsub.s", "fsub.d"], 0x04, ROUNDS, Two),
    (["fmul.s", "fmul.d"], 0x08, ROUNDS, Two),
    (["fdiv.s", "fdiv.d"], 0x0c, ROUNDS, Two),
    (["fsqrt.s", "fsqrt.d"], 0x2c, ROUNDS, One(0)),
    (["fsgnj.s", "fsgnj.d"], 0x10, 0, Two),
    (["fsgnjn.s", "fsgnjn.d"], 0x10, 1, Two),
    (["fsgnjx.s", "fsgnjx.d"], 0x10, 2, Two),
    (["fmin.s", "fmin.d"], 0x14, 0, Two),
    (["fmax.s", "fmax.d"], 0x14, 1, Two),
    (["fcvt.w.s", "fcvt.w.d"], 0x60, ROUNDS, ToInteger(0)),
    (["fcvt.wu.s", "fcvt.wu.d"], 0x60, ROUNDS, ToInteger(1)),
    (["fcvt.l.s", "fcvt.l.d"], 0x60, ROUNDS, ToInteger(2)),
    (["fcvt.lu.s", "fcvt.lu.d"], 0x60, ROUNDS, ToInteger(3)),
    (["fmv.x.w", "fmv.x.d"], 0x70, 0, ToInteger(0)),
    (["fclass.s", "fclass.d"], 0x70, 1, ToInteger(0)),
    (["fle.s", "fle.d"], 0x50, 0, Compare),
    (["flt.s", "flt.d"], 0x50, 1, Compare),
    (["feq.s", "feq.d"], 0x50, 2, Compare),
    (["fcvt.s.w", "fcvt.d.w"], 0x68, ROUNDS, FromInteger(0)),
    (["fcvt.s.wu", "fcvt.d.wu"], 0x68, ROUNDS, FromInteger(1)),
    (["fcvt.s.l", "fcvt.d.l"], 0x68, ROUNDS, FromInteger(2)),
    (["fcvt.s.lu", "fcvt.d.lu"], 0x68, ROUNDS, FromInteger(3)),
    (["fmv.w.x", "fmv.d.x"], 0x78, 0, FromInteger(0)),
    (["fcvt.s.d", "fcvt.d.s"], 0x20, ROUNDS, Other),
];

/// Instructions in no table above.
const OTHERS: &str = "lui auipc jal jalr fence fence.i fence.tso ecall lr.w lr.d sc.w sc.d c.addi4spn c.nop c.addi c.addiw \
    c.li c.addi16sp c.lui c.srli c.srai c.andi c.sub c.xor c.or c.and c.subw c.addw c.j c.beqz c.bnez \
    c.slli c.jr c.mv c.jalr c.add";

/// Iterates over all instructions of RV64IMAFDC, Zicsr, Zifencei, Zba, Zbb and Zbs, except `ebreak` and `c.ebreak`,
/// which would end the program.
pub fn mnemonics() -> impl Iterator<Item = &'static str> {
    let plain = REGISTER.iter().chain(&*IMMEDIATE).chain(&*LOAD).map(|row| row.0);
    let memory = STORE.iter().map(|row| row.0).chain(SHORT.iter().flat_map(|row| row.0));
    let pairs = ATOMIC.iter().chain(FUSED).flat_map(|row| row.0);
    let few = BRANCH.iter().chain(CSR).map(|row| row.0).chain(FLOAT.iter().flat_map(|row| row.0));
    let plain = plain.chain(SHIFT.iter().map(|row| row.0));
    plain.chain(memory).chain(pairs).chain(few).chain(OTHERS.split(' '))
}
