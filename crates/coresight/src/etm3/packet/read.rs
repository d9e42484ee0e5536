//! Reading of one packet from the start of bytes.

use super::types::{Address, Atoms, Branch, DataAddress, ISync, Packet, Reason, Timestamp};
use super::{ExceptionBytes, InstructionState, Kind, MAX_PACKET, TraceState, ZEROS};
use crate::etm3::Params;
use crate::shared::address::{AddressBytes, Encoding, NoAddress};
use crate::shared::timestamp::{TimestampBytes, Width};

type Stop = tracewright_core::stream::Stop<Packet>;
type Result<T> = core::result::Result<T, Stop>;

/// Returns the kind of packet that a header begins; `None` if it begins none in any mode.
pub(super) fn kind_of(header: u8) -> Option<Kind> {
    Some(match header {
        header if header & 1 == 1 => Kind::Branch,
        header if header & 0x81 == 0x80 => Kind::Atoms,
        0x00 => Kind::Async,
        0x04 => Kind::CycleCount,
        0x08 => Kind::ISync,
        0x0c => Kind::Trigger,
        0x3c => Kind::Vmid,
        0x50 => Kind::StoreFailed,
        0x70 => Kind::ISyncCycles,
        header if header & 0x93 == 0x00 => Kind::OutOfOrder,
        header if header & 0xd3 == 0x50 => Kind::Placeholder,
        header if header & 0xd3 == 0x02 => Kind::Data,
        0x42 | 0x46 => Kind::Timestamp,
        0x62 => Kind::DataSuppressed,
        0x66 => Kind::Ignore,
        0x6a | 0x7a => Kind::ValueNotTraced,
        0x6e => Kind::ContextId,
        0x76 => Kind::ExceptionReturn,
        0x7e => Kind::ExceptionEntry,
        _ => return None,
    })
}

/// The bytes of a packet, read from the front.
struct Payload<'a> {
    bytes: &'a [u8],
    read: usize,
}

impl Payload<'_> {
    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.read).ok_or(Stop::More)?;
        self.read += 1;
        Ok(byte)
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.read..]
    }

    /// Reads a little-endian value of `len` bytes, at most four.
    #[inline]
    fn value(&mut self, len: u8) -> Result<u32> {
        if let (Some(four), 1..) = (self.bytes.get(self.read..).and_then(<[u8]>::first_chunk), len) {
            self.read += usize::from(len);
            return Ok(u32::from_le_bytes(*four) & u32::MAX >> (32 - 8 * u32::from(len)));
        }
        (0..len).try_fold(0, |value, index| Ok(value | u32::from(self.byte()?) << (8 * index)))
    }

    /// Reads a cycle count: seven bits a byte, in up to five bytes, of which the last has four.
    fn cycles(&mut self) -> Result<u32> {
        let mut value = 0;
        for index in 0..5 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value as u32)
    }

    fn bad(&self, kind: Kind) -> Stop {
        Stop::Bad(Packet::Malformed { kind }, self.read)
    }

    /// Reads an address and its exception bytes.
    fn address(
        &mut self,
        kind: Kind,
        encoding: Encoding,
    ) -> Result<(AddressBytes, Option<ExceptionBytes>, bool)> {
        let rest = self.rest();
        // The fifth byte alone can tell an exception of A32.
        if encoding == Encoding::Original
            && let &[first, second, third, fourth, fifth, ..] = rest
            && first & second & third & fourth & fifth & 0x80 != 0
        {
            let told = [first, second, third, fourth, 0x08 | fifth & 7];
            let Ok((address, len)) = AddressBytes::read(&told, encoding) else { return Err(self.bad(kind)) };
            self.read += len;
            let exception = ExceptionBytes {
                number: deprecated_number(fifth >> 3 & 7),
                cancel: fifth & 0x40 != 0,
                ..ExceptionBytes::default()
            };
            return Ok((address, Some(exception), true));
        }
        let in_word = rest
            .first_chunk()
            .and_then(|bytes| AddressBytes::in_long_word(u64::from_le_bytes(*bytes), encoding));
        let (address, len) = match in_word.map_or_else(|| AddressBytes::read(rest, encoding), Ok) {
            Ok(found) => found,
            Err(NoAddress::More) => return Err(Stop::More),
            Err(NoAddress::Bad(len)) => {
                self.read += len;
                return Err(self.bad(kind));
            }
        };
        self.read += len;
        let mut exception = None;
        if address.exception {
            let (bytes, len) = ExceptionBytes::read(self.rest()).ok_or(Stop::More)?;
            self.read += len;
            exception = Some(bytes);
        }
        Ok((address, exception, false))
    }

    /// Reads a data address: seven bits a byte, in up to five bytes, of which the last has four and the endianness.
    fn data_address(&mut self, state: &mut TraceState) -> Result<DataAddress> {
        let (mut bits, mut told, mut big_endian) = (0, 0, None);
        for index in 0..5 {
            let byte = self.byte()?;
            if index == 4 {
                bits |= u32::from(byte & 0xf) << 28;
                (told, big_endian) = (32, Some(byte & 0x10 != 0));
                break;
            }
            bits |= u32::from(byte & 0x7f) << (7 * index);
            told += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (previous, known) = state.data;
        let mask = if told >= 32 { u32::MAX } else { (1 << told) - 1 };
        state.data = (previous & !mask | bits, known.max(told));
        Ok(DataAddress { value: state.data.0, told, known: state.data.1, big_endian })
    }
}

/// Returns the number of an exception that a fifth byte alone tells.
const fn deprecated_number(bits: u8) -> u16 {
    match bits {
        0 => 8,
        1 => 0xe,
        4 => 5,
        5 => 0xf,
        6 => 4,
        7 => 1,
        _ => 6,
    }
}

/// Returns the bits of a fifth byte for an exception, if it can tell it.
pub(super) const fn deprecated_bits(number: u16) -> Option<u8> {
    Some(match number {
        8 => 0,
        0xe => 1,
        6 => 2,
        5 => 4,
        0xf => 5,
        4 => 6,
        1 => 7,
        _ => return None,
    })
}

/// Puts what an address packet tells into its place.
fn apply(bytes: &AddressBytes, (previous, known): (u32, u8), before: InstructionState) -> Address {
    let (value, state) = bytes.apply(previous, before);
    let told = bytes.told(state);
    Address { value, told, known: known.max(told), state }
}

/// Reads the packet at the start of `bytes`, which are not empty. Returns it and the number of its bytes. `strict`: an A-Sync has five
/// zeros and no more. The state changes only if a whole packet was read.
pub(super) fn read(
    bytes: &[u8],
    params: &Params,
    strict: bool,
    state: &mut TraceState,
) -> Result<(Packet, usize)> {
    let header = bytes[0];
    if let 0x08 | 0x70 = header
        && let Some((sync, len)) = bytes.first_chunk().and_then(|bytes| i_sync_in(bytes, params, state))
    {
        return Ok((Packet::ISync(sync), len));
    }
    let Some(kind) = kind_of(header) else { return Err(Stop::Bad(Packet::Reserved { header }, 1)) };
    let exists = match kind {
        Kind::OutOfOrder | Kind::StoreFailed => params.data_values(),
        Kind::Placeholder | Kind::Data | Kind::DataSuppressed | Kind::ValueNotTraced => params.data(),
        _ => true,
    };
    if !exists {
        return Err(Stop::Bad(Packet::ReservedForMode { kind }, 1));
    }
    let mut payload = Payload { bytes, read: 1 };
    let mut next = *state;
    let size = match header >> 2 & 3 {
        3 => 4,
        size => size,
    };
    // Bit 5 says so, whether addresses are traced or not. For a value that was not traced it is bit 4.
    let first = if kind == Kind::ValueNotTraced { header & 0x10 != 0 } else { header & 0x20 != 0 };
    let address = |payload: &mut Payload<'_>, next: &mut TraceState| {
        (first && params.data_addresses()).then(|| payload.data_address(next)).transpose()
    };
    let packet = match kind {
        Kind::Async => {
            let zeros = bytes.iter().take(MAX_PACKET).take_while(|&&byte| byte == 0).count();
            let most = if strict { ZEROS } else { MAX_PACKET - 1 };
            if zeros > most {
                return Err(Stop::Bad(Packet::Malformed { kind }, 1));
            }
            payload.read = zeros;
            match bytes.get(zeros) {
                None => return Err(Stop::More),
                Some(0x80) if zeros >= ZEROS => payload.read += 1,
                Some(0x80) if !strict => {
                    payload.read += 1;
                    return Err(payload.bad(kind));
                }
                Some(_) => return Err(payload.bad(kind)),
            }
            Packet::Async
        }
        Kind::CycleCount => Packet::CycleCount(payload.cycles()?),
        Kind::ISync | Kind::ISyncCycles => {
            let cycles = (kind == Kind::ISyncCycles).then(|| payload.cycles()).transpose()?;
            let sync = i_sync(&mut payload, kind, cycles, params, &mut next)?;
            Packet::ISync(sync)
        }
        Kind::Trigger => Packet::Trigger,
        Kind::Atoms => match Atoms::of_header(header, params.cycle_accurate()) {
            Some(atoms) => Packet::Atoms(atoms),
            None => return Err(Stop::Bad(Packet::Reserved { header }, 1)),
        },
        Kind::Branch => {
            payload.read = 0;
            let (bytes, exception, deprecated) = payload.address(kind, params.encoding)?;
            let address = apply(&bytes, next.address, next.instruction_state());
            next.address = (address.value, address.known);
            let new_state = bytes.state.is_some() && next.state != Some(address.state);
            if bytes.state.is_some() {
                next.state = Some(address.state);
            }
            Packet::Branch(Branch { address, new_state, exception, deprecated })
        }
        Kind::OutOfOrder => {
            let value = payload.value(size)?;
            Packet::OutOfOrder { tag: header >> 5 & 3, size, value }
        }
        Kind::Placeholder => {
            let address = address(&mut payload, &mut next)?;
            Packet::Placeholder { tag: header >> 2 & 3, first, address }
        }
        Kind::StoreFailed => Packet::StoreFailed,
        Kind::Data => {
            let address = address(&mut payload, &mut next)?;
            let value = payload.value(size)?;
            Packet::Data { first, address, size, value }
        }
        Kind::DataSuppressed => Packet::DataSuppressed,
        Kind::ValueNotTraced => Packet::ValueNotTraced { first, address: address(&mut payload, &mut next)? },
        Kind::Vmid => Packet::Vmid(payload.byte()?),
        Kind::ContextId => Packet::ContextId(payload.value(params.context_id_bytes)?),
        Kind::Timestamp => {
            let (bytes, len) =
                TimestampBytes::read(payload.rest(), params.timestamp_width).ok_or(Stop::More)?;
            payload.read += len;
            let (previous, known) = next.timestamp;
            next.timestamp = (bytes.apply(previous), known.max(bytes.told));
            Packet::Timestamp(Timestamp {
                value: next.timestamp.0,
                told: bytes.told,
                known: next.timestamp.1,
                clock_changed: header & 4 != 0,
            })
        }
        Kind::Ignore => Packet::Ignore,
        Kind::ExceptionReturn => Packet::ExceptionReturn,
        Kind::ExceptionEntry => Packet::ExceptionEntry,
        Kind::NotSync | Kind::Reserved | Kind::ReservedForMode | Kind::Malformed | Kind::Incomplete => {
            return Err(Stop::Bad(Packet::Reserved { header }, 1));
        }
    };
    *state = next;
    Ok((packet, payload.read))
}

/// Reads the I-Sync at the start of these bytes, and its length, as [`read`] does. Returns `None` for what is rare: cycle counts of more
/// than two bytes, accesses under way, and trace without instructions.
#[inline]
fn i_sync_in(bytes: &[u8; 16], params: &Params, state: &mut TraceState) -> Option<(ISync, usize)> {
    // Eight bytes from one of the first eight.
    let word = |from: usize| bytes[from % 8..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    let (mut len, mut cycles) = (1, None);
    if bytes[0] == 0x70 {
        let (first, second) = (u32::from(bytes[1]), u32::from(bytes[2]));
        let has_second = first >> 7;
        if has_second & second >> 7 == 1 {
            return None;
        }
        cycles = Some(first & 0x7f | (second & 0x7f & has_second.wrapping_neg()) << 7);
        len += 1 + has_second as usize;
    }
    let size = params.context_id_bytes;
    let context_id = (size > 0).then(|| word(len) as u32 & u32::MAX >> (32 - 8 * u32::from(size)));
    len += usize::from(size);
    let word = word(len);
    let (info, value) = (word as u8, (word >> 8) as u32);
    if info & 0x90 != 0 || !params.instructions() {
        return None;
    }
    let (instruction_state, address) =
        if value & 1 != 0 { (InstructionState::Thumb, value & !1) } else { (InstructionState::Arm, value) };
    (state.address, state.state) = ((address, 32), Some(instruction_state));
    let sync = ISync {
        cycles,
        context_id,
        reason: Reason::from_bits(info >> 5),
        non_secure: info & 0x08 != 0,
        hyp: params.has_virtualisation() && info & 0x02 != 0,
        alternative: params.minor() >= 3 && info & 0x04 != 0,
        address: Some(address),
        state: instruction_state,
        current: None,
    };
    Some((sync, len + 5))
}

/// Reads an I-Sync after its header and cycle count.
fn i_sync(
    payload: &mut Payload<'_>,
    kind: Kind,
    cycles: Option<u32>,
    params: &Params,
    next: &mut TraceState,
) -> Result<ISync> {
    let len = params.context_id_bytes;
    let context_id = (len > 0).then(|| payload.value(len)).transpose()?;
    let info = payload.byte()?;
    let mut sync = ISync {
        cycles,
        context_id,
        reason: Reason::from_bits(info >> 5),
        non_secure: info & 0x08 != 0,
        hyp: params.has_virtualisation() && info & 0x02 != 0,
        alternative: params.minor() >= 3 && info & 0x04 != 0,
        address: None,
        state: InstructionState::Arm,
        current: None,
    };
    if !params.instructions() {
        return Ok(sync);
    }
    let value = payload.value(4)?;
    sync.state = match () {
        () if info & 0x10 != 0 => InstructionState::Jazelle,
        () if value & 1 != 0 => InstructionState::Thumb,
        () => InstructionState::Arm,
    };
    // Bit 0 is the T bit, except for bytecodes.
    let address = if sync.state == InstructionState::Jazelle { value } else { value & !1 };
    (sync.address, next.address, next.state) = (Some(address), (address, 32), Some(sync.state));
    if info & 0x80 != 0 {
        let (bytes, _, _) = payload.address(kind, params.encoding)?;
        let current = apply(&bytes, next.address, sync.state);
        (next.address, next.state) = ((current.value, 32), Some(current.state));
        sync.current = Some(current);
    }
    Ok(sync)
}

/// Returns the number of bits of a timestamp.
pub(super) const fn timestamp_bits(width: Width) -> u8 {
    match width {
        Width::Bits48 => 48,
        Width::Bits64 => 64,
    }
}
