//! The hot loop of the parser: P-headers, and short branch addresses without exceptions, which are nearly all packets.
//!
//! `read.rs` reads the same packets in their general form, and tests compare the two.

use tracewright_core::stream::{PacketSink, Run};

use super::{Address, Branch, Headers, Packet, TraceState};
use crate::etm3::Params;
use crate::shared::address::Short;

/// Reads packets from `bytes[at..]` while they are of a common kind and not too near the end. Returns where the first other packet
/// starts. `position` is the stream position of `bytes[0]`.
#[inline(always)]
pub(super) fn run<S: PacketSink<Packet, Headers>>(
    bytes: &[u8],
    at: usize,
    position: u64,
    params: &Params,
    state: &mut TraceState,
    sink: &mut S,
) -> usize {
    let cycle_accurate = params.cycle_accurate();
    let mut rest = bytes.get(at..).unwrap_or_default();
    let end = position + bytes.len() as u64;
    while let Some(window) = rest.first_chunk::<8>() {
        let word = u64::from_le_bytes(*window);
        let offset = end - rest.len() as u64;
        let len = if word & 0x81 == 0x80 {
            let Some(row) = Headers::first_in(word, cycle_accurate) else { break };
            if S::RUNS {
                sink.run(offset, row);
            } else {
                row.each(offset, |offset, bytes, packet| sink.packet(offset, bytes, packet));
            }
            row.len()
        } else if word & 1 == 1 {
            let Some(isa) = state.state else { break };
            let (previous, known) = state.address;
            let Some(short) = Short::in_word(word as u32, params.encoding, previous, isa) else { break };
            let Short { value, told, len, .. } = short;
            let known = known.max(told);
            state.address = (value, known);
            let address = Address { value, told, known, state: isa };
            let branch = Branch { address, new_state: false, exception: None, deprecated: false };
            sink.packet(offset, window.get(..len).unwrap_or_default(), &Packet::Branch(branch));
            len
        } else {
            break;
        };
        rest = &rest[len..];
    }
    bytes.len() - rest.len()
}
