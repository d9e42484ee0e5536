//! Procedure linkage table: stubs without symbols, through which functions of other files are called.
//!
//! Each stub loads an address from a slot. A relocation fills the slot and names the function. We interpret
//! the instructions that compute the slot's address, so the length of stubs and what precedes them do not
//! matter.

use object::elf;

use super::select::Candidate;
use crate::elf::{Elf, Relocation, Section};

/// Slots in ascending order, with the name of the function in each.
type Slots = Vec<(u64, Name)>;

/// Offset and length of a name in the file.
type Name = (usize, usize);

/// Function that returns the slot of a stub, if one begins at the word with this index and address.
type SlotAt = fn(&[u32], usize, u64) -> Option<u64>;

/// Differences between machines: the relocation for a function of another file, the relocation for a function
/// that is chosen when the program starts, and the form of stubs.
struct Machine {
    jump_slot: elf::RelocationType,
    irelative: elf::RelocationType,
    slot_at: SlotAt,
}

/// Returns the stubs of `file` as symbols with the names of their target functions; `symbols` are its own.
pub(super) fn stubs(elf: &Elf, file: &[u8], symbols: &[Candidate]) -> Vec<Candidate> {
    let (jump_slot, irelative, slot_at): (_, _, SlotAt) = match elf.machine {
        elf::EM_AARCH64 => (elf::R_AARCH64_JUMP_SLOT, elf::R_AARCH64_IRELATIVE, aarch64),
        elf::EM_ARM => (elf::R_ARM_JUMP_SLOT, elf::R_ARM_IRELATIVE, arm),
        elf::EM_RISCV => (elf::R_RISCV_JUMP_SLOT, elf::R_RISCV_IRELATIVE, riscv),
        _ => return Vec::new(),
    };
    let machine = Machine { jump_slot, irelative, slot_at };
    let slots = slots(elf, file, &machine, symbols).unwrap_or_default();
    let table = |name| elf.sections.iter().find(|section| &*section.name == name);
    let tables = [".plt", ".iplt", ".plt.sec"].into_iter().filter_map(table);
    tables.flat_map(|section| stubs_of(section, file, &machine, &slots)).collect()
}

/// Returns the stubs in `section`. Each ends where the next begins.
fn stubs_of(section: &Section, file: &[u8], machine: &Machine, slots: &Slots) -> Vec<Candidate> {
    let (words, _) = section.bytes(file).unwrap_or_default().as_chunks();
    let words: Vec<_> = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
    let stub = |index: usize| {
        let address = section.address.wrapping_add(4 * index as u64);
        let slot = (machine.slot_at)(&words[..], index, address)?;
        // A stub begins earlier if it has a landing pad (BTI) or an entry from Thumb code.
        let entered = index.checked_sub(1).is_some_and(|before| [BTI_C, BX_PC_NOP].contains(&words[before]));
        Some((address.wrapping_sub(if entered { 4 } else { 0 }), slot))
    };
    let all: Vec<_> = (0..words.len()).filter_map(stub).collect();
    let ends = all.iter().skip(1).map(|(start, _)| *start).chain([section.addresses().end]);
    let named = all.iter().zip(ends).filter_map(|(&(start, slot), end)| {
        let found = slots.binary_search_by_key(&slot, |(slot, _)| *slot).ok()?;
        let (name_at, name_len) = slots[found].1;
        let size = end.saturating_sub(start);
        let (function, global, plt) = (true, false, true);
        Some(Candidate { start, size, name_at, name_len, function, global, plt, underscores: 0 })
    });
    named.collect()
}

/// Returns the slots that relocations fill.
fn slots(elf: &Elf, file: &[u8], machine: &Machine, own: &[Candidate]) -> Option<Slots> {
    let is_table = |section: &&Section| [".rela.plt", ".rel.plt"].contains(&&*section.name);
    let table = elf.sections.iter().find(is_table)?;
    let imported = elf.sections.get(table.link as usize);
    let imported: Vec<_> = imported.into_iter().flat_map(|section| elf.symbols(section, file)).collect();
    let mut own: Vec<_> = own.iter().filter(|symbol| symbol.function).collect();
    own.sort_by_cached_key(|symbol| (symbol.start, symbol.rank()));
    let name = |relocation: &Relocation| {
        if relocation.kind == machine.jump_slot {
            let symbol = imported.get(relocation.symbol as usize)?;
            Some((symbol.name_at, symbol.name.len())).filter(|(_, len)| *len > 0)
        } else if relocation.kind == machine.irelative {
            // The function that chooses has the same name.
            let found = own.partition_point(|symbol| symbol.start < relocation.addend);
            let symbol = own.get(found).filter(|symbol| symbol.start == relocation.addend)?;
            Some((symbol.name_at, symbol.name_len))
        } else {
            None
        }
    };
    let relocations = elf.relocations(table, file);
    let mut slots: Vec<_> = relocations.filter_map(|slot| Some((slot.offset, name(&slot)?))).collect();
    slots.sort();
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
