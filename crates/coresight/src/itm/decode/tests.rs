use std::num::NonZero;

use tracewright_core::{Delay, Element, ExceptionChange, GapReason, Message, Sample, Watched, Write};
use tracewright_image::Image;
use tracewright_testkit::Rng;

use super::{Decoder, Options};
use crate::itm::encode::{self, Encoder};
use crate::itm::packet::{Packet, Parser};
use crate::itm::{Params, Registers};

const SYNC: [u8; 6] = [0, 0, 0, 0, 0, 0x80];

fn decode_with(params: &Params, options: Options, bytes: &[u8]) -> Vec<Element> {
    let image = Image::builder().build();
    let mut decoder = Decoder::new(params, &image, options);
    let mut elements = Vec::new();
    let mut parser = Parser::new(params.clone());
    let mut sink = |offset: u64, _: &[u8], packet: &Packet| {
        decoder.packet(offset, packet, &mut |_: u64, element: &Element| elements.push(*element));
    };
    parser.feed(bytes, &mut sink);
    parser.finish(&mut sink);
    decoder.finish(parser.position(), &mut |_: u64, element: &Element| elements.push(*element));
    assert_eq!(elements.pop(), Some(Element::End));
    elements
}

/// Decodes what follows a synchronisation packet.
fn decode(bytes: &[u8]) -> Vec<Element> {
    let elements = decode_with(&Params::default(), Options::default(), &[&SYNC, bytes].concat());
    assert_eq!(elements[0], Element::Lost(GapReason::Start));
    elements[1..].to_vec()
}

fn write(channel: u32, bits: u8, value: u64) -> Element {
    Element::Message(Message::Write(Write { channel, bits, value, ..Write::default() }))
}

const fn timestamp(value: u64) -> Element {
    Element::Timestamp { value, cycles: None }
}

const fn local(cycles: u64) -> Element {
    Element::LocalTime { cycles, delay: Delay { timestamp: false, packet: false } }
}

#[test]
fn ports_have_pages() {
    let found = decode(&[0x51, 0xac, 0x28, 0x52, 0x45, 0x23, 0x78, 0xf9, 1, 0x08, 0x51, 2]);
    assert_eq!(found, [write(10, 8, 0xac), write(0x4a, 16, 0x2345), write(255, 8, 1), write(10, 8, 2)]);
    // Pages of hardware, and longer extensions, are none.
    assert_eq!(decode(&[0x2c, 0xa8, 0, 0x51, 2]), [write(10, 8, 2)]);
}

#[test]
fn global_timestamps_are_told_when_they_are_known() {
    let found = decode(&[
        0x94, 0xd6, 0xe8, 0xc8, 0x07, // before the upper bits
        0xb4, 0x93, 0x98, 0xa0, 0xa0, 0x80, 0x00, //
        0x94, 0x7a, //
        0x94, 0x92, 0x4e, //
        0x94, 0xd3, 0xc6, 0x10, //
        0x94, 0x82, 0xcf, 0xfa, 0x57, // the upper bits changed
        0x94, 0x5d, //
        0xb4, 0x96, 0x9a, 0x92, 0x00,
    ]);
    let values = [
        0x0010_2030_4cf2_3456,
        0x0010_2030_4cf2_347a,
        0x0010_2030_4cf2_2712,
        0x0010_2030_4ce4_2353,
        0x0000_1234_5afe_a7dd,
    ];
    assert_eq!(found, values.map(timestamp));
}

#[test]
fn local_timestamps_are_in_cycles() {
    let params = Params::new(&Registers { itmtcr: 2 << 8 | 1 << 4 });
    let bytes = [&SYNC[..], &[0x20, 0xc0, 0x82, 0xc8, 4]].concat();
    let found = decode_with(&params, Options::default(), &bytes);
    assert_eq!(found[1..], [local(32), local(0x12402 * 16)]);
}

#[test]
fn losses() {
    let lost = |reason| Element::Lost(reason);
    let gap = |reason, from, to| Element::Gap { reason, from, to };
    assert_eq!(decode(&[0x70, 0x20]), [lost(GapReason::Overflow), gap(GapReason::Overflow, 6, 7), local(2)]);
    // Nothing after bad bytes counts, and what was known is not known any more.
    let bytes = [&[0x28, 0x09, 1, 0x04, 0x09, 2][..], &SYNC, &[0x09, 3]].concat();
    assert_eq!(
        decode(&bytes),
        [write(65, 8, 1), lost(GapReason::BadPacket), gap(GapReason::BadPacket, 9, 12), write(1, 8, 3)]
    );
    // Without synchronisation each packet counts.
    let params = Params::default().with_aligned_start(true);
    let found = decode_with(&params, Options::default(), &[0x09, 1, 0x04, 0x09, 2]);
    assert_eq!(found, [write(1, 8, 1), lost(GapReason::BadPacket), write(1, 8, 2)]);
    // A stream that never synchronises.
    let found = decode_with(&Params::default(), Options::default(), &[9, 1, 9, 2]);
    assert_eq!(found, [lost(GapReason::Start), gap(GapReason::Start, 0, 4)]);
}

#[test]
fn as_opencsd_does() {
    let options = Options { like_opencsd: true };
    let bytes = [&SYNC[..], &[0x70, 0x0e, 0x23, 0x21]].concat();
    let found = decode_with(&Params::default(), options, &bytes);
    let gap = Element::Gap { reason: GapReason::Overflow, from: 6, to: 7 };
    let raw = Element::Message(Message::Hardware { source: 1, size: 2, value: 0x2123 });
    assert_eq!(found[1..], [gap, raw]);
}

/// A random element that an ITM can send.
fn element(rng: &mut Rng, prescale: u64, now: &mut u64) -> Element {
    let size = 1 << rng.below(3);
    let value = (rng.next_u64() as u32) >> (32 - 8 * size);
    let comparator = rng.below(4) as u8;
    let watch = |watched| Element::Message(Message::Watch { comparator, watched });
    match rng.below(12) {
        0 | 1 => write(rng.below(256) as u32, 8 * size, value.into()),
        2 => {
            let change = [ExceptionChange::Entered, ExceptionChange::Left, ExceptionChange::Resumed];
            let change = change[rng.below(3) as usize];
            Element::Message(Message::Exception { number: rng.below(512) as u16, change })
        }
        3 => Element::Message(Message::Sample(match rng.below(4) {
            0 => Sample::Asleep,
            1 => Sample::Prohibited,
            _ => Sample::At(u64::from(rng.next_u64() as u32)),
        })),
        4 => Element::Message(Message::Counters(rng.below(64) as u8)),
        5 => Element::Message(Message::Monitor(rng.below(256) as u8)),
        6 => watch(Watched::By(rng.next_u64() as u32)),
        7 => watch(Watched::AddressLow(rng.next_u64() as u16)),
        8 => watch(match rng.below(3) {
            0 => Watched::Match,
            1 => Watched::Read { size, value },
            _ => Watched::Wrote { size, value },
        }),
        9 | 10 => {
            let delay = Delay { timestamp: rng.below(4) == 0, packet: rng.below(4) == 0 };
            let bits = rng.below(29) as u32;
            Element::LocalTime { cycles: (rng.next_u64() & ((1 << bits) - 1)) * prescale, delay }
        }
        _ => {
            *now = now.wrapping_add(rng.next_u64() >> rng.below(64));
            timestamp(*now)
        }
    }
}

#[test]
fn what_is_encoded_is_decoded() {
    for seed in 0..500 {
        let mut rng = Rng::new(seed);
        let itmtcr = (rng.next_u64() as u32) & 0x007f_0310;
        let params = Params::new(&Registers { itmtcr }).with_aligned_start(rng.below(4) == 0);
        let sync_every = NonZero::new(rng.below(100) as u32);
        let mut encoder = Encoder::new(&params, encode::Options { sync_every });
        let mut now = 0;
        let count = rng.below(200);
        let elements: Vec<Element> =
            (0..count).map(|_| element(&mut rng, params.prescale().into(), &mut now)).collect();
        let mut bytes = Vec::new();
        for element in &elements {
            assert!(encoder.element(element, &mut bytes), "{element:?}");
        }
        let mut found = decode_with(&params, Options::default(), &bytes);
        if !params.starts_aligned() && !bytes.is_empty() {
            assert_eq!(found.remove(0), Element::Lost(GapReason::Start));
        }
        assert_eq!(found, elements, "{seed}");
    }
}

#[test]
fn what_no_packet_has_room_for_is_refused() {
    let mut encoder = Encoder::new(&Params::default(), encode::Options::default());
    let mut bytes = Vec::new();
    for element in [write(256, 8, 0), write(0, 8, 0x100), write(0, 64, 0), local(1 << 28), Element::Trigger] {
        assert!(!encoder.element(&element, &mut bytes), "{element:?}");
    }
    assert_eq!(bytes, SYNC);
}
