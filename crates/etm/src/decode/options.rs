use core::fmt;

/// How to decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Go on where the program cannot be the one that ran, as OpenCSD does. Otherwise that is a
    /// [`Mismatch`](tracewright_core::Mismatch).
    pub trust_images: bool,
    /// Tell the blocks that one source address packet stands for as one, as OpenCSD does, though branches that were not
    /// taken are among them.
    pub join_source_walks: bool,
    /// Tell again of missing code at an exception that is taken there, as OpenCSD does.
    pub repeat_no_code: bool,
    /// There is no program. Each address that was reached is told as a [`Target`](tracewright_core::Element::Target): with branch
    /// broadcast (TRCCONFIGR.BB) those of all taken branches. Of an instruction that is traced like a branch but is none
    /// (ISB, for one) nothing is told, unless a synchronisation point follows it at once: the address there is taken for
    /// the target of a branch.
    ///
    /// A cycle count is told before all else that is told of the P0 element whose cycle it tells: the last one before it
    /// or, where cycle counts commit (TRCIDR0.COMMOPT = 0), the last one committed. So the sum of the counts up to an
    /// element is the cycle of the last P0 element up to it whose cycle is known. Only a timestamp with a count of its
    /// own stays before, since that counts from the last cycle count.
    pub no_image: bool,
}

/// The trace unit was set up to trace in a way that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What it was told to trace.
    pub what: &'static str,
    /// The register field that says so.
    pub field: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): not supported", self.what, self.field)
    }
}

impl core::error::Error for Unsupported {}
