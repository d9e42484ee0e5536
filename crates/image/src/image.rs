use tracewright_core::MemorySpace;

use crate::builder::Builder;
use crate::file::File;
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
}

impl Image {
    /// Starts an image without anything in it.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(builder: Builder) -> Self {
        let Builder { files, regions, mut remarks } = builder;
        let all: Vec<_> = regions.iter().map(|region| (region.range.clone(), region.space)).collect();
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
        Self { files, regions, memory, programs, remarks }
    }

    /// The bytes around `address` that lie together, and the address of the first of them: something to keep while
    /// asking about addresses nearby. `None` if nothing is known of `address`.
    #[inline]
    pub fn lookup(&self, address: u64, space: MemorySpace) -> Option<(u64, &[u8])> {
        let (range, region) = self.memory.find(address, space)?;
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

    /// The region whose bytes are at `address`.
    pub fn region(&self, address: u64, space: MemorySpace) -> Option<RegionRef<'_>> {
        let (_, region) = self.memory.find(address, space)?;
        Some(self.region_ref(&self.regions[region as usize]))
    }

    /// All regions in the order they were added.
    pub fn regions(&self) -> impl Iterator<Item = RegionRef<'_>> + Clone {
        self.regions.iter().map(|region| self.region_ref(region))
    }

    fn region_ref<'a>(&'a self, region: &'a Region) -> RegionRef<'a> {
        RegionRef { file: &self.files[region.file as usize], region }
    }

    /// What is not as it should be: overlaps, files cut off.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// The symbols and source lines of the ELF files. Nothing is read before the first question.
    pub fn symbols(&self) -> Symbols<'_> {
        Symbols::new(self)
    }
}
