//! The programs, and how our hart runs one.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracewright_hart::linux::{Linux, Options, Streams};
use tracewright_hart::{Hart, HartSink, Stop};

/// A program of the folder `programs`.
pub struct Program {
    pub name: &'static str,
    /// Its argument by size; without: it takes none, and is always the same.
    arguments: Option<[&'static str; 3]>,
    /// Instructions and digest of their addresses, of the small size, as found when the benchmark was written.
    pub expected: (u64, u64),
}

/// How much a program is to do.
#[derive(Clone, Copy, Debug)]
pub enum Size {
    /// For checks.
    Small,
    /// About a million instructions: as many as QEMU logs in a second or two.
    Medium,
    /// So many that starting takes no time beside it.
    Large,
}

/// What runs long enough in all three sizes, and is as different as can be.
pub const PROGRAMS: [Program; 6] = [
    program("sort", ["300", "800", "262144"], (298_947, 0x6c3b_01b0_50d5_b90a)),
    program("hash", ["500", "6000", "1048576"], (230_103, 0x4ffc_8750_3031_de46)),
    program("matrix", ["12", "30", "200"], (99_800, 0xe363_ab3b_51c5_41f9)),
    program("interpreter", ["60", "800", "60000"], (42_308, 0x5bf9_ff2d_2ce6_79d1)),
    program("fft", ["6", "11", "16"], (44_012, 0x6f6b_cd5f_b48e_40b2)),
    Program { name: "recursion", arguments: None, expected: (3_525_527, 0x52d2_71c2_7ba8_becc) },
];

const fn program(name: &'static str, arguments: [&'static str; 3], expected: (u64, u64)) -> Program {
    Program { name, arguments: Some(arguments), expected }
}

impl Program {
    pub fn elf(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../programs/bin/{}.elf", self.name))
    }

    pub fn argument(&self, size: Size) -> Option<&'static str> {
        self.arguments.map(|arguments| arguments[size as usize])
    }

    /// Its name in tables.
    pub fn named(&self, size: Size) -> String {
        [self.name].into_iter().chain(self.argument(size)).collect::<Vec<_>>().join(" ")
    }

    /// Runs it, from loading to its end.
    pub fn run(&self, size: Size, sink: &mut impl HartSink) -> Result<Ran, String> {
        let (time, stop, output) = self.run_for(size, u64::MAX, sink)?;
        let Stop::Exit { status } = stop else { return Err(format!("{}: {stop:?}", self.named(size))) };
        Ok(Ran { time, outcome: Outcome { status: Some(status), output } })
    }

    /// Runs it for at most so many instructions: how long that took, why it stopped, what it printed.
    pub fn run_for(
        &self,
        size: Size,
        limit: u64,
        sink: &mut impl HartSink,
    ) -> Result<(Duration, Stop, Vec<u8>), String> {
        let (elf, output) = (self.elf(), Output::default());
        let arguments = [elf.as_os_str().to_owned()].into_iter();
        let options = Options {
            arguments: arguments.chain(self.argument(size).map(OsString::from)).collect(),
            streams: Streams { output: Box::new(output.clone()), ..Streams::none() },
            ..Options::default()
        };
        let start = Instant::now();
        let (core, linux) = Linux::load(&elf, options).map_err(|error| error.to_string())?;
        let mut hart = Hart::new(core, linux);
        let stop = hart.run(limit, sink);
        Ok((start.elapsed(), stop, output.take()))
    }
}

/// A run to the end.
pub struct Ran {
    pub time: Duration,
    pub outcome: Outcome,
}

/// What anyone can see of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `None`: it was killed.
    pub status: Option<i32>,
    pub output: Vec<u8>,
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
