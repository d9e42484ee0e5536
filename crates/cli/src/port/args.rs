use clap::{Args, ValueEnum};
use tracewright_capture::port::PortRequest;
use tracewright_core::port::{Port, Rate};

/// Of the trace port.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Trace port")]
pub struct PortArgs {
    /// Send the trace through a port that takes so many bits a cycle (4, 0.5, 1/2), with a buffer before it. How large that has to be is said
    /// at the end, for other rates, too. Where cycles are not known (no --timing), each instruction takes one.
    #[arg(long, value_name = "BITS")]
    port: Option<Rate>,

    /// The size of that buffer, with its unit: 512bits, 64B, 4KiB. If not given, it is as large as it has to be. Each thread has its own.
    #[arg(long, value_name = "SIZE", requires = "port", value_parser = size)]
    port_buffer: Option<u64>,

    /// What happens when the buffer is full.
    #[arg(long, value_enum, requires = "port_buffer", default_value_t = WhenFull::Stall)]
    when_full: WhenFull,
}

/// What happens when the buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WhenFull {
    /// The hart waits: what it does then is later, as the trace's times are.
    Stall,
    /// Packets are lost, until there is room to begin anew.
    Drop,
}

impl PortArgs {
    /// The port, if one is asked for.
    pub fn asked(&self) -> Option<PortRequest> {
        use tracewright_core::port::WhenFull::{Drop, Stall};
        let rate = self.port?;
        let when_full = if self.when_full == WhenFull::Drop { Drop } else { Stall };
        let limited = self.port_buffer.map(|bits| Port { rate, bits, when_full });
        Some(PortRequest { rate, limited })
    }
}

/// Bits, of a number with its unit.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let bits = match unit.trim_start() {
        "bit" | "bits" => 1,
        "B" | "byte" | "bytes" => 8,
        "KiB" => 8 << 10,
        "MiB" => 8 << 20,
        "GiB" => 8 << 30,
        _ => return Err("expected a size with its unit: bits, B, KiB, MiB or GiB".into()),
    };
    let bits = number.parse::<u64>().ok().and_then(|number| number.checked_mul(bits));
    bits.ok_or_else(|| "expected a number of bits or bytes".into())
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        for (text, bits) in [
            ("512bits", 512),
            ("1 bit", 1),
            ("64B", 512),
            ("3bytes", 24),
            ("4KiB", 32768),
            ("2MiB", 16 << 20),
            ("1GiB", 8 << 30),
        ] {
            assert_eq!(size(text), Ok(bits), "{text}");
        }
        for text in
            ["", "512", "KiB", "-1B", "1.5KiB", "4kb", "99999999999999999999B", "9999999999999999999B"]
        {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
