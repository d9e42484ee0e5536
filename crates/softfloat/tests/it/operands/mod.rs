//! Operands at the edges of floating-point arithmetic, and some in between.

use tracewright_softfloat::Format;
use tracewright_testkit::Rng;

/// Returns an operand: an edge, near an edge, near another operand, or random.
pub fn operand(rng: &mut Rng, format: Format, near: &[u64]) -> u64 {
    let sign = format.sign(rng.one_in(2));
    let all = format.sign_bit() | (format.sign_bit() - 1);
    let bits = match rng.below(10) {
        0 => *rng.pick(&edges(format)),
        1 => rng.pick(&edges(format)).wrapping_add(rng.below(5)).wrapping_sub(2),
        2 => limit(rng, format),
        3 | 4 if !near.is_empty() => {
            let other = *rng.pick(near);
            neighbour(rng, format, other)
        }
        // Random bits below 1, or above it: short significands have exact results and ties.
        5 | 6 => {
            around_one(rng, format)
                & !(format.fraction_mask() >> rng.below(u64::from(format.fraction_bits) + 1))
        }
        7 => around_one(rng, format) & !format.fraction_mask() | rng.sized(format.fraction_bits),
        8 => around_one(rng, format),
        _ => rng.next_u64(),
    };
    (bits ^ sign) & all
}

/// Returns an integer: near a limit, short, or random.
pub fn integer(rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0 => (1u64 << rng.below(64)).wrapping_add(rng.below(5)).wrapping_sub(2),
        1 => rng.sized(64) << rng.below(40),
        2 => rng.sized(64).wrapping_neg(),
        _ => rng.next_u64(),
    }
}

fn edges(format: Format) -> [u64; 16] {
    let one = (format.bias() as u64) << format.fraction_bits;
    let smallest_normal = 1 << format.fraction_bits;
    [
        0,
        1,
        2,
        3,
        smallest_normal - 1,
        smallest_normal,
        smallest_normal + 1,
        2 * smallest_normal,
        one - 1,
        one,
        one + 1,
        format.largest(false),
        format.infinity(false),
        format.infinity(false) + 1,
        format.nan(),
        format.nan() | 0x55,
    ]
}

/// Returns a number near a limit of an integer type, or a half, with the two bits after the point at random.
fn limit(rng: &mut Rng, format: Format) -> u64 {
    let power = *rng.pick(&[0u64, 1, 2, 8, 22, 23, 24, 30, 31, 32, 33, 51, 52, 53, 62, 63, 64, 65]);
    let bits = (format.bias() as u64 + power) << format.fraction_bits;
    let half = u64::from(format.fraction_bits).saturating_sub(power + 1);
    let fraction = (rng.below(9).wrapping_sub(4) << half).wrapping_add(rng.below(3)).wrapping_sub(1);
    bits.wrapping_add(fraction & format.fraction_mask())
        .wrapping_sub(*rng.pick(&[0, 1 << format.fraction_bits]))
}

/// Returns any fraction with an exponent of moderate size.
fn around_one(rng: &mut Rng, format: Format) -> u64 {
    let spread = *rng.pick(&[2, 2 * u64::from(format.fraction_bits), format.exponent_mask() - 1]);
    let field = format.bias() as u64 + rng.below(spread + 1) - spread / 2;
    (field << format.fraction_bits) | rng.next_u64() & format.fraction_mask()
}

/// Returns an operand that meets `other` at an edge: about as large, or such that a product or quotient is one, or is
/// at an end of the range.
fn neighbour(rng: &mut Rng, format: Format, other: u64) -> u64 {
    let any = rng.next_u64();
    let fraction = *rng.pick(&[any, other, 0]) & format.fraction_mask();
    let field = format.exponent(other) as i64;
    let bias = i64::from(format.bias());
    let (p, jitter) = (i64::from(format.fraction_bits), rng.below(5) as i64 - 2);
    let field = match rng.below(7) {
        0 => field,
        1 => field + p,
        2 => field - p,
        // Products: at the lower end, among subnormal numbers, at the upper end.
        3 => bias + 1 - field,
        4 => bias + 1 - p - field,
        5 => 3 * bias - field,
        // Quotients at the lower end.
        _ => field + bias,
    };
    let field = (field + jitter).clamp(0, format.exponent_mask() as i64) as u64;
    field << format.fraction_bits | fraction
}
