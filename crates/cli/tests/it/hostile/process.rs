//! Runs the command with limits, and judges what came of it.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tracewright_core::text::is_unprintable;
use tracewright_testkit::Scratch;

/// Seconds of processor time that a run may take.
const CPU_SECONDS: u32 = 10;
/// Address space that a run may have.
const MEMORY_KIB: u32 = 8 << 20;
/// How long a run may wait for something that never comes.
const WALL: Duration = Duration::from_secs(120);
/// How much of the output is read; after that the pipe is closed.
const MOST: u64 = 4 << 20;

/// What is wrong with a run, in words.
pub type Verdict = Result<Option<i32>, String>;

/// A folder to run in, and a guard that ends runs that hang.
pub struct Worker {
    _scratch: Scratch,
    folder: PathBuf,
    guard: Arc<Guard>,
}

#[derive(Default)]
struct Guard {
    pid: AtomicU32,
    done: AtomicBool,
}

impl Guard {
    /// Kills a process that is older than it may be.
    fn watch(&self) {
        let mut seen = (0, Instant::now());
        while !self.done.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(250));
            let pid = self.pid.load(Ordering::Acquire);
            if pid != seen.0 {
                seen = (pid, Instant::now());
            } else if pid != 0 && seen.1.elapsed() > WALL {
                let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
            }
        }
    }
}

impl Worker {
    pub fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let folder = scratch.path().join("run");
        let guard = Arc::new(Guard::default());
        let watch = Arc::clone(&guard);
        thread::spawn(move || watch.watch());
        Self { _scratch: scratch, folder, guard }
    }

    /// The folder with the input files.
    pub fn input(&self) -> PathBuf {
        self.folder.join("in")
    }

    /// Empties all folders of the last run.
    pub fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
        for name in ["in", "out", "tmp"] {
            fs::create_dir_all(self.folder.join(name)).expect("a folder to run in");
        }
    }

    /// Runs the command in this folder. Paths in `args` are relative to it: `in/...` and `out/...`.
    pub fn run(&self, args: &[String]) -> Verdict {
        let before = listing(&self.folder);
        let errors = self.folder.with_extension("stderr");
        let limits =
            format!("ulimit -c 0 && ulimit -t {CPU_SECONDS} && ulimit -v {MEMORY_KIB} && exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &limits, env!("CARGO_BIN_EXE_tracewright")])
            .args(args)
            .current_dir(&self.folder)
            .env_clear()
            .env("TMPDIR", self.folder.join("tmp"))
            .env("HOME", self.folder.join("tmp"))
            .env("RUST_BACKTRACE", "0")
            // Each arena reserves 64 MiB of address space, and there are as many as eight for each core.
            .env("MALLOC_ARENA_MAX", "8")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors).expect("a file for messages"))
            .spawn()
            .expect("a shell");
        self.guard.pid.store(child.id(), Ordering::Release);
        let mut stdout = Vec::new();
        let mut pipe = child.stdout.take().expect("a pipe").take(MOST);
        let _ = pipe.read_to_end(&mut stdout);
        let is_cut = stdout.len() as u64 == MOST;
        drop(pipe);
        let status = child.wait().expect("a process that was started");
        self.guard.pid.store(0, Ordering::Release);
        let mut stderr = Vec::new();
        let _ = File::open(&errors).map(|file| file.take(MOST).read_to_end(&mut stderr));
        self.judge(args, status, (&stdout, is_cut), &stderr, &before)
    }

    fn judge(
        &self,
        args: &[String],
        status: ExitStatus,
        (stdout, is_cut): (&[u8], bool),
        stderr: &[u8],
        before: &[PathBuf],
    ) -> Verdict {
        let messages = String::from_utf8_lossy(stderr);
        let is_record = args.first().is_some_and(|verb| verb == "record");
        if messages.contains("panicked at") {
            return Err(format!("panic: {}", first_lines(&messages)));
        }
        match (status.signal(), status.code()) {
            (Some(signal), _) if signal == Signal::SIGKILL as i32 || signal == Signal::SIGXCPU as i32 => {
                return Err(format!("more than {CPU_SECONDS} s, or a hang"));
            }
            (Some(signal), _) => return Err(format!("signal {signal}: {}", first_lines(&messages))),
            (_, Some(0..=2)) => {}
            // Less ran than a minimum asks for.
            (_, Some(3)) if args[0] == "coverage" => {}
            // A program that runs has a status of its own.
            (_, Some(code)) if !is_record || code == 101 => {
                return Err(format!("status {code}: {}", first_lines(&messages)));
            }
            _ => {}
        }
        if args.iter().any(|arg| arg == "--json") && !is_cut {
            parse_json(stdout)?;
        }
        if !is_record && !args.iter().any(|arg| arg == "-") {
            no_controls("stdout", stdout)?;
        }
        no_controls("stderr", stderr)?;
        self.check_files(status.code(), is_record, before)
    }

    /// Nothing but outputs may be written, and none where nothing could be read.
    fn check_files(&self, code: Option<i32>, is_record: bool, before: &[PathBuf]) -> Verdict {
        let after = listing(&self.folder);
        let new: Vec<_> = after.iter().filter(|path| !before.contains(path)).collect();
        let out = self.folder.join("out");
        if let Some(path) = new.iter().find(|path| !path.starts_with(&out)) {
            return Err(format!("wrote {}", path.display()));
        }
        if let Some(path) = before.iter().find(|path| !after.contains(path)) {
            return Err(format!("removed {}", path.display()));
        }
        if code == Some(2) && !is_record && !new.is_empty() {
            return Err(format!("status 2, and yet left {}", new[0].display()));
        }
        Ok(code)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.guard.done.store(true, Ordering::Relaxed);
    }
}

/// All files and folders below a folder.
fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            paths.extend(listing(&entry.path()));
        }
        paths.push(entry.path());
    }
    paths
}

fn first_lines(text: &str) -> String {
    text.lines().take(4).collect::<Vec<_>>().join(" | ")
}

/// One value, or one on each line.
fn parse_json(bytes: &[u8]) -> Result<(), String> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<serde_json::Value>();
    match values.find_map(Result::err) {
        Some(error) => Err(format!("no JSON: {error}")),
        None => Ok(()),
    }
}

/// No character that does something to a terminal, but for ends of lines and tabulators.
fn no_controls(name: &str, bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let is_bad = |c: char| is_unprintable(c) && c != '\t';
    match text.split('\n').find(|line| line.chars().any(is_bad)) {
        Some(line) => Err(format!("{name} has a control character: {line:?}")),
        None => Ok(()),
    }
}
