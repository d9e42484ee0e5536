use std::ops::Range;

use gimli::{AttributeValue, DebuggingInformationEntry, Section, constants};

use super::{Dwarf, GimliUnit, Reader};

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
pub(super) fn of_entry<'a>(
    dwarf: &Dwarf<'a>,
    unit: &GimliUnit<'a>,
    entry: &DebuggingInformationEntry<Reader<'a>>,
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
