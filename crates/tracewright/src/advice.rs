//! What may be wrong with how a capture describes its sources.

use tracewright_core::Mismatch;
use tracewright_engine::{Tally, likely_ntrace, ntrace};
use tracewright_image::Image;
use tracewright_input::{Buffer, Capture, NtraceSource, Packing, Protocol};

/// Bytes of a trace that are read again with other parameters.
const START: usize = 1 << 18;

/// Returns what may be wrong with the description of a buffer's sources, and the likely right values, if what was decoded suggests it.
pub fn advice(capture: &Capture, buffer: &Buffer, tally: &Tally, image: &Image) -> Option<String> {
    let source = buffer.sources.first().map(|&source| &capture.sources[source]);
    let described = source.and_then(|source| ntrace(&source.protocol));
    let better = described.filter(|_| tally.is_suspicious()).and_then(|described| better(described, buffer));
    // Without any program, every address is outside.
    let has_code = image.regions().next().is_some() || tally.syncs_outside == 0;
    // Arm's protocols have no such parameters.
    let is_riscv = source.is_some_and(|source| source.riscv_isa().is_some());
    better.or_else(|| tally.advice(&source?.protocol).filter(|_| has_code && is_riscv))
}

/// Asks about what leaves out the targets of returns, in the words of the protocol: where the trace does not say where execution went.
/// Nothing of any other mismatch.
pub fn question(capture: &Capture, buffer: &Buffer, mismatch: &Mismatch) -> &'static str {
    let Some(source) = buffer.sources.first().map(|&source| &capture.sources[source]) else { return "" };
    match (mismatch, &source.protocol) {
        (Mismatch::NoTarget(_), Protocol::Etm(_)) => " (was the return stack on? TRCCONFIGR.RS)",
        (Mismatch::NoTarget(_), protocol) if ntrace(protocol).is_some() => {
            " (were returns left out? implicit_return=stack)"
        }
        // ETMv3 has no return stack.
        (Mismatch::NoTarget(_), _) if source.protocol_name().starts_with("PTM") => {
            " (was the return stack on? bit 29 of ETMCR)"
        }
        _ => "",
    }
}

/// Returns which parameters of N-Trace fit the trace better.
fn better(described: &NtraceSource, buffer: &Buffer) -> Option<String> {
    if buffer.format != Packing::Source {
        return None;
    }
    let likely = likely_ntrace(&buffer.start(START).ok()?)?;
    let fields = NtraceSource::told().filter_map(|field| {
        let [is, fits] = [described, &likely].map(|source| field.value(&source.params).to_string());
        // Bytes of SpacemiT's dialect are like those of the standard.
        let are_alike = is == fits || (&*is, &*fits) == ("spacemit", "standard");
        (!are_alike).then(|| format!("{}={fits} (not {is})", field.name))
    });
    let fields: Vec<_> = fields.collect();
    (!fields.is_empty()).then(|| format!("the trace looks like N-Trace with {}", fields.join(", ")))
}
