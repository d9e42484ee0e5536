//! Tables of the specification, one row of fields for each packet, compared with packets and text.

use tracewright_core::{AtomicOp, CsrOp};
use tracewright_etrace::Params;
use tracewright_etrace::data::{
    Atomic, AtomicKind, Compression, Csr, Diff, Options, Packet, Response, Transfer, Value, emit, parse,
};

/// Packs fields in the order of a table, lowest bits first: value and width. The last bit repeats.
fn payload(fields: &[(u64, u32)]) -> Vec<u8> {
    let bits: Vec<_> =
        fields.iter().flat_map(|&(value, width)| (0..width).map(move |i| value >> i & 1)).collect();
    let last = *bits.last().unwrap();
    let needed = bits.iter().rposition(|&bit| bit != last).map_or(1, |at| at + 2);
    let bit = |at: usize| bits.get(at).copied().unwrap_or(last) as u8;
    (0..needed.div_ceil(8)).map(|byte| (0..8).fold(0, |sum, i| sum | bit(8 * byte + i) << i)).collect()
}

fn check(params: &Params, options: Options, fields: &[(u64, u32)], packet: Packet, text: &str) {
    assert_eq!(params.check(), Ok(()));
    let bytes = payload(fields);
    assert_eq!(parse(&bytes, params, &options), Ok(packet), "{text}");
    assert_eq!(emit(&packet, params).as_bytes(), bytes, "{text}");
    assert_eq!(packet.to_string(), text);
}

const BOTH: Options = Options { no_address: false, no_data: false, full_address: false, full_data: false };
const ADDRESS: Options = Options { no_data: true, ..BOTH };
const DATA: Options = Options { no_address: true, ..BOTH };

fn value(len: u8, bits: i64) -> Value {
    Value { len, bits: bits as u64 }
}

fn transfer(
    store: bool,
    aligned: bool,
    size: u8,
    diff: Diff,
    data: Option<Value>,
    address: Option<i64>,
) -> Transfer {
    let address = address.map(|address| address as u64);
    Transfer { store, multiple: false, aligned, size, lrid: None, diff, data, address }
}

fn done(
    op: AtomicOp,
    size: u8,
    diff: Diff,
    operand: Option<Value>,
    data: Option<Value>,
    address: Option<u64>,
) -> Atomic {
    Atomic { kind: AtomicKind::Done(op), size, lrid: None, diff, operand, data, address }
}

fn failed(kind: AtomicKind, diff: Diff, operand: Option<Value>, address: u64) -> Atomic {
    Atomic { kind, size: 2, lrid: None, diff, operand, data: None, address: Some(address) }
}

fn csr(op: CsrOp, diff: Diff, data: Option<Value>, operand: Option<Value>, address: u16) -> Packet {
    Packet::Csr(Csr { op, diff, data, operand, address })
}

#[test]
fn loads_and_stores() {
    let params = Params::default();
    // format, size, diff, data_len (as wide as the size says), data, address
    let fields = [(0, 3), (3, 2), (0, 2), (7, 3), (0x8000_0000_0000_0040, 64), (0x203, 64)];
    let packet = Packet::Transfer(transfer(
        false,
        true,
        3,
        Diff::Full,
        Some(value(8, 0x8000_0000_0000_0040u64 as i64)),
        Some(0x203),
    ));
    check(&params, BOTH, &fields, packet, "load 8, data 0x8000000000000040, address 0x1018");
    let fields = [(3, 3), (2, 2), (1, 2), (0, 2), (0x9c, 8), (-5i64 as u64, 64)];
    let packet = Packet::Transfer(transfer(true, false, 2, Diff::Xor, Some(value(1, -100)), Some(-5)));
    check(&params, BOTH, &fields, packet, "store 4, data ^0x9c, address -0x5");
    // A byte needs no length.
    let fields = [(2, 3), (0, 2), (3, 2), (0x7f, 8), (1, 64)];
    let packet = Packet::Transfer(transfer(true, true, 0, Diff::Difference, Some(value(1, 0x7f)), Some(1)));
    check(&params, BOTH, &fields, packet, "store 1, data +0x7f, address +0x1");
    let packet = Packet::Transfer(transfer(false, false, 1, Diff::Address, None, Some(-3)));
    check(&params, ADDRESS, &[(1, 3), (1, 2), (1, 1), (-3i64 as u64, 64)], packet, "load 2, address -0x3");
    let packet = Packet::Transfer(transfer(false, true, 2, Diff::Difference, Some(value(8, -100)), None));
    check(&params, DATA, &[(0, 3), (2, 2), (3, 2), (-100i64 as u64, 64)], packet, "load 4, data -0x64");
    // One compression only: one bit for it. Only loads and stores: two bits for the format.
    let small = Params {
        dtype_width: 1,
        data_width: 32,
        daddress_width: 32,
        data_compression: Compression::Difference,
        data_diff_width: 1,
        ..Params::default()
    };
    let packet = Packet::Transfer(transfer(true, true, 2, Diff::Difference, Some(value(4, -1)), None));
    check(&small, DATA, &[(2, 2), (2, 2), (1, 1), (-1i64 as u64, 32)], packet, "store 4, data -0x1");
    let fields = [(0, 2), (1, 2), (0, 2), (1, 1), (0x1234, 16), (0x4000_0000, 32)];
    let packet =
        Packet::Transfer(transfer(false, true, 1, Diff::Full, Some(value(2, 0x1234)), Some(0x4000_0000)));
    check(&small, BOTH, &fields, packet, "load 2, data 0x1234, address 0x80000000");
}

#[test]
fn atomics() {
    let params = Params::default();
    // format, subtype, size, diff, op_len, operand, data_len, data, address
    let fields = [(6, 3), (4, 3), (2, 2), (2, 2), (0, 2), (0xff, 8), (1, 2), (0x1234, 16), (9, 64)];
    let (operand, data) = (Some(value(1, -1)), Some(value(2, 0x1234)));
    let packet = Packet::Atomic(done(AtomicOp::Xor, 2, Diff::Address, operand, data, Some(9)));
    check(&params, BOTH, &fields, packet, "xor 4, operand 0xff, data 0x1234, address +0x24");
    let packet = Packet::Atomic(done(AtomicOp::Min, 3, Diff::Full, None, None, Some(0x1000)));
    check(&params, ADDRESS, &[(6, 3), (6, 3), (3, 2), (0, 1), (0x1000, 64)], packet, "min 8, address 0x8000");
    // A failed one has only an address, even where values are traced.
    for options in [BOTH, ADDRESS] {
        let fields = [(6, 3), (7, 3), (2, 2), (1, 1), (1, 64)];
        let packet = Packet::Atomic(failed(AtomicKind::StoreFailed, Diff::Address, None, 1));
        check(&params, options, &fields, packet, "conditional store failed 4, address +0x4");
    }
    let fields = [(6, 3), (1, 3), (3, 2), (1, 2), (2, 3), (0x12_3456, 24), (0x10, 64)];
    let (operand, data) = (Some(value(3, 0x12_3456)), Some(value(8, 0x10)));
    let packet = Packet::Atomic(done(AtomicOp::Add, 3, Diff::Xor, operand, data, None));
    check(&params, DATA, &fields, packet, "add 8, operand ^0x123456, data ^0x10");
}

#[test]
fn control_registers() {
    let params = Params { csr_width: 32, ..Params::default() };
    // format, subtype, diff, data_len, data, addr_msbs, op_len, operand, addr_lsbs
    let fields = [(5, 3), (1, 2), (0, 2), (1, 2), (0x1880, 16), (0x300 >> 6, 6), (0, 2), (8, 8), (0, 6)];
    let packet = csr(CsrOp::Set, Diff::Full, Some(value(2, 0x1880)), Some(value(1, 8)), 0x300);
    check(&params, BOTH, &fields, packet, "csr set, data 0x1880, operand 0x8, address 0x300");
    // Read-only registers have no operand.
    let fields = [(5, 3), (0, 2), (3, 2), (0, 3), (0xff, 8), (0xf14 >> 6, 6), (0x14, 6)];
    let packet = csr(CsrOp::Write, Diff::Difference, Some(value(1, -1)), None, 0xf14);
    let wide = Params { csr_width: 64, ..params.clone() };
    check(&wide, BOTH, &fields, packet, "csr write, data -0x1, address 0xf14");
    let fields = [(5, 3), (2, 2), (0, 1), (0x341 >> 6, 6), (1, 6)];
    let packet = csr(CsrOp::Clear, Diff::Full, None, None, 0x341);
    check(&params, ADDRESS, &fields, packet, "csr clear, address 0x341");
}

#[test]
fn split_loads() {
    let params = Params { split_loads: true, lrid_width: 4, ..Params::default() };
    // format, size, lrid, diff, address
    let fields = [(0, 3), (2, 2), (9, 4), (0, 1), (0x40, 64)];
    let load = transfer(false, true, 2, Diff::Full, None, Some(0x40));
    let packet = Packet::Transfer(Transfer { lrid: Some(9), ..load });
    check(&params, BOTH, &fields, packet, "load 4, request 9, address 0x100");
    // format, size, lrid, resp, data
    let fields = [(4, 3), (2, 2), (9, 4), (2, 2), (0x40, 64)];
    let packet = Packet::Response(Response { size: 2, lrid: 9, data: Some((Diff::Full, value(8, 0x40))) });
    check(&params, BOTH, &fields, packet, "response 4, request 9, data 0x40");
    let packet = Packet::Response(Response { size: 3, lrid: 9, data: None });
    check(&params, BOTH, &[(4, 3), (3, 2), (9, 4), (0, 2)], packet, "response 8, request 9, error");
    // format, subtype, size, lrid, diff, op_len, operand, address
    let fields = [(6, 3), (0, 3), (2, 2), (1, 4), (3, 2), (0, 2), (5, 8), (-1i64 as u64, 64)];
    let swap = done(AtomicOp::Swap, 2, Diff::Difference, Some(value(1, 5)), None, Some(u64::MAX));
    let packet = Packet::Atomic(Atomic { lrid: Some(1), ..swap });
    check(&params, BOTH, &fields, packet, "swap 4, request 1, operand +0x5, address -0x4");
}

/// Draft: multiple accesses and compare-and-swap.
#[test]
fn draft() {
    let params = Params { mmacas_ext: true, ..Params::default() };
    let store = transfer(true, true, 2, Diff::Full, None, Some(0x40));
    let multiple = Packet::Transfer(Transfer { multiple: true, ..store });
    // format, subformat, size, diff, address
    let fields = [(1, 2), (2, 2), (2, 2), (0, 1), (0x40, 64)];
    check(&params, ADDRESS, &fields, multiple, "multiple store 4, address 0x100");
    // As wide as the types of accesses need: clog2 of the width of their number.
    let fields = [(1, 1), (2, 2), (2, 2), (0, 1), (0x40, 64)];
    let narrow = Params { dtype_width: 2, ..params.clone() };
    check(&narrow, ADDRESS, &fields, multiple, "multiple store 4, address 0x100");
    let fields = [(1, 2), (3, 2), (1, 1), (1, 64)];
    let packet = Packet::Transfer(transfer(false, false, 3, Diff::Address, None, Some(1)));
    check(&Params { dtype_width: 1, ..params.clone() }, ADDRESS, &fields, packet, "load 8, address +0x1");
    let fields = [(2, 2), (13, 4), (2, 2), (0, 2), (0, 2), (1, 8), (0, 2), (2, 8), (3, 64)];
    let (operand, data) = (Some(value(1, 1)), Some(value(1, 2)));
    let packet = Packet::Atomic(done(AtomicOp::Max, 2, Diff::Full, operand, data, Some(3)));
    check(&params, BOTH, &fields, packet, "max 4, operand 0x1, data 0x2, address 0xc");
    let fields = [(2, 2), (7, 4), (2, 2), (0, 2), (0, 2), (1, 8), (3, 64)];
    let packet = Packet::Atomic(failed(AtomicKind::CompareFailed, Diff::Full, operand, 3));
    check(&params, BOTH, &fields, packet, "compare and swap failed 4, operand 0x1, address 0xc");
    let fields = [(2, 2), (15, 4), (2, 2), (1, 1), (3, 64)];
    let packet = Packet::Atomic(failed(AtomicKind::StoreFailed, Diff::Address, None, 3));
    check(&params, BOTH, &fields, packet, "conditional store failed 4, address +0xc");
    let fields = [(2, 2), (5, 4), (0, 1), (0x341 >> 6, 6), (1, 6)];
    let packet = csr(CsrOp::Set, Diff::Full, None, None, 0x341);
    check(&params, ADDRESS, &fields, packet, "csr set, address 0x341");
    let split = Params { split_loads: true, lrid_width: 4, dtype_width: 1, ..params };
    let fields = [(3, 2), (2, 2), (9, 4), (1, 2), (0x40, 64)];
    let packet = Packet::Response(Response { size: 2, lrid: 9, data: Some((Diff::Xor, value(8, 0x40))) });
    check(&split, BOTH, &fields, packet, "response 4, request 9, data ^0x40");
}

#[test]
fn no_packets() {
    let params = Params::default();
    let error =
        |options, fields: &[(u64, u32)]| parse(&payload(fields), &params, &options).unwrap_err().to_string();
    assert!(parse(&[], &params, &BOTH).is_err());
    let narrow = Params { data_width: 32, ..Params::default() };
    assert!(parse(&payload(&[(0, 3), (3, 2), (0, 1)]), &narrow, &BOTH).is_err());
    assert_eq!(error(BOTH, &[(5, 3), (3, 2), (0, 1)]), "subtype has a value that it cannot have");
    assert_eq!(error(DATA, &[(0, 3), (2, 2), (2, 2), (0, 1)]), "diff has a value that it cannot have");
    // Formats of split loads only, and undefined ones.
    assert!(parse(&payload(&[(4, 3), (0, 9)]), &params, &BOTH).is_err());
    assert!(parse(&payload(&[(7, 3), (0, 9)]), &params, &BOTH).is_err());
    // Too many bytes.
    assert!(parse(&[0; 32], &params, &BOTH).is_err());
}
