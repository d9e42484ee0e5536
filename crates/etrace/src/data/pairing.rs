//! Pairing of accesses with instructions.

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

/// Most accesses or instructions that wait for their counterparts.
const MOST: usize = 1 << 16;

/// Pairing of accesses with the instructions that made them, by order alone, since packets do not say it.
///
/// Accesses come in the order in which their instructions retired. They may come before or after the
/// instructions, since one instruction trace packet covers many instructions. But synchronisation packets
/// (format 3, subformats 0 and 1) separate them: accesses before such a packet belong to instructions before
/// the one it reports, accesses after it to that one or later ones. Our encoder keeps this rule. From a
/// synchronisation on, the n-th access belongs to the n-th instruction that makes one.
///
/// An access stays unpaired where its instruction is uncertain: before the first synchronisation, after a
/// loss, and from an instruction that cannot have made the next access up to the next synchronisation.
/// Filters that leave out accesses make pairing useless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    params: Params,
    options: Options,
    /// Whether pairing is uncertain until the next synchronisation packet.
    is_lost: bool,
    /// Instructions whose access has not come yet.
    instructions: VecDeque<Step<(u64, Does)>>,
    /// Accesses whose instruction has not come yet.
    accesses: VecDeque<Step<DataAccess>>,
    /// Addresses of synchronisation packets whose instruction has not come yet.
    ahead: VecDeque<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<T> {
    One(T),
    /// Position of a synchronisation packet.
    Mark,
}

/// Traced access that an instruction makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Access(DataKind, u8),
    /// Access to this CSR.
    Csr(CsrOp, u16),
    /// Store-conditional, which may fail.
    Conditional(u8),
    /// Access that may or may not be in the trace.
    Unclear,
}

impl Pairing {
    /// Creates a pairing for the trace of an encoder with these settings; `options` apply up to the first
    /// support packet.
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

    /// Handles a message of the trace, after the decoder has emitted its elements. See
    /// [`packet`](Self::packet) about `out`.
    pub fn message(&mut self, message: &Message, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        match &message.content {
            Content::Instruction(packet) => self.packet(packet, out),
            // They may have been data packets.
            Content::Malformed(_) | Content::NotSync { .. } => self.lose(out),
            // The decoder emits the access as an element.
            Content::Data(_) => {}
            Content::Other { .. } | Content::Idle | Content::Alignment | Content::Incomplete => {}
        }
    }

    /// Handles an element of the decoder. Reads instructions from `image`, as far as it has them.
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
            // Unknown instructions ran.
            Element::UnknownPath { .. }
            | Element::Mismatch(_)
            | Element::NoCode { .. }
            | Element::Lost(_)
            | Element::DataLost => self.lose(out),
            Element::End => self.finish(out),
            _ => {}
        }
    }

    /// Handles an instruction trace packet. It comes after the instructions that ran before the reported one
    /// (except their last block, which may go on) and before the reported one. Like the other functions, it
    /// passes accesses to `out`, with the addresses of their instructions where these are certain.
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

    /// Handles an executed instruction.
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
        // Accesses before it waited in vain or were never traced.
        let waits = !self.is_lost && (self.ahead.is_empty() || !self.is_resuming());
        if let Some(does) = self.does(instruction).filter(|_| waits) {
            self.instructions.push_back(Step::One((address, does)));
        }
        self.settle(out);
    }

    /// Handles an access.
    pub fn access(&mut self, access: &DataAccess, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        if self.is_lost {
            return out(access, None);
        }
        self.accesses.push_back(Step::One(*access));
        self.settle(out);
    }

    /// Handles missing packets.
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

    /// Ends the trace.
    pub fn finish(&mut self, out: &mut impl FnMut(&DataAccess, Option<u64>)) {
        self.lose(out);
    }

    /// Returns whether no accesses before the next synchronisation are left.
    fn is_resuming(&self) -> bool {
        self.accesses.front() == Some(&Step::Mark)
    }

    /// Pairs the accesses and instructions at hand.
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
                // The numbers of accesses and instructions differ, so some earlier pairs were wrong.
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

    /// Gives up until the next synchronisation, which may be at hand already.
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

    /// Returns the traced access of an instruction, if it makes one.
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

/// Returns the operation on a control register, if the instruction is one.
pub const fn csr_op(op: Op) -> Option<CsrOp> {
    match op {
        Op::Csrrw | Op::Csrrwi => Some(CsrOp::Write),
        Op::Csrrs | Op::Csrrsi => Some(CsrOp::Set),
        Op::Csrrc | Op::Csrrci => Some(CsrOp::Clear),
        _ => None,
    }
}

/// Returns the atomic operation, if the instruction is one other than a load-reserved or a store-conditional.
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
