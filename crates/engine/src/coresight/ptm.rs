//! PTM as a protocol of the engine. Segments begin at A-Syncs.

use std::convert::Infallible;

use tracewright_core::Exception;
use tracewright_core::stream::{self, Grammar, Resync};
use tracewright_coresight::ptm::Params;
use tracewright_coresight::ptm::decode::{self, Snapshot};
use tracewright_coresight::ptm::packet::{
    self, Address, Branch, ISync, ISyncReason, Packet, Parser, Timestamp,
};
use tracewright_coresight::shared::{address, exception};
use tracewright_image::Image;

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::Options;
use crate::syntax::Skips;

use super::module::{self, Module, decoder, packets};

/// PTM.
#[derive(Debug)]
pub struct Ptm;

impl Module for Ptm {
    type Params = Params;
    type Decoder<'i> = decode::Decoder<'i>;
    type Handover = Handover;

    packets!(Packet, packet::Kind, Parser, Infallible);

    const OPENCSD_SKIPS: Skips = Skips::Runs;
    const OPENCSD_SKIPPED: &'static str = "NOTSYNC : PTM Not Synchronised; ";
    const OPENCSD_RESUMES: Resync = Resync::NextAsync;
    const WINDOW: usize = 1 << 9;

    #[inline(always)]
    fn reports_loss(packet: &Packet) -> bool {
        matches!(packet, Packet::ISync(ISync { reason: ISyncReason::Overflow, .. }))
    }

    fn words(_: &Params, packet: &Packet, line: &mut Line) {
        words(packet, line);
    }

    fn fields(_: &Params, packet: &Packet, line: &mut Line) {
        fields(packet, line);
    }

    fn opencsd_protocol(_: &Params) -> Option<&'static str> {
        Some("PTM")
    }

    fn opencsd(_: &Params, packet: &Packet, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = packet::opencsd::write(line, packet);
    }

    fn exception(_: &Params, exception: &Exception) -> String {
        exception::name(exception.number).to_owned()
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        let Options { like_opencsd, no_image, .. } = *options;
        let options = decode::Options { like_opencsd, no_image };
        decode::Decoder::new(params, image, options).map_err(|error| CannotDecode(error.to_string()))
    }

    fn find(bytes: &[u8], from: usize) -> Option<usize> {
        stream::find(bytes, from, Params::ZEROS)
    }

    fn handover(start: u64) -> Handover {
        Handover { start, synchronised: false, address: false, timestamp: false, vmid: false }
    }
}

decoder!(decode::Decoder<'i>, Packet, Snapshot {});

fn words(packet: &Packet, line: &mut Line) {
    line.text(packet.kind().name());
    let cycles = |line: &mut Line, cycles: Option<u32>| {
        if let Some(cycles) = cycles {
            line.text(", ").decimal(cycles.into()).text(" cycles");
        }
    };
    let security = |line: &mut Line, non_secure: bool, hyp: bool| {
        line.text(if non_secure { ", non-secure" } else { ", secure" });
        line.text(if hyp { ", Hyp" } else { "" });
    };
    match packet {
        Packet::ISync(sync) => {
            let reason = reason(sync.reason);
            line.text(": ").hex(sync.address.into(), 0).text(" ").text(isa(sync.state(), sync.alternative));
            security(line, sync.non_secure, sync.hyp);
            line.text(", ").text(reason);
            if let Some(id) = sync.context_id {
                line.text(", context ID ").hex(id.into(), 0);
            }
            cycles(line, sync.cycles);
        }
        Packet::Branch(branch) => {
            line.text(": ").hex(branch.address.value.into(), 0);
            if branch.address.changes_state {
                line.text(" ").text(isa(branch.address.state, branch.address.alternative));
            }
            if let Some(exception) = branch.exception {
                line.text(", ").text(exception::name(exception.number));
                security(line, exception.non_secure, exception.hyp);
                line.text(if exception.cancel { ", cancels the last instruction" } else { "" });
            }
            cycles(line, branch.cycles);
        }
        Packet::WaypointUpdate(address) => {
            line.text(": ").hex(address.value.into(), 0);
        }
        Packet::Atoms(atoms) => {
            line.text(": ");
            for taken in atoms.iter() {
                line.text(if taken { "E" } else { "N" });
            }
        }
        Packet::CycleAtom { taken, cycles: count } => {
            line.text(if *taken { ": E" } else { ": N" });
            cycles(line, Some(*count));
        }
        Packet::ContextId(id) => {
            line.text(": ").hex((*id).into(), 0);
        }
        Packet::Vmid(id) => {
            line.text(": ").hex((*id).into(), 0);
        }
        Packet::Timestamp(timestamp) => {
            line.text(": ").hex(timestamp.value, 0);
            line.text(if timestamp.clock_changed { ", clock changed" } else { "" });
            cycles(line, timestamp.cycles);
        }
        Packet::NotSync { len } => {
            line.text(": ").decimal(*len).text(" bytes");
        }
        Packet::Malformed { kind } | Packet::Incomplete { kind } => {
            line.text(": ").text(kind.name());
        }
        _ => {}
    }
}

fn fields(packet: &Packet, line: &mut Line) {
    let number = |line: &mut Line, name: &str, value: Option<u32>| {
        if let Some(value) = value {
            line.text(",\"").text(name).text("\":").decimal(value.into());
        }
    };
    let flag = |line: &mut Line, name: &str, is: bool| {
        line.text(",\"").text(name).text(if is { "\":true" } else { "\":false" });
    };
    match packet {
        Packet::ISync(sync) => {
            line.text(",\"address\":\"").hex(sync.address.into(), 0);
            line.text("\",\"isa\":\"").text(isa(sync.state(), sync.alternative));
            line.text("\",\"reason\":\"").text(reason(sync.reason)).text("\"");
            flag(line, "non_secure", sync.non_secure);
            flag(line, "hyp", sync.hyp);
            number(line, "context_id", sync.context_id);
            number(line, "cycles", sync.cycles);
        }
        Packet::Branch(Branch { address, exception, cycles }) => {
            self::address(address, line);
            if let Some(exception) = exception {
                number(line, "number", Some(exception.number.into()));
                line.text(",\"name\":\"").text(exception::name(exception.number)).text("\"");
                flag(line, "non_secure", exception.non_secure);
                flag(line, "hyp", exception.hyp);
                flag(line, "cancel", exception.cancel);
            }
            number(line, "cycles", *cycles);
        }
        Packet::WaypointUpdate(address) => self::address(address, line),
        Packet::Atoms(atoms) => {
            line.text(",\"atoms\":\"");
            for taken in atoms.iter() {
                line.text(if taken { "E" } else { "N" });
            }
            line.text("\"");
        }
        Packet::CycleAtom { taken, cycles } => {
            line.text(if *taken { ",\"atoms\":\"E\"" } else { ",\"atoms\":\"N\"" });
            number(line, "cycles", Some(*cycles));
        }
        Packet::ContextId(id) => number(line, "context_id", Some(*id)),
        Packet::Vmid(id) => number(line, "vmid", Some((*id).into())),
        Packet::Timestamp(Timestamp { value, clock_changed, cycles, .. }) => {
            line.text(",\"timestamp\":\"").hex(*value, 0).text("\"");
            flag(line, "clock_changed", *clock_changed);
            number(line, "cycles", *cycles);
        }
        Packet::NotSync { len } => {
            line.text(",\"bytes\":").decimal(*len);
        }
        Packet::Malformed { kind } | Packet::Incomplete { kind } => {
            line.text(",\"of\":\"").text(kind.name()).text("\"");
        }
        _ => {}
    }
}

fn address(address: &Address, line: &mut Line) {
    line.text(",\"address\":\"").hex(address.value.into(), 0);
    line.text("\",\"known_bits\":").decimal(address.known.into());
    line.text(",\"isa\":\"").text(isa(address.state, address.alternative)).text("\"");
}

const fn isa(state: address::State, alternative: bool) -> &'static str {
    match (state, alternative) {
        (address::State::Arm, _) => "A32",
        (address::State::Thumb, false) => "T32",
        (address::State::Thumb, true) => "T32EE",
        (address::State::Jazelle, _) => "Jazelle",
    }
}

const fn reason(reason: ISyncReason) -> &'static str {
    match reason {
        ISyncReason::Periodic => "periodic",
        ISyncReason::TraceOn => "trace on",
        ISyncReason::Overflow => "after overflow",
        ISyncReason::Debug => "after debug state",
    }
}

/// Watches for the point after an A-Sync where a decoder knows everything: after an I-Sync, a whole timestamp and a virtual machine ID,
/// as far as they are traced.
#[derive(Debug)]
pub struct Handover {
    /// Stream position of the A-Sync.
    start: u64,
    synchronised: bool,
    address: bool,
    timestamp: bool,
    vmid: bool,
}

impl module::Handover<Ptm> for Handover {
    fn is_now(&mut self, offset: u64, packet: &Packet, decoder: &decode::Decoder<'_>) -> bool {
        match packet {
            Packet::Async if offset >= self.start => self.synchronised = true,
            _ if !self.synchronised => {}
            Packet::ISync(_) => self.address = true,
            Packet::Timestamp(timestamp) if timestamp.told >= 48 => self.timestamp = true,
            Packet::Vmid(_) => self.vmid = true,
            _ => {}
        }
        let params = decoder.params();
        self.address
            && decoder.is_running()
            && (self.timestamp || !params.timestamps())
            && (self.vmid || !params.vmids())
    }
}
