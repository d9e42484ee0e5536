//! Watches the trace port while a hart is traced.

use tracewright_etrace::encode::{BlockEncoder, Encoder, Reached};
use tracewright_etrace::ingress::{Entry, Executed};
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Content, Message, Writer};

use super::Settings;
use super::delta::synchronises;
use crate::port::{PortCounts, Report};

/// An input of an encoder.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// An entry, and the number of its instructions.
    Retired(&'a Entry, u32),
    /// A halt: the next entry does not continue the last.
    Halt,
    /// The end.
    Finish,
}

impl Step<'_> {
    /// Passes the step to an encoder.
    pub fn tell(self, encoder: &mut BlockEncoder, out: &mut impl FnMut(u64, &Packet)) {
        match self {
            Self::Retired(entry, _) => encoder.entry(entry, out),
            Self::Halt => encoder.halt(out),
            Self::Finish => encoder.finish(out),
        }
    }
}

/// A watched port.
pub struct Watched {
    /// What was counted so far.
    pub counts: PortCounts,
    /// If the buffer is limited, the encoder of the lossless trace.
    whole: Option<Whole>,
    cycle: u64,
    /// Instructions that ran before the last entry, and those of the last entry.
    before: u64,
    count: u32,
    /// Instructions that a reader knows of.
    told: u64,
}

/// The lossless trace, of which only the size matters.
struct Whole {
    encoder: BlockEncoder,
    writer: Writer,
    source: u16,
    has_timestamps: bool,
    /// Whether a packet synchronised with an instruction since the last query.
    is_synchronised: bool,
    bytes: Vec<u8>,
}

impl Watched {
    /// Watches the port, if one is requested.
    pub fn new(settings: &Settings) -> Option<Self> {
        let asked = settings.port?;
        let whole = asked.limited.map(|_| {
            let config = settings.source.config.clone();
            let mut encoder = settings.encoder();
            encoder.port = None;
            Whole {
                encoder: BlockEncoder::new(Executed::default(), Encoder::new(encoder)),
                source: settings.source.source,
                has_timestamps: config.encapsulation.has_timestamps(),
                writer: Writer::new(config).with_alignment(settings.align),
                is_synchronised: false,
                bytes: Vec::new(),
            }
        });
        let counts = PortCounts::new(asked);
        Some(Self { counts, whole, cycle: 0, before: 0, count: 0, told: 0 })
    }

    /// Counts the packets and bits that the encoder made for `step`.
    pub fn after(&mut self, step: Step<'_>, encoder: &mut Encoder, made: (u64, u64)) {
        let count = match step {
            Step::Retired(entry, count) => {
                self.cycle = entry.cycle;
                count
            }
            Step::Halt | Step::Finish => 0,
        };
        let (counts, is_lost) = (&mut self.counts, encoder.is_lost());
        let all = self.whole.as_mut().map_or(made, |whole| whole.tell(step));
        counts.add(all, self.cycle);
        counts.lose(all, made, is_lost);
        self.told = match encoder.reached() {
            None => self.told,
            Some(Reached::First) => self.before + u64::from(self.count.min(1)),
            Some(Reached::Last) => self.before + u64::from(self.count),
        };
        let ran = self.before + u64::from(self.count);
        // The end reports a loss at once.
        let is_last_loss = matches!(step, Step::Finish) && encoder.port_stats().refused > counts.gaps.losses;
        if !counts.was_lost && (is_lost || is_last_loss) {
            counts.gaps.begin(self.told);
        }
        if !is_lost || matches!(step, Step::Finish) {
            counts.gaps.end(ran);
        }
        counts.was_lost = is_lost;
        if !matches!(step, Step::Halt) {
            (self.before, self.count) = (ran, count);
        }
    }

    /// Returns whether the lossless trace synchronised with an instruction since the last call; `None` if nothing can be lost.
    pub fn take_synchronised(&mut self) -> Option<bool> {
        self.whole.as_mut().map(|whole| core::mem::take(&mut whole.is_synchronised))
    }

    /// Returns the report.
    pub fn report(&self, encoder: &Encoder, is_timed: bool) -> Report {
        Report::new(&self.counts, encoder.port_stats()).of(self.before, is_timed)
    }
}

impl Whole {
    /// Passes a step to the lossless encoder. Returns the number of packets that it makes, and their bits.
    fn tell(&mut self, step: Step<'_>) -> (u64, u64) {
        let Self { encoder, writer, source, has_timestamps, is_synchronised, bytes } = self;
        bytes.clear();
        let mut packets = 0;
        step.tell(encoder, &mut |_, packet| {
            packets += 1;
            *is_synchronised |= synchronises(packet);
            let timestamp = has_timestamps.then_some(0);
            let message =
                Message { source: *source, flow: 0, timestamp, content: Content::Instruction(*packet) };
            // A packet that cannot be written is reported for the other trace.
            let _ = writer.message(&message, bytes);
        });
        (packets, 8 * bytes.len() as u64)
    }
}
