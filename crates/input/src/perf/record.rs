//! Records about mappings and trace, and the recorded events (`perf_event_attr`), which define the identifying fields
//! at the end of other records.

use std::collections::HashMap;

use super::walk::{Fields, text};
use crate::program::hex;

/// Types of records.
pub(super) mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const FORK: u32 = 7;
    pub const MMAP2: u32 = 10;
    pub const AUX: u32 = 11;
    pub const ITRACE_START: u32 = 12;
    pub const KSYMBOL: u32 = 17;
    pub const BPF_EVENT: u32 = 18;
    pub const TEXT_POKE: u32 = 20;
    pub const AUX_OUTPUT_HW_ID: u32 = 21;
    /// First type of the recorder's own records, which have no identifying fields.
    pub const USER: u32 = 64;
    pub const ATTR: u32 = 64;
    pub const TRACING_DATA: u32 = 66;
    pub const BUILD_ID: u32 = 67;
    pub const AUXTRACE_INFO: u32 = 70;
    pub const AUXTRACE: u32 = 71;
    pub const TIME_CONV: u32 = 79;
    pub const FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;

    /// Records of the kernel that are read.
    pub const OF_INTEREST: [u32; 12] = [
        MMAP,
        LOST,
        COMM,
        EXIT,
        FORK,
        MMAP2,
        AUX,
        ITRACE_START,
        KSYMBOL,
        BPF_EVENT,
        TEXT_POKE,
        AUX_OUTPUT_HW_ID,
    ];

    /// Returns whether such records are documented (perf of Linux 6.12, simpleperf of 2025), of interest or
    /// not.
    pub fn is_known(kind: u32) -> bool {
        matches!(kind, MMAP..=22 | USER..=86 | 32769..=32778)
    }
}

/// Bits of `misc`.
const CPU_MODE: u16 = 7;
const KERNEL: u16 = 1;
const GUEST_KERNEL: u16 = 4;
const GUEST_USER: u16 = 5;
/// MMAP: the mapping is not executable.
const MMAP_DATA: u16 = 1 << 13;
/// COMM: the process has started another program.
const COMM_EXEC: u16 = 1 << 13;
/// FORK: the recorder synthesised the record.
const FORK_EXEC: u16 = 1 << 13;
/// MMAP2: a build ID replaces device and inode.
const MMAP_BUILD_ID: u16 = 1 << 14;
/// BUILD_ID: its length is given.
const BUILD_ID_SIZE: u16 = 1 << 15;
const PROT_EXEC: u32 = 4;

/// Process ID that perf uses for the kernel.
pub(super) const NO_PROCESS: u32 = u32::MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mmap {
    pub pid: u32,
    pub tid: u32,
    pub start: u64,
    pub len: u64,
    /// File offset of the byte at `start`.
    pub offset: u64,
    pub path: String,
    pub build_id: Option<BuildId>,
    pub executable: bool,
    /// Whether the mapping is in the kernel.
    pub kernel: bool,
}

/// Build ID without padding zeros.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct BuildId(pub Vec<u8>);

impl BuildId {
    /// Creates a build ID of at most twenty bytes. Without a given length, zeros at the end are padding.
    /// Returns `None` if there is none.
    pub fn new(bytes: &[u8], len: Option<usize>) -> Option<Self> {
        let bytes = &bytes[..bytes.len().min(20)];
        let len = match len {
            Some(len) => len.min(bytes.len()),
            None => bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1),
        };
        bytes[..len].iter().any(|&byte| byte != 0).then(|| Self(bytes[..len].to_vec()))
    }

    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Returns whether a file with the build ID `found` is the one that ran. Zeros at the end may be part of
    /// it.
    pub fn is(&self, found: &[u8]) -> bool {
        found.strip_prefix(&*self.0).is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
    }
}

impl Mmap {
    /// Reads an MMAP or MMAP2 (`new`) record.
    pub fn read(body: &[u8], misc: u16, new: bool) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (pid, tid) = (fields.u32()?, fields.u32()?);
        let (start, len, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        // Mappings of guests are in no traced memory.
        let is_guest = [GUEST_KERNEL, GUEST_USER].contains(&(misc & CPU_MODE));
        let mut executable = misc & MMAP_DATA == 0;
        let mut build_id = None;
        if new {
            let identity = fields.take(24)?;
            if misc & MMAP_BUILD_ID != 0 {
                build_id = BuildId::new(&identity[4..], Some(identity[0].into()));
            }
            let (protection, _flags) = (fields.u32()?, fields.u32()?);
            executable = protection & PROT_EXEC != 0;
        }
        let path = text(fields.rest);
        let kernel = misc & CPU_MODE == KERNEL || pid == NO_PROCESS;
        let executable = executable && !is_guest;
        Some(Self { pid, tid, start, len, offset, path, build_id, executable, kernel })
    }
}

/// Name of a process, or a change of its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comm {
    pub pid: u32,
    pub tid: u32,
    pub name: String,
    pub exec: bool,
}

impl Comm {
    pub fn read(body: &[u8], misc: u16) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (pid, tid) = (fields.u32()?, fields.u32()?);
        Some(Self { pid, tid, name: text(fields.rest), exec: misc & COMM_EXEC != 0 })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fork {
    pub pid: u32,
    pub parent: u32,
    pub tid: u32,
    /// Thread that made this one, or that ended.
    pub parent_tid: u32,
    pub time: u64,
    /// FORK: whether the process was found running and inherits nothing from its parent.
    pub fresh: bool,
}

impl Fork {
    pub fn read(body: &[u8], misc: u16) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (pid, parent, tid, parent_tid) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
        Some(Self { pid, parent, tid, parent_tid, time: fields.u64()?, fresh: misc & FORK_EXEC != 0 })
    }
}

/// Trace that the kernel put into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Aux {
    pub offset: u64,
    pub size: u64,
    pub flags: AuxFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AuxFlags(u64);

impl AuxFlags {
    /// Trace was lost.
    pub const TRUNCATED: u64 = 1;
    /// A ring was read, so that the offset is its end.
    pub const OVERWRITE: u64 = 2;
    /// Trace has gaps.
    pub const PARTIAL: u64 = 4;
    /// Trace collided with a sample.
    pub const COLLISION: u64 = 8;

    pub fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// Returns the packing of CoreSight trace: 0 in frames, 1 raw.
    pub fn format(self) -> u8 {
        (self.0 >> 8) as u8
    }
}

impl Aux {
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(body);
        Some(Self { offset: fields.u64()?, size: fields.u64()?, flags: AuxFlags(fields.u64()?) })
    }
}

/// Trace that the recorder took from a buffer; its bytes follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Auxtrace {
    /// Number of bytes, and their offset in the buffer.
    pub size: u64,
    pub offset: u64,
    /// CPU of the buffer; `None` for a thread's buffer.
    pub cpu: Option<u32>,
    pub tid: u32,
}

impl Auxtrace {
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (size, offset, _reference) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (_index, tid, cpu) = (fields.u32()?, fields.u32()?, fields.u32()?);
        Some(Self { size, offset, cpu: (cpu != u32::MAX).then_some(cpu), tid })
    }
}

/// Reads a build ID record: a file and its build ID.
pub(super) fn build_id(body: &[u8], misc: u16) -> Option<(String, BuildId)> {
    let mut fields = Fields::new(body);
    let _pid = fields.u32()?;
    let id = fields.take(24)?;
    let len = (misc & BUILD_ID_SIZE != 0).then(|| id[20].into());
    Some((text(fields.rest), BuildId::new(&id[..20], len)?))
}

/// Bits of `sample_type`, in the order of the fields at the end of a record.
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ID: u64 = 1 << 6;
const STREAM_ID: u64 = 1 << 9;
const CPU: u64 = 1 << 7;
const IDENTIFIER: u64 = 1 << 16;
/// All of them; each field has eight bytes.
const FIELDS: [u64; 6] = [TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER];

const CLOCK_MONOTONIC: u32 = 1;

pub(super) const MOST_ATTRS: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attr {
    sample_type: u64,
    /// Whether all records end with identifying fields, not only samples.
    sample_id_all: bool,
    /// Clock of its times; `None` for the kernel's own.
    clock: Option<u32>,
    pub ids: Vec<u64>,
}

/// Identifying fields at the end of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SampleId {
    pub pid: Option<u32>,
    pub tid: Option<u32>,
    pub time: Option<u64>,
    pub cpu: Option<u32>,
}

impl Attr {
    /// Reads a `perf_event_attr` of any length; ignores the bytes after the fields of interest.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(bytes);
        fields.take(24)?;
        let sample_type = fields.u64()?;
        let _read_format = fields.u64()?;
        let flags = fields.u64()?;
        let clock = bytes.get(92..96).and_then(|bytes| Fields::new(bytes).u32());
        let clock = clock.filter(|_| flags >> 25 & 1 == 1);
        Some(Self { sample_type, sample_id_all: flags >> 18 & 1 == 1, clock, ids: Vec::new() })
    }

    /// Returns the length of the fields in bytes.
    fn trailer(&self) -> usize {
        let has = |field: &&u64| self.sample_type & **field != 0;
        if self.sample_id_all { 8 * FIELDS.iter().filter(has).count() } else { 0 }
    }

    fn sample_id(&self, trailer: &[u8]) -> Option<SampleId> {
        let mut fields = Fields::new(trailer);
        let mut id = SampleId::default();
        for field in FIELDS.into_iter().filter(|field| self.sample_type & field != 0) {
            match field {
                TID => (id.pid, id.tid) = (Some(fields.u32()?), Some(fields.u32()?)),
                TIME => id.time = Some(fields.u64()?),
                CPU => (id.cpu, _) = (Some(fields.u32()?), fields.u32()?),
                _ => drop(fields.u64()?),
            }
        }
        Some(id)
    }
}

#[derive(Debug, Default)]
pub(super) struct Attrs {
    all: Vec<Attr>,
    by_id: HashMap<u64, usize>,
    /// Whether records are told apart by the ID at their end.
    by_identifier: bool,
}

impl Attrs {
    pub fn push(&mut self, attr: Attr) {
        if self.all.len() >= MOST_ATTRS {
            return;
        }
        self.by_id.extend(attr.ids.iter().map(|id| (*id, self.all.len())));
        self.all.push(attr);
        let differ = self.all.iter().any(|attr| attr.trailer() != self.all[0].trailer());
        self.by_identifier = differ && self.all.iter().all(|attr| attr.sample_type & IDENTIFIER != 0);
    }

    /// Returns whether all times are of `CLOCK_MONOTONIC`.
    pub fn are_monotonic(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(|attr| attr.clock == Some(CLOCK_MONOTONIC))
    }

    /// Splits a kernel record into its body and its identifying fields. Returns `None` if it is too short for
    /// them.
    pub fn split<'a>(&self, body: &'a [u8]) -> Option<(&'a [u8], SampleId)> {
        let Some(first) = self.all.first() else { return Some((body, SampleId::default())) };
        let attr = if self.by_identifier {
            let id = u64::from_le_bytes(*body.last_chunk()?);
            self.by_id.get(&id).map_or(first, |&index| &self.all[index])
        } else {
            first
        };
        let (body, trailer) = body.split_at(body.len().checked_sub(attr.trailer())?);
        Some((body, if trailer.is_empty() { SampleId::default() } else { attr.sample_id(trailer)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_is_as_long_as_is_told() {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 0]);
        assert_eq!(BuildId::new(&bytes, None).unwrap().hex(), "01020304050607");
        assert_eq!(BuildId::new(&bytes, Some(8)).unwrap().hex(), "0102030405060700");
        assert_eq!(BuildId::new(&[0; 20], None), None);
        let told = BuildId::new(&bytes, None).unwrap();
        assert!(told.is(&[1, 2, 3, 4, 5, 6, 7, 0]), "a zero at the end is part of the file's");
        assert!(!told.is(&[1, 2, 3, 4, 5, 6, 7, 8]) && !told.is(&[1, 2, 3]));
    }

    fn attr(sample_type: u64) -> Attr {
        let mut bytes = [0; 112];
        bytes[24..32].copy_from_slice(&sample_type.to_le_bytes());
        bytes[42] = 1 << 2;
        Attr::read(&bytes).unwrap()
    }

    fn split<'a>(attrs: &[Attr], body: &'a [u8]) -> Option<(&'a [u8], SampleId)> {
        let mut all = Attrs::default();
        attrs.iter().cloned().for_each(|attr| all.push(attr));
        all.split(body)
    }

    #[test]
    fn fields_come_in_the_order_of_the_kernel() {
        let words: Vec<u8> = [7, 0x0000_0022_0000_0011, 33, 44, 55, 66, 77].map(u64::to_le_bytes).concat();
        let all = attr(TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER);
        let (body, id) = split(&[all], &words).unwrap();
        assert_eq!(body, 7u64.to_le_bytes());
        assert_eq!(id, SampleId { pid: Some(0x11), tid: Some(0x22), time: Some(33), cpu: Some(66) });
        assert!(split(&[attr(TID | TIME)], &words[..8]).is_none(), "too short");
        assert_eq!(split(&[], &words).unwrap().0.len(), words.len(), "without events there are no fields");
    }

    #[test]
    fn the_event_is_found_by_its_id_where_events_differ() {
        let one = Attr { ids: vec![1], ..attr(IDENTIFIER) };
        let two = Attr { ids: vec![2], ..attr(TIME | IDENTIFIER) };
        let words: Vec<u8> = [9, 5, 2].map(u64::to_le_bytes).concat();
        let (body, id) = split(&[one.clone(), two.clone()], &words).unwrap();
        assert_eq!((body.len(), id.time), (8, Some(5)));
        let words: Vec<u8> = [9, 5, 1].map(u64::to_le_bytes).concat();
        let (body, id) = split(&[one, two], &words).unwrap();
        assert_eq!((body.len(), id.time), (16, None));
    }
}
