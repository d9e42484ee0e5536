//! Fuzzing of messages and streams. Each body is a plain function, for `cargo test` and for a fuzzer.

use tracewright_core::{Block, Class, Ended, Flow, Isa, Role};
use tracewright_ntrace::Params;
use tracewright_ntrace::encode::{Config, Encoder, Resync, SyncMode, Timestamps};
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
    let starts: [fn(Params, u64) -> Parser; 3] = [Parser::aligned_at, Parser::starting_at, Parser::slice_at];
    for parser in starts.map(|parser| parser(params.clone(), start)) {
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

/// Encodes blocks and traps that no program ran. All messages can be written. The first eight bytes choose the encoder.
pub fn encode(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let params = Params { src_bits: 0, ..any_params(&mut rng) };
    let config = Config {
        repeated_history: rng.one_in(2),
        repeated_branch: rng.one_in(2),
        contexts: rng.one_in(2),
        timestamps: *rng.pick(&[Timestamps::Off, Timestamps::All]),
        resync: Resync { mode: SyncMode::HalfWords, max: rng.below(64) as u8 },
        ..Config::new(params.clone(), Isa::Rv64)
    };
    let mut encoder = Encoder::new(config);
    let mut out = |packet: &packet::Packet, timestamp: Option<u64>| {
        emitted(&params, 0, timestamp, packet);
    };
    for step in bytes.chunks_exact(4) {
        let [what, more, ..] = *step else { return };
        let start = rng.sized(64);
        match what % 16 {
            0 => encoder.trap(start, more & 1 == 1, &mut out),
            1 => encoder.stop(more, &mut out),
            2 => encoder.lose(&mut out),
            3 => encoder.sync(more),
            4 => encoder.privilege(more, what >> 4 & 1 == 1),
            5 => encoder.context(Some(rng.sized(40)), (more & 1 == 1).then_some(start)),
            6 => encoder.time(start),
            _ => {
                let flow = *rng.pick(&[Flow::Next, Flow::Direct, Flow::Indirect, Flow::Pair]);
                let role =
                    *rng.pick(&[Role::Jump, Role::Call, Role::Return, Role::Swap, Role::ExceptionReturn]);
                let class = Class { flow, role, conditional: more & 1 == 1 };
                let ended = *rng.pick(&[Ended::Taken, Ended::NotTaken, Ended::Through, Ended::Cut]);
                let end = if more & 2 == 2 { rng.sized(64) } else { start.wrapping_add(more.into()) };
                let block = Block { start, end, count: 1, isa: Isa::Rv64, last_len: 4, class, ended };
                encoder.block(&block, &mut out);
            }
        }
    }
    encoder.stop(4, &mut out);
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

#[test]
fn encoding_anything() {
    for seed in 0..3000_u64 {
        encode(&[&seed.to_le_bytes(), &Rng::new(!seed).bytes_below(800)[..]].concat());
    }
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
