//! Reading of one packet from the front of a byte slice.

use super::fields::{Fault, MAX_CONTINUED, MAX_COUNT, MAX_PLCTL_EXTENSION, Payload, Result, Stop};
use super::{
    ASYNC, Address, AddressForm, Atoms, ConditionalInstruction, ConditionalResult, Context, CycleCount,
    Exception, InstructionSet, KeyedResult, Kind, Packet, Q, ReturnAddress, Timestamp, TraceInfo, TraceState,
    header,
};
use crate::Params;

use InstructionSet::{Is0, Is1};

/// The result of reading a packet.
pub(super) struct Read {
    /// Packet, or why there is none.
    pub(super) packet: Result<Packet>,
    pub(super) len: usize,
}

/// Reads one packet. `bytes` holds at least its header. `state` changes only if the packet is whole.
#[inline]
pub(super) fn read(bytes: &[u8], params: &Params, state: &mut TraceState) -> Read {
    let header = bytes[0];
    let kind = params.headers.kind(header);
    let mut payload = Payload::after_header(bytes, kind);
    let packet = packet(&mut payload, header, kind, params, state);
    Read { packet, len: payload.read }
}

fn packet(
    p: &mut Payload<'_>,
    header: u8,
    kind: Kind,
    params: &Params,
    state: &mut TraceState,
) -> Result<Packet> {
    Ok(match kind {
        Kind::AtomF1 | Kind::AtomF2 | Kind::AtomF3 | Kind::AtomF4 | Kind::AtomF5 | Kind::AtomF6 => {
            Packet::Atom(Atoms::of_packet(header))
        }
        Kind::AddressExact => Packet::Address(state.exact(header & 3)),
        Kind::AddressShortIs0 => Packet::Address(short(p, Is0)?.apply(state)),
        Kind::AddressShortIs1 => Packet::Address(short(p, Is1)?.apply(state)),
        Kind::Address32Is0 => Packet::Address(long32(p, Is0)?.apply(state)),
        Kind::Address32Is1 => Packet::Address(long32(p, Is1)?.apply(state)),
        Kind::Address64Is0 => Packet::Address(long64(p, Is0)?.apply(state)),
        Kind::Address64Is1 => Packet::Address(long64(p, Is1)?.apply(state)),
        Kind::CycleCountF3 => Packet::CycleCount(cycle_count_f3(header, params, state)),
        Kind::CycleCountF2 => Packet::CycleCount(cycle_count_f2(p, header, params, state)?),
        Kind::CycleCountF1 => Packet::CycleCount(cycle_count_f1(p, header, params, state)?),
        Kind::Event => Packet::Event(header & 0xf),
        Kind::Extension => extension(p)?,
        Kind::TraceInfo => {
            let info = trace_info(p)?;
            state.trace_info(&info);
            Packet::TraceInfo(info)
        }
        Kind::Timestamp => timestamp(p, header, params, state)?,
        Kind::TraceOn => Packet::TraceOn,
        Kind::FunctionReturn => Packet::FunctionReturn,
        Kind::Exception => exception(p, params, state)?,
        Kind::ExceptionReturn => Packet::ExceptionReturn,
        Kind::Instrumentation => {
            Packet::Instrumentation { el: p.byte()? & 3, value: u64::from_le_bytes(p.array()?) }
        }
        Kind::TransactionStart => Packet::TransactionStart,
        Kind::TransactionCommit => Packet::TransactionCommit,
        Kind::NumberedDataSync => Packet::NumberedDataSync(header & 7),
        Kind::UnnumberedDataSync => Packet::UnnumberedDataSync(header & 7),
        Kind::Commit => Packet::Commit(p.continued(MAX_CONTINUED)?),
        Kind::CancelF1 | Kind::CancelF1Mispredict => {
            Packet::CancelF1 { count: p.continued(MAX_CONTINUED)?, mispredict: header & 1 == 1 }
        }
        Kind::Mispredict => Packet::Mispredict(resolved_atoms(header)),
        Kind::CancelF2 => Packet::CancelF2(resolved_atoms(header)),
        Kind::CancelF3 => Packet::CancelF3 { atom: header & 1 == 1, count: (header >> 1 & 3) + 2 },
        Kind::ConditionalInstructionF1 => {
            Packet::ConditionalInstruction(ConditionalInstruction::F1 { key: p.continued(MAX_CONTINUED)? })
        }
        Kind::ConditionalInstructionF2 => {
            Packet::ConditionalInstruction(ConditionalInstruction::F2(header & 3))
        }
        Kind::ConditionalInstructionF3 => {
            let byte = p.byte()?;
            let (increments, same_key) = (byte >> 1 & 0x3f, byte & 1 == 1);
            Packet::ConditionalInstruction(ConditionalInstruction::F3 { increments, same_key })
        }
        Kind::ConditionalFlush => Packet::ConditionalFlush,
        Kind::ConditionalResultF1 => conditional_result_f1(p, header)?,
        Kind::ConditionalResultF2 => Packet::ConditionalResult(ConditionalResult::F2 {
            increment: 1 + (header >> 2 & 1),
            token: header & 3,
        }),
        Kind::ConditionalResultF3 => Packet::ConditionalResult(ConditionalResult::F3 {
            tokens: u16::from(header & 0xf) << 8 | u16::from(p.byte()?),
        }),
        Kind::ConditionalResultF4 => Packet::ConditionalResult(ConditionalResult::F4 { token: header & 3 }),
        Kind::Ignore => Packet::Ignore,
        Kind::Context if header & 1 == 0 => Packet::ContextSame,
        Kind::Context => {
            let context = context(p, params)?;
            state.context(&context);
            Packet::Context(context)
        }
        Kind::AddressContext32Is0 => address_context(p, params, state, long32, Is0)?,
        Kind::AddressContext32Is1 => address_context(p, params, state, long32, Is1)?,
        Kind::AddressContext64Is0 => address_context(p, params, state, long64, Is0)?,
        Kind::AddressContext64Is1 => address_context(p, params, state, long64, Is1)?,
        Kind::TimestampMarker => Packet::TimestampMarker,
        Kind::Q => q(p, header, state)?,
        Kind::SourceAddressExact => Packet::SourceAddress(state.exact(header & 3)),
        Kind::SourceAddressShortIs0 => Packet::SourceAddress(short(p, Is0)?.apply(state)),
        Kind::SourceAddressShortIs1 => Packet::SourceAddress(short(p, Is1)?.apply(state)),
        Kind::SourceAddress32Is0 => Packet::SourceAddress(long32(p, Is0)?.apply(state)),
        Kind::SourceAddress32Is1 => Packet::SourceAddress(long32(p, Is1)?.apply(state)),
        Kind::SourceAddress64Is0 => Packet::SourceAddress(long64(p, Is0)?.apply(state)),
        Kind::SourceAddress64Is1 => Packet::SourceAddress(long64(p, Is1)?.apply(state)),
        Kind::ReservedForConfig => {
            return Err(Stop::Bad(Fault::ReservedForConfig(header::ungated_kind(header))));
        }
        // Kinds without a header of their own are not in the table.
        _ => return Err(Stop::Bad(Fault::Reserved(header))),
    })
}

fn extension(p: &mut Payload<'_>) -> Result<Packet> {
    match p.byte()? {
        0x03 => Ok(Packet::Discard),
        0x05 => Ok(Packet::Overflow),
        0x00 => {
            for expected in &ASYNC[2..] {
                if p.byte()? != *expected {
                    return Err(Stop::Bad(Fault::Malformed(Kind::Async)));
                }
            }
            Ok(Packet::Async)
        }
        _ => Err(p.bad()),
    }
}

fn trace_info(p: &mut Payload<'_>) -> Result<TraceInfo> {
    let plctl = p.byte()?;
    if plctl & 0x80 != 0 {
        let mut extension = 0;
        while p.byte()? & 0x80 != 0 {
            extension += 1;
            if extension == MAX_PLCTL_EXTENSION {
                return Err(p.bad());
            }
        }
    }
    let mut info = TraceInfo { plctl: plctl & 0x1f, ..TraceInfo::default() };
    for (bit, section) in info.sections_mut() {
        if plctl & bit != 0 {
            *section = p.continued(MAX_CONTINUED)?;
        }
    }
    Ok(info)
}

fn timestamp(p: &mut Payload<'_>, header: u8, params: &Params, state: &mut TraceState) -> Result<Packet> {
    let (mut value, mut bytes) = (0, 0);
    loop {
        let byte = p.byte()?;
        bytes += 1;
        // The ninth byte has no continuation bit.
        let bits = if bytes == 9 { byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * (bytes - 1));
        if bytes == 9 || byte & 0x80 == 0 {
            break;
        }
    }
    let cycles = match header & 1 {
        0 => None,
        _ => Some(p.continued(MAX_COUNT)? & params.cycle_mask),
    };
    Ok(Packet::Timestamp(Timestamp { value: state.update_timestamp(value, bytes), bytes, cycles }))
}

fn exception(p: &mut Payload<'_>, params: &Params, state: &mut TraceState) -> Result<Packet> {
    let first = p.byte()?;
    let low = u16::from(first >> 1 & 0x1f);
    let extended = first & 0x80 != 0;
    // ETE's PE reset and transaction failure have a third byte, whatever C is.
    let ete_own = |number| params.is_ete() && matches!(number, 0x00 | 0x18);
    let third = if extended || ete_own(low) { p.byte()? } else { 0 };
    let high = if extended { third } else { 0 };
    let number = low | u16::from(high & 0x1f) << 5;
    if ete_own(number) {
        state.push_zero();
        return Ok(if number == 0 { Packet::PeReset } else { Packet::TransactionFailure });
    }
    Ok(Packet::Exception(Exception {
        number,
        return_address: ReturnAddress::from_bits(first >> 5 & 0b10 | first & 1),
        fault_pending: high & 0x20 != 0,
    }))
}

#[inline]
fn cycle_count_f3(header: u8, params: &Params, state: &TraceState) -> CycleCount {
    let commit = params.cycle_counts_commit.then_some(i64::from(header >> 2 & 3) + 1);
    let cycles = state.cycle_threshold().wrapping_add(u32::from(header & 3));
    CycleCount { format: 3, commit, cycles: Some(cycles) }
}

#[inline]
fn cycle_count_f2(
    p: &mut Payload<'_>,
    header: u8,
    params: &Params,
    state: &TraceState,
) -> Result<CycleCount> {
    let byte = p.byte()?;
    let commit = match (params.cycle_counts_commit, header & 1) {
        (false, _) => None,
        (true, 0) => Some(i64::from(byte >> 4) + 1),
        // Counted back from the maximum speculation depth.
        (true, _) => Some(i64::from(byte >> 4) + i64::from(params.max_spec) - 15),
    };
    let cycles = state.cycle_threshold().wrapping_add(u32::from(byte & 0xf));
    Ok(CycleCount { format: 2, commit, cycles: Some(cycles) })
}

#[inline]
fn cycle_count_f1(
    p: &mut Payload<'_>,
    header: u8,
    params: &Params,
    state: &TraceState,
) -> Result<CycleCount> {
    let commit = if params.cycle_counts_commit { Some(p.continued(MAX_CONTINUED)?.into()) } else { None };
    let cycles = match header & 1 {
        0 => Some(state.cycle_threshold().wrapping_add(p.continued(MAX_COUNT)?)),
        _ => None,
    };
    Ok(CycleCount { format: 1, commit, cycles })
}

/// Returns the atoms of Mispredict and Cancel format 2 packets.
fn resolved_atoms(header: u8) -> Atoms {
    match header & 3 {
        0 => Atoms::NONE,
        1 => Atoms::one(true),
        2 => Atoms { bits: 0b11, count: 2 },
        _ => Atoms::one(false),
    }
}

fn conditional_result_f1(p: &mut Payload<'_>, header: u8) -> Result<Packet> {
    let mut result = |ci| {
        let byte = p.byte()?;
        let low = u32::from(byte >> 4 & 7);
        let high = if byte & 0x80 != 0 { p.continued(MAX_CONTINUED)? } else { 0 };
        let key = high.checked_mul(8).ok_or_else(|| p.bad())? | low;
        Ok(KeyedResult { key, result: byte & 0xf, ci })
    };
    let first = result(header & 1 == 1)?;
    let second = if header & 4 == 0 { Some(result(header & 2 == 2)?) } else { None };
    Ok(Packet::ConditionalResult(ConditionalResult::F1(first, second)))
}

fn context(p: &mut Payload<'_>, params: &Params) -> Result<Context> {
    let mut info = p.byte()?;
    // A flag for an ID that this trace unit does not have is ignored.
    if params.vmid_bytes == 0 {
        info &= !Context::VMID;
    }
    if params.context_id_bytes == 0 {
        info &= !Context::CONTEXT_ID;
    }
    let vmid = if info & Context::VMID != 0 { p.value(params.vmid_bytes)? } else { 0 };
    let context_id = if info & Context::CONTEXT_ID != 0 { p.value(params.context_id_bytes)? } else { 0 };
    Ok(Context { info, vmid, context_id })
}

fn address_context(
    p: &mut Payload<'_>,
    params: &Params,
    state: &mut TraceState,
    long: fn(&mut Payload<'_>, InstructionSet) -> Result<Low>,
    is: InstructionSet,
) -> Result<Packet> {
    let low = long(p, is)?;
    let context = context(p, params)?;
    // The address comes first: it is relative to the state before the context.
    let address = low.apply(state);
    state.context(&context);
    Ok(Packet::AddressContext(address, context))
}

/// Reads a Q packet (section "Q instruction trace packet"). TYPE selects what follows, the address always first.
fn q(p: &mut Payload<'_>, header: u8, state: &mut TraceState) -> Result<Packet> {
    let low = match header & 0xf {
        0x5 => Some(short(p, Is0)?),
        0x6 => Some(short(p, Is1)?),
        0xa => Some(long32(p, Is0)?),
        0xb => Some(long32(p, Is1)?),
        _ => None,
    };
    let count = if header & 0xf == 0xf { None } else { Some(p.continued(MAX_CONTINUED)?) };
    let address = match header & 0xf {
        entry @ 0x0..=0x2 => Some(state.exact(entry)),
        _ => low.map(|low| low.apply(state)),
    };
    Ok(Packet::Q(Q { address, count }))
}

/// The low bits of an address, before the history has filled in the rest.
struct Low {
    bits: u64,
    is: InstructionSet,
    form: AddressForm,
}

impl Low {
    #[inline]
    fn apply(self, state: &mut TraceState) -> Address {
        state.partial(self.bits, self.is, self.form)
    }
}

#[inline]
fn short(p: &mut Payload<'_>, is: InstructionSet) -> Result<Low> {
    let first = p.byte()?;
    let mut bits = u64::from(first & 0x7f);
    let mut form = AddressForm::Short7;
    if first & 0x80 != 0 {
        bits |= u64::from(p.byte()?) << 7;
        form = AddressForm::Short15;
    }
    Ok(Low { bits: bits << is.alignment_bits(), is, form })
}

#[inline]
fn long32(p: &mut Payload<'_>, is: InstructionSet) -> Result<Low> {
    let bits = long_low(p.array()?, is);
    Ok(Low { bits: bits.into(), is, form: AddressForm::Long32 })
}

#[inline]
fn long64(p: &mut Payload<'_>, is: InstructionSet) -> Result<Low> {
    let low = long_low(p.array()?, is);
    let high = u32::from_le_bytes(p.array()?);
    Ok(Low { bits: u64::from(high) << 32 | u64::from(low), is, form: AddressForm::Long64 })
}

/// Returns address bits 31:0 of a long address. The first bytes have seven bits each (with IS1, only the first).
/// Whole bytes from bit 16 on follow.
#[inline]
fn long_low(bytes: [u8; 4], is: InstructionSet) -> u32 {
    let [b0, b1, ..] = bytes.map(u32::from);
    let upper = u32::from_le_bytes(bytes) & 0xffff_0000;
    match is {
        Is0 => upper | (b0 & 0x7f) << 2 | (b1 & 0x7f) << 9,
        Is1 => upper | (b0 & 0x7f) << 1 | b1 << 8,
    }
}
