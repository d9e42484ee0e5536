//! MTB as a protocol of the engine. Its streams are decoded in order: rings are small.

use std::convert::Infallible;
use std::fmt::Write as _;

use tracewright_core::Exception;
use tracewright_core::stream::{PacketSink, Resync};
use tracewright_coresight::mtb::Params;
use tracewright_coresight::mtb::decode::{self, Snapshot};
use tracewright_coresight::mtb::packet::{self, Packet, Parser};
use tracewright_coresight::shared::exception;
use tracewright_image::Image;

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::Options;
use crate::syntax::{Kind, Role};

use super::module::{Mark, Module, Never, PacketParser, decoder};

/// MTB.
#[derive(Debug)]
pub struct Mtb;

impl Module for Mtb {
    type Params = Params;
    type Packet = Packet;
    type Run = Infallible;
    type Parser = Parser;
    type Decoder<'i> = decode::Decoder<'i>;
    type Handover = Never;

    const KINDS: &'static [Kind] = &{
        let mut kinds = [Kind::new("", Role::Plain); packet::Kind::COUNT];
        let mut index = 0;
        while index < kinds.len() {
            let kind = packet::Kind::ALL[index];
            let role = if let packet::Kind::Incomplete = kind { Role::Incomplete } else { Role::Plain };
            kinds[index] = Kind::new(kind.name(), role);
            index += 1;
        }
        kinds
    };
    const SYNCHRONISATION: &'static str = "synchronisation packet";
    const WINDOW: usize = 1 << 12;

    fn kind(packet: &Packet) -> usize {
        packet.kind() as usize
    }

    fn mark(packet: &Packet) -> Mark {
        if *packet == Packet::Incomplete { Mark::Incomplete } else { Mark::None }
    }

    /// Registers that are not of this trace take what was never written for packets.
    fn reports_loss(packet: &Packet) -> bool {
        *packet == Packet::Unused
    }

    fn is_filler(packet: &Packet) -> bool {
        *packet == Packet::Unused
    }

    fn words(_: &Params, packet: &Packet, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = write!(line, "{packet}");
    }

    fn fields(_: &Params, packet: &Packet, line: &mut Line) {
        if let Packet::Branch(branch) = packet {
            line.text(",\"from\":\"").hex(branch.source.into(), 0);
            line.text("\",\"to\":\"").hex(branch.target.into(), 0);
            line.text("\",\"start\":").text(if branch.start { "true" } else { "false" });
        }
    }

    fn opencsd_protocol(_: &Params) -> Option<&'static str> {
        None
    }

    fn exception(_: &Params, exception: &Exception) -> String {
        exception::m_profile(exception.number)
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        Ok(decode::Decoder::new(params, image, decode::Options { no_image: options.no_image }))
    }

    fn find(_: &[u8], _: usize) -> Option<usize> {
        None
    }

    fn handover(_: u64) -> Never {
        Never
    }
}

decoder!(decode::Decoder<'i>, Packet, Snapshot {});

impl PacketParser for Parser {
    type Params = Params;
    type Packet = Packet;
    type Run = Infallible;

    fn starting_at(_: Params, position: u64, _: Resync) -> Self {
        Self::starting_at(position)
    }

    fn position(&self) -> u64 {
        self.position()
    }

    fn unfinished(&self) -> u64 {
        self.unfinished()
    }

    fn feed(&mut self, bytes: &[u8], sink: &mut impl PacketSink<Packet>) {
        self.feed(bytes, sink);
    }

    fn finish(&mut self, sink: &mut impl PacketSink<Packet>) {
        self.finish(sink);
    }
}
