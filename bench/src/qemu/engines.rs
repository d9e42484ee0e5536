//! What runs programs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tracewright_core::Block;
use tracewright_hart::{HartSink, Trap};
use tracewright_qemu::read::Log;
use tracewright_testkit::qemu::Guest;

use super::program::Program;
use crate::{inputs, tool};

/// The plugins and the recorder.
pub struct Engines {
    counter: PathBuf,
    plugin: PathBuf,
    recorder: Option<PathBuf>,
    folder: PathBuf,
}

/// What a program runs through.
pub struct Truth {
    /// As the rival counts: of RISC-V, system calls are among them.
    pub instructions: u64,
    /// QEMU's, also as it counts.
    pub blocks: u64,
    /// System calls that do not retire.
    calls: u64,
}

impl Truth {
    /// Another run: its time counts if it did the same. A few programs go by the time, or by where memory is.
    fn is_about(&self, instructions: u64) -> Result<(), String> {
        if instructions.abs_diff(self.instructions) > self.instructions / 100 + 20_000 {
            return Err(format!("{instructions} instructions, expected {}", self.instructions));
        }
        Ok(())
    }
}

impl Engines {
    /// Compiles the rival and finds our plugin; `Err` says why there is none.
    pub fn build() -> Result<Self, String> {
        if let Some(guest) = Guest::ALL.into_iter().find(|guest| guest.emulator().is_none()) {
            return Err(format!("no qemu-{} (Debian: qemu-user)", guest.name()));
        }
        let folder = inputs::out_dir();
        let counter = folder.join("bb_count.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("engines/bb_count.c");
        let output =
            Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&counter).arg(source).output();
        let output = output.map_err(|error| format!("no C compiler: {error}"))?;
        if !output.status.success() {
            return Err(format!("the plugin that counts: {}", String::from_utf8_lossy(&output.stderr)));
        }
        // Cargo builds it with this program, which needs the crate.
        let here = std::env::current_exe().map_err(|error| error.to_string())?;
        let plugin = here.with_file_name("deps").join("libtracewright_qemu.so");
        if !plugin.is_file() {
            return Err(format!("{} is not there", plugin.display()));
        }
        let recorder = tool::executable();
        if recorder.is_none() {
            eprintln!("skipped: record --qemu: build it first (cargo build --release)");
        }
        Ok(Self { counter, plugin, recorder, folder })
    }

    pub fn has_recorder(&self) -> bool {
        self.recorder.is_some()
    }

    /// What a program runs through, as the rival counts it and our log tells it: of one run with both plugins, since a few
    /// programs go by the time.
    pub fn agree(&self, program: &Program) -> Result<Truth, String> {
        self.plain(program)?;
        let (ours, rivals) = (self.log_option(), self.counter_option(false));
        timed(|| program.how().run_silently(&["-plugin", &ours, "-plugin", &rivals]))?;
        let (blocks, instructions) = self.counts()?;
        let told = self.read()?;
        let calls = if program.guest == Guest::Riscv64 { told.calls } else { 0 };
        if told.instructions + calls != instructions || told.lost != 0 {
            return Err(format!("{told:?}, counted: {instructions}"));
        }
        let truth = Truth { instructions, blocks, calls };
        self.counting(program, false, &truth)?;
        self.counting(program, true, &truth)?;
        if self.has_recorder() {
            self.recorded(program, &truth)?;
        }
        Ok(truth)
    }

    /// QEMU alone.
    pub fn plain(&self, program: &Program) -> Result<Duration, String> {
        timed(|| program.how().run_silently::<&str>(&[]))
    }

    /// The plugin that counts.
    pub fn counting(&self, program: &Program, inline: bool, truth: &Truth) -> Result<Duration, String> {
        let option = self.counter_option(inline);
        let time = timed(|| program.how().run_silently(&["-plugin", &option]))?;
        truth.is_about(self.counts()?.1)?;
        Ok(time)
    }

    /// Our plugin, with its log in a file.
    pub fn log(&self, program: &Program) -> Result<Duration, String> {
        let option = self.log_option();
        timed(|| program.how().run_silently(&["-plugin", &option]))
    }

    /// `tracewright record --qemu`, encoding while the program runs.
    pub fn recorded(&self, program: &Program, truth: &Truth) -> Result<Duration, String> {
        let Some(recorder) = &self.recorder else { return Err("there is no recorder".into()) };
        let (capture, summary) = (self.folder.join("recorded"), self.folder.join("recorded.json"));
        let _ = fs::remove_dir_all(&capture);
        let mut command = Command::new(recorder);
        // The program sees what the others' sees, but for where QEMU is: a program's start goes through its environment.
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.args(["record", "--qemu", "-q", "--symfs"]).arg(&program.root);
        command.arg("-o").arg(&capture).arg("--summary-json").arg(&summary);
        for (name, value) in &program.environment {
            let mut variable = std::ffi::OsString::from(name);
            variable.push("=");
            variable.push(value);
            command.arg("--env").arg(variable);
        }
        command.arg(&program.elf).arg("--").args(&program.arguments).current_dir(&program.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let time = timed(|| command.status())?;
        let summary = fs::read(&summary).map_err(|error| format!("no summary: {error}"))?;
        let summary: serde_json::Value =
            serde_json::from_slice(&summary).map_err(|error| format!("the summary: {error}"))?;
        truth.is_about(summary["instructions"].as_u64().unwrap_or_default() + truth.calls)?;
        Ok(time)
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("retired.log")
    }

    fn log_option(&self) -> String {
        let _ = fs::remove_file(self.log_file());
        format!("{},log={}", self.plugin.display(), self.log_file().display())
    }

    fn count_file(&self) -> PathBuf {
        self.folder.join("counts")
    }

    fn counter_option(&self, inline: bool) -> String {
        let _ = fs::remove_file(self.count_file());
        let how = if inline { ",inline=on" } else { "" };
        format!("{},out={}{how}", self.counter.display(), self.count_file().display())
    }

    /// Blocks and instructions.
    fn counts(&self) -> Result<(u64, u64), String> {
        let text = fs::read_to_string(self.count_file()).map_err(|error| format!("no counts: {error}"))?;
        let mut numbers = text.split_whitespace().map(|word| word.parse().unwrap_or_default());
        Ok((numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default()))
    }

    fn read(&self) -> Result<Told, String> {
        let mut told = Told::default();
        let mut log = Log::open(&self.log_file()).map_err(|error| error.to_string())?;
        let threads: Vec<_> = log.threads().collect();
        for thread in threads {
            log.read(thread, &mut told).map_err(|error| error.to_string())?;
        }
        Ok(told)
    }
}

/// What a log tells.
#[derive(Debug, Default)]
struct Told {
    instructions: u64,
    calls: u64,
    lost: u64,
}

impl HartSink for Told {
    fn block(&mut self, block: &Block) {
        self.instructions += u64::from(block.count);
    }

    fn trap(&mut self, trap: &Trap) {
        self.calls += u64::from(trap.served);
    }

    fn lost(&mut self) {
        self.lost += 1;
    }
}

fn timed(run: impl FnOnce() -> io::Result<ExitStatus>) -> Result<Duration, String> {
    let start = Instant::now();
    let status = run().map_err(|error| error.to_string())?;
    let time = start.elapsed();
    if status.success() { Ok(time) } else { Err(format!("it failed: {status}")) }
}
