//! Index of units by address, from nothing but their first entries.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugAddrBase, DebugLocListsBase,
    DebugRngListsBase, DebugStrOffsetsBase, LittleEndian, Section, constants,
};

use super::rows::Rows;
use super::{Dwarf, GimliUnit, MAX_HEAD, Reader};

type Header<'a> = gimli::UnitHeader<Reader<'a>>;

/// Returns the offsets of all units, and address ranges with the number of their unit.
pub(super) fn units(dwarf: &Dwarf<'_>) -> (Vec<usize>, Vec<(Range<u64>, u32)>) {
    let mut headers = Vec::new();
    let mut all = dwarf.units();
    while let Ok(Some(header)) = all.next() {
        headers.push(header);
    }
    let abbreviations = abbreviations(dwarf, &headers);
    let mut claims = Vec::new();
    let mut budget = Budget::new(dwarf);
    let mut line_bytes_left = 2 * dwarf.debug_line.reader().len();
    for (number, header) in headers.iter().enumerate() {
        let Some(abbreviations) = abbreviations.get(&header.debug_abbrev_offset().0) else { continue };
        let Some(mut unit) = without_lines(dwarf, *header, Arc::clone(abbreviations)) else { continue };
        let before = claims.len();
        let each = |range| claims.push((range, number as u32));
        let _ = unit_ranges(dwarf, &unit, &mut budget, each);
        // Some compilers give no ranges for a unit; its lines are used then.
        if claims.len() == before && line_bytes_left > 0 {
            let bytes = read_lines(dwarf, &mut unit).unwrap_or_default();
            line_bytes_left = line_bytes_left.saturating_sub(bytes);
            claims.extend(Rows::new(dwarf, &mut unit).ranges().map(|range| (range, number as u32)));
        }
    }
    let offset = |header: &Header<'_>| header.debug_info_offset().map_or(0, |offset| offset.0);
    (headers.iter().map(offset).collect(), claims)
}

/// Returns all abbreviation tables by offset. A table ends where the next begins, so that each byte is read
/// once even if a broken file has a table at each byte.
fn abbreviations(dwarf: &Dwarf<'_>, headers: &[Header<'_>]) -> HashMap<usize, Arc<Abbreviations>> {
    let section = dwarf.debug_abbrev.reader().slice();
    let mut offsets: Vec<_> = headers.iter().map(|header| header.debug_abbrev_offset().0).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let ends = offsets[1.min(offsets.len())..].iter().copied().chain([section.len()]);
    let table = |(&offset, end): (&usize, usize)| {
        let table = DebugAbbrev::new(section.get(offset..end)?, LittleEndian);
        Some((offset, Arc::new(table.abbreviations(DebugAbbrevOffset(0)).ok()?)))
    };
    offsets.iter().zip(ends).filter_map(table).collect()
}

/// Calls `each` with the address ranges that the first entry of a unit gives.
fn unit_ranges<'a>(
    dwarf: &Dwarf<'a>,
    unit: &GimliUnit<'a>,
    budget: &mut Budget,
    each: impl FnMut(Range<u64>),
) -> Option<()> {
    let mut entries = unit.entries();
    ranges_of(dwarf, unit, entries.next_dfs().ok()??, budget, each)
}

/// Reads a unit as gimli does, without the header of its line program, which is long and may be shared by
/// many units.
pub(super) fn without_lines<'a>(
    dwarf: &Dwarf<'a>,
    header: Header<'a>,
    abbreviations: Arc<Abbreviations>,
) -> Option<GimliUnit<'a>> {
    let (encoding, file_type) = (header.encoding(), dwarf.file_type);
    let mut unit = GimliUnit {
        header,
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file_type),
        addr_base: DebugAddrBase(0),
        loclists_base: DebugLocListsBase::default_for_encoding_and_file(encoding, file_type),
        rnglists_base: DebugRngListsBase::default_for_encoding_and_file(encoding, file_type),
        line_program: None,
        dwo_id: None,
    };
    let root = unit.entries().next_dfs().ok()??.clone();
    for attribute in root.attrs() {
        match attribute.value() {
            AttributeValue::DebugStrOffsetsBase(base) => unit.str_offsets_base = base,
            AttributeValue::DebugAddrBase(base) => unit.addr_base = base,
            AttributeValue::DebugRngListsBase(base) => unit.rnglists_base = base,
            _ => {}
        }
    }
    if let Some(folder) = root.attr_value(constants::DW_AT_comp_dir) {
        unit.comp_dir = dwarf.attr_string(&unit, folder).ok();
    }
    if let Some(low) = root.attr_value(constants::DW_AT_low_pc) {
        unit.low_pc = dwarf.attr_address(&unit, low).ok()?.unwrap_or_default();
    }
    Some(unit)
}

/// Reads the header of the line program of `unit`, if it has one. Returns how many bytes the header and a run
/// of the program may take, or `None` if the header is too long.
pub(super) fn read_lines<'a>(dwarf: &Dwarf<'a>, unit: &mut GimliUnit<'a>) -> Option<usize> {
    let lines = match unit.entries().next_dfs() {
        Ok(Some(entry)) => entry.attr_value(constants::DW_AT_stmt_list),
        _ => None,
    };
    let Some(AttributeValue::DebugLineRef(offset)) = lines else { return Some(0) };
    let rest = dwarf.debug_line.reader().slice().get(offset.0..).unwrap_or_default();
    // gimli takes a hundred bytes for each file, which may be a single byte here. It does not read a
    // truncated header.
    if head_len(rest).is_some_and(|len| len > MAX_HEAD && len <= rest.len() as u64) {
        return None;
    }
    let program = dwarf.debug_line.program(offset, unit.header.address_size(), None, None);
    unit.line_program = program.ok();
    Some(unit.line_program.as_ref().map_or(rest.len(), |program| program.header().unit_length()))
}

/// Returns the length of directories and files that the header of a line program states.
fn head_len(bytes: &[u8]) -> Option<u64> {
    let number = |at: usize, len: usize| {
        let mut number = [0; 8];
        number[..len].copy_from_slice(bytes.get(at..at + len)?);
        Some(u64::from_le_bytes(number))
    };
    let (word, at) = if number(0, 4)? == u64::from(u32::MAX) { (8, 12) } else { (4, 4) };
    // From version 5 on, the sizes of addresses and segments come first.
    let sizes = if number(at, 2)? >= 5 { 2 } else { 0 };
    number(at + 2 + sizes, word)
}

/// Number of ranges that may still be read.
///
/// Every range takes some bytes of the file. A file with more ranges than bytes repeats the same ones to
/// waste time.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    pub fn new(dwarf: &Dwarf<'_>) -> Self {
        let lists =
            [dwarf.ranges.debug_ranges().reader().len(), dwarf.ranges.debug_rnglists().reader().len()];
        Self(dwarf.debug_info.reader().len() + lists[0] + lists[1])
    }

    fn spend(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

/// Calls `each` with the address ranges of `entry`: those in its list, or from its low to its high address.
pub(super) fn ranges_of<'a>(
    dwarf: &Dwarf<'a>,
    unit: &GimliUnit<'a>,
    entry: &gimli::DebuggingInformationEntry<Reader<'a>>,
    budget: &mut Budget,
    mut each: impl FnMut(Range<u64>),
) -> Option<()> {
    if let Some(list) = entry.attr_value(constants::DW_AT_ranges) {
        let mut list = dwarf.attr_ranges(unit, list).ok()??;
        while let Some(raw) = list.next_raw().ok()? {
            budget.spend()?;
            if let Some(range) = list.convert_raw(raw).ok()?
                && range.begin < range.end
            {
                each(range.begin..range.end);
            }
        }
        return Some(());
    }
    let low = entry.attr_value(constants::DW_AT_low_pc)?;
    let low = dwarf.attr_address(unit, low).ok()??;
    let high = match entry.attr_value(constants::DW_AT_high_pc)? {
        AttributeValue::Udata(size) => low.checked_add(size)?,
        high => dwarf.attr_address(unit, high).ok()??,
    };
    if low < high && !unit.header.is_tombstone_address(low) {
        budget.spend()?;
        each(low..high);
    }
    Some(())
}
