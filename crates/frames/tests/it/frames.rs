//! The rules of the frame format, one by one.

use tracewright_frames::{Deframer, Format, FrameSink, Lost, LostReason, Run};
use tracewright_testkit::Rng;

use crate::common::lines::{DATA, FSYNC, Out, check, data, frame};
use crate::common::{Container, Event, deframe, deframe_whole, pieces};

mod id_bytes {
    use super::*;

    #[test]
    fn apply_at_once_or_after_the_next_byte() {
        let (one, two) = (0x10, 0x11);
        let clear = [0x21, 1, 2, 3, 0x23, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0];
        check(Format::Aligned, &clear, &[data(one, [1, 2, 3]), data(two, &clear[5..15])]);
        let set = [0x21, 1, 2, 3, 0x23, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0b100];
        check(Format::Aligned, &set, &[data(one, [1, 2, 3, 5]), data(two, &set[6..15])]);
        // An ID byte that repeats the source changes nothing.
        let same = [0x21, 1, 0x21, 3, 0x21, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0b010];
        check(Format::Aligned, &same, &[data(one, [1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])]);
    }

    #[test]
    fn in_byte_14_apply_from_the_next_frame() {
        for aux in [0, 0b1000_0000] {
            let first = [0x21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0x23, aux];
            let second = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0];
            let input = [first, second].concat();
            check(Format::Aligned, &input, &[data(0x10, &first[1..14]), data(0x11, &second[..15])]);
        }
    }

    #[test]
    fn may_follow_one_another() {
        let input = [0x21, 1, 0x23, 3, 0x25, 5, 0x27, 7, 8, 9, 10, 11, 12, 13, 14, 0b0110];
        let expected = [data(0x10, [1, 3]), data(0x11, [5]), data(0x13, [7, 8, 9, 10, 11, 12, 13, 14])];
        check(Format::Aligned, &input, &expected);
    }

    #[test]
    fn of_reserved_values_and_of_the_trigger_are_like_any_other() {
        for id in [0x70, 0x7b, 0x7d, 0x7e] {
            check(Format::Aligned, &frame(id), &[data(id, DATA)]);
        }
    }

    #[test]
    fn of_the_null_source_begin_padding_which_is_dropped_and_counted() {
        let input = [0x21, 1, 0x01, 3, 4, 5, 6, 7, 8, 9, 0x21, 11, 12, 13, 14, 0];
        check(Format::Aligned, &input, &[data(0x10, [1, 11, 12, 13, 14])]);
        assert_eq!(deframe(Format::Aligned, Container::Plain, [&input[..]]).padding, 7);
    }
}

mod data_bytes {
    use super::*;

    #[test]
    fn at_even_positions_have_their_bit_0_in_the_auxiliary_byte() {
        let input = [0x21, 0xfe, 2, 0xff, 4, 0xff, 6, 0xff, 8, 0xff, 0xfe, 0xff, 12, 0xff, 0xfe, 0b1010_0110];
        let expected = [0xfe, 3, 0xff, 5, 0xff, 6, 0xff, 8, 0xff, 0xff, 0xff, 12, 0xff, 0xff];
        check(Format::Aligned, &input, &[data(0x10, expected)]);
    }

    #[test]
    fn belong_to_the_last_source_of_the_frame_before() {
        let second = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0];
        check(
            Format::Aligned,
            &[frame(0x10), second].concat(),
            &[data(0x10, [&DATA[..], &second[..15]].concat())],
        );
    }

    #[test]
    fn before_the_first_id_byte_are_lost_in_one_piece() {
        let headless = [0; 16];
        let late = [0, 1, 2, 3, 4, 5, 6, 7, 0x21, 9, 10, 11, 12, 13, 14, 0];
        let expected = [Out::Lost(0, 40, LostReason::NoSource), data(0x10, [9, 10, 11, 12, 13, 14])];
        check(Format::Aligned, &[headless, headless, late].concat(), &expected);

        let synced = [&FSYNC[..], &headless, &FSYNC, &headless, &FSYNC, &late].concat();
        let expected = [Out::Lost(4, 48, LostReason::NoSource), data(0x10, [9, 10, 11, 12, 13, 14])];
        check(Format::Fsync, &synced, &expected);
    }
}

mod aligned {
    use super::*;

    #[test]
    fn a_frame_with_id_7f_is_lost_and_the_source_forgotten() {
        let mut bad = frame(0x10);
        bad[6] = 0xff;
        let headless = [0; 16];
        let input = [frame(0x10), bad, bad, headless, frame(0x11)].concat();
        let expected = [
            data(0x10, DATA),
            Out::Lost(16, 32, LostReason::ReservedId),
            Out::Lost(48, 15, LostReason::NoSource),
            data(0x11, DATA),
        ];
        check(Format::Aligned, &input, &expected);
    }

    #[test]
    fn whole_frames_of_fsyncs_are_a_barrier() {
        for frames in 1..4 {
            let input = [&frame(0x10)[..], &FSYNC.repeat(4 * frames), &[0; 16], &frame(0x10)].concat();
            let after = 16 + 16 * frames as u64;
            let expected = [
                data(0x10, DATA),
                Out::Reset(16),
                Out::Lost(after, 15, LostReason::NoSource),
                data(0x10, DATA),
            ];
            check(Format::Aligned, &input, &expected);
        }
        check(Format::Aligned, &FSYNC.repeat(4), &[Out::Reset(0)]);
    }

    #[test]
    fn other_fsyncs_are_reported_and_frames_go_on_after_them() {
        for fsyncs in [1, 2, 3, 5] {
            let input = [&frame(0x10)[..], &FSYNC.repeat(fsyncs), &frame(0x11)].concat();
            let lost = Out::Lost(16, 4 * fsyncs as u64, LostReason::StraySync);
            check(Format::Aligned, &input, &[data(0x10, DATA), lost, data(0x11, DATA)]);
        }
    }

    #[test]
    fn the_end_inside_a_frame_is_reported() {
        for len in 1..16 {
            let input = [&frame(0x10)[..], &frame(0x10)[..len]].concat();
            let lost = Out::Lost(16, len as u64, LostReason::Truncated);
            check(Format::Aligned, &input, &[data(0x10, DATA), lost]);
        }
    }
}

mod the_deframer {
    use super::*;

    #[derive(Default)]
    struct Runs(Vec<(Run, usize)>);

    impl FrameSink for Runs {
        fn data(&mut self, run: Run, bytes: &[u8]) {
            self.0.push((run, bytes.len()));
        }

        fn lost(&mut self, lost: Lost) {
            panic!("{lost}");
        }

        fn reset(&mut self, _offset: u64) {}
    }

    #[test]
    fn makes_one_run_of_frames_without_id_bytes() {
        let mut runs = Runs::default();
        let mut deframer = Deframer::new(Format::Aligned);
        deframer.feed(&[&frame(0x10)[..], &[0; 16 * 9]].concat(), &mut runs);
        let [(run, len)] = runs.0[..] else { panic!("one run: {:?}", runs.0) };
        assert_eq!((run.offset, run.lane, run.slip, len), (1, 1, 1, 14 + 9 * 15));
    }

    #[test]
    fn begins_anew_after_finish_and_after_reset() {
        let stream = [&FSYNC[..], &frame(0x10), &frame(0x10)[..5]].concat();
        let expected = deframe_whole(Format::Fsync, &stream);
        let mut deframer = Deframer::new(Format::Fsync);
        let mut runs = Runs::default();
        deframer.feed(&stream[..20], &mut runs);
        deframer.finish(&mut runs);
        assert_eq!(deframer.offset(), 20);
        deframer.feed(&stream[..20], &mut runs);
        assert_eq!(runs.0.iter().map(|(run, _)| run.offset).collect::<Vec<_>>(), [5, 25]);
        deframer.reset();
        assert_eq!(deframer.offset(), 0);
        deframer.feed(&stream[..20], &mut runs);
        assert_eq!(runs.0[2], runs.0[0]);
        assert_eq!(expected.len(), 15);
    }

    #[test]
    fn says_losses_in_plain_words() {
        let lost = Lost { offset: 0x1f0, len: 3, reason: LostReason::Truncated };
        assert_eq!(lost.to_string(), "3 bytes lost: input ends inside a frame (at offset 0x1f0)");
        let lost = Lost { offset: 0, len: 1, reason: LostReason::NoSync };
        assert_eq!(lost.to_string(), "1 byte lost: no frame sync seen yet (at offset 0x0)");
    }

    #[test]
    fn takes_garbage_for_what_it_is() {
        let mut rng = Rng::new(9);
        let input = vec![0xff; 100_000];
        let lost = Lost { offset: 0, len: 100_000, reason: LostReason::ReservedId };
        let record = deframe(Format::Aligned, Container::Plain, pieces(&mut rng, &input));
        assert_eq!(record.events, [Event::Lost(lost)]);
    }
}
