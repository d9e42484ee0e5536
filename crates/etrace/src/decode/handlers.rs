use crate::packet::Trap;

/// Where traps that are taken to a privilege go. With implicit exceptions packets do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handler {
    /// The privilege.
    pub privilege: u8,
    /// Where.
    pub place: HandlerPlace,
}

/// Where traps go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandlerPlace {
    /// All to this address (`mtvec`, `stvec`).
    Direct(u64),
    /// Exceptions to this address, each interrupt four bytes further.
    Vectored(u64),
    /// To the instruction after the one that trapped: a system call that is served where nothing is traced.
    Next,
}

/// So many are learnt: causes have few numbers.
const MOST_LEARNT: usize = 256;

/// Where trap handlers are: those that were told, and those that packets told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Handlers {
    told: Vec<Handler>,
    /// `None` where packets told of several.
    learnt: Vec<(Key, Option<u64>)>,
}

/// Privilege, whether it is an interrupt, cause.
type Key = (u8, bool, u64);

impl Handlers {
    pub fn new(told: &[Handler]) -> Self {
        Self { told: told.to_vec(), learnt: Vec::new() }
    }

    /// A packet says where a trap went.
    pub fn learn(&mut self, trap: &Trap, address: u64) {
        let key = key(trap);
        if let Some((_, learnt)) = self.learnt.iter_mut().find(|(learnt, _)| *learnt == key) {
            *learnt = learnt.filter(|&learnt| learnt == address);
        } else if self.learnt.len() < MOST_LEARNT {
            self.learnt.push((key, Some(address)));
        }
    }

    /// Where a trap goes; `after` is the address after the instruction that trapped, if that is known.
    pub fn find(&self, trap: &Trap, after: Option<u64>) -> Option<u64> {
        if let Some(told) = self.told.iter().find(|told| told.privilege == trap.context.privilege) {
            return match told.place {
                HandlerPlace::Vectored(base) if trap.interrupt => {
                    Some(base.wrapping_add(trap.ecause.wrapping_mul(4)))
                }
                HandlerPlace::Direct(base) | HandlerPlace::Vectored(base) => Some(base),
                HandlerPlace::Next => after,
            };
        }
        let key = key(trap);
        self.learnt.iter().find(|(learnt, _)| *learnt == key).and_then(|(_, address)| *address)
    }
}

fn key(trap: &Trap) -> Key {
    (trap.context.privilege, trap.interrupt, trap.ecause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trap(interrupt: bool, ecause: u64) -> Trap {
        Trap { interrupt, ecause, thaddr: true, ..Trap::default() }
    }

    #[test]
    fn what_was_told_counts() {
        let handler = |place| Handlers::new(&[Handler { privilege: 0, place }]);
        assert_eq!(handler(HandlerPlace::Direct(0x80)).find(&trap(true, 7), None), Some(0x80));
        assert_eq!(handler(HandlerPlace::Vectored(0x80)).find(&trap(true, 7), None), Some(0x9c));
        assert_eq!(handler(HandlerPlace::Vectored(0x80)).find(&trap(false, 7), None), Some(0x80));
        assert_eq!(handler(HandlerPlace::Next).find(&trap(false, 8), Some(0x44)), Some(0x44));
        assert_eq!(handler(HandlerPlace::Next).find(&trap(false, 8), None), None);
    }

    #[test]
    fn what_is_learnt_counts_while_there_is_no_doubt() {
        let mut handlers = Handlers::new(&[]);
        assert_eq!(handlers.find(&trap(false, 8), Some(0x44)), None);
        handlers.learn(&trap(false, 8), 0x100);
        handlers.learn(&trap(false, 8), 0x100);
        assert_eq!(handlers.find(&trap(false, 8), None), Some(0x100));
        assert_eq!(handlers.find(&trap(true, 8), None), None);
        handlers.learn(&trap(false, 8), 0x200);
        handlers.learn(&trap(false, 8), 0x100);
        assert_eq!(handlers.find(&trap(false, 8), None), None);
    }
}
