//! Fuzzing of data trace. Each body is a plain function, for `cargo test` and for a fuzzer.

use tracewright_core::{AtomicOp, DataAccess, DataKind};
use tracewright_etrace::data::{
    self, Atomic, AtomicKind, Decoder, Diff, Encoder, Pairing, Response, Transfer, Value,
};
use tracewright_etrace::packet::{Packet, QualStatus, Start, Support};
use tracewright_isa::riscv::{Xlen, decode};
use tracewright_testkit::Rng;

#[path = "it/data/random.rs"]
#[allow(dead_code, reason = "what only the tests of data trace use")]
mod random;

/// Reads any payloads in any configuration, with synchronisation and support packets between them. Valid
/// packets are written and read again. Accesses fit their size and come out the same when encoded again.
/// Every access goes through pairing once, with any code. The first eight bytes choose the configuration.
pub fn data(bytes: &[u8]) {
    let Some((seed, mut bytes)) = bytes.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let params = random::params(&mut rng);
    let mut options = random::options(&mut rng);
    let mut decoder = Decoder::new(&params, options);
    let mut pairing = Pairing::new(&params, options);
    let mut taken = 0;
    let mut out = |_: &DataAccess, _: Option<u64>| taken += 1;
    let mut accesses = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        let (payload, after) = rest.split_at(rest.len().min(usize::from(first & 31)));
        bytes = after;
        let address = u64::from(first) << 1;
        match first >> 5 {
            0 => {
                let start = Packet::Start(Start { address, ..Start::default() });
                assert!(!decoder.instruction(&start, &mut |_| unreachable!("nothing is lost")));
                pairing.packet(&start, &mut out);
            }
            1 => {
                if first & 1 == 1 {
                    options = random::options(&mut rng);
                }
                let qual_status = if first & 2 == 2 { QualStatus::TraceLost } else { QualStatus::NoChange };
                let dloss = first & 4 == 4;
                let support = Support { dloss, qual_status, doptions: options, ..Support::default() };
                let support = Packet::Support(support);
                let mut told = |access: &DataAccess| {
                    accesses.push((options, *access));
                    pairing.access(access, &mut out);
                };
                assert_eq!(decoder.instruction(&support, &mut told), dloss);
                pairing.packet(&support, &mut out);
            }
            2 => {
                for (i, bits) in payload.as_chunks().0.iter().enumerate() {
                    let instruction = decode(Xlen::Rv64, u32::from_le_bytes(*bits));
                    pairing.instruction(address + 4 * i as u64, &instruction, &mut out);
                }
            }
            _ => {
                let Ok(packet) = data::parse(payload, &params, &options) else { continue };
                let emitted = data::emit(&packet, &params);
                assert!(emitted.as_bytes().len() <= payload.len());
                assert_eq!(data::parse(emitted.as_bytes(), &params, &options), Ok(packet));
                let _ = packet.to_string();
                let Some(access) = decoder.packet(&packet) else { continue };
                assert!(matches!(access.size, 1 | 2 | 4 | 8), "{access}");
                for value in [access.value, access.operand].into_iter().flatten() {
                    assert_eq!(access.truncated(value), value, "{access}");
                }
                accesses.push((options, access));
                pairing.access(&access, &mut out);
            }
        }
    }
    decoder.lose(&mut |access| {
        accesses.push((options, *access));
        pairing.access(access, &mut out);
    });
    pairing.finish(&mut out);
    assert_eq!(taken, accesses.len());

    let Some(&(first, _)) = accesses.first() else { return };
    let (mut encoder, mut decoder) = (Encoder::new(&params, first), Decoder::new(&params, first));
    for (_, access) in accesses.iter().filter(|(options, _)| *options == first) {
        let mut told = Vec::new();
        // An unknown field cannot be encoded again.
        if encoder.access(access, &mut |packet| told.extend(decoder.packet(packet))) {
            let mut expected = *access;
            // A split access may have begun before addresses or values were left out, and then has them all
            // the same. The number of a CSR is always sent.
            if first.no_address && !matches!(access.kind, DataKind::Csr(_)) {
                expected.address = None;
            }
            if first.no_data {
                (expected.value, expected.operand) = (None, None);
            }
            assert_eq!(told, [expected]);
        }
    }
}

/// Returns random bytes, nearly all of them packets.
pub fn any_packets(rng: &mut Rng) -> Vec<u8> {
    let len = rng.below(600) as usize;
    let mut bytes = rng.bytes(8 + len);
    let mut at = 8;
    while let Some(first) = bytes.get_mut(at) {
        if !rng.one_in(6) {
            *first = 0xe0 | (1 + (*first & 15));
        }
        at += 1 + usize::from(*first & 31);
    }
    bytes
}

#[test]
fn data_of_anything() {
    for seed in 0..4_000 {
        data(&any_packets(&mut Rng::new(seed)));
    }
}

/// Covers split accesses whose responses come after a support packet that switches off addresses or values
/// (found by fuzzing).
#[test]
fn split_accesses_across_a_change_of_options() {
    let mut tried = 0;
    for seed in 0..2_000_u64 {
        let mut rng = Rng::new(seed);
        let params = random::params(&mut rng);
        let (before, after) = (random::options(&mut rng), random::options(&mut rng));
        let is_left_out = !before.no_data && after.no_data || !before.no_address && after.no_address;
        if !params.split_loads || !is_left_out {
            continue;
        }
        let (size, lrid, diff) = (0, 0, Diff::Full);
        let value = Value { len: params.data_width / 8, bits: 0x47 };
        let answer = data::Packet::Response(Response { size, lrid, data: Some((diff, value)) });
        let (lrid, address) = (Some(lrid), Some(0));
        let (store, multiple, aligned) = (false, false, true);
        let load = Transfer { store, multiple, aligned, size, lrid, diff, data: None, address };
        let kind = AtomicKind::Done(AtomicOp::Or);
        let atomic = Atomic { kind, size, lrid, diff, operand: Some(value), data: None, address };
        for request in [data::Packet::Transfer(load), data::Packet::Atomic(atomic)] {
            let mut bytes = seed.to_le_bytes().to_vec();
            for packet in [request, answer] {
                let payload = data::emit(&packet, &params);
                bytes.push(0xe0 | payload.as_bytes().len() as u8);
                bytes.extend(payload.as_bytes());
                // New options.
                bytes.extend([0x21, 0]);
            }
            data(&bytes);
            tried += 1;
        }
    }
    assert!(tried > 40, "{tried}");
}
