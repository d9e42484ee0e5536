//! Code of BPF programs, which the recorder asked the kernel for (feature `BPF_PROG_INFO`).

use tracewright_image::Bytes;

use super::faults::Faults;
use super::walk::{Fields, text};
use crate::program::hex;

/// Numbers of the arrays that follow a description; a bit says whether one does.
const JITED_CODE: u32 = 0;
const JITED_ADDRESSES: u32 = 3;
const JITED_LENGTHS: u32 = 4;
const TAGS: u32 = 8;

/// Machine code of a function of a BPF program.
#[derive(Clone, Debug)]
pub(super) struct BpfFunction {
    /// ID of the program.
    pub program: u32,
    pub address: u64,
    pub code: Bytes,
    /// Tag of the function, in hexadecimal digits: a hash of its instructions.
    pub tag: String,
    /// Name that the kernel would give it.
    pub name: String,
}

/// Reads the descriptions of all programs.
pub(super) fn functions(feature: &[u8], faults: &mut Faults) -> Vec<BpfFunction> {
    let mut fields = Fields::new(feature);
    let mut all = Vec::new();
    let count = fields.u32().unwrap_or(0);
    for _ in 0..count {
        if program(&mut fields, &mut all).is_none() {
            faults.warning("its list of BPF programs is damaged: the rest of it is not used");
            break;
        }
    }
    all
}

fn program(fields: &mut Fields<'_>, all: &mut Vec<BpfFunction>) -> Option<()> {
    let (info_len, data_len, arrays) = (fields.u32()?, fields.u32()?, fields.u64()?);
    let (info, data) = (fields.take(info_len as usize)?, fields.take(data_len as usize)?);
    // Older kernels have shorter descriptions.
    let word = |at: usize| Some(u32::from_le_bytes(*info.get(at..)?.first_chunk()?));
    let array = |bit: u32, count_at: usize, offset_at: usize, size: usize| {
        let count = word(count_at).filter(|_| arrays >> bit & 1 == 1).unwrap_or(0) as usize;
        let offset = word(offset_at).unwrap_or(0) as usize;
        let bytes = data.get(offset..)?;
        bytes.get(..count.checked_mul(size)?)
    };
    let code = array(JITED_CODE, 16, 24, 1)?;
    let addresses = array(JITED_ADDRESSES, 104, 112, 8)?;
    let lengths = array(JITED_LENGTHS, 108, 120, 4)?;
    let tags = array(TAGS, 180, 184, 8)?;
    let (id, own_tag, own_name) = (word(4)?, info.get(8..16)?, text(info.get(64..80).unwrap_or_default()));
    let mut at = 0;
    let functions = addresses.as_chunks::<8>().0.iter().zip(lengths.as_chunks::<4>().0);
    for (index, (address, len)) in functions.enumerate() {
        let len = u32::from_le_bytes(*len) as usize;
        let Some(code) = code.get(at..).and_then(|code| code.get(..len)) else { break };
        at += len;
        let tag = hex(tags.as_chunks::<8>().0.get(index).map_or(own_tag, |tag| tag));
        let name = match &*own_name {
            "" => format!("bpf_prog_{tag}"),
            own if index == 0 => format!("bpf_prog_{tag}_{own}"),
            _ => format!("bpf_prog_{tag}_F"),
        };
        let address = u64::from_le_bytes(*address);
        all.push(BpfFunction { program: id, address, code: code.to_vec().into(), tag, name });
    }
    Some(())
}
