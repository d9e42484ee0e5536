//! Values as OpenCSD's packet lister prints them.

use core::fmt::{self, Write};

/// Writes a value of `total` bits of which the low `valid` are known and the low `told` are new.
///
/// # Errors
/// Fails if `out` does.
pub fn value(out: &mut impl Write, value: u64, total: u8, valid: u8, told: u8) -> fmt::Result {
    let low = |bits: u8| if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let digits = |bits: u8| usize::from(bits).div_ceil(4);
    out.write_str("0x")?;
    for _ in digits(valid)..digits(total) {
        out.write_char('?')?;
    }
    let (width, known) = (digits(valid), value & low(valid.max(total.min(32))));
    write!(out, "{known:0width$X}")?;
    if valid < total {
        write!(out, " ({}:0)", valid - valid.min(1))?;
    }
    if told > 0 {
        write!(out, " ~[{:#X}]", value & low(told))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    fn check(value: u64, total: u8, valid: u8, told: u8, expected: &str) {
        let mut text = String::new();
        super::value(&mut text, value, total, valid, told).unwrap();
        assert_eq!(text, expected);
    }

    #[test]
    fn values_of_the_listings() {
        check(0x137e, 32, 13, 13, "0x????137E (12:0) ~[0x137E]");
        check(0x8000_0558, 32, 32, 14, "0x80000558 ~[0x558]");
        check(0x58_e90b_b867, 64, 64, 48, "0x00000058E90BB867 ~[0x58E90BB867]");
    }
}
