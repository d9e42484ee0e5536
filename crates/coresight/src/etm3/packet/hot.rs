//! The hot loop of the parser: P-headers, and short branch addresses without exceptions, which are nearly all packets.
//!
//! `read.rs` reads the same packets in their general form, and tests compare the two.

use tracewright_core::stream::PacketSink;

use super::{Address, Atoms, Branch, Packet, TraceState};
use crate::etm3::Params;
use crate::shared::address::AddressBytes;

/// Reads packets from `bytes[at..]` while they are of a common kind and not too near the end. Returns where the first other packet
/// starts. `position` is the stream position of `bytes[0]`.
#[inline(always)]
pub(super) fn run<S: PacketSink<Packet>>(
    bytes: &[u8],
    at: usize,
    position: u64,
    params: &Params,
    state: &mut TraceState,
    sink: &mut S,
) -> usize {
    let atoms = &ATOMS[usize::from(params.cycle_accurate())];
    let mut rest = bytes.get(at..).unwrap_or_default();
    let end = position + bytes.len() as u64;
    while let Some(window) = rest.first_chunk::<4>() {
        let header = window[0];
        let offset = end - rest.len() as u64;
        let len = if header & 0x81 == 0x80 {
            let Some(atoms) = atoms[usize::from(header >> 1 & 0x3f)] else { break };
            sink.packet(offset, &window[..1], &Packet::Atoms(atoms));
            1
        } else if header & 1 == 1 {
            let Some(isa) = state.state else { break };
            let word = u32::from_le_bytes(*window);
            let Some((told, len)) = AddressBytes::in_word(word, params.encoding) else { break };
            let (previous, known) = state.address;
            let (value, _) = told.apply(previous, isa);
            let known = known.max(told.told(isa));
            state.address = (value, known);
            let address = Address { value, told: told.told(isa), known, state: isa };
            let branch = Branch { address, new_state: false, exception: None, deprecated: false };
            sink.packet(offset, &window[..len], &Packet::Branch(branch));
            len
        } else {
            break;
        };
        rest = &rest[len..];
    }
    bytes.len() - rest.len()
}

/// The atoms of P-headers by bits 6 to 1, without cycles and with them.
static ATOMS: [[Option<Atoms>; 64]; 2] = {
    let mut tables = [[None; 64]; 2];
    let mut index = 0;
    while index < 64 {
        let header = 0x80 | (index as u8) << 1;
        tables[0][index] = Atoms::of_header(header, false);
        tables[1][index] = Atoms::of_header(header, true);
        index += 1;
    }
    tables
};
