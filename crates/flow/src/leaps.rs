use crate::NodeId;
use crate::strides::Step;

/// A cache of leaps from one address in the trace to the next.
///
/// The key is the current position and the packet, which has the outcomes of branches and the target of the indirect
/// jump after them. The value is the blocks that were executed.
///
/// Each leap has one slot, and replaces another leap there. Its blocks are found when it occurs for the second time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaps {
    slots: Vec<Slot>,
    steps: Vec<Step>,
}

/// The key of a leap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leap {
    /// Node in which execution is.
    pub here: NodeId,
    /// Length of the packet.
    pub len: u32,
    /// Last instruction in `here` that is known to have retired.
    pub at: u64,
    /// Packet, which has a meaning only for the decoder.
    pub word: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: Leap,
    /// Target of the jump.
    to: u64,
    start: u32,
    /// Number of steps. 0: not found yet. [`NEVER`]: impossible.
    len: u32,
    /// Node at the target.
    target: NodeId,
}

pub(crate) enum Known<'a> {
    /// The leap did not occur before.
    No,
    /// The leap occurred before.
    Seen,
    /// The packet cannot be a leap.
    Never,
    /// The blocks, of which the last ends with the jump, the node at the target and its address.
    Steps(&'a [Step], NodeId, u64),
}

const BITS: u32 = 12;
const NEVER: u32 = u32::MAX;
const EMPTY: Slot = Slot {
    key: Leap { here: NodeId::NONE, len: 0, at: 0, word: 0 },
    to: 0,
    start: 0,
    len: NEVER,
    target: NodeId::NONE,
};
/// Maximum number of steps that are kept: 8 MB.
const MOST_STEPS: usize = 1 << 20;
/// Maximum number of steps of a leap.
const LONG: usize = 128;

impl Leaps {
    #[inline(always)]
    pub fn get(&self, key: &Leap) -> Known<'_> {
        let Some(leap) = self.slots.get(slot(key)) else { return Known::No };
        if leap.key != *key {
            return Known::No;
        }
        match self.steps.get(leap.start as usize..).and_then(|steps| steps.get(..leap.len as usize)) {
            Some([]) => Known::Seen,
            Some(steps) => Known::Steps(steps, leap.target, leap.to),
            None => Known::Never,
        }
    }

    /// Records a leap that occurred for the first time, or that is impossible.
    #[inline]
    pub fn see(&mut self, key: Leap, is_never: bool) {
        if self.slots.is_empty() {
            self.slots.resize(1 << BITS, EMPTY);
        }
        let len = if is_never { NEVER } else { 0 };
        self.slots[slot(&key)] = Slot { key, to: 0, start: 0, len, target: NodeId::NONE };
    }

    /// Begins a new leap. Its steps follow, and then [`end`](Self::end).
    pub fn begin(&mut self) -> usize {
        if self.steps.len() > MOST_STEPS {
            self.clear();
        }
        self.steps.len()
    }

    /// Adds a step. Returns `false` if there are too many.
    pub fn step(&mut self, start: usize, step: Step) -> bool {
        self.steps.push(step);
        self.steps.len() - start <= LONG
    }

    /// Ends the leap to `to`, the node `target`, with the steps from `start` on. Without a target, the steps are
    /// dropped.
    pub fn end(&mut self, start: usize, key: Leap, to: u64, target: Option<NodeId>) {
        self.see(key, true);
        match target {
            Some(target) => {
                let len = (self.steps.len() - start) as u32;
                self.slots[slot(&key)] = Slot { key, to, start: start as u32, len, target };
            }
            None => self.steps.truncate(start),
        }
    }

    /// Removes all leaps.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.steps.clear();
    }
}

#[inline(always)]
fn slot(key: &Leap) -> usize {
    let mixed = key.word ^ key.at.rotate_left(32) ^ u64::from(key.here.0) << 16;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize
}
