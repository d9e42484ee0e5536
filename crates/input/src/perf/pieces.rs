//! Trace bytes of a file: what the kernel wrote (AUX), within what the recorder saved (AUXTRACE).
//!
//! Each AUX record is a separate piece, because trace may be missing between two of them.

use std::collections::BTreeMap;

use super::faults::Faults;
use super::record::AuxFlags;
use super::recording::{AuxRecord, Recording, Trace};
use super::units::Units;
use crate::problem::{Severity, Subject};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Owner {
    Cpu(u32),
    Thread(u32),
}

/// Continuous trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub owner: Owner,
    /// Index of the recording's trace, offset in it, and length.
    pub trace: usize,
    pub from: u64,
    pub len: u64,
    /// Whether the trace is in frames.
    pub framed: bool,
    /// Time when it was written to the buffer, with CPU and thread.
    pub time: Option<u64>,
    pub cpu: Option<u32>,
    pub tid: Option<u32>,
}

/// Counts of AUX records by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Flagged records: trace was lost, has gaps, or collided with a sample.
    pub truncated: u64,
    pub partial: u64,
    pub collision: u64,
    /// Records in an unknown packing.
    pub unknown: u64,
    /// Records whose trace is not in the file.
    pub missing: u64,
    pub missing_bytes: u64,
    /// Bytes that no record describes.
    pub undescribed_bytes: u64,
}

/// Returns the pieces of a recording, in file order for each owner, and what happened to the rest.
pub(super) fn pieces(
    recording: &Recording<'_>,
    units: &Units,
    faults: &mut Faults,
) -> (Vec<Piece>, BTreeMap<Owner, Tally>) {
    let mut owners: BTreeMap<Owner, Claims<'_>> = BTreeMap::new();
    for (index, trace) in recording.traces.iter().enumerate() {
        owners.entry(owner(trace)).or_default().traces.push(index);
    }
    let only = if owners.len() == 1 { owners.keys().next().copied() } else { None };
    for record in &recording.aux {
        let told = [record.id.cpu.map(Owner::Cpu), record.id.tid.map(Owner::Thread)].into_iter().flatten();
        let known =
            told.clone().find(|owner| owners.get(owner).is_some_and(|claims| !claims.traces.is_empty()));
        // Without CPU and thread, it belongs to the only owner there is.
        let is_told = record.id.cpu.is_some() || record.id.tid.is_some();
        match known.or(only.filter(|_| !is_told)).or(told.into_iter().next()) {
            Some(owner) => owners.entry(owner).or_default().records.push(record),
            None => {
                let kind =
                    "AUX records without a CPU and a thread: what they tell of is not cut where it should be";
                faults.repeated(Severity::Warning, Subject::Trace, kind, || kind.into());
            }
        }
    }
    let mut pieces = Vec::new();
    let mut tallies = BTreeMap::new();
    for (owner, claims) in owners {
        tallies.insert(owner, claims.pieces(owner, &recording.traces, units, &mut pieces));
    }
    (pieces, tallies)
}

fn owner(trace: &Trace) -> Owner {
    match trace.auxtrace.cpu {
        Some(cpu) => Owner::Cpu(cpu),
        None => Owner::Thread(trace.auxtrace.tid),
    }
}

/// Traces of an owner, and the records that describe them.
#[derive(Default)]
struct Claims<'a> {
    traces: Vec<usize>,
    records: Vec<&'a AuxRecord>,
}

impl Claims<'_> {
    fn pieces(mut self, owner: Owner, all: &[Trace], units: &Units, pieces: &mut Vec<Piece>) -> Tally {
        let mut tally = Tally::default();
        self.traces.sort_by_key(|&trace| all[trace].auxtrace.offset);
        let ends: Vec<u64> = (0..self.traces.len()).map(|index| self.end(index, all)).collect();
        let mut claims: Vec<(u64, u64, &AuxRecord)> = Vec::new();
        for record in &self.records {
            tally.count(record.aux.flags, units);
            let (start, end) = self.place(record, all, &ends);
            if start < end {
                claims.push((start, end, record));
            }
        }
        claims.sort_by_key(|&(start, ..)| start);
        let first = pieces.len();
        // All bytes before this are claimed: bytes that are described twice are read once.
        let mut claimed = 0;
        for (start, end, record) in claims {
            let mut found = claimed.min(end).saturating_sub(start);
            let from = start.max(claimed);
            let before = self.traces.partition_point(|&trace| all[trace].auxtrace.offset <= from);
            for (&trace, &trace_end) in self.traces.iter().zip(&ends).skip(before.saturating_sub(1)) {
                let offset = all[trace].auxtrace.offset;
                if offset >= end {
                    break;
                }
                let (from, to) = (start.max(offset).max(claimed), end.min(trace_end));
                if from < to {
                    found += to - from;
                    claimed = to;
                    pieces.push(Piece {
                        owner,
                        trace,
                        from: from - offset,
                        len: to - from,
                        framed: units.is_framed(record.aux.flags.format()),
                        time: record.id.time,
                        cpu: record.id.cpu,
                        tid: record.id.tid,
                    });
                }
            }
            if found < end - start {
                tally.missing += 1;
                tally.missing_bytes = tally.missing_bytes.saturating_add(end - start - found);
            }
        }
        if !self.records.iter().any(|record| record.aux.flags.has(AuxFlags::OVERWRITE)) {
            let format = self.records.first().map_or(0, |record| record.aux.flags.format());
            self.undescribed(owner, all, (&ends, units.is_framed(format)), pieces, first, &mut tally);
        }
        pieces[first..].sort_by_key(|piece| {
            let Trace { file, at, .. } = all[piece.trace];
            (file, at, piece.from)
        });
        tally
    }

    /// Returns the offset in the owner's buffer behind the trace at `index`.
    fn end(&self, index: usize, all: &[Trace]) -> u64 {
        let Trace { auxtrace, len, packed, .. } = &all[self.traces[index]];
        // The unpacked size is known only when it is read.
        let size = if *packed { u64::MAX } else { *len };
        let end = auxtrace.offset.saturating_add(size);
        let next = self.traces.get(index + 1).map_or(u64::MAX, |&next| all[next].auxtrace.offset);
        end.min(next)
    }

    /// Returns the offsets in the owner's buffer where the bytes of a record begin and end.
    fn place(&self, AuxRecord { aux, .. }: &AuxRecord, all: &[Trace], ends: &[u64]) -> (u64, u64) {
        if !aux.flags.has(AuxFlags::OVERWRITE) {
            return (aux.offset, aux.offset.saturating_add(aux.size));
        }
        // In a ring the offset is the end, and only the saved part is there.
        let before = self.traces.partition_point(|&trace| all[trace].auxtrace.offset < aux.offset);
        let start = before.checked_sub(1).map(|index| (all[self.traces[index]].auxtrace.offset, ends[index]));
        match start {
            Some((start, end)) => {
                let end = aux.offset.min(end);
                (end.saturating_sub(aux.size).max(start), end)
            }
            None => (aux.offset.saturating_sub(aux.size), aux.offset),
        }
    }

    /// Appends pieces for bytes that no record describes, since records may have been lost.
    fn undescribed(
        &self,
        owner: Owner,
        all: &[Trace],
        (ends, framed): (&[u64], bool),
        pieces: &mut Vec<Piece>,
        first: usize,
        tally: &mut Tally,
    ) {
        let told = pieces[first..].to_vec();
        let mut told = told.iter().peekable();
        for (index, &trace) in self.traces.iter().enumerate() {
            let Trace { auxtrace, packed, .. } = &all[trace];
            if *packed {
                continue;
            }
            let mut at = 0;
            let end = ends[index].saturating_sub(auxtrace.offset);
            loop {
                let next = told.next_if(|piece| piece.trace == trace);
                let to = next.map_or(end, |piece| piece.from);
                // Trace is padded to eight bytes.
                if to.saturating_sub(at) >= 8 {
                    tally.undescribed_bytes += to - at;
                    let (cpu, tid) = match owner {
                        Owner::Cpu(cpu) => (Some(cpu), None),
                        Owner::Thread(tid) => (None, Some(tid)),
                    };
                    pieces.push(Piece { owner, trace, from: at, len: to - at, framed, time: None, cpu, tid });
                }
                match next {
                    Some(piece) => at = piece.from + piece.len,
                    None => break,
                }
            }
        }
    }
}

impl Tally {
    fn count(&mut self, flags: AuxFlags, units: &Units) {
        self.truncated += u64::from(flags.has(AuxFlags::TRUNCATED));
        self.partial += u64::from(flags.has(AuxFlags::PARTIAL));
        self.collision += u64::from(flags.has(AuxFlags::COLLISION));
        self.unknown += u64::from(!units.is_known(flags.format()));
    }
}
