//! The hot loop of the parser: packets with a value, with and without a timestamp, which are nearly all packets.
//!
//! `read.rs` reads the same packets in their general form, and tests compare the two. Here neither the size of a value nor a timestamp
//! takes a branch: in a stream of several masters they cannot be foreseen.

use super::kind::{Kind, Size};
use super::nibbles::{Span, number, word};
use super::parser::StmSink;
use super::read::State;
use super::timestamp::{Encoding, Timestamp};
use super::types::Packet;

/// Bytes that are read from the first one of a packet on.
pub(super) const WINDOW: usize = 32;

/// Reads packets from nibble `at` on while they have a value and [`WINDOW`] bytes are left. Returns the nibble at which the first other
/// packet starts. `position` is the position of the first nibble of `bytes`.
#[inline(never)]
pub(super) fn run(
    bytes: &[u8],
    mut at: usize,
    position: u64,
    state: &mut State,
    sink: &mut impl StmSink,
) -> usize {
    // Gray code takes a loop.
    if state.encoding != Some(Encoding::Natural) {
        return at;
    }
    let mut time = state.timestamp;
    while let Some(window) = bytes.get(at / 2..).and_then(<[u8]>::first_chunk::<WINDOW>) {
        let odd = at % 2;
        let first = u128::from_le_bytes(*window.first_chunk().unwrap_or(&[0; 16])) >> (4 * odd);
        let form = FORMS[first as usize & 0xff];
        let Some(size) = form.size else { break };
        let value = number((first >> (4 * form.header)) as u64, form.payload);
        let len = form.header + form.payload;
        let length = (first >> (4 * len)) as u8 & 0xf & form.has_timestamp;
        if length == 0xf {
            break;
        }
        // Lengths 13 and 14 stand for 14 and 16 nibbles.
        let told = length + u8::from(length > 12) + u8::from(length > 13);
        let one = form.has_timestamp & 1;
        let bits = number(word(window, odd + usize::from(len + one)), told);
        let kept = u64::MAX.checked_shl(4 * u32::from(told)).unwrap_or(0);
        time = time & kept | bits;
        let timestamp = (one == 1).then_some(Timestamp { value: time, told: 4 * told });
        let packet = Packet::Data { size, value, marked: form.marked, timestamp };
        let len = usize::from(len + one + told);
        let span = Span { start: position + at as u64, nibbles: len as u64 };
        sink.packet(span, &window[..(odd + len).div_ceil(2)], &packet);
        at += len;
    }
    state.timestamp = time;
    at
}

/// A header, and the value and timestamp that follow it.
#[derive(Clone, Copy)]
struct Form {
    /// Nibbles of the header, and of the value.
    header: u8,
    payload: u8,
    /// All ones of a nibble if a timestamp follows, 0 otherwise.
    has_timestamp: u8,
    marked: bool,
    /// Size of the value. `None` if packets with this header have none.
    size: Option<Size>,
}

/// Forms by the first two nibbles, as a byte has them: the first is the low one.
static FORMS: [Form; 0x100] = {
    let mut forms = [Form { header: 0, payload: 0, has_timestamp: 0, marked: false, size: None }; 0x100];
    let mut number = 0;
    while number < Kind::COUNT {
        let kind = Kind::ALL[number];
        number += 1;
        let Some((size, marked)) = kind.data() else { continue };
        let (digits, header) = kind.header();
        let has_timestamp = if kind.has_timestamp() { 0xf } else { 0 };
        let form = Form { header, payload: kind.payload(), has_timestamp, marked, size: Some(size) };
        let mut second = 0;
        while second < 0x10 {
            match header {
                1 => forms[(second << 4 | digits) as usize] = form,
                _ => forms[(digits << 4 & 0xf0 | 0xf) as usize] = form,
            }
            second += 1;
        }
    }
    forms
};
