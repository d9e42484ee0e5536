//! Which unit is where, without reading more of the units than their first entry.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugAddrBase, DebugLocListsBase,
    DebugRngListsBase, DebugStrOffsetsBase, LittleEndian, Section, constants,
};

use super::ranges::{self, Budget};
use super::rows::Rows;
use super::{Dwarf, GimliUnit, Reader};

type Header<'a> = gimli::UnitHeader<Reader<'a>>;

/// The offsets of all units, and address ranges with the number of the unit they belong to.
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
        let before = claims.len();
        let each = |range| claims.push((range, number as u32));
        let _ = unit_ranges(dwarf, *header, Arc::clone(abbreviations), &mut budget, each);
        // Some compilers do not say where a unit is: then its lines tell.
        if claims.len() == before
            && line_bytes_left > 0
            && let Ok(unit) = dwarf.unit(*header)
            && let Some(program) = &unit.line_program
        {
            line_bytes_left = line_bytes_left.saturating_sub(program.header().unit_length());
            claims.extend(Rows::new(dwarf, &unit).ranges().map(|range| (range, number as u32)));
        }
    }
    let offset = |header: &Header<'_>| header.debug_info_offset().map_or(0, |offset| offset.0);
    (headers.iter().map(offset).collect(), claims)
}

/// All tables of abbreviations by their offset. A table ends where the next begins, so that each byte is read once even
/// if a broken file has a table at each.
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

/// Calls `each` with the address ranges of a unit, which its first entry tells. Not by gimli's reading of the whole
/// unit: that would read the head of its line program too, which many units may share.
fn unit_ranges<'a>(
    dwarf: &Dwarf<'a>,
    header: Header<'a>,
    abbreviations: Arc<Abbreviations>,
    budget: &mut Budget,
    each: impl FnMut(Range<u64>),
) -> Option<()> {
    let mut unit = GimliUnit {
        header,
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: DebugStrOffsetsBase(0),
        addr_base: DebugAddrBase(0),
        loclists_base: DebugLocListsBase(0),
        rnglists_base: DebugRngListsBase::default_for_encoding_and_file(header.encoding(), dwarf.file_type),
        line_program: None,
        dwo_id: None,
    };
    let mut entries = unit.header.entries(&unit.abbreviations);
    let root = entries.next_dfs().ok()??.clone();
    for attribute in root.attrs() {
        match attribute.value() {
            AttributeValue::DebugAddrBase(base) => unit.addr_base = base,
            AttributeValue::DebugRngListsBase(base) => unit.rnglists_base = base,
            _ => {}
        }
    }
    if let Some(low) = root.attr_value(constants::DW_AT_low_pc) {
        unit.low_pc = dwarf.attr_address(&unit, low).ok()?.unwrap_or_default();
    }
    ranges::of_entry(dwarf, &unit, &root, budget, each)
}
