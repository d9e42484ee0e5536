//! Which instruction did an access.

use std::collections::VecDeque;

use tracewright_core::{AtomicOp, CsrOp, DataAccess, DataKind};
use tracewright_isa::riscv::{AccessKind, Instruction, Op};
#[cfg(feature = "decode")]
use {
    tracewright_core::{Element, Isa, MemorySpace},
    tracewright_flow::Instructions,
    tracewright_image::Image,
    tracewright_isa::riscv::{Xlen, decode},
};

use super::{Encoder, Options};
use crate::packet::{Packet, QualStatus};
use crate::stream::{Content, Message};
use crate::{Params, packet};

/// How many accesses, or instructions, wait for their counterparts at most.
const MOST: usize = 1 << 16;

/// Finds the instructions that did accesses, by order alone: packets do not say it.
///
/// Accesses are in the order in which their instructions retired. A trace may tell them before instructions or after them, since
/// instruction trace tells of many instructions at once. But they must be apart at synchronisation packets (format 3, subformats 0 and 1):
/// accesses before such a packet are of instructions before the one that it reports, accesses after it are of that one or
/// of later ones. So does our encoder. From there on the n-th access is that of the n-th instruction that accesses something.
///
/// An access is not paired if that is not certain: before the first synchronisation, after a loss, and from where an instruction
/// cannot have done the next access, up to the next synchronisation. Filters that leave out accesses make it useless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    params: Params,
    options: Options,
    /// Nothing is certain until a synchronisation packet comes.
    is_lost: bool,
    /// Instructions that did something, and no access was told yet.
    instructions: VecDeque<Step<(u64, Does)>>,
    /// Accesses, and no instruction was told yet.
    accesses: VecDeque<Step<DataAccess>>,
    /// Addresses of synchronisation packets whose instruction was not told yet.
    ahead: VecDeque<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<T> {
    One(T),
    /// Here is a synchronisation packet.
    Mark,
}

/// What an instruction does that is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Access(DataKind, u8),
    /// An access to this CSR.
    Csr(CsrOp, u16),
    /// A store-conditional; it may fail.
    Conditional(u8),
    /// Whether it is in the trace cannot be known.
    Unclear,
}

impl Pairing {
    /// For the trace of an encoder like this, with these options up to the first support packet.
    pub fn new(params: &Params, options: Options) -> Self {
        Self {
            params: params.clone(),
            options,
            is_lost: true,
            instructions: VecDeque::new(),
            accesses: VecDeque::new(),
            ahead: VecDeque::new(),
        }
    }

    /// A message of the trace, after the decoder has taken it and told what it tells. What `out` takes is as in
    /// [`packet`](Self::packet).
    pub fn message(&mut self, message: &Message, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        match &message.content {
            Content::Instruction(packet) => self.packet(packet, out),
            // They may have been data packets.
            Content::Malformed(_) | Content::NotSync { .. } => self.lose(out),
            // The decoder tells of it.
            Content::Data(_) => {}
            Content::Other { .. } | Content::Idle | Content::Alignment | Content::Incomplete => {}
        }
    }

    /// An element of the decoder. Instructions are taken from `image`, as far as it has them.
    #[cfg(feature = "decode")]
    pub fn element(
        &mut self,
        element: &Element,
        image: &Image,
        space: MemorySpace,
        out: &mut impl FnMut(&DataAccess, Option<u64>),
    ) {
        match element {
            Element::Data { access, .. } => self.access(access, out),
            Element::Block(block) => {
                let xlen = if block.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
                for found in Instructions::new(image, space, block) {
                    let instruction = decode(xlen, u32::from_le_bytes(found.bytes));
                    self.instruction(found.address, &instruction, out);
                }
            }
            // Instructions ran that are not known.
            Element::UnknownPath { .. }
            | Element::Mismatch(_)
            | Element::NoCode { .. }
            | Element::Lost(_)
            | Element::DataLost => self.lose(out),
            Element::End => self.finish(out),
            _ => {}
        }
    }

    /// An instruction trace packet, after the instructions were told that ran before the one it reports (but for the last block of
    /// them, which may go on), and before that one is. `out` takes accesses, and addresses of the instructions that did
    /// them, where that is certain; likewise for the other functions.
    pub fn packet(&mut self, packet: &Packet, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        match packet {
            Packet::Start(packet::Start { address, .. })
            | Packet::Trap(packet::Trap { thaddr: true, address: Some(address), .. }) => {
                self.is_lost = false;
                self.ahead.push_back(self.params.address(*address));
                self.accesses.push_back(Step::Mark);
                self.settle(out);
            }
            Packet::Support(support) => {
                let is_new = support.doptions != self.options;
                self.options = support.doptions;
                if support.dloss || is_new || support.qual_status == QualStatus::TraceLost {
                    self.lose(out);
                }
            }
            _ => {}
        }
    }

    /// An instruction ran.
    pub fn instruction(
        &mut self,
        address: u64,
        instruction: &Instruction,
        out: &mut impl FnMut(&DataAccess, Option<u64>),
    ) {
        if self.ahead.front() == Some(&address) {
            self.ahead.pop_front();
            self.instructions.push_back(Step::Mark);
            self.settle(out);
        }
        // What comes before it has waited in vain, or never was traced.
        let waits = !self.is_lost && (self.ahead.is_empty() || !self.is_resuming());
        if let Some(does) = self.does(instruction).filter(|_| waits) {
            self.instructions.push_back(Step::One((address, does)));
        }
        self.settle(out);
    }

    /// An access was told.
    pub fn access(&mut self, access: &DataAccess, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        if self.is_lost {
            return out(access, None);
        }
        self.accesses.push_back(Step::One(*access));
        self.settle(out);
    }

    /// Packets are missing here.
    pub fn lose(&mut self, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        self.is_lost = true;
        self.instructions.clear();
        self.ahead.clear();
        for step in self.accesses.drain(..) {
            if let Step::One(access) = step {
                out(&access, None);
            }
        }
    }

    /// The trace ends.
    pub fn finish(&mut self, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        self.lose(out);
    }

    /// Whether the accesses before the next synchronisation are over and done with.
    fn is_resuming(&self) -> bool {
        self.accesses.front() == Some(&Step::Mark)
    }

    /// Pairs what is at hand.
    fn settle(&mut self, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        while let Some(&access) = self.accesses.front() {
            let Some(&instruction) = self.instructions.front() else { break };
            match (access, instruction) {
                (Step::One(access), Step::One((address, does))) if does.may_be(&access) => {
                    out(&access, Some(address));
                    self.accesses.pop_front();
                    self.instructions.pop_front();
                }
                (Step::Mark, Step::Mark) => {
                    self.accesses.pop_front();
                    self.instructions.pop_front();
                }
                // More accesses than instructions, or instructions than accesses: some before were not what they seemed.
                (Step::One(access), Step::Mark) => {
                    out(&access, None);
                    self.accesses.pop_front();
                }
                (Step::Mark, Step::One(_)) => {
                    self.instructions.pop_front();
                }
                (Step::One(_), Step::One(_)) => self.skip(out),
            }
        }
        if self.accesses.len().max(self.instructions.len()) > MOST {
            self.skip(out);
        }
    }

    /// Nothing is certain up to the next synchronisation, which may be at hand already.
    fn skip(&mut self, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        if !self.accesses.contains(&Step::Mark)
            || self.accesses.len() > MOST
            || self.instructions.len() > MOST
        {
            return self.lose(out);
        }
        while let Some(Step::One(access)) = self.accesses.front() {
            out(access, None);
            self.accesses.pop_front();
        }
        while let Some(Step::One(_)) = self.instructions.front() {
            self.instructions.pop_front();
        }
    }

    /// What an instruction does that is traced, if it does.
    fn does(&self, instruction: &Instruction) -> Option<Does> {
        let tells = |kind, size| Encoder::tells(&self.params, &self.options, kind, size);
        let traced = |kind, size| tells(kind, size).then_some(Does::Access(kind, size));
        if let Some(op) = csr_op(instruction.op) {
            return tells(DataKind::Csr(op), 8).then_some(Does::Csr(op, instruction.imm as u16 & 0xfff));
        }
        match instruction.access()? {
            (AccessKind::Store, size) if matches!(instruction.op, Op::ScW | Op::ScD) => {
                match (tells(DataKind::Store, size), tells(DataKind::StoreFailed, size)) {
                    (true, true) => Some(Does::Conditional(size)),
                    (true, false) => Some(Does::Unclear),
                    (false, _) => None,
                }
            }
            (AccessKind::Load, size) => traced(DataKind::Load, size),
            (AccessKind::Store, size) => traced(DataKind::Store, size),
            (AccessKind::Amo, size) => traced(DataKind::Atomic(atomic_op(instruction.op)?), size),
        }
    }
}

impl Does {
    fn may_be(self, access: &DataAccess) -> bool {
        match self {
            Self::Access(kind, size) => access.kind == kind && access.size == size,
            Self::Csr(op, number) => {
                access.kind == DataKind::Csr(op)
                    && access.address.is_none_or(|address| address == u64::from(number))
            }
            Self::Conditional(size) => {
                matches!(access.kind, DataKind::Store | DataKind::StoreFailed) && access.size == size
            }
            Self::Unclear => false,
        }
    }
}

/// What an instruction does to a control register, if it does.
pub const fn csr_op(op: Op) -> Option<CsrOp> {
    match op {
        Op::Csrrw | Op::Csrrwi => Some(CsrOp::Write),
        Op::Csrrs | Op::Csrrsi => Some(CsrOp::Set),
        Op::Csrrc | Op::Csrrci => Some(CsrOp::Clear),
        _ => None,
    }
}

/// What an atomic operation does, if it is one; a load-reserved or a store-conditional is none.
pub const fn atomic_op(op: Op) -> Option<AtomicOp> {
    Some(match op {
        Op::AmoswapW | Op::AmoswapD => AtomicOp::Swap,
        Op::AmoaddW | Op::AmoaddD => AtomicOp::Add,
        Op::AmoandW | Op::AmoandD => AtomicOp::And,
        Op::AmoorW | Op::AmoorD => AtomicOp::Or,
        Op::AmoxorW | Op::AmoxorD => AtomicOp::Xor,
        Op::AmomaxW | Op::AmomaxD | Op::AmomaxuW | Op::AmomaxuD => AtomicOp::Max,
        Op::AmominW | Op::AmominD | Op::AmominuW | Op::AmominuD => AtomicOp::Min,
        _ => return None,
    })
}
