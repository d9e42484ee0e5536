//! Cycles by function, source line and instruction.

use std::cmp::Reverse;
use std::collections::HashMap;

use tracewright_core::{Isa, MemorySpace};
use tracewright_flow::{InBlock, Instructions};
use tracewright_image::Image;
use tracewright_profile::{Cost, Named};

use super::SourceStalls;
use crate::names;

/// Kind of the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallRows {
    /// Functions.
    Functions,
    /// Source lines.
    Lines,
    /// Instructions.
    Instructions,
}

/// Order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StallOrder {
    /// Most stall cycles first.
    #[default]
    Stalls,
    /// Most cycles first.
    Cycles,
}

/// Cycles of some sources together, by function, source line and instruction.
#[derive(Clone, Debug)]
pub struct StallTables {
    /// Sum of all.
    pub all: Cost,
    /// Functions by name.
    pub functions: Vec<(String, Cost)>,
    /// Source lines.
    pub lines: Vec<(StallLine, Cost)>,
    /// Instructions.
    pub instructions: Vec<(StallInstruction, Cost)>,
    /// Sum of the instructions without a source line.
    pub without_line: Cost,
    /// Number of instructions of functions with symbols.
    pub names: Named,
}

/// A line of source code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StallLine {
    /// Path of the source file.
    pub file: String,
    /// Number of the line.
    pub line: u32,
    /// Function that the line is of.
    pub function: String,
}

/// An instruction in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallInstruction {
    /// Instruction set.
    pub isa: Isa,
    /// Memory space of its address.
    pub space: MemorySpace,
    /// Address, bytes and class.
    pub at: InBlock,
}

impl StallTables {
    /// Sums up sources. Inlined functions are functions of their own if `inlined` is set.
    pub fn new(sources: &[SourceStalls], image: &Image, order: StallOrder, inlined: bool) -> Self {
        let instructions = instructions(sources, image);
        let mut all = Cost::default();
        let (mut without_line, mut names) = (Cost::default(), Named::default());
        let mut functions: HashMap<String, Cost> = HashMap::new();
        let mut lines: HashMap<StallLine, Cost> = HashMap::new();
        for (StallInstruction { space, at, .. }, cost) in &instructions {
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
                    *lines.entry(StallLine { file, line, function: function.clone() }).or_default() += *cost;
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
        let key = |cost: &Cost| match order {
            StallOrder::Stalls => (Reverse(cost.stalled), Reverse(cost.cycles), Reverse(cost.retired)),
            StallOrder::Cycles => (Reverse(cost.cycles), Reverse(cost.stalled), Reverse(cost.retired)),
        };
        tables.functions.sort_by(|(a, x), (b, y)| (key(x), a).cmp(&(key(y), b)));
        tables.lines.sort_by(|(a, x), (b, y)| (key(x), &a.file, a.line).cmp(&(key(y), &b.file, b.line)));
        tables.instructions.sort_by_key(|(instruction, cost)| (key(cost), instruction.at.address));
        tables
    }
}

/// Returns the cost of each instruction whose code the image has.
fn instructions(sources: &[SourceStalls], image: &Image) -> Vec<(StallInstruction, Cost)> {
    let mut all: HashMap<(u64, MemorySpace, Isa), (StallInstruction, Cost)> = HashMap::new();
    let stalls = sources.iter().filter_map(|source| source.stalls.as_ref());
    for (block, space, _, costs) in stalls.flat_map(|stalls| stalls.costs.blocks()) {
        for (at, cost) in Instructions::new(image, space, block).zip(costs) {
            let instruction = StallInstruction { isa: block.isa, space, at };
            let entry = all.entry((at.address, space, block.isa)).or_insert((instruction, Cost::default()));
            entry.1 += cost;
        }
    }
    all.into_values().collect()
}
