//! Source lines of code that was never in a file, as DWARF 4.

use std::collections::HashMap;

/// Source line of code, from its address on to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Offset from the start of the function.
    pub offset: u64,
    pub line: u32,
    pub discriminator: u32,
    /// Path of the source file, shared by many lines.
    pub file: std::sync::Arc<str>,
}

/// Content of the debug sections.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub abbrev: Vec<u8>,
    pub info: Vec<u8>,
    pub line: Vec<u8>,
}

/// Abbreviation 1: a compilation unit without children that has nothing but its lines.
const ABBREV: &[u8] = &[1, 0x11, 0, 0x10, 0x17, 0, 0, 0];
/// Lengths of the operands of the standard opcodes.
const OPERANDS: [u8; 12] = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];

/// Writes the lines of functions: the address and length of each, and its lines in order of their offsets.
pub(super) fn write(functions: &[(u64, u64, &[Line])]) -> Parts {
    let mut files = Vec::new();
    let mut numbers: HashMap<&str, u64> = HashMap::new();
    let mut program = Vec::new();
    for (start, len, lines) in functions {
        let (mut at, mut last_line, mut last_file) = (0, 1_i64, 1);
        extended(&mut program, 2, &start.to_le_bytes());
        for line in *lines {
            let next = files.len() as u64 + 1;
            let file = *numbers.entry(&line.file).or_insert_with(|| {
                files.push(&*line.file);
                next
            });
            if line.offset > at {
                opcode(&mut program, 2, line.offset - at);
                at = line.offset;
            }
            if std::mem::replace(&mut last_file, file) != file {
                opcode(&mut program, 4, file);
            }
            program.push(3);
            sleb(&mut program, i64::from(line.line) - last_line);
            last_line = line.line.into();
            if line.discriminator > 0 {
                let mut operand = Vec::new();
                leb(&mut operand, line.discriminator.into());
                extended(&mut program, 4, &operand);
            }
            program.push(1);
        }
        opcode(&mut program, 2, len.saturating_sub(at));
        extended(&mut program, 1, &[]);
    }
    // Minimum instruction length 1, one operation an instruction, lines are statements, no special opcodes.
    let mut head = vec![1, 1, 1, 0, 1, 13];
    head.extend(OPERANDS);
    // No folders.
    head.push(0);
    for file in files {
        head.extend(file.bytes().filter(|byte| *byte != 0));
        head.extend([0, 0, 0, 0]);
    }
    head.push(0);
    let mut line = 4_u16.to_le_bytes().to_vec();
    line.extend((head.len() as u32).to_le_bytes());
    line.extend(head);
    line.extend(program);
    let line = [&(line.len() as u32).to_le_bytes()[..], &line].concat();
    // Version 4, abbreviations and lines at offset 0, addresses of eight bytes.
    let mut unit = 4_u16.to_le_bytes().to_vec();
    unit.extend([0, 0, 0, 0, 8, 1, 0, 0, 0, 0]);
    let info = [&(unit.len() as u32).to_le_bytes()[..], &unit].concat();
    Parts { abbrev: ABBREV.to_vec(), info, line }
}

fn extended(program: &mut Vec<u8>, code: u8, operand: &[u8]) {
    program.push(0);
    leb(program, operand.len() as u64 + 1);
    program.push(code);
    program.extend(operand);
}

fn opcode(program: &mut Vec<u8>, code: u8, operand: u64) {
    program.push(code);
    leb(program, operand);
}

fn leb(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn sleb(bytes: &mut Vec<u8>, mut value: i64) {
    loop {
        let (byte, is_negative) = (value as u8 & 0x7f, value as u8 & 0x40 != 0);
        value >>= 7;
        if value == if is_negative { -1 } else { 0 } {
            return bytes.push(byte);
        }
        bytes.push(byte | 0x80);
    }
}
