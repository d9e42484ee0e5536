//! The options of a ring.

use clap::Args;
use tracewright_capture::record::RingSize;

/// Of a ring.
#[derive(Args)]
#[command(next_help_heading = "What is kept of the trace")]
pub struct RingArgs {
    /// Keep only the newest bytes of the trace: so many, with K or M for more. What is decoded begins at the first synchronisation in there.
    /// Delta trace (--delta) has such a ring of its own.
    #[arg(long, value_name = "BYTES", conflicts_with = "from_log")]
    pub ring: Option<RingSize>,

    /// Stop to trace some time after an instruction for which this is so first, as for --when.
    #[arg(long, value_name = "TEXT", requires = "ring")]
    pub trigger: Option<String>,

    /// Where in the ring the trigger is then: 0 at its beginning, 100 at its end.
    #[arg(long, value_name = "PERCENT", requires = "trigger", default_value_t = 50, hide_default_value = true,
        value_parser = clap::value_parser!(u8).range(0..=100))]
    pub position: u8,
}
