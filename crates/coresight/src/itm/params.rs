//! Parameters of a source, derived from its registers.

use tracewright_core::TraceId;

/// Registers of an ITM, as trace snapshots name them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// ITM_TCR: trace control.
    pub itmtcr: u32,
}

/// Parameters of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    registers: Registers,
    /// The first byte of the stream is a packet's header, and so is the byte after bytes that are not a packet.
    pub(crate) starts_aligned: bool,
}

impl Params {
    /// Derives the parameters from the registers. No value is wrong.
    pub const fn new(registers: &Registers) -> Self {
        Self { registers: *registers, starts_aligned: false }
    }

    /// Sets whether the stream is read from its first byte on, without waiting for synchronisation. Many boards never send a
    /// synchronisation packet.
    #[must_use]
    pub const fn with_aligned_start(self, starts_aligned: bool) -> Self {
        Self { starts_aligned, ..self }
    }

    /// Returns the registers.
    pub const fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Returns the trace ID.
    pub const fn id(&self) -> TraceId {
        TraceId::from_low_bits((self.registers.itmtcr >> 16) as u8)
    }

    /// Returns the number of clock cycles of one step of the local timestamps: 1, 4, 16 or 64. The prescaler counts only with the
    /// clock of the trace port (SWOENA).
    pub const fn prescale(&self) -> u32 {
        let tcr = self.registers.itmtcr;
        if tcr & 1 << 4 == 0 { 1 } else { 1 << (2 * (tcr >> 8 & 3)) }
    }

    /// Returns whether a prescaler is selected (TSPrescale), whether it counts or not.
    pub const fn is_prescaled(&self) -> bool {
        self.registers.itmtcr >> 8 & 3 != 0
    }

    /// Returns whether the stream is read from its first byte on.
    pub const fn starts_aligned(&self) -> bool {
        self.starts_aligned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers() {
        let params = |itmtcr| Params::new(&Registers { itmtcr });
        assert_eq!(params(0x0014_0000).id().get(), 0x14);
        assert_eq!(params(0xffa0_0000).id().get(), 0x20);
        assert_eq!([0x300, 0x010].map(|tcr| params(tcr).is_prescaled()), [true, false]);
        assert_eq!([0x310, 0x210, 0x110, 0x10, 0x300].map(|tcr| params(tcr).prescale()), [64, 16, 4, 1, 1]);
    }
}
