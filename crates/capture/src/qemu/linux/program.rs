//! The program to run, and what it needs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tracewright_input::map_file;
use tracewright_qemu::format::Target;

use crate::Error;

/// A program that QEMU can run.
#[derive(Debug)]
pub struct Program {
    /// Path of its file.
    pub path: PathBuf,
    /// The processor that it is for.
    pub target: Target,
    /// The dynamic linker that it asks for.
    interpreter: Option<PathBuf>,
}

/// Finds a program by its name, or in `symfs`, and reads its ELF header.
pub fn find(named: &Path, symfs: Option<&Path>) -> Result<Program, Error> {
    if let Some(symfs) = symfs {
        std::fs::read_dir(symfs)
            .map_err(|error| Error::Qemu(format!("--symfs {}: cannot be read: {error}", symfs.display())))?;
    }
    let path = place(named, symfs)?;
    let on = |why: String| Error::Qemu(format!("{}: {why}", path.display()));
    let file = map_file(&path).map_err(|problem| on(problem.message))?;
    let (target, interpreter) = look(file.as_slice(), &path).map_err(on)?;
    let program = Program { path, target, interpreter };
    program.check_interpreter(symfs)?;
    Ok(program)
}

fn place(named: &Path, symfs: Option<&Path>) -> Result<PathBuf, Error> {
    let inside = symfs.map(|symfs| symfs.join(named.strip_prefix("/").unwrap_or(named)));
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

const ELF_AARCH64: u64 = 183;
const ELF_ARM: u64 = 40;
const ELF_RISCV: u64 = 243;
const EXECUTABLE: u64 = 2;
const SHARED: u64 = 3;
const INTERPRETER: u64 = 3;
/// Most program headers, and bytes of a path, that are read. No program that runs has more.
const MOST_HEADERS: u64 = 512;
const MOST_PATH: u64 = 4096;

/// Returns the processor that a program is for, and its dynamic linker.
fn look(file: &[u8], path: &Path) -> Result<(Target, Option<PathBuf>), String> {
    if let Some(script) = file.strip_prefix(b"#!") {
        return Err(interpreted(script, path));
    }
    if !file.starts_with(b"\x7fELF") {
        return Err("not a program: it is no ELF file".into());
    }
    let (is_64bit, is_big) = (number(file, 4, 1)? == 2, number(file, 5, 1)? == 2);
    let (kind, machine) = (number(file, 16, 2)?, number(file, 18, 2)?);
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
    let interpreter = interpreter(file, is_64bit)?;
    if number(file, 24, if is_64bit { 8 } else { 4 })? == 0 {
        return Err("a library, not a program: it has no entry".into());
    }
    Ok((target, interpreter))
}

/// Returns a message for a script, which runs in another program.
fn interpreted(script: &[u8], path: &Path) -> String {
    let line = script[..script.len().min(254)].split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    // `env` looks for the interpreter itself.
    let interpreter = match (words.next(), words.next()) {
        (Some(env), Some(name)) if env.ends_with("/env") => name,
        (Some(interpreter), _) => interpreter,
        (None, _) => "INTERPRETER",
    };
    format!(
        "a script: name the program that runs it instead, as in\n  tracewright record {interpreter} {}",
        path.display()
    )
}

fn name(machine: u64) -> Option<&'static str> {
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

/// Returns the dynamic linker that a program header names.
fn interpreter(file: &[u8], is_64bit: bool) -> Result<Option<PathBuf>, String> {
    let (start, size, count, header_len) = match is_64bit {
        true => (number(file, 32, 8)?, number(file, 54, 2)?, number(file, 56, 2)?, 56),
        false => (number(file, 28, 4)?, number(file, 42, 2)?, number(file, 44, 2)?, 32),
    };
    for index in 0..count.min(MOST_HEADERS) {
        let header = bytes(file, start.saturating_add(index * size), header_len)?;
        if number(header, 0, 4)? != INTERPRETER {
            continue;
        }
        let (at, len) = match is_64bit {
            true => (number(header, 8, 8)?, number(header, 32, 8)?),
            false => (number(header, 4, 4)?, number(header, 16, 4)?),
        };
        let path = bytes(file, at, len.min(MOST_PATH))?.split(|&byte| byte == 0).next().unwrap_or_default();
        return Ok(Some(PathBuf::from(OsStr::from_bytes(path))));
    }
    Ok(None)
}

fn bytes(file: &[u8], at: u64, len: u64) -> Result<&[u8], String> {
    let range = usize::try_from(at).ok().zip(usize::try_from(len).ok());
    let found = range.and_then(|(at, len)| file.get(at..at.checked_add(len)?));
    found.ok_or_else(|| "the file is cut off: it is shorter than its headers say".into())
}

/// Reads a little-endian number of `len` bytes.
fn number(file: &[u8], at: u64, len: u64) -> Result<u64, String> {
    Ok(bytes(file, at, len)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

impl Program {
    /// Returns the name of its file.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Fails if the dynamic linker is missing. QEMU would not say which file is missing.
    fn check_interpreter(&self, symfs: Option<&Path>) -> Result<(), Error> {
        let Some(interpreter) = &self.interpreter else { return Ok(()) };
        let inside = |root: &Path| root.join(interpreter.strip_prefix("/").unwrap_or(interpreter));
        // A link may be relative to `symfs`: QEMU follows it there, we would not.
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let mut tried: Vec<_> = symfs.map(inside).into_iter().collect();
        tried.push(interpreter.clone());
        if tried.iter().any(|path| is_there(path)) {
            return Ok(());
        }
        let (debian, cross) = packages(self.target);
        let cross_root = Path::new("/usr").join(cross);
        let hint = if is_there(&inside(&cross_root)) {
            format!("--symfs {} has it", cross_root.display())
        } else {
            let package = format!("libc6-{debian}-cross");
            format!(
                "give a --symfs that has it; Debian: install libc6:{debian} (after dpkg --add-architecture {debian}), \
                 or {package} for --symfs {}",
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

/// Returns Debian's name for the processor, and the folder of its cross libraries.
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
        look(bytes, Path::new("x"))
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
        refused(b"#!/usr/bin/env python3\nprint()", "record python3 x");
        refused(b"#! /bin/sh -e\n", "record /bin/sh x");
        refused(b"#!", "record INTERPRETER x");
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
