//! File header: places of events, records and features.

use std::ops::Range;

use super::faults::Faults;
use super::record::{Attr, MOST_ATTRS};
use super::walk::{Fields, section};

/// First bytes of a recording.
pub const MAGIC: &[u8; 8] = b"PERFILE2";

#[derive(Debug, Default)]
pub(super) struct Header {
    pub attrs: Vec<Attr>,
    /// Place of the records.
    pub data: Range<usize>,
    /// Number and place of each feature.
    pub features: Vec<(u32, Range<usize>)>,
}

impl Header {
    /// Reads the header. Reports unreadable parts in `faults`.
    pub fn read(file: &[u8], faults: &mut Faults) -> Result<Self, String> {
        let mut fields = Fields::new(file);
        match fields.take(8) {
            Some(magic) if magic == MAGIC => {}
            Some(b"2ELIFREP") => return Err("recorded on a big-endian machine: not supported".into()),
            Some(b"PERFFILE") => return Err("of a version of perf before 2010: not supported".into()),
            _ => return Err("not a recording of perf: it does not begin with PERFILE2".into()),
        }
        let cut = || "cut off within its header".to_owned();
        let size = fields.u64().ok_or_else(cut)?;
        if size == 16 {
            // Written to a pipe: events and features are records.
            return Ok(Self { data: 16..file.len(), ..Self::default() });
        }
        if size < 72 {
            return Err(format!("its header says that it has {size} bytes: expected 104, or 16 (of a pipe)"));
        }
        let stride = fields.u64().ok_or_else(cut)?;
        let mut sections = [(0, 0); 3];
        for section in &mut sections {
            *section = fields.u64().zip(fields.u64()).ok_or_else(cut)?;
        }
        let [attrs, data, _event_types] = sections;
        let bits = section(file, 72, size.min(104) - 72);
        let mut header = Self { attrs: read_attrs(file, attrs, stride, faults), ..Self::default() };
        let start = data.0.min(file.len() as u64) as usize;
        // perf writes the size when it ends.
        let end = if data.1 == 0 { u64::MAX } else { data.0.saturating_add(data.1) };
        header.data = start..end.min(file.len() as u64) as usize;
        if data.1 == 0 {
            faults.warning("the size of its data is not in the header: was the recorder killed? all is read up to the end of the file");
            return Ok(header);
        }
        if end > file.len() as u64 {
            let missing = end - file.len() as u64;
            faults.error(format!(
                "cut off: {missing} bytes of its records, and all that tells of them, are missing"
            ));
            return Ok(header);
        }
        header.features = features(file, end, bits, faults);
        Ok(header)
    }
}

/// Reads the events of `stride` bytes each; the last 16 bytes give the place of their IDs.
fn read_attrs(file: &[u8], (offset, size): (u64, u64), stride: u64, faults: &mut Faults) -> Vec<Attr> {
    let Some(len) = stride.checked_sub(16).filter(|len| *len >= 64) else {
        faults.error(format!("its events have {stride} bytes each: expected 80 or more"));
        return Vec::new();
    };
    let mut attrs = Vec::new();
    for index in 0..(size / stride).min(MOST_ATTRS as u64) {
        let entry = section(file, offset.saturating_add(index * stride), stride);
        let Some((entry, ids)) = entry.split_at_checked(len as usize) else { break };
        let Some(mut attr) = Attr::read(entry) else { break };
        let mut ids = Fields::new(ids);
        let ids = ids.u64().zip(ids.u64()).map(|(offset, size)| section(file, offset, size));
        attr.ids = words(ids.unwrap_or_default());
        attrs.push(attr);
    }
    if attrs.is_empty() {
        faults.error("it has no events: records cannot be told apart by time and CPU");
    }
    attrs
}

pub(super) fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// Returns the features whose bits are set, from the table that follows the records.
fn features(file: &[u8], table: u64, bits: &[u8], faults: &mut Faults) -> Vec<(u32, Range<usize>)> {
    let set = |bit: &u32| bits.get(*bit as usize / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
    let mut entries = Fields::new(section(file, table, u64::MAX));
    let mut features = Vec::new();
    let mut beyond = Vec::new();
    for feature in (0..256).filter(set) {
        let Some((offset, size)) = entries.u64().zip(entries.u64()) else {
            faults.error("cut off: features of it (build IDs, for one) are missing");
            break;
        };
        let end = offset.saturating_add(size);
        if end > file.len() as u64 {
            beyond.push(feature.to_string());
        }
        let clip = |offset: u64| offset.min(file.len() as u64) as usize;
        features.push((feature, clip(offset)..clip(end)));
    }
    if !beyond.is_empty() {
        let len = file.len();
        let which = match &beyond[..] {
            [one] => format!("feature {one} lies"),
            all => format!("features {} lie", all.join(", ")),
        };
        faults.error(format!(
            "cut off: {which} beyond the end of the file ({len:#x}): what they tell (2: build IDs, 18: where trace is) is missing"
        ));
    }
    features
}
