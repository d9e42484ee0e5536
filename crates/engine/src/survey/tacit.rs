//! Packets of TACIT: the parameters with which all of them make sense, from the first byte on.

use tracewright_tacit::packet::{Packet, SyncKind};
use tracewright_tacit::stream::{Item, Parser};
use tracewright_tacit::{Form, Mode, Params};

use super::Fit;

/// Fewest packets.
const LEAST: u64 = 8;
/// Unit of the predictor's size.
const ENTRIES: u16 = 64;

/// Returns the description of a TACIT source with which packets at the start of a file make sense, if they do with any.
pub fn tacit(start: &[u8], bytes: u64) -> Option<Fit> {
    let tried = [Form::Full, Form::Rtl, Form::Plain].map(|form| {
        let usual = Params { form, ..Params::default() };
        let configured = first_configuration(start, &usual).map(|found| configured(&usual, found));
        let params = configured.unwrap_or(usual);
        let packets = Packets::read(start, &params, start.len() as u64 == bytes);
        (packets, params)
    });
    let read = tried.into_iter().filter(|(packets, _)| packets.all >= LEAST && !packets.is_malformed);
    let (packets, params) = read.min_by_key(|(packets, _)| packets.doubts)?;
    let usual = Params::default();
    let others = Params::fields().iter().filter(|field| {
        field.value(&params).to_string() != field.value(&usual).to_string() || field.name == "mode"
    });
    let others: String = others.map(|field| format!(",{}={}", field.name, field.value(&params))).collect();
    Some(Fit::unframed("TACIT", format!("tacit,isa=rv64{others}"), packets.syncs, bytes))
}

/// Returns the configuration that the first packet has.
fn first_configuration(start: &[u8], params: &Params) -> Option<u8> {
    match tracewright_tacit::packet::read(start, params).ok()? {
        (Packet::Sync { configuration, .. }, _) => configuration,
        _ => None,
    }
}

/// Returns the parameters that a configuration tells. Hardware has the size of the predictor as a power of two; the decoder of 2026 has
/// the size itself.
fn configured(usual: &Params, found: u8) -> Params {
    let entries =
        if found & 0x80 != 0 { ENTRIES << (found >> 2 & 7) } else { u16::from(found >> 2) * ENTRIES };
    let told = Params { mode: Mode::Predict, entries, ..usual.clone() };
    if found & 3 == Mode::Predict as u8 && told.check().is_ok() { told } else { usual.clone() }
}

/// Packets, read with some parameters, and what speaks against these.
#[derive(Debug, Default)]
struct Packets {
    all: u64,
    syncs: u64,
    is_malformed: bool,
    /// Packets that should be like earlier ones, and that are not.
    doubts: u64,
    configuration: Option<u8>,
    time: u64,
}

impl Packets {
    fn read(start: &[u8], params: &Params, is_whole: bool) -> Self {
        let mut packets = Self::default();
        let mut parser = Parser::new(params.clone());
        let mut take = |_: u64, _: &[u8], item: &Item| packets.take(item);
        parser.feed(start, &mut take);
        // The end of `start` may cut a packet.
        if is_whole {
            parser.finish(&mut take);
        }
        packets
    }

    fn take(&mut self, item: &Item) {
        self.all += 1;
        match *item {
            Item::Packet(Packet::Sync { kind, configuration, time, .. }) => {
                self.syncs += 1;
                let is_other =
                    configuration.is_some_and(|found| self.configuration.is_some_and(|first| first != found));
                self.configuration = self.configuration.or(configuration);
                self.doubts += u64::from(is_other) + u64::from(kind != SyncKind::Start && time < self.time);
                self.time = time;
            }
            Item::Packet(_) => {}
            Item::Malformed(_) | Item::NotSync { .. } => self.is_malformed = true,
            Item::Incomplete => self.doubts += 1,
        }
    }
}
