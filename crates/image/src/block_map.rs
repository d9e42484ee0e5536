//! Basic blocks as the compiler numbered them: LLVM's section `.llvm_bb_addr_map` (`clang -fbasic-block-address-map`).

use std::error;
use std::fmt;
use std::ops::Range;

use gimli::{EndianSlice, LittleEndian, Reader};
use object::elf::SectionType;

use crate::elf::Elf;

/// Type of the section (`SHT_LLVM_BB_ADDR_MAP`).
const BLOCK_MAP: SectionType = SectionType(0x6fff_4c0a);

/// Features of a function's entry.
const ENTRY_COUNT: u8 = 1 << 0;
const FREQUENCIES: u8 = 1 << 1;
const PROBABILITIES: u8 = 1 << 2;
const SEVERAL_RANGES: u8 = 1 << 3;
const KNOWN: u8 = ENTRY_COUNT | FREQUENCIES | PROBABILITIES | SEVERAL_RANGES;

/// Function whose basic blocks are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedFunction {
    /// Address of its first instruction, as linked.
    pub start: u64,
    /// Its blocks, in the order of the section.
    pub blocks: Vec<MappedBlock>,
}

/// Basic block of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedBlock {
    /// Number that the compiler gave it; that of the entry is 0.
    pub id: u32,
    /// Addresses of its instructions, as linked.
    pub range: Range<u64>,
}

/// Reason why the map of a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockMapError {
    /// Entry of an unknown version or with unknown features.
    Unknown {
        /// Version.
        version: u8,
        /// Features, a bit each.
        features: u8,
    },
    /// Section that ends within an entry or has impossible numbers.
    Damaged,
}

impl fmt::Display for BlockMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { version, features } => {
                write!(f, "its basic-block address map is of version {version}, features {features:#x}: ")?;
                f.write_str("versions 1 and 2 (LLVM 15 to 20) are read")
            }
            Self::Damaged => f.write_str("its basic-block address map is damaged"),
        }
    }
}

impl error::Error for BlockMapError {}

impl From<gimli::Error> for BlockMapError {
    fn from(_: gimli::Error) -> Self {
        Self::Damaged
    }
}

/// Reads the maps of a linked file; there are none if it was compiled without.
pub(crate) fn read(elf: &Elf, file: &[u8]) -> Result<Vec<MappedFunction>, BlockMapError> {
    let mut functions = Vec::new();
    for section in elf.sections.iter().filter(|section| section.kind == BLOCK_MAP && section.is_plain()) {
        let bytes = section.bytes(file).ok_or(BlockMapError::Damaged)?;
        let mut input = EndianSlice::new(bytes, LittleEndian);
        while !input.is_empty() {
            functions.push(function(&mut input, elf.wide)?);
        }
    }
    Ok(functions)
}

fn function(input: &mut EndianSlice<'_, LittleEndian>, wide: bool) -> Result<MappedFunction, BlockMapError> {
    let (version, features) = (input.read_u8()?, input.read_u8()?);
    if !(1..=2).contains(&version) || features & !KNOWN != 0 {
        return Err(BlockMapError::Unknown { version, features });
    }
    let ranges = if features & SEVERAL_RANGES != 0 { input.read_uleb128()? } else { 1 };
    let (mut start, mut blocks) = (None, Vec::new());
    for _ in 0..ranges {
        let base = input.read_address(if wide { 8 } else { 4 })?;
        start.get_or_insert(base);
        let mut end = base;
        for index in 0..input.read_uleb128()? {
            let id = if version >= 2 { input.read_uleb128()? } else { index };
            let id = u32::try_from(id).map_err(|_| BlockMapError::Damaged)?;
            // What comes last is whether it returns, falls through, and the like.
            let (gap, size, _) = (input.read_uleb128()?, input.read_uleb128()?, input.read_uleb128()?);
            let block_start = end.checked_add(gap).ok_or(BlockMapError::Damaged)?;
            end = block_start.checked_add(size).ok_or(BlockMapError::Damaged)?;
            blocks.push(MappedBlock { id, range: block_start..end });
        }
    }
    if features & ENTRY_COUNT != 0 {
        input.read_uleb128()?;
    }
    for _ in 0..if features & (FREQUENCIES | PROBABILITIES) != 0 { blocks.len() } else { 0 } {
        if features & FREQUENCIES != 0 {
            input.read_uleb128()?;
        }
        for _ in 0..if features & PROBABILITIES != 0 { input.read_uleb128()? } else { 0 } {
            input.read_uleb128()?;
            input.read_uleb128()?;
        }
    }
    Ok(MappedFunction { start: start.ok_or(BlockMapError::Damaged)?, blocks })
}
