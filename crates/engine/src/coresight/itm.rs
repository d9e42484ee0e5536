//! ITM as a protocol of the engine. Its streams are decoded in order: packets tell a page of stimulus ports once, for all that follow.

use std::convert::Infallible;
use std::fmt::Write as _;

use tracewright_core::{Exception, ExceptionChange, Message, Sample, Watched};
use tracewright_coresight::itm::Params;
use tracewright_coresight::itm::decode::{self, Snapshot};
use tracewright_coresight::itm::packet::{self, Packet, Parser};
use tracewright_coresight::shared::exception;
use tracewright_image::Image;

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::Options;
use crate::syntax::Skips;

use super::module::{Module, Never, decoder, packets};

/// ITM.
#[derive(Debug)]
pub struct Itm;

impl Module for Itm {
    type Params = Params;
    type Decoder<'i> = decode::Decoder<'i>;
    type Handover = Never;

    packets!(Packet, packet::Kind, Parser, Infallible);

    const SYNCHRONISATION: &'static str = "synchronisation packet";
    const OPENCSD_SKIPS: Skips = Skips::EightsAndRuns;
    const OPENCSD_SKIPPED: &'static str = "ITM_NOTSYNC: ; 'ITM data stream not synchronised'";
    const WINDOW: usize = 1 << 12;

    fn reports_loss(packet: &Packet) -> bool {
        *packet == Packet::Overflow
    }

    fn is_filler(packet: &Packet) -> bool {
        matches!(packet, Packet::Padding { .. })
    }

    fn words(_: &Params, packet: &Packet, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = words(line, packet);
    }

    fn fields(_: &Params, packet: &Packet, line: &mut Line) {
        let _ = fields(line, packet);
    }

    fn opencsd_protocol(_: &Params) -> Option<&'static str> {
        Some("ITM")
    }

    fn opencsd(_: &Params, packet: &Packet, line: &mut Line) {
        let _ = packet::opencsd::write(line, packet);
    }

    fn exception(_: &Params, exception: &Exception) -> String {
        name(exception.number)
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        let options = decode::Options { like_opencsd: options.like_opencsd };
        Ok(decode::Decoder::new(params, image, options))
    }

    fn find(_: &[u8], _: usize) -> Option<usize> {
        None
    }

    fn handover(_: u64) -> Never {
        Never
    }
}

decoder!(decode::Decoder<'i>, Packet, Snapshot {});

/// Returns the name of an exception. The thread has number 0.
fn name(number: u16) -> String {
    if number == 0 { "Thread".into() } else { exception::m_profile(number) }
}

fn words(line: &mut Line, packet: &Packet) -> std::fmt::Result {
    line.text(packet.kind().name());
    let before = line.bytes().len();
    line.text(": ");
    let Packet::Hardware(hardware) = packet else {
        write!(line, "{}", packet.details())?;
        if line.bytes().len() == before + 2 {
            line.truncate(before);
        }
        return Ok(());
    };
    let width = 2 + 2 * usize::from(hardware.size);
    match hardware.message() {
        Message::Exception { number, change } => {
            write!(line, "{} ({number}) ", name(number))?;
            line.write_str(change_name(change))
        }
        Message::Sample(Sample::At(address)) => write!(line, "{address:#x}"),
        Message::Sample(Sample::Asleep) => line.write_str("asleep"),
        Message::Sample(Sample::Prohibited) => line.write_str("prohibited"),
        Message::Watch { comparator, watched } => {
            write!(line, "comparator {comparator}, ")?;
            match watched {
                Watched::By(address) => write!(line, "by {address:#x}"),
                Watched::AddressLow(low) => write!(line, "address ...{low:04x}"),
                Watched::Read { value, .. } => write!(line, "read {value:#0width$x}"),
                Watched::Wrote { value, .. } => write!(line, "wrote {value:#0width$x}"),
                Watched::Match => line.write_str("match"),
            }
        }
        _ => write!(line, "{}", packet.details()),
    }
}

const fn change_name(change: ExceptionChange) -> &'static str {
    match change {
        ExceptionChange::Entered => "entered",
        ExceptionChange::Left => "left",
        ExceptionChange::Resumed => "resumed",
    }
}

/// Writes a packet's own fields. All text here is ours and needs no escaping. Wide values are hexadecimal strings.
fn fields(line: &mut Line, packet: &Packet) -> std::fmt::Result {
    match *packet {
        Packet::Stimulus { port, size, value } => {
            write!(line, r#","port":{port},"size":{size},"value":"{value:#x}""#)
        }
        Packet::Hardware(hardware) => {
            let (source, size, value) = (hardware.source, hardware.size, hardware.value);
            write!(line, r#","source":{source},"size":{size},"value":"{value:#x}""#)?;
            match hardware.message() {
                Message::Exception { number, change } => {
                    let (name, change) = (name(number), change_name(change));
                    write!(line, r#","number":{number},"name":"{name}","change":"{change}""#)
                }
                Message::Watch { comparator, .. } => write!(line, r#","comparator":{comparator}"#),
                _ => Ok(()),
            }
        }
        Packet::LocalTimestamp { value, delay, .. } => {
            let (timestamp, packet) = (delay.timestamp, delay.packet);
            write!(line, r#","steps":{value},"timestamp_delayed":{timestamp},"packet_delayed":{packet}"#)
        }
        Packet::GlobalLow { value, clock_changed, wrapped, bytes } => {
            let bits = if bytes == 4 { 26 } else { 7 * bytes };
            write!(line, r#","low":"{value:#x}","bits":{bits}"#)?;
            write!(line, r#","clock_changed":{clock_changed},"upper_changed":{wrapped}"#)
        }
        Packet::GlobalHigh { value, .. } => write!(line, r#","upper":"{value:#x}""#),
        Packet::Extension { hardware, value, .. } => match packet.page() {
            Some(page) => write!(line, r#","page":{page}"#),
            None => write!(line, r#","hardware":{hardware},"value":"{value:#x}""#),
        },
        Packet::NotSync { len } => write!(line, r#","bytes":{len}"#),
        Packet::Reserved { header } => write!(line, r#","header":"{header:#x}""#),
        Packet::Malformed { kind } | Packet::Incomplete { kind } => {
            write!(line, r#","of":"{}""#, kind.name())
        }
        Packet::Async | Packet::Padding { .. } | Packet::Overflow => Ok(()),
    }
}
