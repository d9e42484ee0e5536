//! Symbols and source lines by address, and addresses by name.

mod name;
mod objects;
mod plt;
mod select;
mod table;

use std::fmt;
use std::ops::Range;

use tracewright_core::MemorySpace;

use crate::file::File;
use crate::image::Image;
pub(crate) use name::demangle;
pub(crate) use table::Table;

/// Symbols and source lines of an image.
///
/// The tables of a file are read on the first query about it; after that a query is a binary search.
#[derive(Clone, Copy, Debug)]
pub struct Symbols<'a> {
    image: &'a Image,
}

/// Function, or label in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Demangled, printable name; see [`tracewright_core::text`].
    pub name: &'a str,
    /// Address of the first instruction.
    pub start: u64,
    /// Size in bytes. Without a size in the file, the symbol extends to the next one or to the end of its
    /// section.
    pub size: u64,
}

/// Linker's view of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linkage<'a> {
    /// Mangled name.
    pub name: &'a [u8],
    /// Whether this is the stub through which a function of this name in another file is called.
    pub plt: bool,
    /// Whether the symbol is visible to other files.
    pub global: bool,
    /// Address of the first instruction.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Number of local symbols of the same name before this one.
    pub before: usize,
}

/// Line of source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine<'a> {
    /// Path of the file, as the compiler saw it.
    pub file: &'a str,
    /// Line, from 1; 0 if an instruction belongs to no line.
    pub line: u32,
}

/// Function at an address: the innermost inlined one, or one that it is inlined into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Demangled, printable name of the function, if known.
    pub function: Option<&'a str>,
    /// Linkage name, if known.
    pub linkage: Option<&'a str>,
    /// Line in the function: for the innermost one the line of the address, for the others the line of the
    /// inlined call.
    pub line: Option<SourceLine<'a>>,
    /// Discriminator within that line, as compilers number them; 0 for the first.
    pub discriminator: u32,
    /// Line of its declaration; 0 if unknown.
    pub declared: u32,
    /// Number of this inlined copy, unique within the file.
    pub copy: Option<usize>,
}

impl Frame<'_> {
    /// Returns whether both are copies of the same function. Compilers inline functions into themselves, and
    /// split off parts of functions and inline them again.
    #[must_use]
    pub fn is_same(&self, other: &Frame<'_>) -> bool {
        self.linkage.is_some() && self.linkage == other.linkage && self.declared == other.declared
    }

    /// Returns whether the function has this name, mangled or not. The name of a C++ function may lack its
    /// parameters.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        let is_shown =
            |shown: &str| shown == name || shown.strip_prefix(name).is_some_and(|rest| rest.starts_with('('));
        let is_mangled = |linkage: &str| {
            let raw = linkage.as_bytes();
            linkage == name
                || name::is_mangled(raw) && name::demangle_without_parameters(raw).as_deref() == Some(name)
        };
        self.function.is_some_and(is_shown) || self.linkage.is_some_and(is_mangled)
    }
}

impl<'a> Symbols<'a> {
    pub(crate) fn new(image: &'a Image) -> Self {
        Self { image }
    }

    /// Returns the symbol that contains `address`.
    pub fn symbol(self, address: u64, space: MemorySpace) -> Option<Symbol<'a>> {
        let (file, linked, bias) = self.program(address, space)?;
        let (name, range) = file.symbols().find(file.bytes.as_slice(), linked)?;
        Some(Symbol { name, start: range.start.wrapping_add(bias), size: range.end - range.start })
    }

    /// Returns the linkage name of the symbol that contains `address`.
    pub fn linkage(self, address: u64, space: MemorySpace) -> Option<Linkage<'a>> {
        let (file, linked, bias) = self.program(address, space)?;
        let mut found = file.symbols().linkage(file.bytes.as_slice(), linked)?;
        found.start = found.start.wrapping_add(bias);
        Some(found)
    }

    /// Returns the source line of `address`.
    pub fn source(self, address: u64, space: MemorySpace) -> Option<SourceLine<'a>> {
        let (file, linked, _) = self.program(address, space)?;
        let file = file.with_lines();
        file.lines().find(file, linked)
    }

    /// Returns the functions at `address`: the innermost inlined one first, the one that contains all others
    /// last. Without debug information, returns just the symbol.
    pub fn frames(self, address: u64, space: MemorySpace) -> Vec<Frame<'a>> {
        let Some((file, linked, _)) = self.program(address, space) else { return Vec::new() };
        let file = file.with_lines();
        let mut frames = file.lines().frames(file, linked);
        if let (true, Some(symbol)) = (frames.is_empty(), self.symbol(address, space)) {
            let (function, line) = (Some(symbol.name), self.source(address, space));
            frames.push(Frame { function, line, ..Frame::default() });
        }
        frames
    }

    /// Returns the end of the addresses from `address` on at which [`frames`](Self::frames) returns the same
    /// functions.
    pub fn frames_end(self, address: u64, space: MemorySpace) -> u64 {
        let Some((file, linked, _)) = self.program(address, space) else {
            return self.image.region(address, space).map_or(address, |region| region.range().end);
        };
        let file = file.with_lines();
        address.saturating_add(file.lines().extent(file, linked).end - linked)
    }

    /// Returns the addresses of the symbol called `name`, mangled or not, in the first file that has it. A
    /// C++ function may be named without its parameters.
    pub fn resolve(self, name: &str) -> Option<Range<u64>> {
        (0..self.image.files.len() as u32).find_map(|file| self.resolve_in(file, name))
    }

    /// Returns the addresses of the symbol called `name` in the file with this number.
    pub fn resolve_in(self, file: u32, name: &str) -> Option<Range<u64>> {
        let file = self.image.files.get(file as usize)?;
        let bias = file.bias.filter(|_| file.elf.is_some())?;
        let range = file.symbols().resolve(file.bytes.as_slice(), name)?;
        let start = range.start.wrapping_add(bias);
        Some(start..start.saturating_add(range.end - range.start))
    }

    /// Returns the demangled names of all symbols, in no order; a name may occur more than once.
    pub fn names(self) -> impl Iterator<Item = &'a str> {
        let files = self.image.files.iter().filter(|file| file.elf.is_some());
        files.flat_map(|file| file.symbols().names(file.bytes.as_slice()))
    }

    /// Returns the ELF file at `address`, the linked address, and the offset between the two.
    fn program(self, address: u64, space: MemorySpace) -> Option<(&'a File, u64, u64)> {
        let region = self.image.program(address, space)?;
        let file = &self.image.files[region.file as usize];
        let bias = region.bias.filter(|_| file.elf.is_some())?;
        Some((file, address.wrapping_sub(bias), bias))
    }
}

impl<'a> Symbol<'a> {
    /// Returns name and offset of `address` within the symbol as text: `main`, `main+0x10`.
    pub fn offset(&self, address: u64) -> impl fmt::Display + use<'a> {
        SymbolOffset { name: self.name, offset: address.wrapping_sub(self.start) }
    }
}

struct SymbolOffset<'a> {
    name: &'a str,
    offset: u64,
}

impl fmt::Display for SymbolOffset<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            0 => f.write_str(self.name),
            offset => write!(f, "{}+{offset:#x}", self.name),
        }
    }
}

/// Writes `main.c:12`.
impl fmt::Display for SourceLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
