use crate::NodeId;
use crate::strides::Step;

/// From one address that the trace tells to the next at once: by where execution was, and the packet that tells what became of the
/// branches and where the indirect jump after them went, which blocks were executed.
///
/// A cache: a leap lives in one slot, and another one that belongs there takes its place. It is found out when it comes for the
/// second time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaps {
    slots: Vec<Slot>,
    steps: Vec<Step>,
}

/// What a leap is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leap {
    /// The node that execution is in.
    pub here: NodeId,
    /// How long the packet is.
    pub len: u32,
    /// The last instruction that is known to have retired, in `here`.
    pub at: u64,
    /// The packet: what it means is the decoder's affair.
    pub word: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: Leap,
    /// Where the jump went.
    to: u64,
    start: u32,
    /// 0: not found out yet. [`NEVER`]: cannot be.
    len: u32,
    /// The node there.
    target: NodeId,
}

/// What is known of a leap.
pub(crate) enum Known<'a> {
    /// Nothing.
    No,
    /// It came before.
    Seen,
    /// It cannot be taken at once.
    Never,
    /// The blocks, the last of which ends with the jump, the node there and its address.
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
/// No more steps are kept: 8 MB.
const MOST_STEPS: usize = 1 << 20;
/// A leap with more steps is not worth it.
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

    /// A leap came for the first time, or cannot be taken as one.
    #[inline]
    pub fn see(&mut self, key: Leap, is_never: bool) {
        if self.slots.is_empty() {
            self.slots.resize(1 << BITS, EMPTY);
        }
        let len = if is_never { NEVER } else { 0 };
        self.slots[slot(&key)] = Slot { key, to: 0, start: 0, len, target: NodeId::NONE };
    }

    /// Begins to find out a leap: its steps follow, and then [`end`](Self::end).
    pub fn begin(&mut self) -> usize {
        if self.steps.len() > MOST_STEPS {
            self.clear();
        }
        self.steps.len()
    }

    /// Adds a step; `false`: there are too many.
    pub fn step(&mut self, start: usize, step: Step) -> bool {
        self.steps.push(step);
        self.steps.len() - start <= LONG
    }

    /// The steps from `start` on are the leap to `to`, the node `target`; without that they are none.
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

    /// Forgets all.
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
