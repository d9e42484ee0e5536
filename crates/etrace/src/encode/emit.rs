//! Emission of packets that were decided on.

use tracewright_isa::riscv::IType;

use super::encoder::{Encoder, Reason};
use super::port::Reached;
use super::unfit::{Field, Unfit};
use super::{ResyncMode, port};
use crate::bits::sign_extended;
use crate::ingress::Entry;
use crate::packet::{
    Address, BranchCount, BranchMap, Context, Packet, QualStatus, Short, Start, Support, Trap,
};
use crate::{Params, SupportLayout};

impl Encoder {
    pub(super) fn emit_support(&mut self, ienable: bool, status: QualStatus, out: &mut impl FnMut(&Packet)) {
        let support = self.support(ienable, status);
        self.send(&support, out);
        if self.config.shallow {
            self.branches.clear();
        }
    }

    pub(super) fn support(&self, ienable: bool, qual_status: QualStatus) -> Packet {
        Packet::Support(Support {
            ienable,
            qual_status,
            ioptions: self.config.options,
            // Other layouts have no such field.
            resync_disabled: self.config.params.support == SupportLayout::Standard
                && self.config.resync.mode == ResyncMode::Off,
            denable: ienable && self.config.data.is_some(),
            doptions: self.config.data.unwrap_or_default(),
            ..Support::default()
        })
    }

    pub(super) fn emit_start(&mut self, entry: &Entry, out: &mut impl FnMut(&Packet)) {
        let taken = entry.is_single() && entry.taken() == Some(true);
        let address = self.sent(entry.iaddr);
        let context = self.checked_context(entry);
        self.send(&Packet::Start(Start { taken, context, address }), out);
        self.reach(Reached::First);
        self.address = address;
        self.restart();
    }

    /// Emits a trap packet for `trap` with the address of `at`.
    pub(super) fn emit_trap(
        &mut self,
        trap: &Entry,
        thaddr: bool,
        at: &Entry,
        out: &mut impl FnMut(&Packet),
    ) {
        let interrupt = trap.itype == IType::Interrupt;
        let is_implicit = thaddr && self.config.options.implicit_exception;
        let address = (!is_implicit).then(|| self.sent(at.iaddr));
        let context = self.checked_context(at);
        let params = &self.config.params;
        let unfit = Unfit::of(Field::Cause, trap.cause, params)
            .or_else(|| if interrupt { None } else { Unfit::of(Field::TrapValue, trap.tval, params) });
        self.unfit = self.unfit.or(unfit);
        let packet = Packet::Trap(Trap {
            taken: at.is_single() && at.taken() == Some(true),
            context,
            ecause: low(trap.cause, params.ecause_width.into()),
            interrupt,
            thaddr,
            address,
            tval: (!interrupt).then(|| params.address(trap.tval)),
        });
        self.send(&packet, out);
        self.reach(Reached::First);
        self.address = address.unwrap_or(self.address);
        self.restart();
    }

    pub(super) fn emit_context(&mut self, entry: &Entry, out: &mut impl FnMut(&Packet)) {
        let context = self.checked_context(entry);
        self.send(&Packet::Context(context), out);
        if self.config.shallow {
            self.branches.clear();
        }
    }

    pub(super) fn emit_branches(&mut self, out: &mut impl FnMut(&Packet)) {
        let packet = match self.branches.count() {
            Some((count, failed)) => Packet::BranchCount(BranchCount { count, failed, address: None }),
            None => Packet::Branches(self.branches.map, None),
        };
        self.send(&packet, out);
        self.reach(Reached::Last);
        self.branches.clear();
        self.is_unconfirmed = false;
    }

    pub(super) fn emit_address(&mut self, address: u64, reason: Reason, out: &mut impl FnMut(&Packet)) {
        let Reason { notify, updiscon, is_target, is_first, returns } = reason;
        let address = self.sent(address);
        let value = match self.config.options.full_address {
            true => address,
            false => self.difference(address),
        };
        let told = Address { value, notify, updiscon, returns };
        let map = self.branches.map;
        let mut packet = match self.branches.count() {
            Some((count, failed)) => Packet::BranchCount(BranchCount { count, failed, address: Some(told) }),
            None if map.is_empty() => Packet::Address(told),
            None => Packet::Branches(map, Some(told)),
        };
        let quirks = &self.config.quirks;
        if let Some(targets) = &mut self.targets
            && (is_target || quirks.caches_every_address)
        {
            match targets.find(address) {
                Some(index) if is_target && !updiscon && !matches!(packet, Packet::BranchCount(_)) => {
                    let index = index as u32;
                    let params = &self.config.params;
                    if quirks.always_prefers_index || !is_shorter(&told, index, map, params) {
                        packet = Packet::JumpTarget { index, branches: map, returns };
                    }
                }
                Some(_) => {}
                None => targets.insert(address),
            }
        }
        self.send(&packet, out);
        self.reach(if is_first { Reached::First } else { Reached::Last });
        self.address = address;
        self.branches.clear();
        self.returns.count = 0;
        self.is_unconfirmed = is_target && !updiscon;
    }

    /// Resets history after a synchronisation packet.
    fn restart(&mut self) {
        self.branches.reset();
        self.returns.reset();
        if let Some(targets) = &mut self.targets {
            targets.reset();
        }
        self.resync.restart(self.cycle);
        self.is_armed = false;
        self.is_unconfirmed = false;
    }

    #[inline]
    pub(super) fn send(&mut self, packet: &Packet, out: &mut impl FnMut(&Packet)) {
        if self.buffer.is_some() && !self.fits(packet) {
            return;
        }
        self.resync.packet();
        out(packet);
    }

    /// Returns whether the port accepts a packet.
    #[cold]
    fn fits(&mut self, packet: &Packet) -> bool {
        let Some(buffer) = &mut self.buffer else { return true };
        if !self.is_lost && !buffer.take(packet, self.now) {
            self.is_lost = true;
        }
        !self.is_lost
    }

    /// Records how far the last sent packet leads a reader.
    #[inline]
    fn reach(&mut self, to: Reached) {
        if let Some(buffer) = &mut self.buffer
            && !self.is_lost
        {
            buffer.reached = Some(to);
        }
    }

    pub(super) fn context_of(&self, entry: &Entry) -> Context {
        let params = &self.config.params;
        Context {
            privilege: low(entry.privilege.into(), params.privilege_width.into()) as u8,
            time: low(entry.time, params.time_bits()),
            context: low(entry.context, params.context_bits()),
        }
    }

    /// Returns the context of an entry for a packet, and keeps what does not fit.
    fn checked_context(&mut self, entry: &Entry) -> Context {
        let params = &self.config.params;
        let unfit = Unfit::of(Field::Privilege, entry.privilege.into(), params);
        self.unfit = self.unfit.or(unfit);
        self.context_of(entry)
    }

    /// Returns the bits of an address that are sent, and keeps the address if it has others.
    #[inline]
    fn sent(&mut self, address: u64) -> u64 {
        let params = &self.config.params;
        let sent = params.address(address) >> params.iaddress_lsb << params.iaddress_lsb;
        if sent != address {
            self.unfit = self.unfit.or_else(|| Unfit::of(Field::Address, address, &self.config.params));
        }
        sent
    }

    /// Returns the difference to the last reported address.
    #[inline]
    fn difference(&self, address: u64) -> u64 {
        sign_extended(address.wrapping_sub(self.address), self.config.params.iaddress_width.into()) as u64
    }
}

/// Returns the lowest bits of a value.
const fn low(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// Returns whether a packet with the address is shorter than one with its index in the jump target cache.
#[inline]
fn is_shorter(address: &Address, index: u32, map: BranchMap, params: &Params) -> bool {
    if Short::suits(params, 0) && !map.is_empty() {
        let indexed = Short::jump_target(index, map, address.returns, params, 0, 0);
        return Short::branches_and_address(map, address, params, 0, 0).len() < indexed.len();
    }
    let indexed = Packet::JumpTarget { index, branches: map, returns: address.returns };
    let other = match map.is_empty() {
        true => Packet::Address(*address),
        false => Packet::Branches(map, Some(*address)),
    };
    port::payload_len(&other, params) < port::payload_len(&indexed, params)
}
