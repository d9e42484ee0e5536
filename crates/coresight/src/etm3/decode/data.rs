//! Data accesses: packets tell address and value, and the instruction tells what kind of access it is.

use tracewright_core::{DataAccess, DataKind, Element, Isa};
use tracewright_flow::ElementSink;

use super::decoder::Decoder;
use crate::etm3::packet::{DataAddress, Packet};

/// An access, and the address of its instruction.
pub(super) type Access = (DataAccess, u64);

impl Decoder<'_> {
    /// Emits the access of a data packet. It belongs to the newest instruction, which is still held back.
    pub(super) fn data(&mut self, offset: u64, packet: &Packet, sink: &mut impl ElementSink) {
        if let Packet::OutOfOrder { tag, value, .. } = *packet {
            if let Some((access, by)) = self.stream.placeholders[usize::from(tag & 3)].take() {
                let access = DataAccess { value: Some(access.truncated(value.into())), ..access };
                sink.element(offset, &Element::Data { access, by: Some(by) });
            }
            return;
        }
        let Some((access, by)) = self.access() else { return };
        let full = |address: Option<DataAddress>| {
            address.filter(|address| address.known == 32).map(|address| address.value.into())
        };
        let has_values = self.params.data_values();
        let access = match *packet {
            Packet::Data { address, value, .. } => {
                let value = has_values.then(|| access.truncated(value.into()));
                DataAccess { address: full(address), value, ..access }
            }
            Packet::ValueNotTraced { address, .. } => DataAccess { address: full(address), ..access },
            Packet::Placeholder { tag, address, .. } => {
                let access = DataAccess { address: full(address), ..access };
                self.stream.placeholders[usize::from(tag & 3)] = Some((access, by));
                return;
            }
            Packet::StoreFailed => DataAccess { kind: DataKind::StoreFailed, ..access },
            _ => return,
        };
        sink.element(offset, &Element::Data { access, by: Some(by) });
    }

    /// Returns the kind and size of the newest instruction's accesses, and its address, if it is a load or store.
    fn access(&self) -> Option<Access> {
        self.stream.held?;
        let (by, isa) = self.address()?;
        let mut bytes = [0; 4];
        let known = self.graph.image().read_into(by, self.stream.space, &mut bytes);
        let word = u32::from_le_bytes(bytes);
        let (is_load, size) = match isa {
            Isa::A32 if known == 4 => a32(word)?,
            Isa::T32 if known >= 2 => t32(word as u16)?,
            _ => return None,
        };
        let kind = if is_load { DataKind::Load } else { DataKind::Store };
        let access = DataAccess { kind, size, address: None, value: None, operand: None, after: false };
        Some((access, by))
    }
}

/// Returns whether an instruction of A32 loads, and how many bytes at once.
const fn a32(word: u32) -> Option<(bool, u8)> {
    let load = word >> 20 & 1 == 1;
    Some(match word >> 25 & 7 {
        // Load and store of a word or byte.
        2 => (load, if word >> 22 & 1 == 1 { 1 } else { 4 }),
        3 if word >> 4 & 1 == 0 => (load, if word >> 22 & 1 == 1 { 1 } else { 4 }),
        // Several registers, and coprocessors.
        4 | 6 => (load, 4),
        // Halfwords, signed bytes, and two words.
        0 if word & 0x90 == 0x90 => match (word >> 5 & 3, load) {
            (1, _) | (3, true) => (load, 2),
            (2, true) => (true, 1),
            (2, false) => (true, 4),
            (3, false) => (false, 4),
            // Exclusive accesses.
            _ if word >> 24 & 1 == 1 && word >> 23 & 1 == 1 => match word >> 21 & 3 {
                2 => (load, 1),
                3 => (load, 2),
                _ => (load, 4),
            },
            _ => return None,
        },
        _ => return None,
    })
}

/// The same for T32.
const fn t32(first: u16) -> Option<(bool, u8)> {
    Some(match first >> 11 {
        // 32 bits long: several registers, two words, exclusive, coprocessors; then single ones.
        0x1d if first >> 9 & 3 == 0 || first >> 10 & 1 == 1 => (first >> 4 & 1 == 1, 4),
        0x1f if first >> 9 & 3 == 0 => {
            let size = match first >> 5 & 3 {
                0 => 1,
                1 => 2,
                _ => 4,
            };
            (first >> 4 & 1 == 1, size)
        }
        0x9 => (true, 4),
        0xa | 0xb => match first >> 9 & 7 {
            0 => (false, 4),
            1 => (false, 2),
            2 => (false, 1),
            3 => (true, 1),
            4 => (true, 4),
            5 | 7 => (true, 2),
            _ => (true, 1),
        },
        0xc..=0xd | 0x12..=0x13 | 0x18..=0x19 => (first >> 11 & 1 == 1, 4),
        0xe..=0xf => (first >> 11 & 1 == 1, 1),
        0x10..=0x11 => (first >> 11 & 1 == 1, 2),
        // Push and pop.
        0x16 | 0x17 if first >> 9 & 3 == 2 => (first >> 11 & 1 == 1, 4),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_and_stores() {
        for (word, expected) in [
            (0xe591_0000, Some((true, 4))),  // ldr r0, [r1]
            (0xe5c1_0000, Some((false, 1))), // strb r0, [r1]
            (0xe1d1_00b0, Some((true, 2))),  // ldrh r0, [r1]
            (0xe1c1_00d0, Some((true, 4))),  // ldrd r0, [r1]
            (0xe92d_4010, Some((false, 4))), // push {r4, lr}
            (0xe1a0_0000, None),             // mov r0, r0
            (0xe000_0291, None),             // mul r0, r1, r2
        ] {
            assert_eq!(a32(word), expected, "{word:#x}");
        }
        for (first, expected) in [
            (0x6800, Some((true, 4))),  // ldr r0, [r0]
            (0x7008, Some((false, 1))), // strb r0, [r1]
            (0x8808, Some((true, 2))),  // ldrh r0, [r1]
            (0xb510, Some((false, 4))), // push {r4, lr}
            (0xbd10, Some((true, 4))),  // pop {r4, pc}
            (0xf8d1, Some((true, 4))),  // ldr.w
            (0xf801, Some((false, 1))), // strb.w
            (0xe92d, Some((false, 4))), // push.w
            (0xea00, None),             // and.w
            (0xbf00, None),             // nop
            (0x2000, None),             // movs r0, #0
        ] {
            assert_eq!(t32(first), expected, "{first:#x}");
        }
    }
}
