//! Writes packets: the reverse of reading.

use super::cycles;
use super::types::{Address, Packet};
use crate::ptm::Params;
use crate::shared::ASYNC;
use crate::shared::address::{AddressBytes, Encoding, State};
use crate::shared::exception::ExceptionBytes;
use crate::shared::timestamp::TimestampBytes;

impl Address {
    /// Returns the bytes: the bits that are told, by `width`.
    fn bytes(&self, exception: bool) -> AddressBytes {
        let all = AddressBytes::all(self.value, self.state, exception);
        if self.width >= 32 {
            return all;
        }
        let bits = all.bits & ((1 << self.width) - 1) & !1;
        AddressBytes { bits, width: self.width, state: None, exception }
    }

    /// Returns an address in the fewest bytes after `previous`, the address and instruction set of the last packet with an address.
    /// An address with exception bytes has two bytes at least.
    pub fn shortest(value: u32, state: State, previous: Option<(u32, State)>, has_exception: bool) -> Self {
        let bytes = AddressBytes::shortest(value, state, previous, has_exception, Encoding::Alternative);
        let changes_state = previous.is_none_or(|(_, before)| before != state);
        Self {
            value,
            state,
            alternative: false,
            width: bytes.width,
            known: 32,
            changes_state,
            information: false,
        }
    }
}

impl Packet {
    /// Appends the bytes. What only a parser reports (skipped, malformed and incomplete bytes) has none.
    pub fn write(&self, params: &Params, bytes: &mut Vec<u8>) {
        let encoding = Encoding::Alternative;
        match self {
            Self::Async => bytes.extend(ASYNC),
            Self::ISync(sync) => {
                bytes.push(0x08);
                bytes.extend((sync.address & !1 | u32::from(sync.thumb)).to_le_bytes());
                let bit = |set: bool, bit: u8| u8::from(set) << bit;
                let flags = bit(sync.non_secure, 3) | bit(sync.alternative, 2) | bit(sync.hyp, 1);
                // Bit 0 is always set.
                bytes.push((sync.reason as u8) << 5 | flags | 1);
                if let Some(count) = sync.cycles {
                    // As in an atom: bit 7 is set.
                    cycles::write(count, 0x80, bytes);
                }
                if let Some(id) = sync.context_id {
                    bytes.extend(&id.to_le_bytes()[..usize::from(params.context_id_bytes)]);
                }
            }
            Self::Branch(branch) => {
                branch.address.bytes(branch.exception.is_some()).write(encoding, bytes);
                if let Some(exception) = branch.exception {
                    ExceptionBytes { alternative: branch.address.alternative, ..exception }.write(bytes);
                }
                if let Some(count) = branch.cycles {
                    cycles::write(count, 0, bytes);
                }
            }
            Self::Atoms(atoms) => {
                let newest_first = !atoms.bits.reverse_bits() >> (8 - atoms.count.clamp(1, 5)) << 1;
                let mask = (2 << atoms.count) - 2;
                bytes.push(0x80 | 2 << atoms.count | newest_first & mask);
            }
            Self::CycleAtom { taken, cycles } => {
                cycles::write(*cycles, 0x80 | u8::from(!taken) << 1, bytes);
            }
            Self::WaypointUpdate(address) => {
                bytes.push(0x72);
                address.bytes(address.information).write(encoding, bytes);
                if address.information {
                    bytes.push(u8::from(address.alternative) << 6);
                }
            }
            Self::Trigger => bytes.push(0x0c),
            Self::ContextId(id) => {
                bytes.push(0x6e);
                bytes.extend(&id.to_le_bytes()[..usize::from(params.context_id_bytes)]);
            }
            Self::Vmid(id) => bytes.extend([0x3c, *id]),
            Self::Timestamp(timestamp) => {
                bytes.push(0x42 | u8::from(timestamp.clock_changed) << 2);
                let told = timestamp.told;
                let mask = if told >= 64 { u64::MAX } else { (1 << told) - 1 };
                TimestampBytes { bits: timestamp.value & mask, told }.write(params.timestamp_width, bytes);
                if let Some(count) = timestamp.cycles {
                    cycles::write(count, 0, bytes);
                }
            }
            Self::ExceptionReturn => bytes.push(0x76),
            Self::Ignore => bytes.push(0x66),
            Self::NotSync { .. } | Self::Reserved | Self::Malformed { .. } | Self::Incomplete { .. } => {}
        }
    }
}
