//! Text that software writes to channels of instrumentation sources: stimulus ports of an ITM, channels of an STM.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};

use serde_json::{Value, json};
use tracewright_core::{Element, GapReason, Message, Write};
use tracewright_engine::{At, Consumer, Engine, Source};
use tracewright_input::{self as input, Buffer};

use crate::error::Error;
use crate::outcome::Outcome;
use crate::trace::Trace;
use crate::words;

/// Most bytes of a line. A longer one goes on in the next.
const MOST_BYTES: usize = 4096;

/// Bytes of several channels, gathered to lines. `K` tells channels apart, and `P` is where a line begins.
#[derive(Debug)]
pub(crate) struct OpenLines<K, P> {
    open: BTreeMap<K, (P, Vec<u8>)>,
    most: usize,
}

impl<K: Copy + Ord, P: Copy> OpenLines<K, P> {
    /// Creates lines of at most so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { open: BTreeMap::new(), most }
    }

    /// Adds a byte of a channel. Returns the line that it ends. Zero bytes, which fill words, are left out.
    pub(crate) fn push(&mut self, channel: K, place: P, byte: u8) -> Option<(P, String)> {
        if byte == 0 {
            return None;
        }
        let (_, line) = self.open.entry(channel).or_insert_with(|| (place, Vec::new()));
        if byte == b'\n' {
            return self.end(channel);
        }
        if line.len() < self.most {
            line.push(byte);
            return None;
        }
        let full = self.end(channel);
        self.open.insert(channel, (place, vec![byte]));
        full
    }

    /// Ends the line of a channel, if one is open.
    pub(crate) fn end(&mut self, channel: K) -> Option<(P, String)> {
        self.open.remove(&channel).map(|(place, line)| (place, text(&line)))
    }

    /// Ends all lines.
    pub(crate) fn end_all(&mut self) -> impl Iterator<Item = (K, (P, String))> + use<K, P> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().map(|(channel, (place, line))| (channel, (place, text(&line))))
    }
}

/// Returns bytes as text, without the carriage return at their end. Bytes that are not UTF-8 are escaped.
fn text(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    for chunk in line.strip_suffix(b"\r").unwrap_or(line).utf8_chunks() {
        text += chunk.valid();
        chunk.invalid().iter().for_each(|byte| text += &format!("\\x{byte:02x}"));
    }
    text
}

/// Text of a channel, or a gap in the trace that may have had some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelText {
    /// Index of the source in the capture.
    pub source: usize,
    /// Number of the source in its buffer.
    pub id: u16,
    /// Offset in the trace file of the packet with the first byte.
    pub offset: u64,
    /// Last timestamp before it, if there was one.
    pub time: Option<u64>,
    /// The line, or the gap.
    pub kind: TextKind,
}

/// Text of a channel, or a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A line of text.
    Line {
        /// Number of the bus master that wrote it (STM).
        master: Option<u16>,
        /// Channel, or stimulus port.
        channel: u32,
        /// The text, without the end of the line. Bytes that are not UTF-8 are escaped: `\xff`. Anybody may have written it: print it
        /// with [`Printable`](tracewright_core::text::Printable).
        text: String,
    },
    /// Trace is missing: text may be.
    Gap {
        /// Reason of the first gap.
        reason: GapReason,
        /// Number of gaps since the last line.
        times: u64,
    },
}

impl ChannelText {
    /// Returns a JSON object of text in a buffer with this name.
    pub fn json(&self, buffer: &str) -> Value {
        let Self { id, offset, time, kind, .. } = self;
        let mut object = json!({ "buffer": buffer, "offset": offset, "id": id });
        let mut add = |name: &str, value: Option<Value>| value.map(|value| object[name] = value);
        match kind {
            TextKind::Line { master, channel, text } => {
                add("kind", Some("text".into()));
                add("master", master.map(Value::from));
                add("channel", Some((*channel).into()));
                add("text", Some(text.as_str().into()));
            }
            TextKind::Gap { reason, times } => {
                add("kind", Some("gap".into()));
                add("reason", Some(words::gap(*reason).into()));
                add("times", Some((*times).into()));
            }
        }
        add("time", time.map(|time| format!("{time:#x}").into()));
        object
    }
}

/// Text in the order of the trace, and all channels that were written to.
#[derive(Debug, Default)]
struct TextOutput {
    texts: Vec<ChannelText>,
    written: BTreeSet<u32>,
}

/// Consumer that gathers the text of some channels.
struct Gather<'a> {
    channels: &'a [u32],
}

/// The place of a line's first byte.
type Begin = (u64, Option<u64>);

struct TextState {
    lines: OpenLines<(Option<u16>, u32), Begin>,
    time: Option<u64>,
    gap: Option<ChannelText>,
}

impl Default for TextState {
    fn default() -> Self {
        Self { lines: OpenLines::new(MOST_BYTES), time: None, gap: None }
    }
}

impl TextState {
    /// Reports a line, after the gap before it.
    fn line(
        &mut self,
        output: &mut TextOutput,
        source: &Source<'_>,
        (master, channel): (Option<u16>, u32),
        ((offset, time), text): (Begin, String),
    ) {
        output.texts.extend(self.gap.take());
        let kind = TextKind::Line { master, channel, text };
        output.texts.push(ChannelText { source: source.index, id: source.id, offset, time, kind });
    }

    fn end_all(&mut self, output: &mut TextOutput, source: &Source<'_>) {
        for (channel, line) in self.lines.end_all() {
            self.line(output, source, channel, line);
        }
    }
}

impl Consumer for Gather<'_> {
    type State = TextState;
    type Output = TextOutput;

    fn element(&self, state: &mut TextState, output: &mut TextOutput, at: &At<'_>, element: &Element) {
        let (source, offset) = (at.source, at.place.offset);
        match *element {
            // 0 means unknown.
            Element::Timestamp { value: value @ 1.., .. } => state.time = Some(value),
            Element::Gap { reason, .. } if reason != GapReason::Start => {
                // What follows may belong to another line.
                state.end_all(output, source);
                let kind = TextKind::Gap { reason, times: 0 };
                let (source, id, time) = (source.index, source.id, state.time);
                let gap = state.gap.get_or_insert(ChannelText { source, id, offset, time, kind });
                if let TextKind::Gap { times, .. } = &mut gap.kind {
                    *times += 1;
                }
            }
            Element::Message(Message::Write(Write {
                master, channel, bits, value, trigger: false, ..
            })) => {
                output.written.insert(channel);
                if !self.channels.contains(&channel) {
                    return;
                }
                let key = (master, channel);
                // A mark alone ends a message.
                if bits == 0
                    && let Some(line) = state.lines.end(key)
                {
                    state.line(output, source, key, line);
                }
                // Text is in whole bytes, the first in the lowest bits.
                let bytes = value.to_le_bytes();
                for &byte in &bytes[..usize::from(bits / 8).min(bytes.len())] {
                    if let Some(line) = state.lines.push(key, (offset, state.time), byte) {
                        state.line(output, source, key, line);
                    }
                }
            }
            _ => {}
        }
    }

    fn end(&self, state: &mut TextState, output: &mut TextOutput, at: &At<'_>, _overflowed: bool) {
        state.end_all(output, at.source);
        output.texts.extend(state.gap.take());
    }

    /// Lines have bytes of many packets.
    fn in_order(&self) -> bool {
        true
    }

    fn merge(&self, into: &mut TextOutput, later: TextOutput) {
        into.written.extend(later.written);
    }

    fn len(&self, output: &TextOutput) -> usize {
        output.texts.len()
    }

    fn size(&self, output: &TextOutput) -> usize {
        let text = |text: &ChannelText| match &text.kind {
            TextKind::Line { text, .. } => text.len(),
            TextKind::Gap { .. } => 0,
        };
        size_of_val(&output.texts[..]) + output.texts.iter().map(text).sum::<usize>()
    }

    fn clear(&self, output: &mut TextOutput) {
        output.texts.clear();
    }
}

impl Trace {
    /// Passes the text that was written to some channels to `take`, in the order of the file. Returns all channels that something was
    /// written to.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
    pub fn channel_text(
        &self,
        channels: &[u32],
        mut take: impl FnMut(&ChannelText) -> ControlFlow<()> + Send,
    ) -> Result<Outcome<BTreeSet<u32>>, Error> {
        let engine = self.engine()?;
        let (mut all, mut written) = (Outcome::default(), BTreeSet::new());
        for buffer in self.buffers()? {
            let text = self
                .channel_text_of(&engine, buffer, channels, |texts| texts.iter().try_for_each(&mut take))?;
            written.extend(all.add(text));
        }
        all.problems.extend(self.trace_problems().cloned());
        Ok(all.map(|()| written))
    }

    /// Passes the text that was written to some channels of a buffer's instrumentation sources to `take`, many lines at a time. Returns
    /// all channels that something was written to. Other sources are not read.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read.
    pub fn channel_text_of(
        &self,
        engine: &Engine,
        buffer: &Buffer,
        channels: &[u32],
        mut take: impl FnMut(&[ChannelText]) -> ControlFlow<()> + Send,
    ) -> Result<Outcome<BTreeSet<u32>>, Error> {
        let sources = buffer.sources.iter().map(|&index| &self.capture().sources[index]);
        let others = sources.filter(|source| source.traces_instructions());
        let trace = self.clone().except(others.filter_map(input::Source::number).collect());
        let take = |output: &TextOutput, range: Range<usize>| take(&output.texts[range]);
        let gathered = trace.decode_buffer(engine, buffer, &Gather { channels }, true, take)?;
        Ok(gathered.map(|output| output.written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_channels_are_lines() {
        let mut lines = OpenLines::new(6);
        let mut found = Vec::new();
        let bytes = b"a1\n\0b2\r\nlonger than six\n\n\xc3\xa9\xff\x1b\r\r\nend";
        for (place, &byte) in bytes.iter().enumerate() {
            found.extend(lines.push(0, place, byte).map(|(place, text)| (0, place, text)));
            // Another channel between the bytes.
            found.extend(lines.push(1, place, b'.').map(|(place, text)| (1, place, text)));
        }
        let rest: Vec<_> = lines.end_all().collect();
        assert_eq!(rest.len(), 2, "{rest:?}");
        found.extend(rest.into_iter().map(|(channel, (place, text))| (channel, place, text)));
        let of = |wanted| {
            let lines = found.iter().filter(move |(channel, ..)| *channel == wanted);
            lines.map(|(_, place, text)| (*place, text.as_str())).collect::<Vec<_>>()
        };
        let expected = [
            (0, "a1"),
            (4, "b2"),
            (8, "longer"),
            (14, " than "),
            (20, "six"),
            (24, ""),
            (25, "\u{e9}\\xff\x1b\r"),
            (32, "end"),
        ];
        assert_eq!(of(0), expected);
        assert!(of(1).iter().all(|(_, text)| text.len() <= 6 && text.bytes().all(|byte| byte == b'.')));
        assert_eq!(of(1).iter().map(|(_, text)| text.len()).sum::<usize>(), bytes.len());
    }

    /// Two letters in one value on port 0, one on port 1, and a line that nothing ends.
    #[test]
    fn text_of_a_trace() {
        let bytes = [0x02, b'h', b'i', 0x09, b'?', 0x01, b'\n', 0x01, b'x'];
        let folder = tracewright_testkit::Scratch::new("channel-text");
        let open = crate::OpenOptions::new().packing(crate::Packing::Source);
        let open = open.source("itm,sync=0".parse().unwrap());
        let trace = open.open(folder.write("swo.bin", &bytes)).unwrap();
        let mut lines = Vec::new();
        let outcome = trace.channel_text(&[0], |line| {
            lines.push(line.clone());
            ControlFlow::Continue(())
        });
        let outcome = outcome.unwrap();
        assert!(outcome.is_complete(), "{outcome:?}");
        assert_eq!(outcome.value, BTreeSet::from([0, 1]));
        let texts: Vec<_> = lines.iter().map(|line| (line.offset, &line.kind)).collect();
        let line = |text: &str| TextKind::Line { master: None, channel: 0, text: text.into() };
        assert_eq!(texts, [(0, &line("hi")), (7, &line("x"))]);
        // The receiver may stop.
        let stopped = trace.channel_text(&[0], |_| ControlFlow::Break(())).unwrap();
        assert!(stopped.is_stopped);
    }
}
