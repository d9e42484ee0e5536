//! Perfetto's own trace format: Protocol Buffers packets, written as they come. Files have a third of the size of Chrome's JSON.
//!
//! Each thread is a sequence of packets. A sequence defines each name once and then refers to it by number; its events belong to its own
//! track by default. Perfetto's clock is in nanoseconds.

use std::io::{self, Write};

use tracewright_flow::hash::{HashMap, HashSet};
use tracewright_profile::export::protobuf::Writer;

use super::slices::{Event, Unit, Viewer};

/// Numbers of fields, as perfetto_trace.proto has them.
mod field {
    /// Of a trace: all there is.
    pub const PACKET: u32 = 1;
    pub mod packet {
        pub const TIMESTAMP: u32 = 8;
        pub const SEQUENCE: u32 = 10;
        pub const TRACK_EVENT: u32 = 11;
        pub const INTERNED: u32 = 12;
        pub const FLAGS: u32 = 13;
        pub const DEFAULTS: u32 = 59;
        pub const TRACK: u32 = 60;
    }
    pub mod event {
        pub const TYPE: u32 = 9;
        pub const NAME: u32 = 10;
        pub const TRACK: u32 = 11;
        pub const TEXT: u32 = 23;
    }
    pub mod interned {
        pub const EVENT_NAMES: u32 = 2;
        pub const NUMBER: u32 = 1;
        pub const NAME: u32 = 2;
    }
    pub mod track {
        pub const UUID: u32 = 1;
        pub const PROCESS: u32 = 3;
        pub const THREAD: u32 = 4;
    }
    pub mod process {
        pub const PID: u32 = 1;
        pub const NAME: u32 = 6;
    }
    pub mod thread {
        pub const PID: u32 = 1;
        pub const TID: u32 = 2;
        pub const NAME: u32 = 5;
    }
    /// Of defaults.
    pub const OF_EVENTS: u32 = 11;
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
/// Number of the name of timestamps, after those of all functions.
const TIMESTAMP_NAME: u64 = 1 << 33;
/// Flag: the sequence starts here, without names or defaults.
const STATE_CLEARED: u64 = 1;
/// Flag: the packet needs names or defaults of its sequence.
const NEEDS_STATE: u64 = 2;

/// The sequence that defines processes, whose tracks all sequences share. Sequences of threads come after it.
const PROCESSES: u64 = 1;
/// Added to the number of a process to get that of its track.
const PROCESS_TRACKS: u64 = 1 << 32;
/// Added to the number of a sequence to get that of its thread. A thread with its process's number would be shown as the main thread.
const THREADS: u64 = 1 << 16;

/// Writes a timeline in Perfetto's format.
#[derive(Debug)]
pub struct Perfetto<W> {
    output: W,
    hertz: u64,
    /// Sequences by source and thread.
    sequences: HashMap<(usize, u32), Sequence>,
    packet: Writer,
}

/// The packets of a thread.
#[derive(Debug)]
struct Sequence {
    /// Number of the sequence, and of its track.
    number: u64,
    /// Numbers of names that are defined.
    told: HashSet<u64>,
}

impl<W: Write> Perfetto<W> {
    /// Writes to `output`. `hertz` is the rate of times, at least 1.
    pub fn new(output: W, hertz: u64) -> Self {
        Self { output, hertz, sequences: HashMap::default(), packet: Writer::default() }
    }

    /// Writes a packet, preceded by its length.
    fn send(&mut self, packet: &Writer) -> io::Result<()> {
        self.packet.clear();
        self.packet.message(field::PACKET, packet);
        self.output.write_all(self.packet.as_bytes())
    }

    fn nanoseconds(&self, time: u64) -> u64 {
        let nanoseconds = u128::from(time) * 1_000_000_000 / u128::from(self.hertz.max(1));
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }

    /// Writes the first packet of a thread, which defines its track.
    fn first(&mut self, source: usize, thread: u32, number: u64) -> io::Result<()> {
        let mut event = Writer::default();
        event.number(field::event::TRACK, number);
        let mut defaults = Writer::default();
        defaults.message(field::OF_EVENTS, &event);
        let mut packet = Writer::default();
        packet.number(field::packet::SEQUENCE, number);
        packet.number(field::packet::FLAGS, STATE_CLEARED);
        packet.message(field::packet::DEFAULTS, &defaults);
        packet.message(field::packet::TRACK, &track(source, thread, number, None));
        self.send(&packet)
    }
}

/// Returns the process number of a source: 0 would be a processor's idle thread.
fn process(source: usize) -> u64 {
    source as u64 + 1
}

/// Returns the description of a thread's track.
fn track(source: usize, thread: u32, number: u64, name: Option<&str>) -> Writer {
    let mut of = Writer::default();
    of.number(field::thread::PID, process(source));
    of.number(field::thread::TID, if thread == 0 { process(source) } else { THREADS + number });
    if let Some(name) = name {
        of.bytes(field::thread::NAME, name.as_bytes());
    }
    let mut track = Writer::default();
    track.number(field::track::UUID, number);
    track.message(field::track::THREAD, &of);
    track
}

impl<W: Write> Viewer for Perfetto<W> {
    fn event(&mut self, source: usize, thread: u32, time: u64, event: Event<'_>) -> io::Result<()> {
        let next = self.sequences.len() as u64 + PROCESSES + 1;
        let mut is_new = false;
        let sequence = self.sequences.entry((source, thread)).or_insert_with(|| {
            is_new = true;
            Sequence { number: next, told: HashSet::default() }
        });
        let number = sequence.number;
        let mut packet = Writer::default();
        let mut of = Writer::default();
        let (kind, name) = match event {
            // Names are numbered from 1.
            Event::Begin(function, name) => (SLICE_BEGIN, Some((u64::from(function) + 1, name))),
            Event::End => (SLICE_END, None),
            Event::Instant(text) => {
                of.bytes(field::event::TEXT, text.as_bytes());
                (INSTANT, None)
            }
            Event::Timestamp => (INSTANT, Some((TIMESTAMP_NAME, "timestamp"))),
        };
        of.number(field::event::TYPE, kind);
        if let Some((iid, name)) = name {
            if sequence.told.insert(iid) {
                let mut interned = Writer::default();
                interned.number(field::interned::NUMBER, iid);
                interned.bytes(field::interned::NAME, name.as_bytes());
                let mut all = Writer::default();
                all.message(field::interned::EVENT_NAMES, &interned);
                packet.message(field::packet::INTERNED, &all);
            }
            of.number(field::event::NAME, iid);
        }
        if is_new {
            self.first(source, thread, number)?;
        }
        packet.number(field::packet::TIMESTAMP, self.nanoseconds(time));
        packet.number(field::packet::SEQUENCE, number);
        packet.message(field::packet::TRACK_EVENT, &of);
        packet.number(field::packet::FLAGS, NEEDS_STATE);
        self.send(&packet)
    }

    fn source(&mut self, source: usize, name: &str, unit: Unit, threads: &[String]) -> io::Result<()> {
        let mut of = Writer::default();
        of.number(field::process::PID, process(source));
        of.bytes(field::process::NAME, format!("{name} (times in {})", unit.words()).as_bytes());
        let mut track_of = Writer::default();
        track_of.number(field::track::UUID, PROCESS_TRACKS + process(source));
        track_of.message(field::track::PROCESS, &of);
        let mut packet = Writer::default();
        packet.number(field::packet::SEQUENCE, PROCESSES);
        packet.message(field::packet::TRACK, &track_of);
        self.send(&packet)?;
        for (thread, name) in (0..).zip(threads) {
            let Some(sequence) = self.sequences.get(&(source, thread)) else { continue };
            let number = sequence.number;
            let mut packet = Writer::default();
            packet.number(field::packet::SEQUENCE, number);
            packet.message(field::packet::TRACK, &track(source, thread, number, Some(name)));
            self.send(&packet)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
