//! Pins of a trace port: what was sent is received, with any pauses, in any chunking, and again after damage.

use tracewright_frames::{LineEvent, Lost, LostReason, PibDecoder, PibEncoder, Pins};
use tracewright_testkit::Rng;

const PINS: [Pins; 3] = [Pins::One, Pins::Two, Pins::Four];

/// Returns what a decoder finds: bytes with their offsets, and losses.
fn decode<'a>(pins: Pins, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(u64, u8)>, Vec<Lost>) {
    let (mut bytes, mut losses) = (Vec::new(), Vec::new());
    let mut emit = |event| match event {
        LineEvent::Byte { offset, byte } => bytes.push((offset, byte)),
        LineEvent::Lost(lost) => losses.push(lost),
    };
    let mut decoder = PibDecoder::new(pins);
    pieces.into_iter().for_each(|piece| decoder.feed(piece, &mut emit));
    decoder.finish(&mut emit);
    (bytes, losses)
}

fn values(found: &[(u64, u8)]) -> Vec<u8> {
    found.iter().map(|(_, byte)| *byte).collect()
}

/// Returns a message: MSEO 00 first, 00 or 01 inside, 11 at the end.
fn message(rng: &mut Rng) -> Vec<u8> {
    let len = 2 + rng.below(12) as usize;
    // Many ones are what idle looks like.
    let data = |rng: &mut Rng| if rng.one_in(2) { 0xfc } else { rng.next_u64() as u8 & 0xfc };
    let mut bytes: Vec<u8> = (0..len).map(|_| data(rng) | rng.below(2) as u8).collect();
    bytes[0] &= 0xfc;
    bytes[len - 1] |= 3;
    bytes
}

/// Sends messages with pauses. Returns the samples.
fn send(rng: &mut Rng, pins: Pins, messages: &[Vec<u8>], longest: u64) -> Vec<u8> {
    let (mut encoder, mut out) = (PibEncoder::new(pins), Vec::new());
    encoder.idle(rng.below(40), &mut out);
    for message in messages {
        encoder.push(message, &mut out);
        encoder.idle(rng.below(longest), &mut out);
    }
    encoder.finish(&mut out);
    out
}

/// Each figure has the pins of one clock after the other. The message is 0x24, 0x0d, 0x00, 0x0b.
#[test]
fn pins_as_the_specification_describes_them() {
    let message = [0x24, 0x0d, 0x00, 0x0b];
    for (pins, samples) in [
        // An idle clock before the message, two after: 1 00100100 10110000 00000000 11010000 11, from the left.
        (Pins::One, vec![0b0100_1001, 0b0001_1010, 0, 0b0001_0110, 0b1111_1110]),
        (Pins::Two, vec![0b1001_0011, 0b0011_0100, 0, 0b0010_1100, 0b1111_1100]),
        (Pins::Four, vec![0x4f, 0xd2, 0x00, 0xb0, 0xf0]),
    ] {
        let (mut encoder, mut out) = (PibEncoder::new(pins), Vec::new());
        encoder.idle(1, &mut out);
        encoder.push(&message, &mut out);
        encoder.finish(&mut out);
        assert_eq!(out, samples, "{pins:?}");
        let found = decode(pins, [&samples[..]]);
        assert_eq!(found, (vec![(0, 0x24), (1, 0x0d), (2, 0), (3, 0x0b)], vec![]), "{pins:?}");
    }
}

#[test]
fn what_is_sent_is_received_in_any_chunking() {
    let mut rng = Rng::new(71);
    for round in 0..1000 {
        let pins = *rng.pick(&PINS);
        let messages: Vec<_> = (0..1 + rng.below(40)).map(|_| message(&mut rng)).collect();
        let longest = *rng.pick(&[1, 3, 60]);
        let samples = send(&mut rng, pins, &messages, longest);
        let whole = decode(pins, [&samples[..]]);
        assert_eq!((values(&whole.0), &whole.1[..]), (messages.concat(), &[][..]), "{round}: {pins:?}");
        assert!(whole.0.is_sorted_by_key(|&(offset, _)| offset));
        assert_eq!(decode(pins, rng.chunks(&samples)), whole);
        // Where most of it is idle, too.
        let padded = [&[0xff; 1000][..], &samples, &[0xff; 1000]].concat();
        assert_eq!(values(&decode(pins, [&padded[..]]).0), messages.concat());
    }
}

/// After damage, or from the middle on, all is right again after 14 high bits, and nothing is lost silently.
#[test]
fn after_damage_everything_is_right_again() {
    let mut rng = Rng::new(72);
    for round in 0..1000 {
        let pins = *rng.pick(&PINS);
        let messages: Vec<_> = (0..60).map(|_| message(&mut rng)).collect();
        let (mut encoder, mut samples) = (PibEncoder::new(pins), Vec::new());
        let (mut ends, at) = (Vec::new(), 15 + rng.below(20) as usize);
        for message in &messages {
            encoder.push(message, &mut samples);
            encoder.idle(14, &mut samples);
            ends.push(samples.len());
        }
        encoder.finish(&mut samples);
        let clean = decode(pins, [&samples[..]]).0;
        let (from, to) = (ends[at], ends[at + 1 + rng.below(3) as usize]);
        let noise = rng.bytes(to - from);
        samples[from..to].copy_from_slice(&noise);
        let (found, losses) = decode(pins, [&samples[..]]);
        let part = |all: &[(u64, u8)], wanted: &dyn Fn(u64) -> bool| {
            all.iter().copied().filter(|&(offset, _)| wanted(offset)).collect::<Vec<_>>()
        };
        let before = |offset: u64| offset + 1 < from as u64;
        assert_eq!(part(&found, &before), part(&clean, &before), "{round}: {pins:?}");
        // The longest message that noise may begin, and one that was in the middle of it.
        let after = |offset: u64| offset > to as u64 + 40;
        let settled = part(&found, &after);
        let expected = part(&clean, &after);
        let is_right = expected.ends_with(&settled) && settled.len() + 40 > expected.len();
        assert!(is_right, "{round}: {pins:?}: {} of {}", settled.len(), expected.len());
        assert!(losses.iter().all(|lost| lost.offset + lost.len <= samples.len() as u64));
    }
    // From the middle of a message.
    let (found, losses) = decode(Pins::Four, [&[0x2d, 0xb0, 0xff, 0xff, 0xff, 0x24, 0x0d, 0x00, 0x0b][..]]);
    assert_eq!(values(&found), [0x24, 0x0d, 0x00, 0x0b]);
    assert_eq!(losses, [Lost { offset: 0, len: 5, reason: LostReason::PinsStart }]);
    let cut = decode(Pins::Four, [&[0x24, 0x0d][..]]);
    assert_eq!(cut.1, [Lost { offset: 2, len: 0, reason: LostReason::Truncated }]);
}
