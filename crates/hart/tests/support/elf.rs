//! The smallest program files.

/// An ELF file with all of `code` at `at`.
pub fn elf(is_rv32: bool, at: u64, code: &[u8]) -> Vec<u8> {
    let size = |value: u64| {
        if is_rv32 { (value as u32).to_le_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
    };
    let (header, program) = if is_rv32 { (52u64, 32u64) } else { (64, 56) };
    let mut file = vec![0x7f, b'E', b'L', b'F', if is_rv32 { 1 } else { 2 }, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend([2, 0, 243, 0, 1, 0, 0, 0]);
    file.extend([size(at), size(header), size(0)].concat());
    file.extend([0; 4]);
    for half in [header, program, 1, 0, 0, 0] {
        file.extend((half as u16).to_le_bytes());
    }
    let len = code.len() as u64;
    let flags = 7u32.to_le_bytes();
    file.extend(1u32.to_le_bytes());
    let fields = [size(header + program), size(at), size(at), size(len), size(len + 0x2000)];
    if is_rv32 {
        file.extend(fields.concat());
        file.extend(flags);
    } else {
        file.extend(flags);
        file.extend(fields.concat());
    }
    file.extend(size(0x1000));
    file.extend(code);
    file
}
