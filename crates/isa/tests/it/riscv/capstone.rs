//! Capstone, a disassembler made from LLVM's tables. It knows neither Zba, Zbb and Zbs nor all aliases, so
//! instructions are compared without aliases, by name and values of operands. Only 32-bit instructions are compared:
//! objdump covers all others.

use capstone::Capstone;
use capstone::arch::riscv::{ArchExtraMode, ArchMode};
use capstone::prelude::*;
use tracewright_isa::riscv::{Xlen, decode};

use super::differences::{Case, Log};
use super::words;

/// Returns name and operands with one blank between them and numbers in decimal: `lw a0 16 sp`.
///
/// Aliases that only one side has are expanded.
fn plain(text: &str) -> String {
    let parts: Vec<String> = text
        .split([' ', ',', '(', ')'])
        .filter(|part| !part.is_empty())
        .map(|part| number(part).map_or_else(|| part.to_owned(), |number| number.to_string()))
        .collect();
    let Some((name, operands)) = parts.split_first() else { return String::new() };
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let (name, operands) = match (name.as_str(), operands.as_slice()) {
        ("li", &[rd, imm]) => ("addi", vec![rd, "zero", imm]),
        ("mv", &[rd, rs]) => ("addi", vec![rd, rs, "0"]),
        ("zext.b", &[rd, rs]) => ("andi", vec![rd, rs, "255"]),
        ("ret", []) => ("jalr", vec!["zero", "0", "ra"]),
        ("jr", &[rs]) => ("jalr", vec!["zero", "0", rs]),
        ("jr", &[imm, rs]) => ("jalr", vec!["zero", imm, rs]),
        ("jalr", &[rs]) => ("jalr", vec!["ra", "0", rs]),
        ("jalr", &[rd, rs]) if number(rd).is_none() => ("jalr", vec![rd, "0", rs]),
        ("jalr", &[imm, rs]) => ("jalr", vec!["ra", imm, rs]),
        ("jalr", &[rd, rs, imm]) if number(rs).is_none() => ("jalr", vec![rd, imm, rs]),
        ("pause", []) => ("fence", vec!["w", "unknown"]),
        ("rdcycleh", &[rd]) => ("csrr", vec![rd, "cycleh"]),
        ("rdtimeh", &[rd]) => ("csrr", vec![rd, "timeh"]),
        ("rdinstreth", &[rd]) => ("csrr", vec![rd, "instreth"]),
        ("fsflagsi" | "fsrmi", &[imm]) => (name.as_str(), vec!["zero", imm]),
        (name, operands) => (name, operands.to_vec()),
    };
    format!("{name} {}", operands.join(" ")).trim_end().to_owned()
}

/// Parses a decimal or hexadecimal number, with or without a sign. 64 bits wrap.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        None => digits.parse().ok()?,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

#[test]
fn capstone_agrees_on_words() {
    let mut log = Log::new("Capstone");
    for (xlen, mode) in [(Xlen::Rv32, ArchMode::RiscV32), (Xlen::Rv64, ArchMode::RiscV64)] {
        let extra = [ArchExtraMode::RiscVC].into_iter();
        let capstone = Capstone::new().riscv().mode(mode).extra_mode(extra).build().expect("it knows RISC-V");
        for bits in words::words(2) {
            let found = capstone.disasm_count(&bits.to_le_bytes(), 0, 1).expect("it reads any bytes");
            let theirs = found.first().map_or_else(String::new, |found| {
                assert_eq!(found.len(), 4);
                let name = found.mnemonic().expect("it has a name");
                plain(&format!("{name} {}", found.op_str().unwrap_or_default()))
            });
            let ours = decode(xlen, bits);
            // Capstone prints the distance of a branch, which is its target from address 0.
            let text = plain(&ours.text(0).to_string());
            log.compare(&Case { xlen, bits, ours: &ours, text: &text, theirs: &theirs });
        }
    }
    log.complete();
}
