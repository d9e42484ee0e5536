//! A made-up protocol, all of it: registered in one place, it is read wherever the others are.
//!
//! A packet is a header byte and what follows it. Header: bits 7 and 6 say what it is, bits 5 to 3 whose it is, bit 0 is an atom's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};

use tracewright_core::{Block, Element, Exception, Isa, MemorySpace, TraceOn};
use tracewright_engine::{
    Decoder, Feed, Kind, Line, Mode, Options, PacketSink, Protocol, Role, Syntax, register,
};
use tracewright_flow::{Graph, NodeId, Rules, Sink, Snapshot, Trail, Walker};
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    Sync(u16, u64),
    Address(u16, u64),
    Atom(u16, bool),
    Exception(u16, u8),
    Malformed,
    Incomplete,
}

impl Packet {
    /// The packet at the start of some bytes, and its length; `None` if there are too few.
    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (&header, rest) = bytes.split_first()?;
        let source = u16::from(header >> 3 & 7);
        let address = || rest.first_chunk().map(|address| u64::from_le_bytes(*address));
        Some(match (header >> 6, header & 7) {
            (0, 0) => (Self::Sync(source, address()?), 9),
            (1, 0) => (Self::Address(source, address()?), 9),
            (2, atom @ 0..=1) => (Self::Atom(source, atom == 1), 1),
            (3, 0) => (Self::Exception(source, *rest.first()?), 2),
            _ => (Self::Malformed, 1),
        })
    }

    /// Appends its bytes.
    pub fn write(self, bytes: &mut Vec<u8>) {
        let (kind, source, low) = match self {
            Self::Sync(source, _) => (0, source, 0),
            Self::Address(source, _) => (1, source, 0),
            Self::Atom(source, taken) => (2, source, u8::from(taken)),
            Self::Exception(source, _) => (3, source, 0),
            Self::Malformed | Self::Incomplete => (0, 0, 2),
        };
        bytes.push(kind << 6 | (source as u8) << 3 | low);
        match self {
            Self::Sync(_, address) | Self::Address(_, address) => bytes.extend(address.to_le_bytes()),
            Self::Exception(_, number) => bytes.push(number),
            _ => {}
        }
    }
}

/// Position of the next packet, what there is of it, and where bytes are counted.
pub struct Parser(u64, Vec<u8>, Arc<AtomicU64>);

impl Syntax for Toy {
    type Params = Params;
    type Parser = Parser;
    type Packet = Packet;
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

    fn parse(parser: &mut Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<Self>) {
        let Parser(position, carry, parsed) = parser;
        parsed.fetch_add(bytes.map_or(0, <[u8]>::len) as u64, Ordering::Relaxed);
        carry.extend_from_slice(bytes.unwrap_or_default());
        let mut rest = &carry[..];
        while let Some((packet, len)) = Packet::read(rest) {
            sink.packet(*position, &rest[..len], &packet);
            (*position, rest) = (*position + len as u64, &rest[len..]);
        }
        if bytes.is_none() && !rest.is_empty() {
            sink.packet(*position, rest, &Packet::Incomplete);
            (*position, rest) = (*position + rest.len() as u64, &[]);
        }
        *carry = rest.to_vec();
    }

    fn kind(packet: &Packet) -> usize {
        match packet {
            Packet::Sync(..) => 0,
            Packet::Address(..) => 1,
            Packet::Atom(..) => 2,
            Packet::Exception(..) => 3,
            Packet::Malformed => 4,
            Packet::Incomplete => 5,
        }
    }

    fn source(packet: &Packet) -> Option<u16> {
        match *packet {
            Packet::Sync(source, _) | Packet::Address(source, _) => Some(source),
            Packet::Atom(source, _) | Packet::Exception(source, _) => Some(source),
            Packet::Malformed | Packet::Incomplete => None,
        }
    }

    fn told(_: &Params) {}

    fn words(_: &Params, (): &(), packet: &Packet, line: &mut Line) {
        line.text(&format!("{packet:?}"));
    }

    fn fields(_: &Params, (): &(), packet: &Packet, line: &mut Line) {
        if let Packet::Atom(_, taken) = packet {
            line.text(&format!(r#","taken":{taken}"#));
        }
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

    fn decoder<'i>(_: &Params, _: &Options, image: &'i Image) -> Result<ToyDecoder<'i>, String> {
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
        if let Packet::Sync(_, address) = packet {
            feed.synchronised();
            feed.synchronised_at(offset, *address);
        }
        if *packet == Packet::Incomplete {
            feed.cut(offset, len);
        }
        feed.decoder.packet(offset, packet, &mut feed.sink);
        feed.taken(offset, offset + len as u64, |start, _| {
            *start == offset && matches!(packet, Packet::Sync(..))
        });
    }

    fn split(params: &Params, parser: &Parser, bytes: &[u8], least: usize) -> Vec<usize> {
        let (all, mut at) = ([&parser.1[..], bytes].concat(), 0);
        let mut starts = vec![0];
        while let Some((packet, len)) = Packet::read(&all[at..]) {
            let from = at.saturating_sub(parser.1.len());
            if matches!(packet, Packet::Sync(id, _) if id == params.id)
                && from >= starts[starts.len() - 1] + least
            {
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
    fn packet(&mut self, offset: u64, packet: &Packet, sink: &mut impl Sink) {
        self.last = Some(offset);
        match *packet {
            Packet::Sync(_, address) => {
                if self.walker.address().is_none() {
                    sink.element(offset, &Element::TraceOn(TraceOn::Normal));
                }
                self.walker.restart();
                self.walker.set_address(address, Isa::A64);
            }
            Packet::Address(_, address) => self.walker.set_address(address, Isa::A64),
            Packet::Atom(_, taken) => {
                // Where the program does not allow it, execution is lost until the next sync.
                let _ = self.walker.branch(taken, &mut Telling(offset, sink));
            }
            Packet::Exception(_, number) => {
                let number = number.into();
                let (interrupt, value, return_address, at_target) = (false, None, None, false);
                let exception = Exception { number, interrupt, value, return_address, at_target };
                sink.element(offset, &Element::Exception(exception));
            }
            Packet::Malformed | Packet::Incomplete => {}
        }
    }
}

struct Telling<'s, S>(u64, &'s mut S);

impl<S: Sink> Trail for Telling<'_, S> {
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

    fn interrupt(&mut self, _: u64, _: &mut impl Sink) {
        self.walker.lose();
    }

    fn finish(&mut self, offset: u64, sink: &mut impl Sink) {
        sink.element(offset, &Element::End);
    }
}
