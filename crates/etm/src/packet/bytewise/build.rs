//! Construction of a packet from its fields.

use super::layout::{address_len, exception_number, has_context, is_of};
use super::{Field, StreamState, Trace};
use crate::Params;
use crate::packet::{
    Address, AddressForm, Atoms, ConditionalInstruction, ConditionalResult, Context, CycleCount, Exception,
    KeyedResult, Kind, Packet, Q, ReturnAddress, Timestamp, TraceInfo,
};

/// Returns the finished packet, or `None` if its fields contradict each other. Updates the compression registers.
pub(super) fn packet(s: &StreamState, t: &mut Trace, params: &Params) -> Option<Packet> {
    use Field as F;
    let h = s.header;
    let threshold = t.state.cycle_threshold();
    Some(match s.kind {
        Kind::Extension => match t.get(F::Extension) {
            0x00 => Packet::Async,
            0x03 => Packet::Discard,
            _ => Packet::Overflow,
        },
        Kind::TraceInfo => {
            let info = TraceInfo {
                plctl: t.get(F::Plctl) as u8 & 0x1f,
                info: t.get32(F::Info),
                key: t.get32(F::Key),
                spec: t.get32(F::Spec),
                cyct: t.get32(F::Cyct),
                wndw: t.get32(F::Wndw),
            };
            t.state.trace_info(&info);
            Packet::TraceInfo(info)
        }
        Kind::Timestamp => {
            let cycles = (h & 1 == 1).then(|| t.get32(F::Cycles) & params.cycle_mask);
            let bytes = t.get(F::Length) as u8;
            let value = t.state.update_timestamp(t.get(F::Timestamp), bytes);
            Packet::Timestamp(Timestamp { value, bytes, cycles })
        }
        Kind::TraceOn => Packet::TraceOn,
        Kind::FunctionReturn => Packet::FunctionReturn,
        Kind::Exception => {
            let (low, high) = (t.get(F::ExceptionLow) as u8, t.get(F::ExceptionHigh) as u8);
            match exception_number(t, params) {
                (number, true) => {
                    t.state.push_zero();
                    if number == 0 { Packet::PeReset } else { Packet::TransactionFailure }
                }
                (number, false) => Packet::Exception(Exception {
                    number,
                    return_address: ReturnAddress::from_bits(low >> 5 & 2 | low & 1),
                    fault_pending: high & 0x20 != 0,
                }),
            }
        }
        Kind::ExceptionReturn => Packet::ExceptionReturn,
        Kind::Instrumentation => {
            Packet::Instrumentation { el: t.get(F::El) as u8 & 3, value: t.get(F::Instrumentation) }
        }
        Kind::TransactionStart => Packet::TransactionStart,
        Kind::TransactionCommit => Packet::TransactionCommit,
        Kind::CycleCountF1 => Packet::CycleCount(CycleCount {
            format: 1,
            commit: params.cycle_counts_commit.then(|| t.get32(F::Commit).into()),
            cycles: (h & 1 == 0).then(|| threshold.wrapping_add(t.get32(F::Cycles))),
        }),
        Kind::CycleCountF2 => {
            let byte = t.get32(F::Byte);
            let nibble = i64::from(byte >> 4);
            let counted = if h & 1 == 0 { nibble + 1 } else { nibble - 15 + i64::from(params.max_spec) };
            let commit = params.cycle_counts_commit.then_some(counted);
            let cycles = Some(threshold.wrapping_add(byte & 0xf));
            Packet::CycleCount(CycleCount { format: 2, commit, cycles })
        }
        Kind::CycleCountF3 => Packet::CycleCount(CycleCount {
            format: 3,
            commit: params.cycle_counts_commit.then_some(i64::from(h >> 2 & 3) + 1),
            cycles: Some(threshold.wrapping_add(u32::from(h & 3))),
        }),
        Kind::NumberedDataSync => Packet::NumberedDataSync(h & 7),
        Kind::UnnumberedDataSync => Packet::UnnumberedDataSync(h & 7),
        Kind::Commit => Packet::Commit(t.get32(F::Count)),
        Kind::CancelF1 | Kind::CancelF1Mispredict => {
            Packet::CancelF1 { count: t.get32(F::Count), mispredict: s.kind == Kind::CancelF1Mispredict }
        }
        Kind::Mispredict => Packet::Mispredict(RESOLVED[usize::from(h & 3)]),
        Kind::CancelF2 => Packet::CancelF2(RESOLVED[usize::from(h & 3)]),
        Kind::CancelF3 => Packet::CancelF3 { atom: h & 1 == 1, count: 2 + (h >> 1 & 3) },
        Kind::ConditionalInstructionF1 => {
            Packet::ConditionalInstruction(ConditionalInstruction::F1 { key: t.get32(F::Count) })
        }
        Kind::ConditionalInstructionF2 => Packet::ConditionalInstruction(ConditionalInstruction::F2(h & 3)),
        Kind::ConditionalInstructionF3 => {
            let byte = t.get(F::Byte) as u8;
            let (increments, same_key) = (byte >> 1 & 0x3f, byte & 1 == 1);
            Packet::ConditionalInstruction(ConditionalInstruction::F3 { increments, same_key })
        }
        Kind::ConditionalFlush => Packet::ConditionalFlush,
        Kind::ConditionalResultF1 => {
            let keyed = |result, key, ci| {
                let byte = t.get32(result);
                let key = t.get32(key) << 3 | byte >> 4 & 7;
                KeyedResult { key, result: byte as u8 & 0xf, ci }
            };
            let first = keyed(F::Result0, F::Result0Key, h & 1 == 1);
            let second = (h & 4 == 0).then(|| keyed(F::Result1, F::Result1Key, h & 2 == 2));
            Packet::ConditionalResult(ConditionalResult::F1(first, second))
        }
        Kind::ConditionalResultF2 => Packet::ConditionalResult(ConditionalResult::F2 {
            increment: if h & 4 == 0 { 1 } else { 2 },
            token: h & 3,
        }),
        Kind::ConditionalResultF3 => Packet::ConditionalResult(ConditionalResult::F3 {
            tokens: (t.get(F::Byte) as u16) | u16::from(h & 0xf) << 8,
        }),
        Kind::ConditionalResultF4 => Packet::ConditionalResult(ConditionalResult::F4 { token: h & 3 }),
        Kind::Ignore => Packet::Ignore,
        Kind::Event => Packet::Event(h & 0xf),
        Kind::Context if h & 1 == 0 => Packet::ContextSame,
        Kind::Context => Packet::Context(t.context(params)),
        Kind::TimestampMarker => Packet::TimestampMarker,
        Kind::Q => {
            let count = (h != 0xaf).then(|| t.get32(F::Count));
            let address = match h & 0xf {
                entry @ 0..=2 => Some(t.state.exact(entry)),
                0xc | 0xf => None,
                0x5 | 0x6 => Some(t.short_address(s)),
                _ => Some(t.address(s, AddressForm::Long32)),
            };
            Packet::Q(Q { address, count })
        }
        Kind::AddressExact => Packet::Address(t.state.exact(h & 3)),
        Kind::SourceAddressExact => Packet::SourceAddress(t.state.exact(h & 3)),
        Kind::AtomF1 | Kind::AtomF2 | Kind::AtomF3 | Kind::AtomF4 | Kind::AtomF5 | Kind::AtomF6 => {
            Packet::Atom(Atoms::of_packet(h))
        }
        kind => {
            let address = match address_len(kind) {
                2 => t.short_address(s),
                4 => t.address(s, AddressForm::Long32),
                8 => t.address(s, AddressForm::Long64),
                _ => return None,
            };
            if has_context(kind) {
                Packet::AddressContext(address, t.context(params))
            } else if h >= 0xb0 {
                Packet::SourceAddress(address)
            } else {
                Packet::Address(address)
            }
        }
    })
}

/// Atoms of Mispredict and Cancel format 2.
const RESOLVED: [Atoms; 4] =
    [Atoms::NONE, Atoms::one(true), Atoms { bits: 0b11, count: 2 }, Atoms::one(false)];

impl Trace {
    fn address(&mut self, s: &StreamState, form: AddressForm) -> Address {
        self.state.partial(self.get(Field::Address), is_of(s.kind, s.header), form)
    }

    fn short_address(&mut self, s: &StreamState) -> Address {
        let form = if self.get(Field::Length) == 1 { AddressForm::Short7 } else { AddressForm::Short15 };
        self.address(s, form)
    }

    fn context(&mut self, params: &Params) -> Context {
        let mut info = self.get(Field::ContextInfo) as u8;
        if params.vmid_bytes == 0 {
            info &= !Context::VMID;
        }
        if params.context_id_bytes == 0 {
            info &= !Context::CONTEXT_ID;
        }
        let (vmid, context_id) = (self.get32(Field::Vmid), self.get32(Field::ContextId));
        let context = Context { info, vmid, context_id };
        self.state.context(&context);
        context
    }
}
