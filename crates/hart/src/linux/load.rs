//! Loads a program into memory.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

use super::elf::{Elf, ElfError, MAGIC};
use super::errno::Errno;
use super::memory::Layout;
use super::paths::{Found, Place, Tree};
use super::process::Random;
use super::stack;
use super::{Mapped, Options};
use crate::Core;
use crate::memory::{Fault, Memory, PAGE};

/// Error of loading a program.
#[derive(Debug)]
pub struct LoadError {
    /// File that was not loaded.
    pub path: PathBuf,
    /// Reason.
    pub why: Why,
}

/// Reason why a file was not loaded.
#[derive(Debug)]
pub enum Why {
    /// It cannot be read.
    Read(io::Error),
    /// It cannot be run.
    Elf(ElfError),
    /// The dynamic linker it asks for does not exist.
    NoLinker(PathBuf),
    /// It does not fit into memory, for this reason.
    Place(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.why {
            Why::Read(error) => error.fmt(f),
            Why::Elf(error) => error.fmt(f),
            Why::NoLinker(linker) => write!(
                f,
                "it is linked dynamically by {}, which is not there: give the folder that has it and its libraries \
                 as root (Debian: /usr/riscv64-linux-gnu), or link with -static",
                linker.display()
            ),
            Why::Place(how) => how.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

#[derive(Debug)]
pub struct Loaded {
    /// Hart, ready to run.
    pub core: Core,
    pub layout: Layout,
    /// Memory filled from files.
    pub mapped: Vec<Mapped>,
}

/// Loads the file at `path` of the host.
pub fn load(path: &Path, tree: &Tree, options: &Options, random: &mut Random) -> Result<Loaded, LoadError> {
    let failed = |path: &Path, why| LoadError { path: path.to_path_buf(), why };
    let (bytes, identity) = read(path).map_err(|error| failed(path, Why::Read(error)))?;
    let elf = Elf::read(&bytes).map_err(|error| failed(path, Why::Elf(error)))?;
    let mut layout = Layout::new(elf.is_rv32);
    let mut core = Core::new(elf.is_rv32, Memory::new(options.memory));
    let mut mapped = Vec::new();

    let base = if elf.is_relocatable { layout.program } else { 0 };
    let end = place(&mut core, &layout, &elf, base, (path, identity), &mut mapped)
        .map_err(|why| failed(path, why))?;
    // The heap starts in the page after it.
    let heap = end.next_multiple_of(PAGE);
    layout.heap = heap..heap;
    let entry = base.wrapping_add(elf.entry);
    core.pc = entry;

    let mut linker_base = 0;
    if let Some(name) = elf.interpreter {
        let missing = || failed(path, Why::NoLinker(Path::new(OsStr::from_bytes(name)).to_path_buf()));
        let Ok(Place::Host(found)) = tree.find(&tree.root(), name, true) else { return Err(missing()) };
        if found.stat.is_none() {
            return Err(missing());
        }
        let (bytes, identity) = read_found(&found).map_err(|error| failed(&found.path, Why::Read(error)))?;
        let linker = Elf::read(&bytes).map_err(|error| failed(&found.path, Why::Elf(error)))?;
        if linker.is_rv32 != elf.is_rv32 {
            let how = "the program and this, its dynamic linker, are not both RV32 or both RV64".into();
            return Err(failed(&found.path, Why::Place(how)));
        }
        linker_base = if linker.is_relocatable { layout.mappings } else { 0 };
        place(&mut core, &layout, &linker, linker_base, (&found.path, identity), &mut mapped)
            .map_err(|why| failed(&found.path, why))?;
        core.pc = linker_base.wrapping_add(linker.entry);
    }

    let start = stack::Start {
        headers: (base.wrapping_add(elf.headers.0), elf.headers.1, elf.headers.2),
        entry,
        linker_base,
        executable: elf.executable_stack,
        // The name as given. A run should not depend on the folder of the program.
        name: options.arguments.first().map_or_else(|| tree.seen(path), PathBuf::from),
    };
    stack::build(&mut core, &layout, &start, options, random).map_err(|how| failed(path, Why::Place(how)))?;
    Ok(Loaded { core, layout, mapped })
}

/// Maximum size of a program file.
const MOST: u64 = 4 << 30;

/// Reads a program of the host. Also returns the identity of its file.
fn read(path: &Path) -> io::Result<(Vec<u8>, (u64, u64))> {
    // NONBLOCK: a pipe is refused without waiting.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    read_program(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Reads a file of the tree. Also returns its identity.
fn read_found(found: &Found) -> io::Result<(Vec<u8>, (u64, u64))> {
    match found.open(OFlags::RDONLY) {
        Ok(file) => read_program(file),
        Err(Errno::EACCES) if found.stat().is_ok_and(|stat| stat.kind() != FileType::RegularFile) => {
            Err(not_plain())
        }
        Err(Errno(number)) => Err(io::Error::from_raw_os_error(number)),
    }
}

/// Bytes that are read of any file: enough to name the interpreter of a script.
const HEAD: u64 = 128;

/// Reads an ELF file completely, and other files only as far as needed to refuse them.
fn read_program(mut file: File) -> io::Result<(Vec<u8>, (u64, u64))> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_plain());
    }
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut bytes)?;
    if bytes.starts_with(MAGIC) {
        file.take(MOST).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST {
            return Err(io::Error::other(format!(
                "longer than {MOST} bytes, the most that is read of a program"
            )));
        }
    }
    Ok((bytes, (metadata.dev(), metadata.ino())))
}

fn not_plain() -> io::Error {
    io::Error::other("not a plain file")
}

/// Returns the identity (device and number) of a file of the host.
pub(super) fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Loads the segments of `elf` into memory. Returns the address after the last.
fn place(
    core: &mut Core,
    layout: &Layout,
    elf: &Elf<'_>,
    base: u64,
    (path, identity): (&Path, (u64, u64)),
    mapped: &mut Vec<Mapped>,
) -> Result<u64, Why> {
    let mut last = 0;
    for segment in elf.segments.iter().filter(|segment| segment.size > 0) {
        let start = base.wrapping_add(segment.address);
        let end =
            start.checked_add(segment.size).filter(|&end| end <= layout.stack_bottom() && start >= PAGE);
        let Some(end) = end else {
            return Err(Why::Place(format!(
                "its segment at {:#x} ({:#x} bytes) is outside of what a program may use: a program for bare metal \
                 or a kernel, perhaps",
                segment.address, segment.size
            )));
        };
        // Two segments can share a page, which must hold both.
        core.memory.extend(start, segment.size, segment.rights);
        core.memory.load(start, segment.bytes).map_err(full)?;
        mapped.push(Mapped {
            address: start,
            len: segment.bytes.len() as u64,
            path: path.to_path_buf(),
            offset: segment.offset,
            rights: segment.rights,
            identity,
        });
        last = last.max(end);
    }
    Ok(last)
}

fn full(fault: Fault) -> Why {
    Why::Place(match fault {
        Fault::Full => "it does not fit into the memory it may use: allow more".into(),
        Fault::Access(address) => format!("there is no room for it at {address:#x}"),
    })
}
