//! A pager for long listings, as `git` has one: they go to its standard input, and what is said on standard error waits for its end.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write, stdout};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::asked;

/// There is one terminal, and so one pager.
static INPUT: Mutex<Option<ChildStdin>> = Mutex::new(None);
static WATCHER: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);
/// Whether all was written.
static IS_DONE: AtomicBool = AtomicBool::new(false);
/// What was said since it began.
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// The pager that runs.
pub struct Pager;

impl Pager {
    /// Starts the pager, if there is a terminal and one is wanted. Returns it also if it runs already.
    pub fn start() -> Option<Self> {
        let mut input = INPUT.lock().ok()?;
        if input.is_some() {
            return Some(Self);
        }
        if asked().no_pager || !stdout().is_terminal() {
            return None;
        }
        let mut child = command()?.stdin(Stdio::piped()).spawn().ok()?;
        *input = child.stdin.take();
        *HELD.lock().ok()? = Some(Vec::new());
        // Ctrl-C is for the pager.
        let _ = ctrlc::set_handler(|| {});
        let watch = move || {
            let _ = child.wait();
            // Somebody has seen enough.
            if !IS_DONE.load(Ordering::Acquire) {
                std::process::exit(0);
            }
        };
        *WATCHER.lock().ok()? = Some(thread::spawn(watch));
        Some(Self)
    }
}

/// What people have chosen, or `less`; `None` if they want none.
fn command() -> Option<Command> {
    let chosen = ["TRACEWRIGHT_PAGER", "PAGER"].iter().find_map(env::var_os);
    let Some(chosen) = chosen else {
        let mut less = Command::new("less");
        // Ends if all fits on the screen, shows colours, leaves the text there.
        less.arg("-FRX");
        return Some(less);
    };
    if chosen.is_empty() || chosen == "cat" {
        return None;
    }
    // The shell says that there is no such program, and nothing has read the listing then: it is shown without a pager.
    let mut script = OsString::from("(");
    script.push(chosen);
    script.push("\n)\nstatus=$?\ncase $status in 126|127) exec cat;; esac\nexit $status");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script);
    if env::var_os("LESS").is_none() {
        shell.env("LESS", "FRX");
    }
    Some(shell)
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match INPUT.lock() {
            Ok(mut input) => input.as_mut().map_or(Ok(bytes.len()), |input| input.write(bytes)),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps what is said on standard error while the pager has the terminal. Returns whether it did.
pub fn hold(text: &str) -> bool {
    match HELD.lock() {
        Ok(mut held) => match held.as_mut() {
            Some(held) => {
                held.extend_from_slice(text.as_bytes());
                true
            }
            None => false,
        },
        Err(_) => false,
    }
}

/// Waits until people have left the pager, if it runs, and then says what was said meanwhile.
pub fn finish() {
    IS_DONE.store(true, Ordering::Release);
    let input = INPUT.lock().ok().and_then(|mut input| input.take());
    drop(input);
    if let Some(watcher) = WATCHER.lock().ok().and_then(|mut watcher| watcher.take()) {
        let _ = watcher.join();
    }
    if let Some(held) = HELD.lock().ok().and_then(|mut held| held.take()) {
        let _ = io::stderr().write_all(&held);
    }
}
