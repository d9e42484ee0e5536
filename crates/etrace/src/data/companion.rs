//! Where data packets go between instruction trace packets.

use tracewright_core::DataAccess;

use super::{Encoder, Options, Packet};
use crate::{Params, packet};

/// An [`Encoder`] beside that of instruction trace, which holds an entry back until it knows the next one. Data packets
/// come after what instruction trace says of their entry; but before a synchronisation packet if their instruction is before
/// the one that it reports, so that [`Pairing`](super::Pairing) can tell them apart.
///
/// Tell the accesses of an entry, then give the entry to the instruction trace encoder; each of its packets goes through
/// [`packet`](Self::packet) just before it is sent, and [`entry`](Self::entry) ends it. An entry that has both instructions and a trap
/// has to be given as two.
///
/// ```
/// # use tracewright_core::{Block, DataAccess, DataKind};
/// # use tracewright_etrace::{data, encode, ingress, packet};
/// enum Sent {
///     Instruction(packet::Packet),
///     Data(data::Packet),
/// }
///
/// fn give(
///     entry: &ingress::Entry,
///     accesses: &[(u64, DataAccess)],
///     encoder: &mut encode::Encoder,
///     companion: &mut data::Companion,
///     sent: &mut Vec<Sent>,
/// ) {
///     for (pc, access) in accesses {
///         companion.access(*pc, access);
///     }
///     encoder.entry(entry, &mut |packet| {
///         companion.packet(packet, &mut |data| sent.push(Sent::Data(*data)));
///         sent.push(Sent::Instruction(*packet));
///     });
///     companion.entry(&mut |data| sent.push(Sent::Data(*data)));
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Companion {
    encoder: Encoder,
    /// Accesses that wait, with their instruction's address.
    held: Vec<(u64, DataAccess)>,
    /// How many of them are of the entry that instruction trace holds back.
    current: usize,
}

impl Companion {
    /// An encoder with these options.
    pub fn new(params: &Params, options: Options) -> Self {
        Self { encoder: Encoder::new(params, options), held: Vec::new(), current: 0 }
    }

    /// The instruction at `pc`, of the next entry, did this.
    pub fn access(&mut self, pc: u64, access: &DataAccess) {
        self.held.push((pc, *access));
    }

    /// The instruction trace encoder sends this packet; what comes before it goes to `out`.
    pub fn packet(&mut self, packet: &packet::Packet, out: &mut impl FnMut(&Packet)) {
        match packet {
            packet::Packet::Start(packet::Start { address, .. })
            | packet::Packet::Trap(packet::Trap { thaddr: true, address: Some(address), .. }) => {
                let before = self.held[..self.current].iter().take_while(|(pc, _)| pc < address).count();
                self.send(before, out);
                self.encoder.sync();
            }
            // Nothing of the entry that is held back retired, or all of it is after the packet.
            packet::Packet::Trap(_) => self.encoder.sync(),
            packet::Packet::Support(support) => {
                self.send(self.current, out);
                self.encoder.support(support.doptions);
            }
            _ => {}
        }
    }

    /// The instruction trace encoder has the entry; accesses told from now on are of the next one.
    pub fn entry(&mut self, out: &mut impl FnMut(&Packet)) {
        self.send(self.current, out);
        self.current = self.held.len();
    }

    /// The instruction trace encoder has finished.
    pub fn finish(&mut self, out: &mut impl FnMut(&Packet)) {
        self.send(self.held.len(), out);
        self.current = 0;
    }

    /// Sends the first `count` of those that wait.
    fn send(&mut self, count: usize, out: &mut impl FnMut(&Packet)) {
        for (_, access) in self.held.drain(..count) {
            self.encoder.access(&access, out);
        }
        self.current = self.current.saturating_sub(count);
    }
}
