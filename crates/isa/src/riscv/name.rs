//! Names of operations and registers.

use super::Op;
use super::op::Op::*;

impl Op {
    /// Returns the name in the specification, such as `fence.i`.
    #[rustfmt::skip]
    pub const fn name(self) -> &'static str {
        match self {
            Illegal => "illegal",
            // RV32I, RV64I
            Lui => "lui", Auipc => "auipc", Jal => "jal", Jalr => "jalr",
            Beq => "beq", Bne => "bne", Blt => "blt", Bge => "bge", Bltu => "bltu", Bgeu => "bgeu",
            Lb => "lb", Lh => "lh", Lw => "lw", Ld => "ld", Lbu => "lbu", Lhu => "lhu", Lwu => "lwu",
            Sb => "sb", Sh => "sh", Sw => "sw", Sd => "sd",
            Addi => "addi", Slti => "slti", Sltiu => "sltiu", Xori => "xori", Ori => "ori", Andi => "andi",
            Slli => "slli", Srli => "srli", Srai => "srai",
            Add => "add", Sub => "sub", Sll => "sll", Slt => "slt", Sltu => "sltu", Xor => "xor", Srl => "srl",
            Sra => "sra", Or => "or", And => "and",
            Addiw => "addiw", Slliw => "slliw", Srliw => "srliw", Sraiw => "sraiw", Addw => "addw",
            Subw => "subw", Sllw => "sllw", Srlw => "srlw", Sraw => "sraw",
            Fence => "fence", FenceI => "fence.i", Ecall => "ecall", Ebreak => "ebreak",
            // Zicsr
            Csrrw => "csrrw", Csrrs => "csrrs", Csrrc => "csrrc", Csrrwi => "csrrwi", Csrrsi => "csrrsi",
            Csrrci => "csrrci",
            // Privileged
            Sret => "sret", Mret => "mret", Wfi => "wfi", SfenceVma => "sfence.vma",
            // M
            Mul => "mul", Mulh => "mulh", Mulhsu => "mulhsu", Mulhu => "mulhu", Div => "div", Divu => "divu",
            Rem => "rem", Remu => "remu",
            Mulw => "mulw", Divw => "divw", Divuw => "divuw", Remw => "remw", Remuw => "remuw",
            // A
            LrW => "lr.w", ScW => "sc.w", AmoswapW => "amoswap.w", AmoaddW => "amoadd.w", AmoxorW => "amoxor.w",
            AmoandW => "amoand.w", AmoorW => "amoor.w", AmominW => "amomin.w", AmomaxW => "amomax.w",
            AmominuW => "amominu.w", AmomaxuW => "amomaxu.w",
            LrD => "lr.d", ScD => "sc.d", AmoswapD => "amoswap.d", AmoaddD => "amoadd.d", AmoxorD => "amoxor.d",
            AmoandD => "amoand.d", AmoorD => "amoor.d", AmominD => "amomin.d", AmomaxD => "amomax.d",
            AmominuD => "amominu.d", AmomaxuD => "amomaxu.d",
            // F
            Flw => "flw", Fsw => "fsw",
            FmaddS => "fmadd.s", FmsubS => "fmsub.s", FnmsubS => "fnmsub.s", FnmaddS => "fnmadd.s",
            FaddS => "fadd.s", FsubS => "fsub.s", FmulS => "fmul.s", FdivS => "fdiv.s", FsqrtS => "fsqrt.s",
            FsgnjS => "fsgnj.s", FsgnjnS => "fsgnjn.s", FsgnjxS => "fsgnjx.s", FminS => "fmin.s",
            FmaxS => "fmax.s",
            FcvtWS => "fcvt.w.s", FcvtWuS => "fcvt.wu.s", FcvtLS => "fcvt.l.s", FcvtLuS => "fcvt.lu.s",
            FmvXW => "fmv.x.w", FeqS => "feq.s", FltS => "flt.s", FleS => "fle.s", FclassS => "fclass.s",
            FcvtSW => "fcvt.s.w", FcvtSWu => "fcvt.s.wu", FcvtSL => "fcvt.s.l", FcvtSLu => "fcvt.s.lu",
            FmvWX => "fmv.w.x",
            // D
            Fld => "fld", Fsd => "fsd",
            FmaddD => "fmadd.d", FmsubD => "fmsub.d", FnmsubD => "fnmsub.d", FnmaddD => "fnmadd.d",
            FaddD => "fadd.d", FsubD => "fsub.d", FmulD => "fmul.d", FdivD => "fdiv.d", FsqrtD => "fsqrt.d",
            FsgnjD => "fsgnj.d", FsgnjnD => "fsgnjn.d", FsgnjxD => "fsgnjx.d", FminD => "fmin.d",
            FmaxD => "fmax.d",
            FcvtSD => "fcvt.s.d", FcvtDS => "fcvt.d.s", FeqD => "feq.d", FltD => "flt.d", FleD => "fle.d",
            FclassD => "fclass.d",
            FcvtWD => "fcvt.w.d", FcvtWuD => "fcvt.wu.d", FcvtLD => "fcvt.l.d", FcvtLuD => "fcvt.lu.d",
            FmvXD => "fmv.x.d",
            FcvtDW => "fcvt.d.w", FcvtDWu => "fcvt.d.wu", FcvtDL => "fcvt.d.l", FcvtDLu => "fcvt.d.lu",
            FmvDX => "fmv.d.x",
            // Zba
            Sh1add => "sh1add", Sh2add => "sh2add", Sh3add => "sh3add", AddUw => "add.uw",
            Sh1addUw => "sh1add.uw", Sh2addUw => "sh2add.uw", Sh3addUw => "sh3add.uw", SlliUw => "slli.uw",
            // Zbb
            Andn => "andn", Orn => "orn", Xnor => "xnor", Clz => "clz", Ctz => "ctz", Cpop => "cpop",
            Clzw => "clzw", Ctzw => "ctzw", Cpopw => "cpopw", Max => "max", Maxu => "maxu", Min => "min",
            Minu => "minu", SextB => "sext.b", SextH => "sext.h", ZextH => "zext.h",
            Rol => "rol", Ror => "ror", Rori => "rori", Rolw => "rolw", Rorw => "rorw", Roriw => "roriw",
            OrcB => "orc.b", Rev8 => "rev8",
            // Zbs
            Bclr => "bclr", Bclri => "bclri", Bext => "bext", Bexti => "bexti", Binv => "binv",
            Binvi => "binvi", Bset => "bset", Bseti => "bseti",
        }
    }
}

/// Names of integer registers in the calling convention.
#[rustfmt::skip]
pub(super) const INTEGER: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
    "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// Names of floating-point registers in the calling convention.
#[rustfmt::skip]
pub(super) const FLOAT: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
    "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

/// Names of rounding modes. Two are reserved and have none.
pub(super) const ROUNDING: [&str; 8] = ["rne", "rtz", "rdn", "rup", "rmm", "unknown", "unknown", "dyn"];
