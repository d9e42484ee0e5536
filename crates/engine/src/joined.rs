//! Frames whose trace IDs only keep the bytes of N-Trace messages together.
//!
//! Bytes are joined by trace ID up to the end of a message. The message itself names its source.

use tracewright_frames::{FrameSink, Lost, Run};

use crate::incoming::{Receive, interrupts};

/// Bits of a byte that end a message.
const END: u8 = 3;
/// Most bytes of a message that are kept. Longer ones are passed on in parts, to be reported as what they are.
const MOST: usize = 1 << 12;

/// A message, and where its bytes are.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The runs that they are from, each with its length.
    pub runs: Vec<(Run, usize)>,
}

impl Joined {
    fn push(&mut self, run: Run, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.runs.push((run, bytes.len()));
    }

    /// Returns each run with its bytes.
    pub fn parts(&self) -> impl Iterator<Item = (Run, &[u8])> {
        let mut rest = &self.bytes[..];
        self.runs.iter().map(move |&(run, len)| {
            let (part, after) = rest.split_at(len);
            rest = after;
            (run, part)
        })
    }
}

/// The messages that have begun, by trace ID.
#[derive(Debug, Default)]
pub struct Joiner {
    begun: Vec<Joined>,
}

impl Joiner {
    pub fn new() -> Self {
        Self { begun: vec![Joined::default(); 0x80] }
    }

    /// Passes what has begun and will not end.
    pub fn finish(&mut self, to: &mut impl Receive) {
        for begun in self.begun.iter_mut().filter(|begun| !begun.bytes.is_empty()) {
            to.message(begun);
            *begun = Joined::default();
        }
    }
}

/// A deframer's sink that joins messages.
pub struct Joining<'a, R> {
    pub joiner: &'a mut Joiner,
    pub to: &'a mut R,
}

impl<R: Receive> FrameSink for Joining<'_, R> {
    fn data(&mut self, mut run: Run, mut bytes: &[u8]) {
        let begun = &mut self.joiner.begun[usize::from(run.id.get()) & 0x7f];
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| byte & END == END);
            let len = end.map_or(bytes.len(), |end| end + 1);
            let (now, later) = bytes.split_at(len);
            begun.push(run, now);
            if end.is_some() || begun.bytes.len() >= MOST {
                self.to.message(begun);
                begun.bytes.clear();
                begun.runs.clear();
            }
            (run, bytes) = (run.after(len as u64), later);
        }
    }

    fn lost(&mut self, lost: Lost) {
        if interrupts(&lost) {
            self.joiner.finish(self.to);
        }
        self.to.lost(lost);
    }

    fn reset(&mut self, offset: u64) {
        self.joiner.finish(self.to);
        self.to.reset(offset);
    }
}
