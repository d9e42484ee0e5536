//! A program whose names are others.

/// Returns a 64-bit ELF file with the same code in which each function's name begins with one of `names`, and the names of source files
/// have hostile characters in the place of theirs.
pub fn renamed(elf: &[u8], names: &[&str]) -> Vec<u8> {
    let mut file = elf.to_vec();
    let sections = long(elf, 0x28);
    let header = |number: usize| sections + 64 * number;
    let count = usize::from(u16::from_le_bytes([elf[0x3c], elf[0x3d]]));
    let kind = |number: usize| word(elf, header(number) + 4);
    let symtab = (0..count).find(|&number| kind(number) == 2).unwrap();
    let strtab = word(elf, header(symtab) + 40) as usize;
    let (from, len) = (long(elf, header(strtab) + 24), long(elf, header(strtab) + 32));
    let mut strings = elf[from..][..len].to_vec();
    let (symbols, bytes) = (long(elf, header(symtab) + 24), long(elf, header(symtab) + 32));
    for (number, at) in
        (symbols..symbols + bytes).step_by(24).filter(|&at| elf[at + 4] & 0xf == 2).enumerate()
    {
        let name = &elf[from + word(elf, at) as usize..];
        let name = name.split(|&byte| byte == 0).next().unwrap();
        // The program's own is one that a test asks for.
        let prefix = if name == b"main" { names[1] } else { names[number % names.len()] };
        let renamed = [prefix.as_bytes(), name, b"\0"].concat();
        file[at..at + 4].copy_from_slice(&(strings.len() as u32).to_le_bytes());
        strings.extend(renamed);
    }
    let at = file.len() as u64;
    file[header(strtab) + 24..][..8].copy_from_slice(&at.to_le_bytes());
    file[header(strtab) + 32..][..8].copy_from_slice(&(strings.len() as u64).to_le_bytes());
    file.extend(strings);
    for (name, other) in [
        ("programs/args.c", "p\x1b[31m\nFORGED\x7f"),
        ("programs/runtime/linux.c", "=\u{202e}\n FORGED\u{9b}\t\"<&>"),
        ("programs/runtime/print.c", "@\r\nFORGED,\",\x07"),
        ("print_string\0", "\n\x1b[1mFORGED"),
        ("mix_bytes\0", "\n\x1b[1mFORG"),
    ] {
        let mut other = other.as_bytes().to_vec();
        other.resize(name.trim_end_matches('\0').len(), b'_');
        if name.ends_with('\0') {
            other.push(0);
        }
        // In all sections of debug information; symbols were renamed above.
        let places: Vec<_> =
            (0..elf.len() - name.len()).filter(|&at| elf[at..].starts_with(name.as_bytes())).collect();
        assert!(!places.is_empty(), "{name}");
        places.iter().for_each(|&at| file[at..][..other.len()].copy_from_slice(&other));
    }
    file
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}
