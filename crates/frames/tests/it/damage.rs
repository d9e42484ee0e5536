//! Streams with syncs survive damage: after the next FSYNC, everything is right again.

use tracewright_frames::Format;
use tracewright_testkit::Rng;

use crate::common::lines::FSYNC;
use crate::common::{Container, Event, deframe, framed, options, pieces};

/// Returns the data from file offset `from` on, with offsets that count from there.
fn data_after(events: &[Event], from: u64) -> Vec<(u8, u8, u64)> {
    let data = events.iter().filter_map(|event| match *event {
        Event::Data { id, byte, offset, .. } if offset >= from => Some((id, byte, offset - from)),
        _ => None,
    });
    data.collect()
}

#[test]
fn everything_is_right_again_after_the_next_fsync() {
    let mut rng = Rng::new(11);
    let mut tested = 0;
    for _ in 0..20_000 {
        let format = *rng.pick(&[Format::Fsync, Format::FsyncHsync]);
        let options = options(&mut rng, format);
        let (stream, _) = framed(&mut rng, options);
        if stream.is_empty() {
            continue;
        }
        let at = rng.below(stream.len() as u64) as usize;
        let removed = rng.below(4).min((stream.len() - at) as u64) as usize;
        let inserted: Vec<u8> =
            (0..rng.below(4)).map(|_| *rng.pick(&[0xff, 0x7f, 0x00, 0x21, 0x5a])).collect();
        let damaged = [&stream[..at], &inserted, &stream[at + removed..]].concat();

        let rest = &stream[at + removed..];
        let Some(fsync) = rest.windows(4).position(|window| window == FSYNC) else { continue };
        let clean = deframe(format, Container::Plain, [&stream[..]]).events;
        let events = deframe(format, Container::Plain, pieces(&mut rng, &damaged)).events;
        let expected = data_after(&clean, (at + removed + fsync) as u64);
        let found = data_after(&events, (at + inserted.len() + fsync) as u64);
        assert_eq!(found, expected, "{options:?} at {at}");
        tested += 1;
    }
    assert!(tested > 10_000);
}
