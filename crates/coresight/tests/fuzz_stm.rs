//! Fuzz body of STM as a plain function, run here on some hundreds of random inputs.

use tracewright_core::Element;
use tracewright_coresight::stm::decode::{Decoder, Options};
use tracewright_coresight::stm::packet::{
    Encoding, Kind, Nibbles, Packet, Parser, Size, Span, State, StmSink, Timestamp,
};
use tracewright_coresight::stm::{Params, Registers};
use tracewright_image::Image;
use tracewright_testkit::Rng;

struct Feed<'d, 'i> {
    decoder: &'d mut Decoder<'i>,
    /// Nibble after the last packet.
    end: u64,
    /// Bytes that packets and skipped nibbles count for.
    bytes: u64,
    packets: Vec<(u64, u64, Packet)>,
    elements: Vec<(u64, Element)>,
}

impl StmSink for Feed<'_, '_> {
    fn packet(&mut self, span: Span, bytes: &[u8], packet: &Packet) {
        assert_eq!(span.start, self.end, "each nibble is in one packet");
        self.end = span.end();
        if !matches!(packet, Packet::NotSync { .. }) {
            assert_eq!(bytes.len() as u64, self.end.div_ceil(2) - span.offset());
            self.bytes += span.own_bytes();
        }
        self.packets.push((span.start, span.nibbles, *packet));
        let elements = &mut self.elements;
        self.decoder.packet(span, packet, &mut |at: u64, element: &Element| elements.push((at, *element)));
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        assert_eq!(offset, self.bytes, "each byte counts once");
        self.bytes += bytes.len() as u64;
        let elements = &mut self.elements;
        self.decoder.skipping(offset, &mut |at: u64, element: &Element| elements.push((at, *element)));
    }
}

/// Parses and decodes any bytes, of which the first says how they are cut into chunks. Chunks change nothing, the naive twin reads the
/// same packets, and packets are written as they were.
pub fn stm(data: &[u8]) {
    let Some((&size, bytes)) = data.split_first() else { return };
    let decode = |size: usize, like_opencsd: bool| {
        let image = Image::builder().build();
        let mut decoder = Decoder::new(&Params::new(&Registers::default()), &image, Options { like_opencsd });
        let mut parser = Parser::new();
        let mut feed =
            Feed { decoder: &mut decoder, end: 0, bytes: 0, packets: Vec::new(), elements: Vec::new() };
        for chunk in bytes.chunks(size) {
            parser.feed(chunk, &mut feed);
            assert!(parser.unfinished() <= parser.position());
        }
        parser.finish(&mut feed);
        assert_eq!((feed.end, feed.bytes), (2 * bytes.len() as u64, bytes.len() as u64));
        let (packets, mut elements) = (feed.packets, feed.elements);
        decoder.finish(parser.position(), &mut |at: u64, element: &Element| elements.push((at, *element)));
        (packets, elements)
    };
    let (packets, elements) = decode(bytes.len().max(1), false);
    assert_eq!(decode(usize::from(size).max(1), false), (packets.clone(), elements));
    assert_eq!(packets, naive(bytes));
    assert_eq!(decode(usize::from(size).max(1), true).0, packets);
    written(bytes, &packets);
}

/// Checks that each packet is written as its nibbles were.
fn written(bytes: &[u8], packets: &[(u64, u64, Packet)]) {
    let all = nibbles(bytes);
    let mut state = State::default();
    let is_bad = |packet: &Packet| packet.kind() >= Kind::NotSync;
    for (start, len, packet) in packets.iter().filter(|(.., packet)| !is_bad(packet)) {
        let mut out = Nibbles::new();
        // Without a VERSION no timestamp is read.
        packet.write(state.encoding.unwrap_or(Encoding::Natural), &mut out);
        state.apply(packet);
        assert_eq!(out.len() as u64, *len);
        let again = nibbles(out.bytes());
        assert_eq!(again[..*len as usize], all[*start as usize..(start + len) as usize], "{packet:?}");
    }
}

fn nibbles(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| [byte & 0xf, byte >> 4]).collect()
}

/// A cursor over nibbles. `None` after the end.
struct Cursor<'n> {
    nibbles: &'n [u8],
    at: usize,
}

impl Cursor<'_> {
    fn next(&mut self) -> Option<u8> {
        let nibble = self.nibbles.get(self.at).copied()?;
        self.at += 1;
        Some(nibble)
    }

    fn number(&mut self, count: u8) -> Option<u64> {
        (0..count).try_fold(0, |value, _| Some(value << 4 | u64::from(self.next()?)))
    }
}

/// What there is instead of a packet, if it is not the end.
enum Not {
    Whole,
    Packet(Packet),
}

/// Reads packets nibble by nibble.
fn naive(bytes: &[u8]) -> Vec<(u64, u64, Packet)> {
    let all = nibbles(bytes);
    let mut packets = Vec::new();
    let (mut at, mut is_synchronised, mut state) = (0, false, State::default());
    while at < all.len() {
        let rest = &all[at..];
        if !is_synchronised {
            let is_async =
                |end: &usize| rest[*end] == 0 && rest[*end - 21..*end].iter().all(|&one| one == 0xf);
            let end = (21..rest.len()).find(is_async);
            let skipped = end.map_or(rest.len(), |end| end - 21);
            if skipped > 0 {
                packets.push((at as u64, skipped as u64, Packet::NotSync { nibbles: skipped as u64 }));
            }
            at += skipped;
            if end.is_some() {
                packets.push((at as u64, 22, Packet::Async { ones: 21 }));
                (at, is_synchronised, state) = (at + 22, true, State::default());
            }
            continue;
        }
        let mut cursor = Cursor { nibbles: rest, at: 0 };
        let mut kind = None;
        let (packet, len) = match one(&mut cursor, &mut kind, &state) {
            Ok(packet) => (packet, cursor.at),
            Err(Not::Whole) => (Packet::Incomplete { kind }, rest.len()),
            Err(Not::Packet(packet)) => {
                is_synchronised = false;
                // Ones may belong to an ASYNC.
                let ones = rest[1..cursor.at].iter().rev().take_while(|&&one| one == 0xf).count();
                (packet, cursor.at - ones)
            }
        };
        state.apply(&packet);
        packets.push((at as u64, len as u64, packet));
        at += len;
    }
    packets
}

fn one(from: &mut Cursor<'_>, of: &mut Option<Kind>, state: &State) -> Result<Packet, Not> {
    use Kind::*;
    let all = Not::Whole;
    let first = from.next().ok_or(all)?;
    let kinds = [Null, M8, Merr, C8, D8, D16, D32, D64, D8Mts, D16Mts, D32Mts, D64Mts, D4, D4Mts, FlagTs];
    let mut kind = kinds.get(usize::from(first)).copied();
    if first == 0xf {
        let second = from.next().ok_or(Not::Whole)?;
        let kinds =
            [M16, Gerr, C16, D8Ts, D16Ts, D32Ts, D64Ts, D8M, D16M, D32M, D64M, D4Ts, D4M, Flag, Async];
        kind = kinds.get(usize::from(second).wrapping_sub(1)).copied();
        if second == 0 {
            let third = from.next().ok_or(Not::Whole)?;
            kind = match third {
                0 => Some(Version),
                1 => Some(NullTs),
                2 => Some(User),
                3 => Some(UserTs),
                6 => Some(Trig),
                7 => Some(TrigTs),
                8 => Some(Freq),
                9 => Some(FreqTs),
                0xa => Some(Xsync),
                0xb => Some(XsyncTs),
                _ => None,
            };
            if kind.is_none() {
                return Err(Not::Packet(Packet::Reserved { header: 0xf00 | u16::from(third) }));
            }
        }
    }
    *of = kind;
    let kind = kind.ok_or(Not::Whole)?;
    let mut number = |count| from.number(count).ok_or(Not::Whole);
    let (master, channel) = (state.master & 0xff00, state.channel & 0xff00);
    Ok(match kind {
        Async => {
            let mut ones = 2;
            loop {
                match number(1)? {
                    0xf if ones < 32 => ones += 1,
                    0 if ones >= 21 => break Packet::Async { ones },
                    _ => return Err(Not::Packet(Packet::Malformed { kind })),
                }
            }
        }
        Version => match number(1)? {
            3 => Packet::Version(Encoding::Natural),
            4 => Packet::Version(Encoding::Gray),
            _ => return Err(Not::Packet(Packet::Malformed { kind })),
        },
        Null => Packet::Null { timestamp: None },
        M8 => Packet::Master { number: master | number(2)? as u16, wide: false },
        M16 => Packet::Master { number: number(4)? as u16, wide: true },
        C8 => Packet::Channel { number: channel | number(2)? as u16, wide: false },
        C16 => Packet::Channel { number: number(4)? as u16, wide: true },
        Merr => Packet::MasterError(number(2)? as u8),
        Gerr => Packet::GlobalError(number(2)? as u8),
        Flag | FlagTs => Packet::Flag { timestamp: time(from, kind, state)? },
        NullTs => Packet::Null { timestamp: time(from, kind, state)? },
        Trig | TrigTs => {
            let value = number(2)? as u8;
            Packet::Trigger { value, timestamp: time(from, kind, state)? }
        }
        Xsync | XsyncTs => {
            let value = number(2)? as u8;
            Packet::CrossSync { value, timestamp: time(from, kind, state)? }
        }
        Freq | FreqTs => {
            let hertz = number(8)? as u32;
            Packet::Frequency { hertz, timestamp: time(from, kind, state)? }
        }
        User | UserTs => {
            let nibbles = number(1)? as u8 + 1;
            let value = number(nibbles)?;
            Packet::User { nibbles, value, timestamp: time(from, kind, state)? }
        }
        _ => {
            let size = match kind {
                D4 | D4Ts | D4M | D4Mts => Size::Bits4,
                D8 | D8Ts | D8M | D8Mts => Size::Bits8,
                D16 | D16Ts | D16M | D16Mts => Size::Bits16,
                D32 | D32Ts | D32M | D32Mts => Size::Bits32,
                _ => Size::Bits64,
            };
            let value = number(size.bits() / 4)?;
            let marked = kind.name().contains('M');
            Packet::Data { size, value, marked, timestamp: time(from, kind, state)? }
        }
    })
}

fn time(from: &mut Cursor<'_>, kind: Kind, state: &State) -> Result<Option<Timestamp>, Not> {
    if !kind.name().ends_with("TS") {
        return Ok(None);
    }
    let count = match from.next().ok_or(Not::Whole)? {
        0xd => 14,
        0xe => 16,
        0xf => 17,
        count => count,
    };
    let (Some(encoding), 0..=16) = (state.encoding, count) else {
        return Err(Not::Packet(Packet::Malformed { kind }));
    };
    let bits = from.number(count).ok_or(Not::Whole)?;
    let told = 4 * count;
    let mask = if told == 64 { 0 } else { u64::MAX << told };
    let gray = encoding == Encoding::Gray;
    let before = if gray { state.timestamp ^ state.timestamp >> 1 } else { state.timestamp };
    let mut value = before & mask | bits;
    if gray {
        // Each bit is the sum of those above it.
        for bit in (0..63).rev() {
            value ^= (value >> (bit + 1) & 1) << bit;
        }
    }
    Ok(Some(Timestamp { value, told }))
}

/// Bytes that are mostly packets.
pub fn made(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut out = Nibbles::new();
    for _ in 0..rng.below(120) {
        match rng.below(12) {
            0 => (0..rng.below(30)).for_each(|_| out.push(0xf)),
            1 => {
                out.number(0xff_ffff_ffff_fff0, 16);
                (0..rng.below(12)).for_each(|_| out.push(0xf));
            }
            2 | 3 => {
                (0..21).for_each(|_| out.push(0xf));
                out.number(0xf003 | rng.below(2), 5);
            }
            4 => out.push(rng.below(16) as u8),
            5 => out.number(0xf00 | rng.below(0x100), 3),
            _ => {
                let count = 1 + rng.below(16) as u8;
                out.number(rng.next_u64() & !(3 << (4 * count - 2).min(62)), count);
            }
        }
    }
    let mut bytes = vec![rng.below(256) as u8];
    bytes.extend(out.bytes());
    bytes
}

#[test]
fn any_bytes() {
    for seed in 0..2000 {
        stm(&made(seed));
        stm(&Rng::new(seed).bytes_below(300));
    }
}
