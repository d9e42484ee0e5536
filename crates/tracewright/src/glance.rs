//! Searches the trace itself for kinds of elements that recorded registers do not mention.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use tracewright_core::Element;
use tracewright_engine::{At, Consumer, Engine, Limits, Options, Range, Request};
use tracewright_image::Image;
use tracewright_input::file::existing;
use tracewright_input::{Capture, Protocol};

use crate::error::Error;

/// Returns which ETMv4 and ETE sources among `candidates` (indices in the capture) have an element that `is_it` accepts. Reads until
/// each source has had one, or to the end. Does not read pipes, which cannot be read twice.
///
/// # Errors
/// Fails if the trace cannot be read.
pub fn sources_with(
    capture: &Capture,
    candidates: impl IntoIterator<Item = usize>,
    is_it: fn(&Element) -> bool,
) -> Result<BTreeSet<usize>, Error> {
    let is_etm = |index: &usize| matches!(capture.sources[*index].protocol, Protocol::Etm(_));
    let mut left: BTreeSet<usize> = candidates.into_iter().filter(is_etm).collect();
    let mut all = BTreeSet::new();
    let engine = Engine::new(1)?;
    let image = Image::builder().build();
    let options = Options { no_image: true, ..Options::default() };
    for buffer in capture.buffers.iter().filter(|buffer| existing(&buffer.path).is_file()) {
        let wanted = buffer.sources.iter().filter(|source| left.contains(source));
        let ids: Vec<_> = wanted.filter_map(|&source| capture.sources[source].number()).collect();
        if ids.is_empty() {
            continue;
        }
        let request = Request {
            capture,
            buffer,
            bytes: None,
            image: &image,
            wants: &|id| ids.contains(&id),
            options: &options,
            range: Range::ALL,
            limits: Limits::NONE,
            refuse_mismatch: false,
            progress: &|_| {},
        };
        let found = engine.decode(&request, &Look(is_it), |_, _| ControlFlow::Continue(()))?.output;
        left.retain(|source| !found.contains(source));
        all.extend(found);
    }
    Ok(all)
}

/// Looks for an element in each source.
struct Look(fn(&Element) -> bool);

impl Consumer for Look {
    type State = bool;
    type Output = BTreeSet<usize>;

    fn element(&self, found: &mut bool, output: &mut BTreeSet<usize>, at: &At<'_>, element: &Element) {
        if self.0(element) {
            *found = true;
            output.insert(at.source.index);
        }
    }

    fn merge(&self, into: &mut BTreeSet<usize>, later: BTreeSet<usize>) {
        into.extend(later);
    }

    fn in_order(&self) -> bool {
        true
    }

    fn is_done(&self, found: &bool) -> bool {
        *found
    }
}
