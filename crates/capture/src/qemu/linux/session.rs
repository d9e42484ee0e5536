//! QEMU while it runs: who waits for whom.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Events, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tracewright_qemu::live::{Incoming, Receiver};

/// Something that the session waits for.
#[derive(Debug)]
pub enum Event {
    /// QEMU has ended.
    Ended(io::Result<ExitStatus>),
    /// Somebody has connected.
    Connected,
    /// All that came of somebody was worked off.
    Done,
    /// Ctrl-C.
    Interrupted,
    /// QEMU is to be stopped.
    Stop,
}

/// Those who work on what is recorded ask here how the session stands.
#[derive(Debug)]
pub struct Session {
    /// The program that was started has ended.
    has_ended: AtomicBool,
    /// Nobody waits any longer, for whatever there is.
    is_over: AtomicBool,
    events: Sender<Event>,
}

/// A handle that interrupts a recording, as Ctrl-C does: the program is asked to end, and ended the second time.
#[derive(Clone, Debug)]
pub struct Interrupter(Sender<Event>);

impl Interrupter {
    /// Interrupts the recording.
    pub fn interrupt(&self) {
        // Nobody listens once it is over.
        let _ = self.0.send(Event::Interrupted);
    }
}

/// What a session waits for.
#[derive(Debug)]
pub struct Waits {
    /// Processes that outlive the program are waited for, too.
    pub follows_forks: bool,
    /// The terminal tells the program, too, when it is interrupted.
    pub has_terminal: bool,
    /// What interrupts it.
    pub interrupter: Interrupter,
    events: Events<Event>,
}

impl Waits {
    /// Waits for the program, and perhaps for others.
    pub fn new(follows_forks: bool, has_terminal: bool) -> Self {
        let (sender, events) = channel();
        Self { follows_forks, has_terminal, interrupter: Interrupter(sender), events }
    }
}

/// How it ended.
#[derive(Debug)]
pub struct Ended<W> {
    /// How QEMU did.
    pub status: io::Result<ExitStatus>,
    /// How often Ctrl-C was pressed.
    pub interrupts: u32,
    /// What came of those who connected.
    pub work: Vec<W>,
}

/// How often the progress line is written.
const PROGRESS: Duration = Duration::from_millis(200);
/// How long a process that was forked may take to connect, once the one that forked it has ended.
const GRACE: Duration = Duration::from_millis(500);

impl Session {
    /// Returns whether nothing more comes of a process, though its connection may be open: a process that it forked can hold it. One that was
    /// itself forked can outlive the program.
    pub fn is_over_for(&self, is_forked: bool) -> bool {
        self.is_over() || !is_forked && self.has_ended.load(Ordering::SeqCst)
    }

    /// Returns whether nobody waits any longer.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Stops QEMU: what it records cannot be kept, or is not wanted any more.
    pub fn stop(&self) {
        self.tell(Event::Stop);
    }

    fn tell(&self, event: Event) {
        // Nobody listens once it is over.
        let _ = self.events.send(event);
    }
}

/// Runs until QEMU has ended and all that it recorded is worked off. Each plugin that connects has a thread of its own; `progress` is
/// called now and then. Who says nothing (`None`) does not count. If forks are followed, processes that outlive the program are waited for, too.
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
        // If this fails, nobody waits.
        let _ = receiver.close();
        let work = accepting.join().unwrap_or_default().into_iter().flatten().collect();
        let nobody = || Err(io::Error::other("nobody knows how QEMU ended"));
        Ended { status: waiting.status.unwrap_or_else(nobody), interrupts: waiting.interrupts, work }
    })
}

fn wait(mut child: Child, events: &Sender<Event>) {
    let _ = events.send(Event::Ended(child.wait()));
}

/// A thread for each plugin that connects, until there can be no more.
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

/// What is waited for.
struct Waiting {
    pid: Pid,
    grace: Duration,
    has_terminal: bool,
    status: Option<io::Result<ExitStatus>>,
    interrupts: u32,
    /// How many plugins are worked on.
    working: u32,
    /// When something happened last.
    since: Instant,
}

impl Waiting {
    /// Whether there is nothing left to wait for.
    fn is_over(&self) -> bool {
        self.status.is_some() && self.working == 0 && self.since.elapsed() >= self.grace
    }

    /// How long nothing need be looked at.
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
                    // Only processes that were forked are left.
                    session.is_over.store(true, Ordering::SeqCst);
                } else if self.interrupts > 1 {
                    self.kill(Signal::SIGKILL);
                } else if !self.has_terminal {
                    // A terminal tells all of us; others only the one they know. (Where there is none, programs often ignore SIGINT.)
                    self.kill(Signal::SIGTERM);
                }
            }
        }
    }

    /// Its number is its own until somebody knows that it has ended.
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
