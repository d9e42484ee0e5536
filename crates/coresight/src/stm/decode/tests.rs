use tracewright_core::{Element, GapReason, Message, Report, Reported, Write};
use tracewright_image::Image;
use tracewright_testkit::Rng;

use super::{Decoder, Options};
use crate::stm::encode::{self, Encoder};
use crate::stm::packet::{Encoding, Packet, Parser, Span, StmSink};
use crate::stm::{Params, Registers};

/// A parser's sink that decodes.
struct Feed<'d, 'i> {
    decoder: &'d mut Decoder<'i>,
    elements: Vec<(u64, Element)>,
}

impl StmSink for Feed<'_, '_> {
    fn packet(&mut self, span: Span, _: &[u8], packet: &Packet) {
        let elements = &mut self.elements;
        self.decoder.packet(span, packet, &mut |at: u64, element: &Element| elements.push((at, *element)));
    }

    fn skipped(&mut self, offset: u64, _: &[u8]) {
        let elements = &mut self.elements;
        self.decoder.skipping(offset, &mut |at: u64, element: &Element| elements.push((at, *element)));
    }
}

pub(in crate::stm) fn decode(bytes: &[u8], options: Options) -> Vec<(u64, Element)> {
    let image = Image::builder().build();
    let mut decoder = Decoder::new(&Params::new(&Registers::default()), &image, options);
    let mut parser = Parser::new();
    let mut feed = Feed { decoder: &mut decoder, elements: Vec::new() };
    parser.feed(bytes, &mut feed);
    parser.finish(&mut feed);
    let mut elements = feed.elements;
    decoder.finish(parser.position(), &mut |at: u64, element: &Element| elements.push((at, *element)));
    elements
}

/// Random messages as a decoder emits them, with timestamps of these bits.
pub(in crate::stm) fn messages(rng: &mut Rng, count: u64, bits: u32) -> Vec<Element> {
    let mask = u64::MAX >> (64 - bits);
    let (mut master, mut channel, mut time) = (1, 0, rng.next_u64() >> rng.below(40) & mask);
    let mut elements = Vec::new();
    for _ in 0..count {
        if rng.below(8) == 0 {
            (master, channel) = (1 + rng.below(0x7f) as u16, 0);
        }
        if rng.below(4) == 0 {
            channel = rng.next_u64() as u32 >> *rng.pick(&[16, 24]);
        }
        let report = |what| Element::Message(Message::Report(Report { master: Some(master), channel, what }));
        match rng.below(24) {
            0 => elements.push(report(Reported::Frequency(rng.next_u64() as u32))),
            1 => {
                channel = 0;
                let what = Reported::MasterError(rng.next_u64() as u8);
                let master = Some(master);
                elements.push(Element::Message(Message::Report(Report { master, channel, what })));
            }
            kind => {
                if rng.below(2) == 0 {
                    time = time.wrapping_add(rng.next_u64() >> rng.below(64)) & mask;
                    elements.push(Element::Timestamp { value: time, cycles: None });
                }
                let bits = if kind == 2 { 0 } else { *rng.pick(&[4, 8, 16, 32, 64]) };
                let trigger = kind == 3;
                let bits = if trigger { 8 } else { bits };
                let value = if bits == 0 { 0 } else { rng.next_u64() >> (64 - bits) };
                let marked = bits == 0 || !trigger && rng.below(2) == 0;
                let write = Write { master: Some(master), channel, bits: bits as u8, value, marked, trigger };
                elements.push(Element::Message(Message::Write(write)));
            }
        }
    }
    elements
}

pub(in crate::stm) fn encoded(elements: &[Element], options: encode::Options) -> Vec<u8> {
    let mut encoder = Encoder::new(options);
    let mut bytes = Vec::new();
    elements.iter().for_each(|element| encoder.element(element, &mut bytes));
    encoder.element(&Element::End, &mut bytes);
    bytes
}

/// What the encoder and the decoder must agree on: where the frequency is told says nothing about masters.
fn told(element: &Element) -> Element {
    match *element {
        Element::Message(Message::Report(Report { what: what @ Reported::Frequency(_), .. })) => {
            Element::Message(Message::Report(Report { master: None, channel: 0, what }))
        }
        element => element,
    }
}

#[test]
fn messages_come_back() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let elements = messages(&mut rng, 100, 64);
        let encoding = *rng.pick(&[Encoding::Natural, Encoding::Gray]);
        let sync_every = core::num::NonZero::new(rng.below(200) as u32);
        let bytes = encoded(&elements, encode::Options { sync_every, encoding });
        let found = decode(&bytes, Options::default());
        assert_eq!(found[0].1, Element::Lost(GapReason::Start));
        let body: Vec<_> = found[1..found.len() - 1].iter().map(|(_, element)| told(element)).collect();
        assert_eq!(body, elements.iter().map(told).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn damage_is_reported_with_its_extent() {
    let mut rng = Rng::new(5);
    let elements = messages(&mut rng, 200, 64);
    let sync_every = core::num::NonZero::new(100);
    let mut bytes = encoded(&elements, encode::Options { sync_every, ..encode::Options::default() });
    // A header that is not defined, in place of what follows the first VERSION.
    bytes[13..15].copy_from_slice(&[0x0f, 0xcc]);
    let found = decode(&bytes, Options::default());
    let gap = found.iter().find_map(|(_, element)| match element {
        Element::Gap { reason: GapReason::BadPacket, from, to } => Some((*from, *to)),
        _ => None,
    });
    let (from, to) = gap.expect("a gap");
    assert_eq!(from, 13);
    assert_eq!(crate::stm::packet::find(&bytes, 13), Some(to as usize));
    assert!(found.iter().filter(|(_, element)| matches!(element, Element::Message(_))).count() > 100);
}

#[test]
fn opencsd_knows_masters_later() {
    let masters = |like_opencsd| {
        let mut bytes = vec![0xff; 10];
        // VERSION, D4, M8, D4, GERR, D4.
        bytes.extend([0x0f, 0x0f, 0x30, 0x1c, 0x41, 0xc1, 0xf1, 0x02, 0xc1, 0x01]);
        let found = decode(&bytes, Options { like_opencsd });
        let master = |(_, element): &(u64, Element)| match element {
            Element::Message(Message::Write(write)) => Some(write.master),
            _ => None,
        };
        found.iter().filter_map(master).collect::<Vec<_>>()
    };
    assert_eq!(masters(false), [Some(0), Some(0x41), Some(0)]);
    assert_eq!(masters(true), [None, Some(0x41), None]);
}
