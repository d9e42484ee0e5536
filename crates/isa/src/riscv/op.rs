/// The width of integer registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Xlen {
    /// RV32.
    Rv32,
    /// RV64.
    Rv64,
}

/// An instruction and its operands. A compressed instruction is expanded, with `len` 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Operation.
    pub op: Op,
    /// Length in bytes: 2 or 4.
    pub len: u8,
    /// Destination register, integer or floating-point as `op` says, or 0 if there is none.
    pub rd: u8,
    /// First source register, or the five-bit immediate of CSRRWI, CSRRSI and CSRRCI.
    pub rs1: u8,
    /// Second source register.
    pub rs2: u8,
    /// Third source register (FMADD and variants).
    pub rs3: u8,
    /// Rounding mode of floating-point instructions (7: dynamic); aq (bit 1) and rl (bit 0) of atomics; pred and succ
    /// (bits 7:4 and 3:0) of FENCE, whose fm is in `imm`.
    pub mode: u8,
    /// Immediate, sign-extended, and for LUI and AUIPC already shifted; shift amount; CSR number (not sign-extended);
    /// offset of branches and jumps.
    pub imm: i32,
}

/// The operation of an instruction, whatever its encoding or alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[rustfmt::skip]
#[expect(missing_docs, reason = "they are named as in the specification")]
pub enum Op {
    /// Reserved, unknown or not in this XLEN.
    Illegal,
    // RV32I, RV64I
    Lui, Auipc, Jal, Jalr,
    Beq, Bne, Blt, Bge, Bltu, Bgeu,
    Lb, Lh, Lw, Ld, Lbu, Lhu, Lwu,
    Sb, Sh, Sw, Sd,
    Addi, Slti, Sltiu, Xori, Ori, Andi, Slli, Srli, Srai,
    Add, Sub, Sll, Slt, Sltu, Xor, Srl, Sra, Or, And,
    Addiw, Slliw, Srliw, Sraiw, Addw, Subw, Sllw, Srlw, Sraw,
    Fence, FenceI, Ecall, Ebreak,
    // Zicsr
    Csrrw, Csrrs, Csrrc, Csrrwi, Csrrsi, Csrrci,
    // Privileged
    Sret, Mret, Wfi, SfenceVma,
    // M
    Mul, Mulh, Mulhsu, Mulhu, Div, Divu, Rem, Remu,
    Mulw, Divw, Divuw, Remw, Remuw,
    // A
    LrW, ScW, AmoswapW, AmoaddW, AmoxorW, AmoandW, AmoorW, AmominW, AmomaxW, AmominuW, AmomaxuW,
    LrD, ScD, AmoswapD, AmoaddD, AmoxorD, AmoandD, AmoorD, AmominD, AmomaxD, AmominuD, AmomaxuD,
    // F
    Flw, Fsw,
    FmaddS, FmsubS, FnmsubS, FnmaddS,
    FaddS, FsubS, FmulS, FdivS, FsqrtS,
    FsgnjS, FsgnjnS, FsgnjxS, FminS, FmaxS,
    FcvtWS, FcvtWuS, FcvtLS, FcvtLuS, FmvXW, FeqS, FltS, FleS, FclassS,
    FcvtSW, FcvtSWu, FcvtSL, FcvtSLu, FmvWX,
    // D
    Fld, Fsd,
    FmaddD, FmsubD, FnmsubD, FnmaddD,
    FaddD, FsubD, FmulD, FdivD, FsqrtD,
    FsgnjD, FsgnjnD, FsgnjxD, FminD, FmaxD,
    FcvtSD, FcvtDS, FeqD, FltD, FleD, FclassD,
    FcvtWD, FcvtWuD, FcvtLD, FcvtLuD, FmvXD,
    FcvtDW, FcvtDWu, FcvtDL, FcvtDLu, FmvDX,
    // Zba
    Sh1add, Sh2add, Sh3add, AddUw, Sh1addUw, Sh2addUw, Sh3addUw, SlliUw,
    // Zbb
    Andn, Orn, Xnor, Clz, Ctz, Cpop, Clzw, Ctzw, Cpopw, Max, Maxu, Min, Minu, SextB, SextH, ZextH,
    Rol, Ror, Rori, Rolw, Rorw, Roriw, OrcB, Rev8,
    // Zbs
    Bclr, Bclri, Bext, Bexti, Binv, Binvi, Bset, Bseti,
}
