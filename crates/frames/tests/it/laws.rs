//! Laws for every input: the same result for any chunking, the naive twin's answer, and a round trip of framed data.

use tracewright_frames::Format;
use tracewright_testkit::Rng;

use crate::common::{Container, FORMATS, deframe, dstream, framed, options, pieces, sources, twin};

/// Compares the deframer, fed in random pieces, with its twin.
fn check(rng: &mut Rng, input: &[u8]) {
    for format in FORMATS {
        for container in [Container::Plain, Container::Dstream] {
            let expected = twin::deframe(format, container, input);
            for pieces in [vec![input], pieces(rng, input)] {
                let found = deframe(format, container, pieces);
                assert_eq!(found, expected, "{format:?} {container:?} {input:02x?}");
            }
        }
    }
}

fn random_len(rng: &mut Rng) -> usize {
    rng.sized(11) as usize
}

#[test]
fn random_bytes_agree_with_the_twin() {
    let mut rng = Rng::new(1);
    for _ in 0..3_000 {
        let len = random_len(&mut rng);
        let input = rng.bytes(len);
        check(&mut rng, &input);
    }
}

#[test]
fn bytes_that_are_mostly_syncs_agree_with_the_twin() {
    let mut rng = Rng::new(2);
    for _ in 0..10_000 {
        let len = random_len(&mut rng) / 4;
        let ff = 1 + rng.below(6);
        let input: Vec<u8> = (0..len)
            .map(|_| match rng.below(ff + 3) {
                0 => 0x7f,
                1 => rng.next_u64() as u8,
                2 => *rng.pick(&[0x00, 0x01, 0x03, 0x21, 0x23]),
                _ => 0xff,
            })
            .collect();
        check(&mut rng, &input);
    }
}

/// Frames that are valid one by one, with ID bytes here and there and syncs in between and inside.
#[test]
fn random_frames_agree_with_the_twin() {
    let mut rng = Rng::new(3);
    for _ in 0..10_000 {
        let mut input = Vec::new();
        let (ids, fsyncs, half_syncs) = (1 + rng.below(20), 1 + rng.below(10), 1 + rng.below(100));
        for _ in 0..rng.below(60) {
            if rng.one_in(fsyncs) {
                input.extend([0xff, 0xff, 0xff, 0x7f].repeat(rng.below(6) as usize));
            }
            for pair in 0..8 {
                let (even, odd) = (rng.next_u64() as u8 & 0xfe, rng.next_u64() as u8);
                let is_id = rng.one_in(ids);
                let id = *rng.pick(&[0x01, 0x21, 0x21, 0x23, 0x25, 0xfb]);
                input.extend([if is_id { id } else { even }, odd]);
                if half_syncs < 20 && rng.one_in(half_syncs) || pair == 7 && rng.one_in(half_syncs) {
                    input.extend([0xff, 0x7f]);
                }
            }
        }
        if rng.one_in(3) {
            let at = rng.below(input.len() as u64 + 1) as usize;
            input.truncate(at);
        }
        check(&mut rng, &input);
    }
}

/// A round trip, without a loss.
#[test]
fn deframing_gives_back_what_was_framed() {
    let mut rng = Rng::new(4);
    for _ in 0..10_000 {
        let format = *rng.pick(&FORMATS);
        let options = options(&mut rng, format);
        let (stream, sent) = framed(&mut rng, options);
        let (container, file) = match rng.below(2) {
            0 => (Container::Plain, stream),
            _ => (Container::Dstream, dstream(&stream)),
        };
        let events = deframe(format, container, pieces(&mut rng, &file)).events;
        assert_eq!(sources(&events), sent, "{options:?}");
        assert_eq!(events.len(), sent.iter().map(Vec::len).sum(), "{options:?}");
    }
}

#[test]
fn a_stream_without_half_syncs_reads_the_same_in_both_sync_formats() {
    let mut rng = Rng::new(6);
    for _ in 0..1_000 {
        let options = options(&mut rng, Format::Fsync);
        let (stream, _) = framed(&mut rng, options);
        let read = |format| deframe(format, Container::Plain, [&stream[..]]);
        assert_eq!(read(Format::Fsync), read(Format::FsyncHsync));
    }
}
