//! Inlined functions: which instructions are theirs, and how often they were called.

use std::collections::BTreeMap;
use std::ops::Range;

use tracewright_core::{Block, Ended, MemorySpace};
use tracewright_flow::Instructions;
use tracewright_flow::hash::HashMap;
use tracewright_image::{Frame, Image};

use crate::by_address::ByAddress;
use crate::counts::{Code, Place, Profile};
use crate::coverage::{InlinedCalls, Loops};
use crate::functions::{Declaration, Function, Functions};
use crate::program::{Program, inlined};

/// How blocks are divided among inlined functions. Debug information is asked once for each block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chains {
    /// Functions inlined into one another, the outermost first. Chain number 0 is empty and not in this list.
    list: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u32>,
    /// Divided blocks: parts with the number of a chain and of instructions. Number 0 is not in this list: it stands for
    /// blocks without inlined functions.
    divided: Vec<Box<[(u32, u32)]>>,
    /// Index of the divided block, and number of instructions looked at, by start of the block.
    known: ByAddress<(u32, u32)>,
    /// Numbers of inlined functions by file, linkage name and line of declaration.
    functions: HashMap<(Option<u32>, String, u32), u32>,
}

/// A function inlined at one place, as it was called there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedCopy {
    /// Number of the binary.
    pub binary: u32,
    /// Number of the copy, unique within the binary.
    pub copy: usize,
    /// Number of the function that it is inlined into, which may be inlined itself.
    pub caller: u32,
    /// Number of the inlined function.
    pub callee: u32,
    /// Source file and line of the call.
    pub line: Option<(String, u32)>,
    /// Number of calls, an estimate.
    pub calls: u64,
}

impl Functions {
    /// Returns how often each instruction of blocks with inlined functions ran, in address order, by binary. Other blocks have
    /// no instruction of an inlined function and are left out.
    fn inlined_counts(&mut self, profile: &Profile, program: &Program) -> Vec<Vec<(u64, u64)>> {
        let mut all: Vec<BTreeMap<u64, u64>> = vec![BTreeMap::new(); profile.binaries.len()];
        for (code, runs) in &profile.blocks {
            let binary = code.start.binary;
            let is_divided = self.divide_code(program, code) != 0;
            let Some(counts) = all.get_mut(binary as usize).filter(|_| is_divided && program.has(binary))
            else {
                continue;
            };
            let block = code.block(Ended::Cut);
            let instructions = Instructions::new(program.image(), program.space(binary), &block);
            for instruction in instructions.take(code.count as usize) {
                let count = counts.entry(instruction.address).or_default();
                *count = runs.all().saturating_add(*count);
            }
        }
        all.into_iter().map(|counts| counts.into_iter().collect()).collect()
    }

    /// Divides a block among the functions inlined there. The result is for [`parts`](Self::parts).
    #[inline]
    pub fn divide(&mut self, program: &Program, image: &Image, space: MemorySpace, block: &Block) -> u32 {
        if !program.shows_inlined() {
            return 0;
        }
        match self.chains.known.get(block.start, space) {
            Some((index, count)) if block.count <= count => index,
            _ => self.divide_new(program, image, space, block),
        }
    }

    /// Divides a block of a profile, as [`divide`](Self::divide) does.
    pub fn divide_code(&mut self, program: &Program, code: &Code) -> u32 {
        let block = code.block(Ended::Cut);
        self.divide(program, program.image(), program.space(code.start.binary), &block)
    }

    #[cold]
    fn divide_new(&mut self, program: &Program, image: &Image, space: MemorySpace, block: &Block) -> u32 {
        if !has_inlined(image, space, block.start..block.end) {
            self.chains.known.insert(block.start, space, (0, block.count));
            return 0;
        }
        let mut parts: Vec<(u32, u32)> = Vec::new();
        let (mut chain, mut end) = (0, block.start);
        for at in Instructions::new(image, space, block).take(block.count as usize) {
            if at.address >= end || parts.is_empty() {
                chain = self.chain_at(program, image, at.address, space);
                end = image.symbols().frames_end(at.address, space);
                if parts.is_empty() && end >= block.end && block.end > block.start {
                    parts.push((chain, block.count));
                    break;
                }
            }
            match parts.last_mut() {
                Some((last, count)) if *last == chain => *count += 1,
                _ => parts.push((chain, 1)),
            }
        }
        let index = match parts.iter().all(|(chain, _)| *chain == 0) {
            true => 0,
            false => {
                self.chains.divided.push(parts.into());
                self.chains.divided.len() as u32
            }
        };
        self.chains.known.insert(block.start, space, (index, block.count));
        index
    }

    /// Returns the parts of a block of `count` instructions that was divided: the numbers of the instructions of each,
    /// and the functions inlined there, the outermost first. Instructions that could not be read are in none.
    pub fn parts(&self, divided: u32, count: u32) -> impl Iterator<Item = (Range<u32>, &[u32])> {
        let parts = divided.checked_sub(1).map(|index| &*self.chains.divided[index as usize]);
        let parts = parts.unwrap_or(const { &[(0, u32::MAX)] }).iter();
        let mut from = 0;
        let ranges = parts.chain(&[(0, u32::MAX)]).map(move |&(chain, len)| {
            let to = count.min(u32::saturating_add(from, len));
            (std::mem::replace(&mut from, to)..to, self.chain(chain))
        });
        ranges.filter(|(range, _)| !range.is_empty())
    }

    /// Returns the functions that a chain has, the outermost first.
    fn chain(&self, number: u32) -> &[u32] {
        number.checked_sub(1).map_or(&[], |index| &self.chains.list[index as usize])
    }

    /// Returns the innermost function that is inlined at a place, if any is.
    pub fn innermost(&mut self, program: &Program, place: Place) -> Option<u32> {
        if !program.shows_inlined() {
            return None;
        }
        let chain = self.chain_at(program, program.image(), place.address, program.space(place.binary));
        self.chain(chain).last().copied()
    }

    fn chain_at(&mut self, program: &Program, image: &Image, address: u64, space: MemorySpace) -> u32 {
        let frames = image.symbols().frames(address, space);
        if frames.len() < 2 {
            return 0;
        }
        let file = image.place(address, space).map(|(file, _)| self.first(image, file));
        let outermost_first = inlined(&frames).rev();
        let chain: Box<[u32]> =
            outermost_first.filter_map(|(frame, _)| self.inlined(program, file, frame)).collect();
        if chain.is_empty() {
            return 0;
        }
        let Chains { list, numbers, .. } = &mut self.chains;
        *numbers.entry(chain).or_insert_with_key(|chain| {
            list.push(chain.clone());
            list.len() as u32
        })
    }

    /// Returns the number of an inlined function. If it also has code of its own, that is the same function.
    fn inlined(&mut self, program: &Program, file: Option<u32>, frame: &Frame<'_>) -> Option<u32> {
        let name = frame.function?;
        let linkage = frame.linkage.unwrap_or(name);
        let key = (file, linkage.to_owned(), frame.declared);
        if let Some(&known) = self.chains.functions.get(&key) {
            return Some(known);
        }
        let function = file.and_then(|file| own_code(program, file, frame, linkage));
        let function = function.unwrap_or_else(|| {
            let source = frame.line.map(|line| line.file.to_owned());
            let declared = Declaration { linkage: linkage.to_owned(), file: source, line: frame.declared };
            Function { file, start: None, name: name.to_owned(), declared: Some(declared) }
        });
        let number = self.number(function);
        self.chains.functions.insert(key, number);
        Some(number)
    }

    /// Returns the functions inlined in code that ran, each with its calls. They are counted as in
    /// [`coverage`](mod@crate::coverage): no single instruction marks the entry of an inlined function, so that the
    /// instructions outside its own loops, and the entries of these loops, count; the most frequent tells.
    pub fn inlined_copies(&mut self, profile: &Profile, program: &Program) -> Vec<InlinedCopy> {
        let ran = self.inlined_counts(profile, program);
        if !program.shows_inlined() || self.chains.list.is_empty() {
            return Vec::new();
        }
        let loops = Loops::new(profile, std::slice::from_ref(program));
        let mut copies: BTreeMap<(u32, usize), (InlinedCopy, InlinedCalls)> = BTreeMap::new();
        for (binary, ran) in (0..).zip(ran) {
            let Some(file) = program.file_number(binary) else { continue };
            let (mut frames, mut end) = (Vec::new(), 0);
            for (address, count) in ran {
                let place = Place { binary, address };
                if address >= end {
                    frames = program.frames(place);
                    end = program.image().symbols().frames_end(address, program.space(binary));
                }
                for (inner, outer) in inlined(&frames) {
                    let Some(copy) = inner.copy else { continue };
                    let Some(callee) = self.inlined(program, Some(file), inner) else { continue };
                    let (_, calls) = copies.entry((binary, copy)).or_insert_with(|| {
                        let caller = outer.copy.and_then(|_| self.inlined(program, Some(file), outer));
                        let caller = caller.unwrap_or_else(|| self.of(profile, program, place));
                        let line = outer.line.map(|line| (line.file.to_owned(), line.line));
                        (
                            InlinedCopy { binary, copy, caller, callee, line, calls: 0 },
                            InlinedCalls::default(),
                        )
                    });
                    loops.add(calls, copy, place, count);
                }
            }
        }
        let all = copies.into_values();
        all.map(|(copy, calls)| InlinedCopy { calls: loops.calls(&calls), ..copy }).collect()
    }
}

/// Returns whether a function is inlined anywhere in these addresses, or may be.
fn has_inlined(image: &Image, space: MemorySpace, Range { start, end }: Range<u64>) -> bool {
    let symbols = image.symbols();
    let mut address = start;
    while address < end && symbols.frames(address, space).len() < 2 {
        match symbols.frames_end(address, space) {
            next if next > address => address = next,
            _ => return true,
        }
    }
    address < end || end <= start
}

/// Returns the function with code of its own that `frame`, an inlined function, is a copy of.
fn own_code(program: &Program, file: u32, frame: &Frame<'_>, linkage: &str) -> Option<Function> {
    let symbols = program.image().symbols();
    let space = Image::space_of(file);
    // The lowest bit only marks T32.
    let start = symbols.resolve_in(file, linkage)?.start & !1;
    let symbol = symbols.symbol(start, space).filter(|symbol| symbol.start == start)?;
    let frames = symbols.frames(start, space);
    let own = frames.last()?;
    let is_it = own.linkage == frame.linkage && own.declared == frame.declared;
    is_it.then(|| Function {
        file: Some(file),
        start: Some(start),
        name: symbol.name.to_owned(),
        declared: None,
    })
}

#[cfg(test)]
mod tests {
    use tracewright_core::{Class, Flow, Isa, Role};
    use tracewright_image::{Bytes, Place as Load};
    use tracewright_testkit::Rng;

    use super::*;
    use crate::counts::Binary;
    use crate::coverage::Ran;
    use crate::program::inlined_at;

    /// Returns a program with debug information and a profile of random blocks of it.
    fn random_blocks(seed: u64) -> (Profile, Program) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/bin/sort.elf");
        let mut builder = Image::builder();
        let file = Bytes::from(std::fs::read(path).unwrap());
        builder.elf("sort.elf", file, Load::AsLinked, MemorySpace::ANY).unwrap();
        let image = builder.build();
        let mut profile = Profile::default();
        let build_id = image.files().next().unwrap().build_id().unwrap_or_default().to_vec();
        let (name, code) = ("sort.elf".to_owned(), Vec::new());
        profile.binary(Binary { name, build_id, is_elf: true, found: None, code });
        let mut rng = Rng::new(seed);
        let regions: Vec<_> = image.regions().map(|region| region.range()).collect();
        for _ in 0..rng.below(300) {
            let range = rng.pick(&regions);
            let address = range.start + rng.below((range.end - range.start) / 2) * 2;
            let mut code = Code {
                start: Place { binary: 0, address },
                len: rng.below(40) as u32 * 2,
                count: 40,
                isa: Isa::Rv64,
                last_len: 2,
                class: Class { flow: Flow::Direct, role: Role::Jump, conditional: true },
            };
            // Some of no length, and some with fewer instructions than their bytes have.
            let block = code.block(Ended::Cut);
            let instructions = Instructions::new(&image, MemorySpace::ANY, &block);
            let fit = instructions.take_while(|at| at.address < block.end).count() as u64;
            code.count = rng.below(fit + 1).max(rng.below(fit + 1)) as u32;
            profile.blocks.entry(code).or_default().add(Ended::Taken, rng.below(1000));
        }
        let program = Program::new(&profile, &image);
        (profile, program)
    }

    /// Asks for the functions at each instruction of each block.
    #[test]
    fn blocks_are_divided_as_their_instructions_are() {
        let mut inlined_somewhere = 0;
        for seed in 0..40 {
            let (profile, program) = random_blocks(seed);
            let mut functions = Functions::default();
            for code in profile.blocks.keys() {
                let divided = functions.divide_code(&program, code);
                let parts: Vec<_> = functions.parts(divided, code.count).collect();
                let names = |number: u32| {
                    let part = parts.iter().find(|(range, _)| range.contains(&number));
                    let chain = part.map_or(&[][..], |(_, chain)| chain);
                    chain.iter().map(|&number| functions.name(number)).collect::<Vec<_>>()
                };
                let block = code.block(Ended::Cut);
                let space = program.space(0);
                let instructions = Instructions::new(program.image(), space, &block);
                for (number, at) in (0..).zip(instructions.take(code.count as usize)) {
                    let wanted = inlined_at(program.image(), at.address, space);
                    assert_eq!(names(number), wanted, "seed {seed}, {:#x} of {code:?}", at.address);
                    inlined_somewhere += usize::from(!wanted.is_empty());
                }
            }
        }
        assert!(inlined_somewhere > 1000, "{inlined_somewhere}");
    }

    /// [`Ran`] counts all instructions that ran.
    #[test]
    fn instructions_of_inlined_functions_are_all_counted() {
        for seed in 0..40 {
            let (profile, program) = random_blocks(seed);
            let counts = Functions::default().inlined_counts(&profile, &program);
            let (ran, _) = Ran::of_all(&profile, std::slice::from_ref(&program));
            assert_eq!(counts.len(), ran.len());
            let counts: BTreeMap<_, _> = counts[0].iter().copied().collect();
            // Other instructions may run in blocks that are left out, too.
            assert!(counts.iter().all(|(address, count)| ran[0].at(*address) >= *count), "seed {seed}");
            for (address, count) in ran[0].instructions() {
                let is_inlined = program.frames(Place { binary: 0, address }).len() > 1;
                assert!(!is_inlined || counts.get(&address) == Some(&count), "seed {seed}, {address:#x}");
            }
        }
    }
}
