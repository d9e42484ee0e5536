//! Collecting whole streams.

use tracewright_frames::{Break, Deframer, Demux, Format, Lost, LostReason};
use tracewright_testkit::Rng;

use crate::common::{Container, Event, FORMATS, deframe, framed, options, pieces};

/// Moves each byte with its file offset and OpenCSD's index to those of its source.
fn take(demux: &mut Demux, collected: &mut [Vec<(u8, u64, u64)>]) {
    for (id, stream) in demux.streams() {
        let collected = &mut collected[usize::from(id.get())];
        assert_eq!(stream.start(), collected.len() as u64);
        let mut cursor = 0;
        for (position, &byte) in (stream.start()..).zip(&stream.bytes) {
            let run = stream.offsets.run_near(position, &mut cursor).expect("a known position");
            collected.push((byte, run.offset, run.opencsd_index_of(0)));
        }
    }
    demux.clear();
}

#[test]
fn streams_have_each_sources_bytes_and_their_offsets() {
    let mut rng = Rng::new(21);
    for _ in 0..1_000 {
        let format = *rng.pick(&FORMATS);
        let options = options(&mut rng, format);
        let (input, _) = framed(&mut rng, options);
        let mut expected = vec![Vec::new(); 128];
        for event in deframe(format, Container::Plain, [&input[..]]).events {
            if let Event::Data { id, byte, offset, opencsd_index } = event {
                expected[usize::from(id)].push((byte, offset, opencsd_index));
            }
        }

        let mut demux = Demux::new();
        let mut deframer = Deframer::new(format);
        let mut collected = vec![Vec::new(); 128];
        for piece in pieces(&mut rng, &input) {
            deframer.feed(piece, &mut demux);
            if rng.one_in(3) {
                continue;
            }
            take(&mut demux, &mut collected);
        }
        take(&mut demux, &mut collected);
        assert_eq!(collected, expected, "{options:?}");
    }
}

#[test]
fn positions_go_on_after_a_clear() {
    let frame = [0x21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0];
    let mut demux = Demux::new();
    let mut deframer = Deframer::new(Format::Aligned);
    deframer.feed(&frame, &mut demux);
    demux.clear();
    assert_eq!(demux.streams().count(), 0);
    deframer.feed(&frame, &mut demux);
    let streams: Vec<_> =
        demux.streams().map(|(id, stream)| (id.get(), stream.start(), &stream.bytes[..])).collect();
    assert_eq!(streams, [(0x10, 14, &frame[1..15])]);
}

#[test]
fn breaks_are_kept_in_order() {
    let barrier = [0xff, 0xff, 0xff, 0x7f].repeat(4);
    let mut demux = Demux::new();
    let mut deframer = Deframer::new(Format::Aligned);
    deframer.feed(&[&[0; 16], &barrier[..], &[0xff]].concat(), &mut demux);
    deframer.finish(&mut demux);
    let expected = [
        Break::Lost(Lost { offset: 0, len: 15, reason: LostReason::NoSource }),
        Break::Reset(16),
        Break::Lost(Lost { offset: 32, len: 1, reason: LostReason::Truncated }),
    ];
    assert_eq!(demux.breaks(), expected);
}
