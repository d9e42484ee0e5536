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
    /// Bytes of one protocol without frames: of one source, or of several that the packets name.
    Source,
}

impl Packing {
    /// All packings.
    pub const ALL: [Self; 5] =
        [Self::CoreSight, Self::CoreSightFsync, Self::CoreSightHsync, Self::DstreamCoreSight, Self::Source];

    /// Returns whether there are frames.
    pub const fn is_framed(self) -> bool {
        !matches!(self, Self::Source)
    }

    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CoreSight => "coresight",
            Self::CoreSightFsync => "fsync",
            Self::CoreSightHsync => "hsync",
            Self::DstreamCoreSight => "dstream",
            Self::Source => "source",
        }
    }

    /// Returns what a trace snapshot calls it, if it can have it.
    pub const fn in_snapshots(self) -> Option<&'static str> {
        match self {
            Self::CoreSight => Some("coresight"),
            Self::Source => Some("source_data"),
            Self::DstreamCoreSight => Some("dstream_coresight"),
            Self::CoreSightFsync | Self::CoreSightHsync => None,
        }
    }
}
