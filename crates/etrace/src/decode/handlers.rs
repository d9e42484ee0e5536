use crate::packet::Trap;

/// Where the trap handlers of a privilege are, as `mtvec` or `stvec` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handler {
    /// The privilege that traps are taken to.
    pub privilege: u8,
    /// Where they go; interrupts too unless vectored.
    pub base: u64,
    /// Whether each interrupt has a handler of its own: four bytes for each number, from the base on.
    pub vectored: bool,
}

/// So many are learnt: causes have few numbers.
const MOST_LEARNT: usize = 256;

/// Where trap handlers are: those that were told, and those that packets told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Handlers {
    told: Vec<Handler>,
    learnt: Vec<(Key, u64)>,
}

/// Privilege, whether it is an interrupt, cause.
type Key = (u8, bool, u64);

impl Handlers {
    pub fn new(told: &[Handler]) -> Self {
        Self { told: told.to_vec(), learnt: Vec::new() }
    }

    /// A packet says where a trap went.
    pub fn learn(&mut self, trap: &Trap, address: u64) {
        let key = (trap.context.privilege, trap.interrupt, trap.ecause);
        if let Some((_, learnt)) = self.learnt.iter_mut().find(|(learnt, _)| *learnt == key) {
            *learnt = address;
        } else if self.learnt.len() < MOST_LEARNT {
            self.learnt.push((key, address));
        }
    }

    /// Where a trap goes.
    pub fn find(&self, trap: &Trap) -> Option<u64> {
        let key = (trap.context.privilege, trap.interrupt, trap.ecause);
        if let Some((_, address)) = self.learnt.iter().find(|(learnt, _)| *learnt == key) {
            return Some(*address);
        }
        let handler = self.told.iter().find(|handler| handler.privilege == trap.context.privilege)?;
        let vector = if handler.vectored && trap.interrupt { 4 * trap.ecause } else { 0 };
        Some(handler.base.wrapping_add(vector))
    }
}
