//! Fuzz body of MTB as a plain function, run here on some hundreds of random inputs.

use tracewright_core::{Element, MemorySpace};
use tracewright_coresight::mtb::Params;
use tracewright_coresight::mtb::decode::{Decoder, Options};
use tracewright_coresight::mtb::packet::{Packet, Parser};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::Rng;

const CODE: u64 = 0x1000;

/// Decodes any bytes, of which the first says how they are cut into chunks. Chunks change nothing, and each byte is in one packet that is
/// written as it was read.
pub fn mtb(data: &[u8]) {
    let Some((&size, bytes)) = data.split_first() else { return };
    let words: [u32; 6] = [0xbf00_d0fd, 0x4770_4788, 0xf7ff_fffc, 0xe7fe_bf30, 0xbf18_4608, 0x8f6f_f3bf];
    let code: Vec<u8> = words.iter().cycle().take(60).flat_map(|word| word.to_le_bytes()).collect();
    let mut builder = Image::builder();
    if builder.raw("code", Bytes::from(code), CODE, MemorySpace::ANY).is_err() {
        return;
    }
    let image = builder.build();
    let decode = |size: usize, options: Options| {
        let mut decoder = Decoder::new(&Params::default(), &image, options);
        let (mut parser, mut elements, mut end) = (Parser::default(), Vec::new(), 0);
        let mut take = |offset: u64, bytes: &[u8], packet: &Packet| {
            assert_eq!(offset, end, "each byte is in one packet");
            end += bytes.len() as u64;
            if let Packet::Branch(branch) = packet {
                assert_eq!(branch.bytes(), bytes);
            }
            decoder.packet(offset, packet, &mut |offset: u64, element: &Element| {
                elements.push((offset, *element));
            });
        };
        for chunk in bytes.chunks(size) {
            parser.feed(chunk, &mut take);
        }
        parser.finish(&mut take);
        assert_eq!(end, bytes.len() as u64);
        elements
    };
    for options in [Options::default(), Options { no_image: true }] {
        let whole = decode(bytes.len().max(1), options);
        assert_eq!(decode(usize::from(size).max(1), options), whole);
    }
}

/// Bytes that are mostly addresses of code.
pub fn made(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = rng.bytes(1);
    for _ in 0..rng.below(80) {
        let word = match rng.below(8) {
            0 => rng.below(1 << 32) as u32,
            1 => 0xffff_fff8 | rng.below(2) as u32,
            _ => CODE as u32 + rng.below(0x100) as u32,
        };
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

#[test]
fn any_bytes() {
    for seed in 0..400 {
        mtb(&made(seed));
        mtb(&Rng::new(seed).bytes_below(300));
    }
}
