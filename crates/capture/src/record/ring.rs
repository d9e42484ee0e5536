//! A ring, like the buffer of a trace unit: keeps the end of a trace, or what is around a trigger.

use std::fmt;
use std::str::FromStr;

use tracewright_core::control::Plan;
use tracewright_core::{Block, DataAccess};
use tracewright_hart::{Controlled, HartSink, Privilege, Trap};

use crate::sink::TraceSink;
use crate::{Remark, control};

/// A ring: only the newest bytes of the trace are kept.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Size in bytes.
    pub size: u64,
    /// The condition that ends tracing some time after it is first met, if any.
    pub trigger: Option<control::ControlRequest>,
    /// Position of the trigger in the ring at the end, in percent: 0 is the beginning, 100 the end.
    pub position: u8,
}

impl Ring {
    /// Returns the number of bytes after the trigger.
    fn after(&self) -> u64 {
        (u128::from(self.size) * u128::from(100 - self.position.min(100)) / 100) as u64
    }
}

/// Size of a ring, in bytes. Parses from `4096`, `64K` or `1M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize(pub u64);

impl RingSize {
    /// Smallest size: enough for a synchronisation packet, and something after it.
    pub const LEAST: Self = Self(256);
    /// Largest size.
    pub const MOST: Self = Self(1 << 32);
}

/// Error of [`RingSize`]: the text is not a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRingSize {
    /// It is not a number of bytes.
    Number,
    /// It is less than [`RingSize::LEAST`] or more than [`RingSize::MOST`].
    Range,
}

impl FromStr for RingSize {
    type Err = NoRingSize;

    fn from_str(text: &str) -> Result<Self, NoRingSize> {
        let (digits, unit) = match text.strip_suffix(['K', 'k']) {
            Some(digits) => (digits, 1 << 10),
            None => match text.strip_suffix(['M', 'm']) {
                Some(digits) => (digits, 1 << 20),
                None => (text, 1),
            },
        };
        let size = digits.parse::<u64>().ok().and_then(|size| size.checked_mul(unit));
        let size = size.ok_or(NoRingSize::Number)?;
        if (Self::LEAST.0..=Self::MOST.0).contains(&size) { Ok(Self(size)) } else { Err(NoRingSize::Range) }
    }
}

impl fmt::Display for NoRingSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => f.write_str("expected a number of bytes, such as 4096, 64K or 1M"),
            Self::Range => {
                write!(f, "expected {} bytes to {}M", RingSize::LEAST.0, RingSize::MOST.0 >> 20)
            }
        }
    }
}

impl std::error::Error for NoRingSize {}

/// A sink that traces up to some bytes after a trigger.
pub(super) struct Ringed<'a, S> {
    pub inner: Controlled<&'a mut S>,
    trigger: Option<Controlled<Hit>>,
    after: u64,
    /// Number of bytes of trace at which tracing ends, once the trigger has fired.
    until: Option<u64>,
    is_over: bool,
}

/// A sink that notes whether it received anything.
#[derive(Default)]
struct Hit(bool);

impl HartSink for Hit {
    fn block(&mut self, _: &Block) {
        self.0 = true;
    }

    fn trap(&mut self, _: &Trap) {
        self.0 = true;
    }
}

impl<'a, S: TraceSink> Ringed<'a, S> {
    /// Traces to `inner`, into `ring` if there is one. `trigger` is the ring's trigger, resolved for the program.
    pub fn new(ring: Option<&Ring>, trigger: Option<&Plan>, inner: Controlled<&'a mut S>) -> Self {
        let asked = ring.and_then(|ring| ring.trigger.as_ref());
        let trigger = asked.zip(trigger).map(|(asked, plan)| asked.controlled(plan, Hit::default()));
        Self { inner, trigger, after: ring.map_or(u64::MAX, Ring::after), until: None, is_over: false }
    }

    /// Returns a remark on whether the trigger fired.
    pub fn remark(&self, ring: Option<&Ring>) -> Option<Remark> {
        let text = ring?.trigger.as_ref()?.text().to_owned();
        let trigger = self.trigger.as_ref()?;
        Some(Remark::Trigger { text, came: self.until.map(|_| trigger.control().seen()) })
    }

    fn bytes(&self) -> u64 {
        self.inner.inner.bytes()
    }

    /// Checks whether the trigger has fired, and whether tracing is over.
    fn look(&mut self) {
        if self.until.is_none() && self.trigger.as_ref().is_some_and(|trigger| trigger.inner.0) {
            self.until = Some(self.bytes().saturating_add(self.after));
        }
        if !self.is_over && self.until.is_some_and(|until| self.bytes() >= until) {
            self.is_over = true;
            self.inner.lost();
        }
    }
}

/// Forwards a call to the trigger until it fires, and to the trace until it ends.
macro_rules! both {
    ($ringed:ident.$call:ident($($told:ident)?)) => {
        if let Some(trigger) = $ringed.trigger.as_mut().filter(|_| $ringed.until.is_none()) {
            trigger.$call($($told)?);
        }
        if !$ringed.is_over {
            $ringed.inner.$call($($told)?);
        }
    };
}

impl<S: TraceSink> HartSink for Ringed<'_, S> {
    const DATA: bool = S::DATA;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        both!(self.block(block));
        self.look();
    }

    fn data(&mut self, pc: u64, access: &DataAccess) {
        if !self.is_over {
            self.inner.data(pc, access);
        }
    }

    fn instructions(&mut self, bits: &[u32]) {
        both!(self.instructions(bits));
    }

    fn cycles(&mut self, cycles: &[u64]) {
        both!(self.cycles(cycles));
    }

    fn trap(&mut self, trap: &Trap) {
        both!(self.trap(trap));
        self.look();
    }

    fn checkpoint(&mut self) {
        self.inner.checkpoint();
    }

    fn lost(&mut self) {
        both!(self.lost());
    }

    fn privilege(&mut self, privilege: Privilege) {
        both!(self.privilege(privilege));
    }

    fn context(&mut self, context: u64) {
        both!(self.context(context));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_parts_of_the_ring() {
        let after = |position| Ring { size: 65536, trigger: None, position }.after();
        assert_eq!([0, 25, 75, 100].map(after), [65536, 49152, 16384, 0]);
    }
    #[test]
    fn sizes_have_units() {
        assert_eq!("4096".parse(), Ok(RingSize(4096)));
        assert_eq!("64K".parse(), Ok(RingSize(65536)));
        assert_eq!("1m".parse(), Ok(RingSize(1 << 20)));
        assert_eq!("K".parse::<RingSize>(), Err(NoRingSize::Number));
        assert_eq!("99999999999999999999M".parse::<RingSize>(), Err(NoRingSize::Number));
        let error = "10".parse::<RingSize>().unwrap_err();
        assert_eq!(error.to_string(), "expected 256 bytes to 4096M");
    }
}
