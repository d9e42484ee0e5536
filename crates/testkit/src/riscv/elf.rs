//! Minimal ELF file that Linux runs: a header, two program headers, code and data.

/// Page size: address and file offset must be equal modulo this.
const PAGE: usize = 4096;
/// Size of the file header and two program headers.
const HEADERS: usize = 64 + 2 * 56;

/// A segment: its address, contents, size in memory, and flags.
pub(super) struct Segment<'a> {
    pub address: u64,
    pub bytes: &'a [u8],
    pub len: usize,
    pub flags: u32,
}

pub(super) const READ_EXECUTE: u32 = 5;
pub(super) const READ_WRITE: u32 = 6;

/// Writes a static RV64GC executable.
pub(super) fn write(entry: u64, segments: &[Segment<'_>; 2]) -> Vec<u8> {
    let mut file = Vec::new();
    // 64-bit, little-endian, version 1, System V.
    file.extend(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    half(&mut file, [2, 243]); // An executable for RISC-V.
    word(&mut file, [1]);
    long(&mut file, [entry, 64, 0]);
    word(&mut file, [5]); // Compressed instructions, double-precision calling convention.
    half(&mut file, [64, 56, 2, 0, 0, 0]);

    let mut offset = HEADERS;
    let mut bodies = Vec::new();
    for segment in segments {
        offset += (segment.address as usize).wrapping_sub(offset) % PAGE;
        word(&mut file, [1, segment.flags]);
        let (in_file, in_memory) = (segment.bytes.len() as u64, segment.len as u64);
        long(&mut file, [offset as u64, segment.address, segment.address, in_file, in_memory, PAGE as u64]);
        bodies.push((offset, segment.bytes));
        offset += segment.bytes.len();
    }
    for (offset, bytes) in bodies {
        file.resize(offset, 0);
        file.extend(bytes);
    }
    file
}

fn half<const N: usize>(file: &mut Vec<u8>, values: [u16; N]) {
    file.extend(values.into_iter().flat_map(u16::to_le_bytes));
}

fn word<const N: usize>(file: &mut Vec<u8>, values: [u32; N]) {
    file.extend(values.into_iter().flat_map(u32::to_le_bytes));
}

fn long<const N: usize>(file: &mut Vec<u8>, values: [u64; N]) {
    file.extend(values.into_iter().flat_map(u64::to_le_bytes));
}
