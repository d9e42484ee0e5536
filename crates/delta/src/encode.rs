//! Cycles of retired instructions to packets.

use std::fmt;

use crate::bits::{BitWriter, gamma_bits};
use crate::config::{Code, Config, ConfigError, Format};
use crate::group::Group;
use crate::packet::{Assembly, Kind, Sync};

/// What takes packets: a file's bytes, or a port that may be too slow.
pub trait Out {
    /// The next packet, ready in this cycle.
    fn packet(&mut self, cycle: u64, bytes: &[u8]);
}

impl Out for Vec<u8> {
    fn packet(&mut self, _cycle: u64, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// When packets end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// A packet of groups ends with the group that makes its payload so many bytes: 1 to 200.
    pub payload: u8,
    /// A sync comes at the next block after so many bytes of packets. 0: only where asked for.
    pub sync: u32,
}

impl Default for Packing {
    fn default() -> Self {
        Self { payload: 192, sync: 2048 }
    }
}

/// What cannot be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// An instruction retired before one that was told before.
    Backwards {
        /// Its cycle.
        cycle: u64,
    },
    /// More instructions retired in a cycle than the configuration has.
    TooWide {
        /// The cycle.
        cycle: u64,
    },
    /// {D, E} was synchronised in a cycle that retires nothing.
    Late {
        /// When the next instruction retired.
        cycle: u64,
    },
    /// A cycle number that has none after it.
    Endless,
    /// After the beginning or [`Encoder::off`], something retired without an address.
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
                write!(f, "a sync of {{D,E}} before cycle {cycle}, which has its first instruction")
            }
            Self::Endless => f.write_str("a cycle number of 2^64 - 1"),
            Self::NoSync => f.write_str("an instruction without an address where the delta trace begins"),
        }
    }
}

impl std::error::Error for Refused {}

/// Makes packets of what retires. See the crate's docs for an example.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: Config,
    packing: Packing,
    /// {A, C} in Elias gamma: there is a fast way.
    is_plain: bool,
    /// Whether a sync was written and no off after it.
    on: bool,
    /// A sync is to come with the next address.
    due: bool,
    /// The cycle after the last one that retired something.
    end: u64,
    /// The first cycle that a sync can name.
    floor: u64,
    /// A of the group being counted.
    a: u64,
    /// Instructions that retired in the A cycles; for {D, E} in the last cycle.
    in_group: u64,
    /// Instructions that retired in the last cycle.
    in_cycle: u64,
    /// Instructions that retired in all.
    retired: u64,
    bits: BitWriter,
    assembly: Assembly,
    sequence: u8,
    /// Bytes of packets since the last sync.
    since: u32,
}

impl Encoder {
    /// An encoder that has told nothing.
    ///
    /// # Errors
    /// If there is no such configuration.
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

    /// What it was made with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The cycle after the last one that retired something.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.end
    }

    /// How many instructions retired.
    #[must_use]
    pub fn retired(&self) -> u64 {
        self.retired
    }

    /// Asks for a sync with the next block: after packets were lost, or because another trace of the same run has one.
    pub fn request_sync(&mut self) {
        self.due = true;
    }

    /// A block: the address of its first instruction, and the cycle in which each of its instructions retired. It begins
    /// with a sync if one is due.
    ///
    /// # Errors
    /// At the first instruction that cannot be told; those before it were.
    #[inline]
    pub fn block(&mut self, address: u64, cycles: &[u64], out: &mut impl Out) -> Result<(), Refused> {
        if self.due
            && let Some(&first) = cycles.first()
        {
            self.sync(first, address, out)?;
        }
        self.cycles(cycles, out)
    }

    /// More instructions, each with its cycle: no sync before them.
    ///
    /// # Errors
    /// At the first instruction that cannot be told; those before it were.
    #[inline]
    pub fn cycles(&mut self, cycles: &[u64], out: &mut impl Out) -> Result<(), Refused> {
        // No cycle reaches the last number while these are counted, if a stall does not lead there.
        let limit = (u64::MAX - 1).saturating_sub(cycles.len() as u64);
        if !self.is_plain || !self.on || self.end >= limit {
            return cycles.iter().try_for_each(|&cycle| self.retire(cycle, 1, out));
        }
        // A cycle each, or a stall and a new group.
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

    /// `count` instructions retired in `cycle`: more of the last one, or a later one.
    ///
    /// # Errors
    /// If that cannot be told.
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

    /// Goes on to a later cycle in which something retires: ends the group if what lies between does.
    fn advance(&mut self, cycle: u64, out: &mut impl Out) -> Result<(), Refused> {
        let stalls = cycle - self.end;
        let ends = match (self.config.format, self.a) {
            // The first cycle after a sync: there is no stall before it, if the sync came with an instruction.
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

    /// Writes the group being counted, which this many stalls follow.
    fn end_group(&mut self, stalls: u64, out: &mut impl Out) {
        let group = match self.config.format {
            Format::Ac => Group::Ac { a: self.a, c: stalls },
            Format::Abc => Group::Abc { a: self.a, b: self.missed(), c: stalls },
            Format::De => Group::De { d: self.in_group, e: stalls + 1 },
        };
        group.write(&self.config, &mut self.bits);
        (self.a, self.in_group) = (0, 0);
        if self.is_full() {
            self.groups(Kind::Groups, self.end + stalls, out);
        }
    }

    fn missed(&self) -> u64 {
        self.a.saturating_mul(u64::from(self.config.width)).saturating_sub(self.in_group)
    }

    /// Writes what is being counted, for a sync or an end in `cycle`.
    fn cut(&mut self, cycle: u64, out: &mut impl Out) {
        if self.a > 0 && cycle >= self.end && (cycle > self.end || self.config.format == Format::De) {
            self.end_group(cycle - self.end, out);
        }
        let cut = self.a > 0;
        if cut {
            let group = match self.config.format {
                Format::Ac => Group::Ac { a: self.a, c: 0 },
                Format::Abc => Group::Abc { a: self.a, b: self.missed(), c: 0 },
                Format::De => Group::De { d: self.in_group, e: 0 },
            };
            group.write(&self.config, &mut self.bits);
            (self.a, self.in_group) = (0, 0);
        }
        if cut || self.bits.bits() > 0 {
            self.groups(if cut { Kind::Cut } else { Kind::Groups }, cycle, out);
        }
        self.in_cycle = 0;
    }

    /// A sync: the next instruction is at `address` and retires in `cycle`, which may be the one of the last instruction.
    ///
    /// # Errors
    /// If that cannot be told.
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

    /// Tracing stops: everything up to `cycle` was told. What retires later begins with a sync.
    pub fn off(&mut self, cycle: u64, out: &mut impl Out) {
        if !self.on {
            return;
        }
        // What is switched on again may retire in the last cycle too.
        let again = self.config.width > 1 && self.a > 0 && cycle <= self.end;
        let cycle = cycle.max(self.end);
        self.cut(cycle, out);
        (self.end, self.floor) = (cycle, cycle - u64::from(again));
        self.assembly.number(cycle);
        self.assembly.number(self.retired);
        self.packet(Kind::Off, cycle, out);
        (self.on, self.due) = (false, true);
    }

    /// Tracing ends with the last cycle that retired something.
    pub fn finish(&mut self, out: &mut impl Out) {
        self.off(self.end, out);
    }

    /// Writes the groups that are complete, as a packet; the one being counted goes on.
    pub fn flush(&mut self, out: &mut impl Out) {
        if self.bits.bits() > 0 {
            self.groups(Kind::Groups, self.end, out);
        }
    }

    /// The two tokens of {A, C}, at once where they fit a word.
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
            // Another one in the last cycle, where there is room for one.
            _ if cycle.checked_add(1) == Some(end) => Refused::TooWide { cycle },
            _ => Refused::Backwards { cycle },
        }
    }
}
