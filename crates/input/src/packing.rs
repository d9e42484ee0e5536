/// How trace bytes are packed in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Memory-aligned CoreSight frames.
    CoreSight,
    /// CoreSight frames with frame syncs.
    CoreSightFsync,
    /// CoreSight frames with frame syncs and half syncs.
    CoreSightHsync,
    /// CoreSight frames with frame syncs in DSTREAM blocks.
    DstreamCoreSight,
    /// Memory-aligned CoreSight frames with N-Trace. Trace IDs only keep the bytes of messages together: messages of all IDs are one
    /// stream, whose sources are in the messages (SRC).
    CoreSightNexus,
    /// Bytes of one protocol without frames: of one source, or of several that the packets name.
    Source,
    /// Samples of a serial line with UART characters: bytes of one source.
    Uart,
    /// Samples of a serial line with UART characters: CoreSight frames with frame syncs.
    UartFsync,
    /// Samples of a serial line in Manchester code: bytes of one source.
    Manchester,
    /// Samples of a serial line in Manchester code: CoreSight frames with frame syncs.
    ManchesterFsync,
    /// Samples of the pin of a trace port (PIB) that sends messages of N-Trace.
    Pib1,
    /// Samples of two pins of such a port.
    Pib2,
    /// Samples of four pins of such a port.
    Pib4,
    /// Bytes of such a port of eight pins.
    Pib8,
    /// Bytes of such a port of sixteen pins.
    Pib16,
}

impl Packing {
    /// All packings.
    pub const ALL: [Self; 15] = [
        Self::CoreSight,
        Self::CoreSightFsync,
        Self::CoreSightHsync,
        Self::DstreamCoreSight,
        Self::CoreSightNexus,
        Self::Source,
        Self::Uart,
        Self::UartFsync,
        Self::Manchester,
        Self::ManchesterFsync,
        Self::Pib1,
        Self::Pib2,
        Self::Pib4,
        Self::Pib8,
        Self::Pib16,
    ];

    /// Returns whether there are frames.
    pub const fn is_framed(self) -> bool {
        !(self.is_pib() || matches!(self, Self::Source | Self::Uart | Self::Manchester))
    }

    /// Returns whether the file holds the bytes of its sources as they were sent.
    pub const fn is_as_sent(self) -> bool {
        matches!(self, Self::Source | Self::Pib8 | Self::Pib16)
    }

    /// Returns whether the file holds what the pins of an N-Trace port sent.
    pub const fn is_pib(self) -> bool {
        matches!(self, Self::Pib1 | Self::Pib2 | Self::Pib4 | Self::Pib8 | Self::Pib16)
    }

    /// Returns whether there are frames with frame syncs.
    pub const fn has_syncs(self) -> bool {
        self.is_framed() && !matches!(self, Self::CoreSight | Self::CoreSightNexus)
    }

    /// Returns whether the file holds samples of a serial line or of pins, so that bytes begin anywhere in its bytes.
    pub const fn is_sampled(self) -> bool {
        matches!(
            self,
            Self::Uart
                | Self::UartFsync
                | Self::Manchester
                | Self::ManchesterFsync
                | Self::Pib1
                | Self::Pib2
                | Self::Pib4
        )
    }

    /// Returns whether the file can only be read from its start: what comes before tells how to read the rest.
    pub const fn needs_start(self) -> bool {
        self.is_sampled() || matches!(self, Self::DstreamCoreSight)
    }

    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CoreSight => "coresight",
            Self::CoreSightFsync => "fsync",
            Self::CoreSightHsync => "hsync",
            Self::DstreamCoreSight => "dstream",
            Self::CoreSightNexus => "nexus",
            Self::Source => "source",
            Self::Uart => "uart",
            Self::UartFsync => "uart-fsync",
            Self::Manchester => "manchester",
            Self::ManchesterFsync => "manchester-fsync",
            Self::Pib1 => "pib1",
            Self::Pib2 => "pib2",
            Self::Pib4 => "pib4",
            Self::Pib8 => "pib8",
            Self::Pib16 => "pib16",
        }
    }

    /// Returns what the file holds, in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::CoreSight => "CoreSight frames",
            Self::CoreSightFsync => "CoreSight frames with frame syncs",
            Self::CoreSightHsync => "CoreSight frames with frame and half syncs",
            Self::DstreamCoreSight => "CoreSight frames with frame syncs in DSTREAM blocks",
            Self::CoreSightNexus => "CoreSight frames with one stream of N-Trace",
            Self::Source => "one source, unframed",
            Self::Uart => "samples of a serial line (UART), one source",
            Self::UartFsync => "samples of a serial line (UART), CoreSight frames with frame syncs",
            Self::Manchester => "samples of a serial line (Manchester code), one source",
            Self::ManchesterFsync => {
                "samples of a serial line (Manchester code), CoreSight frames with frame syncs"
            }
            Self::Pib1 => "samples of a trace port of 1 pin (PIB)",
            Self::Pib2 => "samples of a trace port of 2 pins (PIB)",
            Self::Pib4 => "samples of a trace port of 4 pins (PIB)",
            Self::Pib8 => "bytes of a trace port of 8 pins (PIB)",
            Self::Pib16 => "bytes of a trace port of 16 pins (PIB)",
        }
    }

    /// Returns where a file with this packing comes from, as a sentence without its full stop.
    pub const fn origin(self) -> &'static str {
        match self {
            Self::CoreSight => {
                "16-byte CoreSight frames, as trace buffers in memory hold them (ETB, ETF, ETR)"
            }
            Self::CoreSightFsync => {
                "CoreSight frames with full frame syncs, as a trace port (TPIU) sends them"
            }
            Self::CoreSightHsync => "CoreSight frames with full and half syncs",
            Self::DstreamCoreSight => "CoreSight frames with frame syncs in a DSTREAM's 512-byte blocks",
            Self::CoreSightNexus => {
                "CoreSight frames whose trace IDs do not name sources: N-Trace messages are joined by ID, and name theirs (SpacemiT)"
            }
            Self::Source => "The bytes of a single source, unframed",
            Self::Uart => {
                "A logic analyser's samples of SWO in UART mode: one bit a sample, the lowest bit of a byte first; the \
                 speed is found"
            }
            Self::UartFsync => "The same, where the TPIU's formatter is on",
            Self::Manchester => "A logic analyser's samples of SWO in Manchester mode",
            Self::ManchesterFsync => "The same, where the TPIU's formatter is on",
            Self::Pib1 => {
                "A logic analyser's samples of an N-Trace port (PIB) of 1 pin, one a clock, the first in the lowest bits"
            }
            Self::Pib2 | Self::Pib4 => "The same with more pins",
            Self::Pib8 => "The same; these are bytes, with or without idle ones between messages",
            Self::Pib16 => "The same, the first byte in the low half",
        }
    }

    /// Returns what a trace snapshot calls it, if it can have it.
    pub const fn in_snapshots(self) -> Option<&'static str> {
        match self {
            Self::CoreSight => Some("coresight"),
            Self::Source => Some("source_data"),
            Self::DstreamCoreSight => Some("dstream_coresight"),
            _ => None,
        }
    }
}
