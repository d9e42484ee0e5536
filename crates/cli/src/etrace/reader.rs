//! From an E-Trace buffer to messages.

use std::collections::VecDeque;

use tracewright_etrace::Options;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Config, Content, Message, Parser, Sink};
use tracewright_input::{Buffer, Capture, Protocol};

use super::Kind;
use crate::output::{Error, report};
use crate::reader::{Input, Summary};

/// What takes a buffer's messages, in the order in which they are in the file.
pub trait Visitor {
    /// A message.
    fn message(&mut self, found: &Found<'_>);
    /// Whether to stop: nobody is interested in more.
    fn is_done(&self) -> bool {
        false
    }
}

/// A message, and where it was found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Its source's index in the capture; `None` if it belongs to none.
    pub source: Option<usize>,
    /// Offset in the file.
    pub offset: u64,
    /// Its bytes; none for bytes passed over.
    pub bytes: &'a [u8],
    /// What they say.
    pub message: &'a Message,
    /// What is switched on for its source.
    pub options: Options,
}

/// Messages that are held back at most, until those before them are known.
const MOST_HELD: usize = 1 << 16;

/// Reads all of a buffer from `input`, its file, and reports what it could make nothing of.
pub fn read(
    capture: &Capture,
    buffer: &Buffer,
    input: Input<'_>,
    visitor: &mut impl Visitor,
) -> Result<Summary, Error> {
    let mut lanes = Lanes::new(capture, buffer);
    let mut messages = Messages { visitor, found: 0 };
    let bytes = if let [lane] = &mut lanes.lanes[..] {
        let sources = &lanes.sources;
        let bytes = input.for_each_chunk(|chunk| {
            lane.parse(sources, chunk, &mut messages);
            !messages.visitor.is_done()
        })?;
        lane.finish(sources, &mut messages);
        bytes
    } else {
        let bytes = input.for_each_chunk(|chunk| {
            lanes.parse(Some(chunk), &mut messages);
            !messages.visitor.is_done()
        })?;
        lanes.parse(None, &mut messages);
        bytes
    };
    let mut failures = Vec::new();
    if bytes == 0 {
        failures.push("is empty".to_owned());
    } else if buffer.sources.is_empty() {
        failures.push("no source of it can be read".to_owned());
    } else if messages.found == 0 && !messages.visitor.is_done() {
        failures.push(format!("no message in {bytes} bytes: check the encapsulation"));
    }
    for failure in &failures {
        report(&format!("{}: {failure}", buffer.name));
    }
    Ok(Summary { bytes, failures: failures.len() as u64 })
}

/// The sources of a buffer, with a parser for all that are alike.
struct Lanes {
    lanes: Vec<Lane>,
    /// ID, index in the capture, and lane.
    sources: Vec<(u16, usize, usize)>,
}

struct Lane {
    number: usize,
    parser: Parser,
    /// Messages that wait for those of other lanes that lie before them.
    held: VecDeque<Held>,
}

struct Held {
    offset: u64,
    bytes: Vec<u8>,
    message: Message,
    source: Option<usize>,
    options: Options,
}

impl Held {
    /// What messages are ordered by. Bytes passed over are told at their end.
    fn place(&self) -> u64 {
        match self.message.content {
            Content::NotSync { len } => self.offset + len,
            _ => self.offset,
        }
    }
}

impl Lanes {
    fn new(capture: &Capture, buffer: &Buffer) -> Self {
        let mut lanes: Vec<Lane> = Vec::new();
        let mut sources = Vec::new();
        for &index in &buffer.sources {
            let Protocol::Etrace(source) = &capture.sources[index].protocol else { continue };
            let like = |lane: &Lane| *lane.parser.config() == source.config;
            let lane = lanes.iter().position(like).unwrap_or_else(|| {
                lanes.push(Lane::new(lanes.len(), &source.config));
                lanes.len() - 1
            });
            sources.push((source.source, index, lane));
        }
        Self { lanes, sources }
    }

    /// Takes the next bytes, or the end, and tells what is certain.
    fn parse(&mut self, chunk: Option<&[u8]>, messages: &mut Messages<'_, impl Visitor>) {
        for lane in &mut self.lanes {
            let mut held = std::mem::take(&mut lane.held);
            let mut hold = Hold(&mut held);
            match chunk {
                Some(chunk) => lane.parse(&self.sources, chunk, &mut hold),
                None => lane.finish(&self.sources, &mut hold),
            }
            lane.held = held;
        }
        // Each lane has told all that ends before what it has not finished.
        let certain = match chunk {
            Some(_) => self.lanes.iter().map(|lane| lane.parser.unfinished()).min().unwrap_or(0),
            None => u64::MAX,
        };
        loop {
            let first = |lane: &&mut Lane| lane.held.front().map_or(u64::MAX, Held::place);
            let Some(lane) = self.lanes.iter_mut().min_by_key(first) else { return };
            let many = lane.held.len() > MOST_HELD;
            match lane.held.pop_front_if(|held| held.place() < certain || many) {
                Some(Held { offset, bytes, message, source, options }) => {
                    messages.take(&Found { source, offset, bytes: &bytes, message: &message, options });
                }
                None => return,
            }
        }
    }
}

impl Lane {
    fn new(number: usize, config: &Config) -> Self {
        Self { number, parser: Parser::new(config.clone()), held: VecDeque::new() }
    }

    fn parse(&mut self, sources: &[(u16, usize, usize)], chunk: &[u8], take: &mut impl Take) {
        let mut sink = Told::new(self, sources, take);
        self.parser.feed(chunk, &mut sink);
    }

    fn finish(&mut self, sources: &[(u16, usize, usize)], take: &mut impl Take) {
        let mut sink = Told::new(self, sources, take);
        self.parser.finish(&mut sink);
    }
}

/// What takes messages that are this lane's.
trait Take {
    fn take(&mut self, found: &Found<'_>);
}

struct Hold<'a>(&'a mut VecDeque<Held>);

impl Take for Hold<'_> {
    fn take(&mut self, found: &Found<'_>) {
        let Found { source, offset, bytes, message, options } = *found;
        self.0.push_back(Held { offset, bytes: bytes.to_vec(), message: *message, source, options });
    }
}

struct Messages<'a, V> {
    visitor: &'a mut V,
    /// Messages that are some.
    found: u64,
}

impl<V: Visitor> Take for Messages<'_, V> {
    #[inline]
    fn take(&mut self, found: &Found<'_>) {
        let is_some = !matches!(
            found.message.content,
            Content::Malformed(_) | Content::NotSync { .. } | Content::Incomplete
        );
        self.found += u64::from(is_some);
        self.visitor.message(found);
    }
}

/// A parser's sink: picks what is its lane's.
struct Told<'a, T> {
    lane: usize,
    sources: &'a [(u16, usize, usize)],
    take: &'a mut T,
    /// What is switched on, for each source of this lane.
    options: Vec<(u16, Options)>,
}

impl<'a, T: Take> Told<'a, T> {
    fn new(lane: &Lane, sources: &'a [(u16, usize, usize)], take: &'a mut T) -> Self {
        let options = sources.iter().filter(|(_, _, of)| *of == lane.number);
        let options = options.map(|&(id, ..)| (id, lane.parser.options(id).0)).collect();
        Self { lane: lane.number, sources, take, options }
    }
}

impl<T: Take> Sink for Told<'_, T> {
    #[inline]
    fn message(&mut self, offset: u64, bytes: &[u8], message: &Message) {
        let mut options = Options::default();
        let source = if Kind::of(message).has_source() {
            match self.sources.iter().find(|(id, ..)| *id == message.source) {
                Some((_, _, lane)) if *lane != self.lane => return,
                Some(&(id, index, _)) => {
                    if let Some((_, known)) = self.options.iter_mut().find(|(known, _)| *known == id) {
                        if let Content::Instruction(Packet::Support(support)) = &message.content {
                            *known = support.ioptions;
                        }
                        options = *known;
                    }
                    Some(index)
                }
                // The first lane tells what is nobody's.
                None if self.lane != 0 => return,
                None => None,
            }
        } else if self.lane != 0 {
            return;
        } else {
            None
        };
        self.take.take(&Found { source, offset, bytes, message, options });
    }
}
