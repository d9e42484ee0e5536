//! Features: the machine, the mapped files, and the places of trace.

use std::collections::HashMap;

use tracewright_core::protobuf::{Message, Value};

use super::bpf::{self, BpfFunction};
use super::faults::Faults;
use super::header::words;
use super::record::{BuildId, build_id};
use super::walk::{Fields, parse, text};

/// Numbers of features.
pub(super) mod feature {
    pub const BUILD_ID: u32 = 2;
    pub const OSRELEASE: u32 = 4;
    pub const ARCH: u32 = 6;
    pub const CMDLINE: u32 = 11;
    pub const AUXTRACE: u32 = 18;
    pub const PMU_MAPPINGS: u32 = 16;
    pub const BPF_PROG_INFO: u32 = 25;
    // Features of simpleperf.
    pub const FILE: u32 = 128;
    pub const META_INFO: u32 = 129;
    pub const FILE2: u32 = 132;
    pub const ETM_BRANCH_LIST: u32 = 133;
    pub const INIT_MAP: u32 = 134;
}

/// Type of a kernel module in simpleperf.
const KERNEL_MODULE: u64 = 1;

#[derive(Debug, Default)]
pub(super) struct Features<'a> {
    /// Files and their build IDs.
    pub build_ids: HashMap<String, BuildId>,
    /// Version of the kernel.
    pub release: Option<String>,
    /// Machine, such as `aarch64`.
    pub arch: Option<String>,
    /// Command line of the recorder.
    pub command: Vec<String>,
    /// Numbers and names of the kernel's units of measurement.
    pub units: Vec<(u32, String)>,
    /// Version of simpleperf.
    pub simpleperf: Option<String>,
    /// Offsets of AUXTRACE records.
    pub index: Vec<u64>,
    /// Code of BPF programs.
    pub bpf: Vec<BpfFunction>,
    /// Branch list, if the recorder has decoded the trace (`simpleperf record --decode-etm`).
    pub branch_list: Option<&'a [u8]>,
    /// Records of earlier mappings.
    pub init_map: Option<&'a [u8]>,
    /// Offset of `.text` from the start of each kernel module.
    pub modules: HashMap<String, u64>,
}

impl<'a> Features<'a> {
    /// Reads a feature, if it is of interest.
    pub fn take(&mut self, number: u32, bytes: &'a [u8], faults: &mut Faults) {
        match number {
            feature::BUILD_ID => self.take_build_ids(bytes, faults),
            feature::OSRELEASE => self.release = Fields::new(bytes).string(),
            feature::ARCH => self.arch = Fields::new(bytes).string(),
            feature::CMDLINE => self.command = strings(bytes),
            feature::PMU_MAPPINGS => self.units = units(bytes),
            feature::AUXTRACE => self.index = index(bytes, faults),
            feature::BPF_PROG_INFO => self.bpf = bpf::functions(bytes, faults),
            feature::META_INFO => self.take_meta_info(bytes),
            feature::FILE => self.take_files(bytes, module_in_file, faults),
            feature::FILE2 => self.take_files(bytes, module_in_file2, faults),
            feature::ETM_BRANCH_LIST => self.branch_list = Some(bytes),
            feature::INIT_MAP => self.init_map = Some(bytes),
            _ => {}
        }
    }

    /// Reads a build ID, from this list or from a record.
    pub fn take_build_id(&mut self, body: &[u8], misc: u16) -> Option<()> {
        let (path, id) = build_id(body, misc)?;
        self.build_ids.insert(path, id);
        Some(())
    }

    fn take_build_ids(&mut self, mut bytes: &[u8], faults: &mut Faults) {
        while !bytes.is_empty() {
            let Some((header, body)) = parse(bytes) else {
                return faults.warning("its list of build IDs is damaged: the rest of it is not used");
            };
            // An entry without a build ID is ignored.
            let _ = self.take_build_id(body, header.misc);
            bytes = &bytes[header.size..];
        }
    }

    fn take_meta_info(&mut self, bytes: &[u8]) {
        let mut words = bytes.split(|&byte| byte == 0);
        while let Some((key, value)) = words.next().zip(words.next()) {
            if key == b"simpleperf_version" {
                self.simpleperf = Some(text(value));
            }
        }
    }

    fn take_files(&mut self, bytes: &[u8], read: fn(&[u8]) -> Option<(String, u64)>, faults: &mut Faults) {
        let mut fields = Fields::new(bytes);
        while !fields.rest.is_empty() {
            let Some(file) = fields.u32().and_then(|len| fields.take(len as usize)) else {
                return faults.warning("its list of files is damaged: the rest of it is not used");
            };
            self.modules.extend(read(file));
        }
    }
}

fn strings(bytes: &[u8]) -> Vec<String> {
    let mut fields = Fields::new(bytes);
    let count = fields.u32().unwrap_or(0);
    (0..count).map_while(|_| fields.string()).collect()
}

/// Reads numbers with their names.
fn units(bytes: &[u8]) -> Vec<(u32, String)> {
    let mut fields = Fields::new(bytes);
    let count = fields.u32().unwrap_or(0);
    (0..count).map_while(|_| Some((fields.u32()?, fields.string()?))).collect()
}

/// Reads the offsets of AUXTRACE records: pairs of offset and size. Linux perf has a count before them,
/// simpleperf does not.
fn index(bytes: &[u8], faults: &mut Faults) -> Vec<u64> {
    let words = words(bytes);
    let (pairs, count) = match words.split_first() {
        Some((count, pairs)) if words.len() % 2 == 1 => (pairs, Some(*count)),
        _ => (&words[..], None),
    };
    if !bytes.len().is_multiple_of(8) || count.is_some_and(|count| count != pairs.len() as u64 / 2) {
        faults.warning("its index of trace is damaged: trace is found without it");
    }
    pairs.chunks(2).map(|pair| pair[0]).collect()
}

/// Reads a kernel module in simpleperf's older form.
fn module_in_file(bytes: &[u8]) -> Option<(String, u64)> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    let mut fields = Fields::new(&bytes[end + 1..]);
    let (kind, min_address, symbols) = (fields.u32()?, fields.u64()?, fields.u32()?);
    if u64::from(kind) != KERNEL_MODULE {
        return None;
    }
    for _ in 0..symbols {
        fields.take(12)?;
        let name = fields.rest.iter().position(|&byte| byte == 0)?;
        fields.take(name + 1)?;
    }
    let memory_offset = fields.u64()?;
    Some((text(bytes), memory_offset.wrapping_sub(min_address)))
}

/// Reads a kernel module in simpleperf's newer form, a protocol buffer.
fn module_in_file2(bytes: &[u8]) -> Option<(String, u64)> {
    let (mut path, mut kind, mut min_address, mut memory_offset) = (None, 0, 0, None);
    // A truncated message is left out.
    for (field, value) in Message::new(bytes).map_while(Result::ok) {
        match (field, value) {
            (1, Value::Bytes(bytes)) => path = Some(String::from_utf8_lossy(bytes).into_owned()),
            (2, Value::Number(number)) => kind = number,
            (3, Value::Number(number)) => min_address = number,
            (7, Value::Bytes(module)) => {
                let offset = Message::new(module).find_map(|field| match field {
                    Ok((1, Value::Number(number))) => Some(number),
                    _ => None,
                });
                memory_offset = Some(offset.unwrap_or(0));
            }
            _ => {}
        }
    }
    (kind == KERNEL_MODULE).then_some(())?;
    Some((path?, memory_offset?.wrapping_sub(min_address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_index_is_read_with_and_without_a_count() {
        let mut faults = Faults::default();
        assert_eq!(index(&bytes(&[2, 100, 48, 300, 48]), &mut faults), [100, 300]);
        assert_eq!(index(&bytes(&[100, 48, 300, 48]), &mut faults), [100, 300]);
        assert_eq!(index(&[], &mut faults), [0; 0]);
        assert_eq!(faults.problems("x".as_ref()).count(), 0);
    }

    #[test]
    fn a_count_that_is_wrong_is_told() {
        let mut faults = Faults::default();
        assert_eq!(index(&bytes(&[7, 100, 48]), &mut faults), [100]);
        assert_eq!(faults.problems("x".as_ref()).count(), 1);
    }

    #[test]
    fn modules_of_the_older_form() {
        let mut file = b"/m/x.ko\0".to_vec();
        file.extend(1u32.to_le_bytes());
        file.extend(0x40u64.to_le_bytes());
        file.extend(1u32.to_le_bytes());
        file.extend([0; 12]);
        file.extend(b"symbol\0");
        file.extend(0x1040u64.to_le_bytes());
        assert_eq!(module_in_file(&file), Some(("/m/x.ko".into(), 0x1000)));
        file.truncate(file.len() - 1);
        assert_eq!(module_in_file(&file), None);
    }
}
