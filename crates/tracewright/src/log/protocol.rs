//! Logs as a protocol of the engine. A packet is a chunk of the log.

use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;

use tracewright_core::{Element, Exception, GapReason, Isa, MemorySpace};
use tracewright_engine::{
    CannotDecode, Decoder, Feed, Kind, Line, Mode, Options, PacketSink, Protocol, Reason, Role, Syntax,
};
use tracewright_etm::CoreProfile;
use tracewright_etm::packet::{self, ReturnAddress};
use tracewright_flow::{ElementSink, Graph};
use tracewright_hart::log::own;
use tracewright_image::Image;
use tracewright_input::{self as input, SourceKind, SourceParams, WrongParam};
use tracewright_isa::riscv::cause;
use tracewright_qemu::format::{Header, LogData};
use tracewright_qemu::read::{Chunk, Definitions, Thread};

use super::elements::{Elements, Seen};

/// Logs.
#[derive(Debug)]
pub struct LogProtocol;

/// A log, or a thread of one.
#[derive(Debug)]
pub struct Params {
    pub id: u16,
    /// Instruction set in which execution begins.
    pub isa: Isa,
    pub contents: Contents,
}

/// What the bytes of a source are.
#[derive(Clone, Debug)]
pub enum Contents {
    /// The log of a hart, from its header on.
    Hart(own::Header),
    /// The chunks of a thread, one after another.
    Thread { index: u32, header: Header, definitions: Arc<Definitions>, chunks: Arc<[Chunk]> },
}

impl Params {
    /// Returns whether the log has the cycle of each instruction.
    pub fn has_cycles(&self) -> bool {
        matches!(&self.contents, Contents::Hart(header) if header.cycles)
    }

    /// Returns Linux's ID of the thread, if the log has it.
    pub fn thread_id(&self) -> Option<u32> {
        match &self.contents {
            Contents::Hart(_) => None,
            Contents::Thread { index, definitions, .. } => definitions.tid(*index),
        }
    }

    /// Returns whether the log has only addresses of code.
    pub fn lacks_code(&self) -> bool {
        matches!(&self.contents, Contents::Hart(header) if !header.instructions)
    }

    fn has_values(&self) -> bool {
        match &self.contents {
            Contents::Hart(_) => true,
            Contents::Thread { header, .. } => header.data == LogData::Values,
        }
    }
}

impl SourceParams for Params {
    fn id(&self) -> u16 {
        self.id
    }

    fn is_riscv(&self) -> bool {
        !self.isa.is_arm()
    }

    fn title(&self) -> String {
        match &self.contents {
            Contents::Hart(_) => "tracewright's log".into(),
            Contents::Thread { .. } => "retirement log".into(),
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let has = |has: bool| if has { "yes" } else { "no" }.to_owned();
        let mut facts = vec![("instructions", self.isa.to_string())];
        match &self.contents {
            Contents::Hart(header) => {
                facts.push(("with their bits", has(header.instructions)));
                facts.push(("memory accesses", has(header.accesses)));
                facts.push(("cycles", has(header.cycles)));
            }
            Contents::Thread { index, header, .. } => {
                facts.push(("thread", index.to_string()));
                facts.extend(self.thread_id().map(|tid| ("thread ID", tid.to_string())));
                facts.push(("memory accesses", has(header.data != LogData::Nothing)));
            }
        }
        facts
    }
}

impl SourceKind for LogProtocol {
    fn name(&self) -> &'static str {
        "log"
    }

    fn params(&self, _: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        Err(WrongParam { name: "log".into(), why: "a log describes itself: give the file alone".into() })
    }
}

/// A packet: a chunk of the log.
#[derive(Clone, Debug)]
pub enum Packet {
    /// The header of a log.
    Header,
    /// A chunk: all bytes of a hart's, the bytes after the head of a thread's.
    Chunk(Arc<[u8]>),
    /// What the log ends with instead of a whole chunk.
    Cut,
}

/// Gathers the bytes of chunks.
#[derive(Debug)]
pub struct Parser {
    /// Stream position of the first byte that is kept.
    position: u64,
    kept: Vec<u8>,
    /// Bytes of the next packet, if that is known before its first byte.
    next: Option<usize>,
    /// Set once a hart's log has ended, or can be read no further.
    is_ended: bool,
}

const HEADER: usize = 0;
const CHUNK: usize = 1;
const CUT: usize = 2;

impl Syntax for LogProtocol {
    type Params = Params;
    type Parser = Parser;
    type Packet = Packet;
    type Run = Infallible;
    type Told = ();

    const SYNCHRONISATION: &'static str = "chunk";
    const KINDS: &'static [Kind] = &[
        Kind::new("Header", Role::Plain),
        Kind::new("Chunk", Role::Sync),
        Kind::new("Incomplete", Role::Incomplete),
    ];

    fn params(protocol: &input::Protocol) -> Option<&Params> {
        match protocol {
            input::Protocol::Registered(params) => (&**params as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    fn first(params: &Params, _: &Options, position: u64) -> Parser {
        let next = match &params.contents {
            Contents::Hart(_) => (position == 0).then_some(own::Header::LEN),
            Contents::Thread { chunks, .. } => {
                let chunk = chunks.iter().find(|chunk| chunk.offset() == position);
                Some(chunk.and_then(|chunk| usize::try_from(chunk.bytes()).ok()).unwrap_or(usize::MAX))
            }
        };
        Parser { position, kept: Vec::new(), next, is_ended: false }
    }

    fn unfinished(parser: &Parser) -> u64 {
        parser.position
    }

    fn parse(parser: &mut Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<Packet>) {
        let mut rest = bytes.unwrap_or_default();
        while !rest.is_empty() {
            let known = parser.next.or_else(|| own::Decoder::chunk_len(&parser.kept));
            let wanted = known.unwrap_or(own::Decoder::HEAD).saturating_sub(parser.kept.len());
            let (taken, after) = rest.split_at(wanted.min(rest.len()));
            parser.kept.extend_from_slice(taken);
            rest = after;
            let known = parser.next.or_else(|| own::Decoder::chunk_len(&parser.kept));
            let is_head = known.is_none() && parser.kept.len() >= own::Decoder::HEAD;
            if known == Some(parser.kept.len()) {
                let packet = match parser.next.take() {
                    Some(own::Header::LEN) if parser.position == 0 => Packet::Header,
                    _ => Packet::Chunk(parser.kept.as_slice().into()),
                };
                parser.emit(&packet, sink);
            } else if is_head {
                // No chunk is as long as this head says: the decoder says so.
                let packet = Packet::Chunk(parser.kept.as_slice().into());
                parser.emit(&packet, sink);
                parser.is_ended = true;
            }
            if parser.is_ended {
                parser.position += rest.len() as u64;
                return;
            }
        }
        if bytes.is_none() && !parser.kept.is_empty() {
            parser.emit(&Packet::Cut, sink);
        }
    }

    fn kind(packet: &Packet) -> usize {
        match packet {
            Packet::Header => HEADER,
            Packet::Chunk(_) => CHUNK,
            Packet::Cut => CUT,
        }
    }

    fn told(_: &Params) {}

    fn words(_: &Params, (): &(), packet: &Packet, line: &mut Line) {
        line.text(Self::KINDS[Self::kind(packet)].name);
    }

    fn fields(_: &Params, (): &(), _: &Packet, _: &mut Line) {}

    fn exception(params: &Params, exception: &Exception) -> String {
        if !params.isa.is_arm() {
            return cause::describe(exception.number.into(), exception.interrupt).to_owned();
        }
        let (number, return_address, fault_pending) = (exception.number, ReturnAddress::None, false);
        let of_etm = packet::Exception { number, return_address, fault_pending };
        of_etm.name(CoreProfile::A).to_owned()
    }
}

impl Parser {
    fn emit(&mut self, packet: &Packet, sink: &mut impl PacketSink<Packet>) {
        sink.packet(self.position, &self.kept, packet);
        self.position += self.kept.len() as u64;
        self.kept.clear();
    }
}

impl Protocol for LogProtocol {
    type Decoder<'i> = LogDecoder<'i>;
    /// Logs are decoded in one piece: each chunk depends on those before it.
    type Knows = ();
    type Handover = ();

    const WINDOW: usize = 1 << 16;
    const NEEDS_START: bool = true;

    fn output(jobs: usize) -> usize {
        (jobs << 24).min(1 << 27)
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<LogDecoder<'i>, CannotDecode> {
        if options.like_opencsd || options.no_image {
            return Err(CannotDecode("a log cannot be decoded so".into()));
        }
        let state = match &params.contents {
            Contents::Hart(header) => State::Hart(Box::new(own::Decoder::new(*header))),
            Contents::Thread { index, header, definitions, chunks } => State::Thread {
                thread: Box::new(Thread::new(*index, header)),
                header: *header,
                definitions: Arc::clone(definitions),
                chunks: Arc::clone(chunks),
                taken: 0,
            },
        };
        let seen = Seen::new(params.isa, params.has_values());
        Ok(LogDecoder { graph: Graph::new(image, false), state, seen, last: None, bad_from: None })
    }

    fn knows(_: &Parser, _: &LogDecoder<'_>) {}

    fn parser(params: &Params, options: &Options, (): &(), position: u64) -> Parser {
        Self::first(params, options, position)
    }

    fn restart(_: &mut LogDecoder<'_>, (): &(), _: u64) {}

    fn rewound(params: &Params, options: &Options, (): &(), _: &[u8], _: usize) -> Parser {
        Self::first(params, options, 0)
    }

    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, packet: &Packet) {
        match packet {
            Packet::Header => {}
            Packet::Cut => feed.cut(offset, len),
            Packet::Chunk(bytes) => {
                feed.synchronised();
                let decoder = &mut *feed.decoder;
                let damage = match M::COUNTS {
                    true => decoder.chunk::<_, false>(offset, bytes, &mut feed.sink),
                    false => decoder.chunk::<_, true>(offset, bytes, &mut feed.sink),
                };
                if let Err(what) = damage {
                    feed.malformed(offset, Reason { field: "chunk", what });
                }
            }
        }
        feed.decoder.last = Some(offset);
        feed.taken(offset, offset + len as u64, |(), _| false);
    }

    fn split(_: &Params, _: &Parser, _: &[u8], _: usize) -> Vec<usize> {
        Vec::new()
    }

    fn handover(_: u64) {}
}

/// Decoder of a log.
#[derive(Debug)]
pub struct LogDecoder<'i> {
    graph: Graph<'i>,
    state: State,
    seen: Seen,
    last: Option<u64>,
    /// Where the log began to be unreadable.
    bad_from: Option<u64>,
}

#[derive(Debug)]
enum State {
    Hart(Box<own::Decoder>),
    Thread {
        thread: Box<Thread>,
        header: Header,
        definitions: Arc<Definitions>,
        chunks: Arc<[Chunk]>,
        /// Chunks that were taken.
        taken: u32,
    },
}

impl LogDecoder<'_> {
    /// Decodes a chunk at this offset. Fails, with the reason, the first time that something is wrong.
    fn chunk<S: ElementSink, const DETAILS: bool>(
        &mut self,
        offset: u64,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<(), &'static str> {
        if self.bad_from.is_some() {
            return Ok(());
        }
        let (seen, image) = (&mut self.seen, self.graph.image());
        let what = match &mut self.state {
            State::Hart(decoder) => {
                let mut sink = Elements::<_, DETAILS> { sink, seen, image, base: 0, offset };
                match decoder.chunk(bytes, &mut sink) {
                    Ok(_) => return Ok(()),
                    Err(own::Error::Damaged { what, .. }) => what,
                    Err(_) => "it is incomplete",
                }
            }
            State::Thread { thread, definitions, chunks, taken, .. } => {
                let mut sink = Elements::<_, DETAILS> { sink, seen, image, base: offset, offset };
                let number = std::mem::replace(taken, *taken + 1);
                let place = chunks.iter().find(|chunk| chunk.offset() == offset);
                if place.is_some_and(|chunk| chunk.check(number, bytes).is_err()) {
                    thread.lose(definitions, &mut sink);
                    "it is damaged, or one before it is missing"
                } else if thread.take(bytes, definitions, &mut sink).is_err() {
                    "it has words that make no sense"
                } else {
                    return Ok(());
                }
            }
        };
        self.bad_from = Some(offset);
        Err(what)
    }
}

impl<'i> Decoder<'i> for LogDecoder<'i> {
    type Snapshot = ();

    fn snapshot(&self) {}

    fn image(&self) -> &'i Image {
        self.graph.image()
    }

    fn graph_mut(&mut self) -> &mut Graph<'i> {
        &mut self.graph
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::ANY
    }

    fn last_offset(&self) -> Option<u64> {
        self.last
    }

    fn gap_start(&self) -> Option<u64> {
        self.bad_from
    }

    /// The next chunk of a thread continues this one.
    fn interrupt(&mut self, _: u64, _: &mut impl ElementSink) {}

    fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let is_cut = match &mut self.state {
            State::Hart(decoder) => !decoder.is_at_end(),
            State::Thread { thread, header, definitions, chunks, .. } if self.bad_from.is_none() => {
                if let Some(since) = chunks.last().and_then(|chunk| chunk.since_last(header)) {
                    thread.broken_off(since, definitions);
                }
                let (seen, image) = (&mut self.seen, self.graph.image());
                let at = self.last.unwrap_or(offset);
                let mut sink = Elements::<_, true> { sink: &mut *sink, seen, image, base: at, offset: at };
                thread.finish(definitions, &mut sink);
                // The log has all that ran, also of a thread that was killed or crashed.
                false
            }
            State::Thread { .. } => false,
        };
        if let Some(from) = self.bad_from {
            sink.element(offset, &Element::Gap { reason: GapReason::BadPacket, from, to: offset });
        } else if is_cut {
            let reason = GapReason::Interrupted;
            sink.element(offset, &Element::Gap { reason, from: offset, to: offset });
        }
        sink.element(offset, &Element::End);
    }
}
