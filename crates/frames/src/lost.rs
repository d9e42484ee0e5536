use core::fmt;

/// Bytes of the input that were assigned to no source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// File offset of the first lost byte.
    pub offset: u64,
    /// Number of bytes of the file from the first to the last lost one. Zero if there is damage although every byte
    /// was used.
    pub len: u64,
    /// Reason why the bytes were lost.
    pub reason: LostReason,
}

/// The reason why bytes were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// There was no FSYNC yet, so the position of frames is not known.
    NoSync,
    /// The data is before the first ID byte, at the start or after a loss.
    NoSource,
    /// ID 0x7F, which no source has, is inside a frame. So this is not a frame.
    ReservedId,
    /// An FSYNC is inside a frame.
    CutFrame,
    /// The input ended inside a frame.
    Truncated,
    /// FSYNCs are between memory-aligned frames, but do not fill whole frames as a barrier does.
    StraySync,
    /// Samples of a serial line are no characters or packets, or follow such samples and are not certain yet.
    Line,
    /// The same, before the first certain character of a serial line.
    LineStart,
    /// Samples of a trace port's pins are no message, or come before the port was idle again.
    Pins,
    /// The same, before the port was idle for the first time.
    PinsStart,
}

/// Writes `20 bytes lost: input ends inside a frame (at offset 0x1f0)`.
impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, len, reason } = self;
        let plural = if *len == 1 { "" } else { "s" };
        write!(f, "{len} byte{plural} lost: {reason} (at offset {offset:#x})")
    }
}

impl fmt::Display for LostReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSync => "no frame sync seen yet",
            Self::NoSource => "data before the first source ID",
            Self::ReservedId => "source ID 0x7f inside a frame",
            Self::CutFrame => "frame cut short by a frame sync",
            Self::Truncated => "input ends inside a frame",
            Self::Line => "no characters of a serial line",
            Self::LineStart => "samples before the first certain character",
            Self::Pins => "no messages at the pins of a port",
            Self::PinsStart => "samples before the port was idle for the first time",
            Self::StraySync => {
                "frame syncs that are no barrier: the input seems to be a stream with syncs, not memory-aligned frames"
            }
        })
    }
}
