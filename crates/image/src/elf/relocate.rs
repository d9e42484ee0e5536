//! Relocations of code in relocatable files (kernel modules): where branches go.
//!
//! Only branches matter to who follows code. Those whose target the file decides (a symbol in a section that is loaded, at a
//! distance that no loader changes) are written into a copy of the file. All other places that a loader would change are
//! listed, so that nobody follows a branch there.

use std::collections::HashMap;
use std::ops::Range;

use object::elf;

use super::patch::{self, Target};
use super::tables::Relocation;
use super::{Elf, Section, Segment};

/// Larger files are not copied: nothing in them is relocated, and all branches with relocations lead nowhere.
const LARGEST: usize = 1 << 28;
/// Code that the kernel replaces is left out of segments, up to so many times; behind the last, nothing is loaded.
const MOST_REPLACED: usize = 1 << 16;

/// A symbol as relocations need it.
#[derive(Clone, Copy)]
struct Symbol {
    value: u64,
    section: Option<usize>,
    function: bool,
}

/// Applies what the file decides and lists the rest in [`Elf::unrelocated`]. Returns the changed copy of the file, if anything
/// changed.
pub(super) fn relocate(elf: &mut Elf, file: &[u8]) -> Option<Vec<u8>> {
    let mut copy = None;
    let mut unrelocated = Vec::new();
    let (mut symbols, mut symbols_of) = (Vec::new(), None);
    for table in elf.sections.iter().filter(|table| [elf::SHT_RELA, elf::SHT_REL].contains(&table.kind)) {
        let Some(section) = elf.sections.get(table.info as usize) else { continue };
        if !section.loaded || !section.executable() {
            continue;
        }
        if symbols_of.replace(table.link) != Some(table.link) {
            symbols = elf.symbols_of(table, file);
        }
        for relocation in elf.relocations(table, file) {
            if patch::changes_nothing(elf.machine, relocation.kind) {
                continue;
            }
            let place = section.address.wrapping_add(relocation.offset);
            let target = elf.target(&symbols, &relocation).filter(|_| file.len() <= LARGEST);
            let applied = target.and_then(|target| {
                let at = section.offset.checked_add(relocation.offset)?;
                let len = section.len.checked_sub(relocation.offset)?;
                let copy = copy.get_or_insert_with(|| file.to_vec());
                let bytes = copy.get_mut(usize::try_from(at).ok()?..)?;
                let len = bytes.len().min(usize::try_from(len).ok()?);
                let is_rela = table.kind == elf::SHT_RELA;
                patch::branch(elf.machine, &relocation, is_rela, place, target, &mut bytes[..len])
            });
            if applied.is_none() {
                unrelocated.push(place);
            }
        }
    }
    unrelocated.sort_unstable();
    unrelocated.dedup();
    elf.unrelocated = unrelocated;
    let replaced = replaced(elf, file);
    leave_out(&mut elf.segments, &replaced);
    copy
}

impl Elf {
    /// The symbols that the relocations of `table` name.
    fn symbols_of(&self, table: &Section, file: &[u8]) -> Vec<Symbol> {
        let Some(symbols) = self.sections.get(table.link as usize) else { return Vec::new() };
        let symbol = |symbol: super::Symbol<'_>| Symbol {
            value: symbol.value,
            section: symbol.section.index().map(usize::from),
            function: symbol.kind == elf::STT_FUNC,
        };
        self.symbols(symbols, file).map(symbol).collect()
    }

    /// Where a relocation's symbol is, if its section is loaded.
    fn target(&self, symbols: &[Symbol], relocation: &Relocation) -> Option<Target> {
        let symbol = symbols.get(relocation.symbol as usize)?;
        let section = self.sections.get(symbol.section?).filter(|section| section.loaded)?;
        let is_thumb = (symbol.function && self.machine == elf::EM_ARM).then_some(symbol.value & 1 == 1);
        let value = if is_thumb == Some(true) { symbol.value & !1 } else { symbol.value };
        let address = section.address.wrapping_add(value).wrapping_add(relocation.addend);
        Some(Target { address, is_thumb })
    }
}

/// Code that the kernel may replace by other code when it loads the file, where one of the two is a branch: alternatives for
/// features of the processor.
fn replaced(elf: &Elf, file: &[u8]) -> Vec<Range<u64>> {
    let mut replaced = Vec::new();
    for table in elf.sections.iter().filter(|table| [elf::SHT_RELA, elf::SHT_REL].contains(&table.kind)) {
        let Some(section) = elf.sections.get(table.info as usize) else { continue };
        if &*section.name != ".altinstructions" {
            continue;
        }
        let symbols = elf.symbols_of(table, file);
        let place = |relocation: &Relocation| {
            let symbol = symbols.get(relocation.symbol as usize)?;
            Some((symbol.section?, symbol.value.wrapping_add(relocation.addend)))
        };
        let entries: HashMap<_, _> =
            elf.relocations(table, file).map(|entry| (entry.offset, entry)).collect();
        for entry in entries.values() {
            let Some((index, offset)) = place(entry) else { continue };
            let Some(code) = elf.sections.get(index).filter(|code| code.loaded && code.executable()) else {
                continue;
            };
            let bytes = |section: usize, offset: u64| {
                elf.sections.get(section)?.bytes(file)?.get(usize::try_from(offset).ok()?..)
            };
            let original = bytes(index, offset).unwrap_or_default();
            let len = match elf.machine {
                elf::EM_AARCH64 => {
                    // Offsets of the code and of what replaces it, a feature, the lengths of both.
                    let other = entries.get(&entry.offset.wrapping_add(4));
                    let other = other.and_then(place).and_then(|(section, offset)| bytes(section, offset));
                    let lens = section
                        .bytes(file)
                        .and_then(|bytes| bytes.get(usize::try_from(entry.offset).ok()?..)?.get(10..12));
                    let Some(&[len, other_len]) = lens else { continue };
                    let part = |bytes: &[u8], len: u8| bytes[..bytes.len().min(len.into())].to_vec();
                    let other = part(other.unwrap_or_default(), other_len);
                    // Without a replacement, a function of the kernel makes one.
                    let is_certain = other_len > 0 && !patch::has_branch(&other);
                    if is_certain && !patch::has_branch(&part(original, len)) { 0 } else { len }
                }
                elf::EM_RISCV => patch::riscv_branch_len(original),
                _ => 0,
            };
            let start = code.address.wrapping_add(offset);
            if len > 0 {
                replaced.push(start..start.saturating_add(len.into()));
            }
        }
    }
    replaced.sort_unstable_by_key(|range| range.start);
    replaced
}

/// Takes these ranges, which are sorted, out of segments.
fn leave_out(segments: &mut Vec<Segment>, replaced: &[Range<u64>]) {
    if replaced.is_empty() {
        return;
    }
    let mut left = Vec::new();
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
        for (number, range) in replaced[from..].iter().enumerate() {
            if range.start >= end {
                break;
            }
            keep(at, range.start.min(end));
            at = at.max(if number == MOST_REPLACED { end } else { range.end });
        }
        keep(at, end);
    }
    *segments = left;
}
