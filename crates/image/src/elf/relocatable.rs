//! Relocatable files such as kernel modules, whose sections have no addresses yet.

use super::{Elf, Section, Segment};

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
