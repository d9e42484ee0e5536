/// What is lost at a port: what ran from one instruction that a reader still knows of to the one where it begins anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// How often packets were lost.
    pub losses: u64,
    /// Instructions that ran and are not in the trace for that.
    pub instructions: u64,
    /// Packets that the whole trace has for them.
    pub packets: u64,
    /// Their bits.
    pub bits: u64,
    /// Instructions that had run where the last loss began, if it goes on.
    since: Option<u64>,
}

impl Gaps {
    /// Packets are lost. Instructions that a reader knows of.
    pub fn begin(&mut self, told: u64) {
        self.losses += 1;
        self.since = Some(told);
    }

    /// Ends a loss after so many instructions have run. Does nothing if nothing was lost.
    pub fn end(&mut self, ran: u64) {
        if let Some(since) = self.since.take() {
            self.instructions += ran.saturating_sub(since);
        }
    }

    /// Returns whether the last loss goes on.
    #[cfg(test)]
    pub fn is_open(&self) -> bool {
        self.since.is_some()
    }

    /// Packets that the whole trace has, and the one with gaps has not.
    pub fn lose(&mut self, packets: u64, bits: u64) {
        self.packets += packets;
        self.bits += bits;
    }

    /// Adds what is lost at another port.
    pub fn merge(&mut self, other: &Self) {
        self.losses += other.losses;
        self.instructions += other.instructions;
        self.packets += other.packets;
        self.bits += other.bits;
    }
}
