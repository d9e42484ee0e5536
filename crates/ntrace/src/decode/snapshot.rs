use alloc::vec::Vec;

use tracewright_flow::NodeId;

use super::Decoder;
use super::decoder::State;
use super::packets::Branch;
use super::report::Context;
use super::walk::Place;

/// State of a [`Decoder`]. Equal states emit the same elements for the same messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    state: State,
    /// Whether the position is after an indirect jump.
    is_after: bool,
    place: [Option<u64>; 2],
    owed: i64,
    /// Return addresses of calls, the newest first.
    calls: Vec<u64>,
    reference: u64,
    time: Option<u64>,
    context: Context,
    last: Option<Branch>,
}

impl Decoder<'_> {
    /// Returns the state that decides what later messages emit.
    pub fn snapshot(&self) -> Snapshot {
        let graph = self.walk.graph();
        let start = |node: NodeId| node.is_some().then(|| graph.node(node).start());
        let (is_after, place) = match self.walk.place {
            Place::At(here) => (false, [start(here), None]),
            Place::After(from, to) => (true, [start(from), start(to)]),
        };
        Snapshot {
            state: self.state,
            is_after,
            place,
            owed: self.walk.owed,
            calls: self.walk.open_calls(),
            reference: self.reference,
            time: self.time,
            context: self.context,
            last: self.last,
        }
    }
}
