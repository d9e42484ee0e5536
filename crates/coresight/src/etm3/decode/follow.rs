//! Following the program instruction by instruction, through its blocks.

use tracewright_core::{Block, Class, Element, Ended, Flow, Isa, MemorySpace, Mismatch};
use tracewright_flow::{ElementSink, Instructions, NodeId, Stop, cut};

use super::decoder::{Decoder, Held, is_target};
use crate::etm3::packet::{Address, Atoms, InstructionState};

/// Maximum number of nodes, after which the graph is emptied.
const MAX_NODES: usize = 1 << 18;

/// Instructions after a sudden start that may belong to an IT block which began before.
const MOST_IN_IT: u8 = 4;

/// Where execution is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub at: At,
    /// Instruction set of the last address.
    pub isa: Isa,
    /// Node with the indirect branch that was taken last.
    pub from: NodeId,
    /// Instructions left that may belong to an IT block of which nothing is known.
    pub unsure: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// Not known.
    Unknown,
    /// At an address whose node has not been looked up.
    Address(u64),
    /// In a node, after this many of its instructions.
    In(NodeId, u32),
}

/// Where execution is, whatever the numbers of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whereabouts {
    /// Start of the current block, and instructions that ran in it.
    at: Option<(u64, u32)>,
    isa: Isa,
    space: MemorySpace,
    /// Address of the indirect branch that was taken last.
    from: Option<u64>,
    unsure: u8,
}

impl Default for Place {
    fn default() -> Self {
        Self { at: At::Unknown, isa: Isa::A32, from: NodeId::NONE, unsure: 0 }
    }
}

impl Place {
    /// Returns the instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Makes the address unknown.
    pub fn lose(&mut self) {
        (self.at, self.from) = (At::Unknown, NodeId::NONE);
    }

    /// Reports that the next address is not the target of the last branch.
    pub fn divert(&mut self) {
        self.from = NodeId::NONE;
    }

    /// Goes where the last branch led, if that was not known before. Returns whether it was so.
    #[inline(always)]
    pub fn went(&mut self, to: &Address) -> bool {
        match (self.at, to.state.isa()) {
            (At::Unknown, Some(isa)) => {
                (self.at, self.isa, self.unsure) = (At::Address(to.value.into()), isa, 0);
                true
            }
            _ => false,
        }
    }

    /// Returns the address, if execution is not inside a node.
    pub fn start(&self) -> Option<u64> {
        match self.at {
            At::Address(address) => Some(address),
            _ => None,
        }
    }

    /// Goes to an address, or loses the way.
    pub fn go(&mut self, address: Option<u64>, isa: Isa) {
        (self.at, self.isa) = (address.map_or(At::Unknown, At::Address), isa);
    }
}

impl Decoder<'_> {
    pub(super) fn whereabouts(&self) -> Whereabouts {
        let Place { at, isa, from, unsure } = self.place;
        let at = match at {
            At::Unknown => None,
            At::Address(address) => Some((address, 0)),
            At::In(node, done) => Some((self.graph.node(node).start(), done)),
        };
        let from = from.is_some().then(|| self.graph.node(from).last());
        Whereabouts { at, isa, space: self.stream.space, from, unsure }
    }

    /// Returns the address of the next instruction.
    pub(super) fn address(&self) -> Option<(u64, Isa)> {
        let address = match self.place.at {
            At::Unknown => return None,
            At::Address(address) => address,
            At::In(node, done) => {
                let node = self.graph.node(node);
                match done {
                    0 => node.start(),
                    done if done >= node.count() => node.end(),
                    done => self.nth(&node.block(Ended::Cut), done)?,
                }
            }
        };
        Some((address, self.place.isa))
    }

    /// Returns the address of an instruction in a block.
    fn nth(&self, block: &Block, index: u32) -> Option<u64> {
        if block.isa == Isa::A32 {
            return Some(block.start.wrapping_add(4 * u64::from(index)));
        }
        let mut all = Instructions::new(self.graph.image(), self.stream.space, block);
        all.nth(index as usize).map(|instruction| instruction.address)
    }

    /// Returns whether execution is at this address.
    pub(super) fn is_at(&self, target: Option<(u32, InstructionState)>) -> bool {
        is_target(self.address(), target)
    }

    /// Continues at an address. `begins`: how execution came there is not known.
    pub(super) fn arrive(&mut self, address: u32, state: InstructionState, begins: bool) {
        match state.isa() {
            Some(isa) => self.place.go(Some(address.into()), isa),
            None => self.place.go(None, Isa::A32),
        }
        self.place.unsure = if begins && state == InstructionState::Thumb { MOST_IN_IT } else { 0 };
        if begins {
            self.place.divert();
        }
    }

    /// Emits the instructions of the current block that ran, which an event from outside ends.
    pub(super) fn cut(&mut self, offset: u64, sink: &mut impl ElementSink) {
        let At::In(id, done) = self.place.at else { return };
        let node = *self.graph.node(id);
        let block = node.block(Ended::Cut);
        let image = self.graph.image();
        let inside = 0..done;
        self.place.at = At::Address(node.start());
        if let Some(part) = cut(image, node.space(), &block, &inside) {
            sink.block(offset, &Block { class: Class::NEXT, ended: Ended::Cut, ..part });
            self.place.at = At::Address(part.end);
            self.tell_cycles(offset, sink);
        }
    }

    /// Runs over the instructions of a P-header. The last one is held back.
    #[inline]
    pub(super) fn atoms(&mut self, offset: u64, atoms: Atoms, sink: &mut impl ElementSink) {
        if !self.within(offset, atoms) {
            self.across(offset, atoms, sink);
        }
    }

    /// Runs over the instructions of a P-header if the current block goes on behind them. Returns whether it does.
    #[inline(always)]
    fn within(&mut self, offset: u64, atoms: Atoms) -> bool {
        let At::In(id, done) = self.place.at else { return false };
        let held = self.stream.held;
        let ran = u32::from(held.is_some()) + u32::from(atoms.count.saturating_sub(1));
        if done + ran >= self.graph.node(id).count() {
            return false;
        }
        let last = atoms.count.checked_sub(1).map(|last| Held {
            offset,
            passed: atoms.passed(last),
            cycles: atoms.cycles_before(last),
        });
        let held_cycles = held.map_or(0, |held| held.cycles);
        let cycles =
            u32::from(held_cycles) + u32::from(atoms.cycles) - u32::from(last.map_or(0, |last| last.cycles));
        self.stream.cycles = self.stream.cycles.saturating_add(cycles);
        self.place.at = At::In(id, done + ran);
        self.place.unsure = self.place.unsure.saturating_sub(ran as u8);
        self.stream.held = last;
        true
    }

    /// Runs over the instructions of a P-header one by one. The last one is held back.
    #[inline(never)]
    fn across(&mut self, offset: u64, atoms: Atoms, sink: &mut impl ElementSink) {
        self.release(offset, sink);
        self.atoms_from(0, offset, atoms, sink);
    }

    /// Runs over the instructions of a P-header from `first` on. Nothing is held back before, and then the last one.
    pub(super) fn atoms_from(&mut self, first: u8, offset: u64, atoms: Atoms, sink: &mut impl ElementSink) {
        let Some(last) = atoms.count.checked_sub(1) else {
            self.stream.cycles = self.stream.cycles.saturating_add(atoms.cycles.into());
            return;
        };
        for index in first..last {
            self.atom(offset, atoms.passed(index), atoms.cycles_before(index), sink);
        }
        let (passed, cycles) = (atoms.passed(last), atoms.cycles_before(last));
        self.stream.held = Some(Held { offset, passed, cycles });
    }

    /// Runs over an instruction, which passed its condition or not.
    #[inline]
    pub(super) fn atom(&mut self, offset: u64, passed: bool, cycles: u8, sink: &mut impl ElementSink) {
        self.stream.cycles = self.stream.cycles.saturating_add(cycles.into());
        if self.options.no_image {
            return self.place.lose();
        }
        let (id, done) = match self.place.at {
            At::In(id, done) => (id, done),
            _ => match self.look_up(offset, sink) {
                Some(id) => (id, 0),
                None => return,
            },
        };
        let node = self.graph.node(id);
        if done + 1 < node.count() {
            self.place.at = At::In(id, done + 1);
            self.place.unsure = self.place.unsure.saturating_sub(1);
            return;
        }
        if done >= node.count() {
            return self.stuck(offset, id, sink);
        }
        let class = node.class();
        if node.stop() != Stop::Class {
            self.place.at = At::In(id, done + 1);
            return;
        }
        if class.is_branch() && !passed && !class.conditional && self.place.unsure == 0 {
            let falls = node.direct_target() == Some((node.end(), node.isa()));
            if !falls {
                let last = node.last();
                self.place.lose();
                return sink.element(offset, &Element::Mismatch(Mismatch::NotTaken(last)));
            }
        }
        let taken = passed || !class.is_branch();
        sink.node(offset, &self.graph, id, taken);
        self.ended += 1;
        self.place.unsure = self.place.unsure.saturating_sub(1);
        let next = match class.flow {
            Flow::Direct if taken => self.graph.taken(id),
            Flow::Indirect | Flow::Pair if taken => {
                (self.place.at, self.place.from) = (At::Unknown, id);
                return self.tell_cycles(offset, sink);
            }
            _ => self.graph.next(id),
        };
        self.place.at = At::In(next, 0);
        self.place.isa = self.graph.node(next).isa();
        self.tell_cycles(offset, sink);
    }

    /// Looks up the node at the current address.
    pub(super) fn look_up(&mut self, offset: u64, sink: &mut impl ElementSink) -> Option<NodeId> {
        let At::Address(address) = self.place.at else {
            if self.place.from.is_some() {
                let last = self.graph.node(self.place.from).last();
                self.place.divert();
                sink.element(offset, &Element::Mismatch(Mismatch::NoTarget(last)));
            }
            return None;
        };
        if self.graph.len() > MAX_NODES {
            sink.forget(&self.graph);
            self.graph.clear();
            self.place.divert();
        }
        let id = self.graph.at(address, self.place.isa, self.stream.space);
        if self.place.from.is_some() {
            self.graph.went(self.place.from, id);
            self.place.divert();
        }
        self.place.at = At::In(id, 0);
        Some(id)
    }

    /// Emits why the program cannot be followed further.
    #[cold]
    fn stuck(&mut self, offset: u64, id: NodeId, sink: &mut impl ElementSink) {
        let node = *self.graph.node(id);
        let (start, end, stop) = (node.start(), node.end(), node.stop());
        // If code leads to bytes that are not code, it was not code either.
        if stop == Stop::NoCode {
            self.cut(offset, sink);
        }
        self.place.lose();
        sink.element(
            offset,
            &match stop {
                Stop::NoCode => Element::NoCode { address: end, space: self.stream.space },
                Stop::NotCode => Element::Mismatch(Mismatch::NotCode(end)),
                Stop::Endless | Stop::Class => Element::Mismatch(Mismatch::Endless(start)),
            },
        );
    }
}
