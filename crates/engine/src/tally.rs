use std::fmt;
use std::ops::AddAssign;

use tracewright_core::{GapReason, MemorySpace, Mismatch};
use tracewright_etrace::decode as etrace;
use tracewright_input::Protocol;
use tracewright_ntrace::decode as ntrace;

use crate::lane::Lane;
use crate::place::Places;
use crate::{ntrace as ntrace_source, tacit};

/// Fewest blocks for each mismatch if the program is the one that ran.
const FEWEST_BLOCKS: u64 = 10;

/// Totals of what was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Blocks.
    pub blocks: u64,
    /// Instructions.
    pub instructions: u64,
    /// Instructions that ran and were not asked for, in the part of the file that was.
    pub left_out: u64,
    /// Times that executed code is in no image.
    pub no_code: u64,
    /// First of these: offset, address, memory space.
    pub first_no_code: Option<(u64, u64, MemorySpace)>,
    /// Times that the program contradicted the trace.
    pub mismatches: u64,
    /// First of these: offset, mismatch, memory space.
    pub first_mismatch: Option<(u64, Mismatch, MemorySpace)>,
    /// Times that the trace leaves open which instructions ran, or how often. Counts are lower bounds then.
    pub unknown_paths: u64,
    /// Those among them that are endless loops at the end of a source: programs without an operating system end in one. The trace is
    /// whole, but does not tell how often they turned.
    pub endless_loops: u64,
    /// First of the unknown paths: offset, start, where execution continued, memory space.
    pub first_unknown_path: Option<(u64, Option<u64>, u64, MemorySpace)>,
    /// Sources that reached a limit.
    pub stopped: u64,
    /// Branch targets, if decoded without a program.
    pub targets: u64,
    /// Bytes of trace files.
    pub bytes: u64,
    /// Bytes of frames, and of sources that were not asked for.
    pub bytes_around: u64,
    /// Bytes of sources that no protocol reads.
    pub bytes_unread: u64,
    /// Bytes of sources in gaps, and before the first synchronisation.
    pub bytes_lost: u64,
    /// Lost bytes through which the program could not be followed.
    pub bytes_unfollowed: u64,
    /// Part of `bytes_unfollowed` where no image has the code.
    pub bytes_without_code: u64,
    /// Gaps: trace that was lost. The bytes before the first synchronisation are none.
    pub gaps: u64,
    /// First gap: start, end, reason.
    pub first_gap: Option<(u64, u64, GapReason)>,
    /// Times that accesses to memory are missing from data trace.
    pub data_lost: u64,
    /// Bytes that are not a packet: how often.
    pub malformed: u64,
    /// Part of `malformed` before the first synchronisation packet: a ring buffer begins within a message.
    pub malformed_before_sync: u64,
    /// First malformed message: offset and reason.
    pub first_malformed: Option<(u64, Reason)>,
    /// Synchronisation packets with an address.
    pub syncs: u64,
    /// Synchronisation packets whose address is in no image.
    pub syncs_outside: u64,
    /// Offset of the first synchronisation packet.
    pub first_sync: Option<u64>,
    /// First synchronisation packet outside all images: offset and address.
    pub first_sync_outside: Option<(u64, u64)>,
    /// Unfinished packet at the end of a source: offset and number of its bytes.
    pub cut: Option<(u64, usize)>,
    /// Packets of other sources in the same stream.
    pub strangers: Strangers,
}

/// Bytes of packets in a stream that are of none of the sources that are decoded, by the source's number: of the first few numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strangers([Option<(u16, u64)>; 4]);

impl Strangers {
    /// Adds bytes of a source. If there are too many sources, those of the last ones are not counted.
    pub(crate) fn add(&mut self, id: u16, bytes: u64) {
        let is_place = |place: &&mut Option<(u16, u64)>| place.is_none_or(|(of, _)| of == id);
        if let Some(place) = self.0.iter_mut().find(is_place) {
            place.get_or_insert((id, 0)).1 += bytes;
        }
    }

    /// Iterates over the numbers of sources, and their bytes.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        self.0.into_iter().flatten()
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.instructions += other.instructions;
        self.left_out += other.left_out;
        self.no_code += other.no_code;
        self.first_no_code = earlier(self.first_no_code, other.first_no_code, |first| first.0);
        self.mismatches += other.mismatches;
        self.first_mismatch = earlier(self.first_mismatch, other.first_mismatch, |first| first.0);
        self.unknown_paths += other.unknown_paths;
        self.endless_loops += other.endless_loops;
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
        self.first_gap = earlier(self.first_gap, other.first_gap, |first| first.0);
        self.data_lost += other.data_lost;
        self.malformed += other.malformed;
        self.malformed_before_sync += if self.syncs == 0 { other.malformed_before_sync } else { 0 };
        self.first_malformed = earlier(self.first_malformed, other.first_malformed, |first| first.0);
        self.syncs += other.syncs;
        self.syncs_outside += other.syncs_outside;
        self.first_sync = earlier(self.first_sync, other.first_sync, |first| *first);
        self.first_sync_outside = earlier(self.first_sync_outside, other.first_sync_outside, |first| first.0);
        self.cut = earlier(self.cut, other.cut, |cut| cut.0);
        other.strangers.iter().for_each(|(id, bytes)| self.strangers.add(id, bytes));
    }
}

impl Tally {
    /// Returns whether the program cannot be the one that ran, judging by `bytes` of a source's trace.
    ///
    /// With a wrong program, ETMv4 has a mismatch every two to six blocks and resumes at the next address. E-Trace reports few
    /// addresses: it follows branches through the wrong code for a while, and is then lost up to the next synchronisation, which is more
    /// than 99 % of all bytes. With the right program both numbers are close to zero.
    ///
    /// A part of the program may be missing, such as a library; but a wrong program, too, leads to addresses without code. The addresses
    /// of synchronisation packets tell the two apart: the share of them without code is the share of bytes that is excused.
    pub fn is_doubtful(&self, bytes: u64) -> bool {
        let missing = u128::from(bytes) * u128::from(self.syncs_outside) / u128::from(self.syncs.max(1));
        let excused = self.bytes_without_code.min(missing as u64);
        self.mismatches > 0
            && (self.mismatches.saturating_mul(FEWEST_BLOCKS) > self.blocks
                || self.bytes_unfollowed - excused > bytes / 2)
    }

    /// Returns whether a source of a RISC-V protocol may be described wrongly.
    pub fn is_suspicious(&self) -> bool {
        let is_lost = self.gaps > 0 && self.instructions == 0;
        self.malformed > 0 || self.mismatches > 0 || self.strangers.iter().next().is_some() || is_lost
    }

    /// Returns what may be wrong with the description of a source of a RISC-V protocol, in words.
    pub fn advice(&self, protocol: &Protocol) -> Option<String> {
        if self.syncs == 0 && self.malformed == 0 {
            return None;
        }
        let (syncs, outside, first_outside) = (self.syncs, self.syncs_outside, self.first_sync_outside);
        let (mismatches, malformed) = (self.mismatches, self.malformed);
        // Code before the program's, of a boot ROM for example, is often not at hand.
        let resumed = u64::from(self.blocks > 0);
        let advice = if tacit::source(protocol).is_some() {
            let outside = first_outside.filter(|_| 2 * outside > syncs && self.blocks == 0);
            tacit::advice(mismatches, outside)
        } else if ntrace_source(protocol).is_some() {
            let facts = ntrace::Facts::default();
            ntrace::Facts { syncs, outside, first_outside, mismatches, resumed, malformed, ..facts }
                .to_string()
        } else {
            let first_is_outside = first_outside.is_some_and(|(offset, _)| self.first_sync == Some(offset));
            let facts = etrace::Facts { first_is_outside, ..etrace::Facts::default() };
            etrace::Facts { syncs, outside, first_outside, mismatches, resumed, malformed, ..facts }
                .to_string()
        };
        Some(advice).filter(|advice| !advice.is_empty())
    }

    /// Counts the bytes of a file that were read, those that are wanted, and of each lane the bytes up to its limit (all bytes if it
    /// reached none). Bytes after a limit are not counted: how many of them were read depends on chance.
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
        // Within a part of the file they were not counted: assume that they are evenly spread.
        let wanted = if decoded < taken { share(wanted, decoded, taken) } else { wanted };
        let part = |of: u64| share(of, wanted, bytes);
        self.bytes = wanted;
        self.bytes_unread = part(unread);
        self.bytes_around = part(bytes.saturating_sub(taken).saturating_sub(unread));
        self.bytes_lost = self.bytes_lost.min(part(taken));
    }
}

/// Returns the one with the lower offset.
fn earlier<T>(one: Option<T>, other: Option<T>, offset: impl Fn(&T) -> u64) -> Option<T> {
    one.into_iter().chain(other).min_by_key(offset)
}

/// Reason why bytes are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Field that is wrong; empty if it is the packet as a whole.
    pub field: &'static str,
    /// What is wrong with it.
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
