//! Watches the trace port while a thread is traced.

use tracewright_core::Element;
use tracewright_core::port::{Port, WhenFull};
use tracewright_etm::encode::{AtPort, Encoder};
use tracewright_etm::packet::EmitError;

use crate::port::{PortCounts, PortRequest, Report};

/// A watched port. Each instruction takes one cycle, since real cycles are not known.
pub struct Watched {
    port: AtPort,
    /// If the buffer is limited, the encoder of the lossless trace.
    whole: Option<AtPort>,
    counts: PortCounts,
    cycle: u64,
}

impl Watched {
    /// Watches the requested port with the packets of this encoder, which must be new.
    pub fn new(encoder: &Encoder, asked: PortRequest) -> Self {
        let at = |port| AtPort::new(encoder.clone(), port);
        let unlimited = Port { rate: asked.rate, bits: u64::MAX, when_full: WhenFull::Drop };
        Self {
            port: at(asked.limited.unwrap_or(unlimited)),
            whole: asked.limited.map(|_| at(unlimited)),
            counts: PortCounts::new(asked),
            cycle: 0,
        }
    }

    /// Returns whether instructions ran that would be lost if tracing ended here.
    pub fn in_run(&self) -> bool {
        self.whole.as_ref().unwrap_or(&self.port).in_run()
    }

    /// Appends the bytes that go through the port for an element.
    pub fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<(), EmitError> {
        if let Element::Block(block) = element {
            self.cycle += u64::from(block.count);
        }
        let tell = |port: &mut AtPort, bytes: &mut Vec<u8>| {
            let before = *port.stats();
            let result = port.element(self.cycle, element, bytes);
            let after = *port.stats();
            ((after.packets - before.packets, after.bits - before.bits), result)
        };
        let (made, result) = tell(&mut self.port, bytes);
        let (all, of_whole) = match &mut self.whole {
            Some(whole) => tell(whole, &mut Vec::new()),
            None => (made, Ok(())),
        };
        let (counts, refused) = (&mut self.counts, self.port.stats().refused);
        counts.add(all, self.cycle);
        counts.lose(all, made, refused > counts.gaps.losses);
        counts.was_lost = self.port.is_lost();
        counts.gaps.losses = refused;
        counts.gaps.instructions = self.port.lost_instructions();
        result.and(of_whole)
    }

    /// Returns the report.
    pub fn report(&self) -> Report {
        Report::new(&self.counts, *self.port.stats()).of(self.cycle, false)
    }
}
