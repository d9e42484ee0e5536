//! Walks all code of all functions and notes what ran of it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use tracewright_core::Flow;
use tracewright_flow::InBlock;
use tracewright_flow::hash::HashMap;
use tracewright_image::{CodeRange, Frame};

use super::calls::{Calls, Loops};
use super::ran::Ran;
use super::{Branch, Coverage, File, Function, Part, Wanted};
use crate::counts::{Place, Profile};
use crate::program::{self, Program};
use crate::walk::instructions;

/// A source line: file number and line number.
type Line = (u32, u32);

/// Name of the function that stands for all code of a binary without symbols.
pub const NAMELESS: &str = "(no symbols)";

/// Suffix of the parts of functions that compilers place apart because they expect them to run rarely.
const APART: &str = ".cold";

pub fn coverage(profile: &Profile, programs: &[Program], wanted: &Wanted) -> Coverage {
    let program = |binary: u32| programs.iter().position(|program| program.file(binary).is_some());
    let (ran, nowhere) = Ran::of_all(profile, programs);
    let mut build = Build::new(wanted, Loops::new(profile, programs));
    build.coverage.outside = nowhere;
    for ((number, binary), ran) in (0..).zip(&profile.binaries).zip(&ran) {
        let before = build.coverage.executed;
        let known = match program(number) {
            Some(program) => build.binary(number, &binary.name, &programs[program], ran),
            None => false,
        };
        if !known && ran.all > 0 {
            build.coverage.without_functions.push(binary.name.clone());
        }
        let known = build.coverage.executed - before;
        build.coverage.outside = build.coverage.outside.saturating_add(ran.all.saturating_sub(known));
    }
    build.finish()
}

struct Build<'w> {
    wanted: &'w Wanted,
    coverage: Coverage,
    /// File numbers by name and by whether the file is a source.
    files: HashMap<(String, bool), u32>,
    /// Function numbers by file and name.
    functions: HashMap<(u32, String), u32>,
    /// Lines of each function, and whether they ran.
    lines: Vec<HashMap<u32, bool>>,
    /// Results of the name filter for inlined functions, by linkage name or else by display name.
    asked: HashMap<String, bool>,
    loops: Loops,
    /// Calls of the copies of inlined functions, by function, binary and copy.
    copies: HashMap<(u32, u32, usize), Calls>,
}

/// A part of a function during the walk.
struct Walk<'a> {
    binary: u32,
    program: &'a Program,
    ran: &'a Ran,
    /// Number of the function. Its name and its file follow.
    function: u32,
    name: &'a str,
    file: u32,
    /// Set if the function is wanted. Functions inlined into it may be wanted even if it is not.
    is_asked: bool,
    /// Wanted functions without symbols.
    called: &'a [Range<u64>],
    /// Last source line seen in the part.
    line: Line,
}

impl<'w> Build<'w> {
    fn new(wanted: &'w Wanted, loops: Loops) -> Self {
        Self {
            wanted,
            coverage: Coverage::default(),
            files: HashMap::default(),
            functions: HashMap::default(),
            lines: Vec::new(),
            asked: HashMap::default(),
            loops,
            copies: HashMap::default(),
        }
    }

    /// Adds a binary. Returns whether its functions are known.
    fn binary(&mut self, number: u32, name: &str, program: &Program, ran: &Ran) -> bool {
        let Some(file) = program.file(number) else { return false };
        let (mut functions, code) = (file.functions(), file.code());
        let known = !functions.is_empty();
        if !known {
            // All code without symbols counts as one function.
            let whole = |code: &CodeRange| (NAMELESS, code.range.clone());
            let start = code.first().map_or(0, |code| code.range.start);
            functions.extend(code.iter().map(whole).map(|(name, range)| tracewright_image::Function {
                name,
                start,
                range,
            }));
        }
        let named: Vec<_> =
            self.wanted.functions.iter().filter_map(|name| program.resolve(number, name)).collect();
        let called = program.all_called(number).filter(|(_, name)| self.wanted.functions.contains(name));
        let called: Vec<_> = called.map(|(range, _)| range).collect();
        for part in &functions {
            let name_of = part.name.strip_suffix(APART).unwrap_or(part.name);
            if !self.wanted.meets(number, &part.range) {
                continue;
            }
            let start = Place { binary: number, address: part.start };
            // The first instruction may belong to an inlined function.
            let frames = program.frames(start);
            let symbol = Frame { function: Some(name_of), ..Frame::default() };
            let is_asked = self.wanted.function(&symbol)
                || frames.last().is_some_and(|own| self.wanted.function(own))
                // The lowest bit only marks T32.
                || named.iter().any(|named| (named.start & !1..named.end).contains(&part.start));
            let own = frames.last().and_then(|own| Some((own, own.line.filter(|source| source.line > 0)?)));
            let (file, line) = match own {
                Some((own, source)) if frames.len() > 1 && own.declared > 0 => {
                    (self.file(source.file, true), own.declared)
                }
                Some((_, source)) => (self.file(source.file, true), source.line),
                None => (self.file(name, false), 0),
            };
            let function = self.function(file, name_of);
            if part.name == name_of && part.range.start == part.start {
                let range = part.range.clone();
                let calls = ran.entered(start, |from| range.contains(&from));
                let of = &mut self.coverage.functions[function as usize];
                of.calls = of.calls.saturating_add(calls);
                if of.line == 0 || line < of.line {
                    of.line = line;
                }
                of.start.get_or_insert(start);
            }
            let line = (file, line);
            let called = &*called;
            let walk =
                Walk { binary: number, program, ran, function, name: name_of, file, is_asked, called, line };
            self.part(walk, &part.range, &code);
        }
        known
    }

    fn file(&mut self, name: &str, is_source: bool) -> u32 {
        let files = &mut self.coverage.files;
        *self.files.entry((name.to_owned(), is_source)).or_insert_with(|| {
            files.push(File { name: name.to_owned(), is_source, ..File::default() });
            files.len() as u32 - 1
        })
    }

    fn function(&mut self, file: u32, name: &str) -> u32 {
        let functions = &mut self.coverage.functions;
        let lines = &mut self.lines;
        *self.functions.entry((file, name.to_owned())).or_insert_with(|| {
            functions.push(Function { name: name.to_owned(), file, ..Function::default() });
            lines.push(HashMap::default());
            functions.len() as u32 - 1
        })
    }

    fn part(&mut self, mut walk: Walk<'_>, range: &Range<u64>, code: &[CodeRange]) {
        // Number of runs of each line in each of its copies.
        let mut copies: HashMap<(Line, u64), u64> = HashMap::default();
        instructions(walk.program, walk.binary, range, code, |_, instruction| {
            self.instruction(&mut walk, &mut copies, instruction);
        });
        for (((file, line), _), count) in copies {
            let of = self.coverage.files[file as usize].lines.entry(line).or_default();
            *of = of.saturating_add(count);
        }
    }

    /// Counts the calls of functions inlined at an instruction that ran `count` times.
    fn inlined(&mut self, place: Place, frames: &[Frame<'_>], count: u64) {
        for (frame, _) in program::inlined(frames) {
            let (Some(copy), Some(name), Some(source)) = (frame.copy, frame.function, frame.line) else {
                continue;
            };
            let file = self.file(source.file, true);
            let function = self.function(file, name);
            let of = &mut self.coverage.functions[function as usize];
            if of.start.is_none() && of.line == 0 {
                of.line = frame.declared;
            }
            let calls = self.copies.entry((function, place.binary, copy)).or_default();
            self.loops.add(calls, copy, place, count);
        }
    }

    /// Returns the function of an instruction of `file`: the innermost one inlined there, or the walked one.
    fn function_at(&mut self, walk: &Walk<'_>, file: u32, frames: &[Frame<'_>]) -> u32 {
        match inlined(frames).and_then(|frame| frame.function) {
            Some(name) => self.function(file, name),
            None if file == walk.file => walk.function,
            None => self.function(file, walk.name),
        }
    }

    /// Returns whether the function of an instruction is wanted.
    fn is_asked(&mut self, walk: &Walk<'_>, frames: &[Frame<'_>]) -> bool {
        let Some(frame) = inlined(frames) else { return walk.is_asked };
        let Some(name) = frame.linkage.or(frame.function) else { return walk.is_asked };
        if let Some(known) = self.asked.get(name) {
            return *known;
        }
        let is_asked = self.wanted.function(frame);
        self.asked.insert(name.to_owned(), is_asked);
        is_asked
    }

    fn instruction(
        &mut self,
        walk: &mut Walk<'_>,
        copies: &mut HashMap<(Line, u64), u64>,
        instruction: &InBlock,
    ) {
        let address = instruction.address;
        let place = Place { binary: walk.binary, address };
        if !self.wanted.has(place) {
            return;
        }
        let count = walk.ran.at(address);
        let source = walk.program.source(place);
        let frames = source.map(|_| walk.program.frames(place)).unwrap_or_default();
        self.inlined(place, &frames, count);
        if !self.is_asked(walk, &frames) && !walk.called.iter().any(|range| range.contains(&address)) {
            return;
        }
        let file = match source {
            Some(source) => {
                let last = &self.coverage.files[walk.line.0 as usize];
                let is_last = last.is_source && last.name == source.file;
                if is_last { walk.line.0 } else { self.file(source.file, true) }
            }
            None => walk.file,
        };
        let copy = copy(&frames);
        let function = self.function_at(walk, file, &frames);
        if let Some(source) = source.filter(|source| source.line > 0) {
            let line = (file, source.line);
            walk.line = line;
            let most = copies.entry((line, copy)).or_default();
            *most = count.max(*most);
            *self.lines[function as usize].entry(source.line).or_default() |= count > 0;
        }
        if self.wanted.file(&self.coverage.files[file as usize].name) {
            self.coverage.executed = self.coverage.executed.saturating_add(count);
        }
        self.coverage.files[file as usize].instructions.count(count > 0);
        let of = &mut self.coverage.functions[function as usize];
        of.instructions.count(count > 0);
        let branches = matches!(instruction.class.flow, Flow::Direct | Flow::Indirect | Flow::Pair);
        if branches && instruction.class.conditional {
            let runs = walk.ran.branch(address);
            // An instruction without a line belongs to the line before it.
            let (file, line) = walk.line;
            let branch = Branch { line, place, taken: runs.taken, not_taken: runs.not_taken, function };
            of.branches += branch.outcomes();
            self.coverage.files[file as usize].branches.push(branch);
        }
    }

    /// Sorts and returns everything that is wanted.
    fn finish(self) -> Coverage {
        let Self { wanted, mut coverage, lines, loops, copies, .. } = self;
        for ((function, ..), calls) in copies {
            let of = &mut coverage.functions[function as usize];
            of.calls = of.calls.saturating_add(loops.calls(&calls));
            of.is_inlined = true;
        }
        for (function, lines) in coverage.functions.iter_mut().zip(lines) {
            let mut part = Part::default();
            lines.values().for_each(|&ran| part.count(ran));
            if function.line == 0 {
                // GCC gives no line for lambdas.
                function.line = lines.keys().min().copied().unwrap_or(0);
            }
            function.lines = part;
        }
        // Renumber files, then functions.
        let mut order: Vec<_> = (0..coverage.files.len()).collect();
        order.retain(|&file| wanted.file(&coverage.files[file].name) && coverage.files[file].has_code());
        order.sort_by_key(|&file| (!coverage.files[file].is_source, coverage.files[file].name.clone()));
        let mut numbers = vec![None; coverage.files.len()];
        (0..).zip(&order).for_each(|(new, &old)| numbers[old] = Some(new));
        let mut files: Vec<_> = order.iter().map(|&file| std::mem::take(&mut coverage.files[file])).collect();

        let all = std::mem::take(&mut coverage.functions);
        let mut functions: Vec<_> = (0..).zip(all).collect::<Vec<(u32, Function)>>();
        functions.retain_mut(|(_, function)| match numbers[function.file as usize] {
            // All of its instructions belong to inlined functions.
            _ if function.instructions.all == 0 => false,
            Some(new) => {
                function.file = new;
                true
            }
            None => false,
        });
        functions.sort_by_key(|(_, function)| (function.file, function.line, function.start));
        let mut numbers = HashMap::default();
        (0..).zip(&functions).for_each(|(new, (old, _))| {
            numbers.insert(*old, new);
        });
        for file in &mut files {
            // A function of an unwanted file may be inlined from this file.
            file.branches.iter_mut().for_each(|branch| {
                branch.function = numbers.get(&branch.function).copied().unwrap_or(u32::MAX);
            });
            file.branches.sort();
        }
        coverage.files = files;
        coverage.functions = functions.into_iter().map(|(_, function)| function).collect();
        coverage
    }
}

/// Returns the innermost function inlined here.
fn inlined<'f, 'a>(frames: &'f [Frame<'a>]) -> Option<&'f Frame<'a>> {
    frames.first().filter(|_| frames.len() > 1)
}

/// Returns a hash of the call sites that the line is inlined through, which identifies its copy.
fn copy(frames: &[Frame<'_>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for frame in frames.iter().skip(1) {
        frame.line.map(|line| (line.file, line.line)).hash(&mut hasher);
    }
    hasher.finish()
}
