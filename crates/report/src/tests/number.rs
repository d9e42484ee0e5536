use crate::number::{range, round_step, short, tick_label, ticks};

#[test]
fn steps_are_round_and_few() {
    for (span, most, step) in [
        (0, 8, 1),
        (8, 8, 1),
        (9, 8, 2),
        (18, 8, 5),
        (100, 10, 10),
        (2_244_666, 10, 500_000),
        (1 << 60, 8, 200_000_000_000_000_000),
        (u64::MAX, 1, 10_000_000_000_000_000_000),
    ] {
        assert_eq!(round_step(span, most), step, "{span} {most}");
    }
    assert_eq!(ticks(3, 21, 5).collect::<Vec<_>>(), [5, 10, 15, 20]);
    assert_eq!(ticks(0, 0, 5).collect::<Vec<_>>(), [0]);
    assert_eq!(ticks(u64::MAX - 3, u64::MAX, 5).collect::<Vec<_>>(), [u64::MAX]);
    assert_eq!(ticks(u64::MAX - 3, u64::MAX, 10).count(), 0);
}

#[test]
fn ticks_are_told_exactly() {
    for (value, step, label) in [
        (0, 500_000, "0"),
        (7, 1, "7"),
        (1_500, 500, "1.5 k"),
        (1_000, 500, "1.0 k"),
        (450, 50, "450"),
        (1_450_000, 50_000, "1 450 k"),
        (2_000_000, 500_000, "2.0 M"),
        (12_000_000, 2_000_000, "12 M"),
        (1_000_000_000_000_300, 100, "1 000 000 000 000.3 k"),
        (1_000_000_000_000_030, 10, "1 000 000 000 000 030"),
        (1_000_000_000_000_000_000, 200_000_000_000_000_000, "1.0 E"),
    ] {
        assert_eq!(tick_label(value, step), label, "{value} {step}");
    }
}

#[test]
fn short_numbers_have_three_digits() {
    for (value, text) in [
        (0, "0"),
        (999, "999"),
        (1000, "1.00 k"),
        (9_994, "9.99 k"),
        (9_996, "10.0 k"),
        (99_960, "100 k"),
        (999_499, "999 k"),
        (999_500, "1.00 M"),
        (12_345_678, "12.3 M"),
        (1 << 60, "1.15 E"),
        (40 << 60, "46.1 E"),
    ] {
        assert_eq!(short(value), text, "{value}");
    }
}

#[test]
fn ranges_by_powers_of_two_are_short() {
    for (from, to, text) in [
        (1, 1, "1"),
        (3, 4, "3–4"),
        (0, 7, "0–7"),
        (257, 512, "257–512"),
        (513, 1024, "513–1 024"),
        (1025, 2048, "1–2 Ki"),
        (1024, 2048, "1 024–2 048"),
        (524_289, 1 << 20, "512 Ki–1 Mi"),
        ((1 << 59) + 1, 1 << 60, "512 Pi–1 Ei"),
        ((1 << 63) + 1, u64::MAX, "over 8 Ei"),
        (101, u64::MAX, "over 100"),
        (5, 2, "5"),
    ] {
        assert_eq!(range(from, to), text);
    }
}
