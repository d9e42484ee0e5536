//! Drives Debian's user-mode emulators `qemu-aarch64`, `qemu-arm` and `qemu-riscv64`: returns a program's output, and
//! the instructions it runs.
//!
//! The guest gets a given environment and [`SECONDS`] of processor time, so that results depend on nothing else and
//! nothing hangs. Its memory layout and random seed are the same in every run.

mod build;
mod counters;
mod guest;
mod own;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
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
    /// Processor.
    pub guest: Guest,
    /// Program file.
    pub elf: &'a Path,
    /// Arguments.
    pub arguments: &'a [&'a str],
    /// Environment.
    pub environment: &'a [(&'a str, OsString)],
    /// Folder with its libraries.
    pub root: Option<&'a Path>,
    /// Working directory, if not the current one.
    pub folder: Option<&'a Path>,
}

impl<'a> Program<'a> {
    /// Creates a program without environment, with the libraries of the cross compiler.
    pub fn new(guest: Guest, elf: &'a Path, arguments: &'a [&'a str]) -> Self {
        Self { guest, elf, arguments, environment: &[], root: Some(guest.libraries()), folder: None }
    }

    /// Runs it to its end. Standard error is that of the program and of QEMU.
    pub fn run(&self, stdin: &[u8]) -> io::Result<Output> {
        let mut command = self.command::<&str>("", &[])?;
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let pipe = child.stdin.take();
        // In a thread, since it may write much before it reads. That it does not read everything is no error.
        thread::scope(|scope| {
            scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(stdin)));
            child.wait_with_output()
        })
    }

    /// Returns the program counters of all instructions in order, while it runs. Its input is empty, and its output is discarded.
    ///
    /// An instruction that faults is included, since QEMU logs it before it tries.
    pub fn program_counters(&self) -> io::Result<ProgramCounters> {
        // The log comes through a pipe that is standard error until the shell has moved it away, so that nothing is
        // stored, however long it is. There is a translation block for each instruction (-singlestep), none of them
        // chained (nochain), and so a line for each.
        let (log, writer) = io::pipe()?;
        let options = ["-singlestep", "-d", "exec,nochain", "-D", "/proc/self/fd/9"];
        let mut command = self.command("exec 9>&2 2>/dev/null; ", &options)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).spawn()?;
        // The command still holds the writing end; while it does, the log has no end.
        drop(command);
        Ok(ProgramCounters::new(child, log))
    }

    /// Runs it to its end with additional options for QEMU, with input and output as in
    /// [`program_counters`](Self::program_counters), since these can change what a program does.
    pub fn run_silently<S: Into<OsString> + Clone>(&self, options: &[S]) -> io::Result<ExitStatus> {
        self.start_silently(options)?.wait()
    }

    /// Starts it in the same way. The process is QEMU itself.
    pub fn start_silently<S: Into<OsString> + Clone>(&self, options: &[S]) -> io::Result<Child> {
        let mut command = self.command("", options)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// Runs it with a log of what `-d` selects, one translation block for each instruction. The log goes to
    /// `/dev/null`: this measures how long QEMU takes to write it.
    pub fn log_to_nowhere(&self, log: &str) -> io::Result<ExitStatus> {
        self.run_silently(&["-singlestep", "-d", log, "-D", "/dev/null"])
    }

    /// Builds the command. `before` is shell code that runs first.
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
