//! Choices that IEEE 754 leaves open, as the RISC-V specification describes them.

use tracewright_softfloat::Rounding::{Down, NearestEven, TowardZero, Up};
use tracewright_softfloat::{Flags, Rounding, double, single};

const NAN: u64 = 0x7ff8_0000_0000_0000;
const SIGNALLING: u64 = 0x7ff0_0000_0000_0001;
const SMALLEST_NORMAL: u64 = 0x0010_0000_0000_0000;

/// Returns the result of an operation and the flags it raised.
fn run<T>(operation: impl Fn(&mut Flags) -> T) -> (T, Flags) {
    let mut flags = Flags::default();
    (operation(&mut flags), flags)
}

fn bits(number: f64) -> u64 {
    number.to_bits()
}

#[test]
fn rounding_modes_have_their_numbers() {
    for (rm, rounding) in Rounding::ALL.into_iter().enumerate() {
        assert_eq!(Rounding::from_rm(rm as u8), Some(rounding));
    }
    assert_eq!([5, 6, 7, 8].map(Rounding::from_rm), [None; 4]);
}

#[test]
fn nans_are_canonical() {
    let payload = NAN | 1 << 63 | 0x1234;
    let one = bits(1.0);
    assert_eq!(run(|f| double::add(payload, one, NearestEven, f)), (NAN, Flags(0)));
    assert_eq!(run(|f| double::mul(one, SIGNALLING, NearestEven, f)), (NAN, Flags::NV));
    assert_eq!(run(|f| double::sqrt(bits(-1.0), NearestEven, f)), (NAN, Flags::NV));
    assert_eq!(run(|f| double::to_single(payload, NearestEven, f)), (0x7fc0_0000, Flags(0)));
    assert_eq!(run(|f| single::to_double(0x7f80_0001, f)), (NAN, Flags::NV));
}

#[test]
fn infinity_times_zero_is_invalid_whatever_is_added() {
    let infinity = bits(f64::INFINITY);
    assert_eq!(run(|f| double::fma(infinity, 0, NAN, NearestEven, f)), (NAN, Flags::NV));
    assert_eq!(run(|f| double::fma(infinity, bits(1.0), NAN, NearestEven, f)), (NAN, Flags(0)));
}

#[test]
fn tininess_is_detected_after_rounding() {
    let (one, half) = (bits(1.0), bits(0.5));
    let nearest = |a, b| run(|f| double::mul(a, b, NearestEven, f));
    // (1 + x) (1 - x) is less than one unit of any format below, so it rounds to the smallest normal number.
    assert_eq!(nearest(SMALLEST_NORMAL + 1, one - 2), (SMALLEST_NORMAL, Flags::NX));
    // The result is the same, but with unlimited exponents it would be smaller.
    assert_eq!(nearest(SMALLEST_NORMAL, one - 1), (SMALLEST_NORMAL, Flags(Flags::UF.0 | Flags::NX.0)));
    // Tiny but exact.
    assert_eq!(nearest(SMALLEST_NORMAL, half), (SMALLEST_NORMAL / 2, Flags(0)));
}

#[test]
fn minimum_and_maximum_are_numbers_if_there_is_one() {
    let (zero, minus_zero, one) = (0, bits(-0.0), bits(1.0));
    assert_eq!(run(|f| double::min(zero, minus_zero, f)), (minus_zero, Flags(0)));
    assert_eq!(run(|f| double::max(minus_zero, zero, f)), (zero, Flags(0)));
    assert_eq!(run(|f| double::min(NAN | 5, one, f)), (one, Flags(0)));
    assert_eq!(run(|f| double::max(one, SIGNALLING, f)), (one, Flags::NV));
    assert_eq!(run(|f| double::max(NAN | 5, SIGNALLING, f)), (NAN, Flags::NV));
}

#[test]
fn only_equality_is_quiet() {
    assert_eq!(run(|f| double::eq(NAN, NAN, f)), (false, Flags(0)));
    assert_eq!(run(|f| double::eq(NAN, SIGNALLING, f)), (false, Flags::NV));
    assert_eq!(run(|f| double::lt(NAN, 0, f)), (false, Flags::NV));
    assert_eq!(run(|f| double::le(0, NAN, f)), (false, Flags::NV));
}

/// The table "Domains of float-to-integer conversions and behavior for invalid inputs".
#[test]
fn integers_saturate() {
    let nan = NAN | 1 << 63;
    assert_eq!(run(|f| double::to_i32(bits(3e9), TowardZero, f)), (i32::MAX, Flags::NV));
    assert_eq!(run(|f| double::to_i32(bits(-3e9), TowardZero, f)), (i32::MIN, Flags::NV));
    assert_eq!(run(|f| double::to_i32(nan, TowardZero, f)), (i32::MAX, Flags::NV));
    assert_eq!(run(|f| double::to_u32(bits(-1.0), TowardZero, f)), (0, Flags::NV));
    assert_eq!(run(|f| double::to_u32(bits(-0.75), TowardZero, f)), (0, Flags::NX));
    assert_eq!(run(|f| double::to_u32(bits(-0.75), Down, f)), (0, Flags::NV));
    assert_eq!(run(|f| double::to_u32(nan, TowardZero, f)), (u32::MAX, Flags::NV));
    assert_eq!(run(|f| double::to_i64(bits(f64::NEG_INFINITY), TowardZero, f)), (i64::MIN, Flags::NV));
    assert_eq!(run(|f| double::to_i64(bits(-9223372036854775808.0), Up, f)), (i64::MIN, Flags(0)));
    assert_eq!(run(|f| double::to_u64(bits(18446744073709551616.0), Up, f)), (u64::MAX, Flags::NV));
    assert_eq!(run(|f| single::to_i32(4294967295f32.to_bits(), Up, f)), (i32::MAX, Flags::NV));
    assert_eq!(run(|f| double::to_i32(bits(2147483647.5), NearestEven, f)), (i32::MAX, Flags::NV));
    assert_eq!(run(|f| double::to_i32(bits(2147483647.5), Down, f)), (i32::MAX, Flags::NX));
}

#[test]
fn classes_are_one_bit_of_ten() {
    let numbers = [f64::NEG_INFINITY, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, f64::INFINITY].map(bits);
    for (bit, number) in numbers.into_iter().chain([SIGNALLING, NAN]).enumerate() {
        assert_eq!(double::classify(number), 1 << bit);
    }
}

#[test]
fn sums_that_vanish_are_negative_only_downwards() {
    let (one, minus_one) = (bits(1.0), bits(-1.0));
    assert_eq!(run(|f| double::add(one, minus_one, NearestEven, f)), (0, Flags(0)));
    assert_eq!(run(|f| double::add(one, minus_one, Down, f)), (1 << 63, Flags(0)));
    assert_eq!(run(|f| double::fma(one, one, minus_one, Down, f)), (1 << 63, Flags(0)));
}
