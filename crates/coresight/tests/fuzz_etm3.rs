//! Fuzz bodies of ETMv3: the packet parser and the decoder, fed with anything.

use tracewright_core::{Element, MemorySpace};
use tracewright_coresight::etm3::decode::{Decoder, Options};
use tracewright_coresight::etm3::packet::{Packet, Parser, Resync};
use tracewright_coresight::etm3::{Params, Registers};
use tracewright_image::{Builder, Bytes};
use tracewright_testkit::Rng;

/// Parses and decodes any bytes in any configuration. Every byte is reported once, and chunks change nothing. The first bytes select the
/// registers, the next the program.
pub fn etm3(data: &[u8]) {
    let Some((&[a, b, c, chunk], rest)) = data.split_first_chunk() else { return };
    let registers = Registers {
        etmcr: u32::from(a & 0xf)
            | u32::from(a >> 4) << 12
            | u32::from(b & 0xd0) << 24
            | u32::from(b & 1) << 8,
        etmidr: if c & 1 == 0 { 0x410c_f250 } else { 0x4114_f250 },
        etmccer: u32::from(c & 0xe) << 25,
        is_m: c & 0x10 != 0,
        ..Registers::default()
    };
    let Ok(params) = Params::new(&registers) else { return };
    let (code, bytes) = rest.split_at(rest.len().min(64));
    let mut builder = Builder::default();
    if !code.is_empty() {
        let _ = builder.raw("code", Bytes::from(code.to_vec()), 0x8000, MemorySpace::ANY);
    }
    let image = builder.build();
    for (resync, like_opencsd) in [(Resync::NextAsync, false), (Resync::NextByte, true)] {
        let run = |size: usize| {
            let (mut elements, mut end) = (Vec::new(), 0);
            let mut decoder =
                Decoder::new(&params, &image, Options { like_opencsd, no_image: code.is_empty() });
            let mut parser = Parser::new(params.clone()).with_resync(resync);
            let mut sink = |offset: u64, element: &Element| elements.push((offset, *element));
            let mut feed = |offset: u64, bytes: &[u8], packet: &Packet| {
                assert_eq!(offset, end, "{packet:?}");
                end += if let Packet::NotSync { len } = packet { *len } else { bytes.len() as u64 };
                decoder.packet(offset, packet, &mut sink);
            };
            bytes.chunks(size).for_each(|chunk| parser.feed(chunk, &mut feed));
            parser.finish(&mut feed);
            assert_eq!(end, bytes.len() as u64);
            decoder.finish(end, &mut sink);
            elements
        };
        assert_eq!(run(usize::MAX), run(usize::from(chunk).max(1)));
    }
}

/// Registers, code, an A-Sync, an I-Sync, and any bytes.
pub fn any_bytes(rng: &mut Rng) -> Vec<u8> {
    let mut data = rng.bytes(200);
    let start = 68;
    data.splice(start..start, [0, 0, 0, 0, 0, 0x80, 0x08, 0x21, 0, 0x80, 0, 0]);
    data
}

#[test]
fn etm3_takes_anything() {
    let mut rng = Rng::new(3);
    (0..2000).for_each(|_| etm3(&any_bytes(&mut rng)));
}
