//! The hot loop of the parser: atoms, and short branch addresses without exceptions, which are nearly all packets.
//!
//! `read.rs` reads the same packets in their general form, and tests compare the two. Here one load of eight bytes holds a whole
//! packet, and neither the length of an address nor the atoms of a header take a branch.

use tracewright_core::stream::PacketSink;

use super::read::{State, atoms};
use super::{Address, Atoms, Branch, Packet, cycles};
use crate::ptm::Params;
use crate::shared::address::{Encoding, Short};

/// Reads packets from `bytes[at..]` while they are of a common kind and not too near the end. Returns where the first other packet
/// starts. `position` is the stream position of `bytes[0]`.
#[inline(always)]
pub(super) fn run<S: PacketSink<Packet>>(
    bytes: &[u8],
    at: usize,
    position: u64,
    params: &Params,
    state: &mut State,
    sink: &mut S,
) -> usize {
    let Some((isa, alternative)) = state.isa else { return at };
    let (mut previous, mut known) = (state.address, state.known);
    let mut rest = bytes.get(at..).unwrap_or_default();
    let end = position + bytes.len() as u64;
    while let Some(window) = rest.first_chunk::<8>() {
        let word = u64::from_le_bytes(*window);
        let offset = end - rest.len() as u64;
        let is_branch = word & 1 == 1;
        let len = if is_branch {
            let encoding = Encoding::Alternative;
            let Some(short) = Short::in_word(word as u32, encoding, previous, isa) else { break };
            let mut len = short.len;
            let cycles = if params.cycle_accurate {
                let Some((cycles, more)) = cycles::in_word((word >> (8 * len)) as u32) else { break };
                len += more;
                Some(cycles)
            } else {
                None
            };
            (previous, known) = (short.value, known.max(short.told));
            let address = Address {
                value: previous,
                state: isa,
                alternative,
                width: short.width,
                known,
                changes_state: false,
                information: false,
            };
            sink.packet(
                offset,
                window.get(..len).unwrap_or_default(),
                &Packet::Branch(Branch { address, exception: None, cycles }),
            );
            len
        } else if word & 0x80 == 0 {
            break;
        } else if params.cycle_accurate {
            let Some((cycles, len)) = cycles::in_word(word as u32) else { break };
            sink.packet(
                offset,
                window.get(..len).unwrap_or_default(),
                &Packet::CycleAtom { taken: word & 2 == 0, cycles },
            );
            len
        } else {
            let atoms = ATOMS[word as usize >> 1 & 0x3f];
            if atoms.count == 0 {
                break;
            }
            sink.packet(offset, &window[..1], &Packet::Atoms(atoms));
            1
        };
        rest = &rest[len..];
    }
    (state.address, state.known) = (previous, known);
    bytes.len() - rest.len()
}

/// The atoms of headers, by bits 6 to 1: none for those that have no meaning.
static ATOMS: [Atoms; 64] = {
    let mut table = [Atoms { bits: 0, count: 0 }; 64];
    let mut index = 0;
    while index < 64 {
        if let Some(found) = atoms(0x80 | (index as u8) << 1) {
            table[index] = found;
        }
        index += 1;
    }
    table
};
