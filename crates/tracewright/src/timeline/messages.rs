//! Messages along the run: instants on a track for each channel, and the exceptions that a DWT tells as slices.

use std::collections::BTreeMap;

use tracewright_core::{Element, ExceptionChange, Message, Write};
use tracewright_engine::{At, Line};
use tracewright_profile::slices::Limits;
use tracewright_profile::{Clock, Kind, Told};

use super::slices::Event;
use crate::channel_text::OpenLines;
use crate::listing::messages;

/// Messages of a source.
#[derive(Debug)]
pub struct Messages<'c> {
    clock: Clock<'c>,
    limits: Limits,
    now: u64,
    /// Time at which the clock began again.
    began: u64,
    /// Messages that were written.
    written: u64,
    /// Messages whose time comes behind them.
    pending: Vec<Message>,
    tracks: BTreeMap<Track, u32>,
    names: Vec<String>,
    /// Text of each track that no end of a line has followed, and when it began.
    lines: OpenLines<u32, u64>,
    /// Exceptions that are handled, the outermost first, and whether each is shown.
    active: Vec<(u16, bool)>,
    line: Line,
}

/// What has a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    Exceptions,
    Channel(Option<u16>, u32),
    Comparator(u8),
    Samples,
    Others,
}

/// Tracks before the first: that of the instructions.
const FIRST: u32 = 1;
/// Most messages that wait for their time.
const MOST_PENDING: usize = 1 << 16;
/// Most bytes of a line of text.
const MOST_TEXT: usize = 256;
/// Most exceptions inside each other.
const DEEPEST: usize = 256;

/// Takes events: track, time, event.
pub trait Events {
    /// Takes the next event.
    fn event(&mut self, track: u32, time: u64, event: Event<'_>);
}

impl<'c> Messages<'c> {
    /// Creates the tracks of a source with this clock.
    pub fn new(clock: Clock<'c>, limits: Limits) -> Self {
        Self {
            clock,
            limits,
            now: 0,
            began: 0,
            written: 0,
            pending: Vec::new(),
            tracks: BTreeMap::new(),
            names: Vec::new(),
            lines: OpenLines::new(MOST_TEXT),
            active: Vec::new(),
            line: Line::default(),
        }
    }

    /// Returns the names of the tracks, which have numbers from 1 on.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of messages that were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Takes the next element.
    pub fn take(&mut self, element: &Element, at: &At<'_>, out: &mut impl Events) {
        match self.clock.take(element) {
            Told::Reached(now) => {
                self.now = self.now.max(self.began.saturating_add(now));
                self.settle(at, out);
            }
            Told::Lost => {
                self.settle(at, out);
                self.leave_to(0, out);
                if self.clock.kind() == Kind::Counts {
                    self.began = self.now;
                }
            }
            _ => {}
        }
        if let Element::Message(message) = element {
            // Local timestamps come behind what they belong to.
            if self.clock.kind() == Kind::Counts && self.pending.len() < MOST_PENDING {
                self.pending.push(*message);
            } else {
                self.message(message, at, out);
            }
        }
    }

    /// Ends the source.
    pub fn finish(&mut self, at: &At<'_>, out: &mut impl Events) {
        self.settle(at, out);
        self.leave_to(0, out);
        for (track, (time, text)) in self.lines.end_all() {
            self.instant(track, time, &text, out);
        }
    }

    /// Returns whether something at this time is wanted.
    fn wants(&self, time: u64) -> bool {
        (self.limits.from..=self.limits.to).contains(&time) && self.written < self.limits.most
    }

    fn instant(&mut self, track: u32, time: u64, text: &str, out: &mut impl Events) {
        if self.wants(time) {
            self.written += 1;
            out.event(track, time, Event::Instant(text));
        }
    }

    fn settle(&mut self, at: &At<'_>, out: &mut impl Events) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.iter().for_each(|message| self.message(message, at, out));
        pending.clear();
        self.pending = pending;
    }

    fn track(&mut self, track: Track) -> u32 {
        let names = &mut self.names;
        *self.tracks.entry(track).or_insert_with(|| {
            names.push(match track {
                Track::Exceptions => "exceptions".into(),
                Track::Channel(None, channel) => format!("port {channel}"),
                Track::Channel(Some(master), channel) => format!("master {master} channel {channel}"),
                Track::Comparator(number) => format!("comparator {number}"),
                Track::Samples => "samples".into(),
                Track::Others => "others".into(),
            });
            FIRST + names.len() as u32 - 1
        })
    }

    fn message(&mut self, message: &Message, at: &At<'_>, out: &mut impl Events) {
        let track = match *message {
            Message::Write(Write { master, channel, bits: 8, value, .. })
                if matches!(value as u8, b' '..=b'~' | b'\n' | b'\r' | b'\t') =>
            {
                let track = self.track(Track::Channel(master, channel));
                return self.text(track, value as u8, out);
            }
            Message::Write(Write { master, channel, .. }) => self.track(Track::Channel(master, channel)),
            Message::Exception { number, change } => return self.exception(number, change, at, out),
            Message::Watch { comparator, .. } => self.track(Track::Comparator(comparator)),
            Message::Sample(_) => self.track(Track::Samples),
            _ => self.track(Track::Others),
        };
        self.line.clear();
        // Writing to a line does not fail.
        let _ = messages::message(&mut self.line, at, message);
        let text = String::from_utf8_lossy(self.line.bytes()).into_owned();
        self.instant(track, self.now, &text, out);
    }

    /// Takes a byte of text. A line is one instant, at the time of its first byte.
    fn text(&mut self, track: u32, byte: u8, out: &mut impl Events) {
        if let Some((time, text)) = self.lines.push(track, self.now, byte)
            && !text.is_empty()
        {
            self.instant(track, time, &text, out);
        }
    }

    fn exception(&mut self, number: u16, change: ExceptionChange, at: &At<'_>, out: &mut impl Events) {
        let track = self.track(Track::Exceptions);
        let place = self.active.iter().rposition(|&(active, _)| active == number);
        match (change, place) {
            (ExceptionChange::Entered, _) if self.active.len() < DEEPEST => {
                let is_shown = self.wants(self.now);
                self.active.push((number, is_shown));
                if is_shown {
                    self.written += 1;
                    let name = messages::exception_name(at, number);
                    out.event(track, self.now, Event::Begin(number.into(), &name));
                }
            }
            (ExceptionChange::Left, Some(place)) => self.leave_to(place, out),
            (ExceptionChange::Resumed, place) => self.leave_to(place.map_or(0, |place| place + 1), out),
            _ => {}
        }
    }

    /// Ends the exceptions inside the first `depth`.
    fn leave_to(&mut self, depth: usize, out: &mut impl Events) {
        let Some(&track) = self.tracks.get(&Track::Exceptions) else { return };
        while self.active.len() > depth {
            if let Some((_, true)) = self.active.pop() {
                out.event(track, self.now.min(self.limits.to), Event::End);
            }
        }
    }
}
