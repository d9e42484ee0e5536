//! Fields of each packet, and their order.

use super::{Field, Mode, StreamState, Trace};
use crate::Params;
use crate::packet::{Context, InstructionSet, Kind};

/// The layout after a field.
pub(super) enum Next {
    Field(Field, Mode),
    End,
    Bad(Kind),
}

/// Returns what follows the current field: the packet layouts of the specification as a graph of fields.
pub(super) fn next_field(s: &StreamState, t: &Trace, params: &Params) -> Next {
    use Field as F;
    let value = Mode::Continued(5);
    let count = Mode::Continued(3);
    let low_nibble = s.header & 0xf;
    match (s.kind, s.field) {
        (Kind::Extension, F::None) => Next::Field(F::Extension, Mode::Fixed(1)),
        (Kind::Extension, F::Extension) => match t.get(F::Extension) {
            0x00 => Next::Field(F::Async, Mode::Fixed(1)),
            0x03 | 0x05 => Next::End,
            _ => Next::Bad(Kind::Extension),
        },
        // Nine more zeros, then 0x80. A wrong byte is detected at once.
        (Kind::Extension, F::Async) => match (s.index, t.get(F::Async)) {
            (1..=9, 0) => Next::Field(F::Async, Mode::Fixed(1)),
            (10, 0x80) => Next::End,
            _ => Next::Bad(Kind::Async),
        },
        (Kind::TraceInfo, F::None) => Next::Field(F::Plctl, Mode::Continued(5)),
        (Kind::TraceInfo, field) => {
            let sections = [F::Info, F::Key, F::Spec, F::Cyct, F::Wndw];
            let present = |i: &usize| t.get(F::Plctl) >> i & 1 == 1;
            let first = sections.iter().position(|&section| section == field).map_or(0, |i| i + 1);
            match (first..sections.len()).find(present) {
                Some(i) => Next::Field(sections[i], value),
                None => Next::End,
            }
        }
        (Kind::Timestamp, F::None) => Next::Field(F::Timestamp, Mode::Continued(9)),
        (Kind::Timestamp, F::Timestamp) if s.header & 1 == 1 => Next::Field(F::Cycles, count),
        (Kind::Exception, F::None) => Next::Field(F::ExceptionLow, Mode::Fixed(1)),
        (Kind::Exception, F::ExceptionLow) if has_third_byte(t, params) => {
            Next::Field(F::ExceptionHigh, Mode::Fixed(1))
        }
        (Kind::Instrumentation, F::None) => Next::Field(F::El, Mode::Fixed(1)),
        (Kind::Instrumentation, F::El) => Next::Field(F::Instrumentation, Mode::Fixed(8)),
        (Kind::CycleCountF1, F::None) if params.cycle_counts_commit => Next::Field(F::Commit, value),
        (Kind::CycleCountF1, F::None | F::Commit) if s.header & 1 == 0 => Next::Field(F::Cycles, count),
        (Kind::CycleCountF2 | Kind::ConditionalInstructionF3 | Kind::ConditionalResultF3, F::None) => {
            Next::Field(F::Byte, Mode::Fixed(1))
        }
        (
            Kind::Commit | Kind::CancelF1 | Kind::CancelF1Mispredict | Kind::ConditionalInstructionF1,
            F::None,
        ) => Next::Field(F::Count, value),
        (Kind::ConditionalResultF1, F::None) => Next::Field(F::Result0, Mode::Fixed(1)),
        (Kind::ConditionalResultF1, F::Result0) if t.get(F::Result0) & 0x80 != 0 => {
            Next::Field(F::Result0Key, value)
        }
        (Kind::ConditionalResultF1, F::Result0 | F::Result0Key) if s.header & 4 == 0 => {
            Next::Field(F::Result1, Mode::Fixed(1))
        }
        (Kind::ConditionalResultF1, F::Result1) if t.get(F::Result1) & 0x80 != 0 => {
            Next::Field(F::Result1Key, value)
        }
        (Kind::Context, F::None) if s.header & 1 == 1 => Next::Field(F::ContextInfo, Mode::Fixed(1)),
        (Kind::Q, F::None) => match low_nibble {
            0x5 | 0x6 => Next::Field(F::Address, Mode::Continued(2)),
            0xa | 0xb => Next::Field(F::Address, Mode::Fixed(4)),
            0xf => Next::End,
            _ => Next::Field(F::Count, value),
        },
        (Kind::Q, F::Address) => Next::Field(F::Count, value),
        (Kind::Reserved | Kind::ReservedForConfig, _) => Next::Bad(s.kind),
        (kind, F::None) => match address_len(kind) {
            0 => Next::End,
            2 => Next::Field(F::Address, Mode::Continued(2)),
            len => Next::Field(F::Address, Mode::Fixed(len)),
        },
        (_, F::Address) if has_context(s.kind) => Next::Field(F::ContextInfo, Mode::Fixed(1)),
        (_, field @ (F::ContextInfo | F::Vmid)) => {
            let info = t.get(F::ContextInfo) as u8;
            let vmid = info & Context::VMID != 0 && params.vmid_bytes > 0;
            let context_id = info & Context::CONTEXT_ID != 0 && params.context_id_bytes > 0;
            if vmid && field == F::ContextInfo {
                Next::Field(F::Vmid, Mode::Fixed(params.vmid_bytes))
            } else if context_id {
                Next::Field(F::ContextId, Mode::Fixed(params.context_id_bytes))
            } else {
                Next::End
            }
        }
        _ => Next::End,
    }
}

fn has_third_byte(t: &Trace, params: &Params) -> bool {
    let low = t.get(Field::ExceptionLow);
    low & 0x80 != 0 || params.is_ete() && matches!(low >> 1 & 0x1f, 0x00 | 0x18)
}

/// Returns the number of the exception, and whether ETE has a packet of its own for it.
pub(super) fn exception_number(t: &Trace, params: &Params) -> (u16, bool) {
    let (low, high) = (t.get(Field::ExceptionLow) as u16, t.get(Field::ExceptionHigh) as u16);
    let high = if low & 0x80 != 0 { high & 0x1f } else { 0 };
    let number = high << 5 | low >> 1 & 0x1f;
    (number, params.is_ete() && matches!(number, 0x00 | 0x18))
}

pub(super) fn has_context(kind: Kind) -> bool {
    use Kind::{AddressContext32Is0, AddressContext32Is1, AddressContext64Is0, AddressContext64Is1};
    matches!(kind, AddressContext32Is0 | AddressContext32Is1 | AddressContext64Is0 | AddressContext64Is1)
}

/// Returns the number of payload bytes of an address (2 stands for one or two) and its instruction set.
fn address(kind: Kind) -> (u8, InstructionSet) {
    use InstructionSet::{Is0, Is1};
    match kind {
        Kind::AddressShortIs0 | Kind::SourceAddressShortIs0 => (2, Is0),
        Kind::AddressShortIs1 | Kind::SourceAddressShortIs1 => (2, Is1),
        Kind::Address32Is0 | Kind::SourceAddress32Is0 | Kind::AddressContext32Is0 => (4, Is0),
        Kind::Address32Is1 | Kind::SourceAddress32Is1 | Kind::AddressContext32Is1 => (4, Is1),
        Kind::Address64Is0 | Kind::SourceAddress64Is0 | Kind::AddressContext64Is0 => (8, Is0),
        Kind::Address64Is1 | Kind::SourceAddress64Is1 | Kind::AddressContext64Is1 => (8, Is1),
        _ => (0, Is0),
    }
}

pub(super) fn address_len(kind: Kind) -> u8 {
    address(kind).0
}

pub(super) fn is_of(kind: Kind, header: u8) -> InstructionSet {
    match (kind, header & 0xf) {
        (Kind::Q, 0x6 | 0xb) => InstructionSet::Is1,
        _ => address(kind).1,
    }
}
