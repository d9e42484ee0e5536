//! Image of the program that ran: memory dumps of the capture, and files that users name.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tracewright_core::MemorySpace;
use tracewright_image::{Builder, Bytes, Image, Place};

use crate::capture::Program;
use crate::file::open_plain;
use crate::{Capture, Problem, mapping};

/// Program file named by a user: `FILE` or `FILE@ADDRESS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFile {
    /// Path of an ELF file or of raw code.
    pub path: PathBuf,
    /// Address of an ELF file's first mapping or of a raw file's first byte; `None` for an ELF file at its
    /// linked address.
    pub at: Option<u64>,
}

/// Error for a program file whose address is not a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFileError {
    /// Text after the `@`.
    pub address: String,
}

impl fmt::Display for ImageFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no address: expected FILE@ADDRESS, in hexadecimal", self.address)
    }
}

impl std::error::Error for ImageFileError {}

impl FromStr for ImageFile {
    type Err = ImageFileError;

    fn from_str(text: &str) -> Result<Self, ImageFileError> {
        let Some((path, address)) = text.rsplit_once('@') else {
            return Ok(Self { path: text.into(), at: None });
        };
        let digits = address.strip_prefix("0x").or(address.strip_prefix("0X")).unwrap_or(address);
        match u64::from_str_radix(digits, 16) {
            Ok(at) => Ok(Self { path: path.into(), at: Some(at) }),
            // The file's own name may contain an @.
            Err(_) if Path::new(text).exists() => Ok(Self { path: text.into(), at: None }),
            Err(_) => Err(ImageFileError { address: address.to_owned() }),
        }
    }
}

impl Capture {
    /// Builds the image of the program that ran: the files in `named`, then memory dumps and programs of the
    /// capture. Where two overlap, the first counts: the contents of memory are what ran. Files of the
    /// capture that changed since it was written are left out. Also returns the problems with any of these
    /// files.
    pub fn image(&self, named: &[ImageFile]) -> (Image, Vec<Problem>) {
        self.image_of(named, false)
    }

    /// Builds the image like [`image`](Self::image). With `accept_mismatch`, also uses files of the capture
    /// that changed since it was written.
    pub fn image_of(&self, named: &[ImageFile], accept_mismatch: bool) -> (Image, Vec<Problem>) {
        let mut builder = Image::builder();
        let mut problems = Vec::new();
        // Without a readable source it is unknown what was traced.
        let is_riscv = (!self.sources.is_empty()).then(|| self.is_riscv());
        for file in named {
            let added = map_file(&file.path).and_then(|bytes| add(&mut builder, file, bytes, None, is_riscv));
            problems.extend(added.err());
        }
        // Several regions are often in one file.
        let mut files: HashMap<&Path, Option<Bytes>> = HashMap::new();
        for dump in &self.memory {
            let file = files.entry(&dump.path).or_insert_with(|| match map_file(&dump.path) {
                Ok(bytes) => match self.checksums.differs(&dump.path, bytes.as_slice()) {
                    Some(how) => {
                        problems.push(not_what_ran(&dump.path, &how, accept_mismatch));
                        accept_mismatch.then_some(bytes)
                    }
                    None => Some(bytes),
                },
                Err(problem) => {
                    problems.push(problem);
                    None
                }
            });
            let Some(file) = file else { continue };
            let part = usize::try_from(dump.offset)
                .ok()
                .zip(usize::try_from(dump.length).ok())
                .and_then(|(offset, len)| file.slice(offset, len));
            let name = dump.path.display().to_string();
            let added = match part {
                Some(part) => match mapping::mapped(&self.processes, dump.address, dump.length) {
                    Some((path, offset)) => {
                        let mapped = path.to_string_lossy();
                        builder.raw_mapped(&name, part, dump.address, dump.space, (&mapped, offset))
                    }
                    None => builder.raw(&name, part, dump.address, dump.space),
                }
                .map_err(|e| e.reason.to_string()),
                None => Err(format!("has no {:#x} bytes at offset {:#x}", dump.length, dump.offset)),
            };
            if let Err(message) = added {
                problems.push(Problem::memory_error(&dump.path, message));
            }
        }
        // A file may be mapped in several places.
        let mut read = HashMap::new();
        for program in &self.programs {
            let key = (&program.file.path, &program.build_id, program.offset.is_some());
            let bytes: &Option<Bytes> = read.entry(key).or_insert_with(|| {
                let (bytes, problem) = self.read_program(program, accept_mismatch);
                problems.extend(problem);
                bytes
            });
            let Some(bytes) = bytes.clone() else { continue };
            problems.extend(add(&mut builder, &program.file, bytes, program.offset, is_riscv).err());
        }
        if let Some(recorded) = &self.recorded {
            problems.extend(recorded.add_to(&mut builder));
        }
        (builder.build(), problems)
    }

    /// Reads a program of the capture. Returns its bytes, unless it is left out, and any problem with it.
    fn read_program(&self, program: &Program, accept_mismatch: bool) -> (Option<Bytes>, Option<Problem>) {
        let path = &program.file.path;
        // Files elsewhere may have changed since; their code is in the memory dumps.
        let is_elsewhere = program.offset.is_some();
        let no_symbols = |how: &str| {
            Problem::memory_warning(path, format!("{how}: no symbols of it; its code is in the capture"))
        };
        let bytes = match map_file(path) {
            Ok(bytes) => bytes,
            Err(problem) if is_elsewhere => return (None, Some(no_symbols(&problem.message))),
            Err(problem) => return (None, Some(problem)),
        };
        match self.not_recorded(program, &bytes) {
            None => (Some(bytes), None),
            Some(how) if is_elsewhere => (None, Some(no_symbols(&how))),
            Some(how) => (accept_mismatch.then_some(bytes), Some(not_what_ran(path, &how, accept_mismatch))),
        }
    }

    /// Compares a program of the capture with its recorded checksum and build ID. Returns how they differ.
    fn not_recorded(&self, program: &Program, bytes: &Bytes) -> Option<String> {
        if let Some(id) = &program.build_id {
            let found = build_id_of(bytes).map(|id| hex(&id));
            if found.as_ref() != Some(id) {
                let found = found.as_deref().unwrap_or("none");
                return Some(format!("its build ID is {found}, and {id} ran"));
            }
        }
        self.checksums.differs(&program.file.path, bytes.as_slice())
    }
}

/// Returns the problem for a file of the capture that has changed.
fn not_what_ran(path: &Path, how: &str, accept_mismatch: bool) -> Problem {
    let what = match accept_mismatch {
        true => "it is used, as asked for, and may not be what ran",
        false => {
            "it is left out, since it may not be what ran (--accept-mismatch uses it, --image names another)"
        }
    };
    Problem::memory_error(path, format!("{how}: {what}"))
}

/// Adds a program file with these bytes; see [`Program`] about `offset`.
fn add(
    builder: &mut Builder,
    file: &ImageFile,
    bytes: Bytes,
    offset: Option<u64>,
    is_riscv: Option<bool>,
) -> Result<(), Problem> {
    let ImageFile { path, at } = file;
    let name = path.display().to_string();
    if let Some(is_riscv) = is_riscv
        && let Some(machine) = foreign(bytes.as_slice(), is_riscv)
    {
        let traced = if is_riscv { "a RISC-V hart's" } else { "an Arm core's" };
        let message = format!("a program for {machine}: the trace is {traced}");
        return Err(Problem::memory_error(path, message));
    }
    let place = match (*at, offset) {
        (Some(address), Some(offset)) => Place::Mapping { address, offset },
        (at, _) => at.into(),
    };
    let added = match (bytes.as_slice().starts_with(b"\x7fELF"), *at) {
        (true, _) => builder.elf(&name, bytes, place, MemorySpace::ANY),
        (false, Some(at)) => builder.raw(&name, bytes, at, MemorySpace::ANY),
        (false, None) => {
            let message = "not an ELF file: say where its first byte was (FILE@ADDRESS)";
            return Err(Problem::memory_error(path, message));
        }
    };
    added.map_err(|error| Problem::memory_error(path, error.reason.to_string()))
}

/// Returns the build ID of an ELF file, if it has one.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn build_id(path: &Path) -> Result<Option<String>, Problem> {
    Ok(build_id_of(&map_file(path)?).map(|id| hex(&id)))
}

/// Returns the build ID in the bytes of an ELF file, if it has one.
pub(crate) fn build_id_of(bytes: &Bytes) -> Option<Vec<u8>> {
    let mut builder = Image::builder();
    // A file that is not ELF has none.
    let _ = builder.elf("", bytes.clone(), None, MemorySpace::ANY);
    let image = builder.build();
    image.regions().find_map(|region| region.build_id().map(<[u8]>::to_vec))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the machine of an ELF file, if it is not the one that was traced.
pub(crate) fn foreign(bytes: &[u8], is_riscv: bool) -> Option<String> {
    if !bytes.starts_with(b"\x7fELF") || bytes.get(5) != Some(&1) {
        return None;
    }
    let machine = u16::from_le_bytes([*bytes.get(18)?, *bytes.get(19)?]);
    match machine {
        40 | 183 if !is_riscv => None,
        243 if is_riscv => None,
        40 | 183 => Some("Arm".into()),
        3 => Some("x86".into()),
        62 => Some("x86-64".into()),
        243 => Some("RISC-V".into()),
        other => Some(format!("another machine (e_machine {other})")),
    }
}

/// Largest file that is read into memory.
const MOST_READ: u64 = 64 << 20;

/// Reads a file, or maps it if it is larger than 64 MiB. If a mapped file is shortened while it is in use,
/// the system ends the process (SIGBUS); smaller files are safe from that.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn map_file(path: &Path) -> Result<Bytes, Problem> {
    let error = |error: std::io::Error| Problem::memory_error(path, format!("cannot read: {error}"));
    let file = open_plain(path).map_err(error)?;
    let metadata = file.metadata().map_err(error)?;
    if metadata.len() <= MOST_READ {
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        file.take(MOST_READ).read_to_end(&mut bytes).map_err(error)?;
        return Ok(Bytes::from(bytes));
    }
    // SAFETY: the map is only read. If another process writes to the file meanwhile, we see other bytes,
    // which no code here relies on. If the file is shortened, the system stops the process, like any that
    // maps files.
    #[allow(unsafe_code)]
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(error)?;
    Ok(Bytes::new(map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_addresses() {
        let parse = |text: &str| text.parse::<ImageFile>().map(|file| (file.path, file.at));
        assert_eq!(parse("a/vmlinux"), Ok(("a/vmlinux".into(), None)));
        assert_eq!(parse("ld.so@0xffff8000"), Ok(("ld.so".into(), Some(0xffff_8000))));
        assert_eq!(parse("a@b@7f00"), Ok(("a@b".into(), Some(0x7f00))));
        assert!(parse("a@main").unwrap_err().to_string().contains("\"main\" is no address"));
    }
}
