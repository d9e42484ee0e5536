//! Accesses to packets.

use tracewright_core::{CsrOp, DataAccess, DataKind};

use super::history::{History, compressed, operands_are_compressed};
use super::types::{Atomic, AtomicKind, Csr, Diff, Packet, Response, Transfer, Value};
use super::{Compression, Dialect, Options, emit};
use crate::Params;
use crate::bits::sign_extended;

/// Encoder from accesses to packets. The first access of each size after a synchronisation is sent whole;
/// later ones as the shortest packet that options and parameters allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoder {
    params: Params,
    options: Options,
    history: History,
    /// Number of the next split access.
    lrid: u8,
}

/// Address to send.
#[derive(Clone, Copy)]
struct Place {
    address: u64,
    aligned: bool,
}

/// Whether the length of data is sent.
#[derive(Clone, Copy)]
enum Length {
    /// Sent; as many bytes as needed.
    Counted,
    /// Not sent; the data is the last field of its packet, which is compressed anyway.
    Last,
}

impl Encoder {
    /// Creates an encoder that runs beside an instruction trace encoder.
    pub fn new(params: &Params, options: Options) -> Self {
        Self { params: params.clone(), options, history: History::new(params.data_dialect), lrid: 0 }
    }

    /// Records that a synchronisation packet (format 3, subformat 0 or 1) was sent.
    pub fn sync(&mut self) {
        if self.params.data_dialect == Dialect::Standard {
            self.history.forget();
        }
    }

    /// Records that a support packet with these options was sent.
    pub fn support(&mut self, options: Options) {
        self.options = options;
        self.history.forget();
    }

    /// Encodes an access, in the order of retirement. Returns `false` if the access is not in the trace,
    /// because the encoder does not support its kind or size ([`tells`](Self::tells)) or a traced field is
    /// missing.
    pub fn access(&mut self, access: &DataAccess, out: &mut impl FnMut(&Packet)) -> bool {
        if !Self::tells(&self.params, &self.options, access.kind, access.size) {
            return false;
        }
        self.packets(access, out).is_some()
    }

    /// Returns whether an encoder with these settings traces accesses of this kind and size.
    pub fn tells(params: &Params, options: &Options, kind: DataKind, size: u8) -> bool {
        let reference = params.data_dialect == Dialect::Reference;
        let narrow = size <= params.data_width / 8;
        match kind {
            DataKind::Load | DataKind::Store => narrow,
            DataKind::Csr(_) => params.dtype_width >= 3,
            DataKind::Atomic(_) => narrow && params.dtype_width >= 4,
            // This kind has no form without an address.
            DataKind::StoreFailed => narrow && params.dtype_width >= 4 && !options.no_address && !reference,
            DataKind::CompareFailed => {
                narrow && params.dtype_width >= 4 && !options.no_address && params.mmacas_ext
            }
        }
    }

    fn packets(&mut self, access: &DataAccess, out: &mut impl FnMut(&Packet)) -> Option<()> {
        let Options { no_address, no_data, .. } = self.options;
        let size = access.size.checked_ilog2()?.min(3) as u8;
        let place = if no_address { None } else { Some(self.place(size, access.address?)) };
        let value = if no_data { None } else { self.value(access) };
        let operand = if no_data { None } else { access.operand };
        let has_values = no_data || value.is_some();
        let split = self.params.split_loads;
        let packet = match access.kind {
            DataKind::Load if split => {
                let data = if no_data { None } else { Some(value?) };
                let lrid = self.next_lrid();
                if place.is_some() {
                    out(&self.transfer(false, size, Some(lrid), place, None));
                }
                data.map(|data| self.response(size, lrid, data))
            }
            DataKind::Load | DataKind::Store if has_values => {
                Some(self.transfer(access.kind == DataKind::Store, size, None, place, value))
            }
            DataKind::Atomic(op) if split && !no_data => {
                let (operand, data) = (Some(operand?), value?);
                let lrid = self.next_lrid();
                out(&self.atomic(AtomicKind::Done(op), size, Some(lrid), place, operand, None));
                Some(self.response(size, lrid, data))
            }
            DataKind::Atomic(op) if has_values && (no_data || operand.is_some()) => {
                Some(self.atomic(AtomicKind::Done(op), size, None, place, operand, value))
            }
            DataKind::StoreFailed => {
                Some(self.atomic(AtomicKind::StoreFailed, size, None, place, None, None))
            }
            DataKind::CompareFailed if no_data || operand.is_some() => {
                Some(self.atomic(AtomicKind::CompareFailed, size, None, place, operand, None))
            }
            DataKind::Csr(op) if has_values => Some(self.csr(op, access.address?, operand, value)?),
            _ => return None,
        };
        packet.iter().for_each(out);
        Some(())
    }

    /// Returns the value that is sent as the data of an access.
    fn value(&self, access: &DataAccess) -> Option<u64> {
        let is_read_only = access.address.is_some_and(|number| number >> 10 == 3);
        match access.kind {
            DataKind::Csr(_) if is_read_only => access.value,
            DataKind::Atomic(_) | DataKind::Csr(_) if self.params.data_dialect == Dialect::Reference => {
                access.stored()
            }
            DataKind::Atomic(_) | DataKind::Csr(_) if access.after => None,
            _ => access.value,
        }
    }

    fn transfer(
        &mut self,
        store: bool,
        size: u8,
        lrid: Option<u8>,
        place: Option<Place>,
        value: Option<u64>,
    ) -> Packet {
        let length = if place.is_some() { Length::Counted } else { Length::Last };
        let base = self.history.value(size);
        let packet = self.shortest(size, place, value.is_some(), |me, diff| {
            Packet::Transfer(Transfer {
                store,
                multiple: false,
                aligned: place.is_none_or(|place| place.aligned),
                size,
                lrid,
                diff,
                data: value.map(|value| me.sent(diff, value, base, size, length)),
                address: place.map(|place| me.sent_address(diff, size, place)),
            })
        });
        self.remember(size, place, value);
        packet
    }

    fn atomic(
        &mut self,
        kind: AtomicKind,
        size: u8,
        lrid: Option<u8>,
        place: Option<Place>,
        operand: Option<u64>,
        value: Option<u64>,
    ) -> Packet {
        let length = if place.is_some() { Length::Counted } else { Length::Last };
        let base = self.history.value(size);
        // The operand of a split operation takes the place of its data.
        let operand_length = if lrid.is_some() { length } else { Length::Counted };
        let packet = self.shortest(size, place, operand.is_some(), |me, diff| {
            Packet::Atomic(Atomic {
                kind,
                size,
                lrid,
                diff,
                operand: operand.map(|operand| me.sent_operand(diff, operand, base, size, operand_length)),
                data: value.map(|value| me.sent(diff, value, me.base_after(operand, base), size, length)),
                address: place.map(|place| me.sent_address(diff, size, place)),
            })
        });
        let last = value.or(operand.filter(|_| operands_are_compressed(&self.params)));
        self.remember(size, place, last);
        packet
    }

    fn csr(&mut self, op: CsrOp, number: u64, operand: Option<u64>, value: Option<u64>) -> Option<Packet> {
        let size = self.params.csr_length_bits() as u8;
        let mut csr = Csr { op, diff: Diff::Full, data: None, operand: None, address: number as u16 & 0xfff };
        let Some(value) = value else {
            if self.params.data_dialect == Dialect::Reference && !self.options.full_address {
                csr.diff = Diff::Address;
            }
            return Some(Packet::Csr(csr));
        };
        let operand = if csr.is_read_only() { None } else { Some(operand?) };
        let base = self.history.value(size);
        let packet = self.shortest(size, None, true, |me, diff| {
            let data = Some(me.sent(diff, value, base, size, Length::Counted));
            let operand =
                operand.map(|operand| me.sent_operand(diff, operand, Some(value), size, Length::Counted));
            Packet::Csr(Csr { diff, data, operand, ..csr })
        });
        let last = operand.filter(|_| operands_are_compressed(&self.params)).unwrap_or(value);
        self.remember(size, None, Some(last));
        Some(packet)
    }

    fn response(&mut self, size: u8, lrid: u8, value: u64) -> Packet {
        let base = self.history.value(size);
        let packet = self.shortest(size, None, true, |me, diff| {
            let diff = if diff == Diff::Address { Diff::Full } else { diff };
            let data = me.sent(diff, value, base, size, Length::Last);
            Packet::Response(Response { size, lrid, data: Some((diff, data)) })
        });
        self.remember(size, None, Some(value));
        packet
    }

    fn place(&self, size: u8, address: u64) -> Place {
        let address = self.params.data_address(address);
        Place { address, aligned: address & ((1 << size) - 1) == 0 }
    }

    fn next_lrid(&mut self) -> u8 {
        let lrid = self.lrid;
        self.lrid = ((u16::from(lrid) + 1) & ((1 << self.params.lrid_width) - 1)) as u8;
        lrid
    }

    /// Returns the shortest packet that `make` builds from the permitted forms; the first of equally short
    /// ones.
    fn shortest(
        &self,
        size: u8,
        place: Option<Place>,
        has_data: bool,
        make: impl Fn(&Self, Diff) -> Packet,
    ) -> Packet {
        if self.params.data_dialect == Dialect::Reference {
            return make(self, self.reference_diff(has_data));
        }
        let mut best = make(self, Diff::Full);
        let mut bits = emit(&best, &self.params).bits();
        for diff in [Diff::Xor, Diff::Address, Diff::Difference] {
            if self.permits(diff, size, place, has_data) {
                let packet = make(self, diff);
                let length = emit(&packet, &self.params).bits();
                if length < bits {
                    (best, bits) = (packet, length);
                }
            }
        }
        best
    }

    fn permits(&self, diff: Diff, size: u8, place: Option<Place>, has_data: bool) -> bool {
        let address = place.is_none_or(|place| {
            // Readers may disagree about a difference between addresses of different alignment.
            let is_clear = !place.aligned || self.history.was_aligned(size);
            !self.options.full_address && is_clear && self.history.address(size, place.aligned).is_some()
        });
        let compression = self.params.data_compression;
        let data = match diff {
            Diff::Full => true,
            Diff::Address => place.is_some(),
            Diff::Xor => has_data && compression != Compression::Difference,
            Diff::Difference => has_data && compression != Compression::Xor,
        };
        let known = !self.options.full_data && self.history.value(size).is_some();
        address && data && (!diff.is_data_compressed() || known)
    }

    /// Returns the single form that the reference model uses for all packets.
    fn reference_diff(&self, has_data: bool) -> Diff {
        let Options { full_address, full_data, no_address, .. } = self.options;
        match (has_data, no_address) {
            (false, _) if full_address => Diff::Full,
            (false, _) => Diff::Address,
            (true, true) if full_data => Diff::Full,
            (true, true) => Diff::Xor,
            (true, false) if full_address => Diff::Full,
            (true, false) if full_data => Diff::Address,
            (true, false) => Diff::Xor,
        }
    }

    fn sent_address(&self, diff: Diff, size: u8, place: Place) -> u64 {
        let whole = if place.aligned { place.address >> size } else { place.address };
        if !diff.is_address_difference() {
            return whole;
        }
        let base = self.history.address(size, place.aligned).unwrap_or(0);
        sign_extended(whole.wrapping_sub(base), self.params.daddress_width.into()) as u64
    }

    fn sent(&self, diff: Diff, value: u64, base: Option<u64>, size: u8, length: Length) -> Value {
        let dialect = self.params.data_dialect;
        let bits = compressed(dialect, diff, value, base.unwrap_or(0), size);
        let len = match (length, dialect) {
            (Length::Last, _) => self.params.data_width / 8,
            (Length::Counted, Dialect::Reference) => 1 << size,
            (Length::Counted, Dialect::Standard) => {
                // One bit more than the position above which all bits are equal.
                let needed = 65 - (bits ^ (bits as i64 >> 63) as u64).leading_zeros();
                needed.div_ceil(8).min(1 << size) as u8
            }
        };
        Value { len, bits: sign_extended(bits, 8 * u32::from(len)) as u64 }
    }

    fn sent_operand(&self, diff: Diff, value: u64, base: Option<u64>, size: u8, length: Length) -> Value {
        let diff = if operands_are_compressed(&self.params) { diff } else { Diff::Full };
        self.sent(diff, value, base, size, length)
    }

    /// Returns the base of the data that follows this operand.
    fn base_after(&self, operand: Option<u64>, base: Option<u64>) -> Option<u64> {
        operand.filter(|_| operands_are_compressed(&self.params)).or(base)
    }

    fn remember(&mut self, size: u8, place: Option<Place>, value: Option<u64>) {
        if let Some(Place { address, aligned }) = place {
            self.history.set_address(size, Some(address), aligned);
        }
        if value.is_some() {
            self.history.set_value(size, value);
        }
    }
}
