//! Shared parts of the tests.

use tracewright_core::{Element, Isa, MemorySpace};
use tracewright_flow::ElementSink;
use tracewright_image::{Bytes, Image};
use tracewright_tacit::Params;
use tracewright_tacit::decode::{Decoder, Options};
use tracewright_tacit::stream::{Item, Parser};

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
    let mut items = |offset: u64, _: &[u8], item: &Item| decoder.item(offset, item, sink);
    chunks.into_iter().for_each(|chunk| parser.feed(chunk, &mut items));
    parser.finish(&mut items);
    decoder.finish(parser.position(), sink);
}

/// Returns an image with this code.
pub fn image(address: u64, bytes: Vec<u8>) -> Image {
    let mut builder = Image::builder();
    builder.raw("code", Bytes::from(bytes), address, MemorySpace::ANY).unwrap();
    builder.build()
}
