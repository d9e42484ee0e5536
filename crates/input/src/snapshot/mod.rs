//! Arm trace-snapshot folders: `snapshot.ini`, a file for each device, `trace.ini`, memory dumps and trace
//! buffers.
//!
//! [`Snapshot::open`] reads the text files and looks at the sizes of the binary ones; their bytes stay on disk.
//! [`SnapshotWriter`] writes such a folder.

mod device;
mod kind;
mod overlap;
mod read;
mod text;
mod trace;
mod write;

use std::path::{Path, PathBuf};

pub use kind::{Architecture, CoreKind, Profile, Protocol};
pub use tracewright_core::MemorySpace;
pub use write::SnapshotWriter;

use crate::mapping::Process;
use crate::packing::Packing;
use crate::problem::Problem;

/// A trace snapshot: which devices there are, what was in memory, which buffer holds whose trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The folder.
    pub dir: PathBuf,
    /// The version of the format, as written; `1` or `1.0` unless there is a problem about it.
    pub version: String,
    /// Free text.
    pub description: Option<String>,
    /// Cores, trace sources and others, in the order of the device list; names are unique.
    pub devices: Vec<Device>,
    /// Trace buffers, in the order of their sections: the first is the one tools decode by default.
    pub buffers: Vec<Buffer>,
    /// Processes that were traced, with what was mapped in them, if the folder has our `mappings.toml`.
    pub processes: Vec<Process>,
    /// What is wrong with the folder. One bad thing does not stop the reading of the rest.
    pub problems: Vec<Problem>,
}

impl Snapshot {
    /// Reads the folder `dir`.
    ///
    /// # Errors
    /// Only when there is no `snapshot.ini` that can be read; all else becomes [`problems`](Self::problems).
    pub fn open(dir: &Path) -> Result<Self, Problem> {
        read::open(dir)
    }
}

/// A core, a trace source, or another component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its unique name.
    pub name: String,
    /// What sort of component it is.
    pub class: DeviceClass,
    /// Which one exactly: `Cortex-A53`, `ETM4.2`; see [`core_kind`](Self::core_kind) and
    /// [`protocol`](Self::protocol).
    pub kind: String,
    /// The file that describes it.
    pub file: PathBuf,
    /// Registers at the time of the snapshot, in the order of the file; names are unique.
    pub registers: Vec<Register>,
    /// What was in its memory. Over all devices no two dumps disagree about a byte of a space.
    pub dumps: Vec<Dump>,
}

impl Device {
    /// The value of the register `name` (upper or lower case), if the file has it and it is a number.
    pub fn register(&self, name: &str) -> Option<u64> {
        self.registers.iter().find(|register| register.name.eq_ignore_ascii_case(name))?.value
    }

    /// What a core's type says about it; `None` for other classes and unknown types.
    pub fn core_kind(&self) -> Option<CoreKind> {
        if self.class == DeviceClass::Core { CoreKind::of(&self.kind) } else { None }
    }

    /// What a trace source speaks; `None` for other classes and unknown types.
    pub fn protocol(&self) -> Option<Protocol> {
        if self.class == DeviceClass::TraceSource { Protocol::of(&self.kind) } else { None }
    }
}

/// The class of a [`Device`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceClass {
    /// A processor.
    Core,
    /// An ETM, PTM, ITM, STM...
    TraceSource,
    /// Anything else (funnels, sinks), under its own name; decoding does not need it.
    Other(String),
}

impl DeviceClass {
    /// The class a device file calls `name`.
    pub fn from_name(name: &str) -> Self {
        match name {
            "core" => Self::Core,
            "trace_source" => Self::TraceSource,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The name in a device file.
    pub fn name(&self) -> &str {
        match self {
            Self::Core => "core",
            Self::TraceSource => "trace_source",
            Self::Other(name) => name,
        }
    }
}

/// A register of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name, without what the file adds in parentheses: `PC` for `PC(size:64)`.
    pub name: String,
    /// Its value, if the text is a number of 64 bits at most.
    pub value: Option<u64>,
    /// Its value as written.
    pub text: String,
    /// Where: the line in the device's file.
    pub line: u32,
}

/// A piece of memory in a file: never empty, and all of it is in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The file with the bytes.
    pub path: PathBuf,
    /// The address of the first byte.
    pub address: u64,
    /// The number of bytes.
    pub length: u64,
    /// Where in the file the first byte is.
    pub offset: u64,
    /// The spaces in which it is visible.
    pub space: MemorySpace,
    /// Where: the line of the dump's section in the device's file.
    pub line: u32,
}

impl Dump {
    /// The address of the last byte (the end itself may be one past 64 bits).
    pub fn last(&self) -> u64 {
        self.address.wrapping_add(self.length.wrapping_sub(1))
    }
}

/// A file of captured trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its unique name.
    pub name: String,
    /// The file with the bytes.
    pub path: PathBuf,
    /// The size of that file.
    pub size: u64,
    /// How the bytes are packed.
    pub format: Packing,
    /// Whose trace it holds.
    pub sources: Vec<SourceRef>,
}

/// A trace source of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceRef {
    /// The source: an index into [`Snapshot::devices`].
    pub device: usize,
    /// The core it traces, likewise; `None` for sources of no core (STM, ITM).
    pub core: Option<usize>,
}
