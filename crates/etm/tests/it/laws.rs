//! Laws of the packet level, over random configurations and valid random streams.

use tracewright_etm::Params;
use tracewright_etm::packet::bytewise::{StreamState, Trace, step, unrolled};
use tracewright_etm::packet::{Packet, PacketBytes, Parser};
use tracewright_testkit::{Rng, etm};

const SEEDS: u64 = 400;
const PACKETS: usize = 300;

struct Stream {
    params: Params,
    packets: Vec<(Packet, PacketBytes)>,
    rng: Rng,
}

impl Stream {
    fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let params = Params::new(&etm::registers(&mut rng)).unwrap();
        let mut generator = etm::Generator::new(params.clone(), rng);
        let packets = generator.stream(PACKETS);
        Self { params, packets, rng: generator.rng }
    }

    fn bytes(&self) -> Vec<u8> {
        self.packets.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect()
    }
}

/// Returns everything that a parser reports about chunks of a stream.
fn parse<'a>(params: &Params, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<(u64, Vec<u8>, Packet)> {
    let mut parser = Parser::new(params.clone());
    let mut out = Vec::new();
    let mut sink = |offset, bytes: &[u8], packet: &Packet| out.push((offset, bytes.to_vec(), *packet));
    for chunk in chunks {
        parser.feed(chunk, &mut sink);
    }
    parser.finish(&mut sink);
    out
}

/// Parsing what was emitted gives the packets back, and emitting what was parsed gives the bytes back.
#[test]
fn parsing_and_emitting_are_inverse() {
    for seed in 0..SEEDS {
        let stream = Stream::random(seed);
        let parsed = parse(&stream.params, [&stream.bytes()[..]]);
        let mut generator = etm::Generator::new(stream.params.clone(), Rng::new(0));
        let mut offset = 0;
        for (i, ((packet, bytes), parsed)) in stream.packets.iter().zip(&parsed).enumerate() {
            assert_eq!(parsed, &(offset, bytes.to_vec(), *packet), "seed {seed} packet {i}");
            assert_eq!(generator.say(parsed.2).1[..], bytes[..], "seed {seed} packet {i}");
            offset += bytes.len() as u64;
        }
        assert_eq!(parsed.len(), stream.packets.len(), "seed {seed}");
    }
}

#[test]
fn chunking_changes_nothing() {
    for seed in 0..SEEDS {
        let mut stream = Stream::random(seed);
        let mut bytes = stream.rng.bytes(20); // some unsynchronised bytes before
        bytes.extend(stream.bytes());
        // Damage, so that errors and searches are split too.
        for _ in 0..stream.rng.below(4) {
            let at = stream.rng.below(bytes.len() as u64) as usize;
            bytes[at] = *stream.rng.pick(&[0, 0x80, 0x08, 0xff]);
        }
        let chunks = stream.rng.chunks(&bytes);
        assert_eq!(parse(&stream.params, chunks), parse(&stream.params, [&bytes[..]]), "seed {seed}");
    }
}

#[test]
fn damage_is_over_after_the_next_sync() {
    let mut recovered = 0;
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let params = Params::new(&etm::registers(&mut rng)).unwrap();
        let mut generator = etm::Generator::new(params.clone(), rng.clone());
        let first: Vec<u8> = generator.stream(50).iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
        let second = generator.stream(50);
        let mut bytes = first.clone();
        for _ in 0..1 + rng.below(5) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => bytes[at] = rng.next_u64() as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, rng.next_u64() as u8),
            }
        }
        let start = bytes.len() as u64;
        bytes.extend(second.iter().flat_map(|(_, bytes)| bytes.to_vec()));
        let parsed = parse(&params, [&bytes[..]]);
        // A damaged packet may take so many bytes of the A-Sync that it is lost. Then the rest is one gap.
        let taken = parsed
            .iter()
            .any(|(offset, bytes, _)| *offset < start && offset + bytes.len() as u64 >= start + 12);
        let after = parsed.iter().filter(|(offset, bytes, _)| offset + bytes.len() as u64 > start + 11);
        let after: Vec<Packet> = after.map(|(.., packet)| *packet).collect();
        let expected: Vec<Packet> = second.iter().map(|(packet, _)| *packet).collect();
        if !taken {
            assert_eq!(after, expected, "seed {seed}");
            recovered += 1;
        }
    }
    assert!(recovered > SEEDS * 9 / 10, "{recovered} of {SEEDS}");
}

/// Returns random bytes, and valid streams with damage, which hardware must read like the parser.
fn difficult_bytes(seed: u64) -> (Params, Vec<u8>) {
    let mut stream = Stream::random(seed);
    let mut bytes = stream.bytes();
    for _ in 0..stream.rng.below(30) {
        let at = stream.rng.below(bytes.len() as u64) as usize;
        match stream.rng.below(3) {
            0 => bytes[at] = stream.rng.next_u64() as u8,
            1 => drop(bytes.splice(at..at, tracewright_etm::packet::ASYNC)),
            _ => {
                let garbage = stream.rng.bytes_below(20);
                bytes.splice(at..at, garbage);
            }
        }
    }
    (stream.params, bytes)
}

/// Returns the parser's packets with the position of their last byte, without what only the parser reports.
fn packets_by_end(params: &Params, bytes: &[u8]) -> Vec<(usize, Packet)> {
    let parsed = parse(params, [bytes]).into_iter();
    let real = parsed.filter(|(.., p)| !matches!(p, Packet::NotSync { .. } | Packet::Incomplete { .. }));
    real.map(|(offset, bytes, packet)| (offset as usize + bytes.len() - 1, packet)).collect()
}

#[test]
fn the_bytewise_decoder_reads_the_same_packets() {
    for seed in 0..SEEDS {
        let (params, bytes) = difficult_bytes(seed);
        let expected = packets_by_end(&params, &bytes);
        let mut expected = expected.iter();
        let (mut s, mut t) = (StreamState::default(), Trace::default());
        for (i, &byte) in bytes.iter().enumerate() {
            let packet;
            (s, t, packet) = step(byte, s, t, &params);
            let Some(packet) = packet else { continue };
            let (end, expected) = expected.next().expect("a packet the parser did not see");
            assert_eq!(packet, *expected, "seed {seed} byte {i}");
            // The parser leaves the last zeros of a malformed packet to the search for an A-Sync.
            let malformed = matches!(packet, Packet::Malformed { .. });
            assert!(
                i == *end || (malformed && bytes[end + 1..=i].iter().all(|&byte| byte == 0)),
                "{i} {end}"
            );
        }
        assert_eq!(expected.next(), None, "seed {seed}");
    }
}

#[test]
fn decoding_n_bytes_a_step_is_the_same_for_any_n() {
    fn by<const U: usize>(params: &Params, bytes: &[u8]) -> Vec<(usize, Packet)> {
        let (mut s, mut t) = (StreamState::default(), Trace::default());
        let mut out = Vec::new();
        for (i, chunk) in bytes.as_chunks::<U>().0.iter().enumerate() {
            let packets;
            (s, t, packets) = unrolled(*chunk, s, t, params);
            out.extend(packets.iter().enumerate().filter_map(|(j, packet)| Some((i * U + j, (*packet)?))));
        }
        out
    }
    for seed in 0..SEEDS / 4 {
        let (params, mut bytes) = difficult_bytes(seed);
        bytes.truncate(bytes.len() / 120 * 120);
        let one = by::<1>(&params, &bytes);
        assert_eq!(by::<2>(&params, &bytes), one);
        assert_eq!(by::<3>(&params, &bytes), one);
        assert_eq!(by::<4>(&params, &bytes), one);
        assert_eq!(by::<5>(&params, &bytes), one);
        assert_eq!(by::<6>(&params, &bytes), one);
        assert_eq!(by::<8>(&params, &bytes), one);
    }
}
