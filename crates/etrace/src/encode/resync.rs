/// Interval of synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resync {
    /// Unit that is counted.
    pub mode: ResyncMode,
    /// Synchronisation is due after 2 to the power of `max` + 4 units (`trTeInstSyncMax`).
    pub max: u8,
    /// Whether synchronisation may happen at any instruction, as in the reference model, not only at the
    /// start of a block. Packets then depend on the number of instructions per entry; the model has one in
    /// each.
    pub anywhere: bool,
}

/// Unit that is counted (`trTeInstSyncMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ResyncMode {
    /// No regular synchronisation.
    #[default]
    Off = 0,
    /// Packets.
    Packets = 1,
    /// Cycles.
    Cycles = 2,
    /// Half-words of retired instructions.
    HalfWords = 3,
}

impl Default for Resync {
    fn default() -> Self {
        Self { mode: ResyncMode::Packets, max: 8, anywhere: false }
    }
}

/// Counter towards the next synchronisation.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    resync: Resync,
    limit: u64,
    count: u64,
    /// Last cycle before the current interval.
    base: u64,
}

impl Counter {
    pub(super) fn new(resync: Resync) -> Self {
        let limit = 1u64.checked_shl(u32::from(resync.max) + 4).unwrap_or(u64::MAX);
        Self { resync, limit, count: 0, base: 0 }
    }

    /// Counts a packet.
    #[inline]
    pub(super) fn packet(&mut self) {
        if self.resync.mode == ResyncMode::Packets {
            self.count += 1;
        }
    }

    /// Counts a settled entry of `half_words` up to `cycle`.
    #[inline(always)]
    pub(super) fn advance(&mut self, half_words: u32, cycle: u64) {
        match self.resync.mode {
            ResyncMode::HalfWords => self.count += u64::from(half_words),
            ResyncMode::Cycles => self.count = cycle.wrapping_sub(self.base),
            ResyncMode::Off | ResyncMode::Packets => {}
        }
    }

    /// Restarts the counter after a synchronisation packet for the instruction after `cycle`.
    pub(super) fn restart(&mut self, cycle: u64) {
        (self.count, self.base) = (0, cycle);
    }

    /// Returns whether branches must be reported now, followed by a synchronisation.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.resync.mode != ResyncMode::Off && self.count >= self.limit
    }

    /// Returns whether synchronisation is due once an entry of `half_words` up to `cycle` is settled.
    pub(super) fn is_due_after(&self, half_words: u32, cycle: u64) -> bool {
        let count = match self.resync.mode {
            ResyncMode::HalfWords => self.count + u64::from(half_words),
            ResyncMode::Cycles => cycle.wrapping_sub(self.base),
            ResyncMode::Off | ResyncMode::Packets => return false,
        };
        count >= self.limit
    }

    /// Returns whether synchronisation is not due and would not be after two more packets.
    pub(super) fn is_far(&self) -> bool {
        match self.resync.mode {
            ResyncMode::Off => true,
            ResyncMode::Packets => self.count + 2 < self.limit,
            ResyncMode::Cycles | ResyncMode::HalfWords => !self.is_due(),
        }
    }

    /// Returns whether only packets count.
    pub(super) fn counts_packets_at_most(&self) -> bool {
        matches!(self.resync.mode, ResyncMode::Off | ResyncMode::Packets)
    }

    /// Returns whether the reference model, which counts packets, synchronises at this very instruction.
    #[inline]
    pub(super) fn is_exceeded(&self) -> bool {
        self.counts_packets_anywhere() && self.count > self.limit
    }

    /// Returns whether one more packet makes synchronisation due.
    #[inline]
    pub(super) fn is_due_after_packet(&self) -> bool {
        match (self.resync.mode, self.resync.anywhere) {
            (ResyncMode::Packets, false) => self.count + 1 >= self.limit,
            (ResyncMode::Packets, true) => self.count >= self.limit,
            _ => false,
        }
    }

    #[inline]
    pub(super) fn counts_packets_anywhere(&self) -> bool {
        self.resync.mode == ResyncMode::Packets && self.resync.anywhere
    }

    #[inline]
    pub(super) fn is_anywhere(&self) -> bool {
        self.resync.anywhere
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tracewright_testkit::captures_for;

    use super::*;

    /// Vectors of PULP's `rv_tracer`. Inputs: tracing on, a packet, a restart after this cycle. Outputs:
    /// packets so far exceed the limit, packets so far equal the limit.
    #[test]
    fn the_hardwares_vectors() {
        let Some(captures) = captures_for("the_hardwares_vectors", "") else { return };
        let path = captures.join("riscv/rv_tracer/tb_testvectors/tv_te_resync_counter.txt");
        let text = fs::read_to_string(path).unwrap();
        let resync = Resync { mode: ResyncMode::Packets, max: 0, anywhere: true };
        let mut counter = Counter { limit: 7, ..Counter::new(resync) };
        let mut lines = 0;
        for line in text.lines() {
            let digits = line.trim().as_bytes();
            if digits[1] == b'1' {
                counter.packet();
            }
            let (is_over, is_there) = (digits[4] == b'1', digits[5] == b'1');
            assert_eq!(
                (counter.is_exceeded(), counter.is_due() && !counter.is_exceeded()),
                (is_over, is_there),
                "{line}"
            );
            if digits[2] == b'1' {
                counter.restart(0);
            }
            lines += 1;
        }
        assert_eq!(lines, 16);
    }

    #[test]
    fn limits_are_powers_of_two() {
        let limit = |max| Counter::new(Resync { max, ..Resync::default() }).limit;
        assert_eq!([limit(0), limit(8), limit(59)], [16, 4096, 1 << 63]);
        assert_eq!(limit(60), u64::MAX);
    }
}
