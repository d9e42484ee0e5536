//! Counts of packets by kind, and distances between synchronisation points.

use tracewright_frames::Lost;

use crate::packets::{Found, PacketsRead, Visitor};
use crate::syntax::{Kind, MOST_KINDS, Role, Syntax};

/// Most losses that are kept one by one.
const MOST_LOSSES: usize = 20;

/// Counts of a buffer's packets.
#[derive(Debug, Default)]
pub struct Counted {
    /// What was read, and what is missing.
    pub read: PacketsRead,
    /// Whether packets name their source.
    pub names_sources: bool,
    /// Counts of each source that was read, by its index in the capture.
    pub sources: Vec<(usize, Counts)>,
    /// Counts of packets that belong to no source.
    pub no_source: Option<Counts>,
    /// The first losses.
    pub lost: Vec<Lost>,
    /// Number of losses.
    pub losses: u64,
    /// Number of bytes lost.
    pub lost_bytes: u64,
}

impl Visitor for Counted {
    fn packet(&mut self, _: &Found<'_>) {}

    fn lost(&mut self, lost: &Lost) {
        if self.lost.len() < MOST_LOSSES {
            self.lost.push(*lost);
        }
        self.losses += 1;
        self.lost_bytes += lost.len;
    }
}

/// Counts of a source's packets.
#[derive(Clone, Debug)]
pub struct Counts {
    kinds: &'static [Kind],
    /// Packets and bytes of each kind.
    by_kind: [(u64, u64); MOST_KINDS],
    /// Name of the points where reading can begin, and a note about them.
    pub synchronisation: (&'static str, &'static str),
    /// Bytes from one synchronisation point to the next.
    pub syncs: Distances,
    /// Packets from one synchronisation point to the next, where packets name their source.
    pub packets_apart: Distances,
    /// Number of packets that also carry a timestamp.
    pub timestamps: u64,
}

impl Counts {
    pub(crate) fn new<T: Syntax>() -> Self {
        const { assert!(T::KINDS.len() <= MOST_KINDS, "too many kinds of packets") };
        Self {
            kinds: T::KINDS,
            by_kind: [(0, 0); MOST_KINDS],
            synchronisation: (T::SYNCHRONISATION, T::SYNCHRONISATION_NOTE),
            syncs: Distances::NEW,
            packets_apart: Distances::NEW,
            timestamps: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn add<T: Syntax>(&mut self, offset: u64, bytes: &[u8], packet: &T::Packet) {
        let kind = T::kind(packet);
        let role = T::KINDS[kind].role;
        if role == Role::Sync {
            self.synchronised::<T>(offset);
        }
        let len = match role {
            Role::Skipped => T::skipped(packet),
            _ => bytes.len() as u64 - u64::from(T::halves(packet).begins_inside),
        };
        let (packets, bytes) = &mut self.by_kind[kind];
        (*packets, *bytes) = (*packets + 1, *bytes + len);
        self.timestamps += u64::from(T::has_timestamp(packet));
    }

    #[inline(never)]
    fn synchronised<T: Syntax>(&mut self, offset: u64) {
        self.syncs.add(offset);
        if T::NAMES_SOURCES {
            self.packets_apart.add(self.by_kind.iter().map(|(packets, _)| packets).sum());
        }
    }

    /// Returns the kinds that occur, most bytes first, each with its number of packets and of bytes.
    pub fn kinds(&self) -> Vec<(&'static Kind, u64, u64)> {
        let rows = self.kinds.iter().zip(self.by_kind);
        let rows = rows.filter(|(_, (packets, _))| *packets > 0);
        let mut rows: Vec<_> = rows.map(|(kind, (packets, bytes))| (kind, packets, bytes)).collect();
        rows.sort_by_key(|&(_, _, bytes)| std::cmp::Reverse(bytes));
        rows
    }

    /// Returns all kinds that the protocol has, with the number of packets of each.
    pub fn all(&self) -> impl Iterator<Item = (&'static Kind, u64)> {
        self.kinds.iter().zip(self.by_kind).map(|(kind, (packets, _))| (kind, packets))
    }

    /// Returns the number of packets and of bytes. Bytes skipped in a row count as one packet, as a [`Visitor`] gets them.
    pub fn total(&self) -> (u64, u64) {
        self.by_kind.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }

    /// Returns the number of bytes skipped.
    pub fn skipped(&self) -> u64 {
        let skipped = self.kinds().into_iter().filter(|(kind, ..)| kind.role == Role::Skipped);
        skipped.map(|(.., bytes)| bytes).sum()
    }
}

/// Distances between synchronisation points.
#[derive(Clone, Debug)]
pub struct Distances {
    /// Number of points.
    pub seen: u64,
    last: u64,
    least: u64,
    most: u64,
    total: u64,
}

impl Distances {
    const NEW: Self = Self { seen: 0, last: 0, least: u64::MAX, most: 0, total: 0 };

    fn add(&mut self, position: u64) {
        if self.seen > 0 {
            let distance = position - self.last;
            self.least = self.least.min(distance);
            self.most = self.most.max(distance);
            self.total += distance;
        }
        self.seen += 1;
        self.last = position;
    }

    /// Returns the least, the mean and the greatest distance, if there are two points.
    pub fn range(&self) -> Option<(u64, u64, u64)> {
        (self.seen > 1).then(|| (self.least, self.total / (self.seen - 1), self.most))
    }
}
