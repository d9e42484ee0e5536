//! Fuzzing of payloads and streams. Each body is a plain function, for `cargo test` and for a fuzzer.

use tracewright_etrace::packet::{self, PayloadBytes};
use tracewright_etrace::stream::{Config, Content, Encapsulation, Parser, SyncPoints, Writer};
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::{Told, account, any_config, any_options, any_packet, any_params, read};

/// Parses any payload for any encoder. A packet can be written, is the same when read again, and can be
/// printed. The first eight bytes choose the encoder.
pub fn payloads(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let params = any_params(&mut rng);
    let options = any_options(&mut rng, &params);
    match packet::parse(bytes, &params, &options) {
        Err(why) => assert!(!why.to_string().is_empty()),
        Ok(packet) => {
            assert!(!packet.details(&options).to_string().is_empty());
            let mut payload = PayloadBytes::default();
            packet::emit(&packet, &params, &mut payload).unwrap();
            assert_eq!(packet::parse(&payload, &params, &options), Ok(packet));
            assert_eq!(packet::is_canonical(bytes, &packet, &params), payload[..] == *bytes);
        }
    }
}

/// Parses any stream. Every byte is accounted for once, chunks do not matter, and messages can be written and
/// read again. The first eight bytes choose encoder, encapsulation and chunks.
pub fn streams(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let config = any_config(&mut rng);
    let start = rng.below(100);
    let starts: [fn(Config, u64) -> Parser; 3] = [Parser::aligned_at, Parser::starting_at, Parser::slice_at];
    for parser in starts.map(|parser| parser(config.clone(), start)) {
        let whole = read(parser.clone(), [bytes]);
        let chunk = 1 + rng.below(50) as usize;
        assert_eq!(whole, read(parser, bytes.chunks(chunk)), "chunks of {chunk}");
        account(&whole, start, bytes);
        round_trip(&config, &whole);
    }
    let sizes = SyncPoints::new(&config, bytes).map(|point| point.offset);
    assert!(sizes.is_sorted());
}

fn round_trip(config: &Config, told: &Told) {
    let mut writer = Writer::new(config.clone());
    let (mut bytes, mut expected) = (Vec::new(), Vec::new());
    for (_, before, message) in told {
        let len = bytes.len();
        match writer.message(message, &mut bytes) {
            Ok(()) => expected.push(*message),
            Err(why) => {
                let error = !matches!(message.content, Content::Instruction(_) | Content::Data(_));
                // The additional bits of the reference model may be too many.
                assert!(error || config.params.irdepth_ones && before.len() > 20, "{message:?}: {why}");
                assert_eq!(bytes.len(), len);
            }
        }
    }
    let again = read(Parser::new(config.clone()), [&bytes[..]]);
    let mut again: Vec<_> = again.iter().map(|(.., message)| *message).collect();
    if config.encapsulation == Encapsulation::Pulp {
        // Every written record has a timestamp.
        for (again, expected) in again.iter_mut().zip(&expected) {
            again.timestamp = again.timestamp.filter(|&time| time != 0 || expected.timestamp.is_some());
        }
    }
    assert_eq!(again, expected);
}

/// Returns anything, or messages with some damage.
pub fn any_stream(rng: &mut Rng, config: &Config) -> Vec<u8> {
    if rng.one_in(3) {
        return rng.bytes_below(600);
    }
    let mut bytes = Vec::new();
    let mut writer = Writer::new(config.clone()).with_alignment(*rng.pick(&[0, 0, 10]));
    for _ in 0..rng.below(80) {
        let packet = any_packet(rng, &config.params, &config.options);
        let _ = writer.instruction(0, rng.one_in(2).then_some(1), &packet, &mut bytes);
    }
    for _ in 0..rng.below(5) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(3) {
            0 => bytes[at] = rng.next_u64() as u8,
            1 => drop(bytes.remove(at)),
            _ => drop(bytes.splice(at..at, rng.bytes(3))),
        }
    }
    bytes
}

#[test]
fn payloads_of_anything() {
    for seed in 0..20_000_u64 {
        let mut rng = Rng::new(!seed);
        payloads(&[&seed.to_le_bytes(), &rng.bytes_below(36)[..]].concat());
    }
}

#[test]
fn streams_of_anything() {
    for seed in 0..3000_u64 {
        // The encoder that the body will choose.
        let config = any_config(&mut Rng::new(seed));
        let stream = any_stream(&mut Rng::new(!seed), &config);
        streams(&[&seed.to_le_bytes(), &stream[..]].concat());
    }
}
