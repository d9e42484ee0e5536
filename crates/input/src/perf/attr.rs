//! Recorded events (`perf_event_attr`), which define the identifying fields at the end of other records.

use std::collections::HashMap;

use super::walk::Fields;

/// Bits of `sample_type`, in the order of the fields at the end of a record.
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ID: u64 = 1 << 6;
const STREAM_ID: u64 = 1 << 9;
const CPU: u64 = 1 << 7;
const IDENTIFIER: u64 = 1 << 16;
/// All of them; each field has eight bytes.
const FIELDS: [u64; 6] = [TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER];

pub(super) const MOST_ATTRS: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attr {
    sample_type: u64,
    /// Whether all records end with identifying fields, not only samples.
    sample_id_all: bool,
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
        Some(Self { sample_type, sample_id_all: flags >> 18 & 1 == 1, ids: Vec::new() })
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
