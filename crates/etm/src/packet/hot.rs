//! The hot loop of the parser: the few packets that make up nearly all of any stream.
//!
//! `read.rs` reads the same packets in their general form, and tests compare the two. This form is fast for three
//! reasons. One 8-byte load holds a whole packet. The address history stays in CPU registers: in memory, each packet
//! would wait for the last one's store. The lengths of short addresses are computed without a branch, since no
//! predictor learns them. All headers here exist in every configuration.

use tracewright_core::stream::PacketSink;

use super::{Address, AddressForm, AtomRun, Atoms, CycleCount, InstructionSet, Packet, TraceState};
use crate::Params;

use InstructionSet::{Is0, Is1};

/// Reads packets from `bytes[at..]` while they are of a common kind and not too near the end. Returns where the first
/// other packet starts. `position` is the stream position of `bytes[0]`.
#[inline(always)]
pub(super) fn run<S: PacketSink<Packet, AtomRun>>(
    bytes: &[u8],
    at: usize,
    position: u64,
    params: &Params,
    state: &mut TraceState,
    sink: &mut S,
) -> usize {
    let [mut h0, mut h1, mut h2] = state.history;
    let keep_upper = state.keep_upper;
    let threshold = state.cycle_threshold();
    let commits = params.cycle_counts_commit;
    let end = position + bytes.len() as u64;
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some(window) = rest.first_chunk::<8>() {
        let word = u64::from_le_bytes(*window);
        let header = word as u8;
        let offset = end - rest.len() as u64;
        if header >= 0xc0 && S::RUNS {
            let run = AtomRun::first_in(word);
            sink.run(offset, run);
            rest = &rest[run.len()..];
        } else if header >= 0xc0 {
            sink.packet(offset, &window[..1], &Packet::Atom(Atoms::of_packet(header)));
            rest = &rest[1..];
        } else if header & 0xf0 == 0x90 {
            let (packed, is, form, len) = match header & 0xf {
                0x5 => short(word, h0, Is0),
                0xa => long32(word, h0 & keep_upper, Is0),
                0x0..=0x2 => {
                    let entry = if header == 0x91 { h1 } else { h0 };
                    let entry = if header == 0x92 { h2 } else { entry };
                    (entry, set(entry), EXACT[usize::from(header & 3)], 1)
                }
                0x6 => short(word, h0, Is1),
                0xb => long32(word, h0 & keep_upper, Is1),
                _ => break,
            };
            [h0, h1, h2] = [packed, h0, h1];
            sink.packet(offset, &window[..len], &Packet::Address(Address { value: packed & !1, is, form }));
            rest = &rest[len..];
        } else {
            let (count, len) = match header {
                0x10..=0x1f => {
                    let commit = commits.then_some(i64::from(header >> 2 & 3) + 1);
                    let cycles = Some(threshold.wrapping_add(u32::from(header & 3)));
                    (CycleCount { format: 3, commit, cycles }, 1)
                }
                0x0c | 0x0d if !commits || header == 0x0c => {
                    let commit = commits.then_some((word >> 12 & 0xf) as i64 + 1);
                    let cycles = Some(threshold.wrapping_add((word >> 8) as u32 & 0xf));
                    (CycleCount { format: 2, commit, cycles }, 2)
                }
                _ => break,
            };
            sink.packet(offset, &window[..len], &Packet::CycleCount(count));
            rest = &rest[len..];
        }
    }
    let at = bytes.len() - rest.len();
    state.history = [h0, h1, h2];
    at
}

/// Forms by the low header bits. The last one is never used.
const EXACT: [AddressForm; 4] =
    [AddressForm::Exact0, AddressForm::Exact1, AddressForm::Exact2, AddressForm::Exact2];

#[inline(always)]
fn set(packed: u64) -> InstructionSet {
    if packed & 1 == 0 { Is0 } else { Is1 }
}

/// Reads a short address in `word`, header included: one payload byte, or two if bit 7 of the first is set.
#[inline(always)]
fn short(word: u64, base: u64, is: InstructionSet) -> (u64, InstructionSet, AddressForm, usize) {
    let align = is.alignment_bits();
    let two = word >> 15 & 1;
    let low = word >> 8 & 0x7f | word >> 9 & 0x7f80 & two.wrapping_neg();
    let kept = base & (!0 << (7 + 8 * two as u32 + align));
    let form = if two == 0 { AddressForm::Short7 } else { AddressForm::Short15 };
    (kept | low << align | is as u64, is, form, 2 + two as usize)
}

/// Reads a 32-bit address in `word`, header included. `upper` has the bits above 31.
#[inline(always)]
fn long32(word: u64, upper: u64, is: InstructionSet) -> (u64, InstructionSet, AddressForm, usize) {
    let first = (word >> 8 & 0x7f) << is.alignment_bits();
    let second = match is {
        Is0 => (word >> 16 & 0x7f) << 9,
        Is1 => word >> 8 & 0xff00,
    };
    let rest = word >> 8 & 0xffff_0000;
    (upper | rest | second | first | is as u64, is, AddressForm::Long32, 5)
}
