//! Iteration over records.

use std::ops::Range;

use super::faults::Faults;
use super::fields::Fields;
use super::record::kind;

/// First type of simpleperf's records, which have 32 bits of size.
const SIMPLEPERF: u32 = 32768;

/// Unparsed record.
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

/// Walk over the records in a part of a file.
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

/// Header of a record.
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
