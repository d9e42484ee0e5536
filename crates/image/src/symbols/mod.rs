//! Symbols and source lines by address, and addresses by name.

mod mini;
mod name;
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

/// The symbols and source lines of an image, to ask about.
///
/// A file's tables are read when something in it is first asked about; from then on an answer is a binary search.
#[derive(Clone, Copy, Debug)]
pub struct Symbols<'a> {
    image: &'a Image,
}

/// A function, or a label in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name, demangled, and printable: see [`tracewright_core::text`].
    pub name: &'a str,
    /// The address of its first instruction.
    pub start: u64,
    /// How many bytes it has. What the file does not say goes on to the next symbol, or to the end of its section.
    pub size: u64,
}

/// What linkers call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linkage<'a> {
    /// Its name, with all that linkers add to it.
    pub name: &'a [u8],
    /// Whether it is the stub through which a function of this name in another file is called.
    pub plt: bool,
    /// Whether other files see it.
    pub global: bool,
    /// The address of its first instruction.
    pub start: u64,
    /// How many bytes it has.
    pub size: u64,
    /// How many symbols of this name that other files do not see are before it.
    pub before: usize,
}

/// A line of source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine<'a> {
    /// The path of the file, as the compiler saw it.
    pub file: &'a str,
    /// The line, from 1; 0 if an instruction belongs to no line.
    pub line: u32,
}

/// A function at an address: the innermost inlined one, or one it is inlined into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The name of the function, demangled and printable, if known.
    pub function: Option<&'a str>,
    /// Its name for linkers, if known.
    pub linkage: Option<&'a str>,
    /// Where in it: of the innermost the line of the address, of the others that of the call inlined.
    pub line: Option<SourceLine<'a>>,
    /// Which part of that line, as compilers number them; 0 for the first.
    pub discriminator: u32,
    /// The line where it is declared; 0 if that is not known.
    pub declared: u32,
    /// The number of this copy of it, if it is inlined: each copy in a file has another.
    pub copy: Option<usize>,
}

impl Frame<'_> {
    /// Whether the function has this name, mangled or not. The name of a C++ function may be without its parameters.
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

    /// The symbol `address` is in.
    pub fn symbol(self, address: u64, space: MemorySpace) -> Option<Symbol<'a>> {
        let (file, linked, bias) = self.program(address, space)?;
        let (name, range) = file.symbols().find(file.bytes.as_slice(), linked)?;
        Some(Symbol { name, start: range.start.wrapping_add(bias), size: range.end - range.start })
    }

    /// What linkers call the symbol `address` is in.
    pub fn linkage(self, address: u64, space: MemorySpace) -> Option<Linkage<'a>> {
        let (file, linked, bias) = self.program(address, space)?;
        let mut found = file.symbols().linkage(file.bytes.as_slice(), linked)?;
        found.start = found.start.wrapping_add(bias);
        Some(found)
    }

    /// The source line `address` belongs to.
    pub fn source(self, address: u64, space: MemorySpace) -> Option<SourceLine<'a>> {
        let (file, linked, _) = self.program(address, space)?;
        let file = file.with_lines();
        file.lines().find(file, linked)
    }

    /// The functions at `address`, the innermost inlined one first, the one they are all inlined into last. Without
    /// debug information it is just the symbol.
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

    /// The addresses of the symbol called `name`, mangled or not, in the first file that has it. A C++ function may be
    /// named without its parameters.
    pub fn resolve(self, name: &str) -> Option<Range<u64>> {
        (0..self.image.files.len() as u32).find_map(|file| self.resolve_in(file, name))
    }

    /// The same in the file with this number.
    pub fn resolve_in(self, file: u32, name: &str) -> Option<Range<u64>> {
        let file = self.image.files.get(file as usize)?;
        let bias = file.bias.filter(|_| file.elf.is_some())?;
        let range = file.symbols().resolve(file.bytes.as_slice(), name)?;
        let start = range.start.wrapping_add(bias);
        Some(start..start.saturating_add(range.end - range.start))
    }

    /// The names of all symbols, demangled, in no order; a name may come more than once.
    pub fn names(self) -> impl Iterator<Item = &'a str> {
        let files = self.image.files.iter().filter(|file| file.elf.is_some());
        files.flat_map(|file| file.symbols().names(file.bytes.as_slice()))
    }

    /// The ELF file at `address`, the address it was linked for, and what lies between.
    fn program(self, address: u64, space: MemorySpace) -> Option<(&'a File, u64, u64)> {
        let region = self.image.program(address, space)?;
        let file = &self.image.files[region.file as usize];
        let bias = region.bias.filter(|_| file.elf.is_some())?;
        Some((file, address.wrapping_sub(bias), bias))
    }
}

impl<'a> Symbol<'a> {
    /// The name and how far into the symbol `address` is, to print: `main`, `main+0x10`.
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

/// `main.c:12`
impl fmt::Display for SourceLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
