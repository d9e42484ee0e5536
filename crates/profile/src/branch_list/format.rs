//! Branch lists as bytes: Protocol Buffers messages. The current form has a header, then messages that each follow
//! their length. The old form is one message.

use std::fmt::{self, Display};

use tracewright_core::protobuf::{Message, Value};

use super::{BranchList, Listed, ListedKind, Outcomes};
use crate::export::protobuf::Writer;

const MAGIC: &[u8] = b"simpleperf:EtmBranchList";
const VERSION: u32 = 1;
/// Upper bound on the branches of a list. With it, the instructions up to each branch add up to less than 2^64.
const MOST: u64 = 1 << 48;
/// Upper bound on the compression ratio of a part.
const MOST_RATIO: usize = 200;
/// Tag and length of the magic in the old form, where it is the first field.
const OLD: &[u8] = &[0x0a, 24];

/// Error of [reading](read) a branch list. Numbers are offsets in the file unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The header is cut off.
    Header,
    /// The version (the number) is not supported.
    Version(u32),
    /// The list is cut off here.
    Cut(usize),
    /// A part cannot be decompressed.
    Packed {
        /// Offset of the part.
        offset: usize,
        /// Message of the decompressor.
        why: String,
    },
    /// A part expands to more than any real list does.
    Expands(usize),
    /// A part is malformed.
    Damaged(usize),
    /// The counts add up to more branches (the number) than can have run.
    TooMany(u128),
}

impl Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => write!(f, "a branch list that is cut off in its head"),
            Self::Version(version) => {
                write!(f, "a branch list of version {version}: only {VERSION} is known")
            }
            Self::Cut(at) => {
                write!(f, "offset {at:#x}: the branch list is cut off: whole parts before that are not used")
            }
            Self::Packed { offset, why } => write!(f, "offset {offset:#x}: {why}"),
            Self::Expands(at) => write!(
                f,
                "offset {at:#x}: the branch list is far larger than what it was compressed to: it is damaged"
            ),
            Self::Damaged(at) => {
                write!(f, "the branch list is damaged in the part that begins at offset {at:#x}")
            }
            Self::TooMany(count) => write!(f, "the branch list tells of {count} branches: it is damaged"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Returns whether `bytes` begin like a branch list.
pub fn is_branch_list(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.strip_prefix(OLD).is_some_and(|rest| rest.starts_with(MAGIC))
}

/// Reads a branch list of either form. `unpack` decompresses zstd.
///
/// # Errors
/// Returns an error if the bytes are damaged, of an unknown version, or cannot be decompressed.
pub fn read<E: Display>(
    bytes: &[u8],
    unpack: impl Fn(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<BranchList, ReadError> {
    let mut list = BranchList::default();
    if !bytes.starts_with(MAGIC) {
        message(bytes, 0, &mut list)?;
        return checked(list);
    }
    let mut at = MAGIC.len();
    let head = bytes.get(at..at + 5).ok_or(ReadError::Header)?;
    let (version, packed) = (u32::from_le_bytes([head[0], head[1], head[2], head[3]]), head[4]);
    if version != VERSION {
        return Err(ReadError::Version(version));
    }
    at += 5;
    // Keeps memory in proportion to the file.
    let mut room = bytes.len().saturating_mul(MOST_RATIO).saturating_add(1 << 20);
    while at < bytes.len() {
        let cut_off = ReadError::Cut(at);
        let Some(len) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { return Err(cut_off) };
        let start = at + 4;
        let part = start.checked_add(u32::from_le_bytes(*len) as usize).and_then(|end| bytes.get(start..end));
        let part = part.ok_or(cut_off)?;
        if packed == 0 {
            message(part, start, &mut list)?;
        } else {
            let part =
                unpack(part).map_err(|why| ReadError::Packed { offset: start, why: why.to_string() })?;
            room = room.checked_sub(part.len()).ok_or(ReadError::Expands(start))?;
            message(&part, start, &mut list)?;
        }
        at = start + part.len();
    }
    checked(list)
}

/// Refuses a list whose counts add up to more than [`MOST`].
fn checked(list: BranchList) -> Result<BranchList, ReadError> {
    let branches = list.binaries.iter().flat_map(|binary| binary.branches.values()).flatten();
    let total = branches.map(|(outcomes, count)| u128::from(outcomes.len) * u128::from(*count)).sum::<u128>();
    if total > MOST.into() {
        return Err(ReadError::TooMany(total));
    }
    Ok(list)
}

/// Writes a branch list in simpleperf's current form, uncompressed.
pub fn write(list: &BranchList) -> Vec<u8> {
    let mut all = Writer::default();
    for binary in &list.binaries {
        let mut of = Writer::default();
        of.bytes(1, binary.path.as_bytes());
        let id: String = binary.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        of.bytes(2, id.as_bytes());
        for (&address, branches) in &binary.branches {
            let mut from = Writer::default();
            from.nonzero(1, address);
            for (outcomes, &count) in branches {
                let mut branch = Writer::default();
                branch.bytes(1, &outcomes.bits);
                branch.nonzero(2, outcomes.len.into());
                branch.nonzero(3, count);
                from.message(2, &branch);
            }
            of.message(3, &from);
        }
        let kind = [ListedKind::Elf, ListedKind::Kernel, ListedKind::Module];
        let kind = kind.iter().position(|kind| *kind == binary.kind).unwrap_or(0);
        of.nonzero(4, kind as u64);
        if let Some(start) = binary.kernel_start {
            let mut info = Writer::default();
            info.nonzero(1, start);
            of.message(5, &info);
        }
        all.message(2, &of);
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.push(0);
    bytes.extend((all.as_bytes().len() as u32).to_le_bytes());
    bytes.extend(all.as_bytes());
    bytes
}

/// Reads a message with binaries that begins at `offset` of the file.
fn message(bytes: &[u8], offset: usize, list: &mut BranchList) -> Result<(), ReadError> {
    let wrong = || ReadError::Damaged(offset);
    for field in Message::new(bytes) {
        // Field 3 holds what branch records (LBR) gave on other processors.
        if let (2, Value::Bytes(bytes)) = field.map_err(|_| wrong())? {
            list.binaries.push(listed(bytes).ok_or_else(wrong)?);
        }
    }
    Ok(())
}

fn listed(bytes: &[u8]) -> Option<Listed> {
    let mut binary = Listed::default();
    for field in Message::new(bytes) {
        match field.ok()? {
            (1, Value::Bytes(path)) => binary.path = String::from_utf8_lossy(path).into_owned(),
            (2, Value::Bytes(id)) => {
                let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                let id = id.strip_prefix(b"0x").unwrap_or(id);
                binary.build_id = id.chunks(2).map(byte).collect::<Option<_>>()?;
            }
            (3, Value::Bytes(from)) => address(from, &mut binary)?,
            (4, Value::Number(kind)) => {
                binary.kind = match kind {
                    0 => ListedKind::Elf,
                    1 => ListedKind::Kernel,
                    2 => ListedKind::Module,
                    _ => return None,
                };
            }
            (5, Value::Bytes(info)) => {
                for field in Message::new(info) {
                    if let (1, Value::Number(start)) = field.ok()? {
                        // 0 means that addresses are link-time addresses.
                        binary.kernel_start = Some(start).filter(|start| *start != 0);
                    }
                }
            }
            _ => {}
        }
    }
    Some(binary)
}

/// Reads an address and the branches after it.
fn address(bytes: &[u8], binary: &mut Listed) -> Option<()> {
    let (mut from, mut branches) = (0, Vec::new());
    for field in Message::new(bytes) {
        match field.ok()? {
            (1, Value::Number(address)) => from = address,
            (2, Value::Bytes(branch)) => {
                let (mut bits, mut len, mut count): (&[u8], u64, u64) = (&[], 0, 0);
                for field in Message::new(branch) {
                    match field.ok()? {
                        (1, Value::Bytes(bytes)) => bits = bytes,
                        (2, Value::Number(number)) => len = number,
                        (3, Value::Number(number)) => count = number,
                        _ => {}
                    }
                }
                branches.push((Outcomes::new(bits, u32::try_from(len).ok()?)?, count));
            }
            _ => {}
        }
    }
    for (outcomes, count) in branches {
        let known = binary.branches.entry(from).or_default().entry(outcomes).or_default();
        *known = known.saturating_add(count);
    }
    Some(())
}
