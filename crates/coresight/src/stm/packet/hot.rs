//! The hot loop of the parser: packets with a value, flags, and small numbers of masters and channels, which are nearly all packets.
//!
//! `read.rs` reads the same packets in their general form, and tests compare the two. Here neither the size of a value nor a timestamp
//! takes a branch: in a stream of several masters they cannot be foreseen. Where the next packet begins is known only when the length
//! of this one is, so that is what is computed first, from two words and one table.

use super::kind::{Kind, Size};
use super::nibbles::Span;
use super::parser::StmSink;
use super::read::State;
use super::timestamp::{Encoding, Timestamp};
use super::types::Packet;

/// Bytes that are read before the first one of a packet, and from it on.
const BEFORE: usize = 8;
pub(super) const WINDOW: usize = 32;

/// Most nibbles of a timestamp here: lengths 13 and 14 stand for 14 and 16.
const MOST_TOLD: u32 = 12;

/// Reads packets from nibble `at` on while they are of a common kind and [`WINDOW`] bytes are left. Returns the nibble at which the first
/// other packet starts. `position` is the position of the first nibble of `bytes`.
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
    while let Some(window) = (at / 2)
        .checked_sub(BEFORE)
        .and_then(|from| bytes.get(from..))
        .and_then(<[u8]>::first_chunk::<{ BEFORE + WINDOW }>)
    {
        let odd = at % 2;
        let [low, high] = [BEFORE, BEFORE + 8].map(|from| eight(window, from) >> (4 * odd));
        let form = &FORMS[low as usize & 0xff];
        // The length of the timestamp comes after header and value.
        let length = if form.is_long { high } else { low };
        let told = (length >> (form.bits & 63)) as u32 & form.has_timestamp;
        if told > MOST_TOLD {
            break;
        }
        let len = form.len + told as usize;
        let begins = 2 * BEFORE + odd;
        let value = number_before(window, begins + form.bits as usize / 4) & form.kept;
        let told_bits = (1_u64 << (4 * told)) - 1;
        time = time & !told_bits | number_before(window, begins + len) & told_bits;
        let has_timestamp = form.has_timestamp != 0;
        let timestamp = has_timestamp.then_some(Timestamp { value: time, told: 4 * told as u8 });
        let packet = if form.what == What::Data {
            Packet::Data { size: form.size, value, marked: form.marked, timestamp }
        } else {
            let number = value as u16;
            match form.what {
                What::Flag => Packet::Flag { timestamp },
                What::Master => {
                    (state.master, state.channel) = (state.master & 0xff00 | number, 0);
                    Packet::Master { number: state.master, wide: false }
                }
                What::Channel => {
                    state.channel = state.channel & 0xff00 | number;
                    Packet::Channel { number: state.channel, wide: false }
                }
                What::Other | What::Data => break,
            }
        };
        let span = Span { start: position + at as u64, nibbles: len as u64 };
        let of_packet = window[BEFORE..].get(..(odd + len).div_ceil(2));
        sink.packet(span, of_packet.unwrap_or_default(), &packet);
        at += len;
    }
    state.timestamp = time;
    at
}

/// Returns eight bytes of a window.
#[inline(always)]
fn eight(window: &[u8; BEFORE + WINDOW], from: usize) -> u64 {
    // Never beyond the end, as the compiler sees.
    window[from % WINDOW..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns the number that the 16 nibbles before nibble `end` are, of which the first is the most significant one.
#[inline(always)]
fn number_before(window: &[u8; BEFORE + WINDOW], end: usize) -> u64 {
    const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let (from, odd) = (end.div_ceil(2) - 8, end % 2);
    let word = eight(window, from).swap_bytes();
    let number = (word & LOW) << 4 | word >> 4 & LOW;
    // In the middle of a byte one nibble is too many, and the first is missing.
    let first = u64::from(window[(from + WINDOW - 1) % WINDOW] >> 4) * odd as u64;
    number >> (4 * odd) | first << 60
}

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Data,
    Flag,
    Master,
    Channel,
    /// Something that is not read here.
    Other,
}

/// A header, and the value and timestamp that follow it.
#[derive(Clone, Copy)]
struct Form {
    /// Bits of the value.
    kept: u64,
    /// Nibbles of the header, the value and the length of the timestamp.
    len: usize,
    /// Bits of the header and the value.
    bits: u32,
    /// All ones of a nibble if a timestamp follows, 0 otherwise.
    has_timestamp: u32,
    /// Whether header and value have 16 nibbles or more.
    is_long: bool,
    what: What,
    /// Size of the value of [`What::Data`], and whether it is marked.
    size: Size,
    marked: bool,
}

const OTHER: Form = Form {
    kept: 0,
    len: 0,
    bits: 0,
    has_timestamp: 0,
    is_long: false,
    what: What::Other,
    size: Size::Bits4,
    marked: false,
};

/// Forms by the first two nibbles, as a byte has them: the first is the low one.
static FORMS: [Form; 0x100] = {
    let mut forms = [OTHER; 0x100];
    let mut number = 0;
    while number < Kind::COUNT {
        let kind = Kind::ALL[number];
        number += 1;
        let (what, size, marked) = match (kind.data(), kind) {
            (Some((size, marked)), _) => (What::Data, size, marked),
            (None, Kind::Flag | Kind::FlagTs) => (What::Flag, Size::Bits4, false),
            (None, Kind::M8) => (What::Master, Size::Bits4, false),
            (None, Kind::C8) => (What::Channel, Size::Bits4, false),
            _ => continue,
        };
        let (digits, header) = kind.header();
        let len = header + kind.payload();
        let form = Form {
            kept: if kind.payload() == 0 { 0 } else { u64::MAX >> (64 - 4 * kind.payload() as u32) },
            len: (len + kind.has_timestamp() as u8) as usize,
            bits: 4 * len as u32,
            has_timestamp: if kind.has_timestamp() { 0xf } else { 0 },
            is_long: len >= 16,
            what,
            size,
            marked,
        };
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
