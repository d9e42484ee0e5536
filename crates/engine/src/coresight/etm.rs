//! ETMv4 and ETE as a protocol of the engine. Segments begin at A-Syncs.

mod text;

use tracewright_core::Exception;
use tracewright_core::stream::{self, Grammar};
use tracewright_etm::Params;
use tracewright_etm::decode::{self, Snapshot};
use tracewright_etm::packet::{self, AtomRun, Packet, Parser};
use tracewright_image::Image;
use tracewright_input as input;

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::Options;

use super::module::{self, Module, decoder, packets};

/// ETMv4 and ETE.
#[derive(Debug)]
pub struct Etm;

impl Module for Etm {
    type Params = Params;
    type Decoder<'i> = decode::Decoder<'i>;
    type Handover = Handover;

    packets!(Packet, packet::Kind, Parser, AtomRun);

    const WINDOW: usize = 1 << 9;
    const RUNS: bool = true;

    fn params(protocol: &input::Protocol) -> Option<&Params> {
        match protocol {
            input::Protocol::Etm(params) => Some(params),
            _ => None,
        }
    }

    #[inline(always)]
    fn reports_loss(packet: &Packet) -> bool {
        matches!(packet, Packet::Overflow | Packet::Discard)
    }

    fn words(params: &Params, packet: &Packet, line: &mut Line) {
        text::words(packet, params, line);
    }

    fn fields(params: &Params, packet: &Packet, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = text::fields(line, packet, params.profile());
    }

    fn opencsd_protocol(params: &Params) -> Option<&'static str> {
        Some(if params.is_ete() { "ETE" } else { "ETMV4I" })
    }

    fn exception(params: &Params, exception: &Exception) -> String {
        text::exception(params, exception)
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        let Options { like_opencsd, split_source_walks, no_image, .. } = *options;
        let options = decode::Options {
            trust_images: like_opencsd,
            join_source_walks: like_opencsd && !split_source_walks,
            repeat_no_code: like_opencsd,
            no_image,
        };
        decode::Decoder::new(params, image, options).map_err(|error| CannotDecode(error.to_string()))
    }

    fn find(bytes: &[u8], from: usize) -> Option<usize> {
        stream::find(bytes, from, Params::ZEROS)
    }

    fn handover(start: u64) -> Handover {
        Handover { start, stage: Stage::Async }
    }
}

decoder!(decode::Decoder<'i>, Packet, Snapshot, AtomRun, |decoder, offset, run, sink| decoder.atoms_run(offset, run, sink); {
    fn oldest(&self) -> Option<u64> {
        self.oldest()
    }

    fn overflowed(&self) -> bool {
        self.overflowed()
    }
});

/// Watches for the point after an A-Sync where a decoder knows everything: an address and a context came after the Trace Info.
#[derive(Debug)]
pub struct Handover {
    /// Stream position of the A-Sync.
    start: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Async,
    TraceInfo,
    /// Stream positions of the last address and of the last context.
    Known {
        address: Option<u64>,
        context: Option<u64>,
    },
}

impl module::Handover<Etm> for Handover {
    fn is_now(&mut self, offset: u64, packet: &Packet, decoder: &decode::Decoder<'_>) -> bool {
        match (&mut self.stage, packet) {
            (Stage::Async, Packet::Async) if offset == self.start => self.stage = Stage::TraceInfo,
            (Stage::Async, _) => {}
            (Stage::TraceInfo, Packet::TraceInfo(_)) => {
                self.stage = Stage::Known { address: None, context: None };
            }
            (Stage::TraceInfo, _) => {}
            (Stage::Known { address, context }, packet) => {
                match packet {
                    Packet::Address(_) => *address = Some(offset),
                    Packet::Context(_) => *context = Some(offset),
                    Packet::AddressContext(..) => (*address, *context) = (Some(offset), Some(offset)),
                    _ => {}
                }
                let known = (*address).zip(*context);
                // Both must have been committed.
                let happened = |(address, context): (u64, u64)| {
                    decoder.oldest().is_none_or(|oldest| oldest > address.max(context))
                };
                return known.is_some_and(happened);
            }
        }
        false
    }
}
