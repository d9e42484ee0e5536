//! Drives Debian's `qemu-riscv64`, the user-mode emulator: what a program does, and which instructions it runs.
//!
//! The guest gets an empty environment and as much processor time as [`SECONDS`], so that results depend on nothing
//! else and nothing hangs.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process, thread};

/// The processor: RV64GC with the bit manipulation of RVA22. It is QEMU 7.2's default too, but not that of every
/// version.
pub const CPU: &str = "rv64,zba=true,zbb=true,zbs=true";

/// Processor time after which a guest is killed (SIGXCPU).
pub const SECONDS: u32 = 60;

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

/// Whether QEMU is here. If not, says that `test` is skipped.
pub fn available(test: &str) -> bool {
    let found = qemu().is_some();
    if !found {
        crate::skip(test, "no qemu-riscv64 (Debian: qemu-user)");
    }
    found
}

/// Runs a program to its end.
pub fn run(elf: &Path, args: &[&str], stdin: &[u8]) -> io::Result<Outcome> {
    let mut command = command("", &[], elf, args)?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pipe = child.stdin.take();
    // In a thread: it may write much before it reads. That it does not read everything is no error.
    let output = thread::scope(|scope| {
        scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(stdin)));
        child.wait_with_output()
    })?;
    Ok(Outcome { stdout: output.stdout, stderr: output.stderr, status: output.status })
}

/// The program counters of all instructions that a program runs, in order, while it runs. Its input is empty, its
/// output goes nowhere.
///
/// An instruction that faults is among them: QEMU tells before it tries.
pub fn program_counters(elf: &Path, args: &[&str]) -> io::Result<ProgramCounters> {
    // The log comes through a pipe that is standard error until the shell has moved it away: nothing is stored,
    // however long it is. A translation block for each instruction (-singlestep), none of them chained (nochain): a
    // line for each.
    let (log, writer) = io::pipe()?;
    let options = ["-singlestep", "-d", "exec,nochain", "-D", "/proc/self/fd/9"];
    let mut command = command("exec 9>&2 2>/dev/null; ", &options, elf, args)?;
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).spawn()?;
    // The command still holds the writing end; while it does, the log has no end.
    drop(command);
    Ok(ProgramCounters { child, log: BufReader::with_capacity(1 << 16, log), line: Vec::new(), next: None })
}

/// Runs a program with a log of what `-d` says, a translation block for each instruction; the log goes to `/dev/null`:
/// how long QEMU takes to write one, whoever reads it. Input and output as in [`program_counters`].
pub fn log_to_nowhere(elf: &Path, args: &[&str], log: &str) -> io::Result<ExitStatus> {
    let mut command = command("", &["-singlestep", "-d", log, "-D", "/dev/null"], elf, args)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()
}

/// `before` is shell code that runs first.
fn command(before: &str, options: &[&str], elf: &Path, args: &[&str]) -> io::Result<Command> {
    let qemu = qemu().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "qemu-riscv64"))?;
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{before}ulimit -c 0; ulimit -t {SECONDS}; exec env -i \"$@\"")).arg("sh");
    command.arg(qemu).args(["-cpu", CPU]).args(options).arg(elf).args(args);
    Ok(command)
}

fn qemu() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let search =
        || env::split_paths(&env::var_os("PATH")?).map(|p| p.join("qemu-riscv64")).find(|p| p.is_file());
    FOUND.get_or_init(search).as_deref()
}

/// See [`program_counters`]. Ends the program when dropped.
#[derive(Debug)]
pub struct ProgramCounters {
    child: Child,
    log: BufReader<io::PipeReader>,
    line: Vec<u8>,
    /// Read but not told: the next line can take it back.
    next: Option<u64>,
}

impl ProgramCounters {
    /// How the program ended, once there are no more of them.
    pub fn status(mut self) -> io::Result<ExitStatus> {
        self.by_ref().for_each(drop);
        self.child.wait()
    }
}

impl Iterator for ProgramCounters {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            self.line.clear();
            if self.log.read_until(b'\n', &mut self.line).ok()? == 0 {
                return self.next.take();
            }
            if self.line.starts_with(b"Stopped execution") {
                // A signal came between: the last one did not run, and is told again.
                self.next = None;
            } else if let Some(counter) = counter(&self.line)
                && let Some(told) = self.next.replace(counter)
            {
                return Some(told);
            }
        }
    }
}

impl Drop for ProgramCounters {
    fn drop(&mut self) {
        // It fails where the program has ended, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `Trace 0: 0x7fe2d3200100 [0000000000000000/00000000000100b0/00207600/00000201] symbol`
fn counter(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"Trace ")?;
    let slash = rest.iter().position(|&byte| byte == b'/')?;
    let digits = rest.get(slash + 1..slash + 17)?;
    u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// A folder that nobody else uses, gone when dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    pub fn new() -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tracewright-riscv-{}-{number}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Writes a file into it, executable (QEMU insists on that, without a word), and says where it is.
    pub fn write(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.0.join(name.as_ref());
        OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path)?.write_all(bytes)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
