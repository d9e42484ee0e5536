//! Arm trace snapshot folders: `snapshot.ini`, a file for each device, `trace.ini`, memory dumps and trace
//! buffers.
//!
//! [`Snapshot::open`] reads the text files and the sizes of the binary ones; their bytes stay on disk.
//! [`SnapshotWriter`] writes such a folder.

mod device;
mod kind;
mod overlap;
mod read;
mod trace;
mod write;

use std::path::{Path, PathBuf};

pub use kind::{Architecture, CoreKind, CoreProfile, Protocol};
pub use tracewright_core::MemorySpace;
pub use write::SnapshotWriter;

use crate::mapping::Process;
use crate::packing::Packing;
use crate::problem::Problem;

/// Trace snapshot: its devices, memory contents, and the trace buffers with their sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Path of the folder.
    pub dir: PathBuf,
    /// Version of the format, as written; `1` or `1.0` unless there is a problem about it.
    pub version: String,
    /// Free text.
    pub description: Option<String>,
    /// Cores, trace sources and others, in the order of the device list; names are unique.
    pub devices: Vec<Device>,
    /// Trace buffers, in the order of their sections: the first is the one tools decode by default.
    pub buffers: Vec<Buffer>,
    /// Traced processes with their mappings, if the folder has our `mappings.toml`.
    pub processes: Vec<Process>,
    /// Problems of the folder. One of them does not stop the reading of the rest.
    pub problems: Vec<Problem>,
}

impl Snapshot {
    /// Reads the folder `dir`.
    ///
    /// # Errors
    /// Fails only if there is no readable `snapshot.ini`; all else becomes [`problems`](Self::problems).
    pub fn open(dir: &Path) -> Result<Self, Problem> {
        read::open(dir)
    }
}

/// Core, trace source, or another component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Unique name.
    pub name: String,
    /// Class of the component.
    pub class: DeviceClass,
    /// Exact type: `Cortex-A53`, `ETM4.2`; see [`core_kind`](Self::core_kind) and
    /// [`protocol`](Self::protocol).
    pub kind: String,
    /// File that describes it.
    pub file: PathBuf,
    /// Registers at the time of the snapshot, in file order; names are unique.
    pub registers: Vec<Register>,
    /// Contents of its memory. Over all devices no two dumps disagree about a byte of a space.
    pub dumps: Vec<Dump>,
}

impl Device {
    /// Returns the value of the register `name` (upper or lower case), if the file has it and it is a number.
    pub fn register(&self, name: &str) -> Option<u64> {
        self.registers.iter().find(|register| register.name.eq_ignore_ascii_case(name))?.value
    }

    /// Returns the kind of a core; `None` for other classes and unknown types.
    pub fn core_kind(&self) -> Option<CoreKind> {
        if self.class == DeviceClass::Core { CoreKind::of(&self.kind) } else { None }
    }

    /// Returns the protocol of a trace source; `None` for other classes and unknown types.
    pub fn protocol(&self) -> Option<Protocol> {
        if self.class == DeviceClass::TraceSource { Protocol::of(&self.kind) } else { None }
    }
}

/// Class of a [`Device`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceClass {
    /// A processor.
    Core,
    /// An ETM, PTM, ITM, STM...
    TraceSource,
    /// Any other component (funnel, sink), under its own name; decoding does not need it.
    Other(String),
}

impl DeviceClass {
    /// Returns the class that a device file calls `name`.
    pub fn from_name(name: &str) -> Self {
        match name {
            "core" => Self::Core,
            "trace_source" => Self::TraceSource,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns the name in a device file.
    pub fn name(&self) -> &str {
        match self {
            Self::Core => "core",
            Self::TraceSource => "trace_source",
            Self::Other(name) => name,
        }
    }
}

/// Register of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Name, without what the file adds in parentheses: `PC` for `PC(size:64)`.
    pub name: String,
    /// Value, if the text is a number of at most 64 bits.
    pub value: Option<u64>,
    /// Value as written.
    pub text: String,
    /// Line in the device's file.
    pub line: u32,
}

/// Piece of memory in a file, never empty and completely in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// Path of the file with the bytes.
    pub path: PathBuf,
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub length: u64,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Spaces in which it is visible.
    pub space: MemorySpace,
    /// Line of the dump's section in the device's file.
    pub line: u32,
}

impl Dump {
    /// Returns the address of the last byte (the end itself may not fit 64 bits).
    pub fn last(&self) -> u64 {
        self.address.wrapping_add(self.length.wrapping_sub(1))
    }
}

/// File of captured trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Unique name.
    pub name: String,
    /// Path of the file with the bytes.
    pub path: PathBuf,
    /// Size of the file.
    pub size: u64,
    /// Packing of the bytes.
    pub format: Packing,
    /// Sources whose trace it holds.
    pub sources: Vec<SourceRef>,
}

/// Trace source of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceRef {
    /// Index of the source in [`Snapshot::devices`].
    pub device: usize,
    /// Index of the traced core; `None` for sources without a core (STM, ITM).
    pub core: Option<usize>,
}
