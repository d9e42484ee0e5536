//! Serial lines: what was sent is received, at any speed, with jitter and drift, and again after damage.

use tracewright_frames::{BitLength, Line, LineDecoder, LineEncoder, LineEvent, Lost, LostReason};
use tracewright_testkit::Rng;

const LINES: [Line; 2] = [Line::Uart, Line::Manchester];

/// Returns what a decoder finds: bytes with their offsets, and losses.
fn decode<'a>(
    decoder: &mut LineDecoder,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<(u64, u8)>, Vec<Lost>) {
    let (mut bytes, mut losses) = (Vec::new(), Vec::new());
    let mut emit = |event| match event {
        LineEvent::Byte { offset, byte } => bytes.push((offset, byte)),
        LineEvent::Lost(lost) => losses.push(lost),
    };
    pieces.into_iter().for_each(|piece| decoder.feed(piece, &mut emit));
    decoder.finish(&mut emit);
    (bytes, losses)
}

fn received(line: Line, samples: &[u8]) -> (Vec<u8>, Vec<Lost>) {
    let (bytes, losses) = decode(&mut LineDecoder::new(line), [samples]);
    (bytes.into_iter().map(|(_, byte)| byte).collect(), losses)
}

/// Sends bytes in pieces with pauses, after an idle line.
fn send(rng: &mut Rng, line: Line, bit: f64, bytes: &[u8]) -> Vec<u8> {
    let mut encoder = LineEncoder::new(line, BitLength::from_samples(bit));
    let mut out = Vec::new();
    encoder.idle(12 + rng.below(30), &mut out);
    for piece in rng.chunks(bytes) {
        encoder.push(piece, &mut out);
        if rng.one_in(3) {
            encoder.idle(rng.below(40), &mut out);
        }
    }
    encoder.idle(2, &mut out);
    encoder.finish(&mut out);
    out
}

/// Samples a line again: its times are stretched by `stretch`, which tells how far each sample of the result is behind
/// the one before, and edges are moved by `jitter`, both in samples.
fn resample(samples: &[u8], mut stretch: impl FnMut(u64) -> f64, mut jitter: impl FnMut() -> f64) -> Vec<u8> {
    let level = |at: usize| samples[at / 8] >> (at % 8) & 1;
    let mut edges: Vec<(f64, u8)> = vec![(0.0, level(0))];
    for at in 1..8 * samples.len() {
        if level(at) != level(at - 1) {
            edges.push((at as f64 + jitter(), level(at)));
        }
    }
    let (mut out, mut time, mut edge, mut count) = (Vec::new(), 0.0, 0, 0);
    while time < (8 * samples.len()) as f64 {
        while edges.get(edge + 1).is_some_and(|next| next.0 <= time) {
            edge += 1;
        }
        if count % 8 == 0 {
            out.push(0);
        }
        *out.last_mut().unwrap() |= edges[edge].1 << (count % 8);
        time += stretch(count);
        count += 1;
    }
    // The line stays as it is up to a whole byte.
    if count % 8 > 0 && edges[edge].1 == 1 {
        *out.last_mut().unwrap() |= 0xff << (count % 8);
    }
    out
}

/// Each figure's bits are samples in the order of time. 65 hexadecimal is 10100110, lowest bit first.
#[test]
fn lines_as_the_manual_draws_them() {
    let samples = |drawn: &str| {
        let levels = drawn.bytes().filter(|byte| *byte != b' ').map(|byte| byte == b'1');
        let mut levels: Vec<_> = levels.flat_map(|level| [level; 4]).collect();
        levels.resize(levels.len().next_multiple_of(8), drawn.ends_with('1'));
        let byte = |bits: &[bool]| (0..8).fold(0, |byte, bit| byte | u8::from(bits[bit]) << bit);
        levels.chunks(8).map(byte).collect::<Vec<u8>>()
    };
    let uart = samples("1111111111 1  0 10100110 1  0 00000000 1  11");
    assert_eq!(decode(&mut LineDecoder::new(Line::Uart), [&uart[..]]).0, [(5, 0x65), (10, 0)]);
    // Start bit 1, that is high-low; 65; ff; then low for the stop bit, and 01 in a packet of its own.
    let manchester = "0000 10 1001100101101001 1010101010101010 00 0000 10 1001010101010101 00 00 0000 0000";
    let manchester = samples(manchester);
    let (bytes, losses) = decode(&mut LineDecoder::new(Line::Manchester), [&manchester[..]]);
    assert_eq!((bytes, losses), (vec![(3, 0x65), (11, 0xff), (23, 1)], vec![]));
}

#[test]
fn what_is_sent_is_received_in_any_chunking() {
    let mut rng = Rng::new(51);
    for round in 0..300 {
        let line = *rng.pick(&LINES);
        let bit = (4.0 + rng.below(2000) as f64 / 100.0) * if line == Line::Uart { 1.0 } else { 2.0 };
        let len = 1 + rng.below(700) as usize;
        let bytes = rng.bytes(len);
        let samples = send(&mut rng, line, bit, &bytes);
        let mut decoder = LineDecoder::new(line);
        let whole = decode(&mut decoder, [&samples[..]]);
        let found: Vec<_> = whole.0.iter().map(|&(_, byte)| byte).collect();
        assert_eq!((found, &whole.1[..]), (bytes, &[][..]), "{round}: {line:?}, {bit} samples a bit");
        assert!(whole.0.is_sorted_by_key(|&(offset, _)| offset));
        let inferred = decoder.bit_length().unwrap().samples();
        assert!(len < 100 || (inferred / bit - 1.0).abs() < 0.02, "{inferred} for {bit}");
        assert_eq!(decode(&mut LineDecoder::new(line), rng.chunks(&samples)), whole);
        let mut given = LineDecoder::new(line).with_bit_length(BitLength::from_samples(bit));
        assert_eq!(decode(&mut given, [&samples[..]]).0.len(), len);
    }
}

/// Edges jitter by 3 % of a bit, and the clock drifts by 3 % to and fro, besides being anything.
#[test]
fn jitter_and_drift_do_no_harm() {
    let mut rng = Rng::new(52);
    for line in LINES {
        for bit in [8.0, 10.7, 17.3, 40.0] {
            let bytes = rng.bytes(4_000);
            let fine = 64.0;
            let sent = send(&mut rng, line, fine, &bytes);
            let mut moves = Rng::new(53);
            let jitter = || fine * 0.03 * (moves.below(2001) as f64 / 1000.0 - 1.0);
            let drift = |sample: u64| fine / bit * (1.0 + 0.03 * (sample as f64 / 40_000.0).sin());
            let samples = resample(&sent, drift, jitter);
            assert_eq!(received(line, &samples), (bytes, vec![]), "{line:?}, {bit} samples a bit");
        }
    }
}

#[test]
fn a_clock_that_is_switched_costs_a_block() {
    let mut rng = Rng::new(54);
    for line in LINES {
        for (first, second) in [(16.0, 8.0), (8.0, 16.0), (10.0, 43.0)] {
            let bytes = rng.bytes(1_000);
            let samples =
                [send(&mut rng, line, first, &bytes), send(&mut rng, line, second, &bytes)].concat();
            let (found, _) = received(line, &samples);
            let end = &bytes[bytes.len() - 500..];
            assert!(found.starts_with(&bytes[..500]) && found.ends_with(end), "{line:?}: {first}, {second}");
        }
    }
}

#[test]
fn after_damage_everything_is_right_again() {
    let mut rng = Rng::new(55);
    for round in 0..300 {
        let line = *rng.pick(&LINES);
        let bytes = rng.bytes(600);
        let mut samples = send(&mut rng, line, 16.0, &bytes);
        let clean = decode(&mut LineDecoder::new(line), [&samples[..]]).0;
        let (at, len) = (rng.below(samples.len() as u64 / 2) as usize, 1 + rng.below(60) as usize);
        let noise = rng.bytes(len);
        samples[at..at + len].copy_from_slice(&noise);
        let (found, losses) = decode(&mut LineDecoder::new(line), [&samples[..]]);
        let before = |offset: u64| offset + 300 < at as u64;
        // A character more than the eight that tell.
        let after = |offset: u64| offset > (at + len) as u64 + 9 * 300;
        let part = |all: &[(u64, u8)], wanted: &dyn Fn(u64) -> bool| {
            all.iter().copied().filter(|&(offset, _)| wanted(offset)).collect::<Vec<_>>()
        };
        assert_eq!(part(&found, &before), part(&clean, &before), "{round}: {line:?}");
        assert_eq!(part(&found, &after), part(&clean, &after), "{round}: {line:?}, damage at {at:#x}");
        assert!(found.len() >= clean.len() || !losses.is_empty(), "{round}: nothing is lost silently");
    }
}

#[test]
fn a_line_that_begins_inside_a_character() {
    let mut rng = Rng::new(56);
    for line in LINES {
        let mut samples = Vec::new();
        LineEncoder::new(line, BitLength::from_samples(16.0)).push(&rng.bytes(500), &mut samples);
        for start in 0..200 {
            let (found, losses) = received(line, &samples[start..]);
            let clean = received(line, &[&[[0xff, 0][line as usize]; 40][..], &samples].concat()).0;
            assert!(clean.ends_with(&found) && found.len() > 300, "{line:?} from {start}: {}", found.len());
            assert!(
                losses.iter().all(|lost| lost.reason != LostReason::Line),
                "{line:?} from {start}: {losses:?}"
            );
        }
    }
}

#[test]
fn what_is_no_line_has_no_bytes() {
    for line in LINES {
        assert_eq!(received(line, &[]), (vec![], vec![]));
        assert_eq!(received(line, &[0; 10_000]), (vec![], vec![]));
        assert_eq!(received(line, &[0xff; 10_000]), (vec![], vec![]));
    }
}
