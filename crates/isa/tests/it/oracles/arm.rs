//! Arm's machine-readable specification of A profile, as masks and values of every encoding.
//!
//! The lists here say what each encoding does. The positions of its bits come from Arm. An encoding that is not
//! listed goes to the next instruction. This is a second decoder, and both must agree on all words.

use aarchmrs_instructions::{A32, A64, T32};
use tracewright_core::Flow::{Direct, Indirect, Isb, Next, Wait};
use tracewright_core::Role::{Call, ExceptionReturn, Jump, Return};
use tracewright_core::{Flow, Isa, Role};

use super::differences::Log;
use super::{ours, words};

#[derive(Clone, Copy)]
struct Encoding {
    name: &'static str,
    mask: u32,
    value: u32,
    /// Bits of the mask whose other value is UNPREDICTABLE.
    should_be: u32,
    flow: Flow,
    role: Role,
    conditional: bool,
    /// Which of its words do that.
    when: fn(u32) -> bool,
}

impl Encoding {
    fn has(&self, word: u32) -> bool {
        (word ^ self.value) & self.mask & !self.should_be == 0 && (self.when)(word)
    }

    /// Returns `word` with the "should be" bits corrected.
    fn canonical(&self, word: u32) -> u32 {
        word & !self.should_be | self.value & self.should_be
    }
}

/// Encodings by what they do: `FLOW ROLE if (WHEN): MODULE { NAME .. } ..`
macro_rules! encodings {
    ($list:ident: $(
        $flow:ident $role:ident $(if ($when:expr))?: $($module:ident)::+ { $($name:ident)+ }
    )+) => {$({
        use $($module)::+ as module;
        let when: fn(u32) -> bool = encodings!(@when $($when)?);
        $list.extend([$(Encoding {
            name: module::$name::NAME,
            mask: module::$name::OPCODE_MASK,
            value: module::$name::OPCODE,
            should_be: module::$name::SHOULD_BE_MASK,
            flow: $flow,
            role: $role,
            conditional: false,
            when,
        }),+]);
    })+};
    (@when) => { |_| true };
    (@when $when:expr) => { $when };
}

fn a64() -> Vec<Encoding> {
    let mut list = Vec::new();
    encodings! { list:
        Direct Jump: A64::control::compbranch_regs {
            CBGT_32_regs CBGE_32_regs CBHI_32_regs CBHS_32_regs CBEQ_32_regs CBNE_32_regs
            CBGT_64_regs CBGE_64_regs CBHI_64_regs CBHS_64_regs CBEQ_64_regs CBNE_64_regs
        }
        Direct Jump: A64::control::compbranch_regs2 {
            CBBGT_8_regs CBBGE_8_regs CBBHI_8_regs CBBHS_8_regs CBBEQ_8_regs CBBNE_8_regs
            CBHGT_16_regs CBHGE_16_regs CBHHI_16_regs CBHHS_16_regs CBHEQ_16_regs CBHNE_16_regs
        }
        Direct Jump: A64::control::compbranch_imm {
            CBGT_32_imm CBLT_32_imm CBHI_32_imm CBLO_32_imm CBEQ_32_imm CBNE_32_imm
            CBGT_64_imm CBLT_64_imm CBHI_64_imm CBLO_64_imm CBEQ_64_imm CBNE_64_imm
        }
        Direct Jump: A64::control::condbranch { B_only_condbranch BC_only_condbranch }
        Direct Jump: A64::control::compbranch {
            CBZ_32_compbranch CBZ_64_compbranch CBNZ_32_compbranch CBNZ_64_compbranch
        }
        Direct Jump: A64::control::testbranch { TBZ_only_testbranch TBNZ_only_testbranch }
    }
    list.iter_mut().for_each(|encoding: &mut Encoding| encoding.conditional = true);
    encodings! { list:
        Indirect Return: A64::control::miscbranch { RETAASPPC_only_miscbranch RETABSPPC_only_miscbranch }
        Wait Jump: A64::control::systeminstrswithreg { WFET_only_systeminstrswithreg WFIT_only_systeminstrswithreg }
        Wait Jump: A64::control::hints { WFE_HI_hints WFI_HI_hints }
        Isb Jump: A64::control::barriers { ISB_BI_barriers }
        Indirect Jump: A64::control::branch_reg {
            BR_64_branch_reg BRAAZ_64_branch_reg BRABZ_64_branch_reg BRAA_64P_branch_reg BRAB_64P_branch_reg
        }
        Indirect Call: A64::control::branch_reg {
            BLR_64_branch_reg BLRAAZ_64_branch_reg BLRABZ_64_branch_reg BLRAA_64P_branch_reg BLRAB_64P_branch_reg
        }
        Indirect Return: A64::control::branch_reg {
            RET_64R_branch_reg RETAA_64E_branch_reg RETAB_64E_branch_reg
            RETAASPPCR_64M_branch_reg RETABSPPCR_64M_branch_reg
        }
        Indirect ExceptionReturn: A64::control::branch_reg {
            ERET_64E_branch_reg ERETAA_64E_branch_reg ERETAB_64E_branch_reg TEXIT_te_branch_reg
        }
        Direct Jump: A64::control::branch_imm { B_only_branch_imm }
        Direct Call: A64::control::branch_imm { BL_only_branch_imm }
    }
    list
}

/// Returns whether bits 15:12, most often the destination, are PC.
fn rd_pc(word: u32) -> bool {
    word >> 12 & 15 == 15
}

fn a32() -> Vec<Encoding> {
    let mut list = Vec::new();
    encodings! { list:
        Indirect Return if (|word| word & 0xffff == 0xf00e): A32::dp::dpregis::logic3reg_immsh { MOV_r_A1 }
        Indirect Jump if (rd_pc): A32::dp::dpregis::intdp3reg_immsh {
            AND_r_A1 EOR_r_A1 SUB_r_A1 RSB_r_A1 ADD_r_A1 ADC_r_A1 SBC_r_A1 RSC_r_A1
        }
        Indirect ExceptionReturn if (rd_pc): A32::dp::dpregis::intdp3reg_immsh {
            ANDS_r_A1 EORS_r_A1 SUBS_r_A1 RSBS_r_A1 ADDS_r_A1 ADCS_r_A1 SBCS_r_A1 RSCS_r_A1
        }
        Indirect Jump if (rd_pc): A32::dp::dpregis::logic3reg_immsh { ORR_r_A1 MOV_r_A1 BIC_r_A1 MVN_r_A1 }
        Indirect ExceptionReturn if (rd_pc): A32::dp::dpregis::logic3reg_immsh {
            ORRS_r_A1 MOVS_r_A1 BICS_r_A1 MVNS_r_A1
        }
        Indirect Jump if (rd_pc): A32::dp::dpimm::intdp2reg_imm {
            AND_i_A1 EOR_i_A1 SUB_i_A1 RSB_i_A1 ADD_i_A1 ADC_i_A1 SBC_i_A1 RSC_i_A1
        }
        Indirect ExceptionReturn if (rd_pc): A32::dp::dpimm::intdp2reg_imm {
            ANDS_i_A1 EORS_i_A1 SUBS_i_A1 RSBS_i_A1 ADDS_i_A1 ADCS_i_A1 SBCS_i_A1 RSCS_i_A1
        }
        Indirect Jump if (rd_pc): A32::dp::dpimm::log2reg_imm { ORR_i_A1 MOV_i_A1 BIC_i_A1 MVN_i_A1 }
        Indirect ExceptionReturn if (rd_pc): A32::dp::dpimm::log2reg_imm { ORRS_i_A1 MOVS_i_A1 BICS_i_A1 MVNS_i_A1 }
        Indirect Return if (|word| word & 15 == 14): A32::dp::dpmisc::bx_reg { BX_A1 }
        Indirect Jump: A32::dp::dpmisc::bx_reg { BX_A1 }
        Indirect Jump: A32::dp::dpmisc::bxj_reg { BXJ_A1 }
        Indirect Call: A32::dp::dpmisc::blx_reg { BLX_r_A1 }
        Indirect ExceptionReturn: A32::dp::dpmisc::eret { ERET_A1 }
        Wait Jump: A32::dp::dpimm::movsr_hint_imm { WFE_A1 WFI_A1 }
        Indirect Return if (|word| word & 0x008f_f000 == 0x008d_f000): A32::ldstimm { LDR_i_A1_post }
        Indirect Jump if (rd_pc): A32::ldstimm { LDR_i_A1_post LDR_i_A1_off LDR_i_A1_pre }
        Indirect Jump if (rd_pc): A32::ldstreg { LDR_r_A1_post LDR_r_A1_off LDR_r_A1_pre }
        Indirect Return if (|word| word & 0x002f_a000 == 0x002d_8000): A32::brblk::ldstm { LDM_A1 }
        Indirect Jump if (|word| word & 0x8000 != 0): A32::brblk::ldstm { LDM_A1 LDMDA_A1 LDMDB_A1 LDMIB_A1 }
        Indirect ExceptionReturn: A32::brblk::ldstm { LDM_e_A1_AS }
        Direct Jump: A32::brblk::b_imm { B_A1 }
        Direct Call: A32::brblk::b_imm { BL_i_A1 BL_i_A2 }
        Isb Jump if (|word| word & 0x00ef_0fef == 0x0007_0f85): A32::cops_as::sys_mov32::movcpgp32 { MCR_A1 }
        Isb Jump: A32::uncond_as::uncondhints::barriers { ISB_A1 }
        Indirect ExceptionReturn: A32::brblk::ldstexcept { RFEDA_A1_AS RFEIA_A1_AS RFEDB_A1_AS RFEIB_A1_AS }
    }
    list
}

fn t32() -> Vec<Encoding> {
    let mut list = Vec::new();
    encodings! { list:
        Direct Jump if (|word| word & 0x0e00 != 0x0e00): T32::n::brc::bcond16 { B_T1 }
        Direct Jump: T32::n::misc16::cbznz16 { CBZ_T1 CBNZ_T1 }
        Direct Jump if (|word| word & 0x0380_0000 != 0x0380_0000): T32::w::bcrtrl::bcond { B_T3 }
    }
    list.iter_mut().for_each(|encoding: &mut Encoding| encoding.conditional = true);
    encodings! { list:
        Indirect Jump if (|word| word & 0x87 == 0x87): T32::n::spcd::addsub16_2h { ADD_r_T2 }
        Indirect Return if (|word| word & 0xff == 0xf7): T32::n::spcd::addsub16_2h { MOV_r_T1 }
        Indirect Jump if (|word| word & 0x87 == 0x87): T32::n::spcd::addsub16_2h { MOV_r_T1 }
        Indirect Return if (|word| word & 0x78 == 0x70): T32::n::spcd::bx16 { BX_T1 }
        Indirect Jump: T32::n::spcd::bx16 { BX_T1 }
        Indirect Call: T32::n::spcd::bx16 { BLX_r_T1 }
        Indirect Return if (|word| word & 0x100 != 0): T32::n::misc16::pushpop16 { POP_T1 }
        Wait Jump: T32::n::misc16::hints16 { WFE_T1 WFI_T1 }
        Direct Jump: T32::b16 { B_T2 }
        Isb Jump if (|word| word & 0x00ef_0fef == 0x0007_0f85): T32::w::cpaf::sys_mov32::cp_mov32 { MCR_T1 }
        Indirect ExceptionReturn: T32::w::ldstm { RFE_T1_AS RFE_T2_AS }
        Indirect Return if (|word| word & 0x002f_8000 == 0x002d_8000): T32::w::ldstm { LDM_T2 }
        Indirect Jump if (|word| word & 0x8000 != 0): T32::w::ldstm { LDM_T2 LDMDB_T1 }
        Indirect Jump: T32::w::dstd::tblbr { TBB_T1 TBH_T1 }
        Wait Jump: T32::w::bcrtrl::hints { WFE_T2 WFI_T2 }
        Isb Jump: T32::w::bcrtrl::system { ISB_T1 }
        Indirect Jump: T32::w::bcrtrl::bx_jaz { BXJ_T1 }
        Indirect ExceptionReturn: T32::w::bcrtrl::eret { SUBS_PC_T5_AS }
        Direct Jump: T32::w::bcrtrl::b { B_T4 }
        Direct Call if (|word| word & 1 == 0): T32::w::bcrtrl::blx { BL_i_T2 }
        Direct Call: T32::w::bcrtrl::bl { BL_i_T1 }
        Indirect Jump if (rd_pc): T32::w::ldst::ldlit_unsigned { LDR_l_T2 }
        Indirect Jump if (rd_pc): T32::w::ldst::ldst_unsigned_reg { LDR_r_T2 }
        Indirect Return if (|word| word & 0x000f_f200 == 0x000d_f200): T32::w::ldst::ldst_unsigned_post {
            LDR_i_T4_post
        }
        Indirect Jump if (rd_pc): T32::w::ldst::ldst_unsigned_post { LDR_i_T4_post }
        Indirect Jump if (rd_pc): T32::w::ldst::ldst_unsigned_pre { LDR_i_T4_pre }
        Indirect Jump if (rd_pc): T32::w::ldst::ldst_unsigned_nimm { LDR_i_T4_off }
        Indirect Jump if (rd_pc): T32::w::ldst::ldst_unsigned_pimm { LDR_i_T3 }
    }
    list
}

/// The encodings of an instruction set, each with what it does.
pub struct Arm {
    isa: Isa,
    encodings: Vec<Encoding>,
}

impl Arm {
    pub fn new(isa: Isa) -> Self {
        let encodings = match isa {
            Isa::A64 => a64(),
            Isa::A32 => a32(),
            Isa::T32 => t32(),
            Isa::Rv32 | Isa::Rv64 => unreachable!("not Arm's"),
        };
        Self { isa, encodings }
    }

    /// Returns the encoding of `word`. Arm gives 16-bit instructions in the lower half.
    fn find(&self, word: u32) -> Option<(&Encoding, u32)> {
        let word = if self.isa == Isa::T32 && word < 0xe800_0000 { word >> 16 } else { word };
        self.encodings
            .iter()
            // The masks of A32 do not include conditions, and 1111 is not a condition.
            .filter(|encoding| self.isa != Isa::A32 || (word >> 28 == 15) == (encoding.mask >> 28 == 15))
            .filter(|encoding| self.isa != Isa::T32 || (word > 0xffff) == (encoding.mask > 0xffff))
            .find(|encoding| encoding.has(word))
            .map(|encoding| (encoding, word))
    }

    /// Returns `word` with the "should be" bits corrected.
    pub fn canonical(&self, word: u32) -> u32 {
        match self.find(word) {
            Some((encoding, short)) if short != word => encoding.canonical(short) << 16,
            Some((encoding, _)) => encoding.canonical(word),
            None => word,
        }
    }

    fn does(&self, word: u32) -> (Flow, Role, bool) {
        let condition = self.isa == Isa::A32 && word >> 28 < 14;
        match self.find(word) {
            Some((encoding, _)) => (encoding.flow, encoding.role, encoding.conditional || condition),
            None => (Next, Jump, condition),
        }
    }
}

fn check(isa: Isa, words: impl Iterator<Item = u32>) {
    let arm = Arm::new(isa);
    let mut seen = vec![0; arm.encodings.len()];
    let mut log = Log::new(isa, "Arm");
    for word in words {
        let ours = ours(isa, 0, word);
        let theirs = arm.does(word);
        if (ours.flow, ours.role, ours.conditional) != theirs {
            log.add(word, "", || format!("{theirs:?}, we say {ours:?}"));
        }
        if let Some((encoding, _)) = arm.find(word) {
            let at = arm.encodings.iter().position(|other| core::ptr::eq(encoding, other));
            seen[at.expect("it is one of them")] += 1;
        }
    }
    log.complete();
    for (encoding, seen) in arm.encodings.iter().zip(seen) {
        assert!(seen > 0, "{isa}: no word was {}", encoding.name);
    }
}

#[test]
fn a64_is_as_arm_says() {
    check(Isa::A64, words::a64(1_500_000));
}

#[test]
fn a32_is_as_arm_says() {
    check(Isa::A32, words::a32(1_500_000));
}

#[test]
fn t32_is_as_arm_says() {
    check(Isa::T32, words::t32(150));
}
