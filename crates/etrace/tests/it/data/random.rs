//! Random parameters, options and packets.

use tracewright_core::{AtomicOp, CsrOp, DataAccess, DataKind};
use tracewright_etrace::Params;
use tracewright_etrace::data::{
    Atomic, AtomicKind, Compression, Csr, Dialect, Diff, Options, Packet, Response, Transfer, Value,
};
use tracewright_testkit::Rng;

pub const ATOMICS: [AtomicOp; 7] =
    [AtomicOp::Swap, AtomicOp::Add, AtomicOp::And, AtomicOp::Or, AtomicOp::Xor, AtomicOp::Max, AtomicOp::Min];

pub const CSRS: [CsrOp; 3] = [CsrOp::Write, CsrOp::Set, CsrOp::Clear];

/// Returns parameters of an encoder with data trace.
pub fn params(rng: &mut Rng) -> Params {
    if rng.one_in(6) {
        let params = Params {
            daddress_width: *rng.pick(&[32, 64]),
            data_width: *rng.pick(&[32, 64]),
            data_dialect: Dialect::Reference,
            ..Params::default()
        };
        assert_eq!(params.check(), Ok(()));
        return params;
    }
    let compression = *rng.pick(&[Compression::Xor, Compression::Difference, Compression::Both]);
    let params = Params {
        daddress_width: *rng.pick(&[16, 31, 32, 39, 48, 63, 64]),
        data_width: *rng.pick(&[8, 16, 32, 64, 64]),
        dtype_width: *rng.pick(&[1, 3, 4, 4, 4]),
        csr_width: *rng.pick(&[32, 64]),
        data_compression: compression,
        data_diff_width: if compression == Compression::Both { 2 } else { *rng.pick(&[1, 2]) },
        csr_diff_width: *rng.pick(&[0, 1]),
        split_loads: rng.one_in(4),
        lrid_width: *rng.pick(&[1, 4, 8]),
        mmacas_ext: rng.one_in(3),
        ..Params::default()
    };
    assert_eq!(params.check(), Ok(()));
    params
}

/// Returns options of data trace.
pub fn options(rng: &mut Rng) -> Options {
    let (no_address, no_data) = *rng.pick(&[(false, false), (false, false), (true, false), (false, true)]);
    Options { no_address, no_data, full_address: rng.one_in(4), full_data: rng.one_in(4) }
}

/// Sign-extends the lowest `bits` bits.
fn signed(value: u64, bits: u32) -> u64 {
    ((value << (64 - bits)) as i64 >> (64 - bits)) as u64
}

/// Returns typical bits: often few, often nearly all ones.
fn bits(rng: &mut Rng) -> u64 {
    let value = rng.sized(64);
    if rng.one_in(2) { !value } else { value }
}

fn value(rng: &mut Rng, most: u32) -> Value {
    let len = 1 + rng.below(most.into()) as u8;
    Value { len, bits: signed(bits(rng), 8 * u32::from(len)) }
}

fn last_value(rng: &mut Rng, params: &Params) -> Value {
    let width = params.data_width;
    Value { len: width / 8, bits: signed(bits(rng), width.into()) }
}

fn data_diff(rng: &mut Rng, params: &Params, bits: u8) -> Diff {
    match (bits, params.data_compression) {
        (1, Compression::Difference) => *rng.pick(&[Diff::Full, Diff::Difference]),
        (1, _) => *rng.pick(&[Diff::Full, Diff::Xor]),
        _ => *rng.pick(&[Diff::Full, Diff::Xor, Diff::Difference]),
    }
}

fn address(rng: &mut Rng, params: &Params, diff: Diff) -> u64 {
    let width = u32::from(params.daddress_width);
    if diff == Diff::Full { bits(rng) & (u64::MAX >> (64 - width)) } else { signed(bits(rng), width) }
}

/// Returns a packet that an encoder with these settings can send.
pub fn packet(rng: &mut Rng, params: &Params, options: &Options) -> Packet {
    let any = [Diff::Full, Diff::Xor, Diff::Address, Diff::Difference];
    let of_address = [Diff::Full, Diff::Address];
    let size = rng.below(u64::from((params.data_width / 8).ilog2()) + 1) as u8;
    let lrid = rng.below(1 << params.lrid_width) as u8;
    let bytes = 1 << size;
    let aligned = rng.one_in(2);
    let classes = if params.dtype_width == 1 && !params.split_loads { 1 } else { 4 };
    let multiple = params.mmacas_ext && classes > 1 && rng.one_in(2);
    match rng.below(classes) {
        1 => {
            let op = *rng.pick(&CSRS);
            let number = rng.below(1 << 12) as u16;
            let (diff, data, operand);
            if options.no_data {
                diff = if params.csr_diff_width == 0 { Diff::Full } else { *rng.pick(&of_address) };
                (data, operand) = (None, None);
            } else {
                let most = u32::from(params.csr_width / 8);
                diff = data_diff(rng, params, params.data_diff_width);
                data = Some(value(rng, most));
                operand = (number >> 10 != 3).then(|| value(rng, most));
            }
            Packet::Csr(Csr { op, diff, data, operand, address: number })
        }
        2 => atomic(rng, params, options, size),
        3 if params.split_loads => {
            let diff = *rng.pick(&[None, Some(Diff::Full), Some(Diff::Xor), Some(Diff::Difference)]);
            let data = diff.map(|diff| (diff, last_value(rng, params)));
            Packet::Response(Response { size, lrid, data })
        }
        _ => {
            let store = rng.one_in(2);
            let lrid = (params.split_loads && !store).then_some(lrid);
            let (diff, data, place);
            if options.no_data || lrid.is_some() {
                (diff, data) = (*rng.pick(&of_address), None);
                place = Some(address(rng, params, diff));
            } else if options.no_address {
                diff = data_diff(rng, params, params.data_diff_width);
                (data, place) = (Some(last_value(rng, params)), None);
            } else {
                (diff, data) = (*rng.pick(&any), Some(value(rng, bytes)));
                place = Some(address(rng, params, diff));
            }
            Packet::Transfer(Transfer { store, multiple, aligned, size, lrid, diff, data, address: place })
        }
    }
}

fn atomic(rng: &mut Rng, params: &Params, options: &Options, size: u8) -> Packet {
    let any = [Diff::Full, Diff::Xor, Diff::Address, Diff::Difference];
    let bytes = 1 << size;
    let op = *rng.pick(&ATOMICS);
    let kind = match rng.below(6) {
        0 if params.mmacas_ext || params.data_dialect == Dialect::Standard => AtomicKind::StoreFailed,
        1 if params.mmacas_ext => AtomicKind::CompareFailed,
        _ => AtomicKind::Done(op),
    };
    if options.no_data || kind == AtomicKind::StoreFailed {
        let diff = *rng.pick(&[Diff::Full, Diff::Address]);
        let address = Some(address(rng, params, diff));
        return Packet::Atomic(Atomic { kind, size, lrid: None, diff, operand: None, data: None, address });
    }
    if kind == AtomicKind::CompareFailed {
        let diff = *rng.pick(&any);
        let (operand, address) = (Some(value(rng, bytes)), Some(address(rng, params, diff)));
        return Packet::Atomic(Atomic { kind, size, lrid: None, diff, operand, data: None, address });
    }
    let (diff, place);
    if options.no_address {
        let width = if params.split_loads && params.mmacas_ext { 2 } else { params.data_diff_width };
        (diff, place) = (data_diff(rng, params, width), None);
    } else {
        diff = *rng.pick(&any);
        place = Some(address(rng, params, diff));
    }
    let lrid = params.split_loads.then(|| rng.below(1 << params.lrid_width) as u8);
    let last = if options.no_address { last_value(rng, params) } else { value(rng, bytes) };
    let (operand, data) = match lrid {
        Some(_) => (Some(last), None),
        None => (Some(value(rng, bytes)), Some(last)),
    };
    Packet::Atomic(Atomic { kind, size, lrid, diff, operand, data, address: place })
}

/// Returns accesses as programs make them: near the last ones, with similar values, or anywhere with any
/// value.
pub fn accesses(rng: &mut Rng, params: &Params, count: usize) -> Vec<DataAccess> {
    let address_mask = u64::MAX >> (64 - u32::from(params.daddress_width));
    let (mut address, mut value) = (bits(rng), bits(rng));
    let mut one = || {
        address = if rng.one_in(4) { bits(rng) } else { address.wrapping_add(signed(bits(rng), 8)) };
        value = if rng.one_in(4) { bits(rng) } else { value.wrapping_add(signed(bits(rng), 12)) };
        let mut size = 1 << rng.below(4);
        let kind = match rng.below(12) {
            0..4 => DataKind::Load,
            4..8 => DataKind::Store,
            8 | 9 => DataKind::Csr(*rng.pick(&CSRS)),
            _ => match rng.below(9) {
                7 => DataKind::StoreFailed,
                8 => DataKind::CompareFailed,
                i => DataKind::Atomic(ATOMICS[i as usize]),
            },
        };
        let place = match kind {
            DataKind::Csr(_) => {
                size = params.csr_width / 8;
                rng.below(1 << 12)
            }
            DataKind::Load | DataKind::Store if rng.one_in(8) => address,
            _ => address & !(u64::from(size) - 1),
        };
        let mask = u64::MAX >> (64 - 8 * u32::from(size));
        let is_read_only = matches!(kind, DataKind::Csr(_)) && place >> 10 == 3;
        let has_value = !matches!(kind, DataKind::StoreFailed | DataKind::CompareFailed);
        let has_operand = matches!(kind, DataKind::Atomic(_) | DataKind::Csr(_) | DataKind::CompareFailed);
        DataAccess {
            kind,
            size,
            address: Some(place & address_mask),
            value: has_value.then_some(value & mask),
            operand: (has_operand && !is_read_only).then(|| bits(rng) & mask),
            after: false,
        }
    };
    (0..count).map(|_| one()).collect()
}
