//! Cycles by function, source line and instruction.

use std::cmp::Reverse;
use std::collections::HashMap;

use tracewright_core::{Isa, MemorySpace};
use tracewright_flow::{InBlock, Instructions};
use tracewright_image::Image;
use tracewright_profile::{Cost, Named};

use super::Sort;
use tracewright::SourceStalls;
use tracewright::names;

/// All rows, of all sources together.
pub struct Tables {
    pub all: Cost,
    pub functions: Vec<(String, Cost)>,
    pub lines: Vec<(Place, Cost)>,
    pub instructions: Vec<(Instruction, Cost)>,
    /// What belongs to no line.
    pub without_line: Cost,
    /// How many instructions are of functions with symbols.
    pub names: Named,
}

/// A line of source code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: String,
    pub line: u32,
    /// The function that is there.
    pub function: String,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub isa: Isa,
    pub space: MemorySpace,
    pub at: InBlock,
}

impl Tables {
    /// Sums up sources. Inlined functions are functions of their own if `inlined` is set.
    pub fn new(sources: &[SourceStalls], image: &Image, sort: Sort, inlined: bool) -> Self {
        let instructions = instructions(sources, image);
        let mut all = Cost::default();
        let (mut without_line, mut names) = (Cost::default(), Named::default());
        let mut functions: HashMap<String, Cost> = HashMap::new();
        let mut lines: HashMap<Place, Cost> = HashMap::new();
        for (Instruction { space, at, .. }, cost) in &instructions {
            all += *cost;
            names.add(cost.retired, image.symbols().symbol(at.address, *space).is_some());
            let source = image.symbols().source(at.address, *space);
            let function = match inlined && source.is_some() {
                true => names::source_function(image, at.address, *space),
                false => names::function(image, at.address, *space),
            };
            match source.filter(|source| source.line > 0) {
                Some(source) => {
                    let (file, line) = (source.file.to_owned(), source.line);
                    *lines.entry(Place { file, line, function: function.clone() }).or_default() += *cost;
                }
                None => without_line += *cost,
            }
            *functions.entry(function).or_default() += *cost;
        }
        let mut tables = Self {
            all,
            functions: functions.into_iter().collect(),
            lines: lines.into_iter().collect(),
            instructions,
            without_line,
            names,
        };
        let key = |cost: &Cost| match sort {
            Sort::Stalls => (Reverse(cost.stalled), Reverse(cost.cycles), Reverse(cost.retired)),
            Sort::Cycles => (Reverse(cost.cycles), Reverse(cost.stalled), Reverse(cost.retired)),
        };
        tables.functions.sort_by(|(a, x), (b, y)| (key(x), a).cmp(&(key(y), b)));
        tables.lines.sort_by(|(a, x), (b, y)| (key(x), &a.file, a.line).cmp(&(key(y), &b.file, b.line)));
        tables.instructions.sort_by_key(|(instruction, cost)| (key(cost), instruction.at.address));
        tables
    }
}

/// What each instruction cost. Those whose code is not at hand any more are not among them.
fn instructions(sources: &[SourceStalls], image: &Image) -> Vec<(Instruction, Cost)> {
    let mut all: HashMap<(u64, MemorySpace, Isa), (Instruction, Cost)> = HashMap::new();
    let stalls = sources.iter().filter_map(|source| source.stalls.as_ref());
    for (block, space, _, costs) in stalls.flat_map(|stalls| stalls.costs.blocks()) {
        for (at, cost) in Instructions::new(image, space, block).zip(costs) {
            let instruction = Instruction { isa: block.isa, space, at };
            let entry = all.entry((at.address, space, block.isa)).or_insert((instruction, Cost::default()));
            entry.1 += cost;
        }
    }
    all.into_values().collect()
}
