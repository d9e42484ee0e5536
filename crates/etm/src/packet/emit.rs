//! Emitting of packets as bytes: the reverse of reading.
//!
//! Two laws relate the two: reading what was emitted gives the same packet, and emitting what was read gives the same
//! bytes if they were canonical. These bytes can be read, but are not canonical:
//!
//! * continuation fields with redundant zero groups,
//! * a Trace Info control byte with extensions or undefined bits,
//! * an exception number below 32 without P in the three-byte form,
//! * undefined bits in exception, instrumentation, context, conditional and short Q payloads,
//! * cycle count bits that TRCIDR0.COMMOPT or TRCIDR2.CCSIZE make meaningless,
//! * Cycle Count format 2 that counts back from MAXSPEC where counting up is possible,
//! * ID flags in a context for IDs that do not exist according to TRCIDR2.

use core::{fmt, ops::Deref};

use super::state::low_mask;
use super::{
    ASYNC, Address, AddressForm, Atoms, ConditionalInstruction, ConditionalResult, Context, CycleCount,
    Exception, InstructionSet, KeyedResult, MAX_PACKET, Packet, Q, Timestamp, TraceInfo, TraceState,
};
use crate::Params;

/// An error: the packet cannot be emitted in this configuration, at this point of the stream, or at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError {
    /// The configuration has no such packet.
    NotInConfiguration,
    /// The address cannot be expressed in its form with the current address history.
    AddressForm,
    /// The timestamp cannot be expressed in its number of bytes with the current timestamp.
    TimestampBytes,
    /// A field's value is out of range.
    Value,
    /// The packet stands for bytes that are not a packet.
    NotAPacket,
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInConfiguration => "the trace unit's configuration has no such packet",
            Self::AddressForm => "the address cannot be encoded in this form after the addresses before it",
            Self::TimestampBytes => "the timestamp cannot be encoded in so few bytes after the one before it",
            Self::Value => "a field's value is out of range",
            Self::NotAPacket => "this stands for unreadable bytes, not for a packet",
        })
    }
}

impl core::error::Error for EmitError {}

/// The bytes of one packet.
#[derive(Clone, Copy)]
pub struct PacketBytes {
    bytes: [u8; MAX_PACKET],
    len: usize,
}

impl PacketBytes {
    fn new(header: u8) -> Self {
        let mut bytes = [0; MAX_PACKET];
        bytes[0] = header;
        Self { bytes, len: 1 }
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn extend(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.push(byte));
    }

    /// Appends a value in as few continuation bytes as possible.
    fn continued(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }
}

impl Deref for PacketBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Debug for PacketBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// An emitter of packets. It keeps the compression registers that the parser mirrors.
#[derive(Clone, Debug)]
pub struct Emitter {
    pub(crate) params: Params,
    state: TraceState,
}

impl Emitter {
    /// Creates an emitter at the start of a stream.
    pub fn new(params: Params) -> Self {
        Self { params, state: TraceState::default() }
    }

    /// Returns the compression registers, for the shortest form of the next address or timestamp.
    pub fn trace_state(&self) -> &TraceState {
        &self.state
    }

    /// Returns the bytes of the packet, and updates the compression registers.
    ///
    /// # Errors
    /// If the packet cannot be emitted here. Nothing is changed then.
    pub fn emit(&mut self, packet: &Packet) -> Result<PacketBytes, EmitError> {
        let bytes = self.bytes(packet)?;
        let header_kind = self.params.kind(bytes[0]);
        if header_kind.is_error() {
            return Err(EmitError::NotInConfiguration);
        }
        self.update(packet);
        Ok(bytes)
    }

    /// Returns the bytes of an Address packet in its shortest form, and updates the compression registers. The result
    /// is that of [`emit`](Self::emit), but faster.
    ///
    /// # Errors
    /// If no instruction can be at the address.
    #[inline]
    pub fn emit_address(&mut self, value: u64, is: InstructionSet) -> Result<PacketBytes, EmitError> {
        if value & ((1 << is.alignment_bits()) - 1) != 0 {
            return Err(EmitError::AddressForm);
        }
        let address = self.state.shortest(value, is);
        let mut out = PacketBytes::new(address_header(ADDRESS, &address));
        address_payload(&mut out, &address);
        self.state.push(value | is as u64);
        Ok(out)
    }

    /// Updates the compression registers for the packet.
    fn update(&mut self, packet: &Packet) {
        match packet {
            Packet::TraceInfo(info) => self.state.trace_info(info),
            Packet::Timestamp(timestamp) => {
                self.state.update_timestamp(timestamp.value, timestamp.bytes);
            }
            Packet::PeReset | Packet::TransactionFailure => self.state.push_zero(),
            _ => {}
        }
        if let Some(Address { value, is, form }) = packet.address() {
            match form.exact_entry() {
                Some(entry) => self.state.exact(entry),
                None => self.state.partial(value & low_mask(form.bits(is)), is, form),
            };
        }
        if let Packet::Context(context) | Packet::AddressContext(_, context) = packet {
            self.state.context(context);
        }
    }

    fn bytes(&self, packet: &Packet) -> Result<PacketBytes, EmitError> {
        let one = |header| Ok(PacketBytes::new(header));
        match *packet {
            Packet::Async => {
                let mut out = PacketBytes::new(ASYNC[0]);
                out.extend(&ASYNC[1..]);
                Ok(out)
            }
            Packet::Discard => Ok(extension(0x03)),
            Packet::Overflow => Ok(extension(0x05)),
            Packet::TraceInfo(info) => trace_info(info),
            Packet::Timestamp(timestamp) => self.timestamp(timestamp),
            Packet::TraceOn => one(0x04),
            Packet::FunctionReturn => one(0x05),
            Packet::Exception(exception) => self.exception(exception),
            Packet::PeReset => self.ete_exception(0x01),
            Packet::TransactionFailure => self.ete_exception(0x31),
            Packet::ExceptionReturn => one(0x07),
            Packet::Instrumentation { el, value } => {
                let mut out = PacketBytes::new(0x09);
                out.push(in_range(el, 0..=3)?);
                out.extend(&value.to_le_bytes());
                Ok(out)
            }
            Packet::TransactionStart => one(0x0a),
            Packet::TransactionCommit => one(0x0b),
            Packet::CycleCount(count) => self.cycle_count(count),
            Packet::NumberedDataSync(number) => one(0x20 | in_range(number, 0..=7)?),
            Packet::UnnumberedDataSync(number) => one(0x28 | in_range(number, 0..=4)?),
            Packet::Commit(count) => Ok(counted(0x2d, count)),
            Packet::CancelF1 { count, mispredict } => Ok(counted(0x2e | u8::from(mispredict), count)),
            Packet::Mispredict(atoms) => one(0x30 | resolved_atoms(atoms)?),
            Packet::CancelF2(atoms) => one(0x34 | resolved_atoms(atoms)?),
            Packet::CancelF3 { atom, count } => {
                one(0x38 | (in_range(count, 2..=5)? - 2) << 1 | u8::from(atom))
            }
            Packet::ConditionalInstruction(instruction) => conditional_instruction(instruction),
            Packet::ConditionalFlush => one(0x43),
            Packet::ConditionalResult(result) => conditional_result(result),
            Packet::Ignore => one(0x70),
            Packet::Event(events) => one(0x70 | in_range(events, 1..=15)?),
            Packet::ContextSame => one(0x80),
            Packet::Context(context) => {
                let mut out = PacketBytes::new(0x81);
                self.context(&mut out, context)?;
                Ok(out)
            }
            Packet::AddressContext(address, context) => {
                let header = match address.form {
                    AddressForm::Long32 => 0x82,
                    AddressForm::Long64 => 0x85,
                    _ => return Err(EmitError::AddressForm),
                };
                let mut out = PacketBytes::new(header + address.is as u8);
                self.address(&mut out, address)?;
                self.context(&mut out, context)?;
                Ok(out)
            }
            Packet::TimestampMarker => one(0x88),
            Packet::Address(address) => self.with_address(ADDRESS, address),
            Packet::Q(q) => self.q(q),
            Packet::SourceAddress(address) => self.with_address([0xb0, 0xb4, 0xb6, 0xb8], address),
            Packet::Atom(atoms) => one(atoms.header().ok_or(EmitError::Value)?),
            Packet::NotSync { .. }
            | Packet::Reserved { .. }
            | Packet::ReservedForConfig { .. }
            | Packet::Malformed { .. }
            | Packet::Incomplete { .. } => Err(EmitError::NotAPacket),
        }
    }

    fn timestamp(&self, timestamp: Timestamp) -> Result<PacketBytes, EmitError> {
        let Timestamp { value, bytes, cycles } = timestamp;
        if !self.state.can_say_timestamp(value, bytes) {
            return Err(EmitError::TimestampBytes);
        }
        let mut out = PacketBytes::new(0x02 | u8::from(cycles.is_some()));
        for i in 0..bytes {
            let group = (value >> (7 * i)) as u8;
            out.push(match i {
                8 => group,
                _ if i + 1 == bytes => group & 0x7f,
                _ => group | 0x80,
            });
        }
        if let Some(cycles) = cycles {
            if cycles & !self.params.cycle_mask != 0 {
                return Err(EmitError::Value);
            }
            out.continued(cycles);
        }
        Ok(out)
    }

    fn exception(&self, exception: Exception) -> Result<PacketBytes, EmitError> {
        let Exception { number, return_address, fault_pending } = exception;
        // In an ETE, these two numbers have packets of their own.
        let own_packet = self.params.is_ete() && (number == 0x00 || number == 0x18);
        if number > 0x3ff || own_packet {
            return Err(EmitError::Value);
        }
        let ee = return_address as u8;
        let extended = number > 0x1f || fault_pending;
        let first = u8::from(extended) << 7 | (ee & 0b10) << 5 | (number as u8 & 0x1f) << 1 | ee & 1;
        let mut out = PacketBytes::new(0x06);
        out.push(first);
        if extended {
            out.push(u8::from(fault_pending) << 5 | (number >> 5) as u8);
        }
        Ok(out)
    }

    fn ete_exception(&self, payload: u8) -> Result<PacketBytes, EmitError> {
        if !self.params.is_ete() {
            return Err(EmitError::NotInConfiguration);
        }
        let mut out = PacketBytes::new(0x06);
        out.extend(&[payload, 0x70]);
        Ok(out)
    }

    fn cycle_count(&self, count: CycleCount) -> Result<PacketBytes, EmitError> {
        let CycleCount { format, commit, cycles } = count;
        if commit.is_some() != self.params.cycle_counts_commit {
            return Err(EmitError::NotInConfiguration);
        }
        let above = cycles.map(|cycles| cycles.wrapping_sub(self.state.cycle_threshold()));
        match (format, above) {
            (1, _) => {
                let mut out = PacketBytes::new(0x0e | u8::from(above.is_none()));
                if let Some(commit) = commit {
                    out.continued(commit.try_into().map_err(|_| EmitError::Value)?);
                }
                above.into_iter().for_each(|above| out.continued(above));
                if above.unwrap_or(0) >= 1 << 20 { Err(EmitError::Value) } else { Ok(out) }
            }
            (2, Some(above @ 0..=15)) => {
                // Without commits, hardware counts back from a depth of zero.
                let commit = commit.unwrap_or(0);
                let back = commit - i64::from(self.params.max_spec) + 15;
                let (header, nibble) = match commit {
                    1..=16 => (0x0c, commit - 1),
                    _ if !self.params.cycle_counts_commit => (0x0d, 15),
                    _ if (0..=15).contains(&back) => (0x0d, back),
                    _ => return Err(EmitError::Value),
                };
                let mut out = PacketBytes::new(header);
                out.push((nibble as u8) << 4 | above as u8);
                Ok(out)
            }
            (3, Some(above @ 0..=3)) => match commit.unwrap_or(1) {
                commit @ 1..=4 => Ok(PacketBytes::new(0x10 | (commit as u8 - 1) << 2 | above as u8)),
                _ => Err(EmitError::Value),
            },
            _ => Err(EmitError::Value),
        }
    }

    fn context(&self, out: &mut PacketBytes, context: Context) -> Result<(), EmitError> {
        out.push(context.info);
        for (id, len) in
            [(context.vmid(), self.params.vmid_bytes), (context.context_id(), self.params.context_id_bytes)]
        {
            let Some(id) = id else { continue };
            if len == 0 || u64::from(id) >> (8 * len) != 0 {
                return Err(EmitError::Value);
            }
            out.extend(&id.to_le_bytes()[..usize::from(len)]);
        }
        Ok(())
    }

    /// Returns an address packet, given the headers of its forms.
    fn with_address(&self, headers: [u8; 4], address: Address) -> Result<PacketBytes, EmitError> {
        let mut out = PacketBytes::new(address_header(headers, &address));
        self.address(&mut out, address)?;
        Ok(out)
    }

    fn address(&self, out: &mut PacketBytes, address: Address) -> Result<(), EmitError> {
        if !self.state.can_say(&address) {
            return Err(EmitError::AddressForm);
        }
        address_payload(out, &address);
        Ok(())
    }

    fn q(&self, q: Q) -> Result<PacketBytes, EmitError> {
        let mut out = match q {
            Q { address: None, count: None } => return Ok(PacketBytes::new(0xaf)),
            Q { address: Some(_), count: None } => return Err(EmitError::Value),
            Q { address: None, .. } => PacketBytes::new(0xac),
            Q { address: Some(Address { form: AddressForm::Long64, .. }), .. } => {
                return Err(EmitError::AddressForm);
            }
            Q { address: Some(address), .. } => self.with_address([0xa0, 0xa5, 0xaa, 0xaa], address)?,
        };
        q.count.into_iter().for_each(|count| out.continued(count));
        Ok(out)
    }
}

/// Headers of Address packets: exact, short, 32-bit and 64-bit forms.
const ADDRESS: [u8; 4] = [0x90, 0x95, 0x9a, 0x9d];

#[inline]
fn address_header(headers: [u8; 4], address: &Address) -> u8 {
    let is = address.is as u8;
    match address.form {
        AddressForm::Exact0 => headers[0],
        AddressForm::Exact1 => headers[0] + 1,
        AddressForm::Exact2 => headers[0] + 2,
        AddressForm::Short7 | AddressForm::Short15 => headers[1] + is,
        AddressForm::Long32 => headers[2] + is,
        AddressForm::Long64 => headers[3] + is,
    }
}

#[inline]
fn address_payload(out: &mut PacketBytes, address: &Address) {
    let value = address.value;
    let first = (value >> address.is.alignment_bits()) as u8;
    let second = match address.is {
        InstructionSet::Is0 => (value >> 9) as u8,
        InstructionSet::Is1 => (value >> 8) as u8,
    };
    match address.form {
        AddressForm::Exact0 | AddressForm::Exact1 | AddressForm::Exact2 => {}
        AddressForm::Short7 => out.push(first & 0x7f),
        AddressForm::Short15 => out.extend(&[first | 0x80, second]),
        AddressForm::Long32 | AddressForm::Long64 => {
            let second = if address.is == InstructionSet::Is0 { second & 0x7f } else { second };
            out.extend(&[first & 0x7f, second]);
            out.extend(&value.to_le_bytes()[2..address.form.payload_len()]);
        }
    }
}

fn extension(second: u8) -> PacketBytes {
    let mut out = PacketBytes::new(0x00);
    out.push(second);
    out
}

fn trace_info(mut info: TraceInfo) -> Result<PacketBytes, EmitError> {
    let plctl = info.plctl;
    if plctl & !0x1f != 0 {
        return Err(EmitError::Value);
    }
    let mut out = PacketBytes::new(0x01);
    out.push(plctl);
    for (bit, section) in info.sections_mut() {
        if plctl & bit != 0 {
            out.continued(*section);
        } else if *section != 0 {
            return Err(EmitError::Value);
        }
    }
    Ok(out)
}

fn counted(header: u8, count: u32) -> PacketBytes {
    let mut out = PacketBytes::new(header);
    out.continued(count);
    out
}

fn resolved_atoms(atoms: Atoms) -> Result<u8, EmitError> {
    match (atoms.count, atoms.bits) {
        (0, _) => Ok(0),
        (1, 1) => Ok(1),
        (2, 0b11) => Ok(2),
        (1, 0) => Ok(3),
        _ => Err(EmitError::Value),
    }
}

fn conditional_instruction(instruction: ConditionalInstruction) -> Result<PacketBytes, EmitError> {
    match instruction {
        ConditionalInstruction::F1 { key } => Ok(counted(0x6c, key)),
        ConditionalInstruction::F2(ci) => Ok(PacketBytes::new(0x40 | in_range(ci, 0..=2)?)),
        ConditionalInstruction::F3 { increments, same_key } => {
            let mut out = PacketBytes::new(0x6d);
            out.push(in_range(increments, 0..=0x3f)? << 1 | u8::from(same_key));
            Ok(out)
        }
    }
}

fn conditional_result(result: ConditionalResult) -> Result<PacketBytes, EmitError> {
    match result {
        ConditionalResult::F1(first, second) => {
            let ci = u8::from(first.ci) | u8::from(second.is_some_and(|second| second.ci)) << 1;
            let mut out = PacketBytes::new(if second.is_some() { 0x68 | ci } else { 0x6e | ci });
            for KeyedResult { key, result, .. } in [Some(first), second].into_iter().flatten() {
                let more = if key > 7 { 0x80 } else { 0 };
                out.push(in_range(result, 0..=15)? | (key as u8 & 7) << 4 | more);
                if key > 7 {
                    out.continued(key >> 3);
                }
            }
            Ok(out)
        }
        ConditionalResult::F2 { increment, token } => {
            Ok(PacketBytes::new(0x48 | (in_range(increment, 1..=2)? - 1) << 2 | in_range(token, 0..=2)?))
        }
        ConditionalResult::F3 { tokens } if tokens <= 0xfff => {
            let mut out = PacketBytes::new(0x50 | (tokens >> 8) as u8);
            out.push(tokens as u8);
            Ok(out)
        }
        ConditionalResult::F3 { .. } => Err(EmitError::Value),
        ConditionalResult::F4 { token } => Ok(PacketBytes::new(0x44 | in_range(token, 0..=2)?)),
    }
}

fn in_range(value: u8, range: core::ops::RangeInclusive<u8>) -> Result<u8, EmitError> {
    if range.contains(&value) { Ok(value) } else { Err(EmitError::Value) }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use tracewright_testkit::Rng;

    use super::*;
    use crate::Registers;

    /// The shortest form is the first one that is possible, and the fast path gives the same bytes.
    #[test]
    fn addresses_are_said_in_their_shortest_form() {
        use AddressForm::{Exact0, Exact1, Exact2, Long32, Long64, Short7, Short15};
        let forms = [Exact0, Exact1, Exact2, Short7, Short15, Long32, Long64];
        let mut rng = Rng::new(1);
        let params = Params::new(&Registers::default()).unwrap();
        let (mut fast, mut slow) = (Emitter::new(params.clone()), Emitter::new(params));
        let (mut last, mut seen) = (0u64, [false; 7]);
        for _ in 0..20_000 {
            if rng.one_in(50) {
                let context =
                    Packet::Context(Context::new(0, rng.one_in(2), crate::packet::Security::NonSecure));
                assert_eq!(fast.emit(&context).unwrap()[..], slow.emit(&context).unwrap()[..]);
            }
            let is = *rng.pick(&[InstructionSet::Is0, InstructionSet::Is1]);
            last = if rng.one_in(3) { slow.trace_state().history(rng.below(3) as usize).0 } else { last };
            last ^= if rng.one_in(3) { 0 } else { rng.sized(64) };
            let value = last & !low_mask(is.alignment_bits());
            let address = forms.into_iter().map(|form| Address { value, is, form });
            let address = address.into_iter().find(|address| slow.trace_state().can_say(address)).unwrap();
            assert_eq!(slow.trace_state().shortest(value, is), address);
            seen[address.form as usize] = true;
            let bytes = slow.emit(&Packet::Address(address)).unwrap();
            assert_eq!(fast.emit_address(value, is).unwrap()[..], bytes[..]);
            assert_eq!(fast.trace_state(), slow.trace_state());
        }
        assert_eq!(seen, [true; 7]);
        assert_eq!(fast.emit_address(2, InstructionSet::Is0).unwrap_err(), EmitError::AddressForm);
    }
}
