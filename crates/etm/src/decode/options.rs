use core::fmt;

/// Options of a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Continue if the trace and the program contradict each other, as OpenCSD does. Otherwise that is a
    /// [`Mismatch`](tracewright_core::Mismatch).
    pub trust_images: bool,
    /// Emit the blocks of one source address packet as one block, as OpenCSD does, although it contains branches that
    /// were not taken.
    pub join_source_walks: bool,
    /// Emit missing code again at an exception that is taken there, as OpenCSD does.
    pub repeat_no_code: bool,
    /// Decode without a program. Each address that was reached is emitted as a
    /// [`Target`](tracewright_core::Element::Target): with branch broadcast (TRCCONFIGR.BB), the targets of all taken
    /// branches. An instruction that is traced like a branch but is not one (such as ISB) has no target, unless a
    /// synchronisation point follows at once: then its address is taken for the target of a branch.
    ///
    /// A cycle count is emitted before all else of the P0 element that it belongs to: the last one before it or, if
    /// cycle counts commit (TRCIDR0.COMMOPT = 0), the last one committed. So the sum of the counts up to an element
    /// is the cycle of the last P0 element with a known cycle. Only a timestamp with a count of its own stays before,
    /// since its count is relative to the last cycle count.
    pub no_image: bool,
}

/// An error: the trace unit was configured to trace in a way that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported;

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("loads or stores as P0 elements (TRCCONFIGR.INSTP0): not supported")
    }
}

impl core::error::Error for Unsupported {}
