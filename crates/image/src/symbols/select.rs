//! Selection of the symbols that are shown, and among several at one address.

use std::cmp::Reverse;

use object::elf;

use crate::elf::{Elf, Section, Symbol};

/// Symbol that may be shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub start: u64,
    /// Size in bytes; zero if the file has none.
    pub size: u64,
    pub name_at: usize,
    pub name_len: usize,
    /// Whether the symbol is a function rather than a label.
    pub function: bool,
    pub global: bool,
    /// Whether the symbol is a stub for a function of another file.
    pub plt: bool,
    /// Number of underscores that its name begins with.
    pub underscores: usize,
}

impl Candidate {
    /// Creates a candidate; `None` if the symbol is not code or was made by tools for themselves.
    pub fn new(elf: &Elf, symbol: &Symbol<'_>) -> Option<Self> {
        let function = match symbol.kind {
            elf::STT_FUNC | elf::STT_GNU_IFUNC => true,
            elf::STT_ARM_TFUNC if elf.machine == elf::EM_ARM => true,
            elf::STT_NOTYPE => false,
            _ => return None,
        };
        // Labels that begin with a dot are the assembler's; `$x` and the like mark instruction sets.
        let made_by_tools = symbol.name.starts_with(b".") || is_mapping(symbol.name);
        if symbol.name.is_empty() || !function && made_by_tools {
            return None;
        }
        let mut start = match symbol.section {
            elf::SHN_UNDEF | elf::SHN_COMMON => return None,
            elf::SHN_ABS if !function => return None,
            section if elf.relocatable => {
                let section =
                    elf.sections.get(usize::from(section.index()?)).filter(|section| section.loaded)?;
                section.address.wrapping_add(symbol.value)
            }
            _ => symbol.value,
        };
        if elf.machine == elf::EM_ARM && function {
            start &= !1; // The bit marks Thumb code.
        }
        if !function && !elf.section_at(start).is_some_and(Section::executable) {
            return None;
        }
        Some(Self {
            start,
            size: symbol.size,
            name_at: symbol.name_at,
            name_len: symbol.name.len(),
            function,
            global: symbol.bind != elf::STB_LOCAL,
            plt: false,
            underscores: symbol.name.iter().take(8).take_while(|&&byte| byte == b'_').count(),
        })
    }

    /// Returns a key that sorts the symbol to show first: functions before labels, inner before outer; then
    /// the name that is visible to other files, has the fewest underscores, and is the shortest.
    pub fn rank(&self) -> impl Ord + use<> {
        let names = (self.plt, !self.global, self.underscores, self.name_len);
        (!self.function, Reverse(self.start), names)
    }
}

/// Returns whether this is a mapping symbol of Arm or RISC-V: `$x`, `$t.12`, `$xrv64i2p1`.
fn is_mapping(name: &[u8]) -> bool {
    match name {
        [b'$', b'a' | b't' | b'd' | b'x', rest @ ..] => {
            rest.is_empty() || rest.starts_with(b".") || rest.starts_with(b"rv")
        }
        _ => false,
    }
}
