//! Watches the trace port while a thread is traced.

use tracewright_core::Element;
use tracewright_core::port::{Port, WhenFull};
use tracewright_etm::encode::{AtPort, Encoder};
use tracewright_etm::packet::EmitError;

use crate::port::{Gaps, PortRequest, Report, Sizing};

/// A watched port. Each instruction takes one cycle, since real cycles are not known.
pub struct Watched {
    asked: PortRequest,
    port: AtPort,
    /// If the buffer is limited, the encoder of the lossless trace.
    whole: Option<AtPort>,
    sizing: Sizing,
    gaps: Gaps,
    cycle: u64,
}

impl Watched {
    /// Watches the requested port with the packets of this encoder, which must be new.
    pub fn new(encoder: &Encoder, asked: PortRequest) -> Self {
        let at = |port| AtPort::new(encoder.clone(), port);
        let unlimited = Port { rate: asked.rate, bits: u64::MAX, when_full: WhenFull::Drop };
        Self {
            asked,
            port: at(asked.limited.unwrap_or(unlimited)),
            whole: asked.limited.map(|_| at(unlimited)),
            sizing: Sizing::new(asked.rate),
            gaps: Gaps::default(),
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
        let (before, was_lost) = (*self.port.stats(), self.port.is_lost());
        let result = self.port.element(self.cycle, element, bytes);
        let after = *self.port.stats();
        let (sent, sent_bits) = (after.packets - before.packets, after.bits - before.bits);
        let Some(whole) = &mut self.whole else {
            self.sizing.add(sent, sent_bits, self.cycle);
            return result;
        };
        let before = *whole.stats();
        let of_whole = whole.element(self.cycle, element, &mut Vec::new());
        let (all, all_bits) = (whole.stats().packets - before.packets, whole.stats().bits - before.bits);
        self.sizing.add(all, all_bits, self.cycle);
        if was_lost || after.refused > self.gaps.losses {
            self.gaps.lose((all, all_bits), (sent, sent_bits), was_lost);
        }
        self.gaps.losses = after.refused;
        self.gaps.instructions = self.port.lost_instructions();
        result.and(of_whole)
    }

    /// Returns the report.
    pub fn report(&self) -> Report {
        Report::new(self.asked, &self.sizing, *self.port.stats(), self.gaps).of(self.cycle, false)
    }
}
