//! Programs under QEMU with the plugin.

pub mod addresses;

use std::path::PathBuf;
use std::process::ExitStatus;

use tracewright_qemu::read::Log;
use tracewright_testkit::Scratch;
use tracewright_testkit::qemu::Program;

/// Returns the plugin, which Cargo builds beside the tests.
pub fn plugin() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let found = tests.with_file_name("libtracewright_qemu.so");
    assert!(found.is_file(), "{} is not there", found.display());
    found
}

/// A log, and how its program ended.
pub struct Recorded {
    pub log: Log,
    pub status: ExitStatus,
}

/// Runs a program with the plugin, without input and output.
pub fn record(program: &Program<'_>) -> Recorded {
    // What is open can be read when the folder is gone.
    let folder = Scratch::new("support");
    let file = folder.path().join("log");
    let option = format!("{},log={}", plugin().display(), file.display());
    let status = program.run_silently(&["-plugin", &option]).unwrap();
    let log = Log::open(&file).unwrap_or_else(|error| panic!("{error}: {status}"));
    assert!(log.damage().is_none(), "{:?}", log.damage());
    Recorded { log, status }
}
