//! Coverage of binaries: instructions, branch outcomes, source lines and functions.
//!
//! The total is all code of the functions in a binary's symbol table, whether it ran or not; without symbols, all code of the
//! binary. A line's count is that of its most frequent instruction. Copies of a line that are inlined in several places add up.
//!
//! Each instruction counts once, for the file of its source line and for the source function there, as in gcov and
//! llvm-cov. Inlined code counts for the function it comes from. Code without a source line counts for its symbol.

mod build;
mod calls;
mod ran;
mod totals;

use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};

use tracewright_image::Frame;

pub use self::totals::Totals;
use crate::counts::{Place, Profile};
use crate::places::PlaceFilter;
use crate::program::{Named, Program};
pub(crate) use calls::{Calls as InlinedCalls, Loops};
pub use ran::Ran;

/// A number of covered items out of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Items that ran.
    pub hit: u64,
    /// All items.
    pub all: u64,
}

/// Coverage of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Source files sorted by name, then the binaries, for functions whose source is not known.
    pub files: Vec<File>,
    /// Functions sorted by file, line and address.
    pub functions: Vec<Function>,
    /// Number of instructions executed in these functions.
    pub executed: u64,
    /// Number of instructions executed in no known or wanted function.
    pub outside: u64,
    /// Binaries of which code ran but whose functions are not known. All known code of such a binary counts as one function.
    pub without_functions: Vec<String>,
}

/// A source file, or a binary for code without a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Path, as the compiler saw it.
    pub name: String,
    /// Set for a source file.
    pub is_source: bool,
    /// Number of runs of each line that has code.
    pub lines: BTreeMap<u32, u64>,
    /// Conditional branches, sorted by line and place.
    pub branches: Vec<Branch>,
    /// Covered instructions.
    pub instructions: Part,
}

/// A conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch {
    /// Source line; 0 if unknown.
    pub line: u32,
    /// Address of the branch.
    pub place: Place,
    /// Number of times the branch was taken.
    pub taken: u64,
    /// Number of times the branch was not taken.
    pub not_taken: u64,
    /// Number of its function.
    pub function: u32,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Demangled name.
    pub name: String,
    /// Number of its file.
    pub file: u32,
    /// Line of its start; 0 if unknown.
    pub line: u32,
    /// Address of its start.
    pub start: Option<Place>,
    /// Number of entries at its start, without loops to there. Each inlined copy adds the number of runs of its most
    /// frequent instruction; a loop of the copy counts as often as it was entered.
    pub calls: u64,
    /// Set if it is inlined somewhere. The number of calls is an estimate then.
    pub is_inlined: bool,
    /// Covered instructions.
    pub instructions: Part,
    /// Covered outcomes of conditional branches.
    pub branches: Part,
    /// Covered lines.
    pub lines: Part,
}

/// Filter of what is counted. An empty filter accepts everything.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Accepts files whose path contains one of these.
    pub files: Vec<String>,
    /// Accepts code at these places.
    pub places: Option<PlaceFilter>,
    /// Accepts source functions with one of these names, mangled or not, also where they are inlined. The name of a C++
    /// function may omit its parameters.
    pub functions: Vec<String>,
}

impl Part {
    /// Returns the percentage covered, or `None` if there are no items.
    pub fn percent(&self) -> Option<f64> {
        (self.all > 0).then(|| 100.0 * self.hit as f64 / self.all as f64)
    }

    fn count(&mut self, hit: bool) {
        self.all += 1;
        self.hit += u64::from(hit);
    }
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.hit += other.hit;
        self.all += other.all;
    }
}

impl Branch {
    /// Returns how many of the two outcomes occurred.
    pub fn outcomes(&self) -> Part {
        Part { hit: u64::from(self.taken > 0) + u64::from(self.not_taken > 0), all: 2 }
    }

    /// Returns whether the branch ran.
    pub fn ran(&self) -> bool {
        self.taken > 0 || self.not_taken > 0
    }
}

impl File {
    /// Returns whether any code of the file is wanted.
    fn has_code(&self) -> bool {
        self.instructions.all > 0 || !self.branches.is_empty()
    }

    /// Returns the covered lines.
    pub fn lines(&self) -> Part {
        let mut part = Part::default();
        self.lines.values().for_each(|&count| part.count(count > 0));
        part
    }

    /// Returns the covered branch outcomes.
    pub fn branches(&self) -> Part {
        let mut part = Part::default();
        self.branches.iter().for_each(|branch| part += branch.outcomes());
        part
    }
}

impl Function {
    /// Returns whether any of the function ran.
    pub fn ran(&self) -> bool {
        self.instructions.hit > 0
    }
}

impl Wanted {
    fn file(&self, name: &str) -> bool {
        self.files.is_empty() || self.files.iter().any(|part| name.contains(part.as_str()))
    }

    /// Counts the instructions of a profile that are in wanted files and in `places`, and those of functions with symbols.
    pub fn named(&self, profile: &Profile, programs: &[&Program], places: Option<&PlaceFilter>) -> Named {
        if self.files.is_empty() {
            return Named::of(profile, programs, places);
        }
        let mut wanted = profile.clone();
        wanted.retain(|place| {
            let source = programs.iter().find_map(|program| program.source(place));
            let binary = || profile.binaries.get(place.binary as usize).map(|binary| binary.name.as_str());
            source.map(|source| source.file).or_else(binary).is_some_and(|file| self.file(file))
        });
        Named::of(&wanted, programs, places)
    }

    /// Returns whether a source function is wanted by name.
    fn function(&self, function: &Frame<'_>) -> bool {
        self.functions.is_empty() || self.functions.iter().any(|name| function.is_called(name))
    }

    /// Returns whether some of these addresses may be wanted.
    fn meets(&self, binary: u32, addresses: &Range<u64>) -> bool {
        self.places.as_ref().is_none_or(|places| places.meets(binary, addresses))
    }

    fn has(&self, place: Place) -> bool {
        self.places.as_ref().is_none_or(|places| places.has(place))
    }
}

impl Coverage {
    /// Computes the coverage of a profile. Each binary is read from the first of `programs` that has it; there is one
    /// program for each capture that the profile was made from.
    pub fn new(profile: &Profile, programs: &[Program], wanted: &Wanted) -> Self {
        build::coverage(profile, programs, wanted)
    }

    /// Returns the functions of a file.
    pub fn functions_of(&self, file: u32) -> &[Function] {
        let first = self.functions.partition_point(|function| function.file < file);
        let len = self.functions[first..].partition_point(|function| function.file == file);
        &self.functions[first..first + len]
    }

    /// Returns how many of all functions ran, with or without source lines. Code without symbols is no function.
    pub fn named_functions(&self) -> Part {
        let mut part = Part::default();
        let named = self.functions.iter().filter(|function| function.name != build::NAMELESS);
        named.for_each(|function| part.count(function.ran()));
        part
    }

    /// Returns how many of a file's functions ran.
    pub fn functions_part(&self, file: u32) -> Part {
        let mut part = Part::default();
        self.functions_of(file).iter().for_each(|function| part.count(function.ran()));
        part
    }
}
