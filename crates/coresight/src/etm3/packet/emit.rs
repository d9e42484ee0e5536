//! Packets to bytes.

use super::read::{deprecated_bits, timestamp_bits};
use super::types::{Address, Branch, DataAddress, ISync, Packet, Timestamp};
use super::{ASYNC, ExceptionBytes, InstructionState, TraceState};
use crate::etm3::Params;
use crate::shared::address::{AddressBytes, State};
use crate::shared::timestamp::TimestampBytes;

/// Returns the bytes of an address that tell as many bits as `address` does.
fn address_bytes(address: &Address, exception: bool) -> AddressBytes {
    if address.told >= 32 {
        return AddressBytes::all(address.value, address.state, exception);
    }
    let (bits, width) = match address.state {
        InstructionState::Arm => (address.value >> 1, address.told - 1),
        InstructionState::Thumb => (address.value, address.told),
        InstructionState::Jazelle => (address.value << 1, address.told + 1),
    };
    AddressBytes { bits: bits & ((1 << width) - 1) & !1, width, state: None, exception }
}

fn cycles(mut value: u32, bytes: &mut Vec<u8>) {
    for _ in 0..4 {
        let more = value > 0x7f;
        bytes.push(value as u8 & 0x7f | u8::from(more) << 7);
        if !more {
            return;
        }
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn data_address(address: &DataAddress, bytes: &mut Vec<u8>) {
    let count = usize::from(address.told.div_ceil(7));
    for index in 0..count.min(4) {
        let byte = (address.value >> (7 * index)) as u8 & 0x7f;
        bytes.push(byte | u8::from(index + 1 < count) << 7);
    }
    if count == 5 {
        bytes.push((address.value >> 28) as u8 | u8::from(address.big_endian == Some(true)) << 4);
    }
}

/// Returns the two bits of a header that tell a size.
const fn size_bits(size: u8) -> u8 {
    match size {
        4 => 3,
        size => size & 3,
    }
}

impl Packet {
    /// Appends the bytes of the packet. Those that stand for bytes that are no packet have none.
    pub fn write(&self, params: &Params, bytes: &mut Vec<u8>) {
        match *self {
            Self::Async => bytes.extend_from_slice(ASYNC),
            Self::CycleCount(count) => {
                bytes.push(0x04);
                cycles(count, bytes);
            }
            Self::ISync(ref sync) => sync.write(params, bytes),
            Self::Trigger => bytes.push(0x0c),
            Self::Atoms(atoms) => bytes.push(atoms.header()),
            Self::Branch(ref branch) => branch.write(params, bytes),
            Self::OutOfOrder { tag, size, value } => {
                bytes.push(tag << 5 | size_bits(size) << 2);
                bytes.extend_from_slice(&value.to_le_bytes()[..usize::from(size)]);
            }
            Self::Placeholder { tag, first, ref address } => {
                bytes.push(0x50 | u8::from(first) << 5 | tag << 2);
                address.iter().for_each(|address| data_address(address, bytes));
            }
            Self::StoreFailed => bytes.push(0x50),
            Self::Data { first, ref address, size, value } => {
                bytes.push(0x02 | u8::from(first) << 5 | size_bits(size) << 2);
                address.iter().for_each(|address| data_address(address, bytes));
                bytes.extend_from_slice(&value.to_le_bytes()[..usize::from(size)]);
            }
            Self::DataSuppressed => bytes.push(0x62),
            Self::ValueNotTraced { first, ref address } => {
                bytes.push(0x6a | u8::from(first) << 4);
                address.iter().for_each(|address| data_address(address, bytes));
            }
            Self::Vmid(id) => bytes.extend_from_slice(&[0x3c, id]),
            Self::ContextId(id) => {
                bytes.push(0x6e);
                bytes.extend_from_slice(&id.to_le_bytes()[..usize::from(params.context_id_bytes)]);
            }
            Self::Timestamp(Timestamp { value, told, clock_changed, .. }) => {
                bytes.push(0x42 | u8::from(clock_changed) << 2);
                let mask = if told >= 64 { u64::MAX } else { (1 << told) - 1 };
                TimestampBytes { bits: value & mask, told }.write(params.timestamp_width, bytes);
            }
            Self::Ignore => bytes.push(0x66),
            Self::ExceptionEntry => bytes.push(0x7e),
            Self::ExceptionReturn => bytes.push(0x76),
            Self::NotSync { .. }
            | Self::Reserved { .. }
            | Self::ReservedForMode { .. }
            | Self::Malformed { .. }
            | Self::Incomplete { .. } => {}
        }
    }
}

impl Branch {
    fn write(&self, params: &Params, bytes: &mut Vec<u8>) {
        let form = self.exception.filter(|_| self.deprecated);
        if let Some((exception, number)) = form.and_then(|form| Some((form, deprecated_bits(form.number)?))) {
            let mut address = Vec::new();
            AddressBytes::all(self.address.value, State::Arm, false).write(params.encoding, &mut address);
            let fifth = address.pop().unwrap_or_default() & 7;
            bytes.append(&mut address);
            bytes.push(0x80 | u8::from(exception.cancel) << 6 | number << 3 | fifth);
            return;
        }
        address_bytes(&self.address, self.exception.is_some()).write(params.encoding, bytes);
        self.exception.iter().for_each(|exception| exception.write(bytes));
    }
}

impl ISync {
    fn write(&self, params: &Params, bytes: &mut Vec<u8>) {
        match self.cycles {
            Some(count) => {
                bytes.push(0x70);
                cycles(count, bytes);
            }
            None => bytes.push(0x08),
        }
        let id = self.context_id.unwrap_or(0).to_le_bytes();
        bytes.extend_from_slice(&id[..usize::from(params.context_id_bytes)]);
        let bit = |set: bool, bit: u8| u8::from(set) << bit;
        let jazelle = bit(self.state == InstructionState::Jazelle, 4);
        let info = bit(self.non_secure, 3) | bit(self.alternative, 2) | bit(self.hyp, 1) | 1 | jazelle;
        bytes.push(info | (self.reason as u8) << 5 | bit(self.current.is_some(), 7));
        let Some(address) = self.address else { return };
        let thumb = u32::from(self.state == InstructionState::Thumb);
        bytes.extend_from_slice(&(address | thumb).to_le_bytes());
        if let Some(current) = self.current {
            address_bytes(&current, false).write(params.encoding, bytes);
        }
    }
}

/// An emitter of packets that tell as little as they can, as a trace unit does.
#[derive(Clone, Debug)]
pub struct Emitter {
    params: Params,
    state: TraceState,
}

impl Emitter {
    /// Creates an emitter at the start of a stream.
    pub fn new(params: Params) -> Self {
        Self { params, state: TraceState::default() }
    }

    /// Returns the parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Forgets what was told: the next addresses and the next timestamp are told in full.
    pub fn forget(&mut self) {
        self.state = TraceState::default();
    }

    /// Forgets the last timestamp: the next is told in full, as after an A-Sync.
    pub fn forget_timestamp(&mut self) {
        self.state.timestamp = (0, 0);
    }

    /// Returns the packet that continues execution at `value`.
    pub fn branch(&self, value: u32, state: InstructionState, exception: Option<ExceptionBytes>) -> Packet {
        let (last, known) = self.state.address;
        let previous = self.state.state.filter(|_| known == 32).map(|state| (last, state));
        let encoding = self.params.encoding;
        let bytes = AddressBytes::shortest(value, state, previous, exception.is_some(), encoding);
        let address = Address { value, told: bytes.told(state), known: 32, state };
        let new_state = bytes.state.is_some() && self.state.state != Some(state);
        Packet::Branch(Branch { address, new_state, exception, deprecated: false })
    }

    /// Returns the data address `value`.
    pub fn data_address(&self, value: u32, big_endian: bool) -> DataAddress {
        let (last, known) = self.state.data;
        let differ = value ^ last;
        let told = [7, 14, 21, 28].into_iter().find(|&told| known == 32 && differ >> told == 0).unwrap_or(32);
        DataAddress { value, told, known: 32, big_endian: (told == 32).then_some(big_endian) }
    }

    /// Returns a timestamp.
    pub fn timestamp(&self, value: u64) -> Packet {
        let width = self.params.timestamp_width;
        let value = if timestamp_bits(width) == 48 { value & ((1 << 48) - 1) } else { value };
        let (last, known) = self.state.timestamp;
        let most = timestamp_bits(width);
        let told = if known < most { most } else { TimestampBytes::shortest(value, last, width).told };
        Packet::Timestamp(Timestamp { value, told, known: most, clock_changed: false })
    }

    /// Appends the bytes of a packet, and remembers what it told.
    pub fn packet(&mut self, packet: &Packet, bytes: &mut Vec<u8>) {
        packet.write(&self.params, bytes);
        match packet {
            Packet::Branch(branch) => {
                self.state.address = (branch.address.value, branch.address.known);
                if branch.address.told == 32 {
                    self.state.state = Some(branch.address.state);
                }
            }
            Packet::ISync(ISync { address: Some(address), state, current, .. }) => {
                let current = current.map_or((*address, *state), |current| (current.value, current.state));
                (self.state.address, self.state.state) = ((current.0, 32), Some(current.1));
            }
            Packet::Data { address: Some(address), .. }
            | Packet::Placeholder { address: Some(address), .. }
            | Packet::ValueNotTraced { address: Some(address), .. } => {
                self.state.data = (address.value, address.known);
            }
            Packet::Timestamp(timestamp) => self.state.timestamp = (timestamp.value, timestamp.known),
            _ => {}
        }
    }
}
