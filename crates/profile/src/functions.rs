//! Numbering of functions.

use std::borrow::Cow;

use tracewright_core::MemorySpace;
use tracewright_core::text::Printable;
use tracewright_flow::hash::HashMap;
use tracewright_image::Image;

use crate::by_address::ByAddress;
use crate::counts::{Place, Profile};
use crate::inlined::Chains;
use crate::program::Program;

/// A function of one binary, wherever the binary was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// File number in the image; of several identical files, the first. `None` if the code belongs to no known file.
    pub file: Option<u32>,
    /// Link-time start address. `None` if the function only exists inlined, or stands for all code of the file that has
    /// neither a symbol nor a call to it.
    pub start: Option<u64>,
    /// Printable name. Without a symbol it is that of the file, with the place of the function in it, as in
    /// `libc.so+0x1a20`, or without, as in `[libc.so]`.
    pub name: String,
    /// Declaration, if the function has no code of its own: it is only inlined into others.
    pub declared: Option<Declaration>,
}

/// Declaration of an inlined function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Declaration {
    /// Linkage name.
    pub linkage: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Line; 0 if unknown.
    pub line: u32,
}

/// Identity of a function: file, start, and linkage name and line of one that is only inlined.
pub type FunctionKey = (Option<u32>, Option<u64>, Option<(String, u32)>);

impl Function {
    /// Returns the identity of the function.
    pub fn key(&self) -> FunctionKey {
        let declared = self.declared.as_ref().map(|declared| (declared.linkage.clone(), declared.line));
        (self.file, self.start, declared)
    }
}

/// Position of an instruction among the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    /// Number of the function.
    pub function: u32,
    /// Set if the function begins here.
    pub is_start: bool,
    /// Set if the function is known by a symbol, or by a call to it. Otherwise it stands for all such code of its file.
    pub is_named: bool,
}

/// Numbers functions. The image is asked once for each address.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    list: Vec<Function>,
    numbers: HashMap<FunctionKey, u32>,
    /// For each file of the image: the first identical file.
    same: Vec<u32>,
    /// Functions by address; as many entries as the program has blocks.
    known: ByAddress<Within>,
    pub(crate) chains: Chains,
}

impl Functions {
    /// Finds the function at an address of the image that `program` was made with. Inlined functions belong to the function
    /// that they are inlined into.
    #[inline]
    pub fn find(&mut self, program: &Program, image: &Image, address: u64, space: MemorySpace) -> Within {
        match self.known.get(address, space) {
            Some(known) => known,
            None => self.find_new(program, image, address, space),
        }
    }

    #[cold]
    fn find_new(&mut self, program: &Program, image: &Image, address: u64, space: MemorySpace) -> Within {
        let place = image.place(address, space);
        let file = place.map(|(file, _)| self.first(image, file));
        let linked = place.map_or(address, |(_, linked)| linked);
        let (start, name) = match image.symbols().symbol(address, space) {
            Some(symbol) => {
                let offset = address.wrapping_sub(symbol.start);
                (Some(linked.wrapping_sub(offset)), symbol.name.to_owned())
            }
            None => match file.and_then(|file| program.called(file, linked)) {
                Some((range, name)) => (Some(range.start), name),
                None => (None, unnamed(image, address, space)),
            },
        };
        let is_start = start == Some(linked);
        let is_named = start.is_some();
        let function = self.number(Function { file, start, name, declared: None });
        let within = Within { function, is_start, is_named };
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
        *self.numbers.entry(function.key()).or_insert_with(|| {
            self.list.push(function);
            self.list.len() as u32 - 1
        })
    }

    /// Finds the function at a place of a binary.
    pub fn at(&mut self, program: &Program, place: Place) -> u32 {
        let file = program.file_number(place.binary);
        let symbol = program.symbol(place);
        let called = || program.called_range(file?, place.address);
        let start = symbol.map(|symbol| symbol.start).or_else(|| Some(called()?.start));
        if let Some(&known) = self.numbers.get(&(file, start, None)) {
            return known;
        }
        let name = program.function_name(place).map(Cow::into_owned);
        let name =
            name.unwrap_or_else(|| unnamed(program.image(), place.address, program.space(place.binary)));
        self.number(Function { file, start, name, declared: None })
    }

    /// Finds the function at a place, even if its binary is not available. All code of such a binary is one function
    /// with the binary's name.
    pub fn of(&mut self, profile: &Profile, program: &Program, place: Place) -> u32 {
        let absent = profile.binaries.get(place.binary as usize).filter(|_| !program.has(place.binary));
        let Some(binary) = absent else { return self.at(program, place) };
        // No image has so many files.
        let file = Some(u32::MAX - place.binary);
        let name = format!("[{}]", Printable(binary.file_name()));
        self.number(Function { file, start: None, name, declared: None })
    }

    /// Returns the first file that is identical to a file of the image.
    pub(crate) fn first(&mut self, image: &Image, file: u32) -> u32 {
        if self.same.is_empty() {
            let mut firsts: HashMap<(&[u8], &str), u32> = HashMap::default();
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
