//! Reads one packet.

use super::kind::{Header, Kind, header};
use super::nibbles::{number, word};
use super::timestamp::{Encoding, Timestamp};
use super::types::Packet;
use super::{MOST_ONES, ONES};

/// What packets refer to: what earlier ones have set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Encoding of timestamps. `None` before the first VERSION.
    pub encoding: Option<Encoding>,
    /// Last timestamp.
    pub timestamp: u64,
    /// Current master.
    pub master: u16,
    /// Current channel.
    pub channel: u16,
}

/// Why there is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// There are too few nibbles.
    More,
    /// The first `read` nibbles are not a packet.
    Bad { packet: Packet, read: usize },
}

/// Reads the packet at nibble `at`. It ends at nibble `limit` at the latest; what comes after is not looked at. Returns the packet and
/// its number of nibbles.
#[inline(always)]
pub(super) fn read(
    bytes: &[u8],
    at: usize,
    limit: usize,
    state: &mut State,
) -> Result<(Packet, usize), Stop> {
    let first = word(bytes, at);
    let found = header(first);
    let Header { kind, len, payload, has_timestamp, data } = found;
    let Some((size, marked)) = data else { return other(bytes, at, limit, found, state) };
    let len = usize::from(len);
    // A value of up to 32 bits is in the first word.
    let value = if payload <= 8 { first >> (4 * len) } else { word(bytes, at + len) };
    let value = number(value, payload);
    let len = len + usize::from(payload);
    if !has_timestamp {
        if at + len > limit {
            return Err(Stop::More);
        }
        return Ok((Packet::Data { size, value, marked, timestamp: None }, len));
    }
    let (timestamp, len) = timestamp(bytes, at, len, limit, kind, state)?;
    state.timestamp = timestamp.value;
    Ok((Packet::Data { size, value, marked, timestamp: Some(timestamp) }, len))
}

/// Reads the timestamp of the packet at nibble `at`, after its first `len` nibbles. Returns it and the number of nibbles with it.
#[inline(always)]
fn timestamp(
    bytes: &[u8],
    at: usize,
    len: usize,
    limit: usize,
    kind: Kind,
    state: &State,
) -> Result<(Timestamp, usize), Stop> {
    let told = word(bytes, at + len);
    let Some((nibbles, encoding)) = Timestamp::nibbles(told as u8 & 0xf).zip(state.encoding) else {
        return Err(bad(Packet::Malformed { kind }, at, len + 1, limit));
    };
    let total = len + 1 + usize::from(nibbles);
    if at + total > limit {
        return Err(Stop::More);
    }
    let bits = if nibbles < 16 { told >> 4 } else { word(bytes, at + len + 1) };
    let bits = number(bits, nibbles);
    Ok((Timestamp::after(state.timestamp, encoding, bits, nibbles), total))
}

#[cold]
fn bad(packet: Packet, at: usize, read: usize, limit: usize) -> Stop {
    if at + read > limit { Stop::More } else { Stop::Bad { packet, read } }
}

/// Reads a packet without a value. Synchronisation, masters and channels are rare.
#[inline(never)]
fn other(
    bytes: &[u8],
    at: usize,
    limit: usize,
    header: Header,
    state: &mut State,
) -> Result<(Packet, usize), Stop> {
    let Header { kind, len, payload, has_timestamp, .. } = header;
    let header_len = usize::from(len);
    match kind {
        Kind::Reserved => {
            let header = number(word(bytes, at), len) as u16;
            return Err(bad(Packet::Reserved { header }, at, header_len, limit));
        }
        Kind::Async => return ones(bytes, at, limit),
        _ => {}
    }
    let mut nibbles = payload;
    let mut len = header_len + usize::from(payload);
    let mut value = number(word(bytes, at + header_len), payload);
    if matches!(kind, Kind::User | Kind::UserTs) {
        nibbles = value as u8 + 1;
        value = number(word(bytes, at + len), nibbles);
        len += usize::from(nibbles);
    }
    let mut timestamp = None;
    if has_timestamp {
        let found = self::timestamp(bytes, at, len, limit, kind, state)?;
        (timestamp, len) = (Some(found.0), found.1);
    } else if at + len > limit {
        return Err(Stop::More);
    }
    let byte = value as u8;
    let packet = match kind {
        Kind::NullTs => Packet::Null { timestamp },
        Kind::M8 => Packet::Master { number: state.master & 0xff00 | u16::from(byte), wide: false },
        Kind::M16 => Packet::Master { number: value as u16, wide: true },
        Kind::C8 => Packet::Channel { number: state.channel & 0xff00 | u16::from(byte), wide: false },
        Kind::C16 => Packet::Channel { number: value as u16, wide: true },
        Kind::Flag | Kind::FlagTs => Packet::Flag { timestamp },
        Kind::Trig | Kind::TrigTs => Packet::Trigger { value: byte, timestamp },
        Kind::User | Kind::UserTs => Packet::User { nibbles, value, timestamp },
        Kind::Freq | Kind::FreqTs => Packet::Frequency { hertz: value as u32, timestamp },
        Kind::Xsync | Kind::XsyncTs => Packet::CrossSync { value: byte, timestamp },
        Kind::Merr => Packet::MasterError(byte),
        Kind::Gerr => Packet::GlobalError(byte),
        Kind::Version => match Encoding::of_version(byte) {
            Some(encoding) => Packet::Version(encoding),
            None => return Err(bad(Packet::Malformed { kind }, at, len, limit)),
        },
        _ => Packet::Null { timestamp: None },
    };
    state.apply(&packet);
    Ok((packet, len))
}

/// Reads ones up to the zero that ends them.
fn ones(bytes: &[u8], at: usize, limit: usize) -> Result<(Packet, usize), Stop> {
    let mut ones = 0;
    while ones <= usize::from(MOST_ONES) {
        let row = word(bytes, at + ones).trailing_ones() as usize / 4;
        ones += row;
        if row < 16 {
            break;
        }
    }
    let most = usize::from(MOST_ONES);
    let ends = ones <= most && word(bytes, at + ones) & 0xf == 0;
    if ones < usize::from(ONES) || !ends {
        return Err(bad(Packet::Malformed { kind: Kind::Async }, at, ones.min(most) + 1, limit));
    }
    if at + ones + 1 > limit {
        return Err(Stop::More);
    }
    Ok((Packet::Async { ones: ones as u8 }, ones + 1))
}

impl State {
    /// Takes what a packet says about later ones.
    #[inline]
    pub fn apply(&mut self, packet: &Packet) {
        if let Some(timestamp) = packet.timestamp() {
            self.timestamp = timestamp.value;
        }
        match *packet {
            Packet::Version(encoding) => {
                (self.encoding, self.master, self.channel) = (Some(encoding), 0, 0);
            }
            Packet::Master { number, .. } => (self.master, self.channel) = (number, 0),
            Packet::Channel { number, .. } => self.channel = number,
            Packet::MasterError(_) => self.channel = 0,
            Packet::GlobalError(_) => (self.master, self.channel) = (0, 0),
            _ => {}
        }
    }
}
