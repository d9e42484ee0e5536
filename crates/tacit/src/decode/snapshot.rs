use super::Decoder;
use super::decoder::State;
use super::report::Owner;
use crate::predictor::Predictor;

/// State of a [`Decoder`]. Equal states emit the same elements for the same packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    state: State,
    here: Option<u64>,
    predictor: Predictor,
    time: Option<u64>,
    owed: u64,
    owner: Option<Owner>,
}

impl Decoder<'_> {
    /// Returns the state that decides what later packets emit.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            state: self.state,
            here: self.here.is_some().then(|| self.graph.node(self.here).start()),
            predictor: self.predictor.clone(),
            time: self.time,
            owed: self.owed,
            owner: self.owner,
        }
    }
}
