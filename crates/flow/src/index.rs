//! A map from addresses to nodes.

use tracewright_core::{Isa, MemorySpace};

use crate::NodeId;

/// An open hash table, which only grows. Every indirect branch needs a lookup, so a slot holds the whole entry, and
/// the first slot is nearly always the right one.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// Slots: a power of two, at most half of them used.
    slots: Vec<Slot>,
    /// 64 minus the base-2 logarithm of the number of slots.
    shift: u32,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    address: u64,
    /// Process, instruction set and space.
    kind: u32,
    id: NodeId,
}

const EMPTY: Slot = Slot { address: 0, kind: 0, id: NodeId::NONE };
const START_BITS: u32 = 10;

impl Index {
    pub fn new() -> Self {
        Self { slots: vec![EMPTY; 1 << START_BITS], shift: 64 - START_BITS, len: 0 }
    }

    #[inline(always)]
    pub fn get(&self, address: u64, isa: Isa, space: MemorySpace) -> Option<NodeId> {
        let slot = &self.slots[self.find(address, kind(isa, space))];
        slot.id.is_some().then_some(slot.id)
    }

    /// Adds an entry that is not in the table yet.
    pub fn insert(&mut self, address: u64, isa: Isa, space: MemorySpace, id: NodeId) {
        if 2 * (self.len + 1) > self.slots.len() {
            self.grow();
        }
        let kind = kind(isa, space);
        let slot = self.find(address, kind);
        self.slots[slot] = Slot { address, kind, id };
        self.len += 1;
    }

    /// Returns the slot of a key, or the empty one where it belongs.
    #[inline(always)]
    fn find(&self, address: u64, kind: u32) -> usize {
        let mask = self.slots.len() - 1;
        // Instructions are aligned, and neighbours differ in few low bits. The high bits of the product depend on all
        // bits.
        let hash = (address ^ u64::from(kind).rotate_right(16)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (hash >> self.shift) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.address == address && slot.kind == kind || !slot.id.is_some() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let bigger = vec![EMPTY; 2 * self.slots.len()];
        let old = std::mem::replace(&mut self.slots, bigger);
        self.shift -= 1;
        for slot in old.into_iter().filter(|slot| slot.id.is_some()) {
            let at = self.find(slot.address, slot.kind);
            self.slots[at] = slot;
        }
    }
}

fn kind(isa: Isa, space: MemorySpace) -> u32 {
    const { assert!(MemorySpace::LAST_PROCESS < 1 << 21) };
    space.process() << 11 | (isa as u32) << 8 | u32::from(space.bits())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tracewright_testkit::Rng;

    use super::*;

    #[test]
    fn it_is_a_map() {
        let mut rng = Rng::new(1);
        let mut index = Index::new();
        let mut twin = HashMap::new();
        for i in 0..100_000 {
            let address = rng.below(20_000) * 4 + 0xffff_0000_0000_0000;
            let isa = [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64][rng.below(5) as usize];
            let space = [MemorySpace::EL1N, MemorySpace::EL3][rng.below(2) as usize];
            let space = space.of_process(rng.below(3) as u32 * (MemorySpace::LAST_PROCESS / 2));
            let found = index.get(address, isa, space);
            assert_eq!(found, twin.get(&(address, isa, space)).copied());
            if found.is_none() {
                index.insert(address, isa, space, NodeId(i));
                twin.insert((address, isa, space), NodeId(i));
            }
        }
    }
}
