//! Runs the program and records it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tracewright_capture::CaptureOptions;
use tracewright_capture::protocol::Traced;
use tracewright_capture::record::{self, Loaded, LogOutput, Outputs, RunOptions};
use tracewright_hart::Stop;

use super::{LOG, NAME, PROGRAM};
use crate::output::{Error, ForceArgs};

/// No run of the program is longer.
const LIMIT: u64 = 1 << 26;

/// What ran, and its trace.
pub struct Ran {
    pub instructions: u64,
    pub system_calls: u64,
    /// What the program printed.
    pub printed: String,
    pub traced: Traced,
}

/// What the program prints.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Ok(mut printed) = self.0.lock() {
            printed.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A folder for files of this run, removed at the end.
pub struct Temporary(PathBuf);

impl Temporary {
    /// Makes the folder.
    pub fn new() -> Result<Self, Error> {
        let folder = Self(std::env::temp_dir().join(format!("tracewright-demo-{}", std::process::id())));
        let failed =
            |error| Error::Message(format!("{}: cannot make this folder: {error}", folder.0.display()));
        std::fs::create_dir(&folder.0).map_err(failed)?;
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Loads the program.
#[cfg(target_os = "linux")]
fn load(file: &Path, printed: Printed) -> Result<Loaded, Error> {
    use tracewright_hart::Hart;
    use tracewright_hart::linux::{Linux, Options, Streams};

    let streams = Streams { output: Box::new(printed), ..Streams::none() };
    let options = Options { arguments: vec![NAME.into()], streams, ..Options::default() };
    let loaded = Linux::load(file, options);
    let (core, machine) = loaded.map_err(|error| Error::Message(format!("{NAME}: {error}")))?;
    Ok(Loaded::Linux(Box::new(Hart::new(core, machine))))
}

/// Fails: the program is for Linux.
#[cfg(not(target_os = "linux"))]
fn load(_: &Path, _: Printed) -> Result<Loaded, Error> {
    Err(tracewright_capture::Error::LinuxOnly.into())
}

/// Runs the program and records it in the folder `to`, as `record -o` does. Its file goes to `temporary`.
pub fn run(temporary: &Temporary, to: &Path, force: ForceArgs) -> Result<Ran, Error> {
    let failed = |why: &dyn std::fmt::Display| Error::Message(format!("{NAME}: {why}"));
    let file = temporary.path().join(NAME);
    std::fs::write(&file, PROGRAM).map_err(|error| failed(&error))?;
    let printed = Printed::default();
    let loaded = load(&file, printed.clone())?;
    let path = temporary.path().join(LOG);
    let log = Some(LogOutput { path: path.clone(), ..LogOutput::default() });
    let capture = CaptureOptions { replace: force.replace(), ..CaptureOptions::new(to) };
    let options = RunOptions {
        limit: LIMIT,
        outputs: Outputs { log, ..Outputs::default() },
        capture: Some(capture),
        ..RunOptions::new(&file)
    };
    let ran = record::run(loaded, options, &mut |_| {}, &mut Vec::new())?;
    std::fs::copy(path, to.join(LOG)).map_err(|error| failed(&error))?;
    match (ran.failed, ran.stop, ran.traced) {
        (None, Stop::Exit { status: 0 }, Some(traced)) => {
            let printed = printed.0.lock().map(|printed| String::from_utf8_lossy(&printed).into_owned());
            Ok(Ran {
                instructions: ran.counts.instructions,
                system_calls: ran.counts.system_calls,
                printed: printed.unwrap_or_default(),
                traced,
            })
        }
        (Some(error), ..) => Err(error.into()),
        (_, stop, _) => Err(failed(&format!("did not run to its end: {stop:?}"))),
    }
}
