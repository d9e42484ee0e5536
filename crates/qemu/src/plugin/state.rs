use std::io::Write;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tracewright_core::text::Printable;

use super::arguments::Arguments;
use super::count_page;
use super::definitions::Definitions;
use super::ffi::{Api, Counter};
use super::maps::Maps;
use super::output::Output;
use super::places::Places;
use super::thread::{IS_ON, Thread};
use crate::format::{Header, LogData, Record, Target};

/// State of the plugin.
#[derive(Debug)]
pub struct State {
    pub api: Api,
    /// Version of QEMU's interface.
    pub version: u32,
    pub arguments: Arguments,
    pub target: Target,
    pub output: Output,
    /// Per-thread counters, if QEMU has them.
    pub counter: Option<Counter>,
    /// Set if there is more than one thread, or will be.
    pub is_parallel: AtomicBool,
    /// Process that is recorded.
    pub pid: AtomicU32,
    pub places: Places,
    definitions: Mutex<Definitions>,
    maps: Mutex<Maps>,
    threads: AtomicU32,
    /// Difference between QEMU's and the program's addresses.
    pub guest_base: AtomicU64,
    pub is_command_told: AtomicBool,
}

// SAFETY: the parts that are not `Sync` themselves are functions of QEMU and a pointer to its memory, which any thread
// may use.
#[allow(unsafe_code)]
unsafe impl Sync for State {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Send for State {}

static STATE: OnceLock<State> = OnceLock::new();

/// Maximum number of threads recorded at the same time.
const MOST_THREADS: usize = 1 << 16;
static THREADS: [AtomicPtr<Thread>; MOST_THREADS] = [const { AtomicPtr::new(null_mut()) }; MOST_THREADS];

/// Returns the state; `None` before the plugin is installed.
#[inline]
pub fn state() -> Option<&'static State> {
    STATE.get()
}

/// Writes a message to standard error.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "tracewright: {}", Printable(text));
}

impl State {
    /// Initialises the state.
    pub fn install(
        api: Api,
        version: u32,
        arguments: Arguments,
        target: Target,
        counter: Option<Counter>,
    ) -> std::io::Result<&'static Self> {
        let pid = std::process::id();
        let output = Output::new(&arguments, &header(&arguments, target, version, pid, 0), &arguments.log)?;
        let state = Self {
            api,
            version,
            target,
            output,
            counter,
            is_parallel: AtomicBool::new(false),
            pid: AtomicU32::new(pid),
            places: Places::new(&arguments),
            definitions: Mutex::new(Definitions::new(arguments.follows_forks)),
            maps: Mutex::default(),
            threads: AtomicU32::new(0),
            guest_base: AtomicU64::new(0),
            is_command_told: AtomicBool::new(false),
            arguments,
        };
        IS_ON.store(state.places.start.is_none(), Ordering::Relaxed);
        Ok(STATE.get_or_init(|| state))
    }

    /// Returns whether values are recorded.
    #[inline]
    pub fn has_values(&self) -> bool {
        self.arguments.data == LogData::Values
    }

    /// Locks the definitions, which also orders what is written to them.
    pub fn definitions(&self) -> MutexGuard<'_, Definitions> {
        self.definitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the mappings.
    pub fn maps(&self) -> MutexGuard<'_, Maps> {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a message for people to the log.
    pub fn note(&self, text: &str) {
        self.definitions().write(&self.output, &Record::Note(text));
    }

    /// Returns an index for a new thread.
    pub fn next_thread(&self) -> u32 {
        self.threads.fetch_add(1, Ordering::Relaxed)
    }

    /// Handles a fork in the child, which gets a log of its own if it is to be recorded.
    pub fn forked(&self, vcpu: u32) {
        let parent = self.pid.swap(std::process::id(), Ordering::Relaxed);
        for (index, thread) in THREADS.iter().enumerate() {
            let thread = thread.load(Ordering::Relaxed);
            // SAFETY: the other threads are not in this process, so nothing uses their state.
            #[allow(unsafe_code)]
            if let Some(thread) = unsafe { thread.as_mut() } {
                thread.abandon();
                if index != vcpu as usize {
                    THREADS[index].store(null_mut(), Ordering::Relaxed);
                }
            }
        }
        self.output.close();
        self.definitions().abandon();
        // QEMU's code still counts, and the parent's count is shared.
        count_page::of_nobody();
        if !self.arguments.follows_forks {
            return;
        }
        let pid = self.pid.load(Ordering::Relaxed);
        let mut path = self.arguments.log.clone().into_os_string();
        path.push(format!(".{pid}"));
        let header = header(&self.arguments, self.target, self.version, pid, parent);
        match Output::new(&self.arguments, &header, path.as_ref()) {
            Ok(output) => {
                self.output.replace(output);
                self.threads.store(0, Ordering::Relaxed);
                self.definitions().again(&self.output);
                if let Some(thread) = thread(vcpu) {
                    thread.begin_again(self.next_thread());
                }
            }
            Err(error) => complain(&format!("forked process {pid} is not recorded: {error}")),
        }
    }

    /// Handles the end of the program.
    pub fn finish(&self) {
        if self.pid.load(Ordering::Relaxed) != std::process::id() {
            return;
        }
        for vcpu in 0..MOST_THREADS as u32 {
            if let Some(thread) = thread(vcpu) {
                thread.finish();
            }
        }
        for note in self.places.unresolved() {
            // A recorder reads the notes and reports them.
            if self.arguments.socket.is_none() {
                complain(&note);
            }
            self.note(&note);
        }
        self.definitions().finish(&self.output);
    }
}

/// Sets or removes (`None`) a thread. Returns the previous one.
pub fn set_thread(vcpu: u32, thread: Option<Box<Thread>>) -> Option<Box<Thread>> {
    let place = THREADS.get(vcpu as usize)?;
    let old = place.swap(thread.map_or(null_mut(), Box::into_raw), Ordering::AcqRel);
    // SAFETY: it was made by `Box::into_raw` here, and nothing else has it now.
    #[allow(unsafe_code)]
    (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
}

/// Returns the recording state of a thread. Called on that thread only, or while it does not run.
#[inline(always)]
pub fn thread(vcpu: u32) -> Option<&'static mut Thread> {
    let thread = THREADS.get(vcpu as usize)?.load(Ordering::Relaxed);
    // SAFETY: QEMU calls us on the thread itself, or while it is stopped or gone, so there is no other reference.
    #[allow(unsafe_code)]
    unsafe {
        thread.as_mut()
    }
}

fn header(arguments: &Arguments, target: Target, api: u32, pid: u32, forked_from: u32) -> Header {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    Header { data: arguments.data, pid, forked_from, api, time, ..Header::new(target) }
}
