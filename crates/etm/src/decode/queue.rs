//! The queue of speculative elements.

use alloc::collections::VecDeque;

use tracewright_core::{Element, Exception, Isa, Transaction};

use crate::packet::{Address, Atoms, Context, InstructionSet, Q, Timestamp};

/// Elements in the order of the trace, oldest first, each with the stream position of its packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Queue {
    items: VecDeque<(u64, Item)>,
}

/// An element of the trace (section "Instruction trace elements").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// P0: each atom.
    Atoms(Atoms),
    /// P0.
    SourceAddress(Address),
    /// P0, followed by an address.
    Exception {
        number: u16,
        at_target: bool,
    },
    /// P0 without an address: an exception on M profile, or a reset or failed transaction in ETE.
    ExceptionOnly {
        number: u16,
    },
    /// P0, followed by an address if it has none.
    Q(Q),
    /// P0 on M profile.
    ExceptionReturn {
        p0: bool,
    },
    /// P0.
    FunctionReturn,
    /// P0 if TRCIDR0.COMMTRANS says so.
    TransactionStart {
        p0: bool,
    },
    /// P0: `n` elements from before the trace began.
    Unseen(u32),
    /// Without a program: an exception that was committed, and not emitted yet.
    Taken(Exception),
    /// Without a program: an unknown path that was committed, and not emitted yet.
    Path {
        next: u64,
        isa: Isa,
        count: Option<u32>,
    },
    Transaction(Transaction),
    Address(Address),
    Context(Context, InstructionSet),
    TraceOn,
    TraceInfo,
    Event(u8),
    Timestamp(Timestamp),
    TimestampMarker,
    Cycles(Option<u32>),
    Instrumentation {
        level: u8,
        value: u64,
    },
}

impl Item {
    /// Returns the number of P0 elements.
    pub fn p0(&self) -> u32 {
        match *self {
            Self::Atoms(atoms) => atoms.count.into(),
            Self::Unseen(count) => count,
            Self::ExceptionReturn { p0 } | Self::TransactionStart { p0 } => p0.into(),
            Self::SourceAddress(_)
            | Self::Exception { .. }
            | Self::ExceptionOnly { .. }
            | Self::Q(_)
            | Self::FunctionReturn => 1,
            _ => 0,
        }
    }

    /// Returns the element of an item that happened whatever became of the instructions around it.
    pub fn survivor(&self) -> Option<Element> {
        Some(match *self {
            Self::Event(events) => Element::Event(events),
            Self::Timestamp(Timestamp { value, cycles, .. }) => Element::Timestamp { value, cycles },
            Self::TimestampMarker => Element::TimestampMarker,
            Self::Cycles(cycles) => Element::Cycles(cycles),
            Self::Instrumentation { level, value } => Element::Instrumentation { level, value },
            _ => return None,
        })
    }
}

/// An error: more elements were to be cancelled than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overrun;

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the stream position of the oldest element.
    pub fn oldest(&self) -> Option<u64> {
        self.items.front().map(|&(offset, _)| offset)
    }

    pub fn push(&mut self, offset: u64, item: Item) {
        self.items.push_back((offset, item));
    }

    /// Inserts a cycle count right after the newest P0 element. Later counts, and timestamps that count from the last
    /// one, stay before it.
    pub fn push_count(&mut self, offset: u64, cycles: Option<u32>) {
        let stays_before = |&(_, item): &(u64, Item)| {
            item.p0() > 0
                || matches!(item, Item::Cycles(_) | Item::Timestamp(Timestamp { cycles: Some(_), .. }))
        };
        let mut at = self.items.iter().rposition(stays_before).map_or(0, |newest| newest + 1);
        // A second count belongs to no element. It stays where it is, and ends the search.
        if at > 0 && matches!(self.items[at - 1].1, Item::Cycles(_)) {
            at = self.items.len();
        }
        // The address of an exception stays with it.
        let awaits = |item| matches!(item, Item::Exception { .. } | Item::Q(Q { address: None, .. }));
        if at > 0 && awaits(self.items[at - 1].1) {
            let behind = |&(_, item): &(u64, Item)| matches!(item, Item::Address(_));
            at = self.items.iter().skip(at).position(behind).map_or(self.items.len(), |i| at + i + 1);
        }
        self.items.insert(at, (offset, Item::Cycles(cycles)));
    }

    /// Removes the oldest element.
    pub fn pop(&mut self) -> Option<(u64, Item)> {
        self.items.pop_front()
    }

    /// Returns the oldest element.
    pub fn peek(&self) -> Option<&(u64, Item)> {
        self.items.front()
    }

    /// Puts back the rest of an element that was just removed.
    pub fn put_back(&mut self, offset: u64, item: Item) {
        self.items.push_front((offset, item));
    }

    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Drops the newest `count` P0 elements, and what depends on them.
    pub fn cancel(&mut self, mut count: u32) -> Result<(), Overrun> {
        let mut kept = VecDeque::new();
        while count > 0 {
            let Some((offset, item)) = self.items.pop_back() else { break };
            match item {
                Item::Atoms(Atoms { bits, count: atoms }) if u32::from(atoms) > count => {
                    let left = atoms - count as u8;
                    let bits = bits & ((1 << left) - 1);
                    self.items.push_back((offset, Item::Atoms(Atoms { bits, count: left })));
                    count = 0;
                }
                Item::Unseen(unseen) if unseen > count => {
                    self.items.push_back((offset, Item::Unseen(unseen - count)));
                    count = 0;
                }
                item if item.survivor().is_some() => kept.push_front((offset, item)),
                item => count -= item.p0(),
            }
        }
        self.items.append(&mut kept);
        if count == 0 { Ok(()) } else { Err(Overrun) }
    }

    /// Inverts the newest atom, which was mispredicted, and drops the addresses after it, which belong to the other
    /// path.
    pub fn mispredict(&mut self) -> Result<(), Overrun> {
        let is_atom = |&(_, item): &(u64, Item)| matches!(item, Item::Atoms(_) | Item::Unseen(_));
        let newest = self.items.iter().rposition(is_atom).ok_or(Overrun)?;
        if let (_, Item::Atoms(atoms)) = &mut self.items[newest] {
            atoms.bits ^= 1 << (atoms.count - 1);
        }
        let mut index = 0;
        self.items.retain(|(_, item)| {
            index += 1;
            index <= newest || !matches!(item, Item::Address(_))
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atoms(text: &str) -> Item {
        let bits = text.bytes().enumerate().map(|(i, atom)| u32::from(atom == b'E') << i).sum();
        Item::Atoms(Atoms { bits, count: text.len() as u8 })
    }

    fn queue(items: &[Item]) -> Queue {
        let mut queue = Queue::default();
        items.iter().for_each(|&item| queue.push(0, item));
        queue
    }

    #[test]
    fn cancelling_keeps_what_happened_anyway() {
        let mut q = queue(&[atoms("EN"), Item::TraceOn, Item::Event(1), atoms("NNE"), Item::Cycles(None)]);
        q.cancel(4).unwrap();
        assert_eq!(q, queue(&[atoms("E"), Item::Event(1), Item::Cycles(None)]));
        assert_eq!(q.cancel(2), Err(Overrun));
    }

    #[test]
    fn cancelling_part_of_a_packet() {
        let mut q = queue(&[atoms("EENEE")]);
        q.cancel(2).unwrap();
        assert_eq!(q, queue(&[atoms("EEN")]));
    }

    #[test]
    fn cancelling_what_was_before_the_trace() {
        let mut q = queue(&[Item::Unseen(3), atoms("E")]);
        q.cancel(3).unwrap();
        assert_eq!(q, queue(&[Item::Unseen(1)]));
    }

    #[test]
    fn a_misprediction_turns_the_newest_atom() {
        let mut q = queue(&[atoms("EE"), Item::Event(1), Item::FunctionReturn]);
        q.mispredict().unwrap();
        assert_eq!(q, queue(&[atoms("EN"), Item::Event(1), Item::FunctionReturn]));
        assert_eq!(queue(&[Item::TraceOn]).mispredict(), Err(Overrun));
        assert_eq!(queue(&[Item::Unseen(1)]).mispredict(), Ok(()));
    }
}
