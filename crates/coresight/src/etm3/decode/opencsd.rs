//! Decoding as OpenCSD does: each instruction is a range of its own.

use tracewright_core::{Block, Element, Ended, Flow};
use tracewright_flow::ElementSink;
use tracewright_image::UNKNOWN_TARGET;
use tracewright_isa::{ItState, decode};

use super::decoder::{Decoder, Held};
use crate::etm3::packet::Atoms;

impl Decoder<'_> {
    /// Runs over the instructions of a P-header. A single one is held back, and nothing else: OpenCSD cannot cancel one of several.
    pub(super) fn opencsd_atoms(&mut self, offset: u64, atoms: Atoms, sink: &mut impl ElementSink) {
        let accurate = self.params.cycle_accurate();
        if atoms.count == 0 || !self.is_running() || self.place.start().is_none() {
            if accurate {
                sink.element(offset, &Element::Cycles(Some(atoms.cycles.into())));
            }
            return;
        }
        if atoms.count == 1 {
            let (passed, cycles) = (atoms.passed(0), atoms.cycles_before(0));
            self.stream.held = Some(Held { offset, passed, cycles });
            return;
        }
        let mut left = u32::from(atoms.cycles);
        for index in 0..atoms.count {
            if self.place.start().is_none() {
                if accurate {
                    sink.element(offset, &Element::Cycles(Some(left)));
                }
                return;
            }
            let cycles = u32::from(atoms.cycles_before(index));
            left -= cycles;
            self.opencsd_atom(offset, atoms.passed(index), cycles, sink);
        }
    }

    /// Runs over one instruction.
    pub(super) fn opencsd_atom(
        &mut self,
        offset: u64,
        passed: bool,
        cycles: u32,
        sink: &mut impl ElementSink,
    ) {
        let Some(start) = self.place.start() else { return };
        let (isa, space, image) = (self.place.isa(), self.stream.space, self.graph.image());
        let cycles = self.params.cycle_accurate().then_some(cycles);
        let mut bytes = [0; 4];
        let known = image.read_into(start, space, &mut bytes);
        // OpenCSD does not track IT blocks here.
        let Some(found) = decode(isa, start, &bytes[..known], &mut ItState::default()) else {
            self.place.go(None, isa);
            sink.element(offset, &Element::NoCode { address: start, space });
            return;
        };
        let end = start.wrapping_add(found.len.into());
        let ended = match found.class.flow {
            _ if !passed => Ended::NotTaken,
            Flow::Direct | Flow::Indirect | Flow::Pair => Ended::Taken,
            Flow::Next => Ended::Cut,
            _ => Ended::Through,
        };
        let block = Block { start, end, count: 1, isa, last_len: found.len, class: found.class, ended };
        sink.block(offset, &block);
        if cycles.is_some() {
            sink.element(offset, &Element::Cycles(cycles));
        }
        self.ended += u64::from(found.class.ends_block());
        match found.class.flow {
            Flow::Direct if passed => {
                let target = Some(found.target).filter(|&target| target != UNKNOWN_TARGET);
                self.place.go(target, found.target_isa);
            }
            Flow::Indirect | Flow::Pair if passed => self.place.go(None, isa),
            _ => self.place.go(Some(end), isa),
        }
    }
}
