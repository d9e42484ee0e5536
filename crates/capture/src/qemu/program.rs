//! The program that is to run: what it is, and what it needs.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tracewright_qemu::format::Target;

use tracewright_input::file::open_plain;

use crate::Error;

/// A program that QEMU can run.
#[derive(Debug)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// The processor that it is for.
    pub target: Target,
    /// The dynamic linker that it asks for.
    interpreter: Option<PathBuf>,
}

/// Looks at the program, and for it: as it is named, or in the sysroot.
pub fn find(named: &Path, sysroot: Option<&Path>) -> Result<Program, Error> {
    if let Some(sysroot) = sysroot {
        std::fs::read_dir(sysroot).map_err(|error| {
            Error::Qemu(format!("--sysroot {}: cannot be read: {error}", sysroot.display()))
        })?;
    }
    let path = place(named, sysroot)?;
    let on = |why: String| Error::Qemu(format!("{}: {why}", path.display()));
    let file = open_plain(&path).map_err(|error| on(format!("cannot read: {error}")))?;
    let (target, interpreter) = look(&file, &path).map_err(on)?;
    let program = Program { path, target, interpreter };
    program.check_interpreter(sysroot)?;
    Ok(program)
}

fn place(named: &Path, sysroot: Option<&Path>) -> Result<PathBuf, Error> {
    let inside = sysroot.map(|sysroot| sysroot.join(named.strip_prefix("/").unwrap_or(named)));
    let places = [Some(named.to_owned()), inside];
    let tried: Vec<_> = places.into_iter().flatten().collect();
    if let Some(path) = tried.iter().find(|path| path.is_file()) {
        return Ok(path.clone());
    }
    if let Some(folder) = tried.iter().find(|path| path.is_dir()) {
        return Err(Error::Qemu(format!("{}: a folder, not a program", folder.display())));
    }
    let tried: Vec<_> = tried.iter().map(|path| path.display().to_string()).collect();
    Err(Error::Qemu(format!("there is no program {}", tried.join(", and no "))))
}

const ELF_AARCH64: u16 = 183;
const ELF_ARM: u16 = 40;
const ELF_RISCV: u16 = 243;
const EXECUTABLE: u16 = 2;
const SHARED: u16 = 3;
const INTERPRETER: u32 = 3;
/// Program headers that are looked at, and bytes of a path: more has no program that runs.
const MOST_HEADERS: u16 = 512;
const MOST_PATH: u64 = 4096;

/// What the program is for, and its dynamic linker.
fn look(file: &File, path: &Path) -> Result<(Target, Option<PathBuf>), String> {
    let mut head = Vec::new();
    file.take(64).read_to_end(&mut head).map_err(|error| format!("cannot read: {error}"))?;
    if head.starts_with(b"#!") {
        return Err(script(file, path));
    }
    if !head.starts_with(b"\x7fELF") {
        return Err("not a program: it is no ELF file".into());
    }
    let head = Fields { bytes: &head };
    let (is_64bit, is_big) = (head.byte(4)? == 2, head.byte(5)? == 2);
    let (kind, machine) = (head.half(16)?, head.half(18)?);
    let target = match (machine, is_64bit) {
        _ if is_big => return Err("a big-endian program: these are not supported".into()),
        (ELF_AARCH64, true) => Target::Aarch64,
        (ELF_ARM, false) => Target::Arm,
        (ELF_RISCV, true) => Target::Riscv64,
        (ELF_RISCV, false) => {
            return Err("a 32-bit RISC-V program: with --qemu, only 64-bit ones can be recorded; \
                        without it, programs for a bare machine can be"
                .into());
        }
        (machine, _) => {
            let name = name(machine).map_or(format!("processor {machine} (e_machine)"), str::to_owned);
            return Err(format!("a program for {name}: aarch64, arm and riscv64 can be recorded"));
        }
    };
    match kind {
        EXECUTABLE | SHARED => {}
        1 => return Err("an object file: link it first".into()),
        4 => return Err("a core dump, not a program".into()),
        other => return Err(format!("not a program: ELF files of type {other} do not run")),
    }
    let interpreter = interpreter(file, head, is_64bit)?;
    let has_entry = if is_64bit { head.long(24)? != 0 } else { head.word(24)? != 0 };
    if !has_entry {
        return Err("a library, not a program: it has no entry".into());
    }
    Ok((target, interpreter))
}

/// A script runs in another program.
fn script(file: &File, path: &Path) -> String {
    let mut line = [0; 256];
    let len = file.read_at(&mut line, 0).unwrap_or_default();
    let line = line[2..len.max(2)].split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    // `env` looks for the interpreter itself.
    let interpreter = match (words.next(), words.next()) {
        (Some(env), Some(name)) if env.ends_with("/env") => name,
        (Some(interpreter), _) => interpreter,
        (None, _) => "INTERPRETER",
    };
    format!(
        "a script: name the program that runs it instead, as in\n  tracewright record --qemu {interpreter} -- {}",
        path.display()
    )
}

fn name(machine: u16) -> Option<&'static str> {
    let names = [
        (3, "x86 (32-bit)"),
        (8, "MIPS"),
        (20, "PowerPC"),
        (21, "PowerPC (64-bit)"),
        (22, "S/390"),
        (43, "SPARC (64-bit)"),
        (62, "x86-64"),
        (258, "LoongArch"),
    ];
    names.iter().find(|(number, _)| *number == machine).map(|(_, name)| *name)
}

/// The path that a program header names.
fn interpreter(file: &File, head: Fields<'_>, is_64bit: bool) -> Result<Option<PathBuf>, String> {
    let (start, size, count) = if is_64bit {
        (head.long(32)?, head.half(54)?, head.half(56)?)
    } else {
        (head.word(28)?.into(), head.half(42)?, head.half(44)?)
    };
    for number in 0..count.min(MOST_HEADERS) {
        let mut bytes = vec![0; if is_64bit { 56 } else { 32 }];
        let at = start.saturating_add(u64::from(number) * u64::from(size));
        file.read_exact_at(&mut bytes, at).map_err(|error| cut(&error))?;
        let header = Fields { bytes: &bytes };
        if header.word(0)? != INTERPRETER {
            continue;
        }
        let (at, len) = if is_64bit {
            (header.long(8)?, header.long(32)?)
        } else {
            (header.word(4)?.into(), header.word(16)?.into())
        };
        let mut path = vec![0; len.min(MOST_PATH) as usize];
        file.read_exact_at(&mut path, at).map_err(|error| cut(&error))?;
        let path = path.split(|&byte| byte == 0).next().unwrap_or_default();
        return Ok(Some(PathBuf::from(std::ffi::OsStr::from_bytes(path))));
    }
    Ok(None)
}

fn cut(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file is cut off: it is shorter than its headers say".into(),
        _ => format!("cannot read: {error}"),
    }
}

/// Little-endian numbers in an ELF file.
#[derive(Clone, Copy)]
struct Fields<'a> {
    bytes: &'a [u8],
}

impl Fields<'_> {
    fn get<const N: usize>(self, at: usize) -> Result<[u8; N], String> {
        let found = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        found.copied().ok_or_else(|| cut(&io::ErrorKind::UnexpectedEof.into()))
    }

    fn byte(self, at: usize) -> Result<u8, String> {
        self.get::<1>(at).map(|[byte]| byte)
    }

    fn half(self, at: usize) -> Result<u16, String> {
        self.get(at).map(u16::from_le_bytes)
    }

    fn word(self, at: usize) -> Result<u32, String> {
        self.get(at).map(u32::from_le_bytes)
    }

    fn long(self, at: usize) -> Result<u64, String> {
        self.get(at).map(u64::from_le_bytes)
    }
}

impl Program {
    /// Returns the name of its file.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// QEMU would only say that there is no such file, and not which.
    fn check_interpreter(&self, sysroot: Option<&Path>) -> Result<(), Error> {
        let Some(interpreter) = &self.interpreter else { return Ok(()) };
        let inside = |root: &Path| root.join(interpreter.strip_prefix("/").unwrap_or(interpreter));
        // A link in a sysroot may be meant for that: QEMU finds it, we would not.
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let mut tried: Vec<_> = sysroot.map(inside).into_iter().collect();
        tried.push(interpreter.clone());
        if tried.iter().any(|path| is_there(path)) {
            return Ok(());
        }
        let (debian, cross) = packages(self.target);
        let cross_root = Path::new("/usr").join(cross);
        let hint = if is_there(&inside(&cross_root)) {
            format!("--sysroot {} has it", cross_root.display())
        } else {
            let package = format!("libc6-{debian}-cross");
            format!(
                "give a --sysroot that has it; Debian: install libc6:{debian} (after dpkg --add-architecture {debian}), \
                 or {package} for --sysroot {}",
                cross_root.display()
            )
        };
        let tried: Vec<_> = tried.iter().map(|path| path.display().to_string()).collect();
        Err(Error::Qemu(format!(
            "{}: the program needs a dynamic linker, and there is no {}: {hint}",
            self.path.display(),
            tried.join(", and no ")
        )))
    }
}

/// Debian's name for the processor, and the folder of its cross libraries.
fn packages(target: Target) -> (&'static str, &'static str) {
    match target {
        Target::Aarch64 => ("arm64", "aarch64-linux-gnu"),
        Target::Arm => ("armhf", "arm-linux-gnueabihf"),
        Target::Riscv64 => ("riscv64", "riscv64-linux-gnu"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file without anything but its head.
    fn elf(class: u8, data: u8, kind: u16, machine: u16) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, data, 1]);
        bytes[16..18].copy_from_slice(&kind.to_le_bytes());
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[24] = 1;
        bytes
    }

    fn looked(bytes: &[u8]) -> Result<(Target, Option<PathBuf>), String> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("tracewright-look-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        let looked = look(&File::open(&path).unwrap(), Path::new("x"));
        std::fs::remove_file(path).unwrap();
        looked
    }

    #[test]
    fn programs_are_told_apart() {
        assert_eq!(looked(&elf(2, 1, 2, 183)), Ok((Target::Aarch64, None)));
        assert_eq!(looked(&elf(1, 1, 3, 40)), Ok((Target::Arm, None)));
        assert_eq!(looked(&elf(2, 1, 3, 243)), Ok((Target::Riscv64, None)));
        let refused = |bytes: &[u8], why: &str| {
            let error = looked(bytes).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        refused(&elf(1, 1, 2, 243), "32-bit RISC-V");
        refused(&elf(2, 1, 3, 62), "x86-64");
        refused(&elf(2, 1, 3, 999), "processor 999");
        refused(&elf(2, 2, 2, 183), "big-endian");
        refused(&elf(2, 1, 1, 183), "object file");
        refused(&elf(2, 1, 4, 183), "core dump");
        refused(b"", "no ELF");
        refused(b"\x7fELF\x02\x01", "cut off");
        refused(b"#!/usr/bin/env python3\nprint()", "--qemu python3 -- x");
        refused(b"#! /bin/sh -e\n", "--qemu /bin/sh -- x");
        refused(b"#!", "--qemu INTERPRETER -- x");
        let mut library = elf(2, 1, 3, 183);
        library[24] = 0;
        refused(&library, "a library");
    }

    #[test]
    fn the_dynamic_linker_is_found() {
        let mut bytes = elf(2, 1, 3, 183);
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 2;
        bytes.resize(64 + 2 * 56, 0);
        let header = 64 + 56;
        bytes[header] = 3;
        bytes[header + 8] = (64 + 2 * 56) as u8;
        bytes[header + 32] = 10;
        assert!(looked(&bytes).unwrap_err().contains("cut off"));
        bytes.extend(b"/lib/ld.so\0");
        assert_eq!(looked(&bytes), Ok((Target::Aarch64, Some("/lib/ld.so".into()))));
    }
}
