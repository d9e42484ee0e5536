//! Which symbols of a file are shown, and which of several at one address.

use std::cmp::Reverse;

use object::elf;

use crate::elf::{Elf, Section, Symbol};

/// A symbol worth showing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub start: u64,
    /// Zero if the file does not say.
    pub size: u64,
    pub name_at: usize,
    pub name_len: usize,
    /// A function, not just a label.
    pub function: bool,
    pub global: bool,
    /// The stub through which the function is called in other files.
    pub plt: bool,
    /// How many underscores its name begins with.
    pub underscores: usize,
}

impl Candidate {
    /// What `symbol` is to us; `None` if it is not code, or a name of the tools for themselves.
    pub fn new(elf: &Elf, symbol: &Symbol<'_>) -> Option<Self> {
        let function = match symbol.kind {
            elf::STT_FUNC | elf::STT_GNU_IFUNC => true,
            elf::STT_ARM_TFUNC if elf.machine == elf::EM_ARM => true,
            elf::STT_NOTYPE => false,
            _ => return None,
        };
        // Names of labels that begin so are the assembler's; `$x` and its like tell instruction sets apart.
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
            start &= !1; // Says that it is Thumb code.
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

    /// Sorts the one to show at an address first: functions before labels, an inner one before the one around it; of
    /// several names the one others can see, with the fewest underscores, the shortest.
    pub fn rank(&self) -> impl Ord + use<> {
        let names = (self.plt, !self.global, self.underscores, self.name_len);
        (!self.function, Reverse(self.start), names)
    }
}

/// Whether it is a mapping symbol of Arm or RISC-V: `$x`, `$t.12`, `$xrv64i2p1`.
fn is_mapping(name: &[u8]) -> bool {
    match name {
        [b'$', b'a' | b't' | b'd' | b'x', rest @ ..] => {
            rest.is_empty() || rest.starts_with(b".") || rest.starts_with(b"rv")
        }
        _ => false,
    }
}
