//! The options of a ring.

use clap::Args;

/// Of a ring.
#[derive(Args)]
#[command(next_help_heading = "What is kept of the trace")]
pub struct RingArgs {
    /// Keep only the newest bytes of the trace: so many, with K or M for more. What is decoded begins at the first synchronisation in there.
    /// Delta trace (--delta) has such a ring of its own.
    #[arg(long, value_name = "BYTES", value_parser = size, conflicts_with = "from_log")]
    pub ring: Option<u64>,

    /// Stop to trace some time after an instruction for which this is so first, as for --when.
    #[arg(long, value_name = "TEXT", requires = "ring")]
    pub trigger: Option<String>,

    /// Where in the ring the trigger is then: 0 at its beginning, 100 at its end.
    #[arg(long, value_name = "PERCENT", requires = "trigger", default_value_t = 50, hide_default_value = true,
        value_parser = clap::value_parser!(u8).range(0..=100))]
    pub position: u8,
}

/// Enough for a synchronisation packet, and something after it.
const LEAST: u64 = 256;

fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['M', 'm']) {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    let size = digits.parse::<u64>().ok().and_then(|size| size.checked_mul(unit));
    let size = size.ok_or("expected a number of bytes, such as 4096, 64K or 1M")?;
    if (LEAST..=1 << 32).contains(&size) { Ok(size) } else { Err(format!("expected {LEAST} bytes to 4096M")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64K"), Ok(65536));
        assert_eq!(size("1m"), Ok(1 << 20));
        let expected = Err("expected a number of bytes, such as 4096, 64K or 1M".into());
        assert_eq!(size("K"), expected);
        assert_eq!(size("99999999999999999999M"), expected);
        assert_eq!(size("10"), Err("expected 256 bytes to 4096M".into()));
    }
}
