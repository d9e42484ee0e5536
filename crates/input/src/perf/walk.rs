//! Iteration over records, and over the little-endian fields of one.

use std::ops::Range;

use super::faults::Faults;
use super::record::kind;

/// First type of simpleperf's records, which have 32 bits of size.
const SIMPLEPERF: u32 = 32768;

#[derive(Clone, Debug)]
pub(super) struct Raw<'a> {
    /// Offset of the record.
    pub at: usize,
    pub kind: u32,
    pub misc: u16,
    pub body: &'a [u8],
    /// Bytes that follow the record and belong to it, but are not counted in its size.
    pub payload: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Walk<'a> {
    file: &'a [u8],
    /// Offset of the next record.
    pub at: usize,
    end: usize,
}

impl<'a> Walk<'a> {
    /// Creates a walk over the records in `range` of the file.
    pub fn new(file: &'a [u8], range: Range<usize>) -> Self {
        Self { file, at: range.start, end: range.end }
    }

    /// Returns the next record; `None` at the end, or where there is no record.
    pub fn next(&mut self, faults: &mut Faults) -> Option<Raw<'a>> {
        let rest = self.file.get(self.at..self.end)?;
        if rest.is_empty() {
            return None;
        }
        let Some((header, body)) = parse(rest) else {
            // A size beyond the end belongs to a record that was cut off.
            let why = match header(rest) {
                None if rest.len() >= 8 => "no record, as its size says: nothing is read from there on",
                _ => "a record is cut off: nothing is read from there on",
            };
            faults.record(why, self.at as u64);
            return None;
        };
        let after = self.at + header.size;
        let len = trailing(header.kind, header.size, body);
        let end = (after as u64).saturating_add(len).min(self.end as u64) as usize;
        if ((end - after) as u64) < len {
            faults.record("trace bytes are cut off", after as u64);
        }
        let at = std::mem::replace(&mut self.at, end);
        Some(Raw { at, kind: header.kind, misc: header.misc, body, payload: after..end })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RecordHeader {
    pub kind: u32,
    pub misc: u16,
    /// Size of the record with its header, in bytes.
    pub size: usize,
}

/// Reads the header at the start of `bytes`; `None` if it is truncated or states too small a size.
pub(super) fn header(bytes: &[u8]) -> Option<RecordHeader> {
    let mut fields = Fields::new(bytes);
    let (kind, misc, size) = (fields.u32()?, fields.u16()?, fields.u16()?);
    if kind >= SIMPLEPERF {
        let size = usize::from(misc) << 16 | usize::from(size);
        return (size >= 8).then_some(RecordHeader { kind, misc: 0, size });
    }
    (size >= 8).then_some(RecordHeader { kind, misc, size: size.into() })
}

/// Reads header and body of the record at the start of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Option<(RecordHeader, &[u8])> {
    let header = header(bytes)?;
    Some((header, bytes.get(8..header.size)?))
}

/// Returns how many bytes follow a record without being counted in its size.
fn trailing(record: u32, size: usize, body: &[u8]) -> u64 {
    let mut fields = Fields::new(body);
    match record {
        kind::AUXTRACE => fields.u64().unwrap_or(0),
        // simpleperf includes them.
        kind::TRACING_DATA if size == 12 => {
            u64::from(fields.u32().unwrap_or(0)).checked_next_multiple_of(8).unwrap_or(0)
        }
        _ => 0,
    }
}

/// Rest of a slice. If too little is left, nothing is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a length and as many bytes: a string up to its first zero.
    pub fn string(&mut self) -> Option<String> {
        let len = self.u32()?;
        self.take(len as usize).map(text)
    }
}

/// Returns the text before the first zero.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Returns the given section of a file, as far as the file goes.
pub(super) fn section(bytes: &[u8], offset: u64, size: u64) -> &[u8] {
    let len = bytes.len() as u64;
    let start = offset.min(len);
    let end = offset.saturating_add(size).min(len);
    &bytes[start as usize..end as usize]
}
