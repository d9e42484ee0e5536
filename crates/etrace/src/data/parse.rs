//! Bytes to packets: pure syntax.

use tracewright_core::{AtomicOp, CsrOp};

use super::types::{Atomic, AtomicKind, Csr, Diff, Packet, Response, Transfer, Value};
use super::{Compression, Dialect, Options};
use crate::Params;
use crate::bits::Reader;
use crate::stream::Malformed;

/// Parses `bytes` as the payload of one packet, given the options of the last support packet.
///
/// # Errors
/// Reports why no encoder with these parameters and options can send this payload.
pub fn parse(bytes: &[u8], params: &Params, options: &Options) -> Result<Packet, Malformed> {
    if bytes.is_empty() {
        return Err(Malformed::Length);
    }
    read(Reader::new(bytes, 0), params, options)
}

/// Reads a payload to its end.
pub(crate) fn read(reader: Reader, params: &Params, options: &Options) -> Result<Packet, Malformed> {
    if options.no_address && options.no_data {
        return Err(Malformed::Format);
    }
    let mut fields = Fields { reader, params, options };
    let packet = fields.packet()?;
    if fields.reader.too_long() { Err(Malformed::Length) } else { Ok(packet) }
}

/// Atomic operations in the order of their numbers.
const OPS: [AtomicOp; 7] =
    [AtomicOp::Swap, AtomicOp::Add, AtomicOp::And, AtomicOp::Or, AtomicOp::Xor, AtomicOp::Max, AtomicOp::Min];

/// Operations on CSRs in the order of their numbers.
const CSRS: [CsrOp; 3] = [CsrOp::Write, CsrOp::Set, CsrOp::Clear];

fn atomic(subtype: u64, dialect: Dialect) -> Option<AtomicKind> {
    let index = match (dialect, subtype) {
        (Dialect::Reference, 4) => return None,
        (Dialect::Reference, 5..) => subtype - 1,
        _ => subtype,
    };
    Some(OPS.get(index as usize).map_or(AtomicKind::StoreFailed, |&op| AtomicKind::Done(op)))
}

fn draft_atomic(subformat: u64) -> Option<AtomicKind> {
    match subformat {
        7 => Some(AtomicKind::CompareFailed),
        8.. => atomic(subformat - 8, Dialect::Standard),
        _ => None,
    }
}

struct Fields<'a> {
    reader: Reader,
    params: &'a Params,
    options: &'a Options,
}

impl Fields<'_> {
    fn packet(&mut self) -> Result<Packet, Malformed> {
        let format = self.reader.take(self.params.data_format_bits());
        if self.params.mmacas_ext {
            return match format {
                0 | 1 => {
                    let subformat = self.reader.take(2);
                    self.transfer(format == 1, subformat)
                }
                2 => match self.reader.take(4) {
                    subformat @ 4..=6 => self.csr(CSRS[subformat as usize - 4]),
                    subformat => self.atomic(draft_atomic(subformat).ok_or(Malformed::Field("subformat"))?),
                },
                _ => self.response(),
            };
        }
        match format {
            0..=3 => self.transfer(false, format),
            4 if self.params.split_loads => self.response(),
            5 => {
                let op = CSRS.get(self.reader.take(2) as usize).ok_or(Malformed::Field("subtype"))?;
                self.csr(*op)
            }
            6 => {
                let subtype = self.reader.take(3);
                self.atomic(atomic(subtype, self.params.data_dialect).ok_or(Malformed::Field("subtype"))?)
            }
            _ => Err(Malformed::Format),
        }
    }

    fn transfer(&mut self, multiple: bool, format: u64) -> Result<Packet, Malformed> {
        let (store, aligned) = (format & 2 != 0, format & 1 == 0);
        let size = self.size()?;
        let lrid = (self.params.split_loads && !store).then(|| self.lrid());
        let (diff, data, address);
        if self.options.no_data || lrid.is_some() {
            (diff, data) = (self.address_diff(1), None);
            address = Some(self.address(diff));
        } else if self.options.no_address {
            diff = self.data_diff(self.params.data_diff_width.into())?;
            (data, address) = (Some(self.last_value()), None);
        } else {
            diff = self.diff();
            data = Some(self.value(size.into()));
            address = Some(self.address(diff));
        }
        Ok(Packet::Transfer(Transfer { store, multiple, aligned, size, lrid, diff, data, address }))
    }

    fn atomic(&mut self, kind: AtomicKind) -> Result<Packet, Malformed> {
        let size = self.size()?;
        // Only the form without data lists a failed store-conditional.
        let is_bare = self.options.no_data || kind == AtomicKind::StoreFailed;
        let is_done = matches!(kind, AtomicKind::Done(_));
        let lrid = (self.params.split_loads && is_done && !is_bare).then(|| self.lrid());
        let (diff, operand, data, address);
        if is_bare {
            (diff, operand, data) = (self.address_diff(1), None, None);
            address = Some(self.address(diff));
        } else if !is_done || !self.options.no_address {
            diff = self.diff();
            operand = Some(self.value(size.into()));
            data = (is_done && lrid.is_none()).then(|| self.value(size.into()));
            address = Some(self.address(diff));
        } else if lrid.is_some() {
            diff = self.data_diff(self.params.request_diff_bits())?;
            (operand, data, address) = (Some(self.last_value()), None, None);
        } else {
            diff = self.data_diff(self.params.data_diff_width.into())?;
            operand = Some(self.value(size.into()));
            (data, address) = (Some(self.last_value()), None);
        }
        Ok(Packet::Atomic(Atomic { kind, size, lrid, diff, operand, data, address }))
    }

    fn response(&mut self) -> Result<Packet, Malformed> {
        let size = self.size()?;
        let lrid = self.lrid();
        // Numbered differently from `diff`.
        let diff = match self.reader.take(2) {
            0 => None,
            1 => Some(Diff::Xor),
            2 => Some(Diff::Full),
            _ => Some(Diff::Difference),
        };
        let data = diff.map(|diff| (diff, self.last_value()));
        Ok(Packet::Response(Response { size, lrid, data }))
    }

    fn csr(&mut self, op: CsrOp) -> Result<Packet, Malformed> {
        let length = self.params.csr_length_bits();
        let mut csr = Csr { op, diff: Diff::Full, data: None, operand: None, address: 0 };
        if self.options.no_data {
            csr.diff = self.address_diff(self.params.csr_diff_width.into());
        } else {
            let bits = self.params.data_diff_width.into();
            csr.diff = self.data_diff(bits)?;
            csr.data = Some(self.value(length));
        }
        csr.address = (self.reader.take(6) as u16) << 6;
        if !self.options.no_data && !csr.is_read_only() {
            csr.operand = Some(self.value(length));
        }
        csr.address |= self.reader.take(6) as u16;
        Ok(Packet::Csr(csr))
    }

    fn size(&mut self) -> Result<u8, Malformed> {
        let size = self.reader.take(self.params.data_size_bits()) as u8;
        if size > self.params.data_size_max() { Err(Malformed::Field("size")) } else { Ok(size) }
    }

    fn lrid(&mut self) -> u8 {
        self.reader.take(self.params.lrid_width.into()) as u8
    }

    fn diff(&mut self) -> Diff {
        Diff::from_bits(self.reader.take(2))
    }

    fn address_diff(&mut self, bits: u32) -> Diff {
        if self.reader.take(bits) == 0 { Diff::Full } else { Diff::Address }
    }

    fn data_diff(&mut self, bits: u32) -> Result<Diff, Malformed> {
        match self.reader.take(bits) {
            0 => Ok(Diff::Full),
            1 if bits == 1 && self.params.data_compression == Compression::Difference => Ok(Diff::Difference),
            1 => Ok(Diff::Xor),
            // The reference model uses it for all packets.
            2 if self.params.data_dialect == Dialect::Reference => Ok(Diff::Address),
            2 => Err(Malformed::Field("diff")),
            _ => Ok(Diff::Difference),
        }
    }

    /// Reads data with a length field of `length` bits.
    fn value(&mut self, length: u32) -> Value {
        let len = self.reader.take(length) as u8 + 1;
        Value { len, bits: self.reader.signed(8 * u32::from(len)) }
    }

    /// Reads data that is the last field.
    fn last_value(&mut self) -> Value {
        let width = self.params.data_width;
        Value { len: width / 8, bits: self.reader.signed(width.into()) }
    }

    fn address(&mut self, diff: Diff) -> u64 {
        let bits = self.params.daddress_width.into();
        if diff.is_address_difference() { self.reader.signed(bits) } else { self.reader.take(bits) }
    }
}
