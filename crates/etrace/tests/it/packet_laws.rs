//! Laws of payloads, over random encoders, options and packets.

use tracewright_etrace::packet::{self, Malformed, Packet, PayloadBytes};
use tracewright_etrace::{Options, Params};
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::{any_options, any_packet, any_params, any_support};

const SEEDS: u64 = 2000;
const PACKETS: usize = 50;

fn each(mut law: impl FnMut(&mut Rng, &Params, &Options, &Packet)) {
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let params = any_params(&mut rng);
        let options = any_options(&mut rng, &params);
        for _ in 0..PACKETS {
            let packet = any_packet(&mut rng, &params, &options);
            law(&mut rng, &params, &options, &packet);
        }
        let support = Packet::Support(any_support(&mut rng, &params, options));
        law(&mut rng, &params, &options, &support);
    }
}

fn emit(packet: &Packet, params: &Params) -> Vec<u8> {
    let mut bytes = PayloadBytes::default();
    packet::emit(packet, params, &mut bytes).unwrap_or_else(|error| panic!("{packet:?}: {error}"));
    bytes.to_vec()
}

#[test]
fn parsing_what_was_emitted_gives_the_packet_back() {
    each(|_, params, options, packet| {
        let bytes = emit(packet, params);
        assert_eq!(
            packet::parse(&bytes, params, options),
            Ok(*packet),
            "{bytes:02x?} {params:?} {options:?}"
        );
        assert!(packet::is_canonical(&bytes, packet, params));
    });
}

#[test]
fn what_is_left_out_can_be_sent() {
    each(|rng, params, options, packet| {
        if params.address_bytes {
            return;
        }
        let mut bytes = emit(packet, params);
        let sign = if bytes.last().unwrap() & 0x80 == 0 { 0 } else { 0xff };
        let most = bytes.len() + rng.below(12) as usize;
        while bytes.len() < most {
            bytes.push(sign);
            match packet::parse(&bytes, params, options) {
                Ok(parsed) => {
                    assert_eq!(parsed, *packet);
                    assert!(!packet::is_canonical(&bytes, packet, params));
                }
                Err(error) => {
                    return assert_eq!(error, Malformed::Length, "{bytes:02x?} {packet:?} {params:?}");
                }
            }
        }
    });
}

#[test]
fn emitting_what_was_parsed_gives_canonical_bytes_back() {
    let (mut canonical, mut packets) = (0, 0);
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let params = any_params(&mut rng);
        let options = any_options(&mut rng, &params);
        let len = 1 + rng.below(12) as usize;
        let bytes = rng.bytes(len);
        let Ok(packet) = packet::parse(&bytes, &params, &options) else { continue };
        packets += 1;
        let emitted = emit(&packet, &params);
        assert_eq!(emitted == bytes, packet::is_canonical(&bytes, &packet, &params));
        assert_eq!(packet::parse(&emitted, &params, &options), Ok(packet), "{bytes:02x?} {emitted:02x?}");
        canonical += u32::from(emitted == bytes);
    }
    assert!(packets > 5000 && canonical > 1000, "{packets} {canonical}");
}

/// Checks that a payload without its last byte means something else, so that no byte is redundant.
/// Meaningless bits of a branch map are 0, as in the reference model; other values could be shorter.
#[test]
fn no_byte_can_be_left_out() {
    each(|_, params, options, packet| {
        let (Packet::Branches(map, _) | Packet::JumpTarget { branches: map, .. }) = packet else {
            return;
        };
        if !(map.count() + 1).is_power_of_two() || params.irdepth_ones || params.address_bytes {
            return;
        }
        let bytes = emit(packet, params);
        if let [shorter @ .., _] = &bytes[..]
            && !shorter.is_empty()
        {
            assert_ne!(packet::parse(shorter, params, options), Ok(*packet), "{bytes:02x?}");
        }
    });
}

/// Checks that the writer's fast path gives the same bytes as `emit`.
#[test]
fn messages_carry_what_is_emitted() {
    use tracewright_etrace::stream::{Config, Encapsulation, Writer};

    each(|rng, params, options, packet| {
        let source_bits = 8 * rng.below(3) as u8;
        let encapsulation = Encapsulation::Standard { source_bits, timestamp_bytes: 0, type_bits: 0 };
        let data = tracewright_etrace::data::Options::default();
        let config = Config { params: params.clone(), encapsulation, options: *options, data };
        let source = rng.below(1 << source_bits) as u16;
        let payload = emit(packet, params);
        let mut message = Vec::new();
        if Writer::new(config).instruction(source, None, packet, &mut message).is_err() {
            assert!(payload.len() > 31, "{packet:?}");
            return;
        }
        let mut expected = vec![payload.len() as u8];
        expected.extend(&source.to_le_bytes()[..usize::from(source_bits / 8)]);
        expected.extend(&payload);
        assert_eq!(message, expected, "{packet:?} {params:?}");
    });
}
