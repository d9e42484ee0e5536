//! Fuzzing of messages and streams. Each body is a plain function, for `cargo test` and for a fuzzer.

use tracewright_ntrace::Params;
use tracewright_ntrace::packet::{self, MessageBytes};
use tracewright_ntrace::stream::{Content, Parser, SyncPoints};
use tracewright_testkit::Rng;
use tracewright_testkit::ntrace::{account, any_packet, any_params, read};

/// Parses any stream. Every byte is accounted for once, chunks do not matter, and messages can be written and are the same when read
/// again. The first eight bytes choose encoder and chunks.
pub fn streams(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let params = any_params(&mut rng);
    let start = rng.below(100);
    for parser in [Parser::aligned_at(params.clone(), start), Parser::starting_at(params.clone(), start)] {
        let whole = read(parser.clone(), [bytes]);
        let chunk = 1 + rng.below(50) as usize;
        assert_eq!(whole, read(parser.clone(), bytes.chunks(chunk)), "chunks of {chunk}");
        assert_eq!(whole, read(parser, rng.chunks(bytes)));
        account(&whole, start, bytes);
        for (_, bytes, message) in &whole {
            let Content::Packet(packet) = message.content else { continue };
            assert!(packet.to_string().starts_with(packet.name()));
            let again = emitted(&params, message.source, message.timestamp, &packet);
            // Leading zeros are left out.
            assert!(again.len() <= bytes.len());
            let parsed = packet::parse(&again, &params).unwrap();
            assert_eq!((parsed.source, parsed.timestamp), (message.source, message.timestamp));
            assert_eq!(parsed.packet, Some(packet));
        }
    }
    let points: Vec<_> = SyncPoints::new(&params, bytes).map(|point| point.offset).collect();
    assert!(points.is_sorted());
}

fn emitted(params: &Params, source: u16, timestamp: Option<u64>, packet: &packet::Packet) -> MessageBytes {
    let mut bytes = MessageBytes::default();
    packet::emit(packet, source, timestamp, params, &mut bytes).unwrap();
    bytes
}

/// Returns anything, or messages with some damage.
pub fn any_stream(rng: &mut Rng, params: &Params) -> Vec<u8> {
    if rng.one_in(3) {
        return rng.bytes_below(600);
    }
    let mut bytes = Vec::new();
    for _ in 0..rng.below(80) {
        let packet = any_packet(rng, params);
        let source = rng.below(1 << params.src_bits) as u16;
        bytes.extend(&emitted(params, source, rng.one_in(2).then(|| rng.sized(40)), &packet)[..]);
        if rng.one_in(10) {
            bytes.extend(vec![0xff; rng.below(5) as usize]);
        }
    }
    for _ in 0..rng.below(5) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(4) {
            0 => bytes[at] = rng.next_u64() as u8,
            1 => drop(bytes.remove(at)),
            2 => drop(bytes.splice(at..at, vec![0xe0; 100])),
            _ => drop(bytes.splice(at..at, rng.bytes(3))),
        }
    }
    bytes
}

/// Returns an input of the body: a stream of the encoder that it will choose.
pub fn made(seed: u64) -> Vec<u8> {
    let params = any_params(&mut Rng::new(seed));
    let stream = any_stream(&mut Rng::new(!seed), &params);
    [&seed.to_le_bytes(), &stream[..]].concat()
}

#[test]
fn streams_of_anything() {
    (0..4000).for_each(|seed| streams(&made(seed)));
}

/// What is written is read, and what is read is written to the byte.
#[test]
fn messages_round_trip() {
    for seed in 0..20_000_u64 {
        let mut rng = Rng::new(seed);
        let params = any_params(&mut rng);
        let packet = any_packet(&mut rng, &params);
        let source = rng.below(1 << params.src_bits) as u16;
        let timestamp = rng.one_in(2).then(|| rng.sized(64));
        let bytes = emitted(&params, source, timestamp, &packet);
        let parsed = packet::parse(&bytes, &params).unwrap();
        assert_eq!((parsed.packet, parsed.source, parsed.timestamp), (Some(packet), source, timestamp));
    }
}
