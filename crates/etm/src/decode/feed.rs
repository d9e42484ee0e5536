use tracewright_flow::ElementSink;

use super::Decoder;
use crate::packet::{AtomRun, Packet, PacketSink};

/// A decoder and its sink, as a sink of a packet parser.
#[derive(Debug)]
pub struct Feed<'i, S> {
    /// Decoder of the packets.
    pub decoder: Decoder<'i>,
    /// Consumer of the elements.
    pub sink: S,
}

impl<S: ElementSink> PacketSink<Packet, AtomRun> for Feed<'_, S> {
    const RUNS: bool = S::FOLLOWS;

    #[inline(always)]
    fn packet(&mut self, offset: u64, _bytes: &[u8], packet: &Packet) {
        self.decoder.packet(offset, packet, &mut self.sink);
    }

    #[inline(always)]
    fn run(&mut self, offset: u64, run: AtomRun) {
        self.decoder.atoms_run(offset, run, &mut self.sink);
    }
}
