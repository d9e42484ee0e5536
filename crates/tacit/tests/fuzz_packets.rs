//! Fuzzing of packets and streams. Each body is a plain function, for `cargo test` and for a fuzzer.

use tracewright_core::{Block, Class, Ended, Flow, Isa, Role};
use tracewright_tacit::encode::{Config, Encoder};
use tracewright_tacit::packet::{self, Packet, SyncKind};
use tracewright_tacit::stream::{Item, Parser};
use tracewright_tacit::{Form, Params};
use tracewright_testkit::Rng;
use tracewright_testkit::tacit::{account, any_packet, any_params, any_sync, emitted, read};

/// Parses any stream. Every byte is accounted for once, chunks do not matter, and packets can be written and are the same when read again.
/// The first eight bytes choose encoder and chunks.
pub fn streams(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let params = any_params(&mut rng);
    let start = rng.below(100);
    let parser = Parser::starting_at(params.clone(), start);
    let whole = read(parser.clone(), [bytes]);
    let chunk = 1 + rng.below(50) as usize;
    assert_eq!(whole, read(parser.clone(), bytes.chunks(chunk)), "chunks of {chunk}");
    assert_eq!(whole, read(parser, rng.chunks(bytes)));
    account(&whole, start, bytes);
    for (_, bytes, item) in &whole {
        let Item::Packet(packet) = item else { continue };
        assert!(packet.to_string().starts_with(packet.name()));
        let again = emitted(packet, &params);
        // Leading zeros, and bits above those of addresses, are left out.
        assert!(again.len() <= bytes.len());
        let (parsed, len) = packet::read(&again, &params).unwrap();
        assert_eq!(len, again.len());
        assert_eq!(emitted(&parsed, &params)[..], again[..]);
    }
    let is_lost = |item: &Item| matches!(item, Item::Malformed(_) | Item::NotSync { .. } | Item::Incomplete);
    let lost = whole.iter().filter(|(.., item)| is_lost(item)).count();
    assert!(lost <= 2, "nothing follows damage: {lost}");
}

/// Returns anything, or packets with some damage.
pub fn any_stream(rng: &mut Rng, params: &Params) -> Vec<u8> {
    if rng.one_in(4) {
        return rng.bytes_below(300);
    }
    let mut bytes = emitted(&any_sync(rng, params, SyncKind::Start), params).to_vec();
    for _ in 0..rng.below(100) {
        bytes.extend(&emitted(&any_packet(rng, params), params)[..]);
    }
    for _ in 0..rng.below(3) {
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(3) {
            0 => bytes[at] = rng.next_u64() as u8,
            1 => drop(bytes.splice(at..at, vec![0; 20])),
            _ => drop(bytes.splice(at..at, rng.bytes(3))),
        }
    }
    bytes
}

/// Encodes blocks and traps that no program ran. All packets can be written and read. The first eight bytes choose the encoder.
pub fn encode(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let params = any_params(&mut rng);
    let (periodic, most_hits) = (*rng.pick(&[0, 1, 10]), 1 + rng.below(100) as u32);
    let mut encoder = Encoder::new(Config { periodic, most_hits, ..Config::new(params.clone(), Isa::Rv64) });
    let mut is_first = true;
    let mut out = |packet: &Packet| {
        let is_start = matches!(packet, Packet::Sync { kind: SyncKind::Start, .. });
        assert!(is_start || !is_first, "{packet}");
        is_first = false;
        let bytes = emitted(packet, &params);
        assert_eq!(packet::read(&bytes, &params), Ok((*packet, bytes.len())), "{params:?}");
        assert!(params.form != Form::Plain || !packet.to_string().contains("asid"));
    };
    for step in bytes.chunks_exact(4) {
        let [what, more, ..] = *step else { return };
        let start = rng.sized(64);
        match what % 16 {
            0 => encoder.trap(start, more & 1 == 1, &mut out),
            1 => encoder.stop((more & 1 == 1).then_some(start), &mut out),
            2 => encoder.privilege(more),
            3 => encoder.address_space(rng.sized(40)),
            4 => encoder.time(start),
            _ => {
                let flow = *rng.pick(&[Flow::Next, Flow::Direct, Flow::Indirect, Flow::Pair]);
                let role =
                    *rng.pick(&[Role::Jump, Role::Call, Role::Return, Role::Swap, Role::ExceptionReturn]);
                let class = Class { flow, role, conditional: more & 1 == 1 };
                let ended = *rng.pick(&[Ended::Taken, Ended::NotTaken, Ended::Through, Ended::Cut]);
                let end = if more & 2 == 2 { rng.sized(64) } else { start.wrapping_add(more.into()) };
                let block = Block { start, end, count: 1, isa: Isa::Rv64, last_len: 4, class, ended };
                encoder.block(&block, rng.sized(64), &mut out);
            }
        }
    }
    encoder.stop(None, &mut out);
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
