//! Fuzz body of MTB as a plain function, run here on some hundreds of random inputs.

use tracewright_core::{Element, MemorySpace};
use tracewright_coresight::mtb::Params;
use tracewright_coresight::mtb::decode::{Decoder, Options};
use tracewright_coresight::mtb::packet::{Packet, Parser};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::Rng;

const CODE: u64 = 0x1000;

/// Decodes any bytes, of which the first says how they are cut into chunks, and finds rings in files of their length. Chunks change nothing, and each byte is in one packet that is
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
    if let Some((&words, _)) = bytes.split_first_chunk::<8>() {
        let [position, master] = [words.as_chunks().0[0], words.as_chunks().0[1]].map(u32::from_le_bytes);
        ring(Params { position, master: master % 16, vectors: 0 }, bytes.len() as u64);
        ring(Params { position: position % 0x400, master: master % 4, vectors: 0 }, bytes.len() as u64);
    }
    for options in [Options::default(), Options { no_image: true }] {
        let whole = decode(bytes.len().max(1), options);
        assert_eq!(decode(usize::from(size).max(1), options), whole);
    }
}

/// All that was written is in the file and in the ring, once.
fn ring(params: Params, len: u64) {
    match params.ring(len) {
        Ok(ring) => {
            assert!(ring.start <= ring.oldest && ring.oldest <= ring.end() && ring.written <= ring.size);
            let positions = (ring.oldest..ring.oldest + ring.written).step_by(8);
            let mut offsets: Vec<_> = positions.map(|position| ring.offset(position)).collect();
            offsets.sort_unstable();
            offsets.dedup();
            assert_eq!(offsets.len() as u64, ring.written / 8);
            assert!(offsets.iter().all(|offset| ring.start <= *offset && offset + 8 <= ring.end().min(len)));
        }
        Err(error) => assert!(error.needed > len),
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
