//! Packets to bytes.

use core::ops::Deref;

use super::types::Packet;
use super::{FULL, MAX_PACKET, MOST_SHORT, PRIVILEGES, number};
use crate::Params;

/// Bytes of a packet.
#[derive(Clone, Debug)]
pub struct PacketBytes {
    bytes: [u8; MAX_PACKET],
    len: usize,
}

impl Default for PacketBytes {
    fn default() -> Self {
        Self { bytes: [0; MAX_PACKET], len: 0 }
    }
}

impl Deref for PacketBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl PacketBytes {
    /// No packet has more bytes than there is room for.
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
    }

    fn number(&mut self, mut value: u64) {
        while value >> 7 != 0 {
            self.push(value as u8 & 0x7f);
            value >>= 7;
        }
        self.push(value as u8 | 0x80);
    }

    fn address(&mut self, address: u64, params: &Params) {
        self.number(params.cut(address) >> 1);
    }

    fn asid(&mut self, asid: u64, params: &Params) {
        self.number(asid & ((1 << params.asid_bits) - 1));
    }

    fn first(&mut self, number: u8, kind: u8) {
        self.push(kind << 5 | number << 2 | FULL);
    }

    /// Writes a packet with one value.
    fn short(&mut self, number: u8, value: u64) {
        if value <= MOST_SHORT {
            self.push((value as u8) << 2 | number);
        } else {
            self.first(number, 0);
            self.number(value);
        }
    }
}

/// Writes a packet to `bytes`, which are empty. Fields that the form does not have are left out; those that it has and the packet does not
/// are 0.
pub fn emit(packet: &Packet, params: &Params, bytes: &mut PacketBytes) {
    let is_tagged = params.form != crate::Form::Plain;
    match *packet {
        Packet::TakenBranch { time } => bytes.short(number::TAKEN, time),
        Packet::NotTakenBranch { time } | Packet::Miss { time } => bytes.short(number::NOT_TAKEN, time),
        Packet::InferableJump { time } => bytes.short(number::INFERABLE, time),
        Packet::Hits { count } => bytes.short(number::TAKEN, count),
        Packet::UninferableJump { difference, time } => {
            bytes.first(number::UNINFERABLE, 0);
            bytes.address(difference, params);
            bytes.number(time);
        }
        Packet::Trap { kind, privilege, asid, from, difference, time } => {
            bytes.first(number::TRAP, kind as u8);
            if is_tagged {
                let [before, after] = privilege.unwrap_or_default();
                bytes.push(PRIVILEGES << 6 | (after & 3) << 3 | before & 3);
                if kind == super::TrapKind::Return && after & 3 == 0 {
                    bytes.asid(asid.unwrap_or_default(), params);
                }
            }
            bytes.address(from, params);
            bytes.address(difference, params);
            bytes.number(time);
        }
        Packet::Sync { kind, privilege, asid, configuration, target, time } => {
            bytes.first(number::SYNC, kind as u8);
            if is_tagged {
                bytes.push(PRIVILEGES << 6 | (privilege.unwrap_or_default() & 3) << 3);
                bytes.asid(asid.unwrap_or_default(), params);
            }
            if kind.has_configuration(params.form) {
                bytes.push(configuration.unwrap_or_default());
            }
            bytes.address(target, params);
            bytes.number(time);
        }
    }
}
