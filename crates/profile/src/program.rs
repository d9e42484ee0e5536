//! Binaries of a profile at their link-time addresses.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use tracewright_core::text::Printable;
use tracewright_core::{Ended, MemorySpace};
use tracewright_flow::Instructions;
use tracewright_flow::hash::HashMap;
use tracewright_image::{FileRef, Frame, Image, Linkage, SourceLine, Symbol};

use crate::counts::{Binary, Code, Place, Profile};
use crate::functions::{Declaration, Function};
use crate::places::PlaceFilter;
use crate::starts::Starts;

/// Code, symbols and source lines of a profile's binaries.
#[derive(Debug)]
pub struct Program {
    image: Image,
    /// File number in the image by binary.
    files: HashMap<u32, u32>,
    /// Binary by file number in the image.
    binaries: HashMap<u32, u32>,
    /// Functions without symbols.
    starts: Starts,
    shows_inlined: bool,
    /// Whether any file tells what is inlined where.
    has_lines: bool,
}

impl Program {
    /// Finds the binaries of a profile in the image that it was made with.
    pub fn new(profile: &Profile, image: &Image) -> Self {
        let (mut files, mut binaries) = (HashMap::default(), HashMap::default());
        for (number, file) in (0..).zip(image.files()) {
            let build_id = file.build_id().unwrap_or_default();
            let is_it = |binary: &Binary| {
                binary.build_id == build_id && (!build_id.is_empty() || binary.name == file.path())
            };
            if let Some(binary) = profile.binaries.iter().position(is_it) {
                files.entry(binary as u32).or_insert(number);
                binaries.insert(number, binary as u32);
            }
        }
        let image = image.as_linked();
        let starts = Starts::new(profile, &image, &files);
        let has_lines = image.files().any(|file| file.has_lines());
        Self { image, files, binaries, starts, shows_inlined: true, has_lines }
    }

    /// Adds the functions without symbols of another program, which was made with the same image.
    #[must_use]
    pub fn with_functions_of(mut self, other: Self) -> Self {
        self.starts.merge(other.starts);
        self
    }

    /// Adds functions without symbols that begin at these addresses of the image that the program was made with, as
    /// handlers of exceptions do, which nothing calls.
    #[must_use]
    pub fn with_handlers(mut self, image: &Image, at: impl IntoIterator<Item = (u64, MemorySpace)>) -> Self {
        let mut starts: HashMap<u32, BTreeSet<u64>> = HashMap::default();
        for (address, space) in at {
            let place = self.place(image, address, space);
            if let (Some(file), None) = (self.file_number(place.binary), self.symbol(place)) {
                starts.entry(file).or_default().insert(place.address);
            }
        }
        for (file, starts) in &starts {
            self.starts.add(&self.image, *file, starts);
        }
        self
    }

    /// Takes inlined functions for parts of the functions that they are inlined into, or (initially) for functions of
    /// their own.
    #[must_use]
    pub fn show_inlined(self, shows_inlined: bool) -> Self {
        Self { shows_inlined, ..self }
    }

    /// Returns whether inlined functions are functions of their own, and any file tells of them.
    pub const fn shows_inlined(&self) -> bool {
        self.shows_inlined && self.has_lines
    }

    /// Returns the addresses and the name of the function without a symbol at an address of a file. Such functions are
    /// known by calls to them, and named after their file: `cc1+0x1a20`. Exports for compilers do not have them.
    pub fn called(&self, file: u32, address: u64) -> Option<(Range<u64>, String)> {
        let range = self.called_range(file, address)?;
        let name = self.name_of_called(file, range.start)?;
        Some((range, name))
    }

    /// Returns the addresses of the function without a symbol at an address of a file.
    pub(crate) fn called_range(&self, file: u32, address: u64) -> Option<Range<u64>> {
        self.starts.find(file, address)
    }

    /// Returns the addresses and names of all functions of a binary that have no symbols and are known by calls to them.
    pub fn all_called(&self, binary: u32) -> impl Iterator<Item = (Range<u64>, String)> {
        let file = self.file_number(binary);
        let all = file.map_or(&[][..], |file| self.starts.of_file(file)).iter();
        all.filter_map(move |range| Some((range.clone(), self.name_of_called(file?, range.start)?)))
    }

    fn name_of_called(&self, file: u32, start: u64) -> Option<String> {
        let (path, offset) = self.image.region(start, Image::space_of(file))?.offset(start);
        Some(format!("{}+{offset:#x}", Printable(path.rsplit('/').next().unwrap_or(path))))
    }

    /// Returns the link-time address at an offset of a binary, as code without symbols is named: the address itself in an ELF file,
    /// else the offset in a dump. `None` if the binary has no code there.
    pub fn address_in(&self, binary: u32, offset: u64) -> Option<u64> {
        let space = Image::space_of(self.file_number(binary)?);
        let mut regions = self.image.regions().filter(|region| region.space() == space);
        regions.find_map(|region| {
            let range = region.range();
            let address = range.start.wrapping_add(offset.wrapping_sub(region.offset(range.start).1));
            range.contains(&address).then_some(address)
        })
    }

    /// Returns the image that [`space`](Self::space) refers to.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Returns the file of a binary.
    pub fn file(&self, binary: u32) -> Option<FileRef<'_>> {
        self.image.files().nth(*self.files.get(&binary)? as usize)
    }

    /// Renumbers the binaries; `numbers` maps old numbers to new ones.
    #[must_use]
    pub fn renumbered(mut self, numbers: &[u32]) -> Self {
        let files = self.files.drain().collect::<Vec<_>>();
        let new = |binary: u32| numbers.get(binary as usize).copied();
        self.files.extend(files.into_iter().filter_map(|(binary, file)| Some((new(binary)?, file))));
        self
    }

    /// Returns the memory space in which a binary is at its link-time addresses.
    pub fn space(&self, binary: u32) -> MemorySpace {
        self.files.get(&binary).map_or(Image::space_of(u32::MAX >> 12), |&file| Image::space_of(file))
    }

    /// Returns whether a binary is available.
    pub fn has(&self, binary: u32) -> bool {
        self.files.contains_key(&binary)
    }

    /// Returns the addresses of the symbol `name`, mangled or not, in a binary.
    pub fn resolve(&self, binary: u32, name: &str) -> Option<Range<u64>> {
        self.image.symbols().resolve_in(*self.files.get(&binary)?, name)
    }

    /// Returns the file number of a binary in the image; of several identical files, the first.
    pub fn file_number(&self, binary: u32) -> Option<u32> {
        self.files.get(&binary).copied()
    }

    /// Returns the binary of a file of the image, if any of its code ran.
    pub fn binary_of(&self, file: u32) -> Option<u32> {
        self.binaries.get(&file).copied()
    }

    /// Returns the place of a memory address in the image that the program was made with.
    pub fn place(&self, image: &Image, address: u64, space: MemorySpace) -> Place {
        let found = image.place(address, space);
        let known =
            found.and_then(|(file, address)| Some(Place { binary: *self.binaries.get(&file)?, address }));
        known.unwrap_or(Place { binary: Place::NOWHERE, address })
    }

    /// Iterates over the instructions of a block.
    pub fn instructions(&self, code: &Code) -> Instructions<'_> {
        Instructions::new(&self.image, self.space(code.start.binary), &code.block(Ended::Cut))
    }

    /// Returns the target of a block's last instruction, if it is a direct branch.
    pub fn target(&self, code: &Code) -> Option<u64> {
        let len = code.last_len.into();
        let last = Code { start: code.last(), len, count: 1, ..*code };
        self.instructions(&last).next()?.target
    }

    /// Returns the functions at a place, the innermost inlined one first.
    pub fn frames(&self, place: Place) -> Vec<Frame<'_>> {
        self.image.symbols().frames(place.address, self.space(place.binary))
    }

    /// Returns the functions inlined at a place, the innermost first; none if they are not
    /// [shown](Self::show_inlined). A function that is inlined into itself is not among them.
    pub fn inlined_frames(&self, place: Place) -> Vec<Frame<'_>> {
        let frames = if self.shows_inlined { self.frames(place) } else { Vec::new() };
        inlined(&frames).map(|(frame, _)| *frame).collect()
    }

    /// Returns the linkage name of the function at a place.
    pub fn linkage(&self, place: Place) -> Option<Linkage<'_>> {
        self.image.symbols().linkage(place.address, self.space(place.binary))
    }

    /// Returns the symbol at a place.
    pub fn symbol(&self, place: Place) -> Option<Symbol<'_>> {
        self.image.symbols().symbol(place.address, self.space(place.binary))
    }

    /// Returns the name of the function at a place: of its symbol, or that of a function [known by calls](Self::called).
    pub fn function_name(&self, place: Place) -> Option<Cow<'_, str>> {
        if let Some(symbol) = self.symbol(place) {
            return Some(symbol.name.into());
        }
        let (_, name) = self.called(self.file_number(place.binary)?, place.address)?;
        Some(name.into())
    }

    /// Returns the source line of a function's start, or of the declaration of one that is only inlined.
    pub fn source_of<'a>(&'a self, function: &'a Function) -> Option<SourceLine<'a>> {
        if let Some(Declaration { file, line, .. }) = &function.declared {
            return Some(SourceLine { file: file.as_deref()?, line: *line });
        }
        self.image.symbols().source(function.start?, Image::space_of(function.file?))
    }

    /// Returns the source line at a place.
    pub fn source(&self, place: Place) -> Option<SourceLine<'_>> {
        self.image.symbols().source(place.address, self.space(place.binary))
    }
}

/// Instructions that ran, and how many of them are of functions with symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Instructions of functions with symbols.
    pub named: u64,
    /// All instructions.
    pub all: u64,
}

impl Named {
    /// Counts the instructions of a profile that are in `places`. A symbol may be in any of `programs`.
    pub fn of(profile: &Profile, programs: &[&Program], places: Option<&PlaceFilter>) -> Self {
        let mut sums = Self::default();
        for (code, runs) in &profile.blocks {
            let has_symbol = programs.iter().any(|program| program.symbol(code.start).is_some());
            let program = programs.iter().find(|program| program.has(code.start.binary)).or(programs.first());
            let count = match (places, program) {
                (Some(places), Some(program)) => {
                    places.parts_of(program, code).iter().map(|part| part.len() as u64).sum()
                }
                _ => u64::from(code.count),
            };
            sums.add(count.saturating_mul(runs.all()), has_symbol);
        }
        sums
    }

    /// Adds instructions.
    pub fn add(&mut self, instructions: u64, has_symbol: bool) {
        self.all = self.all.saturating_add(instructions);
        self.named = self.named.saturating_add(if has_symbol { instructions } else { 0 });
    }

    /// Returns whether symbols are missing: for more than half of the instructions. A few without any are in every
    /// program.
    pub const fn lacks_symbols(self) -> bool {
        self.named < self.all - self.named
    }
}

/// Binary with instructions that ran in no known function.
#[derive(Clone, Copy, Debug)]
pub struct Unnamed<'a> {
    /// The binary.
    pub binary: &'a Binary,
    /// Its instructions in no known function.
    pub instructions: u64,
    /// All its instructions.
    pub all: u64,
    /// Path of its file, if the program has it.
    pub path: Option<&'a str>,
}

impl Program {
    /// Returns the binaries with instructions in no known function, those with most of them first.
    pub fn unnamed<'a>(&'a self, profile: &'a Profile) -> Vec<Unnamed<'a>> {
        let mut sums = vec![(0, 0); profile.binaries.len()];
        for (code, runs) in &profile.blocks {
            if let Some((unknown, all)) = sums.get_mut(code.start.binary as usize) {
                let instructions = u64::from(code.count) * runs.all();
                *all += instructions;
                *unknown += if self.symbol(code.start).is_none() { instructions } else { 0 };
            }
        }
        let rows = (0..).zip(&profile.binaries).zip(sums).filter(|(_, (unknown, _))| *unknown > 0);
        let mut rows: Vec<_> = rows
            .map(|((number, binary), (instructions, all))| Unnamed {
                binary,
                instructions,
                all,
                path: self.file(number).map(|file| file.name()),
            })
            .collect();
        rows.sort_by_key(|row| Reverse(row.instructions));
        rows
    }
}

/// Returns the functions inlined at an address of an image, the outermost first. A function that is inlined into itself
/// is not among them.
pub fn inlined_at(image: &Image, address: u64, space: MemorySpace) -> Vec<&str> {
    let frames = image.symbols().frames(address, space);
    inlined(&frames).rev().filter_map(|(frame, _)| frame.function).collect()
}

/// Returns the inlined functions among the frames of an address, each with the function that it is inlined into, the
/// innermost first. A function that is inlined into itself is a part of it.
pub(crate) fn inlined<'f, 'a>(
    frames: &'f [Frame<'a>],
) -> impl DoubleEndedIterator<Item = (&'f Frame<'a>, &'f Frame<'a>)> {
    frames.iter().zip(frames.iter().skip(1)).filter(|(inner, outer)| !inner.is_same(outer))
}
