//! Where exceptions lead to.

use tracewright_core::{Element, MemorySpace};
use tracewright_engine::{At, Consumer};
use tracewright_flow::hash::HashSet;

/// Finds handlers of exceptions: where execution goes on after an exception.
#[derive(Clone, Copy, Debug)]
pub struct HandlerFinder;

/// A source that is being searched.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandlerState {
    /// The exception that was taken last, until the next block: where it returns to, if that is known.
    taken: Option<Option<u64>>,
    thread: Option<(Option<u32>, Option<u32>)>,
}

impl Consumer for HandlerFinder {
    type State = HandlerState;
    type Output = HashSet<(u64, MemorySpace)>;

    fn element(&self, state: &mut HandlerState, found: &mut Self::Output, at: &At<'_>, element: &Element) {
        match element {
            Element::Block(block) => match state.taken.take() {
                // The handler was not traced: the next instruction is the one that trapped, or the one after it.
                Some(Some(back)) if matches!(block.start.wrapping_sub(back), 0 | 2 | 4) => {}
                Some(_) => {
                    found.insert((block.start, at.space));
                }
                None => {}
            },
            Element::Exception(exception) => state.taken = Some(exception.return_address),
            Element::Context(context, _) => {
                let thread = Some((context.vmid, context.context_id));
                // Another thread goes on where it was.
                if state.thread.is_some() && state.thread != thread {
                    state.taken = None;
                }
                state.thread = thread;
            }
            Element::TraceOn(_)
            | Element::Gap { .. }
            | Element::Lost(_)
            | Element::Mismatch(_)
            | Element::NoCode { .. }
            | Element::ExceptionReturn
            | Element::UnknownPath { .. } => state.taken = None,
            _ => {}
        }
    }

    fn merge(&self, into: &mut Self::Output, later: Self::Output) {
        into.extend(later);
    }
}
