//! Drives Debian's `qemu-aarch64`, `qemu-arm` and `qemu-riscv64`, the user-mode emulators: what a program does, and which
//! instructions it runs.
//!
//! The guest gets an environment that is told and as much processor time as [`SECONDS`], so that results depend on
//! nothing else and nothing hangs. Where its memory is, and what it takes for random, is the same in every run.

mod build;
mod counters;
mod guest;
mod own;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

pub use build::{Variant, build};
pub use counters::ProgramCounters;
pub use guest::Guest;
pub use own::{End, OWN, Own, all_own};

/// Processor time after which a guest is killed (SIGXCPU).
pub const SECONDS: u32 = 60;

/// A program, and how it is run.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// The processor.
    pub guest: Guest,
    /// The file.
    pub elf: &'a Path,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// The environment.
    pub environment: &'a [(&'a str, OsString)],
    /// Where it finds its libraries.
    pub root: Option<&'a Path>,
    /// The folder it starts in, if not this one.
    pub folder: Option<&'a Path>,
}

/// What a program did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it and QEMU wrote to standard error.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub status: ExitStatus,
}

impl<'a> Program<'a> {
    /// A program without environment, with the libraries of the cross compiler.
    pub fn new(guest: Guest, elf: &'a Path, arguments: &'a [&'a str]) -> Self {
        Self { guest, elf, arguments, environment: &[], root: Some(guest.libraries()), folder: None }
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When QEMU is not here, or cannot be started.
    pub fn run(&self, stdin: &[u8]) -> io::Result<Outcome> {
        self.run_with::<&str>(&[], stdin)
    }

    /// Runs it to its end, with more options for QEMU.
    ///
    /// # Errors
    /// When QEMU is not here, or cannot be started.
    pub fn run_with<S: Into<OsString> + Clone>(&self, options: &[S], stdin: &[u8]) -> io::Result<Outcome> {
        let mut command = self.command("", options)?;
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let pipe = child.stdin.take();
        // In a thread: it may write much before it reads. That it does not read everything is no error.
        let output = thread::scope(|scope| {
            scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(stdin)));
            child.wait_with_output()
        })?;
        Ok(Outcome { stdout: output.stdout, stderr: output.stderr, status: output.status })
    }

    /// The program counters of all instructions that it runs, in order, while it runs. Its input is empty, its output
    /// goes nowhere.
    ///
    /// An instruction that faults is among them: QEMU tells before it tries.
    ///
    /// # Errors
    /// When QEMU is not here, or cannot be started.
    pub fn program_counters(&self) -> io::Result<ProgramCounters> {
        // The log comes through a pipe that is standard error until the shell has moved it away: nothing is stored,
        // however long it is. A translation block for each instruction (-singlestep), none of them chained (nochain): a
        // line for each.
        let (log, writer) = io::pipe()?;
        let options = ["-singlestep", "-d", "exec,nochain", "-D", "/proc/self/fd/9"];
        let mut command = self.command("exec 9>&2 2>/dev/null; ", &options)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).spawn()?;
        // The command still holds the writing end; while it does, the log has no end.
        drop(command);
        Ok(ProgramCounters::new(child, log))
    }

    /// Runs it to its end with more options for QEMU, with input and output as in
    /// [`program_counters`](Self::program_counters): what it is connected to can change what a program does.
    ///
    /// # Errors
    /// When QEMU is not here, or cannot be started.
    pub fn run_silently<S: Into<OsString> + Clone>(&self, options: &[S]) -> io::Result<ExitStatus> {
        self.start_silently(options)?.wait()
    }

    /// Starts it like that. The process is QEMU itself.
    ///
    /// # Errors
    /// When QEMU is not here, or cannot be started.
    pub fn start_silently<S: Into<OsString> + Clone>(&self, options: &[S]) -> io::Result<Child> {
        let mut command = self.command("", options)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// Runs it with a log of what `-d` says, a translation block for each instruction; the log goes to `/dev/null`:
    /// how long QEMU takes to write one, whoever reads it.
    ///
    /// # Errors
    /// When QEMU is not here, or cannot be started.
    pub fn log_to_nowhere(&self, log: &str) -> io::Result<ExitStatus> {
        self.run_silently(&["-singlestep", "-d", log, "-D", "/dev/null"])
    }

    /// `before` is shell code that runs first.
    fn command<S: Into<OsString> + Clone>(&self, before: &str, options: &[S]) -> io::Result<Command> {
        let guest = self.guest;
        let qemu = guest.emulator().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, guest.name()))?;
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(format!("{before}ulimit -c 0; ulimit -t {SECONDS}; exec env -i \"$@\""))
            .arg("sh");
        for (name, value) in self.environment {
            let mut variable = OsString::from(name);
            variable.push("=");
            variable.push(value);
            command.arg(variable);
        }
        command.arg(qemu).args(guest.options()).args(options.iter().cloned().map(Into::into));
        if let Some(root) = self.root {
            command.arg("-L").arg(root);
        }
        command.arg(self.elf).args(self.arguments);
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        Ok(command)
    }
}
