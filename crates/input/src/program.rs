//! Image of the program that ran: memory dumps of the capture, and files that users name.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tracewright_core::MemorySpace;
use tracewright_image::{Builder, Bytes, Image, Place, RegionRef};

use crate::capture::Program;
use crate::debug_file::DebugFiles;
use crate::debuginfod::Debuginfod;
use crate::file::open_seekable;
use crate::{Capture, Mapping, Problem, Subject, mapping};

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
            match map_file(&file.path) {
                Ok(bytes) => problems.extend(self.add_named(&mut builder, file, bytes, is_riscv)),
                Err(problem) => problems.push(problem),
            }
        }
        for (address, bytes) in &self.code {
            let name = self.path.display().to_string();
            let added = self.add_memory(&mut builder, &name, bytes.clone(), *address, MemorySpace::ANY);
            problems.extend(added.err().map(|message| Problem::memory_error(&self.path, message)));
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
                    problems.push(Problem { subject: Subject::MissingCode, ..problem });
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
                Some(part) => self.add_memory(&mut builder, &name, part, dump.address, dump.space),
                None => Err(format!("has no {:#x} bytes at offset {:#x}", dump.length, dump.offset)),
            };
            if let Err(message) = added {
                problems.push(Problem::missing_code(&dump.path, message));
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
            problems.extend(self.add(&mut builder, &program.file, bytes, program.offset, is_riscv).err());
        }
        if let Some(recorded) = &self.recorded {
            problems.extend(recorded.add_to(&mut builder, self.debuginfod.as_ref()));
        }
        problems.extend(self.debuginfod.iter().flat_map(Debuginfod::problems));
        let image = builder.build();
        let differs = self.code_that_differs(&image);
        let differs = differs.or_else(|| self.text_that_differs(&image, named, accept_mismatch));
        problems.extend(differs.map(|(file, address)| {
            let message =
                format!("other code than ran at {address:#x}: it is used, as asked for, and is not what ran");
            Problem::memory_error(Path::new(file), message)
        }));
        (image, problems)
    }

    /// Adds a program file that a user names: where the user says or, if it can be anywhere, where the capture says that it was.
    fn add_named(
        &self,
        builder: &mut Builder,
        file: &ImageFile,
        bytes: Bytes,
        is_riscv: Option<bool>,
    ) -> Vec<Problem> {
        if file.at.is_some() || !is_anywhere(&bytes) {
            return self.add(builder, file, bytes, None, is_riscv).err().into_iter().collect();
        }
        let id = build_id_of(&bytes).map(|id| hex(&id));
        let is_it = |mapping: &&Mapping| {
            let same_name =
                || mapping.path.as_ref().is_some_and(|path| path.file_name() == file.path.file_name());
            match (&id, &mapping.build_id) {
                (Some(id), Some(of)) => id == of,
                _ => same_name(),
            }
        };
        let mut places = HashMap::new();
        for mapping in self.processes.iter().flat_map(|process| &process.mappings).filter(is_it) {
            places.entry(mapping.start.wrapping_sub(mapping.offset)).or_insert(mapping);
        }
        if places.is_empty() {
            let message = "a position-independent program, and the capture does not say where it was: it is taken to be \
                           where it is linked, at 0; say the address of its first mapping (FILE@ADDRESS)";
            let mut problems = vec![Problem::memory_warning(&file.path, message)];
            problems.extend(self.add(builder, file, bytes, None, is_riscv).err());
            return problems;
        }
        let mut places: Vec<_> = places.into_values().collect();
        places.sort_by_key(|mapping| mapping.start);
        let add = |mapping: &Mapping| {
            let file = ImageFile { at: Some(mapping.start), ..file.clone() };
            self.add(builder, &file, bytes.clone(), Some(mapping.offset), is_riscv).err()
        };
        places.into_iter().filter_map(add).collect()
    }

    /// Adds a program file with its debug file, if there is one.
    fn add(
        &self,
        builder: &mut Builder,
        file: &ImageFile,
        bytes: Bytes,
        offset: Option<u64>,
        is_riscv: Option<bool>,
    ) -> Result<(), Problem> {
        let symfs = self.recorded.as_ref().map_or(&[][..], |recorded| recorded.symfs());
        let debug_files = DebugFiles { symfs, debuginfod: self.debuginfod.as_ref() };
        let debug = debug_files.find(&file.path, &file.path, &bytes);
        add(builder, file, bytes, offset, is_riscv)?;
        debug.into_iter().for_each(|debug| builder.debug(debug));
        Ok(())
    }

    /// Adds the contents of memory.
    fn add_memory(
        &self,
        builder: &mut Builder,
        name: &str,
        bytes: Bytes,
        address: u64,
        space: MemorySpace,
    ) -> Result<(), String> {
        let added = match mapping::mapped(&self.processes, address, bytes.len() as u64) {
            Some((path, offset)) => {
                builder.raw_mapped(name, bytes, address, space, (&path.to_string_lossy(), offset))
            }
            None => builder.raw(name, bytes, address, space),
        };
        added.map_err(|error| error.reason.to_string())
    }

    /// Returns the first file that hides code of the capture and has other code there, and the address.
    fn code_that_differs<'i>(&self, image: &'i Image) -> Option<(&'i str, u64)> {
        self.code.iter().find_map(|(start, bytes)| difference(image, *start, bytes.as_slice()))
    }

    /// Returns the first file in `named` that hides code of the capture's own programs, which are known to be what ran, and has other code
    /// there, and the address. Only sections of code are compared: the rest of a stripped file differs.
    fn text_that_differs<'i>(
        &self,
        image: &'i Image,
        named: &[ImageFile],
        accept_mismatch: bool,
    ) -> Option<(&'i str, u64)> {
        let is_known = |program: &Program| self.checksums.of(&program.file.path).is_some();
        if named.is_empty() || !self.programs.iter().any(is_known) {
            return None;
        }
        let own = self.image_of(&[], accept_mismatch).0;
        let text = |region: RegionRef<'_>| region.section_named(".text").map(|text| text.range);
        let mut texts: Vec<_> = own.regions().filter_map(text).collect();
        texts.sort_by_key(|text| text.start);
        texts.dedup();
        let differs = |text: &Range<u64>| {
            let mut at = text.start;
            while at < text.end {
                let bytes = own.read(at, MemorySpace::ANY);
                let len = bytes.len().min(usize::try_from(text.end - at).unwrap_or(usize::MAX));
                if len == 0 {
                    break;
                }
                if let Some(found) = difference(image, at, &bytes[..len]) {
                    return Some(found);
                }
                at += len as u64;
            }
            None
        };
        texts.iter().find_map(differs)
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
            Err(problem) => {
                return (None, Some(Problem { subject: Subject::MissingCode, ..problem }));
            }
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

/// Returns the file of the first byte that differs from those at an address, and where it is.
fn difference<'i>(image: &'i Image, start: u64, bytes: &[u8]) -> Option<(&'i str, u64)> {
    let mut found = vec![0; 4096];
    for (at, bytes) in (start..).step_by(found.len()).zip(bytes.chunks(found.len())) {
        let len = image.read_into(at, MemorySpace::ANY, &mut found[..bytes.len()]);
        let mut pairs = (at..).zip(found[..len].iter().zip(bytes));
        if let Some((address, _)) = pairs.find(|(_, (found, ran))| found != ran) {
            let region = image.region(address, MemorySpace::ANY)?;
            return Some((region.name(), address));
        }
    }
    None
}

/// Returns the problem for a file of the capture that has changed.
fn not_what_ran(path: &Path, how: &str, accept_mismatch: bool) -> Problem {
    if accept_mismatch {
        let what = "it is used, as asked for, and may not be what ran";
        return Problem::memory_error(path, format!("{how}: {what}"));
    }
    let what =
        "it is left out, since it may not be what ran (--accept-mismatch uses it, --image names another)";
    Problem::missing_code(path, format!("{how}: {what}"))
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

/// Returns whether a program can be anywhere: a shared object (ELF type 3) that is linked at 0.
fn is_anywhere(bytes: &Bytes) -> bool {
    let is_shared = bytes.as_slice().starts_with(b"\x7fELF") && bytes.as_slice().get(16) == Some(&3);
    is_shared && {
        let mut builder = Image::builder();
        // What is wrong with it is told when it is added.
        let _ = builder.elf("", bytes.clone(), None, MemorySpace::ANY);
        builder.build().regions().map(|region| region.range().start).min().is_some_and(|start| start < PAGES)
    }
}

/// Addresses below this are in the first mapping of a program that is linked at 0, whatever the size of a page.
const PAGES: u64 = 0x10000;

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

/// Reads a file, or maps it if it is larger than 64 MiB. A compressed file is unpacked before. If a mapped file is shortened while it is in use,
/// the system ends the process (SIGBUS); smaller files are safe from that.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn map_file(path: &Path) -> Result<Bytes, Problem> {
    let error = |error: std::io::Error| Problem::memory_error(path, format!("cannot read: {error}"));
    let file = open_seekable(path).map_err(error)?;
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
