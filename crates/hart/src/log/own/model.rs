//! State that writer and reader share. It must stay the same on both sides.

use tracewright_core::Block;
use tracewright_isa::riscv::AccessKind;

use super::bytes::{Cursor, len, put_fixed, put_varint, unzigzag, zigzag};
use crate::Access;

pub(super) const NONE: u32 = u32::MAX;

// Maximum number of blocks in the dictionary, and of their instructions, accesses and cycles. When one is reached, the
// dictionary is emptied.
const ENTRIES: usize = 1 << 18;
const BITS: usize = 1 << 21;
const SLOTS: usize = 1 << 20;
const GAPS: usize = 1 << 21;

/// Maximum number of changed cycles of a block that are written one by one; if more changed, all are written.
const FEW: usize = 32;
const ALL: u8 = 0xff;

/// Number of index bits of the predictions after the last four blocks.
const GUESSES: u32 = 16;
/// Number of index bits of the values last seen at an address.
const VALUES: u32 = 13;

const HASH: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug)]
pub(super) struct Model {
    pub entries: Vec<Entry>,
    pub bits: Vec<u32>,
    pub slots: Vec<Slot>,
    /// Cycles of each instruction since the previous one, at the last run.
    gaps: Vec<u64>,
    guesses: Box<[u32]>,
    values: Box<[u64]>,
    /// Last four blocks, 16 bits each.
    history: u64,
    last: u32,
    /// Address where the last block ended.
    pub end: u64,
    /// Address accessed last.
    pub address: u64,
    /// Cycle of the last retirement.
    cycle: u64,
}

/// A block in the dictionary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub block: Block,
    first_bits: u32,
    bits: u32,
    first_slot: u32,
    slots: u32,
    first_gap: u32,
    pub gaps: u32,
    /// Successor at the last run.
    next: u32,
}

/// An access that an instruction of a block makes, and its last address and value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub index: u32,
    pub kind: AccessKind,
    pub size: u8,
    address: u64,
    stride: u64,
    value: u64,
}

impl Slot {
    /// Creates the slot of a new instruction.
    pub fn new(index: u32, kind: AccessKind, size: u8, last_address: u64) -> Self {
        Self { index, kind, size, address: last_address, stride: 0, value: 0 }
    }

    #[inline]
    pub fn fits(&self, access: &Access) -> bool {
        self.index == access.index && self.kind == access.kind && self.size == access.size
    }

    #[inline]
    fn mask(&self) -> u64 {
        if self.size < 8 { (1 << (8 * self.size)) - 1 } else { u64::MAX }
    }
}

impl Model {
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            bits: Vec::new(),
            slots: Vec::new(),
            gaps: Vec::new(),
            guesses: vec![NONE; 1 << GUESSES].into(),
            values: vec![0; 1 << VALUES].into(),
            history: 0,
            last: NONE,
            end: 0,
            address: 0,
            cycle: 0,
        }
    }

    /// Predicts the next block from the last four.
    #[inline]
    pub fn first_guess(&self) -> u32 {
        self.guesses[self.guess_at()]
    }

    /// Predicts the next block from the last one.
    #[inline]
    pub fn second_guess(&self) -> u32 {
        self.entries.get(self.last as usize).map_or(NONE, |last| last.next)
    }

    #[inline]
    fn guess_at(&self) -> usize {
        (self.history.wrapping_mul(HASH) >> (64 - GUESSES)) as usize
    }

    /// Advances by block `id`.
    #[inline]
    pub fn step(&mut self, id: u32) {
        let at = self.guess_at();
        self.guesses[at] = id;
        if let Some(last) = self.entries.get_mut(self.last as usize) {
            last.next = id;
        }
        self.last = id;
        self.history = self.history << 16 | u64::from(id & 0xffff);
        self.end = self.entries[id as usize].block.end;
    }

    /// Empties the dictionary if there is no room for another block. Returns whether it did.
    pub fn make_room(&mut self, bits: usize, slots: usize, gaps: usize) -> bool {
        let is_full = self.entries.len() >= ENTRIES
            || self.bits.len() + bits > BITS
            || self.slots.len() + slots > SLOTS
            || self.gaps.len() + gaps > GAPS;
        if is_full {
            self.entries.clear();
            self.bits.clear();
            self.slots.clear();
            self.gaps.clear();
            self.guesses.fill(NONE);
            (self.history, self.last) = (0, NONE);
        }
        is_full
    }

    pub fn add(&mut self, block: Block, bits: &[u32], slots: impl Iterator<Item = Slot>, gaps: usize) -> u32 {
        let id = self.entries.len() as u32;
        let (first_bits, first_slot, first_gap) = (self.bits.len(), self.slots.len(), self.gaps.len());
        self.bits.extend_from_slice(bits);
        self.slots.extend(slots);
        self.gaps.resize(first_gap + gaps, 0);
        self.entries.push(Entry {
            block,
            first_bits: first_bits as u32,
            bits: (self.bits.len() - first_bits) as u32,
            first_slot: first_slot as u32,
            slots: (self.slots.len() - first_slot) as u32,
            first_gap: first_gap as u32,
            gaps: gaps as u32,
            next: NONE,
        });
        id
    }

    #[inline]
    pub fn bits_of(&self, entry: &Entry) -> &[u32] {
        &self.bits[entry.first_bits as usize..][..entry.bits as usize]
    }

    #[inline]
    pub fn slots_of(&self, entry: &Entry) -> std::ops::Range<usize> {
        entry.first_slot as usize..(entry.first_slot + entry.slots) as usize
    }

    /// Writes the cycles of a block of the dictionary.
    #[inline]
    pub fn put_cycles(&mut self, to: &mut Vec<u8>, id: u32, cycles: &[u64]) {
        let entry = &self.entries[id as usize];
        let gaps = &mut self.gaps[entry.first_gap as usize..][..entry.gaps as usize];
        let mut last = self.cycle;
        let mut changed = 0;
        for (&cycle, &gap) in cycles.iter().zip(gaps.iter()) {
            changed += usize::from(cycle.wrapping_sub(last) != gap);
            last = cycle;
        }
        to.push(if changed <= FEW { changed as u8 } else { ALL });
        if changed > 0 {
            let mut last = self.cycle;
            let mut place = 0;
            for (at, (&cycle, gap)) in cycles.iter().zip(gaps).enumerate() {
                let new = cycle.wrapping_sub(last);
                last = cycle;
                if changed > FEW {
                    put_varint(to, new);
                } else if new != *gap {
                    put_varint(to, (at - place) as u64);
                    put_varint(to, new);
                    place = at;
                }
                *gap = new;
            }
        }
        self.cycle = last;
    }

    /// Reads the cycles of a block of the dictionary.
    #[inline]
    pub fn take_cycles(&mut self, from: &mut Cursor<'_>, id: u32, to: &mut Vec<u64>) -> Option<()> {
        let entry = &self.entries[id as usize];
        let gaps = &mut self.gaps[entry.first_gap as usize..][..entry.gaps as usize];
        match from.byte()? {
            ALL => {
                for gap in gaps.iter_mut() {
                    *gap = from.varint()?;
                }
            }
            changed => {
                let mut at = 0_usize;
                for _ in 0..changed {
                    at = at.checked_add(from.small()? as usize)?;
                    *gaps.get_mut(at)? = from.varint()?;
                }
            }
        }
        to.clear();
        for &gap in &*gaps {
            self.cycle = self.cycle.wrapping_add(gap);
            to.push(self.cycle);
        }
        Some(())
    }

    /// Writes cycles of instructions that are not in the dictionary.
    pub fn put_other_cycles(&mut self, to: &mut Vec<u8>, cycles: &[u64]) {
        put_varint(to, cycles.len() as u64);
        for &cycle in cycles {
            put_varint(to, cycle.wrapping_sub(self.cycle));
            self.cycle = cycle;
        }
    }

    /// Reads cycles of instructions that are not in the dictionary.
    pub fn take_other_cycles(&mut self, from: &mut Cursor<'_>, to: &mut Vec<u64>) -> Option<()> {
        to.clear();
        for _ in 0..from.count()? {
            self.cycle = self.cycle.wrapping_add(from.varint()?);
            to.push(self.cycle);
        }
        Some(())
    }

    /// Writes an access of slot `at`.
    #[inline]
    pub fn put_access(&mut self, to: &mut Vec<u8>, at: usize, access: &Access) {
        put(&mut self.slots[at], &mut self.values, to, access);
        self.address = access.address;
    }

    /// Writes an access of an instruction that is not in the dictionary.
    pub fn put_other(&mut self, to: &mut Vec<u8>, access: &Access) {
        let mut slot = Slot::new(access.index, access.kind, access.size, self.address);
        put(&mut slot, &mut self.values, to, access);
        self.address = access.address;
    }

    /// Reads an access of slot `at`.
    #[inline]
    pub fn take_access(&mut self, from: &mut Cursor<'_>, at: usize) -> Option<Access> {
        let access = take(&mut self.slots[at], &mut self.values, from)?;
        self.address = access.address;
        Some(access)
    }

    /// Reads an access of an instruction that is not in the dictionary.
    pub fn take_other(&mut self, from: &mut Cursor<'_>, mut slot: Slot) -> Option<Access> {
        let access = take(&mut slot, &mut self.values, from)?;
        self.address = access.address;
        Some(access)
    }
}

// An access is a byte with four bits for the address and four for the value, then the data of both.
//
// Address: 0: the same stride as before; 1: the same address; 1 + n: n bytes of zigzag difference.
// Value: 0: as last seen at this address; 1: as last time; 1 + n: n bytes; 9 + n: n bytes of zigzag difference, up to
// 6.

#[inline]
fn put(slot: &mut Slot, values: &mut [u64], to: &mut Vec<u8>, access: &Access) {
    let seen = &mut values[(access.address.wrapping_mul(HASH) >> (64 - VALUES)) as usize];
    let mask = slot.mask();
    let stride = access.address.wrapping_sub(slot.address);
    let (far, far_code) = match stride {
        _ if stride == slot.stride => (0, 0),
        0 => (0, 1),
        _ => (zigzag(stride), 1 + len(zigzag(stride))),
    };
    let (much, much_code) = match access.value {
        value if value == *seen & mask => (0, 0),
        value if value == slot.value => (0, 1),
        value => {
            let difference = zigzag(value.wrapping_sub(slot.value));
            match (len(value), len(difference)) {
                (plain, different) if different < plain && different <= 6 => (difference, 9 + different),
                // A zero takes one byte.
                (plain, _) => (value, 1 + plain.max(1)),
            }
        }
    };
    to.push(far_code as u8 | (much_code as u8) << 4);
    if far_code > 1 {
        put_fixed(to, far, far_code - 1);
    }
    if much_code > 1 {
        put_fixed(to, much, if much_code > 9 { much_code - 9 } else { much_code - 1 });
    }
    update(slot, seen, mask, stride, access);
}

#[inline]
fn take(slot: &mut Slot, values: &mut [u64], from: &mut Cursor<'_>) -> Option<Access> {
    let codes = from.byte()?;
    let stride = match codes & 0xf {
        0 => slot.stride,
        1 => 0,
        far @ ..=9 => unzigzag(from.fixed(far as usize - 1)?),
        _ => return None,
    };
    let address = slot.address.wrapping_add(stride);
    let seen = &mut values[(address.wrapping_mul(HASH) >> (64 - VALUES)) as usize];
    let mask = slot.mask();
    let value = match codes >> 4 {
        0 => *seen & mask,
        1 => slot.value,
        plain @ ..=9 => from.fixed(plain as usize - 1)?,
        different => slot.value.wrapping_add(unzigzag(from.fixed(different as usize - 9)?)),
    };
    let access = Access { index: slot.index, kind: slot.kind, size: slot.size, address, value };
    update(slot, seen, mask, stride, &access);
    Some(access)
}

/// Updates the shared state after an access.
#[inline]
fn update(slot: &mut Slot, seen: &mut u64, mask: u64, stride: u64, access: &Access) {
    *seen = *seen & !mask | access.value & mask;
    slot.stride = stride;
    slot.address = access.address;
    slot.value = access.value;
}
