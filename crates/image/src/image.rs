use std::ops::Range;
use std::sync::Arc;

use tracewright_core::{Context, Isa, MemorySpace};

use crate::builder::Builder;
use crate::elf::Elf;
use crate::error::{Overlap, Remark};
use crate::file::File;
use crate::halves::Halves;
use crate::pieces::Spaces;
use crate::processes::{Moment, Processes};
use crate::region::{Region, RegionRef};
use crate::symbols::Symbols;

/// Memory of a program: the bytes at each address of each memory space.
///
/// An image is immutable and can be shared between threads. See the [crate] for an example.
#[derive(Debug)]
pub struct Image {
    pub(crate) files: Vec<Arc<File>>,
    pub(crate) regions: Vec<Region>,
    /// Owner of the bytes at each address.
    memory: Spaces,
    /// ELF file at each address. It gives symbols and lines even where a raw dump hides its bytes.
    pub(crate) programs: Spaces,
    remarks: Vec<Remark>,
    /// Memory of processes, by number, from 1 on.
    owned: Vec<Owned>,
    processes: Processes,
}

#[derive(Debug)]
struct Owned {
    memory: Spaces,
    /// Number of the memory it falls back to; 0 for none.
    inherited: u32,
}

/// Target of branches whose destination is unknown. No image has code there.
pub const UNKNOWN_TARGET: u64 = u64::MAX;

/// Longest chain of inherited memories; builders keep chains short.
const MOST_INHERITED: usize = 64;

impl Image {
    /// Creates a builder for an empty image.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Creates a builder with all that this image has, to add more. They share the files.
    pub fn to_builder(&self) -> Builder {
        // Overlaps are found again.
        let is_kept = |remark: &&Remark| !matches!(remark, Remark::Overlap(_));
        Builder {
            files: self.files.clone(),
            regions: self.regions.clone(),
            remarks: self.remarks.iter().filter(is_kept).cloned().collect(),
            inherited: self.owned.iter().map(|owned| owned.inherited).collect(),
            processes: self.processes.clone(),
        }
    }

    pub(crate) fn new(builder: Builder) -> Self {
        let Builder { files, regions, mut remarks, inherited, processes } = builder;
        // Regions that belong to no particular process.
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

    /// Returns the thread that runs in a context, where the context or `moment` tells it.
    pub fn thread(&self, context: Option<&Context>, moment: &Moment) -> Option<u32> {
        self.processes.thread_in(context, moment)
    }

    /// Returns the process that a thread belongs to at a time, where mapping records tell it: its index, in the order in which processes
    /// were added.
    pub fn process(&self, thread: u32, time: u64) -> Option<u32> {
        self.processes.process(thread, time)
    }

    /// Returns the contiguous bytes around `address` and the address of the first. Keep them to look up
    /// nearby addresses. Returns `None` if `address` is unknown.
    #[inline]
    pub fn lookup(&self, address: u64, space: MemorySpace) -> Option<(u64, &[u8])> {
        let (range, region) = self.find(address, space)?;
        let region = &self.regions[region as usize];
        Some((range.start, region.bytes(&self.files[region.file as usize], &range)?))
    }

    /// Returns the bytes from `address` on, up to the end of their region or the start of another; empty if
    /// unknown. More may follow in the next region: call it again there, or use
    /// [`read_into`](Self::read_into).
    #[inline]
    pub fn read(&self, address: u64, space: MemorySpace) -> &[u8] {
        match self.lookup(address, space) {
            Some((start, bytes)) => bytes.get((address - start) as usize..).unwrap_or_default(),
            None => &[],
        }
    }

    /// Copies the bytes from `address` on to `buffer`, across regions, up to the first unknown byte. Returns
    /// the number of bytes.
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

    /// Finds the owner of the bytes at `address`. Regions of no particular process come first.
    #[inline]
    fn find(&self, address: u64, space: MemorySpace) -> Option<(Range<u64>, u32)> {
        match space.process() {
            0 => self.memory.find(address, space),
            _ => self.find_owned(&self.memory, address, space, |_| true),
        }
    }

    /// Finds the first region at `address` that is accepted, in `common` and then in the memory of the process and
    /// those that it inherits.
    fn find_owned(
        &self,
        common: &Spaces,
        address: u64,
        space: MemorySpace,
        accept: impl Fn(&Region) -> bool,
    ) -> Option<(Range<u64>, u32)> {
        let accept = |region: &u32| accept(&self.regions[*region as usize]);
        let (mut range, owner) = common.find_or_gap(address, space);
        let mut owner = owner.filter(accept);
        let mut number = space.process();
        for _ in 0..MOST_INHERITED {
            let of = number.checked_sub(1).and_then(|index| self.owned.get(index as usize));
            let Some(of) = of.filter(|_| owner.is_none()) else { break };
            let (here, found) = of.memory.find_or_gap(address, space);
            range = range.start.max(here.start)..range.end.min(here.end);
            (owner, number) = (found.filter(accept), of.inherited);
        }
        owner.map(|owner| (range, owner))
    }

    /// Returns the ELF file at `address`, even where a raw dump or a patch hides its bytes.
    pub(crate) fn program(&self, address: u64, space: MemorySpace) -> Option<&Region> {
        let is_program = |region: &Region| !self.files[region.file as usize].is_patch;
        let (_, region) = match space.process() {
            0 => self.programs.find(address, space),
            _ => self.find_owned(&self.programs, address, space, is_program),
        }?;
        Some(&self.regions[region as usize])
    }

    /// Returns the region that has the bytes at `address`.
    pub(crate) fn owner(&self, address: u64, space: MemorySpace) -> Option<&Region> {
        let (_, region) = self.find(address, space)?;
        Some(&self.regions[region as usize])
    }

    /// Returns whether the code at `address` belongs to a relocatable file (a kernel module) and only its
    /// loader knew the final instruction. A branch there leads to [`UNKNOWN_TARGET`].
    pub fn is_unrelocated(&self, address: u64, space: MemorySpace) -> bool {
        let found = self.elf_of(address, space);
        found.is_some_and(|(elf, bias)| elf.unrelocated.binary_search(&address.wrapping_sub(bias)).is_ok())
    }

    /// Returns whether the code at `address` belongs to a RISC-V program with Zcmp or Zcmt, whose instructions are C.FSDSP in others.
    pub fn has_zcm(&self, address: u64, space: MemorySpace) -> bool {
        self.elf_of(address, space).is_some_and(|(elf, _)| elf.zcm.is_some())
    }

    /// Returns the address of the table for jumps (Zcmt) of the program that has the code at `address`, if it has one.
    pub fn jump_table(&self, address: u64, space: MemorySpace) -> Option<u64> {
        let (elf, bias) = self.elf_of(address, space)?;
        Some(elf.zcm?.table?.wrapping_add(bias))
    }

    /// Returns the ELF file that has the code at `address`, and the offset from its linked to its loaded addresses.
    fn elf_of(&self, address: u64, space: MemorySpace) -> Option<(&Elf, u64)> {
        let region = self.owner(address, space)?;
        self.files[region.file as usize].elf.as_ref().zip(region.bias)
    }

    /// Returns the memory space of code that runs in `context`, including its process where each has its own
    /// memory.
    #[inline]
    pub fn space(&self, context: &Context, moment: &Moment) -> MemorySpace {
        if self.processes.is_empty() {
            return context.space();
        }
        context.space().of_process(self.processes.number_in(context, moment))
    }

    /// Returns the memory spaces of the code of a RISC-V hart in `context`.
    pub fn halves(&self, context: &Context, isa: Isa, moment: &Moment) -> Halves {
        Halves::new(&self.processes, context, isa, moment)
    }

    /// Returns the region whose bytes are at `address`.
    pub fn region(&self, address: u64, space: MemorySpace) -> Option<RegionRef<'_>> {
        let region = self.region_ref(self.owner(address, space)?);
        region.file.absent.is_none().then_some(region)
    }

    /// Returns name and reason of the file at `address` whose bytes are missing.
    pub fn absent(&self, address: u64, space: MemorySpace) -> Option<(&str, &str)> {
        let file = &self.files[self.owner(address, space)?.file as usize];
        file.absent.as_ref().map(|why| (&*file.name, &**why))
    }

    /// Returns name and reason of all files whose bytes are missing.
    pub fn absences(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((&*file.name, file.absent.as_deref()?)))
    }

    /// Returns all regions in the order in which they were added.
    pub fn regions(&self) -> impl Iterator<Item = RegionRef<'_>> + Clone {
        let regions = self.regions.iter().map(|region| self.region_ref(region));
        regions.filter(|region| region.file.absent.is_none())
    }

    fn region_ref<'a>(&'a self, region: &'a Region) -> RegionRef<'a> {
        RegionRef { file: &self.files[region.file as usize], region }
    }

    /// Returns remarks on oddities such as overlaps and truncated files.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Returns each file whose source lines were left out to save memory, with the number of affected
    /// compilation units. Only units that were queried count.
    pub fn lines_left_out(&self) -> impl Iterator<Item = (&str, usize)> {
        let files = self.files.iter().map(|file| (&*file.name, file.lines_left_out()));
        files.filter(|(_, units)| *units > 0)
    }

    /// Returns each file with compressed debug information that cannot be unpacked, with the section and the reason.
    /// Only files that were queried count.
    pub fn damaged_lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((&*file.name, file.lines_fault()?)))
    }

    /// Returns the symbols and source lines of the ELF files. Nothing is read before the first query.
    pub fn symbols(&self) -> Symbols<'_> {
        Symbols::new(self)
    }
}

/// Builds the memory of each process; the region added first wins.
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
