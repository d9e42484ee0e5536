//! Shared parts of the tests.

use tracewright_core::{Element, Isa, MemorySpace};
use tracewright_flow::{ElementSink, Instructions};
use tracewright_image::Image;
use tracewright_ntrace::Params;
use tracewright_ntrace::decode::{Decoder, Options};
use tracewright_ntrace::packet::{self, MessageBytes, Packet};
use tracewright_ntrace::stream::{Message, Parser};

/// Returns all elements of a stream.
pub fn decode(bytes: &[u8], params: &Params, image: &Image, isa: Isa) -> Vec<(u64, Element)> {
    let mut elements = Vec::new();
    let mut sink = |offset: u64, element: &Element| elements.push((offset, *element));
    feed(&mut Decoder::new(params, Options::default(), image, isa), [bytes], &mut sink);
    elements
}

/// Decodes the chunks of a stream.
pub fn feed<'a>(
    decoder: &mut Decoder<'_>,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    sink: &mut impl ElementSink,
) {
    let mut parser = Parser::new(decoder.params().clone());
    let mut messages = |offset: u64, _: &[u8], message: &Message| decoder.message(offset, message, sink);
    chunks.into_iter().for_each(|chunk| parser.feed(chunk, &mut messages));
    parser.finish(&mut messages);
    decoder.finish(parser.position(), sink);
}

/// Returns the bytes of a message.
pub fn emitted(packet: &Packet, source: u16, timestamp: Option<u64>, params: &Params) -> MessageBytes {
    let mut bytes = MessageBytes::default();
    packet::emit(packet, source, timestamp, params, &mut bytes).unwrap();
    bytes
}

/// Returns the addresses of all instructions of all blocks.
pub fn instructions(image: &Image, elements: &[(u64, Element)]) -> Vec<u64> {
    let mut addresses = Vec::new();
    for (_, element) in elements {
        if let Element::Block(block) = element {
            let before = addresses.len();
            addresses.extend(Instructions::new(image, MemorySpace::ANY, block).map(|found| found.address));
            assert_eq!(addresses.len() - before, block.count as usize, "{block:x?}");
        }
    }
    addresses
}

pub fn is_bad(element: &Element) -> bool {
    matches!(element, Element::Mismatch(_) | Element::Gap { .. } | Element::Lost(_) | Element::NoCode { .. })
}
