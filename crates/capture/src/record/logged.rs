//! Reads a log instead of running a program.

use std::collections::HashMap;
use std::sync::Arc;

use tracewright_core::{Block, Isa};
use tracewright_hart::HartSink;
use tracewright_image::Image;
use tracewright_isa::riscv::{Xlen, len};

use super::hart::Controls;
use super::keep::Keep;
use super::watch::Watch;
use crate::Pair;
use crate::control::Qualified;
use crate::log::{Log, LogError, bits};
use crate::sink::{AnySink, DynSink, TraceSink};

/// Code that was executed: the bits at each address.
#[derive(Default)]
pub(super) struct Code {
    pub by_address: HashMap<u64, u32>,
    bits: Vec<u32>,
    pub xlen: Option<Xlen>,
}

impl Code {
    /// Returns two bytes of an instruction that was executed.
    pub fn halfword(&self, address: u64) -> Option<[u8; 2]> {
        let at = |address: u64| self.by_address.get(&address).map(|bits| bits.to_le_bytes());
        match (at(address), at(address.wrapping_sub(2))) {
            (Some([low, high, ..]), _) => Some([low, high]),
            // The upper half of the instruction before.
            (None, Some([low, _, third, fourth])) if low & 3 == 3 => Some([third, fourth]),
            _ => None,
        }
    }
}

impl HartSink for Code {
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn block(&mut self, block: &Block) {
        self.xlen = Some(if block.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 });
        let mut pc = block.start;
        for bits in self.bits.drain(..) {
            self.by_address.insert(pc, bits);
            pc = pc.wrapping_add(len(bits as u16).into());
        }
    }
}

/// A log to read. [`run`](Self::run) reads it.
pub struct LogRead<'a> {
    pub(super) xlen: Xlen,
    pub(super) image: Arc<Image>,
    pub(super) controls: Option<&'a Controls<'a>>,
    /// Parts of the reading, taken when it begins.
    pub(super) parts: Option<(Log, Watch<'a>, Option<Keep>)>,
    /// The result.
    pub(super) read: Option<Read<'a>>,
}

/// The result of reading a log.
pub(super) struct Read<'a> {
    pub watch: Watch<'a>,
    pub code: Code,
    pub keep: Option<Keep>,
    pub qualified: Option<Qualified>,
    pub error: Option<LogError>,
}

impl<'a> LogRead<'a> {
    /// Reads the log, and passes what was executed to `sink`. Must be called exactly once.
    pub fn run<S: TraceSink>(&mut self, sink: &mut S) {
        let Some((log, watch, keep)) = self.parts.take() else { return };
        let image = Arc::clone(&self.image);
        let code = move |pc| bits(&image, pc);
        let both = Pair(watch, Code::default());
        self.read = Some(match (self.controls, keep) {
            (None, None) => {
                let (Pair(Pair(watch, code), _), error) = log.read(self.xlen, &self.image, Pair(both, sink));
                Read { watch, code, keep: None, qualified: None, error }
            }
            (Some(Controls { asked, plan, .. }), None) => {
                let sinks = Pair(both, asked.controlled(plan, sink).with_code(code));
                let (Pair(Pair(watch, code), sink), error) = log.read(self.xlen, &self.image, sinks);
                Read { watch, code, keep: None, qualified: Some(Qualified::of(&sink)), error }
            }
            (None, Some(keep)) => self.read_slowly(log, both, keep, sink),
            (Some(Controls { asked, plan, .. }), Some(keep)) => {
                let mut sink = asked.controlled(plan, sink).with_code(code);
                let read = self.read_slowly(log, both, keep, &mut sink);
                Read { qualified: Some(Qualified::of(&sink)), ..read }
            }
        });
    }

    /// Reads the log and writes files. Knowing the sink's type would gain little here.
    fn read_slowly(
        &self,
        log: Log,
        both: Pair<Watch<'a>, Code>,
        keep: Keep,
        sink: &mut dyn DynSink,
    ) -> Read<'a> {
        let sinks = Pair(Pair(both, keep), AnySink(sink));
        let (Pair(Pair(Pair(watch, code), keep), _), error) = log.read(self.xlen, &self.image, sinks);
        Read { watch, code, keep: Some(keep), qualified: None, error }
    }
}
