use crate::Params;
use crate::packet::{self, Packet, PayloadBytes, Short};

/// Where packets go: a buffer that empties at some rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Bytes that leave the buffer in a cycle.
    pub bytes_per_cycle: u32,
    /// Bytes that the buffer holds.
    pub capacity: u32,
    /// The hart waits when a packet does not fit. Otherwise packets are lost, up to a synchronisation.
    pub lossless: bool,
    /// Bytes that each packet takes besides its payload.
    pub overhead: u32,
}

/// What happened at the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Packets that were sent.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Cycles that the hart waited.
    pub stall_cycles: u64,
    /// How often packets were lost.
    pub losses: u64,
    /// Packets that were lost. What would have come up to the next synchronisation is not known.
    pub lost_packets: u64,
}

/// The port at work.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    port: Port,
    /// Bytes in the buffer.
    level: u64,
    /// When that was so.
    cycle: u64,
    pub(super) stats: PortStats,
}

impl Buffer {
    pub(super) fn new(port: Port) -> Self {
        Self { port, level: 0, cycle: 0, stats: PortStats::default() }
    }

    /// Whether these packets fit at this cycle; a cycle that is over counts as the last.
    pub(super) fn has_room(&mut self, packets: &[Packet], params: &Params, cycle: u64) -> bool {
        let bytes = packets.iter().map(|packet| self.size(packet, params)).sum();
        self.is_room(bytes, cycle)
    }

    /// Takes a packet, if it fits or the hart waits.
    pub(super) fn take(&mut self, packet: &Packet, params: &Params, cycle: u64) -> bool {
        let bytes = self.size(packet, params);
        if !self.is_room(bytes, cycle) {
            let rate = u64::from(self.port.bytes_per_cycle);
            if !self.port.lossless || rate == 0 {
                self.stats.lost_packets += 1;
                return false;
            }
            let over = (self.level + bytes).saturating_sub(u64::from(self.port.capacity)).min(self.level);
            let wait = over.div_ceil(rate);
            self.stats.stall_cycles += wait;
            self.cycle += wait;
            self.level = self.level.saturating_sub(wait.saturating_mul(rate));
        }
        self.level += bytes;
        self.stats.packets += 1;
        self.stats.bytes += bytes;
        true
    }

    /// The buffer has all the time it needs.
    pub(super) fn drain(&mut self) {
        self.level = 0;
    }

    fn is_room(&mut self, bytes: u64, cycle: u64) -> bool {
        // The hart's clock stands still while it waits.
        let now = cycle.saturating_add(self.stats.stall_cycles);
        if now > self.cycle {
            let left = u64::from(self.port.bytes_per_cycle).saturating_mul(now - self.cycle);
            (self.level, self.cycle) = (self.level.saturating_sub(left), now);
        }
        // A packet that is larger than the buffer goes through when that is empty.
        self.level + bytes <= u64::from(self.port.capacity) || self.level == 0
    }

    fn size(&self, packet: &Packet, params: &Params) -> u64 {
        payload_len(packet, params) as u64 + u64::from(self.port.overhead)
    }
}

/// Bytes of a packet's payload.
pub(super) fn payload_len(packet: &Packet, params: &Params) -> usize {
    if let Some(short) = Short::of(packet, params, 0, 0) {
        return short.bytes(1).1;
    }
    let mut payload = PayloadBytes::default();
    match packet::emit(packet, params, &mut payload) {
        Ok(()) => payload.len(),
        Err(_) => 0,
    }
}
