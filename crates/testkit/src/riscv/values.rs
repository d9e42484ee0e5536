//! Values at which arithmetic is likely to go wrong.

use crate::Rng;

const INTEGERS: &[u64] = &[
    // Operands of special pairs: overflowing divisions, divisions by zero.
    0,
    u64::MAX,
    i64::MIN as u64,
    0xffff_ffff_8000_0000,
    1,
    i64::MAX as u64,
    0xffff_ffff,
    0x8000_0000,
    // Others.
    2,
    u64::MAX - 1,
    i64::MIN as u64 + 1,
    0x7fff_ffff,
    0x1_0000_0000,
    0xffff_ffff_0000_0000,
    63,
    64,
    31,
    32,
    0x80,
    0x8000,
    0xffff,
    0x00ff_00ff_0000_0100,
];

const DOUBLES: &[u64] = &[
    // Operands of special pairs: zeros, infinities, NaNs of both kinds, one, the least number.
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x3ff0_0000_0000_0000,
    0x0000_0000_0000_0001,
    // Others.
    0xbff0_0000_0000_0000, // minus one, other NaNs
    0xfff8_0000_0000_0000,
    0x7ff8_dead_beef_0001,
    0xfff4_0000_0000_0000,
    0x7fef_ffff_ffff_ffff, // the largest
    0xffef_ffff_ffff_ffff,
    0x0010_0000_0000_0000, // the least normal ones
    0x8010_0000_0000_0000,
    0x000f_ffff_ffff_ffff, // subnormals
    0x8000_0000_0000_0001,
    0x3fe0_0000_0000_0000, // a half, and what rounds to it
    0xbfe0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x41df_ffff_ffc0_0000, // i32::MAX, 2^31, 2^31 - 1/2
    0x41e0_0000_0000_0000,
    0x41df_ffff_ffe0_0000,
    0xc1e0_0000_0000_0000, // -2^31, -2^31 - 1/2, -2^31 - 1
    0xc1e0_0000_0010_0000,
    0xc1e0_0000_0020_0000,
    0x41ef_ffff_ffe0_0000, // u32::MAX, 2^32, 2^32 - 1/2
    0x41f0_0000_0000_0000,
    0x41ef_ffff_fff0_0000,
    0x43e0_0000_0000_0000, // 2^63, -2^63, 2^64 and just below
    0xc3e0_0000_0000_0000,
    0x43f0_0000_0000_0000,
    0x43ef_ffff_ffff_ffff,
    0x43df_ffff_ffff_ffff,
    0x47ef_ffff_f000_0000, // where single precision overflows
    0x47ef_ffff_efff_ffff,
    0x380f_ffff_f000_0000, // and where it becomes subnormal, or rounds to the least normal number
    0x3810_0000_0000_0000,
    0x36a0_0000_0000_0000,
    0x3690_0000_0000_0000,
    0x3ff0_0000_1000_0000, // a tie when rounded to single precision
    0x3ff0_0000_3000_0000,
];

const SINGLES: &[u32] = &[
    // The same operands of special pairs.
    0x0000_0000,
    0x8000_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0x3f80_0000,
    0x0000_0001,
    // Others.
    0xbf80_0000,
    0xffc0_0000,
    0x7fc1_2345,
    0xffa0_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x007f_ffff,
    0x8000_0001,
    0x3f00_0000,
    0xbf00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0x4f00_0000,
    0x4eff_ffff,
    0xcf00_0000,
    0xcf00_0001,
    0x4f80_0000,
    0x4f7f_ffff,
    0x5f00_0000,
    0xdf00_0000,
    0x5f80_0000,
    0x5f7f_ffff,
    0x1f80_0000,
    0x2000_0000,
    0x3f7f_ffff,
    0x3f80_0001,
];

/// Number of values at the start of each list, and of each pool, that are operands of special pairs.
pub(super) const EDGES: usize = 8;

/// Upper half of a NaN-boxed single.
const BOX: u64 = 0xffff_ffff_0000_0000;

/// Makes pools of integers, doubles and singles, of `len` values each, one after the other.
pub(super) fn pools(rng: &mut Rng, len: usize) -> Vec<u64> {
    let mut pools = INTEGERS[..EDGES].to_vec();
    pools.resize_with(len, || integer(rng));
    pools.extend(&DOUBLES[..EDGES]);
    pools.resize_with(2 * len, || double(rng));
    pools.extend(SINGLES[..EDGES].iter().map(|&bits| BOX | u64::from(bits)));
    pools.resize_with(3 * len, || single(rng));
    pools
}

pub(super) fn any(rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0..=1 => integer(rng),
        2 => double(rng),
        _ => single(rng),
    }
}

/// Returns an integer that is often an edge case, or near one.
fn integer(rng: &mut Rng) -> u64 {
    match rng.below(6) {
        0..=2 => *rng.pick(INTEGERS),
        3 => rng.next_u64(),
        4 => rng.sized(64),
        _ => rng.sized(64).wrapping_neg(),
    }
}

fn double(rng: &mut Rng) -> u64 {
    match rng.below(8) {
        0..=3 => *rng.pick(DOUBLES),
        // Of similar size, so that sums are not one of the summands; then close to the ends, for products and quotients.
        4..=5 => near(rng, 1023, 52, 11),
        6 => {
            let exponent = *rng.pick(&[1, 30, 52, 512, 1535, 2040]);
            near(rng, exponent, 52, 11)
        }
        _ => rng.next_u64(),
    }
}

/// Returns a single. Some are not NaN-boxed, which makes them NaNs.
fn single(rng: &mut Rng) -> u64 {
    match rng.below(8) {
        0..=3 => BOX | u64::from(*rng.pick(SINGLES)),
        4..=5 => BOX | near(rng, 127, 23, 8),
        6 => {
            let exponent = *rng.pick(&[1, 12, 24, 64, 191, 250]);
            BOX | near(rng, exponent, 23, 8)
        }
        _ => BOX << rng.below(8) & !(rng.below(2) << 63) | u64::from(*rng.pick(SINGLES)),
    }
}

/// Returns a number with about this exponent, often with few bits, so that results are exact or ties.
fn near(rng: &mut Rng, exponent: u64, mantissa: u32, exponent_bits: u32) -> u64 {
    let exponent = (exponent + rng.below(8)).saturating_sub(rng.below(8));
    let bits = if rng.one_in(2) { mantissa } else { 4 };
    let fraction = rng.next_u64() >> (64 - bits) << (mantissa - bits);
    rng.below(2) << (mantissa + exponent_bits) | exponent << mantissa | fraction
}
