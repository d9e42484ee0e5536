//! Files of an image at the addresses for which they were linked, and the code in them: what could run, not what
//! did.

use std::ops::Range;

use object::elf;
use tracewright_core::{Isa, MemorySpace};

use crate::block_map::{self, BlockMapError, MappedFunction};
use crate::builder::Builder;
use crate::elf::{Elf, Place, Section, Symbol};
use crate::file::File;
use crate::image::Image;
use crate::lines::Lines;

/// Executable segment of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeSegment {
    /// Linked address.
    pub address: u64,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Number of its bytes in the file.
    pub len: u64,
}

impl CodeSegment {
    /// Returns the offset in the file of the byte linked for `address`, if the segment contains it.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let further = address.checked_sub(self.address).filter(|&further| further < self.len)?;
        self.offset.checked_add(further)
    }
}

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

/// File of an image.
#[derive(Clone, Copy, Debug)]
pub struct FileRef<'a> {
    pub(crate) file: &'a File,
}

impl<'a> FileRef<'a> {
    /// Returns the name that was given, usually a path.
    pub fn name(&self) -> &'a str {
        &self.file.name
    }

    /// Returns the path where the file ran, if known, else its name.
    pub fn path(&self) -> &'a str {
        self.file.ran_as.as_deref().unwrap_or(&self.file.name)
    }

    /// Returns the build ID, if this is an ELF file that has one.
    pub fn build_id(&self) -> Option<&'a [u8]> {
        self.file.build_id()
    }

    /// Returns the executable segments in header order. A relocatable file (a kernel module) has none.
    pub fn code_segments(&self) -> impl Iterator<Item = CodeSegment> + 'a {
        let linked = self.file.elf.as_ref().filter(|elf| !elf.relocatable);
        let segments = linked.into_iter().flat_map(|elf| &elf.segments).filter(|segment| segment.executable);
        segments.map(|segment| CodeSegment {
            address: segment.address,
            offset: segment.offset,
            len: segment.len,
        })
    }

    /// Returns the linked address where execution of an ELF file begins, if it has one.
    pub fn entry(&self) -> Option<u64> {
        self.file.elf.as_ref().map(|elf| elf.entry).filter(|&entry| entry != 0)
    }

    /// Returns whether this is an ELF file. The addresses of other files are those in memory.
    pub fn is_elf(&self) -> bool {
        self.file.elf.is_some()
    }

    /// Returns whether the file, or its debug file, has source lines.
    pub fn has_lines(&self) -> bool {
        self.file.with_lines().elf.as_ref().is_some_and(Lines::has_any)
    }

    /// Returns all functions that the symbols give, in address order; no two overlap. Stubs that lead to a
    /// function of another file are included: `printf@plt`.
    pub fn functions(&self) -> Vec<Function<'a>> {
        let Some(elf) = &self.file.elf else { return Vec::new() };
        let is_code = |start| elf.section_at(start).is_some_and(Section::executable);
        let all = self.file.symbols().functions(self.file.bytes.as_slice());
        let functions = all.filter(|(_, _, range)| is_code(range.start));
        functions.map(|(name, start, range)| Function { name, start, range }).collect()
    }

    /// Returns the basic blocks of the compiler, by function, from this file or its debug file; none if it was
    /// compiled without a map of them.
    ///
    /// # Errors
    /// Fails if the map cannot be read.
    pub fn block_map(&self) -> Result<Vec<MappedFunction>, BlockMapError> {
        for file in std::iter::once(self.file).chain(self.file.debug.as_deref()) {
            if let Some(elf) = &file.elf {
                let functions = block_map::read(elf, file.bytes.as_slice())?;
                if !functions.is_empty() {
                    return Ok(functions);
                }
            }
        }
        Ok(Vec::new())
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

impl Image {
    /// Returns all files in the order of their numbers.
    pub fn files(&self) -> impl Iterator<Item = FileRef<'_>> {
        self.files.iter().map(|file| FileRef { file })
    }

    /// Returns the number of the file that has the code at `address`, and the linked address. Outside ELF
    /// files the address stays the same.
    pub fn place(&self, address: u64, space: MemorySpace) -> Option<(u32, u64)> {
        if let Some(program) = self.program(address, space)
            && let Some(bias) = program.bias
        {
            return Some((program.file, address.wrapping_sub(bias)));
        }
        let region = self.owner(address, space)?;
        self.files[region.file as usize].absent.is_none().then_some((region.file, address))
    }

    /// Returns the memory space that a file has in [`as_linked`](Self::as_linked).
    pub const fn space_of(file: u32) -> MemorySpace {
        MemorySpace::ANY.of_process(file + 1)
    }

    /// Returns an image with the same files, each in its own memory space ([`space_of`](Self::space_of)) at
    /// its linked addresses, as [`place`](Self::place) gives them.
    pub fn as_linked(&self) -> Self {
        let mut builder = Builder::default();
        for (number, file) in (0..).zip(&self.files) {
            builder.number(0);
            let space = Self::space_of(number);
            // The file was parsed before, so it parses again.
            let original = file.original.as_ref().unwrap_or(&file.bytes);
            let is_there = file.elf.is_some()
                && builder.elf(&file.name, original.clone(), Place::AsLinked, space).is_ok();
            if is_there {
                file.ran_as.iter().for_each(|path| builder.ran_as(path));
                file.debug.iter().for_each(|debug| builder.debug(debug.bytes.clone()));
                continue;
            }
            // A memory dump that looks like an ELF file has no symbols where it ran either.
            let id = match &file.elf {
                Some(_) => builder.file(&file.name, original.clone()),
                None => builder.memory(&file.name, file.bytes.clone()),
            };
            builder.mapped_like(file);
            for region in self.regions.iter().filter(|region| region.file == number) {
                builder.map(id, region.range.clone(), region.offset as u64, space);
            }
        }
        builder.build()
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
