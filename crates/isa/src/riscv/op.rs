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

/// Declares [`Op`] and its names from one list, so that they always agree.
macro_rules! operations {
    ($($op:ident $name:literal;)*) => {
        /// The operation of an instruction, whatever its encoding or alias.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op {
            /// Reserved, unknown or not in this XLEN.
            Illegal,
            $(#[doc = $name] $op,)*
        }

        impl Op {
            /// Returns the name in the specification, such as `fence.i`.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::Illegal => "illegal",
                    $(Self::$op => $name,)*
                }
            }
        }
    };
}

operations! {
    // RV32I, RV64I
    Lui "lui"; Auipc "auipc"; Jal "jal"; Jalr "jalr";
    Beq "beq"; Bne "bne"; Blt "blt"; Bge "bge"; Bltu "bltu"; Bgeu "bgeu";
    Lb "lb"; Lh "lh"; Lw "lw"; Ld "ld"; Lbu "lbu"; Lhu "lhu"; Lwu "lwu";
    Sb "sb"; Sh "sh"; Sw "sw"; Sd "sd";
    Addi "addi"; Slti "slti"; Sltiu "sltiu"; Xori "xori"; Ori "ori"; Andi "andi";
    Slli "slli"; Srli "srli"; Srai "srai";
    Add "add"; Sub "sub"; Sll "sll"; Slt "slt"; Sltu "sltu"; Xor "xor"; Srl "srl";
    Sra "sra"; Or "or"; And "and";
    Addiw "addiw"; Slliw "slliw"; Srliw "srliw"; Sraiw "sraiw"; Addw "addw";
    Subw "subw"; Sllw "sllw"; Srlw "srlw"; Sraw "sraw";
    Fence "fence"; FenceI "fence.i"; Ecall "ecall"; Ebreak "ebreak";
    // Zicsr
    Csrrw "csrrw"; Csrrs "csrrs"; Csrrc "csrrc"; Csrrwi "csrrwi"; Csrrsi "csrrsi";
    Csrrci "csrrci";
    // Privileged
    Sret "sret"; Mret "mret"; Wfi "wfi"; SfenceVma "sfence.vma";
    // M
    Mul "mul"; Mulh "mulh"; Mulhsu "mulhsu"; Mulhu "mulhu"; Div "div"; Divu "divu";
    Rem "rem"; Remu "remu";
    Mulw "mulw"; Divw "divw"; Divuw "divuw"; Remw "remw"; Remuw "remuw";
    // A
    LrW "lr.w"; ScW "sc.w"; AmoswapW "amoswap.w"; AmoaddW "amoadd.w"; AmoxorW "amoxor.w";
    AmoandW "amoand.w"; AmoorW "amoor.w"; AmominW "amomin.w"; AmomaxW "amomax.w";
    AmominuW "amominu.w"; AmomaxuW "amomaxu.w";
    LrD "lr.d"; ScD "sc.d"; AmoswapD "amoswap.d"; AmoaddD "amoadd.d"; AmoxorD "amoxor.d";
    AmoandD "amoand.d"; AmoorD "amoor.d"; AmominD "amomin.d"; AmomaxD "amomax.d";
    AmominuD "amominu.d"; AmomaxuD "amomaxu.d";
    // F
    Flw "flw"; Fsw "fsw";
    FmaddS "fmadd.s"; FmsubS "fmsub.s"; FnmsubS "fnmsub.s"; FnmaddS "fnmadd.s";
    FaddS "fadd.s"; FsubS "fsub.s"; FmulS "fmul.s"; FdivS "fdiv.s"; FsqrtS "fsqrt.s";
    FsgnjS "fsgnj.s"; FsgnjnS "fsgnjn.s"; FsgnjxS "fsgnjx.s"; FminS "fmin.s";
    FmaxS "fmax.s";
    FcvtWS "fcvt.w.s"; FcvtWuS "fcvt.wu.s"; FcvtLS "fcvt.l.s"; FcvtLuS "fcvt.lu.s";
    FmvXW "fmv.x.w"; FeqS "feq.s"; FltS "flt.s"; FleS "fle.s"; FclassS "fclass.s";
    FcvtSW "fcvt.s.w"; FcvtSWu "fcvt.s.wu"; FcvtSL "fcvt.s.l"; FcvtSLu "fcvt.s.lu";
    FmvWX "fmv.w.x";
    // D
    Fld "fld"; Fsd "fsd";
    FmaddD "fmadd.d"; FmsubD "fmsub.d"; FnmsubD "fnmsub.d"; FnmaddD "fnmadd.d";
    FaddD "fadd.d"; FsubD "fsub.d"; FmulD "fmul.d"; FdivD "fdiv.d"; FsqrtD "fsqrt.d";
    FsgnjD "fsgnj.d"; FsgnjnD "fsgnjn.d"; FsgnjxD "fsgnjx.d"; FminD "fmin.d";
    FmaxD "fmax.d";
    FcvtSD "fcvt.s.d"; FcvtDS "fcvt.d.s"; FeqD "feq.d"; FltD "flt.d"; FleD "fle.d";
    FclassD "fclass.d";
    FcvtWD "fcvt.w.d"; FcvtWuD "fcvt.wu.d"; FcvtLD "fcvt.l.d"; FcvtLuD "fcvt.lu.d";
    FmvXD "fmv.x.d";
    FcvtDW "fcvt.d.w"; FcvtDWu "fcvt.d.wu"; FcvtDL "fcvt.d.l"; FcvtDLu "fcvt.d.lu";
    FmvDX "fmv.d.x";
    // Zba
    Sh1add "sh1add"; Sh2add "sh2add"; Sh3add "sh3add"; AddUw "add.uw";
    Sh1addUw "sh1add.uw"; Sh2addUw "sh2add.uw"; Sh3addUw "sh3add.uw"; SlliUw "slli.uw";
    // Zbb
    Andn "andn"; Orn "orn"; Xnor "xnor"; Clz "clz"; Ctz "ctz"; Cpop "cpop";
    Clzw "clzw"; Ctzw "ctzw"; Cpopw "cpopw"; Max "max"; Maxu "maxu"; Min "min";
    Minu "minu"; SextB "sext.b"; SextH "sext.h"; ZextH "zext.h";
    Rol "rol"; Ror "ror"; Rori "rori"; Rolw "rolw"; Rorw "rorw"; Roriw "roriw";
    OrcB "orc.b"; Rev8 "rev8";
    // Zbs
    Bclr "bclr"; Bclri "bclri"; Bext "bext"; Bexti "bexti"; Binv "binv";
    Binvi "binvi"; Bset "bset"; Bseti "bseti";
}
