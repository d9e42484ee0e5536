use super::host::{Host, inexact_if, is_host_mode, is_safe, sum_error};
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

/// In double precision the product is exact, and only the sum is rounded. Rounding that again to single precision would
/// be wrong where it lies halfway between two numbers only because of the first rounding, so that one is to odd.
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
    // An exact zero has the right sign already: both formats have the same rule for it.
    (sum == 0.0).then_some(bits)
}

#[inline]
pub fn double(_a: u64, _b: u64, _c: u64, _flags: &mut Flags) -> Option<u64> {
    None
}

/// The exact sum of both rounded to odd, where `sum` is that rounded to nearest: of the two numbers around it the one
/// whose last bit is 1.
#[inline]
fn to_odd(sum: f64, error: f64) -> f64 {
    let bits = sum.to_bits();
    if error == 0.0 || bits & 1 == 1 {
        return sum;
    }
    // Away from zero if what is missing has the same sign.
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}
