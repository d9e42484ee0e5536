//! Functions of code without symbols, found by the calls to them.

use std::collections::BTreeSet;
use std::ops::Range;

use tracewright_core::{Class, Flow, Role};
use tracewright_flow::hash::{HashMap, HashSet};
use tracewright_image::Image;

use crate::counts::{Code, Place, Profile};

/// Functions of code without symbols. A function begins where a call went, also through a linkage table or the dynamic
/// loader, or where a program begins that ran from there.
/// It ends where the next one begins, with or without a symbol, or with its section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Starts {
    /// By file number in the image: the addresses of each function, ascending.
    by_file: HashMap<u32, Vec<Range<u64>>>,
}

impl Starts {
    /// Finds the functions of a profile. `image` has its binaries at their link-time addresses; `files` has the file
    /// number of each binary.
    pub(crate) fn new(profile: &Profile, image: &Image, files: &HashMap<u32, u32>) -> Self {
        let symbols = image.symbols();
        let nameless = |place: Place| {
            let file = *files.get(&place.binary)?;
            let symbol = symbols.symbol(place.address, Image::space_of(file));
            symbol.is_none().then_some((file, place.address))
        };
        let mut starts: HashMap<u32, BTreeSet<u64>> = HashMap::default();
        let mut add = |found: Option<(u32, u64)>| {
            if let Some((file, address)) = found {
                starts.entry(file).or_default().insert(address);
            }
        };
        let is_call = |role: Role| matches!(role, Role::Call | Role::Swap);
        let calls = profile.blocks.keys().filter(|code| is_call(code.class.role));
        let calls: HashMap<Place, Place> = calls.map(|code| (code.last(), code.end())).collect();
        // Jumps that lead to a function of another binary, or from an entry of a linkage table: what was called goes on there.
        let is_jump =
            |class: Class| class.role == Role::Jump && class.flow == Flow::Indirect && !class.conditional;
        let jumps = profile.blocks.keys().filter(|code| is_jump(code.class));
        let jumps: HashSet<Place> = jumps.map(Code::last).collect();
        let is_linkage = |from: Place| {
            let file = files.get(&from.binary)?;
            let region = image.region(from.address, Image::space_of(*file))?;
            Some(region.section(from.address)?.name.starts_with(".plt"))
        };
        for (from, to) in profile.branches.keys() {
            let is_known = from.binary != Place::NOWHERE;
            if is_known
                && jumps.contains(from)
                && (from.binary != to.binary || is_linkage(*from) == Some(true))
            {
                add(nameless(*to));
            }
            // A call to the next instruction only reads the program counter.
            if calls.get(from).is_some_and(|back| back != to) {
                add(nameless(*to));
            }
        }
        let ran: HashSet<_> = profile.blocks.keys().map(|code| code.start).collect();
        for (&binary, &file) in files {
            let entry = image.files().nth(file as usize).and_then(|file| file.entry());
            let entry = entry.map(|address| Place { binary, address });
            add(entry.filter(|entry| ran.contains(entry)).and_then(nameless));
        }
        let of_file = |(file, starts): (u32, BTreeSet<u64>)| (file, ranges(image, file, &starts));
        Self { by_file: starts.into_iter().map(of_file).collect() }
    }

    /// Adds functions that begin at these addresses of a file. `image` has it at its link-time addresses.
    pub(crate) fn add(&mut self, image: &Image, file: u32, starts: &BTreeSet<u64>) {
        self.merge(Self { by_file: HashMap::from_iter([(file, ranges(image, file, starts))]) });
    }

    /// Adds the functions of `other`. A function ends where another begins.
    pub(crate) fn merge(&mut self, other: Self) {
        for (file, ranges) in other.by_file {
            let all = self.by_file.entry(file).or_default();
            all.extend(ranges);
            all.sort_by_key(|range| (range.start, range.end));
            all.dedup_by_key(|range| range.start);
            let starts: Vec<_> = all.iter().skip(1).map(|range| range.start).collect();
            all.iter_mut().zip(starts).for_each(|(range, next)| range.end = range.end.min(next));
        }
    }

    /// Returns the addresses of the function at an address of a file.
    pub fn find(&self, file: u32, address: u64) -> Option<Range<u64>> {
        let all = self.by_file.get(&file)?;
        let last = all.partition_point(|range| range.start <= address).checked_sub(1)?;
        all.get(last).filter(|range| range.contains(&address)).cloned()
    }

    /// Returns the addresses of all functions of a file, in ascending order.
    pub fn of_file(&self, file: u32) -> &[Range<u64>] {
        self.by_file.get(&file).map_or(&[], Vec::as_slice)
    }
}

/// Returns the addresses of functions that begin at `starts`.
fn ranges(image: &Image, file: u32, starts: &BTreeSet<u64>) -> Vec<Range<u64>> {
    let functions = image.files().nth(file as usize).map(|file| file.functions()).unwrap_or_default();
    let end = |start: u64| {
        let next = starts.range(start.saturating_add(1)..).next().copied();
        let named = functions.partition_point(|function| function.range.start <= start);
        let named = functions.get(named).map(|function| function.range.start);
        let region = image.region(start, Image::space_of(file));
        let section =
            region.as_ref().and_then(|region| region.section(start)).map(|section| section.range.end);
        let region = region.map(|region| region.range().end);
        [next, named, section, region].into_iter().flatten().min().unwrap_or(start)
    };
    starts.iter().map(|&start| start..end(start)).collect()
}
