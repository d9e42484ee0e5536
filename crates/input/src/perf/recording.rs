//! Content of all records of a recording.

use std::collections::BTreeMap;

use super::faults::Faults;
use super::features::Features;
use super::header::Header;
use super::kernel::{Ksymbol, Poke, loaded_program};
use super::map_names::Named;
use super::record::{Attr, Attrs, Aux, Auxtrace, Comm, Fork, Mmap, SampleId, kind};
use super::time::TimeConversion;
use super::timeline::Code;
use super::unpack::{is_packed, unpack};
use super::walk::{Fields, Raw, Walk, header, parse};

/// Most mappings, names and threads that are kept, to bound memory.
const MOST_EVENTS: usize = 1 << 21;
/// Largest compression ratio of records, so that memory stays in proportion to the file.
const MOST_RATIO: u64 = 200;
/// Most unknown types of records that are counted.
const MOST_UNKNOWN: usize = 100;
/// Largest unpacked record.
const MOST_UNPACKED: usize = 64 << 20;

const TOO_SHORT: &str = "a record is too short for what it should hold: not used";

/// Content of a recording, in file order.
#[derive(Debug, Default)]
pub(super) struct Recording<'a> {
    /// Description of the trace units (AUXTRACE_INFO).
    pub info: Option<&'a [u8]>,
    /// Trace IDs of CPUs: the kernel's value, and the CPU.
    pub hardware_ids: Vec<(u64, u32)>,
    pub aux: Vec<AuxRecord>,
    pub traces: Vec<Trace>,
    /// Mappings and executions of threads over time.
    pub events: Vec<Event>,
    pub features: Features<'a>,
    /// Whether records were compressed; simpleperf then compresses trace as well.
    pub is_compressed: bool,
    /// Conversion from the trace's counter to the clock of all records.
    pub time: Option<TimeConversion>,
    /// Whether the clock of all records is the monotonic one.
    pub is_monotonic: bool,
    /// Number of records that the kernel had no room for.
    pub lost: u64,
    /// Unknown types of records: their number, and the position of the first.
    pub unknown: BTreeMap<u32, (u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct AuxRecord {
    pub aux: Aux,
    pub id: SampleId,
}

/// Trace bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trace {
    pub auxtrace: Auxtrace,
    /// Index of the recording's file.
    pub file: usize,
    /// Offset in the file, and length.
    pub at: u64,
    pub len: u64,
    /// Whether the bytes are compressed.
    pub packed: bool,
}

/// Event of a process.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// Time; the state at the start of the recording has none.
    pub time: u64,
    pub what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Mmap(Mmap),
    Comm(Comm),
    Fork(Fork),
    Exit(Fork),
    /// Execution of a thread.
    Thread {
        pid: u32,
        tid: u32,
    },
    /// Code that a process made.
    Code(Code),
    /// Function of a process whose code is unknown.
    Named(Named),
    /// Function that came into the kernel, or went.
    Ksymbol(Ksymbol),
    /// ID of a BPF program that was loaded.
    BpfLoaded(u32),
    /// Change of the kernel's code.
    Poke(Box<Poke>),
}

/// Reader of the records of a recording's files.
#[derive(Debug)]
pub(super) struct Reader<'a, 'f> {
    recording: Recording<'a>,
    attrs: Attrs,
    faults: &'f mut Faults,
    /// Index of the current file.
    file: usize,
}

impl<'a, 'f> Reader<'a, 'f> {
    pub fn new(faults: &'f mut Faults) -> Self {
        Self { recording: Recording::default(), attrs: Attrs::default(), faults, file: 0 }
    }

    /// Reads the first file.
    pub fn first(&mut self, file: &'a [u8]) -> Result<(), String> {
        let header = Header::read(file, self.faults)?;
        header.attrs.into_iter().for_each(|attr| self.attrs.push(attr));
        for (number, range) in header.features {
            self.recording.features.take(number, &file[range], self.faults);
        }
        if let Some(map) = self.recording.features.init_map {
            self.records(map, 0..map.len());
        }
        self.records(file, header.data);
        Ok(())
    }

    /// Reads a further file, which has only records.
    pub fn further(&mut self, file: &'a [u8]) {
        self.file += 1;
        self.records(file, 0..file.len());
    }

    /// Returns the content of all records.
    pub fn finish(self) -> Recording<'a> {
        let Self { mut recording, faults, attrs, .. } = self;
        recording.is_monotonic = attrs.are_monotonic();
        if recording.events.len() >= MOST_EVENTS {
            faults.warning(format!("more than {MOST_EVENTS} mappings and threads: the rest is not used"));
        }
        recording.events.sort_by_key(|event| event.time);
        // Only simpleperf compresses trace, together with everything else.
        if !recording.is_compressed {
            recording.traces.iter_mut().for_each(|trace| trace.packed = false);
        }
        recording
    }

    fn records(&mut self, file: &'a [u8], range: std::ops::Range<usize>) {
        let mut walk = Walk::new(file, range.clone());
        let mut packed = Vec::new();
        loop {
            while let Some(raw) = walk.next(self.faults) {
                match raw.kind {
                    kind::COMPRESSED => packed.push(raw.body),
                    kind::COMPRESSED2 => packed.push(compressed2(raw.body)),
                    _ => self.record(file, &raw),
                }
            }
            // After a place without a record, one with trace may follow.
            let index = self.recording.features.index.iter().filter(|_| self.file == 0);
            let next = index.filter_map(|&at| usize::try_from(at).ok());
            let Some(at) = next.filter(|&at| walk.at < at && at < range.end).min() else { break };
            walk.at = at;
        }
        if !packed.is_empty() {
            self.recording.is_compressed = true;
            self.unpacked(&packed);
        }
    }

    /// Reads compressed records from `parts`. They come after the uncompressed ones; all have a time.
    fn unpacked(&mut self, parts: &[&[u8]]) {
        let mut carry: Vec<u8> = Vec::new();
        let mut is_broken = false;
        let result = unpack(parts, MOST_RATIO, |bytes| {
            carry.extend_from_slice(bytes);
            let mut at = 0;
            while let Some((header, body)) = parse(&carry[at..]) {
                self.note_unknown(0, header.kind);
                self.kernel_record(0, header.kind, header.misc, body);
                at += header.size;
            }
            carry.drain(..at);
            let is_record = header(&carry).is_some_and(|header| header.size <= MOST_UNPACKED);
            is_broken = carry.len() >= 8 && !is_record;
            !is_broken
        });
        if let Err(error) = result {
            self.faults.error(error.to_string());
        }
        if is_broken {
            self.faults
                .error("what was compressed is no record from some point on: the rest of it is not read");
        }
    }

    fn record(&mut self, file: &[u8], raw: &Raw<'a>) {
        let Raw { at, kind, misc, body, ref payload } = *raw;
        self.note_unknown(at as u64, kind);
        let done = match kind {
            ..kind::USER => {
                self.kernel_record(at as u64, kind, misc, body);
                return;
            }
            kind::ATTR => self.attr(body),
            kind::FEATURE => self.feature(body),
            kind::BUILD_ID => {
                // A record without a build ID is ignored.
                let _ = self.recording.features.take_build_id(body, misc);
                Some(())
            }
            kind::AUXTRACE_INFO => {
                self.recording.info.get_or_insert(body);
                Some(())
            }
            kind::TIME_CONV => TimeConversion::read(body).map(|time| self.recording.time = Some(time)),
            kind::AUXTRACE => Auxtrace::read(body).map(|auxtrace| {
                let (at, len) = (payload.start as u64, payload.len() as u64);
                let packed = is_packed(&file[payload.clone()]);
                self.recording.traces.push(Trace { auxtrace, file: self.file, at, len, packed });
            }),
            // Of no interest, or unknown.
            _ => Some(()),
        };
        if done.is_none() {
            self.faults.record(TOO_SHORT, at as u64);
        }
    }

    fn note_unknown(&mut self, at: u64, kind: u32) {
        let unknown = &mut self.recording.unknown;
        if !kind::is_known(kind) && (unknown.len() < MOST_UNKNOWN || unknown.contains_key(&kind)) {
            unknown.entry(kind).or_insert((0, at)).0 += 1;
        }
    }

    /// Reads a record that the kernel makes, or the recorder in its place.
    fn kernel_record(&mut self, at: u64, kind: u32, misc: u16, body: &[u8]) {
        if kind::OF_INTEREST.contains(&kind) && self.try_kernel_record(kind, misc, body).is_none() {
            self.faults.record(TOO_SHORT, at);
        }
    }

    fn try_kernel_record(&mut self, kind: u32, misc: u16, body: &[u8]) -> Option<()> {
        let (body, id) = self.attrs.split(body)?;
        let mut fields = Fields::new(body);
        let what = match kind {
            kind::MMAP | kind::MMAP2 => What::Mmap(Mmap::read(body, misc, kind == kind::MMAP2)?),
            kind::COMM => What::Comm(Comm::read(body, misc)?),
            kind::FORK => What::Fork(Fork::read(body, misc)?),
            kind::EXIT => What::Exit(Fork::read(body, misc)?),
            kind::ITRACE_START => What::Thread { pid: fields.u32()?, tid: fields.u32()? },
            kind::KSYMBOL => What::Ksymbol(Ksymbol::read(body)?),
            kind::BPF_EVENT => match loaded_program(body)? {
                Some(program) => What::BpfLoaded(program),
                None => return Some(()),
            },
            kind::TEXT_POKE => What::Poke(Poke::read(body)?.into()),
            kind::AUX => {
                let aux = Aux::read(body)?;
                self.recording.aux.push(AuxRecord { aux, id });
                return Some(());
            }
            kind::LOST => {
                let (_id, count) = (fields.u64()?, fields.u64()?);
                self.recording.lost = self.recording.lost.saturating_add(count);
                return Some(());
            }
            kind::AUX_OUTPUT_HW_ID => {
                let hardware_id = fields.u64()?;
                self.recording.hardware_ids.push((hardware_id, id.cpu?));
                return Some(());
            }
            _ => return Some(()),
        };
        let time = match &what {
            What::Fork(fork) | What::Exit(fork) => id.time.unwrap_or(fork.time),
            _ => id.time.unwrap_or(0),
        };
        if self.recording.events.len() < MOST_EVENTS {
            self.recording.events.push(Event { time, what });
        }
        Some(())
    }

    /// Reads an event of a recording that was written to a pipe.
    fn attr(&mut self, body: &[u8]) -> Option<()> {
        let mut attr = Attr::read(body)?;
        let len = u32::from_le_bytes(*body.get(4..)?.first_chunk()?) as usize;
        attr.ids = super::header::words(body.get(len..)?);
        self.attrs.push(attr);
        Some(())
    }

    /// Reads a feature of a recording that was written to a pipe.
    fn feature(&mut self, body: &'a [u8]) -> Option<()> {
        let mut fields = Fields::new(body);
        let number = u32::try_from(fields.u64()?).ok()?;
        self.recording.features.take(number, fields.rest, self.faults);
        Some(())
    }
}

/// Returns the compressed bytes of a record that gives their number.
fn compressed2(body: &[u8]) -> &[u8] {
    let mut fields = Fields::new(body);
    let len = fields.u64().unwrap_or(0);
    let rest = fields.rest;
    &rest[..rest.len().min(usize::try_from(len).unwrap_or(usize::MAX))]
}
