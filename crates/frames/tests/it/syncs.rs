//! The rules of streams with syncs, one by one.

use tracewright_frames::{Format, LostReason};

use crate::common::lines::{DATA, FSYNC, Out, check, data, frame};
use crate::common::{Container, deframe};

#[test]
fn what_precedes_the_first_fsync_is_lost_in_one_piece() {
    let input = [&[0xff; 9][..], &[0x7f], &frame(0x10)].concat();
    check(Format::Fsync, &input, &[Out::Lost(0, 6, LostReason::NoSync), data(0x10, DATA)]);
    check(Format::Fsync, &[0xff; 9], &[Out::Lost(0, 9, LostReason::NoSync)]);
    check(Format::Fsync, &[], &[]);
}

#[test]
fn any_number_of_fsyncs_may_be_between_frames() {
    for fsyncs in 0..5 {
        let input = [&FSYNC[..], &frame(0x10), &FSYNC.repeat(fsyncs), &frame(0x10), &FSYNC].concat();
        check(Format::Fsync, &input, &[data(0x10, DATA.repeat(2))]);
    }
}

#[test]
fn an_fsync_inside_a_frame_cuts_it_and_the_source_is_forgotten() {
    for len in (2..16).step_by(2) {
        let input = [&FSYNC[..], &frame(0x10)[..len], &FSYNC, &[0; 16], &frame(0x11)].concat();
        let after = len as u64 + 8;
        let expected = [
            Out::Lost(4, len as u64, LostReason::CutFrame),
            Out::Lost(after, 15, LostReason::NoSource),
            data(0x11, DATA),
        ];
        check(Format::Fsync, &input, &expected);
        check(Format::FsyncHsync, &input, &expected);
    }
}

#[test]
fn after_id_7f_the_next_fsync_is_searched() {
    let mut bad = frame(0x10);
    bad[6] = 0xff;
    let input = [&FSYNC[..], &bad, &frame(0x12), &FSYNC, &frame(0x11)].concat();
    let expected = [Out::Lost(4, 32, LostReason::ReservedId), data(0x11, DATA)];
    check(Format::Fsync, &input, &expected);
    check(Format::FsyncHsync, &input, &expected);
}

#[test]
fn a_half_sync_is_damage_where_none_are_expected() {
    let input =
        [&FSYNC[..], &frame(0x10)[..6], &[0xff, 0x7f], &frame(0x10)[6..], &FSYNC, &frame(0x11)].concat();
    check(Format::Fsync, &input, &[Out::Lost(4, 18, LostReason::ReservedId), data(0x11, DATA)]);
}

/// A byte was dropped, so the next FSYNC is partly hidden in a frame, at any position.
#[test]
fn an_fsync_at_an_odd_position_is_found() {
    for len in (1..14).step_by(2) {
        let input = [&FSYNC[..], &frame(0x10)[..len], &FSYNC, &frame(0x11)].concat();
        check(Format::Fsync, &input, &[Out::Lost(4, len as u64, LostReason::ReservedId), data(0x11, DATA)]);
    }
}

/// The frame that lacks a byte took the FSYNC's first byte for its last one. Nothing else shows the damage.
#[test]
fn damage_is_reported_even_if_no_byte_is_left_over() {
    let input = [&FSYNC[..], &frame(0x10)[..15], &FSYNC, &frame(0x11)].concat();
    // All auxiliary bits are read as set: the change of source is delayed, and even bytes are odd.
    let damaged = [5, 6, 9, 10, 13, 14, 17, 18, 21, 22, 25, 26, 29];
    let expected = [
        Out::Lost(5, 1, LostReason::NoSource),
        data(0x10, damaged),
        Out::Lost(20, 0, LostReason::ReservedId),
        data(0x11, DATA),
    ];
    check(Format::Fsync, &input, &expected);
}

#[test]
fn half_syncs_may_be_between_any_two_pairs_and_at_the_end() {
    for at in (0..=16).step_by(2) {
        for half_syncs in 1..4 {
            let half_syncs = [0xff, 0x7f].repeat(half_syncs);
            let broken = [&frame(0x10)[..at], &half_syncs, &frame(0x10)[at..]].concat();
            check(Format::FsyncHsync, &[&FSYNC, &broken[..]].concat(), &[data(0x10, DATA)]);
            let input = [&FSYNC, &broken[..], &FSYNC, &broken, &frame(0x10)].concat();
            check(Format::FsyncHsync, &input, &[data(0x10, DATA.repeat(3))]);
        }
    }
}

#[test]
fn a_sync_may_come_in_two_pieces() {
    let input =
        [&FSYNC[..], &frame(0x10), &FSYNC, &frame(0x10)[..4], &[0xff, 0x7f], &frame(0x10)[4..]].concat();
    let whole = deframe(Format::FsyncHsync, Container::Plain, [&input[..]]);
    for at in 0..=input.len() {
        let (first, second) = input.split_at(at);
        assert_eq!(deframe(Format::FsyncHsync, Container::Plain, [first, second]), whole);
    }
}

#[test]
fn the_end_inside_a_frame_or_sync_is_reported() {
    for len in 1..16 {
        let input = [&FSYNC[..], &frame(0x10)[..len]].concat();
        check(Format::Fsync, &input, &[Out::Lost(4, len as u64, LostReason::Truncated)]);
    }
    for len in 1..4 {
        let input = [&FSYNC[..], &FSYNC[..len]].concat();
        check(Format::Fsync, &input, &[Out::Lost(4, len as u64, LostReason::Truncated)]);
    }
}
