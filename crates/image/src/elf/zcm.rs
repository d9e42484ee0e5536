//! RISC-V programs with Zcmp or Zcmt, whose instructions have the encodings of C.FSDSP.

use object::elf;

use super::Elf;

/// What a program with Zcmp or Zcmt says about itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zcm {
    /// Linked address of the table of jumps, if it has one.
    pub table: Option<u64>,
}

/// Symbol of the table of jumps, which linkers define.
const TABLE: &[u8] = b"__jvt_base$";

impl Elf {
    /// Reads from the attributes of a program whether it has these instructions.
    pub(super) fn find_zcm(&self, file: &[u8]) -> Option<Zcm> {
        let attributes = self.section_bytes(file, ".riscv.attributes")?;
        let has = |name: &[u8]| attributes.windows(name.len()).any(|part| part == name);
        if self.machine != elf::EM_RISCV || !has(b"_zcmp") && !has(b"_zcmt") {
            return None;
        }
        let mut symbols = self.sections.iter().flat_map(|section| self.symbols(section, file));
        let table = symbols.find(|symbol| symbol.name == TABLE).map(|symbol| symbol.value);
        Some(Zcm { table })
    }
}
