use crate::NodeId;

/// A few branches at once: from a node, and by what became of the next branches, which blocks were executed and where that led.
///
/// A table with a slot for each mix of outcomes, for each node that a stride began at. When there is no room, all is
/// forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strides {
    /// By node: where its slots begin. [`NO_SLOTS`]: nowhere yet.
    first: Vec<u32>,
    slots: Vec<Slot>,
    steps: Vec<Step>,
}

/// Where a stride leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Its steps.
    start: u32,
    /// How many; 0: it is not known.
    pub len: u16,
    /// How many branches it takes: as many as were asked for, or fewer where something comes in between.
    pub takes: u16,
    /// The node after them.
    pub end: NodeId,
}

/// A block, and whether its last instruction was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub node: NodeId,
    pub taken: bool,
}

/// The most branches of a stride.
pub(crate) const MOST: u32 = 5;

const NO_SLOTS: u32 = u32::MAX;
const EMPTY: Slot = Slot { start: 0, len: 0, takes: 0, end: NodeId::NONE };
/// Slots of a node: outcomes are bits below a 1.
const SLOTS: usize = 2 << MOST;
/// No more than so many slots are kept: 6 MB.
const MOST_SLOTS: usize = 1 << 19;
/// Nor more steps: 8 MB.
const MOST_STEPS: usize = 1 << 20;
/// A stride with more steps is not worth it.
const LONG: usize = 64;

impl Strides {
    /// The stride from `here` with `count` outcomes, the lowest bits of `bits`, if it is known.
    #[inline(always)]
    pub fn get(&self, here: NodeId, bits: u32, count: u32) -> Option<(&[Step], Slot)> {
        let code = bits & ((1 << count) - 1) | 1 << count;
        let first = *self.first.get(here.index())?;
        let slot = *self.slots.get(first as usize + code as usize)?;
        let steps = self.steps.get(slot.start as usize..)?.get(..slot.len.into())?;
        (slot.len > 0).then_some((steps, slot))
    }

    /// Begins to learn a stride: its steps follow, and then [`end`](Self::end).
    pub fn begin(&mut self) -> usize {
        if self.slots.len() > MOST_SLOTS || self.steps.len() > MOST_STEPS {
            self.clear();
        }
        self.steps.len()
    }

    /// Adds a step; `false`: there are too many.
    pub fn step(&mut self, start: usize, step: Step) -> bool {
        self.steps.push(step);
        self.steps.len() - start <= LONG
    }

    /// The stride from `here` with these outcomes took so many of them, and led to `end`.
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

    /// Forgets all.
    pub fn clear(&mut self) {
        self.first.clear();
        self.slots.clear();
        self.steps.clear();
    }
}
