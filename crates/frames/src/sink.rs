use crate::{Lost, Run};

/// A consumer of what a [`Deframer`](crate::Deframer) decodes, in the order of the file.
pub trait FrameSink {
    /// Accepts consecutive bytes of one source, never empty and never of the null source.
    ///
    /// The split of a long run into calls depends on that of the input. The bytes, their sources and their offsets do
    /// not.
    fn data(&mut self, run: Run, bytes: &[u8]);

    /// Accepts a loss of bytes that belong to no known source. The stream of every source may lack data here.
    fn lost(&mut self, lost: Lost);

    /// Accepts a barrier at `offset`: for every source, what follows does not continue what came before. Linux perf
    /// writes a barrier wherever it joins two recordings.
    fn reset(&mut self, offset: u64);
}
