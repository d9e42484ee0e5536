//! The packet parser fed with anything. Each body is a plain function, for `cargo test` and for a fuzzer.

use tracewright_etm::packet::bytewise::{StreamState, Trace, step};
use tracewright_etm::packet::{ASYNC, Emitter, Packet, Parser, Resync, Sink};
use tracewright_etm::{Params, Registers};
use tracewright_testkit::{Rng, etm};

/// What a parser said, skipped bytes joined.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log {
    packets: Vec<(u64, Vec<u8>, Packet)>,
    skipped: Vec<u8>,
}

impl Sink for Log {
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        self.packets.push((offset, bytes.to_vec(), *packet));
    }

    fn skipped(&mut self, _offset: u64, bytes: &[u8]) {
        self.skipped.extend_from_slice(bytes);
    }
}

fn parse<'a>(params: &Params, resync: Resync, chunks: impl Iterator<Item = &'a [u8]>) -> Log {
    let mut parser = Parser::new(params.clone()).with_resync(resync);
    let mut log = Log::default();
    chunks.for_each(|chunk| parser.feed(chunk, &mut log));
    parser.finish(&mut log);
    log
}

/// Any bytes in any configuration: every byte is accounted for once, the chunking does not matter, the byte-wise decoder
/// sees the same packets, and what was read can be written and read again. The first eight bytes choose
/// configuration and chunking.
pub fn packets(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let registers: Registers = etm::registers(&mut rng);
    let params = Params::new(&registers).unwrap();
    for resync in [Resync::NextAsync, Resync::NextByte] {
        let whole = parse(&params, resync, [bytes].into_iter());
        let chunk = 1 + rng.below(40) as usize;
        assert_eq!(whole, parse(&params, resync, bytes.chunks(chunk)), "chunks of {chunk}");
        account(&whole, bytes);
        round_trip(&params, &whole);
        if resync == Resync::NextAsync {
            compare_bytewise(&params, &whole, bytes);
        }
    }
}

fn account(log: &Log, bytes: &[u8]) {
    let (mut end, mut skipped) = (0, 0);
    for (offset, packet_bytes, packet) in &log.packets {
        assert_eq!(*offset, end);
        let start = end as usize;
        end += match packet {
            Packet::NotSync { len } => {
                let piece = &bytes[start..start + *len as usize];
                assert_eq!(log.skipped[skipped..skipped + *len as usize], *piece);
                skipped += *len as usize;
                *len
            }
            _ => {
                assert_eq!(packet_bytes[..], bytes[start..start + packet_bytes.len()]);
                packet_bytes.len() as u64
            }
        };
    }
    assert_eq!((end, skipped), (bytes.len() as u64, log.skipped.len()));
}

/// Emitting the packets read and reading that gives the packets again, though the bytes may not have been canonical.
fn round_trip(params: &Params, log: &Log) {
    let mut emitter = Emitter::new(params.clone());
    // A stream for the reader to start at; its packets come before those of the log.
    let mut bytes = ASYNC.to_vec();
    let mut expected = Vec::new();
    let mut after_error = false;
    for (_, _, packet) in &log.packets {
        if packet.kind().is_error() {
            after_error = true;
            continue;
        }
        match emitter.emit(packet) {
            Ok(emitted) => {
                bytes.extend_from_slice(&emitted);
                expected.push(*packet);
            }
            // After an error the reader's compression registers may not be those of the packets seen; a count of
            // more than 20 bits can be read, but is never said.
            Err(error) => {
                let long_count = matches!(packet, Packet::CycleCount(count) if count.format == 1);
                assert!(after_error || long_count, "{packet:?}: {error}");
            }
        }
    }
    let again = parse(params, Resync::NextByte, [&bytes[..]].into_iter());
    let again: Vec<_> = again.packets.iter().skip(1).map(|(.., packet)| *packet).collect();
    assert_eq!(again, expected);
}

fn compare_bytewise(params: &Params, log: &Log, bytes: &[u8]) {
    let whole = |packet: &&Packet| !matches!(packet, Packet::NotSync { .. } | Packet::Incomplete { .. });
    let mut expected = log.packets.iter().map(|(.., packet)| packet).filter(whole);
    let (mut s, mut t) = (StreamState::default(), Trace::default());
    for &byte in bytes {
        let packet;
        (s, t, packet) = step(byte, s, t, params);
        if let Some(packet) = packet {
            assert_eq!(Some(&packet), expected.next());
        }
    }
    assert_eq!(expected.next(), None);
}

/// Random bytes rich in what parsers trip over.
fn any_bytes(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = rng.bytes(8);
    for _ in 0..rng.below(60) {
        match rng.below(5) {
            0 => bytes.extend(ASYNC),
            1 => bytes.extend(std::iter::repeat_n(0, rng.below(14) as usize)),
            2 => bytes.extend(std::iter::repeat_n(0xff, rng.below(12) as usize)),
            _ => {
                let len = rng.below(30) as usize;
                bytes.extend(rng.bytes(len));
            }
        }
    }
    bytes
}

#[test]
fn packets_of_anything() {
    for seed in 0..4000 {
        packets(&any_bytes(&mut Rng::new(seed)));
    }
}
