//! Code that was never in a file, collected into an ELF file of our own.
//!
//! Compilers at run time and the kernel leave code with names, and perhaps source lines. As an ELF file it has
//! linked addresses, symbols and lines like all other code. The linked address of a byte is its offset in the file.

use tracewright_image::Bytes;

use super::dwarf::{self, Line};

/// Offset of the code in the file.
const TEXT: u64 = 0x1000;
/// Most bytes of code in all files; a compiler at run time seldom has more than its cache of 256 MB.
const MOST_CODE: u64 = 1 << 30;

/// ELF file in the making.
#[derive(Debug)]
pub(crate) struct MadeFile {
    /// Name for messages and tables.
    pub name: String,
    /// ELF machine.
    pub machine: u16,
    functions: Vec<Function>,
    /// Offset behind the last function.
    end: u64,
}

#[derive(Debug)]
struct Function {
    name: String,
    at: u64,
    code: Bytes,
    lines: Vec<Line>,
}

impl MadeFile {
    pub fn new(name: String, machine: u16) -> Self {
        Self { name, machine, functions: Vec::new(), end: TEXT }
    }

    /// Adds a function whose `lines` are relative to its start. Returns its offset in the file, or `None` if the
    /// file has become too large.
    pub fn add(&mut self, name: String, code: Bytes, lines: Vec<Line>) -> Option<u64> {
        let at = self.end.next_multiple_of(16);
        let end = at.checked_add(code.len() as u64).filter(|end| *end <= MOST_CODE)?;
        self.end = end;
        self.functions.push(Function { name, at, code, lines });
        Some(at)
    }

    /// Writes the file.
    pub fn write(&self) -> Vec<u8> {
        let mut file = vec![0; self.end as usize];
        for Function { at, code, .. } in &self.functions {
            let at = *at as usize;
            file[at..at + code.len()].copy_from_slice(code.as_slice());
        }
        let (symbols, names) = self.symbols();
        let text =
            Section { address: TEXT, offset: TEXT, len: self.end - TEXT, ..Section::new(".text", 1, 6) };
        let mut sections = vec![Section::default(), text];
        let symtab = Section { link: 3, info: 1, entry: 24, ..Section::new(".symtab", 2, 0) };
        sections.push(symtab.append(&mut file, &symbols));
        sections.push(Section::new(".strtab", 3, 0).append(&mut file, &names));
        let lines = self.functions.iter().filter(|function| !function.lines.is_empty());
        let lines: Vec<_> =
            lines.map(|function| (function.at, function.code.len() as u64, &function.lines[..])).collect();
        if !lines.is_empty() {
            let parts = dwarf::write(&lines);
            let parts =
                [(".debug_abbrev", parts.abbrev), (".debug_info", parts.info), (".debug_line", parts.line)];
            sections.extend(parts.map(|(name, bytes)| Section::new(name, 1, 0).append(&mut file, &bytes)));
        }
        let mut names = vec![0];
        sections.push(Section::new(".shstrtab", 3, 0));
        for section in &mut sections {
            section.name_at = if section.name.is_empty() { 0 } else { names.len() as u32 };
            names.extend(section.name.as_bytes());
            names.push(0);
        }
        let last = sections.pop().unwrap_or_default();
        sections.push(last.append(&mut file, &names));
        file.resize(file.len().next_multiple_of(8), 0);
        let table = file.len() as u64;
        sections.iter().for_each(|section| section.write(&mut file));
        let head = self.head(table, sections.len() as u16);
        file[..head.len()].copy_from_slice(&head);
        file
    }

    /// Returns the symbols and their names.
    fn symbols(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut symbols, mut names) = (vec![0; 24], vec![0]);
        for Function { name, at, code, .. } in &self.functions {
            symbols.extend((names.len() as u32).to_le_bytes());
            // A global function of the first section.
            symbols.extend([0x12, 0, 1, 0]);
            symbols.extend([*at, code.len() as u64].map(u64::to_le_bytes).concat());
            names.extend(name.bytes().filter(|byte| *byte != 0));
            names.push(0);
        }
        (symbols, names)
    }

    /// Returns the ELF header and its only program header.
    fn head(&self, sections_at: u64, sections: u16) -> Vec<u8> {
        let mut head = b"\x7fELF\x02\x01\x01".to_vec();
        head.resize(16, 0);
        head.extend([3, self.machine].map(u16::to_le_bytes).concat());
        head.extend(1_u32.to_le_bytes());
        head.extend([0, 64, sections_at].map(u64::to_le_bytes).concat());
        head.extend(0_u32.to_le_bytes());
        head.extend([64, 56, 1, 64, sections, sections - 1].map(u16::to_le_bytes).concat());
        head.extend([1_u32, 5].map(u32::to_le_bytes).concat());
        let len = self.end - TEXT;
        head.extend([TEXT, TEXT, TEXT, len, len, 0x1000].map(u64::to_le_bytes).concat());
        head
    }
}

#[derive(Debug, Default)]
struct Section {
    name: &'static str,
    name_at: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    len: u64,
    link: u32,
    info: u32,
    entry: u64,
}

impl Section {
    fn new(name: &'static str, kind: u32, flags: u64) -> Self {
        Self { name, kind, flags, ..Self::default() }
    }

    /// Appends the section's bytes to the file.
    fn append(mut self, file: &mut Vec<u8>, bytes: &[u8]) -> Self {
        file.resize(file.len().next_multiple_of(8), 0);
        (self.offset, self.len) = (file.len() as u64, bytes.len() as u64);
        file.extend(bytes);
        self
    }

    fn write(&self, file: &mut Vec<u8>) {
        file.extend([self.name_at, self.kind].map(u32::to_le_bytes).concat());
        file.extend([self.flags, self.address, self.offset, self.len].map(u64::to_le_bytes).concat());
        file.extend([self.link, self.info].map(u32::to_le_bytes).concat());
        file.extend([1, self.entry].map(u64::to_le_bytes).concat());
    }
}
