//! Records one process, from the words of its plugin to its trace.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use tracewright_qemu::format::{ChunkHeader, Header, Off};
use tracewright_qemu::live::{Broken, Connection, Incoming, Piece, Step};
use tracewright_qemu::read::{Definitions, Thread};

use super::capture::Capture;
use super::keep::Keep;
use super::session::Session;
use super::{Counts, Recorded, RecordedThread};
use crate::Error;
use crate::control::Qualified;
use crate::encode::{Part, Tally, Traces};
use crate::sink::NoTrace;

/// A process that is being recorded.
pub struct Process<'a> {
    header: Header,
    pid: u32,
    definitions: Definitions,
    threads: BTreeMap<u32, Track>,
    keep: Option<Keep>,
    capture: Option<Capture>,
    counts: &'a Counts,
    /// Why nothing more can be written.
    failed: Option<Error>,
    /// What is wrong with the log.
    damage: Option<String>,
}

/// A thread.
struct Track {
    reader: Thread,
    /// Its index in the capture.
    number: usize,
    traces: Traces,
    /// The head of its last chunk.
    last: ChunkHeader,
}

/// Records a process from its first words to its last. Returns `None` if it sent nothing before the session was over.
pub fn record(
    incoming: Incoming,
    session: &Session,
    counts: &Counts,
    begin: impl FnOnce(&Connection) -> Result<(Option<Capture>, Option<Keep>), Error>,
) -> Option<Result<Recorded, Error>> {
    let mut connection = match incoming.open() {
        Ok(connection) => connection,
        Err(Broken::Silent(_)) if session.is_over() => return None,
        Err(broken) => {
            session.stop();
            return Some(Err(Error::Qemu(broken.to_string())));
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
    let mut process = Process {
        header: *connection.header(),
        pid: connection.pid(),
        definitions: Definitions::default(),
        threads: BTreeMap::new(),
        keep,
        capture,
        counts,
        failed: None,
        damage: None,
    };
    let broken = loop {
        match connection.step(|piece| process.piece(&piece)) {
            Ok(Step::Ended) => break None,
            Ok(Step::Quiet) if session.is_over_for(is_forked) => {
                break connection.finish(|piece| process.piece(&piece)).err();
            }
            Ok(_) => {}
            Err(broken) => {
                session.stop();
                // The rest may still be good; damage is known already.
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

impl Process<'_> {
    /// Returns whether all threads have reached the limit of instructions.
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
            kept.map_err(|error| Error::write(&keep.path, error))?;
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
                let (number, traces) = match capture {
                    Some(capture) => capture.thread(index, tid, header.target, definitions.maps())?,
                    None => (0, Traces::new(index, header.target, None)),
                };
                entry.insert(Track { reader: Thread::new(index, header), number, traces, last: head })
            }
        };
        let Track { reader, number, traces, last } = track;
        let (before, mut taken, mut checked) = (reader.instructions(), Ok(()), Ok(()));
        *last = head;
        let mut input = traces.input(Part::Chunk(reader, bytes, definitions, &mut taken));
        match capture {
            Some(Capture { writer, .. }) => {
                writer.time(*number, head.begun);
                let trace = writer.bytes(*number);
                writer.read_thread(*number, &mut input);
                counts.bytes.fetch_add(writer.bytes(*number) - trace, Ordering::Relaxed);
                checked = writer.check(*number);
            }
            None => input.run(&mut NoTrace),
        }
        if let Err(damage) = taken {
            self.damage.get_or_insert(format!("thread {index}: {damage}"));
        }
        counts.instructions.fetch_add(reader.instructions() - before, Ordering::Relaxed);
        checked
    }

    /// Ends the log and the capture, and returns the result. `header` says how far the program came.
    fn finish(self, header: &Header) -> Recorded {
        let Self { pid, definitions, threads, mut keep, mut capture, mut failed, damage, .. } = self;
        if let Some(keep) = &mut keep
            && failed.is_none()
        {
            failed = keep.header(header).err().map(|error| Error::write(&keep.path, error));
        }
        let mut recorded = Recorded {
            header: *header,
            pid,
            threads: Vec::new(),
            tally: Tally::default(),
            notes: definitions.notes().to_vec(),
            command: definitions.command().to_vec(),
            log_bytes: keep.as_ref().map(|keep| keep.end),
            traced: None,
            remarks: Vec::new(),
            problems: failed.into_iter().chain(damage.map(Error::Qemu)).collect(),
        };
        let mut qualified: Option<Qualified> = None;
        for (index, mut track) in threads {
            if let Some(since) = track.last.since_last(header.checkpoints) {
                track.reader.broken_off(since, &definitions);
            }
            let Track { reader, number, traces, .. } = &mut track;
            let mut input = traces.input(Part::End(reader, &definitions));
            match &mut capture {
                Some(capture) => capture.writer.read_thread(*number, &mut input),
                None => input.run(&mut NoTrace),
            }
            recorded.tally.add(&traces.tally);
            if let Some(of) = traces.qualified() {
                qualified.get_or_insert_default().add(&of);
            }
            recorded.threads.push(RecordedThread {
                index,
                tid: definitions.tid(index),
                instructions: track.reader.instructions(),
                off: track.reader.off(),
            });
        }
        if let Some(capture) = capture {
            if recorded.threads.is_empty() {
                recorded.remarks = capture.remarks;
                let message = "no instruction was recorded: there is no capture";
                recorded.problems.push(Error::Qemu(message.into()));
                return recorded;
            }
            match capture.finish(qualified.as_ref(), header, &definitions, &mut recorded.remarks) {
                Ok(traced) => recorded.traced = Some(traced),
                Err(error) => {
                    // Most likely it is already known that the trace could not be written.
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
