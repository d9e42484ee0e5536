//! Relocatable files, kernel modules among them: sections that no linker has given an address.

use super::{Elf, Section, Segment};

/// Gives the sections that are loaded an address and makes segments of them.
///
/// If some linker has already given addresses, those. Else `.text` is at 0 and the other sections with code follow
/// in the order of the file, each where its alignment allows; that is how Linux loads modules. What is before
/// `.text`, what is only there to start the module (`.init`), and data are not loaded: where, only the kernel knows.
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
