use crate::{Lost, Run};

/// Takes what a [`Deframer`](crate::Deframer) finds, in the order of the file.
pub trait Sink {
    /// Consecutive bytes of one source, never empty and never of the null source.
    ///
    /// How a long run is cut into calls depends on how the input was cut into pieces; the bytes, their
    /// sources and their offsets do not.
    fn data(&mut self, run: Run, bytes: &[u8]);

    /// Bytes that belong to no known source. Every source's stream may have lost some of its data here.
    fn lost(&mut self, lost: Lost);

    /// A barrier at `offset` (Linux perf writes one wherever it joins two recordings): what follows is
    /// unrelated to what came before, for every source.
    fn reset(&mut self, offset: u64);
}
