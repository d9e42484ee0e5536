use super::arithmetic::mul;
use super::host::{Host, inexact_if, is_host_mode, is_safe, normal, sum_error};
use crate::{Flags, Rounding, exact};

#[inline]
pub fn fma<H: Host>(a: u64, b: u64, c: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    if is_host_mode(rounding)
        && let Some(result) = H::fma(a, b, c, flags)
    {
        return result;
    }
    exact::fma(H::FORMAT, a, b, c, rounding, flags)
}

/// Computes in double precision, where the product is exact and only the sum is rounded.
///
/// Rounding the sum again to single precision would go wrong if the first rounding makes a tie. So the first one
/// rounds to odd.
#[inline]
pub fn single(a: u64, b: u64, c: u64, flags: &mut Flags) -> Option<u64> {
    let [x, y, z] = [a, b, c].map(|bits| f64::from(f32::of(bits)));
    let product = x * y;
    let sum = product + z;
    let error = sum_error(product, z, sum);
    let result = to_odd(sum, error) as f32;
    let bits = result.bits();
    if is_safe::<f32>(bits) {
        inexact_if(f64::from(result) != sum || error != 0.0, flags);
        return Some(bits);
    }
    // An exact zero already has the right sign: the rule is the same in both formats.
    (sum == 0.0).then_some(bits)
}

/// Uses the host's instruction if NX is already set, and integers otherwise, since they also find NX.
#[inline]
pub fn double(a: u64, b: u64, c: u64, flags: &mut Flags) -> Option<u64> {
    if HAS_FMA && flags.contains(Flags::NX) {
        let result = host_fma(f64::of(a), f64::of(b), f64::of(c)).bits();
        if is_safe::<f64>(result) {
            return Some(result);
        }
    }
    in_integers(a, b, c, flags)
}

/// Whether `f64::mul_add` is fast: it is an instruction, or a library call that selects the instruction when the
/// program starts. Such a call takes less than half the time of [`in_integers`]. Elsewhere it may be far slower (but
/// is right).
const HAS_FMA: bool = cfg!(all(
    feature = "std",
    any(target_feature = "fma", target_arch = "aarch64", all(target_os = "linux", target_env = "gnu"))
));

#[inline]
fn host_fma(x: f64, y: f64, z: f64) -> f64 {
    #[cfg(feature = "std")]
    return x.mul_add(y, z);
    // Never called.
    #[cfg(not(feature = "std"))]
    return x * y + z;
}

/// Adds in units that are small enough to be exact. A summand that is much smaller is jammed.
#[inline]
fn in_integers(a: u64, b: u64, c: u64, flags: &mut Flags) -> Option<u64> {
    let (Some((ea, ma)), Some((eb, mb)), Some((ec, mc))) =
        (normal::<f64>(a), normal::<f64>(b), normal::<f64>(c))
    else {
        return with_zero(a, b, c, flags);
    };
    // The product has 105 or 106 bits. It is shifted left as far as possible, with a bit left for the carry. The
    // other summand has 53 bits and is shifted by `shift`, which may be at most this.
    const PRODUCT_SHIFT: u32 = 21;
    const ROOM: i64 = 74;
    let product = (u128::from(ma) * u128::from(mb)) << PRODUCT_SHIFT;
    let product_field = (ea + eb) as i64 - 1023;
    let shift = ec as i64 - product_field + 52 + i64::from(PRODUCT_SHIFT);
    let excess = (shift - ROOM).max(0);
    let (product, addend) = if shift > ROOM {
        (jam(product, excess), u128::from(mc) << ROOM)
    } else if shift >= 0 {
        (product, u128::from(mc) << shift)
    } else {
        (product, jam(mc.into(), -shift))
    };

    let product_sign = (a ^ b) >> 63;
    let addend_sign = c >> 63;
    let (sign, sum) = if product_sign == addend_sign {
        (product_sign, product + addend)
    } else if product >= addend {
        (product_sign, product - addend)
    } else {
        (addend_sign, addend - product)
    };
    if sum == 0 {
        return Some(0);
    }
    // Keeps the first 64 bits. The last of them says whether there are more.
    let zeros = sum.leading_zeros();
    let sum = sum << zeros;
    let first = (sum >> 64) as u64 | u64::from(sum as u64 != 0);
    let field = product_field + excess + 2 - i64::from(zeros);
    if !(2..2046).contains(&field) {
        return None;
    }
    let (kept, rest) = (first >> 11, first & 0x7ff);
    let up = rest > 0x400 || rest == 0x400 && kept & 1 == 1;
    inexact_if(rest != 0, flags);
    // The leading 1 adds one to the exponent, and so does a carry.
    Some((sign << 63) + ((field as u64 - 1) << 52) + kept + u64::from(up))
}

/// Computes the result if a factor or the summand is zero, so that there is only a sum or only a product.
fn with_zero(a: u64, b: u64, c: u64, flags: &mut Flags) -> Option<u64> {
    let (x, y, z) = (f64::of(a), f64::of(b), f64::of(c));
    if x == 0.0 || y == 0.0 {
        let sum = x * y + z;
        return sum.is_finite().then_some(sum.bits());
    }
    (z == 0.0).then(|| mul::<f64>(a, b, Rounding::NearestEven, flags))
}

/// Shifts right by at least one. If a bit that is not zero is shifted out, the last bit becomes 1.
#[inline]
fn jam(value: u128, shift: i64) -> u128 {
    if shift > 127 {
        return 1;
    }
    let kept = value >> shift;
    kept | u128::from(kept << shift != value)
}

/// Returns the exact sum rounded to odd, given the rounded `sum` and its error. Of the two numbers around the exact
/// sum, the result is the one whose last bit is 1.
#[inline]
fn to_odd(sum: f64, error: f64) -> f64 {
    let bits = sum.to_bits();
    if error == 0.0 || bits & 1 == 1 {
        return sum;
    }
    // Away from zero if the error has the sign of the sum.
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}
