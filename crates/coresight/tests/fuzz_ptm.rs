//! Fuzz body of PTM as a plain function, run here on some hundreds of random inputs.

use tracewright_core::{Element, MemorySpace};
use tracewright_coresight::ptm::decode::{Decoder, Options};
use tracewright_coresight::ptm::packet::{Packet, PacketSink, Parser};
use tracewright_coresight::ptm::{Params, Registers};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::Rng;

/// Most elements of a packet: an atom is one waypoint, with waits before it; a waypoint update may pass many.
const MOST_ELEMENTS: usize = 1 << 16;

struct Feed<'d, 'i> {
    decoder: &'d mut Decoder<'i>,
    /// Stream position after the last packet.
    end: u64,
    elements: Vec<(u64, Element)>,
}

impl PacketSink<Packet> for Feed<'_, '_> {
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        assert_eq!(offset, self.end, "each byte is in one packet");
        self.end += if let Packet::NotSync { len } = packet { *len } else { bytes.len() as u64 };
        let before = self.elements.len();
        let elements = &mut self.elements;
        self.decoder.packet(offset, packet, &mut |offset: u64, element: &Element| {
            elements.push((offset, *element));
        });
        assert!(self.elements.len() - before < MOST_ELEMENTS);
    }
}

/// Decodes any bytes, whose first four are the main control register and the fifth how they are cut into chunks. Chunks change nothing.
pub fn ptm(data: &[u8]) {
    let Some((&[a, b, c, d, size], bytes)) = data.split_first_chunk() else { return };
    let registers = Registers { etmcr: u32::from_le_bytes([a, b, c, d]), ..Registers::default() };
    let Ok(params) = Params::new(&registers) else { return };
    // A32 and T32 code with branches, calls, returns, ISB, WFI, and bytes that are no code.
    let words: [u32; 10] = [
        0xe1a0_0000,
        0x0a00_0002,
        0xebff_fffc,
        0xe12f_ff1e,
        0xf57f_f06f,
        0xe320_f003,
        0xbf00_d0fd,
        0x4770_4788,
        0xf7ff_fffc,
        0xe7fe_bf30,
    ];
    let code: Vec<u8> = words.iter().cycle().take(64).flat_map(|word| word.to_le_bytes()).collect();
    let mut builder = Image::builder();
    if builder.raw("code", Bytes::from(code), 0x8000, MemorySpace::ANY).is_err() {
        return;
    }
    let image = builder.build();
    let decode = |size: usize, options: Options| {
        let Ok(mut decoder) = Decoder::new(&params, &image, options) else { return Vec::new() };
        let mut parser = Parser::new(params.clone());
        let mut feed = Feed { decoder: &mut decoder, end: 0, elements: Vec::new() };
        for chunk in bytes.chunks(size) {
            parser.feed(chunk, &mut feed);
            assert!(parser.unfinished() <= parser.position());
        }
        parser.finish(&mut feed);
        assert_eq!(feed.end, bytes.len() as u64);
        let mut elements = feed.elements;
        decoder.finish(parser.position(), &mut |offset: u64, element: &Element| {
            elements.push((offset, *element));
        });
        elements
    };
    for options in [
        Options::default(),
        Options { no_image: true, ..Options::default() },
        Options { like_opencsd: true, ..Options::default() },
    ] {
        let whole = decode(bytes.len().max(1), options);
        assert_eq!(decode(usize::from(size).max(1), options), whole);
    }
}

/// Bytes that are mostly packets.
pub fn made(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = rng.bytes(5);
    for _ in 0..rng.below(80) {
        match rng.below(8) {
            0 => bytes.extend([0, 0, 0, 0, 0, 0x80]),
            1 => {
                bytes.push(8);
                let at = 0x8000 + rng.below(0x100) as u32;
                bytes.extend(at.to_le_bytes());
                bytes.push(rng.below(256) as u8);
            }
            2 => bytes.extend(rng.bytes_below(8)),
            3 => bytes.push(rng.below(256) as u8 | 1),
            _ => bytes.push(rng.below(128) as u8 | 0x80),
        }
    }
    bytes
}

#[test]
fn any_bytes() {
    for seed in 0..400 {
        ptm(&made(seed));
        ptm(&Rng::new(seed).bytes_below(300));
    }
}
