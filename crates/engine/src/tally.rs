use std::fmt;
use std::ops::AddAssign;

use tracewright_core::{GapReason, MemorySpace, Mismatch};

use crate::lane::Lane;
use crate::place::Places;

/// Blocks for each mismatch, at least, if the program is the one that ran.
const FEWEST_BLOCKS: u64 = 10;

/// What was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Blocks.
    pub blocks: u64,
    /// Instructions.
    pub instructions: u64,
    /// Times that code ran which no image has.
    pub no_code: u64,
    /// The first in the file: its offset, the address, the memory space.
    pub first_no_code: Option<(u64, u64, MemorySpace)>,
    /// Times that the program contradicted the trace.
    pub mismatches: u64,
    /// The first in the file: its offset, what it is, the memory space.
    pub first_mismatch: Option<(u64, Mismatch, MemorySpace)>,
    /// Times that instructions ran that no count has: the trace does not tell which, or how often.
    pub unknown_paths: u64,
    /// The first in the file: its offset, where it began, where execution went on, the memory space.
    pub first_unknown_path: Option<(u64, Option<u64>, u64, MemorySpace)>,
    /// Sources that were not decoded to their end, since a limit was reached.
    pub stopped: u64,
    /// Branch targets, where there is no program.
    pub targets: u64,
    /// Bytes of files.
    pub bytes: u64,
    /// Bytes around the trace of sources that are decoded.
    pub bytes_around: u64,
    /// Bytes of sources that nothing here reads.
    pub bytes_unread: u64,
    /// Bytes of sources in gaps, and before the first synchronisation.
    pub bytes_lost: u64,
    /// Those of them that the program could not be followed through.
    pub bytes_unfollowed: u64,
    /// Those of these where no image has the code.
    pub bytes_without_code: u64,
    /// Gaps.
    pub gaps: u64,
    /// Those that are somebody's fault: the start of a ring buffer and overflows are not.
    pub bad_gaps: u64,
    /// The first of the others: where it begins and ends, and why.
    pub first_bad_gap: Option<(u64, u64, GapReason)>,
    /// Messages that are no packets.
    pub malformed: u64,
    /// Where the first of them is, and why.
    pub first_malformed: Option<(u64, Reason)>,
    /// Synchronisation packets with an address.
    pub syncs: u64,
    /// Those whose address no image has.
    pub syncs_outside: u64,
    /// Where the first is.
    pub first_sync: Option<u64>,
    /// Where the first of the others is, and its address.
    pub first_sync_outside: Option<(u64, u64)>,
    /// The packet that a source's trace ends in: its offset, and how many bytes of it there are.
    pub cut: Option<(u64, usize)>,
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.instructions += other.instructions;
        self.no_code += other.no_code;
        self.first_no_code = earlier(self.first_no_code, other.first_no_code, |first| first.0);
        self.mismatches += other.mismatches;
        self.first_mismatch = earlier(self.first_mismatch, other.first_mismatch, |first| first.0);
        self.unknown_paths += other.unknown_paths;
        self.first_unknown_path = earlier(self.first_unknown_path, other.first_unknown_path, |first| first.0);
        self.stopped += other.stopped;
        self.targets += other.targets;
        self.bytes += other.bytes;
        self.bytes_around += other.bytes_around;
        self.bytes_unread += other.bytes_unread;
        self.bytes_lost += other.bytes_lost;
        self.bytes_unfollowed += other.bytes_unfollowed;
        self.bytes_without_code += other.bytes_without_code;
        self.gaps += other.gaps;
        self.bad_gaps += other.bad_gaps;
        self.first_bad_gap = earlier(self.first_bad_gap, other.first_bad_gap, |first| first.0);
        self.malformed += other.malformed;
        self.first_malformed = earlier(self.first_malformed, other.first_malformed, |first| first.0);
        self.syncs += other.syncs;
        self.syncs_outside += other.syncs_outside;
        self.first_sync = earlier(self.first_sync, other.first_sync, |first| *first);
        self.first_sync_outside = earlier(self.first_sync_outside, other.first_sync_outside, |first| first.0);
        self.cut = earlier(self.cut, other.cut, |cut| cut.0);
    }
}

impl Tally {
    /// Whether the program cannot be the one that ran, going by so many bytes of a source's trace.
    ///
    /// With another program than the one that ran, ETMv4 comes to a mismatch every two to six blocks, and goes on at the next address.
    /// E-Trace, which tells few addresses, follows branches through the wrong code for a while, and then is lost up to the next
    /// synchronisation: more than 99 % of all bytes. With the right program both are next to nothing.
    ///
    /// A part of it may be missing, a library for one. A wrong program runs off to where no code is, too. The addresses of
    /// synchronisation packets tell the two apart: so large a part of them is where no code is, so large a part of the bytes may be.
    pub fn is_doubtful(&self, bytes: u64) -> bool {
        let missing = u128::from(bytes) * u128::from(self.syncs_outside) / u128::from(self.syncs.max(1));
        let excused = self.bytes_without_code.min(missing as u64);
        self.mismatches > 0
            && (self.mismatches.saturating_mul(FEWEST_BLOCKS) > self.blocks
                || self.bytes_unfollowed - excused > bytes / 2)
    }

    /// Takes note of the bytes of a file that were read, those of them that are wanted, the lanes that they became, and of each lane the
    /// bytes up to its limit (all, if it has reached none). Bytes after a limit are not counted at all: how many of them were read is
    /// chance.
    pub(crate) fn count_bytes(
        &mut self,
        bytes: u64,
        wanted: u64,
        lanes: &[Lane<'_>],
        decoded: &[u64],
        unread: &[u64],
    ) {
        // Without frames, all lanes see the same bytes.
        let is_shared = lanes.iter().any(|lane| matches!(lane.places, Places::Same));
        let all = |of_lanes: &mut dyn Iterator<Item = u64>| {
            if is_shared { of_lanes.max().unwrap_or(0) } else { of_lanes.sum() }
        };
        let taken = all(&mut lanes.iter().map(|lane| lane.taken));
        let decoded = all(&mut decoded.iter().copied());
        let unread: u64 = unread.iter().sum();
        let share = |of: u64, part: u64, whole: u64| match whole {
            0 => 0,
            _ => (u128::from(of) * u128::from(part) / u128::from(whole)) as u64,
        };
        // Of a part of the file nobody has counted them: they are taken for evenly spread.
        let wanted = if decoded < taken { share(wanted, decoded, taken) } else { wanted };
        let part = |of: u64| share(of, wanted, bytes);
        self.bytes = wanted;
        self.bytes_unread = part(unread);
        self.bytes_around = part(bytes.saturating_sub(taken).saturating_sub(unread));
        self.bytes_lost = self.bytes_lost.min(part(taken));
    }
}

/// Of two sources', which come in any order.
fn earlier<T>(one: Option<T>, other: Option<T>, offset: impl Fn(&T) -> u64) -> Option<T> {
    one.into_iter().chain(other).min_by_key(offset)
}

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What is wrong with it, or nothing.
    pub field: &'static str,
    /// How.
    pub what: &'static str,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            "" => f.write_str(self.what),
            field => write!(f, "{field} {}", self.what),
        }
    }
}
