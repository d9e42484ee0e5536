//! ETMv3 as a protocol of the engine. Segments begin at A-Syncs, and take over after the first block behind the next I-Sync.

use std::fmt::Write as _;

use tracewright_core::Exception;
use tracewright_core::stream::{self, Grammar};
use tracewright_coresight::etm3::Params;
use tracewright_coresight::etm3::decode::{self, Snapshot};
use tracewright_coresight::etm3::packet::{
    self, Branch, DataAddress, Headers, ISync, Packet, Parser, Timestamp, exception_name,
};
use tracewright_image::Image;

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::Options;
use crate::syntax::Skips;

use super::module::{self, Module, decoder, packets};

/// ETMv3.
#[derive(Debug)]
pub struct Etm3;

impl Module for Etm3 {
    type Params = Params;
    type Decoder<'i> = decode::Decoder<'i>;
    type Handover = Handover;

    packets!(Packet, packet::Kind, Parser, Headers);

    const OPENCSD_SKIPS: Skips = Skips::RunsAndZeros;
    const OPENCSD_SKIPPED: &'static str = "NOTSYNC : Trace Stream not synchronised";
    const WINDOW: usize = 1 << 12;
    const RUNS: bool = true;

    fn reports_loss(packet: &Packet) -> bool {
        matches!(
            packet,
            Packet::ISync(ISync { reason: packet::Reason::Overflow, .. }) | Packet::DataSuppressed
        )
    }

    fn is_filler(packet: &Packet) -> bool {
        *packet == Packet::Ignore
    }

    fn words(params: &Params, packet: &Packet, line: &mut Line) {
        line.text(packet.kind().name()).text(": ");
        let before = line.bytes().len();
        let _ = write!(line, "{}", packet.details(params));
        if line.bytes().len() == before {
            line.truncate(before - 2);
        }
    }

    fn fields(params: &Params, packet: &Packet, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = fields(line, packet, params);
    }

    fn opencsd_protocol(_: &Params) -> Option<&'static str> {
        Some("ETMV3")
    }

    fn opencsd(params: &Params, packet: &Packet, line: &mut Line) {
        let _ = packet::write_opencsd(line, packet, params);
    }

    fn exception(params: &Params, exception: &Exception) -> String {
        exception_name(exception.number, params.is_m())
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        let Options { like_opencsd, no_image, .. } = *options;
        Ok(decode::Decoder::new(params, image, decode::Options { like_opencsd, no_image }))
    }

    #[inline(always)]
    fn synchronised_at(packet: &Packet) -> Option<u64> {
        if let Packet::ISync(sync) = packet { sync.address.map(u64::from) } else { None }
    }

    fn find(bytes: &[u8], from: usize) -> Option<usize> {
        stream::find(bytes, from, Params::ZEROS)
    }

    fn handover(start: u64) -> Handover {
        Handover { start, stage: Stage::Async }
    }
}

decoder!(decode::Decoder<'i>, Packet, Snapshot, Headers, |decoder, offset, row, sink| decoder.headers(offset, row, sink); {
    fn oldest(&self) -> Option<u64> {
        self.oldest()
    }

    fn overflowed(&self) -> bool {
        self.overflowed()
    }
});

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

impl module::Handover<Etm3> for Handover {
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
