//! The most frequent steps of a walk, with a row for each node.

use tracewright_core::{Flow, Role};
use tracewright_flow::{ElementSink, NodeId, Stop};

use super::walk::{Last, Place, Walk, half_words};
use crate::Mode;
use crate::packet::History;

/// What is most often needed of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Node after a branch that is not taken or after a call, and node at the target.
    to: [NodeId; 2],
    /// Length in half-words.
    len: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// Not determined yet.
    Unknown,
    Branch,
    Jump,
    Call,
    /// A return whose target may not be in the trace.
    Return,
    /// Anything that needs more than its row.
    Other,
}

const UNKNOWN: Row = Row { to: [NodeId::NONE; 2], len: 0, kind: Kind::Unknown };
const _: () = assert!(size_of::<Row>() == 16, "rows are read at random: keep them small");

impl Walk<'_> {
    /// Passes nodes while that needs no more than their rows: as far as half-words are owed, or else to the last branch of the history.
    /// Returns the number of nodes since the last branch, `most` at most.
    #[inline(always)]
    pub(super) fn quick<const COUNTS: bool, S: ElementSink>(
        &mut self,
        history: &mut History,
        last: Last,
        most: u32,
        offset: u64,
        sink: &mut S,
    ) -> u32 {
        let Place::At(mut here) = self.place else { return 0 };
        let (mut owed, mut budget, mut since) = (self.owed, self.budget, 0);
        while since < most && budget > 0 && !sink.is_full() {
            let row = self.row(here);
            let len = i64::from(row.len);
            if COUNTS && (owed < len || owed == len && last == Last::Unknown) || !COUNTS && history.is_empty()
            {
                break;
            }
            let mut taken = true;
            let to = if row.kind == Kind::Branch {
                taken = match history.next() {
                    Some(taken) => taken,
                    None if self.rules.mode == Mode::Branch => last == Last::Taken && owed == len,
                    None => break,
                };
                row.to[usize::from(taken)]
            } else if row.kind == Kind::Jump {
                row.to[1]
            } else if row.kind == Kind::Call {
                self.calls.push(row.to[0]);
                row.to[1]
            } else if row.kind == Kind::Return && !(COUNTS && owed == len) {
                let Some(to) = self.calls.pop() else { break };
                if S::FOLLOWS {
                    self.graph.went(here, to);
                }
                to
            } else {
                break;
            };
            sink.node(offset, &self.graph, here, taken);
            owed -= len;
            budget -= 1;
            since = if row.kind == Kind::Branch { 0 } else { since + 1 };
            here = to;
        }
        (self.place, self.owed, self.budget) = (Place::At(here), owed, budget);
        since
    }

    /// Returns the row of a node, and determines it at first use.
    #[inline(always)]
    fn row(&mut self, here: NodeId) -> Row {
        match self.rows.get(here.index()) {
            Some(&row) if row.kind != Kind::Unknown => row,
            _ => self.find_row(here),
        }
    }

    #[cold]
    fn find_row(&mut self, here: NodeId) -> Row {
        let node = *self.graph.node(here);
        let class = node.class();
        let kind = match class.flow {
            _ if node.stop() != Stop::Class => Kind::Other,
            Flow::Direct if class.conditional => Kind::Branch,
            Flow::Direct if self.rules.jumps => Kind::Other,
            Flow::Direct if self.is_call(class) => Kind::Call,
            Flow::Direct => Kind::Jump,
            Flow::Indirect if self.rules.returns && class.role == Role::Return => Kind::Return,
            _ => Kind::Other,
        };
        let to = match kind {
            Kind::Branch | Kind::Call => [self.graph.next(here), self.graph.taken(here)],
            Kind::Jump => [NodeId::NONE, self.graph.taken(here)],
            _ => [NodeId::NONE; 2],
        };
        let row = Row { to, len: half_words(&node) as u32, kind };
        if self.rows.len() < self.graph.len() {
            self.rows.resize(self.graph.len(), UNKNOWN);
        }
        self.rows[here.index()] = row;
        row
    }
}
