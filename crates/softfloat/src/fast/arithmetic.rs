use super::host::{Host, inexact_if, is_host_mode, is_safe, normal, sum_error};
use crate::{Flags, Rounding, exact};

#[inline]
pub fn add<H: Host>(a: u64, b: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    let (x, y) = (H::of(a), H::of(b));
    let sum = x + y;
    // Sums near the lower end are exact. Near the upper end, `sum_error` could overflow.
    if is_host_mode(rounding) && H::FORMAT.exponent(sum.bits()) < H::FORMAT.exponent_mask() - 1 {
        if !flags.contains(Flags::NX) {
            inexact_if(sum_error(x, y, sum) != H::ZERO, flags);
        }
        return sum.bits();
    }
    exact::add(H::FORMAT, a, b, rounding, flags)
}

#[inline]
pub fn sub<H: Host>(a: u64, b: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    add::<H>(a, b ^ H::FORMAT.sign_bit(), rounding, flags)
}

#[inline]
pub fn mul<H: Host>(a: u64, b: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    let (x, y) = (H::of(a), H::of(b));
    let product = (x * y).bits();
    if is_host_mode(rounding) {
        if is_safe::<H>(product) {
            if flags.contains(Flags::NX) {
                return product;
            }
            if let (Some((ea, ma)), Some((eb, mb))) = (normal::<H>(a), normal::<H>(b)) {
                // The product of the significands is longer than the format by its fraction bits, or by one more, as
                // the exponent shows. It has as many trailing zeros as both factors have together.
                let longer = H::FORMAT.exponent(product) + H::FORMAT.bias() as u64 - ea - eb;
                let dropped = u64::from(H::FORMAT.fraction_bits) + longer;
                let zeros = ma.trailing_zeros() + mb.trailing_zeros();
                inexact_if(u64::from(zeros) < dropped, flags);
                return product;
            }
        } else if H::of(product) == H::ZERO && (x == H::ZERO || y == H::ZERO) {
            return product;
        }
    }
    exact::mul(H::FORMAT, a, b, rounding, flags)
}

#[inline]
pub fn div<H: Host>(a: u64, b: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    let x = H::of(a);
    let quotient = (x / H::of(b)).bits();
    if is_host_mode(rounding) {
        if is_safe::<H>(quotient) {
            if flags.contains(Flags::NX) {
                return quotient;
            }
            if let (Some((ea, ma)), Some((eb, mb))) = (normal::<H>(a), normal::<H>(b)) {
                // The division is exact if the quotient times the divisor is the dividend. They differ by less than a
                // divisor, so the low 64 bits decide.
                let (eq, mq) = fields::<H>(quotient);
                let shift = u64::from(H::FORMAT.fraction_bits) + H::FORMAT.bias() as u64 + ea - eb - eq;
                inexact_if(mq.wrapping_mul(mb) != ma << shift, flags);
                return quotient;
            }
        } else if H::of(quotient) == H::ZERO && x == H::ZERO {
            return quotient;
        }
    }
    exact::div(H::FORMAT, a, b, rounding, flags)
}

#[inline]
pub fn sqrt<H: Host>(a: u64, rounding: Rounding, flags: &mut Flags) -> u64 {
    if is_host_mode(rounding)
        && let Some(root) = H::of(a).root().map(H::bits)
    {
        // Roots are never near the ends of the range. The operands excluded here are zero, infinite or NaN.
        if is_safe::<H>(root) {
            if flags.contains(Flags::NX) {
                return root;
            }
            if let Some((ea, ma)) = normal::<H>(a) {
                // The root is exact if its square is the operand. They differ by less than twice the root, so the low
                // 64 bits decide.
                let (er, mr) = fields::<H>(root);
                let shift = u64::from(H::FORMAT.fraction_bits) + H::FORMAT.bias() as u64 + ea - 2 * er;
                inexact_if(mr.wrapping_mul(mr) != ma << shift, flags);
                return root;
            }
        } else if H::of(root) == H::ZERO {
            return root;
        }
    }
    exact::sqrt(H::FORMAT, a, rounding, flags)
}

/// Returns the fields as [`normal`] does, for a number known to be normal.
#[inline]
fn fields<H: Host>(bits: u64) -> (u64, u64) {
    let leading = 1 << H::FORMAT.fraction_bits;
    (H::FORMAT.exponent(bits), bits & H::FORMAT.fraction_mask() | leading)
}
