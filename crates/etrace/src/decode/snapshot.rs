use tracewright_flow::{NodeId, Returns};

use super::decoder::{Decoder, State};
use super::handlers::Handlers;
use crate::{JumpTargets, Options, Predictor, data, packet};

/// State of a [`Decoder`]. Equal states emit the same elements for the same messages.
///
/// A synchronisation packet resets all history. After it, two decoders that started at different positions
/// differ only in the block that they hold back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    state: State,
    options: Options,
    /// Start of the block that is held back.
    block: Option<u64>,
    at: Option<u64>,
    pending: Option<bool>,
    inferred: Option<(Returns, u32)>,
    is_final: bool,
    address: u64,
    context: Option<packet::Context>,
    /// Return addresses of calls, the newest first, where known, each with its number of repeats.
    calls: Vec<(Option<u64>, u32)>,
    predictor: Option<Predictor>,
    targets: Option<JumpTargets>,
    handlers: Option<Handlers>,
    data: data::Decoder,
}

impl Decoder<'_> {
    /// Returns the state that decides what later messages emit.
    pub fn snapshot(&self) -> Snapshot {
        let graph = self.runner.graph();
        let start = |node: NodeId| node.is_some().then(|| graph.node(node).start());
        let calls = self.runner.calls.iter().map(|(node, more)| (start(node), more));
        Snapshot {
            state: self.state,
            options: self.options,
            block: self.here.is_some().then(|| graph.node(self.here).start()),
            at: self.at,
            pending: self.pending,
            inferred: self.inferred,
            is_final: self.is_final,
            address: self.address,
            context: self.context,
            calls: calls.collect(),
            predictor: self.options.branch_prediction.then(|| self.predictor.clone()),
            targets: self.options.jump_target_cache.then(|| self.targets.clone()),
            handlers: self.options.implicit_exception.then(|| self.handlers.clone()),
            data: self.data.clone(),
        }
    }
}
