//! Relocatable files (kernel modules): their sections get addresses, and their branches are relocated.
//!
//! Only branches matter when code is followed. A branch whose target the file determines (a symbol in a
//! loaded section, at a distance that no loader changes) is written into a copy of the file. All other places
//! that a loader would change are listed, so that no branch there is followed.

use std::collections::HashMap;
use std::ops::Range;

use object::elf;

use super::patch::{self, Target};
use super::tables::Relocation;
use super::{Elf, Section, Segment};
use crate::error::Reason;

/// Larger files are not copied; none of their branches is relocated.
const LARGEST: usize = 1 << 28;
/// Most pieces of replaced code that are cut out of segments; segments end behind the last one.
const MOST_REPLACED: usize = 1 << 16;

/// Gives an address to the sections that are loaded, and makes segments of them.
///
/// Addresses that a linker has given are kept. Otherwise `.text` is at 0, and the other sections with code
/// follow in file order with their alignment, as Linux loads modules. Sections before `.text`, start-up code
/// (`.init`) and data are not loaded: only the kernel knows their addresses.
pub(super) fn lay_out(elf: &mut Elf) {
    let code = |section: &Section| section.loaded && section.executable();
    if !elf.sections.iter().any(|section| section.loaded && section.address != 0) {
        let first = elf.sections.iter().position(|section| code(section) && &*section.name == ".text");
        let first =
            first.or_else(|| elf.sections.iter().position(|section| code(section) && section.is_in_file()));
        let mut end = 0_u64;
        for (index, section) in elf.sections.iter_mut().enumerate() {
            section.loaded = code(section)
                && section.is_in_file()
                && first.is_some_and(|first| index >= first)
                && !section.name.starts_with(".init");
            if section.loaded {
                let align = section.align.max(1);
                section.address = end.checked_next_multiple_of(align).unwrap_or(end);
                end = section.addresses().end;
            }
        }
    }
    let loaded =
        elf.sections.iter().filter(|section| section.loaded && section.is_in_file() && section.len > 0);
    elf.segments = loaded
        .map(|section| Segment {
            address: section.address,
            offset: section.offset,
            len: section.len,
            executable: section.executable(),
        })
        .collect();
}

/// Symbol as relocations need it.
#[derive(Clone, Copy)]
struct Symbol {
    value: u64,
    section: Option<usize>,
    function: bool,
}

/// Symbol tables that relocations use, by section, each read once.
type Symbols = HashMap<u32, Vec<Symbol>>;

/// Applies the relocations that the file determines and lists the rest in [`Elf::unrelocated`]. Returns the
/// changed copy of the file, if anything changed.
///
/// # Errors
/// Fails if tables share their bytes, because reading all of them could take arbitrarily long.
pub(super) fn relocate(elf: &mut Elf, file: &[u8]) -> Result<Option<Vec<u8>>, Reason> {
    const TABLES: [elf::SectionType; 4] = [elf::SHT_RELA, elf::SHT_REL, elf::SHT_SYMTAB, elf::SHT_DYNSYM];
    let tables = elf.sections.iter().filter(|section| TABLES.contains(&section.kind));
    let len = tables
        .filter_map(|table| table.bytes(file))
        .fold(0, |sum: usize, bytes| sum.saturating_add(bytes.len()));
    if len > file.len() {
        return Err(Reason::Malformed("its relocations and symbols are longer than the file"));
    }
    let mut copy: Option<Vec<u8>> = None;
    let mut unrelocated = Vec::new();
    let mut symbols = Symbols::new();
    for (table, section) in elf.relocation_tables() {
        if !section.loaded || !section.executable() {
            continue;
        }
        let symbols = elf.symbols_of(&mut symbols, table, file);
        for relocation in elf.relocations(table, file) {
            if patch::changes_nothing(elf.machine, relocation.kind) {
                continue;
            }
            let place = section.address.wrapping_add(relocation.offset);
            let target = elf.target(symbols, &relocation).filter(|_| file.len() <= LARGEST);
            let applied = target.and_then(|target| {
                let at = usize::try_from(section.offset.checked_add(relocation.offset)?).ok()?;
                let bytes = copy.as_deref().unwrap_or(file).get(at..)?;
                let in_section = usize::try_from(section.len.checked_sub(relocation.offset)?).ok()?;
                // No branch is longer than two words.
                let mut code = [0; 8];
                let code = code.get_mut(..bytes.len().min(in_section).min(8))?;
                code.copy_from_slice(&bytes[..code.len()]);
                let is_rela = table.kind == elf::SHT_RELA;
                patch::branch(elf.machine, &relocation, is_rela, place, target, code)?;
                let copy = copy.get_or_insert_with(|| file.to_vec());
                copy[at..][..code.len()].copy_from_slice(code);
                Some(())
            });
            if applied.is_none() {
                unrelocated.push(place);
            }
        }
    }
    unrelocated.sort_unstable();
    unrelocated.dedup();
    let replaced = replaced(elf, &mut symbols, file);
    elf.unrelocated = unrelocated;
    leave_out(&mut elf.segments, &replaced);
    Ok(copy)
}

impl Elf {
    /// Returns the relocation tables, each with the section that it applies to.
    fn relocation_tables(&self) -> impl Iterator<Item = (&Section, &Section)> {
        let tables = self.sections.iter().filter(|table| [elf::SHT_RELA, elf::SHT_REL].contains(&table.kind));
        tables.filter_map(|table| Some((table, self.sections.get(table.info as usize)?)))
    }

    /// Returns the symbols that the relocations of `table` use.
    fn symbols_of<'a>(&self, symbols: &'a mut Symbols, table: &Section, file: &[u8]) -> &'a [Symbol] {
        symbols.entry(table.link).or_insert_with(|| {
            let Some(symbols) = self.sections.get(table.link as usize) else { return Vec::new() };
            let symbol = |symbol: super::Symbol<'_>| Symbol {
                value: symbol.value,
                section: symbol.section.index().map(usize::from),
                function: symbol.kind == elf::STT_FUNC,
            };
            self.symbols(symbols, file).map(symbol).collect()
        })
    }

    /// Returns the address of a relocation's symbol, if its section is loaded.
    fn target(&self, symbols: &[Symbol], relocation: &Relocation) -> Option<Target> {
        let symbol = symbols.get(relocation.symbol as usize)?;
        let section = self.sections.get(symbol.section?).filter(|section| section.loaded)?;
        let is_thumb = (symbol.function && self.machine == elf::EM_ARM).then_some(symbol.value & 1 == 1);
        let value = if is_thumb == Some(true) { symbol.value & !1 } else { symbol.value };
        let address = section.address.wrapping_add(value).wrapping_add(relocation.addend);
        Some(Target { address, is_thumb })
    }
}

/// Returns the code that the kernel may replace when it loads the file, if the old or the new code is a
/// branch: alternatives for processor features. The ranges are sorted and disjoint.
fn replaced(elf: &Elf, symbols: &mut Symbols, file: &[u8]) -> Vec<Range<u64>> {
    // An entry has the offsets of the code and of its replacement, two bytes or more that name a feature, and
    // lengths.
    let entry_len = match elf.machine {
        elf::EM_AARCH64 => 12,
        elf::EM_RISCV => 16,
        _ => return Vec::new(),
    };
    let mut replaced = Vec::new();
    for (table, section) in elf.relocation_tables() {
        if &*section.name != ".altinstructions" {
            continue;
        }
        let symbols = elf.symbols_of(symbols, table, file);
        let place = |relocation: &Relocation| {
            let symbol = symbols.get(relocation.symbol as usize)?;
            Some((symbol.section?, symbol.value.wrapping_add(relocation.addend)))
        };
        let mut places = HashMap::new();
        // What relocations add to the lengths (RISC-V).
        let mut added: HashMap<u64, u16> = HashMap::new();
        for relocation in elf.relocations(table, file) {
            let value = place(&relocation).map_or(0, |(_, value)| value as u16);
            let (offset, kind) = (relocation.offset, relocation.kind);
            let mut add = |value: u16| {
                let sum = added.entry(offset).or_default();
                *sum = sum.wrapping_add(value);
            };
            match kind {
                elf::R_RISCV_ADD16 if elf.machine == elf::EM_RISCV => add(value),
                elf::R_RISCV_SUB16 if elf.machine == elf::EM_RISCV => add(value.wrapping_neg()),
                // Second half of a distance: where it is counted from.
                elf::R_RISCV_SUB32 if elf.machine == elf::EM_RISCV => {}
                _ => _ = places.insert(offset, place(&relocation)),
            }
        }
        let code_at = |offset: u64| {
            let (section, offset) = (*places.get(&offset)?)?;
            Some((elf.sections.get(section)?, offset))
        };
        for &at in places.keys().filter(|&at| at % entry_len == 0) {
            let Some((code, offset)) = code_at(at) else { continue };
            if !code.loaded || !code.executable() {
                continue;
            }
            let entry =
                section.bytes(file).and_then(|bytes| bytes.get(usize::try_from(at).ok()?..)?.get(..12));
            let Some(&[.., low, high]) = entry else { continue };
            let (len, other_len) = if elf.machine == elf::EM_RISCV {
                // Both have the same length.
                let added = added.get(&(at + 10)).copied().unwrap_or(0);
                let len = u16::from_le_bytes([low, high]).wrapping_add(added);
                (len, len)
            } else {
                (low.into(), high.into())
            };
            let other = code_at(at + 4);
            // Without a replacement, a function of the kernel makes one.
            let is_certain = other_len > 0
                && [(Some((code, offset)), len), (other, other_len)].into_iter().all(|(place, len)| {
                    let bytes = place.and_then(|(section, offset)| {
                        section.bytes(file)?.get(usize::try_from(offset).ok()?..)?.get(..len.into())
                    });
                    bytes.is_some_and(|bytes| !patch::has_branch(elf.machine, bytes))
                });
            if !is_certain && len > 0 {
                let start = code.address.wrapping_add(offset);
                replaced.push(start..start.saturating_add(len.into()));
            }
        }
    }
    replaced.sort_unstable_by_key(|range| range.start);
    replaced.dedup_by(|next, range| {
        let meet = next.start <= range.end;
        if meet {
            range.end = range.end.max(next.end);
        }
        meet
    });
    replaced
}

/// Cuts these ranges, which are sorted and disjoint, out of segments.
fn leave_out(segments: &mut Vec<Segment>, replaced: &[Range<u64>]) {
    if replaced.is_empty() {
        return;
    }
    let mut left = Vec::new();
    let mut count = 0;
    for segment in segments.drain(..) {
        let end = segment.address.saturating_add(segment.len);
        let mut at = segment.address;
        let mut keep = |from: u64, to: u64| {
            if from < to {
                let offset = segment.offset.saturating_add(from - segment.address);
                left.push(Segment { address: from, offset, len: to - from, ..segment });
            }
        };
        let from = replaced.partition_point(|range| range.end <= segment.address);
        for range in &replaced[from..] {
            if range.start >= end || at == end {
                break;
            }
            keep(at, range.start);
            count += 1;
            at = if count > MOST_REPLACED { end } else { range.end.min(end) };
        }
        keep(at, end);
    }
    *segments = left;
}
