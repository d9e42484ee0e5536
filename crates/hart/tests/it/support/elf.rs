//! Minimal program files.

/// A segment: its address, its bytes, and the number of zeros after them.
pub struct Segment<'a> {
    pub address: u64,
    pub bytes: &'a [u8],
    pub zeros: u64,
}

/// Makes an ELF file with `code` at `at`, where it starts.
pub fn elf(is_rv32: bool, at: u64, code: &[u8]) -> Vec<u8> {
    elf_of(is_rv32, at, &[Segment { address: at, bytes: code, zeros: 0x2000 }])
}

/// Makes an ELF file with these segments, each readable, writable and executable.
pub fn elf_of(is_rv32: bool, entry: u64, segments: &[Segment<'_>]) -> Vec<u8> {
    let size = |value: u64| {
        if is_rv32 { (value as u32).to_le_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    };
    let (header, program) = if is_rv32 { (52u64, 32u64) } else { (64, 56) };
    let mut file = vec![0x7f, b'E', b'L', b'F', if is_rv32 { 1 } else { 2 }, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend([2, 0, 243, 0, 1, 0, 0, 0]);
    file.extend([size(entry), size(header), size(0)].concat());
    file.extend([0; 4]);
    let count = segments.len() as u64;
    for half in [header, program, count, 0, 0, 0] {
        file.extend((half as u16).to_le_bytes());
    }
    let mut offset = header + program * count;
    for Segment { address, bytes, zeros } in segments {
        let len = bytes.len() as u64;
        let flags = 7u32.to_le_bytes();
        file.extend(1u32.to_le_bytes());
        let fields = [size(offset), size(*address), size(*address), size(len), size(len + zeros)];
        if is_rv32 {
            file.extend(fields.concat());
            file.extend(flags);
        } else {
            file.extend(flags);
            file.extend(fields.concat());
        }
        file.extend(size(0x1000));
        offset += len;
    }
    segments.iter().for_each(|segment| file.extend(segment.bytes));
    file
}
