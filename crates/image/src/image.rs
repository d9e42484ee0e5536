use std::ops::Range;

use tracewright_core::{Context, MemorySpace};

use crate::builder::Builder;
use crate::file::File;
use crate::processes::{Moment, Processes};
use crate::region::{Region, RegionRef};
use crate::remark::{Overlap, Remark};
use crate::spaces::Spaces;
use crate::symbols::Symbols;

/// The memory of a program: which bytes were at which address, in which memory space.
///
/// Does not change once it is built, and can be shared between threads. See the [crate] for an example.
#[derive(Debug)]
pub struct Image {
    pub(crate) files: Vec<File>,
    pub(crate) regions: Vec<Region>,
    /// Whose the bytes at an address are.
    memory: Spaces,
    /// The ELF files at an address: also where a raw dump hides their bytes, they tell symbols and lines.
    pub(crate) programs: Spaces,
    remarks: Vec<Remark>,
    /// By number of a process's memory, from 1 on.
    owned: Vec<Owned>,
    processes: Processes,
}

/// What is in the memory of one process only.
#[derive(Debug)]
struct Owned {
    memory: Spaces,
    /// The number of the memory that counts where there is nothing; 0 for none.
    inherited: u32,
}

/// The target of branches of which nobody knows where they go. No image has code there.
pub const UNKNOWN_TARGET: u64 = u64::MAX;

/// Whoever builds images keeps chains of processes short.
const MOST_INHERITED: usize = 64;

impl Image {
    /// Starts an image without anything in it.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(builder: Builder) -> Self {
        let Builder { files, regions, mut remarks, inherited, processes } = builder;
        // What is no process's in particular.
        let common = |region: &Region| {
            let range = if region.space.process() == 0 { region.range.clone() } else { 0..0 };
            (range, region.space)
        };
        let all: Vec<_> = regions.iter().map(common).collect();
        let (memory, hidden) = Spaces::new(&all);
        let name = |region: u32| files[regions[region as usize].file as usize].name.clone();
        remarks.extend(hidden.iter().map(|hidden| {
            let range = regions[hidden.claim as usize].range.clone();
            Remark::Overlap(Overlap { name: name(hidden.claim), range, by: name(hidden.by), at: hidden.at })
        }));
        let programs = all.into_iter().zip(&regions).map(|((range, space), region)| {
            let is_elf = files[region.file as usize].elf.is_some();
            (if is_elf { range } else { 0..0 }, space)
        });
        let (programs, _) = Spaces::new(&programs.collect::<Vec<_>>());
        let owned = owned(&regions, &inherited);
        Self { files, regions, memory, programs, remarks, owned, processes }
    }

    /// The bytes around `address` that lie together, and the address of the first of them: something to keep while
    /// asking about addresses nearby. `None` if nothing is known of `address`.
    #[inline]
    pub fn lookup(&self, address: u64, space: MemorySpace) -> Option<(u64, &[u8])> {
        let (range, region) = self.find(&self.memory, address, space)?;
        let region = &self.regions[region as usize];
        Some((range.start, region.bytes(&self.files[region.file as usize], &range)?))
    }

    /// The bytes from `address` on, up to where their region ends or another begins; empty if none is known. More may
    /// follow in the next region: ask again there, or see [`read_into`](Self::read_into).
    #[inline]
    pub fn read(&self, address: u64, space: MemorySpace) -> &[u8] {
        match self.lookup(address, space) {
            Some((start, bytes)) => bytes.get((address - start) as usize..).unwrap_or_default(),
            None => &[],
        }
    }

    /// Copies the bytes from `address` on into `buffer`, across regions, until one is unknown. Returns how many.
    pub fn read_into(&self, address: u64, space: MemorySpace, buffer: &mut [u8]) -> usize {
        let mut len = 0;
        while len < buffer.len()
            && let Some(at) = address.checked_add(len as u64)
        {
            let bytes = self.read(at, space);
            let some = bytes.len().min(buffer.len() - len);
            if some == 0 {
                break;
            }
            buffer[len..len + some].copy_from_slice(&bytes[..some]);
            len += some;
        }
        len
    }

    /// Who has the bytes at `address`: `common` says what is no process's in particular, which counts first.
    #[inline]
    fn find(&self, common: &Spaces, address: u64, space: MemorySpace) -> Option<(Range<u64>, u32)> {
        match space.process() {
            0 => common.find(address, space),
            _ => self.find_owned(common, address, space),
        }
    }

    fn find_owned(&self, common: &Spaces, address: u64, space: MemorySpace) -> Option<(Range<u64>, u32)> {
        let (mut range, mut owner) = common.find_or_gap(address, space);
        let mut number = space.process();
        for _ in 0..MOST_INHERITED {
            let of = number.checked_sub(1).and_then(|index| self.owned.get(index as usize));
            let Some(of) = of.filter(|_| owner.is_none()) else { break };
            let (here, found) = of.memory.find_or_gap(address, space);
            range = range.start.max(here.start)..range.end.min(here.end);
            (owner, number) = (found, of.inherited);
        }
        owner.map(|owner| (range, owner))
    }

    /// The ELF file at `address`: also where a raw dump hides its bytes.
    pub(crate) fn program(&self, address: u64, space: MemorySpace) -> Option<&Region> {
        let (_, region) = self.find(&self.programs, address, space)?;
        Some(&self.regions[region as usize])
    }

    /// What has the bytes at `address`.
    pub(crate) fn owner(&self, address: u64, space: MemorySpace) -> Option<&Region> {
        let (_, region) = self.find(&self.memory, address, space)?;
        Some(&self.regions[region as usize])
    }

    /// Whether the code at `address` is of a relocatable file (a kernel module) and only its loader knew what it became: a branch
    /// there leads to [`UNKNOWN_TARGET`].
    pub fn is_unrelocated(&self, address: u64, space: MemorySpace) -> bool {
        let Some(region) = self.owner(address, space) else { return false };
        let Some((elf, bias)) = self.files[region.file as usize].elf.as_ref().zip(region.bias) else {
            return false;
        };
        elf.unrelocated.binary_search(&address.wrapping_sub(bias)).is_ok()
    }

    /// The memory space of code that runs in `context`: whose it is, where each process has its own.
    #[inline]
    pub fn space(&self, context: &Context, moment: &Moment) -> MemorySpace {
        if self.processes.is_empty() {
            return context.space();
        }
        context.space().of_process(self.processes.number_in(context, moment))
    }

    /// The region whose bytes are at `address`.
    pub fn region(&self, address: u64, space: MemorySpace) -> Option<RegionRef<'_>> {
        let (_, region) = self.find(&self.memory, address, space)?;
        let region = self.region_ref(&self.regions[region as usize]);
        region.file.absent.is_none().then_some(region)
    }

    /// What was at `address` though there are no bytes of it: its name, and why.
    pub fn absent(&self, address: u64, space: MemorySpace) -> Option<(&str, &str)> {
        let (_, region) = self.find(&self.memory, address, space)?;
        let file = &self.files[self.regions[region as usize].file as usize];
        file.absent.as_ref().map(|why| (&*file.name, &**why))
    }

    /// All files of which there are no bytes, with the reason.
    pub fn absences(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((&*file.name, file.absent.as_deref()?)))
    }

    /// All regions in the order they were added.
    pub fn regions(&self) -> impl Iterator<Item = RegionRef<'_>> + Clone {
        let regions = self.regions.iter().map(|region| self.region_ref(region));
        regions.filter(|region| region.file.absent.is_none())
    }

    fn region_ref<'a>(&'a self, region: &'a Region) -> RegionRef<'a> {
        RegionRef { file: &self.files[region.file as usize], region }
    }

    /// What is not as it should be: overlaps, files cut off.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Returns each file with source lines that were left out because they would take too much memory, and in how many of its
    /// compilation units. Only units that were asked about count.
    pub fn lines_left_out(&self) -> impl Iterator<Item = (&str, usize)> {
        let files = self.files.iter().map(|file| (&*file.name, file.lines_left_out()));
        files.filter(|(_, units)| *units > 0)
    }

    /// The symbols and source lines of the ELF files. Nothing is read before the first question.
    pub fn symbols(&self) -> Symbols<'_> {
        Symbols::new(self)
    }
}

/// The memory of each process: of what was put to one address, what was put there first.
fn owned(regions: &[Region], inherited: &[u32]) -> Vec<Owned> {
    let mut of: Vec<Vec<u32>> = inherited.iter().map(|_| Vec::new()).collect();
    for (index, region) in (0..).zip(regions) {
        let number = region.space.process().checked_sub(1);
        if let Some(of) = number.and_then(|number| of.get_mut(number as usize)) {
            of.push(index);
        }
    }
    let owned = of.into_iter().zip(inherited).map(|(members, &inherited)| {
        let claim = |&index: &u32| (regions[index as usize].range.clone(), regions[index as usize].space);
        let (mut memory, _) = Spaces::new(&members.iter().map(claim).collect::<Vec<_>>());
        memory.renumber(&members);
        Owned { memory, inherited }
    });
    owned.collect()
}
