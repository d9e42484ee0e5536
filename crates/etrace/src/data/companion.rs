//! Order of data packets between instruction trace packets.

use tracewright_core::DataAccess;

use super::{Encoder, Options, Packet};
use crate::{Params, packet};

/// Data [`Encoder`] that runs beside an instruction trace encoder, which holds an entry back until it knows
/// the next one. Data packets come after the instruction packets of their entry. If their instruction lies
/// before the one that a synchronisation packet reports, they come before that packet, so that
/// [`Pairing`](super::Pairing) can assign them.
///
/// Give the accesses of an entry first, then pass the entry to the instruction trace encoder. Pass each of
/// its packets to [`packet`](Self::packet) just before it is sent, and call [`entry`](Self::entry) at the
/// end. An entry with both instructions and a trap must be passed as two entries.
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
    /// Waiting accesses, with the addresses of their instructions.
    held: Vec<(u64, DataAccess)>,
    /// Number of waiting accesses that belong to the entry that instruction trace holds back.
    current: usize,
}

impl Companion {
    /// Creates an encoder with these options.
    pub fn new(params: &Params, options: Options) -> Self {
        Self { encoder: Encoder::new(params, options), held: Vec::new(), current: 0 }
    }

    /// Adds an access by the instruction at `pc`, which belongs to the next entry.
    pub fn access(&mut self, pc: u64, access: &DataAccess) {
        self.held.push((pc, *access));
    }

    /// Prepares for an instruction trace packet. Emits the data packets that come before it to `out`.
    pub fn packet(&mut self, packet: &packet::Packet, out: &mut impl FnMut(&Packet)) {
        match packet {
            packet::Packet::Start(packet::Start { address, .. })
            | packet::Packet::Trap(packet::Trap { thaddr: true, address: Some(address), .. }) => {
                let before = self.held[..self.current].iter().take_while(|(pc, _)| pc < address).count();
                self.send(before, out);
                self.encoder.sync();
            }
            // No instruction of the held-back entry retired, or all of them come after the packet.
            packet::Packet::Trap(_) => self.encoder.sync(),
            packet::Packet::Support(support) => {
                self.send(self.current, out);
                self.encoder.support(support.doptions);
            }
            _ => {}
        }
    }

    /// Ends the entry. Later accesses belong to the next one.
    pub fn entry(&mut self, out: &mut impl FnMut(&Packet)) {
        self.send(self.current, out);
        self.current = self.held.len();
    }

    /// Ends the trace after the instruction trace encoder has finished.
    pub fn finish(&mut self, out: &mut impl FnMut(&Packet)) {
        self.send(self.held.len(), out);
        self.current = 0;
    }

    /// Encodes the first `count` waiting accesses.
    fn send(&mut self, count: usize, out: &mut impl FnMut(&Packet)) {
        for (_, access) in self.held.drain(..count) {
            self.encoder.access(&access, out);
        }
        self.current = self.current.saturating_sub(count);
    }
}
