//! From an E-Trace buffer to messages.

use tracewright_engine::BufferReader;
use tracewright_etrace::Options;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Content, Message, Parser, Sink};
use tracewright_input::{Buffer, Capture, Protocol};

use super::Kind;
use crate::output::{Error, report};
use crate::reader::Summary;

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

/// Reads all of a buffer from `input`, its file, and reports what it could make nothing of.
pub fn read(
    capture: &Capture,
    buffer: &Buffer,
    mut input: BufferReader<'_>,
    visitor: &mut impl Visitor,
) -> Result<Summary, Error> {
    let sources = buffer.sources.iter().filter_map(|&index| match &capture.sources[index].protocol {
        Protocol::Etrace(source) => Some((index, source)),
        _ => None,
    });
    let sources: Vec<_> = sources.collect();
    let Some((_, first)) = sources.first() else {
        report(&format!("{}: no source of it can be read", buffer.name));
        return Ok(Summary { bytes: 0, failures: 1 });
    };
    // Sources that share a buffer are built alike: the capture's reader has seen to that.
    let mut parser = Parser::new(first.config.clone());
    let by_id = sources.iter().map(|(index, source)| (source.source, *index, source.config.options));
    let mut told = Told { sources: by_id.collect(), visitor, found: 0, cut: None };
    let bytes = input.for_each_chunk(|chunk| {
        parser.feed(chunk, &mut told);
        !told.visitor.is_done()
    })?;
    parser.finish(&mut told);
    let mut failures: Vec<_> = input.take_faults().iter().map(ToString::to_string).collect();
    if let Some((offset, len)) = told.cut.filter(|_| !told.visitor.is_done()) {
        failures.push(ends_inside(offset, len));
    }
    if bytes == 0 {
        failures.push("is empty".to_owned());
    } else if told.found == 0 && !told.visitor.is_done() {
        failures.push(format!("no message in {bytes} bytes: check the encapsulation"));
    }
    for failure in &failures {
        report(&format!("{}: {failure}", buffer.name));
    }
    Ok(Summary { bytes, failures: failures.len() as u64 })
}

/// Says that a file ends inside a message, of which `len` bytes are there.
fn ends_inside(offset: u64, len: usize) -> String {
    let plural = if len == 1 { "" } else { "s" };
    format!("the file ends inside a message ({len} byte{plural}, from {offset:#x} on): it was cut")
}

/// The parser's sink.
struct Told<'a, V> {
    /// ID, index in the capture, and what is switched on.
    sources: Vec<(u16, usize, Options)>,
    visitor: &'a mut V,
    /// Messages that are some.
    found: u64,
    /// Where the message begins that the file ends in, and how many bytes of it there are.
    cut: Option<(u64, usize)>,
}

impl<V: Visitor> Sink for Told<'_, V> {
    #[inline]
    fn message(&mut self, offset: u64, bytes: &[u8], message: &Message) {
        let is_some =
            !matches!(message.content, Content::Malformed(_) | Content::NotSync { .. } | Content::Incomplete);
        self.found += u64::from(is_some);
        if message.content == Content::Incomplete {
            self.cut = Some((offset, bytes.len()));
        }
        let mut found = Found { source: None, offset, bytes, message, options: Options::default() };
        if Kind::of(message).has_source()
            && let Some((_, index, options)) = self.sources.iter_mut().find(|(id, ..)| *id == message.source)
        {
            if let Content::Instruction(Packet::Support(support)) = &message.content {
                *options = support.ioptions;
            }
            (found.source, found.options) = (Some(*index), *options);
        }
        self.visitor.message(&found);
    }
}
