//! One process, from its plugin's words to its trace.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use tracewright_qemu::format::{ChunkHeader, Header, Off};
use tracewright_qemu::live::{Broken, Connection, Incoming, NoHello, Piece, Step};
use tracewright_qemu::read::{Definitions, Thread};

use super::capture::{Capture, Traced, Tracer};
use super::counts::{Counts, Tally};
use super::keep::Keep;
use super::session::Session;
use crate::output::Error;

/// What is done with a process that is recorded.
pub struct Process<'a> {
    header: Header,
    pid: u32,
    definitions: Definitions,
    threads: BTreeMap<u32, Track>,
    keep: Option<Keep>,
    capture: Option<Capture>,
    counts: &'a Counts,
    /// Why nothing more can be kept.
    failed: Option<Error>,
    /// What of the log could not be understood.
    damage: Option<String>,
}

/// A thread.
struct Track {
    reader: Thread,
    tracer: Tracer,
    /// The head of its last chunk.
    last: ChunkHeader,
}

/// What came of a process.
#[derive(Debug)]
pub struct Recorded {
    pub header: Header,
    pub pid: u32,
    pub threads: Vec<RecordedThread>,
    pub tally: Tally,
    pub notes: Vec<String>,
    pub command: Vec<String>,
    pub log_bytes: Option<u64>,
    pub traced: Option<Traced>,
    /// What went wrong: each keeps something from being whole.
    pub problems: Vec<Error>,
}

/// What came of a thread.
#[derive(Debug)]
pub struct RecordedThread {
    pub index: u32,
    pub tid: Option<u32>,
    pub instructions: u64,
    pub off: Option<Off>,
}

/// Records a process from its first words to its last. `None`: nobody was there.
pub fn record(
    incoming: Incoming,
    session: &Session,
    counts: &Counts,
    begin: impl FnOnce(&Connection) -> Result<(Option<Capture>, Option<Keep>), Error>,
) -> Option<Result<Recorded, Error>> {
    let mut connection = match incoming.open() {
        Ok(connection) => connection,
        Err(Broken::Hello(NoHello::Read(_))) if session.is_over() => return None,
        Err(broken) => {
            session.stop();
            return Some(Err(Error::Message(broken.to_string())));
        }
    };
    let (capture, keep) = match begin(&connection) {
        Ok(both) => both,
        Err(error) => {
            session.stop();
            return Some(Err(error));
        }
    };
    let is_forked = connection.header().forked_from != 0;
    let mut process = Process::new(&connection, capture, keep, counts);
    let broken = loop {
        match connection.step(|piece| process.piece(&piece)) {
            Ok(Step::Ended) => break None,
            Ok(Step::Quiet) if session.is_over_for(is_forked) => {
                break connection.finish(|piece| process.piece(&piece)).err();
            }
            Ok(_) => {}
            Err(broken) => {
                session.stop();
                // What it left may still be good; if it is not, that is known already.
                let _ = connection.finish(|piece| process.piece(&piece));
                break Some(broken);
            }
        }
        if process.failed.is_some() {
            session.stop();
            break None;
        }
        if process.is_limited() {
            session.stop();
        }
    };
    if let Some(broken) = broken {
        process.damage.get_or_insert(broken.to_string());
    }
    Some(Ok(process.finish(connection.header())))
}

impl<'a> Process<'a> {
    fn new(
        connection: &Connection,
        capture: Option<Capture>,
        keep: Option<Keep>,
        counts: &'a Counts,
    ) -> Self {
        let header = *connection.header();
        Self {
            header,
            pid: connection.pid(),
            definitions: Definitions::new(&header),
            threads: BTreeMap::new(),
            keep,
            capture,
            counts,
            failed: None,
            damage: None,
        }
    }

    /// Whether all threads have recorded as much as was asked for.
    fn is_limited(&self) -> bool {
        let mut offs = self.threads.values().map(|track| track.reader.off()).peekable();
        offs.peek().is_some() && offs.all(|off| off == Some(Off::Limit))
    }

    fn piece(&mut self, piece: &Piece<'_>) {
        if self.failed.is_none()
            && let Err(error) = self.take(piece)
        {
            self.failed = Some(error);
        }
    }

    fn take(&mut self, piece: &Piece<'_>) -> Result<(), Error> {
        if let Some(keep) = &mut self.keep {
            let kept = keep.piece(piece);
            kept.map_err(|error| cannot_write(keep, &error))?;
        }
        match *piece {
            Piece::Definitions { bytes, .. } => {
                if let Err(damage) = self.definitions.take(bytes) {
                    self.damage.get_or_insert(format!("the plugin's definitions: {damage}"));
                }
                Ok(())
            }
            Piece::Words { thread, head, bytes } => self.words(thread, head, bytes),
        }
    }

    fn words(&mut self, index: u32, head: ChunkHeader, bytes: &[u8]) -> Result<(), Error> {
        let Self { header, definitions, threads, capture, counts, .. } = self;
        let track = match threads.entry(index) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                counts.threads.fetch_add(1, Ordering::Relaxed);
                let tid = definitions.tid(index).unwrap_or(header.pid);
                let tally = Tally::new(header.target);
                let tracer = match capture {
                    Some(capture) => capture.thread(index, tid, tally, definitions.maps())?,
                    None => Tracer::None(tally),
                };
                entry.insert(Track { reader: Thread::new(index, header), tracer, last: head })
            }
        };
        let (instructions, trace) = (track.reader.instructions(), track.tracer.bytes());
        track.last = head;
        track.tracer.time(head.begun);
        if let Err(damage) = track.tracer.take(&mut track.reader, bytes, definitions) {
            self.damage.get_or_insert(format!("thread {index}: {damage}"));
        }
        counts.instructions.fetch_add(track.reader.instructions() - instructions, Ordering::Relaxed);
        counts.bytes.fetch_add(track.tracer.bytes() - trace, Ordering::Relaxed);
        capture.as_ref().map_or(Ok(()), |capture| capture.check(&track.tracer))
    }

    /// Ends everything, and says what came of it. The header says how far the program came.
    fn finish(self, header: &Header) -> Recorded {
        let Self { pid, definitions, threads, mut keep, capture, mut failed, damage, .. } = self;
        if let Some(keep) = &mut keep
            && failed.is_none()
        {
            failed = keep.header(header).err().map(|error| cannot_write(keep, &error));
        }
        let mut recorded = Recorded {
            header: *header,
            pid,
            threads: Vec::new(),
            tally: Tally::default(),
            notes: definitions.notes().to_vec(),
            command: definitions.command().to_vec(),
            log_bytes: keep.as_ref().map(Keep::len),
            traced: None,
            problems: failed.into_iter().chain(damage.map(Error::Message)).collect(),
        };
        let mut tracers = Vec::new();
        for (index, mut track) in threads {
            if let Some(since) = track.last.since_last(header.checkpoints) {
                track.reader.broken_off(since, &definitions);
            }
            track.tracer.finish(&mut track.reader, &definitions);
            recorded.tally.add(track.tracer.tally());
            recorded.threads.push(RecordedThread {
                index,
                tid: definitions.tid(index),
                instructions: track.reader.instructions(),
                off: track.reader.off(),
            });
            tracers.push(track.tracer);
        }
        if let Some(capture) = capture {
            if tracers.is_empty() {
                let message = "no instruction was recorded: there is no capture";
                recorded.problems.push(Error::Message(message.into()));
                return recorded;
            }
            match capture.finish(tracers, header, &definitions) {
                Ok(traced) => recorded.traced = Some(traced),
                Err(error) => {
                    // That the trace could not be written is known already, most likely.
                    let message = error.to_string();
                    if recorded.problems.iter().all(|known| known.to_string() != message) {
                        recorded.problems.push(error);
                    }
                }
            }
        }
        recorded
    }
}

fn cannot_write(keep: &Keep, error: &std::io::Error) -> Error {
    Error::Message(format!("{}: cannot write: {error}", keep.path().display()))
}
