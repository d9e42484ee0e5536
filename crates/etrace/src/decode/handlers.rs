use crate::packet::Trap;

/// Trap handler address of one privilege level, which packets leave out with implicit exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handler {
    /// Privilege level that the traps are taken to.
    pub privilege: u8,
    /// Address of the handler.
    pub place: HandlerPlace,
}

/// Address that traps go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandlerPlace {
    /// One address for all traps (`mtvec`, `stvec`).
    Direct(u64),
    /// One address for exceptions; interrupts go to four bytes further for each cause number.
    Vectored(u64),
    /// The instruction after the one that trapped: a system call that is served in untraced code.
    Next,
}

/// Most handlers that are learnt; there are few causes.
const MOST_LEARNT: usize = 256;

/// Trap handlers that were configured or learnt from packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Handlers {
    configured: Vec<Handler>,
    /// Learnt addresses; `None` where packets gave several.
    learnt: Vec<(Key, Option<u64>)>,
}

/// Privilege level, whether the trap is an interrupt, and its cause.
type Key = (u8, bool, u64);

impl Handlers {
    pub fn new(configured: &[Handler]) -> Self {
        Self { configured: configured.to_vec(), learnt: Vec::new() }
    }

    /// Records the handler address that a packet gives.
    pub fn learn(&mut self, trap: &Trap, address: u64) {
        let key = key(trap);
        if let Some((_, learnt)) = self.learnt.iter_mut().find(|(learnt, _)| *learnt == key) {
            *learnt = learnt.filter(|&learnt| learnt == address);
        } else if self.learnt.len() < MOST_LEARNT {
            self.learnt.push((key, Some(address)));
        }
    }

    /// Returns the handler of a trap; `after` is the address after the instruction that trapped, if known.
    pub fn find(&self, trap: &Trap, after: Option<u64>) -> Option<u64> {
        if let Some(configured) =
            self.configured.iter().find(|configured| configured.privilege == trap.context.privilege)
        {
            return match configured.place {
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
