//! Instructions as text in GNU syntax.

use core::fmt::{self, Write as _};

use super::csr::Csr;
use super::op::Op::*;
use super::{Instruction, Xlen};

/// An instruction as text. See [`Instruction::text`].
#[derive(Clone, Copy, Debug)]
pub struct Text {
    instruction: Instruction,
    address: u64,
    xlen: Xlen,
}

impl Instruction {
    /// Returns the text of the instruction at `address`, such as `addi sp,sp,-16`.
    ///
    /// Names, operands and aliases (`li`, `ret`, `beqz`, ...) are those of GNU, but operations on constants keep
    /// their own names: `addi`, not `add`. Compressed instructions are written expanded, and branches with the
    /// address of their target. Illegal instructions are written `illegal`, since their bits are not kept.
    pub const fn text(&self, address: u64) -> Text {
        Text { instruction: *self, address, xlen: Xlen::Rv64 }
    }
}

impl Text {
    /// Sets the XLEN, which is RV64 by default. RV32 has shorter addresses and a few aliases of its own.
    #[must_use]
    pub const fn xlen(self, xlen: Xlen) -> Self {
        Self { xlen, ..self }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, operands) = self.alias().unwrap_or((self.instruction.op.name(), self.operands()));
        f.write_str(name)?;
        if matches!(self.instruction.op as u8, FIRST_ATOMIC..=LAST_ATOMIC) {
            f.write_str(["", ".rl", ".aq", ".aqrl"][usize::from(self.instruction.mode & 3)])?;
        }
        if !operands.is_empty() {
            f.write_char(' ')?;
        }
        operands.chars().try_for_each(|operand| self.operand(f, operand))
    }
}

const FIRST_ATOMIC: u8 = LrW as u8;
const LAST_ATOMIC: u8 = AmomaxuD as u8;

impl Text {
    /// Writes one operand, given by its letter:
    ///
    /// * `d`, `s`, `t`: integer register in rd, rs1, rs2
    /// * `D`, `S`, `T`, `R`: floating-point register in rd, rs1, rs2, rs3
    /// * `j`: immediate; `x`: immediate in hexadecimal; `u`: upper immediate; `p`: target
    /// * `c`: CSR; `z`: immediate in rs1
    /// * `m`: rounding mode with its comma, nothing if dynamic
    /// * `e`: the same for operations that are always exact, nothing if 0, which assemblers emit
    /// * `P`, `Q`: predecessor and successor of a fence
    ///
    /// Any other character is written as it is.
    fn operand(&self, f: &mut fmt::Formatter<'_>, operand: char) -> fmt::Result {
        let Instruction { rd, rs1, rs2, rs3, mode, imm, .. } = self.instruction;
        let integer = |register| INTEGER[usize::from(register & 31)];
        let float = |register| FLOAT[usize::from(register & 31)];
        let rounding = ROUNDING[usize::from(mode & 7)];
        match operand {
            'd' => f.write_str(integer(rd)),
            's' => f.write_str(integer(rs1)),
            't' => f.write_str(integer(rs2)),
            'D' => f.write_str(float(rd)),
            'S' => f.write_str(float(rs1)),
            'T' => f.write_str(float(rs2)),
            'R' => f.write_str(float(rs3)),
            'j' => write!(f, "{imm}"),
            'x' => write!(f, "{imm:#x}"),
            'u' => write!(f, "{:#x}", imm as u32 >> 12),
            'p' => write!(f, "{:#x}", self.target()),
            'c' => write!(f, "{}", Csr(imm as u16)),
            'z' => write!(f, "{rs1}"),
            'm' if mode == 7 => Ok(()),
            'e' if mode == 0 => Ok(()),
            'm' | 'e' => write!(f, ",{rounding}"),
            'P' => fence_set(f, mode >> 4),
            'Q' => fence_set(f, mode & 15),
            other => f.write_char(other),
        }
    }

    fn target(&self) -> u64 {
        let target = self.instruction.target(self.address);
        match self.xlen {
            Xlen::Rv32 => target & 0xffff_ffff,
            Xlen::Rv64 => target,
        }
    }

    /// Returns the operands of the operation without an alias.
    fn operands(&self) -> &'static str {
        match self.instruction.op {
            Illegal | FenceI | Ecall | Ebreak | Sret | Mret | Wfi => "",
            Lui | Auipc => "d,u",
            Jal => "d,p",
            Jalr => "d,j(s)",
            Beq | Bne | Blt | Bge | Bltu | Bgeu => "s,t,p",
            Lb | Lh | Lw | Ld | Lbu | Lhu | Lwu => "d,j(s)",
            Sb | Sh | Sw | Sd => "t,j(s)",
            Flw | Fld => "D,j(s)",
            Fsw | Fsd => "T,j(s)",
            Addi | Slti | Sltiu | Xori | Ori | Andi | Addiw => "d,s,j",
            Slli | Srli | Srai | Slliw | Srliw | Sraiw | SlliUw | Rori | Roriw | Bclri | Bexti | Binvi
            | Bseti => "d,s,x",
            Clz | Ctz | Cpop | Clzw | Ctzw | Cpopw | SextB | SextH | ZextH | OrcB | Rev8 => "d,s",
            Fence => "P,Q",
            Csrrw | Csrrs | Csrrc => "d,c,s",
            Csrrwi | Csrrsi | Csrrci => "d,c,z",
            SfenceVma => "s,t",
            LrW | LrD => "d,(s)",
            ScW | AmoswapW | AmoaddW | AmoxorW | AmoandW | AmoorW | AmominW | AmomaxW | AmominuW
            | AmomaxuW | ScD | AmoswapD | AmoaddD | AmoxorD | AmoandD | AmoorD | AmominD | AmomaxD
            | AmominuD | AmomaxuD => "d,t,(s)",
            FmaddS | FmsubS | FnmsubS | FnmaddS | FmaddD | FmsubD | FnmsubD | FnmaddD => "D,S,T,Rm",
            FaddS | FsubS | FmulS | FdivS | FaddD | FsubD | FmulD | FdivD => "D,S,Tm",
            FsgnjS | FsgnjnS | FsgnjxS | FminS | FmaxS | FsgnjD | FsgnjnD | FsgnjxD | FminD | FmaxD => {
                "D,S,T"
            }
            FeqS | FltS | FleS | FeqD | FltD | FleD => "d,S,T",
            FsqrtS | FsqrtD | FcvtSD => "D,Sm",
            FcvtDS => "D,Se",
            FcvtWS | FcvtWuS | FcvtLS | FcvtLuS | FcvtWD | FcvtWuD | FcvtLD | FcvtLuD => "d,Sm",
            FcvtSW | FcvtSWu | FcvtSL | FcvtSLu | FcvtDL | FcvtDLu => "D,sm",
            FcvtDW | FcvtDWu => "D,se",
            FmvXW | FmvXD | FclassS | FclassD => "d,S",
            FmvWX | FmvDX => "D,s",
            _ => "d,s,t",
        }
    }

    /// Returns the alias and its operands, if there is one.
    fn alias(&self) -> Option<(&'static str, &'static str)> {
        let Instruction { op, len, rd, rs1, rs2, mode, imm, .. } = self.instruction;
        Some(match op {
            Addi if (rd, rs1, imm) == (0, 0, 0) => ("nop", ""),
            Addi if rs1 == 0 => ("li", "d,j"),
            // C.ADDI of 0 is a HINT, not a copy. C.MV is a copy, but an ADD.
            Addi if imm == 0 && len == 4 => ("mv", "d,s"),
            Add if rs1 == 0 && rd != 0 && len == 2 => ("mv", "d,t"),
            Addiw if imm == 0 => ("sext.w", "d,s"),
            AddUw if rs2 == 0 => ("zext.w", "d,s"),
            Andi if imm == 255 => ("zext.b", "d,s"),
            Xori if imm == -1 => ("not", "d,s"),
            Sub if rs1 == 0 => ("neg", "d,t"),
            Subw if rs1 == 0 => ("negw", "d,t"),
            Sltiu if imm == 1 => ("seqz", "d,s"),
            Sltu if rs1 == 0 => ("snez", "d,t"),
            Slt if rs2 == 0 => ("sltz", "d,s"),
            Slt if rs1 == 0 => ("sgtz", "d,t"),
            Jal if rd == 0 => ("j", "p"),
            Jal if rd == 1 => ("jal", "p"),
            Jalr if (rd, rs1, imm) == (0, 1, 0) => ("ret", ""),
            Jalr if rd == 0 && imm == 0 => ("jr", "s"),
            Jalr if rd == 0 => ("jr", "j(s)"),
            Jalr if rd == 1 && imm == 0 => ("jalr", "s"),
            Jalr if rd == 1 => ("jalr", "j(s)"),
            Jalr if imm == 0 => ("jalr", "d,s"),
            Beq if rs2 == 0 => ("beqz", "s,p"),
            Bne if rs2 == 0 => ("bnez", "s,p"),
            Blt if rs2 == 0 => ("bltz", "s,p"),
            Blt if rs1 == 0 => ("bgtz", "t,p"),
            Bge if rs1 == 0 => ("blez", "t,p"),
            Bge if rs2 == 0 => ("bgez", "s,p"),
            Fence if (imm, mode) == (8, 0x33) => ("fence.tso", ""),
            Fence if (imm, mode) == (0, 0x10) => ("pause", ""),
            Fence if mode == 0xff => ("fence", ""),
            SfenceVma if (rs1, rs2) == (0, 0) => ("sfence.vma", ""),
            SfenceVma if rs2 == 0 => ("sfence.vma", "s"),
            FsgnjS if rs1 == rs2 => ("fmv.s", "D,S"),
            FsgnjD if rs1 == rs2 => ("fmv.d", "D,S"),
            FsgnjnS if rs1 == rs2 => ("fneg.s", "D,S"),
            FsgnjnD if rs1 == rs2 => ("fneg.d", "D,S"),
            FsgnjxS if rs1 == rs2 => ("fabs.s", "D,S"),
            FsgnjxD if rs1 == rs2 => ("fabs.d", "D,S"),
            Csrrw | Csrrs | Csrrc | Csrrwi | Csrrsi | Csrrci => return self.csr_alias(),
            _ => return None,
        })
    }

    fn csr_alias(&self) -> Option<(&'static str, &'static str)> {
        let Instruction { op, rd, rs1, imm, .. } = self.instruction;
        let rv32 = self.xlen == Xlen::Rv32;
        Some(match (op, imm) {
            // Assemblers write an instruction that is never legal as a write of a read-only counter.
            (Csrrw, 0xc00) if (rd, rs1) == (0, 0) => ("unimp", ""),
            (Csrrs, 1) if rs1 == 0 => ("frflags", "d"),
            (Csrrs, 2) if rs1 == 0 => ("frrm", "d"),
            (Csrrs, 3) if rs1 == 0 => ("frcsr", "d"),
            (Csrrw, 1) if rd == 0 => ("fsflags", "s"),
            (Csrrw, 2) if rd == 0 => ("fsrm", "s"),
            (Csrrw, 3) if rd == 0 => ("fscsr", "s"),
            (Csrrw, 1) => ("fsflags", "d,s"),
            (Csrrw, 2) => ("fsrm", "d,s"),
            (Csrrw, 3) => ("fscsr", "d,s"),
            (Csrrwi, 1) => ("fsflagsi", "d,z"),
            (Csrrwi, 2) => ("fsrmi", "d,z"),
            (Csrrs, 0xc00) if rs1 == 0 => ("rdcycle", "d"),
            (Csrrs, 0xc01) if rs1 == 0 => ("rdtime", "d"),
            (Csrrs, 0xc02) if rs1 == 0 => ("rdinstret", "d"),
            (Csrrs, 0xc80) if rs1 == 0 && rv32 => ("rdcycleh", "d"),
            (Csrrs, 0xc81) if rs1 == 0 && rv32 => ("rdtimeh", "d"),
            (Csrrs, 0xc82) if rs1 == 0 && rv32 => ("rdinstreth", "d"),
            (Csrrs, _) if rs1 == 0 => ("csrr", "d,c"),
            (Csrrw, _) if rd == 0 => ("csrw", "c,s"),
            (Csrrs, _) if rd == 0 => ("csrs", "c,s"),
            (Csrrc, _) if rd == 0 => ("csrc", "c,s"),
            (Csrrwi, _) if rd == 0 => ("csrwi", "c,z"),
            (Csrrsi, _) if rd == 0 => ("csrsi", "c,z"),
            (Csrrci, _) if rd == 0 => ("csrci", "c,z"),
            _ => return None,
        })
    }
}

/// Writes what a fence orders: device input, device output, memory reads, memory writes.
fn fence_set(f: &mut fmt::Formatter<'_>, set: u8) -> fmt::Result {
    if set == 0 {
        return f.write_str("unknown");
    }
    let letters = [(8, 'i'), (4, 'o'), (2, 'r'), (1, 'w')];
    letters.into_iter().filter(|(bit, _)| set & bit != 0).try_for_each(|(_, letter)| f.write_char(letter))
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// Integer register, by its number.
    X(u8),
    /// Floating-point register, by its number.
    F(u8),
}

/// Writes the name in the calling convention, such as `a0`.
impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X(number) => INTEGER[usize::from(*number) % 32],
            Self::F(number) => FLOAT[usize::from(*number) % 32],
        })
    }
}

/// Names of integer registers in the calling convention.
#[rustfmt::skip]
const INTEGER: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
    "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// Names of floating-point registers in the calling convention.
#[rustfmt::skip]
const FLOAT: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
    "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

/// Names of rounding modes. Two are reserved and have none.
const ROUNDING: [&str; 8] = ["rne", "rtz", "rdn", "rup", "rmm", "unknown", "unknown", "dyn"];
