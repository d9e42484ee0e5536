//! Instructions as text.

use std::fmt::Write;

use tracewright_core::{Flow, Isa};
use tracewright_engine::Line;
use tracewright_flow::InBlock;
use tracewright_isa::riscv::{self, Op, Xlen};
use tracewright_isa::{ItState, decode};
use yaxpeax_arch::{Decoder as _, U8Reader};

/// Appends the text of an instruction to `line`. Returns the target of a direct branch.
pub fn write(line: &mut impl Write, isa: Isa, instruction: &InBlock) -> Option<u64> {
    let bytes = &instruction.bytes[..usize::from(instruction.len)];
    let mut text = String::new();
    let known = match isa {
        Isa::A64 => {
            let decoder = yaxpeax_arm::armv8::a64::InstDecoder::default();
            decoder.decode(&mut U8Reader::new(bytes)).ok().map(|found| write!(text, "{found}"))
        }
        Isa::A32 | Isa::T32 => {
            let decoder = yaxpeax_arm::armv7::InstDecoder::armv7().with_thumb_mode(isa == Isa::T32);
            decoder.decode(&mut U8Reader::new(bytes)).ok().map(|found| write!(text, "{found}"))
        }
        Isa::Rv32 | Isa::Rv64 => return risc_v(line, isa, instruction),
    };
    if !matches!(known, Some(Ok(()))) {
        // Newer than the disassembler, or no instruction.
        let directive = if bytes.len() == 2 { ".hword" } else { ".word" };
        let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let _ = write!(line, "{directive} {value:#x}");
        return None;
    }
    // `$+0x10` is relative to the instruction: show the address instead.
    let Some(at) = text.find('$') else {
        let _ = line.write_str(&text);
        return None;
    };
    let address = match (isa, instruction.class.flow) {
        (_, Flow::Direct) => decode(isa, instruction.address, &instruction.bytes, &mut ItState::default())
            .map(|found| found.target),
        (Isa::A64, _) => {
            let base =
                if text.starts_with("adrp") { instruction.address & !0xfff } else { instruction.address };
            offset(&text[at + 1..]).map(|offset| base.wrapping_add_signed(offset))
        }
        _ => None,
    };
    let _ = match address {
        Some(address) => write!(line, "{}{address:#x}", &text[..at]),
        None => line.write_str(&text),
    };
    address.filter(|_| instruction.class.flow == Flow::Direct)
}

/// Appends the digits of an instruction as the architecture writes it: a number, in T32 the half-words in order.
pub fn code<'l>(line: &'l mut Line, isa: Isa, instruction: &InBlock) -> &'l mut Line {
    let unit = if isa == Isa::T32 { 2 } else { 4 };
    for unit in instruction.bytes[..usize::from(instruction.len)].chunks(unit) {
        unit.iter().rev().for_each(|&byte| _ = line.hex_byte(byte));
    }
    line
}

/// Appends the text of a RISC-V instruction, which `tracewright_isa` decodes.
fn risc_v(line: &mut impl Write, isa: Isa, instruction: &InBlock) -> Option<u64> {
    let xlen = if isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
    let bits = u32::from_le_bytes(instruction.bytes);
    let found = riscv::decode(xlen, bits);
    if found.op == Op::Illegal {
        let (directive, value) =
            if found.len == 2 { (".2byte", u32::from(bits as u16)) } else { (".4byte", bits) };
        let _ = write!(line, "{directive} {value:#x}");
        return None;
    }
    let _ = write!(line, "{}", found.text(instruction.address).xlen(xlen));
    let target = decode(isa, instruction.address, &instruction.bytes, &mut ItState::default());
    target.map(|found| found.target).filter(|_| instruction.class.flow == Flow::Direct)
}

/// Parses `+0x10` or `-0x10`.
fn offset(text: &str) -> Option<i64> {
    let digits = i64::from_str_radix(text.get(1..)?.strip_prefix("0x")?, 16).ok()?;
    Some(if text.starts_with('-') { -digits } else { digits })
}

#[cfg(test)]
mod tests {
    use tracewright_core::Class;

    use super::*;

    #[test]
    fn digits_are_those_of_the_architecture() {
        let digits = |isa, bytes: [u8; 4], len| {
            let mut line = Line::default();
            code(&mut line, isa, &InBlock { address: 0, bytes, len, class: Class::NEXT, target: None });
            String::from_utf8(line.bytes().to_vec()).unwrap()
        };
        // As objdump prints `movw r3, #31153`: f647 13b1.
        assert_eq!(digits(Isa::T32, [0x47, 0xf6, 0xb1, 0x13], 4), "f64713b1");
        assert_eq!(digits(Isa::T32, [0x70, 0x47, 0, 0], 2), "4770");
        assert_eq!(digits(Isa::A32, [0x1e, 0xff, 0x2f, 0xe1], 4), "e12fff1e");
        assert_eq!(digits(Isa::Rv64, [0x82, 0x80, 0, 0], 2), "8082");
    }
}
