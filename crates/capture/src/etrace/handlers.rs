use tracewright_etrace::decode::{Handler, HandlerPlace};
use tracewright_hart::{Privilege, Trap};

/// Trap handlers that were seen, for traces that leave them out (implicit exceptions).
#[derive(Debug)]
pub struct TrapTargets {
    privilege: u8,
    /// A trap whose target privilege is not known yet.
    pending: Option<Trap>,
    /// For each privilege, all handler places that explain every trap so far.
    places: Vec<(u8, Vec<HandlerPlace>)>,
}

impl Default for TrapTargets {
    /// Begins in M mode, as the encoder does. Logs without privileges never leave it.
    fn default() -> Self {
        Self { privilege: Privilege::Machine as u8, pending: None, places: Vec::new() }
    }
}

impl TrapTargets {
    /// Takes a trap.
    pub fn trap(&mut self, trap: &Trap) {
        self.settle();
        self.pending = Some(*trap);
    }

    /// Sets the privilege of what comes next.
    pub fn privilege(&mut self, privilege: Privilege) {
        self.privilege = privilege as u8;
    }

    /// Settles the last trap when something runs after it, in the privilege that it was taken to.
    #[inline]
    pub fn settle(&mut self) {
        if let Some(trap) = self.pending.take() {
            self.add(&trap);
        }
    }

    #[cold]
    fn add(&mut self, trap: &Trap) {
        let explains = places(trap);
        match self.places.iter_mut().find(|(privilege, _)| *privilege == self.privilege) {
            Some((_, places)) => places.retain(|place| explains.contains(place)),
            None => self.places.push((self.privilege, explains)),
        }
    }

    /// Returns the handlers, and the privileges whose traps went to several places. Ignores a trap after which nothing ran.
    pub fn finish(self) -> (Vec<Handler>, Vec<u8>) {
        let (known, unknown): (Vec<_>, Vec<_>) =
            self.places.into_iter().partition(|(_, places)| !places.is_empty());
        let handler =
            |(privilege, places): (u8, Vec<_>)| Some(Handler { privilege, place: *places.first()? });
        (
            known.into_iter().filter_map(handler).collect(),
            unknown.into_iter().map(|(level, _)| level).collect(),
        )
    }
}

/// Returns all handler places that explain where a trap went.
fn places(trap: &Trap) -> Vec<HandlerPlace> {
    let Trap { pc, cause, next, .. } = *trap;
    match trap.served {
        true if [2, 4].contains(&next.wrapping_sub(pc)) => vec![HandlerPlace::Next],
        true => Vec::new(),
        false => {
            let offset = if trap.interrupt { cause.wrapping_mul(4) } else { 0 };
            vec![HandlerPlace::Direct(next), HandlerPlace::Vectored(next.wrapping_sub(offset))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trap(cause: u64, interrupt: bool, next: u64) -> Trap {
        Trap { pc: 0x40, cause, interrupt, value: 0, next, served: false }
    }

    fn seen(traps: &[(Privilege, Trap)]) -> (Vec<Handler>, Vec<u8>) {
        let mut targets = TrapTargets::default();
        for (privilege, trap) in traps {
            targets.trap(trap);
            targets.privilege(*privilege);
            targets.settle();
            targets.privilege(Privilege::User);
        }
        targets.finish()
    }

    #[test]
    fn what_explains_all_traps_is_known() {
        let mut last = TrapTargets::default();
        last.trap(&trap(8, false, 0));
        assert_eq!(last.finish(), (vec![], vec![]));
        // Not every log tells privileges.
        let mut without = TrapTargets::default();
        without.trap(&trap(2, false, 0x100));
        without.settle();
        let place = HandlerPlace::Direct(0x100);
        assert_eq!(without.finish(), (vec![Handler { privilege: 3, place }], vec![]));
        let machine = |place| (vec![Handler { privilege: 3, place }], vec![]);
        let m = Privilege::Machine;
        let direct = [(m, trap(7, true, 0x100)), (m, trap(2, false, 0x100))];
        assert_eq!(seen(&direct), machine(HandlerPlace::Direct(0x100)));
        let vectored = [(m, trap(7, true, 0x11c)), (m, trap(2, false, 0x100))];
        assert_eq!(seen(&vectored), machine(HandlerPlace::Vectored(0x100)));
        let moved = [(m, trap(2, false, 0x100)), (m, trap(2, false, 0x200))];
        assert_eq!(seen(&moved), (vec![], vec![3]));
        let call = Trap { served: true, ..trap(8, false, 0x44) };
        let next = Handler { privilege: 0, place: HandlerPlace::Next };
        assert_eq!(seen(&[(Privilege::User, call)]), (vec![next], vec![]));
        let signal = Trap { next: 0x1000, ..call };
        assert_eq!(seen(&[(Privilege::User, call), (Privilege::User, signal)]), (vec![], vec![0]));
    }
}
