//! Encoding of the cycles of retired instructions as packets.

use std::fmt;

use crate::bits::{BitWriter, gamma_bits};
use crate::config::{Code, Config, ConfigError, Format};
use crate::group::Group;
use crate::packet::{Assembly, Kind, Sync};

/// A consumer of packets: the bytes of a file, or a port that may be too slow.
pub trait Out {
    /// Accepts the next packet, which is ready in this cycle.
    fn packet(&mut self, cycle: u64, bytes: &[u8]);
}

impl Out for Vec<u8> {
    fn packet(&mut self, _cycle: u64, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// The sizes of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Payload size in bytes after which a packet of groups ends: 1 to 200.
    pub payload: u8,
    /// Bytes of packets after which the next block begins with a sync. 0: only on request.
    pub sync: u32,
}

impl Default for Packing {
    fn default() -> Self {
        Self { payload: 192, sync: 2048 }
    }
}

/// An error: the retirement cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// An instruction retired before an earlier one.
    Backwards {
        /// Cycle of the instruction.
        cycle: u64,
    },
    /// More instructions retired in a cycle than the configuration allows.
    TooWide {
        /// Cycle of the instructions.
        cycle: u64,
    },
    /// {D, E} was synchronised in a cycle that retires nothing.
    Late {
        /// Cycle in which the next instruction retired.
        cycle: u64,
    },
    /// The cycle is the greatest number, so that none follows.
    Endless,
    /// At the beginning or after [`Encoder::off`], an instruction retired without an address.
    NoSync,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backwards { cycle } => {
                write!(f, "an instruction retired in cycle {cycle}, before the last one")
            }
            Self::TooWide { cycle } => {
                write!(f, "more instructions retired in cycle {cycle} than the delta format's width")
            }
            Self::Late { cycle } => {
                write!(f, "{{D,E}} was synchronised before cycle {cycle}, which has the next instruction")
            }
            Self::Endless => f.write_str("the cycle number is 2^64 - 1, the greatest"),
            Self::NoSync => f.write_str("the first instruction of the delta trace has no address"),
        }
    }
}

impl std::error::Error for Refused {}

/// An encoder of retired instructions. See the crate's docs for an example.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: Config,
    packing: Packing,
    /// Whether the stream is {A, C} in Elias gamma, which has a fast path.
    is_plain: bool,
    /// Whether a sync was emitted, and no off after it.
    on: bool,
    /// Whether a sync is due with the next address.
    due: bool,
    /// Cycle after the last one that retired an instruction.
    end: u64,
    /// First cycle that a sync can have.
    floor: u64,
    /// A of the current group.
    a: u64,
    /// Instructions that retired in the A cycles of the current group. For {D, E}: in the last cycle.
    in_group: u64,
    /// Instructions that retired in the last cycle.
    in_cycle: u64,
    /// Number of retired instructions.
    retired: u64,
    bits: BitWriter,
    assembly: Assembly,
    sequence: u8,
    /// Bytes of packets since the last sync.
    since: u32,
}

impl Encoder {
    /// Creates an encoder.
    ///
    /// # Errors
    /// If the configuration is not possible.
    pub fn new(config: Config, packing: Packing) -> Result<Self, ConfigError> {
        config.check()?;
        let packing = Packing { payload: packing.payload.clamp(1, 200), ..packing };
        Ok(Self {
            config,
            packing,
            is_plain: config.format == Format::Ac && config.code == Code::Gamma,
            on: false,
            due: true,
            end: 0,
            floor: 0,
            a: 0,
            in_group: 0,
            in_cycle: 0,
            retired: 0,
            bits: BitWriter::new(),
            assembly: Assembly::new(),
            sequence: 0,
            since: 0,
        })
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the cycle after the last one that retired an instruction.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.end
    }

    /// Returns the number of retired instructions.
    #[must_use]
    pub fn retired(&self) -> u64 {
        self.retired
    }

    /// Requests a sync with the next block, because packets were lost, or because another trace of the same run has
    /// one.
    pub fn request_sync(&mut self) {
        self.due = true;
    }

    /// Encodes a block: the address of its first instruction, and the cycle in which each of its instructions
    /// retired. A sync comes first if one is due.
    ///
    /// # Errors
    /// At the first instruction that cannot be encoded. Those before it were.
    #[inline]
    pub fn block(&mut self, address: u64, cycles: &[u64], out: &mut impl Out) -> Result<(), Refused> {
        if self.due
            && let Some(&first) = cycles.first()
        {
            self.sync(first, address, out)?;
        }
        self.cycles(cycles, out)
    }

    /// Encodes more instructions, given by their cycles, without a sync.
    ///
    /// # Errors
    /// At the first instruction that cannot be encoded. Those before it were.
    #[inline]
    pub fn cycles(&mut self, cycles: &[u64], out: &mut impl Out) -> Result<(), Refused> {
        // Only a stall can lead to the greatest cycle number while these are counted.
        let limit = (u64::MAX - 1).saturating_sub(cycles.len() as u64);
        if !self.is_plain || !self.on || self.end >= limit {
            return cycles.iter().try_for_each(|&cycle| self.retire(cycle, 1, out));
        }
        // Each instruction is in the next cycle, or a stall ends the group.
        let (mut end, mut a) = (self.end, self.a);
        for (at, &cycle) in cycles.iter().enumerate() {
            if cycle != end {
                if cycle < end || cycle >= limit {
                    (self.end, self.a) = (end, a);
                    self.retired += at as u64;
                    return cycles[at..].iter().try_for_each(|&cycle| self.retire(cycle, 1, out));
                }
                self.pair(a + 1, cycle - end);
                a = 0;
                if self.is_full() {
                    // The packet is ready in the cycle that ended the stall.
                    self.groups(Kind::Groups, cycle, out);
                }
                end = cycle;
            }
            a += 1;
            end += 1;
        }
        (self.end, self.a) = (end, a);
        self.retired += cycles.len() as u64;
        Ok(())
    }

    /// Encodes `count` instructions that retired in `cycle`, which is the last cycle or a later one.
    ///
    /// # Errors
    /// If that cannot be encoded.
    pub fn retire(&mut self, cycle: u64, count: u64, out: &mut impl Out) -> Result<(), Refused> {
        if count == 0 {
            return Ok(());
        }
        if !self.on {
            return Err(Refused::NoSync);
        }
        let width = u64::from(self.config.width);
        let same = self.in_cycle > 0 && cycle.checked_add(1) == Some(self.end);
        if cycle < self.end && !same || cycle == u64::MAX {
            return Err(self.refusal(cycle, self.end));
        }
        let in_cycle = if same { self.in_cycle.saturating_add(count) } else { count };
        if in_cycle > width {
            return Err(Refused::TooWide { cycle });
        }
        if !same {
            self.advance(cycle, out)?;
            self.end = cycle + 1;
            self.a += 1;
        }
        self.in_cycle = in_cycle;
        self.in_group += count;
        self.retired += count;
        Ok(())
    }

    /// Advances to a later cycle that retires instructions. Ends the group if the stall in between does.
    fn advance(&mut self, cycle: u64, out: &mut impl Out) -> Result<(), Refused> {
        let stalls = cycle - self.end;
        let ends = match (self.config.format, self.a) {
            // The first cycle after a sync. If the sync came with an instruction, there is no stall before it.
            (Format::De, 0) if stalls > 0 => return Err(Refused::Late { cycle }),
            (_, 0) => stalls > 0,
            (Format::De, _) => true,
            _ => stalls > u64::from(self.config.amortise),
        };
        if ends {
            self.end_group(stalls, out);
        } else {
            self.a += stalls;
        }
        Ok(())
    }

    /// Emits the current group, with the stalls that follow it.
    fn end_group(&mut self, stalls: u64, out: &mut impl Out) {
        self.put_group(stalls, stalls + 1);
        if self.is_full() {
            self.groups(Kind::Groups, self.end + stalls, out);
        }
    }

    /// Writes the current group, with its last token: C or E. It is 0 if it is not known.
    fn put_group(&mut self, c: u64, e: u64) {
        let missed = self.a.saturating_mul(u64::from(self.config.width)).saturating_sub(self.in_group);
        let group = match self.config.format {
            Format::Ac => Group::Ac { a: self.a, c },
            Format::Abc => Group::Abc { a: self.a, b: missed, c },
            Format::De => Group::De { d: self.in_group, e },
        };
        group.write(&self.config, &mut self.bits);
        (self.a, self.in_group) = (0, 0);
    }

    /// Emits the current group, for a sync or an end in `cycle`.
    fn cut(&mut self, cycle: u64, out: &mut impl Out) {
        if self.a > 0 && cycle >= self.end && (cycle > self.end || self.config.format == Format::De) {
            self.end_group(cycle - self.end, out);
        }
        let cut = self.a > 0;
        if cut {
            self.put_group(0, 0);
        }
        if cut || self.bits.bits() > 0 {
            self.groups(if cut { Kind::Cut } else { Kind::Groups }, cycle, out);
        }
        self.in_cycle = 0;
    }

    /// Emits a sync: the next instruction is at `address` and retires in `cycle`, which may be the cycle of the last
    /// instruction.
    ///
    /// # Errors
    /// If that cannot be encoded.
    pub fn sync(&mut self, cycle: u64, address: u64, out: &mut impl Out) -> Result<(), Refused> {
        if self.on && self.a > 0 {
            self.floor = if self.config.width > 1 { self.end - 1 } else { self.end };
        }
        if cycle < self.floor || cycle == u64::MAX {
            return Err(if self.a > 0 { self.refusal(cycle, self.end) } else { self.refusal(cycle, 0) });
        }
        if self.on {
            self.cut(cycle, out);
        }
        (self.end, self.floor) = (cycle, cycle);
        let sync = Sync { cycle, address, retired: self.retired, config: self.config };
        self.assembly.sync(&sync);
        self.packet(Kind::Sync, cycle, out);
        (self.on, self.due, self.since) = (true, false, 0);
        Ok(())
    }

    /// Stops tracing: everything up to `cycle` was encoded. Tracing resumes with a sync.
    pub fn off(&mut self, cycle: u64, out: &mut impl Out) {
        if !self.on {
            return;
        }
        // Instructions may retire in the last cycle again when tracing resumes.
        let again = self.config.width > 1 && self.a > 0 && cycle <= self.end;
        let cycle = cycle.max(self.end);
        self.cut(cycle, out);
        (self.end, self.floor) = (cycle, cycle - u64::from(again));
        self.assembly.number(cycle);
        self.assembly.number(self.retired);
        self.packet(Kind::Off, cycle, out);
        (self.on, self.due) = (false, true);
    }

    /// Ends the trace with the last cycle that retired an instruction.
    pub fn finish(&mut self, out: &mut impl Out) {
        self.off(self.end, out);
    }

    /// Emits the complete groups as a packet. The current group continues.
    pub fn flush(&mut self, out: &mut impl Out) {
        if self.bits.bits() > 0 {
            self.groups(Kind::Groups, self.end, out);
        }
    }

    /// Writes the two tokens of {A, C}, at once if they fit a word.
    #[inline]
    fn pair(&mut self, a: u64, c: u64) {
        let (a_bits, c_bits) = (gamma_bits(a), gamma_bits(c));
        if a_bits + c_bits <= 64 {
            self.bits.put(a << c_bits | c, a_bits + c_bits);
        } else {
            self.bits.gamma(a);
            self.bits.gamma(c);
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.bits.bits() >= usize::from(self.packing.payload) * 8
    }

    /// Ends a packet of groups.
    #[cold]
    fn groups(&mut self, kind: Kind, cycle: u64, out: &mut impl Out) {
        let payload = self.bits.take();
        self.assembly.put(payload);
        self.packet(kind, cycle, out);
    }

    fn packet(&mut self, kind: Kind, cycle: u64, out: &mut impl Out) {
        let bytes = self.assembly.finish(kind, self.sequence);
        self.since = self.since.saturating_add(bytes.len() as u32);
        out.packet(cycle, bytes);
        self.sequence = self.sequence.wrapping_add(1);
        self.due |= self.packing.sync > 0 && self.since >= self.packing.sync;
    }

    #[cold]
    fn refusal(&self, cycle: u64, end: u64) -> Refused {
        match cycle {
            u64::MAX => Refused::Endless,
            // One more in the last cycle, which is full.
            _ if cycle.checked_add(1) == Some(end) => Refused::TooWide { cycle },
            _ => Refused::Backwards { cycle },
        }
    }
}
