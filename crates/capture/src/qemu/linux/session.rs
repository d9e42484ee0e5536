//! A session: QEMU, the processes that connect, and when to stop waiting for them.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Events, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tracewright_qemu::live::{Incoming, Receiver};

/// An event of a session.
#[derive(Debug)]
pub enum Event {
    /// QEMU has ended.
    Ended(io::Result<ExitStatus>),
    /// A plugin has connected.
    Connected,
    /// Everything that a plugin sent has been processed.
    Done,
    /// Ctrl-C.
    Interrupted,
    /// QEMU is to be stopped.
    Stop,
}

/// State of a session, for the threads that process what plugins send.
#[derive(Debug)]
pub struct Session {
    /// Whether the program that was started has ended.
    has_ended: AtomicBool,
    /// Whether nothing is waited for any longer.
    is_over: AtomicBool,
    events: Sender<Event>,
}

/// A handle that interrupts a recording, as Ctrl-C does. The first time the program is asked to end; the second time it is killed.
#[derive(Clone, Debug)]
pub struct Interrupter(Sender<Event>);

impl Interrupter {
    /// Interrupts the recording.
    pub fn interrupt(&self) {
        // Fails once the session is over.
        let _ = self.0.send(Event::Interrupted);
    }
}

/// What a session waits for.
#[derive(Debug)]
pub struct Waits {
    /// Whether processes that outlive the program are waited for, too.
    pub follows_forks: bool,
    /// Whether the terminal interrupts the program, too.
    pub has_terminal: bool,
    /// Handle that interrupts it.
    pub interrupter: Interrupter,
    events: Events<Event>,
}

impl Waits {
    /// Waits for the program and, with `follows_forks`, for processes that outlive it.
    pub fn new(follows_forks: bool, has_terminal: bool) -> Self {
        let (sender, events) = channel();
        Self { follows_forks, has_terminal, interrupter: Interrupter(sender), events }
    }
}

/// How a session ended.
#[derive(Debug)]
pub struct Ended<W> {
    /// Exit status of QEMU.
    pub status: io::Result<ExitStatus>,
    /// Number of times Ctrl-C was pressed.
    pub interrupts: u32,
    /// Results of the plugins that connected.
    pub work: Vec<W>,
}

/// Time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(200);
/// Time that a forked process may take to connect after its parent has ended.
const GRACE: Duration = Duration::from_millis(500);

impl Session {
    /// Returns whether a process sends nothing more. Its connection may still be open, held by a process that it forked. A process that was
    /// itself forked can outlive the program.
    pub fn is_over_for(&self, is_forked: bool) -> bool {
        self.is_over() || !is_forked && self.has_ended.load(Ordering::SeqCst)
    }

    /// Returns whether nothing is waited for any longer.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Stops QEMU, because its recording cannot be written or is no longer wanted.
    pub fn stop(&self) {
        self.tell(Event::Stop);
    }

    fn tell(&self, event: Event) {
        // Fails once the session is over.
        let _ = self.events.send(event);
    }
}

/// Runs until QEMU has ended and everything it recorded is processed. Each plugin that connects gets a thread of its own; `progress` is
/// called now and then. Plugins that send nothing (`None`) do not count. If forks are followed, processes that outlive the program count.
pub fn run<W: Send>(
    child: Child,
    receiver: &Receiver,
    waits: Waits,
    work: impl Fn(Incoming, &Session) -> Option<W> + Sync,
    mut progress: impl FnMut(),
) -> Ended<W> {
    let Waits { follows_forks, has_terminal, interrupter: Interrupter(events), events: received } = waits;
    let (has_ended, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let session = Session { has_ended, is_over, events: events.clone() };
    let pid = Pid::from_raw(child.id() as i32);
    let grace = if follows_forks { GRACE } else { Duration::ZERO };
    thread::scope(|scope| {
        scope.spawn(move || wait(child, &events));
        let accepting = scope.spawn(|| accept(receiver, &session, &work));
        let mut waiting = Waiting {
            pid,
            grace,
            has_terminal,
            status: None,
            interrupts: 0,
            working: 0,
            since: Instant::now(),
        };
        while !waiting.is_over() {
            match received.recv_timeout(PROGRESS.min(waiting.patience())) {
                Ok(event) => waiting.event(event, &session),
                Err(_) => progress(),
            }
        }
        session.is_over.store(true, Ordering::SeqCst);
        // If this fails, nothing is waiting.
        let _ = receiver.close();
        let work = accepting.join().unwrap_or_default().into_iter().flatten().collect();
        let nobody = || Err(io::Error::other("nobody knows how QEMU ended"));
        Ended { status: waiting.status.unwrap_or_else(nobody), interrupts: waiting.interrupts, work }
    })
}

fn wait(mut child: Child, events: &Sender<Event>) {
    let _ = events.send(Event::Ended(child.wait()));
}

/// Starts a thread for each plugin that connects, until no more can come.
fn accept<W: Send>(
    receiver: &Receiver,
    session: &Session,
    work: &(impl Fn(Incoming, &Session) -> Option<W> + Sync),
) -> Vec<Option<W>> {
    thread::scope(|scope| {
        let mut workers = Vec::new();
        while let Ok(Some(incoming)) = receiver.accept() {
            session.tell(Event::Connected);
            workers.push(scope.spawn(move || {
                // Also if it panics.
                let _done = Done(session);
                work(incoming, session)
            }));
        }
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    })
}

struct Done<'a>(&'a Session);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.tell(Event::Done);
    }
}

/// What a session is waiting for.
struct Waiting {
    pid: Pid,
    grace: Duration,
    has_terminal: bool,
    status: Option<io::Result<ExitStatus>>,
    interrupts: u32,
    /// Number of plugins that are being processed.
    working: u32,
    /// Time of the last event.
    since: Instant,
}

impl Waiting {
    /// Returns whether there is nothing left to wait for.
    fn is_over(&self) -> bool {
        self.status.is_some() && self.working == 0 && self.since.elapsed() >= self.grace
    }

    /// Returns the time to wait for the next event.
    fn patience(&self) -> Duration {
        if self.status.is_some() { self.grace.max(Duration::from_millis(1)) } else { PROGRESS }
    }

    fn event(&mut self, event: Event, session: &Session) {
        self.since = Instant::now();
        match event {
            Event::Ended(status) => {
                self.status = Some(status);
                session.has_ended.store(true, Ordering::SeqCst);
            }
            Event::Connected => self.working += 1,
            Event::Done => self.working = self.working.saturating_sub(1),
            Event::Stop => self.kill(Signal::SIGKILL),
            Event::Interrupted => {
                self.interrupts += 1;
                if self.status.is_some() {
                    // Only forked processes are left.
                    session.is_over.store(true, Ordering::SeqCst);
                } else if self.interrupts > 1 {
                    self.kill(Signal::SIGKILL);
                } else if !self.has_terminal {
                    // A terminal interrupts QEMU itself; other senders only know this process. (Without a terminal, programs often ignore SIGINT.)
                    self.kill(Signal::SIGTERM);
                }
            }
        }
    }

    /// Sends a signal to QEMU. Its process ID is not reused before its exit status is read.
    fn kill(&self, signal: Signal) {
        if self.status.is_none() {
            let _ = kill(self.pid, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    fn receiver() -> Receiver {
        Receiver::new(&[std::env::temp_dir()], 0).unwrap()
    }

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).spawn().unwrap()
    }

    #[test]
    fn the_status_is_told_also_if_nobody_connects() {
        let ended = run(shell("exit 3"), &receiver(), Waits::new(false, false), |_, _| None::<()>, || {});
        assert_eq!(ended.status.unwrap().code(), Some(3));
        assert_eq!((ended.interrupts, ended.work.len()), (0, 0));
    }

    /// Whoever works can stop it, and is waited for.
    #[test]
    fn it_can_be_stopped() {
        let receiver = receiver();
        let _plugin = UnixStream::connect(receiver.socket()).unwrap();
        let stop = |_: Incoming, session: &Session| {
            session.stop();
            while !session.is_over_for(false) {
                thread::sleep(Duration::from_millis(1));
            }
            Some(7)
        };
        let ended = run(shell("exec sleep 100"), &receiver, Waits::new(false, false), stop, || {});
        assert_eq!(ended.status.unwrap().signal(), Some(9));
        // The one who wakes us up at the end works, too.
        assert_eq!(ended.work.first(), Some(&7));
    }

    /// A program may be over before anybody looks: what it said counts.
    #[test]
    fn who_connects_in_a_hurry_is_heard() {
        let receiver = receiver();
        for _ in 0..20 {
            let plugin = UnixStream::connect(receiver.socket()).unwrap();
            drop(plugin);
        }
        let ended = run(shell(""), &receiver, Waits::new(false, false), |_, _| Some(()), || {});
        assert_eq!(ended.work.len(), 21);
    }
}
