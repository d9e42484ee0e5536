use clap::{Args, ValueEnum};
use tracewright_capture::port::{BufferSize, PortRequest};
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
    #[arg(long, value_name = "SIZE", requires = "port")]
    port_buffer: Option<BufferSize>,

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
        let limited = self.port_buffer.map(|BufferSize(bits)| Port { rate, bits, when_full });
        Some(PortRequest { rate, limited })
    }
}
