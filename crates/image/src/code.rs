//! Code and functions of a file: what could run, not what did.

use std::ops::Range;

use object::elf;
use tracewright_core::Isa;

use crate::elf::{Elf, Section, Symbol};
use crate::linked::FileRef;

/// Function of a file, or a part of one that contains others. Addresses are as linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Demangled name.
    pub name: &'a str,
    /// Address of its first instruction, which may lie in another part.
    pub start: u64,
    /// Addresses of this part.
    pub range: Range<u64>,
}

/// Instructions of one instruction set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// Addresses of the instructions.
    pub range: Range<u64>,
    /// Instruction set.
    pub isa: Isa,
}

impl<'a> FileRef<'a> {
    /// Returns all functions that the symbols give, in address order; no two overlap. Stubs that lead to a
    /// function of another file are included: `printf@plt`.
    pub fn functions(&self) -> Vec<Function<'a>> {
        let Some(elf) = &self.file.elf else { return Vec::new() };
        let is_code = |start| elf.section_at(start).is_some_and(Section::executable);
        let all = self.file.symbols().functions(self.file.bytes.as_slice());
        let functions = all.filter(|(_, _, range)| is_code(range.start));
        functions.map(|(name, start, range)| Function { name, start, range }).collect()
    }

    /// Returns the ranges of instructions with their instruction set, in address order: executable sections
    /// without the data that mapping symbols mark.
    pub fn code(&self) -> Vec<CodeRange> {
        let Some(elf) = &self.file.elf else { return Vec::new() };
        let Some(usual) = usual(elf) else { return Vec::new() };
        let marks = marks(elf, self.file.bytes.as_slice());
        let mut code: Vec<CodeRange> = Vec::new();
        let mut add = |range: Range<u64>, isa| match isa {
            Some(isa) if !range.is_empty() => code.push(CodeRange { range, isa }),
            _ => {}
        };
        let mut end = 0;
        // In address order, so that overlapping sections are read once.
        for (range, section) in elf.sections_at.iter() {
            let section = &elf.sections[section as usize];
            if !section.executable() || !section.is_in_file() {
                continue;
            }
            let mut at = range.start.max(end);
            let mut isa = Some(usual);
            let first = marks.partition_point(|&(address, _)| address < range.start);
            for &(address, marked) in marks[first..].iter().take_while(|(address, _)| *address < range.end) {
                add(at..address.max(at), isa);
                (at, isa) = (address.max(at), marked);
            }
            add(at..range.end, isa);
            end = range.end;
        }
        code
    }
}

/// Returns the instruction set of code without mapping symbols.
fn usual(elf: &Elf) -> Option<Isa> {
    Some(match elf.machine {
        elf::EM_AARCH64 => Isa::A64,
        elf::EM_ARM => Isa::A32,
        elf::EM_RISCV if elf.wide => Isa::Rv64,
        elf::EM_RISCV => Isa::Rv32,
        _ => return None,
    })
}

/// Returns, in order, the addresses at which code of a set, or data, begins.
fn marks(elf: &Elf, file: &[u8]) -> Vec<(u64, Option<Isa>)> {
    let Some(table) = elf.sections.iter().find(|section| section.kind == elf::SHT_SYMTAB) else {
        return Vec::new();
    };
    let mut marks: Vec<_> = elf.symbols(table, file).filter_map(|symbol| mark(elf, &symbol)).collect();
    if marks.is_empty() && elf.machine == elf::EM_ARM {
        // The lowest bit of a function's address marks Thumb code.
        let functions = elf.symbols(table, file).filter(|symbol| symbol.kind == elf::STT_FUNC);
        let isa = |value: u64| if value & 1 == 1 { Isa::T32 } else { Isa::A32 };
        marks.extend(
            functions.filter_map(|symbol| Some((address(elf, &symbol)? & !1, Some(isa(symbol.value))))),
        );
    }
    // Of several marks at one address the last counts.
    marks.sort_by_key(|(address, _)| *address);
    marks
}

fn mark(elf: &Elf, symbol: &Symbol<'_>) -> Option<(u64, Option<Isa>)> {
    let [b'$', kind, rest @ ..] = symbol.name else { return None };
    if !(rest.is_empty() || rest.starts_with(b".") || rest.starts_with(b"rv")) {
        return None;
    }
    let isa = match (kind, elf.machine) {
        (b'd', _) => None,
        (b'x', elf::EM_AARCH64 | elf::EM_RISCV) => Some(usual(elf)?),
        (b'a', elf::EM_ARM) => Some(Isa::A32),
        (b't', elf::EM_ARM) => Some(Isa::T32),
        _ => return None,
    };
    Some((address(elf, symbol)?, isa))
}

/// Returns the address of a symbol, as linked.
fn address(elf: &Elf, symbol: &Symbol<'_>) -> Option<u64> {
    if !elf.relocatable {
        return (symbol.section != elf::SHN_UNDEF).then_some(symbol.value);
    }
    let section = elf.sections.get(usize::from(symbol.section.index()?)).filter(|section| section.loaded)?;
    Some(section.address.wrapping_add(symbol.value))
}
