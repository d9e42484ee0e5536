//! Packets to accesses.

use tracewright_core::{DataAccess, DataKind};

use super::history::{History, expanded, operands_are_compressed};
use super::types::{Atomic, AtomicKind, Csr, Diff, Packet, Response, Value};
use super::{Dialect, Options};
use crate::{Params, packet};

/// Decoder from packets to accesses with whole addresses and values. It leaves out a value that was sent as a
/// difference to an unknown one, because decoding began in the middle or packets were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoder {
    dialect: Dialect,
    options: Options,
    operands_are_compressed: bool,
    daddress_width: u8,
    csr_size: u8,
    history: History,
    /// First halves of split accesses, by request number.
    requests: Vec<Option<DataAccess>>,
}

impl Decoder {
    /// Creates a decoder for an encoder with these parameters; `options` apply up to the first support
    /// packet.
    pub fn new(params: &Params, options: Options) -> Self {
        let requests = if params.split_loads { 1 << params.lrid_width } else { 0 };
        Self {
            dialect: params.data_dialect,
            options,
            operands_are_compressed: operands_are_compressed(params),
            daddress_width: params.daddress_width,
            csr_size: params.csr_length_bits() as u8,
            history: History::new(params.data_dialect),
            requests: vec![None; requests],
        }
    }

    /// Sets the options, as a support packet would.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// Handles an instruction trace packet; synchronisation and support packets reset the history. Returns
    /// whether data packets were lost before it; in that case `out` receives the accesses that
    /// [`lose`](Self::lose) emits.
    pub fn instruction(&mut self, packet: &packet::Packet, out: &mut impl FnMut(&DataAccess)) -> bool {
        match packet {
            packet::Packet::Start(_) | packet::Packet::Trap(_) if self.dialect == Dialect::Standard => {
                self.history.forget();
                false
            }
            packet::Packet::Support(support) => {
                self.set_options(support.doptions);
                if support.dloss {
                    self.lose(out);
                } else {
                    self.history.forget();
                }
                support.dloss
            }
            _ => false,
        }
    }

    /// Restarts where packets are missing or the trace ends. Emits split accesses whose second half did not
    /// come: they happened, and only their values are unknown.
    pub fn lose(&mut self, out: &mut impl FnMut(&DataAccess)) {
        self.history.forget();
        self.requests.iter_mut().filter_map(Option::take).for_each(|access| out(&access));
    }

    /// Decodes a packet to an access. Returns `None` for the first half of a split access.
    pub fn packet(&mut self, packet: &Packet) -> Option<DataAccess> {
        match *packet {
            Packet::Transfer(transfer) => {
                let kind = if transfer.store { DataKind::Store } else { DataKind::Load };
                let size = transfer.size;
                let address = self.address(size, transfer.aligned, transfer.diff, transfer.address);
                let value = transfer.data.and_then(|data| self.value(size, transfer.diff, data));
                let access =
                    DataAccess { kind, size: 1 << size, address, value, operand: None, after: false };
                self.request(transfer.lrid, access)
            }
            Packet::Atomic(atomic) => {
                let access = self.atomic(&atomic);
                self.request(atomic.lrid, access)
            }
            Packet::Csr(csr) => Some(self.csr(&csr)),
            Packet::Response(response) => Some(self.response(&response)),
        }
    }

    /// Returns an access, or keeps it if it is the first half of a split one.
    fn request(&mut self, lrid: Option<u8>, access: DataAccess) -> Option<DataAccess> {
        match lrid {
            // The previous request with this number was never answered.
            Some(lrid) if !self.options.no_data => self.requests.get_mut(usize::from(lrid))?.replace(access),
            // No response will come.
            _ => Some(access),
        }
    }

    fn response(&mut self, response: &Response) -> DataAccess {
        let size = response.size;
        let value = response.data.and_then(|(diff, data)| self.value(size, diff, data));
        let request = self.requests.get_mut(usize::from(response.lrid)).and_then(Option::take);
        match request {
            Some(request) if request.size == 1 << size => DataAccess { value, ..request },
            _ => DataAccess {
                kind: DataKind::Load,
                size: 1 << size,
                address: None,
                value,
                operand: None,
                after: false,
            },
        }
    }

    fn atomic(&mut self, atomic: &Atomic) -> DataAccess {
        let &Atomic { kind, size, diff, operand, data, address, .. } = atomic;
        let kind = match kind {
            AtomicKind::Done(op) => DataKind::Atomic(op),
            AtomicKind::StoreFailed => DataKind::StoreFailed,
            AtomicKind::CompareFailed => DataKind::CompareFailed,
        };
        let address = self.address(size, true, diff, address);
        let operand = operand.and_then(|operand| self.operand(size, diff, operand));
        let value = data.and_then(|data| self.value(size, diff, data));
        let after = self.dialect == Dialect::Reference && value.is_some();
        DataAccess { kind, size: 1 << size, address, value, operand, after }
    }

    fn csr(&mut self, csr: &Csr) -> DataAccess {
        let size = self.csr_size;
        let value = csr.data.and_then(|data| self.value(size, csr.diff, data));
        let operand = csr.operand.and_then(|operand| self.operand(size, csr.diff, operand));
        let number = self.history.csr(csr.address, csr.data.is_none() && csr.diff.is_address_difference());
        let address = number.map(Into::into);
        // A read-only register is unchanged.
        let after = self.dialect == Dialect::Reference && value.is_some() && !csr.is_read_only();
        DataAccess { kind: DataKind::Csr(csr.op), size: 1 << size, address, value, operand, after }
    }

    fn address(&mut self, size: u8, aligned: bool, diff: Diff, sent: Option<u64>) -> Option<u64> {
        let sent = sent?;
        let base = if diff.is_address_difference() { self.history.address(size, aligned) } else { Some(0) };
        let address = base.map(|base| {
            let whole = base.wrapping_add(sent);
            let whole = if aligned { whole << size } else { whole };
            whole & (u64::MAX >> (64 - u32::from(self.daddress_width)))
        });
        self.history.set_address(size, address, aligned);
        address
    }

    fn value(&mut self, size: u8, diff: Diff, data: Value) -> Option<u64> {
        let value = expanded(self.dialect, diff, data.bits, self.history.value(size), size);
        self.history.set_value(size, value);
        value
    }

    fn operand(&mut self, size: u8, diff: Diff, operand: Value) -> Option<u64> {
        if self.operands_are_compressed {
            return self.value(size, diff, operand);
        }
        expanded(self.dialect, Diff::Full, operand.bits, None, size)
    }
}
