//! Numbering of functions.

use std::collections::HashMap;

use tracewright_core::MemorySpace;
use tracewright_core::text::Printable;
use tracewright_image::Image;

use crate::by_address::ByAddress;
use crate::counts::{Place, Profile};
use crate::program::Program;

/// A function of one binary, wherever the binary was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// File number in the image; of several identical files, the first. `None` if the code belongs to no known file.
    pub file: Option<u32>,
    /// Link-time start address. `None` if there is no symbol; the function then stands for all such code of the file.
    pub start: Option<u64>,
    /// Printable name. Without a symbol it is that of the file, as in `[libc.so]`.
    pub name: String,
}

/// Position of an instruction among the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    /// Number of the function.
    pub function: u32,
    /// Set if the function begins here.
    pub is_start: bool,
    /// Set if a symbol names the function. Otherwise it stands for all code of its file without symbols.
    pub is_named: bool,
}

/// Numbers functions. The image is asked once for each address.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    list: Vec<Function>,
    /// Numbers by file and start.
    numbers: HashMap<(Option<u32>, Option<u64>), u32>,
    /// For each file of the image: the first identical file.
    same: Vec<u32>,
    /// Functions by address; as many entries as the program has blocks.
    known: ByAddress<Within>,
}

impl Functions {
    /// Finds the function at an address.
    #[inline]
    pub fn find(&mut self, image: &Image, address: u64, space: MemorySpace) -> Within {
        match self.known.get(address, space) {
            Some(known) => known,
            None => self.find_new(image, address, space),
        }
    }

    #[cold]
    fn find_new(&mut self, image: &Image, address: u64, space: MemorySpace) -> Within {
        let place = image.place(address, space);
        let file = place.map(|(file, _)| self.first(image, file));
        let linked = place.map_or(address, |(_, linked)| linked);
        let (start, name) = match image.symbols().symbol(address, space) {
            Some(symbol) => {
                let offset = address.wrapping_sub(symbol.start);
                (Some(linked.wrapping_sub(offset)), symbol.name.to_owned())
            }
            None => (None, unnamed(image, address, space)),
        };
        let is_start = start == Some(linked);
        let is_named = start.is_some();
        let within = Within { function: self.number(Function { file, start, name }), is_start, is_named };
        self.known.insert(address, space, within);
        within
    }

    /// Returns the function at an address that [`find`](Self::find) has seen, or else an unknown one without a name.
    pub fn known(&self, address: u64, space: MemorySpace) -> Within {
        self.known.peek(address, space).unwrap_or(Within {
            function: u32::MAX,
            is_start: false,
            is_named: false,
        })
    }

    /// Returns the number of a function, which is added if it is new.
    pub fn number(&mut self, function: Function) -> u32 {
        *self.numbers.entry((function.file, function.start)).or_insert_with(|| {
            self.list.push(function);
            self.list.len() as u32 - 1
        })
    }

    /// Finds the function at a place of a binary.
    pub fn at(&mut self, program: &Program, place: Place) -> u32 {
        let file = program.file_number(place.binary);
        let symbol = program.symbol(place);
        let start = symbol.map(|symbol| symbol.start);
        if let Some(&known) = self.numbers.get(&(file, start)) {
            return known;
        }
        let name = match symbol {
            Some(symbol) => symbol.name.to_owned(),
            None => unnamed(program.image(), place.address, program.space(place.binary)),
        };
        self.number(Function { file, start, name })
    }

    /// Finds the function at a place, even if its binary is not available. All code of such a binary is one function
    /// with the binary's name.
    pub fn of(&mut self, profile: &Profile, program: &Program, place: Place) -> u32 {
        let absent = profile.binaries.get(place.binary as usize).filter(|_| !program.has(place.binary));
        let Some(binary) = absent else { return self.at(program, place) };
        // No image has so many files.
        let file = Some(u32::MAX - place.binary);
        self.number(Function { file, start: None, name: format!("[{}]", Printable(binary.file_name())) })
    }

    /// Returns the first file that is identical to a file of the image.
    fn first(&mut self, image: &Image, file: u32) -> u32 {
        if self.same.is_empty() {
            let mut firsts: HashMap<(&[u8], &str), u32> = HashMap::new();
            let files: Vec<_> = image.files().collect();
            self.same = (0..)
                .zip(&files)
                .map(|(number, file)| {
                    let build_id = file.build_id().unwrap_or_default();
                    let name = if build_id.is_empty() { file.name() } else { "" };
                    *firsts.entry((build_id, name)).or_insert(number)
                })
                .collect();
        }
        self.same.get(file as usize).copied().unwrap_or(file)
    }

    /// Returns all functions in order of their numbers.
    pub fn list(&self) -> &[Function] {
        &self.list
    }

    /// Returns the name of a function.
    pub fn name(&self, function: u32) -> &str {
        self.list.get(function as usize).map_or("?", |function| &function.name)
    }

    /// Adds the functions of `others`. Returns their numbers here, by number there.
    pub fn merge(&mut self, others: &Self) -> Vec<u32> {
        others.list.iter().map(|function| self.number(function.clone())).collect()
    }
}

fn unnamed(image: &Image, address: u64, space: MemorySpace) -> String {
    let Some(region) = image.region(address, space) else { return "?".into() };
    let path = region.mapped().map_or(region.name(), |(name, _)| name);
    format!("[{}]", Printable(path.rsplit('/').next().unwrap_or(path)))
}
