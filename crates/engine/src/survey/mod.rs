//! Finds out what a raw trace file may be: how it is packed, and whose bytes are in it.
//!
//! The file is read once, in every packing at the same time. In each, the bytes of every trace ID are searched for the patterns with which
//! protocols synchronise ([`patterns`]). A packing fits if most of its bytes are of sources that are recognised so. Then the first bytes of
//! each source are read as every protocol ([`candidates`]): the one whose packets make most sense wins, with the parameters it was read with.

mod candidates;
mod etrace;
mod ntrace;
mod patterns;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::io::{self, Read};

use tracewright_core::TraceId;
use tracewright_input::Packing;

use etrace::etrace;
use ntrace::ntrace;
use patterns::{Looks, View};

pub use candidates::Evidence;
pub use ntrace::likely_ntrace;

/// What a raw trace file may be.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Bytes of the file.
    pub bytes: u64,
    /// Ways to read it, the likeliest first; none if nothing is recognised.
    pub fits: Vec<Fit>,
}

/// A way to read a raw trace file.
#[derive(Clone, Debug)]
pub struct Fit {
    /// How the file is packed.
    pub packing: Packing,
    /// Bytes before the first frame: frames need not begin where the file does.
    pub skip: u64,
    /// Samples in a bit, if the file holds samples of a serial line.
    pub samples_per_bit: Option<f64>,
    /// Sources that were found, by trace ID.
    pub sources: Vec<FoundSource>,
    /// Bytes that belong to no source: lost, or before the first synchronisation of frames.
    pub lost: u64,
}

/// A source in a raw trace file.
#[derive(Clone, Debug)]
pub struct FoundSource {
    /// Trace ID; `None` in a file without frames.
    pub id: Option<TraceId>,
    /// Number of its bytes.
    pub bytes: u64,
    /// Synchronisation patterns in the bytes that were searched.
    pub syncs: u64,
    /// The protocol that it most likely speaks; `None` if it has no synchronisation pattern.
    pub speaks: Option<Speaks>,
}

/// The protocol that a source most likely speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaks {
    /// Name of the protocol.
    pub name: &'static str,
    /// The source in the words of `--source`, without its trace ID; `None` if tracewright does not read the protocol.
    pub source: Option<String>,
    /// What speaks for it; `None` if only its synchronisation pattern does.
    pub evidence: Option<Evidence>,
}

impl FoundSource {
    /// Returns the source in the words of `--source`, if tracewright reads its protocol.
    pub fn description(&self) -> Option<String> {
        let source = self.speaks.as_ref()?.source.as_ref()?;
        let (kind, rest) = source.split_once(',').map_or((&**source, ""), |(kind, rest)| (kind, rest));
        let id = match self.id {
            Some(id) => format!(",id={:#04x}", id.get()),
            // Other kinds of sources have no ID in a file of their own, or need one.
            None if matches!(kind, "etm4" | "ete" | "etrace" | "mtb" | "ntrace") => String::new(),
            None => ",id=0x10".into(),
        };
        let comma = if rest.is_empty() { "" } else { "," };
        Some(format!("{kind}{id}{comma}{rest}"))
    }

    /// Returns whether its messages are those of E-Trace or N-Trace, in no packing.
    fn is_riscv(&self) -> bool {
        let source = self.speaks.as_ref().and_then(|speaks| speaks.source.as_deref());
        source.is_some_and(|source| source.starts_with("etrace") || source.starts_with("ntrace"))
    }
}

impl Fit {
    /// Returns a way to read a file that is the messages of one source.
    fn unframed(name: &'static str, description: String, syncs: u64, bytes: u64) -> Self {
        let speaks = Some(Speaks { name, source: Some(description), evidence: None });
        let found = FoundSource { id: None, bytes, syncs, speaks };
        Self { packing: Packing::Source, skip: 0, samples_per_bit: None, sources: vec![found], lost: 0 }
    }

    /// Returns the options with which the command reads the file so; `None` if it can read none of its sources.
    pub fn options(&self) -> Option<String> {
        let sources: Vec<_> = self.sources.iter().filter_map(FoundSource::description).collect();
        let is_riscv = self.sources.iter().any(FoundSource::is_riscv);
        let packing = if is_riscv && !self.packing.is_framed() {
            String::new()
        } else {
            format!("--packing {} ", self.packing.name())
        };
        (!sources.is_empty()).then(|| format!("{packing}--source {}", sources.join(" --source ")))
    }
}

/// Bytes read at once.
const CHUNK: usize = 1 << 20;
/// Bytes at the start of a file that are read as protocols.
const START: usize = 4 << 20;
/// Bytes after which it is known where frames begin.
const SETTLED: usize = 1 << 18;
/// Bytes of a frame: frames may begin at so many places.
const FRAME: u64 = 16;

/// Reads a raw trace file and finds out what it may be.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn survey(mut input: impl Read) -> io::Result<Survey> {
    let mut views: Vec<_> = Packing::ALL.into_iter().map(View::new).collect();
    let mut shifted: Vec<_> = (1..FRAME).map(View::shifted).collect();
    let (mut chunk, mut start, mut bytes) = (vec![0; CHUNK], Vec::new(), 0);
    loop {
        let len = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        bytes += len as u64;
        start.extend_from_slice(&chunk[..len.min(START - start.len())]);
        views.iter_mut().chain(&mut shifted).for_each(|view| view.feed(&chunk[..len]));
        // Few of a large file's bytes tell where its frames begin.
        if start.len() >= SETTLED && shifted.len() > 1 {
            shifted.sort_by_key(|view| Reverse(view.strength()));
            shifted.truncate(1);
        }
    }
    views.extend(shifted);
    // Somewhere in any file there is something like a frame: only what is certain, or nearly all bytes, tells that frames begin
    // elsewhere.
    let begins_there = |view: &patterns::Seen| view.skip == 0 || view.is_certain() || view.is_clear(bytes);
    let views = views.into_iter().map(View::finish).filter(begins_there);
    let (mut fits, others): (Vec<_>, Vec<_>) = views.partition(|view| view.is_likely(bytes));
    // A pattern inside a frame looks the same without frames, so frames count more where both have as many.
    fits.sort_by_key(|view| (Reverse(view.strength()), view.lost, view.packing == Packing::Source));
    let most = fits.first().map_or(0, patterns::Seen::strength);
    fits.retain(|view| 10 * view.strength() >= 9 * most);
    // Frames without half syncs are the same with and without looking for them.
    fits.dedup_by_key(|view| {
        (view.packing.is_framed(), view.packing.is_sampled(), view.skip, view.strength(), view.lost)
    });
    let mut found: Vec<_> = fits.iter().map(|view| view.fit(&start)).collect();
    let may_be_riscv = |view: &patterns::Seen| {
        view.sources.iter().all(|source| !matches!(source.looks, Looks::Etm { .. } | Looks::Stm))
    };
    let is_sure = |source: &FoundSource| {
        source
            .speaks
            .as_ref()
            .is_some_and(|speaks| speaks.evidence.is_some_and(|evidence| evidence.is_good()))
    };
    if fits.iter().all(may_be_riscv)
        && !found.iter().any(|fit| fit.sources.iter().any(is_sure))
        && let start = &start[..start.len().min(SETTLED)]
        && let Some(riscv) = ntrace(start, bytes).or_else(|| etrace(start, bytes))
    {
        found.retain(|fit| !fit.sources.iter().any(FoundSource::is_riscv));
        found.insert(0, riscv);
    }
    if found.is_empty() {
        // Samples of a line are bytes, too, so lines come first.
        let received = others.iter().rev().filter(|view| view.is_received(bytes));
        found.extend(received.map(|view| view.fit(&start)).find(|fit| fit.options().is_some()));
    }
    if found.is_empty() {
        let framed = others.into_iter().filter(|view| view.skip == 0 && view.is_framed(bytes));
        found.extend(framed.take(1).map(|view| view.fit(&start)));
    }
    Ok(Survey { bytes, fits: found })
}
