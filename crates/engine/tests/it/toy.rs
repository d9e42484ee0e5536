//! A made-up protocol, all of it: registered in one place, it is read wherever the others are.
//!
//! A packet is a header byte and what follows it. Header: bits 7 and 6 say what it is, bits 5 to 3 whose it is, bit 0 is an atom's.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};

use tracewright_core::{Block, Element, Exception, Isa, MemorySpace, TraceOn};
use tracewright_engine::{
    CannotDecode, Decoder, Feed, Kind, Line, Mode, Options, PacketSink, Protocol, Role, Syntax, register,
};
use tracewright_flow::{ElementSink, Graph, NodeId, Rules, Snapshot, Trail, Walker};
use tracewright_image::Image;
use tracewright_input::{self as input, SourceKind, SourceParams, WrongParam};

/// The protocol.
#[derive(Debug)]
pub struct Toy;

/// Adds it to all that are known.
pub fn add() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| register(&Toy));
}

/// What must be known of a source.
#[derive(Debug)]
pub struct Params {
    id: u16,
    /// Number of bytes that were parsed with them.
    pub parsed: Arc<AtomicU64>,
}

impl SourceParams for Params {
    fn id(&self) -> u16 {
        self.id
    }

    fn title(&self) -> String {
        "Toy 1.0".into()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![("id", self.id.to_string())]
    }
}

impl SourceKind for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn device(&self) -> Option<&'static str> {
        Some("TOY")
    }

    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        let wrong = |name: &str, why: &str| WrongParam { name: name.into(), why: why.into() };
        let mut id = None;
        for (name, value) in given {
            match (name.as_str(), value.trim_start_matches("0x").parse()) {
                ("id", Ok(number @ 0..=7)) => id = Some(number),
                ("id", _) => return Err(wrong(name, "expected 0 to 7")),
                _ => return Err(wrong(name, "a toy has only an id")),
            }
        }
        let id = id.ok_or_else(|| wrong("id", "it is missing"))?;
        Ok(Arc::new(Params { id, parsed: Arc::default() }))
    }
}

/// A packet: its kind, whose it is, and an address, an atom or the number of an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet(pub usize, pub u16, pub u64);

pub const SYNC: usize = 0;
pub const ADDRESS: usize = 1;
pub const ATOM: usize = 2;
pub const EXCEPTION: usize = 3;
const MALFORMED: usize = 4;
const INCOMPLETE: usize = 5;
/// Bytes after the header, of each kind.
const LENGTHS: [usize; 4] = [8, 8, 0, 1];

impl Packet {
    /// The packet at the start of some bytes, and its length; `None` if there are too few.
    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (&header, rest) = bytes.split_first()?;
        let (kind, source) = (usize::from(header >> 6), u16::from(header >> 3 & 7));
        if header & 7 > u8::from(kind == ATOM) {
            return Some((Self(MALFORMED, 0, 0), 1));
        }
        let value = rest.get(..LENGTHS[kind])?.iter().rev();
        let value = value.fold((header & 1).into(), |value, &byte| value << 8 | u64::from(byte));
        Some((Self(kind, source, value), 1 + LENGTHS[kind]))
    }

    /// Appends its bytes.
    pub fn write(self, bytes: &mut Vec<u8>) {
        let Self(kind, source, value) = self;
        let atom = if kind == ATOM { value as u8 } else { 0 };
        bytes.push((kind as u8) << 6 | (source as u8) << 3 | atom);
        bytes.extend(&value.to_le_bytes()[..LENGTHS[kind]]);
    }
}

/// Position of the next packet, what there is of it, and where bytes are counted.
pub struct Parser(u64, Vec<u8>, Arc<AtomicU64>);

impl Syntax for Toy {
    type Params = Params;
    type Parser = Parser;
    type Packet = Packet;
    type Run = Infallible;
    type Told = ();

    const SYNCHRONISATION: &'static str = "toy sync";
    const KINDS: &'static [Kind] = &[
        Kind::new("Sync", Role::Sync),
        Kind::new("Address", Role::Plain),
        Kind::new("Atom", Role::Plain),
        Kind::new("Exception", Role::Plain),
        Kind::new("Malformed", Role::Malformed),
        Kind::new("Incomplete", Role::Incomplete),
    ];
    const NAMES_SOURCES: bool = true;

    fn params(protocol: &input::Protocol) -> Option<&Params> {
        match protocol {
            input::Protocol::Registered(params) => (&**params as &dyn std::any::Any).downcast_ref(),
            _ => None,
        }
    }

    fn first(params: &Params, _: &Options, position: u64) -> Parser {
        Parser(position, Vec::new(), params.parsed.clone())
    }

    fn unfinished(parser: &Parser) -> u64 {
        parser.0
    }

    fn parse(parser: &mut Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<Packet>) {
        let Parser(position, carry, parsed) = parser;
        parsed.fetch_add(bytes.map_or(0, <[u8]>::len) as u64, Ordering::Relaxed);
        carry.extend_from_slice(bytes.unwrap_or_default());
        let mut rest = &carry[..];
        while let Some((packet, len)) = Packet::read(rest) {
            sink.packet(*position, &rest[..len], &packet);
            (*position, rest) = (*position + len as u64, &rest[len..]);
        }
        if bytes.is_none() && !rest.is_empty() {
            sink.packet(*position, rest, &Packet(INCOMPLETE, 0, 0));
            (*position, rest) = (*position + rest.len() as u64, &[]);
        }
        *carry = rest.to_vec();
    }

    fn kind(packet: &Packet) -> usize {
        packet.0
    }

    fn source(&Packet(kind, source, _): &Packet) -> Option<u16> {
        (kind < MALFORMED).then_some(source)
    }

    fn told(_: &Params) {}

    fn words(_: &Params, (): &(), packet: &Packet, line: &mut Line) {
        line.text(Self::KINDS[packet.0].name).text(" ").hex(packet.2, 0);
    }

    fn fields(_: &Params, (): &(), packet: &Packet, line: &mut Line) {
        line.text(r#","value":"#).decimal(packet.2);
    }

    fn exception(_: &Params, exception: &Exception) -> String {
        format!("toy trap {}", exception.number)
    }
}

impl Protocol for Toy {
    type Decoder<'i> = ToyDecoder<'i>;
    /// Stream position of a window.
    type Knows = u64;
    /// Stream position of a sync: it tells all.
    type Handover = u64;

    const WINDOW: usize = 1 << 10;

    fn output(_: usize) -> usize {
        1 << 20
    }

    fn decoder<'i>(_: &Params, _: &Options, image: &'i Image) -> Result<ToyDecoder<'i>, CannotDecode> {
        Ok(ToyDecoder { walker: Walker::new(image, Rules::default()), last: None })
    }

    fn knows(parser: &Parser, _: &ToyDecoder<'_>) -> u64 {
        parser.0 + parser.1.len() as u64
    }

    fn parser(params: &Params, options: &Options, _: &u64, position: u64) -> Parser {
        Self::first(params, options, position)
    }

    fn restart(decoder: &mut ToyDecoder<'_>, _: &u64, _: u64) {
        decoder.walker.restart();
        decoder.last = None;
    }

    fn rewound(params: &Params, options: &Options, window: &u64, bytes: &[u8], _: usize) -> Parser {
        // A segment takes over behind a packet.
        Self::first(params, options, window + bytes.len() as u64)
    }

    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, packet: &Packet) {
        if Self::source(packet).is_some_and(|source| source != feed.id) {
            return;
        }
        if packet.0 == SYNC {
            feed.synchronised();
            feed.synchronised_at(offset, packet.2);
        }
        if packet.0 == INCOMPLETE {
            feed.cut(offset, len);
        }
        feed.decoder.packet(offset, *packet, &mut feed.sink);
        feed.taken(offset, offset + len as u64, |start, _| *start == offset && packet.0 == SYNC);
    }

    fn split(params: &Params, parser: &Parser, bytes: &[u8], least: usize) -> Vec<usize> {
        let (all, mut at) = ([&parser.1[..], bytes].concat(), 0);
        let mut starts = vec![0];
        while let Some((packet, len)) = Packet::read(&all[at..]) {
            let from = at.saturating_sub(parser.1.len());
            if packet.0 == SYNC && packet.1 == params.id && from >= starts[starts.len() - 1] + least {
                starts.push(from);
            }
            at += len;
        }
        starts.split_off(1)
    }

    fn handover(start: u64) -> u64 {
        start
    }
}

/// From packets to elements.
pub struct ToyDecoder<'i> {
    walker: Walker<'i>,
    last: Option<u64>,
}

impl ToyDecoder<'_> {
    fn packet(&mut self, offset: u64, Packet(kind, _, value): Packet, sink: &mut impl ElementSink) {
        self.last = Some(offset);
        match kind {
            SYNC => {
                if self.walker.address().is_none() {
                    sink.element(offset, &Element::TraceOn(TraceOn::Normal));
                }
                self.walker.restart();
                self.walker.set_address(value, Isa::A64);
            }
            ADDRESS => self.walker.set_address(value, Isa::A64),
            ATOM => {
                // Where the program does not allow it, execution is lost until the next sync.
                let _ = self.walker.branch(value == 1, &mut Telling(offset, sink));
            }
            EXCEPTION => {
                let (number, interrupt, at_target) = (value as u16, false, false);
                let (value, return_address) = (None, None);
                let exception = Exception { number, interrupt, value, return_address, at_target };
                sink.element(offset, &Element::Exception(exception));
            }
            _ => {}
        }
    }
}

struct Telling<'s, S>(u64, &'s mut S);

impl<S: ElementSink> Trail for Telling<'_, S> {
    fn node(&mut self, graph: &Graph<'_>, id: NodeId, taken: bool) {
        self.1.node(self.0, graph, id, taken);
    }

    fn block(&mut self, block: &Block) {
        self.1.block(self.0, block);
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        self.1.forget(graph);
    }
}

impl<'i> Decoder<'i> for ToyDecoder<'i> {
    type Snapshot = Snapshot;

    fn snapshot(&self) -> Snapshot {
        self.walker.snapshot()
    }

    fn image(&self) -> &'i Image {
        self.walker.graph().image()
    }

    fn graph_mut(&mut self) -> &mut Graph<'i> {
        self.walker.graph_mut()
    }

    fn space(&self) -> MemorySpace {
        self.walker.space()
    }

    fn last_offset(&self) -> Option<u64> {
        self.last
    }

    fn interrupt(&mut self, _: u64, _: &mut impl ElementSink) {
        self.walker.lose();
    }

    fn finish(&mut self, offset: u64, sink: &mut impl ElementSink) {
        sink.element(offset, &Element::End);
    }
}
