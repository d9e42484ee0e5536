//! Records one after another.

use std::ops::Range;

use super::faults::Faults;
use super::fields::Fields;
use super::record::kind;

/// Types from here on are simpleperf's, with 32 bits of size.
const SIMPLEPERF: u32 = 32768;

/// A record, not looked into.
#[derive(Clone, Debug)]
pub(super) struct Raw<'a> {
    /// Where it begins.
    pub at: usize,
    pub kind: u32,
    pub misc: u16,
    pub body: &'a [u8],
    /// Bytes that belong to it and follow it, in the file: they are not counted in its size.
    pub payload: Range<usize>,
}

/// Walks over the records in a part of a file.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    file: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Walk<'a> {
    /// Of those in `range`, which is in the file.
    pub fn new(file: &'a [u8], range: Range<usize>) -> Self {
        Self { file, at: range.start, end: range.end }
    }

    /// Where the next record begins.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Goes on at a place further on.
    pub fn skip_to(&mut self, at: usize) {
        self.at = at.clamp(self.at, self.end);
    }

    /// The next record; `None` at the end, or where there is no record.
    pub fn next(&mut self, faults: &mut Faults) -> Option<Raw<'a>> {
        let rest = self.file.get(self.at..self.end)?;
        if rest.is_empty() {
            return None;
        }
        let Some((header, body)) = parse(rest) else {
            // A size that goes beyond the end is that of a record of which the rest is missing.
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

/// The header of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordHeader {
    pub kind: u32,
    pub misc: u16,
    /// Bytes of the record with its header.
    pub size: usize,
}

/// The header of the record at the start of `bytes`; `None` if it is cut short or says that it is too small.
pub(super) fn header(bytes: &[u8]) -> Option<RecordHeader> {
    let mut fields = Fields::new(bytes);
    let (kind, misc, size) = (fields.u32()?, fields.u16()?, fields.u16()?);
    if kind >= SIMPLEPERF {
        let size = usize::from(misc) << 16 | usize::from(size);
        return (size >= 8).then_some(RecordHeader { kind, misc: 0, size });
    }
    (size >= 8).then_some(RecordHeader { kind, misc, size: size.into() })
}

/// The record at the start of `bytes`: its header and its body.
pub(super) fn parse(bytes: &[u8]) -> Option<(RecordHeader, &[u8])> {
    let header = header(bytes)?;
    Some((header, bytes.get(8..header.size)?))
}

/// How many bytes follow a record that are not counted in its size.
fn trailing(record: u32, size: usize, body: &[u8]) -> u64 {
    let mut fields = Fields::new(body);
    match record {
        kind::AUXTRACE => fields.u64().unwrap_or(0),
        // simpleperf has them inside.
        kind::TRACING_DATA if size == 12 => {
            u64::from(fields.u32().unwrap_or(0)).checked_next_multiple_of(8).unwrap_or(0)
        }
        _ => 0,
    }
}
