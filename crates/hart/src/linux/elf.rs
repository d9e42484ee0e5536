//! ELF files of programs.

use std::fmt;

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};

use crate::bare::MOST_HEADERS;
use crate::memory::Rights;

/// First bytes of an ELF file.
pub(super) const MAGIC: &[u8] = b"\x7fELF";

/// A RISC-V program, or its dynamic linker.
#[derive(Debug)]
pub struct Elf<'a> {
    pub is_rv32: bool,
    /// Set if it can be loaded anywhere: a PIE or a shared library.
    pub is_relocatable: bool,
    pub entry: u64,
    pub segments: Vec<Segment<'a>>,
    /// Path of the dynamic linker it asks for.
    pub interpreter: Option<&'a [u8]>,
    /// Program headers: address in memory, size of one, and number.
    pub headers: (u64, u64, u64),
    /// Set if it asks for an executable stack.
    pub executable_stack: bool,
}

#[derive(Debug)]
pub struct Segment<'a> {
    pub address: u64,
    /// Size. Bytes beyond `bytes` are zero.
    pub size: u64,
    /// Contents at its start.
    pub bytes: &'a [u8],
    /// Offset of these in the file.
    pub offset: u64,
    pub rights: Rights,
}

/// Reason why an ELF file cannot be run.
#[derive(Debug, PartialEq, Eq)]
pub enum ElfError {
    /// It is for something else: what, and what to do.
    Foreign(String),
    /// It is damaged: how.
    Damaged(String),
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(what) => write!(f, "not a RISC-V Linux program: {what}"),
            Self::Damaged(how) => write!(f, "a damaged ELF file: {how}"),
        }
    }
}

impl<'a> Elf<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self, ElfError> {
        if !bytes.starts_with(MAGIC) {
            return Err(ElfError::Foreign(not_elf(bytes)));
        }
        match FileKind::parse(bytes) {
            Ok(FileKind::Elf32) => read::<elf::FileHeader32<Endianness>>(bytes, true),
            Ok(FileKind::Elf64) => read::<elf::FileHeader64<Endianness>>(bytes, false),
            _ => Err(ElfError::Damaged("it is cut short in its header".into())),
        }
    }
}

fn read<'a, H: FileHeader<Endian = Endianness>>(bytes: &'a [u8], is_rv32: bool) -> Result<Elf<'a>, ElfError> {
    let damaged = |error: object::Error| ElfError::Damaged(error.to_string());
    let header = H::parse(bytes).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    let machine = header.e_machine(endian);
    if machine != elf::EM_RISCV {
        return Err(ElfError::Foreign(foreign(machine)));
    }
    if endian != Endianness::Little {
        return Err(ElfError::Foreign("it is big-endian RISC-V, which this machine is not".into()));
    }
    let kind = header.e_type(endian);
    let instead = match kind {
        elf::ET_EXEC | elf::ET_DYN => None,
        elf::ET_REL => Some("it is an object file: link it first (a kernel module cannot be run)"),
        elf::ET_CORE => Some("it is a core dump: give the program that left it"),
        _ => Some("it is ELF, but no program"),
    };
    if let Some(instead) = instead {
        return Err(ElfError::Foreign(instead.into()));
    }
    if header.e_flags(endian) & elf::EF_RISCV_RVE != elf::FileFlags(0) {
        return Err(ElfError::Foreign(
            "it is for RV32E or RV64E, whose calls differ: compile it for the I base".into(),
        ));
    }

    let table = header.program_headers(endian, bytes).map_err(damaged)?;
    if size_of_val(table) > MOST_HEADERS {
        let count = table.len();
        return Err(ElfError::Damaged(format!(
            "it has {count} program headers, and Linux runs none with so many"
        )));
    }
    let mut elf = Elf {
        is_rv32,
        is_relocatable: kind == elf::ET_DYN,
        entry: header.e_entry(endian).into(),
        segments: Vec::new(),
        interpreter: None,
        headers: (0, u64::from(header.e_phentsize(endian)), table.len() as u64),
        executable_stack: false,
    };
    let table_offset: u64 = header.e_phoff(endian).into();
    let mut table_address = None;
    for program in table {
        let address: u64 = program.p_vaddr(endian).into();
        let offset: u64 = program.p_offset(endian).into();
        match program.p_type(endian) {
            elf::PT_LOAD => {
                let segment = segment::<H>(program, endian, bytes)?;
                let here = offset..offset.saturating_add(segment.bytes.len() as u64);
                if here.contains(&table_offset) {
                    table_address = Some(address.wrapping_add(table_offset - offset));
                }
                elf.segments.push(segment);
            }
            elf::PT_INTERP => {
                let data = program.data(endian, bytes);
                let text =
                    data.map_err(|()| ElfError::Damaged("the name of its dynamic linker is cut off".into()))?;
                elf.interpreter = text.split(|&byte| byte == 0).next();
            }
            elf::PT_PHDR => table_address = Some(address),
            elf::PT_GNU_STACK => {
                elf.executable_stack = program.p_flags(endian) & elf::PF_X != elf::ProgramFlags(0);
            }
            _ => {}
        }
    }
    elf.headers.0 = table_address.unwrap_or(0);
    check(&elf)?;
    Ok(elf)
}

fn segment<'a, H: FileHeader<Endian = Endianness>>(
    program: &H::ProgramHeader,
    endian: Endianness,
    bytes: &'a [u8],
) -> Result<Segment<'a>, ElfError> {
    let address: u64 = program.p_vaddr(endian).into();
    let size: u64 = program.p_memsz(endian).into();
    let in_file: u64 = program.p_filesz(endian).into();
    let offset: u64 = program.p_offset(endian).into();
    let Ok(bytes) = program.data(endian, bytes) else {
        let end = offset.saturating_add(in_file);
        let len = bytes.len();
        return Err(ElfError::Damaged(format!(
            "it is cut short: its code goes up to byte {end}, the file has {len}"
        )));
    };
    if in_file > size || address.checked_add(size).is_none() {
        return Err(ElfError::Damaged(format!("the segment at {address:#x} has impossible sizes")));
    }
    let flags = program.p_flags(endian);
    let right = |flag, rights| if flags & flag != elf::ProgramFlags(0) { rights } else { Rights::NONE };
    // Writable memory is readable, as in the hardware.
    let rights = right(elf::PF_R, Rights::READ)
        | right(elf::PF_W, Rights::READ | Rights::WRITE)
        | right(elf::PF_X, Rights::READ | Rights::EXECUTE);
    Ok(Segment { address, size, bytes, offset, rights })
}

fn check(elf: &Elf<'_>) -> Result<(), ElfError> {
    if elf.segments.is_empty() {
        return Err(ElfError::Foreign("it has nothing to load (debug information on its own?)".into()));
    }
    let is_code = |segment: &Segment<'_>| {
        let from = elf.entry.checked_sub(segment.address);
        segment.rights.has(Rights::EXECUTE) && from.is_some_and(|from| from < segment.size)
    };
    if !elf.segments.iter().any(is_code) {
        return Err(if elf.is_relocatable && elf.entry == 0 {
            ElfError::Foreign("it is a shared library: give a program that uses it".into())
        } else {
            ElfError::Damaged(format!("it starts at {:#x}, where it has no code", elf.entry))
        });
    }
    Ok(())
}

fn foreign(machine: elf::Machine) -> String {
    let name = match machine {
        elf::EM_AARCH64 => "an AArch64 program",
        elf::EM_ARM => "a 32-bit Arm program",
        elf::EM_X86_64 => "an x86-64 program",
        elf::EM_386 => "an x86 program",
        elf::EM_PPC64 => "a 64-bit PowerPC program",
        elf::EM_S390 => "an S/390 program",
        elf::EM_MIPS => "a MIPS program",
        elf::EM_LOONGARCH => "a LoongArch program",
        _ => {
            return format!(
                "it is for ELF machine number {}: compile it for RISC-V (riscv64-linux-gnu-gcc)",
                machine.0
            );
        }
    };
    if matches!(machine, elf::EM_AARCH64 | elf::EM_ARM) {
        return format!(
            "it is {name}, which QEMU runs (`tracewright record` does that); this machine runs programs for RISC-V"
        );
    }
    format!("it is {name}: compile it for RISC-V (riscv64-linux-gnu-gcc)")
}

fn not_elf(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "it is empty".into();
    }
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(&line[..line.len().min(80)]);
        return format!(
            "it is a script for {}: give a RISC-V build of that, and the script as its argument",
            line.trim()
        );
    }
    let what = match bytes {
        [b'M', b'Z', ..] => "it is a Windows program or a kernel image for UEFI",
        [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] => "it is a Mach-O program",
        [0x1f, 0x8b, ..] | [0xfd, b'7', b'z', b'X', b'Z', 0, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            "it is compressed: unpack it"
        }
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "it is an archive of object files: link it first",
        _ => "it is not ELF",
    };
    what.into()
}
