//! Capstone, a disassembler made from LLVM's tables. Its text says what an instruction does.

use capstone::arch::arm::{ArchExtraMode, ArchMode, ArmCC};
use capstone::prelude::*;
use capstone::{Capstone, Insn};
use tracewright_core::Flow::{Direct, Indirect, Isb, Next, TransactionStart, Wait};
use tracewright_core::Role::{Call, ExceptionReturn, Jump, Return};
use tracewright_core::{Flow, Isa, Role};
use tracewright_isa::{ItState, decode, is_undefined};
use tracewright_testkit::Rng;

use super::arm::Arm;
use super::differences::{Log, SHOULD_BE, UNKNOWN};
use super::{View, bytes, ours, view, words};

struct Disassembler {
    capstone: Capstone,
    isa: Isa,
}

impl Disassembler {
    fn new(isa: Isa, extra: &[ArchExtraMode]) -> Self {
        let arm =
            |mode| Capstone::new().arm().mode(mode).extra_mode(extra.iter().copied()).detail(true).build();
        let capstone = match isa {
            Isa::A64 => Capstone::new().arm64().mode(arch::arm64::ArchMode::Arm).build(),
            Isa::A32 => arm(ArchMode::Arm),
            Isa::T32 => arm(ArchMode::Thumb),
            Isa::Rv32 | Isa::Rv64 => unreachable!("not Arm's"),
        };
        Self { capstone: capstone.expect("Capstone knows it"), isa }
    }

    /// Returns the text of all instructions in `bytes`, and what each does.
    fn all(&self, address: u64, bytes: &[u8]) -> Vec<(String, View)> {
        let instructions = self.capstone.disasm_all(bytes, address).expect("Capstone reads any bytes");
        instructions.iter().map(|instruction| self.read(instruction)).collect()
    }

    fn one(&self, address: u64, word: u32) -> Option<(String, View)> {
        let bytes = bytes(self.isa, word);
        let instructions = self.capstone.disasm_count(&bytes, address, 1).expect("Capstone reads any bytes");
        instructions.first().map(|instruction| self.read(instruction))
    }

    fn read(&self, instruction: &Insn<'_>) -> (String, View) {
        let name = instruction.mnemonic().expect("it has a name");
        let operands = instruction.op_str().unwrap_or_default();
        let (flow, role, conditional) = match self.isa {
            Isa::A64 => a64(name),
            _ => {
                let detail = self.capstone.insn_detail(instruction).expect("asked for");
                let condition = detail.arch_detail().arm().expect("it is").cc();
                aarch32(name, operands, condition)
            }
        };
        let target = if flow == Direct { target(operands) } else { 0 };
        (format!("{name} {operands}"), View { len: instruction.len() as u8, flow, role, conditional, target })
    }
}

fn a64(name: &str) -> (Flow, Role, bool) {
    match name {
        "b" => (Direct, Jump, false),
        "bl" => (Direct, Call, false),
        "cbz" | "cbnz" | "tbz" | "tbnz" => (Direct, Jump, true),
        _ if name.starts_with("b.") || name.starts_with("bc.") => (Direct, Jump, true),
        "br" | "braa" | "brab" | "braaz" | "brabz" => (Indirect, Jump, false),
        "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" => (Indirect, Call, false),
        "ret" | "retaa" | "retab" => (Indirect, Return, false),
        "eret" | "eretaa" | "eretab" => (Indirect, ExceptionReturn, false),
        "isb" => (Isb, Jump, false),
        "wfe" | "wfi" | "wfet" | "wfit" => (Wait, Jump, false),
        "tstart" => (TransactionStart, Jump, false),
        _ => (Next, Jump, false),
    }
}

fn aarch32(name: &str, operands: &str, condition: ArmCC) -> (Flow, Role, bool) {
    let conditional = !matches!(condition, ArmCC::ARM_CC_AL | ArmCC::ARM_CC_INVALID);
    let name = name.strip_suffix(".w").unwrap_or(name);
    let suffix = format!("{condition:?}").split_off("ARM_CC_".len()).to_lowercase();
    let name = if conditional { name.strip_suffix(&*suffix).unwrap_or(name) } else { name };

    let (registers, list) = operands.split_once('{').unwrap_or((operands, ""));
    let loads_pc = list.contains("pc");
    let (flow, role) = match name {
        "b" | "cbz" | "cbnz" => (Direct, Jump),
        "bl" => (Direct, Call),
        "blx" if operands.starts_with('#') => (Direct, Call),
        "blx" | "blxns" => (Indirect, Call),
        "bx" | "bxns" if operands == "lr" => (Indirect, Return),
        "bx" | "bxns" | "bxj" | "tbb" | "tbh" => (Indirect, Jump),
        "eret" | "rfeda" | "rfedb" | "rfeia" | "rfeib" => (Indirect, ExceptionReturn),
        "isb" => (Isb, Jump),
        "wfe" | "wfi" => (Wait, Jump),
        "pop" if loads_pc => (Indirect, Return),
        "ldm" | "ldmda" | "ldmdb" | "ldmib" if loads_pc => match registers {
            _ if list.ends_with('^') => (Indirect, ExceptionReturn),
            "sp!, " if name == "ldm" => (Indirect, Return),
            _ => (Indirect, Jump),
        },
        "ldr" if operands.starts_with("pc, [sp], #") && !operands.contains('-') => (Indirect, Return),
        "mov" if operands == "pc, lr" => (Indirect, Return),
        _ if operands.starts_with("pc, ") => match name {
            "ldr" | "and" | "eor" | "sub" | "rsb" | "add" | "adc" | "sbc" | "rsc" | "orr" | "mov" | "bic"
            | "mvn" | "adr" | "lsl" | "lsr" | "asr" | "ror" | "rrx" => (Indirect, Jump),
            "ands" | "eors" | "subs" | "rsbs" | "adds" | "adcs" | "sbcs" | "rscs" | "orrs" | "movs"
            | "bics" | "mvns" | "lsls" | "lsrs" | "asrs" | "rors" | "rrxs" => (Indirect, ExceptionReturn),
            _ => (Next, Jump),
        },
        _ => (Next, Jump),
    };
    (flow, role, conditional || matches!(name, "cbz" | "cbnz"))
}

/// Returns the last operand.
fn target(operands: &str) -> u64 {
    let (_, number) = operands.rsplit_once('#').expect("a target");
    match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => number.parse(),
    }
    .expect("a number")
}

/// An address far from both ends. Wrapping is tested by hand-written lines.
const ADDRESS: u64 = 0x4000_0000;

fn check(isa: Isa, extra: &[ArchExtraMode], words: impl Iterator<Item = u32>) -> Log {
    let disassembler = Disassembler::new(isa, extra);
    let arm = Arm::new(isa);
    // T32 branches to A32 start from PC aligned to 4, so test with a PC that is not.
    let address = if isa == Isa::T32 { ADDRESS + 2 } else { ADDRESS };
    let mut log = Log::new(isa, "Capstone");
    for word in words {
        let ours = ours(isa, address, word);
        if let Some((text, theirs)) = disassembler.one(address, word) {
            if theirs != ours {
                log.add(word, &text, || format!("{theirs:?}, we say {ours:?}"));
            }
        } else if ours.flow != Next {
            // Capstone may know the word if bits that should be otherwise are corrected.
            let canonical = disassembler.one(address, arm.canonical(word));
            let agrees = canonical.is_some_and(|(_, theirs)| theirs == ours);
            log.add(word, if agrees { SHOULD_BE } else { UNKNOWN }, || format!("we say {ours:?}"));
        }
    }
    log
}

#[test]
fn a64_is_as_disassembled() {
    check(Isa::A64, &[], words::a64(1_000_000)).complete();
}

#[test]
fn a32_is_as_disassembled() {
    check(Isa::A32, &[ArchExtraMode::V8], words::a32(1_000_000)).complete();
}

#[test]
fn t32_is_as_disassembled() {
    check(Isa::T32, &[ArchExtraMode::V8], words::t32(150)).complete();
}

/// M profile has other branches: BXNS and BLXNS. 32-bit instructions are not compared: there, Capstone's M profile
/// takes NEON instructions of A32 for T32's BL and BLX.
#[test]
fn t32_of_m_profile_is_as_disassembled() {
    let extra = [ArchExtraMode::V8, ArchExtraMode::MClass];
    let disassembler = Disassembler::new(Isa::T32, &extra);
    assert_eq!(disassembler.one(0, 0x4774_0000).expect("BXNS").0, "bxns lr");
    check(Isa::T32, &extra, words::t32(0)).explained();
}

/// Any IT instruction, and which of the instructions after it are conditional.
#[test]
fn it_blocks_are_as_disassembled() {
    // MOV, ADD, NOP, BX LR, BX, BLX, POP, B, LDR, and of 32 bits B, BL, LDR PC, LDM with PC, ADD, ISB, WFI.
    const NARROW: [u16; 9] = [0x4608, 0x4408, 0xbf00, 0x4770, 0x4718, 0x4798, 0xbd10, 0xe7fe, 0x6808];
    const WIDE: [u32; 7] =
        [0xf000_b800, 0xf7ff_fffe, 0xf85d_fb04, 0xe8bd_8010, 0xeb00_0001, 0xf3bf_8f6f, 0xf3af_8003];
    let disassembler = Disassembler::new(Isa::T32, &[ArchExtraMode::V8]);
    let mut log = Log::new(Isa::T32, "Capstone, IT blocks");
    let mut rng = Rng::new(11);
    for it in (0xbf00_u16..0xbff0).filter(|it| it & 15 != 0) {
        for _ in 0..50 {
            let mut code = it.to_le_bytes().to_vec();
            for _ in 0..6 {
                if rng.one_in(2) {
                    code.extend(rng.pick(&NARROW).to_le_bytes());
                } else {
                    code.extend(bytes(Isa::T32, *rng.pick(&WIDE)));
                }
            }
            let theirs = disassembler.all(ADDRESS, &code);
            // AL has no else: Capstone does not know such an IT.
            if theirs.len() == 7 {
                let (mut at, mut state) = (0, ItState::default());
                for (n, (text, theirs)) in theirs.into_iter().enumerate() {
                    let ours = decode(Isa::T32, ADDRESS + at as u64, &code[at..], &mut state);
                    let ours = view(ours.expect("the bytes are there"));
                    at += usize::from(ours.len);
                    if n > 0 && ours != theirs {
                        log.add(u32::from(it) << 16, &text, || format!("{n}: {theirs:?}, we say {ours:?}"));
                    }
                }
            }
        }
    }
    log.complete();
}

/// Capstone knows no instruction among those that are undefined, but UDF.
#[test]
fn what_is_undefined_is_no_instruction() {
    use ArchExtraMode::{MClass, V8};
    for (isa, extra) in [(Isa::A64, &[][..]), (Isa::A32, &[V8]), (Isa::T32, &[V8]), (Isa::T32, &[MClass])] {
        let disassembler = Disassembler::new(isa, extra);
        let mut undefined = 0;
        let all: Box<dyn Iterator<Item = u32>> = match isa {
            Isa::A64 => Box::new(words::a64(100_000)),
            Isa::A32 => Box::new(words::a32(100_000)),
            _ => Box::new(words::t32(2).chain([u32::MAX])),
        };
        for word in all {
            if !is_undefined(isa, &bytes(isa, word)) {
                continue;
            }
            undefined += 1;
            if let Some((text, _)) = disassembler.one(0x1000, word) {
                // LLVM calls one UDF of each set `trap`.
                assert!(text.starts_with("udf") || text.starts_with("trap"), "{isa} {word:08x}: {text}");
            }
        }
        assert!(undefined > 100, "{isa}: {undefined}");
    }
}
