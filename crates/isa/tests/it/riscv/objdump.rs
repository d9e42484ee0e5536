//! GNU's objdump.

use std::path::Path;
use std::process::Command;

use tracewright_isa::riscv::{Op, Xlen, decode};
use tracewright_testkit::{Scratch, skip};

use super::differences::{Case, Log};
use super::words;

const PREFIX: &str = "riscv64-linux-gnu-";

/// Runs one of the binutils. Returns `None` if it is not installed.
fn run(folder: &Path, tool: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(format!("{PREFIX}{tool}")).args(arguments).current_dir(folder).output().ok()?;
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("it writes ASCII"))
}

/// Disassembles `code` at `base` into address, bits, length and text, which is empty if there is no instruction.
///
/// Only an object file can tell objdump which extensions there are, so the assembler makes one. Its symbols, which
/// say that it has no code, are stripped.
fn disassemble(xlen: Xlen, base: u64, code: &[u8]) -> Option<Vec<(u64, u32, u8, String)>> {
    let (xlen_name, abi) = match xlen {
        Xlen::Rv32 => ("rv32", "ilp32d"),
        Xlen::Rv64 => ("rv64", "lp64d"),
    };
    let scratch = Scratch::new("objdump");
    scratch.write("code.bin", code);
    scratch.write("code.s", b".incbin \"code.bin\"\n");
    let folder = scratch.path();
    let march = format!("-march={xlen_name}imafdc_zicsr_zifencei_zihintpause_zba_zbb_zbs");
    run(folder, "as", &[&march, &format!("-mabi={abi}"), "-mno-relax", "code.s", "-o", "code.o"])?;
    run(folder, "strip", &["code.o"])?;
    let vma = format!("--adjust-vma={base:#x}");
    let listing =
        run(folder, "objdump", &["-D", "-z", "-j", ".text", "-M", "priv-spec=1.12", &vma, "code.o"])?;
    Some(listing.lines().filter_map(line).collect())
}

/// Parses a line of address, bits and text with tabs between them: `0: 8082 ret`.
fn line(line: &str) -> Option<(u64, u32, u8, String)> {
    let (address, rest) = line.split_once(":\t")?;
    let (bits, text) = rest.split_once('\t').unwrap_or((rest, ""));
    let bits = bits.trim();
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    let value = u32::from_str_radix(bits, 16).expect("32 bits at most");
    // After # comes an address that objdump infers from several instructions.
    let text = text.split(" # ").next().unwrap_or_default().trim().replace('\t', " ");
    let text = if text.starts_with('.') { String::new() } else { canonical(&text) };
    Some((address, value, bits.len() as u8 / 2, text))
}

/// Returns the text with the names of the specification in place of what assemblers also accept ("Constants", "HINTs"
/// in DIFFERENCES.md).
fn canonical(text: &str) -> String {
    let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
    let last = operands.rsplit(',').next().unwrap_or_default();
    let constant =
        last.starts_with(|first: char| first.is_ascii_digit() || first == '-') && !last.contains('(');
    let name = match name {
        "c.nop" => return format!("li zero,{operands}"),
        "c.slli64" | "c.srli64" | "c.srai64" => {
            return format!("{} {operands},{operands},0x0", &name[2..6]);
        }
        "c.slli" | "c.add" => {
            let (register, rest) = operands.split_once(',').expect("two operands");
            return format!("{} {register},{register},{rest}", &name[2..]);
        }
        "c.li" if operands == "zero,0" => return "nop".to_owned(),
        "c.mv" => return format!("add zero,{operands}"),
        "c.li" | "c.lui" => &name[2..],
        "addw" | "sllw" | "srlw" | "sraw" | "rorw" if constant => {
            return format!("{}iw {operands}", &name[..name.len() - 1]);
        }
        "add" | "and" | "or" | "xor" | "sll" | "srl" | "sra" | "ror" | "bset" | "bclr" | "binv" | "bext"
        | "csrw" | "csrs" | "csrc" | "csrrw" | "csrrs" | "csrrc"
            if constant =>
        {
            return format!("{name}i {operands}");
        }
        name => name,
    };
    if operands.is_empty() { name.to_owned() } else { format!("{name} {operands}") }
}

/// Compares all of `code`, which is at `base`, in both XLENs.
fn check(test: &str, oracle: &'static str, base: u64, code: &[u8]) -> Option<Log> {
    let mut log = Log::new(oracle);
    for xlen in [Xlen::Rv32, Xlen::Rv64] {
        let Some(lines) = disassemble(xlen, base, code) else {
            skip(test, "no riscv64-linux-gnu-objdump (binutils-riscv64-linux-gnu)");
            return None;
        };
        let mut at = base;
        for (address, bits, len, theirs) in lines {
            let ours = decode(xlen, bits);
            assert_eq!((ours.len, at), (len, address), "{xlen:?} {bits:08x}");
            at += u64::from(len);
            let text = ours.text(address).xlen(xlen).to_string();
            log.compare(&Case { xlen, bits, ours: &ours, text: &text, theirs: &theirs });
        }
        assert_eq!(at, base + code.len() as u64, "all of it was compared");
    }
    log.complete();
    Some(log)
}

#[test]
fn objdump_agrees_on_all_compressed() {
    let code: Vec<u8> = words::compressed().flat_map(|half| (half as u16).to_le_bytes()).collect();
    check("objdump_agrees_on_all_compressed", "objdump, 16 bits", 0, &code);
}

#[test]
fn objdump_agrees_on_words() {
    let code: Vec<u8> = words::words(6).iter().flat_map(|word| word.to_le_bytes()).collect();
    if let Some(log) = check("objdump_agrees_on_words", "objdump, 32 bits", 0x8000_0000, &code) {
        assert_eq!(log.operations(), Op::Bseti as usize + 1, "every operation was seen");
    }
}
