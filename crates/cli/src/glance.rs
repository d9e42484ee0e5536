//! A look at the trace itself, for what registers do not tell.

use std::collections::BTreeSet;

use tracewright_engine::{Found, Options, PacketRequest, Visitor};
use tracewright_etm::packet::Packet;
use tracewright_input::{Capture, Protocol};

use crate::output::Error;

/// Returns which ETMv4 and ETE sources among `candidates` (their numbers in the capture) have packets that `is_it` accepts. Reads
/// until each of them had one, or to the end; pipes are left alone.
pub fn sources_with(
    capture: &Capture,
    candidates: impl IntoIterator<Item = usize>,
    is_it: fn(&Packet) -> bool,
) -> Result<BTreeSet<usize>, Error> {
    let is_etm = |index: &usize| matches!(capture.sources[*index].protocol, Protocol::Etm(_));
    let left = candidates.into_iter().filter(is_etm).collect();
    let mut look = Look { is_it, left, found: BTreeSet::new() };
    // A pipe can be read only once.
    for buffer in capture.buffers.iter().filter(|buffer| buffer.path.is_file()) {
        let wanted = buffer.sources.iter().filter(|source| look.left.contains(source));
        let ids: Vec<_> = wanted.filter_map(|&source| capture.sources[source].number()).collect();
        if !ids.is_empty() {
            let (wants, options) = (&|id| ids.contains(&id), &Options::default());
            let request = PacketRequest { capture, buffer, bytes: None, wants, options, progress: &|_| {} };
            request.visit_unordered(&mut look)?;
        }
    }
    Ok(look.found)
}

struct Look {
    is_it: fn(&Packet) -> bool,
    left: BTreeSet<usize>,
    found: BTreeSet<usize>,
}

impl Visitor for Look {
    fn packet(&mut self, found: &Found<'_>) {
        if let (Some(packet), Some(source)) = (found.packet.of_protocol().downcast_ref(), found.source)
            && (self.is_it)(packet)
            && self.left.remove(&source.index)
        {
            self.found.insert(source.index);
        }
    }

    fn is_done(&self) -> bool {
        self.left.is_empty()
    }
}
