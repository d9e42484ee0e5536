use crate::NodeId;

/// A table of strides: from a node and the outcomes of the next few branches to the blocks that were executed and the
/// node after them.
///
/// For each node at which a stride began, there is a slot for each combination of outcomes. If there is no room, all
/// strides are removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strides {
    /// Index of the first slot of each node, or [`NO_SLOTS`].
    first: Vec<u32>,
    slots: Vec<Slot>,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Index of its first step.
    start: u32,
    /// Number of steps, or 0 if the stride is not known.
    pub len: u16,
    /// Number of branches: as many as requested, or fewer if something else comes in between.
    pub takes: u16,
    /// Node after the stride.
    pub end: NodeId,
}

/// A block, and whether its last instruction was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub node: NodeId,
    pub taken: bool,
}

/// Maximum number of branches of a stride.
pub(crate) const MOST: u32 = 5;

const NO_SLOTS: u32 = u32::MAX;
const EMPTY: Slot = Slot { start: 0, len: 0, takes: 0, end: NodeId::NONE };
/// Number of slots of a node: outcomes are the bits below the highest 1 of the index.
const SLOTS: usize = 2 << MOST;
/// Maximum number of slots: 6 MB.
const MOST_SLOTS: usize = 1 << 19;
/// Maximum number of steps: 8 MB.
const MOST_STEPS: usize = 1 << 20;
/// Maximum number of steps of a stride.
const LONG: usize = 64;

impl Strides {
    /// Returns the stride from `here` with `count` outcomes, the lowest bits of `bits`, if it is known.
    #[inline(always)]
    pub fn get(&self, here: NodeId, bits: u32, count: u32) -> Option<(&[Step], Slot)> {
        let code = bits & ((1 << count) - 1) | 1 << count;
        let first = *self.first.get(here.index())?;
        let slot = *self.slots.get(first as usize + code as usize)?;
        let steps = self.steps.get(slot.start as usize..)?.get(..slot.len.into())?;
        (slot.len > 0).then_some((steps, slot))
    }

    /// Begins a new stride. Its steps follow, and then [`end`](Self::end).
    pub fn begin(&mut self) -> usize {
        if self.slots.len() > MOST_SLOTS || self.steps.len() > MOST_STEPS {
            self.clear();
        }
        self.steps.len()
    }

    /// Adds a step. Returns `false` if there are too many.
    pub fn step(&mut self, start: usize, step: Step) -> bool {
        self.steps.push(step);
        self.steps.len() - start <= LONG
    }

    /// Ends the stride from `here` with these outcomes, of which it used `takes`, at `end`.
    pub fn end(&mut self, start: usize, here: NodeId, (bits, count): (u32, u32), takes: u32, end: NodeId) {
        if self.first.len() <= here.index() {
            self.first.resize(here.index() + 1, NO_SLOTS);
        }
        let first = &mut self.first[here.index()];
        if *first == NO_SLOTS {
            *first = self.slots.len() as u32;
            self.slots.resize(self.slots.len() + SLOTS, EMPTY);
        }
        let code = bits & ((1 << count) - 1) | 1 << count;
        let len = (self.steps.len() - start) as u16;
        self.slots[*first as usize + code as usize] =
            Slot { start: start as u32, len, takes: takes as u16, end };
    }

    /// Removes all strides.
    pub fn clear(&mut self) {
        self.first.clear();
        self.slots.clear();
        self.steps.clear();
    }
}
