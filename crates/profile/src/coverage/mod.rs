//! How much of the binaries ran: instructions, branches both ways, source lines, functions.
//!
//! What could have run is all code of the functions that a binary's symbols tell, whether any of it ran or not; without symbols, all its code. A line ran as often as
//! the instruction of it that ran most; copies of it, inlined into several places, add up.
//!
//! Each instruction counts once: for the file of its source line, and for the function there that the source tells, as gcov and llvm-cov do.
//! What is inlined counts for the function it is of, not for that it is inlined into. What has no source line counts for the symbol it is in.

mod build;
mod calls;
mod ran;

use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};

use tracewright_image::Frame;

use crate::counts::{Place, Profile};
use crate::places::Places;
use crate::program::Program;
pub use ran::Ran;

/// How many of all there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Those that ran.
    pub hit: u64,
    /// All.
    pub all: u64,
}

/// How much ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Source files in the order of their names; then the binaries, for the functions whose source is not known.
    pub files: Vec<File>,
    /// All functions, in the order of files, lines and addresses.
    pub functions: Vec<Function>,
    /// How many instructions these functions executed.
    pub executed: u64,
    /// How many instructions were executed that are of no function that is known, or was asked for.
    pub outside: u64,
    /// Binaries of which something ran whose functions are not known: all their code is one, as far as it is known.
    pub without_functions: Vec<String>,
}

/// A source file; or a binary, for what has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Its path, as the compiler saw it.
    pub name: String,
    /// Whether it is a source file.
    pub is_source: bool,
    /// How often each line ran of which there is code.
    pub lines: BTreeMap<u32, u64>,
    /// The conditional branches, in the order of lines and places.
    pub branches: Vec<Branch>,
    /// Its instructions.
    pub instructions: Part,
}

/// A conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch {
    /// Its line; 0 if that is not known.
    pub line: u32,
    /// Where it is.
    pub place: Place,
    /// How often it was taken.
    pub taken: u64,
    /// How often it was not.
    pub not_taken: u64,
    /// The number of its function.
    pub function: u32,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name, demangled.
    pub name: String,
    /// The number of its file.
    pub file: u32,
    /// The line where it begins; 0 if that is not known.
    pub line: u32,
    /// Where it begins.
    pub start: Option<Place>,
    /// How often it was entered at its beginning, loops to there aside. For each copy that is inlined, this adds how
    /// often the instruction of it ran that ran most; a loop of its own counts as often as it was entered.
    pub calls: u64,
    /// Its instructions.
    pub instructions: Part,
    /// The outcomes of its conditional branches.
    pub branches: Part,
    /// Its lines.
    pub lines: Part,
}

/// What is asked for: nothing means all.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Files whose path has one of these in it.
    pub files: Vec<String>,
    /// Code that is there.
    pub places: Option<Places>,
    /// Functions of the source that have one of these names, mangled or not, also where they are inlined. The name of a C++ function
    /// may be without its parameters.
    pub functions: Vec<String>,
}

impl Part {
    /// In percent; nothing if there is nothing.
    #[must_use]
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
    /// Its two outcomes.
    #[must_use]
    pub fn outcomes(&self) -> Part {
        Part { hit: u64::from(self.taken > 0) + u64::from(self.not_taken > 0), all: 2 }
    }

    /// Whether it ran.
    #[must_use]
    pub fn ran(&self) -> bool {
        self.taken > 0 || self.not_taken > 0
    }
}

impl File {
    /// Whether any code of it was asked for.
    fn has_code(&self) -> bool {
        self.instructions.all > 0 || !self.branches.is_empty()
    }

    /// Its lines.
    #[must_use]
    pub fn lines(&self) -> Part {
        let mut part = Part::default();
        self.lines.values().for_each(|&count| part.count(count > 0));
        part
    }

    /// The outcomes of its branches.
    #[must_use]
    pub fn branches(&self) -> Part {
        let mut part = Part::default();
        self.branches.iter().for_each(|branch| part += branch.outcomes());
        part
    }
}

impl Function {
    /// Whether any of it ran.
    #[must_use]
    pub fn ran(&self) -> bool {
        self.instructions.hit > 0
    }
}

impl Wanted {
    fn file(&self, name: &str) -> bool {
        self.files.is_empty() || self.files.iter().any(|part| name.contains(part.as_str()))
    }

    /// Whether a function of the source was asked for by name.
    fn function(&self, function: &Frame<'_>) -> bool {
        self.functions.is_empty() || self.functions.iter().any(|name| function.is_called(name))
    }

    /// Whether any of these addresses of a binary may be.
    fn meets(&self, binary: u32, addresses: &Range<u64>) -> bool {
        self.places.as_ref().is_none_or(|places| places.meets(binary, addresses))
    }

    fn has(&self, place: Place) -> bool {
        self.places.as_ref().is_none_or(|places| places.has(place))
    }
}

impl Coverage {
    /// What a profile covers of its binaries. A binary is read from the first of `programs` that has it: there is one for each
    /// capture that the profile is of.
    #[must_use]
    pub fn new(profile: &Profile, programs: &[Program], wanted: &Wanted) -> Self {
        build::coverage(profile, programs, wanted)
    }

    /// The functions of a file.
    #[must_use]
    pub fn functions_of(&self, file: u32) -> &[Function] {
        let first = self.functions.partition_point(|function| function.file < file);
        let len = self.functions[first..].partition_point(|function| function.file == file);
        &self.functions[first..first + len]
    }

    /// Those of a file's functions that ran.
    #[must_use]
    pub fn functions_part(&self, file: u32) -> Part {
        let mut part = Part::default();
        self.functions_of(file).iter().for_each(|function| part.count(function.ran()));
        part
    }
}
