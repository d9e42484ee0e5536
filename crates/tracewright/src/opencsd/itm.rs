//! OpenCSD's lines of an ITM's elements.

use std::fmt::Write as _;

use tracewright_core::{Delay, Element, GapReason, Message, Write};
use tracewright_engine::Line;

/// What is kept of an ITM's elements.
#[derive(Debug, Default)]
pub struct State {
    /// Sum of the local timestamps since packets were lost.
    local: u64,
    /// Whether packets were lost before the next element.
    overflowed: bool,
}

impl State {
    /// Writes an element after the head of its line. Returns whether OpenCSD has this kind of line for it.
    pub fn element(
        &mut self,
        line: &mut Line,
        prescale: u32,
        element: &Element,
        head: impl Fn(&mut Line),
    ) -> bool {
        let mut start = |line: &mut Line| {
            head(line);
            line.text("ITMTRACE(");
            if std::mem::take(&mut self.overflowed) {
                line.text("ITM_OVERFLOW; ");
            }
        };
        // Writing to a line does not fail.
        let _ = match *element {
            Element::Message(Message::Write(Write { channel, bits, value, .. })) => {
                start(line);
                let width = usize::from(bits) / 4;
                write!(line, "ITM_SWIT (ch: {channel:#x}; Data: 0x{value:0width$x}) )")
            }
            Element::Message(Message::Hardware { source, size, value }) => {
                start(line);
                let width = 2 * usize::from(size);
                write!(line, "ITM_DWT (desc: {source:#x}; Data: 0x{value:0width$x}) )")
            }
            Element::LocalTime { cycles, delay } => {
                start(line);
                self.local += cycles;
                let delay = match delay {
                    Delay { timestamp: false, packet: false } => "TS Sync",
                    Delay { timestamp: true, packet: false } => "TS Delay",
                    Delay { timestamp: false, packet: true } => "Packet Delay",
                    Delay { timestamp: true, packet: true } => "TS and Packet Delay",
                };
                let (steps, sum) = (cycles / u64::from(prescale), self.local);
                write!(
                    line,
                    "ITM_TS_LOCAL ( TS delta: {steps:#010x}, {{ {delay}}}; TS cumulative: {sum:#018x}) )"
                )
            }
            Element::Timestamp { value, .. } => {
                start(line);
                write!(line, "ITM_TS_GLOBAL ( TS: {value:#018x}) )")
            }
            Element::Gap { reason: GapReason::Overflow, .. } => {
                *self = Self { local: 0, overflowed: true };
                return true;
            }
            _ => return false,
        };
        line.text("\n");
        true
    }
}
