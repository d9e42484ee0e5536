//! Binaries of a profile at their link-time addresses.

use std::collections::HashMap;
use std::ops::Range;

use tracewright_core::{Ended, MemorySpace};
use tracewright_flow::Instructions;
use tracewright_image::{FileRef, Frame, Image, Linkage, SourceLine, Symbol};

use crate::counts::{Binary, Code, Place, Profile};
use crate::functions::Function;

/// Code, symbols and source lines of a profile's binaries.
#[derive(Debug)]
pub struct Program {
    image: Image,
    /// File number in the image by binary.
    files: HashMap<u32, u32>,
    /// Binary by file number in the image.
    binaries: HashMap<u32, u32>,
}

impl Program {
    /// Finds the binaries of a profile in the image that it was made with.
    pub fn new(profile: &Profile, image: &Image) -> Self {
        let (mut files, mut binaries) = (HashMap::new(), HashMap::new());
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
        Self { image: image.as_linked(), files, binaries }
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

    /// Returns the linkage name of the function at a place.
    pub fn linkage(&self, place: Place) -> Option<Linkage<'_>> {
        self.image.symbols().linkage(place.address, self.space(place.binary))
    }

    /// Returns the symbol at a place.
    pub fn symbol(&self, place: Place) -> Option<Symbol<'_>> {
        self.image.symbols().symbol(place.address, self.space(place.binary))
    }

    /// Returns the source line of a function's start.
    pub fn source_of(&self, function: &Function) -> Option<SourceLine<'_>> {
        self.image.symbols().source(function.start?, Image::space_of(function.file?))
    }

    /// Returns the source line at a place.
    pub fn source(&self, place: Place) -> Option<SourceLine<'_>> {
        self.image.symbols().source(place.address, self.space(place.binary))
    }
}
