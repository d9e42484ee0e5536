//! Minimal ELF files made by hand.
#![allow(dead_code, reason = "each test uses a part")]

pub mod program;

use tracewright_core::MemorySpace;
use tracewright_image::{Image, Place};

pub const ANY: MemorySpace = MemorySpace::ANY;

/// Loads a valid ELF file.
pub fn load(bytes: Vec<u8>, at: impl Into<Place>) -> Image {
    let mut builder = Image::builder();
    builder.elf("test", bytes.into(), at, ANY).unwrap();
    builder.build()
}

pub const ET_REL: u16 = 1;
pub const ET_EXEC: u16 = 2;
pub const ET_DYN: u16 = 3;
pub const ET_CORE: u16 = 4;
pub const EM_ARM: u16 = 40;
pub const EM_AARCH64: u16 = 183;
pub const EM_RISCV: u16 = 243;

pub const SHT_PROGBITS: u32 = 1;
pub const SHT_RELA: u32 = 4;
pub const SHT_NOBITS: u32 = 8;
pub const SHT_REL: u32 = 9;
pub const SHT_DYNSYM: u32 = 11;
pub const SHT_LLVM_BB_ADDR_MAP: u32 = 0x6fff_4c0a;
/// Flags: allocated; allocated and code.
pub const A: u64 = 2;
pub const AX: u64 = 6;

pub const ABS: u16 = 0xfff1;

#[derive(Clone, Debug)]
pub struct Segment {
    pub executable: bool,
    pub address: u64,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Section {
    pub name: &'static str,
    pub kind: u32,
    pub flags: u64,
    pub address: u64,
    /// Bytes of the section; `None` for those of the segment at its address.
    pub bytes: Option<Vec<u8>>,
    pub len: u64,
    pub link: u32,
    pub info: u32,
}

#[derive(Clone, Debug)]
pub struct Symbol {
    pub name: &'static str,
    pub value: u64,
    pub size: u64,
    /// Binding and type: 0x12 is a global function, 0x02 a local one, 0x00 a local label, 0x10 a global label.
    pub info: u8,
    pub section: u16,
}

/// Content of a file. Sections count from 1; `.symtab`, its strings and the section names come last.
#[derive(Clone, Debug)]
pub struct Elf {
    pub wide: bool,
    pub machine: u16,
    pub kind: u16,
    pub segments: Vec<Segment>,
    pub sections: Vec<Section>,
    pub symbols: Vec<Symbol>,
}

/// Returns a section at an address in a segment.
pub fn section(name: &'static str, flags: u64, address: u64, len: u64) -> Section {
    Section { name, kind: SHT_PROGBITS, flags, address, bytes: None, len, link: 0, info: 0 }
}

/// Returns a section with its own bytes.
pub fn own_section(name: &'static str, kind: u32, flags: u64, bytes: Vec<u8>, link: u32) -> Section {
    Section { name, kind, flags, address: 0, len: bytes.len() as u64, bytes: Some(bytes), link, info: 0 }
}

pub fn symbol(name: &'static str, value: u64, size: u64, info: u8, section: u16) -> Symbol {
    Symbol { name, value, size, info, section }
}

/// Returns a 64-bit program with one code segment, which is also its `.text`.
pub fn program(address: u64, code: Vec<u8>, symbols: Vec<Symbol>) -> Elf {
    let len = code.len() as u64;
    Elf {
        wide: true,
        machine: EM_AARCH64,
        kind: ET_EXEC,
        segments: vec![Segment { executable: true, address, bytes: code }],
        sections: vec![section(".text", AX, address, len)],
        symbols,
    }
}

/// Writer of integers of either class.
struct Writer {
    wide: bool,
    bytes: Vec<u8>,
}

impl Writer {
    fn half(&mut self, value: u16) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn word(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn long(&mut self, value: u64) {
        match self.wide {
            true => self.bytes.extend(value.to_le_bytes()),
            false => self.word(value as u32),
        }
    }
}

/// Returns symbols as a table and its strings.
pub fn symbol_table(wide: bool, symbols: &[Symbol]) -> (Vec<u8>, Vec<u8>) {
    let mut strings = vec![0];
    let mut table = Writer { wide, bytes: vec![0; if wide { 24 } else { 16 }] };
    for symbol in symbols {
        table.word(strings.len() as u32);
        if wide {
            table.bytes.extend([symbol.info, 0]);
            table.half(symbol.section);
        }
        table.long(symbol.value);
        table.long(symbol.size);
        if !wide {
            table.bytes.extend([symbol.info, 0]);
            table.half(symbol.section);
        }
        strings.extend(symbol.name.as_bytes());
        strings.push(0);
    }
    (table.bytes, strings)
}

impl Elf {
    /// Loads the file where it was linked to be.
    pub fn load(&self) -> Image {
        load(self.write(), None)
    }

    pub fn write(&self) -> Vec<u8> {
        let (header_len, program_len, section_len) = if self.wide { (64, 56, 64) } else { (52, 32, 40) };
        let mut sections = self.sections.clone();
        let (table, strings) = symbol_table(self.wide, &self.symbols);
        let strings_number = sections.len() as u32 + 2;
        // A stripped file has none.
        if !self.symbols.is_empty() {
            sections.push(own_section(".symtab", 2, 0, table, strings_number));
            sections.push(own_section(".strtab", 3, 0, strings, 0));
        }
        let mut names = vec![0];
        let name_offsets: Vec<_> = sections
            .iter()
            .map(|section| {
                let offset = names.len() as u32;
                names.extend(section.name.as_bytes());
                names.push(0);
                offset
            })
            .collect();
        sections.push(own_section("", 3, 0, names, 0));

        // The bytes of segments, then of sections, then the section headers.
        let mut body = Vec::new();
        let body_start = header_len + program_len * self.segments.len();
        let place = |body: &mut Vec<u8>, bytes: &[u8], address: u64| {
            while (body_start + body.len()) as u64 % 16 != address % 16 {
                body.push(0);
            }
            body.extend_from_slice(bytes);
            (body_start + body.len() - bytes.len()) as u64
        };
        let segments: Vec<_> =
            self.segments.iter().map(|segment| place(&mut body, &segment.bytes, segment.address)).collect();
        let offsets: Vec<_> = sections
            .iter()
            .map(|section| match &section.bytes {
                Some(bytes) => place(&mut body, bytes, 0),
                None => {
                    let holds = |segment: &Segment| {
                        (segment.address..segment.address + segment.bytes.len() as u64)
                            .contains(&section.address)
                    };
                    self.segments
                        .iter()
                        .position(holds)
                        .map_or(0, |i| segments[i] + (section.address - self.segments[i].address))
                }
            })
            .collect();
        place(&mut body, &[], 0);

        let mut w =
            Writer { wide: self.wide, bytes: vec![0x7f, b'E', b'L', b'F', 1 + u8::from(self.wide), 1, 1] };
        w.bytes.resize(16, 0);
        w.half(self.kind);
        w.half(self.machine);
        w.word(1);
        w.long(0);
        w.long(if self.segments.is_empty() { 0 } else { header_len as u64 });
        w.long((body_start + body.len()) as u64);
        w.word(0);
        for half in
            [header_len, program_len, self.segments.len(), section_len, sections.len() + 1, sections.len()]
        {
            w.half(half as u16);
        }
        for (segment, offset) in self.segments.iter().zip(segments) {
            let flags = 4 | u32::from(segment.executable);
            let len = segment.bytes.len() as u64;
            w.word(1);
            if self.wide {
                w.word(flags);
            }
            [offset, segment.address, segment.address, len, len].into_iter().for_each(|field| w.long(field));
            if !self.wide {
                w.word(flags);
            }
            w.long(16);
        }
        w.bytes.extend(body);
        w.bytes.extend(vec![0; section_len]);
        for ((section, offset), name) in sections.iter().zip(offsets).zip(name_offsets.into_iter().chain([0]))
        {
            w.word(name);
            w.word(section.kind);
            w.long(section.flags);
            w.long(section.address);
            w.long(offset);
            w.long(section.len);
            w.word(section.link);
            w.word(section.info);
            w.long(4);
            w.long(0);
        }
        w.bytes
    }
}
