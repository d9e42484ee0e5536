use super::trust::Trust;
use super::unit::units;
use crate::LineEvent;

/// Most bytes of a packet.
const BYTES: usize = 8;
/// Halves of a bit in the longest run inside a packet, its stop bit included: the second half of a bit, and the stop
/// bit.
pub(crate) const LONGEST: u64 = 3;

/// The packets of a line in Manchester code, taken from runs of the line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manchester {
    /// Level of the first half of a bit, if the second is awaited.
    first: Option<bool>,
    /// Number of bits so far, the start bit included.
    count: usize,
    /// Bytes of the packet that has begun, with their first samples.
    bytes: [(u64, u8); BYTES],
}

/// What half a bit tells.
enum Step {
    More,
    Stop,
    Error,
}

impl Manchester {
    /// Accepts a run of `len` samples from sample `at` on. `unit` is half a bit.
    pub(crate) fn run(
        &mut self,
        (level, at, len): (bool, u64, u64),
        unit: u64,
        trust: &mut Trust,
        emit: &mut impl FnMut(LineEvent),
    ) {
        if trust.start.is_none() && level {
            *self = Self::default();
            trust.start = Some(at);
        }
        let halves = units(len, unit);
        if trust.start.is_some() {
            let mut step = if halves == 0 { Step::Error } else { Step::More };
            for half in 0..halves.min(LONGEST) {
                if let Step::More = step {
                    step = self.half(level, at + half * len / halves);
                }
            }
            match step {
                Step::More => {}
                Step::Stop => trust.good(self.bytes.into_iter().take(self.count / 8), at, emit),
                Step::Error => trust.bad(at, at + len),
            }
        }
        // No two bits have so many low halves.
        if !level && halves >= LONGEST {
            trust.is_sure();
        }
    }

    /// Accepts half a bit that begins at sample `at`.
    fn half(&mut self, level: bool, at: u64) -> Step {
        let Some(first) = self.first.take() else {
            self.first = Some(level);
            if let Some(begun) = self.count.checked_sub(1).filter(|bit| bit % 8 == 0)
                && let Some(byte) = self.bytes.get_mut(begun / 8)
            {
                *byte = (at, 0);
            }
            return Step::More;
        };
        match (first, level) {
            (false, false) if self.count > 1 && self.count % 8 == 1 => return Step::Stop,
            (true, true) | (false, false) => return Step::Error,
            _ => {}
        }
        // The start bit, which is 1 since a packet begins with a high half, is no data.
        if let Some(bit) = self.count.checked_sub(1) {
            let Some((_, byte)) = self.bytes.get_mut(bit / 8) else { return Step::Error };
            *byte |= u8::from(first) << (bit % 8);
        }
        self.count += 1;
        Step::More
    }
}
