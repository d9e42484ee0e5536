//! Branch lists as bytes: messages of Protocol Buffers. Today each lies behind its length, behind a head; once there was just one.

use tracewright_core::protobuf::{Message, Value};

use super::{BranchList, Listed, ListedKind, Outcomes};
use crate::export::protobuf::Writer;

const MAGIC: &[u8] = b"simpleperf:EtmBranchList";
const VERSION: u32 = 1;
/// More branches have not run anywhere; and sums of fewer, of all instructions up to the next branch, fit into 64 bits.
const MOST: u64 = 1 << 48;
/// Nothing is compressed to less than one in this.
const MOST_RATIO: usize = 200;
/// Tag and length of the magic in the old form, in which it is the first field.
const OLD: &[u8] = &[0x0a, 24];

/// Whether bytes begin as a branch list does.
#[must_use]
pub fn is_branch_list(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.strip_prefix(OLD).is_some_and(|rest| rest.starts_with(MAGIC))
}

/// Reads a branch list, of either form. `unpack` undoes zstd.
///
/// # Errors
/// What is wrong, and where.
pub fn read(bytes: &[u8], unpack: impl Fn(&[u8]) -> Result<Vec<u8>, String>) -> Result<BranchList, String> {
    let mut list = BranchList::default();
    if !bytes.starts_with(MAGIC) {
        message(bytes, 0, &mut list)?;
        return checked(list);
    }
    let mut at = MAGIC.len();
    let head = bytes.get(at..at + 5).ok_or("a branch list that is cut off in its head")?;
    let (version, packed) = (u32::from_le_bytes([head[0], head[1], head[2], head[3]]), head[4]);
    if version != VERSION {
        return Err(format!("a branch list of version {version}: only {VERSION} is known"));
    }
    at += 5;
    // Memory stays in proportion to the file.
    let mut room = bytes.len().saturating_mul(MOST_RATIO).saturating_add(1 << 20);
    while at < bytes.len() {
        let cut_off =
            || format!("offset {at:#x}: the branch list is cut off: whole parts before that are not used");
        let len: [u8; 4] = bytes.get(at..at + 4).and_then(|len| len.try_into().ok()).ok_or_else(cut_off)?;
        let start = at + 4;
        let part = start.checked_add(u32::from_le_bytes(len) as usize).and_then(|end| bytes.get(start..end));
        let part = part.ok_or_else(cut_off)?;
        if packed == 0 {
            message(part, start, &mut list)?;
        } else {
            let part = unpack(part).map_err(|why| format!("offset {start:#x}: {why}"))?;
            room = room.checked_sub(part.len()).ok_or_else(|| {
                format!("offset {start:#x}: the branch list is far larger than what it was compressed to: it is damaged")
            })?;
            message(&part, start, &mut list)?;
        }
        at = start + part.len();
    }
    checked(list)
}

/// A list whose sums can be made.
fn checked(list: BranchList) -> Result<BranchList, String> {
    let branches = list.binaries.iter().flat_map(|binary| binary.branches.values()).flatten();
    let total = branches.map(|(outcomes, count)| u128::from(outcomes.len) * u128::from(*count)).sum::<u128>();
    if total > MOST.into() {
        return Err(format!("the branch list tells of {total} branches: it is damaged"));
    }
    Ok(list)
}

/// A branch list as simpleperf writes it now, not compressed.
#[must_use]
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

/// A message with binaries, which begins at `offset` of the file.
fn message(bytes: &[u8], offset: usize, list: &mut BranchList) -> Result<(), String> {
    let wrong = || format!("the branch list is damaged in the part that begins at offset {offset:#x}");
    for field in Message::new(bytes) {
        let (number, value) = field.map_err(|_| wrong())?;
        // 3 is what branch records (LBR) told, on other processors.
        if let (2, Value::Bytes(bytes)) = (number, value) {
            list.binaries.push(listed(bytes).ok_or_else(wrong)?);
        }
    }
    Ok(())
}

fn listed(bytes: &[u8]) -> Option<Listed> {
    let mut binary = Listed::default();
    for field in Message::new(bytes) {
        let (number, value) = field.ok()?;
        match (number, value) {
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
                    let (number, value) = field.ok()?;
                    if let (1, Value::Number(start)) = (number, value) {
                        // 0 says that addresses are those it was linked for.
                        binary.kernel_start = Some(start).filter(|start| *start != 0);
                    }
                }
            }
            _ => {}
        }
    }
    Some(binary)
}

/// An address and what came next there.
fn address(bytes: &[u8], binary: &mut Listed) -> Option<()> {
    let (mut from, mut branches) = (0, Vec::new());
    for field in Message::new(bytes) {
        let (number, value) = field.ok()?;
        match (number, value) {
            (1, Value::Number(address)) => from = address,
            (2, Value::Bytes(branch)) => {
                let (mut bits, mut len, mut count): (&[u8], u64, u64) = (&[], 0, 0);
                for field in Message::new(branch) {
                    let (number, value) = field.ok()?;
                    match (number, value) {
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
