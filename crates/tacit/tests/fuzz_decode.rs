//! Fuzzing of the decoder. Each body is a plain function, for `cargo test` and for a fuzzer.

use tracewright_core::{Element, MemorySpace};
use tracewright_image::{Bytes, Image};
use tracewright_tacit::Params;
use tracewright_tacit::decode::{Decoder, Options};
use tracewright_tacit::encode::{Config, Encoder};
use tracewright_tacit::packet::Packet;
use tracewright_tacit::stream::{Item, Parser};
use tracewright_testkit::riscv::walk::{Event, Program, Trap, Walk};
use tracewright_testkit::tacit::{any_packet, any_params, emitted};
use tracewright_testkit::{Rng, check_blocks, damage};

/// Random program, encoder, and the stream of an execution.
struct Case {
    program: Program,
    image: Image,
    params: Params,
    bytes: Vec<u8>,
}

impl Case {
    fn new(rng: &mut Rng) -> Self {
        let program = Program::generate(rng);
        let params = Params { address_bits: 64, ..any_params(rng) };
        let periodic = *rng.pick(&[0, 5, 50]);
        let mut encoder = Encoder::new(Config { periodic, ..Config::new(params.clone(), program.isa) });
        let mut bytes = Vec::new();
        let mut walk = Walk::new(&program, Rng::new(rng.next_u64()));
        let mut now = 0;
        walk.run(1_000, &mut |event| {
            let mut out = |packet: &Packet| bytes.extend(&emitted(packet, &params)[..]);
            match *event {
                Event::Block(block) => {
                    now += rng.below(100);
                    encoder.block(&block, now, &mut out);
                }
                Event::Trap(Trap { pc, interrupt, .. }) => encoder.trap(pc, interrupt, &mut out),
                Event::Privilege(privilege) => encoder.privilege(privilege),
                Event::Context { id, .. } => encoder.address_space(id.into()),
            }
        });
        let mut builder = Image::builder();
        builder.raw("code", Bytes::from(program.bytes.clone()), program.address, MemorySpace::ANY).unwrap();
        Self { image: builder.build(), program, params, bytes }
    }

    /// Returns a decoder that does not follow billions of blocks because of damage.
    fn decoder(&self) -> Decoder<'_> {
        Decoder::new(&self.params, Options { most_blocks: Some(5_000) }, &self.image, self.program.isa)
    }

    fn decode<'a>(&self, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<(u64, Element)> {
        let mut elements = Vec::new();
        let mut tell = |offset: u64, element: &Element| elements.push((offset, *element));
        let mut decoder = self.decoder();
        let mut parser = Parser::new(self.params.clone());
        let mut sink = |offset: u64, _: &[u8], item: &Item| decoder.item(offset, item, &mut tell);
        chunks.for_each(|chunk| parser.feed(chunk, &mut sink));
        parser.finish(&mut sink);
        let end = parser.position();
        decoder.finish(end, &mut tell);
        elements
    }
}

/// Checks blocks as if there were no cycles between them.
fn check(image: &Image, elements: &[(u64, Element)]) {
    let without: Vec<_> =
        elements.iter().filter(|(_, element)| !matches!(element, Element::Cycles(_))).copied().collect();
    check_blocks(image, &without);
}

/// Decodes damaged streams, or any bytes. The decoder terminates and emits only what the program allows, the same in any chunking. The
/// first eight bytes choose the case; the others replace a part of the stream.
pub fn decode(data: &[u8]) {
    let Some((seed, given)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let case = Case::new(&mut rng);
    let mut bytes = case.bytes.clone();
    damage(&mut bytes, &mut rng);
    let at = if rng.one_in(4) { 0 } else { rng.below(bytes.len() as u64 + 1) as usize };
    let end = (at + given.len()).min(bytes.len());
    bytes.splice(at..end, given.iter().copied());
    let elements = case.decode([&bytes[..]].into_iter());
    check(&case.image, &elements);
    let chunk = 1 + rng.below(40) as usize;
    assert_eq!(elements, case.decode(bytes.chunks(chunk)), "chunks of {chunk}");
}

/// Decodes valid packets in an order that no encoder sends, with the same expectations. A decoder in the state of another emits the same.
pub fn packets(data: &[u8]) {
    let Some((seed, _)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let case = Case::new(&mut rng);
    let mut elements = Vec::new();
    let (mut decoder, mut states) = (case.decoder(), Vec::new());
    let size = case.program.bytes.len() as u64;
    for offset in 0..200 {
        let near = case.program.address.wrapping_add(rng.below(size)) & !1;
        let mut packet = any_packet(&mut rng, &case.params);
        match &mut packet {
            Packet::Sync { target, .. } => *target = near,
            Packet::Trap { from, difference, .. } => (*from, *difference) = (near, rng.below(64) * 2),
            Packet::UninferableJump { difference, .. } => *difference = rng.below(64) * 2,
            Packet::Hits { count } => *count %= 20,
            _ => {}
        }
        let mut twin = decoder.clone();
        decoder.packet(offset, &packet, &mut |offset: u64, element: &Element| {
            elements.push((offset, *element));
        });
        twin.packet(offset, &packet, &mut |_: u64, _: &Element| {});
        states.push(decoder.snapshot());
        assert!(states.last() == Some(&twin.snapshot()));
    }
    decoder.finish(200, &mut |offset: u64, element: &Element| elements.push((offset, *element)));
    check(&case.image, &elements);
}

#[test]
fn decoding_damaged_streams() {
    for seed in 0..1_500_u64 {
        decode(&[&seed.to_le_bytes(), &Rng::new(seed).bytes_below(100)[..]].concat());
    }
}

#[test]
fn decoding_any_packets() {
    (0..1_500_u64).for_each(|seed| packets(&seed.to_le_bytes()));
}
