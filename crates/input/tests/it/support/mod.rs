//! Snapshot folders made for one test and removed after it.
#![allow(dead_code, reason = "the fuzz bodies use a part of this")]

use std::fs;
use std::path::Path;

use tracewright_input::{Problem, Snapshot};
use tracewright_testkit::Scratch;

/// Temporary folder with a capture.
pub struct Folder(Scratch);

impl Folder {
    /// Creates an empty folder that no other test uses.
    pub fn new() -> Self {
        Self(Scratch::new("input"))
    }

    /// Creates a small snapshot without problems: a core with 16 bytes of memory, its ETM, 4 bytes of trace.
    pub fn snapshot() -> Self {
        Self::new()
            .with("snapshot.ini", SNAPSHOT)
            .with("cpu_0.ini", CORE)
            .with("etm_0.ini", SOURCE)
            .with("trace.ini", TRACE)
            .with("memory.bin", [0; 16])
            .with("trace.bin", [1, 2, 3, 4])
    }

    /// Adds or replaces a file.
    pub fn with(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        fs::write(self.path().join(name), bytes).expect("a file in a temporary folder");
        self
    }

    /// Adds a third device to a snapshot.
    pub fn and_device(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let list = SNAPSHOT.replace("[trace]", &format!("device2={name}\n[trace]"));
        self.with("snapshot.ini", list).with(name, text)
    }

    /// Removes a file.
    pub fn without(self, name: &str) -> Self {
        fs::remove_file(self.path().join(name)).expect("a file to remove");
        self
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn open(&self) -> Snapshot {
        Snapshot::open(self.path()).expect("a snapshot.ini")
    }

    /// Opens the snapshot and compares its problems, with file names instead of paths.
    pub fn check(&self, expected: &[&str]) -> Snapshot {
        let snapshot = self.open();
        assert_eq!(listed(&snapshot.problems, self.path()), expected);
        snapshot
    }
}

/// Returns the texts of problems, with paths relative to `dir`.
pub fn listed(problems: &[Problem], dir: &Path) -> Vec<String> {
    let relative = |problem: &Problem| {
        let file = problem.file.strip_prefix(dir).unwrap_or(&problem.file).to_owned();
        Problem { file, ..problem.clone() }.to_string()
    };
    problems.iter().map(relative).collect()
}

pub const SNAPSHOT: &str = "\
[snapshot]
version=1.0
[device_list]
device0=cpu_0.ini
device1=etm_0.ini
[trace]
metadata=trace.ini
";

pub const CORE: &str = "\
[device]
name=cpu_0
class=core
type=Cortex-A53
[dump1]
file=memory.bin
address=0x1000
";

pub const SOURCE: &str = "\
[device]
name=ETM_0
class=trace_source
type=ETM4
[regs]
TRCTRACEIDR(0x010)=0x10
";

pub const TRACE: &str = "\
[trace_buffers]
buffers=buffer0
[buffer0]
name=ETB_0
file=trace.bin
format=coresight
[source_buffers]
ETM_0=ETB_0
[core_trace_sources]
cpu_0=ETM_0
";

/// Small capture without problems.
pub const CAPTURE: &str = r#"format = 1
description = "a test"

[[source]]
name = "hart0"
protocol = "etrace"
id = 3
isa = "rv32"
encapsulation = { kind = "standard", source_bits = 6, timestamp_bytes = 2, type_bits = 1 }
params = { iaddress_width = 32, context_width_p = 8, nocontext = false }

[source.options]
implicit_return = true

[[buffer]]
name = "sink"
file = "trace.bin"
sources = ["hart0"]

[[image]]
file = "rom.bin"
address = 0x1000
"#;
