//! Decoding of packets to cycles.

use crate::bits::BitReader;
use crate::config::{Code, Config, Format};
use crate::group::{Group, NoGroup};
use crate::item::{DeltaSink, Lost, Off, Run, Span, Why};
use crate::packet::{Kind, LONGEST, MAGIC, Packet, Read, Sync};
use crate::pairs;

/// A decoder of a delta stream in chunks of any size. The result does not depend on the chunks. The configuration is
/// in the stream.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// The start of a packet whose end has not arrived yet.
    carry: Vec<u8>,
    /// Offset in the stream of the next bytes.
    offset: u64,
    state: State,
    /// Sequence number of the next packet.
    sequence: u8,
    /// Cycle after the last one emitted.
    cycle: u64,
    /// Number of instructions emitted, as syncs count them.
    retired: u64,
    /// Last sync, and its offset.
    last: Option<(Sync, u64)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing has been read.
    #[default]
    Start,
    /// Groups are being decoded.
    On(Config),
    /// Tracing is off.
    Off(Config),
    /// Trace was lost, and the decoder waits for a sync.
    Lost { why: Why, offset: u64, from: Option<u64>, retired: Option<u64> },
}

enum Step {
    /// This many bytes were used.
    Used(usize),
    /// This many bytes are needed.
    More(usize),
}

impl Decoder {
    /// Creates a decoder at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes the next chunk of the stream.
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut impl DeltaSink) {
        // The rest of earlier chunks grows by as many bytes as are needed, until it is used up.
        let mut carry = std::mem::take(&mut self.carry);
        let mut at = 0;
        while at < carry.len() {
            match self.step(&carry[at..], sink) {
                Step::Used(used) => at += self.used(used),
                Step::More(wanted) => {
                    let missing = (at + wanted).saturating_sub(carry.len()).max(1);
                    if bytes.is_empty() {
                        break;
                    }
                    let (more, rest) = bytes.split_at(missing.min(bytes.len()));
                    carry.extend_from_slice(more);
                    bytes = rest;
                }
            }
        }
        carry.drain(..at.min(carry.len()));
        while !bytes.is_empty() {
            match self.step(bytes, sink) {
                Step::Used(used) => bytes = &bytes[self.used(used).min(bytes.len())..],
                Step::More(_) => {
                    carry.extend_from_slice(bytes);
                    break;
                }
            }
        }
        self.carry = carry;
    }

    /// Ends the stream.
    pub fn finish(&mut self, sink: &mut impl DeltaSink) {
        // The incomplete packet is not one. There may be packets inside.
        let carry = std::mem::take(&mut self.carry);
        let mut at = 0;
        while at < carry.len() {
            match self.step(&carry[at..], sink) {
                Step::Used(used) => at += self.used(used),
                Step::More(_) => {
                    self.lose(Why::Truncated);
                    at += self.used(1);
                }
            }
        }
        if let State::On(_) = self.state {
            self.lose(Why::Truncated);
        }
        if let State::Lost { why, offset, from, .. } = self.state {
            sink.lost(Lost { why, offset, end: self.offset, from, to: None, retired: None });
        }
        self.state = State::Start;
    }

    fn used(&mut self, used: usize) -> usize {
        self.offset += used as u64;
        used
    }

    /// Decodes one packet, or skips bytes that are not one.
    #[inline]
    fn step(&mut self, bytes: &[u8], sink: &mut impl DeltaSink) -> Step {
        if let State::Lost { .. } = self.state {
            return self.search(bytes, sink);
        }
        match Packet::read(bytes) {
            Read::Packet(packet) => {
                self.packet(&packet, sink);
                // The packet that cannot be used may be the sync that is now searched for.
                match self.state {
                    State::Lost { .. } => Step::Used(0),
                    _ => Step::Used(packet.len()),
                }
            }
            Read::More(wanted) => Step::More(wanted),
            Read::Bad => {
                self.lose(if self.state == State::Start { Why::Begun } else { Why::Damaged });
                Step::Used(0)
            }
        }
    }

    /// Searches for a sync.
    fn search(&mut self, bytes: &[u8], sink: &mut impl DeltaSink) -> Step {
        let Some(at) = bytes.iter().position(|&byte| byte == Kind::Sync.mark()) else {
            return Step::Used(bytes.len());
        };
        if at > 0 {
            return Step::Used(at);
        }
        // The first bytes of a sync's payload are known, so that a byte that looks like a mark does not make the
        // decoder wait for a packet.
        let magic = bytes.get(3..bytes.len().min(3 + MAGIC.len())).unwrap_or_default();
        if !MAGIC.starts_with(magic) {
            return Step::Used(1);
        }
        match Packet::read(bytes) {
            Read::More(wanted) => Step::More(wanted.min(LONGEST)),
            Read::Packet(packet) => match packet.sync() {
                Some(sync) => {
                    self.found(&packet, &sync, sink);
                    Step::Used(packet.len())
                }
                None => Step::Used(1),
            },
            Read::Bad => Step::Used(1),
        }
    }

    /// Records a loss from here on.
    fn lose(&mut self, why: Why) {
        let (from, retired) = match self.state {
            State::Lost { .. } => return,
            State::Start => (None, None),
            State::On(_) | State::Off(_) => (Some(self.cycle), Some(self.retired)),
        };
        self.state = State::Lost { why, offset: self.offset, from, retired };
    }

    /// Discards trust in all that was emitted since the last sync.
    fn doubt(&mut self) {
        let (from, offset) = match &self.last {
            Some((sync, offset)) => (Some(sync.cycle), *offset),
            None => (None, self.offset),
        };
        self.state = State::Lost { why: Why::Mismatch, offset, from, retired: Some(self.retired) };
    }

    fn packet(&mut self, packet: &Packet<'_>, sink: &mut impl DeltaSink) {
        if packet.kind == Kind::Overflow {
            return self.lose(Why::Overflow);
        }
        if self.state == State::Start {
            return match packet.sync() {
                Some(sync) => self.begin(packet, &sync, sink),
                None => self.lose(Why::Begun),
            };
        }
        if packet.sequence != self.sequence {
            return self.lose(Why::Missing);
        }
        match (packet.kind, self.state) {
            (Kind::Groups | Kind::Cut, State::On(config)) => {
                self.sequence = self.sequence.wrapping_add(1);
                if self.groups(&config, packet, sink).is_none() {
                    self.lose(Why::Malformed);
                }
            }
            (Kind::Sync, State::On(config) | State::Off(config)) => match packet.sync() {
                Some(sync) => {
                    // A sync between instructions of one cycle has the cycle emitted last.
                    let again = u64::from(config.width > 1);
                    let floor = self.cycle.saturating_sub(again);
                    let fits = match self.state {
                        State::On(_) if !self.is_idle() => (floor..=self.cycle).contains(&sync.cycle),
                        _ => sync.cycle >= floor,
                    };
                    if fits && sync.retired == self.retired {
                        self.begin(packet, &sync, sink);
                    } else {
                        self.doubt();
                    }
                }
                None => self.lose(Why::Malformed),
            },
            (Kind::Off, State::On(config)) => match packet.off() {
                Some((cycle, retired))
                    if retired == self.retired
                        && (cycle == self.cycle || self.is_idle() && cycle > self.cycle) =>
                {
                    sink.off(self.offset, Off { cycle, retired });
                    self.cycle = cycle;
                    self.state = State::Off(config);
                    self.sequence = self.sequence.wrapping_add(1);
                }
                Some(_) => self.doubt(),
                None => self.lose(Why::Malformed),
            },
            _ => self.lose(Why::Malformed),
        }
    }

    /// Returns whether nothing was emitted since the last sync. Then all cycles in between are stalls.
    fn is_idle(&self) -> bool {
        self.last.is_some_and(|(sync, _)| (sync.cycle, sync.retired) == (self.cycle, self.retired))
    }

    /// Reports a loss that ends with a sync.
    fn found(&mut self, packet: &Packet<'_>, sync: &Sync, sink: &mut impl DeltaSink) {
        if let State::Lost { why, offset, from, retired } = self.state {
            let from =
                from.filter(|&from| from <= sync.cycle.saturating_add(1)).map(|from| from.min(sync.cycle));
            // More bytes followed what seemed to be cut off by the end.
            let why = match why {
                Why::Truncated if from.is_none() => Why::Begun,
                Why::Truncated => Why::Damaged,
                why => why,
            };
            sink.lost(Lost {
                why,
                offset,
                end: self.offset,
                from,
                to: Some(sync.cycle),
                retired: from.and(retired).and_then(|retired| sync.retired.checked_sub(retired)),
            });
        }
        self.begin(packet, sync, sink);
    }

    fn begin(&mut self, packet: &Packet<'_>, sync: &Sync, sink: &mut impl DeltaSink) {
        sink.sync(self.offset, sync);
        self.last = Some((*sync, self.offset));
        self.state = State::On(sync.config);
        (self.cycle, self.retired) = (sync.cycle, sync.retired);
        self.sequence = packet.sequence.wrapping_add(1);
    }

    /// Emits the groups of a packet. Returns `None` at bits that are not a group.
    fn groups(&mut self, config: &Config, packet: &Packet<'_>, sink: &mut impl DeltaSink) -> Option<()> {
        let mut bits = BitReader::new(packet.payload);
        if config.format == Format::Ac && config.code == Code::Gamma {
            self.pairs(&mut bits, sink);
        }
        let cut = packet.kind == Kind::Cut;
        loop {
            let group = match Group::read(config, &mut bits, cut) {
                Ok(group) => group,
                Err(NoGroup::End) => return Some(()),
                Err(NoGroup::Malformed) => return None,
            };
            self.group(config, group, sink)?;
            if group.is_cut() {
                return Some(());
            }
        }
    }

    /// Emits one group. Returns `None` if its numbers are impossible.
    fn group(&mut self, config: &Config, group: Group, sink: &mut impl DeltaSink) -> Option<()> {
        let (cycles, retired, stalls) = match group {
            Group::Ac { a, c } => (a, a, c),
            Group::Abc { a, b, c } => (a, a.checked_mul(u64::from(config.width))?.checked_sub(b)?, c),
            Group::De { d, e } => (1, d, e.saturating_sub(1)),
        };
        let cycle = self.cycle;
        let next = cycle.checked_add(cycles)?.checked_add(stalls)?;
        let all = self.retired.checked_add(retired)?;
        if cycles > 0 {
            let span = Span { cycle, cycles, retired, width: config.width, amortise: config.amortise };
            if !span.is_possible() {
                return None;
            }
            match span.as_run() {
                Some(run) => sink.run(run),
                None => sink.span(span),
            }
        } else if retired > 0 {
            return None;
        }
        (self.cycle, self.retired) = (next, all);
        Some(())
    }

    /// Emits groups of {A, C} in Elias gamma whose tokens fit one window: the fast path. Stops at the first that does
    /// not.
    #[inline]
    fn pairs(&mut self, bits: &mut BitReader, sink: &mut impl DeltaSink) {
        let (mut cycle, mut retired) = (self.cycle, self.retired);
        // Each token is below 2^29, and a packet has less than 2^11. If this sum does not overflow, none does.
        if cycle.max(retired).checked_add(1 << 42).is_none() {
            return;
        }
        pairs::read(bits, |a, c| {
            if a > 0 {
                sink.run(Run { cycle, cycles: a, each: 1 });
            }
            cycle += a + c;
            retired += a;
        });
        (self.cycle, self.retired) = (cycle, retired);
    }
}
