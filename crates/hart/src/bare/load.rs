//! Loads programs into memory.

use std::fmt;

use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, elf};

use crate::memory::{Memory, Rights};
use crate::state::Core;

use super::{Options, rom};

/// A program in memory.
pub(super) struct Loaded {
    pub core: Core,
    pub tohost: Option<u64>,
    pub fromhost: Option<u64>,
}

/// Error of loading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError(pub String);

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

/// Memory added around segments that are not at 0x8000_0000, for stacks and heaps without a segment.
const AROUND: u64 = 16 << 20;
const RAM: u64 = 0x8000_0000;
/// Maximum size of program headers in bytes, as in Linux.
pub(crate) const MOST_HEADERS: usize = 1 << 16;

pub(super) fn load(bytes: &[u8], options: &Options) -> Result<Loaded, LoadError> {
    match bytes.get(4) {
        Some(1) => load_class::<elf::FileHeader32<Endianness>>(bytes, options, true),
        _ => load_class::<elf::FileHeader64<Endianness>>(bytes, options, false),
    }
}

/// Returns whether a program is made for a bare machine: it has `tohost`, it is RV32, or it is linked to the memory of
/// this machine.
pub fn is_for_it(bytes: &[u8]) -> bool {
    if bytes.get(4) == Some(&1) {
        return true;
    }
    let little = Endianness::Little;
    let Ok(header) = elf::FileHeader64::<Endianness>::parse(bytes) else { return false };
    let Ok(segments) = header.program_headers(little, bytes) else { return false };
    let at_ram = header.e_entry(little) >= RAM
        && segments.iter().all(|header| header.p_type(little) != elf::PT_INTERP);
    header.e_machine(little) == elf::EM_RISCV
        && (at_ram || symbols(header, little, bytes).is_ok_and(|[tohost, _]| tohost.is_some()))
}

/// Returns the addresses of `tohost` and `fromhost`. Names are compared in place, since a file can have many that never end.
fn symbols<H: FileHeader<Endian = Endianness>>(
    header: &H,
    endian: Endianness,
    bytes: &[u8],
) -> Result<[Option<u64>; 2], LoadError> {
    let sections = header.sections(endian, bytes).map_err(error)?;
    let symbols = sections.symbols(endian, bytes, elf::SHT_SYMTAB).map_err(error)?;
    let names = match sections.section(symbols.string_section()) {
        Ok(section) => section.data(endian, bytes).map_err(error)?,
        Err(_) => &[],
    };
    Ok([&b"tohost\0"[..], b"fromhost\0"].map(|wanted| {
        let is_wanted = |symbol: &&H::Sym| {
            names.get(symbol.st_name(endian) as usize..).is_some_and(|name| name.starts_with(wanted))
        };
        symbols.iter().find(is_wanted).map(|symbol| symbol.st_value(endian).into())
    }))
}

fn error(error: object::Error) -> LoadError {
    LoadError(format!("is no ELF file that can be read: {error}"))
}

fn load_class<H: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    options: &Options,
    is_rv32: bool,
) -> Result<Loaded, LoadError> {
    let header = H::parse(bytes).map_err(error)?;
    let endian = header.endian().map_err(error)?;
    if header.e_machine(endian) != elf::EM_RISCV {
        return Err(LoadError(format!("is for another machine (ELF machine {})", header.e_machine(endian))));
    }
    if endian != Endianness::Little {
        return Err(LoadError("is for a big-endian machine; this one is little-endian".into()));
    }
    let mut memory = Memory::new(options.limit);
    let segments = header.program_headers(endian, bytes).map_err(error)?;
    if size_of_val(segments) > MOST_HEADERS {
        let count = segments.len();
        return Err(LoadError(format!("has {count} program headers; no program needs so many")));
    }
    let mut regions = vec![(RAM, RAM.saturating_add(options.memory))];
    regions.extend(options.more_memory.iter().map(|&(start, size)| (start, start.saturating_add(size))));
    let wanted = segments.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let bounds = |segment: &H::ProgramHeader| {
        let (start, size): (u64, u64) = (segment.p_paddr(endian).into(), segment.p_memsz(endian).into());
        (start, start.saturating_add(size))
    };
    for (start, end) in wanted.clone().map(bounds) {
        if !regions.iter().any(|&(from, to)| from <= start && end <= to) {
            regions.push((start / AROUND * AROUND, end.saturating_add(AROUND)));
        }
    }
    // All regions are mapped before anything is loaded, so that none clears the bytes of another.
    for (start, end) in regions {
        memory.map(start, end - start, Rights::ALL);
    }
    // A program at the ROM's address starts without the ROM.
    let is_over_rom = |(start, end)| start < rom::START + rom::SIZE && end > rom::START;
    let has_rom = !wanted.clone().map(bounds).any(is_over_rom);
    if has_rom {
        memory.map(rom::START, rom::SIZE, Rights::ALL);
    }
    for segment in wanted {
        let data = segment.data(endian, bytes).map_err(|()| {
            let (at, len): (u64, u64) = (segment.p_offset(endian).into(), segment.p_filesz(endian).into());
            LoadError(format!("is cut short: a segment's {len:#x} bytes at {at:#x} are not all there"))
        })?;
        let start: u64 = segment.p_paddr(endian).into();
        memory
            .load(start, data)
            .map_err(|_| LoadError(format!("needs memory at {start:#x}, and there is none; see --memory")))?;
    }
    let entry = header.e_entry(endian).into();
    if has_rom {
        let rom = rom::rom(is_rv32, entry, options.memory, options.pmp_regions);
        let _ = memory.load(rom::START, &rom);
    }
    let [tohost, fromhost] = symbols(header, endian, bytes)?;
    let mut core = Core::new(is_rv32, memory);
    core.pc = core.address(options.entry.unwrap_or(if has_rom { rom::START } else { entry }));
    Ok(Loaded { core, tohost, fromhost })
}
