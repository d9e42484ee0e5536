//! Fuzz body of ITM as a plain function, run here on some hundreds of random inputs.

use tracewright_core::stream::{PacketSink, Resync};
use tracewright_core::{Delay, Element};
use tracewright_coresight::itm::decode::{Decoder, Options};
use tracewright_coresight::itm::hardware::Hardware;
use tracewright_coresight::itm::packet::{Kind, Packet, Parser};
use tracewright_coresight::itm::{Params, Registers};
use tracewright_image::Image;
use tracewright_testkit::Rng;

/// Most elements of a packet.
const MOST_ELEMENTS: usize = 4;

struct Feed<'d, 'i> {
    decoder: &'d mut Decoder<'i>,
    /// Stream position after the last packet.
    end: u64,
    packets: Vec<(u64, u64, Packet)>,
    elements: Vec<(u64, Element)>,
}

impl PacketSink<Packet> for Feed<'_, '_> {
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        assert_eq!(offset, self.end, "each byte is in one packet");
        let len = if let Packet::NotSync { len } = packet { *len } else { bytes.len() as u64 };
        self.end += len;
        self.packets.push((offset, len, *packet));
        let before = self.elements.len();
        let elements = &mut self.elements;
        self.decoder.packet(offset, packet, &mut |at: u64, element: &Element| elements.push((at, *element)));
        assert!(self.elements.len() - before <= MOST_ELEMENTS);
    }

    fn skipped(&mut self, offset: u64, _: &[u8]) {
        let elements = &mut self.elements;
        self.decoder.skipping(offset, &mut |at: u64, element: &Element| elements.push((at, *element)));
    }
}

/// Parses and decodes any bytes, of which the first tells the parameters and the second how they are cut into chunks. Chunks change
/// nothing, the naive twin reads the same packets, and packets are written as they were.
pub fn itm(data: &[u8]) {
    let Some((&[flags, size], bytes)) = data.split_first_chunk() else { return };
    let aligned = flags & 1 == 1;
    let itmtcr = u32::from(flags) << 4;
    let params = Params::new(&Registers { itmtcr }).with_aligned_start(aligned);
    let image = Image::builder().build();
    let decode = |size: usize, like_opencsd: bool| {
        let mut decoder = Decoder::new(&params, &image, Options { like_opencsd });
        let resync = if like_opencsd { Resync::NextByte } else { Resync::NextAsync };
        let mut parser = Parser::new(params.clone()).with_resync(resync);
        let mut feed = Feed { decoder: &mut decoder, end: 0, packets: Vec::new(), elements: Vec::new() };
        for chunk in bytes.chunks(size) {
            parser.feed(chunk, &mut feed);
            assert!(parser.unfinished() <= parser.position());
        }
        parser.finish(&mut feed);
        assert_eq!(feed.end, bytes.len() as u64);
        let (packets, mut elements) = (feed.packets, feed.elements);
        decoder.finish(parser.position(), &mut |at: u64, element: &Element| elements.push((at, *element)));
        (packets, elements)
    };
    for like_opencsd in [false, true] {
        let whole = decode(bytes.len().max(1), like_opencsd);
        assert_eq!(decode(usize::from(size).max(1), like_opencsd), whole);
    }
    let (packets, _) = decode(bytes.len().max(1), false);
    assert_eq!(packets, naive(bytes, aligned));
    for (start, len, packet) in packets.iter().filter(|(.., packet)| !packet.kind().is_error()) {
        let mut again = Vec::new();
        packet.write(&mut again);
        // The first zeros of a synchronisation packet may belong to a packet that was cut.
        let from = again.len() - *len as usize;
        assert!(from == 0 || *packet == Packet::Async);
        assert_eq!(again[from..], bytes[*start as usize..(start + len) as usize], "{packet:?}");
    }
}

/// Reads packets slowly: by patterns of bits, from all bytes at once. Returns the start and length of each.
fn naive(bytes: &[u8], aligned: bool) -> Vec<(u64, u64, Packet)> {
    let is_sync = |at: usize| bytes[at..].starts_with(&[0, 0, 0, 0, 0, 0x80]);
    let (mut at, mut found, mut synchronised, mut page) = (0, Vec::new(), aligned, 0);
    while at < bytes.len() {
        if !synchronised {
            let start = (at..bytes.len()).find(|&start| is_sync(start)).unwrap_or(bytes.len());
            if start > at {
                found.push((at as u64, (start - at) as u64, Packet::NotSync { len: (start - at) as u64 }));
            }
            at = start;
            (synchronised, page) = (true, 0);
            continue;
        }
        let (len, packet) = one(&bytes[at..], page);
        page = packet.page().unwrap_or(page);
        let zeros_before = bytes[..at].iter().rev().take_while(|&&byte| byte == 0).count();
        let zeros = len - 1;
        let is_rest = bytes[at + zeros] == 0x80
            && bytes[at..at + zeros].iter().all(|&byte| byte == 0)
            && zeros_before + zeros >= 5;
        if matches!(packet, Packet::Malformed { .. }) && is_rest && !aligned {
            found.push((at as u64, len as u64, Packet::Async));
            page = 0;
        } else {
            found.push((at as u64, len as u64, packet));
            let is_bad = matches!(packet, Packet::Malformed { .. } | Packet::Reserved { .. });
            synchronised = aligned || !is_bad;
        }
        at += len;
    }
    found
}

/// Reads one packet. Returns its length, too.
fn one(bytes: &[u8], page: u8) -> (usize, Packet) {
    let header = format!("{:08b}", bytes[0]);
    let bits = |range: std::ops::Range<usize>| u8::from_str_radix(&header[range], 2).unwrap();
    let kind = Kind::of(bytes[0]);
    let incomplete = (bytes.len(), Packet::Incomplete { kind });
    // Bytes that follow while bit 7 is set, at most so many.
    let follow = |most: usize| {
        let last = bytes[1..].iter().take(most).position(|byte| byte & 0x80 == 0);
        let count = last.map_or(most, |last| last + 1);
        let value =
            |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
        (bytes.len() > count).then(|| (count, last.is_some(), value(&bytes[1..=count])))
    };
    let malformed = |count: usize| (1 + count, Packet::Malformed { kind });
    match (&header[..4], &header[4..]) {
        ("0000", "0000") => {
            let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
            match bytes.get(zeros) {
                _ if zeros > 5 => (1, Packet::Padding { zeros: 1 }),
                None => (zeros, Packet::Padding { zeros: zeros as u8 }),
                Some(0x80) if zeros == 5 => (6, Packet::Async),
                Some(_) => malformed(zeros),
            }
        }
        ("0111", "0000") => (1, Packet::Overflow),
        (_, "0000") if header.starts_with('0') => {
            let delay = Delay { timestamp: false, packet: false };
            (1, Packet::LocalTimestamp { value: bits(1..4).into(), delay, bytes: 0 })
        }
        (_, "0000") if header.starts_with("11") => match follow(4) {
            None => incomplete,
            Some((count, false, _)) => malformed(count),
            Some((count, true, value)) => {
                let delay = Delay { timestamp: bits(3..4) == 1, packet: bits(2..3) == 1 };
                (1 + count, Packet::LocalTimestamp { value: value as u32, delay, bytes: count as u8 })
            }
        },
        ("1001", "0100") => match follow(4) {
            None => incomplete,
            Some((count, false, _)) => malformed(count),
            Some((count, true, value)) => {
                let packet = Packet::GlobalLow {
                    value: (value % (1 << 26)) as u32,
                    clock_changed: value >> 26 & 1 == 1,
                    wrapped: value >> 27 == 1,
                    bytes: count as u8,
                };
                (1 + count, packet)
            }
        },
        ("1011", "0100") => match follow(6) {
            None => incomplete,
            Some((count, false, _)) => malformed(count),
            Some((count, true, value)) => (1 + count, Packet::GlobalHigh { value, bytes: count as u8 }),
        },
        (_, "1000" | "1100") => {
            let hardware = &header[5..6] == "1";
            let low = u32::from(bits(1..4));
            if header.starts_with('0') {
                return (1, Packet::Extension { hardware, value: low, bytes: 0 });
            }
            let Some((count, _, value)) = follow(4) else { return incomplete };
            let top = if count == 4 { u32::from(bytes[4] >> 7) << 31 } else { 0 };
            (
                1 + count,
                Packet::Extension { hardware, value: top | (value as u32) << 3 | low, bytes: count as u8 },
            )
        }
        _ if header.ends_with("00") => (1, Packet::Reserved { header: bytes[0] }),
        _ => {
            let size = [0, 1, 2, 4][usize::from(bits(6..8))];
            let Some(value) = bytes.get(1..=size) else { return incomplete };
            let value = value.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
            let (source, size) = (bits(0..5), size as u8);
            let packet = match &header[5..6] {
                "0" => Packet::Stimulus { port: page * 32 + source, size, value },
                _ => Packet::Hardware(Hardware { source, size, value }),
            };
            (1 + usize::from(size), packet)
        }
    }
}

/// Bytes that are mostly packets.
pub fn made(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = rng.bytes(2);
    for _ in 0..rng.below(60) {
        match rng.below(8) {
            0 => bytes.extend([0, 0, 0, 0, 0, 0x80]),
            1 => bytes.extend(vec![0; rng.below(12) as usize]),
            2 => bytes.extend(rng.bytes_below(8)),
            _ => {
                let headers = [1, 2, 3, 5, 6, 7, 0xc0, 0x94, 0xb4, 0x70, 0x20, 0x48, 0xf8, 0xdc];
                bytes.push(rng.pick(&headers) | if rng.one_in(3) { rng.below(256) as u8 } else { 0 });
                let mask = if rng.one_in(2) { 0x7f } else { 0xff };
                bytes.extend(rng.bytes_below(6).iter().map(|byte| byte & mask));
            }
        }
    }
    bytes
}

#[test]
fn any_bytes() {
    for seed in 0..3000 {
        itm(&made(seed));
        itm(&Rng::new(seed).bytes_below(300));
    }
}
