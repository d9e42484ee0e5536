//! The procedure linkage table: stubs through which functions of other files are called. They have no symbols.
//!
//! Each stub loads an address from a slot that a relocation fills, which says whose address it is. We read the
//! instructions that compute where the slot is: so it does not matter how long stubs are and what is before them.

use object::elf;

use super::select::Candidate;
use crate::elf::{Elf, Section};

/// Slots in ascending order, and the name of the function in each.
type Slots = Vec<(u64, Candidate)>;

/// Where the slot of a stub is, if one begins at the word of this index, at this address.
type SlotAt = fn(&[u32], usize, u64) -> Option<u64>;

/// The stubs of `file`, as symbols with the names of the functions they lead to.
pub(super) fn stubs(elf: &Elf, file: &[u8]) -> Vec<Candidate> {
    let (jump_slot, slot_at): (_, SlotAt) = match elf.machine {
        elf::EM_AARCH64 => (elf::R_AARCH64_JUMP_SLOT, aarch64),
        elf::EM_ARM => (elf::R_ARM_JUMP_SLOT, arm),
        elf::EM_RISCV => (elf::R_RISCV_JUMP_SLOT, riscv),
        _ => return Vec::new(),
    };
    let slots = slots(elf, file, jump_slot).unwrap_or_default();
    let tables =
        elf.sections.iter().filter(|section| [".plt", ".iplt", ".plt.sec"].contains(&&*section.name));
    let stubs = tables.flat_map(|section| {
        let (words, _) = section.bytes(file).unwrap_or_default().as_chunks();
        let words: Vec<_> = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
        let stub = |index: usize| {
            let address = section.address.wrapping_add(4 * index as u64);
            let slot = slot_at(&words[..], index, address)?;
            let found = slots.binary_search_by_key(&slot, |(slot, _)| *slot).ok()?;
            // It begins earlier if it may be jumped to only there (BTI), or from Thumb code.
            let entered =
                index.checked_sub(1).is_some_and(|before| [BTI_C, BX_PC_NOP].contains(&words[before]));
            Some(Candidate { start: address.wrapping_sub(if entered { 4 } else { 0 }), ..slots[found].1 })
        };
        (0..words.len()).filter_map(stub).collect::<Vec<_>>()
    });
    stubs.collect()
}

/// The slots that relocations of `kind` fill.
fn slots(elf: &Elf, file: &[u8], kind: elf::RelocationType) -> Option<Slots> {
    let is_table = |section: &&Section| [".rela.plt", ".rel.plt"].contains(&&*section.name);
    let table = elf.sections.iter().find(is_table)?;
    let symbols: Vec<_> = elf.symbols(elf.sections.get(table.link as usize)?, file).collect();
    let relocations = elf.relocations(table, file).filter(|relocation| relocation.kind == kind);
    let mut slots: Vec<_> = relocations
        .filter_map(|relocation| {
            let symbol = symbols.get(relocation.symbol as usize).filter(|symbol| !symbol.name.is_empty())?;
            let stub = Candidate {
                start: 0,
                size: 0,
                name_at: symbol.name_at,
                name_len: symbol.name.len(),
                function: true,
                global: false,
                plt: true,
                underscores: 0,
            };
            Some((relocation.offset, stub))
        })
        .collect();
    slots.sort_by_key(|(slot, _)| *slot);
    Some(slots)
}

/// `bti c`
const BTI_C: u32 = 0xd503_245f;
/// `bx pc; nop` of Thumb
const BX_PC_NOP: u32 = 0x46c0_4778;

/// `adrp x16, page; ldr x17, [x16, #offset]`
fn aarch64(words: &[u32], index: usize, address: u64) -> Option<u64> {
    let (adrp, load) = (words[index], *words.get(index + 1)?);
    if adrp & 0x9f00_001f != 0x9000_0010 {
        return None;
    }
    let scale = match load & 0xffc0_03ff {
        0xf940_0211 => 3,
        0xb940_0211 => 2,
        _ => return None,
    };
    let pages = (adrp >> 3 & 0x001f_fffc | adrp >> 29 & 3) << 11;
    let pages = i64::from(pages.cast_signed() >> 11) << 12;
    Some((address & !0xfff).wrapping_add_signed(pages).wrapping_add(u64::from(load >> 10 & 0xfff) << scale))
}

/// `add ip, pc, #a; add ip, ip, #b; ldr pc, [ip, #c]!`
fn arm(words: &[u32], index: usize, address: u64) -> Option<u64> {
    let immediate = |word: u32| (word & 0xff).rotate_right(word >> 7 & 0x1e);
    let first = words[index];
    if first & 0xffff_f000 != 0xe28f_c000 {
        return None;
    }
    let mut slot = (address as u32).wrapping_add(8).wrapping_add(immediate(first));
    for &word in words[index + 1..].iter().take(3) {
        match word & 0xffff_f000 {
            0xe28c_c000 => slot = slot.wrapping_add(immediate(word)),
            0xe5bc_f000 => return Some(slot.wrapping_add(word & 0xfff).into()),
            _ => return None,
        }
    }
    None
}

/// `auipc t3, page; ld t3, offset(t3)`
fn riscv(words: &[u32], index: usize, address: u64) -> Option<u64> {
    let (auipc, load) = (words[index], *words.get(index + 1)?);
    if auipc & 0xfff != 0xe17 || ![0xe3e03, 0xe2e03].contains(&(load & 0xf_ffff)) {
        return None;
    }
    let page = i64::from((auipc & 0xffff_f000).cast_signed());
    Some(address.wrapping_add_signed(page + i64::from(load.cast_signed() >> 20)))
}
