//! Packets to bytes.

use tracewright_core::AtomicOp;

use super::Dialect;
use super::types::{Atomic, AtomicKind, Csr, Diff, Packet, Response, Transfer, Value};
use crate::Params;
use crate::bits::Writer;

/// Length of the longest data packet: an atomic with all fields at their widest has 208 bits.
const MAX: usize = 32;

/// Bytes of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    bytes: [u8; MAX],
    bits: u16,
}

impl Payload {
    /// Compresses the written bits to a payload.
    fn new(mut writer: Writer) -> Self {
        let bits = writer.significant();
        let mut bytes = [0; MAX];
        writer.copy_to(&mut bytes[..bits.div_ceil(8) as usize]);
        Self { bytes, bits: bits as u16 }
    }

    /// Returns the bytes; the padding of the last one repeats the highest bit.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.bits.div_ceil(8))]
    }

    /// Returns how many bits must be sent; the bits above repeat the highest of them.
    pub const fn bits(&self) -> usize {
        self.bits as usize
    }
}

/// Writes a te_data payload without the upper bits that repeat the bit below them. The present fields of the
/// packet select its form; the options are assumed to allow that form.
pub fn emit(packet: &Packet, params: &Params) -> Payload {
    let mut writer = Writer::default();
    emit_into(packet, params, &mut writer);
    Payload::new(writer)
}

/// Appends the payload to the bits in `writer`, uncompressed.
pub(crate) fn emit_into(packet: &Packet, params: &Params, writer: &mut Writer) {
    let mut fields = Fields { writer, params };
    match packet {
        Packet::Transfer(transfer) => fields.transfer(transfer),
        Packet::Atomic(atomic) => fields.atomic(atomic),
        Packet::Csr(csr) => fields.csr(csr),
        Packet::Response(response) => fields.response(response),
    }
}

struct Fields<'a> {
    writer: &'a mut Writer,
    params: &'a Params,
}

impl Fields<'_> {
    fn transfer(
        &mut self,
        &Transfer { store, multiple, aligned, size, lrid, diff, data, address }: &Transfer,
    ) {
        let number = u64::from(store) << 1 | u64::from(!aligned);
        self.format(number, multiple.into());
        if self.params.mmacas_ext {
            self.writer.put(number, 2);
        }
        self.size(size);
        self.lrid(lrid);
        match (data, address) {
            (None, _) => self.address_diff(diff, 1),
            (Some(data), None) => {
                self.data_diff(diff, self.params.data_diff_width.into());
                self.last_value(data);
            }
            (Some(data), Some(_)) => {
                self.writer.put(diff as u64, 2);
                self.value(data, size.into());
            }
        }
        self.address(address);
    }

    fn atomic(&mut self, &Atomic { kind, size, lrid, diff, operand, data, address }: &Atomic) {
        self.atomic_format(kind);
        self.size(size);
        self.lrid(lrid);
        match (operand, address) {
            (None, _) => self.address_diff(diff, 1),
            (Some(operand), None) if lrid.is_some() => {
                self.data_diff(diff, self.params.request_diff_bits());
                self.last_value(operand);
            }
            (Some(operand), None) => {
                self.data_diff(diff, self.params.data_diff_width.into());
                self.value(operand, size.into());
                data.into_iter().for_each(|data| self.last_value(data));
            }
            (Some(operand), Some(_)) => {
                self.writer.put(diff as u64, 2);
                self.value(operand, size.into());
                data.into_iter().for_each(|data| self.value(data, size.into()));
            }
        }
        self.address(address);
    }

    fn csr(&mut self, csr: &Csr) {
        self.format(5, 2);
        match self.params.mmacas_ext {
            true => self.writer.put(4 + csr.op as u64, 4),
            false => self.writer.put(csr.op as u64, 2),
        }
        let length = self.params.csr_length_bits();
        match csr.data {
            None => self.address_diff(csr.diff, self.params.csr_diff_width.into()),
            Some(data) => {
                self.data_diff(csr.diff, self.params.data_diff_width.into());
                self.value(data, length);
            }
        }
        self.writer.put((csr.address >> 6).into(), 6);
        csr.operand.into_iter().for_each(|operand| self.value(operand, length));
        self.writer.put(csr.address.into(), 6);
    }

    fn response(&mut self, response: &Response) {
        self.format(4, 3);
        self.size(response.size);
        self.lrid(Some(response.lrid));
        let Some((diff, data)) = response.data else { return self.writer.put(0, 2) };
        let resp = match diff {
            Diff::Xor => 1,
            Diff::Full | Diff::Address => 2,
            Diff::Difference => 3,
        };
        self.writer.put(resp, 2);
        self.last_value(data);
    }

    /// Writes the format, by its number in version 2.0 and in the draft.
    fn format(&mut self, number: u64, draft: u64) {
        let number = if self.params.mmacas_ext { draft } else { number };
        self.writer.put(number, self.params.data_format_bits());
    }

    fn atomic_format(&mut self, kind: AtomicKind) {
        self.format(6, 2);
        let number = match (kind, self.params.data_dialect) {
            // The number 4 is unused.
            (AtomicKind::Done(op @ (AtomicOp::Xor | AtomicOp::Max | AtomicOp::Min)), Dialect::Reference) => {
                op as u64 + 1
            }
            (AtomicKind::Done(op), _) => op as u64,
            // Only in the draft.
            (AtomicKind::CompareFailed, _) if self.params.mmacas_ext => return self.writer.put(7, 4),
            (AtomicKind::StoreFailed | AtomicKind::CompareFailed, _) => 7,
        };
        if self.params.mmacas_ext { self.writer.put(number + 8, 4) } else { self.writer.put(number, 3) }
    }

    fn size(&mut self, size: u8) {
        self.writer.put(size.into(), self.params.data_size_bits());
    }

    fn lrid(&mut self, lrid: Option<u8>) {
        lrid.into_iter().for_each(|lrid| self.writer.put(lrid.into(), self.params.lrid_width.into()));
    }

    fn address_diff(&mut self, diff: Diff, bits: u32) {
        self.writer.put(diff.is_address_difference().into(), bits);
    }

    fn data_diff(&mut self, diff: Diff, bits: u32) {
        let number = if bits == 1 { diff.is_data_compressed().into() } else { diff as u64 };
        self.writer.put(number, bits);
    }

    fn value(&mut self, value: Value, length: u32) {
        self.writer.put(u64::from(value.len) - 1, length);
        self.writer.put(value.bits, 8 * u32::from(value.len));
    }

    fn last_value(&mut self, value: Value) {
        self.writer.put(value.bits, self.params.data_width.into());
    }

    fn address(&mut self, address: Option<u64>) {
        address.into_iter().for_each(|address| self.writer.put(address, self.params.daddress_width.into()));
    }
}
