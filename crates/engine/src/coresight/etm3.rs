//! ETMv3 as a protocol of the engine. Segments begin at A-Syncs, and take over after the first block behind the next I-Sync.

use std::any::Any;
use std::fmt::Write as _;

use tracewright_core::{Exception, MemorySpace};
use tracewright_coresight::etm3::Params;
use tracewright_coresight::etm3::decode::{self, Snapshot};
use tracewright_coresight::etm3::packet::{
    self, Branch, DataAddress, ISync, Packet, Parser, Resync, Timestamp, exception_name,
};
use tracewright_coresight::shared::search;
use tracewright_flow::{ElementSink, Graph};
use tracewright_image::{Image, Moment};
use tracewright_input as input;

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::{Decoder, Options, Protocol, same_methods};
use crate::sink::Mode;
use crate::stream::Feed;
use crate::syntax::{Kind, PacketSink, Role, Skips, Syntax};

/// ETMv3.
#[derive(Debug)]
pub struct Etm3;

/// All kinds of packets.
const KINDS: [Kind; packet::Kind::COUNT] = {
    let mut kinds = [Kind::new("", Role::Plain); packet::Kind::COUNT];
    let mut index = 0;
    while index < kinds.len() {
        let kind = packet::Kind::ALL[index];
        let role = match kind {
            packet::Kind::Async => Role::Sync,
            packet::Kind::NotSync => Role::Skipped,
            packet::Kind::Incomplete => Role::Incomplete,
            _ if kind.is_error() => Role::Malformed,
            _ => Role::Plain,
        };
        kinds[index] = Kind::new(kind.name(), role);
        index += 1;
    }
    kinds
};

/// A parser's sink that passes packets on.
struct Through<'s, S>(&'s mut S);

impl<S: PacketSink<Etm3>> packet::Etm3Sink for Through<'_, S> {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        self.0.packet(offset, bytes, packet);
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        self.0.skipped(offset, bytes);
    }
}

impl Syntax for Etm3 {
    type Params = Params;
    type Parser = Parser;
    type Packet = Packet;
    type Told = ();

    const SYNCHRONISATION: &'static str = "A-Sync";
    const KINDS: &'static [Kind] = &KINDS;
    const OPENCSD_SKIPS: Skips = Skips::RunsAndZeros;
    const OPENCSD_SKIPPED: &'static str = "NOTSYNC : Trace Stream not synchronised";

    fn params(protocol: &input::Protocol) -> Option<&Params> {
        match protocol {
            input::Protocol::Registered(params) => (&**params as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    fn first(params: &Params, options: &Options, position: u64) -> Parser {
        let resync = if options.like_opencsd { Resync::NextByte } else { Resync::NextAsync };
        Parser::starting_at(params.clone(), position).with_resync(resync)
    }

    fn unfinished(parser: &Parser) -> u64 {
        parser.unfinished()
    }

    fn parse(parser: &mut Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<Self>) {
        match bytes {
            Some(bytes) => parser.feed(bytes, &mut Through(sink)),
            None => parser.finish(&mut Through(sink)),
        }
    }

    #[inline(always)]
    fn kind(packet: &Packet) -> usize {
        packet.kind() as usize
    }

    #[inline(always)]
    fn skipped(packet: &Packet) -> u64 {
        if let Packet::NotSync { len } = packet { *len } else { 0 }
    }

    fn reports_loss(packet: &Packet) -> bool {
        matches!(
            packet,
            Packet::ISync(ISync { reason: packet::Reason::Overflow, .. }) | Packet::DataSuppressed
        )
    }

    fn is_filler(packet: &Packet) -> bool {
        *packet == Packet::Ignore
    }

    fn told(_: &Params) {}

    fn words(params: &Params, (): &(), packet: &Packet, line: &mut Line) {
        line.text(packet.kind().name()).text(": ");
        let before = line.bytes().len();
        let _ = write!(line, "{}", packet.details(params));
        if line.bytes().len() == before {
            line.truncate(before - 2);
        }
    }

    fn fields(params: &Params, (): &(), packet: &Packet, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = fields(line, packet, params);
    }

    fn opencsd_protocol(_: &Params) -> Option<&'static str> {
        Some("ETMV3")
    }

    fn opencsd(params: &Params, (): &(), packet: &Packet, line: &mut Line) {
        let _ = packet::write_opencsd(line, packet, params);
    }

    fn exception(params: &Params, exception: &Exception) -> String {
        exception_name(exception.number, params.is_m())
    }
}

/// Writes a packet's own fields. All text here is ours and needs no escaping. Addresses and other wide values are hexadecimal strings.
fn fields(line: &mut Line, packet: &Packet, params: &Params) -> std::fmt::Result {
    match packet {
        Packet::CycleCount(count) => write!(line, r#","cycles":{count}"#),
        Packet::ISync(sync) => i_sync(line, sync),
        Packet::Atoms(atoms) => {
            line.text(r#","atoms":""#);
            (0..atoms.count).for_each(|index| {
                line.text(if atoms.passed(index) { "E" } else { "N" });
            });
            line.text("\"");
            if params.cycle_accurate() { write!(line, r#","cycles":{}"#, atoms.cycles) } else { Ok(()) }
        }
        Packet::Branch(Branch { address, exception, .. }) => {
            write!(line, r#","address":"{:#x}","isa":"{}""#, address.value, address.state.name())?;
            let Some(exception) = exception else { return Ok(()) };
            let (number, cancel) = (exception.number, exception.cancel);
            let name = exception_name(number, params.is_m());
            write!(line, r#","number":{number},"name":"{name}","cancel":{cancel}"#)?;
            state(line, exception.non_secure, exception.hyp)
        }
        Packet::OutOfOrder { tag, size, value } => {
            write!(line, r#","tag":{tag},"size":{size},"value":"{value:#x}""#)
        }
        Packet::Placeholder { tag, address, .. } => {
            write!(line, r#","tag":{tag}"#)?;
            data_address(line, address.as_ref())
        }
        Packet::Data { address, size, value, .. } => {
            data_address(line, address.as_ref())?;
            write!(line, r#","size":{size},"value":"{value:#x}""#)
        }
        Packet::ValueNotTraced { address, .. } => data_address(line, address.as_ref()),
        Packet::Vmid(id) => write!(line, r#","vmid":{id}"#),
        Packet::ContextId(id) => write!(line, r#","context_id":{id}"#),
        Packet::Timestamp(Timestamp { value, clock_changed, .. }) => {
            write!(line, r#","timestamp":"{value:#x}","clock_changed":{clock_changed}"#)
        }
        Packet::NotSync { len } => write!(line, r#","bytes":{len}"#),
        Packet::ReservedForMode { kind } | Packet::Malformed { kind } | Packet::Incomplete { kind } => {
            write!(line, r#","of":"{}""#, kind.name())
        }
        _ => Ok(()),
    }
}

fn i_sync(line: &mut Line, sync: &ISync) -> std::fmt::Result {
    write!(line, r#","reason":"{}""#, sync.reason.name())?;
    if let Some(address) = sync.address {
        write!(line, r#","address":"{address:#x}","isa":"{}""#, sync.state.name())?;
    }
    if let Some(current) = sync.current {
        write!(line, r#","current":"{:#x}""#, current.value)?;
    }
    state(line, sync.non_secure, sync.hyp)?;
    if let Some(id) = sync.context_id {
        write!(line, r#","context_id":{id}"#)?;
    }
    sync.cycles.map_or(Ok(()), |cycles| write!(line, r#","cycles":{cycles}"#))
}

fn state(line: &mut Line, non_secure: bool, hyp: bool) -> std::fmt::Result {
    let security = if non_secure { "non-secure" } else { "secure" };
    write!(line, r#","security":"{security}","hyp":{hyp}"#)
}

fn data_address(line: &mut Line, address: Option<&DataAddress>) -> std::fmt::Result {
    address.map_or(Ok(()), |address| write!(line, r#","address":"{:#x}""#, address.value))
}

impl Protocol for Etm3 {
    type Decoder<'i> = decode::Decoder<'i>;
    /// Where the window begins, as a stream position.
    type Knows = u64;
    type Handover = Handover;

    const WINDOW: usize = 1 << 12;

    fn output(_: usize) -> usize {
        16 << 20
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        let Options { like_opencsd, no_image, .. } = *options;
        Ok(decode::Decoder::new(params, image, decode::Options { like_opencsd, no_image }))
    }

    fn knows(parser: &Parser, _: &decode::Decoder<'_>) -> u64 {
        parser.position()
    }

    fn parser(params: &Params, options: &Options, _: &u64, position: u64) -> Parser {
        Self::first(params, options, position)
    }

    fn restart(decoder: &mut decode::Decoder<'_>, _: &u64, position: u64) {
        decoder.restart(position);
    }

    fn rewound(params: &Params, options: &Options, window: &u64, bytes: &[u8], from: usize) -> Parser {
        let mut parser = Self::first(params, options, window + from as u64);
        // What packets leave out was told since the segment's A-Sync: the handover has seen to that.
        parser.feed(&bytes[from..], &mut |_: u64, _: &[u8], _: &Packet| {});
        parser
    }

    #[inline(always)]
    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, packet: &Packet) {
        feed.decoder.packet(offset, packet, &mut feed.sink);
        let end = match packet {
            Packet::NotSync { len } => offset + len,
            Packet::Incomplete { .. } => {
                feed.cut(offset, len);
                offset + len as u64
            }
            _ => offset + len as u64,
        };
        feed.taken(offset, end, |handover, decoder| handover.is_now(offset, packet, decoder));
        match packet {
            Packet::Async => feed.synchronised(),
            Packet::ISync(ISync { address: Some(address), .. }) => {
                feed.synchronised_at(offset, (*address).into());
            }
            _ => {}
        }
    }

    fn feed<M: Mode>(parser: &mut Parser, bytes: Option<&[u8]>, feed: &mut Feed<'_, '_, Self, M>) {
        match bytes {
            Some(bytes) => parser.feed(bytes, feed),
            None => parser.finish(feed),
        }
    }

    fn split(_: &Params, _: &Parser, bytes: &[u8], least: usize) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut from = least;
        while let Some(start) = search::find(bytes, from) {
            starts.push(start);
            from = start + least;
        }
        starts
    }

    fn handover(start: u64) -> Handover {
        Handover { start, stage: Stage::Async }
    }
}

impl<M: Mode> packet::Etm3Sink for Feed<'_, '_, Etm3, M> {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        if !self.is_done() {
            Etm3::packet(self, offset, bytes.len(), packet);
        }
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        let are_zero = bytes.iter().all(|&byte| byte == 0);
        if self.is_done() {
            if !are_zero {
                self.passed_over();
            }
        } else {
            self.skip(offset, are_zero);
            self.decoder.skipping(offset, &mut self.sink);
            self.taken_at(offset);
        }
    }
}

impl<'i> Decoder<'i> for decode::Decoder<'i> {
    type Snapshot = Snapshot;

    same_methods!(decode::Decoder<'i>, decode::Decoder<'i>);

    fn image(&self) -> &'i Image {
        self.image()
    }

    fn oldest(&self) -> Option<u64> {
        self.oldest()
    }

    fn overflowed(&self) -> bool {
        self.overflowed()
    }

    fn resume(&mut self, offset: u64, moment: Moment) {
        self.resume(offset, moment);
    }
}

/// Watches for the point where a decoder that began at an A-Sync knows everything: what is compressed was told in full, and a block ended
/// after an I-Sync.
#[derive(Debug)]
pub struct Handover {
    /// Stream position of the A-Sync.
    start: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Async,
    Known { synchronised: bool, timestamp: bool, data: bool },
}

impl Handover {
    /// Returns whether this is the point, after `decoder` has taken the packet.
    fn is_now(&mut self, offset: u64, packet: &Packet, decoder: &decode::Decoder<'_>) -> bool {
        let params = decoder.params();
        match (&mut self.stage, packet) {
            (Stage::Async, Packet::Async) if offset == self.start => {
                let (timestamp, data) = (!params.timestamps(), !params.data_addresses());
                self.stage = Stage::Known { synchronised: false, timestamp, data };
            }
            (Stage::Async, _) => {}
            (Stage::Known { synchronised, timestamp, data }, packet) => {
                match packet {
                    Packet::ISync(_) => *synchronised = true,
                    Packet::Timestamp(found) => *timestamp |= found.told >= 48,
                    Packet::Data { address: Some(found), .. }
                    | Packet::Placeholder { address: Some(found), .. }
                    | Packet::ValueNotTraced { address: Some(found), .. } => *data |= found.told == 32,
                    _ => {}
                }
                return *synchronised && *timestamp && *data && decoder.ended() > 0;
            }
        }
        false
    }
}
